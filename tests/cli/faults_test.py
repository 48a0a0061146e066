"""What goes wrong around a run: headers that lie, disks that are full, signals, modes of files, processes that do not come."""

import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import time
import unittest

from support import RETILE, Case, counting, environment, main, npy, npy_parts, retile

TWO = ["--mesh", "x:2", "[2{x}4, 4]", "[4, 2{x}4]"]
# A second and more of copying.
LONG = ["--mesh", "x:2", "[1024{x}2048, 2048]", "[2048, 1024{x}2048]", "--repeat", "100000"]
MPIRUN = ["mpirun", "--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
# What a program tells another in a text may not be ended by a unit of time.
INJECTED = ["<M8[\\n16 128 2 4 4 ]", "<M8[\\n1 128 2 4 4 ]", "<M8[\\n8 4000000000 2 4 4 ]", "<M8[\\n8 128 1000000000000000 4 4 ]",
            "<M8[\\n0 128 2 4 4 ]", "<M8[\\n-8 128 2 4 4 ]", "<M8[\\x1b[31mX]", "<M8[\\r\\nfoo]"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


needs_mpirun = unittest.skipIf(shutil.which("mpirun") is None, "there is no mpirun")


class Headers(Case):
    def source(self, descr, quote="'"):
        text = "{'descr': %s%s%s, 'fortran_order': False, 'shape': (4, 4), }" % (quote, descr, quote)
        text += " " * (-(10 + len(text) + 1) % 64) + "\n"
        content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1") + counting(16, 8)
        return self.write("in.npy", content)

    def test_a_unit_of_time_that_numpy_does_not_know_is_refused_everywhere(self):
        for backend in ("sim", "mpi"):
            for descr in INJECTED:
                with self.subTest(backend=backend, descr=descr):
                    source = self.source(descr.encode().decode("unicode_escape"))
                    self.refused(retile("run", *TWO, "--backend", backend, "--input", source), 2, "unknown element type")

    def test_units_that_it_knows_go_through(self):
        for backend in ("sim", "mpi"):
            for descr in ("<M8[ns]", "<m8[25s]", ">M8[D]", "<M8"):
                with self.subTest(backend=backend, descr=descr):
                    source = self.source(descr)
                    self.accepted(retile("run", *TWO, "--backend", backend, "--input", source, "--output", self.path("out.npy")))
                    header, data = npy_parts(read(self.path("out.npy")))
                    self.assertIn(f"'descr': '{descr}'", header)
                    self.assertEqual(data, counting(16, 8))

    def test_what_was_written_can_be_read(self):
        self.refused(retile("run", *TWO, "--backend", "sim", "--input", self.source("<M8['+'ns]", '"'), "--output",
                            self.path("out.npy")), 2, "unknown element type")
        self.assertEqual(os.listdir(self.folder), ["in.npy"])
        self.accepted(retile("run", *TWO, "--backend", "sim", "--input", self.source("<M8[ns]", '"'), "--output",
                             self.path("out.npy")))
        self.accepted(retile("run", *TWO, "--backend", "sim", "--input", self.path("out.npy")))


class Files(Case):
    def limited(self, bytes_, *arguments, stdout=subprocess.PIPE):
        """Runs the program where no file may be longer than that."""
        return subprocess.run([RETILE, *arguments], stdout=stdout, stderr=subprocess.PIPE, env=environment(), timeout=60, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_)))

    def test_an_output_that_may_not_grow_is_an_error_and_leaves_nothing(self):
        run = ["run", "--backend", "sim", "--mesh", "x:2", "[1024{x}2048]", "[2048]", "--output", self.path("x.npy")]
        done = self.limited(1024, *run)
        self.assertEqual(done.returncode, 4, done)
        self.assertRegex(done.stderr.decode(), "^error: the output of 8320 bytes cannot be written: File too large\n")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.limited(10000, *run).returncode, 0)
        self.assertEqual(os.listdir(self.folder), ["x.npy"])

    def test_a_result_that_may_not_grow_is_an_error(self):
        lower = ["lower", "--mesh", "x:64", "[1{x}64, 64]", "[64, 1{x}64]", "--direct"]
        with open(self.path("out"), "w") as out:
            done = self.limited(4096, *lower, stdout=out)
        self.assertEqual(done.returncode, 4, done)
        self.assertEqual(done.stderr, b"error: cannot write to stdout: File too large\n")
        with open(self.path("out"), "w") as out:
            self.assertEqual(self.limited(1 << 20, *lower, stdout=out).returncode, 0)

    def test_the_mode_of_an_output_stays_and_the_temporary_is_private(self):
        for mode in (0o600, 0o640, 0o644):
            with self.subTest(mode=oct(mode)):
                path = self.write("b.npy", "before")
                os.chmod(path, mode)
                self.accepted(retile("run", *TWO, "--backend", "sim", "--output", path))
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode)
        path = self.write("b.npy", "before")
        os.chmod(path, 0o640)
        job = subprocess.Popen([RETILE, "run", *LONG, "--backend", "sim", "--output", path], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=environment())
        self.assertEqual(self.modes_of_temporaries(), [0o600])
        job.kill()
        job.wait()

    def modes_of_temporaries(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = [name for name in os.listdir(self.folder) if name.endswith(".retile-tmp")]
            if found:
                return [stat.S_IMODE(os.stat(self.path(name)).st_mode) for name in found]
            time.sleep(0.01)
        return []


class Signals(Case):
    def start(self, *arguments):
        """A run that has begun to move."""
        job = subprocess.Popen([*arguments, RETILE, "run", *LONG, "--output", "out.npy",
                                *([] if arguments else ["--backend", "sim"])],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=self.folder)
        self.addCleanup(job.kill)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        said = b""
        while b"move" not in said and job.poll() is None:
            said += job.stderr.readline()
        self.assertIn(b"move", said)
        self.assertEqual(len(os.listdir(self.folder)), 1)
        return job

    def test_a_signal_removes_the_temporary_and_ends_the_program(self):
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=sent):
                job = self.start()
                job.send_signal(sent)
                out, _ = job.communicate(timeout=20)
                self.assertEqual((job.returncode, out), (-sent, b""))
                self.assertEqual(os.listdir(self.folder), [])

    def test_what_cannot_be_caught_leaves_the_temporary_and_not_the_output(self):
        job = self.start()
        job.kill()
        job.communicate(timeout=20)
        self.assertRegex("\n".join(os.listdir(self.folder)), r"^\.out\.npy\.\d+-[0-9a-f]{8}\.retile-tmp$")

    def test_an_ignored_signal_stays_ignored(self):
        job = self.start("sh", "-c", "trap '' HUP; exec \"$0\" \"$@\" --backend sim")
        job.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=20)
        self.assertEqual((job.returncode, os.listdir(self.folder)), (-signal.SIGTERM, []))

    @needs_mpirun
    def test_under_mpirun_as_well(self):
        # To the process that has the output: mpirun itself may send KILL right behind TERM.
        job = self.start(*MPIRUN, "-n", "2")
        name, = os.listdir(self.folder)
        os.kill(int(name.split(".npy.")[1].split("-")[0]), signal.SIGTERM)
        job.communicate(timeout=30)
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(os.listdir(self.folder), [])


