#!/usr/bin/env python3
"""The sanitizers watch every room and the tests of spec/, whose code is all in headers.

    sanitizers_test.py NM --rooms LIBRARY.. --spec OBJECT.. --without OBJECT..

What is watched calls both sanitizers. The objects of --without are no room and, unless the tests are instrumented as well, call
none: they show that this test can fail. Rooms that this build did not need are left out.
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
    for part in ("--rooms", "--spec", "--without"):
        parser.add_argument(part, nargs="+", required=True)
    given = parser.parse_args()
    rooms = [file for file in given.rooms if Path(file).exists()]
    faults = [file for file in rooms + given.spec if called(given.nm, file) != set(SANITIZERS)]
    for file in faults:
        print(f"not watched: {file}")
    watched = [file for file in given.without if called(given.nm, file)]
    if len(watched) not in (0, len(given.without)):
        print("the objects of one test program are watched in part")
    print(f"{len(rooms)} rooms and {len(given.spec)} objects of spec/ are watched, {len(given.without) - len(watched)} others are not")
    return 1 if faults or len(rooms) < 10 or len(watched) not in (0, len(given.without)) else 0


if __name__ == "__main__":
    sys.exit(main())
