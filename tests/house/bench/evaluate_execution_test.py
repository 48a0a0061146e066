#!/usr/bin/env python3
"""What scripts/evaluate-execution and its neighbours for uneven tiles, sums and single calls say of made-up runs: targets, losses, noise,
refusals.

    evaluate_execution_test.py ROOT
"""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "scripts"))
from evaluation import callers, copying, execution, messages, network, one_shot, programs, scalapack, sums, uneven  # noqa: E402  the path has to be there first
from evaluation.page import wrapped  # noqa: E402
from made_up_runs import GOOD, TILE, contender, result, run  # noqa: E402

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

    def test_the_section_begins_with_a_summary(self):
        self.assertIn("| automatic | 0.80 (0.80 to 0.80) |", execution.section({2: result()}).partition("### Targets")[0])
        self.assertIn("10 of 10 targets are met", execution.summary({2: result()}))
        self.assertIn("9 of 10 targets are met", execution.summary({2: result(in_place=2.1)}))


def uneven_run(own):
    """A run of one problem beside its even neighbour, whose automatic takes 2 s; that of the problem takes `own`."""
    def problem(kind, automatic):
        return {"problem": f"rows to columns, {kind}", "kind": kind,
                "seconds": {"automatic": automatic, "copy limit": 1.0, "MPI_Alltoallw": 6.0, "MPI_Alltoallw, huge pages": 9.0}}
    return [problem("even neighbour", 2.0), problem("uneven", own)]


