#!/usr/bin/env python3
"""Writes down what the programs answer to the calls that define/ lists: FILE.jsonl, and their sums in recorded.json.

    record.py --bin DIR --of NAME [--again] [--times 3] [--load] [--jobs 2] [--only REGEX]

DIR has the programs whose answers are right from now on, NAME says which they are. Calls that are recorded stay as they are;
--again records all anew. Each call is made several times, with --load once while other work keeps every processor busy; one whose
answers differ is not written, and named.
"""

import argparse
import hashlib
import importlib
import json
import os
import re
import subprocess
import sys

import calls as recorded_calls
from calls import HERE

# Which module defines the calls of which file.
FILES = {
    "usage": "of_usage",
    "notation": "of_notation",
    "plan": "of_plan",
    "lower": "of_lower",
    "check": "of_check",
    "prove": "of_prove",
    "run_sim": "of_run", "run_mpi": "of_mpi", "pipes": "of_pipes", "oracle": "of_oracle",
}
ORDER = ("id", "argv", "shell", "stdin", "env", "files", "streams", "needs", "progress")
SUMS = "recorded.json"


def defined():
    """file -> its calls by id, without answers."""
    out, seen = {}, set()
    for name, module in FILES.items():
        calls = {}
        for call in importlib.import_module("define." + module).calls():
            words = recorded_calls.words_of(call)
            needs = set(call.get("needs", ()))
            if "prove" in words and "retile" in words and "--help" not in words:
                needs.add("z3")
            call = {key: call[key] for key in ORDER if key in call and key != "needs"} | ({"needs": sorted(needs)} if needs else {})
            if call["id"] in seen:
                raise SystemExit(f"{call['id']} is defined twice")
            seen.add(call["id"])
            # As a file keeps it: lists in place of tuples.
            calls[call["id"]] = json.loads(json.dumps({key: call[key] for key in ORDER if key in call}))
        out[name] = calls
    return out


def question(call):
    return {key: value for key, value in call.items() if key != "expected"}


def sums(folder):
    """What recorded.json says of the files: how many calls, and their SHA-256."""
    out = {}
    for path in recorded_calls.data_files(folder):
        with open(path, "rb") as file:
            content = file.read()
        out[os.path.basename(path)] = {"calls": content.count(b"\n"), "sha256": hashlib.sha256(content).hexdigest()}
    return out


def with_load(work):
    """Calls `work` while other processes keep all processors busy, two each."""
    idlers = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        return work()
    finally:
        for idler in idlers:
            idler.kill()
            idler.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of retile and retile-oracle")
    parser.add_argument("--of", required=True, help="which programs these are, such as a commit")
    parser.add_argument("--again", action="store_true", help="also calls that are recorded")
    parser.add_argument("--times", type=int, default=3, help="how often each call is made")
    parser.add_argument("--load", action="store_true", help="the last time while other work goes on")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression of ids")
    given = parser.parse_args()
    folder = os.path.abspath(given.bin)
    there = {call["id"]: call for call in recorded_calls.recorded()}
    defined_calls = defined()
    abilities = recorded_calls.abilities(folder)
    asked = []
    for calls in defined_calls.values():
        for name, call in calls.items():
            if name in there and question(there[name]) != call and not given.again:
                raise SystemExit(f"{name} is recorded with other words: {question(there[name])}")
            if re.search(given.only, name) and (name not in there or given.again):
                lacking = set(call.get("needs", ())) - abilities
                if lacking:
                    raise SystemExit(f"{name} needs {', '.join(sorted(lacking))}")
                asked.append(call)

    answers, unstable = None, {}
    for time in range(given.times):
        def make_all():
            return recorded_calls.replay(asked, folder, given.jobs)

        now = with_load(make_all) if given.load and time == given.times - 1 else make_all()
        for name, answer in now.items():
            if answers is not None and answer != answers[name]:
                unstable[name] = (answers[name], answer)
        answers = answers or now
        print(f"made {len(now)} calls", file=sys.stderr)
    for name, pair in unstable.items():
        print(f"not written, its answers differ: {name}\n  {pair[0]}\n  {pair[1]}", file=sys.stderr)

    for file, calls in defined_calls.items():
        lines = []
        for name in sorted(calls):
            if name in answers and name not in unstable:
                lines.append(recorded_calls.line_of({**calls[name], "expected": answers[name]}))
            elif name in there and name not in answers:
                lines.append(recorded_calls.line_of(there[name]))
        with open(os.path.join(HERE, file + ".jsonl"), "w", encoding="utf-8") as output:
            output.write("".join(lines))
    with open(os.path.join(HERE, SUMS), "w", encoding="utf-8") as output:
        json.dump({"of": given.of, "files": sums(HERE)}, output, indent=2)
        output.write("\n")
    sys.exit(1 if unstable else 0)


if __name__ == "__main__":
    main()
