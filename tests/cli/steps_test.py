"""Every kind of step, in everything that takes Programs: both checkers, the prover, and all ways to move bytes.

A step is told by its facts (op_facts.h), and not every room that asks for them is one that the compiler names. So there is a Program
here for each row of the table of steps, and a wrong one beside it; a step without either fails the test.
"""

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from support import BESIDE, main, retile

ORACLE = os.environ["RETILE_ORACLE"]
TABLE = Path(__file__).resolve().parents[2] / "src" / "retile" / "program" / "ops.h"
NAME = re.compile(r'static constexpr std::string_view name = "(\w+)";')

# Over x:2,y:2: the ends, a step between them, and the tables of one that is wrong there.
PROGRAMS = {
    "dynslice": ("[4, 6]", "[2{y}4, 6]", "dynslice dim=0 groups=[2,2]<=[4]", "groups=[[1,0],[2,3]]"),
    "allgather": ("[2{y}4, 6]", "[4, 6]", "allgather dim=0 groups=[2,2]<=[4]", "groups=[[1,0],[2,3]]"),
    "alltoall": ("[2{y}4, 6]", "[4, 3{y}6]", "alltoall split=1 concat=0 groups=[2,2]<=[4]", "groups=[[1,0],[2,3]]"),
    "allpermute": ("[2{x}4, 6]", "[2{y}4, 6]", "allpermute source=[4]<=[2,2]T(1,0)", "source=[4]<=[4]"),
    "exchange": ("[2{y}4, 1]", "[2{x}4, 1]", "exchange tile=[2,1] transfers=[[0,0,0,0,0,0,2,1],[1,2,0,0,0,0,2,1],[2,1,0,0,0,0,2,1],[3,3,0,0,0,0,2,1]]",
                 "transfers=[[0,0,0,0,0,0,2,1],[1,1,0,0,0,0,2,1],[2,2,0,0,0,0,2,1],[3,3,0,0,0,0,2,1]]"),
    "reducescatter": ("sum{y}[4, 6]", "[2{y}4, 6]", "reducescatter dim=0 groups=[2,2]<=[4]", "groups=[[1,0],[2,3]]"),
    "allreduce": ("sum{y}[4, 6]", "[4, 6]", "allreduce groups=[2,2]<=[4]", "groups=[2,2]<=[2,2]T(1,0)"),
    "unreduce": ("[4, 6]", "sum{y}[4, 6]", "unreduce groups=[2,2]<=[4]", "groups=[2,2]<=[2,2]T(1,0)"),
    "embed": ("[2{y}4, 6]", "sum{y}[4, 6]", "embed dim=0 groups=[2,2]<=[4]", "groups=[[1,0],[2,3]]"),
    "allgather_dims": ("[2{x}4, 3{y}6]", "[4, 6]", "allgather_dims dims=[0,1] counts=[2,2] groups=[1,4]<=[4]", "groups=[[0,2,1,3]]"),
    "alltoall_dims": ("[2{x}4, 3{y}6, 4]", "[4, 6, 1{y,x}4]", "alltoall_dims splits=[2,2] concats=[0,1] counts=[2,2] groups=[1,4]<=[4]", "groups=[[0,2,1,3]]"),
}
SIMULATED = ("--backend", "sim")
REFUSALS = {("collectives", "error: step 0 (exchange) is not run by the collectives"),
            ("inplace", "error: step 0 (exchange) is not run in place"),
            ("inplace", "error: a Program with addends is not run in place"),
            ("inplace", "error: a step goes along several dimensions, which inplace does not take so far")}
STRATEGIES = ("exchange", "collectives", "inplace")


def program(source, target, step):
    return f"retile.program/2\nmesh x:2,y:2\nfrom {source}\nto {target}\n{step}\n"


def texts(name):
    """The right Program of a step, and the wrong one."""
    source, target, step, table = PROGRAMS[name]
    key = table.partition("=")[0]
    return program(source, target, step), program(source, target, re.sub(rf"\b{key}=\S+", table, step))


def oracle(text):
    done = subprocess.run([ORACLE, "check"], input=text, capture_output=True, text=True, check=False)
    found = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    return done.returncode, [found.get(key) for key in ("height", "cost", "first_wrong_step", "reason")]


class Steps(unittest.TestCase):
    def test_there_is_a_program_of_every_step(self):
        names = NAME.findall(TABLE.read_text(encoding="utf-8"))
        self.assertEqual(sorted(names), sorted(PROGRAMS), "the table of steps, and the Programs above")
        for name in names:
            right, wrong = texts(name)
            self.assertRegex(right, rf"(?m)^{name} ")
            self.assertNotEqual(right, wrong)

    def test_both_checkers_agree(self):
        for name in PROGRAMS:
            for text, code in zip(texts(name), (0, 1)):
                with self.subTest(step=name, code=code):
                    done = retile("check", "--json", stdin=text)
                    self.assertEqual((done.returncode, done.stderr), (code, ""))
                    verdict = json.loads(done.stdout)
                    said = [str(verdict[key]) if key in verdict else None for key in ("height", "cost", "first_wrong_step", "reason")]
                    self.assertEqual(oracle(text), (code, said))

    @unittest.skipUnless(os.path.exists(os.path.join(BESIDE, "retile-prove")), "without a solver nothing is proved")
    def test_the_prover_says_the_same(self):
        for name in PROGRAMS:
            for text, code in zip(texts(name), (0, 1)):
                with self.subTest(step=name, code=code):
                    done = retile("prove", "-", stdin=text)
                    self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)

    def test_the_simulator_moves_it(self):
        for name in PROGRAMS:
            for text, code in zip(texts(name), (0, 1)):
                with self.subTest(step=name, code=code):
                    done = retile("run", "--program", "-", *SIMULATED, stdin=text)
                    self.assertEqual(done.returncode, code, done)


class Runs(unittest.TestCase):
    def test_processes_move_it_by_every_strategy(self):
        for name in PROGRAMS:
            for strategy in STRATEGIES:
                with self.subTest(step=name, strategy=strategy):
                    done = retile("run", "--program", "-", "-n", "4", "--strategy", strategy, stdin=texts(name)[0])
                    if done.returncode == 2:  # a strategy need not take every step, but says so
                        self.assertIn((strategy, done.stderr.strip()), REFUSALS)
                    else:
                        self.assertEqual(done.returncode, 0, done)


if __name__ == "__main__":
    main()