class Uneven(unittest.TestCase):
    def record(self):
        return {"kib": 2048, "runs": {"2": [uneven_run(3.0), uneven_run(2.0), uneven_run(4.0)]}}

    def test_the_ratios_are_of_the_same_run(self):
        (processes, problem, *figures), = uneven.rows(self.record()["runs"])
        self.assertEqual((processes, problem), ("2", "rows to columns, uneven"))
        self.assertEqual(list(map(uneven.spread, figures)),
                         ["1.50 (1.00 to 2.00)", "2.00 (1.50 to 3.00)", "3.00 (2.25 to 4.50)", "3.00 (2.00 to 4.00)"])
        self.assertIn("Arrays have 2 MiB.", uneven.section(self.record()))

    def test_problems_without_their_neighbour_are_refused(self):
        with self.assertRaisesRegex(SystemExit, "does not stand behind its neighbour"):
            list(uneven.rows({"2": [uneven_run(3.0)[::-1]]}))

    def test_a_page_written_whole_has_it_before_execution(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "evaluation.md"
            page.write_text("# Evaluation\n\n## Uneven tiles\n\nold\n")
            uneven.write_section(page, self.record())
            execution.write_section(page, {2: result()})
            text = page.read_text()
            self.assertNotIn("old", text)
            self.assertLess(text.index("## Uneven tiles"), text.index("## Execution"))


class Sums(unittest.TestCase):
    def record(self, *own):
        """Runs of one problem, in which `automatic` takes so many seconds, and MPI 6."""
        def run(seconds):
            return [{"problem": "all-reduce", "peaks": {"automatic": 0.5, "collectives": 0.75},
                     "seconds": {"limit": 1.0, "automatic": seconds, "automatic, caller's memory": 4.0, "by messages": 8.0,
                                 "collectives": 6.0, "MPI_Allreduce": 6.0, "MPI_Allreduce, huge pages": 5.0}}]
        return {"kib": 512, "runs": {"4": [run(seconds) for seconds in own]}}

    def test_the_ratios_are_of_the_same_run(self):
        processes, problem, words, *figures = next(sums.rows(self.record(3.0, 2.0, 1.5)))
        self.assertEqual((processes, problem, words), ("4", "all-reduce", "own tiles"))
        self.assertEqual(list(map(uneven.spread, figures)),
                         ["3.00 (2.00 to 4.00)", "2.50 (1.67 to 3.33)", "2.00 (1.50 to 3.00)"])
        self.assertIn("of 0.5 MiB in", sums.section(self.record(3.0)))

    def test_losses_and_a_missed_target_are_said(self):
        good, bad = sums.section(self.record(2.9)), sums.section(self.record(3.1))
        self.assertIn("It is in all cases.", good)
        self.assertIn("**Missed**: all-reduce on 4 processes (1.94).", bad)
        self.assertIn("- all-reduce on 4 processes, by messages: 0.62", good)
        self.assertIn("- all-reduce on 4 processes, collectives: 0.83", good)
        self.assertNotIn("own tiles: ", good)
        self.assertIn("more than 75.0% of the memory", good)


class OneShot(unittest.TestCase):
    def record(self, *calls):
        """Runs of one problem, in which redistribute() takes so many seconds, and MPI_Alltoallw 2."""
        def run(seconds):
            return [{"kib": 16384, "seconds": {"redistribute()": seconds, "Redistributor::run()": 1.0, "MPI_Alltoallw": 2.0,
                                               "MPI_Alltoallw and its types": 3.0}}]
        return {"runs": {"4": [run(seconds) for seconds in calls]}}

    def test_the_ratios_are_of_the_same_run(self):
        (kib, processes, seconds, ways), = one_shot.rows(self.record(3.0, 2.0, 1.0))
        self.assertEqual((kib, processes, seconds), (16384, 4, 2.0))
        self.assertEqual(list(map(uneven.spread, ways.values())), ["1.00 (0.50 to 1.50)", "0.50 (0.50 to 0.50)", "1.50 (1.50 to 1.50)"])

    def test_a_missed_limit_is_said(self):
        self.assertIn("It does in all cases.", one_shot.section(self.record(3.0)))
        self.assertIn("**Missed**: 16 MiB on 4 processes (1.55).", one_shot.section(self.record(3.1)))


class Scalapack(unittest.TestCase):
    PROBLEM = {"problem": "blocks", "rows": 401, "columns": 327, "mesh": "p:2", "mesh_to": "p:2", "from": "[]", "to": "[]", "kib": 1024}

    def run_of(self, seconds, verified=True, **more):
        """A run of one problem, in which redistribute() takes so many seconds, and pdgemr2d 2."""
        times = {"Cpdgemr2d": 2.0, "Redistributor::run()": 1.0, "redistribute()": seconds}
        contenders = [{"name": name, "verified": verified, "seconds": [time]} for name, time in times.items()]
        return {"problems": [{**self.PROBLEM, "contenders": contenders}, {**self.PROBLEM, "problem": "too many", "refused": "too long a list", "contenders": contenders[:1]}]}

    def record(self, *calls):
        return {"machine": {"processor": "P", "processors": 2}, "mpi": "M", "rounds": 9,
                "runs": {"4": [scalapack.reduced(self.run_of(seconds)) for seconds in calls]}}

    def test_the_ratios_are_of_the_same_run(self):
        (processes, problem, seconds, ways), (_, refused, alone, nothing) = scalapack.rows(self.record(3.0, 2.0, 1.0))
        self.assertEqual((processes, problem["problem"], seconds), (4, "blocks", 2.0))
        self.assertEqual(list(map(uneven.spread, ways.values())), ["0.50 (0.50 to 0.50)", "1.00 (0.50 to 1.50)"])
        self.assertEqual((refused["problem"], alone, nothing), ("too many", 2.0, {}))

    def test_losses_and_refusals_are_said(self):
        good, bad = scalapack.section(self.record(1.9)), scalapack.section(self.record(2.1))
        self.assertIn("slower in 0 of 2 cases.", good)
        self.assertIn("slower in 1 of 2 cases:", bad)
        self.assertIn("- `redistribute()`, 1 MiB, 401 x 327, 4 processes, blocks: 1.05", bad)
        self.assertIn("| too many | 4 | 1 MiB, 401 x 327 | 2000.00 | too long a list |  |", good)

    def test_what_was_not_verified_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "Cpdgemr2d was not verified: blocks"):
            scalapack.reduced(self.run_of(1.0, verified=False))


