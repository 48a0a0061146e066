"""Arguments, exit codes, streams: what every verb does with good and bad input."""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import xml.etree.ElementTree
from pathlib import Path

from support import EXAMPLE, RETILE, Case, counting, environment, main, npy, retile

DOCUMENTS = Path(__file__).resolve().parents[2]

PROGRAM = """retile.program/1
mesh a:2,b:2
from [2{a}4, 2{b}4]
to [2{b}4, 2{a}4]
allpermute source=[0,2,1,3]
"""


def with_types(mesh, from_type, to_type):
    return ["--mesh", mesh, from_type, to_type]


# name, bad, its good twin, words of the diagnostic
BAD_PROBLEMS = [
    ("empty mesh", with_types("", "[4]", "[4]"), with_types("x:1", "[4]", "[4]"), "mesh"),
    ("blank mesh", with_types(" ", "[4]", "[4]"), with_types(" x:1 ", "[4]", "[4]"), "mesh"),
    ("mesh without size", with_types("x", "[4]", "[4]"), with_types("x:2", "[4]", "[4]"), "--mesh"),
    ("mesh with rest", with_types("x:2,", "[4]", "[4]"), with_types("x:2", "[4]", "[4]"), "--mesh"),
    ("axis twice in mesh", with_types("x:2,x:2", "[4]", "[4]"), with_types("x:2,y:2", "[4]", "[4]"), "x"),
    ("axis of size zero", with_types("x:0", "[4]", "[4]"), with_types("x:1", "[4]", "[4]"), "--mesh"),
    ("axis of negative size", with_types("x:-2", "[4]", "[4]"), with_types("x:2", "[4]", "[4]"), "--mesh"),
    ("axis of 20 digits", with_types("x:10000000000000000000", "[4]", "[4]"),
     with_types("x:1000000000", "[4]", "[4]"), "--mesh"),
    ("too many devices", with_types("x:65536,y:65536", "[4]", "[4]"),
     with_types("x:65536,y:32768", "[4]", "[4]"), "--mesh"),
    ("unknown axis", with_types("x:2", "[2{y}4]", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM.*WF-DIM"),
    ("unknown axis in TO", with_types("x:2", "[4]", "[2{y}4]"), with_types("x:2", "[4]", "[2{x}4]"), "TO.*WF-DIM"),
    ("axis used twice", with_types("x:2", "[2{x}4, 2{x}4]", "[4, 4]"),
     with_types("x:2,y:2", "[2{x}4, 2{y}4]", "[4, 4]"), "FROM.*WF-TYPE"),
    ("axis used twice in a dimension", with_types("x:2", "[1{x,x}4]", "[4]"),
     with_types("x:2,y:2", "[1{x,y}4]", "[4]"), "FROM"),
    ("tile times axes not the global size", with_types("xdev:4", "[32{xdev}256, 1024]", "[256, 1024]"),
     with_types("xdev:4", "[64{xdev}256, 1024]", "[256, 1024]"), "32 \\* 4 = 128, not 256.*WF-DIM"),
    ("repeated size is another", with_types("x:4", "[3{x:3}12]", "[12]"), with_types("x:4", "[3{x:4}12]", "[12]"), "x"),
    ("tile of size zero", with_types("x:2", "[0{x}0]", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM"),
    ("negative tile", with_types("x:2", "[-2{x}4]", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM"),
    ("size of 20 digits", with_types("x:2", "[4]", "[99999999999999999999]"), with_types("x:2", "[4]", "[4]"), "TO"),
    ("global size beyond 63 bits", with_types("x:2", "[4294967296, 4294967296]", "[4294967296, 4294967296]"),
     with_types("x:2", "[4294967296, 4096]", "[4294967296, 4096]"), "FROM"),
    ("ranks differ", with_types("x:2", "[4]", "[4, 1]"), with_types("x:2", "[4, 1]", "[4, 1]"), "2 dimensions"),
    ("globaltypes differ", with_types("x:2", "[4]", "[8]"), with_types("x:2", "[8]", "[8]"), "global"),
    ("open brace", with_types("x:2", "[2{x4]", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM"),
    ("open bracket", with_types("x:2", "[2{x}4", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM"),
    ("no bracket", with_types("x:2", "2{x}4]", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM"),
    ("rest behind the type", with_types("x:2", "[4]]", "[4]"), with_types("x:2", "[4]", "[4]"), "FROM"),
    ("empty type", with_types("x:2", "", "[]"), with_types("x:2", "[]", "[]"), "FROM"),
    ("empty second type", with_types("x:2", "[]", ""), with_types("x:2", "[]", "[]"), "TO"),
    ("control characters", with_types("x:2", "[2{\x1b[31mx}4]", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM"),
    ("bytes that are no text", with_types("x:2", b"[2{\xff\xfe}4]", "[4]"), with_types("x:2", "[2{x}4]", "[4]"), "FROM"),
    ("a very long line", with_types("x:2", "[" + "1," * 50000 + "z]", "[4]"), with_types("x:2", "[4]", "[4]"), "FROM"),
    ("only a mesh", ["--mesh", "x:2"], with_types("x:2", "[4]", "[4]"), "FROM is missing"),
    ("no TO", ["--mesh", "x:2", "[4]"], with_types("x:2", "[4]", "[4]"), "TO is missing"),
    ("no mesh", ["[4]", "[4]"], with_types("x:2", "[4]", "[4]"), "--mesh is missing"),
    ("a third type", with_types("x:2", "[4]", "[4]") + ["[8]"], with_types("x:2", "[4]", "[4]"), "\\[8\\]"),
    ("mesh twice", with_types("x:2", "[4]", "[4]") + ["--mesh", "x:4"], with_types("x:2", "[4]", "[4]"), "--mesh"),
    ("unknown option", with_types("x:2", "[4]", "[4]") + ["--bogus"], with_types("x:2", "[4]", "[4]"), "--bogus"),
    ("flag with a value", with_types("x:2", "[4]", "[4]") + ["--json=perhaps"],
     with_types("x:2", "[4]", "[4]") + ["--json"], "--json"),
    ("an order of too many", with_types("x:2", "[4]", "[4]") + ["--order", "[0,1,2]"],
     with_types("x:2", "[4]", "[4]") + ["--order", "[1,0]"], "[0,1,2]"),
    ("color of no kind", with_types("x:2", "[4]", "[4]") + ["--color", "pink"],
     with_types("x:2", "[4]", "[4]") + ["--color", "never"], "never"),
]

BAD_PLAN_OPTIONS = [
    ("cost", ["--cost", "dollars"], ["--cost", "bytes"], "paper, bytes"),
    ("element type", ["--dtype", "f128"], ["--dtype", "c128"], "c128"),
    ("limit without number", ["--memory-limit", "KiB"], ["--memory-limit", "1KiB"], "KiB"),
    ("empty limit", ["--memory-limit="], ["--memory-limit=1000"], "KiB"),
    ("negative limit", ["--memory-limit", "-1"], ["--memory-limit", "1000"], "--memory-limit"),
    ("unknown unit", ["--memory-limit", "1KB"], ["--memory-limit", "1KiB"], "KiB"),
    ("limit beyond 63 bits", ["--memory-limit", "8388608TiB"], ["--memory-limit", "8388607TiB"], "2\\^63"),
    ("limit of 20 digits", ["--memory-limit", "99999999999999999999"], ["--memory-limit", "1000"], "2\\^63"),
    ("option without value", ["--memory-limit"], ["--memory-limit", "1000"], "--memory-limit"),
    ("empty certificate name", ["--certificate", ""], ["--certificate", "/dev/null"], "--certificate: an empty file name"),
    ("empty picture name", ["--svg="], [], "--svg: an empty file name"),
    ("a proof and an object on stdout", ["--certificate", "-", "--json"], ["--certificate", "-"], "--json"),
    ("a proof and an explanation on stdout", ["--explain", "--certificate", "-"], ["--certificate", "/dev/null", "--explain"],
     "--explain"),
]

BAD_RUN_OPTIONS = [
    ("other number of processes", ["-n", "23"], ["-n", "24"], "24 devices"),
    ("no process", ["-n", "0"], ["-n", "24"], "-n"),
    ("negative number of processes", ["-n", "-1"], ["-n", "24"], "-n"),
    ("processes in words", ["-n", "many"], ["-n", "24"], "-n"),
    ("no repetition", ["--repeat", "0"], ["--repeat", "2"], "--repeat"),
    ("repetitions with rest", ["--repeat", "2x"], ["--repeat", "2"], "--repeat"),
    ("unknown backend", ["--backend", "nccl"], ["--backend=sim"], "mpi, sim, cuda"),
    ("element type", ["--dtype", "float33"], ["--dtype", "f64"], "f64"),
    ("empty input name", ["--input="], [], "--input"),
    ("empty output name", ["--output", ""], [], "--output"),
    ("missing input", ["--input", "/does/not/exist.npy"], [], "--input"),
    ("directory as input", ["--input", "/"], [], "--input"),
    ("program beside a problem", ["--program", "x.txt"], [], "--program"),
]

# name, bad text, words; PROGRAM is the good twin of all
BAD_PROGRAMS = [
    ("empty", "", ""),
    ("only a comment", "# nothing\n", ""),
    ("another header", PROGRAM.replace("/1", "/3"), ""),
    ("words before the header", "hello\n" + PROGRAM, ""),
    ("ends after the header", "retile.program/1\n", ""),
    ("ends before to", "\n".join(PROGRAM.splitlines()[:3]) + "\n", "to"),
    ("ends inside a type", PROGRAM[:PROGRAM.index("2{b}4]")], ""),
    ("ends inside a table", PROGRAM[:-6], ""),
    ("device that does not exist", PROGRAM.replace("3]", "4]"), ""),
    ("group of a device that does not exist",
     PROGRAM.replace("allpermute source=[0,2,1,3]", "allgather dim=0 groups=[[0,2],[1,9]]"), "9"),
    ("dimension that does not exist",
     PROGRAM.replace("allpermute source=[0,2,1,3]", "allgather dim=7 groups=[2,2]<=[4]"), "7"),
    ("unknown step", PROGRAM.replace("allpermute", "allmagic"), "allmagic"),
    ("reserved step", PROGRAM.replace("allpermute source=[0,2,1,3]", "allreduce groups=[2,2]<=[4]"), "allreduce"),
    ("unknown key", PROGRAM.replace("source", "sauce"), "sauce"),
    ("key twice", PROGRAM.replace("source=[0,2,1,3]", "source=[0,2,1,3] source=[0,2,1,3]"), ""),
    ("number of 20 digits", PROGRAM.replace("0,2,1,3", "0,2,1,99999999999999999999"), ""),
    ("negative number", PROGRAM.replace("0,2,1,3", "0,2,1,-3"), ""),
    ("global shapes differ", PROGRAM.replace("to [2{b}4, 2{a}4]", "to [2{b}4, 4{a}8]"), ""),
    ("a NUL byte", PROGRAM.replace("source", "so\0urce"), ""),
    ("JSON cut short", '{"devices": 4, "mesh": [["a", 2]', ""),
    ("JSON of another kind", '{"schema": "retile.plan/1"}', ""),
]


class Information(Case):
    def test_help_of_every_verb_shows_examples_and_exit_codes(self):
        for arguments in [["--help"], ["-h"], ["plan", "--help"], ["lower", "-h"], ["check", "--help"], ["run", "--help"]]:
            with self.subTest(arguments=arguments):
                done = retile(*arguments)
                self.accepted(done)
                self.assertIn("Examples:", done.stdout)
                self.assertIn("  retile ", done.stdout)
                self.assertIn("xit codes:", done.stdout)

    def test_version(self):
        done = retile("--version")
        self.accepted(done)
        self.assertRegex(done.stdout, r"^retile \d+\.\d+\.\d+ \(backends: .*sim\)\n$")

    def test_no_verb_or_an_unknown_one_is_a_usage_error(self):
        self.refused(retile(), 2, "a verb is missing")
        self.refused(retile("disprove", *EXAMPLE), 2, "disprove")
        self.refused(retile("--mesh", "x:4"), 2)


class BadInput(Case):
    def test_problems(self):
        for name, bad, good, words in BAD_PROBLEMS:
            for verb in ["plan", "lower", "run"]:
                extra = ["--backend", "sim"] if verb == "run" else []
                with self.subTest(name=name, verb=verb):
                    self.refused(retile(verb, *bad, *extra), 2, words)
                    if verb == "plan":
                        self.accepted(retile(verb, *good))

    def test_check_takes_one_file(self):
        done = retile("check", "a.hlo", "b.hlo")
        self.refused(done, 2, "not expected: b.hlo")
        self.assertIn("note: one file is judged at a time: for f in", done.stderr)
        # That is no advice about an option that nobody knows, nor in another verb.
        for arguments in (["check", "a.hlo", "--bogus"], ["plan", *EXAMPLE, "b.hlo"]):
            self.assertNotIn("at a time", retile(*arguments).stderr)

    def test_problems_are_refused_before_processes_start(self):
        nowhere = environment(PATH="/nonexistent")
        for name, bad, _, words in BAD_PROBLEMS:
            with self.subTest(name=name):
                self.refused(retile("run", *bad, env=nowhere), 2, words)

    def test_plan_options(self):
        for name, bad, good, words in BAD_PLAN_OPTIONS:
            with self.subTest(name=name):
                self.refused(retile("plan", *EXAMPLE, *bad), 2, words)
                self.accepted(retile("plan", *EXAMPLE, *good))

    def test_run_options(self):
        for name, bad, good, words in BAD_RUN_OPTIONS:
            backend = [] if any("--backend" in word for word in bad + good) else ["--backend", "sim"]
            with self.subTest(name=name):
                self.refused(retile("run", *EXAMPLE, *bad, *backend), 2, words)
                self.accepted(retile("run", *EXAMPLE, *good, *backend))

    def test_programs(self):
        self.accepted(retile("check", stdin=PROGRAM))
        self.accepted(retile("run", "--program", "-", "--backend", "sim", stdin=PROGRAM))
        for name, text, words in BAD_PROGRAMS:
            with self.subTest(name=name):
                self.refused(retile("check", stdin=text), 2, words)
                self.refused(retile("check", "--json", self.write("bad.txt", text)), 2, words)
                self.refused(retile("run", "--program", "-", "--backend", "sim", stdin=text), 2, words)

    def test_every_prefix_of_a_program_has_an_answer(self):
        text = retile("lower", *EXAMPLE).stdout
        for end in range(0, len(text)):
            done = retile("check", stdin=text[:end])
            with self.subTest(end=end):
                self.assertIn(done.returncode, (0, 1, 2), done)
                if done.returncode == 2:
                    self.refused(done, 2)

    def test_files_that_cannot_be_read(self):
        self.refused(retile("check", self.path("missing.txt")), 2, "cannot open")
        self.refused(retile("check", self.folder), 2, "directory")
        self.refused(retile("run", "--program", self.folder, "--backend", "sim"), 2, "directory")
        self.refused(retile("check", ""), 2)
        self.accepted(retile("check", self.write("good.txt", PROGRAM)))

    def test_run_takes_one_program(self):
        self.refused(retile("run", "--program", "-", "--backend", "sim", stdin=PROGRAM + PROGRAM), 2, "2 Programs")
        self.accepted(retile("check", stdin=PROGRAM + PROGRAM))

    def test_npy_files(self):
        data = counting(144, 4)
        good = self.write("good.npy", npy((12, 12), "<f4", data))
        run = ["run", *EXAMPLE, "--backend", "sim", "--input"]
        self.accepted(retile(*run, good))
        self.accepted(retile(*run, good, "--dtype", "f32"))
        bad = {
            "another shape": npy((144,), "<f4", data),
            "shape transposed": npy((9, 16), "<f4", data),
            "Fortran order": npy((12, 12), "<f4", data, fortran=True),
            "objects": npy((12, 12), "|O", data),
            "structures": npy((12, 12), "[('a', '<i2'), ('b', '<i2')]", data),
            "text": npy((12, 12), "<U1", data),
            "too short": npy((12, 12), "<f4", data[:-1]),
            "too long": npy((12, 12), "<f4", data + b"x"),
            "no npy file": b"hello",
            "empty": b"",
            "header cut short": npy((12, 12), "<f4", data)[:40],
        }
        for name, content in bad.items():
            with self.subTest(name=name):
                self.refused(retile(*run, self.write("bad.npy", content)), 2, "--input")
        self.refused(retile(*run, good, "--dtype", "f64"), 2, "--dtype")
        self.refused(retile(*run, good, "--dtype", "i32"), 2, "--dtype")

    def test_output_that_cannot_be_written_leaves_nothing_behind(self):
        run = ["run", *EXAMPLE, "--backend", "sim", "--output"]
        self.refused(retile(*run, self.path("no/such/folder.npy")), 4)
        os.mkdir(self.path("taken"))
        self.refused(retile(*run, self.path("taken")), 4)
        self.refused(retile(*run, "/proc/retile.npy"), 4)
        self.assertEqual(os.listdir(self.folder), ["taken"])
        self.accepted(retile(*run, self.path("free.npy")))
        self.assertEqual(sorted(os.listdir(self.folder)), ["free.npy", "taken"])


class Streams(Case):
    def test_a_full_device_is_an_environment_failure(self):
        for arguments in (["plan", *EXAMPLE], ["lower", *EXAMPLE, "--json"], ["--help"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([RETILE, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 4)
            self.assertIn(b"error: cannot write to stdout", done.stderr)

    def test_a_certificate_that_cannot_be_written_leaves_the_old_one(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        path = self.write("cert", "the old one\n")
        os.chmod(path, 0o600)
        arguments = ["plan", *EXAMPLE, "--certificate", path]
        done = subprocess.run([RETILE, *arguments], capture_output=True, text=True, preexec_fn=limit, check=False)
        self.refused(done, 4, "--certificate: the file cannot be written")
        self.assertEqual(os.listdir(self.folder), ["cert"])
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "the old one\n")
        self.accepted(retile(*arguments))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertGreater(os.stat(path).st_size, 64)

    def test_a_reader_that_went_away_is_no_crash(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([RETILE, "plan", *EXAMPLE], stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"Broken pipe", done.stderr)

    def test_closed_streams(self):
        def shell(line):
            return subprocess.run(["sh", "-c", '"$0" ' + line, RETILE], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, cwd=self.folder, check=False)

        self.assertEqual(shell("--version >&-").returncode, 4)
        self.assertEqual(shell("--version").returncode, 0)
        self.assertEqual(shell("check <&-").returncode, 2)
        self.assertEqual(shell("plan 2>&-").returncode, 2)
        # The output file must not become the stdout that is missing.
        problem = "--mesh x:2 '[2{x}4]' '[4]' --backend sim"
        self.assertEqual(shell(f"run {problem} --output a.npy").returncode, 0)
        self.assertEqual(shell(f"run {problem} --output b.npy >&-").returncode, 4)
        with open(self.path("a.npy"), "rb") as a, open(self.path("b.npy"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_color_only_where_it_is_wanted(self):
        red = "\x1b[1;31merror:"
        bad = ["plan", "--mesh", "x:0", "[1]", "[1]"]
        self.assertNotIn("\x1b", retile(*bad).stderr)
        self.assertIn(red, retile(*bad, "--color=always").stderr)
        self.assertIn(red, retile("--color", "always", *bad).stderr)
        self.assertNotIn("\x1b", retile(*bad, "--color=never").stderr)


class Answers(Case):
    def test_a_limit_that_no_plan_keeps_is_a_no(self):
        done = retile("plan", *EXAMPLE, "--memory-limit", "47", "--json")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        answer = json.loads(done.stdout)
        self.assertEqual(list(answer), ["schema", "feasible", "limit_bytes", "smallest_feasible_bytes"])
        self.assertEqual((answer["feasible"], answer["limit_bytes"]), (False, 47))
        least = str(answer["smallest_feasible_bytes"])
        self.assertEqual(retile("plan", *EXAMPLE, "--memory-limit", least).returncode, 0)
        self.assertEqual(retile("plan", *EXAMPLE, "--memory-limit", str(int(least) - 1)).returncode, 1)
        self.assertIn(least, retile("plan", *EXAMPLE, "--memory-limit", "1").stdout)

    def test_a_plan_is_drawn(self):
        readme = (DOCUMENTS / "README.md").read_text(encoding="utf-8")
        command = re.search(r"^\$ retile (plan .*) --svg plan\.svg$", readme, re.MULTILINE)[1]
        path = self.path("plan.svg")
        drawn = retile(*shlex.split(command), "--svg", path)
        self.assertEqual(drawn.stdout, retile(*shlex.split(command)).stdout)
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        picture = Path(path).read_text(encoding="utf-8")
        self.assertEqual(picture, (DOCUMENTS / "docs" / "pictures" / "plan.svg").read_text(encoding="utf-8"))
        # A reader of XML accepts it, and it shows every device in the first panel.
        root = xml.etree.ElementTree.fromstring(picture)
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        words = " ".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
        for device in range(8):
            self.assertRegex(words, rf"\b{device}\b")

    def test_a_plan_is_drawn_beside_its_certificate(self):
        proof = retile("plan", *EXAMPLE, "--certificate", "-").stdout
        both = retile("plan", *EXAMPLE, "--certificate", "-", "--svg", self.path("plan.svg"))
        self.assertEqual((both.returncode, both.stdout), (0, proof))
        self.assertIn("<svg", Path(self.path("plan.svg")).read_text(encoding="utf-8"))

    def test_a_picture_goes_to_a_file_of_its_own(self):
        self.refused(retile("plan", *EXAMPLE, "--svg", "-"), 2, "--svg: a picture goes to a file")
        same = self.path("same")
        self.refused(retile("plan", *EXAMPLE, "--svg", same, "--certificate", same), 2, "--certificate names this file, too")
        self.accepted(retile("plan", *EXAMPLE, "--svg", same, "--certificate", self.path("other")))

    def test_names_cannot_disturb_a_terminal(self):
        def named(name):
            return ["--mesh", f'"{name}":4', f'[3{{"{name}"}}12]', "[12]"]

        for options in ([], ["--explain"], ["--cost", "bytes"], ["--network", '"\u202eX":1GB/s:1us', "--explain"]):
            done = retile("plan", *named("\u202eX"), *options)
            self.accepted(done)
            self.assertIn("X", done.stdout)
            self.assertNotIn("\u202e", done.stdout)
        for harmful in ("\x1b[31mX", "\x9bX", "\x7f", "\rX", "\tX"):
            for verb in ("plan", "lower"):
                done = retile(verb, *named(harmful))
                self.refused(done, 2, "neither a quote nor a control character")
                self.assertNotIn(harmful[0], done.stderr)
            self.accepted(retile("lower", *named("\u00e9 " + harmful[1:])))

    def test_a_picture_that_cannot_be_written_is_said(self):
        missing = self.path("missing/plan.svg")
        self.refused(retile("plan", *EXAMPLE, "--svg", missing), 4, "--svg: the file cannot be written")
        self.refused(retile("plan", "--mesh", "x:2097152", "[1{x}2097152]", "[1{x}2097152]", "--svg", self.path("x.svg")),
                     3, "1048576")

    def test_units_of_the_limit(self):
        for text, limit in {"0": 0, "1": 1, "2B": 2}.items():
            done = retile("plan", *EXAMPLE, "--memory-limit", text, "--json")
            self.assertEqual(json.loads(done.stdout)["limit_bytes"], limit)
        big = ["--mesh", "x:2", "[1073741824{x}2147483648]", "[2147483648]", "--dtype", "c128", "--json"]
        for text, limit in {"1KiB": 2**10, "2MiB": 2**21, "3GiB": 3 * 2**30}.items():
            done = retile("plan", *big, "--memory-limit", text)
            self.assertEqual(json.loads(done.stdout)["limit_bytes"], limit)

    def test_cuda_says_why_it_does_not_run(self):
        done = retile("run", *EXAMPLE, "--backend", "cuda")
        if "cuda" not in retile("--version").stdout:
            self.refused(done, 4, "cuda is not built")
        elif done.returncode == 0:  # there is a GPU
            self.assertIn("right: 144 elements compared on 24 processes (cuda, ", done.stdout)
        else:
            self.refused(done, 4, "no CUDA device: ")

    def test_cuda_moves_no_files(self):
        output = ["--output", self.path("out.npy")]
        self.refused(retile("run", *EXAMPLE, "--backend", "cuda", *output), 4, "no files")
        self.accepted(retile("run", *EXAMPLE, "--backend", "sim", *output))
        self.refused(retile("run", *EXAMPLE, "--backend", "cuda", "--input", self.path("out.npy")), 4, "no files")

    def test_the_wrong_program_is_not_run(self):
        wrong = PROGRAM.replace("[0,2,1,3]", "[0,1,2,3]")
        done = retile("run", "--program", "-", "--backend", "sim", "--output", self.path("out.npy"), stdin=wrong)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, r"^not run: wrong at step 1 \(end\)")
        done = retile("run", "--program", "-", "--backend", "sim", "--json", stdin=wrong)
        self.assertEqual((done.returncode, json.loads(done.stdout)["schema"]), (1, "retile.verdict/1"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_program_over_the_limit_is_not_run(self):
        run = ["run", "--program", "-", "--backend", "sim", "--output", self.path("out.npy"), "--json"]
        # A tile of 2 x 2 elements of 4 bytes, before and after the step.
        done = retile(*run, "--memory-limit", "31", stdin=PROGRAM)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout), {"schema": "retile.run/1", "feasible": False, "limit_bytes": 31,
                                                   "resident_bytes": 32})
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(retile(*run, "--memory-limit", "32", stdin=PROGRAM).returncode, 0)

    def test_thousands_of_processes_only_on_request(self):
        many = ["--mesh", "x:2048", "[1{x}2048]", "[1{x}2048]"]
        self.refused(retile("run", *many), 2, "-n 2048")
        self.accepted(retile("run", *many, "--backend", "sim"))


if __name__ == "__main__":
    main()
