#!/usr/bin/env python3
"""Runs every console example of docs/reference/errors.md and compares output and exit code.

    errors_doc_test.py --retile build/dev/bin/retile [--mpirun] docs/reference/errors.md
    errors_doc_test.py --retile .. --update docs/reference/errors.md      writes the true output into the document

An example is a ```console block: `$ ` begins a command, `> ` continues it, all other lines are what it prints on stdout and
stderr. The table of the page says the exit code of its last command. Examples that call mpirun themselves are left out without --mpirun.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def split(block):
    """[(command lines, output lines)] of a console block."""
    examples = []
    for line in block.splitlines():
        if line.startswith("$ "):
            examples.append(([line], []))
        elif line.startswith("> ") and examples and not examples[-1][1]:
            examples[-1][0].append(line)
        elif examples:
            examples[-1][1].append(line)
        else:
            raise SystemExit(f"output before the first command: {line}")
    return examples


def run(command, retile, directory):
    environment = dict(
        os.environ,
        PATH=os.path.dirname(retile) + os.pathsep + os.environ["PATH"],
        NO_COLOR="1",
        LC_ALL="C.UTF-8",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace").splitlines()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--retile", required=True)
    parser.add_argument("--mpirun", action="store_true", help="also run the examples that call mpirun")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("document")
    arguments = parser.parse_args()
    retile = os.path.abspath(arguments.retile)
    with open(arguments.document, encoding="utf-8") as file:
        text = file.read()

    failures = 0
    examples_run = 0
    left_out = 0
    out = ""
    codes = {row[1]: int(row[2]) for row in re.finditer(r"^\| \[`(\w+)`\]\(#\w+\) \|.*\| (\d) \|$", text, re.M)}
    for section in re.split(r"^(?=### )", text, flags=re.M):
        name = section.splitlines()[0].strip("# `") if section else ""

        def check(match, name=name):
            nonlocal failures, examples_run, left_out
            block = match.group(1)
            if "mpirun" in block and not arguments.mpirun:
                left_out += 1
                return match.group(0)
            lines = []
            code = None
            with tempfile.TemporaryDirectory() as directory:
                for command, expected in split(block):
                    code, printed = run("\n".join(line[2:] for line in command), retile, directory)
                    examples_run += 1
                    lines += command + printed
                    if printed != expected and not arguments.update:
                        failures += 1
                        print(f"{name}: {command[0]}\n  documented:", *expected, sep="\n    ")
                        print("  printed:", *printed, sep="\n    ")
            if codes.get(name) != code:
                failures += 1
                print(f"{name}: exit code {code}, the table says {codes.get(name)}")
            return "```console\n" + "".join(line + "\n" for line in lines) + "```"

        out += BLOCK.sub(check, section)

    if arguments.update:
        with open(arguments.document, "w", encoding="utf-8") as file:
            file.write(out)
    print(f"{examples_run} examples run, {left_out} left out, {failures} failures")
    return 0 if failures == 0 and examples_run > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
