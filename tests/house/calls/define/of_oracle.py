"""oracle.jsonl: every verb of retile-oracle, right and wrong questions, refusals, limits."""

from define import problems
from define.draw import Draw
from define.programs import BY_NAME, GOOD, HEADER, UNDECIDED, WRONG
from define.of_check import UNREADABLE, mutated

VERBS = {"types": "[4]", "apply": "[4] dynslice(0,x)", "height": "[4] dynslice(0,x)", "cost": "[4] dynslice(0,x)",
    "normalize": "[4] dynslice(0,x) allgather(0)", "optimum": "[4] [2{x}4]"}


def call(name, *words, **more):
    return {"id": "oracle/" + name, "argv": ["retile-oracle", *words], **more}


def of_usage():
    out = [call("help/" + "_".join(words or ["nothing"]), *words) for words in (
        [], ["--help"], ["-h"], ["--version"], ["help"], ["prove"], ["--json"], ["--help", "check"], ["check", "--help"],
        ["certify", "--help"], ["types", "-h"], ["optimum", "--help", "x"], [""], ["--"], ["prove", "--help"])]
    for verb, query in VERBS.items():
        for words in ([verb, "--help"], [verb], [verb, "--mesh", "x:2"], [verb, "--mesh"],
            [verb, "--mesh", "x:2", "--mesh", "x:2", query], [verb, "--bogus", query], [verb, "--mesh", "x:2", query, "-"],
            [verb, "--mesh", "x:2", "-", query], [verb, query], [verb, "--mesh=", query],
                      [verb, "--mesh=x:2", query],
                      [verb, "--mesh=x:2", "--", query],
                      [verb, "--mesh=x:2", "--", "--help"],
                      [verb, "--mesh=x:2", query, "]"],
                      [verb, "--mesh=x:2", "4"],
                      [verb, "--mesh=x:2", "# nothing"]):
            out.append(call(f"words/{verb}/" + "_".join(words[1:] or ["nothing"]).replace("/", "-"), *words))
        out.append(call(f"lines/{verb}", verb, stdin=f"mesh x:2\n{query}\n"))
        out.append(call(f"lines/{verb}/several", verb, "-",
            stdin=f"# first\r\nmesh x:2\r\n\t{query} # one\n\nmesh x:4,y:3\n{query}\n{query}"))
        out.append(call(f"lines/{verb}/second-unreadable", verb, "--mesh", "x:2", stdin=f"{query}\n[2{{x}}]\n{query}\n"))
        out.append(call(f"lines/{verb}/no-mesh", verb, stdin=f"{query}\n"))
        out.append(call(f"streams/{verb}/full", verb, "--mesh", "x:2", query, streams={"stdout": "full"}))
        out.append(call(f"streams/{verb}/closed-stdin", verb, streams={"stdin": "closed"}))
    for verb in ("check", "certify"):
        for name, words in {"missing": ["no-such-file.txt"], "folder": ["/"], "two": ["a", "b"], "option": ["--json"],
            "hyphens": ["--", "--help"], "empty": [""], "stdin-of-nothing": ["-"]}.items():
            out.append(call(f"words/{verb}/{name}", verb, *words))
        out.append(call(f"streams/{verb}/full", verb, stdin=BY_NAME["swap"].text(), streams={"stdout": "full"}))
        out.append(call(f"streams/{verb}/closed-stdin", verb, streams={"stdin": "closed"}))
    return out


STEPS = ["allgather(0)", "allgather(1)", "allgather(7)", "allgather(0,y)", "allgather(0,{x,y})", "dynslice(1,x)", "dynslice(1,y)",
    "dynslice(0,y)", "dynslice(1,{y,y})", "dynslice(1,{y,x})", "dynslice(0,z)", "dynslice(0,u)", "dynslice(2,y)", "alltoall(0,1)",
    "alltoall(0,0)", "alltoall(0,2)",
         "alltoall(2,0)", "alltoall(1,0)", "alltoall(0,1,{x})", "alltoall(0,1,{x,y})", "alltoall(0,1,u)", "allpermute[4, 6]",
         "allpermute[2, 6]", "allpermute[2{z}4, 6]", "allpermute[2{x}4, 6]", "allpermute [2{x}4, 3]",
         "allgather(0) allgather(0)", "dynslice(1,y) allgather(0) alltoall(1,0)", "dynslice(1,y) alltoall(0,1)",
         "allgather(0) dynslice(1,y) dynslice(0,x)", "alltoall(0,1) alltoall(1,0)",
         "allgather(0) dynslice(0,x) allgather(0) dynslice(1,x)"]
