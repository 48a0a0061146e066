#!/usr/bin/env python3
"""Three torch jobs, recorded by one process a rank at small widths and without data at those of a real model. Every redistribute has a
verdict, which is what the tiles say where there are any.

    jobs_test.py ROOT RETILE

Skipped where there is no build/peers/torch-2.15.0 (`scripts/peers setup`).
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT, RETILE = Path(sys.argv[1]), sys.argv[2]
PYTHON = ROOT / "build" / "peers" / "torch-2.15.0" / "bin" / "python"
JOBS = "^(tensor_parallel|uneven_batches|compiled)$"

if not PYTHON.exists():
    print(f"skipped: needs {PYTHON}")
    sys.exit(77)


class Jobs(unittest.TestCase):
    def test_redistributes_have_the_verdict_of_their_tiles(self):
        with tempfile.TemporaryDirectory() as folder:
            record = [PYTHON, ROOT / "peers" / "run_jobs.py", folder, "--only", JOBS, "--ways", "run,fake"]
            done = subprocess.run(record, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.count(" 0 ranks failed"), 6, done.stdout)
            results = Path(folder) / "results.json"
            judge = [sys.executable, ROOT / "peers" / "judge_jobs.py", RETILE, folder, "--results", results]
            done = subprocess.run(judge, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            found = json.loads(results.read_text())["all"]
        self.assertEqual(found["right"] + found["wrong"], found["redistributes"])
        # A gather puts parts in the order of the ranks, and one along axes that are flattened cuts them alike.
        self.assertEqual(found["tiles differ"], 3)
        self.assertGreater(found["compiled"], 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
