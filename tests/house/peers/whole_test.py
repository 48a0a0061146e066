#!/usr/bin/env python3
"""How whole programs are compared: what devices hold with what one device holds, and verdicts with what happened. Both must notice
what is planted.

    whole_test.py ROOT
"""

import json
import stat
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "peers"))

try:
    import numpy
except ImportError:
    print("skipped: needs numpy")
    sys.exit(77)

import whole  # noqa: E402
from agreement import compare, verdict_of  # noqa: E402
from programs.kit import Argument, P, drawn  # noqa: E402

HLO = """HloModule jit_f, num_partitions=2

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum.1 = f32[] add(%a, %b)
}

ENTRY %main (x: f32[4]) -> (f32[4], f32[4]) {
  %x = f32[4]{0} parameter(0), metadata={op_name="jit(f)/while(x)"}
  %all-reduce.1 = f32[4]{0} all-reduce(%x), replica_groups={{0,1}}, to_apply=%add
  %y = (f32[4]{0:T(256)}, /*index=1*/f32[4]{0}) custom-call(%all-reduce.1), custom_call_target="Both"
  %z = f32[4]{0} get-tuple-element(%y), index=0
  ROOT %t = (f32[4]{0}, f32[4]{0}) tuple(%z, %z)
}
"""
MLIR = """module @jit_f {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}]> : tensor<4xf32>
    %1:2 = "stablehlo.sort"(%0, %0) ({
      stablehlo.return %2 : tensor<i1>
    })
    %3 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}
"""


def halves(array, more=()):
    """Two devices with a half each, and others with all of it."""
    middle = array.shape[0] // 2
    low, high = slice(0, middle), slice(middle, None)
    rest = (slice(None),) * (array.ndim - 1)
    return [((low, *rest), array[low].copy()), ((high, *rest), array[high].copy()), *[((slice(None), *rest), one.copy()) for one in more]]


