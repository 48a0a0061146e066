"""`retile validate --shrink`: stand-ins for a partitioner, which make a known mistake, abort, refuse or hang; and pairs."""

import json
import os
import sys
import time
import unittest
from pathlib import Path

from support import RETILE, Case, retile

ROOT = Path(__file__).resolve().parents[2]

# All arrays are whole on all devices, so the text after is the text before; but every tanh is a sine.
STAND_IN = """
import os, sys, time
kind, before, after = sys.argv[1:]
text = open(before).read()
bad = " tanh(" in text
if bad and kind == "abort":
    print(f"F1126 {time.time()} {os.getpid()} cutter.cc:77] Check failed: size == {len(text)}", file=sys.stderr, flush=True)
    os.abort()
if "negate(" in text and kind == "abort":
    print("cutter.cc:78] Check failed: another", file=sys.stderr, flush=True)
    os.abort()
if bad and kind == "refuse":
    sys.exit("it cannot")
if bad and kind == "hang":
    time.sleep(60)
text = text.replace(" tanh(", " sine(") if kind == "wrong" else text
if after == "-":
    sys.stdout.write(text)
else:
    open(after, "w").write(text)
"""

BEFORE = """HloModule planted, entry_computation_layout={(f32[6,8]{1,0}, f32[8,4]{1,0})->(f32[6,4]{1,0}, f32[6,8]{1,0})}, num_partitions=4

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}

ENTRY %main (x: f32[6,8], w: f32[8,4]) -> (f32[6,4], f32[6,8]) {
  %x = f32[6,8]{1,0} parameter(0), sharding={replicated}, metadata={op_name="x"}
  %w = f32[8,4]{1,0} parameter(1), sharding={replicated}
  %zero = f32[] constant(0)
  %less = f32[6,8]{1,0} negate(%x), sharding={replicated}
  %total = f32[6]{0} reduce(%less, %zero), dimensions={1}, to_apply=%sum
  %wide = f32[6,8]{1,0} broadcast(%total), dimensions={0}
  %scaled = f32[6,8]{1,0} multiply(%less, %wide)
  %bent = f32[6,8]{1,0} tanh(%scaled), metadata={op_name="tanh"}
  %more = f32[6,8]{1,0} add(%bent, %x)
  %product = f32[6,4]{1,0} dot(%more, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %both = (f32[6,4]{1,0}, f32[6,8]{1,0}) tuple(%product, %less), sharding={{replicated}, {replicated}}
}
"""


