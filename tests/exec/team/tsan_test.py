#!/usr/bin/env python3
"""ThreadSanitizer over the shared-memory protocol: silent on the right one, a data race in every wrong one.

    tsan_test.py TSAN_TEAM RELAXED..

RELAXED: the right protocol over a Team whose memory orders are too weak. Prints a line per program, ends with 1 if one was not
judged as it should be.
"""

import os
import subprocess
import sys

RACE = 66  # ThreadSanitizer's exit code, asked for below
TRIES = 6  # whether a race is seen depends on how the threads happen to run; one that is there is seen sooner or later


def judge(command, race_wanted):
    environment = dict(os.environ, TSAN_OPTIONS=f"exitcode={RACE}:halt_on_error=1")
    for _ in range(TRIES if race_wanted else 1):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
        race = done.returncode == RACE and "WARNING: ThreadSanitizer: data race" in done.stderr
        if race:
            break
    good = race if race_wanted else done.returncode == 0 and "ThreadSanitizer" not in done.stderr
    found = "data race" if race else f"exit code {done.returncode}"
    print(f"{'ok    ' if good else 'FAILED'} {os.path.basename(command[0])} {command[1]}: {found}", flush=True)
    if not good:
        print(done.stdout + done.stderr)
    return good


def main():
    program, *relaxed = sys.argv[1:]
    flaws = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout.split()
    results = [judge([program, "none"], race_wanted=False)]
    results += [judge([program, flaw], race_wanted=True) for flaw in flaws]
    results += [judge([weak, "none"], race_wanted=True) for weak in relaxed]
    print(f"{len(flaws)} flaws and {len(relaxed)} weak orders, {results.count(False)} judged wrongly")
    return 0 if all(results) and len(flaws) >= 13 and relaxed else 1


if __name__ == "__main__":
    sys.exit(main())
