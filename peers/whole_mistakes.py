#!/usr/bin/env python3
"""Mistakes planted in modules that a partitioner made: what `retile validate` and the second evaluator say of each.

    peers/whole_mistakes.py --retile RETILE [--each 12] [--most N] [--seconds S] [--seed 1] [--records FILE] [--keep DIR] [--kind KIND].. FOLDER..
    peers/whole_mistakes.py --alone [..] FOLDER..
    peers/whole_mistakes.py --retile RETILE --again --records FILE.. [--results OUT]

A pair is before.hlo and after.hlo in one folder; those below FOLDER are taken, the smallest ones first. A pair that is not right as it
stands is left out. What the records have is not done again; `--seconds` ends a campaign after that time. Of
each changed module it is asked whether it still does the same. The table has a row for every kind. A line is printed
for every module that only one of the two calls wrong. Exit code 1 where there is one. With --alone the program is not asked.
With --again the program is asked anew of all that these files record, and OUT gets the counts, and each mistake that not both call
wrong, or right.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import whole_text
from whole_evaluate import judge
from whole_mutate import KINDS, plant
from whole_text import Refusal

LIMIT = [120]  # seconds for each answer
SAID = {0: "right", 1: "wrong", 2: "refused", 3: "undecided"}


class TooLong(Exception):
    pass


def ring(*_):
    raise TooLong


def second_opinion(before, after, seeds):
    """The second evaluator, with a limit of time."""
    signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT[0])
    try:
        return judge(before, after, seeds)
    except (TooLong, MemoryError) as problem:
        return {"verdict": "refused", "why": f"{LIMIT[0]} s" if isinstance(problem, TooLong) else "memory", "op": None, "line": None}
    finally:
        signal.alarm(0)


def ask(retile, before, text):
    """What the program says, as the second evaluator does: `verdict`, and its own answer."""
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
        file.write(text)
        file.flush()
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [retile, "validate", str(before), file.name, "--json"], capture_output=True, text=True, check=False, timeout=LIMIT[0]
            )
        except subprocess.TimeoutExpired:
            return {"verdict": "undecided", "said": f"{LIMIT[0]} s", "seconds": LIMIT[0]}
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = (done.stdout + done.stderr)[-400:]
    return {"verdict": SAID.get(done.returncode, "failed"), "said": said, "seconds": round(time.monotonic() - begin, 3)}


def pairs_in(folders):
    found = {path.parent for folder in folders for path in folder.rglob("before.hlo") if (path.parent / "after.hlo").exists()}
    return sorted(found, key=lambda folder: ((folder / "after.hlo").stat().st_size, folder))


def is_right(folder, before, after, retile):
    """Whether both hold a pair for right as it stands; says why where not."""
    said = {"second": second_opinion(before, after, 3)}
    if retile:
        said["retile"] = ask(retile, folder / "before.hlo", after)
    for name, one in said.items():
        if one["verdict"] != "right":
            print(f"{folder}: left out, as {name} says: {json.dumps(one)[:300]}", flush=True)
    return all(one["verdict"] == "right" for one in said.values())


class Count:
    def __init__(self):
        self.table, self.differ, self.made = defaultdict(Counter), 0, 0

    def add(self, record):
        """Counts one changed module; says whether only one of the two calls it wrong."""
        second, first = record["second"]["verdict"], record.get("retile", {}).get("verdict")
        self.made += 1
        self.table[record["kind"]][second, first] += 1
        contrary = first is not None and ((second == "wrong") != (first == "wrong") and second != "refused" or first == "failed")
        self.differ += contrary
        return contrary

    def show(self):
        columns = sorted({key for row in self.table.values() for key in row}, key=str)
        print("kind".ljust(22) + "".join(("/".join(filter(None, column))).rjust(18) for column in columns))
        for kind in KINDS:
            if kind in self.table:
                print(kind.ljust(22) + "".join(str(self.table[kind][column] or "").rjust(18) for column in columns))
        total = sum((row for row in self.table.values()), Counter())
        print("all".ljust(22) + "".join(str(total[column]).rjust(18) for column in columns))


def known_of(path):
    """The records of earlier campaigns, by their pair."""
    found = defaultdict(list)
    if path and path.exists():
        for record in map(json.loads, path.read_text().splitlines()):
            found[record["pair"]].append(record)
    return found


def plant_some(folder, given, count, records):
    """As many mistakes in one module as are asked for, no two alike."""
    before, after = (folder / "before.hlo").read_text(), (folder / "after.hlo").read_text()
    try:
        module = whole_text.read(after)
    except Refusal as problem:
        print(f"{folder}: left out: {problem.why}", flush=True)
        return
    if not is_right(folder, before, after, given.retile):
        return
    seen = set()
    for number in range(given.each):
        kind = given.kind[number % len(given.kind)] if given.kind else None
        made = plant(after, f"{given.seed} {folder.name} {number}", kind, module)
        if made is None or made[0] in seen:
            continue
        seen.add(made[0])
        record = {"pair": str(folder), "number": number, **made[1], "second": second_opinion(before, made[0], 3)}
        if record["second"]["verdict"] == "right":
            record["second"] = second_opinion(before, made[0], 12)
        if given.retile:
            record["retile"] = ask(given.retile, folder / "before.hlo", made[0])
        contrary = count.add(record)
        if records:
            records.write(json.dumps(record) + "\n")
            records.flush()
        if contrary:
            print(
                f"{folder} {number} {record['kind']} {record['instruction']}: {record['retile']['verdict']}, and the second evaluator {record['second']['verdict']}"
            )
            print(f"  {record['old']}\n  {record['new']}", flush=True)
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{folder.parent.name}.{folder.name}.{number}.{record['kind']}.hlo").write_text(made[0])


def ask_again(retile, paths, count):
    """Of every mistake that was recorded, planted anew."""
    changed = []
    for path in paths:
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:
            folder = Path(record["pair"])
            after = (folder / "after.hlo").read_text()
            text, facts = plant(after, f"{path.stem} {folder.name} {record['number']}", None, whole_text.read(after))
            if facts["new"] != record["new"]:
                raise ValueError(f"{folder} {record['number']}: another mistake than was recorded")
            record["retile"] = ask(retile, folder / "before.hlo", text)
            count.add(record)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        changed += records
    return changed


def short(record):
    first, second = record["retile"], record["second"]
    said = first["said"] if isinstance(first["said"], dict) else {"why": first["said"]}
    return {"program": "/".join(Path(record["pair"]).parts[-2:]), **{key: record[key] for key in ("number", "kind", "instruction", "new")},
            "retile": first["verdict"], "why": said.get("why"), "second": second["verdict"], "second_why": second.get("why")}


def write_figures(path, records):
    """The counts, and every mistake that not both call wrong, or right, a line each."""
    pairs = Counter(f"{one['retile']['verdict']}, second {one['second']['verdict']}" for one in records)
    head = json.dumps({"schema": "retile.peers-mistakes/1", "mistakes": len(records), "modules": len({one["pair"] for one in records}),
                       "kinds": len({one["kind"] for one in records}), "verdicts": dict(pairs.most_common())}, indent=1)
    others = [one for one in records if (one["retile"]["verdict"], one["second"]["verdict"]) not in (("wrong", "wrong"), ("right", "right"))]
    lines = ",\n".join("  " + json.dumps(short(one)) for one in others)
    path.write_text(f'{head[:-2]},\n "others": [\n{lines}\n ]\n}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--retile", help="the program retile")
    parser.add_argument("--alone", action="store_true", help="ask the second evaluator only")
    parser.add_argument("--each", type=int, default=12, help="mistakes in each module")
    parser.add_argument("--most", type=int, help="pairs, the smallest ones; otherwise all")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--limit", type=int, default=LIMIT[0], help="seconds for each answer")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only these kinds, by turns")
    parser.add_argument("--records", type=Path, nargs="+", help="a file for a line of JSON a mistake, named by the seed; with --again, several")
    parser.add_argument("--again", action="store_true", help="ask the program anew of what the records have")
    parser.add_argument("--results", type=Path, help="a file for the figures of all records, with --again")
    parser.add_argument("--keep", type=Path, help="a folder for modules that only one of the two calls wrong")
    given = parser.parse_args()
    if bool(given.retile) == given.alone:
        parser.error("say either --retile or --alone")
    LIMIT[0] = given.limit
    count, begin = Count(), time.monotonic()
    if given.again:
        done = ask_again(given.retile, given.records, count)
        if given.results:
            write_figures(given.results, done)
    path = given.records[0] if given.records else None
    known = known_of(None if given.again else path)
    for record in sum(known.values(), []):
        count.add(record)
    records = path.open("a") if path and not given.again else None
    for folder in pairs_in(given.folders)[: given.most]:
        if time.monotonic() - begin > given.seconds:
            break
        if str(folder) not in known:
            plant_some(folder, given, count, records)
    count.show()
    print(f"{count.made} mistakes, {count.differ} that only one of the two calls wrong, {time.monotonic() - begin:.0f} s")
    return 1 if count.differ else 0


if __name__ == "__main__":
    sys.exit(main())
