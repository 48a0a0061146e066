#!/usr/bin/env python3
"""The sanitizers watch every room and the tests of spec/, whose code is all in headers.

    sanitizers_test.py NM --rooms LIBRARY.. --spec OBJECT.. [--without OBJECT..]

What is watched calls both sanitizers, the objects of --without call none: they show that this test can fail. Rooms that this build
did not need are left out.
"""

import argparse
import subprocess
import sys
from pathlib import Path

SANITIZERS = ("__asan_", "__ubsan_")


def called(nm, file):
    """The sanitizers that the code of an object or a library calls."""
    names = subprocess.run([nm, "--undefined-only", file], capture_output=True, text=True, check=True).stdout
    return {name for name in SANITIZERS if name + "report" in names or name + "handle" in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nm")
    for part in ("--rooms", "--spec"):
        parser.add_argument(part, nargs="+", required=True)
    parser.add_argument("--without", nargs="+", default=[])
    given = parser.parse_args()
    rooms = [file for file in given.rooms if Path(file).exists()]
    faults = [file for file in rooms + given.spec if called(given.nm, file) != set(SANITIZERS)]
    watched = [file for file in given.without if called(given.nm, file)]
    for fault in [f"not watched: {file}" for file in faults] + [f"watched: {file}" for file in watched]:
        print(fault)
    print(f"of {len(rooms)} rooms, {len(given.spec)} objects of spec/ and {len(given.without)} others, {len(faults) + len(watched)} are wrong")
    return 1 if faults or watched or len(rooms) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