class Modules(unittest.TestCase):
    def record(self, *planned):
        """A run in which the plan takes so many seconds, and the other ways 6."""
        ways = [{"name": name, "received_bytes": 7, "module_peak_bytes": 12345, "seconds": [6.0] * len(planned)} for name in programs.WAYS]
        ways[0]["seconds"] = list(planned)
        return {"modules": [{"name": "chain", "run": {"rounds": len(planned), "ways": ways}}]}

    def test_the_ratios_are_of_the_same_round(self):
        found = list(programs.rows(self.record(3.0, 2.0, 1.5)))
        self.assertEqual([words for _, words, *_ in found], list(programs.WAYS.values()))
        self.assertEqual([uneven.spread(ratios) for *_, ratios in found], ["1.00 (1.00 to 1.00)"] + ["3.00 (2.00 to 4.00)"] * 3)
        self.assertIn("| chain | plan | 7 | 12,345 | 2000.0 | 1.00 (1.00 to 1.00) |", programs.section(self.record(3.0, 2.0, 1.5)))
        self.assertIn("the median of 3 rounds", programs.section(self.record(3.0, 2.0, 1.5)))


class Messages(unittest.TestCase):
    def record(self, *direct):
        """Runs of two problems: one by messages takes so many seconds, the other 4; MPI_Alltoallw takes 6."""
        def problem(name, seconds):
            return {"problem": name, "direct": [seconds] * 3, "MPI_Alltoallw": [6.0, 6.0, 60.0]}
        return {"runs": {"4": {"1024": [[problem("rows to columns", seconds), problem("gather rows", 4.0)] for seconds in direct]}}}

    def test_the_ratio_is_a_median_of_rounds_and_of_runs(self):
        (processes, kib, ratios), = messages.rows(self.record(3.0, 2.0, 12.0)["runs"])
        self.assertEqual((processes, kib, ratios), ("4", "1024", {"rows to columns": 2.0, "gather rows": 1.5}))

    def test_two_nodes_are_judged_by_what_is_chosen_there(self):
        def page(seconds):
            problem = {"problem": "rows to columns", "automatic": [seconds], "MPI_Alltoallw": [3.0]}
            return messages.section({**self.record(3.0), "nodes": {"4": {"1024": [[problem]]}}})

        good, bad = page(2.0), page(4.0)
        self.assertIn("| 2 x 4 | 1 MiB | 1 | 1.50", good)
        self.assertIn("It is in all sizes. It is slower in 0 of 1 cases.", good)
        self.assertIn("**Missed** for 1 MiB. It is slower in 1 of 1 cases. The worst is rows to columns, 1 MiB on 2 x 4: 0.75.", bad)
        self.assertNotIn("2 x 4", messages.section(self.record(3.0)))

    def test_why_two_nodes_are_left_out_is_said(self):
        self.assertIn("Two nodes are left out: none is permitted.", messages.section({**self.record(3.0), "no_nodes": "none is permitted"}))
        self.assertNotIn("left out", messages.section(self.record(3.0)))

    def test_what_not_all_problems_take_has_a_column_of_its_own(self):
        record = self.record(3.0)
        first = record["runs"]["4"]["1024"][0][0]
        first["direct, unasked"], first["MPI_Alltoall, contiguous"] = [12.0] * 3, [2.0] * 3
        page = messages.section(record)
        self.assertIn("| 4 | 1 MiB | 2 | 1.75 (1.50 to 2.00) | 0.50 (0.50 to 0.50) | 3.00 (3.00 to 3.00) |", page)
        self.assertIn("Unasked they are slower in 1 of 1.", page)
        self.assertIn("| 4 | 1 MiB | 2 | 1.75 (1.50 to 2.00) | not run | not run |", messages.section(self.record(3.0)))

    def test_losses_and_a_missed_target_are_said(self):
        good, bad = messages.section(self.record(3.0)), messages.section(self.record(12.0))
        self.assertIn("They are in all cases.", good)
        self.assertIn("slower in 0 of 2 cases", good)
        self.assertIn("- **Missed** on 4 processes: 1 MiB.", bad)
        self.assertIn("slower in 1 of 2 cases. The worst is rows to columns, 1 MiB on 4 processes: 0.50.", bad)


