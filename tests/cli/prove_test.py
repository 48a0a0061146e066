"""`retile prove`: verdicts as text and JSON, exit codes, problems and Programs, SMT-LIB 2 files, solvers."""

import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

from support import EXAMPLE, RETILE, Case, environment, main, retile

HEAD = "retile.program/1\nmesh a:2,b:2\nfrom [2{a}4, 2{b}4]\nto [2{b}4, 2{a}4]\n"
ROWS = HEAD + "allpermute source=[0,2,1,3]\n"
IOTA = HEAD + "allpermute source=[4]<=[2,2]T(1,0)\n"
WRONG = HEAD + "allpermute source=[4]<=[4]\n"
HIGH = """retile.program/1
mesh a:2
from [2{a}4, 4]
to [4, 2{a}4]
allgather dim=0 groups=[1,2]<=[2]
dynslice dim=1 groups=[1,2]<=[2]
"""
VERDICT = ["right", "within_bound", "height", "bound", "cost", "steps"]
WITNESS = ["first_wrong_step", "reason", "device", "at", "element", "found"]
FIELDS = ["schema", "proved", "method", "solvers", "devices", "queries", "seconds"] + VERDICT


class Prove(Case):
    def accepted(self, done):
        """Progress may be told on stderr: a slow machine reports queries that a fast one is silent about."""
        silent = [line for line in done.stderr.splitlines() if not re.fullmatch(r"retile: .+: proved, [\d.]+ s", line)]
        self.assertEqual((done.returncode, silent), (0, []), done)
        self.assertNotEqual(done.stdout, "")

    def test_a_problem_is_planned_lowered_and_proved(self):
        done = retile("prove", *EXAMPLE)
        self.accepted(done)
        self.assertRegex(done.stdout, r"^proved for 24 devices \(by Z3 [\d.]+, \d+ queries\): right: cost 18, height 6 \(bound 6\), 3 steps\n$")

    def test_a_million_devices(self):
        done = retile("prove", "--mesh", "x:1024,y:1024", "[1{x}1024, 1024{y}1048576]", "[1024, 1{x,y}1048576]", "--json")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(json.loads(done.stdout)["devices"], 1 << 20)

    def test_programs_from_files_and_stdin(self):
        path = self.write("p.txt", IOTA)
        for done in (retile("prove", path), retile("prove", "-", stdin=IOTA)):
            self.accepted(done)
            self.assertIn("proved for 4 devices (by Z3", done.stdout)
        done = retile("prove", "-", stdin=ROWS)
        self.assertEqual(done.stdout, "proved for 4 devices (by evaluation): right: cost 4, height 4 (bound 4), 1 step\n")

    def test_a_counterexample_is_the_one_that_check_names(self):
        done, checked = (retile(verb, "-", "--json", stdin=WRONG) for verb in ("prove", "check"))
        self.assertEqual((done.returncode, checked.returncode), (1, 1), done)
        proof, verdict = json.loads(done.stdout), json.loads(checked.stdout)
        self.assertEqual({name: proof[name] for name in VERDICT + WITNESS}, {name: verdict[name] for name in VERDICT + WITNESS})
        self.assertEqual((proof["device"], proof["at"], proof["element"], proof["found"]), (1, [0, 0], [2, 0], [0, 2]))
        done = retile("prove", "-", stdin=WRONG)
        self.assertRegex(done.stdout, r"^refuted for 4 devices \(by Z3 [\d.]+, \d+ queries\): wrong at step 1 \(end\): "
                                      r"device 1 holds element \[0,2\] at \[0,0\], expected \[2,0\]\n$")

    def test_right_but_over_the_bound_is_refuted(self):
        done = retile("prove", "-", stdin=HIGH)
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout, r"^refuted .*: right, but over the bound: cost 16, height 16 \(bound 8\), 2 steps\n$")

    def test_several_programs_and_the_largest_exit_code(self):
        done = retile("prove", "-", "--json", stdin=IOTA + WRONG + ROWS)
        self.assertEqual(done.returncode, 1, done)
        proofs = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([proof["proved"] for proof in proofs], [True, False, True])
        self.assertEqual([proof["method"] for proof in proofs], ["symbolic", "symbolic", "evaluation"])
        self.assertEqual(list(proofs[0]), FIELDS)
        self.assertEqual(list(proofs[1]), FIELDS + WITNESS)

    def test_queries_are_written(self):
        folder = self.path("new/queries")
        done = retile("prove", "-", "--json", "--smt2", folder, stdin=IOTA)
        self.assertEqual(done.returncode, 0, done)
        files = sorted(os.listdir(folder))
        self.assertEqual(len(files), json.loads(done.stdout)["queries"])
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            self.assertRegex(text, r"^; .*\n\(set-logic QF_LIA\)\n")
            self.assertEqual(text.count("(check-sat)"), 1)
            # Nothing stands behind it: a solver that says `unsat` has no values to give, and would print an error.
            self.assertTrue(text.endswith("(check-sat)\n"), text)
        retile("prove", "-", "--smt2", folder, stdin=IOTA + WRONG)
        self.assertIn("program_1.000.smt2", os.listdir(folder))

    def test_a_folder_that_cannot_be_made(self):
        path = self.write("file", "")
        self.refused(retile("prove", "-", "--smt2", os.path.join(path, "queries"), stdin=IOTA), 4, "--smt2: cannot make the folder")

    @staticmethod
    def solver(folder, says):
        path = os.path.join(folder, "cvc5")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ncase \"$1\" in --version) echo This is cvc5 version 0.0;; *) %s;; esac\n" % says)
        os.chmod(path, 0o755)
        return environment(RETILE_CVC5=path)

    def test_without_an_answer_it_is_undecided(self):
        env = self.solver(self.folder, "echo unknown")
        done = retile("prove", "-", "--solver", "cvc5", stdin=IOTA, env=env)
        self.assertEqual(done.returncode, 3, done)
        self.assertRegex(done.stdout, r"^undecided \(by cvc5 0.0, 1 query\): step 0: .*: no answer in time\n$")
        done = retile("prove", "-", "--solver", "cvc5", "--json", stdin=IOTA, env=env)
        self.assertIsNone(json.loads(done.stdout)["proved"])
        self.assertIn("no answer", json.loads(done.stdout)["undecided"])

    # Cuts of the device number that do not nest, one permutation after the other: minutes for Z3.
    SLOW = """retile.program/1
devices 37800
from [37800]
to [37800]
allpermute source=[37800]<=[14,10,9,30]T(3,2,0,1)<=[1,2,18,50,21]T(0,2,4,1,3)
allpermute source=[37800]<=[1,21,150,3,4]T(2,0,1,3,4)<=[135,2,140]T(1,0,2)<=[14,10,9,30]T(3,2,0,1)
"""

    def test_the_time_limit_holds(self):
        start = time.monotonic()
        done = retile("prove", "-", "--timeout", "1", stdin=self.SLOW)
        self.assertEqual(done.returncode, 3, done)
        self.assertRegex(done.stdout + done.stderr, "no answer in time|the time limit of 1 second")
        self.assertLess(time.monotonic() - start, 30)

    # Each step is two questions that take a millisecond.
    MANY_STEPS = "retile.program/1\ndevices 24\nfrom [4]\nto [4]\n" + "allpermute source=[24]<=[24]\n" * 30000

    def test_the_time_limit_holds_for_all_questions_together(self):
        start = time.monotonic()
        done = retile("prove", "-", "--timeout", "3", stdin=self.MANY_STEPS)
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(done.returncode, 3, done)
        self.assertRegex(done.stdout, r"^undecided \(by Z3 .*\): step \d+(: .*)?: no answer in time\n$")
        # Progress is a line every few seconds, not one for every question.
        self.assertLess(len(done.stderr.splitlines()), 6, done.stderr)
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^retile: step \d+: .*, [\d.]+ s$")

    def test_very_many_dimensions_are_no_burden(self):
        ends = "[" + "1," * 199999 + "1]"
        text = f"retile.program/1\ndevices 2\nfrom {ends}\nto {ends}\n"
        done = retile("prove", "-", "--timeout", "20", stdin=text)
        self.accepted(done)
        self.assertIn("proved for 2 devices", done.stdout)

    def test_rows_of_all_devices_are_no_burden(self):
        text = ("retile.program/1\nmesh x:2147483648\nfrom [1{x}2147483648]\nto [2147483648]\n"
                "allgather dim=0 groups=[1,2147483648]<=[65536,32768]T(1,0)\n")
        done = retile("prove", "-", stdin=text)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("device 0 holds element [32768] at [1], expected [1]", done.stdout)

    def test_progress_on_a_terminal_is_one_line(self):
        read, write = pty.openpty()
        with subprocess.Popen([RETILE, "prove", self.write("many", self.MANY_STEPS), "--timeout", "2"],
                              stdout=subprocess.PIPE, stderr=write) as running:
            os.close(write)
            said = b""
            try:
                while chunk := os.read(read, 4096):
                    said += chunk
            except OSError:  # so ends a terminal that nobody writes to any more
                pass
            out, _ = running.communicate()
        os.close(read)
        self.assertIn(b"undecided", out)
        self.assertNotIn(b"\n", said)
        self.assertGreater(said.count(b"\rretile: step "), 10)
        self.assertLessEqual(max(len(line) for line in said.split(b"\r")), 79)
        self.assertRegex(said, rb"\r *\r$")  # and the line is gone

    @staticmethod
    def limited(size):
        """For a child: files of at most so many bytes, and no death of it."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return limit

    def run_limited(self, size, *arguments, env=None):
        return subprocess.run([RETILE, "prove", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              preexec_fn=self.limited(size), env=env, check=False)

    def test_where_there_is_no_room_old_files_stay(self):
        text = IOTA.replace("to [", "# " + "x" * 100 + "\nto [")
        program, certificate = self.write("p.txt", text), self.write("cert", "the old one\n")
        os.chmod(certificate, 0o600)
        done = self.run_limited(64, program, "--certificate", certificate)
        self.refused(done, 4, "--certificate: the file cannot be written")
        with open(certificate, encoding="utf-8") as file:
            self.assertEqual(file.read(), "the old one\n")
        self.accepted(retile("prove", program, "--certificate", certificate))
        self.assertEqual(os.stat(certificate).st_mode & 0o777, 0o600)
        folder = self.path("queries")
        self.accepted(retile("prove", program, "--smt2", folder))
        before = {file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir()}
        self.refused(self.run_limited(64, program, "--smt2", folder), 4, "cannot write .*000.smt2")
        after = {file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir()}
        self.assertEqual(before, after)
        self.assertEqual(sorted(os.listdir(self.folder)), ["cert", "p.txt", "queries"])

    def test_a_question_that_cannot_be_handed_to_cvc5(self):
        env = self.solver(self.folder, "echo unknown")
        done = self.run_limited(64, self.write("p.txt", IOTA), "--solver", "cvc5", env=env)
        self.refused(done, 4, "a question for cvc5 cannot be written: File too large")
        env["TMPDIR"] = self.path("nowhere")
        self.refused(retile("prove", "-", "--solver", "cvc5", stdin=IOTA, env=env), 4, "a question for cvc5 cannot be written")

    def test_signals_leave_neither_solver_nor_file(self):
        temporary = self.path("temporary")
        os.mkdir(temporary)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            pid = self.path(f"pid{number}")
            env = self.solver(self.folder, f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 100")
            env["TMPDIR"] = temporary
            with subprocess.Popen([RETILE, "prove", self.write("p.txt", IOTA), "--solver", "cvc5"], env=env,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as running:
                for _ in range(1000):
                    if os.path.exists(pid):
                        break
                    time.sleep(0.01)
                with open(pid, encoding="utf-8") as file:
                    child = int(file.read())
                running.send_signal(number)
                running.communicate(timeout=20)
            self.assertEqual(running.returncode, -number)
            for _ in range(1000):
                try:
                    if pathlib.Path(f"/proc/{child}/stat").read_text(encoding="utf-8").split()[2] == "Z":
                        break
                except FileNotFoundError:
                    break
                time.sleep(0.01)
            else:
                self.fail("the solver lives on")
            self.assertEqual(os.listdir(temporary), [])

    def test_an_interrupt_ends_it(self):
        path = self.write("slow.txt", self.SLOW)
        with subprocess.Popen([RETILE, "prove", path, "--timeout", "60"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
            time.sleep(1)
            self.assertIsNone(running.poll(), "the questions are too easy for this test")
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=20)
        self.assertEqual((running.returncode, out), (-signal.SIGINT, b""))

    def test_solvers_that_contradict_each_other(self):
        done = retile("prove", "-", "--solver", "both", stdin=IOTA, env=self.solver(self.folder, "echo sat"))
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("contradict each other", done.stdout)

    def test_a_solver_that_is_not_there(self):
        done = retile("prove", "-", "--solver", "cvc5", stdin=IOTA, env=environment(RETILE_CVC5="/nowhere/cvc5"))
        self.refused(done, 4, "cvc5 cannot be run")
        # Programs that need no solver need none.
        self.accepted(retile("prove", "-", "--solver", "cvc5", stdin=ROWS, env=environment(RETILE_CVC5="/nowhere/cvc5")))

    def test_both_solvers(self):
        if not shutil.which("cvc5"):
            self.skipTest("cvc5 is not installed")
        done = retile("prove", *EXAMPLE, "--solver", "both", "--timeout", "100")
        self.assertEqual(done.returncode, 0, done)  # on a busy machine it reports progress on stderr
        self.assertRegex(done.stdout, r"by Z3 [\d.]+ and cvc5 [\d.]+, ")

    def test_a_certificate_is_the_program_and_its_facts(self):
        facts = "fact bijection [0]\nfact inside [0]\nfact end [2,2]\nfact bound [4,4]\nfact cost [4]\nend\n"
        for text in (IOTA, ROWS):  # by a solver, by evaluation
            done = retile("prove", "-", "--certificate", "-", stdin=text)
            self.accepted(done)
            self.assertEqual(done.stdout, text + facts)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "certificate")
            done = retile("prove", "-", "--certificate", path, stdin=IOTA)
            self.accepted(done)
            self.assertTrue(done.stdout.startswith("proved for 4 devices"))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), IOTA + facts)

    def test_what_is_not_proved_has_no_certificate(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "certificate")
            for text in (WRONG, HIGH):
                self.assertEqual(retile("prove", "-", "--certificate", path, stdin=text).returncode, 1)
                self.assertFalse(os.path.exists(path))
        self.assertNotIn("fact", retile("prove", "-", "--certificate", "-", stdin=WRONG).stdout)
        self.refused(retile("prove", "-", "--certificate", "-", stdin=IOTA + IOTA), 2, "a certificate is for one Program")
        exchange = "retile.program/1\ndevices 1\nfrom [4]\nto [4]\nexchange transfers=[[0,0,0,0,4]] tile=[4]\n"
        self.assertIn("(by evaluation): right", retile("prove", "-", stdin=exchange).stdout)
        self.refused(retile("prove", "-", "--certificate", "-", stdin=exchange), 2, "no facts to certify about an exchange")
        self.refused(retile("prove", "-", "--certificate", "/no/such/folder/file", stdin=IOTA), 4, "cannot be written")

    def test_bad_arguments(self):
        for arguments, words in (
            (["prove"], "PROGRAM, is missing"),
            (["prove", "--mesh", "x:2"], "FROM is missing"),
            (["prove", "--mesh", "x:2", "[4]"], "TO is missing"),
            (["prove", "[4]", "[4]"], "--mesh is missing"),
            (["prove", "/no/such/file"], "/no/such/file"),
            (["prove", "-", "--solver", "z4"], "z3, cvc5, both"),
            (["prove", "-", "--timeout", "0"], "--timeout"),
            (["prove", "-", "--timeout", "1s"], "--timeout"),
            (["prove", "-", "--timeout=-1"], "--timeout"),
            (["prove", "-", "--timeout=nan"], "--timeout"),
            (["prove", "-", "--timeout=inf"], "--timeout"),
            (["prove", "-", "--timeout="], "--timeout"),
            (["prove", *EXAMPLE, "third"], "third"),
        ):
            self.refused(retile(*arguments, stdin=IOTA), 2, words)
        self.refused(retile("prove", "-", stdin="retile.program/2\n"), 2)
        self.refused(retile("prove", "-", stdin=""), 2)


if __name__ == "__main__":
    main()
