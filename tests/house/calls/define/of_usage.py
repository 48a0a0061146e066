"""usage.jsonl: help, versions, arguments that are missing, unknown or of no kind, colours and odd streams."""

from define import problems

EXAMPLE = problems.KNOWN[0].words()
SMALL = ["--mesh", "x:2", "[2{x}4]", "[4]"]
VERBS = ["plan", "lower", "check", "prove", "run"]
BAD = ["plan", "--mesh", "x:0", "[1]", "[1]"]
NOTED = ["plan", "--mesh", "xdev:4", "[32{xdev}256, 1024]", "[256, 1024]"]


def call(name, *words, **more):
    return {"id": "usage/" + name, "argv": ["retile", *words], **more}


def of_help():
    out = [call("help/" + "_".join(words or ["nothing"]), *words) for words in (
        [], ["--help"], ["-h"], ["help"], ["-help"], ["--hel"], ["--help=1"], ["--help", "--json"], ["-h", "plan"],
        ["plan", "lower", "--help"], ["disprove"], ["disprove", "--help"],
        ["--mesh", "x:4"],
        ["-v"],
        ["-V"],
        ["version"],
        ["--json"],
        ["x"],
        [""],
        ["-"],
        ["--"],
        ["--", "plan"],
        ["PLAN"],
        ["pla"],
        ["plans"])]
    for verb in VERBS:
        for words in ([verb, "--help"], [verb, "-h"], [verb, *SMALL, "--help"], ["--help", verb], [verb, "--bogus", "--help"],
            [verb, "--version"], [verb, "help"]):
            out.append(call("help/" + "_".join(words if len(words) < 5 else [verb, "words", "--help"]), *words))
    out.append(call("help/before-version", "--help", "--version", needs=["mpi", "cuda"]))
    out += [call("version", "--version", needs=["mpi", "cuda"]),
        call("version/before-a-verb", "--version", "plan", needs=["mpi", "cuda"]),
            call("version/json", "--version", "--json", needs=["mpi", "cuda"])]
    return out


