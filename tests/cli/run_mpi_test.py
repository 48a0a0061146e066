"""`retile run` on MPI processes: started by itself and under mpirun, killed, disagreeing, without files."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import time

from support import (BESIDE, ELEMENT_BYTES, EXAMPLE, PROBLEMS, RETILE, Case, counting, environment, main, npy, npy_parts, retile,
                     spoiled, without_progress)

MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
FOUR = ["--mesh", "a:2,b:2", "[8{a}16, 12]", "[16, 3{b,a}12]"]
# Enough repetitions to outlast any test.
ENDLESS = [*FOUR, "--repeat", "1000000000"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def processes():
    """pid -> (parent, state) of all processes there are."""
    table = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        table[int(entry)] = (int(fields[1]), fields[0])
    return table


def descendants(pid):
    table = processes()
    found, front = [], [pid]
    while front:
        front = [child for child, (parent, _) in table.items() if parent in front]
        found += front
    return found


def alive(pids):
    table = processes()
    return [pid for pid in pids if pid in table and table[pid][1] not in "ZX"]


def is_program(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", os.path.join(BESIDE, "retile-run"))
    except OSError:
        return False


DTYPES = ["u8", "bf16", "f32", "i64", "c128"]


class Runs(Case):
    def is_right(self, count, dtype):
        """A run of so many processes says what is so."""
        mesh, start, end = PROBLEMS[count]
        with self.subTest(processes=count, dtype=dtype):
            done = retile("run", "--mesh", mesh, start, end, "-n", str(count), "--dtype", dtype, "--json")
            self.accepted(done)
            report = json.loads(done.stdout)
            plan = json.loads(retile("plan", "--mesh", mesh, start, end, "--json").stdout)
            size = ELEMENT_BYTES[dtype]
            self.assertEqual((report["schema"], report["right"], report["backend"]), ("retile.run/1", True, "mpi"))
            self.assertEqual((report["processes"], report["repetitions"]), (count, 1))
            self.assertEqual(report["bound_bytes"], plan["bound"] * size)
            self.assertEqual(report["resident_bytes"], plan["resident"] * size)
            self.assertLessEqual(report["peak_bytes_per_process"], report["peak_limit_bytes"])
            self.assertGreater(report["elements_checked"], 0)


class EverySize(Runs):
    def test_every_number_of_processes_with_every_element_size(self):
        for count in PROBLEMS:
            for dtype in DTYPES:
                self.is_right(count, dtype)


class Launched(Runs):
    def test_every_number_of_processes_and_every_element_size(self):
        for count, dtype in zip(PROBLEMS, itertools.cycle(("f32", "u8", "c128"))):
            self.is_right(count, dtype)

    def test_n_is_the_number_of_devices(self):
        done = retile("run", *FOUR, "--json")
        self.accepted(done)
        self.assertEqual(json.loads(done.stdout)["processes"], 4)
        self.refused(retile("run", *FOUR, "-n", "3"), 2, "4 devices")

    def test_mpi_agrees_with_sim(self):
        for name in ("sim", "mpi"):
            done = retile("run", *EXAMPLE, "--backend", name, "--output", self.path(name + ".npy"), "--json")
            self.accepted(done)
        self.assertEqual(read(self.path("sim.npy")), read(self.path("mpi.npy")))

    def test_every_strategy_gives_the_same(self):
        files = {}
        # The last one is a name of before there was one exchange.
        ways = {"automatic": "exchange", "collectives": "collectives", "exchange": "exchange", "inplace": "inplace",
                "direct": "exchange by messages"}
        for name, way in ways.items():
            with self.subTest(strategy=name):
                path = self.path(name + ".npy")
                done = retile("run", *FOUR, "--strategy", name, "--repeat", "3", "--output", path, "--explain", "--json")
                self.assertEqual(done.returncode, 0, done)
                report = json.loads(done.stdout)
                self.assertTrue(report["right"])
                self.assertEqual(report["strategy"], way.split()[0])
                self.assertRegex(report["reasons"][-1], f"^{way}: chosen, needs up to \\d+ bytes$")
                self.assertLessEqual(report["peak_bytes_per_process"], report["peak_limit_bytes"])
                files[name] = read(path)
        self.assertEqual(len(set(files.values())), 1)

    def test_an_earlier_name_of_a_strategy_is_explained_once(self):
        for name, meaning in {"shared": "exchange, refused where .* several nodes", "mixed": "exchange",
                              "direct": "exchange, all of it by messages"}.items():
            for options in ([], ["--json"]) if name == "mixed" else ([],):
                done = retile("run", *FOUR, "--strategy", name, *options)
                self.assertEqual(done.returncode, 0, done)
                self.assertRegex(done.stderr, f"^note: --strategy {name} is a name of earlier versions; it means {meaning}\n$")
        self.assertEqual(retile("run", *FOUR, "--strategy", "exchange").stderr, "")

    def test_the_memory_limit_chooses_or_refuses(self):
        big = ["--mesh", "a:2,b:2", "[512{a}1024, 1024]", "[1024, 256{b,a}1024]"]
        for limit, strategy in {"1GiB": "exchange", "2944KiB": "inplace"}.items():
            with self.subTest(limit=limit):
                done = retile("run", *big, "--memory-limit", limit, "--json")
                self.accepted(done)
                report = json.loads(done.stdout)
                self.assertEqual(report["strategy"], strategy)
                self.assertLessEqual(report["peak_bytes_per_process"], (1 << 30) if limit == "1GiB" else 2944 << 10)
        done = retile("run", *big, "--memory-limit", "1MiB", "--json")
        self.assertEqual((done.returncode, without_progress(done.stderr)), (1, ""), done)
        report = json.loads(done.stdout)
        self.assertEqual((report["feasible"], report["limit_bytes"], len(report["reasons"])), (False, 1 << 20, 4))
        done = retile("run", *big, "--memory-limit", "1MiB")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout, "^not run: no way to run the Program within 1048576 bytes per process; the least .* is \\d+\n  exchange: ")
        self.refused(retile("run", *big, "--strategy", "fast"), 2, "automatic, collectives, exchange, inplace")

    def test_a_file_goes_through_unchanged(self):
        for descr, size in {">f4": 4, "|u1": 1, "<c16": 16}.items():
            data = counting(16 * 12, size)
            source = self.write("in.npy", npy((16, 12), descr, data))
            self.accepted(retile("run", *FOUR, "--input", source, "--output", self.path("out.npy")))
            header, out = npy_parts(read(self.path("out.npy")))
            self.assertIn(f"'descr': '{descr}'", header)
            self.assertEqual(out, data)

    def test_a_wrong_element_is_found(self):
        code, out, said = spoiled(self)
        self.assertEqual(code, 1, said)
        self.assertRegex(out, "^wrong: process 1 holds a wrong element at position 88 of its tile\n")
        self.assertEqual(os.listdir(self.folder), ["spoiled.npy"])

    def test_names_that_mpirun_would_misread(self):
        source = self.write(":", npy((16, 12), "<f4", counting(192, 4)))
        for name in (":", "-n", "a b", "$HOME", "--"):
            with self.subTest(name=name):
                self.accepted(retile("run", *FOUR, "--input", source, "--output=" + name, cwd=self.folder))
                self.assertEqual(read(self.path(name)), read(source))

    def test_a_program_on_stdin(self):
        program = retile("lower", *FOUR).stdout
        self.accepted(retile("run", "--program", "-", stdin=program))
        self.accepted(retile("run", "--program", self.write("program.txt", program), "-n", "4"))

    def test_a_long_program_on_stdin(self):
        rows = ",".join(f"[{d * 2}]" for d in range(4))
        comment = "# " + "x" * 100 + "\n"
        program = f"retile.program/1\n{comment * 5000}devices 4\nfrom tile=[2] global=[8] at=[{rows}]\nto [2{{1:4}}8]\n"
        step = "allpermute source=[1,0,3,2]\n"
        self.accepted(retile("run", "--program", "-", stdin=program + step * 2000))

    def test_the_wrong_program_is_not_run(self):
        wrong = retile("lower", *FOUR).stdout.replace("to [16, 3{b,a}12]", "to [16, 3{a,b}12]")
        nowhere = environment(PATH="/nonexistent")
        done = retile("run", "--program", "-", stdin=wrong, env=nowhere)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, "^not run: wrong at step")

    def test_no_mpirun(self):
        nowhere = environment(PATH="/nonexistent")
        self.refused(retile("run", *FOUR, env=nowhere), 4, "cannot start mpirun")

    def test_an_mpirun_that_fails_or_says_nothing(self):
        for script, words in {"exit 3": "exit code 3", "exit 0": "without a result", "kill -9 $$": "signal 9",
                              "echo retile-exit 9": "without a result", "echo no; exit 1": "exit code 1"}.items():
            with self.subTest(script=script):
                path = self.write("mpirun", "#!/bin/sh\n" + script + "\n")
                os.chmod(path, 0o755)
                self.refused(retile("run", *FOUR, env=environment(PATH=self.folder + ":" + os.environ["PATH"])), 4, words)

    def test_what_mpirun_says_becomes_one_sentence(self):
        dashes = "-" * 74
        said = {
            "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).":
                "error: process 1 was ended by signal 9 \\(Killed\\); the job was ended\n$",
            "mpirun detected that one or more processes exited with non-zero status\n\n  Process name: [[13,1],7]\n"
            "  Exit code:    23":
                "error: process 7 ended with exit code 23; the job was ended\n$",
            "There are not enough slots available in the system":
                "error: mpirun ended with exit code 1 and without a result\nnote: There are not enough slots",
        }
        for frame, words in said.items():
            with self.subTest(frame=frame):
                path = self.write("mpirun", f"#!/bin/sh\ncat >&2 <<'E'\n{dashes}\n{frame}\n{dashes}\nE\nexit 1\n")
                os.chmod(path, 0o755)
                self.refused(retile("run", *FOUR, env=environment(PATH=self.folder + ":" + os.environ["PATH"])), 4, words)

    def test_exit_codes_come_through(self):
        for code, stdout in {0: "yes\n", 1: "yes\n", 2: "", 3: "yes\n", 4: ""}.items():
            path = self.write("mpirun", f"#!/bin/sh\necho yes\necho retile-exit {code}\n")
            os.chmod(path, 0o755)
            done = retile("run", *FOUR, env=environment(PATH=self.folder + ":" + os.environ["PATH"]))
            self.assertEqual((done.returncode, done.stdout), (code, stdout))

    def test_output_that_cannot_be_written_leaves_nothing_behind(self):
        os.mkdir(self.path("taken"))
        for name in ("no/such/folder.npy", "taken"):
            self.refused(retile("run", *FOUR, "--output", self.path(name)), 4, "output")
        self.assertEqual(os.listdir(self.folder), ["taken"])

    def test_stdout_that_takes_nothing(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([RETILE, "run", *FOUR], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"error: cannot write to stdout", done.stderr)


class Ended(Case):
    def start(self, *arguments, endless=ENDLESS):
        """A run that goes on until it is ended, with all its processes moving."""
        job = subprocess.Popen([RETILE, "run", *endless, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(), cwd=self.folder)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        deadline = time.monotonic() + 60
        said = b""
        while b"move" not in said and time.monotonic() < deadline:
            said += job.stderr.readline()
        self.assertIn(b"move", said)
        family = descendants(job.pid)
        self.addCleanup(self.end, job, family)
        members = [pid for pid in family if is_program(pid)]
        self.assertEqual(len(members), 4)
        return job, family, members

    def end(self, job, family):
        for pid in [job.pid] + alive(family):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait()

    def ended(self, job, family, words, code=4):
        out, said = job.communicate(timeout=10)
        self.assertEqual((job.returncode, out), (code, b""), said)
        errors = [line for line in said.decode().splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, said)
        self.assertRegex(errors[0], "^error: .*" + words)
        self.gone(family)

    def gone(self, family):
        deadline = time.monotonic() + 10
        while alive(family) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(alive(family), [])

    def test_killing_one_process_ends_the_job(self):
        for sent in (signal.SIGKILL, signal.SIGABRT, signal.SIGTERM):
            for victim in (0, 2):
                with self.subTest(signal=sent, victim=victim):
                    job, family, members = self.start("--output", "out.npy")
                    os.kill(members[victim], sent)
                    self.ended(job, family, f"signal {int(sent)}")
                    self.assertFalse(os.path.exists(self.path("out.npy")))

    def test_killing_one_process_ends_a_run_of_many_arrays(self):
        path = self.write("state.jsonl", "".join(
            '{"name": "%s", "from": "[512{a}1024, 4096]", "to": "[1024, 1024{b,a}4096]"}\n' % name for name in "pq"))
        job, family, members = self.start(endless=["--many", path, "--mesh", "a:2,b:2", "--repeat", "1000000"])
        os.kill(members[3], signal.SIGKILL)
        self.ended(job, family, "signal 9")

    def test_killing_mpirun_ends_the_job(self):
        job, family, members = self.start()
        mpirun = [pid for pid in family if pid not in members and processes()[pid][0] == job.pid]
        os.kill(mpirun[0], signal.SIGKILL)
        self.ended(job, family, "mpirun was ended by signal 9")

    def test_signals_to_the_launcher_end_the_job(self):
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=sent):
                job, family, _ = self.start("--output", "out.npy")
                self.assertEqual(len(os.listdir(self.folder)), 1)  # the temporary
                job.send_signal(sent)
                self.ended(job, family, f"ended by signal {int(sent)}")
                self.assertEqual(os.listdir(self.folder), [])

    def test_killing_the_launcher_leaves_nobody_behind(self):
        job, family, _ = self.start()
        job.kill()
        job.wait()
        self.gone(family)


class UnderMpirun(Case):
    def mpirun(self, *arguments, stdin=b""):
        done = subprocess.run([*MPIRUN, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(), cwd=self.folder, timeout=120, check=False)
        done.stdout = done.stdout.decode()
        done.stderr = without_progress(done.stderr.decode())
        return done

    def refused_once(self, done, words):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
        self.assertRegex(done.stderr, words)

    def test_one_report_of_all(self):
        done = self.mpirun("-n", "4", RETILE, "run", *FOUR, "--json")
        self.accepted(done)
        self.assertEqual(json.loads(done.stdout)["processes"], 4)

    def test_n_may_be_repeated(self):
        self.accepted(self.mpirun("-n", "4", RETILE, "run", *FOUR, "-n", "4"))
        self.refused_once(self.mpirun("-n", "4", RETILE, "run", *FOUR, "-n", "2"), "4 devices")

    def test_a_communicator_of_another_size(self):
        self.refused_once(self.mpirun("-n", "3", RETILE, "run", *FOUR), "4 devices")
        self.refused_once(self.mpirun("-n", "5", RETILE, "run", *FOUR), "4 devices")

    def test_bad_arguments_are_told_once(self):
        self.refused_once(self.mpirun("-n", "4", RETILE, "run", *FOUR, "--bogus"), "--bogus")
        self.refused_once(self.mpirun("-n", "4", RETILE, "run", "--mesh", "x:4", "[1{y}4]", "[4]"), "WF-DIM")
        self.refused_once(self.mpirun("-n", "4", RETILE, "run", *FOUR, "--input", "missing.npy"), "missing.npy")

    def test_cuda_under_mpirun_is_one_run(self):
        done = self.mpirun("-n", "4", RETILE, "run", *FOUR, "--backend", "cuda")
        if done.returncode == 0:  # there is a GPU
            self.assertEqual(done.stdout.count("right: 192 elements compared on 4 processes (cuda, "), 1, done)
        else:
            self.assertEqual((done.returncode, done.stdout), (4, ""), done)
            self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
            self.assertRegex(done.stderr, "no CUDA device: |cuda is not built")
        self.refused_once(self.mpirun("-n", "4", RETILE, "run", *FOUR, "--backend", "cuda", "--strategy", "direct"),
                          "--strategy says nothing")
        self.refused_once(self.mpirun("-n", "3", RETILE, "run", *FOUR, "--backend", "cuda"), "4 devices")

    def test_processes_with_other_arguments(self):
        for change in (["--dtype", "f64"], ["--repeat", "2"], ["--bogus"]):
            with self.subTest(change=change):
                done = self.mpirun("-n", "3", RETILE, "run", *FOUR, ":", "-n", "1", RETILE, "run", *FOUR, *change)
                self.refused_once(done, "process 3 was given other arguments")

    def test_the_wrong_program_is_not_run(self):
        wrong = retile("lower", *FOUR).stdout.replace("to [16, 3{b,a}12]", "to [16, 3{a,b}12]")
        self.write("wrong.txt", wrong)
        done = self.mpirun("-n", "4", RETILE, "run", "--program", "wrong.txt")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "^not run: wrong at step .*\n$")

    def test_a_program_on_stdin(self):
        program = retile("lower", *FOUR).stdout
        self.accepted(self.mpirun("-n", "4", RETILE, "run", "--program", "-", stdin=program.encode()))

    def test_processes_that_do_not_see_the_files(self):
        for name in ("here", "elsewhere"):
            os.mkdir(self.path(name))
        content = npy((16, 12), "<f4", counting(192, 4))
        self.write("here/in.npy", content)
        run = [RETILE, "run", *FOUR, "--input", "in.npy", "--output", "out.npy"]
        done = self.mpirun("-n", "1", "--wdir", self.path("here"), *run, ":", "-n", "3", "--wdir", self.path("elsewhere"), *run)
        self.accepted(done)
        self.assertEqual(npy_parts(read(self.path("here/out.npy")))[1], counting(192, 4))
        self.assertEqual(os.listdir(self.path("elsewhere")), [])
        # Process 0 has to see them.
        done = self.mpirun("-n", "1", "--wdir", self.path("elsewhere"), *run, ":", "-n", "3", "--wdir", self.path("here"), *run)
        self.refused_once(done, "in.npy")

    def test_a_program_file_that_only_process_0_sees(self):
        for name in ("here", "elsewhere"):
            os.mkdir(self.path(name))
        self.write("here/program.txt", retile("lower", *FOUR).stdout)
        run = [RETILE, "run", "--program", "program.txt"]
        self.accepted(self.mpirun("-n", "1", "--wdir", self.path("here"), *run, ":", "-n", "3", "--wdir",
                                  self.path("elsewhere"), *run))


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        raise SystemExit(77)
    main()
