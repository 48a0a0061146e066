#!/usr/bin/env python3
"""The verdicts of `retile check` on every redistribute of the torch jobs that peers/run_jobs.py recorded, beside what was moved.

    peers/judge_jobs.py RETILE FOLDER [--results OUT] [--sample OUT]

Each trace is judged by a process of its own. `--results` gets the counts of every job and way of recording: how many verdicts, and
refusals by what is refused; how often the tiles that the ranks ended with are those that their placements say; and the times.
`--sample` gets one trace of each kind, the shortest, packed: kinds differ by their placements or by the operations of their ranks. Exit code 1
where a verdict says `right` and tiles differ, or `wrong` and they do not, or there is none.
"""

import argparse
import gzip
import json
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

VERDICTS = {0: "right", 1: "wrong", 2: "refused", 3: "undecided"}
CONTRARY = {("right", False), ("wrong", True)}


def verdict_of(retile, path):
    """The verdict, what was refused, and the seconds that it took."""
    began = time.perf_counter()
    done = subprocess.run([retile, "check", path], capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    word = VERDICTS.get(done.returncode, f"exit code {done.returncode}")
    why = re.sub(r"^error: .*?\.json:\d+: ", "", done.stderr.splitlines()[0]) if word in ("refused", "undecided") else None
    return word, why, took


def rows_of(retile, folder):
    for log in sorted(folder.glob("*/log.jsonl")):
        for one in map(json.loads, log.read_text().splitlines()):
            job, way = log.parent.name.rsplit(".", 1)
            row, path = {"job": job, "way": way, **one}, log.parent / f"{one['number']}.json"
            if path.exists():
                row["path"] = path
                row["verdict"], row["why"], row["seconds"] = verdict_of(retile, path)
            yield row


def kind_of(path):
    """What a redistribute is, without its sizes."""
    trace = json.loads(path.read_text())
    operations = [tuple(step["op"] for step in rank["operations"]) for rank in trace["ranks"]]
    words = [re.sub(r"\d{2,}", "n", word) for word in trace["from"] + ["to"] + trace["to"]]
    return json.dumps([words, trace["mesh"]["ranks"] == sorted(trace["mesh"]["ranks"]), sorted(set(operations))])


def sample(rows):
    """The shortest trace of each kind that has a verdict, of the real widths where these have it."""
    found = {}
    for row in rows:
        if row.get("verdict") in ("right", "wrong"):
            text = row["path"].read_text()
            rank = (row["way"] != "fake", len(text))
            at = kind_of(row["path"])
            if at not in found or rank < found[at][0]:
                found[at] = (rank, row["job"], text)
    return [text for _, _, text in sorted(found.values(), key=lambda one: (one[1], one[2]))]


def counts(rows):
    """The figures of one job, or of all."""
    bytes_seen = [row for row in rows if "verdict" in row and "bytes" in row]
    equal = [row["bytes"] == "equal" for row in bytes_seen]
    verdicts = Counter(row["verdict"] for row in rows if "verdict" in row)
    out = {"redistributes": len(rows), "not recorded": len(rows) - sum(verdicts.values()), **verdicts,
           "refusals": dict(Counter(row["why"] for row in rows if row.get("why"))), "compiled": sum(row["compiled"] for row in rows),
           "judged, percent": round(100 * (verdicts["right"] + verdicts["wrong"]) / len(rows), 2),
           "tiles equal": sum(equal), "tiles differ": len(equal) - sum(equal),
           "contrary": sum((row["verdict"], one) in CONTRARY for row, one in zip(bytes_seen, equal))}
    return {key: value for key, value in out.items() if value not in (0, {})}


def results(rows):
    times = sorted(1000 * row["seconds"] for row in rows if "seconds" in row)
    jobs, ways = {}, {}
    for row in rows:
        jobs.setdefault(f"{row['job']}.{row['way']}", []).append(row)
        ways.setdefault(row["way"], []).append(row)
    return {"schema": "retile.peers-jobs/1", "all": counts(rows), "ways": {name: counts(listed) for name, listed in ways.items()},
            "milliseconds": {"median": round(statistics.median(times), 1), "of 99 in 100": round(times[len(times) * 99 // 100], 1),
                             "most": round(times[-1], 1)},
            "jobs": {name: counts(listed) for name, listed in jobs.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("retile")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--sample", type=Path)
    given = parser.parse_args()
    rows = list(rows_of(given.retile, given.folder))
    for row in rows:
        if row.get("verdict") != "right":
            print("{job}.{way} {number}, {source}: {verdict}: {from} to {to} of {shape}".format(**{"verdict": "not recorded", **row}),
                  row.get("why") or row.get("raised") or row.get("disagree") or row.get("bytes", ""))
    found = results(rows)
    text = json.dumps(found, indent=1) + "\n"
    print(json.dumps({key: found[key] for key in ("all", "ways", "milliseconds")}, indent=1))
    if given.results:
        given.results.write_text(text)
    if given.sample:
        given.sample.write_bytes(gzip.compress("".join(sample(rows)).encode(), mtime=0))
    return 1 if found["all"].get("contrary") or found["all"].get("undecided") else 0


if __name__ == "__main__":
    sys.exit(main())