BROKEN = ["[4] gather(0)", "[4]", "[4] allgather(", "[4] allgather(-1)", "[4] allgather(x)", "[4] allgather 0", "[4] allgather(0",
    "[4] allgather(0,", "[4] allgather(0,x", "[4] dynslice(0)", "[4] dynslice(0,)", "[4] alltoall(0)", "[4] dynslice(0,{})",
    "[4] dynslice(0,{x", "[4] dynslice(0,{x,})", "[4] dynslice(0,4)",
          "[4] allpermute",
          "[4] allpermute(0)",
          "[4] allpermute dynslice(0,x)",
          "[4] allpermute [4",
          "[4{z}4] allgather(0)",
          "[4{x}4]",
          "[2{x}4, 2{x}4]",
          "[1{x,x}4]",
          "[2{x:3}4]",
          "[2{x:}4]",
          "[0]",
          "[-4]",
          "[4.0]",
          "[9223372036854775808]",
          "[4294967296, 4294967296]",
          "4",
          "[4,]",
          "[4",
          "[4]]",
          "[4}",
          "[{x}4]",
          "[2{}4]",
          "[4] alltoall(0,1){x}",
          "[2{x}4] allgather(18446744073709551616)",
          '[2{"x}4]',
          "[\udcff]",
          "[4] \x1b[31m",
          "[2{\"" + "n" * 150 + "\"}4]",
          "mesh x:2",
          "[4] [4]",
          "[4] # allgather(0)",
          '[2{"z"}4] allgather(0)',
          "x:2",
          "dynslice(0,x)"]
MESHES = ["", "x", "x:", "x:0", "x:-1", "x:a", "x:9223372036854775808", "x:2,x:2", "x:2;y:2", "x:2,", ",x:2", '"x:2', '"x":2,x:3',
    "4:2", "x:4294967296,y:4294967296", "x:2 y:2", " x:2", "x:2#", "\udcff:2", "x:1"]


def of_queries():
    out = []
    for index, steps in enumerate(STEPS):
        for verb in ("apply", "height", "cost", "normalize") if index % 3 == 0 else ("apply", "cost"):
            out.append(call(f"{verb}/{steps}", verb, "--mesh", "x:2,y:3,u:1", "[2{x}4, 6] " + steps))
    for index, query in enumerate(BROKEN):
        verb = ["apply", "height", "cost", "normalize"][index % 4]
        out.append(call(f"broken/{index:02d}", verb, "--mesh", "x:2,y:3", query))
        if index % 3 == 0:
            out.append(call(f"broken/{index:02d}-types", "types", "--mesh", "x:2,y:3", query))
            out.append(call(f"broken/{index:02d}-optimum", "optimum", "--mesh", "x:2,y:3", query))
    out.append(call("broken/no-collective", "apply", "--mesh", "x:2,y:3", "[4]"))
    out.append(call("broken/no-collective-line", "apply", stdin="mesh x:2\n[4] # nothing\n"))
    for index, mesh in enumerate(MESHES):
        out.append(call(f"mesh/{index:02d}", ["types", "cost", "optimum"][index % 3], "--mesh", mesh,
            *(["[4]", "[4]"] if index % 3 == 2 else ["[4]"])))
        out.append(call(f"mesh/{index:02d}-line", "cost", stdin=f"mesh {mesh}\n[4]\n"))
    for mesh, shape in (("x:2,y:2", "[2, 2]"), ("x:4,y:6", "[12, 12]"), ("x:2,y:3", "[6, 4]"), ("u:1,x:2", "[2]"), ("x:3", "[]"),
        ("x:2,y:2,z:2", "[4, 4]"), ("x:5", "[4, 9]"), ('"a b":2,"":3', "[6]")):
        out.append(call(f"types/{mesh}/{shape}", "types", "--mesh", mesh, shape))
    draw = Draw(99)
    for number in range(30):
        names = "abc"[:draw.between(2, 3)]
        sizes = {name: draw.pick([2, 2, 3, 4]) for name in names}
        mesh = ",".join(f"{name}:{size}" for name, size in sizes.items())
        first = draw.pick(names)
        steps = [draw.pick(["allgather(0)", "allgather(1)", "alltoall(0,1)",
            "alltoall(1,0)"] + [f"dynslice({i},{name})" for i in (0, 1) for name in names]) for _ in range(draw.between(1, 5))]
        query = f"[{24 // sizes[first]}{{{first}}}24, 24] " + " ".join(steps)
        out.append(call(f"drawn/{number:02d}", ["apply", "height", "normalize", "cost"][number % 4], "--mesh", mesh, query))
    return out


