"""check.jsonl: verdicts on Programs that are right or wrong, and refusals of what is no Program."""

from define.draw import Draw
from define.programs import BY_NAME, GOOD, HEADER, LINE, PLANE, UNDECIDED, WRONG

CHECK = ["retile", "check"]


def call(name, text, *words, **more):
    return {"id": "check/" + name, "argv": [*CHECK, *words], "stdin": text, **more}


def of_good():
    out = []
    for program in GOOD:
        out.append(call(f"right/{program.name}", program.text()))
        out.append(call(f"right/{program.name}/json", program.text(), "--json"))
        out.append(call(f"right/{program.name}/bound", program.text(), "--within-bound", "-"))
        out.append(call(f"right/{program.name}/from-json", program.json(), "--json", "--within-bound"))
        out.append(call(f"right/{program.name}/crlf", program.text().replace("\n", "\r\n")))
    return out


def of_wrong():
    out = []
    for name, text in {**WRONG, **{"undecided/" + name: text for name, text in UNDECIDED.items()}}.items():
        out.append(call(f"wrong/{name}", text))
        out.append(call(f"wrong/{name}/json", text, "--json"))
        if name.startswith(("end", "undecided")):
            out.append(call(f"wrong/{name}/bound", text, "--within-bound"))
    return out


def of_several():
    right, high, slice_ = BY_NAME["swap"], BY_NAME["high"], BY_NAME["parts"]
    wrong, undecided = WRONG["bijection/source-repeated"], UNDECIDED["tile-of-2^63"]
    files = {
        "right-right": right.text() * 2, "right-wrong": right.text() + wrong, "wrong-right": wrong + right.text(),
        "wrong-undecided-right": wrong + undecided + right.text(), "undecided-wrong": undecided + wrong,
        "right-high": right.text() + high.text(),
        "json-json": right.json() + slice_.json(),
        "json-in-one-line": (right.json() + high.json()).replace("\n", ""),
        "json-then-text": right.json() + right.text(),
        "text-then-json": right.text() + right.json(),
        "json-then-rest": right.json() + "x",
        "one-unreadable": right.text() + HEADER + "mesh\n", "unreadable-first": HEADER + "to [4]\n" + right.text(),
        "comments-between": "# one\n" + right.text() + "\n# two\n\n" + right.text() + "# end",
        "no-line-end": (right.text() * 2).rstrip("\n"),
        "headers-alone": HEADER * 3,
    }
    out = []
    for name, text in files.items():
        out.append(call(f"several/{name}", text))
        out.append(call(f"several/{name}/json", text, "--json"))
        out.append(call(f"several/{name}/bound", text, "--within-bound"))
    return out


def of_truncated():
    """The first lines of every Program, then parts of lines."""
    out = []
    for program in GOOD:
        lines = program.text().splitlines(keepends=True)
        for count in range(1, len(lines)):
            out.append(call(f"truncated/{program.name}/lines-{count}", "".join(lines[:count]),
                *(["--json"] if count % 3 == 0 else [])))
    for name in ("first-look", "exchange", "offsets", "parts", "quoted", "pairs"):
        text = BY_NAME[name].text()
        for end in range(len(HEADER) + 2, len(text), 11 if len(text) < 200 else 17):
            out.append(call(f"truncated/{name}/bytes-{end:03d}", text[:end]))
    text = BY_NAME["first-look"].json()
    for end in range(1, len(text) - 1, 23):
        out.append(call(f"truncated/first-look-json/bytes-{end:03d}", text[:end]))
    for end in range(0, len(HEADER)):
        out.append(call(f"truncated/header/bytes-{end:02d}", HEADER[:end]))
    return out


PIECES = ["", "0", "1", "7", "99999999999999999999", "-1", "x", "y", "#", '"', "[", "]", "{", "}", ",", "=", "<=", " ", "\t",
    "\x00", "\r", "\udcff", "T(1,0)",
          "[[0]]", "tile=[1]", "map=[1]", "at=[[0]]", "from [4]", "\nmesh x:2\n", "\n", "dim=0", "2", "3", "12", "T", "(", ")"]


