#!/usr/bin/env python3
"""The pages that scripts/reference writes are what it writes: the program's options, the fields of its JSON, and the docstrings of
pyretile.jax and pyretile.torch, which leave out no argument, no field and no example.

    reference_test.py ROOT RETILE
"""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT, RETILE = Path(sys.argv[1]), sys.argv[2]
del sys.argv[1:]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import script_module  # noqa: E402  the path has to be there first


reference = script_module.load(ROOT, "reference")


def differences(wanted, there):
    """The first line in which each page differs from what it must be."""
    out = []
    for name, text in wanted.items():
        lines = zip(text.splitlines() + [None], there[name].splitlines() + [None])
        out += [f"{name}: {is_so!r} must be {must!r}" for must, is_so in lines if must != is_so][:1]
    return out


class Reference(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.wanted = reference.pages(RETILE, ROOT)

    def test_the_pages_are_what_the_program_says(self):
        there = {name: (ROOT / name).read_text(encoding="utf-8") for name in self.wanted}
        self.assertEqual(differences(self.wanted, there), [], "scripts/reference --bin DIR writes them")

    def test_a_changed_word_is_noticed_on_each_page(self):
        words = {reference.OPTIONS_PAGE: "`--svg`", reference.JSON_PAGE: "`peak_limit_bytes`", **dict.fromkeys(reference.PYTHON_PAGES, "| Argument |")}
        self.assertEqual(words.keys(), self.wanted.keys())
        for name, word in words.items():
            spoiled = {**self.wanted, name: self.wanted[name].replace(word, "`--other`", 1)}
            self.assertEqual(len(differences(self.wanted, spoiled)), 1, name)
            shorter = {**self.wanted, name: self.wanted[name].rstrip("\n").rpartition("\n")[0] + "\n"}
            self.assertEqual(len(differences(self.wanted, shorter)), 1, name)

    def test_docstrings_say_all(self):
        for name, _ in reference.PYTHON_PAGES.values():
            self.assertEqual(reference.unsaid(ROOT, name), [])

    def test_a_changed_docstring_and_what_one_leaves_out_are_noticed(self):
        spoiled = [("jax/_check.py", "      seed: by what; drawn itself where it is None.\n      timeout: seconds for the comparison, without",
                    "      timeout: seconds for the comparison, without", ["check: argument seed"]),
                   ("jax/_check.py", "      devices: how many there are.\n", "", ["Report: field devices"]),
                   ("jax/_explain.py", "    >>> ", "    ", ["explain: example"]),
                   ("torch/_watch.py", "      whole: whether", "      hole: whether", ["Kind: field hole", "Kind: field whole"]),
                   ("torch/_watch.py", '        """`FILE:LINE`, the file without its folder."""\n', "", ["Record: source"]),
                   ("torch/_errors.py", '    """torch\'s way holds more than the limit."""\n', "    pass\n", ["OverLimit has no docstring"]),
                   ("torch/_move.py", "how many redistributes", "which redistributes", [])]
        with tempfile.TemporaryDirectory() as folder:
            for file, words, others, wanted in spoiled:
                package = Path(folder) / reference.PACKAGE
                shutil.rmtree(package, ignore_errors=True)
                shutil.copytree(ROOT / reference.PACKAGE, package)
                path = package / file
                text = path.read_text(encoding="utf-8")
                self.assertIn(words, text)
                path.write_text(text.replace(words, others), encoding="utf-8")
                name = file.partition("/")[0]
                self.assertEqual(reference.unsaid(Path(folder), name), wanted)
                (page, of), = (one for one in reference.PYTHON_PAGES.items() if one[1][0] == name)
                self.assertEqual(len(differences({page: reference.python_page(Path(folder), *of)}, self.wanted)), 1, file)

    def test_no_verb_and_no_option_is_left_out(self):
        page = self.wanted[reference.OPTIONS_PAGE]
        verbs = reference.verbs_of(RETILE)
        self.assertGreaterEqual(len(verbs), 9)
        for verb in verbs:
            for line in reference.help_of(RETILE, verb).splitlines():
                name = line.strip().split(" ")[0]
                if line.startswith("  -") and name != "-h,--help":
                    self.assertIn(f"| `{name}` |", page, verb)

    def test_help_is_read_where_a_name_leaves_no_room(self):
        text = "Options:\n  --a-very-long-name-of-an-option VALUE\n                              what it\n                              means\n  -n N                        how many\n"
        self.assertEqual(reference.rows_of_help(text, "Options"),
                         [("--a-very-long-name-of-an-option", "VALUE", "what it means"), ("-n", "N", "how many")])
        self.assertEqual(reference.exit_codes("Exit codes: 0 a plan, 3 more than 2^22, or\n5 trees, 4 bad.\n\nExamples:\n"),
                         [("0", "a plan"), ("3", "more than 2^22, or 5 trees"), ("4", "bad")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
