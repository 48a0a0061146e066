#!/usr/bin/env python3
"""scripts/test_times.py on made-up results: a label within its budget is kept, one beyond it is not.

    times_test.py ROOT
"""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
SCRIPT = ROOT / "scripts" / "test_times.py"


def script():
    spec = importlib.util.spec_from_file_location("test_times", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TIMES = script()


class Times(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="retile-times-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def results(self, entries, others=0.0, slowness=1.0):
        """Files as ctest and `run` write them, of entries (name, label, seconds, processors). As two of them share a processor, each
        takes twice the time."""
        cases = "".join(f'<testcase name="{name}" time="{TIMES.SLOTS * seconds}" status="run"/>' for name, _, seconds, _ in entries)
        (self.folder / "junit.xml").write_text(f'<?xml version="1.0"?>\n<testsuite name="made up">{cases}</testsuite>\n')
        tests = [{"name": name, "properties": [{"name": "LABELS", "value": [label]}, {"name": "PROCESSORS", "value": processors}]}
                 for name, label, _, processors in entries]
        (self.folder / "listing.json").write_text(json.dumps({"tests": tests}))
        step = {"stage": "dev", "step": "test", "wall": 100.0, "cpu": 100.0, "others": others, "slowness": slowness}
        (self.folder / "times").write_text(json.dumps(step) + "\n")
        return [str(self.folder / name) for name in ("times", "junit.xml", "listing.json")]

    def made_up_budgets(self):
        return unittest.mock.patch.object(TIMES, "BUDGETS", {"unit": 30, "property": 60, "mpi": 120, "cli": 60})

    def judged(self, entries, others=0.0, slowness=1.0):
        """The exit code and what was printed."""
        times, junit, listing = self.results(entries, others, slowness)
        with contextlib.redirect_stdout(io.StringIO()) as printed, self.made_up_budgets():
            code = TIMES.labels(times, "dev", junit, listing)
        return code, printed.getvalue()

    def test_within_the_budget(self):
        code, printed = self.judged([("a", "unit", 20.0, 1), ("b", "unit", 40.0, 1)])
        self.assertEqual(code, 0)
        self.assertEqual(printed, "kept     unit         30.0 s of 30 s\n")

    def test_beyond_the_budget(self):
        # 1.5 times the budget is kept, a little more is not.
        self.assertEqual(self.judged([("a", "unit", 90.0, 1)])[0], 0)
        code, printed = self.judged([("a", "unit", 50.0, 1), ("b", "unit", 41.0, 1), ("c", "mpi", 1.0, 4)])
        self.assertEqual(code, 1)
        self.assertIn("exceeded unit         45.5 s of 30 s\n", printed)
        self.assertIn("kept     mpi", printed)

    def test_labels_do_not_help_each_other(self):
        self.assertEqual(self.judged([("a", "unit", 91.0, 1), ("b", "exhaustive", 1.0, 1)])[0], 1)

    def test_an_entry_that_keeps_others_away_counts_for_them(self):
        properties = {"a": ("mpi", 24), "b": ("mpi", 2), "c": ("mpi", 1)}
        _, junit, _ = self.results([("a", "mpi", 10.0, 24), ("b", "mpi", 10.0, 2), ("c", "mpi", 10.0, 1)])
        self.assertAlmostEqual(TIMES.seconds_by_label(junit, properties, 0.0, 2)["mpi"], 35.0)
        self.assertAlmostEqual(TIMES.seconds_by_label(junit, properties, 0.0, 8)["mpi"], 95.0)

    def test_what_others_took_is_not_counted(self):
        code, printed = self.judged([("a", "unit", 120.0, 1)], others=0.5)
        self.assertEqual(code, 0)
        self.assertIn("30.0 s of 30 s", printed)
        self.assertIn("others   took 50 %", printed)
        self.assertEqual(self.judged([("a", "unit", 200.0, 1)], others=0.5)[0], 1)

    def test_slow_machines_have_larger_budgets(self):
        entries = [("a", "unit", 120.0, 1)]
        self.assertEqual(self.judged(entries)[0], 1)
        code, printed = self.judged(entries, slowness=1.5)
        self.assertEqual(code, 0)
        self.assertIn("kept     unit         60.0 s of 45 s\n", printed)
        self.assertIn("fixed work takes 1.50 times as long", printed)
        self.assertEqual(self.judged([("a", "unit", 140.0, 1)], slowness=1.5)[0], 1)

    def test_a_machine_is_as_slow_as_fixed_work_says(self):
        for seconds, slowness in ((0.5, 2.5), (0.1, 1.0)):  # a quick machine has no smaller budgets
            self.assertAlmostEqual(TIMES.slowness(("echo", str(seconds))), slowness)
        self.assertGreater(TIMES.yardstick(), 0.0)

    def test_every_label_of_a_default_run_has_a_budget(self):
        text = (ROOT / "cmake" / "RetileTests.cmake").read_text(encoding="utf-8")
        labels = text.split("set(RETILE_LABELS ", 1)[1].split(")", 1)[0].split()
        self.assertEqual(sorted(TIMES.BUDGETS) + ["slow"], sorted(set(labels) - {"slow", "all"}) + ["slow"])
        document = (ROOT / "docs" / "dev" / "tests.md").read_text(encoding="utf-8")
        for label, seconds in TIMES.BUDGETS.items():
            self.assertRegex(document, rf"\| `{label}` \|.*\| {seconds} \|")

    def test_a_command_is_measured_and_ends_as_it_ends(self):
        file = self.folder / "measured"
        for code in (0, 3):
            command = [sys.executable, str(SCRIPT), "run", str(file), "dev", "build", "sh", "-c", f"exit {code}"]
            self.assertEqual(subprocess.run(command, check=False).returncode, code)
        busy = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
        self.assertEqual(TIMES.run(file, "dev", "test", [sys.executable, "-c", busy]), 0)
        steps = TIMES.read_times(file)
        self.assertEqual([(step["stage"], step["step"]) for step in steps],
                         [("dev", "build"), ("dev", "build"), ("dev", "test")])
        self.assertGreaterEqual(steps[2]["cpu"], 0.2)
        self.assertLess(steps[2]["cpu"], steps[2]["wall"] * os.cpu_count() + 0.1)
        self.assertTrue(0 <= steps[2]["others"] <= 1)
        self.assertEqual([step.get("slowness", 0) >= 1 for step in steps], [False, False, True])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            TIMES.table(file)
        self.assertRegex(printed.getvalue(), r"(?m)^dev +0 s +\d+ s +\d+ s +\d+ s$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
