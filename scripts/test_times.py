#!/usr/bin/env python3
"""Where the minutes of scripts/test went, and whether the tests of a label take longer than they should.

    test_times.py run TIMES STAGE STEP COMMAND..       runs the command, ends as it ends, and adds a line about it to the file TIMES
    test_times.py labels TIMES STAGE JUNIT LISTING     the seconds of each label; ends with 1 where one takes too long
    test_times.py table TIMES                          wall and processor seconds of every step
    test_times.py yardstick                            the seconds of a fixed piece of work, five times

JUNIT is what `ctest --output-junit` wrote, LISTING what `ctest --show-only=json-v1` prints. docs/dev/tests.md defines the seconds
and the budgets.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# Two-core seconds that the tests of a label may take in one stage; a run fails from TOLERANCE times as many on.
BUDGETS = {
    "unit": 100, "property": 42, "exhaustive": 38, "proof": 24, "kernel": 70, "mpi": 72, "gpu": 60, "cli": 85, "house": 15, "python": 20}
TOLERANCE = 1.5
CORES = 2
# So many entries run at once for each processor: many wait for ends and deadlines.
SLOTS = 2

# What `yardstick` takes on the machine that the budgets were measured on.
YARDSTICK_SECONDS = 0.2


def busy_seconds():
    """Processor seconds that all processes of the machine have used; what the host took from a virtual machine counts as used."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def yardstick():
    """Wall seconds of a fixed piece of work."""
    began = time.monotonic()
    table = {}
    for number in range(600_000):
        key = number * 2654435761 & 0xFFFFF
        table[key] = table.get(key, 0) + number
    sorted(table.items(), key=lambda item: item[1])
    return time.monotonic() - began


def slowness(command=(sys.executable, __file__, "yardstick")):
    """How many times as long as on the machine of the budgets work takes here now, all cores busy; 1 where it takes less.
    The command prints seconds."""
    at_once = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(CORES)]
    seconds = [float(line) for each in at_once for line in each.communicate()[0].split()]
    return max(1.0, statistics.median(seconds) / YARDSTICK_SECONDS)


def run(times, stage, step, command):
    slow = [slowness()] if step == "test" else []
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    began, busy = time.monotonic(), busy_seconds()
    code = subprocess.run(command, check=False).returncode
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime
    others = min(1.0, max(0.0, busy_seconds() - busy - cpu) / max(wall * os.cpu_count(), 1e-9))
    line = {"stage": stage, "step": step, "wall": wall, "cpu": cpu, "others": others}
    if slow:  # a machine may become slow or quick meanwhile
        line["slowness"] = (slow[0] + slowness()) / 2
    with open(times, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return code if code >= 0 else 128 - code


def read_times(times):
    return [json.loads(line) for line in Path(times).read_text(encoding="utf-8").splitlines()]


def properties_of(listing):
    """Entry -> (its label, how many entries it counts for). The label of an entry is its first."""
    out = {}
    for test in json.loads(Path(listing).read_text(encoding="utf-8"))["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        out[test["name"]] = ((properties.get("LABELS") or ["none"])[0], int(properties.get("PROCESSORS", 1)))
    return out


def seconds_by_label(junit, properties, others, cores):
    """Label -> two-core seconds: wall time, times the share of the entries that can run at once which it takes; without what
    other programs of the machine took."""
    out = {}
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        label, slots = properties[case.get("name")]
        seconds = float(case.get("time") or 0) * min(slots, SLOTS * cores) / (SLOTS * CORES) * (1 - others)
        out[label] = out.get(label, 0.0) + seconds
    return out


def judge(seconds, factor=1.0):
    """(label, seconds, budget, whether it is kept), the longest first. A label without a budget keeps it."""
    out = []
    for label in sorted(seconds, key=seconds.get, reverse=True):
        budget = BUDGETS.get(label, float("inf")) * factor
        out.append((label, seconds[label], budget, seconds[label] <= TOLERANCE * budget))
    return out


def labels(times, stage, junit, listing):
    steps = [each for each in read_times(times) if each["stage"] == stage and each["step"] == "test"]
    others = steps[-1]["others"] if steps else 0.0
    slow = steps[-1].get("slowness", 1.0) if steps else 1.0
    found = seconds_by_label(junit, properties_of(listing), others, os.cpu_count())
    verdicts = judge(found, slow)
    for label, seconds, budget, kept in verdicts:
        print(f"{'kept' if kept else 'exceeded':8} {label:10} {seconds:6.1f} s of {budget:.0f} s")
    if others > 0.05:
        print(f"others   took {100 * others:.0f} % of the processors, which is not counted")
    if slow > 1.05:
        print(f"slow     fixed work takes {slow:.2f} times as long here as where the budgets were measured; so they are larger")
    return 0 if all(kept for *_, kept in verdicts) else 1


def table(times):
    steps = read_times(times)
    print("stage       configure     build      test   CPU seconds of all three")
    for stage in dict.fromkeys(each["stage"] for each in steps):
        of_stage = [each for each in steps if each["stage"] == stage]
        wall = {step: sum(each["wall"] for each in of_stage if each["step"] == step) for step in ("configure", "build", "test")}
        cpu = sum(each["cpu"] for each in of_stage)
        print(f"{stage:10} {wall['configure']:8.0f} s {wall['build']:7.0f} s {wall['test']:7.0f} s {cpu:7.0f} s")
    wall, cpu = sum(each["wall"] for each in steps), sum(each["cpu"] for each in steps)
    print(f"{'all':10} {wall / 60:6.1f} minutes; {cpu:.0f} CPU seconds, or {cpu / 60 / CORES:.1f} minutes of two cores")
    return 0


def main():
    verb, *arguments = sys.argv[1:] or ["--help"]
    if verb == "yardstick" and not arguments:
        print(*(yardstick() for _ in range(5)))
        return 0
    if verb == "run" and len(arguments) > 3:
        return run(*arguments[:3], arguments[3:])
    if verb == "labels" and len(arguments) == 4:
        return labels(*arguments)
    if verb == "table" and len(arguments) == 1:
        return table(*arguments)
    print(__doc__, end="", file=sys.stdout if verb in ("--help", "-h") else sys.stderr)
    return 0 if verb in ("--help", "-h") else 2


if __name__ == "__main__":
    sys.exit(main())
