#!/usr/bin/env python3
"""Verdicts at smaller extents beside those at all: of programs as they were recorded, and with mistakes planted in them.

    peers/whole_extents.py --retile RETILE [--each 3] [--seed 0] [--only TEXT] [--into FILE] FOLDER

FOLDER has what `scripts/peers whole` recorded with one release. Each program is asked about with `--extents full` and with `--extents
reduced`; so are --each mistakes in it, if it is called wrong at full extents. A line is printed for each that only one of the two calls
wrong. Exit code 1 where smaller extents call right what is wrong, or wrong what is right. FILE gets the counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from whole_mutate import plant

LONGEST = 200_000  # bytes of a text that mistakes are planted in
SECONDS = 60


def verdict(retile, before, after, extents):
    """The answer, and whether extents were divided."""
    command = [retile, "validate", "--json", "--seed", "3", "--timeout", str(SECONDS), "--extents", extents, str(before), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        return "refused", False
    if not done.stdout:  # memory was spent
        return "undecided", False
    said = json.loads(done.stdout)
    return said["answer"], bool(said["reduced"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--retile", required=True)
    parser.add_argument("--each", type=int, default=3, help="mistakes in each program (default 3)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--into", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    counts = {"programs": Counter(), "mistakes": Counter()}
    bad = 0

    def ask(kind, name, before, after):
        nonlocal bad
        full, _ = verdict(given.retile, before, after, "full")
        if kind == "mistakes" and full != "wrong":
            return
        small, divided = verdict(given.retile, before, after, "reduced")
        counts[kind][f"{full}, {small}{' divided' if divided else ''}"] += 1
        if full == small:
            return
        print(f"{name}: {full} at full extents, {small} at smaller ones", flush=True)
        bad += (full, small) in (("wrong", "right"), ("right", "wrong"))

    for folder in sorted(path.parent for path in given.folder.glob("*/before.hlo") if given.only in path.parent.name):
        before, after = folder / "before.hlo", folder / "after.hlo"
        if not after.exists():
            continue
        ask("programs", folder.name, before, after)
        text = after.read_text()
        for seed in range(given.seed, given.seed + given.each if len(text) <= LONGEST else given.seed):
            planted = plant(text, seed)
            if planted is None:
                continue
            with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
                file.write(planted[0])
                file.flush()
                ask("mistakes", f"{folder.name}, {planted[1]['kind']} in line {planted[1]['line']} (seed {seed})", before, file.name)
    out = {"schema": "retile.extents/1", "release": given.folder.name, **{kind: dict(sorted(of.items())) for kind, of in counts.items()}}
    print(json.dumps(out, indent=1))
    if given.into:
        given.into.write_text(json.dumps(out, indent=1) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