class Networks(unittest.TestCase):
    def record(self, *ours, usual=2.0):
        """Problems of which each plan for a network takes so many seconds, and is predicted to; the usual one is predicted a thousand more."""
        problems = [{"mesh": "n:2,a:2", "from": "[4]", "to": f"[{number}]", "differ": True, "predicted": {"network": number, "usual": 1000 + number},
                     "measured": {"network": [seconds, seconds, 99.0], "usual": [usual + number] * 3, "exchange": [4.0]}}
                    for number, seconds in enumerate(ours, 1)]
        return {"bytes_per_second": 1e7, "microseconds": 500, "runs": 3, "cores": 2, "nodes": {"2 x 2": {"links": [[9e6, 1e-3], [1e9, 2e-4]], "problems": problems}}}

    def test_links_are_fitted_to_two_sizes(self):
        rate, latency = network.link(100, 1.5, 1100, 2.5)
        self.assertAlmostEqual(rate, 1000)
        self.assertAlmostEqual(latency, 1.4)
        self.assertEqual(network.words("n:2,k:2,a:2", [(9e6, 1.5e-3), (1e9, 2e-4)]),
                         "n:9000000B/s:1500000ns, k:9000000B/s:1500000ns, *:1000000000B/s:200000ns")

    def test_links_that_are_not_what_was_asked_for_are_refused(self):
        network.expect([(8e6, 1.2e-3), (1e9, 0)], 1e7, 1000)
        for links in ([(4e6, 1.2e-3), (1e9, 0)], [(8e6, 4e-3), (1e9, 0)], [(8e6, 1.2e-3), (2e7, 0)]):
            with self.assertRaises(ValueError):
                network.expect(links, 1e7, 1000)

    def test_equal_values_share_a_place(self):
        self.assertEqual(network.places([3, 1, 3, 2]), [2.5, 0, 2.5, 1])
        self.assertAlmostEqual(network.rank_correlation([(1, 10), (2, 100), (3, 1000)]), 1)
        self.assertAlmostEqual(network.rank_correlation([(1, 3), (2, 2), (3, 1)]), -1)

    def test_gains_and_ranks_are_judged(self):
        good = network.section(self.record(1.0, 1.1, 1.2))
        self.assertIn("So it is.", good)
        self.assertIn("| 2 x 2 | 9 MB/s, 1 ms; 1000 MB/s, 0.2 ms | 6 | 1.000 |", good)
        self.assertIn("3.57 (3.00 to 4.17), 3 problems | 3.65 |", good)
        self.assertNotIn("Slower than", good)
        bad = network.section(self.record(9.0, 8.0, 4.0))
        self.assertIn("Missed: the rank correlation on 2 x 2,", bad)
        self.assertIn("the gain on 2 x 2, 0.59; 2 plans are slower than the usual one by more than a twentieth.", bad)
        self.assertIn("- `[4]` to `[1]` over `n:2,a:2`: 0.33 times as fast, predicted 1001.00\n- `[4]` to `[2]`", bad)


