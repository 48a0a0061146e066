#!/usr/bin/env python3
"""What releases of JAX made of small modules of every row of the first table of docs/reference/operations.md, and what our
evaluator makes of them, element by element. modules.jsonl keeps texts and results; `python3 peers/operations.py --sample` wrote it,
of number 9 and 24 of each row with 0.12.0, and of number 15 with 0.10.2. `scripts/peers operations` runs many more.

    operations_test.py ROOT EVALUATE_FOREIGN
"""

import json
import sys
import unittest
from pathlib import Path

ROOT, EVALUATOR = Path(sys.argv[1]), sys.argv[2]
MODULES = [json.loads(line) for line in Path(__file__).with_name("modules.jsonl").read_text().splitlines()]
sys.path.insert(0, str(ROOT / "peers"))

import modules as rows  # noqa: E402
import operations  # noqa: E402


def differences(said):
    """The modules of which our evaluator says something else than the release made."""
    out = {}
    for module, ours in zip(MODULES, said, strict=True):
        argument = module.get("argument")
        words = ours.get("refused") or operations.difference(ours["results"], module["results"], argument, argument["type"] if argument else "")
        if words:
            out[module["id"]] = words
    return out


def run(change=lambda text: text):
    return operations.run_ours(EVALUATOR, [("hlo", change(module["text"])) for module in MODULES])


def shift_by_type(text):
    """As an evaluator says it that shifts to the right by the sign of the type: once ours did."""
    signed = "o0 = s" in text
    return text.replace("shift-right-logical" if signed else "shift-right-arithmetic", "shift-right-arithmetic" if signed else "shift-right-logical")


class Operations(unittest.TestCase):
    def test_every_module_ends_as_the_release_made_it(self):
        self.assertEqual(differences(run()), {})

    def test_every_row_has_modules(self):
        self.assertEqual({module["id"].split(".")[0] for module in MODULES}, set(rows.MAKERS))
        self.assertGreater(len(MODULES), 180)

    def test_a_shift_by_the_type_is_noticed(self):
        self.assertEqual({key.split(".")[0] for key in differences(run(shift_by_type))}, {"shift-right-arithmetic", "shift-right-logical"})

    def test_a_maximum_for_a_minimum_is_noticed(self):
        found = differences(run(lambda text: text.replace(" minimum(o0", " maximum(o0")))
        self.assertEqual({key.split(".")[0] for key in found}, {"minimum"})

    def test_one_element_in_the_place_of_another_is_noticed(self):
        """Of what is moved as elements, one result has two of its elements exchanged."""
        said = run()
        changed = set()
        for module, ours in zip(MODULES, said, strict=True):
            cells = ours["results"][0][0] if "argument" in module else []
            other = next((k for k, cell in enumerate(module["results"][0][0]) if cells and cell != module["results"][0][0][0]), None)
            if other is not None and module["results"][0][0][0] != "nan":
                cells[0], cells[other] = cells[other], cells[0]
                changed.add(module["id"])
        self.assertGreater(len(changed), 20)
        self.assertEqual(set(differences(said)), changed)


class Merge(unittest.TestCase):
    """Shards of a campaign, added up."""

    def shard(self, first, different=()):
        return {"release": "jax-0.0", "first": first, "count": 5, "rows": {"add": {"run": 7}, "pad": {"run": 6}}, "refused by us": {},
                "not taken by the peer": {"pad": 1}, "differences": list(different)}

    def test_what_was_there_is_added_to(self):
        before = operations.merged([self.shard(0), self.shard(5)])
        self.assertEqual((before["modules"], before["numbers"], before["texts run"], before["fewest of a row"]), (20, [[0, 10]], 26, 12))
        unlike = {"id": "add.20.constants", "release": "jax-0.0", "row": "add", "language": "HLO", "words": "", "text": ""}
        both = operations.merged([self.shard(20, [unlike])], json.loads(json.dumps(before)))
        self.assertEqual((both["modules"], both["numbers"], both["texts run"]), (30, [[0, 10], [20, 25]], 39))
        self.assertEqual((both["different"], both["not taken by the peer"]), ([unlike], {"pad": 3}))

    def test_no_module_counts_twice(self):
        with self.assertRaisesRegex(SystemExit, "modules 5 to 9 "):
            operations.merged([self.shard(5)], operations.merged([self.shard(0), self.shard(5)]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
