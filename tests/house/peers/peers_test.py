#!/usr/bin/env python3
"""The evaluator of peers/ on texts that releases of JAX and MLIR emitted: right ones, wrong ones, and mistakes planted in right ones.

    peers_test.py ROOT
"""

import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "peers"))

try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: needs numpy")
    sys.exit(77)

import ends  # noqa: E402
import mistakes  # noqa: E402
import section8  # noqa: E402
from evaluate import judge, problems_of  # noqa: E402

# As the release emitted them: 0.10.2 of JAX made wrong groups of 120, and lost the sums of 15. MLIR makes one step of the two of 428.
WRONG = {"120.stablehlo", "15.sdy", "428.mlir19", "428.mlir22"}
# What must be noticed: (file, what stands there, what is put there).
PLANTED = [
    ("22.hlo", "dimensions={0}", "dimensions={1}"),
    ("6.hlo", "{0,0},{3,12}", "{0,12},{3,0}"),
    ("5.hlo", "constant({0, 2, 1, 3})", "constant({2, 1, 3, 0})"),
    ("5.hlo", "slice={[0:4], [0:7], [0:1]}", "slice={[0:4], [1:8], [0:1]}"),
    ("5.hlo", "direction=EQ", "direction=NE"),
    ("13.hlo", "padding=0_2", "padding=1_1"),
    ("13.hlo", "s32[5]{0} constant({0, 4,", "s32[5]{0} constant({0, 5,"),
    ("3.stablehlo", "dense<[0, 0, 4, 4", "dense<[0, 4, 0, 4"),
    ("4.stablehlo", "[[0, 4, 8, ", "[[0, 8, 4, "),
    ("4.stablehlo", "[[0, 1, 2, 3]", "[[0, 2, 1, 3]"),
    ("4.sdy", '[{"z"}, {}, {}]', '[{}, {"y"}, {}]'),
    ("4.sdy", "1->2", "1->0"),
    ("0.sdy", '[{"x"}, {"y"}] %', '[{"y"}, {"x"}] %'),
    ("9.mlir19", "mesh_axes = [0] gather_axis = 1", "mesh_axes = [0] gather_axis = 0"),
    ("335.mlir19", "%arg0 on @mesh mesh_axes = [0]", "%arg0 on @mesh mesh_axes = [1]"),
    ("335.mlir19", "%all_reduce on @mesh mesh_axes = [1]", "%all_reduce on @mesh mesh_axes = [0]"),
    ("455.mlir22", "grid_axes = [0]", "grid_axes = [1]"),
]


def texts():
    return {path.name: path.read_text() for path in sorted((HERE / "texts").iterdir())}


def verdict(name, text):
    number, form = name.split(".")
    return judge(problems_of(HERE / "problems.jsonl")[int(number)], form, text)


class Evaluator(unittest.TestCase):
    def test_what_the_releases_emitted(self):
        found = {name: verdict(name, text) for name, text in texts().items()}
        self.assertEqual({name for name, one in found.items() if one["right"] is not True}, WRONG)
        self.assertEqual([name for name in WRONG if found[name]["right"] is None], [])
        self.assertGreater(len(found), 10)

    def test_notices_what_is_planted(self):
        for name, old, new in PLANTED:
            with self.subTest(file=name, old=old):
                text = texts()[name]
                self.assertEqual(text.count(old), 1)
                self.assertIs(verdict(name, text)["right"], True)
                self.assertIsNot(verdict(name, text.replace(old, new))["right"], True)

    def test_refuses_what_it_does_not_read(self):
        self.assertIn("not read", verdict("22.hlo", texts()["22.hlo"].replace(" all-gather(", " cholesky(", 1))["refused"])
        self.assertIn("left out", verdict("13.hlo", texts()["13.hlo"].replace("{0, 4, 8, 12, 16}", "{...}"))["refused"])
        self.assertIsNone(verdict("4.sdy", texts()["4.sdy"].replace("sdy.all_gather", "sdy.reshard"))["right"])
        self.assertIn("not read", verdict("9.mlir19", texts()["9.mlir19"].replace("mesh.all_gather", "mesh.gather"))["refused"])

    def test_sees_the_whole_array(self):
        self.assertEqual(verdict("5.hlo", texts()["5.hlo"])["whole_array"], "all-gather")
        self.assertIsNone(verdict("6.hlo", texts()["6.hlo"])["whole_array"])

    def test_mistakes_are_made_and_noticed(self):
        counts = {True: 0, False: 0, None: 0}
        for name, text in texts().items():
            for kind in mistakes.KINDS:
                new = mistakes.mutant(text, kind, "1") if name not in WRONG else None
                if new is not None:
                    counts[verdict(name, new)["right"]] += 1
        self.assertGreater(counts[False], 10)
        self.assertGreater(counts[None] + counts[False], 3 * counts[True])


class Problems(unittest.TestCase):
    def test_samples_of_section_8_are_those_of_the_benchmarks(self):
        random = section8.mt19937_64(5489)
        self.assertEqual([next(random) for _ in range(10000)][-1], 9981545732273789042)  # what the C++ standard demands
        first = next(section8.problems(section8.mesh_of("x:4,y:2,z:4"), 1, 1))
        self.assertEqual([section8.paper_type(first, end) for end in ("from", "to")],
                         ["[168, 32, 4, 32, 32, 2{z}8]", "[168, 32, 1{x}4, 16{y}32, 32, 2{z}8]"])

    def test_ends_by_hand(self):
        one = {"mesh": [["x", 2], ["y", 3]], "shape": [7, 4], "from": [["y"], ["x"]], "from_order": None, "from_sum": []}
        starts, limits = ends.boxes(one, "from")
        self.assertEqual(starts.tolist(), [[0, 0], [3, 0], [6, 0], [0, 2], [3, 2], [6, 2]])
        self.assertEqual(limits[2].tolist(), [7, 2])
        self.assertEqual(ends.hlo_sharding(one, "from"), "{devices=[3,2]0,3,1,4,2,5}")


if __name__ == "__main__":
    unittest.main()
