"""Problems: a mesh and two types of one array. Well-known ones, and ones that are drawn from fixed seeds."""

from define.draw import Draw


class Problem:
    def __init__(self, name, mesh, start, end):
        """`mesh` is a list of (axis, size); a type is a list of (axes, global size) or a text."""
        self.name, self.axes = name, mesh
        self.mesh = ",".join(f"{axis}:{size}" for axis, size in mesh)
        sizes = dict(mesh)
        self.start, self.end = (text if isinstance(text, str) else type_text(sizes, text) for text in (start, end))
        self.devices = 1
        for _, size in mesh:
            self.devices *= size

    def words(self):
        return ["--mesh", self.mesh, self.start, self.end]


def tile_of(sizes, axes, extent):
    for axis in axes:
        extent //= sizes[axis]
    return extent


def type_text(sizes, dims):
    return "[" + ", ".join(f"{tile_of(sizes, axes, extent)}{{{','.join(axes)}}}{extent}" if axes else str(extent)
                           for axes, extent in dims) + "]"


def known(name, mesh, start, end):
    axes = [(part.rpartition(":")[0], int(part.rpartition(":")[2])) for part in mesh.split(",")]
    return Problem(name, axes, start, end)


# The paper's, and one of each kind.
KNOWN = [
    known("example-3-1", "x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"),
    known("listing-3", "devs:32", "[32,64{devs}2048]", "[1{devs}32,2048]"),
    known("p1", "a:2,b:2,c:2", "[360, 184{c:2}368, 320]", "[90{c:2,a:2}360, 368, 160{b:2}320]"),
    known("replicas", "a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]"),
    known("over-partitioned", "x:4,y:2,z:4", "[8{x}32, 16{y}32, 32]", "[32, 32, 4{x,y}32]"),
    known("unequal-primes", "a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]"),
    known("quoted", '"the axis":2,_y.z-1:1', '[2{"the axis"}4, 1{_y.z-1}1]', "[4, 1]"),
    known("nothing", "x:1", "[4]", "[4]"),
    known("nothing-of-many", "x:4,y:6", "[3{x}12, 2{y}12]", "[3{x}12, 2{y}12]"),
    known("swap", "a:2,b:2", "[2{a}4, 2{b}4]", "[2{b}4, 2{a}4]"),
    known("order", "a:2,b:2", "[1{a,b}4]", "[1{b,a}4]"),
    known("gather", "x:2", "[2{x}4]", "[4]"),
    known("slice", "x:2", "[4]", "[2{x}4]"),
    known("transpose-square", "x:2", "[2{x}4, 4]", "[4, 2{x}4]"),
    known("memory", "x:4", "[8{x}32, 32]", "[32, 8{x}32]"),
    known("runner-up", "x:4,y:2,z:8", "[8{x}32, 16{y}32, 64]", "[32, 32, 8{x,y}64]"),
    known("factor-of-an-axis", "x:6,y:4", "[2{x}12, 3{y}12]", "[3{y}12, 2{x}12]"),
    known("twelve", "x:12", "[1{x}12, 12]", "[12, 1{x}12]"),
    known("coprime", "x:2,y:3", "[6{x}12, 4{y}12, 2]", "[4{y}12, 6{x}12, 2]"),
    known("three-axes", "a:2,b:2,c:3", "[12, 3{a,b}12]", "[6{b}12, 6{a}12]"),
    known("rank-0", "x:3", "[]", "[]"),
    known("ones", "x:2,y:3", "[1, 1, 1]", "[1, 1, 1]"),
    known("axis-of-size-1", "u:1,x:2", "[2{u,x}4, 4]", "[4, 2{x,u}4]"),
    known("all-of-size-1", "u:1,v:1", "[4{u}4, 6{v}6]", "[4{v}4, 6]"),
    known("prime-7", "x:7,y:7", "[7{x}49, 7{y}49]", "[7{y}49, 7{x}49]"),
    known("prime-31", "x:31", "[1{x}31, 62]", "[31, 2{x}62]"),
    known("powers", "x:8,y:4,z:2", "[8{x}64, 4{y,z}32]", "[2{y,x}64, 16{z}32]"),
    known("deep", "a:2,b:2,c:2,d:2,e:2", "[1{a,b,c,d,e}32, 32]", "[32, 1{e,d,c,b,a}32]"),
    known("six-dimensions", "a:2,b:3,c:2", "[2, 3, 4, 5, 6{a}12, 2{b}6]", "[1{a}2, 1{b}3, 2{c}4, 5, 12, 6]"),
    known("valley", "a:2,b:3", "[6{a}12, 6]", "[4{b}12, 6]"),
    known("bytes-differ", "x:8", "[64{x}512, 8]", "[512, 1{x}8]"),
]