class Peer(Case):
    def setUp(self):
        super().setUp()
        self.write("stand in.py", STAND_IN)
        self.write("before.hlo", BEFORE)

    def command(self, kind, ends="{before} {after}"):
        return f"{sys.executable} '{self.path('stand in.py')}' {kind} {ends}"

    def shrink(self, kind, *words, ends="{before} {after}"):
        return retile("validate", "--seed", "1", self.path("before.hlo"), "--shrink", "--peer", self.command(kind, ends), *words)

    def shrunk(self, kind, *words, **more):
        done = self.shrink(kind, "--json", *words, **more)
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)

    def assert_only_tanh(self, text):
        body = [line.split(" = ")[1] for line in text.splitlines() if " = " in line]
        self.assertEqual(body, ["f32[1,1] parameter(0)", "f32[1,1] tanh(%scaled), sharding={replicated}"], text)
        self.assertNotIn("num_partitions", text)

    def test_one_operation_is_left(self):
        found = self.shrunk("wrong")
        self.assertEqual((found["schema"], found["kind"], found["complete"]), ("retile.shrunk-program/1", "wrong", True))
        self.assert_only_tanh(found["before"])
        self.assertEqual((found["given"], found["left"]), ({"before": 9, "after": 9}, {"before": 1, "after": 1}))
        self.assertEqual(found["after"], found["before"].replace("tanh(", "sine("))
        self.assertLess(found["questions"], 40)
        # What is printed is wrong by itself, too.
        for name in ("before", "after"):
            self.write(f"small.{name}", found[name])
        again = retile("validate", "--seed", "1", "--json", self.path("small.before"), self.path("small.after"))
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertEqual(json.loads(again.stdout)["lost"], found["validation"]["lost"])

    def test_an_answer_may_stand_on_stdout(self):
        found = self.shrunk("wrong", ends="{before} -")
        self.assert_only_tanh(found["before"])

    def test_an_abort_stays_the_same_abort(self):
        found = self.shrunk("abort")
        self.assertEqual((found["kind"], found["after"], found["validation"]), ("aborted", "", None))
        # The numbers of its message change from call to call. Another check that fails is another abort.
        self.assertIn("cutter.cc:77] Check failed: size == ", found["message"])
        self.assert_only_tanh(found["before"])

    def test_a_refusal_is_one_as_well(self):
        found = self.shrunk("refuse")
        self.assertEqual((found["kind"], found["message"]), ("refused", "it cannot"))
        self.assert_only_tanh(found["before"])

    def test_nothing_to_shrink(self):
        done = self.shrink("right")
        self.assertEqual((done.returncode, done.stdout[:6]), (0, "right:"))
        self.assertIn("nothing to make smaller", done.stderr)

    def test_a_command_that_hangs_is_ended(self):
        begun = time.monotonic()
        done = self.shrink("hang", "--peer-timeout", "1")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("late", done.stderr)
        self.assertLess(time.monotonic() - begun, 20)

    def test_a_command_that_is_none(self):
        done = retile("validate", self.path("before.hlo"), "--shrink", "--peer", "/nowhere/cut {before}")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("not run", done.stderr)

    def test_limits_are_said(self):
        found = self.shrunk("wrong", "--runs", "3")
        self.assertEqual((found["questions"], found["complete"]), (3, False))
        self.assertGreater(found["left"]["before"], 1)

    def test_texts_go_to_a_folder(self):
        done = self.shrink("wrong", "--out", self.path("small"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn("HloModule", done.stdout)
        self.assert_only_tanh((Path(self.path("small")) / "before.hlo").read_text())
        self.assertIn("sine(", (Path(self.path("small")) / "after.hlo").read_text())
        self.shrink("abort", "--out", self.path("aborted"))
        self.assertEqual(os.listdir(self.path("aborted")), ["before.hlo"])

    def test_what_does_not_go_together(self):
        for words, why in ((["--peer", "cut {before}"], "need --shrink"), (["--runs", "3"], "need --shrink"),
                           (["--shrink", "--peer-timeout", "3"], "is of the command of --peer"),
                           (["--shrink", "--peer", "cut it"], "told no text"), (["--shrink", "--peer", "cut '{before}'"], "inside quotes")):
            done = retile("validate", self.path("before.hlo"), self.path("before.hlo"), *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(why, done.stderr)

    def test_no_folder_stays_behind(self):
        os.mkdir(self.path("tmp"))
        os.environ["TMPDIR"] = self.path("tmp")
        try:
            self.shrunk("wrong", "--runs", "2")
        finally:
            del os.environ["TMPDIR"]
        self.assertEqual(os.listdir(self.path("tmp")), [])


class Pair(Case):
    """Two texts without a command that makes the second one."""

    def setUp(self):
        super().setUp()
        self.write("before.hlo", BEFORE)
        self.write("after.hlo", BEFORE.replace(" tanh(", " sine("))

    def shrink(self, *words, files=("before.hlo", "after.hlo")):
        return retile("validate", "--seed", "1", *map(self.path, files), "--shrink", *words)

    def test_one_operation_is_left(self):
        done = self.shrink("--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["schema"], found["kind"], found["complete"]), ("retile.shrunk-program/1", "wrong", True))
        self.assertEqual((found["given"], found["left"]), ({"before": 9, "after": 9}, {"before": 1, "after": 1}))
        self.assertIn("tanh(", found["before"])
        self.assertIn("sine(", found["after"])
        self.assertLess(found["questions"], 20)
        self.assertEqual(found["validation"]["answer"], "wrong")
        # The same again, and what is printed is wrong by itself.
        self.assertEqual(self.shrink("--json").stdout, done.stdout)
        for name in ("before", "after"):
            self.write(f"small.{name}", found[name])
        again = retile("validate", "--seed", "2", self.path("small.before"), self.path("small.after"))
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_texts_go_to_a_folder(self):
        done = self.shrink("--out", self.path("small"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn("HloModule", done.stdout)
        self.assertIn("1 operation of 9 left before the pass, 1 of 9 after it", done.stdout)
        self.assertEqual(sorted(os.listdir(self.path("small"))), ["after.hlo", "before.hlo"])

    def test_a_right_pair_is_left_as_it_is(self):
        done = self.shrink(files=("before.hlo", "before.hlo"))
        self.assertEqual((done.returncode, done.stdout[:6]), (0, "right:"))
        self.assertIn("nothing is wrong", done.stderr)

    def test_questions_may_be_few(self):
        done = self.shrink("--runs", "0", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["questions"], found["complete"]), (0, False))
        self.assertEqual(found["left"], found["given"])

    def test_a_folder_has_its_first_wrong_pair_made_smaller(self):
        os.mkdir(self.path("dump"))
        name = "dump/module_0001.jit_f.{}.spmd-partitioner.after_{}.before_{}.txt"
        after = name.format("0006", "spmd-partitioning", "dce")
        self.write(name.format("0003", "shardy-xla", "spmd-partitioning"), BEFORE)
        self.write(after, BEFORE.replace(" tanh(", " sine("))
        done = retile("validate", "--seed", "1", self.path("dump"), "--shrink", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["left"], {"before": 1, "after": 1})
        self.write(after, BEFORE)
        done = retile("validate", "--seed", "1", self.path("dump"), "--shrink")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing is wrong", done.stderr)

    def test_of_all_passes_the_wrong_one_has_its_pair_made_smaller(self):
        dump = str(ROOT / "examples/whole/dump")
        done = retile("validate", "--seed", "1", dump, "--passes", "--shrink", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["left"], {"before": 1, "after": 1})
        self.assertIn("tanh(", found["before"])
        # Around the partitioner nothing is wrong.
        self.assertEqual(retile("validate", "--seed", "1", dump, "--shrink").returncode, 0)

    def test_shardings_stand_in_the_text(self):
        done = self.shrink("--to", "{replicated}; {replicated}")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("into that text", done.stderr)

    def test_other_languages_are_refused(self):
        self.write("text.mlir", "module @m {\n  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n    return %arg0 : tensor<4xf32>\n  }\n}\n")
        done = self.shrink(files=("text.mlir", "after.hlo"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("HLO", done.stderr)


if __name__ == "__main__":
    unittest.main()
