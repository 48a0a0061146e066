#!/usr/bin/env python3
"""What scripts/evaluate-execution says of made-up runs: targets, losses, noise, refusals.

    evaluate_execution_test.py ROOT
"""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "scripts"))
from evaluation import execution  # noqa: E402  the path has to be there first

KIB = 262144
TILE = 1 << 27
GOOD = {  # seconds over those of the copy limit
    "copy limit": ("reference", 1.0), "one stream": ("reference", 0.8), "automatic": ("strategy", 0.8), "in place": ("strategy", 1.8),
    "MPI_Alltoallw": ("peer", 2.4), "FFTW MPI transpose": ("peer", 3.0)}


def contender(name, kind, ratio):
    out = {"name": name, "kind": kind, "verified": True, "repeats": 1, "seconds": [0.02 * ratio, 0.03 * ratio, 0.025 * ratio]}
    if kind == "strategy":
        out |= {"strategy": "shared", "peak_bytes": TILE + (580 << 10)}
    return out


def problem(name, kind, run_bytes, kib=KIB, **ratios):
    figures = {key: (of, ratios.get(key.replace(" ", "_"), ratio)) for key, (of, ratio) in GOOD.items()}
    return {"problem": name, "kind": kind, "kib": kib, "mesh": "d:2", "from": "[1{d}2, 2]", "to": "[2, 1{d}2]", "run_bytes": run_bytes,
            "in_bytes": TILE, "out_bytes": TILE, "contenders": [contender(key, of, ratio) for key, (of, ratio) in figures.items()]}


def run(processes=2, **ratios):
    problems = [problem("long", "rows and columns", 4096, **ratios), problem("short", "axis moves", 64), problem("all", "gathers", 1 << 20),
                problem("swap", "mesh swap", 4096), problem("small", "axis moves", 64, kib=64)]
    return {"schema": execution.RUN_SCHEMA, "processes": processes, "rounds": 3, "mpi": "MPI 1", "fftw": "FFTW 3", "scalapack": "built in",
            "machine": {"processor": "P", "processors": 2, "compiler": "C", "load_average_at_start": "0.1"}, "problems": problems}


def result(count=5, **ratios):
    return execution.reduce([run(**ratios) for _ in range(count)])


def target(of, text):
    found, = [each for each in execution.targets(of) if each.text == text]
    return found


def row(of, text):
    return next(line for line in execution.target_rows({2: of}) if line.startswith(f"| {text} |"))


