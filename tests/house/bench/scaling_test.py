#!/usr/bin/env python3
"""Scaling over hosts: bench/scaling, scripts/evaluate-scaling and what it publishes.

    scaling_test.py ROOT Section   the section of made-up runs
    scaling_test.py ROOT Program   bench/scaling alone
    scaling_test.py ROOT Hosts     the script on two hosts, which are namespaces of this machine

RETILE is the program, BENCH the folder with scaling and links. Ends with 77 and the reason where namespaces are not permitted.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/exec/mpi")]
import namespaces  # noqa: E402  the path has to be there first
from evaluation import scaling  # noqa: E402

SKIPPED = 77
SCRIPT = str(ROOT / "scripts/evaluate-scaling")


def made_up(hosts, scheme, times, parts, ends="root", scale="strong"):
    return {"program": "matrix product", "scaling": scale, "ends": ends, "scheme": scheme, "hosts": hosts, "size": "8 x 8 x 8",
            "run": {"seconds": times, "compared": 64, "arrived": 100, "statements": parts}}


def wait(seconds):
    return {"value": "c", "operations": 1024, "wait_seconds": seconds, "seconds": [seconds, seconds]}


def move(value, ends, seconds, said=1.0):
    return {"value": value, "from": ends[0], "to": ends[1], "steps": "exchange", "seconds": [seconds, seconds], "predicted_seconds": said}


ROOT_LAYOUT, ROWS = "[8, 8]@0", "[4{i}8, 8]"


class Section(unittest.TestCase):
    def record(self):
        return {"bytes_per_second": 1e7, "microseconds": 1000, "rate": 1.25e9, "extent": 1024, "runs": 2, "note": "Other work ran.",
                "links": {"2": [9e6, 1.2e-3]}, "cases": [
                    made_up(1, "data", [8.2, 8.4], [wait(8.0)]),
                    made_up(2, "data", [10.0, 10.0], [move("a_1", (ROOT_LAYOUT, ROWS), 4.0, 2.0), wait(4.0), move("c_1", (ROWS, ROOT_LAYOUT), 1.0)]),
                    made_up(2, "choose", [5.0, 5.0], [wait(4.0), move("x_1", (ROWS, "[8, 8]"), 1.0)]),
                    made_up(1, "data", [8.0, 8.0], [wait(8.0)], scale="weak"),
                    made_up(2, "data", [10.0, 10.0], [wait(8.0), move("x_1", (ROWS, "[8, 8]"), 2.0)], scale="weak")]}

    def test_figures_of_each_row(self):
        text = scaling.section(self.record())
        self.assertIn("| 1 | - | 8.30 (8.20 to 8.40) | 8.00 | 0.00 | - | - | 1.00 | the wait for `c`, 96% |", text)
        # 8.3 s of one host, over 2 x 10 s.
        self.assertIn("| 2 | data | 10.00 (10.00 to 10.00) | 4.00 | 5.00 | 3.00 | 1.67 | 0.42 | `a_1` from the root, 40% |", text)
        self.assertIn("| 2 | data | 10.00 (10.00 to 10.00) | 8.00 | 2.00 | 1.00 | 2.00 | 0.80 | the wait for `c`, 80% |", text)

    def test_what_the_thesis_says_is_looked_at(self):
        """5 s to and from the root of 5.85 s that are lost, and none of the 0.85 s of the other scheme."""
        text = scaling.section(self.record())
        self.assertIn("take 0% to 85% of what is lost", text)
        self.assertIn("It takes 0.50 to 0.50 times as long as the fastest scheme by hand", text)
        self.assertIn("Other work ran.", text)
        self.assertIn("| exchange | 4 | 1.50 (1.00 to 2.00) |", text)

    def test_the_section_of_this_tree_is_of_its_results(self):
        record = scaling.load(ROOT / "bench" / "results")
        if record is None:
            self.skipTest("there are no results")
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            scaling.write_section(page, record)
            said = (ROOT / "docs/ledger/evaluation.md").read_text()
            self.assertIn(page.read_text().strip(), said)


class Program(unittest.TestCase):
    """On one host, and on two that are processes of one."""

    def run_module(self, module, processes, *options):
        with tempfile.TemporaryDirectory() as folder:
            file, output = Path(folder) / "m.spmd", Path(folder) / "run.json"
            file.write_text(module)
            command = [*namespaces.MPIRUN, "-n", str(processes), os.path.join(os.environ["BENCH"], "scaling"), "--module", str(file),
                       "--rate", "1000", "--runs", "2", "--output", str(output), *options]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
            return done, json.loads(output.read_text()) if done.returncode == 0 else None

    SUM = ("retile.spmd/1\nmesh k:2\nfn main(x : [4, 3{k}6], w : [3{k}6, 2]) -> [4, 2]\nc = spmd x w { einsum \"ik,kj->ij\" x w } as sum{k}[4, 2]\n"
           "c_1 = redistribute c as [4, 2]\nreturn c_1\ndenotes einsum \"ik,kj->ij\" x w\n")

    def test_waits_are_the_operations_at_the_rate(self):
        done, run = self.run_module(self.SUM, 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        computed, moved = run["statements"]
        self.assertEqual(computed["operations"], 2 * 4 * 3 * 2)  # a product and a sum at each of its points
        self.assertAlmostEqual(computed["wait_seconds"], 0.048)
        self.assertEqual((moved["from"], moved["to"]), ("sum{k}[4, 2]", "[4, 2]"))
        self.assertEqual([len(run["seconds"]), len(moved["seconds"])], [2, 2])
        self.assertGreater(min(run["seconds"]), 0.048)
        self.assertEqual(run["compared"], 16)
        self.assertEqual(run["arrived"], 3 * 16)  # in every run, the first one, too

    def test_a_wrong_result_is_seen(self):
        done, _ = self.run_module(self.SUM.replace("c = spmd x w { einsum", "c = spmd x w { scale 2 (einsum").replace("x w } as", "x w) } as"), 2)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the result is wrong", done.stderr)

    def test_a_wrong_element_that_arrives_is_seen(self):
        done, _ = self.run_module(self.SUM, 2, "--falsify", "c_1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a wrong element arrived", done.stderr)
        self.assertEqual(self.run_module(self.SUM, 2, "--falsify", "x")[0].returncode, 0)


class Hosts(unittest.TestCase):
    def test_two_hosts_and_their_links(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, SCRIPT, os.environ["RETILE"], os.environ["BENCH"], "--hosts", "2", "--extent", "64", "--runs", "1", "--raw", folder,
                       "--bytes-per-second", "1e6", "--only", "root-hybrid", "--only", "rows-choose"]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            made = sorted(path.name for path in Path(folder).iterdir())
            runs = [json.loads(path.read_text()) for path in Path(folder).iterdir() if not path.name.startswith("link")]
            self.assertEqual(sorted(run["hosts"] for run in runs), [1] * 6 + [2] * 6)
            for run in runs:
                self.assertGreater(run["run"]["compared"], 0)
                for part in run["run"]["statements"]:
                    if run["hosts"] > 1 and scaling.is_move(part) and part["received_bytes"] > 0:
                        # No link carries more than it does.
                        self.assertGreater(part["seconds"][0], 0.5 * part["received_bytes"] / 1e6, part)
                        self.assertGreater(part["predicted_seconds"], 0)
            self.assertTrue(any(part["received_bytes"] > 0 for run in runs for part in run["run"]["statements"] if scaling.is_move(part)))
            self.assertEqual(len(re.findall(r"^\| 2 \|", done.stdout, re.MULTILINE)), 6, done.stdout)
            # What is there is not run again.
            times = {name: (Path(folder) / name).stat().st_mtime_ns for name in made}
            again = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
            self.assertEqual((again.returncode, again.stdout), (0, done.stdout))
            self.assertEqual(times, {path.name: path.stat().st_mtime_ns for path in Path(folder).iterdir()})


if __name__ == "__main__":
    REASON = namespaces.why_not("ip tuntap add link0 mode tun") if "Hosts" in sys.argv else ""
    if REASON:
        print("skipped:", REASON)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