@needs_mpirun
class Jobs(Case):
    FOUR = ["--mesh", "a:2,b:2", "[8{a}16, 16]", "[16, 4{b,a}16]"]

    def test_a_launch_with_too_few_descriptors_ends_and_says_why(self):
        def limited(descriptors):
            begun = time.monotonic()
            done = subprocess.run([RETILE, "run", *self.FOUR], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                                  timeout=60, check=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
            self.assertLess(time.monotonic() - begun, 30)
            done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
            return done

        for descriptors in (40, 30):
            with self.subTest(descriptors=descriptors):
                self.refused(limited(descriptors), 4, "error: mpirun could not start the processes: The system limit on number of pipes")
        self.assertEqual(limited(1024).returncode, 0)

    def test_processes_that_never_come_are_not_waited_for(self):
        path = self.write("mpirun", "#!/bin/sh\nexec sleep 100\n")
        os.chmod(path, 0o755)
        env = environment(PATH=self.folder + ":" + os.environ["PATH"], RETILE_START_SECONDS="1")
        self.refused(retile("run", *self.FOUR, env=env, timeout=30), 4, "mpirun did not start the processes within 1 seconds")

    def test_a_process_with_another_verb_does_not_hang_the_rest(self):
        late = self.write("late", '#!/bin/sh\nsleep 2\nexec "$@"\n')
        os.chmod(late, 0o755)
        job = [*MPIRUN, "-n", "1", RETILE, "plan", *self.FOUR, ":", "-n", "3", late, RETILE, "run", *self.FOUR]
        done = subprocess.run(job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(RETILE_START_SECONDS="3"),
                              timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"error: not all processes of the job came to this run within 3 seconds\n", done.stderr)
        # All with the same verb come, however late.
        done = subprocess.run([*MPIRUN, "-n", "4", late, RETILE, "run", *self.FOUR], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(RETILE_START_SECONDS="60"), timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class Told(Case):
    def lines(self, said):
        return re.findall(r"retile: ([^\r\n\x1b]*)", said)

    def run_until(self, stderr, is_enough):
        """Ends a run that would go on for long a second after enough was said."""
        job = subprocess.Popen([RETILE, "run", *LONG, "--backend", "sim"], stdout=subprocess.DEVNULL, stderr=stderr,
                               env=environment(), cwd=self.folder)
        late = time.monotonic() + 30
        while not is_enough() and time.monotonic() < late:
            time.sleep(0.1)
        time.sleep(1)
        job.terminate()
        job.wait()

    def test_a_file_gets_a_line_for_each_stage(self):
        with open(self.path("said"), "w+b") as said:
            self.run_until(said, lambda: b"move" in read(self.path("said")))
            said.seek(0)
            stages = [re.match(r"\w+", line).group() for line in self.lines(said.read().decode())]
        self.assertIn("move", stages)
        self.assertEqual(len(stages), len(set(stages)), stages)

    def test_a_terminal_gets_one_line_that_is_written_anew(self):
        ours, theirs = os.openpty()
        os.set_blocking(ours, False)
        said = bytearray()

        def is_enough():
            try:
                while part := os.read(ours, 4096):
                    said.extend(part)
            except OSError:  # nothing now, or nobody any more
                pass
            return len(self.lines(said.decode())) > 2

        self.run_until(theirs, is_enough)
        os.close(theirs)
        is_enough()
        os.close(ours)
        self.assertGreater(len(self.lines(said.decode())), 2)
        self.assertEqual(said.count(b"\n"), 0)


class Checked(Case):
    def test_the_time_for_checking_is_a_number(self):
        for wrong in ("0", "-1", "x"):
            self.refused(retile("run", *TWO, "--backend", "sim", "--timeout", wrong), 2, "--timeout: not a whole number of seconds from 1")
        self.accepted(retile("run", *TWO, "--backend", "sim", "--timeout", "60"))


if __name__ == "__main__":
    main()
