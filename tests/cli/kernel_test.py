"""`retile check --kernel`, `retile plan --kernel` and `retile-kernel certify`: what is proved says the same, and what is said where it
does not or is not there."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support
from support import EXAMPLE, RETILE, Case, main, retile

KERNEL = Path(RETILE).resolve().parent / "retile-kernel"
WRONG = "retile.program/1\ndevices 2\nfrom [4{1:2}8]\nto [4{1:2}8]\nallpermute source=[1,0]\n"
SEVERAL = ("retile.program/2\nmesh x:2,y:3\nfrom [2{x}4, 1{y}3]\nto [4, 3]\n"
           "allgather_dims dims=[0,1] counts=[2,3] groups=[1,6]<=[6] tile=[4,3]\n")
SUMS = "retile.program/2\nmesh x:2\nfrom sum{x}[4]\nto [4]\nallreduce groups=[1,2]<=[2]\n"
VIEW = "retile.program/2\nmesh d:4\nfrom [8{d}32]\nto [2@{d}32]\nview [4,4,2]\nalltoall split=1 concat=0 groups=[1,4]<=[4]\n"
LARGE = "retile.program/1\ndevices 65537\nfrom [1]\nto [1]\n"
SWAP = ("--mesh", "x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]")
SAME = "retile-kernel, which is proved, says the same\n"


def beside(case, script):
    """`retile` in a folder of its own, beside a retile-kernel that is this script; None: beside none."""
    folder = Path(tempfile.mkdtemp(dir=case.folder))
    shutil.copy(RETILE, folder / "retile")
    if script is not None:
        (folder / "retile-kernel").write_text("#!/bin/sh\n" + script)
        (folder / "retile-kernel").chmod(0o755)
    return str(folder / "retile")


class Kernel(Case):
    def asked(self, program, script, *words):
        """What a `retile` says of a Program, or to these words, whose retile-kernel is this script."""
        name, support.RETILE = support.RETILE, beside(self, script)
        try:
            return retile(*(words or ("check",)), "--kernel", stdin=program)
        finally:
            support.RETILE = name

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_it_says_the_same(self):
        right = retile("lower", *EXAMPLE).stdout
        done = retile("check", "--kernel", stdin=right + WRONG)
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = done.stdout.splitlines(keepends=True)
        self.assertEqual([line for line in lines if line == SAME], [SAME, SAME])
        self.assertEqual("".join(line for line in lines if line != SAME), retile("check", stdin=right + WRONG).stdout)
        done = retile("check", "--kernel", stdin=retile("lower", *EXAMPLE, "--json").stdout)
        self.assertEqual((done.returncode, done.stdout.endswith(SAME)), (0, True), done.stderr)

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_steps_along_several_dimensions(self):
        for counts, code in (("[2,3]", 0), ("[3,2]", 1)):
            done = retile("check", "--kernel", stdin=SEVERAL.replace("[2,3]", counts))
            self.assertEqual((done.returncode, done.stdout.endswith(SAME)), (code, True), done.stdout + done.stderr)

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_sums(self):
        for groups, code in (("[1,2]<=[2]", 0), ("[2,1]<=[2]", 1)):
            done = retile("check", "--kernel", stdin=SUMS.replace("[1,2]<=[2]", groups))
            self.assertEqual((done.returncode, done.stdout.endswith(SAME)), (code, True), done.stdout + done.stderr)

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_views(self):
        for groups, code in (("[1,4]", 0), ("[4,1]", 1)):
            done = retile("check", "--kernel", stdin=VIEW.replace("[1,4]", groups))
            self.assertEqual((done.returncode, done.stdout.endswith(SAME)), (code, True), done.stdout + done.stderr)

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_what_is_too_large_is_undecided(self):
        done = retile("check", "--kernel", stdin=LARGE)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stdout, r"^right: .*\nretile-kernel says nothing of it: it reached a limit\n")

    def test_control_it_says_anything_else(self):
        words = "right: {}\\nwithin_bound: true\\nheight: 4\\nbound: 4\\ncost: {}\\nsteps: 1\\n"
        for said in (words.format("true", 4), words.format("false", 5) + "first_wrong_step: 1\\nreason: end\\n"):
            done = self.asked(WRONG, f"printf '{said}'\n")
            self.assertNotIn(done.returncode, (0, 1, 3))
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"^error: .*retile-kernel and retile judge Program 1 otherwise")
        done = self.asked(WRONG, "echo 'error: line 3' >&2; exit 2\n")
        self.assertRegex(done.stderr, r"^error: .*retile-kernel calls this no Program")
        done = self.asked(WRONG, "printf 'right: true\\n\\nright: true\\n'\n")
        self.assertRegex(done.stderr, r"^error: .*retile-kernel reads 2 Programs, and retile 1")

    def test_it_is_not_there(self):
        done = self.asked(WRONG, None)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^error: cannot start retile-kernel: .*\n(.*\n)*note: it is built where Coq")

    def test_what_it_is_not_for(self):
        module = (Path(__file__).resolve().parents[2] / "examples" / "spmd" / "listing_3.spmd").read_text()
        done = retile("check", "--kernel", stdin=module)
        self.assertEqual(done.returncode, 2)
        self.assertTrue(re.search("--kernel is for Programs", done.stderr), done.stderr)
        done = retile("check", "--kernel", "--shrink", "--peer", "false", stdin=WRONG)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kernel does not go with --shrink", done.stderr)
        for words, why in ((("--network", "*:1GB/s:1us"), "without .*--kernel"), (("--many", "-"), "--kernel, .*are of one array")):
            ends = () if "--many" in words else SWAP
            done = retile("plan", "--kernel", *words, *ends, stdin="")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, why)

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_check_json(self):
        done = retile("check", "--kernel", "--json", stdin=WRONG + SEVERAL)
        self.assertEqual([json.loads(line)["kernel"] for line in done.stdout.splitlines()], ["the_same"] * 2, done.stderr)
        done = retile("check", "--kernel", "--json", stdin=LARGE)
        self.assertEqual((done.returncode, json.loads(done.stdout)["kernel"]), (3, "undecided"))
        self.assertNotIn("kernel", json.loads(retile("check", "--json", stdin=WRONG).stdout))

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_plans(self):
        for words, code, program, bound in (
                (["--one-dim", *SWAP], 0, "right", "certified"),
                (["--mesh", "x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]"], 0, "right", "certified"),
                (["--mesh", "x:2", "sum{x}[4]", "[4]"], 0, "right", "no_theorem"),
                (["--mesh", "x:4", "[4]", "[1{x}4]"], 0, "right", "trivial"),
                (["--mesh", "x:4", "--cost", "bytes", "[1{x}4]", "[4]"], 0, "right", "no_certificate"),
                (["--mesh", "x:65537", "--one-dim", "[1{x}65537]", "[65537]"], 3, "undecided", "undecided")):
            with self.subTest(words=words):
                done = retile("plan", "--kernel", "--json", *words)
                self.assertEqual((done.returncode, json.loads(done.stdout)["kernel"]), (code, {"program": program, "lower_bound": bound}), done.stderr)
        done = retile("plan", "--kernel", "--one-dim", *SWAP)
        line = done.stdout.splitlines(keepends=True)[-1]
        self.assertEqual(line, "retile-kernel, which is proved, says: the Program is right; no sequence of collectives along one dimension each "
                               "costs less than 18\n")
        self.assertEqual(done.stdout.removesuffix(line), retile("plan", "--one-dim", *SWAP).stdout)
        done = retile("plan", "--kernel", "--mesh", "x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]")
        self.assertEqual(done.stdout.splitlines()[-1], "retile-kernel, which is proved, says: the Program is right; no sequence of collectives along "
                                                       "one or several dimensions costs less than 16")
        done = retile("plan", "--kernel", "--one-dim", *SWAP, "--certificate", "-")
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, line, retile("plan", "--one-dim", *SWAP, "--certificate", "-").stdout))

    def test_control_it_refuses_a_plan(self):
        right = "right: true\\nwithin_bound: true\\nheight: 6\\nbound: 6\\ncost: 18\\nsteps: 3\\n"
        for certify, why in ((f"printf '{right}certified: false\\n'; exit 1", "refuses the certificate of the lower bound 18"),
                             (f"printf '{right}certified: true\\nlower_bound: 17\\n'", "refuses the certificate of the lower bound 18"),
                             ("echo 'error: line 3' >&2; exit 2", "refuses the certificate(.*\n)*note: error: line 3")):
            done = self.asked("", f"if [ $1 = check ]; then printf '{right}'; else {certify}; fi\n", "plan", "--one-dim", *SWAP)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, "^error: retile-kernel " + why)
        done = self.asked("", f"printf '{right.replace('18', '17')}'\n", "plan", "--one-dim", *SWAP)
        self.assertRegex(done.stderr, r"^error: .*retile-kernel and retile judge Program 1 otherwise")

    @unittest.skipUnless(os.access(KERNEL, os.X_OK), "retile-kernel is not built")
    def test_certify_by_itself(self):
        def certify(*words, text=""):
            done = subprocess.run([KERNEL, "certify", *words], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            return done.returncode, done.stdout, done.stderr

        proof = retile("plan", "--one-dim", *SWAP, "--certificate", "-").stdout
        dearer = proof.replace("lower_bound 18", "lower_bound 17").replace(" 18\n", " 17\n").replace(" 18 ", " 17 ")
        nothing = proof[:proof.index("lower_bound")]
        several = nothing + "scope several_dims\nlower_bound 12\nend\n"
        for text, code, optimal_code, last in (
                (proof, 0, 0, "optimal: true"), (dearer, 0, 1, "optimal: false"), (nothing, 3, 1, "certified: nothing"),
                (proof.replace("lower_bound 18", "lower_bound 19"), 1, 1, "certified: false"),
                (several, 0, 1, "optimal: false"), (several.replace("bound 12", "bound 13"), 1, 1, "certified: false"),
                (proof.replace("lower_bound", "fact whole [0]\nlower_bound", 1), 3, 3, "# undecided: no theorem of the kernel is about facts")):
            with self.subTest(last=last):
                self.assertEqual((certify(text=text)[0], certify("--optimal", text=text)[0]), (code, optimal_code))
                self.assertEqual(certify("-", text=text)[1].splitlines()[-1], last)
        code, out, words = certify(text=proof.replace("end\n", ""))
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(words, r"^error: <stdin>:\d+: this is no certificate of one Program\n$")
        self.assertEqual(certify("a", "b")[0], 2)
        batch = certify("--batch", text=f"{len(proof)}\n{proof}{len(nothing)}\n{nothing}")
        self.assertEqual(re.findall(r"exit: \d", batch[1]), ["exit: 0", "exit: 3"])


if __name__ == "__main__":
    main()
