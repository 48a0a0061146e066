#!/usr/bin/env python3
"""A few seconds of the campaign, and its negative controls: one falsified value of each kind is found.

    campaign_test.py PROGRAM [--without-solver]
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import record  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_SOLVER = "--without-solver" in sys.argv
if WITHOUT_SOLVER:
    sys.argv.remove("--without-solver")
PROGRAM = sys.argv.pop(1)
# A proof takes a hundred times as long as anything else: few are made here.
FAST = [kind for kind in record.KINDS if kind != "prove"]
SLOW = [] if WITHOUT_SOLVER else ["prove"]


def run(*arguments, kinds=()):
    chosen = [word for kind in kinds for word in ("--kind", kind)]
    done = subprocess.run([PROGRAM, "--json", *arguments, *chosen], capture_output=True, text=True, errors="replace",
                          check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


class Campaign(unittest.TestCase):
    def hold(self, kinds, cases, each):
        status, result, errors = run("--cases", str(cases), "--each", str(each), "--seed", "7", kinds=kinds)
        self.assertEqual(status, 0, errors)
        self.assertEqual(result["differences"], 0)
        self.assertEqual(list(result["kinds"]), kinds)
        for kind, count in result["kinds"].items():
            self.assertGreaterEqual(count["cases"], cases, kind)
            self.assertEqual(count["cases"], count["enumerated"] + count["drawn"], kind)
            for stratum, number in count["strata"].items():
                if stratum in record.STRATA:
                    self.assertGreaterEqual(number, each, f"{kind}, {stratum}")
        self.assertEqual(result["cases"], sum(count["cases"] for count in result["kinds"].values()))
        print({kind: count["cases"] for kind, count in result["kinds"].items()})

    def test_a_short_run_has_cases_of_every_kind_and_stratum_and_no_difference(self):
        self.hold(FAST, 120, 4)

    @unittest.skipIf(WITHOUT_SOLVER, "built without a solver")
    def test_a_short_run_proves(self):
        self.hold(SLOW, 5, 0)

    def test_the_same_seed_makes_the_same_cases(self):
        limits = ["--cases", "40", "--drawn"]
        first = run(*limits, "--seed", "3", kinds=FAST)[1]["kinds"]
        self.assertEqual(first, run(*limits, "--seed", "3", kinds=FAST)[1]["kinds"])
        self.assertNotEqual(first, run(*limits, "--seed", "4", kinds=FAST)[1]["kinds"])

    def test_a_falsified_value_of_any_kind_is_found_and_saved(self):
        for kind in FAST + SLOW:
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                limits = ["--cases", "20" if kind in FAST else "2", "--drawn"]
                self.assertEqual(run(*limits, kinds=[kind])[0], 0)
                status, result, errors = run(*limits, "--control", "--save", folder, kinds=[kind])
                self.assertEqual(status, 1)
                self.assertEqual(result["differences"], 1)
                self.assertIn(f"DIFFERENCE ({kind})", errors)
                self.assertEqual([file.name for file in Path(folder).iterdir()], [f"{kind}-1.txt"])

    def test_wrong_use_is_refused(self):
        for arguments in (["--kind", "nothing"], ["--seconds"], ["--seconds", "soon"], ["--fast", "1"]):
            self.assertEqual(run(*arguments)[0], 2, arguments)


class Record(unittest.TestCase):
    """The record that docs/ledger/campaign.md and README.md speak of."""

    record = json.loads((ROOT / "bench/results/campaign.json").read_text(encoding="utf-8"))

    def test_the_document_says_what_the_run_counted(self):
        page = (ROOT / "docs/ledger/campaign.md").read_text(encoding="utf-8")
        self.assertEqual(page, record.with_section(page, self.record))
        self.assertNotEqual(page, record.with_section(page, {**self.record, "differences": 1}))

    def test_pages_say_no_more(self):
        for page in ("README.md", "docs/explanation/what-is-proved.md"):
            claims = re.findall(r"([\d.]+)\s+million\s+different", (ROOT / page).read_text(encoding="utf-8"))
            self.assertEqual(len(claims), 1, page)
            self.assertLessEqual(float(claims[0]) * 1e6, self.record["cases"])
        self.assertEqual(self.record["differences"], 0)

    def test_what_is_counted_again_takes_the_place_of_the_same_kinds(self):
        counts = {kind: {"cases": 5, "differences": 0, "strata": {}} for kind in ("offset", "text", "moved")}
        again = {"seconds": 3, "processor_seconds": 2, "kinds": {"text": {"cases": 7, "differences": 1, "strata": {}}}}
        whole = {"commit": "a", "kinds": counts, "parts": [
            {"kinds": ["offset", "moved"], "commit": "a", "seconds": 9, "processor_seconds": 8},
            {"kinds": ["text"], "commit": "a", "seconds": 1, "processor_seconds": 1}]}
        record.put(whole, again, "b")
        self.assertEqual((whole["cases"], whole["differences"], whole["processor_seconds"]), (17, 1, 10))
        self.assertEqual([(part["kinds"], part["commit"]) for part in whole["parts"]], [(["offset", "moved"], "a"), (["text"], "b")])
        self.assertEqual(list(whole["kinds"]), ["offset", "moved", "text"])

    def test_nothing_is_missing_only_where_all_was_counted(self):
        full = {"cases": 10**8, "differences": 0, "kinds": {
            kind: {"cases": 10**7, "strata": dict.fromkeys(record.STRATA, 10**5)} for kind in record.KINDS}}
        self.assertEqual(record.missing(full), [])
        for spoil in (lambda r: r.update(differences=1), lambda r: r.update(cases=10**8 - 1),
                      lambda r: r["kinds"].pop("opt"), lambda r: r["kinds"]["verdict"].update(cases=10**7 - 1),
                      lambda r: r["kinds"]["rule"].update(cases=10**8),
                      lambda r: r["kinds"]["opt"]["strata"].update(devices=999),
                      lambda r: r["kinds"]["prove"]["strata"].update(moves=10**5 - 1)):
            spoilt = json.loads(json.dumps(full))
            spoil(spoilt)
            self.assertEqual(len(record.missing(spoilt)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
