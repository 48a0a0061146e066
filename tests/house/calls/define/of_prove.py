"""prove.jsonl: proofs and counterexamples, by Z3, by cvc5 where it is there, and by scripts that stand in for it."""

from define import problems
from define.programs import BY_NAME, GOOD, HEADER, LINE, PLANE, SLOW, UNDECIDED, WRONG

PROVE = ["retile", "prove"]
EXAMPLE = problems.KNOWN[0].words()


def call(name, *words, **more):
    return {"id": "prove/" + name, "argv": [*PROVE, *words], "needs": ["z3", *more.pop("needs", [])], **more}


def iota(lines):
    return HEADER + "mesh x:2,y:2\nfrom [2{x}4, 2{y}4]\nto [2{x}4, 2{y}4]\n" + lines


# Wrong with iotas alone, so that a solver finds what is wrong.
REFUTED = {
    "end/no-steps": HEADER + "mesh a:2,b:2\nfrom [1{b,a}4]\nto [1{a,b}4]\n",
    "end/swap-left-out": HEADER + "mesh a:2,b:2\nfrom [2{a}4, 2{b}4]\nto [2{b}4, 2{a}4]\nallpermute source=[4]<=[4]\n",
    "end/larger": iota("allgather dim=0 groups=[2,2]<=[2,2]T(1,0)\n"),
    "end/smaller": iota("dynslice dim=0 groups=[2,2]<=[4]\n"),
    "end/last-device": HEADER + "devices 8\nfrom [1{1:8}8]\nto [1{1:8}8]\nallpermute source=[8]<=[2,2,2]T(0,2,1)\n",
    "end/rank-3": HEADER + "mesh a:2,b:3\nfrom [2{a}4, 3, 2{b}6]\nto [4, 3, 1{a,b}6]\nalltoall split=2 concat=0 groups=[3,2]<=[2,3]T(1,0)\n",
    "tile_claim": iota("allgather dim=0 groups=[2,2]<=[2,2]T(1,0) tile=[4,4]\n"),
    "tile_claim/rank": iota("allpermute source=[4]<=[4] tile=[2]\n"),
    "map_claim": iota("allpermute source=[4]<=[2,2]T(1,0) map=[2{x}4, 2{y}4]\nallpermute source=[4]<=[2,2]T(1,0)\n"),
    "map_claim/shape": iota("allpermute source=[4]<=[4] map=[4, 2{y}4]\n"),
    "not_a_box": iota("alltoall split=0 concat=0 groups=[2,2]<=[2,2]T(1,0)\n"),
    "not_a_box/second-step": iota("allpermute source=[4]<=[2,2]T(1,0)\nalltoall split=1 concat=1 groups=[2,2]<=[2,2]T(1,0)\n"),
    "indivisible": iota("dynslice dim=0 groups=[1,4]<=[4]\n"),
    "end/sliced": iota("allgather dim=0 groups=[2,2]<=[2,2]T(1,0)\ndynslice dim=1 groups=[2,2]<=[4]\ndynslice dim=0 groups=[2,2]<=[4]\nallgather dim=1 groups=[2,2]<=[4]\n"),
    "end/parts": HEADER + "devices 4\nfrom [8]\nto [2{1:4}8]\ndynslice dim=0 parts=4 part=[4]<=[2,2]T(1,0)\n",
    "groups/fewer": iota("allgather dim=0 groups=[1,2]<=[2]\n"),
    "bijection/fewer": iota("allpermute source=[2]<=[2]\n"),
    "bound": BY_NAME["high"].text(),
    "limit/tile": UNDECIDED["tile-of-2^63"],
    "limit/cost": UNDECIDED["cost-of-2^63"],
}


def of_programs():
    out = []
    for index, program in enumerate(GOOD):
        out.append(call(f"program/{program.name}", "-", stdin=program.text()))
        out.append(call(f"program/{program.name}/json", "--json", "-", stdin=program.json()))
        if index % 2 == 0:
            out.append(call(f"program/{program.name}/certificate", "-", "--certificate", "-", stdin=program.text()))
        if index % 4 == 1:
            out.append(call(f"program/{program.name}/smt2", "-", "--smt2", "queries", stdin=program.text()))
    for name, text in REFUTED.items():
        out.append(call(f"refuted/{name}", "-", stdin=text))
        out.append(call(f"refuted/{name}/json", "-", "--json", stdin=text))
    for index, (name, text) in enumerate(WRONG.items()):
        out.append(call(f"evaluated/{name}", "-", *(["--json"] if index % 2 else []), stdin=text))
    out.append(call("evaluated/undecided", "-",
        stdin=HEADER + "devices 2147483648\nfrom [1]\nto [1]\nexchange transfers=[] tile=[1]\n"))
    return out


def of_problems():
    out = []
    for index, problem in enumerate(problems.KNOWN):
        out.append(call(f"problem/{problem.name}", *problem.words(), *(["--json"] if index % 3 == 1 else [])))
        if index % 5 == 0:
            out.append(call(f"problem/{problem.name}/certificate", *problem.words(), "--certificate", "-"))
    for index, problem in enumerate(problems.all_drawn()):
        if index % 4 == 0:
            out.append(call(f"problem/{problem.name}", *problem.words(), *(["--json"] if index % 8 == 4 else [])))
    for problem in problems.HUGE[:5] + problems.HUGE[9:11]:
        out.append(call(f"problem/{problem.name}", *problem.words()))
    return out


