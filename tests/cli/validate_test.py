"""retile validate of a folder of dumps: which texts it takes, what it says of the others, and its exit codes."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from support import RETILE, Case, retile

WHOLE = Path(__file__).resolve().parents[2] / "examples/whole"
NAME = "module_0000.jit_layer."
BEFORE = NAME + "0003.spmd-partitioner.after_shardy-xla.before_spmd-partitioning.txt"
AFTER = NAME + "0006.spmd-partitioner.after_spmd-partitioning.before_control-dep-rewriter.txt"
UNREAD = NAME + "0010.simplification.after_algsimp.before_dce.txt"
LAST = NAME + "0012.simplification.after_dce.before_cse.txt"


class Folders(Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(WHOLE / "dump", self.path("dump"))

    def answers(self, *words):
        done = retile("validate", "--seed", "1", "--json", self.path("dump"), *words)
        objects = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, [(one["answer"], one.get("pass")) for one in objects], done

    def change(self, file, old, new):
        path = Path(self.path("dump")) / file
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))

    def test_the_exit_code_is_the_worst(self):
        code, answers, _ = self.answers()
        self.assertEqual((code, answers), (0, [("right", "spmd-partitioning"), ("not judged", None)]))
        self.change(AFTER, " all-reduce(", " copy(")
        self.assertEqual(self.answers()[0], 1)
        self.change(AFTER, " copy(", " frobnicate(")
        self.assertEqual(self.answers()[0], 2)  # nothing of the folder was judged
        second = Path(self.path("dump"))
        for file in (BEFORE, AFTER):
            shutil.copy(WHOLE / ("layer.before.hlo" if file == BEFORE else "layer.after.hlo"),
                        second / file.replace("module_0000", "module_0002"))
        code, answers, _ = self.answers()
        self.assertEqual((code, [answer for answer, _ in answers]), (3, ["not read", "not judged", "right"]))

    def test_the_first_pass_that_is_wrong_is_named(self):
        code, answers, done = self.answers("--passes")
        self.assertEqual(code, 1)
        self.assertEqual(answers, [("right", "spmd-partitioning"), ("not read", "algsimp"), ("wrong", "algsimp or dce"), ("not judged", None)])
        wrong = json.loads(done.stdout.splitlines()[2])
        self.assertEqual((wrong["before"], wrong["after"]), (NAME + "0009.simplification.after_pipeline-start.before_algsimp.txt", LAST))
        self.change(LAST, " negate(", " tanh(")
        self.assertEqual(self.answers("--passes")[0], 0)
        os.remove(Path(self.path("dump")) / LAST)  # now the text that is not read is the last
        self.assertEqual(self.answers("--passes")[0], 3)

    def test_what_is_missing_is_said(self):
        os.mkdir(self.path("empty"))
        self.refused(retile("validate", self.path("empty")), 2, "no text of XLA's passes(.|\n)*xla_dump_hlo_pass_re")
        os.remove(Path(self.path("dump")) / AFTER)
        self.refused(retile("validate", self.path("dump")), 2, "no text after_spmd-partitioning(.|\n)*xla_dump_hlo_pass_re")
        self.refused(retile("validate", "--passes", str(WHOLE / "layer.before.hlo")), 2, "--passes takes a folder")
        self.refused(retile("validate", str(WHOLE / "layer.before.hlo")), 2, "two texts")

    def says(self, done, code, words):
        """As `refused` does of what is of no place in a text."""
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        self.assertRegex(done.stderr, words)

    def test_what_is_no_text_is_said(self):
        layer = str(WHOLE / "layer.after.hlo")
        self.refused(retile("validate", self.path("nosuch")), 2, "BEFORE: cannot open(.|\n)*nosuch")
        self.says(retile("validate", self.write("empty.hlo", "\n \n"), layer), 2, "the file is empty")
        self.says(retile("validate", self.write("m.hlo.pb", "\n\x00\x01"), layer), 2, "protobuf(.|\n)*xla_dump_hlo_as_proto")

    def test_what_may_help_with_a_folder_is_said(self):
        os.mkdir(self.path("protobufs"))
        self.write("protobufs/module_0000.jit_f.before_optimizations.hlo.pb", "")
        self.refused(retile("validate", self.path("protobufs")), 2, "the folder has protobufs(.|\n)*xla_dump_hlo_as_proto")
        os.remove(self.path("protobufs/module_0000.jit_f.before_optimizations.hlo.pb"))
        self.assertNotIn("the folder has", retile("validate", self.path("protobufs")).stderr)
        for file in (BEFORE, AFTER):
            os.remove(Path(self.path("dump")) / file)
        self.refused(retile("validate", self.path("dump")), 2, "--passes compares the texts that are here")
        self.assertEqual(retile("validate", "--passes", self.path("dump")).returncode, 1)

    def test_several_modules_have_a_line_together(self):
        for module in ("module_0002", "module_0003"):
            for file in (BEFORE, AFTER):
                shutil.copy(Path(self.path("dump")) / file, Path(self.path("dump")) / file.replace("module_0000", module))
        self.change(AFTER, " all-reduce(", " copy(")
        self.change(AFTER.replace("0000", "0002", 1), " all-reduce(", " frobnicate(")
        done = retile("validate", self.path("dump"))
        self.assertEqual(done.stdout.splitlines()[-1], "4 modules: 1 right, 1 wrong, 1 not read, 1 not judged")
        self.assertNotIn("modules:", retile("validate", "--json", self.path("dump")).stdout)
        self.assertNotIn("modules:", retile("explain", self.path("dump")).stdout)
        for module in ("module_0001.jit_called.before_optimizations.txt", AFTER.replace("0000", "0002", 1), BEFORE.replace("0000", "0003", 1)):
            os.remove(Path(self.path("dump")) / module)
        done = retile("validate", self.path("dump"))
        self.assertEqual(done.stdout.splitlines()[-1], "3 modules: 1 wrong, 2 not judged")

    def test_modules_that_take_long_are_named(self):
        lowered = Path(self.path("dump"))
        for file in (BEFORE, AFTER):
            text = (WHOLE / ("block.before.hlo" if file == BEFORE else "block.after.hlo")).read_text()
            (lowered / file).write_text(text)
        for words, progress in ((), "module 1 of 2"), (("--passes",), "text 2 of 5"):
            with subprocess.Popen([RETILE, "validate", "--draws", "1000", *words, self.path("dump")], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) as job:
                self.assertEqual(job.stderr.readline(), f"retile: module_0000 jit_layer, {progress}\n")
                job.terminate()

    def test_pairs_that_the_time_does_not_reach_are_counted(self):
        for file in (BEFORE, AFTER):
            text = (WHOLE / ("block.before.hlo" if file == BEFORE else "block.after.hlo")).read_text()
            (Path(self.path("dump")) / file).write_text(text)
        done = retile("validate", "--passes", "--draws", "1000", "--timeout", "1", self.path("dump"))
        self.assertRegex(done.stdout, r"the time is over: \d pairs? w(as|ere) not judged\n")
        self.assertNotIn("by seed", done.stdout)

    def test_other_tiles_have_a_reason(self):
        layer = [(WHOLE / name).read_text() for name in ("layer.before.hlo", "layer.after.hlo")]
        before, after = self.write("a.hlo", layer[0]), self.write("b.hlo", layer[1])
        self.says(retile("validate", after, before), 2, "BEFORE and AFTER may be swapped")
        unsaid = self.write("c.hlo", layer[0].replace("parameter(1), sharding={mesh['x'=2], [{}, {'x'}]}", "parameter(1)"))
        self.says(retile("validate", unsaid, after), 2, "the text before says no sharding of parameter 1: retile validate --from says it")
        other = self.write("d.hlo", layer[0].replace("parameter(1), sharding={mesh['x'=2], [{}, {'x'}]}", "parameter(1), sharding={mesh['x'=2], [{'x'}, {}]}"))
        done = retile("validate", other, after)
        self.assertEqual((done.returncode, "note:" in done.stderr), (2, False), done.stderr)
        # One option says it for all, and a mesh goes with it.
        shardings = "; P(None, 'x'); "
        self.assertEqual(retile("validate", unsaid, after, "--from", shardings, "--mesh", "x:2").returncode, 0)
        self.refused(retile("validate", unsaid, after, "--from", shardings), 2, "give --mesh")
        self.refused(retile("validate", before, after, "--mesh", "x:2"), 2, "--mesh is that of --from and --to")

    def test_memory_that_is_not_enough_is_said_with_what_allows_more(self):
        texts = [str(WHOLE / "block.before.hlo"), str(WHOLE / "block.after.hlo")]
        done = retile("validate", "--extents", "full", "--memory", "64MiB", *texts)
        self.assertEqual(done.returncode, 3)
        self.assertIn("undecided: the devices hold more than 32 MiB of numbers; --memory 128MiB allows twice as many\n", done.stdout)

    def test_shardings_are_given_by_options(self):
        before = self.write("before.hlo", "HloModule m, num_partitions=2\nENTRY %main {\n  %x = f32[4] parameter(0)\n"
                                          "  ROOT %r = f32[4] add(%x, %x)\n}\n")
        after = self.write("after.hlo", "HloModule m, num_partitions=2\nENTRY %main_spmd {\n  %x = f32[2] parameter(0)\n"
                                        "  ROOT %r = f32[2] add(%x, %x)\n}\n")
        straight, turned = "{devices=[2]<=[2]}", "{devices=[2]1,0}"
        self.assertEqual(retile("validate", before, after, "--from", straight, "--to", straight).returncode, 0)
        self.assertEqual(retile("validate", before, after, "--from", turned, "--to", straight).returncode, 1)
        self.assertEqual(retile("validate", before, after, "--from", straight + "; " + straight).returncode, 2)

    def test_extents_are_those_that_are_asked_for(self):
        texts = [str(WHOLE / "layer.before.hlo"), str(WHOLE / "layer.after.hlo")]
        divided = {word: json.loads(retile("validate", "--json", *texts, "--extents", word).stdout)["reduced"]
                   for word in ("auto", "full", "reduced")}
        self.assertEqual([divided["auto"], divided["full"]], [[], []])
        self.assertTrue(divided["reduced"] and all(one["to"] < one["from"] for one in divided["reduced"]))
        self.refused(retile("validate", *texts, "--extents", "small"), 2, "the values are auto, full, reduced")


class Movement(Case):
    BEFORE, AFTER = str(WHOLE / "gathered.before.hlo"), str(WHOLE / "gathered.after.hlo")

    def movement(self, *words):
        done = retile("explain", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        out = json.loads(done.stdout.splitlines()[0])
        self.assertIsNone(out["answer"])
        return out["movement"]

    def test_a_plan_that_is_printed_is_right(self):
        movement = self.movement(self.BEFORE, self.AFTER)
        first = movement["reshards"][movement["by_saving"][0]]
        self.assertTrue(first["whole"])
        self.assertEqual(first["saved"], first["cost"] - first["plan"]["cost"])
        self.assertGreater(first["saved"], 0)
        for reshard in movement["reshards"]:
            text = reshard["plan"]["text"]
            self.assertEqual(retile("check", "-", stdin=text).returncode, 0, text)
        text = first["plan"]["text"]
        self.assertEqual(text.count("{0, 0, 0, 0, 8, 8, 8, 8}"), 1)
        wrong = text.replace("{0, 0, 0, 0, 8, 8, 8, 8}", "{8, 8, 8, 8, 0, 0, 0, 0}")
        self.assertEqual(retile("check", "-", stdin=wrong).returncode, 1)

    def test_bytes_are_those_of_reshards_and_of_the_others(self):
        movement = self.movement(self.BEFORE, self.AFTER)
        all_bytes = sum(one["bytes"] * one["times"] for one in movement["collectives"])
        parts = sum(one["bytes"] * one["times"] for one in movement["reshards"])
        parts += sum(one["bytes"] * one["times"] for one in movement["collectives"] if one["reshard"] is None)
        self.assertEqual(all_bytes, parts)
        self.assertGreater(all_bytes, 0)

    def test_a_verdict_goes_with_it(self):
        done = retile("validate", "--explain", "--seed", "1", self.BEFORE, self.AFTER)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, "^right: (.|\n)*\n2 reshards\n(.|\n)*the whole array(.|\n)*\n2 runs of 2 collectives")
        self.assertNotIn("reshard", retile("validate", "--seed", "1", self.BEFORE, self.AFTER).stdout)
        wrong = self.write("wrong.hlo", Path(self.AFTER).read_text().replace(" tanh(", " sine("))
        done = retile("validate", "--explain", "--seed", "1", self.BEFORE, wrong)
        self.assertEqual(done.returncode, 1)
        self.assertIn("%all-gather of the text after", done.stdout)  # as the values before are not there any more
        self.refused(retile("validate", "--explain", "--shrink", self.BEFORE, wrong), 2, "--explain is of the program as it stands")

    def test_plans_come_in_the_form_that_is_asked_for(self):
        texts = {}
        for form in ("hlo", "sdy", "stablehlo", "jax", "mpi-c"):
            movement = self.movement(self.BEFORE, self.AFTER, "--as", form)
            texts[form] = movement["reshards"][movement["by_saving"][0]]["plan"]["text"]
        self.assertEqual(len(set(texts.values())), len(texts))
        self.assertEqual(self.movement(self.BEFORE, self.AFTER)["reshards"], self.movement(self.BEFORE, self.AFTER, "--as", "hlo")["reshards"])
        for form, words in (("sdy", "sdy.manual_computation|sdy.all"), ("jax", "import jax|def "), ("mpi-c", "MPI_")):
            self.assertRegex(texts[form] or "", words)
            said = retile("explain", self.BEFORE, self.AFTER, "--as", form).stdout
            self.assertRegex(said, words)
        self.assertIn('sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>', texts["sdy"])  # as the text before names it
        for form in ("sdy", "hlo"):
            self.assertEqual(retile("check", "-", stdin=texts[form]).returncode, 0, texts[form])
        self.refused(retile("explain", self.BEFORE, self.AFTER, "--as", "word"), 2, "--as")
        self.refused(retile("explain", self.BEFORE, self.AFTER, "--shape", "4"), 2, "whole programs say")

    def test_a_folder_is_explained(self):
        done = retile("explain", str(WHOLE / "dump"))
        self.assertEqual(done.returncode, 0)
        self.assertIn("all-reduce along x: 1 run, 256 bytes", done.stdout)
        self.refused(retile("explain", self.path("")), 2, "no text of XLA's passes")


if __name__ == "__main__":
    unittest.main()
