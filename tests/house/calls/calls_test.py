#!/usr/bin/env python3
"""Makes the recorded calls again and demands the recorded answers, byte for byte.

    calls_test.py --bin DIR [--jobs 2] [--only REGEX] [--but REGEX] [--write] [--times 3]

--write records what the programs in DIR answer now, where that differs; `git diff` then shows what users will notice, and the
message of the commit says why. It also records calls that define/ lists anew, and drops those that it lists no more. A call that
is written is made several times, the last time while other work keeps every processor busy. One whose answers differ is not
written, and named.
"""

import argparse
import collections
import difflib
import json
import os
import re
import subprocess
import sys
import time

import calls as recorded_calls
import definitions
from calls import HERE

LEAST_CALLS = 2000  # of retile, without those of the oracle alone
SHOWN = 8  # differences that are shown in full


# ---- The records --------------------------------------------------------------------------------

def fault_of(calls, defined):
    """What is wrong with the records; nothing where they are complete."""
    count = sum(recorded_calls.is_retile_call(call) for call in calls)
    if count < LEAST_CALLS:
        return f"only {count} calls of retile are recorded"
    recorded = {call["id"]: definitions.question(call) for call in calls}
    for name in sorted(defined.keys() | recorded.keys()):
        if defined.get(name) != recorded.get(name):
            return f"{name} is defined as {defined.get(name)}, recorded as {recorded.get(name)}; --write records it"
    return None


def with_load(work):
    """Calls `work` while other processes keep all processors busy, two each."""
    idlers = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        return work()
    finally:
        for idler in idlers:
            idler.kill()
            idler.wait()


def settled(calls, answers, bin_folder, jobs, times):
    """The answers of calls that answered alike every time; the others are named."""
    unstable = {}
    for number in range(1, times):
        def make_all():
            return recorded_calls.replay(calls, bin_folder, jobs)

        for name, answer in (with_load(make_all) if number == times - 1 else make_all()).items():
            if answer != answers[name]:
                unstable[name] = answer
    for name, answer in unstable.items():
        print(f"not written, its answers differ: {name}\n  {answers[name]}\n  {answer}")
    return {call["id"]: answers[call["id"]] for call in calls if call["id"] not in unstable}


def write(folder, by_file, records, answers):
    """Writes the records of each file: what was answered now, else what was recorded for the same words."""
    for file, calls in by_file.items():
        lines = []
        for name in sorted(calls):
            if name in answers:
                lines.append(recorded_calls.line_of({**calls[name], "expected": answers[name]}))
            elif name in records and definitions.question(records[name]) == calls[name]:
                lines.append(recorded_calls.line_of(records[name]))
        with open(os.path.join(folder, file + ".jsonl"), "w", encoding="utf-8") as output:
            output.write("".join(lines))


# ---- Comparing ----------------------------------------------------------------------------------

def shown(value):
    if isinstance(value, str):
        return value.splitlines(keepends=True)
    return [line + "\n" for line in json.dumps(value, indent=1).splitlines()]


def difference(call, wanted, got):
    """What differs, as a text for people."""
    words = " ".join(call["argv"]) if "argv" in call else call["shell"]
    out = [f"---- {call['id']}: {words[:300]}\n"]
    for field in ("code", "stdout", "stderr", "files"):
        if wanted.get(field) == got.get(field):
            continue
        lines = list(difflib.unified_diff(shown(wanted.get(field, "")), shown(got.get(field, "")), f"{field}, recorded",
            f"{field}, now"))
        out += [line if line.endswith("\n") else line + "\n\\ no line end\n" for line in lines[:60]]
    return "".join(out).encode("utf-8", "backslashreplace").decode()


def say_differences(calls, wanted, answers):
    for call in calls[:SHOWN]:
        print(difference(call, wanted[call["id"]], answers[call["id"]]))
    for call in calls[SHOWN:]:
        print("also differs:", call["id"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of retile and retile-oracle")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression of ids")
    parser.add_argument("--but", help="regular expression of ids that are left out")
    parser.add_argument("--write", action="store_true", help="record the answers that differ; git shows the difference")
    parser.add_argument("--times", type=int, default=3, help="how often a call is made before its answer is written")
    parser.add_argument("--calls", default=HERE, help="folder of the records, for the control")
    given = parser.parse_args()
    start = time.monotonic()
    bin_folder = os.path.abspath(given.bin)
    records = {call["id"]: call for call in recorded_calls.recorded(given.calls)}
    names = [os.path.basename(path).removesuffix(".jsonl") for path in recorded_calls.data_files(given.calls)]
    is_few = not set(names) <= set(definitions.FILES)  # for the control
    by_file = definitions.defined() if not is_few else {
        name: {call["id"]: definitions.question(call) for call in recorded_calls.read_lines(os.path.join(given.calls, name + ".jsonl"))}
        for name in names}
    defined = {name: call for calls in by_file.values() for name, call in calls.items()}
    fault = None if is_few or given.write else fault_of(records.values(), defined)
    if fault:
        print("error:", fault)
        sys.exit(1)

    abilities = recorded_calls.abilities(bin_folder)
    meant = [call for name, call in defined.items() if re.search(given.only, name) and not (given.but and re.search(given.but, name))]
    skipped = [call for call in meant if set(call.get("needs", ())) - abilities]
    made = [call for call in meant if not set(call.get("needs", ())) - abilities]
    answers = recorded_calls.replay(made, bin_folder, given.jobs)
    wanted = {call["id"]: records[call["id"]]["expected"] for call in made
              if call["id"] in records and definitions.question(records[call["id"]]) == call}
    differing = [call for call in made if call["id"] in wanted and answers[call["id"]] != wanted[call["id"]]]
    say_differences(differing, wanted, answers)
    lacking = collections.Counter(", ".join(sorted(set(call["needs"]) - abilities)) for call in skipped)
    for what, count in sorted(lacking.items()):
        print(f"skipped: {count} calls, which need {what}")
    new = [call for call in made if call["id"] not in wanted]
    print(f"{len(made)} calls, {len(differing)} differ, {len(new)} new, {time.monotonic() - start:.1f} s")
    if not given.write:
        sys.exit(1 if differing or new else 0)
    kept = settled(differing + new, answers, bin_folder, given.jobs, given.times)
    write(given.calls, by_file, records, kept)
    gone = len(records.keys() - defined.keys())
    print(f"{len(kept)} answers written, {gone} calls dropped: git diff shows them, and the message of the commit says why")
    sys.exit(1 if len(kept) < len(differing) + len(new) else 0)


if __name__ == "__main__":
    main()