def of_optimum():
    out = []
    for index, problem in enumerate([*problems.KNOWN, *problems.all_drawn()]):
        if problem.devices > 24 or problems.elements(problem) > 2000 or index % 3:
            continue
        out.append(call(f"optimum/{problem.name}", "optimum", *(["--unbounded"] if index % 6 == 3 else []), *problem.words()))
    many = str([2] * 13)
    rank = str([1] * 17)
    out += [
        call("optimum/too-many-devices", "optimum", "--mesh", "x:128", "[128]", "[1{x}128]"),
        call("optimum/too-many-localtypes", "optimum", "--mesh", "x:2", many, many),
        call("optimum/too-many-dimensions", "optimum", "--mesh", "x:2", rank, rank),
        call("optimum/shapes-differ", "optimum", "--mesh", "x:2", "[4]", "[5]"),
        call("optimum/one-type", "optimum", "--mesh", "x:2", "[4]"),
        call("optimum/three-types", "optimum", "--mesh", "x:2", "[4]", "[4]", "[4]"),
        call("optimum/bounded", "optimum", "--bounded", "--mesh", "x:2", "[4]", "[4]"),
        call("optimum/cost-of-2^63", "optimum", "--mesh", "x:2,y:3", "[1537228672809129301{x,y}9223372036854775806]", "[9223372036854775806]"),
        call("optimum/every-cost-of-2^63", "optimum", "--mesh", "x:2,y:3", "[1537228672809129301{x}3074457345618258602, 1{y}3]",
             "[3074457345618258602, 3]"),
        call("types/too-many", "types", "--mesh", ",".join(f"x{k}:2" for k in range(12)), "[4096, 4096]"),
        call("types/too-many-dimensions", "types", "--mesh", "x:2", stdin=str([1] * 65)),
        call("types/2^63", "types", "--mesh", "x:2", "[4294967296, 4294967296]"),
        call("normalize/large-axis", "normalize", "--mesh", "x:4294967296", "[4]"),
        call("cost/2^63", "cost", "--mesh", f"x:{2**61}", f"[1{{x}}{2**61}]" + " allgather(0) dynslice(0,x)" * 4),
        call("cost/below-2^63", "cost", "--mesh", f"x:{2**61}", f"[1{{x}}{2**61}]" + " allgather(0) dynslice(0,x)" * 3),
        {"id": "oracle/normalize/many-steps", "shell": "(printf '[2]'; yes ' dynslice(0,x) allgather(0)' | head -n 600 | tr -d '\\n') | retile-oracle normalize --mesh x:2"},
    ]
    return out


FACTS = "fact groups [0,1,2]\nfact inside [0]\nfact end [4]\nfact bound [4,4]\nfact cost [4]\n"
GATHER = HEADER + "mesh x:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1]]\n"
PROOF = GATHER + "lower_bound 4\npotential [4] 0 4\n"


