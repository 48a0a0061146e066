#!/usr/bin/env python3
"""Problems of which this project once said that PyTorch does them wrong, or refuses them, because a recorder played all ranks in
one process, and two that it really does wrong. Here every rank is a process of its own: the real collectives of gloo, real
tensors, every element compared.

    torch_test.py ROOT RETILE

Skipped where there is no build/peers/torch-2.15.0 (`scripts/peers setup`).
"""

import json
import subprocess
import sys
import tempfile
import unittest
from math import prod
from pathlib import Path

ROOT, RETILE = Path(sys.argv[1]), sys.argv[2]
PYTHON = ROOT / "build" / "peers" / "torch-2.15.0" / "bin" / "python"
PROBLEMS = Path(__file__).resolve().parent / "suspects.jsonl"
# Meshes whose ranks do not ascend along an axis: the parts of a gather come in the order of the ranks.
WRONG = {606, 1262}

if not PYTHON.exists():
    print(f"skipped: needs {PYTHON}")
    sys.exit(77)


class Suspects(unittest.TestCase):
    def test_every_rank_ends_as_is_said(self):
        problems = [json.loads(line) for line in PROBLEMS.read_text().splitlines()]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PYTHON, ROOT / "peers" / "record_dtensor.py", folder], input=PROBLEMS.read_text(), text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = {(one["id"], one["form"]): one for one in map(json.loads, (Path(folder) / "log.jsonl").read_text().splitlines())}
            self.assertEqual(len(found), 2 * len(problems))
            for problem in problems:
                for form in ("dtensor", "dtensor_a2a"):
                    with self.subTest(problem=problem["id"], form=form):
                        one = found[problem["id"], form]
                        right = problem["id"] not in WRONG
                        self.assertEqual((one["state"], one.get("right")), ("emitted", right), one)
                        self.assertEqual(one["executed"], prod(size for _, size in problem["mesh"]))
                        trace = Path(folder) / f"{problem['id']}.{form}"
                        said = subprocess.run([RETILE, "check", trace], capture_output=True, text=True, check=False)
                        self.assertEqual(said.returncode, 0 if right else 1, said.stdout + said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
