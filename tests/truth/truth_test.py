"""What the programs say of inputs of which they once said something untrue: rows.json has a row for each.

A row: `name`, `input` (a file of inputs/), `call` (words of a command line, in which {input} is the file and {made} one that `make` wrote),
`code` (a list: any of them), `says` and `never` (regular expressions over both streams), `plan_cost` (the plan of the Program's own ends
costs no more), `collective` (the plan with --collectives has one step). No call may leave a file behind where it ran. A row under `limits` ends within `seconds` and `mib`.
Names under `pending` are not mended yet; one that holds all the same fails the test, so that the list only ever shrinks.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {"retile": os.environ.get("RETILE", "retile"), "retile-oracle": os.environ.get("RETILE_ORACLE", "retile-oracle")}
ROWS = json.load(open(os.path.join(HERE, "rows.json"), encoding="utf-8"))
# What the slowest of the rows without a limit may take on a busy machine.
SECONDS = 120
# How many times as long a call may take on a machine that is busy with other work.
BUSY = 8


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(("PMIX_", "OMPI_COMM_", "RETILE_LAUNCHED"))}


class Answer:
    """What a call said, how long it took, and the largest resident memory of it and its children, in MiB."""

    def __init__(self, words, seconds, folder):
        began = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment(), cwd=folder,
                                     start_new_session=True)
            self.code = None
            while self.code is None and time.monotonic() - began < BUSY * seconds:
                done, status, usage = os.wait4(child.pid, os.WNOHANG)
                if done:
                    self.code = os.waitstatus_to_exitcode(status)
                else:
                    time.sleep(0.01)
            if self.code is None:
                os.killpg(child.pid, 9)
                _, _, usage = os.wait4(child.pid, 0)
            child.returncode = self.code
            self.seconds = time.monotonic() - began
            # On a machine that does other things, what the call itself took of a processor says whether it was quick.
            used = usage.ru_utime + usage.ru_stime
            self.in_time = self.code is not None and (self.seconds <= seconds or used <= seconds / 2)
            self.mib = usage.ru_maxrss / 1024
            out.seek(0)
            err.seek(0)
            self.out = out.read().decode(errors="replace")
            self.err = err.read().decode(errors="replace")

    def __str__(self):
        return f"code {self.code}, {self.seconds:.1f} s, {self.mib:.0f} MiB\n{self.out[:1500]}{self.err[:1500]}"


def words_of(row, folder):
    made = os.path.join(folder, "made")
    if "make" in row:
        line, repeat, count, end = (row["make"][key] for key in ("begin", "repeat", "count", "end"))
        with open(made, "w", encoding="utf-8") as file:
            file.write(line + "".join(repeat.replace("%", str(k)) for k in range(count)) + end)
    file = os.path.join(HERE, "inputs", row.get("input", ""))
    program, *rest = row["call"]
    return [PROGRAMS[program], *(word.replace("{input}", file).replace("{made}", made) for word in rest)]


def ends_of(file):
    """The options that name a Program's mesh, and its two ends."""
    lines = [line.split(" ", 1) for line in open(file, encoding="utf-8").read().splitlines() if " " in line]
    found = {}
    for key, value in lines:
        found.setdefault(key, value)
    return ["--mesh", found["mesh"], found["from"], found["to"]]


def faults(row):
    """What a row does not keep, a sentence each."""
    out = []
    with tempfile.TemporaryDirectory(prefix="retile-truth-") as folder:
        answer = Answer(words_of(row, folder), row.get("seconds", SECONDS), folder)
        left = sorted(set(os.listdir(folder)) - {"made"})
    both = answer.out + answer.err
    if not answer.in_time:
        out.append(f"did not end within {row.get('seconds', SECONDS)} s")
    elif answer.code not in row["code"]:
        out.append(f"code {answer.code}, wanted {row['code']}")
    out += [f"does not say {pattern!r}" for pattern in row.get("says", []) if not re.search(pattern, both)]
    out += [f"says {pattern!r}" for pattern in row.get("never", []) if re.search(pattern, both)]
    if answer.mib > row.get("mib", answer.mib):
        out.append(f"took {answer.mib:.0f} MiB, at most {row['mib']} are wanted")
    if left:
        out.append(f"left {left} behind")
    if "plan_cost" in row or "collective" in row:
        out += plan_faults(row)
    return out + [str(answer)] if out else out


def plan_faults(row):
    ends = ends_of(os.path.join(HERE, "inputs", row["input"]))
    options = ["--collectives"] if "collective" in row else []
    done = subprocess.run([PROGRAMS["retile"], "plan", "--json", *options, *ends], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(), timeout=SECONDS, check=False)
    if done.returncode != 0:
        return [f"its ends are not planned: {done.stderr.decode()[:300]}"]
    plan = json.loads(done.stdout)
    if "plan_cost" in row and plan["cost"] > row["plan_cost"]:
        return [f"the plan costs {plan['cost']}, the Program {row['plan_cost']}"]
    if "collective" in row and [step["op"] for step in plan["steps"]] != [row["collective"]]:
        return [f"the plan with --collectives is not one {row['collective']}: {plan['steps']}"]
    return []


class Table(unittest.TestCase):
    def hold(self, rows):
        for row in rows:
            with self.subTest(row["name"]):
                found = faults(row)
                if row["name"] in ROWS["pending"]:
                    self.assertTrue(found, f"{row['name']} holds: take it out of `pending`")
                else:
                    self.assertFalse(found, "\n".join(found))


class Words(Table):
    def test_every_row_is_said_as_it_is(self):
        self.hold(ROWS["rows"])

    def test_pending_names_rows(self):
        names = [row["name"] for row in ROWS["rows"] + ROWS["limits"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(set(ROWS["pending"]) - set(names), set())


class Limits(Table):
    def test_every_attack_ends_in_time_and_memory(self):
        self.hold(ROWS["limits"])


class Control(unittest.TestCase):
    """A row that asks for what is not so is noticed."""

    def setUp(self):
        self.row = dict(ROWS["rows"][0])

    def test_another_code(self):
        self.assertTrue(faults({**self.row, "code": [77]}))

    def test_words_that_are_not_said(self):
        self.assertTrue(faults({**self.row, "says": ["no such words"]}))

    def test_words_that_are_said(self):
        self.assertTrue(faults({**self.row, "never": ["."]}))

    def test_a_plan_that_costs_more(self):
        row = next(row for row in ROWS["rows"] if row.get("plan_cost"))
        self.assertTrue(plan_faults({**row, "plan_cost": 1}))

    def test_too_long_and_too_much(self):
        self.assertTrue(faults({**self.row, "seconds": 0}))
        self.assertTrue(faults({**self.row, "mib": 0}))


if __name__ == "__main__":
    unittest.main()