class Judge(unittest.TestCase):
    def test_what_is_good_enough_meets_all_targets(self):
        verdicts = {each.text: each.met for each in execution.targets(result())}
        self.assertEqual(len(verdicts), 10)
        self.assertEqual([text for text, met in verdicts.items() if not met], [])
        self.assertEqual(execution.lost(result()), [])
        self.assertIn("None, in 10 pairs", execution.section({2: result()}))
        self.assertNotIn("missed**", execution.section({2: result()}))

    def test_every_target_reads_missed_when_it_is(self):
        text = "automatic, runs of 4 KiB and more"
        self.assertTrue(row(result(automatic=1.19), text).endswith("| met |"))
        self.assertTrue(row(result(automatic=1.21), text).endswith("| **missed** |"))
        self.assertFalse(target(result(automatic=1.06), "the same, median over the problems").met)
        self.assertFalse(target(result(in_place=2.1), "in place, runs of 4 KiB and more").met)
        for at, text, name, bad in ((1, "automatic, runs of 64 B to 4 KiB", "automatic", 1.51), (2, "automatic, gathers", "automatic", 0.91),
                                    (3, "automatic, mesh swap", "automatic", 1.31), (1, "in place, shorter runs", "in place", 3.1)):
            made = run()
            made["problems"][at]["contenders"] = [contender(one["name"], one["kind"], bad if one["name"] == name else GOOD[one["name"]][1])
                                                  for one in made["problems"][at]["contenders"]]
            self.assertFalse(target(execution.reduce([made]), text).met, text)
            self.assertTrue(target(result(), text).met, text)
        slow = run()
        for each in slow["problems"]:
            each["contenders"] = [contender(one["name"], one["kind"], 1.9 if one["name"] == "MPI_Alltoallw" else GOOD[one["name"]][1])
                                  for one in each["contenders"]]
        of_slow = execution.reduce([slow])
        self.assertFalse(target(of_slow, "`MPI_Alltoallw` over automatic, median over the problems").met)
        self.assertIn("`MPI_Alltoallw` takes 2.38 times as long as one plain stream", execution.section({2: of_slow}))
        large = run()
        large["problems"][4]["contenders"][3]["peak_bytes"] = TILE + (1 << 20) + 1
        self.assertFalse(target(execution.reduce([large]), "in place, peak above the larger tile, all sizes").met)

    def test_a_miss_names_its_problems(self):
        text = execution.section({2: result(automatic=1.4)})
        self.assertIn("  - long (runs of 4,096 B): 1.40 (1.40 to 1.40) of the copy limit, 1.75 of one stream.", text)

    def test_a_loss_is_listed(self):
        of = result(MPI_Alltoallw=0.7)
        (lost, peer, ratios, slower), = execution.lost(of)
        self.assertEqual((lost["problem"], peer, slower), ("long", "MPI_Alltoallw", 5))
        self.assertAlmostEqual(ratios[0], 0.8 / 0.7, 3)
        self.assertFalse(target(of, "automatic slower than a peer, all sizes").met)
        self.assertIn("| 2 | 256 MiB | long | MPI_Alltoallw | 1.14 (1.14 to 1.14) | 5 of 5 runs |", execution.section({2: of}))

    def test_peers_in_huge_pages_are_told_of_and_not_judged(self):
        self.assertNotIn("Peers in huge pages", execution.section({2: result()}))
        for ratio, losses in ((0.7, 1), (2.0, 0)):
            made = run()
            made["problems"][0]["contenders"].append(contender("MPI_Alltoallw, huge pages", execution.PEER_IN_HUGE_PAGES, ratio))
            of = execution.reduce([made])
            self.assertEqual(execution.lost(of), [])
            self.assertEqual(len(execution.lost(of, execution.PEER_IN_HUGE_PAGES)), losses)
            text = execution.section({2: of})
            self.assertIn(f"Automatic loses in {losses} of 1 pairs of a problem and such a peer", text)
            self.assertEqual("| long | MPI_Alltoallw, huge pages | 1.14" in text, losses == 1)

    def test_small_sizes_count_for_losses_only(self):
        made = run()
        made["problems"][4]["contenders"][2] = contender("automatic", "strategy", 5)
        of = execution.reduce([made])
        self.assertEqual(len(execution.lost(of)), 2)
        self.assertTrue(target(of, "automatic, runs of 64 B to 4 KiB").met)

    def test_a_loss_takes_four_of_five_runs(self):
        def mixed(slower):
            return execution.reduce([run(MPI_Alltoallw=0.7 if k < slower else 2.4) for k in range(5)])
        self.assertEqual([len(execution.lost(mixed(slower))) for slower in range(6)], [0, 0, 0, 0, 1, 1])
        self.assertEqual([execution.within_noise(mixed(slower)) for slower in range(6)], [0, 0, 0, 1, 0, 0])

    def test_figures_are_medians_over_runs_of_medians_over_rounds(self):
        of = execution.reduce([run(automatic=ratio) for ratio in (0.5, 0.9, 0.6, 0.7, 0.8)])
        one = of["problems"][0]["contenders"]["automatic"]
        self.assertEqual(one["ratio"], [0.5, 0.9, 0.6, 0.7, 0.8])
        self.assertEqual(one["ms"], [12.5, 22.5, 15.0, 17.5, 20.0])
        self.assertEqual(execution.spread(one["ratio"]), "0.70 (0.50 to 0.90)")


