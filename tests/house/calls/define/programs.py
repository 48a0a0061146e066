"""Programs that are right, of every kind, and how one is written in both forms."""

import json

HEADER = "retile.program/1\n"


class Program:
    """Lines of the header and steps, as they stand in the text form."""

    def __init__(self, name, header, steps, devices=None):
        self.name, self.header, self.steps = name, header, steps
        self.devices = devices

    def text(self):
        return HEADER + "".join(line + "\n" for line in [*self.header, *self.steps])

    def json(self):
        """The JSON form, without a library that knows it: keys and values are taken from the text."""
        out = {"schema": "retile.program/1", "devices": self.devices, "mesh": None}
        for line in self.header:
            word, _, rest = line.partition(" ")
            if word == "mesh":
                axes = [[part.rpartition(":")[0].strip('"'), int(part.rpartition(":")[2])] for part in rest.split(",")]
                out["mesh_to" if "from" in out else "mesh"] = axes
            elif word != "devices":
                out[word] = rest
        out["steps"] = []
        for line in self.steps:
            op, *keys = words_of(line)
            step = {"op": op}
            for key in keys:
                name, _, value = key.partition("=")
                is_list = name != "map" and "<=" not in value
                step[name] = json.loads(value) if is_list else value
            out["steps"].append(step)
        return json.dumps(out, separators=(",", ":"), ensure_ascii=False) + "\n"


def words_of(line):
    """Words of a step; blanks inside brackets part none."""
    out, depth = [""], 0
    for c in line:
        depth += (c in "[(") - (c in "])")
        if c == " " and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return out


