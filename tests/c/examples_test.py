#!/usr/bin/env python3
"""The examples in C and Fortran are compiled as users would, without a warning, and run on four processes.

usage: examples_test.py SOURCE LIBRARY WORK

Each is spoiled, too, and must then say that it is wrong: what is compared is what was moved.
"""
import os
import re
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
             "refused": text.replace("[1024, 192{p}768]", "[1024, 192{q}768]"),
             "judged": text.replace("retile_check(program, 0, &verdict));", "retile_check(program, 0, &verdict)); verdict.right = 0;")}
    for name, words in kinds.items():
        Path(f"{name}.c").write_text(words, encoding="ascii")
        run("mpicc", "-std=c99", *WARNINGS, *headers, f"{name}.c", *link, "-o", f"{name}_c")
    expect(RIGHT, run(*MPIRUN, "./columns_c"))
    expect("196608 wrong", run(*MPIRUN, "./spoiled_c", code=1))
    expect("no axis q", run(*MPIRUN, "./refused_c", code=1))
    expect("wrong: cost 196608, height 196608; 0 wrong", run(*MPIRUN, "./judged_c", code=1))

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
             "refused": text.replace("[768, 256{p}1024]", "[768, 256{q}1024]"),
             "judged": text.replace("prog, verdict, status)", "prog, verdict, status); verdict%right = 0"),
             "below_0": text.replace("prog, 8, mover, status)", "prog, 8, mover, status, memory_limit_bytes=-1_c_int64_t)"),
             "twice": "".join(2 * line if MAKES.search(line) else line for line in text.splitlines(True)),
             "kept": text.replace("call retile_free(prog)", "")}
    # Calls of the library are counted on their way to it.
    Path("counter.c").write_text(counter(), encoding="ascii")
    run("mpicc", "-std=c99", *WARNINGS, *headers, "-c", "counter.c")
    wrapped = "-Wl," + ",".join(f"--wrap=retile_{name}" for name in (*MADE_BY, *(f"{one}_free" for one in MADE_BY.values())))
    for name, words in kinds.items():
        if words == text and name != "columns":
            sys.exit(f"nothing is changed in {name}")
        Path(f"{name}.f90").write_text(words, encoding="ascii")
        run("mpifort", "-std=f2018", *WARNINGS, f"{name}.f90", "retile.o", "counter.o", wrapped, *link, "-o", f"{name}_f")
    expect(RIGHT, run(*MPIRUN, "./columns_f"))
    expect("589824 wrong", run(*MPIRUN, "./spoiled_f", code=1))
    expect("no axis q", run(*MPIRUN, "./refused_f", code=1))
    expect("wrong: cost 196608, height 196608; 0 wrong", run(*MPIRUN, "./judged_f", code=1))
    expect("memory_limit_bytes is negative", run(*MPIRUN, "./below_0_f", code=1))
    expect("made 3, left 0", run(*MPIRUN, "./columns_f"))
    expect("made 6, left 0", run(*MPIRUN, "./twice_f"))
    expect("made 3, left 1", run(*MPIRUN, "./kept_f"))


# What makes an object, and of which kind.
MADE_BY = {"plan_make": "plan", "program_of": "program", "mover_make_f": "mover"}
MAKES = re.compile(r"call retile_(plan|program_of|mover_make)\(")


def counter():
    """A source in C that says, when the program ends, how many objects it made and left."""
    kinds = {"plan_make": "const char* a, const char* b, const char* c, const char* d, const retile_plan_options* e, retile_plan** f",
             "program_of": "const retile_plan* a, retile_program** b",
             "mover_make_f": "MPI_Fint a, const retile_program* b, int64_t c, int64_t d, retile_mover** e"}
    out = ["#include <retile/c/mpi/retile_mpi.h>", "#include <stdio.h>", "static int made, left;",
           '__attribute__((destructor)) static void say(void) { printf("made %d, left %d\\n", made, left); }']
    for name, arguments in kinds.items():
        given = ", ".join(re.findall(r"(\w)(?:,|$)", arguments))
        out += [f"retile_status __real_retile_{name}({arguments});", f"retile_status __wrap_retile_{name}({arguments});",
                f"retile_status __wrap_retile_{name}({arguments}) {{ ++made; ++left; return __real_retile_{name}({given}); }}"]
    for kind in MADE_BY.values():
        out += [f"void __real_retile_{kind}_free(retile_{kind}* a);", f"void __wrap_retile_{kind}_free(retile_{kind}* a);",
                f"void __wrap_retile_{kind}_free(retile_{kind}* a) {{ if (a) --left; __real_retile_{kind}_free(a); }}"]
    return "\n".join(out) + "\n"


def expect(words, said):
    if words not in said:
        sys.exit(f"it does not say {words!r} but:\n{said}")


if __name__ == "__main__":
    if not shutil.which("mpicc"):
        print("skipped: there is no mpicc")
        sys.exit(SKIPPED)
    main(*sys.argv[1:])
