#!/usr/bin/env python3
"""What grids of chunks mean, beside Dask's own: random arrays, chunks and owners. The elements are compared one by one, by way of the
oracle; and of `rechunk`, the Program that `retile lower` prints is judged by both checkers.

    chunks_test.py ROOT RETILE ORACLE

Skipped where there is no build/peers/dask-2025.1.0 (`scripts/peers setup`).
"""

import json
import random
import subprocess
import sys
import unittest
from itertools import accumulate
from math import prod
from pathlib import Path

ROOT, RETILE, ORACLE = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
PYTHON = ROOT / "build" / "peers" / "dask-2025.1.0" / "bin" / "python"
PROBLEMS = 200

if not PYTHON.exists():
    print(f"skipped: needs {PYTHON}")
    sys.exit(77)


def grid(draw, shape):
    """Chunks of every dimension, as Dask lists them."""
    out = []
    for extent in shape:
        cuts = sorted({0, extent, *(draw.randint(0, extent) for _ in range(draw.randint(0, 3)))})
        out.append([end - begin for begin, end in zip(cuts, cuts[1:])])
    return out


def drawn(draw):
    shape = [draw.randint(1, 9) for _ in range(draw.randint(1, 3))]
    problem = {"workers": draw.randint(1, 6), "before": grid(draw, shape), "after": grid(draw, shape)}
    for end in ("before", "after"):
        chunks = prod(map(len, problem[end]))
        problem[f"owners {end}"] = None if draw.random() < 0.5 else [draw.randrange(problem["workers"]) for _ in range(chunks)]
    return problem


def text_of(chunks, owners):
    lists = "*".join("(" + ",".join(map(str, accumulate(sizes, initial=0))) + ")" for sizes in chunks)
    listed = "" if owners is None else "(" + ",".join(map(str, owners)) + ")"
    return f"[{lists}@{listed}{{w}}{prod(map(sum, chunks))}]"


def held(workers, text):
    """By worker, the elements that it holds."""
    said = subprocess.run([ORACLE, "boxes", "--mesh", f"w:{workers}", text], capture_output=True, text=True, check=True).stdout
    out = []
    for line in said.splitlines():
        box = line.split(": ")[1].strip("[]")
        stretches = [] if box == "empty" else [tuple(map(int, one.split(".."))) for one in box.split("+")]
        out.append([i for begin, end in stretches for i in range(begin, end)])
    return out


def wanted(workers, chunks, owners):
    """The same, of Dask's chunks."""
    out = [[] for _ in range(workers)]
    for number, elements in enumerate(chunks):
        out[number % workers if owners is None else owners[number]] += elements
    return [sorted(elements) for elements in out]


def answer(command, *arguments, text=None):
    return subprocess.run([*command, *arguments], input=text, capture_output=True, text=True, check=False).stdout


class Chunks(unittest.TestCase):
    def test_every_worker_holds_the_elements_of_its_chunks(self):
        draw = random.Random(20261128)
        problems = [drawn(draw) for _ in range(PROBLEMS)]
        lines = "\n".join(json.dumps({"before": one["before"], "after": one["after"]}) for one in problems)
        done = subprocess.run([PYTHON, ROOT / "peers" / "place_dask.py"], input=lines, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(problems))
        noticed = 0
        for problem, ends in zip(problems, answers):
            workers = problem["workers"]
            texts = []
            for end, chunks in zip(("before", "after"), ends):
                owners = problem[f"owners {end}"]
                texts.append(text_of(problem[end], owners))
                found = held(workers, texts[-1])
                self.assertEqual(found, wanted(workers, chunks, owners), (problem, texts))
                other = [worker + 1 for worker in owners] if owners else [(k + 1) % workers for k in range(len(chunks))]
                noticed += found != wanted(workers + 1, chunks, other)[:workers]
            program = answer([RETILE, "lower", "--mesh", f"w:{workers}", *texts])
            self.assertRegex(answer([RETILE, "check", "-"], text=program), "^right", texts)
            self.assertIn("right: true", answer([ORACLE, "check", "-"], text=program), texts)
        self.assertGreater(noticed, PROBLEMS)  # chunks with other workers are other tiles


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
