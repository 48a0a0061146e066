"""`retile check --shrink`: stand-ins for another system, which are wrong, abort, hang or talk."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from pathlib import Path

from support import RETILE, Case, main, retile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MESH = ["--mesh", "x:4,y:6", "--from", "[3{x}12, 2{y}12]", "--to", "[12, 3{x}12]"]

# Asks retile itself, and spoils what it says wherever an axis of the mesh divides by three.
STAND_IN = """
import os, re, subprocess, sys
kind, retile, mesh, start, end, shape = sys.argv[1:]
sizes = [int(axis.split(":")[1]) for axis in mesh.split(",")]
done = subprocess.run([retile, "lower", "--mesh", mesh, start, end, "--as", "stablehlo"], capture_output=True, text=True)
if done.returncode != 0:
    sys.exit("it cannot")
bad = any(size % 3 == 0 for size in sizes)
if kind == "abort" and bad:
    print("the last words", file=sys.stderr, flush=True)
    os.abort()
if kind == "refuse" and bad:
    sys.exit("that is too hard")
text = done.stdout
if kind == "wrong" and bad:
    text = re.sub(r"dense<\\[\\[(\\d+), (\\d+)", r"dense<[[\\2, \\1", text, count=1)
print(text, end="")
"""


class Shrink(Case):
    def setUp(self):
        super().setUp()
        self.write("stand in.py", STAND_IN)

    def command(self, kind, ends="{mesh} {from} {to} {shape}"):
        return f"{sys.executable} '{self.path('stand in.py')}' {kind} {RETILE} {ends}"

    def shrunk(self, kind, *arguments):
        done = retile("check", "--shrink", "--peer", self.command(kind), "--json", *arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)

    def not_shrunk(self, code, words, *arguments, stdin=""):
        done = retile("check", "--shrink", *arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, done.stderr)

    def test_the_smallest_wrong_one(self):
        found = self.shrunk("wrong", *MESH)
        self.assertEqual(found["schema"], "retile.shrunk/1")
        self.assertEqual(found["kind"], "wrong: end")
        self.assertEqual((found["mesh"], found["shape"], found["complete"]), ("y:3", [3], True))
        self.assertEqual((found["from"], found["to"]), ("[1{y}3]", "[3]"))
        self.assertIs(found["verdict"]["right"], False)
        self.assertLess(found["runs"], 60)
        # What is printed is wrong by itself, too.
        again = retile("check", "--json", "--mesh", "y:3", "--from", found["from"], "--to", found["to"],
                       stdin=found["program"])
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertEqual(json.loads(again.stdout), found["verdict"])

    def test_the_order_of_ranks_is_handed_on(self):
        """Without it the command answers another question, and its answer is right where the file is wrong."""
        found = EXAMPLES / "found" / "torch-2.15.0-order.json"
        stand_in = "import sys; order, path = sys.argv[1:]; text = open(path).read(); " \
                   "print(text if order == '[1,0]' else text.replace('[1, 0]', '[0, 1]'))"
        self.write("order.py", stand_in)
        command = f"{sys.executable} '{self.path('order.py')}'"
        self.not_shrunk(2, ["stand in another order", "{order} hands it on"], "--peer", command + " {mesh} " + str(found), str(found))
        done = retile("check", "--shrink", "--json", "--peer", command + " {order} " + str(found), str(found))
        self.assertEqual(done.returncode, 1, done.stderr)
        out = json.loads(done.stdout)
        self.assertEqual((out["kind"], out["order"]), ("wrong: end", [1, 0]))

    def test_as_text(self):
        done = retile("check", "--shrink", "--peer", self.command("wrong"), *MESH)
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = done.stdout.splitlines()
        self.assertIn("wrong: end, after", lines[0])
        self.assertEqual(lines[1], "--mesh 'y:3' --from '[1{y}3]' --to '[3]'")
        self.assertIn("wrong at line", lines[2])

    def test_the_ends_of_a_file(self):
        text = retile("lower", "--mesh", "x:4,y:6", "[3{x}12, 2{y}12]", "[12, 3{x}12]", "--as", "sdy").stdout
        file = self.write("module.mlir", text)
        self.assertEqual(self.shrunk("wrong", file)["mesh"], "y:3")

    def test_an_axis_of_a_file_without_names(self):
        text = retile("lower", "--mesh", "x:6", "[1{x}6]", "[6]", "--as", "hlo").stdout
        file = self.write("module.hlo", text)
        found = self.shrunk("wrong", "--shape", "6", file)
        self.assertEqual((found["mesh"], found["from"]), ("a1:3", "[1{a1}3]"))

    def test_aborts(self):
        found = self.shrunk("abort", *MESH)
        self.assertEqual((found["kind"], found["verdict"], found["program"]), ("aborted", None, ""))
        self.assertEqual(found["mesh"], "y:3")
        self.assertIn("the last words", found["words"])

    def test_above_the_bound(self):
        whole = self.write("whole", """HloModule m, num_partitions=2

