#!/usr/bin/env python3
"""Mistakes planted in what peers emitted: both evaluators see them alike.

    peers/mutate.py --problems PROBLEMS --retile RETILE [--count 5000] [--seed 1] [--keep DIR] FOLDER..

Takes files that are right, changes each in one place, and asks `retile check` and peers/evaluate.py. Prints for each kind how
many are wrong, refused, or still right (which the tags of all elements show), and the differences. Exit code 1 where the two
differ. KEEP gets the texts that they differ on.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from compare import FORMS, ask_retile, of_another_shape
from evaluate import judge, problems_of
from mistakes import KINDS, mutant


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path, required=True)
    parser.add_argument("--retile", required=True, help="the program retile")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    known, draw, start = problems_of(given.problems), random.Random(given.seed), time.monotonic()
    paths = sorted(path for folder in given.folders for form in FORMS[:3] for path in folder.glob(f"*.{form}"))
    counts, made, different, tries, seen = Counter(), 0, 0, 0, set()
    with tempfile.TemporaryDirectory() as folder:
        while made < given.count and tries < 40 * given.count:
            tries += 1
            path, kind = draw.choice(paths), draw.choice(list(KINDS))
            text = path.read_text()
            new = mutant(text, kind, f"{given.seed} {tries}")
            if new is None or new in seen or (problem := known[int(path.stem)]) is None:
                continue
            form = path.suffix[1:]
            if judge(problem, form, text)["right"] is not True:
                continue
            seen.add(new)
            made += 1
            file = Path(folder) / f"{problem['id']}.{form}"
            file.write_text(new)
            one, other = ask_retile(given.retile, problem, file), judge(problem, form, new)
            counts[form, kind, {True: "right", False: "wrong", None: "refused"}[other["right"]]] += 1
            if "failed" in one or (one["right"] != other["right"] and not of_another_shape(one, other)):
                different += 1
                print(f"{path} {kind} {tries}: {one['right']} and {other['right']}: {one.get('failed') or one.get('refused')}; "
                      f"{other.get('refused') or other.get('first_wrong')}", flush=True)
                if given.keep:
                    given.keep.mkdir(parents=True, exist_ok=True)
                    (given.keep / f"{tries}.{kind}.{problem['id']}.{form}").write_text(new)
    for key, count in sorted(counts.items()):
        print(f"{' '.join(key)}: {count}")
    print(f"{made} mutants, {different} differences, {time.monotonic() - start:.0f} s")
    return 1 if different or made < given.count else 0


if __name__ == "__main__":
    sys.exit(main())