GOOD = [
    Program("first-look", ["mesh x:4,y:6", "from [3{x}12, 2{y}12]", "to [2{y}12, 3{x}12]"],
            ["alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]",
             "allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6] map=[1{6:2,y}12, 6{12:2}12]",
             "alltoall split=1 concat=0 groups=[12,2]<=[2,2,6]T(0,2,1) tile=[2,3] map=[2{y}12, 3{x}12]"], 24),
    Program("offsets", ["from tile=[2,2] global=[2,4] at=[[0,0],[0,2]]", "to tile=[1,4] global=[2,4] at=[[1,0],[0,0]]"],
            ["alltoall split=0 concat=1 groups=[[0,1]] at=[[0,0],[1,0]]", "allpermute source=[1,0]"], 2),
    Program("exchange", ["mesh x:2", "from [2{x}4, 4]", "to [4, 2{x}4]"],
            ["exchange transfers=[[0,0,0,0,0,0,2,2],[0,1,2,0,0,0,2,2],[1,0,0,0,0,2,2,2],[1,1,2,0,0,2,2,2]] tile=[4,2]"], 2),
    Program("odd-primes", ["mesh a:2,b:3,c:5", "from [1{a,b}6, 3{c}15]", "to [6, 15]"],
            ["alltoall split=1 concat=0 groups=[10,3]<=[2,3,5]T(2,1,0) tile=[3,1]",
             "allgather dim=0 groups=[15,2]<=[5,2,3]T(0,2,1)<=[2,3,5]T(2,1,0) tile=[6,1]",
             "allgather dim=1 groups=[2,15]<=[5,2,3]T(1,0,2)<=[2,3,5]T(2,1,0) tile=[6,15] map=[6, 15]"], 30),
    Program("replicas", ["mesh a:2,b:2,c:2", "from [4, 1{a,b}4]", "to [1{a,c}4, 4]"],
            ["dynslice dim=0 groups=[4,2]<=[8] tile=[2,1] map=[2{c}4, 1{a,b}4]",
             "alltoall split=0 concat=1 groups=[[0,4],[1,5],[2,6],[3,7]] tile=[1,2] map=[1{a,c}4, 2{b}4]",
             "allgather dim=1 groups=[4,2]<=[2,2,2]T(0,2,1) tile=[1,4] map=[1{a,c}4, 4]"], 8),
    Program("pairs", ["mesh x:2,y:2", "from [1{y,x}4]", "to [1{x,y}4]"], ["allpermute pairs=[[1,2],[2,1]] tile=[1] map=[1{2:2,1:2}4]"], 4),
    Program("rows", ["mesh a:2,b:3", "from [1{a}2, 1{b}3]", "to [2, 3]"],
            ["allgather dim=0 groups=[[0,3],[1,4],[2,5]] tile=[2,1] map=[2, 1{b}3]", "allgather dim=1 groups=[2,3]<=[6] tile=[2,3]"], 6),
    Program("parts", ["devices 3", "from [6]", "to tile=[2] global=[6] at=[[4],[0],[2]]"], ["dynslice dim=0 parts=3 part=[2,0,1] tile=[2]"], 3),
    Program("parts-iota", ["devices 4", "from [8, 2]", "to [2{1:4}8, 2]"], ["dynslice dim=0 parts=4 part=[4]<=[4] tile=[2,2] map=[2{1:4}8, 2]"], 4),
    Program("parts-of-some", ["devices 2", "from [4]", "to tile=[1] global=[4] at=[[3],[3]]"], ["dynslice dim=0 parts=4 part=[3,3] at=[[3],[3]]"], 2),
    Program("two-meshes", ["mesh x:2,y:2", "from [2{x}4, 2{y}4]", "mesh a:4", "to [4, 1{a}4]"],
            ["alltoall split=1 concat=0 groups=[2,2]<=[2,2]T(1,0) tile=[4,1]",
                "allpermute source=[4]<=[2,2]T(1,0) tile=[4,1] map=[4, 1{a}4]",
             "allpermute source=[4]<=[2,2]T(1,0)", "allpermute source=[0,2,1,3]"], 4),
    Program("no-steps", ["mesh x:2", "from [2{x}4]", "to [2{1:2}4]"], [], 2),
    Program("one-device", ["devices 1", "from [4]", "to [4]"],
        ["allgather dim=0 groups=[[0]]", "allpermute source=[0]", "allpermute pairs=[]",
                                                               "dynslice dim=0 parts=1 part=[0]", "alltoall split=0 concat=0 groups=[[0]]"], 1),
    Program("rank-0", ["devices 3", "from []", "to tile=[] global=[] at=[[],[],[]]"], ["allpermute source=[2,0,1] tile=[] map=[] at=[[],[],[]]"], 3),
    Program("high", ["mesh a:2", "from [2{a}4, 4]", "to [4, 2{a}4]"], ["allgather dim=0 groups=[1,2]<=[2]", "dynslice dim=1 groups=[1,2]<=[2]"], 2),
    Program("swap", ["mesh a:2,b:2", "from [2{a}4, 2{b}4]", "to [2{b}4, 2{a}4]"], ["allpermute source=[4]<=[2,2]T(1,0) tile=[2,2] map=[2{b}4, 2{a}4]"], 4),
    Program("listed-swap", ["mesh a:2,b:2", "from [2{a}4, 2{b}4]", "to [2{b}4, 2{a}4]"], ["allpermute source=[0,2,1,3]"], 4),
    Program("quoted", ['mesh "a b":2,"4#th":2', 'from [1{"a b"}2, 1{"4#th"}2]', "to [2, 2]"],
            ["allgather dim=0 groups=[2,2]<=[2,2]T(1,0) tile=[2,1]", "allgather dim=1 groups=[2,2]<=[4] tile=[2,2]"], 4),
    Program("digits", ["devices 12", "from [2{4:3,1:2}12, 6]", "to [6{1:2}12, 6]"],
            ["allgather dim=0 groups=[4,3]<=[3,4]T(1,0) tile=[6,6] map=[6{1:2}12, 6]", "allpermute source=[12]<=[12]"], 12),
    Program("gap", ["devices 2", "from tile=[2] global=[5] at=[[3],[0]]", "to tile=[2] global=[5] at=[[0],[3]]"], ["allpermute source=[1,0]"], 2),
    Program("exchange-of-replicas", ["devices 2", "from [4]", "to [2{1:2}4]"], ["exchange transfers=[[0,0,0,0,2],[1,1,0,2,2]] tile=[2]"], 2),
    Program("self-alltoall", ["devices 2", "from [4{1:2}8]", "to [4{1:2}8]"],
            ["alltoall split=0 concat=0 groups=[[0,1]]", "alltoall split=0 concat=0 groups=[[0,1]]"], 2),
]
BY_NAME = {program.name: program for program in GOOD}
# Cuts of the device number that do not nest, one permutation after the other: minutes for a solver.
SLOW = HEADER + """devices 37800
from [37800]
to [37800]
allpermute source=[37800]<=[14,10,9,30]T(3,2,0,1)<=[1,2,18,50,21]T(0,2,4,1,3)
allpermute source=[37800]<=[1,21,150,3,4]T(2,0,1,3,4)<=[135,2,140]T(1,0,2)<=[14,10,9,30]T(3,2,0,1)
"""

