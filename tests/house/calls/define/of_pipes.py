"""pipes.jsonl: what one call prints is what the next one reads, also the oracle, which shares no code with retile."""

from define import problems


def quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"


def call(name, line, **more):
    return {"id": "pipes/" + name, "shell": line, **more}


def calls():
    out = []
    chosen = problems.KNOWN + [problem for index, problem in enumerate(problems.all_drawn()) if index % 4 == 3]
    for index, problem in enumerate(chosen):
        words = " ".join(quoted(word) for word in problem.words())
        form = " --json" if index % 2 else ""
        out.append(call(f"{problem.name}/lower-check", f"retile lower {words}{form} | retile check --within-bound{form}"))
        if problem.devices <= 64 and problems.elements(problem) <= 1 << 14:
            if index % 3 == 0:
                out.append(call(f"{problem.name}/lower-run",
                    f"retile lower {words}{form} | retile run --backend sim --program - --json"))
            if index % 3 == 1:
                out.append(call(f"{problem.name}/direct-check", f"retile lower {words} --direct{form} | retile check{form}"))
            if index % 4 == 0:
                out.append(call(f"{problem.name}/lower-oracle", f"retile lower {words} | retile-oracle check"))
            if index % 4 == 2:
                out.append(call(f"{problem.name}/plan-certify", f"retile plan {words} --certificate - | retile-oracle certify"))
        if index % 5 == 0:
            out.append(call(f"{problem.name}/lower-prove", f"retile lower {words}{form} | retile prove -{form}", needs=["z3"]))
        if index % 6 == 1 and problem.devices <= 1024:
            out.append(call(f"{problem.name}/prove-certify", f"retile prove {words} --certificate - | retile-oracle certify",
                needs=["z3"]))
    example = " ".join(quoted(word) for word in problems.KNOWN[0].words())
    out += [
        call("several/lower-lower-check", f"(retile lower {example}; retile lower --mesh x:2 '[2{{x}}4]' '[4]') | retile check"),
        call("several/json-json-check", f"(retile lower {example} --json; retile lower --mesh x:2 '[2{{x}}4]' '[4]' --json) | retile check --json"),
        call("several/lower-prove", f"(retile lower {example}; retile lower --mesh x:2 '[2{{x}}4]' '[4]') | retile prove - --json", needs=["z3"]),
        call("broken/lost-step", f"retile lower {example} | grep -v allpermute | retile check"),
        call("broken/lost-line", f"retile lower {example} | grep -v '^to' | retile check"),
        call("broken/other-devices", f"retile lower {example} | sed s/y:6/y:5/ | retile check"),
        call("broken/claim", f"retile lower {example} | sed 's/tile=.1,6. /tile=[6,1] /' | retile check"),
        call("broken/bound", f"retile plan {example} --certificate - | sed 's/lower_bound 18/lower_bound 19/' | retile-oracle certify"),
        call("files/run-run", f"retile run {example} --backend sim --output a.npy && retile run {example} --backend sim --input a.npy --output b.npy && cmp a.npy b.npy"),
        call("files/lower-run", f"retile lower {example} > p.txt && retile run --program p.txt --backend sim --json"),
        call("files/certify", f"retile plan {example} --certificate c.txt && retile-oracle certify c.txt"),
        call("files/prove-certify", f"retile prove {example} --certificate c.txt && retile-oracle certify c.txt", needs=["z3"]),
    ]
    return out
