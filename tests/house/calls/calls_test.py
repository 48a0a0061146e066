#!/usr/bin/env python3
"""Makes the recorded calls again and demands the recorded answers, byte for byte; changed.jsonl has what is meant to differ.

    calls_test.py --bin DIR [--jobs 2] [--only REGEX] [--write-changed]

README.md says how changed.jsonl is written.
"""

import argparse
import collections
import difflib
import json
import os
import re
import sys
import time

import calls as recorded_calls
import record
from calls import HERE

LEAST_CALLS = 2000  # of retile, without those of the oracle alone
SHOWN = 8  # differences that are shown in full
FIELDS = {"id", "ids", "match", "reason", "old", "new", "expected"}


class Fault(Exception):
    """changed.jsonl, or the records, are not what they must be."""


# ---- What is meant to differ --------------------------------------------------------------------

def replaced(value, old, new):
    """The answer with every `old` replaced in its texts, and whether there was one."""
    if isinstance(value, str):
        return value.replace(old, new), old in value
    if isinstance(value, dict):
        done = {key: replaced(part, old, new) for key, part in value.items()}
        # What is known by its sum alone cannot be changed this way.
        return {key: part for key, (part, _) in done.items()}, any(found for _, found in done.values()) and "sha256" not in value
    return value, False


def changed_ids(entry, known):
    """The ids that an entry is about, all of them recorded ones."""
    names = [entry["id"]] if "id" in entry else entry.get("ids")
    if not isinstance(names, list) or not names or ("id" in entry) == ("ids" in entry):
        raise Fault(f"an entry has either one id or a list of ids: {entry}")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Fault(f"changed.jsonl names calls that are not recorded: {', '.join(unknown)}")
    if len(set(names)) < len(names):
        raise Fault(f"an entry names an id twice: {entry}")
    if "match" in entry and sorted(name for name in known if re.fullmatch(entry["match"], name)) != sorted(names):
        raise Fault(f"the ids of an entry are not those that match {entry['match']}")
    return names


def apply_changes(expected, entries):
    """id -> answer, with the deliberate differences."""
    out, whole = dict(expected), {}
    for entry in entries:
        names = changed_ids(entry, expected)
        if set(entry) - FIELDS:
            raise Fault(f"fields that an entry does not have: {', '.join(sorted(set(entry) - FIELDS))}")
        if not str(entry.get("reason", "")).strip():
            raise Fault(f"the change of {names[0]} has no reason")
        if ("expected" in entry) == ("old" in entry and "new" in entry):
            raise Fault(f"the change of {names[0]} has either the new answer, or old and new")
        for name in names:
            if name in whole and (whole[name] or "expected" in entry):
                raise Fault(f"{name} is changed by several entries")
            whole[name] = "expected" in entry
            if "expected" in entry:
                out[name] = entry["expected"]
                continue
            answer = {key: replaced(value, entry["old"], entry["new"]) for key, value in out[name].items()}
            if not any(found for _, found in answer.values()):
                raise Fault(f"the answer of {name} has no {entry['old']!r}")
            out[name] = {key: value for key, (value, _) in answer.items()}
    stale = [name for name in whole if out[name] == expected[name]]
    if stale:
        raise Fault(f"changed.jsonl changes nothing of {', '.join(stale)}")
    return out


# ---- The records --------------------------------------------------------------------------------

def check_records(calls, folder):
    """The records are complete and as they were written."""
    count = sum(recorded_calls.is_retile_call(call) for call in calls)
    if count < LEAST_CALLS:
        raise Fault(f"only {count} calls of retile are recorded")
    with open(os.path.join(folder, record.SUMS), encoding="utf-8") as file:
        written = json.load(file)["files"]
    if written != record.sums(folder):
        raise Fault(f"the .jsonl files are not those of {record.SUMS}: deliberate changes belong into changed.jsonl")
    defined = {name: call for by_id in record.defined().values() for name, call in by_id.items()}
    recorded = {call["id"]: record.question(call) for call in calls}
    for name in sorted(defined.keys() | recorded.keys()):
        if defined.get(name) != recorded.get(name):
            raise Fault(f"{name} is defined as {defined.get(name)}, recorded as {recorded.get(name)}")


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of retile and retile-oracle")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression of ids")
    parser.add_argument("--write-changed", action="store_true",
        help="write entries for all differences, whose reasons are to be filled in")
    parser.add_argument("--calls", default=HERE, help="folder of the records, for the control")
    given = parser.parse_args()
    start = time.monotonic()
    bin_folder = os.path.abspath(given.bin)
    changes = os.path.join(given.calls, "changed.jsonl")
    try:
        calls = recorded_calls.recorded(given.calls)
        if os.path.samefile(given.calls, HERE) or os.path.exists(os.path.join(given.calls, record.SUMS)):
            check_records(calls, given.calls)
        entries = recorded_calls.read_lines(changes) if os.path.exists(changes) else []
        wanted = apply_changes({call["id"]: call["expected"] for call in calls}, entries)
    except Fault as fault:
        print(f"error: {fault}")
        sys.exit(1)

    abilities = recorded_calls.abilities(bin_folder)
    meant = [call for call in calls if re.search(given.only, call["id"])]
    skipped = [call for call in meant if set(call.get("needs", ())) - abilities]
    made = [call for call in meant if not set(call.get("needs", ())) - abilities]
    answers = recorded_calls.replay(made, bin_folder, given.jobs)
    differing = [call for call in made if answers[call["id"]] != wanted[call["id"]]]
    for call in differing[:SHOWN]:
        print(difference(call, wanted[call["id"]], answers[call["id"]]))
    for call in differing[SHOWN:]:
        print("also differs:", call["id"])
    lacking = collections.Counter(", ".join(sorted(set(call["needs"]) - abilities)) for call in skipped)
    for what, count in sorted(lacking.items()):
        print(f"skipped: {count} calls, which need {what}")
    print(f"{len(made)} calls, {len(differing)} differ, {len(entries)} deliberate changes, {time.monotonic() - start:.1f} s")
    if given.write_changed and differing:
        names = {call["id"] for call in differing}
        kept = [entry for entry in entries if entry.get("id") not in names]
        kept += [{"id": call["id"], "reason": "", "expected": answers[call["id"]]} for call in differing]
        with open(changes, "w", encoding="utf-8") as file:
            file.writelines(recorded_calls.line_of(entry) for entry in kept)
        print(f"{changes} has entries for all of them; each needs a reason")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