def of_programs():
    out = []
    for program in GOOD:
        out.append(call(f"check/right/{program.name}", "check", stdin=program.text()))
    for name, text in {**WRONG, **UNDECIDED}.items():
        out.append(call(f"check/wrong/{name}", "check", stdin=text))
    for name, text in UNREADABLE.items():
        out.append(call(f"check/unreadable/{name}", "check", stdin=text))
    for index, program in enumerate(GOOD):
        changed = mutated(program.text(), Draw(31 + index))
        if changed != program.text():
            out.append(call(f"check/mutated/{program.name}", "check", stdin=changed))
    out.append(call("check/two", "check", stdin=BY_NAME["swap"].text() + WRONG["groups/repeated"]))
    out.append(call("check/file", "check", "p.txt", files={"p.txt": BY_NAME["first-look"].text()}))
    out.append(call("check/file-unreadable", "check", "p.txt",
        files={"p.txt": BY_NAME["first-look"].text().replace("split", "spilt")}))
    out.append(call("check/json-form", "check", stdin=BY_NAME["swap"].json()))
    certificates = {
        "proof": PROOF,
        "lower": PROOF.replace("lower_bound 4", "lower_bound 3").replace("0 4", "0 3"),
        "higher": PROOF.replace("lower_bound 4", "lower_bound 5"),
        "potential": PROOF.replace("[4] 0 4", "[4] 1 4"),
        "localtype": PROOF.replace("[4] 0 4", "[4] 0 5"),
        "strange-localtype": PROOF.replace("potential", "potential [3] 0 0\npotential"),
        "offsets": PROOF.replace("[2{x}4]\n", "tile=[2] global=[4] at=[[0],[2]]\n"),
        "wrong-program": PROOF.replace("[0,1]", "[1,0]"),
        "facts": GATHER + FACTS,
        "facts-and-bound": GATHER + FACTS + PROOF[len(GATHER):],
        "fact-missing": GATHER + FACTS.replace("fact inside [0]\n", ""),
        "fact-changed": GATHER + FACTS.replace("cost [4]", "cost [5]"),
        "fact-of-no-kind": GATHER + FACTS.replace("inside", "outside"),
        "fact-without-a-name": GATHER + "fact [4]\n",
        "zero": PROOF.replace("[4] 0", "[0] 0"),
        "word": PROOF.replace("lower_bound 4", "lower_bound x"),
        "refuted": PROOF + "refuted [2] []\n",
        "refuted-short": PROOF + "refuted [2] [[0,1]]\n",
        "refuted-far": PROOF + "refuted [4] []\n",
        "two-programs": PROOF + GATHER,
        "two-bounds": PROOF + "lower_bound 18\n",
        "no-proof": GATHER,
        "step-behind": PROOF + "allgather dim=0 groups=[[0,1]]\n",
        "undecided": HEADER + f"devices {2**31}\nfrom [1]\nto [1]\nlower_bound 0\n",
        "empty": "",
    }
    for name, text in certificates.items():
        out.append(call(f"certify/{name}", "certify", stdin=text))
    out.append(call("certify/file", "certify", "c.txt", files={"c.txt": PROOF}))
    out.append(call("check/certificate", "check", stdin=PROOF))
    return out


def of_boxes():
    mesh = ["boxes", "--mesh", "x:3"]
    return [
        call("boxes/dealt", *mesh, "[2@{x}8, 2]"),
        call("boxes/sections", *mesh, "[3{x}5+3, 2]"),
        call("boxes/dealt-sections", *mesh, "[1@{x}5+3]"),
        call("boxes/wrong-sections", *mesh, "[2{x}5+3]"),
        call("boxes/sections-of-blocks", *mesh, "[2~{x}5+3]"),
        call("boxes/dealt-halo", *mesh, "[1@{x}5<1,1>]"),
        call("boxes/sections-beyond", *mesh, "[2@{x}9223372036854775807+3]"),
    ]


def calls():
    return of_usage() + of_queries() + of_optimum() + of_programs() + of_boxes()
