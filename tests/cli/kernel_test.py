"""`retile check --kernel`: the checker that is proved says the same, and what is said where it does not or is not there."""

import os
import re
import shutil
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
    def asked(self, program, script):
        """What a `retile` says of a Program whose retile-kernel is this script."""
        name, support.RETILE = support.RETILE, beside(self, script)
        try:
            return retile("check", "--kernel", stdin=program)
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
        done = retile("check", "--kernel", "--json", stdin=WRONG)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kernel goes neither with --json nor with --shrink", done.stderr)


if __name__ == "__main__":
    main()