ENTRY %main (p: f32[1,2]) -> f32[2,1] {
  %p = f32[1,2]{1,0} parameter(0)
  %gathered = f32[2,2]{1,0} all-gather(%p), channel_id=1, replica_groups=[1,2]<=[2], dimensions={0}, use_global_device_ids=true
  %id = u32[] partition-id()
  %zero = u32[] constant(0)
  ROOT %slice = f32[2,1]{1,0} dynamic-slice(%gathered, %zero, %id), dynamic_slice_sizes={2,1}
}
""")
        ends = ["--mesh", "x:2", "--from", "[1{x}2, 2]", "--to", "[2, 1{x}2]"]
        command = f"cat {whole} # {{from}}"
        self.assertEqual(retile("check", "--shrink", "--peer", command, *ends).returncode, 0)
        done = retile("check", "--shrink", "--within-bound", "--json", "--peer", command, *ends)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["kind"], "above the bound")

    def test_what_is_right_stays(self):
        done = retile("check", "--shrink", "--peer", self.command("right"), *MESH)
        self.assertEqual(done.returncode, 0)
        self.assertIn("right", done.stdout)
        self.assertIn("nothing to make smaller", done.stderr)

    def test_forms_and_quoting(self):
        log = Path(self.path("said"))
        command = f"from=kept; printf '%s\\n' {{mesh:sdy}} {{from:jax}} {{to:sdy}} {{shape}} ${{from}} {{a,b}} > {log}; exit 1"
        done = retile("check", "--shrink", "--peer", command, "--mesh", "x:2", "--from", "[1{x}2]", "--to", "[2]")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(log.read_text().splitlines()[0], 'sdy.mesh @mesh = <["x"=2]>')
        self.assertIn("P('x')", log.read_text())
        self.assertEqual(log.read_text().splitlines()[-2:], ["kept", "{a,b}"])

    def test_limits(self):
        found = self.shrunk("wrong", *MESH, "--runs", "1")
        self.assertEqual((found["runs"], found["complete"]), (1, False))
        start = time.monotonic()
        self.not_shrunk(3, "late", "--peer", "sleep 100; echo {from}", "--peer-timeout", "1", *MESH)
        self.assertLess(time.monotonic() - start, 20)

    def test_no_answers(self):
        self.not_shrunk(3, ["refused", "that is too hard"], "--peer", self.command("refuse"), *MESH)
        self.not_shrunk(2, "no program of a system", "--peer", "echo {from}", *MESH)
        self.not_shrunk(2, ["wrote nothing", "the reason"], "--peer", "echo the reason >&2 # {from}", *MESH)
        self.not_shrunk(2, ["the command's answer:1", "this is what the command"], "--peer", "echo 'HloModule m {'", *MESH)
        self.not_shrunk(3, "refused", "--peer", "/no/such/command {from}", *MESH)
        self.not_shrunk(2, "sdz is no form", "--peer", "echo {from:sdz}", *MESH)

    def test_bad_arguments(self):
        self.not_shrunk(2, "--shrink needs --peer", *MESH)
        self.not_shrunk(2, "--shrink needs a file", "--peer", "true", "--from", "[2]")
        self.not_shrunk(2, "--runs", "--peer", "true", "--runs", "-1", *MESH)
        self.not_shrunk(2, "different arrays", "--peer", "true", "--mesh", "x:2", "--from", "[1{x}2]", "--to", "[3]")
        self.not_shrunk(2, "no program of another system", "--peer", "true", "-", stdin="retile.program/1\n")
        self.not_shrunk(2, "--shrink prints no Program", "--peer", "true", "--program", *MESH)
        done = retile("check", "--peer", "true", "-")
        self.assertEqual(done.returncode, 2)
        self.assertIn("need --shrink", done.stderr)

    def test_an_end_by_a_signal_ends_the_command(self):
        mark = Path(self.path("number"))
        command = f"echo $$ > {mark}.tmp; mv {mark}.tmp {mark}; sleep 100 & wait # {{from}}"
        with subprocess.Popen([RETILE, "check", "--shrink", "--peer", command, *MESH],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            deadline = time.monotonic() + 20
            while not mark.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            group = os.getpgid(int(mark.read_text()))
            running.send_signal(signal.SIGTERM)
            running.wait(timeout=20)
        while time.monotonic() < deadline:
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                return
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)
        self.fail("the command runs on")


if __name__ == "__main__":
    main()