def of_arguments():
    out = []
    for verb in VERBS:
        sim = ["--backend", "sim"] if verb == "run" else []
        needs = {"needs": ["z3"]} if verb == "prove" else {}
        lines = {
            "no-words": [],
            "mesh-alone": ["--mesh", "x:2"],
            "no-to": ["--mesh", "x:2", "[2{x}4]"],
            "no-mesh": ["[2{x}4]", "[4]"],
            "third-type": [*SMALL, "[8]"],
            "mesh-twice": [*SMALL, "--mesh", "x:4"],
            "mesh-twice-alike": ["--mesh", "x:2", *SMALL],
            "mesh-without-value": ["[2{x}4]", "[4]", "--mesh"],
            "mesh-empty": ["--mesh=", "[2{x}4]", "[4]"],
            "unknown-option": [*SMALL, "--bogus"],
            "unknown-option-value": [*SMALL, "--bogus=1"],
            "unknown-option-first": ["--bogus", *SMALL],
            "unknown-short-option": [*SMALL, "-x"],
            "two-unknown-options": [*SMALL, "--bogus", "--more"],
            "json-value": [*SMALL, "--json=perhaps"],
            "json-true": [*SMALL, "--json=true"],
            "json-false": [*SMALL, "--json=false"],
            "json-twice": [*SMALL, "--json", "--json"],
            "json-no": [*SMALL, "--no-json"],
            "json-capital": [*SMALL, "--JSON"],
            "json-shortened": [*SMALL, "--js"],
            "mesh-shortened": ["--mes", "x:2", "[2{x}4]", "[4]"],
            "mesh-to": [*SMALL, "--mesh-to", "y:2"],
            "one-hyphen": [*SMALL, "-json"],
            "color-pink": [*SMALL, "--color", "pink"],
            "color-empty": [*SMALL, "--color="],
            "color-missing": [*SMALL, "--color"],
            "color-twice": [*SMALL, "--color", "never", "--color", "always"],
            "empty-word": [*SMALL, ""],
            "empty-words": ["--mesh", "x:2", "", ""],
            "behind-hyphens": [*SMALL, "--", "--json"],
            "quoted": [*SMALL, "it's", "a b"],
            "verb-again": [*SMALL, verb],
            "other-verb": [*SMALL, "check" if verb != "check" else "plan"],
            "line-end": [*SMALL, "a\nb"],
            "control": [*SMALL, "--\x1b[31m"],
            "no-text": [*SMALL, "--\udcff"],
            "long": [*SMALL, "--" + "x" * 150],
            "hyphen": [*SMALL, "-"],
            "number": [*SMALL, "-1"],
            "equals": [*SMALL, "="],
            "equals-option": [*SMALL, "--=x"],
        }
        for name, words in lines.items():
            out.append(call(f"arguments/{verb}/{name}", verb, *words, *sim, **needs))
    options = {"plan": ["--cost", "--memory-limit", "--dtype", "--certificate"],
        "prove": ["--solver", "--timeout", "--smt2", "--certificate"],
        "run": ["--program", "-n", "--backend", "--dtype", "--input", "--output", "--repeat", "--memory-limit", "--strategy"]}
    for verb, names in options.items():
        for name in names:
            needs = {"needs": ["z3"]} if verb == "prove" else {}
            out.append(call(f"arguments/{verb}/{name}-missing", verb, *SMALL, name, **needs))
            out.append(call(f"arguments/{verb}/{name}-twice", verb, *SMALL, name, "1", name, "1", **needs))
            out.append(call(f"arguments/{verb}/{name}-empty", verb, *SMALL,
                *(["--backend", "sim"] if verb == "run" and name != "--backend" else []), f"{name}=" if name != "-n" else "-n=",
                **needs))
            if verb != "plan":
                out.append(call(f"arguments/plan/{name}-of-{verb}", "plan", *SMALL, name, "1"))
    for verb, flag in (("plan", "--explain"), ("plan", "--exceed-bound"), ("lower", "--direct"), ("check", "--within-bound"),
        ("run", "--explain")):
        out.append(call(f"arguments/{verb}/{flag}-value", verb, *(SMALL if verb != "check" else []), f"{flag}=perhaps"))
        out.append(call(f"arguments/{verb}/{flag}-of-another", "lower" if verb != "lower" else "plan", *SMALL, flag))
    for limit in ("", "KiB", "-1", "+1", "1KB", "1k", "1 KiB", "1.5", "1e3", "0x10", " 1", "1B B", "1kib", "1PiB", "8388608TiB",
        "9223372036854775808", "99999999999999999999", "1KiB1", "\u0661"):
        out.append(call(f"limit/{limit or 'nothing'}", "plan", *SMALL, f"--memory-limit={limit}"))
    for dtype in ("f33", "", "F32", "float", "f128", "f32,f64", "int", " f32", "bf", "u1"):
        out.append(call(f"dtype/{dtype or 'nothing'}", "plan", *SMALL, f"--dtype={dtype}"))
    for cost in ("dollars", "", "Paper", "byte", "paper,bytes"):
        out.append(call(f"cost/{cost or 'nothing'}", "plan", *SMALL, f"--cost={cost}"))
    out.append(call("exceed-bound-alone", "plan", *SMALL, "--exceed-bound"))
    out.append(call("exceed-bound-alone-json", "plan", *SMALL, "--exceed-bound", "--json"))
    # Which of several mistakes is told.
    out += [
        call("first/option-before-mesh", "plan", "--mesh", "x:0", "[4]", "[4]", "--cost", "dollars"),
        call("first/cost-before-dtype", "plan", *SMALL, "--dtype", "f33", "--cost", "dollars"),
        call("first/dtype-before-limit", "plan", *SMALL, "--memory-limit", "x", "--dtype", "f33"),
        call("first/mesh-before-types", "plan", "--mesh", "x:0", "[", "["),
        call("first/from-before-to", "plan", "--mesh", "x:2", "[", "{"),
        call("first/color-before-missing", "plan", "--color", "pink"),
        call("first/unknown-before-color", "plan", "--color", "pink", "--bogus"),
        call("first/run-dtype-before-program", "run", "--program", "nowhere", "--dtype", "f33", "--backend", "sim"),
        call("first/run-backend-before-dtype", "run", *SMALL, "--backend", "nccl", "--dtype", "f33"),
        call("first/run-repeat-before-n", "run", *SMALL, "-n", "0", "--repeat", "0"),
        call("first/run-problem-before-n", "run", "--mesh", "x:0", "[4]", "[4]", "-n", "3"),
        call("first/prove-solver-before-file", "prove", "nowhere", "--solver", "z4", needs=["z3"]),
        call("first/prove-timeout-before-file", "prove", "nowhere", "--timeout", "0", needs=["z3"]),
    ]
    return out


