"""lower.jsonl: Programs that lower prints, and the exchanges of --direct."""

from define import problems

LOWER = ["retile", "lower"]


def call(name, *words, **more):
    return {"id": "lower/" + name, "argv": [*LOWER, *words], **more}


def calls():
    out = []
    for problem in problems.KNOWN:
        words = problem.words()
        out.append(call(f"{problem.name}/text", *words))
        out.append(call(f"{problem.name}/json", *words, "--json"))
        if problem.devices <= 32:
            out.append(call(f"{problem.name}/direct", *words, "--direct"))
            out.append(call(f"{problem.name}/direct-json", *words, "--json", "--direct"))
    for index, problem in enumerate(problems.all_drawn()):
        words = problem.words()
        out.append(call(f"{problem.name}/text", *words))
        if index % 3 == 0:
            out.append(call(f"{problem.name}/json", *words, "--json"))
        if index % 3 == 1 and problem.devices <= 24:
            out.append(call(f"{problem.name}/direct", *words, "--direct"))
    for problem in problems.HUGE:
        words = problem.words()
        out.append(call(f"{problem.name}/text", *words))
        out.append(call(f"{problem.name}/json", *words, "--json"))
    out.append(call("direct/too-many-boxes", "--mesh", "x:4096", "[1{x}4096, 4096]", "[4096, 1{x}4096]", "--direct"))
    out.append(call("direct/too-many-boxes-json", "--mesh", "x:4096", "[1{x}4096, 4096]", "[4096, 1{x}4096]", "--direct", "--json"))
    out.append(call("direct/too-many-devices", "--mesh", "x:2147483648", "[1{x}2147483648]", "[2147483648]", "--direct"))
    several = ["--mesh", "x:3", "[2@{x}8, 2]", "[3{x}5+3, 2]"]
    out.append(call("boxes/text", *several))
    out.append(call("boxes/json", *several, "--json"))
    for form in ("sdy", "stablehlo", "hlo", "mlir22", "jax", "mpi-c"):
        out.append(call(f"boxes/{form}", *several, "--as", form))
    view = ["--mesh", "x:4", "[8{x}32, 3]", "[2@{x}32, 3]"]
    out.append(call("view/text", *view))
    out.append(call("view/json", *view, "--json"))
    out.append(call("view/order", *view, "--order", "[4]<=[2,2]T(1,0)"))
    for form in ("sdy", "stablehlo", "hlo", "mlir22", "jax", "mpi-c"):
        out.append(call(f"view/{form}", *view, "--as", form))
    out.append(call("names/quoted", "--mesh", '"a b":2,"4th":3', '[1{"a b"}2, 3]', '[2, 1{"4th"}3]'))
    out.append(call("names/quoted-json", "--mesh", '"a b":2,"4th":3', '[1{"a b"}2, 3]', '[2, 1{"4th"}3]', "--json"))
    out.append(call("names/backslash-json", "--mesh", '"a\\b":2,"\t":3', '[1{"a\\b"}2, 3]', '[2, 1{"\t"}3]', "--json"))
    out.append(call("names/no-text", "--mesh", '"\udcff":2,"\udcfe":3', '[1{"\udcff"}2, 3]', '[2, 1{"\udcfe"}3]'))
    out.append(call("names/no-text-json", "--mesh", '"\udcff":2,"\udcfe":3', '[1{"\udcff"}2, 3]', '[2, 1{"\udcfe"}3]', "--json"))
    out.append(call("names/no-text-swap-json", "--mesh", '"\udcff":2,"\udcfe":2', '[1{"\udcff","\udcfe"}4]',
        '[1{"\udcfe","\udcff"}4]', "--json"))
    return out
