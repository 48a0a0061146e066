"""Measures with gcov how many lines of spec/ `retile-oracle certify` executes: less than 910.

usage: certify_lines_test.py COMPILER GCOV SPEC WORK

Measured are the certificates under tests/spec/oracle/certificates, which `retile plan` and `retile prove` have written, as they are and with every line
left out, doubled, and with every number of it changed, and what is undecided. Texts that cannot be read are not: what refuses them is the reader of
`check`. Lines are those that hold code in the eyes of gcov, of all files of spec/ together, each named by its path there.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

LIMIT = 925
COMPILER, GCOV = sys.argv[1:3]
SPEC, WORK = (os.path.abspath(word) for word in sys.argv[3:5])
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*words, **options):
    return subprocess.run(words, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False, **options)


def corruptions(text):
    """The certificate with one line changed."""
    lines = text.splitlines(keepends=True)
    for k, line in enumerate(lines):
        for change in ("", line + line):
            yield "".join([*lines[:k], change, *lines[k + 1:]])
        for number in re.finditer(r"\d+", line):
            for other in (int(number[0]) + 1, int(number[0]) * 2, max(int(number[0]) - 1, 0)):
                changed = line[:number.start()] + str(other) + line[number.end():]
                yield "".join([*lines[:k], changed, *lines[k + 1:]])


def executed_lines():
    """file of spec/ -> lines that were executed, lines with code."""
    for old in glob.glob(os.path.join(WORK, "*.gcov")):
        os.remove(old)
    done = run(GCOV, "-s", SPEC, "--relative-only", "--preserve-paths", *glob.glob(os.path.join(WORK, "*.gcda")))
    assert done.returncode == 0, done.stderr
    out = {}
    for name in glob.glob(os.path.join(WORK, "*.gcov")):
        lines = {}  # a line of a template stands there once for each instance
        with open(name, encoding="utf-8") as file:
            source = re.match(r" *-: *0:Source:(.*)\n", next(file))[1]
            for found in filter(None, (re.match(r" *([^ :]+): *([1-9]\d*):", line) for line in file)):
                if found[1] != "-":
                    lines[found[2]] = lines.get(found[2], False) or found[1][0].isdigit()
        assert os.path.exists(os.path.join(SPEC, source)) and source not in out, source
        out[source] = (sum(lines.values()), len(lines))
    return out


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    built = run(COMPILER, "-std=c++20", "-O0", "--coverage", "-o", "oracle", os.path.join(SPEC, "oracle", "main.cpp"))
    assert built.returncode == 0, built.stderr.decode()
    oracle = os.path.join(WORK, "oracle")
    codes = {0: 0, 1: 0, 2: 0, 3: 0}
    for path in sorted(glob.glob(os.path.join(HERE, "certificates", "*.txt"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        done = run(oracle, "certify", path)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"facts: 12" if path.endswith("/facts.txt") else b"optimal: true"), (path, done)
        codes[0] += 1
        for corrupted in corruptions(text):
            before = {name: open(name, "rb").read() for name in glob.glob(os.path.join(WORK, "*.gcda"))}
            done = run(oracle, "certify", input=corrupted.encode())
            codes[done.returncode] += 1
            if done.returncode == 2:  # does not count
                for name, content in before.items():
                    with open(name, "wb") as file:
                        file.write(content)
    too_large = b"retile.program/1\ndevices 2147483648\nfrom [1]\nto [1]\nlower_bound 0\nend\n"
    codes[run(oracle, "certify", input=too_large).returncode] += 1
    executed = executed_lines()
    for header, (count, of) in sorted(executed.items()):
        if count > 0:
            print(f"{header:26} {count:4} of {of:4} lines with code")
    total = sum(count for count, _ in executed.values())
    print(f"{codes[0]} certificates accepted, {codes[1]} refused, {codes[3]} undecided, {codes[2]} unreadable and not counted")
    print(f"{total} lines executed, less than {LIMIT}")
    assert codes[0] > 5 and codes[1] > 50 and codes[3] > 0, codes
    # A control: what is measured is a part, and the most of program/certify.h. Headers of one name are told apart.
    assert executed["program/certify.h"][0] > 0.9 * executed["program/certify.h"][1], executed["program/certify.h"]
    assert executed["search/tiles.h"][0] == 0 and total > 300
    assert all(executed[f"{folder}/{name}.h"][0] > 0 for folder in ("program", "oracle") for name in ("check", "certify")), executed
    assert total < LIMIT, total


if __name__ == "__main__":
    main()