def of_colors():
    out = []
    for when in ("auto", "always", "never"):
        for stream in ("pipe", "tty"):
            streams = {"streams": {"stderr": "tty"}} if stream == "tty" else {}
            out.append(call(f"color/{when}-{stream}", *NOTED, "--color", when, **streams))
            out.append(call(f"color/{when}-{stream}-before-the-verb", "--color=" + when, *BAD, **streams))
            out.append(call(f"color/{when}-{stream}-no-color", *NOTED, "--color", when, env={"NO_COLOR": "1"}, **streams))
            out.append(call(f"color/{when}-{stream}-no-color-empty", *BAD, "--color", when, env={"NO_COLOR": ""}, **streams))
            out.append(call(f"color/{when}-{stream}-right", "plan", *SMALL, "--color", when, **streams))
            out.append(call(f"color/{when}-{stream}-explained", "plan", *SMALL, "--json", "--explain", "--color", when, **streams))
    out.append(call("color/default-tty", *NOTED, streams={"stderr": "tty"}))
    out.append(call("color/default-tty-no-color", *NOTED, streams={"stderr": "tty"}, env={"NO_COLOR": "0"}))
    out.append(call("color/default-tty-usage", "plan", "--bogus", streams={"stderr": "tty"}))
    out.append(call("color/always-usage", "plan", "--color", "always", "--bogus"))
    out.append(call("color/both-places", "--color", "never", *BAD, "--color", "always"))
    return out


def of_streams():
    out = []
    for name, words in {"plan": ["plan", *EXAMPLE], "lower-json": ["lower", *EXAMPLE, "--json"], "help": ["--help"],
        "plan-help": ["plan", "--help"], "explain": ["plan", *EXAMPLE, "--json", "--explain"], "refused": BAD,
        "infeasible": ["plan", *EXAMPLE, "--memory-limit", "1"],
                        "sim": ["run", *EXAMPLE, "--backend", "sim"],
                        "certificate": ["plan", *EXAMPLE, "--certificate", "-"],
                        "wrong": ["check"],
                        "no-verb": []}.items():
        stdin = {"stdin": "retile.program/1\ndevices 2\nfrom [4{1:2}8]\nto [4{1:2}8]\nallpermute source=[1,0]\n"} if name == "wrong" else {}
        for kind in ("full", "closed", "gone"):
            out.append(call(f"stdout/{kind}/{name}", *words, streams={"stdout": kind}, **stdin))
        out.append(call(f"stderr/closed/{name}", *words, streams={"stderr": "closed"}, **stdin))
        out.append(call(f"stdin/closed/{name}", *words, streams={"stdin": "closed"}))
    out.append(call("streams/all-closed", "plan", *EXAMPLE, streams={"stdin": "closed", "stdout": "closed", "stderr": "closed"}))
    out.append({"id": "usage/memory/little", "shell": "head -c 400000000 /dev/zero | (ulimit -v 500000; retile check)"})
    return out


def calls():
    return of_help() + of_arguments() + of_colors() + of_streams()
