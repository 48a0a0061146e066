"""corpus/: every program gets the verdict that stands there, the same bytes come out again, and other code says the same."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "corpus"


def lines(name, folder=CORPUS):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def corpus(*arguments):
    done = subprocess.run([sys.executable, ROOT / "scripts" / "corpus", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def spoiled(case, name, change):
    """A copy of the corpus in which one line of the file is changed."""
    folder = tempfile.TemporaryDirectory(prefix="retile-corpus-")
    case.addCleanup(folder.cleanup)
    for file in ("problems.jsonl", "programs.jsonl"):
        shutil.copy(CORPUS / file, folder.name)
    content = lines(name, Path(folder.name))
    change(content)
    (Path(folder.name) / name).write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in content))
    return folder.name


class Corpus(unittest.TestCase):
    def test_verdicts(self):
        self.assertEqual(corpus("--verdicts"), (0, "0 differences\n"))

    def test_other_verdicts_are_noticed(self):
        for form in ("program", "mlir22"):
            number = next(one["id"] for one in lines("programs.jsonl") if one["form"] == form)

            def called_wrong(content, number=number):
                content[number]["verdict"]["right"] = False
            code, said = corpus("--verdicts", str(number + 1), "--out", spoiled(self, "programs.jsonl", called_wrong))
            self.assertEqual(code, 1)
            self.assertRegex(said, rf"program {number}: .*'right': True.*was .*'right': False(.|\n)*\n1 differences")

    def test_the_same_bytes_come_out_again(self):
        self.assertEqual(corpus("--check", "16"), (0, "0 differences\n"))

        def cheaper(content):
            content[3]["optimum"]["cost"] -= 1
        code, said = corpus("--check", "4", "--out", spoiled(self, "problems.jsonl", cheaper))
        self.assertEqual(code, 1)
        self.assertIn("problems.jsonl: other than before", said)

    def test_what_it_holds(self):
        problems, programs = lines("problems.jsonl"), lines("programs.jsonl")
        self.assertGreaterEqual(len(problems), 1000)
        known = {one["id"] for one in problems}
        self.assertEqual(len(known), len(problems))
        self.assertEqual([one["id"] for one in programs], list(range(len(programs))))
        self.assertLessEqual({one["problem"] for one in programs}, known)
        self.assertEqual({one["problem"] for one in programs if one["mistake"] is None}, known)
        for one in programs:
            self.assertEqual(one["verdict"]["right"], one["mistake"] is None, one["id"])
        counts = Counter((one["form"], one["verdict"]["right"]) for one in programs)
        self.assertEqual(len(counts), 14)
        self.assertGreater(min(counts.values()), 50, counts)
        for one in problems:
            best = one["optimum"]
            if best:
                self.assertGreaterEqual(best["cost"], best["lower_bound"])
                self.assertTrue(not best["optimal"] or best["cost"] == best["lower_bound"], one)
        self.assertGreater(sum(bool(one["optimum"] and one["optimum"]["optimal"]) for one in problems), 600)

    def test_the_page_says_what_it_holds(self):
        page = (CORPUS / "README.md").read_text()
        programs = lines("programs.jsonl")
        for name in ("problems.jsonl", "programs.jsonl"):
            section = page.split(f"`{name}`", 1)[1].split("\n## ", 1)[0]
            table = section.split("| Field |", 1)[1].split("\n\n", 1)[0]
            rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
            self.assertEqual({field for row in rows for field in re.findall(r"`(\w+)`", row)},
                             {field for one in lines(name) for field in one}, name)
        right = sum(one["mistake"] is None for one in programs)
        self.assertIn(f"{len(lines('problems.jsonl')):,} problems, {right:,} right programs and {len(programs) - right} wrong ones", page)
        counts = Counter((one["form"], one["mistake"] is None) for one in programs)
        for form in {form for form, _ in counts}:
            self.assertRegex(page, rf"\n\| `{form}` \|.*\| {counts[form, True]} \| {counts[form, False]} \|\n")
        for kind, count in Counter(one["mistake"] for one in programs if one["mistake"]).items():
            self.assertRegex(page, rf"\n\| `{kind}` \|.*\| {count} \|\n")


class CorpusAgain(unittest.TestCase):
    def test_all_of_it(self):
        self.assertEqual(corpus("--check", str(len(lines("problems.jsonl")))), (0, "0 differences\n"))

    def test_other_code_says_the_same(self):
        code, said = corpus("--confirm", "10000")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"retile-oracle: False: \d{3}\n")
        self.assertRegex(said, r"retile-oracle certify: True: \d{3}\n")

    def test_what_other_code_denies_is_noticed(self):
        def lies(content):
            content[0]["verdict"]["right"] = False
        code, said = corpus("--confirm", "10", "--out", spoiled(self, "programs.jsonl", lies))
        self.assertEqual(code, 1)
        self.assertIn("program 0 (program, None): retile-oracle says True", said)

        def cheaper(content):
            content[0]["optimum"]["cost"] -= 1
        code, said = corpus("--confirm", "10", "--out", spoiled(self, "problems.jsonl", cheaper))
        self.assertEqual(code, 1)
        self.assertIn("no certified optimum of", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