class Elements(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(7)

    def test_the_same_is_equal(self):
        for array in (self.random.standard_normal((8, 3)).astype("float32"), self.random.integers(-9, 9, (8, 3)), self.random.random((8, 3)) < 0.5,
                      numpy.array([numpy.nan, numpy.inf, -numpy.inf, 1.0], dtype="float32"), numpy.zeros((0, 3), "float32")):
            found = compare(array, halves(array, [array]))
            self.assertEqual((found["differs"], found["first"], found["elements"]), (0, None, 2 * array.size))
            self.assertEqual(verdict_of([found]), "equal")

    def test_one_element_of_one_device_is_noticed(self):
        array = self.random.integers(-9, 9, (8, 3)).astype("int32")
        for device, at in ((0, (1, 2)), (1, (3, 0)), (2, (7, 1))):
            shards = halves(array, [array])
            shards[device][1][at] += 1
            found = compare(array, shards)
            self.assertEqual(found["differs"], 1)
            self.assertEqual(found["first"][:2], [device, [at[0] + (4 if device == 1 else 0), at[1]]])
            self.assertEqual(verdict_of([compare(array, halves(array)), found]), "differs")

    def test_a_rounding_is_none_and_a_fault_is_one(self):
        for dtype, rounding, fault in (("float32", 2e-6, 1e-3), ("float64", 1e-12, 1e-6), ("float16", 2e-3, 5e-2), ("complex64", 2e-6, 1e-3)):
            array = self.random.standard_normal(64).astype(dtype)
            array[0] = 1
            for change, differs in ((rounding, 0), (fault, 1)):
                shards = halves(array)
                shards[0][1][5] += change * numpy.abs(array).max()
                self.assertEqual(compare(array, shards)["differs"], differs, (dtype, change))

    def test_what_is_not_finite_is_no_number(self):
        array = numpy.array([1.0, numpy.nan, numpy.inf, 2.0], dtype="float32")
        for at, value in ((0, numpy.nan), (1, 0.0), (2, -numpy.inf), (2, 3e38), (3, numpy.inf)):
            shards = [((slice(None),), array.copy())]
            shards[0][1][at] = value
            self.assertEqual(compare(array, shards)["differs"], 1, (at, value))

    def test_what_is_about_zero_is_compared_with_a_floor(self):
        array = numpy.zeros(4, "float32")
        self.assertEqual(compare(array, [((slice(None),), array + numpy.float32(1e-9))])["differs"], 0)
        self.assertEqual(compare(array, [((slice(None),), array + numpy.float32(1e-5))])["differs"], 4)

    def test_a_tile_of_another_size_or_type_is_wrong(self):
        array = numpy.arange(8, dtype="int32")
        self.assertGreater(compare(array, [((slice(0, 4),), array[:3])])["differs"], 0)
        self.assertGreater(compare(array, [((slice(0, 4),), array[:4].astype("int64"))])["differs"], 0)

    def test_a_scalar(self):
        self.assertEqual(compare(numpy.float32(3), [((), numpy.float32(3))])["differs"], 0)
        self.assertEqual(compare(numpy.float32(3), [((), numpy.float32(4))])["first"], [0, [], "3.0", "4.0"])


class Drawn(unittest.TestCase):
    def test_an_index_goes_past_both_ends(self):
        index = Argument("integer", (200,), P(), "int32", low=0, high=8, loose=True)
        ranges = [(drawn(index, numpy.random.default_rng(1), draw).min(), drawn(index, numpy.random.default_rng(1), draw).max()) for draw in range(3)]
        self.assertEqual(ranges, [(0, 7), (-40, 0), (7, 47)])

    def test_other_numbers_keep_to_their_range(self):
        numbers = Argument("integer", (200,), P(), "int32", low=2, high=8)
        self.assertEqual({(drawn(numbers, numpy.random.default_rng(1), draw).min(), drawn(numbers, numpy.random.default_rng(1), draw).max())
                          for draw in range(3)}, {(2, 7)})


class Verdicts(unittest.TestCase):
    def asked(self, code, execution, state="emitted"):
        """The row of a program with this execution, of which a program in place of retile says this."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            program = folder / "retile"
            program.write_text(f"#!/bin/sh\necho said\nexit {code}\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            facts = {"program": "p", "release": "1", "devices": 2, "state": state, "execution": execution, "words": "", "seconds": {"compile": 1.0}}
            (folder / "run.json").write_text(json.dumps(facts))
            (folder / "before.hlo").write_text(HLO)
            (folder / "after.hlo").write_text(HLO)
            return whole.row(str(program), folder, 10)

    def test_a_verdict_is_held_against_what_happened(self):
        table = {(0, "equal"): "agree", (1, "differs"): "agree", (0, "differs"): "contradiction", (1, "equal"): "contradiction", (2, "equal"): "open",
                 (3, "differs"): "open", (4, "equal"): "open", (0, "not run"): "open", (1, "not run"): "open"}
        for (code, execution), wanted in table.items():
            found = self.asked(code, execution)
            self.assertEqual((found["agreement"], found["verdict"]), (wanted, whole.VERDICTS.get(code, "failed")), (code, execution))
            self.assertEqual("said" in found, code != 0)

    def test_rows_add_up(self):
        rows = [self.asked(0, "equal"), self.asked(0, "differs"), self.asked(3, "equal")]
        self.assertEqual(whole.summary(rows)["1"]["agreement"], {"agree": 1, "contradiction": 1, "open": 1})

    def test_a_program_without_the_verb_is_known(self):
        with tempfile.TemporaryDirectory() as name:
            program = Path(name) / "retile"
            program.write_text("#!/bin/sh\nexit 2\n")
            program.chmod(0o755)
            self.assertFalse(whole.has_validate(str(program)))


class Operations(unittest.TestCase):
    def test_of_hlo(self):
        self.assertEqual(whole.opcodes(HLO), Counter({"parameter": 3, "add": 1, "all-reduce": 1, "custom-call": 1, "get-tuple-element": 1, "tuple": 1}))
        self.assertEqual(whole.targets(HLO), Counter({"Both": 1}))

    def test_of_stablehlo(self):
        self.assertEqual(whole.operations(MLIR), Counter({"sdy.mesh": 1, "func.func": 1, "stablehlo.constant": 1, "sdy.sharding_constraint": 1, "stablehlo.sort": 1,
                                                          "stablehlo.return": 1, "stablehlo.reduce": 1, "stablehlo.add": 1, "return": 1}))


class Figures(unittest.TestCase):
    def test_the_table_is_that_of_its_rows(self):
        path = ROOT / "peers" / "results" / "whole.json"
        known = json.loads(path.read_text())
        self.assertEqual(whole.summary(known["programs"]), known["summary"])
        for release, figures in known["summary"].items():
            self.assertGreaterEqual(figures["execution"].get("equal", 0), 100, release)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