class Refusal(unittest.TestCase):
    def refused(self, runs, words):
        with self.assertRaisesRegex(execution.Refused, words):
            execution.reduce(runs)

    def test_what_was_not_verified_is_refused(self):
        for value in (False, None, "yes"):
            bad = run()
            bad["problems"][2]["contenders"][5]["verified"] = value
            self.refused([run(), bad], "FFTW MPI transpose was not verified: all, 256 MiB")
        del bad["problems"][2]["contenders"][5]["verified"]
        self.refused([bad], "not verified")

    def test_runs_that_do_not_belong_together_are_refused(self):
        self.refused([run(2), run(4)], "differ in processes")
        other = run()
        other["machine"]["processor"] = "Q"
        self.refused([run(), other], "differ in machine")
        shorter = run()
        shorter["problems"].pop()
        self.refused([run(), shorter], "differ in problems")
        without = run()
        without["problems"][0]["contenders"].pop()
        self.refused([run(), without], "differ in contenders")
        self.refused([{"schema": "another"}], "not a run")

    def test_a_result_without_a_reference_or_times_is_refused(self):
        bad = run()
        bad["problems"][0]["contenders"].pop(0)
        self.refused([bad], "copy limit is missing")
        bad = run()
        bad["problems"][0]["contenders"][2]["seconds"] = [0.0, 0.1, 0.1]
        self.refused([bad], "automatic has no times")


class Written(unittest.TestCase):
    def test_results_survive_being_written(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            execution.publish(root, {2: result(), 8: result()})
            self.assertEqual(execution.load(root / "bench" / "results"), {2: result(), 8: result()})
            for picture in (root / "docs" / "evaluation").iterdir():
                xml.etree.ElementTree.parse(picture)
            self.assertEqual(len(list((root / "docs" / "evaluation").iterdir())), 3)

    def test_the_section_takes_the_place_of_the_one_before(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "evaluation.md"
            page.write_text("# Evaluation\n\n## Execution\n\nold\n\n## Later\n\nstays\n")
            execution.write_section(page, {2: result()})
            once = page.read_text()
            self.assertNotIn("old", once)
            self.assertIn("## Later\n\nstays\n", once)
            execution.write_section(page, {2: result()})
            self.assertEqual(page.read_text(), once)

    def test_the_summary_needs_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "execution.md"
            page.write_text("before\n")
            with self.assertRaises(execution.Refused):
                execution.write_summary(page, {2: result()})
            page.write_text(f"before\n{execution.SUMMARY_BEGIN}of long ago\n{execution.SUMMARY_END}after\n")
            execution.write_summary(page, {2: result()})
            self.assertIn("| automatic | 0.80 (0.80 to 0.80) |", page.read_text())
            self.assertNotIn("of long ago", page.read_text())

    def test_the_documents_of_this_tree_have_a_place_for_the_summary(self):
        text = (ROOT / "docs" / "execution.md").read_text()
        self.assertLess(text.index(execution.SUMMARY_BEGIN), text.index(execution.SUMMARY_END))


class Script(unittest.TestCase):
    def published(self, made, *options):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            (root / "runs").mkdir()
            bench = root / "bench.py"
            bench.write_text(f"import json, sys\nmade = json.loads({json.dumps(json.dumps(made))})\n"
                             "made['processes'] = int(sys.argv[1])\n"
                             "open(sys.argv[sys.argv.index('--output') + 1], 'w').write(json.dumps(made))\n")
            command = [sys.executable, ROOT / "scripts" / "evaluate-execution", bench, "--launch", f"{sys.executable} {{bench}} {{processes}}",
                       "--into", root, "--raw", root / "runs", *options]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
            page = root / "docs" / "evaluation.md"
            return done.returncode, done.stderr, page.read_text() if page.exists() else None, sorted(path.name for path in (root / "runs").iterdir())

    def test_it_runs_the_program_and_writes_the_page(self):
        status, errors, page, kept = self.published(run(), "--runs", "2", "--processes", "2,8")
        self.assertEqual(status, 0, errors)
        self.assertIn("| 8 | 0.80 (0.80 to 0.80) | met |", page)
        self.assertEqual(len(kept), 4)

    def test_it_publishes_nothing_that_is_not_verified(self):
        bad = copy.deepcopy(run())
        bad["problems"][0]["contenders"][2]["verified"] = False
        status, errors, page, _ = self.published(bad, "--runs", "1", "--processes", "2")
        self.assertEqual(status, 1)
        self.assertIn("automatic was not verified", errors)
        self.assertIsNone(page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
