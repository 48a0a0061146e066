#!/usr/bin/env python3
"""How much longer do the strategies on MPI processes take than in another checkout? Both programs `execution` take turns.

    pair_execution.py BEFORE/bench AFTER/bench [--processes N] [--turns N] [--sizes KIB,..] [--rounds N] [--output FILE.json]

A ratio is time after / time before of one contender on one problem: in each turn of the medians of the two runs, and of all
turns the median. A line per kind of contender says how many, the geometric mean, the median and the largest ratio, a line per
contender its geometric mean. Peers and references are the same code on both sides, so their lines say how far two runs differ on
this machine. Wants a machine that does nothing else. Ends with 1 where a run fails, or a contender was not verified.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def run(program, processes, sizes, rounds, output):
    """Median seconds of (problem, size, contender), and of what kind each contender is."""
    command = ["mpirun", "--oversubscribe", "-n", str(processes), str(program), "--sizes", sizes, "--rounds", str(rounds),
               "--output", str(output)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program} ended with {done.returncode}\n{done.stderr}")
    seconds, kinds = {}, {}
    for problem in json.loads(output.read_text(encoding="utf-8"))["problems"]:
        for one in problem["contenders"]:
            if not one["verified"]:
                raise SystemExit(f"{program}: {one['name']} of {problem['problem']} was not verified")
            seconds[problem["problem"], problem["kib"], one["name"]] = statistics.median(one["seconds"])
            kinds[one["name"]] = one["kind"]
    return seconds, kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--sizes", default="64,1024,16384")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output")
    arguments = parser.parse_args()
    if arguments.turns < 1:
        parser.error("--turns: at least one")
    programs = [Path(folder).resolve() / "execution" for folder in (arguments.before, arguments.after)]
    turns, kinds = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(arguments.turns):
            both = [{}, {}]
            for k in (0, 1) if turn % 2 == 0 else (1, 0):
                both[k], of_kind = run(programs[k], arguments.processes, arguments.sizes, arguments.rounds, Path(folder) / "run.json")
                kinds |= of_kind
            turns.append(both)
            print(f"turn {turn + 1} of {arguments.turns}", file=sys.stderr, flush=True)
    common = set.intersection(*(set(side) for turn in turns for side in turn))
    ratios = {key: statistics.median(after[key] / before[key] for before, after in turns) for key in sorted(common)}
    result = {"schema": "retile.bench.pair_execution/1", "ratio": "time after / time before, median of the turns",
              "processes": arguments.processes, "turns": arguments.turns, "sizes_kib": arguments.sizes, "kinds": {}}
    for kind in sorted({kinds[name] for _, _, name in common}):
        found = {key: ratio for key, ratio in ratios.items() if kinds[key[2]] == kind}
        worst = max(found, key=found.get)
        line = {"contenders": len(found), "geometric_mean": statistics.geometric_mean(found.values()),
                "median": statistics.median(found.values()), "most": found[worst], "most_of": worst}
        by_name = {name: statistics.geometric_mean(ratio for key, ratio in found.items() if key[2] == name)
                   for name in sorted({key[2] for key in found})}
        print(f"{kind:24} x{line['geometric_mean']:.3f} (median {line['median']:.3f}, most {line['most']:.2f}) of {len(found)}")
        for name, mean in by_name.items():
            print(f"  {name:34} x{mean:.3f}")
        result["kinds"][kind] = line | {"by_name": by_name, "ratios": [[*key, ratio] for key, ratio in found.items()]}
    if arguments.output:
        Path(arguments.output).write_text(json.dumps(result) + "\n", encoding="utf-8")
    return 0 if common else 1


if __name__ == "__main__":
    sys.exit(main())
