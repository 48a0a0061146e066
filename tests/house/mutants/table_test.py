#!/usr/bin/env python3
"""The table of mutants fits the tree: every old text stands once in its function, every test exists. Tables that do not fit are
noticed. Functions that move or are formatted anew break nothing, and `--rename` follows one that gets another name. Mistakes that
are built together change what they change alone.

    table_test.py ROOT
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "scripts")]
import script_module  # noqa: E402  the paths have to be there first
import switched  # noqa: E402


MUTANTS = script_module.load(ROOT, "mutants")


class Table(unittest.TestCase):
    table = MUTANTS.load(ROOT)
    sources = MUTANTS.Sources(ROOT)

    def files(self):
        """The file of every mutant."""
        return [self.sources.places(mutant["function"], mutant["old"])[0][0] for mutant in self.table]

    def test_fits_the_tree(self):
        self.assertEqual(MUTANTS.table_faults(self.sources, self.table), [])
        print(f"{len(self.table)} mutants in {len(set(self.files()))} files")

    def test_reaches_rules_planner_lowering_checker_provers_and_readers(self):
        parts = {"src/retile/" + part: 2 for part in ("core/", "plan/", "lower/", "check/", "program/", "exec/")}
        parts |= {"src/retile/prove/": 10, "src/retile/plan/certificate.cpp": 10, "spec/paper/": 30, "spec/program/": 50, "proofs/": 10}
        for part, least in parts.items():
            self.assertGreaterEqual(sum(file.startswith(part) for file in self.files()), least, part)

    def test_leaves_out_every_check_of_the_certifier(self):
        text = (ROOT / "spec" / "program" / "certify.h").read_text(encoding="utf-8")
        left_out = [mutant["old"] for mutant, file in zip(self.table, self.files())
                    if file == "spec/program/certify.h" and "require(" not in mutant["new"]]
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
            return "\n".join(MUTANTS.table_faults(self.sources, broken))

        self.assertIn("stands 0 times", faults(old="this stands nowhere"))
        self.assertRegex(faults(old="return"), r"stands [1-9]\d+ times")
        self.assertIn("changes nothing", faults(new=self.table[0]["old"]))
        self.assertIn("no retile::nothing in src", faults(function="retile::nothing"))
        self.assertIn("stands 0 times", faults(function="retile::plan"))
        self.assertIn("no test", faults(test="no_such_test"))
        self.assertIn("no Nothing in", faults(filter="Nothing.at_all"))
        self.assertIn("stands twice", faults(id=self.table[1]["id"]))
        self.assertIn("does not say why", faults(wrong=""))
        self.assertIn("the fields are", faults(more="fields"))
        few = MUTANTS.table_faults(self.sources, self.table[:10])
        self.assertTrue(any("at least 25" in fault for fault in few))

    def test_the_page_lists_every_mutant(self):
        page = MUTANTS.markdown(self.table, MUTANTS.last_run(ROOT))
        self.assertEqual(re.findall(r"^\| ([\w-]+) \| `", page, flags=re.MULTILINE), [mutant["id"] for mutant in self.table])

    def test_spaces_do_not_count_but_words_do(self):
        for text, fits in {"if (a==b) { return c; }": True, "if (a == b)\n  {return c;}": True, "if (a == b) { returnc; }": False,
                           "if (aa == b) { return c; }": False, "if (a == b) { return c  ; }": True, "if (a = = b) return c;": False}.items():
            self.assertEqual(bool(MUTANTS.pattern_of("if (a == b) {\n    return c;\n  }").search(text)), fits, text)
        self.assertFalse(MUTANTS.pattern_of("a b").search("xa b"))
        self.assertFalse(MUTANTS.pattern_of('"a b"').search('"a  b"'))


class Moves(unittest.TestCase):
    """On a copy of two rooms, with the mutants there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for room in ("src/retile/core", "src/retile/spmd"):
            shutil.copytree(ROOT / room, self.root / room)
        self.table = MUTANTS.load(ROOT)
        elsewhere = set(self.lost())
        self.table = [mutant for mutant in self.table if mutant["id"] not in elsewhere]
        self.assertGreater(len(self.table), 40)

    def lost(self, table=None):
        sources = MUTANTS.Sources(self.root)
        return [mutant["id"] for mutant in table or self.table if len(sources.places(mutant["function"], mutant["old"])) != 1]

    def change(self, file, change):
        path = self.root / file
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    def test_a_function_that_moves_and_is_formatted_anew_keeps_its_mutants(self):
        text = (self.root / "src/retile/core/mesh.cpp").read_text(encoding="utf-8")
        (self.root / "src/retile/core/mesh.cpp").unlink()
        self.change("src/retile/core/layout.cpp", lambda before: before + re.sub(r"\n +", " ", text).replace("(", "(\n  "))
        self.assertEqual(self.lost(), [])

    def test_a_function_that_is_gone_loses_them(self):
        (self.root / "src/retile/core/mesh.cpp").unlink()
        self.assertIn("mesh-first-axis-fastest", self.lost())

    def test_renaming_changes_the_mutants_of_the_function_and_no_others(self):
        for path in (self.root / "src" / "retile" / "spmd").glob("*.*"):
            self.change(path.relative_to(self.root), lambda text: re.sub(r"\bmatrix_product\b", "product_of_matrices", text))
        lost = self.lost()
        self.assertGreater(len(lost), 4)
        table, changed = MUTANTS.renamed(MUTANTS.Sources(self.root), self.table, "matrix_product", "product_of_matrices")
        self.assertEqual(self.lost(table), [])
        self.assertEqual(changed, len(lost))
        self.assertEqual([a["id"] for a, b in zip(self.table, table) if a != b], lost)


