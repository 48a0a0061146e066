#!/usr/bin/env python3
"""bench/pair_commands.py with programs that are made up: it counts what is alike, and sees what ends otherwise.

    pair_commands_test.py ROOT
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parents[3]

PROGRAM = """#!/bin/sh
case $1 in
  check) {check} ;;
  *) echo "$@" ;;
esac
"""


class PairCommands(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, name, check):
        folder = self.work / name
        folder.mkdir()
        (folder / "retile").write_text(PROGRAM.format(check=check), encoding="utf-8")
        (folder / "retile").chmod(0o755)
        return folder

    def run_pair(self, check):
        sides = self.program("before", "echo right"), self.program("after", check)
        result = self.work / "result.json"
        done = subprocess.run(
            [sys.executable, ROOT / "bench/pair_commands.py", *sides, "--rounds", "1", "--only", "check, even", "--output", result],
            capture_output=True, text=True, check=False)
        return done, json.loads(result.read_text(encoding="utf-8"))

    def test_what_is_alike(self):
        done, result = self.run_pair("echo right")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        family = result["families"]["check, even"]
        self.assertEqual(family["same_output"], len(family["seconds"]))
        self.assertGreater(len(family["seconds"]), 10)

    def test_other_words_are_counted(self):
        done, result = self.run_pair("echo wrong")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(result["families"]["check, even"]["same_output"], 0)

    def test_another_end_is_seen(self):
        done, _ = self.run_pair("echo right; exit 1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ends with 0 before and 1 after", done.stdout)

    def test_what_both_refuse_is_no_time(self):
        sides = self.program("before", "exit 2"), self.program("after", "exit 2")
        done = subprocess.run(
            [sys.executable, ROOT / "bench/pair_commands.py", *sides, "--rounds", "1", "--only", "check, the corpus"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ends with 2 before and 2 after", done.stdout)

    def test_what_takes_longer_has_a_larger_ratio(self):
        busy = "k=0; while [ $k -lt {} ]; do k=$((k + 1)); done; echo right"
        sides = self.program("quick", busy.format(60000)), self.program("slow", busy.format(240000))
        result = self.work / "result.json"
        subprocess.run(
            [sys.executable, ROOT / "bench/pair_commands.py", *sides, "--rounds", "1", "--only", "check, the corpus", "--output", result],
            capture_output=True, check=True)
        self.assertGreater(json.loads(result.read_text(encoding="utf-8"))["families"]["check, the corpus"]["geometric_mean"], 1.5)


if __name__ == "__main__":
    unittest.main()
