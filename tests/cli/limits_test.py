"""--timeout and --memory of every verb, what ends with a call, and texts that a terminal must not obey."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid

from support import EXAMPLE, RETILE, Case, environment, main, retile, without_progress

RIGHT = retile("lower", *EXAMPLE).stdout
# How each verb is called so that it waits for stdin; and one that reads none.
READING = {
    "check": ["-"],
    "prove": ["-"],
    "lower": ["-"],
    "explain": ["-"],
    "convert": ["-", "--as", "program"],
    "grad": ["-"],
    "partition": ["-"],
    "run": ["-", "--backend", "sim"],
    "validate": ["-", "-"],
}
VERBS = [*READING, "plan"]
OVER_TIME = "error: undecided: the time limit of 1 second is reached\nnote: --timeout allows more\n"
OVER_MEMORY = "error: undecided: the memory limit of 1MiB is reached\nnote: --memory allows more\n"
# A second behind the limit, and what a busy machine takes to start and to end a program.
SLACK = 1 + float(os.environ.get("RETILE_TEST_SLACK", "4"))


def marked():
    """A number of seconds that no other process sleeps for."""
    return str(100000 + uuid.uuid4().int % 899999)


def sleepers(mark):
    """Processes that have the mark as a word of their command line."""
    out = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[:1] == [b"sleep"] and mark.encode() in words:
                out.append(int(name))
    return out


class Waiting:
    """A call whose stdin stays open."""

    def __init__(self, *arguments, env=None):
        self.began = time.monotonic()
        self.process = subprocess.Popen([RETILE, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=env or environment())

    def ended(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.out = self.process.stdout.read().decode()
            self.err = self.process.stderr.read().decode()
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                stream.close()
        self.seconds = time.monotonic() - self.began
        return self.process.returncode


class Limits(Case):
    def test_every_verb_has_them(self):
        verbs = re.findall(r"^  (\w+) +\w", retile("--help").stdout.split("Subcommands:")[1].split("\n\n")[0], re.M)
        # The oracle, which rewrites, has limits of its own.
        self.assertEqual(sorted(verbs), sorted([*VERBS, "rewrite"]))
        for verb in VERBS:
            text = retile(verb, "--help").stdout
            limit = {"plan": ": no limit", "run": ": no limit", "check": " 60; no limit for --shrink",
                     "explain": " 60; no limit for a folder", "validate": " 60; no limit for a folder or --shrink"}.get(verb, " 60")
            self.assertIn(f"--timeout S                 seconds until it ends, undecided (default{limit})", text)
            self.assertIn("--memory BYTES              most memory that it takes itself (default 2GiB)", text)

    def test_values(self):
        for verb, words in [*READING.items(), ("plan", EXAMPLE)]:
            for bad in ("0", "-1", "1s", "1.5", "1000001"):
                done = retile(verb, *words, f"--timeout={bad}")
                self.refused(done, 2, "--timeout: not a whole number of seconds from 1 to 1000000")
            for bad in ("0", "0GiB", "-1", "1 GiB", "1gb", "lots"):
                self.refused(retile(verb, *words, f"--memory={bad}"), 2, "--memory: not a number of bytes")
        self.accepted(retile("plan", *EXAMPLE, "--timeout", "1000000", "--memory", "1GiB"))

    def test_who_waits_for_input_ends_in_time(self):
        calls = {verb: Waiting(verb, *words, "--timeout", "1") for verb, words in READING.items()}
        for verb, call in calls.items():
            with self.subTest(verb):
                self.assertEqual(call.ended(1 + SLACK), 3, call.err)
                self.assertEqual((call.out, without_progress(call.err)), ("", OVER_TIME))
                self.assertGreater(call.seconds, 0.9)

    def test_who_writes_or_moves_ends_in_time(self):
        os.mkfifo(self.path("pipe"))
        calls = {"plan": ["plan", *EXAMPLE, "--svg", self.path("pipe")],
                 "run": ["run", *EXAMPLE, "--backend", "sim", "--repeat", "100000000"]}
        waiting = {verb: Waiting(*words, "--timeout", "1") for verb, words in calls.items()}
        for verb, call in waiting.items():
            with self.subTest(verb):
                self.assertEqual(call.ended(1 + SLACK), 3, call.err)
                self.assertEqual((call.out, without_progress(call.err)), ("", OVER_TIME))

    def test_who_asked_for_no_limit_may_wait_for_input(self):
        call = Waiting("check", "-")
        time.sleep(2)
        self.assertIsNone(call.process.poll())
        call.process.stdin.write(RIGHT.encode())
        call.process.stdin.close()
        self.assertEqual(call.process.wait(60), 0)
        call.process.stdout.close()
        call.process.stderr.close()

    def test_whoever_blocked_the_signal_does_not_matter(self):
        line = ("import os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); signal.signal(signal.SIGALRM, signal.SIG_IGN); "
                f"os.execv({RETILE!r}, ['retile', 'check', '-', '--timeout', '1'])")
        with subprocess.Popen([sys.executable, "-c", line], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as running:
            self.assertEqual(running.wait(2 + SLACK), 3)
            self.assertEqual(running.stderr.read().decode(), OVER_TIME)

    def test_a_slow_reader_gets_the_whole_answer(self):
        # More than a pipe holds.
        words = ["check", "--json", self.write("many.txt", 2500 * RIGHT)]
        whole = retile(*words).stdout
        self.assertGreater(len(whole), 200000)
        with subprocess.Popen([RETILE, *words, "--timeout", "2"], stdout=subprocess.PIPE, env=environment()) as slow:
            time.sleep(4)
            self.assertEqual(slow.stdout.read().decode(), whole)
            self.assertEqual(slow.wait(), 0)

    def test_the_memory_limit_says_that_it_was_that(self):
        for verb, words in READING.items():
            with self.subTest(verb):
                done = retile(verb, *words, "--memory", "1MiB", stdin=b"\0" * 4000000)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", OVER_MEMORY))
                # The same with room for it is refused for what it is.
                self.assertNotIn("memory", retile(verb, *words, "--memory", "200MiB", stdin=b"\0" * 4000000).stderr)
        # What the machine forbids is another matter.
        done = subprocess.run(["sh", "-c", f"ulimit -v 400000; exec {RETILE} check - --memory 1TiB"], input=b"\0" * 500000000,
                              capture_output=True, env=environment(), check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (4, b"", b"error: out of memory\n"))

    def test_arrays_of_a_run_are_apart(self):
        done = retile("run", "--mesh", "a:2", "[2097152{a}4194304]", "[4194304]", "--backend", "sim", "--memory", "16MiB")
        self.assertEqual(done.returncode, 0, done)

    def test_files_are_written_whole_or_not_at_all(self):
        call = Waiting("run", "--mesh", "a:2", "[4194304{a}8388608]", "[8388608]", "--backend", "sim", "--output", self.path("B.npy"),
                       "--repeat", "1000000", "--timeout", "1")
        self.assertEqual(call.ended(1 + SLACK), 3, call.err)
        self.assertEqual(os.listdir(self.folder), [])


class Children(Case):
    ENDS = ["--mesh", "x:4", "--from", "[3{x}12]", "--to", "[12]"]

    def gone(self, mark):
        for _ in range(100):
            left = sleepers(mark)
            if not left:
                return
            time.sleep(0.05)
        for process in left:
            os.kill(process, signal.SIGKILL)
        self.fail(f"processes are left: {left}")

    def call(self, peer, *options):
        return Waiting("check", "--shrink", "--peer", peer, *self.ENDS, *options)

    def test_a_child_of_another_session_ends_with_its_time(self):
        for option in ("--peer-timeout", "--timeout"):
            with self.subTest(option):
                mark = marked()
                call = self.call(f"setsid sh -c 'sleep {mark} & sleep {mark}' & setsid -w sleep {mark}; echo {{mesh}}", option, "1")
                self.assertEqual(call.ended(1 + SLACK), 3, call.err)
                self.assertEqual(call.out, "")
                self.assertIn("late" if option == "--peer-timeout" else OVER_TIME, call.err)
                self.gone(mark)

    def test_a_child_of_another_session_ends_with_its_command(self):
        mark = marked()
        call = self.call(f"setsid sleep {mark} & (sleep {mark} &) ; exit 3; echo {{mesh}}")
        self.assertEqual(call.ended(60), 3, call.err)
        self.gone(mark)

    def test_a_child_of_another_session_ends_with_the_program(self):
        for ending in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            mark = marked()
            call = self.call(f"setsid sleep {mark} & setsid sleep {mark} & sleep {mark}; echo {{mesh}}")
            while len(sleepers(mark)) < 3:
                time.sleep(0.02)
            call.process.send_signal(ending)
            self.assertEqual(call.ended(30), -ending)
            self.gone(mark)

    def test_what_a_shell_left_to_this_program_stays(self):
        mark = marked()
        line = (f"sleep {mark} > /dev/null 2>&1 & echo $!; exec {RETILE} check --shrink --peer 'sleep {mark}; echo {{mesh}}' "
                f"{' '.join(map(repr, self.ENDS))} --timeout 1")
        with subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as running:
            out, _ = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 3)
        self.assertEqual(sleepers(mark), [int(out.split()[0])])
        os.kill(int(out.split()[0]), signal.SIGKILL)

    def test_who_writes_too_much_is_not_called_aborted(self):
        for command in ("head -c 300000000 /dev/zero", "head -c 300000000 /dev/zero > big", "yes {mesh}"):
            with self.subTest(command):
                done = retile("check", "--shrink", "--peer", command, *self.ENDS, cwd=self.folder)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn("too long, more than 256 MiB", done.stderr)

    def test_the_smallest_so_far(self):
        # Wrong wherever two devices stand in a group, and slow once it has been asked three times.
        peer = (f"echo >> count; test $(wc -l < count) -lt 4 || sleep 100; {RETILE} lower --as stablehlo --mesh {{mesh}} {{from}} {{to}} | "
                "sed 's/\\[\\[0, 1/[[1, 0/'")
        done = retile("check", "--shrink", "--json", "--peer", peer, "--mesh", "x:4,y:6", "--from", "[3{x}12, 2{y}12]", "--to", "[12, 3{x}12]",
                      "--timeout", "6", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done)
        found = json.loads(done.stdout)
        self.assertEqual((found["kind"], found["complete"], found["runs"]), ("wrong: end", False, 3))
        self.assertLess(len(found["mesh"]), len("x:4,y:6"))


class Words(Case):
    ENDS = ["--mesh", "x:4", "--from", "[3{x}12]", "--to", "[12]"]

    def test_placeholders_between_quotes(self):
        for peer in ('echo "{mesh}"', "echo '{from}'", "sh -c 'echo {to}'", 'x="$(echo {shape})"', "echo `echo {mesh}`", "echo \"a\\\"{mesh}\"",
                     "echo 'a\\'{mesh}''"):
            with self.subTest(peer):
                marked_peer = f"touch {self.path('run')}; {peer}"
                done = retile("check", "--shrink", "--peer", marked_peer, *self.ENDS)
                if peer == "echo 'a\\'{mesh}''":  # the quote ends before it
                    self.assertNotIn("stands inside quotes", done.stderr)
                    continue
                self.refused(done, 2, "stands inside quotes")
                self.assertFalse(os.path.exists(self.path("run")))

    def test_a_placeholder_is_one_word(self):
        self.write("say.py", "import json, sys\njson.dump(sys.argv[1:], open('said', 'w'))\n")
        for peer, said in (("{mesh} {from}", ["x:4", "[3{x}12]"]), ("-{shape}- \\{ {to:jax}", ["-12-", "{", "NamedSharding(mesh=Mesh('x': 4), spec=P(None))"]),
                           ("\\'{mesh}\\' {x} ${HOME:+y}", ["'x:4'", "{x}", "y"])):
            retile("check", "--shrink", "--peer", f"{sys.executable} say.py {peer}", *self.ENDS, "--runs", "0", cwd=self.folder)
            with open(self.path("said"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), said, peer)

    def test_no_name_of_a_file_reaches_a_shell(self):
        for name in ("x$(touch pwned)", "x`touch pwned`", "x;touch pwned", "x' ; touch pwned; '", "x y", "-x"):
            text = (f'sdy.mesh @m = <["{name}"=2]>\nfunc.func @f(%a: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"{name}"}}]>}})'
                    ' -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {\n'
                    f'  %0 = sdy.all_gather [{{"{name}"}}] %a out_sharding=<@m, [{{}}]> : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}}\n')
            done = retile("check", "--shrink", "--peer", "eval echo {mesh} {from}; sh -c {to}; false", "-", stdin=text, cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("is not handed to a command", done.stderr)
            self.assertEqual(os.listdir(self.folder), [])

    def test_no_control_character_comes_back(self):
        escapes = "\x1b[31m red \x1b]0;title\x07 \x9b31m \r \b \x7f"
        module = f"retile.spmd/1\n# {escapes}\nmesh d:2\nfn main(x : [2{{d}}4]) -> [4] # {escapes}\ny = redistribute x as [4]\nreturn y\n"
        lowered = retile("lower", "-", stdin=module)
        self.assertEqual(lowered.returncode, 0, lowered)
        texts = [module, f"retile.program/1\nmesh {escapes}", f"HloModule {escapes}\n{escapes}", f"func.func @{escapes}", escapes,
                 f'{{"schema":"retile.program/1","{escapes}":1}}', f"retile.array/1\narray {escapes}", f"Involuntary full rematerialization {escapes}"]
        for text in texts:
            for verb, words in READING.items():
                for options in ([], ["--json"]):
                    done = retile(verb, *words, *options, stdin=text)
                    self.assertIn(done.returncode, (0, 1, 2, 3), done)
                    for stream in (done.stdout, done.stderr):
                        self.assertNotRegex(stream, "[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", (verb, text))
        name = self.write("a\x1b[31m.txt", "nothing")
        self.assertNotIn("\x1b", retile("check", name).stderr)
        self.assertNotIn("\x1b", retile("check", name + "\x1b").stderr)

    def test_byte_order_marks_are_named(self):
        for mark, name in ((b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")):
            for verb, words in READING.items():
                self.refused(retile(verb, *words, stdin=mark + RIGHT.encode()), 2, f"byte order mark, that of {name}")


class Processes(Case):
    """Under mpirun."""

    FOUR = ["--mesh", "a:2,b:2", "[8{a}16, 12]", "[16, 3{b,a}12]"]

    def left(self):
        found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
        return [line for line in found if f"{RETILE} run" in line and self.folder in line]

    def test_a_launched_job_ends_in_time(self):
        call = Waiting("run", *self.FOUR, "--repeat", "1000000000", "--output", self.path("B.npy"), "--timeout", "4")
        self.assertEqual(call.ended(4 + SLACK), 3, call.err)
        self.assertEqual((call.out, without_progress(call.err)), ("", OVER_TIME.replace("1 second", "4 seconds")))
        for _ in range(100):
            if not self.left() and not os.listdir(self.folder):
                break
            time.sleep(0.05)
        self.assertEqual((self.left(), os.listdir(self.folder)), ([], []))

    def test_a_job_of_the_user_ends_in_time(self):
        began = time.monotonic()
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", RETILE, "run", *self.FOUR, "--repeat", "1000000000",
                               "--output", self.path("B.npy"), "--timeout", "4"], capture_output=True, text=True, env=environment(), check=False,
                              timeout=60, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertLess(time.monotonic() - began, 4 + 2 * SLACK)
        self.assertEqual(done.stderr.count("the time limit of 4 seconds is reached"), 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_arrays_and_what_mpi_has_are_apart(self):
        done = retile("run", "--mesh", "a:2", "[2097152{a}4194304]", "[4194304]", "--memory", "24MiB")
        self.assertEqual(done.returncode, 0, done)


if __name__ == "__main__":
    main()
