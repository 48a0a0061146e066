#!/usr/bin/env python3
"""How much longer do commands take than in another checkout? Both programs take turns on each command.

    pair_commands.py BEFORE/bin AFTER/bin [--rounds N] [--seed S] [--only TEXT] [--output FILE.json]

Times are processor seconds of the whole process, the least of all rounds. A command that takes less than three times as
long as `retile --version` is counted apart, since it times the loader. A line per family: how many commands, the geometric
mean, the median and the largest of time after / time before. Ends with 1 where a command ends differently, or is refused.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST_TEXT = 4 << 20  # bytes of foreign text
REFUSED = 2  # exit code for input that cannot be read


def axes(count, size):
    return [(f"a{k}", size) for k in range(count)]


# How many devices there are decides how long a command takes.
MESHES = [axes(6, 2), axes(3, 8), axes(10, 2), axes(2, 32), axes(5, 4), axes(3, 16), axes(6, 4), [("x", 6), ("y", 4), ("z", 5)]]
LARGE_MESHES = [axes(12, 2), axes(3, 16), axes(2, 128), axes(7, 4)]


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def cut(self, mesh, rank):
        """Which axes cut each dimension: most cut one."""
        out = [[] for _ in range(rank)]
        order = list(mesh)
        self.random.shuffle(order)
        free = []
        for axis in order:
            if self.random.random() < 0.8:
                out[self.random.randrange(rank)].append(axis)
            else:
                free.append(axis)
        return out, free

    def problem(self, mesh, kind):
        rank = self.random.randint(2, 3)
        before, free = self.cut(mesh, rank)
        after, _ = self.cut(mesh, rank)
        tiles = [[math.prod(size for _, size in dim) for dim in end] for end in (before, after)]
        whole = [math.lcm(a, b) * self.random.randint(1, 3) for a, b in zip(*tiles)]
        short = [n - (kind == "uneven" and n > 2 and tiles[0][i] * tiles[1][i] > 1) for i, n in enumerate(whole)]
        texts = []
        for end, counts in zip((before, after), tiles):
            dims = []
            for dim, count, n, extent in zip(end, counts, whole, short):
                names = ",".join(name for name, _ in dim)
                dims.append(f"{n // count}{{{names}}}{extent}" if dim else f"{extent}")
            texts.append("[" + ", ".join(dims) + "]")
        if kind == "sums" and free:
            texts[0] = f"sum{{{','.join(name for name, _ in free)}}}" + texts[0]
        return ["--mesh", ",".join(f"{name}:{size}" for name, size in mesh), *texts]


class Side:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()

    def run(self, arguments, text, output):
        """Processor seconds and exit code; what it prints goes to the file."""
        with open(text, "rb") if text else open(os.devnull, "rb") as source, open(output, "wb") as sink:
            process = subprocess.Popen([self.folder / "retile", *arguments], stdin=source, stdout=sink, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime, process.returncode


def families(draw, before, work):
    """(family, arguments, file for standard input or what makes it). Texts are those that the program before makes, so both can
    read them; where it makes none, there is nothing to time."""
    count = 0

    def made(arguments, longest=math.inf):
        def make():
            nonlocal count
            count += 1
            path = work / f"input{count}"
            _, code = before.run(arguments, None, path)
            return path if code == 0 and path.stat().st_size < longest else None
        return make

    drawn = [(kind, draw.problem(mesh, kind)) for kind in ("even", "uneven", "sums") for mesh in MESHES for _ in range(3)]
    drawn += [(kind, draw.problem(mesh, kind)) for kind in ("even", "uneven", "sums") for mesh in LARGE_MESHES]
    for kind, problem in drawn:
        limits = ["--timeout", "60"]
        yield f"lower, {kind}", ["lower", *problem, *limits], None
        for word, options in ("", []), (", direct", ["--direct"]):
            yield f"check, {kind}{word}", ["check", *limits], made(["lower", *problem, *options])
        _, mesh, start, end = problem
        ends = ["--mesh", mesh, "--from", start, "--to", end]
        for form, said in ("hlo", []), ("sdy", []), ("stablehlo", ends), ("mlir19", ends):  # the last two say no ends
            yield f"foreign text, {form}", ["check", *said, *limits], made(["lower", *problem, "--as", form], LONGEST_TEXT)
    programs = [json.loads(line) for line in (ROOT / "corpus/programs.jsonl").read_text(encoding="utf-8").splitlines()]
    joined = work / "corpus"
    joined.write_text("".join(one["text"] for one in programs if one["form"] == "program"), encoding="utf-8")
    yield "check, the corpus", ["check"], joined
    for path in sorted((ROOT / "examples/whole").glob("*.before.hlo")):
        after = path.with_name(path.name.replace("before", "after"))
        yield "validate", ["validate", "--seed", "1", path, after], None


def measure(sides, arguments, text, rounds, work):
    least, codes = [math.inf, math.inf], [None, None]
    for turn in range(rounds):
        for k in (0, 1) if turn % 2 == 0 else (1, 0):
            seconds, codes[k] = sides[k].run(arguments, text, work / f"out{k}")
            least[k] = min(least[k], seconds)
    return least, codes, (work / "out0").read_bytes() == (work / "out1").read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    sides = Side(arguments.before), Side(arguments.after)
    result = {"schema": "retile.bench.pair_commands/1", "times": "least processor seconds: before, after", "seed": arguments.seed}
    rows, good = {}, True
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        start, _, _ = measure(sides, ["--version"], None, 5 * arguments.rounds, work)
        result["version"] = start
        print(f"retile --version: {1e3 * start[0]:.1f} -> {1e3 * start[1]:.1f} ms")
        for family, command, text in families(Draw(arguments.seed), sides[0], work):
            if arguments.only not in family:
                continue
            if callable(text) and not (text := text()):
                continue
            seconds, codes, same = measure(sides, command, text, arguments.rounds, work)
            rows.setdefault(family, []).append((seconds, same, [str(word) for word in command]))
            if codes[0] != codes[1] or codes[0] == REFUSED:
                good = False
                print(f"{family}: {command} ends with {codes[0]} before and {codes[1]} after")
    result["families"] = {}
    for family, found in rows.items():
        timed = [each for each in found if each[0][0] >= 3 * start[0]]
        ratios = sorted(after / before for (before, after), _, _ in timed)
        line = {"commands": len(timed), "too_short": len(found) - len(timed), "same_output": sum(same for _, same, _ in found)}
        if ratios:
            line |= {
                "geometric_mean": statistics.geometric_mean(ratios), "median": statistics.median(ratios), "most": ratios[-1],
                "of_sums": sum(each[0][1] for each in timed) / sum(each[0][0] for each in timed)}
            print(f"{family:28} x{line['geometric_mean']:.3f} (median {line['median']:.3f}, most {ratios[-1]:.2f}; of sums "
                  f"{line['of_sums']:.3f}) of {len(timed)}, {len(found) - len(timed)} too short; same output {line['same_output']}")
        else:
            print(f"{family:28} {len(found)} too short")
        result["families"][family] = line | {"seconds": [each[0] for each in found], "commands": [each[2] for each in found]}
    if arguments.output:
        Path(arguments.output).write_text(json.dumps(result) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
