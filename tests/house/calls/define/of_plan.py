"""plan.jsonl: what plan says of good problems, in all its forms."""

from define import problems

PLAN = ["retile", "plan"]
TYPES = ["i8", "u8", "i16", "u16", "f16", "bf16", "i32", "u32", "f32", "i64", "u64", "f64", "c64", "c128"]
LIMITS = ["0", "1", "7", "8", "16", "24", "32", "40", "47", "48", "63", "64", "96", "100", "128", "200", "256", "511", "512", "700",
    "1KiB",
          "1536", "2KiB", "4000", "4KiB", "8KiB", "16KiB", "64KiB", "1MiB", "2MiB"]


def call(name, *words, **more):
    return {"id": "plan/" + name, "argv": [*PLAN, *words], **more}


def of_known():
    out = []
    for index, problem in enumerate(problems.KNOWN):
        words = problem.words()
        out.append(call(f"{problem.name}/text", *words))
        out.append(call(f"{problem.name}/json", *words, "--json"))
        out.append(call(f"{problem.name}/explain", *words, "--explain"))
        out.append(call(f"{problem.name}/bytes", *words, "--cost", "bytes", "--dtype", TYPES[index % len(TYPES)]))
        out.append(call(f"{problem.name}/bytes-json", *words, "--cost", "bytes", "--json", "--dtype",
            TYPES[(index + 5) % len(TYPES)]))
        out.append(call(f"{problem.name}/no-memory", *words, "--memory-limit", "0"))
        out.append(call(f"{problem.name}/little-memory", *words, "--memory-limit", LIMITS[(3 * index + 4) % len(LIMITS)],
            "--explain"))
        out.append(call(f"{problem.name}/certificate", *words, "--certificate", "-"))
    return out


def of_drawn():
    out = []
    for index, problem in enumerate(problems.all_drawn()):
        words = problem.words()
        limit = LIMITS[(index * 7) % len(LIMITS)]
        dtype = TYPES[index % len(TYPES)]
        out.append(call(f"{problem.name}/text", *words))
        out.append(call(f"{problem.name}/json", *words, "--json"))
        if index % 3 == 0:
            out.append(call(f"{problem.name}/explain", *words, "--explain"))
        if index % 3 == 1:
            out.append(call(f"{problem.name}/bytes", *words, "--cost", "bytes", "--dtype", dtype))
        if index % 3 == 2:
            out.append(call(f"{problem.name}/bytes-explain", *words, "--cost=bytes", f"--dtype={dtype}", "--explain"))
        if index % 4 == 0:
            out.append(call(f"{problem.name}/limit", *words, "--memory-limit", limit))
        if index % 4 == 1:
            out.append(call(f"{problem.name}/limit-json", *words, "--memory-limit", limit, "--json", "--dtype", dtype))
        if index % 4 == 2:
            out.append(call(f"{problem.name}/limit-exceed", *words, "--memory-limit", limit, "--exceed-bound", "--explain"))
        if index % 4 == 3:
            out.append(call(f"{problem.name}/limit-bytes", *words, "--memory-limit", limit, "--cost", "bytes", "--exceed-bound",
                "--json"))
        if index % 5 == 0:
            out.append(call(f"{problem.name}/certificate", *words, "--certificate", "-"))
    return out


def of_huge():
    out = []
    for problem in problems.HUGE:
        words = problem.words()
        out.append(call(f"{problem.name}/text", *words))
        out.append(call(f"{problem.name}/explain", *words, "--explain"))
        out.append(call(f"{problem.name}/json", *words, "--json"))
        out.append(call(f"{problem.name}/bytes", *words, "--cost", "bytes", "--dtype", "c128"))
        out.append(call(f"{problem.name}/limit", *words, "--memory-limit", "1", "--dtype", "c128"))
        out.append(call(f"{problem.name}/limit-json", *words, "--memory-limit", "1GiB", "--dtype", "u8", "--json"))
        out.append(call(f"{problem.name}/certificate", *words, "--certificate", "-"))
    beyond = ["--mesh", "x:2", "[2{x}4, 288230376151711744]", "[4, 144115188075855872{x}288230376151711744]"]
    out.append(call("huge-gathering/explain", *beyond, "--cost", "bytes", "--dtype", "c128", "--explain"))
    unproved = problems.HUGE[-1].words()
    out.append(call("huge-unproved/limit-found", *unproved, "--memory-limit", "94466211840"))
    out.append(call("huge-unproved/limit-found-explain", *unproved, "--memory-limit", "94466211840", "--explain"))
    return out


