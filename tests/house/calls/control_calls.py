#!/usr/bin/env python3
"""The control of calls_test.py: programs that differ in a byte, an exit code or a file are caught, and bad entries of changed.jsonl.

    control_calls.py --bin DIR

A few of the recorded calls are made with scripts in the place of the programs, which change one thing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import calls as recorded_calls
import record
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

    def few(self, folder, changed=None, calls=None):
        """A folder of records with the few calls, and a changed.jsonl."""
        os.makedirs(folder)
        with open(os.path.join(folder, "few.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(recorded_calls.line_of(call) for call in calls or [self.there[name] for name in ASKED])
        if changed is not None:
            with open(os.path.join(folder, "changed.jsonl"), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(entry) + "\n" for entry in changed)
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

    def check_changes(self, work):
        """A difference that is written down passes; what is written down wrongly does not."""
        programs = os.path.join(work, "bin-changed")
        shell_programs(programs, self.real, 'test "$1" = plan && sed -i s/height/tallest/ $t/out && test -s $t/err && code=0')
        plan = self.there[PLAN]["expected"]
        new = {**plan, "stdout": plan["stdout"].replace("height", "tallest")}
        refused = {**self.there[REFUSED]["expected"], "code": 0}
        reason = "for the control"
        right = [{"id": PLAN, "reason": reason, "expected": new}, {"id": REFUSED, "reason": reason, "expected": refused}]
        rule = {"ids": [PLAN], "reason": reason, "old": "height", "new": "tallest"}
        cases = {
            "the whole answer": (right, 0, ""),
            "a replacement": ([rule, right[1]], 0, ""),
            "a replacement in two halves": ([{**rule, "old": "he", "new": "talle"}, {**rule, "old": "talleight", "new": "tallest"}, right[1]], 0, ""),
            "with a pattern": ([{**rule, "match": "plan/swap/te.*"}, right[1]], 0, ""),
            "nothing written down": ([], 1, "2 differ"),
            "half written down": (right[:1], 1, "1 differ"),
            "another answer": ([{**right[0], "expected": {**new, "code": 7}}, right[1]], 1, "1 differ"),
            "another replacement": ([{**rule, "new": "highest"}, right[1]], 1, "1 differ"),
            "a stale entry": ([*right, {"id": WRONG, "reason": reason, "expected": self.there[WRONG]["expected"]}], 1, "changes nothing of " + WRONG),
            "a stale replacement": ([{**rule, "new": "height"}, right[1]], 1, "changes nothing of " + PLAN),
            "replacements that cancel out": ([rule, {**rule, "old": "tallest", "new": "height"}, right[1]], 1, "changes nothing of " + PLAN),
            "a text that is not there": ([{**rule, "old": "heigth"}, right[1]], 1, "has no 'heigth'"),
            "a sum instead of a text": ([*right, {**rule, "ids": [LONG], "old": "retile.program/1", "new": "retile.program/2"}], 1, "has no 'retile.program/1'"),
            "an unknown call": ([*right, {"id": "plan/gone", "reason": reason, "expected": new}], 1, "not recorded: plan/gone"),
            "an unknown call of several": ([{**rule, "ids": [PLAN, "plan/gone"]}, right[1]], 1, "not recorded: plan/gone"),
            "a pattern that covers more": ([{**rule, "match": ".*"}, right[1]], 1, "not those that match .*"),
            "a pattern that covers less": ([{**rule, "match": "nothing"}, right[1]], 1, "not those that match nothing"),
            "a pattern without ids": ([{"match": "plan/.*", "reason": reason, "old": "height", "new": "tallest"}, right[1]], 1, "either one id or a list of ids"),
            "no reason": ([{**right[0], "reason": " "}, right[1]], 1, "has no reason"),
            "two entries": ([*right, right[0]], 1, "changed by several entries"),
            "a replacement and an answer": ([*right, rule], 1, "changed by several entries"),
            "an id twice": ([{**rule, "ids": [PLAN, PLAN]}, right[1]], 1, "names an id twice"),
            "neither answer nor replacement": ([{"id": PLAN, "reason": reason}, right[1]], 1, "either the new answer, or old and new"),
            "an unknown field": ([{**right[0], "because": "x"}, right[1]], 1, "fields that an entry does not have: because"),
        }
        for number, (what, (entries, code, words)) in enumerate(cases.items()):
            few = self.few(os.path.join(work, f"changed-{number}"), entries)
            got, said = self.test(programs, few)
            self.expect(f"{what}: exit code {got}", got == code and words in said, said)
        few = self.few(os.path.join(work, "written"), [])
        self.test(programs, few, "--write-changed")
        entries = recorded_calls.read_lines(os.path.join(few, "changed.jsonl"))
        self.expect("--write-changed", [(entry["id"], entry["reason"]) for entry in entries] == [(PLAN, ""), (REFUSED, "")]
                    and entries[0]["expected"] == new, json.dumps(entries))
        got, said = self.test(programs, few)
        self.expect("written without reasons", got == 1 and "has no reason" in said, said)

    def check_records(self, work):
        """Records that were changed, or are too few, do not pass. No call is made for that."""
        def changed_copy(name, change):
            folder = os.path.join(work, name)
            os.makedirs(folder)
            for path in [*recorded_calls.data_files(), os.path.join(HERE, record.SUMS)]:
                shutil.copy(path, folder)
            change(folder)
            return self.test(self.real, folder, "--only", "^$")

        def edit(file, old, new, count=1):
            def change(folder):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as source:
                    text = source.read()
                with open(path, "w", encoding="utf-8") as target:
                    target.write(text.replace(old, new, count))
            return change

        def with_sums(change):
            def both(folder):
                change(folder)
                with open(os.path.join(folder, record.SUMS), "w", encoding="utf-8") as file:
                    json.dump({"of": "the control", "files": record.sums(folder)}, file)
            return both

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
            "as-they-are": (lambda folder: None, 0, ""),
            "an-answer-edited": (edit("plan.jsonl", '"code": 0', '"code": 1'), 1, "are not those of recorded.json"),
            "a-call-edited": (with_sums(edit("plan.jsonl", "3{x}12", "3{x}13")), 1, "is defined as"),
            "a-call-gone": (with_sums(without_a_line), 1, "recorded as None"),
            "a-file-gone": (lambda folder: os.remove(os.path.join(folder, "lower.jsonl")), 1, "are not those of recorded.json"),
            "too-few": (with_sums(most_gone), 1, "calls of retile are recorded"),
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
        control.check_changes(work)
        control.check_records(work)
    print("\n".join(control.faults) if control.faults else f"{control.checks} controls, all as they should be")
    sys.exit(1 if control.faults else 0)


if __name__ == "__main__":
    main()
