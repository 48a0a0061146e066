#!/usr/bin/env python3
"""Counts the test cases in a JUnit file that ctest wrote, also those inside GoogleTest and Python unittest programs.

    count_tests.py FILE

First line: passed failed skipped, as numbers. Then one line for each that did not pass: `failed NAME` or `skipped NAME`.
A ctest entry without such output counts as one case.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

CASES = {
    "passed": re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE),
    "failed": re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.MULTILINE),
    "skipped": re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below", re.MULTILINE),
}
LISTED = re.compile(r"^\[  (FAILED |SKIPPED) \] ([\w./]+)(?:, where .*)?$", re.MULTILINE)
DISABLED = re.compile(r"YOU HAVE (\d+) DISABLED TEST")
UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\n+(?:OK|FAILED)(?: \((.*)\))?$", re.MULTILINE)


def count_unittest(output):
    """The numbers of the last summary that Python's unittest printed, or None."""
    summaries = UNITTEST.findall(output)
    if not summaries:
        return None
    ran, details = summaries[-1]
    numbers = {"passed": 0, "failed": 0, "skipped": 0}
    for kind, number in re.findall(r"([\w ]+)=(\d+)", details):
        numbers["skipped" if kind.strip() == "skipped" else "failed"] += int(number)
    numbers["passed"] = max(0, int(ran) - numbers["failed"] - numbers["skipped"])
    return numbers


def count(case):
    """(passed, failed, skipped) of one ctest entry, and lines about what did not pass."""
    name = case.get("name")
    outcome = {"run": "passed", "notrun": "skipped", "disabled": "skipped"}.get(case.get("status"), "failed")
    reason = case.find("skipped")
    if case.get("status") == "notrun" and (reason is None or not reason.get("message", "").startswith("SKIP_")):
        outcome = "failed"  # a program that could not be started
    output = case.findtext("system-out") or ""
    numbers = {key: sum(int(n) for n in pattern.findall(output)[-1:]) for key, pattern in CASES.items()}
    if sum(numbers.values()) == 0:
        numbers = count_unittest(output) or numbers
    lines = []
    if outcome == "failed" and numbers["failed"] == 0:
        numbers["failed"] = 1  # crashed, timed out, or failed outside a case
        lines.append(f"failed {name}")
    elif sum(numbers.values()) == 0:
        numbers[outcome] = 1
        if outcome != "passed":
            lines.append(f"{outcome} {name}")
    if "[==========]" in output:
        summary = output[output.rindex("[==========]") :]
        for kind, listed in LISTED.findall(summary):
            lines.append(f"{kind.strip().lower()} {name}: {listed}")
        if match := DISABLED.search(summary):
            numbers["skipped"] += int(match.group(1))
            lines.append(f"skipped {name}: {match.group(1)} disabled")
    return numbers, lines


def main():
    total = {"passed": 0, "failed": 0, "skipped": 0}
    lines = []
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        numbers, about = count(case)
        for key in total:
            total[key] += numbers[key]
        lines += about
    print(total["passed"], total["failed"], total["skipped"])
    for line in lines:
        print(line)


if __name__ == "__main__":
    main()
