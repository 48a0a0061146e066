#!/usr/bin/env python3
"""The recorded run of the campaign: every kind with a program of its own, two at a time, in one JSON file.

    record.py run PROGRAM FILE [--seconds S] [--jobs N] [--cases F] [--seed N] [--save DIR]
    record.py replace FILE RESULT COMMIT
                                   puts what retile-campaign --json of that commit printed in the place of the same kinds
    record.py document FILE PAGE   writes what the run counted into its place in docs/ledger/campaign.md
    record.py missing FILE         what the run was to count and did not; ends with 1 when there is something

With --seconds the run ends after that time, and what it has counted by then counts. --cases 0.001 asks for a thousandth of
everything.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

# Kinds that one program draws together, cases of each, cases in each stratum, and their share of a limited time.
PARTS = [
    (["prove"], 1e5, 1e5, 7),
    (["weak", "opt", "bound", "optimal", "certificate"], 1e5, 1e5, 5),
    (["exchange", "moved"], 1e5, 1e5, 4),
    (["verdict"], 1.02e7, 1e5, 3),
    (["rule", "rule-fig8"], 1.4e7, 1e5, 3),
    (["well-formedness"], 2.2e7, 1e5, 2),
    (["text"], 2e7, 1e5, 3),
    (["step-offset"], 1.2e7, 1e5, 2),
    (["offset"], 8e6, 1e5, 2),
]
RULES_AND_OFFSETS = ["rule", "rule-fig8", "offset", "step-offset"]
KINDS = ["rule", "rule-fig8", "well-formedness", "offset", "step-offset", "weak", "opt", "bound", "optimal", "certificate",
         "verdict", "exchange", "moved", "prove", "text"]
STRATA = ["permutation", "over-partitioned", "primes", "transshipment", "moves", "devices", "rank", "wrong"]
LEAST_TOTAL = 1e8
LEAST = {"verdict": 1e7}
# OPT beyond 24 devices is by counting; nothing else is asked of it by stratum.
LEAST_IN_STRATUM = {"opt": {"devices": 1e3}}
EACH = 1e5
MARKS = ("<!-- table: run -->", "<!-- end -->")


class Clock:
    """Hands every part its share of the time that is left to the parts not yet started."""

    def __init__(self, seconds, jobs):
        self.end = time.monotonic() + seconds if seconds else None
        self.jobs = jobs
        self.shares = sum(part[3] for part in PARTS)
        self.lock = Lock()

    def limit(self, share):
        if self.end is None:
            return None
        with self.lock:
            left = max(self.end - time.monotonic(), 1)
            seconds = min(left, left * self.jobs * share / max(self.shares, share))
            self.shares -= share
            return seconds


def run_part(arguments, clock, number):
    kinds, cases, each, share = PARTS[number]
    command = [arguments.program, "--json", "--seed", str(arguments.seed), "--cases", f"{cases * arguments.cases:.0f}",
               "--each", f"{each * arguments.cases:.0f}"]
    for kind in kinds:
        command += ["--kind", kind]
    seconds = clock.limit(share)
    if seconds is not None:
        command += ["--seconds", f"{seconds:.0f}"]
    if arguments.save:
        command += ["--save", arguments.save]
    log = Path(arguments.file + f".part{number}.log")
    with log.open("w", encoding="utf-8") as errors:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}; see {log}")
    part = json.loads(done.stdout)
    if part["differences"] == 0:
        log.unlink()
    print(f"{' '.join(kinds)}: {part['cases']} cases, {part['differences']} differences, {part['seconds']} s", file=sys.stderr)
    return part


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def merged(parts):
    kinds = {}
    for part in parts:
        kinds.update(part["kinds"])
    return {kind: kinds[kind] for kind in KINDS if kind in kinds}


def commit():
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def run(arguments):
    start, clock = time.time(), Clock(arguments.seconds, arguments.jobs)
    built_from = commit()  # not of what is committed while it runs
    with ThreadPoolExecutor(arguments.jobs) as pool:
        parts = list(pool.map(lambda number: run_part(arguments, clock, number), range(len(PARTS))))
    record = {
        "schema": "retile.campaign.record/1",
        "date": time.strftime("%Y-%m-%d", time.gmtime(start)),
        "commit": built_from,
        "seed": arguments.seed,
        "processor": processor(),
        "processors": os.cpu_count(),
        "programs_at_a_time": arguments.jobs,
        "seconds": round(time.time() - start),
        "parts": [],
        "kinds": {},
    }
    for part in parts:
        put(record, part, built_from)
    write(record, arguments.file)
    return 1 if record["differences"] else 0


def put(record, result, built_from):
    """What a program counted, in the place of what one of the same kinds had."""
    own = set(result["kinds"])
    record["parts"] = [part for part in record["parts"] if not own & set(part["kinds"])]
    record["parts"].append({"kinds": list(result["kinds"]), "commit": built_from, "seconds": result["seconds"],
                            "processor_seconds": result["processor_seconds"]})
    record["kinds"] = merged([record, result])
    for name in ("cases", "differences"):
        record[name] = sum(count[name] for count in record["kinds"].values())
    record["processor_seconds"] = sum(part["processor_seconds"] for part in record["parts"])


def write(record, file):
    Path(file).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def row(cells):
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |"


def head(cells):
    return [row(cells), "|" + "---|" * len(cells)]


def tables(record):
    """By kind, then by stratum."""
    columns = ["cases", "enumerated", "trivial", "refused", "open", "differences"]
    lines = head(["Kind", "Cases", "of these enumerated", "trivial", "both refuse", "open", "differences"])
    for kind, count in record["kinds"].items():
        lines.append(row([kind] + [count[column] for column in columns]))
    lines += [row(["total"] + [sum(count[column] for count in record["kinds"].values()) for column in columns]), ""]
    lines += head(["Kind"] + STRATA)
    for kind, count in record["kinds"].items():
        lines.append(row([kind] + [count["strata"].get(stratum, "") for stratum in STRATA]))
    return lines


def section(record):
    """What docs/ledger/campaign.md says of the run, between its marks."""
    lines = [
        f"{record['date']}, `scripts/campaign`, commit {record['commit'][:7]}, seed {record['seed']}, "
        f"{record['programs_at_a_time']} programs at a time.",
        f"Machine: {record['processor']}, {record['processors']} processors, shared with other work.",
        f"It took {record['seconds']:,} seconds, and {record['processor_seconds']:,} seconds of processor time.",
        f"There were {record['differences']:,} differences.",
    ]
    for part in record["parts"]:
        if part.get("commit", record["commit"]) != record["commit"]:
            names = " and ".join(part["kinds"])
            lines.append(f"The cases of {names} were counted again with commit {part['commit'][:7]}, "
                         f"in {part['seconds']:,} seconds.")
    lines.append("")
    lines += tables(record)
    absent = len(missing(record))
    if absent:
        lines += [
            "",
            f"The recorded run is to have {LEAST_TOTAL:,.0f} cases, {LEAST['verdict']:,.0f} verdicts, and {EACH:,.0f} cases",
            f"of each kind in each stratum. This one was stopped before: {absent} of these numbers are not reached.",
            "`python3 tests/house/campaign/record.py missing bench/results/campaign.json` lists them.",
        ]
    return "\n".join(lines) + "\n"


def with_section(page, record):
    before, rest = page.split(MARKS[0])
    return before + MARKS[0] + "\n" + section(record) + MARKS[1] + rest.split(MARKS[1], 1)[1]


def missing(record):
    """What the run was to count and did not, a line each."""
    kinds, out = record["kinds"], []
    if record["differences"]:
        out.append(f"{record['differences']:,} differences")
    if record["cases"] < LEAST_TOTAL:
        out.append(f"{record['cases']:,} cases of {LEAST_TOTAL:,.0f}")
    rules = sum(kinds[kind]["cases"] for kind in RULES_AND_OFFSETS if kind in kinds)
    if rules * 2 > record["cases"]:
        out.append(f"rules and offsets are {rules:,} of {record['cases']:,} cases")
    for kind in KINDS:
        if kind not in kinds:
            out.append(f"{kind}: no case")
            continue
        count, least = kinds[kind], LEAST.get(kind, EACH)
        if count["cases"] < least:
            out.append(f"{kind}: {count['cases']:,} cases of {least:,.0f}")
        for stratum, cases in count["strata"].items():
            least = LEAST_IN_STRATUM.get(kind, {}).get(stratum, 0 if kind in LEAST_IN_STRATUM else EACH)
            if stratum in STRATA and cases < least:
                out.append(f"{kind}, {stratum}: {cases:,} cases of {least:,.0f}")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs = verbs.add_parser("run")
    runs.add_argument("program")
    runs.add_argument("file")
    runs.add_argument("--seconds", type=float)
    runs.add_argument("--jobs", type=int, default=2)
    runs.add_argument("--cases", type=float, default=1)
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("--save")
    for verb in ("document", "missing"):
        verbs.add_parser(verb).add_argument("file")
    verbs.choices["document"].add_argument("page")
    replaces = verbs.add_parser("replace")
    for name in ("file", "result", "commit"):
        replaces.add_argument(name)
    arguments = parser.parse_args()
    if arguments.verb == "run":
        return run(arguments)
    record = json.loads(Path(arguments.file).read_text(encoding="utf-8"))
    if arguments.verb == "replace":
        put(record, json.loads(Path(arguments.result).read_text(encoding="utf-8")), arguments.commit)
        write(record, arguments.file)
        return 1 if record["differences"] else 0
    if arguments.verb == "document":
        page = Path(arguments.page)
        page.write_text(with_section(page.read_text(encoding="utf-8"), record), encoding="utf-8")
        return 0
    lines = missing(record)
    print("\n".join(lines) if lines else "nothing is missing")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