SOURCE = r"""#include <cstdio>
struct Pair {
  int a, b;
  explicit Pair(int n) : a{n}, b{n + 1} { b += 2'000'000; }
  int sum() const { return a + b; }  // not }
};
constexpr int twice(int n) { return 2 * n; }
template <typename T>
T last(const T* text) {
  struct Reader {
    const T* at;
    T next() { return *at++; }
  };
  Reader reader{text};
  T out{}; /* { */
  while (T c = reader.next()) out = c;
  return out;
}
static_assert(twice(2) == 4);
int third = 3;
int main() {
  const char* raw = R"x({"} )x";
  std::printf("%d %c %c %d %d\n", Pair(1).sum(), last("ab{"), last(raw) == ' ' ? '\'' : '}', twice(third), third);
}
"""


class Together(unittest.TestCase):
    """Mistakes in one build, each behind its number."""

    MISTAKES = {
        1: ("n + 1}", "n + 3}"), 2: ("b += 2", "b += 3"), 3: ("a + b;", "a - b;"), 4: ("2 * n", "3 * n"), 5: ("*at++", "*at--"),
        6: ("out = c", "out = T('!')"), 7: ("int third = 3", "int third = 4"), 8: ('R"x({"} )x"', 'R"x({"}!)x"'),
        9: ("2 * n", "2 * n /* the same */")}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def functions(self, text):
        (self.root / "src").mkdir(exist_ok=True)
        (self.root / "src" / "a.cpp").write_text(text, encoding="utf-8")
        return MUTANTS.Sources(self.root).functions["src/a.cpp"]

    def planted(self, mistakes):
        places = [(number, SOURCE.index(old), SOURCE.index(old) + len(old), new) for number, (old, new) in mistakes.items()]
        return switched.File(SOURCE, self.functions(SOURCE), places)

    def program(self, text):
        (self.root / "planted.h").write_text(switched.HEADER, encoding="utf-8")
        (self.root / "a.cpp").write_text(text, encoding="utf-8")
        done = subprocess.run(["g++", "-std=c++20", "-include", "planted.h", "a.cpp", "-o", "a"], cwd=self.root, capture_output=True,
                              text=True, check=False)
        return done.stderr

    def says(self, number):
        return subprocess.run([self.root / "a"], env=dict(os.environ, **{switched.VARIABLE: str(number)}), capture_output=True, text=True,
                              check=True).stdout

    def test_a_number_says_which_mistake_runs(self):
        file = self.planted({number: mistake for number, mistake in self.MISTAKES.items() if number != 5})
        self.assertEqual(sorted(file.left_out), [1, 7])  # the one before a constructor's body, and the one in no function
        self.assertEqual(self.program(file.text), "")
        right = self.says(0)
        self.assertEqual(right, "2000003 { ' 6 3\n")
        said = {number: self.says(number) for number in (2, 3, 4, 6, 8, 9)}
        self.assertEqual(said, {2: "3000003 { ' 6 3\n", 3: "-2000001 { ' 6 3\n", 4: "2000003 { ' 9 3\n", 6: "2000003 ! } 6 3\n",
                                8: "2000003 { } 6 3\n", 9: right})

    def test_a_body_within_another_is_copied_without_its_mistakes(self):
        file = self.planted({5: ("*at++", "*at == 'a' ? *at++ : T{}"), 6: ("out = c", "out = T('!')")})
        self.assertEqual(file.left_out, [])
        self.assertEqual(self.program(file.text), "")
        self.assertEqual([self.says(5), self.says(6)], ["2000003 a } 6 3\n", "2000003 ! } 6 3\n"])
        self.assertEqual(file.text.count("*at == 'a'"), 1)

    def test_what_does_not_compile_is_told_by_its_line(self):
        for wrong in (2, 3, 6):
            file = self.planted({number: (old, new if number != wrong else new + " nonsense nonsense")
                                 for number, (old, new) in self.MISTAKES.items() if number in (2, 3, 6)})
            workshop = MUTANTS.Together(self.root / "build")
            workshop.tree, workshop.build, workshop.files = self.root, self.root, {"a.cpp": file}
            said = self.program(file.text)
            self.assertIn(wrong, workshop.guilty(said))
            self.assertEqual(workshop.guilty(said.replace("error", "remark")), set())

    def test_most_of_the_table_lies_in_bodies(self):
        sources, mistakes = MUTANTS.Sources(ROOT), {}
        table = MUTANTS.load(ROOT)
        for number, mutant in enumerate(table):
            (file, begin, end), = sources.places(mutant["function"], mutant["old"])
            mistakes.setdefault(file, []).append((number, begin, end, mutant["new"]))
        left_out = [number for file, those in mistakes.items()
                    for number in switched.File(sources.texts[file], sources.functions.get(file, []), those).left_out]
        print(f"{len(left_out)} of {len(table)} mutants lie in no body")
        self.assertLess(len(left_out), len(table) // 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
