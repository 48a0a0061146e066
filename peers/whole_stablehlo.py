#!/usr/bin/env python3
"""The verdicts of `retile validate` on StableHLO of whole programs, beside those on HLO and what happened when they were run.

    peers/whole_stablehlo.py RETILE FOLDER [--release RELEASE] [--results OUT] [--seconds 60]

FOLDER has a folder for each release, as peers/record_whole.py and peers/run_local.py fill them. Two pairs of each program are judged:

    lowered.mlir and after.hlo     what JAX lowers, and what XLA's partitioner made of it; the verdict should be that on before.hlo
    lowered.mlir and local.mlir    .., and what Shardy's own passes made of it: the verdict should be what happened when that was run

OUT gets the counts, and every program that is not right, or that did not do the same on the devices. Exit code 1 where `right` and
`wrong` are not what is beside them.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from whole import answered, validated

BESIDE = {"after.hlo": "on HLO", "local.mlir": "run"}
SAME = {("right", "equal"), ("wrong", "differs"), ("right", "right"), ("wrong", "wrong")}


def ask(retile, folder, after, facts, seconds):
    """JAX chooses how results lie where nobody says it; of what Shardy made its own text says it."""
    ends = [] if after == "local.mlir" else ["--to", "; ".join(one["sharding"] or "{replicated}" for one in facts["outputs"])]
    answer, done = validated(retile, [*ends, folder / "lowered.mlir", folder / after], seconds)
    if done is None or answer["verdict"] == "right":
        return answer
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return {**answer, "why": done.stderr.splitlines()[0].split(": ", 2)[-1] if done.stderr else ""}
    return {**answer, "why": said["why"], "lost": said["lost"] and said["lost"]["op"]}


def beside(retile, folder, after, seconds):
    """What a verdict is held against."""
    if after == "after.hlo":
        return answered(retile, folder, seconds)["verdict"]
    path = folder / "local.json"
    return json.loads(path.read_text())["execution"] if path.exists() else "not run"


def rows_of(retile, root, release, seconds):
    for path in sorted(root.glob(f"jax-{release or '*'}/*/run.json")):
        facts, folder = json.loads(path.read_text()), path.parent
        for after in BESIDE:
            if "outputs" not in facts or facts["release"] == "0.4.34" or not (folder / after).exists():
                continue
            answer = ask(retile, folder, after, facts, seconds)
            row = {"release": facts["release"], "program": facts["program"], "after": after, **answer, "beside": beside(retile, folder, after, seconds)}
            print("{release} {program} {after}: {verdict}, {beside}".format(**row), flush=True)
            yield row


def is_contrary(row):
    known = row["verdict"] in ("right", "wrong") and row["beside"] in ("right", "wrong", "equal", "differs")
    return known and (row["verdict"], row["beside"]) not in SAME


def summary(rows):
    counts = Counter((one["release"], one["after"], one["verdict"], BESIDE[one["after"]] + ": " + one["beside"]) for one in rows)
    out = {}
    for (release, after, verdict, other), count in sorted(counts.items()):
        out.setdefault(release, {}).setdefault(f"lowered.mlir, {after}", {})[f"{verdict}; {other}"] = count
    return out


def write(path, rows):
    head = json.dumps({"schema": "retile.peers-stablehlo/1", "pairs": len(rows), "contrary": sum(map(is_contrary, rows)), "summary": summary(rows)}, indent=1)
    kept = [one for one in rows if (one["verdict"], one["beside"]) not in (("right", "right"), ("right", "equal"))]
    lines = ",\n".join("  " + json.dumps(one) for one in kept)
    path.write_text(f'{head[:-2]},\n "not right twice": [\n{lines}\n ]\n}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("retile")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", default="", help="of JAX")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--seconds", type=int, default=60, help="for one pair")
    given = parser.parse_args()
    rows = list(rows_of(given.retile, given.folder, given.release, given.seconds))
    if given.results and not given.release:
        write(given.results, rows)
    print(json.dumps(summary(rows), indent=1))
    return 1 if any(map(is_contrary, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