class Callers(unittest.TestCase):
    def record(self, *given, huge=True):
        """Runs of two problems: for one the library takes so many seconds, for the other 4, in huge pages 2; MPI_Alltoallw takes 6, and 5."""
        def problem(name, seconds):
            ways = {callers.OURS: [seconds] * 3, callers.PEER: [6.0, 6.0, 60.0]}
            for offset in callers.OFFSETS:  # the further off, the slower: 1 at 0, 1.4 at 40
                ways[callers.at(callers.OURS, offset)] = [seconds * (1 + offset / 100)] * 3
                ways[callers.at(callers.PEER, offset)] = [6.0] * 3
            return {"problem": name, **ways, **({callers.OURS + callers.HUGE: [2.0] * 3, callers.PEER + callers.HUGE: [5.0] * 3} if huge else {})}
        return {"machine": {"processor": "some", "processors": 2}, "mpi": "an MPI", "note": "Others built meanwhile.",
                "runs": {"4": {"1024": [[problem("rows to columns", seconds), problem("gather rows", 4.0)] for seconds in given]}}}

    def test_the_ratios_are_medians_of_rounds_and_over_problems(self):
        text = callers.section(self.record(3.0, 2.0, 3.0))
        self.assertIn("| 4 | 1 MiB | 2 | 9 | 2.25 (1.50 to 3.00) | 1.75 (1.50 to 2.00) | 1.62 (1.39 to 1.85) |", text)
        self.assertIn("| 4 | 1 MiB | 2 | 9 | 0.93 (0.93 to 0.93) | 0.86 (0.86 to 0.86) | 0.81 (0.81 to 0.81) | 0.71 (0.71 to 0.71) |", text)
        self.assertIn("| 4 | 1 MiB | 2 | 9 | 2.50 (2.50 to 2.50) | 3.00 (3.00 to 3.00) |", text)
        self.assertIn("Others built meanwhile.", text)

    def test_what_lies_in_huge_pages_may_be_left_out(self):
        self.assertIn("| Huge | Asked for |", callers.section(self.record(3.0)))
        self.assertNotIn("Asked for", callers.section(self.record(3.0, huge=False)))

    def test_a_missed_target_and_losses_are_said(self):
        good, bad = callers.section(self.record(3.0)), callers.section(self.record(6.8))
        self.assertIn("at every offset. It is.", good)
        self.assertIn("in 0 of 12 cases.", good)
        self.assertIn("- As given: 4 processes, 1 MiB (1.19)\n", bad)
        self.assertIn("- At 40: 4 processes, 1 MiB (0.85)\n", bad)
        self.assertIn("in 5 of 12 cases.", bad)  # as given it is slower in two rounds of three only
        self.assertIn("| at 8 | 4 | 1 MiB | rows to columns | 0.82 (0.82 to 0.82) |", bad)
        self.assertIn("**Missed** at 16: 4 processes, 1 MiB (0.86), at 24: 4 processes, 1 MiB (0.81), at 40: 4 processes, 1 MiB (0.71).", good)

    def test_noise_is_no_loss(self):
        self.assertTrue(callers.loses([0.9, 0.9, 0.9, 0.9, 1.1]))
        self.assertFalse(callers.loses([0.9, 0.9, 0.9, 1.1, 1.1]))
        self.assertFalse(callers.loses([1.0, 1.0, 1.0]))


