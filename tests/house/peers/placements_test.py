#!/usr/bin/env python3
"""What `retile convert` reads of DTensor's placements, beside what torch's own placements leave every rank: random meshes, shapes and
placements, split factors that nest with nothing among them. The elements are compared one by one, by way of the oracle.

    placements_test.py ROOT RETILE ORACLE

Skipped where there is no build/peers/torch-2.15.0 (`scripts/peers setup`).
"""

import itertools
import json
import random
import subprocess
import sys
import unittest
from math import prod
from pathlib import Path

ROOT, RETILE, ORACLE = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
PYTHON = ROOT / "build" / "peers" / "torch-2.15.0" / "bin" / "python"
PROBLEMS = 1500

if not PYTHON.exists():
    print(f"skipped: needs {PYTHON}")
    sys.exit(77)


def drawn(draw):
    mesh = draw.choice([[2], [3], [4], [2, 2], [2, 3], [4, 2], [2, 2, 3]])
    shape = [draw.randint(1, 20) for _ in range(draw.randint(1, 2))]
    placements = []
    for _ in mesh:
        kind = draw.choice(["R", "S", "SS", "SS"])
        dim = draw.randrange(len(shape))
        placements.append({"R": ["R"], "S": ["S", dim], "SS": ["SS", dim, draw.randint(2, 5)]}[kind])
    return {"mesh": mesh, "shape": shape, "placements": placements}


def text_of(words):
    if words[0] == "R":
        return "Replicate()"
    return f"Shard(dim={words[1]})" if words[0] == "S" else f"_StridedShard(dim={words[1]}, sf={words[2]})"


def indices(side):
    """Of `0..2+8..10` all six."""
    return [i for stretch in side.split("+") for begin, end in [map(int, stretch.split(".."))] for i in range(begin, end)]


def elements(box, shape):
    """The numbers of the elements of a device's box, as `retile-oracle boxes` prints it."""
    if box == "empty":
        return []
    out = []
    for place in itertools.product(*map(indices, box.strip("[]").split(", "))):
        number = 0
        for at, extent in zip(place, shape):
            number = number * extent + at
        out.append(number)
    return out


def read(problem):
    """What retile reads of it, by device; or why it refuses it."""
    mesh = ",".join(f"{name}:{size}" for name, size in zip("abc", problem["mesh"]))
    text = "(" + ", ".join(map(text_of, problem["placements"])) + ",)"
    shape = ",".join(map(str, problem["shape"]))
    said = subprocess.run([RETILE, "convert", "--mesh", mesh, "--shape", shape, "--as", "paper", text], capture_output=True, text=True,
                          check=False)
    if said.returncode != 0:
        return None, said.stderr
    boxes = subprocess.run([ORACLE, "boxes", "--mesh", mesh, said.stdout.strip()], capture_output=True, text=True, check=True).stdout
    return [elements(line.split(": ")[1], problem["shape"]) for line in boxes.splitlines()], said.stdout


class Placements(unittest.TestCase):
    def test_every_rank_holds_what_torch_gives_it(self):
        draw = random.Random(20261127)
        problems = [drawn(draw) for _ in range(PROBLEMS)]
        done = subprocess.run([PYTHON, ROOT / "peers" / "place_dtensor.py"], input="\n".join(map(json.dumps, problems)), text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(wanted), len(problems))
        counts = {"read": 0, "sections": 0, "chunks": 0}
        for problem, ranks in zip(problems, wanted):
            found, said = read(problem)
            self.assertIsNotNone(found, (problem, said))
            self.assertEqual(len(found), prod(problem["mesh"]))
            self.assertEqual(found, ranks, (problem, said))
            counts["read"] += 1
            counts["sections"] += "+" in said
            counts["chunks"] += "@" in said
        print(counts)
        self.assertGreater(counts["sections"], 300)
        self.assertGreater(counts["chunks"], 100)

    def test_a_device_that_holds_others_is_noticed(self):
        found, said = read({"mesh": [2], "shape": [10], "placements": [["SS", 0, 3]]})
        self.assertEqual(said, "[5{a}4+4+2]\n")
        self.assertEqual(found, [[0, 1, 4, 5, 8], [2, 3, 6, 7, 9]])
        other, _ = read({"mesh": [2], "shape": [10], "placements": [["SS", 0, 2]]})
        self.assertNotEqual(other, found)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