def mutated(text, draw):
    at = draw.below(len(text))
    kind = draw.below(6)
    if kind == 0:
        return text[:at] + text[at + 1:]
    if kind == 1:
        return text[:at] + draw.pick(PIECES) + text[at:]
    if kind == 2:
        return text[:at] + draw.pick(PIECES) + text[at + 1:]
    if kind == 3:  # a number
        digits = [i for i, c in enumerate(text) if c.isdigit() and i > 16]
        at = draw.pick(digits)
        return text[:at] + draw.pick("0123456789") + text[at + 1:]
    lines = text.splitlines(keepends=True)
    if kind == 4:  # two lines change places, or one stands twice
        i, j = draw.below(len(lines)), draw.below(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
        return "".join(lines)
    i = draw.below(len(lines))
    return "".join([*lines[:i], lines[i], lines[i], *lines[i + 1:]] if draw.chance(50) else [*lines[:i], *lines[i + 1:]])


def of_mutated():
    out, seen = [], set()
    for index, program in enumerate(GOOD):
        for form, text in (("text", program.text()), ("json", program.json())):
            draw = Draw(7000 + 100 * index + (1 if form == "json" else 0))
            for number in range(11 if form == "text" else 6):
                changed = mutated(text, draw)
                if changed in seen or changed == text:
                    continue
                seen.add(changed)
                words = ["--json"] if number % 4 == 3 else ["--within-bound"] if number % 4 == 2 else []
                out.append(call(f"mutated/{program.name}/{form}-{number:02d}", changed, *words))
    return out


def drawn(draw):
    """A Program of random steps; most are wrong, and wander about before they are."""
    devices = draw.pick([2, 3, 4, 4, 6, 8])
    rank = draw.between(1, 2)
    shape = [draw.pick([4, 6, 8, 12, 24]) for _ in range(rank)]
    factors = [n for n in range(1, devices + 1) if devices % n == 0]

    def tiling():
        dims, stride = [], 1
        for extent in shape:
            size = draw.pick([n for n in factors if extent % n == 0 and devices % (stride * n) == 0])
            dims.append(f"{extent // size}{{{stride}:{size}}}{extent}" if size > 1 else str(extent))
            stride *= size
        return "[" + ", ".join(dims) + "]"

    def rows(length):
        numbers = draw.shuffled(range(devices))
        return "[" + ",".join("[" + ",".join(map(str, numbers[k:k + length])) + "]" for k in range(0, devices, length)) + "]"

    def groups():
        length = draw.pick(factors)
        if draw.chance(50):
            return rows(length)
        if draw.chance(50):
            return f"[{devices // length},{length}]<=[{length},{devices // length}]T(1,0)"
        return f"[{devices // length},{length}]<=[{devices}]"

    lines = [f"devices {devices}", "from " + tiling(), "to " + tiling()]
    for _ in range(draw.between(1, 5)):
        kind, i, j = draw.below(6), draw.below(rank), draw.below(rank)
        if kind == 0:
            lines.append(f"allgather dim={i} groups={groups()}")
        elif kind == 1:
            lines.append(f"dynslice dim={i} groups={groups()}")
        elif kind in (2, 3):
            lines.append(f"alltoall split={i} concat={j} groups={groups()}")
        elif kind == 4:
            lines.append("allpermute source=[" + ",".join(map(str, draw.shuffled(range(devices)))) + "]")
        else:
            parts = draw.pick([2, 3])
            lines.append(f"dynslice dim={i} parts={parts} part=[" + ",".join(str(draw.below(parts)) for _ in range(devices)) + "]")
    return HEADER + "".join(line + "\n" for line in lines)


# There and back again: the steps on the way leave no boxes.
WANDERING = {
    "interleaved": "alltoall split=1 concat=1 groups=[[0,1,2,3]]\nalltoall split=1 concat=1 groups=[[0,1,2,3]]\n",
    "interleaved-pairs": "alltoall split=0 concat=0 groups=[[0,1],[2,3]]\nallpermute source=[2,3,0,1]\nallpermute source=[2,3,0,1]\nalltoall split=0 concat=0 groups=[[0,1],[2,3]]\n",
    "gathered-and-cut": "allgather dim=0 groups=[[3,1,2,0]]\ndynslice dim=0 groups=[[3,1,2,0]]\n",
    "gathered-twice": "allgather dim=0 groups=[[1,0],[3,2]]\nallgather dim=0 groups=[[2,0],[3,1]]\ndynslice dim=0 groups=[[2,0],[3,1]]\ndynslice dim=0 groups=[[1,0],[3,2]]\n",
    "gathered-twice-cut-once": "allgather dim=0 groups=[[1,0],[3,2]]\nallgather dim=0 groups=[[2,0],[3,1]]\ndynslice dim=0 parts=4 part=[3,2,1,0]\n",
    "crossed": "alltoall split=1 concat=0 groups=[[2,0,3,1]]\nalltoall split=0 concat=1 groups=[[2,0,3,1]]\n",
    "crossed-and-permuted": "alltoall split=1 concat=0 groups=[[0,1,2,3]]\nallpermute source=[1,2,3,0]\nallpermute source=[3,0,1,2]\nalltoall split=0 concat=1 groups=[[0,1,2,3]]\n",
    "self-exchange": "exchange transfers=[[0,0,0,0,0,0,2,8],[1,1,0,0,0,0,2,8],[2,2,0,0,0,0,2,8],[3,3,0,0,0,0,2,8]] tile=[2,8]\n",
    "rows-exchanged": "exchange transfers=[[0,0,0,0,1,0,1,8],[0,0,1,0,0,0,1,8],[1,1,0,0,0,0,2,8],[2,2,0,0,0,0,2,8],[3,3,0,0,0,0,2,8]] tile=[2,8]\n"
                      "exchange transfers=[[0,0,0,0,1,0,1,8],[0,0,1,0,0,0,1,8],[1,1,0,0,0,0,2,8],[2,2,0,0,0,0,2,8],[3,3,0,0,0,0,2,8]] tile=[2,8]\n",
    "columns-exchanged": "exchange transfers=[[0,1,0,0,0,4,2,4],[0,0,0,4,0,0,2,4],[1,0,0,0,0,4,2,4],[1,1,0,4,0,0,2,4],[2,2,0,0,0,0,2,8],[3,3,0,0,0,0,2,8]] tile=[2,8]\n"
                         "exchange transfers=[[0,0,0,0,0,4,2,4],[0,1,0,4,0,0,2,4],[1,1,0,0,0,4,2,4],[1,0,0,4,0,0,2,4],[2,2,0,0,0,0,2,8],[3,3,0,0,0,0,2,8]] tile=[2,8]\n",
    "interleaved-never-back": "alltoall split=1 concat=1 groups=[[0,1,2,3]]\nallpermute source=[1,0,3,2]\n",
    "claimed-on-the-way": "allgather dim=0 groups=[[3,1,2,0]] tile=[8,8]\ndynslice dim=0 groups=[[3,1,2,0]] tile=[2,8] at=[[0,0],[2,0],[4,0],[6,0]]\n",
}


def of_drawn():
    out = []
    for name, steps in WANDERING.items():
        text = HEADER + "devices 4\nfrom [2{1:4}8, 8]\nto [2{1:4}8, 8]\n" + steps
        out.append(call(f"wandering/{name}", text))
        out.append(call(f"wandering/{name}/json", text, "--json", "--within-bound"))
    for number in range(80):
        out.append(call(f"drawn/{number:02d}", drawn(Draw(number + 400)), *(["--json"] if number % 2 else [])))
    return out


# What is no Program: name -> text. Sorted by what refuses it.
HEAD = HEADER + "mesh x:2,y:2\n"
ENDS = "from [2{x}4, 2{y}4]\nto [2{x}4, 2{y}4]\n"
BODY = HEAD + ENDS
UNREADABLE = {
    # the file
    "empty": "",
    "blank": " \t\n\n",
    "comment": "# nothing",
    "comments": "# nothing\n  # more\n",
    "no-header": "mesh x:2\n",
    "words-first": "hello\n" + BODY,
    "number-first": "12\n" + BODY,
    "bracket-first": "[1]\n" + BODY,
    "version-2": "retile.program/2\n",
    "no-version": "retile.program\n",
    "version-later": "retile.program /1\n" + ENDS,
    "version-11": "retile.program/11\n" + ENDS,
    "rest-behind-the-header": "retile.program/1 x\n" + ENDS,
    "header-in-capitals": "RETILE.PROGRAM/1\n",
    "header-and-comment": "retile.program/1# a comment\n" + ENDS,
    "byte-order-mark": "\ufeff" + BODY,
    "nul": HEAD.replace("mesh", "me\x00sh"),
    "lone-cr": BODY.replace("\nto", "\rto"),
    "cr-inside": BODY.replace("2{x}4, ", "2{x}4,\r "),
    "letters-beyond-ascii": HEAD + "größe 1\n",
    "no-utf-8": HEAD + "\udcff\n",
    "control": BODY + "\x1b[31m\n",
    "long-word": HEADER + "x" * 300 + "\n",
    "long-line": HEADER + "from [" + "1," * 400 + "z]\n",
    "long-line-early": HEADER + "fram [" + "1," * 400 + "1]\n",
    "form-feed": BODY + "\x0c\n",
    "semicolon": BODY + ";\n",
    # lines of the header
    "unknown-line": HEAD + "fron [4]\n",
    "unknown-line-near-a-step": HEAD + "allgathers dim=0\n",
    "unknown-line-far": HEAD + "something\n",
    "reserved/allreduce": BODY + "allreduce dim=0\n",
    "reserved/reducescatter": BODY + "reducescatter dim=0\n",
    "reserved/reshape": BODY + "reshape\n",
    "reserved/transpose": BODY + "transpose\n",
    "reserved/pad": BODY + "pad dim=0\n",
    "reserved/concat": BODY + "concat dim=0\n",
    "line-starts-with-a-sign": BODY + "-allgather\n",
    "line-starts-with-a-number": BODY + "4\n",
    "line-starts-with-a-quote": BODY + '"mesh" x:2\n',
    "no-from": HEAD + "to [4]\n",
    "no-to": HEAD + "from [4]\n",
    "no-ends": HEAD,
    "step-before-to": HEAD + "from [2{x}4, 4]\nallgather dim=0 groups=[2,2]<=[4]\n",
    "from-twice": HEAD + "from [4]\nfrom [4]\nto [4]\n",
    "to-twice": HEAD + "from [4]\nto [4]\nto [4]\n",
    "devices-twice": HEADER + "devices 2\ndevices 2\nfrom [4]\nto [4]\n",
    "third-mesh": HEAD + "mesh a:4\nmesh b:4\n" + "from [4]\nto [4]\n",
    "mesh-below-a-step": BODY + "allpermute source=[0,1,2,3]\nmesh x:4\n",
    "from-below-a-step": BODY + "allpermute source=[0,1,2,3]\nfrom [4, 4]\n",
    "devices-below-a-step": BODY + "allpermute source=[0,1,2,3]\ndevices 4\n",
    "to-below-a-step": BODY + "allpermute source=[0,1,2,3]\nto [4]\n",
    "no-devices": HEADER + "from [4]\nto [4]\n",
    "devices-0": HEADER + "devices 0\nfrom [4]\nto [4]\n",
    "devices-nothing": HEADER + "devices\n",
    "devices-word": HEADER + "devices four\n",
    "devices-2^31": HEADER + "devices 2147483648\nfrom [4]\nto [4]\nallgather dim=1 groups=[]\n",
    "devices-2^31+1": HEADER + "devices 2147483649\nfrom [4]\nto [4]\n",
    "devices-2^63": HEADER + "devices 9223372036854775808\n",
    "devices-and-mesh-differ": HEAD + "devices 3\nfrom [4]\nto [4]\n",
    "mesh-and-devices-differ": HEADER + "devices 3\nmesh x:2\n",
    "meshes-differ": HEAD + "from [4]\nmesh a:3\nto [4]\n",
    "at-and-mesh-differ": HEAD + "from tile=[4] global=[4] at=[[0],[0]]\nto [4]\n",
    "at-and-at-differ": HEADER + "from tile=[4] global=[4] at=[[0],[0]]\nto tile=[4] global=[4] at=[[0]]\n",
    "at-without-rows": HEADER + "from tile=[4] global=[4] at=[]\nto [4]\n",
    "rest-behind-devices": HEADER + "devices 2 x\n",
    "rest-behind-mesh": HEADER + "mesh x:2 y:2\n",
    "rest-behind-from": HEAD + "from [4] x\n",
    # meshes
    "mesh-alone": HEADER + "mesh\n",
    "mesh-without-size": HEADER + "mesh x\n",
    "mesh-colon": HEADER + "mesh x:\n",
    "mesh-comma": HEADER + "mesh x:2,\n",
    "mesh-size-0": HEADER + "mesh x:0\n",
    "mesh-negative": HEADER + "mesh x:-2\n",
    "mesh-plus": HEADER + "mesh x:+2\n",
    "mesh-2^63": HEADER + "mesh x:9223372036854775808\n",
    "mesh-2^31+1": HEADER + "mesh x:2147483649\n",
    "mesh-product": HEADER + "mesh x:65536,y:65536\n",
    "mesh-product-2^63": HEADER + "mesh x:4294967296,y:4294967296\n",
    "mesh-twice-x": HEADER + "mesh x:2,x:2\n",
    "mesh-twice-quoted": HEADER + 'mesh "x":2,x:2\n',
    "mesh-open-quote": HEADER + 'mesh "x:2\n',
    "mesh-number-as-name": HEADER + "mesh 4:2\n",
    "mesh-long-name-twice": HEADER + "mesh " + "n" * 60 + ":2," + "n" * 60 + ":2\n",
    "mesh-semicolon": HEADER + "mesh x:2;y:2\n", "mesh-control-name": HEADER + "mesh \x01:2\n",
    # tilings in brackets
    "from-nothing": HEAD + "from\n",
    "from-number": HEAD + "from 4\n",
    "from-brace": HEAD + "from {4}\n",
    "from-word": HEAD + "from tiles=[4]\n",
    "from-tile-alone": HEAD + "from tile\n",
    "from-tile-equals": HEAD + "from tile=\n",
    "from-tile-then-at": HEAD + "from tile=[4] at=[[0]]\n",
    "from-tile-number": HEAD + "from tile=4 global=[4] at=[]\n",
    "from-global-missing": HEAD + "from tile=[4]\n",
    "from-at-missing": HEAD + "from tile=[4] global=[4]\n",
    "from-at-flat": HEAD + "from tile=[4] global=[4] at=[0,0,0,0]\n",
    "from-at-open": HEAD + "from tile=[4] global=[4] at=[[0],[0],[0],[0]\n",
    "from-order": HEAD + "from global=[4] tile=[4] at=[[0]]\n",
    "open-bracket": HEAD + "from [4\n",
    "open-bracket-comma": HEAD + "from [4,\n",
    "trailing-comma": HEAD + "from [4,]\n",
    "two-commas": HEAD + "from [4,,4]\n",
    "no-comma": HEAD + "from [4 4]\n",
    "dim-brace-open": HEAD + "from [2{x\n",
    "dim-brace-comma": HEAD + "from [2{x,}4]\n",
    "dim-no-global": HEAD + "from [2{x}]\n",
    "dim-global-word": HEAD + "from [2{x}x]\n",
    "dim-0": HEAD + "from [0]\n",
    "dim-tile-0": HEAD + "from [0{x}4]\n",
    "dim-global-0": HEAD + "from [2{x}0]\n",
    "dim-negative": HEAD + "from [-4]\n",
    "dim-plus": HEAD + "from [+4]\n",
    "dim-sign-alone": HEAD + "from [-]\n",
    "dim-2^63": HEAD + "from [9223372036854775808]\n",
    "dim-fraction": HEAD + "from [4.0]\n",
    "after-digits": HEAD + "from [2{x}{y}4]\n",
    "after-dim-with-digits": HEAD + "from [2{x}4{y}4]\n",
    "digit-nothing": HEAD + "from [2{:2}4]\n",
    "digit-no-size": HEAD + "from [2{1:}4]\n",
    "digit-stride-0": HEAD + "from [2{0:2}4]\n",
    "digit-size-0": HEAD + "from [2{1:0}4]\n",
    "digit-alone": HEAD + "from [2{1}4]\n",
    "digit-sign": HEAD + "from [2{-1:2}4]\n",
    "digit-bang": HEAD + "from [2{!}4]\n",
    "digit-open-quote": HEAD + 'from [2{"x}4]\n',
    "axis-unknown": HEAD + "from [2{z}4]\n",
    "axis-unknown-near": HEADER + "mesh row:2,column:2\nfrom [2{rows}4]\n",
    "axis-unknown-case": HEADER + "mesh row:2\nfrom [2{ROW}4]\n",
    "axis-unknown-of-many": HEADER + "mesh " + ",".join(f"a{k}:1" for k in range(16)) + ",x:2\nfrom [2{z}4]\n",
    "axis-unknown-long": HEAD + "from [2{" + "n" * 60 + "}4]\n",
    "axis-unknown-of-long-names": HEADER + "mesh " + "n" * 50 + ":2\nfrom [2{m}4]\n",
    "axis-size": HEAD + "from [2{x:3}4, 2{y}4]\n",
    "axis-size-0": HEAD + "from [2{x:0}4]\n",
    "axis-size-nothing": HEAD + "from [2{x:}4]\n",
    "axis-without-mesh": HEADER + "devices 2\nfrom [2{x}4]\n",
    "axis-of-the-first-mesh": HEAD + "from [2{x}4, 2{y}4]\nmesh a:4\nto [2{x}4, 2{y}4]\n",
    "axis-twice": HEAD + "from [2{x}4, 2{x}4]\nto [4, 4]\n",
    "axis-twice-in-a-dim": HEAD + "from [1{x,x}4]\nto [4]\n",
    "axis-and-digit": HEAD + "from [2{x}4, 2{2:2}4]\nto [4, 4]\n",
    "digits-overlap": HEADER + "devices 8\nfrom [2{1:4}8, 2{2:2}4]\nto [8, 4]\n",
    "digits-do-not-divide": HEADER + "devices 12\nfrom [2{1:4}8, 2{6:2}4]\nto [8, 4]\n",
    "digit-too-large": HEADER + "devices 4\nfrom [2{1:8}16]\nto [16]\n",
    "digit-beyond": HEADER + "devices 4\nfrom [2{8:2}4]\nto [4]\n",
    "digit-of-2^62": HEADER + "devices 4\nfrom [2{4611686018427387904:2}4]\nto [4]\n",
    "digit-of-three": HEADER + "devices 4\nfrom [1{1:3}3]\nto [3]\n",
    "named-digit-overlaps": HEAD + "from [2{y}4, 2{1:2}4]\nto [4, 4]\n",
    "tile-times-digits": HEAD + "from [3{x}4]\nto [4]\n",
    "tile-times-digits-odd": HEAD + "from [2{x}5]\nto [5]\n",
    "tile-times-digits-2^63": HEAD + "from [9223372036854775807{x}4]\nto [4]\n",
    "tile-times-digits-2^63-odd": HEAD + "from [9223372036854775807{x}5]\nto [4]\n",
    "digits-make-2^63": HEADER + "devices 4\nfrom [1{1:4294967296,4294967296:4294967296}4]\nto [4]\n",
    "tile-without-digits": HEAD + "from [3{}4]\nto [4]\n",
    "array-2^63": HEAD + "from [4294967296, 2147483648]\nto [4]\n",
    "ranks-differ": HEAD + "from [4]\nto [4, 4]\n",
    "shapes-differ": HEAD + "from [4]\nto [8]\n",
    "shapes-differ-long": HEAD + "from [" + ", ".join("123456" for _ in range(12)) + "]\nto [4]\n",
    # tilings by offsets
    "offsets-tile-rank": HEADER + "from tile=[2,2] global=[4] at=[[0],[2]]\nto [4]\n",
    "offsets-tile-rank-1": HEADER + "from tile=[2] global=[4,4] at=[[0,0],[2,0]]\nto [4, 4]\n",
    "offsets-tile-0": HEADER + "from tile=[0] global=[4] at=[[0],[2]]\nto [4]\n",
    "offsets-global-0": HEADER + "from tile=[2] global=[0] at=[[0],[2]]\nto [4]\n",
    "offsets-tile-larger": HEADER + "from tile=[5] global=[4] at=[[0],[2]]\nto [4]\n",
    "offsets-outside": HEADER + "from tile=[2] global=[4] at=[[0],[3]]\nto [4]\n",
    "offsets-outside-2": HEADER + "from tile=[2,2] global=[4,4] at=[[0,0],[2,2],[0,3]]\nto [4, 4]\n",
    "offsets-row-short": HEADER + "from tile=[2,2] global=[4,4] at=[[0,0],[2]]\nto [4, 4]\n",
    "offsets-row-empty": HEADER + "from tile=[2] global=[4] at=[[0],[]]\nto [4]\n",
    "offsets-row-long": HEADER + "from tile=[2] global=[4] at=[[0,0],[2,0]]\nto [4]\n",
    "offsets-2^63": HEADER + "from tile=[2,2] global=[4294967296,2147483648] at=[[0,0]]\nto [4]\n",
    # steps and keys
    "no-keys": BODY + "allgather\n",
    "dim-missing": BODY + "allgather groups=[[0,1,2,3]]\n",
    "groups-missing": BODY + "allgather dim=0\n",
    "split-missing": BODY + "alltoall concat=1 groups=[2,2]<=[4]\n",
    "concat-missing": BODY + "alltoall split=1 groups=[2,2]<=[4]\n",
    "alltoall-groups-missing": BODY + "alltoall split=1 concat=0\n",
    "dynslice-empty": BODY + "dynslice\n",
    "dynslice-dim-alone": BODY + "dynslice dim=0\n",
    "dynslice-parts-alone": BODY + "dynslice dim=0 parts=2\n",
    "dynslice-part-alone": BODY + "dynslice dim=0 part=[0,1,0,1]\n",
    "dynslice-both": BODY + "dynslice dim=0 groups=[2,2]<=[4] parts=2 part=[0,1,0,1]\n",
    "dynslice-no-dim": BODY + "dynslice parts=2 part=[0,1,0,1]\n",
    "allpermute-nothing": BODY + "allpermute\n",
    "allpermute-both": BODY + "allpermute source=[0,1,2,3] pairs=[]\n",
    "exchange-nothing": BODY + "exchange\n",
    "exchange-no-tile": BODY + "exchange transfers=[]\n",
    "exchange-no-transfers": BODY + "exchange tile=[2,2]\n",
    "key-twice": BODY + "allgather dim=0 dim=0 groups=[2,2]<=[4]\n",
    "key-twice-groups": BODY + "allgather dim=0 groups=[2,2]<=[4] groups=[2,2]<=[4]\n",
    "key-twice-map": BODY + "allpermute source=[0,1,2,3] map=[2{x}4, 2{y}4] map=[2{x}4, 2{y}4]\n",
    "key-twice-tile": BODY + "allpermute source=[0,1,2,3] tile=[2,2] tile=[2,2]\n",
    "key-twice-at": BODY + "allpermute source=[0,1,2,3] at=[] at=[]\n",
    "key-twice-pairs": BODY + "allpermute pairs=[] pairs=[]\n",
    "key-twice-parts": BODY + "dynslice dim=0 parts=2 parts=2 part=[0,0,1,1]\n",
    "key-twice-split": BODY + "alltoall split=0 split=0 concat=1 groups=[2,2]<=[4]\n",
    "key-twice-transfers": BODY + "exchange transfers=[] transfers=[] tile=[2,2]\n",
    "key-unknown": BODY + "allgather axis=0 groups=[2,2]<=[4]\n",
    "key-unknown-near": BODY + "allgather dim=0 group=[2,2]<=[4]\n",
    "key-unknown-near-2": BODY + "dynslice dims=0\n",
    "key-of-another-step": BODY + "allgather split=0\n",
    "key-of-another-step-2": BODY + "allpermute groups=[2,2]<=[4]\n",
    "key-long": BODY + "allgather " + "k" * 60 + "=1\n",
    "key-exchange": BODY + "exchange transfer=[]\n",
    "key-number": BODY + "allgather 0\n",
    "key-equals": BODY + "allgather =0\n",
    "key-no-equals": BODY + "allgather dim 0\n",
    "key-colon": BODY + "allgather dim:0\n",
    "key-end": BODY + "allgather dim\n",
    "key-no-value": BODY + "allgather dim=\n",
    "key-two-equals": BODY + "allgather dim==0\n",
    "dim-word": BODY + "allgather dim=x\n",
    "dim-list": BODY + "allgather dim=[0]\n",
    "dim-negative-step": BODY + "allgather dim=-1 groups=[2,2]<=[4]\n",
    "dim-2": BODY + "allgather dim=2 groups=[2,2]<=[4]\n",
    "split-2": BODY + "alltoall split=2 concat=0 groups=[2,2]<=[4]\n",
    "concat-9": BODY + "alltoall split=0 concat=9 groups=[2,2]<=[4]\n",
    "dim-of-dynslice": BODY + "dynslice dim=5 groups=[2,2]<=[4]\n",
    "dim-of-rank-0": HEADER + "devices 1\nfrom []\nto []\nallgather dim=0 groups=[[0]]\n",
    "dim-of-rank-1": LINE + "allgather dim=1 groups=[[0,1]]\n",
    "dim-2^63-1": BODY + "allgather dim=9223372036854775807 groups=[2,2]<=[4]\n",
    "step-rest": BODY + "allpermute source=[0,1,2,3] ]\n",
    # tables
    "groups-number": BODY + "allgather dim=0 groups=4\n",
    "groups-one-row": BODY + "allgather dim=0 groups=[0,1,2,3]\n",
    "groups-open": BODY + "allgather dim=0 groups=[[0,1],[2,3]\n",
    "groups-open-row": BODY + "allgather dim=0 groups=[[0,1],[2,3\n",
    "groups-mixed": BODY + "allgather dim=0 groups=[[0,1],2]\n",
    "groups-word": BODY + "allgather dim=0 groups=[[0,a]]\n",
    "groups-no-comma": BODY + "allgather dim=0 groups=[[0 1]]\n",
    "groups-rows-no-comma": BODY + "allgather dim=0 groups=[[0,1][2,3]]\n",
    "groups-deep": BODY + "allgather dim=0 groups=[[[0]]]\n",
    "groups-device-4": BODY + "allgather dim=0 groups=[[0,1],[2,4]]\n",
    "groups-device-far": BODY + "allgather dim=0 groups=[[0,1],[9223372036854775807,3]]\n",
    "groups-device-2^63": BODY + "allgather dim=0 groups=[[9223372036854775808]]\n",
    "groups-negative": BODY + "allgather dim=0 groups=[[0,-1]]\n",
    "groups-fraction": BODY + "allgather dim=0 groups=[[0,1.5]]\n",
    "source-number": BODY + "allpermute source=4\n",
    "source-rows": BODY + "allpermute source=[[0,1],[2,3]]\n",
    "source-device-4": BODY + "allpermute source=[0,1,2,4]\n",
    "source-open": BODY + "allpermute source=[0,1,2\n",
    "pairs-flat": BODY + "allpermute pairs=[1,2]\n",
    "pairs-of-three": BODY + "allpermute pairs=[[1,2],[1,2,3]]\n",
    "pairs-of-none": BODY + "allpermute pairs=[[1,2],[]]\n",
    "pairs-of-one": BODY + "allpermute pairs=[[1]]\n",
    "pairs-device-4": BODY + "allpermute pairs=[[1,2],[4,1]]\n",
    "pairs-iota": BODY + "allpermute pairs=[2,2]<=[4]\n",
    "part-short": BODY + "dynslice dim=0 parts=2 part=[0,1]\n",
    "part-too-large": BODY + "dynslice dim=0 parts=2 part=[0,1,2,1]\n",
    "part-iota": BODY + "dynslice dim=0 parts=2 part=[4]<=[4]\n",
    "part-iota-short": BODY + "dynslice dim=0 parts=4 part=[2]<=[2]\n",
    "parts-0": BODY + "dynslice dim=0 parts=0 part=[0,0,0,0]\n",
    "part-rows": BODY + "dynslice dim=0 parts=2 part=[[0,1,0,1]]\n",
    # iotas
    "iota-one-number": BODY + "allgather dim=0 groups=[4]<=[4]\n",
    "iota-three-numbers": BODY + "allgather dim=0 groups=[2,2,1]<=[4]\n",
    "iota-source-two": BODY + "allpermute source=[2,2]<=[4]\n",
    "iota-source-none": BODY + "allpermute source=[]<=[4]\n",
    "iota-arrow": BODY + "allgather dim=0 groups=[2,2]<[4]\n",
    "iota-arrow-list": BODY + "allpermute source=[4]<[4]\n",
    "iota-nothing": BODY + "allgather dim=0 groups=[2,2]<=\n",
    "iota-number": BODY + "allgather dim=0 groups=[2,2]<=4\n",
    "iota-0": BODY + "allgather dim=0 groups=[0,4]<=[4]\n",
    "iota-stage-0": BODY + "allgather dim=0 groups=[2,2]<=[4,0]\n",
    "iota-sizes": BODY + "allgather dim=0 groups=[2,2]<=[2]\n",
    "iota-sizes-2": BODY + "allgather dim=0 groups=[1,2]<=[2]<=[4]\n",
    "iota-too-large": BODY + "allgather dim=0 groups=[4,2]<=[8]\n",
    "iota-2^63": BODY + "allgather dim=0 groups=[4294967296,4294967296]<=[4]\n",
    "iota-stage-2^63": BODY + "allgather dim=0 groups=[2,2]<=[4294967296,4294967296]\n",
    "iota-empty-stage": BODY + "allgather dim=0 groups=[2,2]<=[]\n",
    "iota-t-open": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(1,0\n",
    "iota-t-nothing": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T\n",
    "iota-t-empty": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T()\n",
    "iota-t-short": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(0)\n",
    "iota-t-long": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(0,1,2)\n",
    "iota-t-twice": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(0,0)\n",
    "iota-t-beyond": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(0,2)\n",
    "iota-t-negative": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(-1,0)\n",
    "iota-u": BODY + "allgather dim=0 groups=[2,2]<=[2,2]U(1,0)\n",
    "iota-t-second-stage": BODY + "allgather dim=0 groups=[2,2]<=[4]<=[2,2]T(1,1)\n",
    "iota-t-word": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(a,b)\n",
    "iota-t-semicolon": BODY + "allgather dim=0 groups=[2,2]<=[2,2]T(1;0)\n",
    # claims
    "tile-word": BODY + "allpermute source=[0,1,2,3] tile=x\n",
    "tile-rows": BODY + "allpermute source=[0,1,2,3] tile=[[2,2]]\n",
    "map-offsets": BODY + "allpermute source=[0,1,2,3] map=tile=[2]\n",
    "map-number": BODY + "allpermute source=[0,1,2,3] map=4\n",
    "map-shape": BODY + "allpermute source=[0,1,2,3] map=[2{x}4]\n",
    "map-shape-2": BODY + "allpermute source=[0,1,2,3] map=[2{x}4, 4{y}8]\n",
    "map-axis": BODY + "allpermute source=[0,1,2,3] map=[2{z}4, 4]\n",
    "map-tile": BODY + "allpermute source=[0,1,2,3] map=[3{x}4, 4]\n",
    "at-rows": BODY + "allpermute source=[0,1,2,3] at=[[0,0]]\n",
    "at-row": BODY + "allpermute source=[0,1,2,3] at=[[0,0],[0],[0,0],[0,0]]\n",
    "at-flat": BODY + "allpermute source=[0,1,2,3] at=[0,0,0,0]\n",
    "at-empty-row": BODY + "allpermute source=[0,1,2,3] at=[[],[],[],[]]\n",
    # exchanges
    "transfers-flat": BODY + "exchange transfers=[0,0] tile=[2,2]\n",
    "transfers-short": BODY + "exchange transfers=[[0,0,0,0,0,0,2]] tile=[2,2]\n",
    "transfers-empty-row": BODY + "exchange transfers=[[]] tile=[2,2]\n",
    "transfers-one": LINE + "exchange transfers=[[0,0,0,0,4],[1]] tile=[4]\n",
    "transfers-device": BODY + "exchange transfers=[[4,0,0,0,0,0,2,2]] tile=[2,2]\n",
    "transfers-source-device": BODY + "exchange transfers=[[0,4,0,0,0,0,2,2]] tile=[2,2]\n",
    "transfers-shape-0": BODY + "exchange transfers=[[0,0,0,0,0,0,2,0]] tile=[2,2]\n",
    "transfers-tile-rank": BODY + "exchange transfers=[] tile=[2]\n",
    "transfers-tile-0": BODY + "exchange transfers=[] tile=[2,0]\n",
    "transfers-tile-none": LINE + "exchange transfers=[] tile=[]\n",
    "transfers-of-rank-0": HEADER + "devices 1\nfrom []\nto []\nexchange transfers=[[0]] tile=[]\n",
}

# What is no JSON Program. STEP stands in for a step of a Program on four devices, HEAD for its other fields.
FIELDS = '"schema":"retile.program/1","devices":4,"mesh":[["x",2],["y",2]],"from":"[2{x}4, 2{y}4]","to":"[2{x}4, 2{y}4]"'


def with_step(step):
    return "{" + FIELDS + ',"steps":[' + step + "]}"


def with_field(name, value):
    fields = {"schema": '"retile.program/1"', "devices": "4", "mesh": '[["x",2],["y",2]]', "from": '"[2{x}4, 2{y}4]"',
        "to": '"[2{x}4, 2{y}4]"', "steps": "[]"}
    fields[name] = value
    return "{" + ",".join(f'"{key}":{content}' for key, content in fields.items() if content is not None) + "}"


JSON = {
    "open": "{",
    "open-key": '{"schema',
    "open-string": '{"schema":"retile',
    "no-colon": '{"schema" 1}',
    "no-comma": '{"schema":1 "devices":2}',
    "trailing-comma": '{"schema":"retile.program/1",}',
    "single-quotes": "{'schema':1}",
    "comment": "{ /* no */ }",
    "nul": '{"schema":\x00}',
    "no-utf-8": '{"schema":"\udcff"}',
    "bad-escape": '{"schema":"\\x"}',
    "half-surrogate": '{"schema":"\\ud800"}',
    "control-in-string": '{"schema":"a\nb"}',
    "nan": '{"devices":NaN}',
    "word": '{"devices":yes}',
    "empty": "{}",
    "list": "[]",
    "list-of-programs": "[" + with_step("").replace("[]", "[]") + "]",
    "two-brackets": "{}{}",
    "rest": with_step("") + " x",
    "comma-between": with_step("") + "," + with_step(""),
    "schema-missing": with_field("schema", None),
    "schema-other": with_field("schema", '"retile.plan/1"'),
    "schema-number": with_field("schema", "1"),
    "devices-missing": with_field("devices", None),
    "mesh-missing": with_field("mesh", None),
    "from-missing": with_field("from", None),
    "to-missing": with_field("to", None),
    "steps-missing": with_field("steps", None),
    "unknown-key": with_field("meshes", "null"),
    "unknown-key-far": with_field("author", '"me"'),
    "key-twice": "{" + FIELDS + ',"to":"[4]","steps":[]}',
    "devices-word": with_field("devices", '"4"'),
    "devices-null": with_field("devices", "null"),
    "devices-list": with_field("devices", "[4]"),
    "devices-true": with_field("devices", "true"),
    "devices-false": with_field("devices", "false"),
    "devices-fraction": with_field("devices", "4.0"),
    "devices-exponent": with_field("devices", "4e0"),
    "devices-negative": with_field("devices", "-4"),
    "devices-2^63": with_field("devices", "9223372036854775808"),
    "devices-2^70": with_field("devices", "1180591620717411303424"),
    "devices-1e999": with_field("devices", "1e999"),
    "devices-0": with_field("devices", "0"),
    "devices-5": with_field("devices", "5"),
    "devices-2^31+1": with_field("devices", "2147483649"),
    "devices-leading-zero": with_field("devices", "04"),
    "devices-plus": with_field("devices", "+4"),
    "mesh-word": with_field("mesh", '"x:2,y:2"'),
    "mesh-empty": with_field("mesh", "[]"),
    "mesh-flat": with_field("mesh", '["x",2]'),
    "mesh-of-three": with_field("mesh", '[["x",2,2]]'),
    "mesh-reversed": with_field("mesh", '[[2,"x"]]'),
    "mesh-of-words": with_field("mesh", '[["x","2"]]'),
    "mesh-of-numbers": with_field("mesh", "[[2,2]]"),
    "mesh-object": with_field("mesh", '{"x":2}'),
    "mesh-twice-x": with_field("mesh", '[["x",2],["x",2]]'),
    "mesh-size-0": with_field("mesh", '[["x",0]]'),
    "mesh-quote": with_field("mesh", '[["a\\"b",4]]'),
    "mesh-line-end": with_field("mesh", '[["a\\nb",4]]'),
    "mesh-2^32": with_field("mesh", '[["x",65536],["y",65536]]'),
    "mesh-other-devices": with_field("mesh", '[["x",2],["y",3]]'),
    "mesh-null": with_field("mesh", "null"),
    "mesh-deep": with_field("mesh", "[[[[[[1]]]]]]"),
    "mesh-mixed": with_field("mesh", '[["x",2],4]'),
    "mesh-to-number": with_field("mesh_to", "4"),
    "mesh-to-null": with_field("mesh_to", "null"),
    "mesh-to-other": with_field("mesh_to", '[["z",4]]'),
    "from-number": with_field("from", "4"),
    "from-list": with_field("from", "[4]"),
    "from-broken": with_field("from", '"[2{x}4, 2{y}4"'),
    "from-rest": with_field("from", '"[2{x}4, 2{y}4] x"'),
    "from-empty": with_field("from", '""'),
    "from-unknown-axis": with_field("from", '"[2{z}4, 4]"'),
    "from-escape": with_field("from", '"[2{\\u0078}4, 2{y}5]"'),
    "to-other-shape": with_field("to", '"[4]"'),
    "to-offsets": with_field("to", '"tile=[2,2] global=[4,4] at=[[0,0],[0,2],[2,0],[3,2]]"'),
    "to-null": with_field("to", "null"),
    "steps-number": with_field("steps", "4"),
    "steps-null": with_field("steps", "null"),
    "steps-object": with_field("steps", "{}"),
    "steps-word": with_field("steps", '""'),
    "steps-of-numbers": with_field("steps", "[1,2]"),
    "steps-of-rows": with_field("steps", "[[1],[2]]"),
    "steps-of-words": with_field("steps", '["allgather"]'),
    "steps-of-null": with_field("steps", "[null]"),
    "steps-mixed": with_field("steps", '[1,{"op":"allgather"}]'),
    "step-empty": with_step("{}"),
    "step-op-number": with_step('{"op":1}'),
    "step-op-unknown": with_step('{"op":"allgathers"}'),
    "step-op-far": with_step('{"op":"something else"}'),
    "step-op-reserved": with_step('{"op":"allreduce"}'),
    "step-op-header": with_step('{"op":"mesh"}'),
    "step-key-unknown": with_step('{"op":"allgather","axis":0}'),
    "step-key-near": with_step('{"op":"allgather","group":0}'),
    "step-key-other": with_step('{"op":"allgather","split":0}'),
    "step-key-twice": with_step('{"op":"allgather","dim":0,"dim":0}'),
    "step-key-of-program": with_step('{"op":"allgather","devices":4}'),
    "step-missing-key": with_step('{"op":"allgather","dim":0}'),
    "step-dim-word": with_step('{"op":"allgather","dim":"0","groups":[[0,1,2,3]]}'),
    "step-dim-list": with_step('{"op":"allgather","dim":[0],"groups":[[0,1,2,3]]}'),
    "step-dim-2": with_step('{"op":"allgather","dim":2,"groups":[[0,1,2,3]]}'),
    "step-dim-object": with_step('{"op":"allgather","dim":{"a":1}}'),
    "step-groups-number": with_step('{"op":"allgather","dim":0,"groups":4}'),
    "step-groups-flat": with_step('{"op":"allgather","dim":0,"groups":[0,1]}'),
    "step-groups-mixed": with_step('{"op":"allgather","dim":0,"groups":[[0,1],2]}'),
    "step-groups-mixed-2": with_step('{"op":"allgather","dim":0,"groups":[0,[1,2]]}'),
    "step-groups-words": with_step('{"op":"allgather","dim":0,"groups":[["0"]]}'),
    "step-groups-null": with_step('{"op":"allgather","dim":0,"groups":[null,[1]]}'),
    "step-groups-deep": with_step('{"op":"allgather","dim":0,"groups":[[[0]]]}'),
    "step-groups-device": with_step('{"op":"allgather","dim":0,"groups":[[0,4]]}'),
    "step-groups-negative": with_step('{"op":"allgather","dim":0,"groups":[[0,-1]]}'),
    "step-groups-string": with_step('{"op":"allgather","dim":0,"groups":"[[0,1],[2,3]]"}'),
    "step-groups-iota-rest": with_step('{"op":"allgather","dim":0,"groups":"[2,2]<=[4] x"}'),
    "step-groups-iota-sizes": with_step('{"op":"allgather","dim":0,"groups":"[2,2]<=[2]"}'),
    "step-groups-iota-one": with_step('{"op":"allgather","dim":0,"groups":"[4]<=[4]"}'),
    "step-groups-empty-string": with_step('{"op":"allgather","dim":0,"groups":""}'),
    "step-groups-right": with_step('{"op":"dynslice","dim":0,"groups":[]}'),
    "step-source-string": with_step('{"op":"allpermute","source":"[0,1,2,3]"}'),
    "step-source-rows": with_step('{"op":"allpermute","source":[[0,1],[2,3]]}'),
    "step-source-number": with_step('{"op":"allpermute","source":1}'),
    "step-source-iota-two": with_step('{"op":"allpermute","source":"[2,2]<=[4]"}'),
    "step-source-device": with_step('{"op":"allpermute","source":[0,1,2,4]}'),
    "step-pairs-flat": with_step('{"op":"allpermute","pairs":[1,2]}'),
    "step-pairs-string": with_step('{"op":"allpermute","pairs":"[[1,2]]"}'),
    "step-pairs-three": with_step('{"op":"allpermute","pairs":[[1,2,3]]}'),
    "step-part-rows": with_step('{"op":"dynslice","dim":0,"parts":2,"part":[[0]]}'),
    "step-parts-word": with_step('{"op":"dynslice","dim":0,"parts":"2","part":[0,0,0,0]}'),
    "step-part-too-large": with_step('{"op":"dynslice","dim":0,"parts":2,"part":[0,1,2,1]}'),
    "step-tile-number": with_step('{"op":"allpermute","source":[0,1,2,3],"tile":2}'),
    "step-tile-rows": with_step('{"op":"allpermute","source":[0,1,2,3],"tile":[[2,2]]}'),
    "step-map-list": with_step('{"op":"allpermute","source":[0,1,2,3],"map":[4]}'),
    "step-map-broken": with_step('{"op":"allpermute","source":[0,1,2,3],"map":"[2{x}4"}'),
    "step-map-rest": with_step('{"op":"allpermute","source":[0,1,2,3],"map":"[2{x}4, 2{y}4] [4]"}'),
    "step-at-flat": with_step('{"op":"allpermute","source":[0,1,2,3],"at":[0]}'),
    "step-at-short": with_step('{"op":"allpermute","source":[0,1,2,3],"at":[[0,0]]}'),
    "step-transfers-flat": with_step('{"op":"exchange","transfers":[0],"tile":[2,2]}'),
    "step-transfers-short": with_step('{"op":"exchange","transfers":[[0,0]],"tile":[2,2]}'),
    "object-in-mesh": with_field("mesh", '[{"x":2}]'),
    "object-in-step": with_step('{"op":"allpermute","source":[{}]}'),
    "true-in-table": with_step('{"op":"allpermute","source":[true]}'),
    "lines": "{\n" + FIELDS.replace(",", ",\n") + ',\n"steps":[\n{"op":"allgather",\n"dim":0,\n"groups":"[2,2]<=[2,\n3]"}]}',
    "lines-mesh": '{\n"schema":"retile.program/1",\n"devices":4,\n\n"mesh":[["x",0]]}',
    "order-of-fields": '{"steps":[],"to":"[2{x}4]","from":"[2{q}4]","mesh":[["x",2]],"devices":2,"schema":"retile.program/1"}',
    "order-of-fields-right": '{"steps":[],"to":"[2{x}4]","from":"[2{x}4]","mesh":[["x",2]],"devices":2,"schema":"retile.program/1"}',
    "escaped-keys": '{"sch\\u0065ma":"retile.program/1","devices":1,"mesh":null,"from":"[]","to":"[]","steps":[]}',
    "blanks": ' \t\r\n{ "schema" : "retile.program/1" ,\n"devices":1,"mesh":null,"from":"[]","to":"[]","steps":[ ] }\n\n ',
}


def of_unreadable():
    out = []
    for index, (name, text) in enumerate(UNREADABLE.items()):
        out.append(call(f"unreadable/{name}", text, *(["--json"] if index % 5 == 0 else [])))
    for index, (name, text) in enumerate(JSON.items()):
        out.append(call(f"json/{name}", text, *(["--json"] if index % 5 == 0 else [])))
    return out


def of_files():
    """The same refusal names the file that it is about, and where a file cannot be read."""
    swap, broken = BY_NAME["swap"].text(), BY_NAME["swap"].text().replace("source", "sauce")
    file = lambda name, text: {"id": "check/file/" + name, "files": {"program.txt": text}}
    return [
        {**file("right", swap), "argv": [*CHECK, "program.txt"]},
        {**file("right-json", swap), "argv": [*CHECK, "--json", "program.txt"]},
        {**file("right-behind-hyphens", swap), "argv": [*CHECK, "--", "program.txt"]},
        {**file("broken", broken), "argv": [*CHECK, "program.txt"]},
        {**file("broken-json", BY_NAME["swap"].json().replace("source", "sauce")), "argv": [*CHECK, "program.txt"]},
        {**file("broken-by-another-name", broken), "argv": [*CHECK, "./program.txt"]},
        {**file("broken-map-json", BY_NAME["swap"].json().replace("2{b}4", "3{b}4")), "argv": [*CHECK, "program.txt"]},
        {**file("broken-on-line-12", "#\n" * 11 + broken), "argv": [*CHECK, "program.txt"]},
        {**file("empty", ""), "argv": [*CHECK, "program.txt"]},
        {"id": "check/file/missing", "argv": [*CHECK, "no-such-file.txt"]},
        {"id": "check/file/missing-folder", "argv": [*CHECK, "no/such/file.txt"]},
        {"id": "check/file/in-a-file", "argv": [*CHECK, "program.txt/x"], "files": {"program.txt": swap}},
        {"id": "check/file/empty-name", "argv": [*CHECK, ""]},
        {"id": "check/file/folder", "argv": [*CHECK, "folder"], "files": {"folder/": ""}},
        {"id": "check/file/root", "argv": [*CHECK, "/"]},
        {"id": "check/file/link", "argv": [*CHECK, "link"], "files": {"program.txt": swap, "link": {"link": "program.txt"}}},
        {"id": "check/file/dead-link", "argv": [*CHECK, "link"], "files": {"link": {"link": "nowhere"}}},
        {"id": "check/file/name-with-control", "argv": [*CHECK, "a\x1b[31mb"]},
        {"id": "check/file/name-no-utf-8", "argv": [*CHECK, "a\udcffb"]},
        {"id": "check/file/unreadable", "argv": [*CHECK, "/proc/self/mem"]},
        {"id": "check/file/dev-null", "argv": [*CHECK, "/dev/null"]},
        {"id": "check/file/dev-stdin", "argv": [*CHECK, "/dev/stdin"], "stdin": swap},
        {"id": "check/stdin/closed", "argv": CHECK, "streams": {"stdin": "closed"}},
        {"id": "check/stdin/folder", "argv": CHECK, "streams": {"stdin": "folder"}},
        {"id": "check/stdin/two-hyphens", "argv": [*CHECK, "--", "-"], "stdin": swap},
        {"id": "check/large-table", "argv": CHECK, "stdin": HEADER + "devices 64\nfrom [64]\nto [64]\nallpermute source=[" + ",".join(str(63 - k) for k in range(64)) + "]\n"},
        {"id": "check/plane", "argv": CHECK, "stdin": PLANE},
    ]


def calls():
    return of_good() + of_wrong() + of_several() + of_truncated() + of_mutated() + of_drawn() + of_unreadable() + of_files()