LINE = HEADER + "devices 2\nfrom [4{1:2}8]\nto [4{1:2}8]\n"
PLANE = HEADER + "mesh x:2,y:2\nfrom [2{x}4, 2{y}4]\nto [2{x}4, 2{y}4]\n"

# Programs that can be read and are wrong: name -> text. The reasons are those of docs/reference/program.md.
WRONG = {
    "groups/repeated": LINE + "allgather dim=0 groups=[[0,0]]\n",
    "groups/missing": LINE + "allgather dim=0 groups=[[1]]\n",
    "groups/none": LINE + "allgather dim=0 groups=[]\n",
    "groups/empty-row": LINE + "allgather dim=0 groups=[[]]\n",
    "groups/ragged": LINE + "allgather dim=0 groups=[[0,1],[]]\n",
    "groups/ragged-and-missing": PLANE + "allgather dim=0 groups=[[0,1],[2]]\n",
    "groups/ragged-complete": PLANE + "allgather dim=0 groups=[[0,1,2],[3]]\n",
    "groups/iota-of-fewer": PLANE + "allgather dim=0 groups=[1,2]<=[2]\n",
    "groups/of-dynslice": PLANE + "dynslice dim=0 groups=[[0,1],[1,2]]\n",
    "groups/of-alltoall": PLANE + "alltoall split=0 concat=1 groups=[[0,1],[3,3]]\n",
    "groups/second-step": PLANE + "allgather dim=0 groups=[2,2]<=[2,2]T(1,0)\ndynslice dim=1 groups=[[0,2],[1,1]]\n",
    "bijection/source-repeated": LINE + "allpermute source=[0,0]\n",
    "bijection/source-short": LINE + "allpermute source=[0]\n",
    "bijection/source-empty": LINE + "allpermute source=[]\n",
    "bijection/source-long": LINE + "allpermute source=[0,1,0]\n",
    "bijection/iota-short": PLANE + "allpermute source=[2]<=[2]\n",
    "bijection/pairs-open": PLANE + "allpermute pairs=[[1,2]]\n",
    "bijection/target-twice": PLANE + "allpermute pairs=[[1,2],[2,2],[3,1]]\n",
    "bijection/source-twice": PLANE + "allpermute pairs=[[1,2],[1,1]]\n",
    "indivisible/parts": LINE + "dynslice dim=0 parts=3 part=[0,1]\n",
    "indivisible/groups": PLANE + "dynslice dim=0 groups=[1,4]<=[4]\n",
    "indivisible/alltoall": PLANE + "alltoall split=1 concat=0 groups=[1,4]<=[4]\n",
    "indivisible/more-parts-than-extent": LINE + "dynslice dim=0 parts=8 part=[0,7]\n",
    "transfers/not-written": HEADER + "devices 2\nfrom [2{1:2}4]\nto [4]\nexchange transfers=[[0,0,0,0,2],[0,1,2,0,2],[1,0,0,0,2]] tile=[4]\n",
    "transfers/written-twice": HEADER + "devices 2\nfrom [2{1:2}4]\nto [4]\nexchange transfers=[[0,0,0,0,2],[0,1,2,0,2],[1,0,0,0,2],[1,1,1,0,2]] tile=[4]\n",
    "transfers/leaves-the-target": HEADER + "devices 2\nfrom [2{1:2}4]\nto [4]\nexchange transfers=[[0,0,0,0,2],[0,1,3,0,2],[1,0,0,0,2],[1,1,2,0,2]] tile=[4]\n",
    "transfers/leaves-the-source": HEADER + "devices 2\nfrom [2{1:2}4]\nto [4]\nexchange transfers=[[0,0,0,0,2],[0,1,2,1,2],[1,0,0,0,2],[1,1,2,0,2]] tile=[4]\n",
    "transfers/none": HEADER + "devices 2\nfrom [2{1:2}4]\nto [4]\nexchange transfers=[] tile=[4]\n",
    "transfers/far-away": HEADER + "devices 1\nfrom [2]\nto [2]\nexchange transfers=[[0,0,9223372036854775807,0,2]] tile=[2]\n",
    "transfers/of-a-matrix": HEADER + "mesh x:2\nfrom [2{x}4, 4]\nto [4, 2{x}4]\nexchange transfers=[[0,0,0,0,0,0,2,2],[0,1,2,0,0,0,2,2],[1,0,0,0,0,2,2,2],[1,1,1,0,0,2,2,2]] tile=[4,2]\n",
    "tile_claim/shorter": LINE + "allgather dim=0 groups=[1,2]<=[2] tile=[4]\n",
    "tile_claim/longer": LINE + "allpermute source=[1,0] tile=[8]\n",
    "tile_claim/of-another-rank": LINE + "allpermute source=[1,0] tile=[4,1]\n",
    "tile_claim/empty": LINE + "allpermute source=[1,0] tile=[]\n",
    "tile_claim/zero": LINE + "allpermute source=[1,0] tile=[0]\n",
    "tile_claim/transposed": PLANE + "allgather dim=0 groups=[2,2]<=[2,2]T(1,0) tile=[2,4]\n",
    "map_claim/contents": LINE + "allpermute source=[1,0] map=[4{1:2}8]\nallpermute source=[1,0]\n",
    "map_claim/shape": LINE + "allpermute source=[1,0] map=[8]\n",
    "map_claim/smaller-shape": LINE + "allgather dim=0 groups=[1,2]<=[2] map=[4{1:2}8]\n",
    "map_claim/at": LINE + "allpermute source=[1,0] at=[[0],[4]]\n",
    "map_claim/at-outside": LINE + "allpermute source=[1,0] at=[[4],[7]]\n",
    "map_claim/map-right-at-wrong": LINE + "allpermute source=[0,1] map=[4{1:2}8] at=[[4],[0]]\n",
    "map_claim/interleaved": PLANE + "alltoall split=0 concat=0 groups=[2,2]<=[2,2]T(1,0) map=[2{x}4, 2{y}4]\n",
    "not_a_box/interleaved": LINE + "alltoall split=0 concat=0 groups=[1,2]<=[2]\n",
    "not_a_box/order": LINE + "allgather dim=0 groups=[[1,0]]\n",
    "not_a_box/then-mended-shape": LINE + "allgather dim=0 groups=[[1,0]]\ndynslice dim=0 parts=2 part=[0,0]\n",
    "not_a_box/second-step": PLANE + "allpermute source=[1,0,3,2]\nallgather dim=0 groups=[[2,0],[3,1]]\n",
    "end/contents": LINE + "allpermute source=[1,0]\n",
    "end/no-steps": HEADER + "mesh x:2,y:2\nfrom [1{y,x}4]\nto [1{x,y}4]\n",
    "end/larger": LINE + "allgather dim=0 groups=[1,2]<=[2]\n",
    "end/smaller": LINE + "dynslice dim=0 parts=2 part=[0,0]\n",
    "end/transposed": PLANE + "allgather dim=0 groups=[2,2]<=[2,2]T(1,0)\n",
    "end/pieces": HEADER + "devices 3\nfrom [6]\nto [2{1:3}6]\ndynslice dim=0 parts=3 part=[2,0,1]\n",
    "end/after-a-high-tile": HEADER + "mesh a:2\nfrom [2{a}4, 4]\nto [4, 2{a}4]\nallgather dim=0 groups=[1,2]<=[2]\ndynslice dim=1 groups=[[1,0]]\n",
    "end/replicas": HEADER + "devices 2\nfrom [4]\nto [2{1:2}4]\nexchange transfers=[[0,0,0,0,2],[1,1,0,0,2]] tile=[2]\n",
}
# Neither right nor wrong: beyond a limit.
UNDECIDED = {
    "tile-of-2^63": HEADER + "devices 2\nfrom [4611686018427387904]\nto [4611686018427387904]\nallgather dim=0 groups=[1,2]<=[2]\n",
    "many-devices": HEADER + "devices 2147483648\nfrom [2147483648{}2147483648]\nto [2147483648]\nallpermute source=[2147483648]<=[2,1073741824]T(1,0)\n",
}
COSTLY = "allgather dim=0 groups=[1,2]<=[2]\ndynslice dim=0 groups=[1,2]<=[2]\n"
UNDECIDED["cost-of-2^63"] = (HEADER + "devices 2\nfrom [2305843009213693952{1:2}4611686018427387904]\n"
                             "to [2305843009213693952{1:2}4611686018427387904]\n" + 3 * COSTLY)