class Pages(unittest.TestCase):
    """The documents say what the raw results of this tree say."""

    def test_the_page_has_the_sections_that_the_results_make(self):
        page, results = (ROOT / "docs" / "ledger" / "evaluation.md").read_text(), execution.load(ROOT / "bench" / "results")
        self.assertIn("\n" + wrapped(execution.section(results)), page)
        self.assertIn("\n" + wrapped(copying.of_tree(ROOT)), page)
        self.assertIn("\n" + wrapped(one_shot.section(one_shot.load(ROOT / "bench" / "results"))), page)
        self.assertIn("\n" + wrapped(scalapack.section(scalapack.load(ROOT / "bench" / "results"))), page)
        self.assertIn("\n" + wrapped(messages.section(messages.load(ROOT / "bench" / "results"))), page)
        self.assertIn("\n" + wrapped(network.section(network.load(ROOT / "bench" / "results"))), page)
        self.assertIn("\n" + wrapped(callers.section(callers.load(ROOT / "bench" / "results"))), page)
        self.assertIn("\n" + wrapped(sums.section(sums.load(ROOT / "bench" / "results"))), page)
        self.assertIn("\n" + wrapped(uneven.section(uneven.load(ROOT / "bench" / "results"))), page)

    def test_the_page_says_what_reshards_in_jax_took(self):
        page = (ROOT / "docs" / "ledger" / "evaluation.md").read_text()
        section = page[page.index("## Reshards in JAX"):page.index("## Redistributes in PyTorch")]
        found = json.loads((ROOT / "bench" / "results" / "jax_reshard.json").read_text())["summary"]
        said = [float(number) for number in re.findall(r"(?<![.\d])\d+(?:\.\d+)?", section.replace(",", ""))]
        for name in ("right", "refused", "constraint_ends_the_process", "time_by_constraint", "time_by_device_put", "slower", "faster_by_a_tenth",
                     "more_temporaries", "fewer_temporaries"):
            self.assertIn(found[name], said, name)
        self.assertNotIn(found["slower"] + 1, said)

    def test_the_page_says_what_redistributes_in_torch_took(self):
        page = (ROOT / "docs" / "ledger" / "evaluation.md").read_text()
        section = page[page.index("## Redistributes in PyTorch"):]
        four, eight = (json.loads((ROOT / "bench" / "results" / f"torch_redistribute_{ranks}.json").read_text()) for ranks in (4, 8))
        said = [float(number) for number in re.findall(r"(?<![.\d_])\d+(?:\.\d+)?", section.replace(",", ""))]
        found = four["summary"]["4"]
        for name in ("pairs", "right", "right_of_torch", "mean_time_by_torch", "time_by_torch", "faster_by_a_tenth", "slower_by_a_tenth"):
            self.assertIn(found[name], said, name)
        self.assertNotIn(found["slower_by_a_tenth"] + 1, said)
        self.assertEqual(found["slower_by_a_tenth"], len(four["losses"]))
        for result, ranks in ((four, "4"), (eight, "8")):
            summary, problems = result["summary"][ranks], result["problems"]
            self.assertIn(summary["pairs"], said)
            self.assertEqual({summary[name] for name in ("pairs", "right", "planned", "right_of_torch")}, {len(problems)})
            self.assertFalse([one for one in problems if one["wrong"] or not one["planned"]])
        kinds = [{(before.split("(")[0], after.split("(")[0]) for before, after in zip(one["from"], one["to"]) if before != after} for one in four["losses"]]
        self.assertIn(sum(kind == {("Shard", "Replicate")} for kind in kinds), said)
        self.assertIn(sum(kind == {("Replicate", "Shard"), ("Shard", "Partial")} for kind in kinds), said)

    def test_another_result_makes_another_section(self):
        benchmark, streamed = (json.loads((ROOT / "bench" / "results" / name).read_text()) for name in ("copy_benchmark.json", "copy_table.json"))
        rows = copying.streaming_table("std::array<StreamingRow, 2> table{{{0, 0.125}, {64, 4}}};")
        self.assertEqual(rows, [(0, 0.125), (64, 4.0)])
        text = copying.section(benchmark, streamed, rows)
        streamed["results"][0].update(run_bytes=4, tile_bytes=1 << 26, streaming_over_ordinary=7.0)
        self.assertIn("| 4 B | 64 MiB | 7.00 |", copying.section(benchmark, streamed, rows))
        self.assertNotIn("7.00", text)
        slow = next(each for each in benchmark["results"] if each["total_bytes"] == 1 << 28 and each["problem"] == "mesh swap")
        slow[slow["chosen"]]["ratio"] = 9.0
        self.assertRegex(copying.section(benchmark, streamed, rows), r"\| mesh swap \(2\) \| \d\.\d\d / 9\.00 \|")

    def test_prose_is_filled_and_nothing_else(self):
        long = "word " * 40 + "`code that stays whole` " + "word " * 20
        lines = wrapped(f"# {long}\n\n{long}\n\n- {long}\n- short\n\n| {long} |\n").split("\n")
        self.assertEqual((lines[0], lines[-2]), (f"# {long}", f"| {long} |"))
        self.assertTrue(all(len(line) <= 120 for line in lines[1:-2]))
        self.assertEqual(sum("`code that stays whole`" in line for line in lines), 4)
        self.assertIn("- short", lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
