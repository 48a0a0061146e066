#!/usr/bin/env python3
"""retile-optimum as a program: what it prints, writes and ends with.

    retile_optimum_test.py PROGRAM
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
KNOWN = Path(__file__).with_name("undecided.txt")


def run(*arguments, known=("--known", KNOWN)):
    done = subprocess.run([PROGRAM, *known, *map(str, arguments)], capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


class Optimum(unittest.TestCase):
    def test_every_problem_is_counted_once(self):
        status, out, errors = run("--problems", "1100", "--json")
        self.assertEqual(status, 0, errors)
        result = json.loads(out)
        self.assertEqual(result["schema"], "retile.optimum/1")
        self.assertEqual(result["contradictions"], 0)
        kinds = ["brute_force", "counting", "certificate", "undecided", "open"]
        self.assertEqual(sum(result[kind] for kind in kinds), 1100)
        self.assertEqual(sum(result[f"rank_{rank}"] for rank in range(1, 7)), 1100)
        self.assertIn("1024 of 1100 problems", errors)

    def test_a_table_says_the_same(self):
        out = run("--problems", "50", "--seed", "2")[1]
        self.assertIn("seed 2\nproblems 50\nbrute_force ", out)

    def test_what_contradicts_is_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            status, out, errors = run("--problems", "40", "--control", "bound", "--save", folder, "--json")
            self.assertEqual(status, 1)
            saved = sorted(Path(folder).iterdir())
            self.assertEqual(len(saved), json.loads(out)["contradictions"])
            text = saved[0].read_text(encoding="utf-8")
            self.assertIn("\nretile plan --mesh ", text)
            self.assertIn("OPT by counting", text)
            self.assertIn(text.splitlines()[0], errors)

    def test_what_is_undecided_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "found.txt"
            near = ["--near", "635", "--problems", "12"]
            self.assertEqual(run(*near, "--undecided", file)[0], 0)
            lines = file.read_text(encoding="utf-8").splitlines()
            self.assertTrue(lines)
            self.assertTrue(all(len(line.split(" | ")) == 6 for line in lines))
            self.assertEqual(run(*near, known=("--known", file))[0], 0)  # what it writes it can read

    def test_wrong_use(self):
        for arguments in (["--problems"], ["--problems", "many"], ["--control", "nothing"], ["--what", "1"],
                          ["--near", "636"]):
            status, out, errors = run(*arguments)
            self.assertEqual((status, out), (2, ""), arguments)
            self.assertIn("usage: retile-optimum", errors)
        self.assertEqual(run(known=())[0], 2)
        status, _, errors = run(known=("--known", "/nowhere/at/all"))
        self.assertEqual(status, 2)
        self.assertIn("cannot read /nowhere/at/all", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