def solver(says, version="echo This is cvc5 version 0.0"):
    """A script in the place of cvc5."""
    return {"env": {"RETILE_CVC5": "{here}/cvc5"},
        "files": {"cvc5": f'#!/bin/sh\ncase "$1" in --version) {version};; *) {says};; esac\n'}}


def of_options():
    swap, rows, high, wrong = BY_NAME["swap"].text(), BY_NAME["listed-swap"].text(), BY_NAME["high"].text(), REFUTED["end/swap-left-out"]
    out = []
    for choice in ("z3", "cvc5", "both"):
        needs = ["cvc5"] if choice != "z3" else []
        for name, text in (("right", swap), ("wrong", wrong), ("rows", rows)):
            out.append(call(f"solver/{choice}/{name}", "-", "--solver", choice, stdin=text, needs=needs))
            out.append(call(f"solver/{choice}/{name}/json", "-", f"--solver={choice}", "--json", stdin=text, needs=needs))
        out.append(call(f"solver/{choice}/problem", *EXAMPLE, "--solver", choice, needs=needs))
    for choice in ("z4", "", "Z3", "cvc4", "z3,cvc5"):
        out.append(call(f"solver/bad-{choice}", "-", "--solver", choice, stdin=swap))
    for limit in ("1", "01", "60", "1000000"):  # a second may be too little for a solver on a busy machine
        out.append(call(f"timeout/{limit}", "-", "--timeout", limit, stdin=rows if int(limit) == 1 else swap))
    for limit in ("0", "-1", "1.5", "1s", "", "1000001", "99999999999999999999"):
        out.append(call(f"timeout/bad-{limit}", "-", "--timeout", limit, stdin=swap))
    fakes = {"unknown": "echo unknown", "sat": "echo sat", "unsat": "echo unsat", "nothing": ":", "words": "echo what is this",
        "fails": "exit 1", "lies": "echo sat; echo '((device 9) (at_0 0) (at_1 0))'",
             "out-of-range": "echo sat; echo '((device 0) (at_0 7) (at_1 0))'",
             "half-a-model": "echo sat; echo '((device 1))'",
             "always-device-1": "echo sat; echo '((device 1) (at_0 0) (at_1 0))'",
             "timeout": "echo timeout"}
    for name, says in fakes.items():
        for choice in ("cvc5", "both"):
            out.append(call(f"fake/{name}/{choice}", "-", "--solver", choice, stdin=swap, **solver(says)))
        out.append(call(f"fake/{name}/wrong", "-", "--solver", "cvc5", "--json", stdin=wrong, **solver(says)))
    # Scripts that tell questions from each other: what an element must be, where is read, and all others.
    tells = 'for f; do :; done; if grep -q get-value "$f"; then {element}; elif grep -q "(not (and (<= 0" "$f"; then {read}; elif grep -q "(not" "$f"; then echo unsat; else echo sat; fi'
    elements = {
        "no-element": "echo sat; echo '((device 9) (at_0 0) (at_1 0))'",
        "negative": "echo sat; echo '((device (- 1)) (at_0 0) (at_1 0))'",
        "no-values": "echo sat",
        "unknown": "echo unknown",
        "unconfirmed": "echo sat; echo '((device 0) (at_0 0) (at_1 0))'",
        "unmoved": "echo sat; echo '((device 3) (at_0 0) (at_1 0))'",
        "outside-the-tile": "echo sat; echo '((device 0) (at_0 0) (at_1 2))'",
        "last-device-only": "if grep -q '(<= device' \"$f\"; then echo unsat; else echo sat; echo '((device 2) (at_0 0) (at_1 0))'; fi",
        "never-again": "if grep -q '(<= device' \"$f\"; then echo unknown; else echo sat; echo '((device 2) (at_0 0) (at_1 0))'; fi",
        "right": "echo unsat",
        "honest": "if grep -q '(<= device 0)' \"$f\"; then echo unsat; else echo sat; grep -q '(<= device' \"$f\" && echo '((device 1) (at_0 0) (at_1 0))' || echo '((device 3) (at_0 1) (at_1 1))'; fi",
        "above-the-half": "echo sat; echo '((device 3) (at_0 1) (at_1 1))'",
    }
    for name, element in elements.items():
        for form, text in (("right", swap), ("wrong", wrong)):
            out.append(call(f"fake/element-{name}/{form}", "-", "--solver", "cvc5", *(["--json"] if form == "wrong" else []),
                stdin=text,
                            **solver(tells.replace("{element}", element).replace("{read}", "echo unsat"))))
    for name, read in {"sat": "echo sat", "unknown": "echo unknown"}.items():
        out.append(call(f"fake/read-{name}", "-", "--solver", "cvc5", stdin=swap,
            **solver(tells.replace("{element}", "echo unsat").replace("{read}", read))))
    for name, version in {"none": "exit 1", "odd": "echo cvc5 1.0", "empty": "echo version"}.items():
        out.append(call(f"fake/version-{name}", "-", "--solver", "cvc5", stdin=swap, **solver("echo unsat", version)))
    out += [
        call("solver/not-there", "-", "--solver", "cvc5", stdin=swap, env={"RETILE_CVC5": "/nowhere/cvc5"}),
        call("solver/not-there-both", "-", "--solver", "both", "--json", stdin=swap, env={"RETILE_CVC5": "/nowhere/cvc5"}),
        call("solver/not-there-not-needed", "-", "--solver", "cvc5", stdin=rows, env={"RETILE_CVC5": "/nowhere/cvc5"}),
        call("solver/not-in-path", "-", "--solver", "cvc5", stdin=swap, env={"PATH": "{here}:/nowhere"}),
        call("solver/in-path", "-", "--solver", "cvc5", stdin=swap, env={"PATH": "{here}:{path}"}, files=solver("echo unknown")["files"]),
        call("solver/a-folder", "-", "--solver", "cvc5", stdin=swap, env={"RETILE_CVC5": "{here}"}),
        call("several", "-", stdin=swap + wrong + rows),
        call("several/json", "-", "--json", stdin=swap + wrong + rows),
        call("several/undecided", "-", stdin=swap + UNDECIDED["tile-of-2^63"] + wrong),
        call("several/smt2", "-", "--smt2", "queries", stdin=swap + wrong),
        call("several/certificate", "-", "--certificate", "-", stdin=swap + swap),
        call("several/unreadable", "-", stdin=swap + HEADER),
        call("smt2/new-folder", "-", "--smt2", "new/queries", "--json", stdin=swap),
        call("smt2/folder-there", *EXAMPLE, "--smt2", "queries", files={"queries/": ""}),
        call("smt2/over", "-", "--smt2", "queries", stdin=swap, files={"queries/000.smt2": "old\n"}),
        call("smt2/wrong", "-", "--smt2", "queries", stdin=wrong),
        call("smt2/in-a-file", "-", "--smt2", "file/queries", stdin=swap, files={"file": ""}),
        call("smt2/a-file", "-", "--smt2", "file", stdin=swap, files={"file": ""}),
        call("smt2/a-folder-in-the-way", "-", "--smt2", "queries", stdin=swap, files={"queries/000.smt2/": ""}),
        call("smt2/evaluation", "-", "--smt2", "queries", stdin=rows),
        call("smt2/empty-name", "-", "--smt2=", stdin=rows),
        call("certificate/file", "-", "--certificate", "proof", stdin=swap),
        call("certificate/file-json", "-", "--certificate", "proof", "--json", stdin=swap),
        call("certificate/evaluation", "-", "--certificate", "-", stdin=rows),
        call("certificate/wrong", "-", "--certificate", "proof", stdin=wrong),
        call("certificate/wrong-stdout", "-", "--certificate", "-", stdin=wrong),
        call("certificate/over-the-bound", "-", "--certificate", "proof", stdin=high),
        call("certificate/exchange", "-", "--certificate", "-", stdin=BY_NAME["exchange"].text()),
        call("certificate/no-folder", "-", "--certificate", "no/such/proof", stdin=swap),
        call("certificate/a-folder", "-", "--certificate", "taken", stdin=swap, files={"taken/": ""}),
        call("certificate/full", "-", "--certificate", "/dev/full", stdin=swap),
        call("certificate/json-stdout", "-", "--certificate", "-", "--json", stdin=swap),
        call("file", "p.txt", files={"p.txt": swap}),
        call("file/json-form", "p.json", "--json", files={"p.json": BY_NAME["first-look"].json()}),
        call("file/broken", "p.txt", files={"p.txt": swap.replace("source", "sauce")}),
        call("file/missing", "no-such-file.txt"),
        call("file/folder", "taken", files={"taken/": ""}),
        call("file/empty", "p.txt", files={"p.txt": ""}),
        call("stdin/empty", "-"),
        call("stdin/closed", "-", streams={"stdin": "closed"}),
        call("stdout/full", "-", stdin=swap, streams={"stdout": "full"}),
        call("mesh/bad", "--mesh", "x:0", "[4]", "[4]"),
        call("mesh/bad-type", "--mesh", "x:2", "[3{x}4]", "[4]"),
        call("mesh/cost-beyond", *problems.HUGE[5].words()),
        call("time/evaluation", "-", "--timeout", "1",
            # Many short steps, so that it sees in time that the time is up.
            stdin=HEADER + "devices 4194304\nfrom [4194304]\nto [4194304]\nallpermute pairs=[[1,2],[2,1]]\n"
             + 200 * "allpermute source=[4194304]<=[2048,2048]T(1,0)\n"),
        call("time/no-answer", "-", "--timeout", "1", stdin=SLOW),
        call("time/no-answer-json", "-", "--timeout", "1", "--json", stdin=SLOW),
        call("plane", "-", stdin=PLANE),
        call("line", "-", stdin=LINE),
    ]
    return out


def calls():
    return of_programs() + of_problems() + of_options()
