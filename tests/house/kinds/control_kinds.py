#!/usr/bin/env python3
"""Negative control of check_kinds.py: one fork more in a copy of the tree must be counted, and what is none must not.

    control_kinds.py ROOT
"""

import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the tests leave nothing in the sources

from check_kinds import NOT_COUNTED, Counter

BODY = "\nvoid planted(const Layout& layout) {{\n  {}\n}}\n"

# sort, file that the text is appended to, statement that must be counted, statement that must not be in its place
PLANTED = [
    ("questions", "draw/svg.cpp", "if (layout.is_listed()) return;", "if (layout.rank() == 0) return;"),
    ("questions", "plan/plan.cpp", "use(layout.is_even() ? 1 : 2);", "// layout.is_even()"),
    ("questions", "exec/mpi/choose.cpp", "const bool one = is_paper_type(layout);", 'use("layout.in_boxes()");'),
    ("questions", "many/stack.cpp", "use(layout.in_boxes() &&\n      layout.is_listed());", "use(may_overlap(layout));"),
    ("addends", "cli/report.cpp", "if (layout.addends()) return;", "use(layout.addends()->count());"),
    ("addends", "lower/lower.cpp", "const bool adds = !addition_of(program_);", "const auto addition = addition_of(program_);"),
    ("addends", "emit/jax.cpp", "use(plan.from.addends() ? 1 : 2);", "use(layout.addend_count());"),
    ("addends", "spmd/round.h", "use(layout.addend_count() > 1);", "use(layout.addend_count() > 12);"),
    ("addends", "run/run.cpp", "const bool one = good && layout.addends();", "use(addition_of(program_).value());"),
]
# The same sort of file, counted and not.
FILES = [("plan/uneven_planted.cpp", "plan/planted.cpp"), ("check/planted_addends.h", "core/planted_addends.h")]


def numbers(root):
    counter = Counter(root)
    return {"questions": len(counter.questions), "addends": len(counter.addends), "files": len(counter.files)}, counter.report()[1]


def main():
    root = Path(sys.argv[1]).resolve()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(root / "src", copy / "src")
        retile = copy / "src" / "retile"
        before, good = numbers(copy)
        if not good:
            faults.append("the tree is not within its limits, so nothing can be seen")

        def expect(what, sort, more):
            after, good = numbers(copy)
            if after[sort] != before[sort] + more:
                faults.append(f"{what}: {after[sort] - before[sort]} more of {sort}, not {more}")
            if good == (more > 0):
                faults.append(f"{what}: {'accepted' if good else 'rejected'}")

        for sort, name, counted, other in PLANTED:
            path = retile / name
            own = path.read_text(encoding="utf-8")
            for statement, more in (counted, 1), (other, 0):
                path.write_text(own + BODY.format(statement), encoding="utf-8")
                expect(f"{name}: {statement}", sort, more)
            path.write_text(own, encoding="utf-8")
        # Core may ask.
        path = retile / "core" / "planted.cpp"
        path.write_text(BODY.format("if (layout.is_listed()) return;"), encoding="utf-8")
        expect("core", "questions", 0)
        for counted, other in FILES:
            for name, more in (counted, 1), (other, 0):
                (retile / name).write_text("", encoding="utf-8")
                expect(name, "files", more)
                (retile / name).unlink()
        # A function that may ask, and asks no more, is said.
        for name, function in NOT_COUNTED:
            path = retile / name
            own = path.read_text(encoding="utf-8")
            path.write_text(own.replace(f"{function}(", f"{function}_planted("), encoding="utf-8")
            if numbers(copy)[1]:
                faults.append(f"{name}: that {function} asks no more is not noticed")
            path.write_text(own, encoding="utf-8")
    for fault in faults:
        print(fault)
    print(f"kinds: {len(PLANTED) + len(FILES) + len(NOT_COUNTED)} controls, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