def of_forms():
    """The same problem written in other ways, and every value of every option."""
    same = problems.KNOWN[0].words()
    memory = next(p for p in problems.KNOWN if p.name == "memory").words()
    written = {
        "blanks": ["--mesh", " x:4 , y:6 ", " [ 3 { x } 12 ,2{y}12 ] ", "[2{ y }12,3{x }12]"],
        "tabs": ["--mesh", "x:4,\ty:6", "[3{x}12,\t2{y}12]", "\t[2{y}12, 3{x}12]"],
        "equals": ["--mesh=x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"],
        "options-last": ["[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]", "--mesh", "x:4,y:6"],
        "options-between": ["[3{x}12, 2{y}12]", "--mesh", "x:4,y:6", "[2{y}12, 3{x}12]"],
        "quotes": ["--mesh", '"x":4,"y":6', '[3{"x"}12, 2{y}12]', '[2{"y"}12, 3{x}12]'],
        "sizes-repeated": ["--mesh", "x:4,y:6", "[3{x:4}12, 2{y:6}12]", "[2{y:6}12, 3{x:4}12]"],
        "leading-zeros": ["--mesh", "x:04,y:006", "[03{x}012, 2{y}12]", "[2{y}12, 3{x}12]"],
        "empty-braces": ["--mesh", "x:4,y:6", "[3{x}12, 12{}12]", "[12{}12, 3{x}12]"],
        "two-hyphens": ["--mesh", "x:4,y:6", "--", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"],
        "names-of-all-letters": ["--mesh", "_a-1.b:2,Z9:3", "[1{_a-1.b}2, 3]", "[2, 1{Z9}3]"],
        "names-in-quotes": ["--mesh", '"a b":2,"":3,"4th":2,"#{}[],:":2', '[1{"a b"}2, 3, 4]', '[2, 1{""}3, 1{"#{}[],:","4th"}4]'],
        "names-of-letters-beyond-ascii": ["--mesh", '"größe":2,"幅":3', '[1{"größe"}2, 3]', '[2, 1{"幅"}3]'],
        "names-that-are-no-text": ["--mesh", '"\udcff\udcfe":2', '[1{"\udcff\udcfe"}2]', "[2]"],
    }
    out = [call(f"written/{name}", *words) for name, words in written.items()]
    out += [call(f"written/{name}/json", *words, "--json") for name, words in written.items() if name.startswith("names")]
    for dtype in TYPES:
        out.append(call(f"dtype/{dtype}", *memory, "--dtype", dtype, "--cost", "bytes"))
        out.append(call(f"dtype/{dtype}/limit", *memory, "--dtype", dtype, "--memory-limit", "1000", "--json"))
    for limit in ("0", "00", "1", "1B", "96", "096", "2047", "2048", "2KiB", "3KiB", "1MiB", "1GiB", "1TiB", "8388607TiB",
        "9223372036854775807",
                  "8589934591GiB", "9007199254740991KiB"):
        out.append(call(f"limit/{limit}", *memory, "--memory-limit", limit))
        out.append(call(f"limit/{limit}/exceed-bound", *memory, f"--memory-limit={limit}", "--exceed-bound", "--json"))
    for limit in ("47", "48", "71", "72", "1KiB"):
        out.append(call(f"limit/{limit}/explain", *same, "--memory-limit", limit, "--explain"))
        out.append(call(f"limit/{limit}/explain-json", *same, "--memory-limit", limit, "--explain", "--json"))
        out.append(call(f"limit/{limit}/explain-exceed", *same, "--memory-limit", limit, "--explain", "--exceed-bound"))
        out.append(call(f"limit/{limit}/bytes", *same, "--memory-limit", limit, "--cost", "bytes", "--explain"))
    for words in (["--cost", "paper"], ["--cost", "bytes"], ["--cost=paper", "--dtype=i8"], ["--json", "--explain"],
                  ["--json", "--explain", "--cost", "bytes"],
                  ["--json=true"],
                  ["--json=false"],
                  ["--explain=0"],
                  ["--json", "--color", "always"]):
        out.append(call("option/" + " ".join(words), *same, *words))
    return out


def of_certificates():
    same = problems.KNOWN[0].words()
    huge = problems.HUGE[0].words()
    many = ["--mesh", "x:1048576,y:2", "[1{x}1048576]", "[1048576]"]
    # As little as this takes seconds: the search stops at its limit.
    lines = ["--mesh", "a:12,b:12,c:6,d:5,e:4,f:6", "[1440{f,a}103680, 25920{e}103680, 20736{d}103680]",
             "[17280{f}103680, 103680{}103680, 25920{e}103680]"]
    return [
        call("certificate/file", *same, "--certificate", "proof.cert"),
        call("certificate/file-json", *same, "--certificate", "proof.cert", "--json"),
        call("certificate/file-explain", *same, "--certificate", "proof.cert", "--explain"),
        call("certificate/file-over", *same, "--certificate", "proof.cert", files={"proof.cert": "what was there\n"}),
        call("certificate/no-folder", *same, "--certificate", "no/such/proof.cert"),
        call("certificate/a-folder", *same, "--certificate", "taken", files={"taken/": ""}),
        call("certificate/full", *same, "--certificate", "/dev/full"),
        call("certificate/empty-name", *same, "--certificate="),
        call("certificate/stdout-json", *same, "--certificate", "-", "--json"),
        call("certificate/stdout-explain", *same, "--certificate", "-", "--explain"),
        call("certificate/stdout-both", *same, "--certificate", "-", "--explain", "--json"),
        call("certificate/bytes", *same, "--certificate", "-", "--cost", "bytes"),
        call("certificate/limit", *same, "--certificate", "-", "--memory-limit", "1MiB"),
        call("certificate/limit-infeasible", *same, "--certificate", "-", "--memory-limit", "1"),
        call("certificate/too-many-devices", *huge, "--certificate", "proof.cert"),
        call("certificate/too-many-devices-json", *huge, "--certificate", "proof.cert", "--json"),
        call("certificate/just-too-many-devices", *many, "--certificate", "-"),
        call("certificate/too-many-lines", *lines, "--certificate", "-"),
    ]


def of_views():
    """Blocks that are dealt out where all cuts nest."""
    ends = ["--mesh", "x:4", "[8{x}32, 3]", "[2@{x}32, 3]"]
    return [
        call("view/text", *ends),
        call("view/json", *ends, "--json"),
        call("view/explain", *ends, "--explain"),
        call("view/bytes", *ends, "--cost", "bytes"),
        call("view/limit", *ends, "--memory-limit", "100"),
        call("view/certificate", *ends, "--certificate", "-"),
        call("view/picture", *ends, "--svg", "tiles.svg"),
        call("view/sum", "--mesh", "x:4", "sum{x}[16]", "[2@{x:(1)2}16]"),
        call("view/order", *ends, "--order", "[4]<=[2,2]T(1,0)"),
        call("view/order-listed", *ends, "--order", "[0,3,1,2]"),
        call("view/parts-of-axes", "--mesh", "x:4", "[2@{x}32]", "[1@{x}32]"),
        call("view/sections", "--mesh", "x:4", "[4{x}8+8]", "[16]"),
        call("view/uneven-beside", "--mesh", "x:2,y:2", "[4{x}8, 3{y}5]", "[1@{x}8, 5]"),
        call("view/exchange-beside", "--mesh", "x:2,y:2", "[4{x}8, 3{y}5]", "[1@{x}8, (0,1,5){y}5]"),
    ]


def of_several_boxes():
    """Blocks that are dealt out in turn, and sections."""
    ends = ["--mesh", "x:3", "[3@{x}50, 7]", "[17{x}23+27, 7]"]
    return [
        call("boxes/text", *ends),
        call("boxes/json", *ends, "--json"),
        call("boxes/explain", *ends, "--explain"),
        call("boxes/collectives", *ends, "--collectives"),
        call("boxes/limit", *ends, "--memory-limit", "100"),
        call("boxes/certificate", *ends, "--certificate", "-"),
        call("boxes/picture", *ends, "--svg", "tiles.svg"),
        call("boxes/the-same", "--mesh", "x:3", "[3@{x}50, 7]", "[3@{x}50, 7]"),
        call("boxes/sum", "--mesh", "x:2,y:2", "sum{y}[3@{x}50]", "[5@{x}50]"),
        *of_views(),
        call("boxes/equal-in-other-words", "--mesh", "x:2", "[2@{x}8, 7]", "[2@{x}4+4, 7]"),
        call("boxes/sums", "--mesh", "x:3,y:2", "sum{y}[2@{x}17, 11]", "sum{y}[1@{x}17, 11]"),
        call("boxes/sums-stay", "--mesh", "x:2,y:2", "sum{y}[2@{x}8]", "sum{y}[2@{x}4+4]"),
        call("boxes/halo-of-nothing", "--mesh", "x:3", "[3@{x}50<0,0>]", "[50]"),
        call("boxes/one-round", "--mesh", "x:3", "[17@{x}50, 7]", "[50, 7]"),
        call("boxes/order", *ends, "--order", "[3]<=[3]"),
        call("boxes/order-listed", *ends, "--order", "[2,0,1]"),
        call("boxes/other-mesh", "--mesh", "x:3", "--mesh-to", "y:4", "[3@{x}50]", "[50]"),
        call("boxes/wrong-tile", "--mesh", "x:3", "[16{x}23+27]", "[50]"),
        call("boxes/wrong-tile-json", "--mesh", "x:3", "[16{x}23+27]", "[50]", "--json"),
        call("boxes/halo", "--mesh", "x:3", "[3@{x}50<1,1>]", "[50]"),
        call("boxes/no-section", "--mesh", "x:3", "[17{x}23+]", "[50]"),
        call("boxes/no-axes", "--mesh", "x:3", "[23+27]", "[50]"),
    ]


def calls():
    return of_known() + of_drawn() + of_huge() + of_forms() + of_certificates() + of_several_boxes()
