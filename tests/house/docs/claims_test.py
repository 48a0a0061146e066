#!/usr/bin/env python3
"""Every sentence of README about checking, proving or certifying has a row in docs/ledger/proofs.md, and its command shows what the row says.

    claims_test.py ROOT BUILD BIN          the test; BIN holds retile and retile-oracle
    claims_test.py ROOT BUILD BIN --list   the sentences that need a row

A row has four cells: the sentence, as it is read; a command, or `-`; what the command prints, with `...` for anything; and the tests,
by their names in ctest and with their labels, that hold the sentence in general, or `-`. Commands run in the root of the tree. Tests
are not run here, but must exist and have that label.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from prose_test import sentences

CLAIM = re.compile(r"\b(check(s|ed|ing)?|verdicts?|prove[sd]?|proving|proofs?|certif\w+|compare[sd]?|verif\w+|fuzzed|mistakes|wrong step|"
                   r"lower bound|refuses)\b", re.I)
HEADING = "## What README says of checking"
SECONDS = 20


def claims(readme):
    return [sentence.text for sentence in sentences("README.md", readme) if CLAIM.search(sentence.text)]


def plain(cell):
    """A cell without the backslashes that its table needs, and without the backquotes around it."""
    cell = cell.replace("\\|", "|")
    return cell.strip("`") if cell.startswith("`") and cell.endswith("`") and cell.count("`") == 2 else cell


def rows(page):
    """(sentence, command, what it prints, tests) of the table under the heading."""
    section = page.partition(HEADING)[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [(row[0].replace("\\|", "|"), plain(row[1]), plain(row[2]), row[3]) for row in cells]


def said(pattern, output):
    """Whether the output has the pattern in it; `...` stands for anything within a line."""
    return re.search(".*".join(re.escape(part) for part in pattern.split("...")), output) is not None


def run(command, root, programs):
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": scratch}
        done = subprocess.run(["sh", "-c", command], cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=SECONDS, check=False, text=True)
        return done.stdout


def labels(build):
    """The labels of every test that ctest knows."""
    known = json.loads(subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], stdout=subprocess.PIPE, check=True).stdout)
    return {test["name"]: {value for each in test.get("properties", []) if each["name"] == "LABELS" for value in each["value"]}
            for test in known["tests"]}


def without_row(readme, page):
    listed = [row[0] for row in rows(page)]
    return ([f"no row: {claim}" for claim in claims(readme) if claim not in listed]
            + [f"README does not say: {sentence}" for sentence in listed if sentence not in claims(readme)])


def wrong_tests(cell, known):
    """The tests that a cell names and that are not there, or have another label."""
    out = [] if cell == "-" or re.search(r"`[\w.]+` \(\w+\)", cell) else [f"no test: {cell}"]
    for name, label in re.findall(r"`([\w.]+)` \((\w+)\)", cell):
        if label not in known.get(name, set()):
            out.append(f"no test {name} with the label {label}")
    return out


class Claims(unittest.TestCase):
    ROOT = BUILD = BIN = None

    def setUp(self):
        self.readme = (self.ROOT / "README.md").read_text(encoding="utf-8")
        self.page = (self.ROOT / "docs/ledger/proofs.md").read_text(encoding="utf-8")

    def test_every_claim_has_a_row_and_every_row_a_claim(self):
        self.assertGreater(len(claims(self.readme)), 8)
        self.assertEqual(without_row(self.readme, self.page), [])

    def test_commands_print_what_the_rows_say(self):
        for sentence, command, wanted, tests in rows(self.page):
            self.assertNotEqual((command, tests), ("-", "-"), sentence)
            if command != "-":
                with self.subTest(sentence):
                    output = run(command, self.ROOT, self.BIN)
                    self.assertTrue(said(wanted, output), f"{command}\nprints\n{output}\nand not\n{wanted}")

    def test_tests_that_are_named_are_there(self):
        known = labels(self.BUILD)
        self.assertEqual([fault for row in rows(self.page) for fault in wrong_tests(row[3], known)], [])

    def test_control_a_sentence_without_a_row_is_noticed(self):
        more = self.readme + "\n\nEvery plan is proved right on the moon.\n"
        self.assertEqual(without_row(more, self.page), ["no row: Every plan is proved right on the moon."])
        for sentence, *_ in rows(self.page):
            line = next(line for line in self.page.splitlines() if line.startswith("| " + sentence.replace("|", "\\|") + " |"))
            self.assertEqual(without_row(self.readme, self.page.replace(line + "\n", "")), [f"no row: {sentence}"])
            words = sentence + " Not so."
            self.assertIn(f"README does not say: {words}", without_row(self.readme, self.page.replace(line, line.replace(line[2 : 2 + len(sentence)], words))))

    def test_control_what_a_command_does_not_print_is_noticed(self):
        for sentence, command, wanted, _ in rows(self.page):
            self.assertFalse(said(wanted, "") or said("right: false", wanted), sentence)
        self.assertFalse(said("cost ..., height 9", run("echo cost 4, height 4", self.ROOT, self.BIN)))
        self.assertTrue(said("cost ..., height 4", run("echo cost 4, height 4", self.ROOT, self.BIN)))
        self.assertFalse(said("a...b", "a\nb"))

    def test_control_a_test_that_is_not_there_is_noticed(self):
        known = labels(self.BUILD)
        self.assertEqual(wrong_tests("`check.check` (unit)", known), [])
        self.assertEqual(len(wrong_tests("`check.check` (slow)", known)), 1)
        self.assertEqual(len(wrong_tests("`check.gone` (unit)", known)), 1)
        self.assertEqual(len(wrong_tests("some tests", known)), 1)


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    Claims.ROOT, Claims.BUILD, Claims.BIN = (Path(word).resolve() for word in sys.argv[1:4])
    if sys.argv[4:] == ["--list"]:
        print("\n".join(claims((Claims.ROOT / "README.md").read_text(encoding="utf-8"))))
    else:
        unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
