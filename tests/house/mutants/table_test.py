#!/usr/bin/env python3
"""The table of mutants fits the tree: every old text stands once, every test exists. And tables that do not fit are noticed.

    table_test.py ROOT
"""

import importlib.machinery
import importlib.util
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))


def script():
    loader = importlib.machinery.SourceFileLoader("mutants", str(ROOT / "scripts" / "mutants"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
    loader.exec_module(module)
    return module


MUTANTS = script()


class Table(unittest.TestCase):
    def setUp(self):
        self.table = MUTANTS.load(ROOT)

    def test_fits_the_tree(self):
        self.assertEqual(MUTANTS.table_faults(ROOT, self.table), [])
        print(f"{len(self.table)} mutants in {len({mutant['file'] for mutant in self.table})} files")

    def test_reaches_rules_planner_lowering_checker_provers_and_readers(self):
        parts = {"src/retile/" + part: 2 for part in ("core/", "plan/", "lower/", "check/", "program/", "exec/")}
        parts |= {"src/retile/prove/": 10, "src/retile/plan/certificate.cpp": 10, "spec/paper/": 30, "spec/program/": 50, "proofs/": 10}
        for part, least in parts.items():
            files = [mutant["file"] for mutant in self.table if mutant["file"].startswith(part)]
            self.assertGreaterEqual(len(files), least, part)

    def test_leaves_out_every_check_of_the_certifier(self):
        text = (ROOT / "spec" / "program" / "certify.h").read_text(encoding="utf-8")
        left_out = [mutant["old"] for mutant in self.table if mutant["file"] == "spec/program/certify.h" and "require(" not in mutant["new"]]
        checks = re.findall(r'require\([^;]*"(\w+)", [^;]*;', text)
        self.assertGreaterEqual(len(checks), 10)
        for check in checks:
            self.assertTrue(any(f'"{check}"' in old for old in left_out), f"no mutant leaves out the check {check}")

    def test_every_killing_test_is_there(self):
        for mutant in self.table:
            self.assertTrue(MUTANTS.test_sources(ROOT, mutant["test"]), mutant["test"])

    def test_a_table_that_does_not_fit_is_noticed(self):
        def faults(**changes):
            broken = [dict(mutant) for mutant in self.table]
            broken[0].update(changes)
            return "\n".join(MUTANTS.table_faults(ROOT, broken))

        self.assertIn("stands 0 times", faults(old="this stands nowhere"))
        self.assertRegex(faults(old="return"), r"stands [1-9]\d+ times")
        self.assertIn("changes nothing", faults(new=self.table[0]["old"]))
        self.assertIn("no file of src", faults(file="src/retile/core/nothing.cpp"))
        self.assertIn("no file of src", faults(file="tests/core/mesh_test.cpp"))
        self.assertIn("no test", faults(test="no_such_test"))
        self.assertIn("no Nothing in", faults(filter="Nothing.at_all"))
        self.assertIn("stands twice", faults(id=self.table[1]["id"]))
        self.assertIn("does not say why", faults(wrong=""))
        self.assertIn("the fields are", faults(more="fields"))
        few = MUTANTS.table_faults(ROOT, self.table[:10])
        self.assertTrue(any("at least 25" in fault for fault in few))

    def test_the_document_lists_every_mutant(self):
        document = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
        listed = re.findall(r"^\| ([\w-]+) \| `", document, flags=re.MULTILINE)
        self.assertEqual(listed, [mutant["id"] for mutant in self.table])
        run = MUTANTS.last_run(ROOT)
        self.assertLessEqual(run[1], len(self.table))
        self.assertEqual(document, MUTANTS.markdown(self.table, run), "scripts/mutants --document writes it anew")
        self.assertNotEqual(document, MUTANTS.markdown(self.table[1:], run))


if __name__ == "__main__":
    unittest.main(verbosity=2)