# Sizes near the limits: nothing of these is moved.
HUGE = [
    known("huge-one-axis", "x:2147483648", "[1{x}2147483648]", "[2147483648]"),
    known("huge-two-axes", "x:65536,y:32768", "[1{x}65536, 1{y}32768]", "[65536, 32768]"),
    known("huge-swap", "x:65536,y:32768", "[1{x}65536, 1{y}32768, 1]", "[1{x}65536, 32768, 1]"),
    known("huge-prime", "x:2147483647", "[1{x}2147483647, 2147483647]", "[2147483647, 1{x}2147483647]"),
    known("huge-array", "x:2", "[2305843009213693952{x}4611686018427387904]", "[4611686018427387904]"),
    known("huge-cost", "x:2,y:3", "[1537228672809129301{x,y}9223372036854775806]", "[9223372036854775806]"),
    known("huge-resident", "x:2", "[4611686018427387903{x}9223372036854775806]", "[9223372036854775806]"),
    known("huge-permutation", "x:2,y:2", "[1{x,y}4, 2305843009213693951]", "[1{y,x}4, 2305843009213693951]"),
    known("huge-bytes", "x:2", "[288230376151711744, 1{x}2]", "[144115188075855872{x}288230376151711744, 2]"),
    known("huge-mesh-of-many", "a:1024,b:1024,c:2048", "[1{a,b}1048576, 2048]", "[1{b,a}1048576, 1{c}2048]"),
    known("huge-million", "x:1024,y:1024", "[1{x}1024, 1024{y}1048576]", "[1024, 1{x,y}1048576]"),
    known("huge-unproved", "a:2,b:15015", "[1{a}2, 2, 15015" + 19 * ", 2" + "]", "[2, 1{a}2, 15015" + 19 * ", 2" + "]"),
]

NAMES = "abcdefghijklmnopqrstuvwxyz"


def drawn(seed, kind):
    """A problem of a kind: what its mesh and types are like."""
    draw = Draw(seed * 1000003 + sum(kind.encode()) * 7919)
    sizes_of = {
        "small": [2, 2, 3, 4],
        "twos": [2, 2, 2, 4, 4, 8],
        "primes": [2, 3, 5, 7],
        "mixed": [2, 3, 4, 6, 8, 9, 12],
        "swap": [2, 3, 4, 6],
        "replicas": [2, 2, 3, 4],
        "whole": [2, 3, 4, 6],
        "wide": [2, 3, 4],
        "ones": [1, 2, 1, 3],
        "large": [16, 32, 48, 64, 100],
    }[kind]
    count = draw.between(1, 4) if kind not in ("swap", "replicas") else draw.between(2, 4)
    axes = [(NAMES[a], draw.pick(sizes_of)) for a in range(count)]
    sizes = dict(axes)
    rank = draw.between(1, 3)
    if kind == "wide":
        rank = draw.between(4, 6)
    if kind == "swap":
        rank = draw.between(2, 3)
    names = [name for name, _ in axes]

    def placed(used):
        dims = [[] for _ in range(rank)]
        for name in draw.shuffled(used):
            dims[draw.below(rank)].append(name)
        return dims

    first = names if kind in ("swap", "whole",
        "large") else [name for name in names if draw.chance(50 if kind == "replicas" else 75)]
    second = first if kind == "swap" else [name for name in names if draw.chance(50 if kind == "replicas" else 75)]
    before = placed(first)
    after = placed(second)
    if kind == "swap":  # the same axes at other places: often a permutation of equal tiles
        places = draw.shuffled(range(rank))
        after = [draw.shuffled(before[places[i]]) for i in range(rank)]
    shape = []
    for i in range(rank):
        extent = 1
        for axis, size in axes:  # what either needs
            if axis in before[i] or axis in after[i]:
                extent *= size
        shape.append(extent * draw.pick([1, 1, 2, 3] if kind != "large" else [1, 2]))
    start = [(before[i], shape[i]) for i in range(rank)]
    end = [(after[i], shape[i]) for i in range(rank)]
    return Problem(f"{kind}-{seed:02d}", axes, start, end)


KINDS = {"small": 12, "twos": 16, "primes": 14, "mixed": 14, "swap": 16, "replicas": 16, "whole": 10, "wide": 10, "ones": 6,
    "large": 8}


def all_drawn():
    return [drawn(seed, kind) for kind, count in KINDS.items() for seed in range(count)]


def elements(problem):
    """How many elements the array has."""
    out = 1
    for dim in problem.start.strip("[]").split(","):
        digits = dim.rpartition("}")[2].strip()
        if digits.isdigit():
            out *= int(digits)
    return out
