"""corpus/problems.py: what is drawn is what was always drawn, `retile` takes it, and every form says the same."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from collections import Counter
from math import prod
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "corpus"))

import problems  # noqa: E402

RETILE = os.environ["RETILE"]
CORPUS = ROOT / "corpus" / "problems.jsonl"
KEPT = ROOT / "tests" / "house" / "peers" / "problems.jsonl"
FIELDS = ("id", "family", "mesh", "shape", "from", "to", "from_order", "to_order", "from_sum", "to_sum")
# Of the 1,500 problems of seed 1 that docs/ledger/peers.md is about, one JSON object per line.
RECORDED = "6c9cc0689908983e46a2db0d1bc838bbcd834150f1488414435f59bfd884100f"


def printed(*words, code=0):
    """The lines of stdout; what stderr says where it is refused."""
    done = subprocess.run([sys.executable, problems.__file__, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    return done.stdout.splitlines() if code == 0 else done.stderr


def asked(*words):
    return subprocess.run([RETILE, *words], capture_output=True, text=True, check=False)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def part(one, names):
    return {name: one[name] for name in names}


class Drawn(unittest.TestCase):
    """By seed and number alone."""

    def test_those_of_the_recorded_figures(self):
        for seed, same in ((1, True), (2, False)):
            lines = "".join(json.dumps(part(problems.drawn(seed, number), FIELDS)) + "\n" for number in range(1500))
            self.assertEqual(hashlib.sha256(lines.encode()).hexdigest() == RECORDED, same)

    def test_those_of_the_corpus_and_of_the_kept_texts(self):
        for one in read(CORPUS):
            self.assertEqual(part(problems.drawn(17, one["id"]), FIELDS + ("arguments",)), part(one, FIELDS + ("arguments",)))
        for one in read(KEPT):
            if one["id"] not in (121, 5000, 5001):  # made by hand
                self.assertEqual(part(problems.drawn(1, one["id"]), FIELDS), one)

    def test_families_are_what_they_say(self):
        uneven, ordered = 0, 0
        for number in range(800):
            one = problems.drawn(4, number)
            self.assertEqual(one["family"], problems.FAMILIES[number % 8])
            sizes, family = dict(map(tuple, one["mesh"])), one["family"]
            self.assertLessEqual(prod(sizes.values()), 64)
            self.assertTrue(2 <= prod(one["shape"]) <= 4096, one)
            orders = [order for order in (one["from_order"], one["to_order"]) if order]
            self.assertTrue(orders or (one["from"], one["from_sum"]) != (one["to"], one["to_sum"]), one)
            self.assertEqual(bool(orders), family == "orders", one)
            self.assertTrue(all(sorted(order) == list(range(prod(sizes.values()))) for order in orders), one)
            self.assertTrue(not one["from_sum"] or family == "sums", one)
            self.assertLessEqual(set(one["to_sum"]), set(one["from_sum"]))
            even = all(extent % prod(sizes[name] for name in axes) == 0
                       for end in problems.ENDS for extent, axes in zip(one["shape"], one[end]))
            self.assertTrue(even or family in ("uneven", "sums"), one)
            uneven, ordered = uneven + (not even), ordered + len(orders)
        self.assertGreater(uneven, 40)
        self.assertGreater(ordered, 100)


class Words(unittest.TestCase):
    def test_by_hand(self):
        one = {"mesh": [["x", 2], ["y", 3], ["z", 2]], "shape": [7, 12], "from": [["y"], []], "to": [[], ["x", "y"]],
               "from_sum": ["z", "x"], "to_sum": [], "from_order": None, "to_order": None}
        ends = ["sum{x,z}[3{y}7, 12]", "[7, 2{y,x}12]"]
        self.assertEqual(problems.arguments(one), ["--mesh", "x:2,y:3,z:2", *ends])
        one["to_order"] = [1, 0, *range(2, 12)]
        self.assertEqual(problems.arguments(one), ["--mesh", "x:2,y:3,z:2", "--order", "[12]<=[12]", "--order-to",
                                                   "[1,0,2,3,4,5,6,7,8,9,10,11]", *ends])

    def test_lines_are_arguments(self):
        lines = [shlex.split(line) for line in printed("--count", "24", "--seed", "5")]
        self.assertEqual(lines, [problems.drawn(5, number)["arguments"] for number in range(24)])
        for words in lines:
            self.assertEqual(asked("plan", *words).returncode, 0, words)

    def test_which_are_printed(self):
        some = [json.loads(line) for line in printed("--json", "--family", "uneven,sums", "--count", "5", "--first", "6")]
        self.assertEqual(some, [problems.drawn(1, number) for number in (7, 13, 15, 21, 23)])

    def test_the_page_prints_them(self):
        block = re.search(r"```console\n\$ corpus/problems.py (.*)\n((?:.*\n)*?)```", (ROOT / "corpus" / "README.md").read_text())
        self.assertEqual(printed(*block[1].split()), block[2].splitlines())

    def test_refusals(self):
        for words, message in (("--family", "sums,nothing"), "the values are powers"), (("--family", ""), "the values are powers"), \
                (("--as", "jax,mlir"), "the values are jax"), (("--count", "few"), "invalid int"), (("x",), "unrecognized"):
            self.assertIn(message, printed(*words, code=2))


class Forms(unittest.TestCase):
    def test_forms_say_the_same(self):
        said = Counter()
        for line in printed("--count", "8", "--seed", "9", "--as", ",".join(problems.FORMS)):
            one = json.loads(line)
            self.assertEqual(list(one["as"]), list(problems.FORMS))
            place = ["--mesh", problems.mesh_text(one), "--shape", ",".join(map(str, one["shape"]))]
            for form, words in one["as"].items():
                for end in problems.ENDS:
                    if words[end] is not None:
                        said[form] += 1
                        self.assertEqual(asked("convert", *place, "--as", "hlo1", words[end]).stdout.strip(), one["as"]["hlo1"][end], (one, form))
        self.assertEqual(said["hlo1"], 16)
        self.assertGreater(min(said[form] for form in problems.FORMS), 7)

    def test_orders(self):
        """That of 6 is another one; that of 678 counts, and is listed."""
        kept = {one["id"]: one["as"] for one in read(CORPUS)}
        for number in (6, 678):
            forms = problems.in_forms(RETILE, problems.drawn(17, number), problems.FORMS)
            self.assertEqual(forms, kept[number])
            end = "from" if number == 6 else "to"
            for form in ("dtensor", "mlir19", "mlir22", "paper"):  # they write no order of devices
                self.assertIsNone(forms[form][end], form)
            self.assertIn("device_ids", forms["sdy"][end])
        counting = problems.drawn(17, 678) | {"from_order": [0, 1, 2, 3]}
        self.assertEqual(problems.in_forms(RETILE, counting, ["hlo1"]), {"hlo1": kept[678]["hlo1"]})


if __name__ == "__main__":
    unittest.main(verbosity=2)
