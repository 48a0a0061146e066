#!/usr/bin/env python3
"""bench/pair_execution.py with an mpirun that is made up: it takes ratios of what is alike, and sees what fails.

    pair_execution_test.py ROOT
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parents[3]

# Runs what follows its own options, by itself.
MPIRUN = """#!/bin/sh
shift 3
exec "$@"
"""

# Its times are those of one turn after the other.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
turns = os.path.join(os.path.dirname(__file__), "turns")
turn = os.path.getsize(turns) if os.path.exists(turns) else 0
open(turns, "a").write("x")
contenders = [dict(name="direct", kind="strategy", verified={verified}, seconds=[{seconds}[turn], 9, 0]),
              dict(name="MPI_Alltoallw", kind="peer", verified=True, seconds=[2, 2, 2])]
problems = [dict(problem="rows", kib=64, contenders=contenders)]
json.dump(dict(problems=problems), open(sys.argv[sys.argv.index("--output") + 1], "w"))
sys.exit({code})
"""


class PairExecution(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def executable(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_pair(self, **after):
        self.executable(self.work / "tools/mpirun", MPIRUN)
        for name, given in ("before", {}), ("after", after):
            said = {"seconds": [1.0, 2.0, 1.0], "verified": True, "code": 0} | given
            self.executable(self.work / name / "execution", PROGRAM.format(**said))
        done = subprocess.run(
            [sys.executable, ROOT / "bench/pair_execution.py", self.work / "before", self.work / "after", "--turns", "3",
             "--output", self.work / "result.json"],
            env=os.environ | {"PATH": f"{self.work / 'tools'}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False)
        return done

    def kinds(self):
        return json.loads((self.work / "result.json").read_text(encoding="utf-8"))["kinds"]

    def test_medians_of_runs_are_compared_turn_by_turn_and_their_median_is_taken(self):
        # Ratios of 1.1, 1.5 and 4.
        done = self.run_pair(seconds=[1.1, 3.0, 4.0])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(self.kinds()["strategy"]["geometric_mean"], 1.5)
        self.assertAlmostEqual(self.kinds()["peer"]["geometric_mean"], 1.0)
        self.assertEqual(self.kinds()["strategy"]["most_of"], ["rows", 64, "direct"])

    def test_what_is_not_verified_has_no_time(self):
        done = self.run_pair(verified=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("direct of rows was not verified", done.stderr)

    def test_a_run_that_fails_is_said(self):
        done = self.run_pair(code=7)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended with 7", done.stderr)


if __name__ == "__main__":
    unittest.main()
