#!/usr/bin/env python3
"""The examples in C and Fortran are compiled as users would, without a warning, and run on four processes.

usage: examples_test.py SOURCE LIBRARY WORK

Each is spoiled, too, and must then say that it is wrong: what is compared is what was moved.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
RIGHT = "right: cost 196608, height 196608; 0 wrong"
MPIRUN = ["mpirun", "--oversubscribe", "-n", "4"]


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if (done.returncode == 0) != (code == 0):
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{' '.join(map(str, command))}\n{done.stdout[-3000:]}")
    return done.stdout


def main(source, library, work):
    source, library, work = Path(source), Path(library), Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    os.chdir(work)
    link = [library, f"-Wl,-rpath,{library.parent}"]
    headers = ["-I", source / "src"]
    text = (source / "examples/c/columns.c").read_text(encoding="ascii")
    kinds = {"columns": text, "spoiled": text.replace("before[i * columns + j] = (double)(", "before[i * columns + j] = 1 + (double)("),
             "refused": text.replace("[1024, 192{p}768]", "[1024, 192{q}768]")}
    for name, words in kinds.items():
        Path(f"{name}.c").write_text(words, encoding="ascii")
        run("mpicc", "-std=c99", *WARNINGS, *headers, f"{name}.c", *link, "-o", f"{name}_c")
    expect(RIGHT, run(*MPIRUN, "./columns_c"))
    expect("196608 wrong", run(*MPIRUN, "./spoiled_c", code=1))
    expect("no axis q", run(*MPIRUN, "./refused_c", code=1))

    if not shutil.which("mpifort"):
        print("left out: Fortran, as there is no mpifort")
        return
    module = source / "src/retile/c/mpi/retile.f90"
    probe = subprocess.run(["mpifort", "-std=f2018", *WARNINGS, "-c", module], text=True, capture_output=True)
    if probe.returncode != 0 and "mpi_f08" in probe.stderr:
        print("left out: Fortran, as this MPI has no mpi_f08 for its compiler")
        return
    if probe.returncode != 0:
        sys.exit(probe.stderr)
    text = (source / "examples/c/columns.f90").read_text(encoding="ascii")
    kinds = {"columns": text, "spoiled": text.replace("before(i, j) = element(i,", "before(i, j) = element(i + 1,"),
             "refused": text.replace("[768, 256{p}1024]", "[768, 256{q}1024]")}
    for name, words in kinds.items():
        Path(f"{name}.f90").write_text(words, encoding="ascii")
        run("mpifort", "-std=f2018", *WARNINGS, f"{name}.f90", "retile.o", *link, "-o", f"{name}_f")
    expect(RIGHT, run(*MPIRUN, "./columns_f"))
    expect("589824 wrong", run(*MPIRUN, "./spoiled_f", code=1))
    expect("no axis q", run(*MPIRUN, "./refused_f", code=1))


def expect(words, said):
    if words not in said:
        sys.exit(f"it does not say {words!r} but:\n{said}")


if __name__ == "__main__":
    if not shutil.which("mpicc"):
        print("skipped: there is no mpicc")
        sys.exit(SKIPPED)
    main(*sys.argv[1:])
