"""What the tests of the program `retile` share: calling it, reading what it says, .npy files without numpy."""

import os
import re
import struct
import subprocess
import tempfile
import unittest

# The program under test; ctest names it.
RETILE = os.environ.get("RETILE", "retile")
# And the programs that it becomes for some work, beside it.
BESIDE = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(RETILE))), "libexec", "retile")

# The paper's Example 3.1, which most tests use where any problem would do.
EXAMPLE = ["--mesh", "x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"]

# A problem for every number of processes that the tests run on: mesh, from, to.
PROBLEMS = {
    1: ("x:1", "[4, 6]", "[4, 6]"),
    2: ("a:2", "[6{a}12, 10]", "[12, 5{a}10]"),
    4: ("a:2,b:2", "[8{a}16, 12]", "[16, 3{b,a}12]"),
    6: ("x:2,y:3", "[6{x}12, 4{y}12, 2]", "[4{y}12, 6{x}12, 2]"),
    8: ("a:2,b:2,c:2", "[20, 4{c:2}8, 12]", "[5{c:2,a:2}20, 8, 6{b:2}12]"),
    12: ("x:4,y:3", "[1{x,y}12, 24]", "[12, 2{y,x}24]"),
    24: ("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"),
}

ELEMENT_BYTES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4,
                 "i64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16}


def environment(**changes):
    """The environment without what a surrounding job may have left there."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("PMIX_", "OMPI_COMM_", "RETILE_LAUNCHED"))}
    env.update(changes)
    return env


def without_progress(text):
    """`text` less the lines that work of more than a second prints, which a busy machine makes of any."""
    return "".join(line for line in text.splitlines(keepends=True) if not re.match(
        r"retile: (starting|move, repetition \d+ of \d+|\d+ [\w ]+, of \d+ at most|\w+, [\d.]+ \w+ of [\d.]+ \w+|.*: [\w ]+, [\d.]+ s"
        r"|.*, (module|text) \d+ of \d+)$", line))


def retile(*arguments, stdin="", cwd=None, env=None, timeout=120):
    """Runs the program; stdin may be text or bytes."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    done = subprocess.run([RETILE, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=cwd, env=env or environment(), timeout=timeout, check=False)
    done.stdout = done.stdout.decode()
    done.stderr = without_progress(done.stderr.decode(errors="replace"))
    return done


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="retile-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(text)
        return self.path(name)

    def accepted(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertNotEqual(done.stdout, "")

    def refused(self, done, code, words=""):
        """Exit code 2 or 4, nothing on stdout, one diagnostic; for 2 with one caret."""
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        errors = [line for line in lines if line.startswith("error: ")]
        carets = [line for line in lines if re.fullmatch(r"  .*\^~*", line) and not line.strip("^~ .")]
        self.assertEqual(len(errors), 1, done.stderr)
        if code == 2:
            self.assertEqual(len(carets), 1, done.stderr)
        for line in lines:
            self.assertRegex(line, r"^(error: |note: |  )", done.stderr)
        self.assertRegex(done.stderr, words or "error")


def npy(shape, descr, data, version=1, fortran=False):
    """The bytes of a .npy file."""
    text = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (
        descr if descr.startswith("[") else repr(descr), fortran, tuple(shape))
    length_bytes = 2 if version == 1 else 4
    used = 6 + 2 + length_bytes + len(text) + 1
    text += " " * (-used % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


def npy_parts(content):
    """Header text without padding, and data, of a version 1 file."""
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    length = struct.unpack("<H", content[8:10])[0]
    return content[10:10 + length].decode().strip(), content[10 + length:]


def counting(elements, element_bytes):
    """`elements` different elements (as far as their size allows)."""
    return b"".join((i * 2654435761 + 12345).to_bytes(16, "little")[:element_bytes] for i in range(elements))


def splitmix64(index):
    """Element `index` of the generated array, as docs/reference/cli.md says it."""
    mask = (1 << 64) - 1
    z = (index + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def spoiled(case, *backend):
    """Redistributes a file whose element 600 changes after it was read, on four devices. Gives exit code, stdout, stderr.

    The element is number 88 of the second tile of 512 columns, which device 1 holds: d = 2a + b, and b is minor.
    """
    path = case.write("spoiled.npy", npy((1024, 2048), "<f4", bytes(1024 * 2048 * 4)))
    arguments = ["run", "--mesh", "a:2,b:2", "[512{a}1024, 2048]", "[1024, 512{b,a}2048]", "--input", path, "--output",
                 case.path("out.npy"), *backend]
    # Long enough for the first word about the progress, and for the change behind it.
    for repetitions in (300, 1000, 2500, 6000, 15000, 40000, 100000):
        job = subprocess.Popen([RETILE, *arguments, "--repeat", str(repetitions)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
        said = b""
        while b"move, repetition" not in said and job.poll() is None:
            said += job.stderr.readline()
        if f"move, repetition {repetitions} of" in said.decode() or b"move" not in said:
            job.communicate()
            os.remove(case.path("out.npy"))
            continue
        with open(path, "r+b") as file:
            file.seek(128 + 600 * 4)
            file.write(b"\xff")
        out, rest = job.communicate(timeout=200)
        return job.returncode, out.decode(), (said + rest).decode()
    return case.fail("all runs were over within a second")


def main():
    unittest.main(verbosity=2)
