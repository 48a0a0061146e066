"""Which libraries a call loads: only `retile-run` and `retile-prove`, beside `retile`, have MPI, a BLAS and a solver."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BESIDE, EXAMPLE, RETILE, Case, environment, main, retile

HEAVY = re.compile(r"lib(mpi|open-pal|open-rte|pmix|blas|cblas|openblas|z3|cudart|gfortran)\b")
MODULE = (Path(__file__).resolve().parents[2] / "examples" / "spmd" / "listing_3.spmd").read_text()


def programs_beside():
    folder = Path(BESIDE)
    return {path.name: str(path) for path in sorted(folder.iterdir())} if folder.is_dir() else {}


def loaded(case, *words, stdin=""):
    """What the dynamic loader loads in any process of the call, and how the call ended."""
    folder = Path(tempfile.mkdtemp(dir=case.folder))
    env = environment(LD_DEBUG="files", LD_DEBUG_OUTPUT=str(folder / "loader"))
    done = subprocess.run(words, input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, check=False)
    names = {Path(name).name for file in folder.iterdir() for name in re.findall(r"\bfile=(\S+)", file.read_text())}
    return names, done


def heavy(names):
    return sorted(name for name in names if HEAVY.match(name))


class Loaded(Case):
    def test_most_calls_load_no_heavy_library(self):
        lowered = retile("lower", *EXAMPLE).stdout
        for words, stdin in [(["--version"], ""), (["--help"], ""), (["run", "--help"], ""), (["prove", "--help"], ""), (["prove"], ""),
                             (["plan", *EXAMPLE], ""), (["lower", *EXAMPLE], ""), (["check"], lowered), (["check"], MODULE),
                             (["convert", *EXAMPLE], ""), (["run", *EXAMPLE, "--backend", "sim"], "")]:
            with self.subTest(words=words):
                names, _ = loaded(self, RETILE, *words, stdin=stdin)
                self.assertTrue(any(name.startswith("libstdc++") for name in names), names)
                self.assertEqual(heavy(names), [])

    def test_control_the_programs_beside_load_theirs(self):
        for name, path in programs_beside().items():
            with self.subTest(program=name):
                names, done = loaded(self, path, "--version")
                self.assertEqual(done.stdout.decode(), retile("--version").stdout)
                self.assertNotEqual(heavy(names), [])

    def test_rewriting_is_done_by_the_oracle(self):
        oracle = Path(RETILE).with_name("retile-oracle")
        text = "retile.partir/1\nx : [4, 3]\nw : [3, 3]\nmatmul x w\n"
        for words, code in ((["--rule", "matmul-sum", "--range", "r:2"], 0), (["--rule", "fuse"], 1), (["--rule", "none"], 2), (["--rules"], 0)):
            with self.subTest(words=words):
                done = retile("rewrite", *words, stdin=text)
                said = subprocess.run([oracle, "rewrite", *words], input=text, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (said.returncode, said.stdout, said.stderr))
                self.assertEqual(code, done.returncode)
        alone = self.path("retile")
        shutil.copy(RETILE, alone)
        done = subprocess.run([alone, "rewrite", "--rules"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn("cannot start retile-oracle", done.stderr)

    def test_calls_that_need_them_become_the_program_beside(self):
        programs = programs_beside()
        for words, program in [(["prove", *EXAMPLE], "retile-prove"), (["run", "-", "--backend", "sim"], "retile-run")]:
            if program not in programs:
                continue
            with self.subTest(words=words):
                names, done = loaded(self, RETILE, *words, stdin=MODULE)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotEqual(heavy(names), [])


@unittest.skipUnless(programs_beside(), "this build has no programs beside retile")
class Beside(Case):
    def laid_out(self, *programs):
        """A copy of `retile` with these programs beside it."""
        root = Path(tempfile.mkdtemp(dir=self.folder))
        for folder in ("bin", "libexec/retile"):
            (root / folder).mkdir(parents=True)
        shutil.copy(RETILE, root / "bin" / "retile")
        for program in programs:
            shutil.copy(program, root / "libexec" / "retile")
        return str(root / "bin" / "retile")

    def test_they_are_found_wherever_both_folders_lie(self):
        copied = self.laid_out(*programs_beside().values())
        link = os.path.join(tempfile.mkdtemp(dir=self.folder), "linked")
        os.symlink(copied, link)
        for program in (copied, link):
            for words in (["prove", *EXAMPLE], ["run", "-", "--backend", "sim"]):
                with self.subTest(program=program, words=words):
                    here, there = (subprocess.run([which, *words], input=MODULE.encode(), stdout=subprocess.PIPE, env=environment(),
                                                  stderr=subprocess.PIPE, check=False) for which in (RETILE, program))
                    self.assertEqual((there.returncode, there.stderr), (here.returncode, here.stderr))
                    self.assertEqual(there.returncode, 0)

    def test_without_them_the_call_says_what_is_missing(self):
        alone = self.laid_out()
        for words, program in [(["prove", *EXAMPLE], "retile-prove"), (["run", "-", "--backend", "sim"], "retile-run"),
                               (["run", *EXAMPLE], "retile-run")]:
            if program not in programs_beside():
                continue
            with self.subTest(words=words):
                done = subprocess.run([alone, *words], input=MODULE.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=environment(), check=False)
                self.assertEqual((done.returncode, done.stdout), (4, b""))
                self.assertIn(f"cannot start {program}: No such file or directory", done.stderr.decode())
        self.assertEqual(subprocess.run([alone, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode(),
                         retile("--version").stdout)


if __name__ == "__main__":
    main()
