#!/usr/bin/env python3
"""A few seconds of the campaign, and its negative control: one falsified value of each kind is found.

    campaign_test.py PROGRAM
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
KINDS = ["rule", "rule-fig8", "well-formedness", "offset", "step-offset", "weak", "verdict", "text"]


def run(*arguments):
    done = subprocess.run([PROGRAM, "--json", *arguments], capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


class Campaign(unittest.TestCase):
    def test_a_short_run_compares_every_kind_and_finds_nothing(self):
        status, result, errors = run("--comparisons", "2e5", "--seed", "7")
        self.assertEqual(status, 0, errors)
        self.assertEqual(result["disagreements"], 0)
        self.assertGreaterEqual(result["comparisons"], 200_000)
        self.assertEqual(list(result["kinds"]), KINDS)
        counted = 0
        for kind, count in result["kinds"].items():
            self.assertGreater(count["drawn"], 10, kind)
            counted += count["enumerated"] + count["drawn"]
        self.assertEqual(counted, result["comparisons"])
        print({kind: count["enumerated"] + count["drawn"] for kind, count in result["kinds"].items()})

    def test_the_same_seed_makes_the_same_comparisons(self):
        first = run("--comparisons", "3e4", "--seed", "3")[1]
        second = run("--comparisons", "3e4", "--seed", "3")[1]
        self.assertEqual(first["kinds"], second["kinds"])
        self.assertNotEqual(first["kinds"], run("--comparisons", "3e4", "--seed", "4")[1]["kinds"])

    def test_a_falsified_value_of_any_kind_is_found_and_saved(self):
        for kind in KINDS:
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                limits = ["--comparisons", "500", "--kind", kind]
                self.assertEqual(run(*limits)[0], 0)
                status, result, errors = run(*limits, "--control", "--save", folder)
                self.assertEqual(status, 1)
                self.assertEqual(result["disagreements"], 1)
                self.assertIn(f"DISAGREEMENT ({kind})", errors)
                self.assertEqual([file.name for file in Path(folder).iterdir()], [f"{kind}-1.txt"])

    def test_wrong_use_is_refused(self):
        for arguments in (["--kind", "nothing"], ["--seconds"], ["--seconds", "soon"], ["--fast", "1"]):
            self.assertEqual(run(*arguments)[0], 2, arguments)


if __name__ == "__main__":
    unittest.main(verbosity=2)
