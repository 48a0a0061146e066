#!/usr/bin/env python3
"""The control of calls_test.py: programs that differ in a byte, an exit code or a file are caught, and records that are not whole.

    control_calls.py --bin DIR

A few of the recorded calls are made with scripts in the place of the programs, which change one thing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import calls as recorded_calls
from calls import HERE

# The calls that are made, and what a script changes of them.
PLAN = "plan/swap/text"
LONG = "lower/unequal-primes/direct"  # its answer is known by its sum
REFUSED = "notation/from/000"
WRITES = "run/sim/dtype/f32"
TIMED = "run/sim/repeat/3"
WRONG = "check/wrong/bijection/source-short"
ORACLE = "oracle/check/right/swap"
ASKED = (PLAN, LONG, REFUSED, WRITES, TIMED, WRONG, ORACLE)

# What is done to $t/out, $t/err, $code and the files of a call, and which calls must be caught.
SCRIPTS = {
    "nothing": (":", ()),
    "a byte of stdout": ('test "$1" = plan && sed -i s/height/heigth/ $t/out', (PLAN,)),
    "a byte of a long stdout": ("test \"$1\" = lower && sed -i '$ s/]]/ ]]/' $t/out", (LONG,)),
    "a blank at the end of stdout": ('test "$1" = plan && printf " " >>$t/out', (PLAN, REFUSED)),
    "no line end": ('test "$1" = plan && truncate -s -1 $t/out', (PLAN,)),
    "a byte of stderr": ("sed -i s/error/eror/ $t/err", (REFUSED,)),
    "a word more on stderr": ('test "$1" = run && echo retile: done >>$t/err', (WRITES, TIMED)),
    "stderr on stdout": ("cat $t/err >>$t/out; : >$t/err", (REFUSED,)),
    "a line about progress": ('test "$1" = run && echo "retile: move, repetition 1 of 3" >>$t/err', ()),
    "an exit code": ("test $code = 1 && code=3", (WRONG,)),
    "no exit code": ("code=0", (REFUSED, WRONG)),
    "a byte of a file": ("test -f out.npy && printf x | dd of=out.npy bs=1 seek=200 conv=notrunc 2>/dev/null", (WRITES,)),
    "a file more": ('test "$1" = plan && : >left-over', (PLAN, REFUSED)),
    "a folder more": ('test "$1" = plan && mkdir left-over', (PLAN, REFUSED)),
    "a file less": ("rm -f out.npy", (WRITES,)),
    "a file of another name": ("test -f out.npy && mv out.npy Out.npy", (WRITES,)),
    "another figure": ('sed -i "s/ 52 bytes/ 53 bytes/" $t/out', (TIMED,)),
    "another time": ('sed -i "s/moved in [0-9.]*/moved in 1234.567890/" $t/out', ()),
    "a time of no kind": ('sed -i "s/moved in [0-9.]*/moved in 1.5/" $t/out', (TIMED,)),
    "the oracle": ('case "$real" in *oracle) sed -i s/true/yes/ $t/out;; esac', (ORACLE,)),
    "a crash": ('test "$1" = plan && kill -SEGV $$', (PLAN, REFUSED)),
}
AROUND = "#!/bin/sh\n" + """\
real='{real}'
t=$(mktemp -d)
"$real" "$@" >$t/out 2>$t/err
code=$?
{script}
cat $t/out
cat $t/err >&2
rm -rf $t
exit $code
"""


def shell_programs(folder, real, script):
    os.makedirs(folder)
    for name in recorded_calls.PROGRAMS:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(AROUND.replace("{real}", os.path.join(real, name)).replace("{script}", script))
        os.chmod(path, 0o755)


class Control:
    def __init__(self, real, work):
        self.real = os.path.abspath(real)
        self.work = work  # also for what scripts leave when they crash
        self.faults = []
        self.checks = 0
        self.there = {call["id"]: call for call in recorded_calls.recorded()}

    def test(self, bin_folder, records, *words):
        done = subprocess.run([sys.executable, os.path.join(HERE, "calls_test.py"), "--bin", bin_folder, "--calls", records, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": self.work}, check=False)
        return done.returncode, done.stdout.decode(errors="replace")

    def expect(self, what, is_so, said):
        self.checks += 1
        if not is_so:
            self.faults.append(f"{what}:\n{said}")

    def few(self, folder):
        """A folder of records with the few calls."""
        os.makedirs(folder)
        with open(os.path.join(folder, "few.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(recorded_calls.line_of(self.there[name]) for name in ASKED)
        return folder

    def check_scripts(self, work):
        few = self.few(os.path.join(work, "records"))
        for number, (what, (script, caught)) in enumerate(SCRIPTS.items()):
            programs = os.path.join(work, f"bin-{number}")
            shell_programs(programs, self.real, script)
            code, said = self.test(programs, few)
            named = tuple(name for name in ASKED if f"---- {name}: " in said)
            self.expect(f"{what}: caught {named}, not {caught}", named == tuple(name for name in ASKED if name in caught), said)
            self.expect(f"{what}: exit code {code}", code == (1 if caught else 0), said)

    def check_writing(self, work):
        """What is written is what differs, and it passes afterwards; an answer that is not always the same is not written."""
        def answers(folder):
            return {call["id"]: call["expected"] for call in recorded_calls.read_lines(os.path.join(folder, "few.jsonl"))}

        programs = os.path.join(work, "bin-changed")
        shell_programs(programs, self.real, 'test "$1" = plan && sed -i s/height/tallest/ $t/out && test -s $t/err && code=0')
        few = self.few(os.path.join(work, "written"))
        before = answers(few)
        plan = before[PLAN]
        wanted = {**before, PLAN: {**plan, "stdout": plan["stdout"].replace("height", "tallest")}, REFUSED: {**before[REFUSED], "code": 0}}
        code, said = self.test(programs, few, "--write", "--only", "^notation", "--times", "2")
        self.expect("one of two is written", code == 0 and answers(few) == {**wanted, PLAN: plan} and "1 answers written" in said, said)
        code, said = self.test(programs, few)
        self.expect("the other still differs", code == 1 and f"---- {PLAN}: " in said and f"---- {REFUSED}: " not in said, said)
        code, said = self.test(programs, few, "--write")
        self.expect("both are written", code == 0 and answers(few) == wanted, said)
        code, said = self.test(programs, few)
        self.expect("what was written passes", code == 0, said)
        restless = os.path.join(work, "bin-restless")
        shell_programs(restless, self.real, 'test "$1" = plan && date +%N >>$t/out')
        few = self.few(os.path.join(work, "restless"))
        code, said = self.test(restless, few, "--write")
        self.expect("a restless answer is written", code == 1 and answers(few) == {**before, REFUSED: answers(few)[REFUSED]}
                    and f"its answers differ: {PLAN}" in said, said)

    def check_records(self, work):
        """Records that were changed, or are too few, do not pass. No call is made for that."""
        def changed_copy(name, change):
            folder = os.path.join(work, name)
            os.makedirs(folder)
            for path in recorded_calls.data_files():
                shutil.copy(path, folder)
            change(folder)
            return self.test(self.real, folder, "--only", "^plan/swap/text$")

        def edit(file, old, new, count=1):
            def change(folder):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as source:
                    text = source.read()
                with open(path, "w", encoding="utf-8") as target:
                    target.write(text.replace(old, new, count))
            return change

        def without_a_line(folder):
            path = os.path.join(folder, "plan.jsonl")
            with open(path, encoding="utf-8") as source:
                lines = source.readlines()
            with open(path, "w", encoding="utf-8") as target:
                target.writelines(lines[1:])

        def most_gone(folder):
            for path in recorded_calls.data_files(folder):
                if os.path.basename(path) not in ("oracle.jsonl", "run_mpi.jsonl"):
                    os.remove(path)

        cases = {
            "as-they-are": (lambda folder: None, 0, "1 calls, 0 differ"),
            "an-answer-edited": (edit("plan.jsonl", "height", "heigth", -1), 1, "1 differ"),
            "a-call-edited": (edit("plan.jsonl", '"[3{x}12', '"[3{x}13'), 1, "is defined as"),
            "a-call-gone": (without_a_line, 1, "recorded as None"),
            "a-file-gone": (lambda folder: os.remove(os.path.join(folder, "lower.jsonl")), 1, "recorded as None"),
            "too-few": (most_gone, 1, "calls of retile are recorded"),
        }
        for name, (change, code, words) in cases.items():
            got, said = changed_copy(name, change)
            self.expect(f"{name}: exit code {got}", got == code and words in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of retile and retile-oracle")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="retile-control-") as work:
        control = Control(given.bin, work)
        control.check_scripts(work)
        control.check_writing(work)
        control.check_records(work)
    print("\n".join(control.faults) if control.faults else f"{control.checks} controls, all as they should be")
    sys.exit(1 if control.faults else 0)


if __name__ == "__main__":
    main()
