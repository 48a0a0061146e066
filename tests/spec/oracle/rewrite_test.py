"""`retile-oracle rewrite`: every rule of the talk applies and keeps type and value, and wrong variants of each are called wrong. ORACLE names the program."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ORACLE = os.environ["ORACLE"]
ROOT = Path(__file__).resolve().parents[3]
TENSORS = "x : [5, 4]\ny : [4, 3]\nz : [5, 3]\nv : [3, 3]\n"
TALK = "retile.partir/1\n" + TENSORS


def oracle(*words, stdin=""):
    return subprocess.run([ORACLE, "rewrite", *words], input=stdin, capture_output=True, text=True, timeout=120, check=False)


def expression(text):
    """The line of it in a text."""
    return [line for line in text.splitlines() if line and not line.startswith("#")][-1]


# The rule and its words; an expression, the part, what it becomes; and what a wrong rule would make of it.
RULES = [
    ("matmul-tile-0 --range r:2", "matmul x y", "", r"tile 0 (\r:range<5,2> -> matmul (slice 0 x[r]) y)", [
        r"tile 1 (\r:range<5,2> -> matmul (slice 0 x[r]) y)", r"tile 0 (\r:range<4,2> -> matmul (slice 0 x[r]) y)",
        r"tile 0 (\r:range<5,2> -> matmul (slice 0 (add x x)[r]) y)"]),
    ("matmul-tile-1 --range r:2", "matmul x y", "", r"tile 1 (\r:range<3,2> -> matmul x (slice 1 y[r]))", [
        r"tile 1 (\r:range<3,2> -> matmul x (slice 1 (tile 1 (\s:range<3,1> -> slice 1 (relu y)[s]))[r]))", r"tile 0 (\r:range<3,2> -> matmul x (slice 1 y[r]))"]),
    ("matmul-sum --range r:3", "matmul x y", "", r"sum (\r:range<4,3> -> matmul (slice 1 x[r]) (slice 0 y[r]))", [
        r"sum (\r:range<4,3> -> matmul x y)", r"sum (\r:range<4,3> -> matmul (slice 1 x[r]) y)"]),
    ("dumb-tiling --dim 1 --range r:3", "relu x", "0", r"relu (tile 1 (\r:range<4,3> -> slice 1 x[r]))", [
        r"relu (tile 1 (\r:range<3,3> -> slice 1 x[r]))", r"relu (tile 0 (\r:range<4,3> -> slice 1 x[r]))",
        r"relu (tile 1 (\r:range<4,3> -> slice 1 (add x x)[r]))"]),
    ("backwards", r"add z (tile 0 (\r:range<5,2> -> matmul (slice 0 x[r]) y))", "1", "add z (matmul x y)", [
        "add z z", "matmul x y"]),
    ("backwards", r"sum (\r:range<4,3> -> matmul (slice 1 x[r]) (slice 0 y[r]))", "", "matmul x y", ["add (matmul x y) (matmul x y)"]),
    ("backwards", r"tile 1 (\r:range<4,3> -> slice 1 x[r])", "", "x", ["relu x"]),
    ("fuse", r"tile 0 (\s:range<5,2> -> slice 0 (tile 0 (\r:range<5,2> -> relu (slice 0 x[r])))[s])", "0",
     r"tile 0 (\s:range<5,2> -> relu (slice 0 x[s]))", [
         r"tile 0 (\s:range<5,2> -> relu (slice 0 x[r]))", r"tile 0 (\s:range<5,2> -> slice 0 x[s])"]),
    ("push-slice", r"tile 0 (\r:range<5,2> -> slice 0 (matmul x y)[r])", "0", r"tile 0 (\r:range<5,2> -> matmul (slice 0 x[r]) y)", [
        r"tile 0 (\r:range<5,2> -> matmul x (slice 1 y[r]))"]),
    ("push-slice", r"tile 1 (\r:range<3,2> -> slice 1 (matmul z v)[r])", "0", r"tile 1 (\r:range<3,2> -> matmul z (slice 1 v[r]))", [
        r"tile 1 (\r:range<3,2> -> matmul (slice 1 z[r]) v)", r"tile 1 (\r:range<3,2> -> matmul z (slice 0 v[r]))",
        r"tile 1 (\r:range<3,2> -> matmul z (slice 1 (transpose [1, 0] v)[r]))"]),
    ("pull-tile-0", r"matmul (tile 0 (\r:range<5,2> -> slice 0 x[r])) y", "", r"tile 0 (\r:range<5,2> -> matmul (slice 0 x[r]) y)", [
        r"tile 1 (\r:range<5,2> -> matmul (slice 0 x[r]) y)", r"sum (\r:range<5,2> -> matmul x y)"]),
    ("pull-tile-1", r"matmul x (tile 1 (\r:range<3,2> -> slice 1 y[r]))", "", r"tile 1 (\r:range<3,2> -> matmul x (slice 1 y[r]))", [
        r"tile 0 (\r:range<3,2> -> matmul x (slice 1 y[r]))", r"tile 1 (\r:range<3,2> -> matmul (add x x) (slice 1 y[r]))"]),
]

# Likewise of terms, whose texts have a mesh.
MESH = "retile.partir/1\nmesh r:2, s:2\nx : [3, 4]\ny : [3, 4]\n"
TERM_RULES = [
    ("fuse-undistribute", "undistribute (distribute [2{r}3, 4] x)", "", "x", ["y", "distribute [2{r}3, 4] x"]),
    ("fuse-undistribute", "distribute [3, 4] (undistribute (distribute [2{r}3<0,1>, 4] x))", "0", "distribute [3, 4] x", ["distribute [3, 4] y"]),
    ("fuse-distribute", "distribute [2{r}3, 4] (undistribute (distribute [2{r}3, 4] x))", "", "distribute [2{r}3, 4] x", [
        "distribute [2{s}3, 4] x", "distribute [2{r}3, 4] y"]),
    ("fuse-redistribute", "distribute [3, 2{r}4] (undistribute (distribute [2{r}3, 2{s}4] x))", "",
     "redistribute [3, 2{r}4] (distribute [2{r}3, 2{s}4] x)", ["distribute [2{r}3, 2{s}4] x", "redistribute [3, 2{r}4] (distribute [2{r}3, 2{s}4] y)"]),
    ("fuse-redistribute", "undistribute (distribute [3, 4]@0 (undistribute (distribute [2{r}3, 4] x)))", "0",
     "undistribute (redistribute [3, 4]@0 (distribute [2{r}3, 4] x))", ["undistribute (redistribute [3, 4]@0 (distribute [2{r}3, 4] y))"]),
]

# Where a premise fails, the rule does not apply; what it would make is wrong, or has no type.
PREMISES = [
    ("matmul-tile-0 --range r:2", "relu x", ""),
    ("matmul-tile-0 --range r:2", r"tile 0 (\r:range<5,2> -> matmul (slice 0 x[r]) y)", "0"),  # r is in it
    ("matmul-sum --range r:2", "add x x", ""),
    ("dumb-tiling --dim 2 --range r:2", "x", ""),
    ("backwards", r"tile 0 (\r:range<5,2> -> relu (slice 0 x[r]))", ""),
    ("backwards", r"sum (\r:range<4,3> -> matmul x y)", ""),
    ("fuse", r"tile 0 (\s:range<5,3> -> slice 0 (tile 0 (\r:range<5,2> -> slice 0 x[r]))[s])", "0"),  # R4
    ("fuse", r"tile 0 (\s:range<5,2> -> slice 0 (tile 0 (\r:range<5,2> -> sum (\s:range<4,3> -> slice 0 x[r])))[s])", "0"),
    ("push-slice", r"tile 0 (\r:range<5,2> -> slice 0 x[r])", "0"),
    ("pull-tile-0", r"tile 1 (\r:range<3,2> -> matmul (tile 0 (\r:range<3,2> -> slice 0 v[r])) (slice 1 v[r]))", "0"),  # R3
    ("pull-tile-1", r"tile 0 (\r:range<3,2> -> matmul (slice 0 v[r]) (tile 1 (\r:range<3,2> -> slice 1 v[r])))", "0"),
    ("fuse-distribute", "x", ""),
]
TERM_PREMISES = [
    ("fuse-undistribute", "undistribute (redistribute [3, 4] (distribute [2{r}3, 4] x))", "", "no part"),
    ("fuse-undistribute", "distribute [3, 4] x", "", "no part"),
    ("fuse-distribute", "distribute [2{s}3, 4] (undistribute (distribute [2{r}3, 4] x))", "", "no part"),
    ("fuse-redistribute", "undistribute (distribute [2{s}3, 4] (undistribute (distribute [2{r}3, 4] x)))", "", "0"),
    ("matmul-sum --range r:2", "distribute [3, 4] x", "", "no part"),
]


class Rewrite(unittest.TestCase):
    def compared(self, before, after, talk=TALK):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "after.partir"
            path.write_text(talk + after + "\n")
            return oracle("--to", str(path), stdin=talk + before + "\n")

    def test_every_rule_applies_and_wrong_ones_do_not_pass(self):
        seen, wrong = set(), {}
        for words, before, at, after, twins in RULES:
            with self.subTest(words=words, before=before):
                seen.add(words.split()[0])
                done = oracle("--rule", *words.split(), *(["--at", at] if at else []), stdin=TALK + before + "\n")
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertEqual(expression(done.stdout), after)
                self.assertIn(", before and after\n# values: the same for all numbers\n", done.stdout)
                self.assertEqual(self.compared(before, after).returncode, 0)
                for twin in twins:
                    done = self.compared(before, twin)
                    if done.returncode == 2:
                        self.assertIn("the expression has no type", done.stderr)
                    else:
                        self.assertEqual(done.returncode, 1, (twin, done.stdout))
                        self.assertRegex(done.stdout, "different at element|, and then ")
                        wrong[words.split()[0]] = wrong.get(words.split()[0], 0) + 1
        for words, before, at, after, twins in TERM_RULES:
            with self.subTest(words=words, before=before):
                seen.add(words)
                done = oracle("--rule", words, *(["--at", at] if at else []), stdin=MESH + before + "\n")
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertEqual(done.stdout.splitlines()[:5], (MESH + after).splitlines())
                self.assertTrue(done.stdout.endswith("# type: the same\n# values: the same for all numbers\n"), done.stdout)
                self.assertEqual(self.compared(before, after, MESH).returncode, 0)
                for twin in twins:
                    done = self.compared(before, twin, MESH)
                    self.assertEqual(done.returncode, 1, (twin, done.stdout, done.stderr))
                    self.assertRegex(done.stdout, "# values: different|# type: another one")
                    wrong[words] = wrong.get(words, 0) + 1
        print(wrong)
        self.assertEqual(set(wrong), seen)
        listed = oracle("--rules").stdout
        self.assertEqual({line.split()[0] for line in listed.splitlines() if not line.startswith(" ")}, seen)
        self.assertEqual(len(seen), 12)

    def test_obligations_are_those_of_the_ledger(self):
        ledger = (ROOT / "docs/ledger/proofs.md").read_text()
        names = set()
        for line in oracle("--rules").stdout.splitlines():
            if line.startswith("  for all shapes: "):
                names.update(line.split(": ")[1].split(", "))
        self.assertEqual(len(names), 5)
        for name in names:
            self.assertIn(f"| {name} |", ledger)

    def test_premises(self):
        for words, before, at in PREMISES:
            with self.subTest(words=words, before=before):
                done = oracle("--rule", *words.split(), *(["--at", at] if at else []), stdin=TALK + before + "\n")
                self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
                self.assertRegex(done.stdout, r"^no: [\w-]+ does not apply to (the whole|part \d)\n# .*\n# needs: .*\n# applies at: ")

    def test_premises_of_terms(self):
        for words, before, at, places in TERM_PREMISES:
            with self.subTest(words=words, before=before):
                done = oracle("--rule", *words.split(), *(["--at", at] if at else []), stdin=MESH + before + "\n")
                self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
                self.assertRegex(done.stdout, r"^no: [\w-]+ does not apply to the whole\n# .*\n# needs: .*\n# applies at: " + places + "\n$")
        other = self.compared("x", "x", MESH.replace("x : [3, 4]", "x : [4, 4]"))
        self.assertEqual(other.returncode, 0, other.stdout)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "after.partir"
            path.write_text(MESH.replace("x : [3, 4]", "x : [4, 4]") + "x\n")
            self.assertEqual(oracle("--to", str(path), stdin=MESH + "x\n").stdout, "no: the tensors are others\n")

    def test_terms_that_are_refused(self):
        for text, words in (
            (MESH, "ends here too early"), (MESH + "z", "no type"), (MESH + "undistribute x", "no type"), (MESH + "distribute [4, 4] x", "no type"),
            (MESH + "distribute sum{r}[3, 4] x", "no type"), (MESH + "distribute [3, 4] distribute", "write it in brackets"), (MESH + "x y", "unexpected text"),
            (MESH + "x : [2]\nx", "another tensor already"), (MESH + "undistribute : [2]\nx", "is an operation"), (MESH + "z : [65, 64]\nx", "more than 4096"),
            (MESH.replace("r:2", "r:64") + "x", "more than 64 devices"), (MESH + "(" * 70 + "x" + ")" * 70, "more than 64 brackets"),
            (MESH + "distribute [2{q}3, 4] x", "q"), (MESH + "matmul x y", "unexpected text"),
        ):
            with self.subTest(words=words, text=text[-40:]):
                done = oracle("--rule", "fuse-distribute", stdin=text)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)

    def test_the_mlp_by_its_three_actions(self):
        text = (ROOT / "examples/partir/mlp.partir").read_text()
        actions = [
            (["dumb-tiling --dim 0 --range r:8 --at 0,0", "pull-tile-0 --at 0", "pull-tile-0"],
             r"tile 0 (\r:range<16,8> -> matmul (matmul (slice 0 x[r]) w) u)"),
            (["dumb-tiling --dim 1 --range s:128 --at 0,0,1", "dumb-tiling --dim 0 --range t:128 --at 0,1", "pull-tile-1 --at 0,0",
              "matmul-sum --range q:128 --at 0", "fuse --at 0,0,0", "fuse --at 0,0,1"],
             r"tile 0 (\r:range<16,8> -> sum (\q:range<256,128> -> matmul (matmul (slice 0 x[r]) (slice 1 w[q])) (slice 0 u[q])))"),
        ]
        for numbers in ("the same modulo 2^31 - 1, for numbers that are drawn 4 times", "the same for all numbers"):
            now = text
            for steps, wanted in actions:
                for step in steps:
                    if numbers == "the same for all numbers":
                        step = step.replace(":128", ":3")
                    done = oracle("--rule", *step.split(), stdin=now)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                    now = done.stdout
                    self.assertIn("# values: " + numbers, now)
                if numbers == "the same for all numbers":
                    wanted = wanted.replace("256,128", "4,3")
                self.assertEqual(expression(now), wanted)
            text = text.replace("256", "4")

    def test_operations_of_modules(self):
        for e in ("div (exp x) (add (mul x x) (fill 1 x))", "scale -2 (sub x (neg x))", "sqrt (max x x x)", "transpose [1, 0] (trim 0 1 1 x)",
                  'einsum "ik,kj,ij->ji" x y z', "reduce_max 0 (min x x)", "reduce_sum 1 (relu x)", 'einsum "2i+k,k->i" (reduce_sum 1 x) (reduce_sum 0 v)',
                  "einsum \"ij->\" x", "add x x x"):
            with self.subTest(e):
                done = oracle("--rule", *"dumb-tiling --dim 0 --range r:2".split(), stdin=TALK + e + "\n")
                if "->\"" in e:
                    self.assertEqual(done.returncode, 1, done.stdout)  # it has no dimension
                    done = oracle("--rule", *"dumb-tiling --dim 0 --range r:2 --at 0".split(), stdin=TALK + e + "\n")
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertIn("# values: the same for all numbers", done.stdout)
                self.assertEqual(oracle("--rule", "backwards", *(["--at", "0"] if "->\"" in e else []), stdin=done.stdout).returncode, 0)
        # A law of exp that is not used, and numbers that tell two functions apart.
        done = self.compared("mul (exp x) (exp x)", "exp (add x x)")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("# values: undecided: the functions in this", done.stdout)
        self.assertEqual(self.compared("exp x", "sqrt (mul x x)").returncode, 1)
        self.assertEqual(self.compared("relu (relu x)", "relu x").returncode, 0)
        self.assertEqual(self.compared("relu (scale 2 x)", "scale 2 (relu x)").returncode, 3)
        self.assertEqual(self.compared("relu x", "x").returncode, 1)

    def test_large_values_are_drawn(self):
        text = "retile.partir/1\nx : [64, 512]\ny : [512, 64]\n"
        for e, twin, code in (("matmul x y", "add (matmul x y) (matmul x y)", 1), ("relu (matmul x y)", "matmul x y", 3),
                              ("exp (matmul x y)", "exp (matmul x y)", 3)):
            with self.subTest(e), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "twin.partir"
                path.write_text(text + twin + "\n")
                self.assertEqual(oracle("--to", str(path), stdin=text + e + "\n").returncode, code)

    def test_what_is_refused(self):
        for text, words in (
            ("", "ends here too early"), ("retile.partir/2\nx", "expected 'retile.partir/1'"), (TALK, "ends here too early"),
            (TALK + "matmul x", "expected a name"), (TALK + "matmul y x", "no type"), (TALK + "w", "no type"),
            (TALK + "x : [2]\nx", "another tensor already"), (TALK + "tile : [2]\ntile", "is an operation"), (TALK + "x y", "unexpected text"),
            (TALK + "x\ny", "unexpected text"), (TALK + "tile 0 (\\r:range<5,0> -> x)", "at least 1"),
            (TALK + "tile 0 (\\r:range<5,2> -> x)", "no type"), (TALK + "slice 0 x[r]", "no type"), (TALK + "w : [9999999]\nx", "at most 1048576"),
            (TALK + "(" * 70 + "x" + ")" * 70, "more than 64 brackets"), (TALK + "sum (\\r:range<5,2> -> " * 9 + "x" + ")" * 9, "more than 8 ranges"),
            (TALK + "add" + " x" * 2000, "more than 1024 parts"), (TALK + "einsum \"i\" x", "no subscripts"), (TALK + "sub x", "as many operands"),
        ):
            with self.subTest(words=words, text=text[-40:]):
                done = oracle("--rule", "fuse", stdin=text)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)
        for words, said in ((["--rule", "split"], "no rule is called so"), ([], "expected --rule NAME"), (["--rule", "fuse", "--dim", "1"], "takes no --dim"),
                            (["--rule", "matmul-sum"], "matmul-sum takes --range"), (["--rule", "fuse", "--at", "0,x"], "expected a number"),
                            (["--rule", "fuse", "--at", "3"], "has no part 3"), (["--rule", "matmul-sum", "--range", "r:0"], "at least 1"),
                            (["--fast"], "no option"), (["a", "b"], "one file"), (["--rule"], "needs a name"), (["--rule", "fuse", "/nowhere"], "cannot read")):
            with self.subTest(words):
                done = oracle(*words, stdin=TALK + "x\n")
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)

    def test_deep_and_large_texts_end(self):
        deep = "x"
        for k in range(8):
            deep = f"tile {k % 2} (\\r{k}:range<{(5, 4)[k % 2]},3> -> slice {k % 2} ({deep})[r{k}])"
        done = oracle("--rule", "backwards", stdin=TALK + deep + "\n")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        many = "sum (\\r:range<1048576,1> -> " * 8 + "x" + ")" * 8
        done = oracle("--rule", *"dumb-tiling --dim 0 --range q:2".split(), stdin=TALK + many + "\n")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
