#!/usr/bin/env python3
"""Processes on two nodes and on four, and over TCP.

    nodes_test.py TwoNodes    on one machine: two sets of network, host name, process and shared memory namespaces
    nodes_test.py FourNodes   four of them
    nodes_test.py Tcp         on one node, without shared memory between processes

RETILE, NODES_TEST and LATE_FAILURE name the programs. Ends with 77 and the reason where namespaces are not permitted.
"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

from namespaces import MPIRUN, Nodes, go_inside, why_not

SKIPPED = 77
PROBLEM = ["--mesh", "x:4", "[4{x}16, 12]", "[16, 3{x}12]"]


def ran(command, **environment):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False,
                          env=dict(os.environ, **environment))


class Case(unittest.TestCase):
    maxDiff = None

    def passed(self, done):
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("[  PASSED  ]", done.stdout)
        self.assertIn("[       OK ] Nodes.every_strategy_brings_every_element_to_its_place", done.stdout)

    def saw_other_nodes(self, done):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("[  FAILED  ] Nodes.are_those_that_were_started", done.stdout)


class TwoNodes(Case):
    @classmethod
    def setUpClass(cls):
        cls.nodes = cls.enterClassContext(Nodes())

    def mpirun(self, counts, *command):
        return self.nodes.mpirun(counts, *command)

    def test_every_strategy_moves_every_element(self):
        for on_a, on_b in ((2, 2), (1, 1), (3, 1), (1, 2)):
            with self.subTest(a=on_a, b=on_b):
                self.passed(ran(self.mpirun((on_a, on_b), os.environ["NODES_TEST"]), RETILE_TEST_NODES=f"{on_a},{on_b}"))

    def test_one_node_is_not_taken_for_two(self):
        self.saw_other_nodes(ran(self.mpirun((4, 0), os.environ["NODES_TEST"]), RETILE_TEST_NODES="2,2"))

    def test_two_nodes_are_not_taken_for_one(self):
        self.saw_other_nodes(ran(self.mpirun((2, 2), os.environ["NODES_TEST"]), RETILE_TEST_NODES="4"))

    def run_retile(self, *arguments):
        done = subprocess.run(self.mpirun((2, 2), os.environ["RETILE"], "run", *PROBLEM, *arguments), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        return done

    def test_the_command_line_says_what_is_possible_on_two_nodes(self):
        for asked, (chosen, why) in {"automatic": ("exchange", "exchange"), "exchange": ("exchange", "exchange"),
                                     "mixed": ("exchange", "exchange"), "direct": ("exchange", "exchange by messages"),
                                     "collectives": ("collectives", "collectives")}.items():
            with self.subTest(strategy=asked):
                done = self.run_retile("--strategy", asked, "--explain", "--json")
                self.assertEqual(done.returncode, 0, done)
                report = json.loads(done.stdout)
                self.assertEqual((report["right"], report["strategy"]), (True, chosen))
                self.assertEqual(len(report["reasons"]), 1)
                self.assertRegex(report["reasons"][-1], f"^{why}: chosen, needs up to \\d+ bytes$")
        for asked in ("shared", "inplace"):
            with self.subTest(strategy=asked):
                done = self.run_retile("--strategy", asked)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn("the processes do not all share memory: they are on 2 nodes", done.stderr)

    def test_a_killed_process_ends_the_job_on_both_nodes(self):
        for strategy in ("collectives", "direct", "mixed"):
            with self.subTest(strategy=strategy):
                begun = time.monotonic()
                done = ran(self.mpirun((2, 2), os.environ["LATE_FAILURE"], strategy))
                self.assertLess(time.monotonic() - begun, 10)
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout, "process rank 1 .* exited on signal 9")
                self.assertNotIn("survived", done.stdout)


class FourNodes(Case):
    def test_every_strategy_moves_every_element(self):
        with Nodes(4) as nodes:
            for counts in ((2, 2, 2, 2), (3, 1, 0, 2)):
                with self.subTest(counts=counts):
                    started = ",".join(str(count) for count in counts if count > 0)
                    self.passed(ran(nodes.mpirun(counts, os.environ["NODES_TEST"]), RETILE_TEST_NODES=started))
            self.saw_other_nodes(ran(nodes.mpirun((2, 2, 2, 2), os.environ["NODES_TEST"]), RETILE_TEST_NODES="4,4"))


class Tcp(Case):
    def run_over(self, transports):
        command = [*MPIRUN, "-n", "4", "--mca", "btl", transports, "--mca", "btl_tcp_if_include", "lo", os.environ["NODES_TEST"]]
        return ran(command)

    def test_every_strategy_moves_every_element(self):
        self.passed(self.run_over("tcp,self"))

    def test_there_is_no_other_transport(self):
        done = self.run_over("self")
        self.assertNotEqual(done.returncode, 0)
        # Which of its texts Open MPI gets printed before the job ends differs from run to run.
        self.assertRegex(" ".join(done.stdout.split()), "unable to reach each other|unreachable from another")


def main():
    which = sys.argv[1]
    if which != "Tcp":
        reason = why_not()
        if reason:
            print("skipped: " + reason)
            return SKIPPED
        go_inside(os.path.abspath(__file__), which)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    program = unittest.main(argv=[sys.argv[0], which], exit=False, verbosity=2)
    return 0 if program.result.wasSuccessful() and program.result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
