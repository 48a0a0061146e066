"""The documents say what is so: every block of code in README and docs is run, compiled or quoted from what is.

Blocks of ```console hold commands (`$ ..`, continued by a backslash) and what they print, both streams together;
`...` stands for any text in a line, and alone on a line for any lines. Blocks of ```sh are lines of scripts/demo or
scripts/test, or name a preset of CMake. Blocks of ```cpp are files of tests/cli that the build compiles. Blocks of ```cmake are lines of the
consumer project. Blocks of ```python stand in a few pages, which tests/python runs. In docs/how-to/test-your-resharder.md both are excerpts of examples/foreign_resharder, which tests/house/foreign builds and runs. Other
blocks must say that they are ```text: they hold no code.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from support import RETILE, Case, environment, main, without_progress

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Their blocks are of other languages, and other tests read them.
OTHERS = {"docs/reference/errors.md", "docs/reference/program.md", "docs/ledger/kernel.md"}
DOCUMENTS = ["README.md"] + sorted({
    os.path.relpath(os.path.join(folder, name), ROOT)
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")) for name in names if name.endswith(".md")
} - OTHERS)


# Their blocks of Python are run where the package is installed.
WITH_PYTHON = {"docs/tutorial.md", "docs/reference/python.md", "docs/how-to/xla.md", "docs/how-to/pytorch.md",
               "docs/reference/python-jax.md", "docs/reference/python-torch.md"}

# A block with this word compiles the whole oracle, and runs with `scripts/test --all`.
LONG = "spec/oracle/main.cpp"


def text_of(*names):
    out = ""
    for name in names:
        with open(os.path.join(ROOT, name)) as file:
            out += file.read()
    return out


def blocks(text):
    """(kind, first line number, content) of every fenced block."""
    out, kind, start, lines = [], None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.fullmatch(r"\s*```(\S*)\s*", line)
        if fence and kind is None:
            kind, start, lines = fence.group(1), number + 1, []
        elif fence:
            out.append((kind, start, "\n".join(lines) + "\n"))
            kind = None
        elif kind is not None:
            lines.append(line)
    assert kind is None, "a block without end"
    return out


def commands(block):
    """(command, expected output) of a console block."""
    out = []
    lines = block.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), "output before a command: " + lines[at]
        command = lines[at][2:]
        while command.endswith("\\"):
            at += 1
            command += "\n" + lines[at]
        at += 1
        expected = ""
        while at < len(lines) and not lines[at].startswith("$ "):
            expected += lines[at] + "\n"
            at += 1
        out.append((command, expected))
    return out


def matches(expected, printed):
    pattern = ""
    for line in expected.splitlines():
        if line == "...":
            pattern += "(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("...")) + "\n"
    return re.fullmatch(pattern, printed) is not None


def cuts_off_what_it_writes(command):
    """Whether `head` may end `tee` before that has written all of its file."""
    return re.search(r"\btee\b[^|]*\|\s*head\b", command) is not None


def preset(command, presets):
    """Whether it configures, builds or tests a preset that is there."""
    for words, kind in (("cmake", "configure"), ("cmake --build", "build"), ("ctest", "test")):
        for each in presets[kind + "Presets"]:
            if re.fullmatch(rf"{words} --preset {each['name']}( -R '.*')?", command):
                return True
    return False


class Console(Case):
    def print_what_they_say(self, is_meant):
        """Runs the commands of the blocks that are meant, and gives how many they are."""
        path = os.path.dirname(os.path.abspath(RETILE)) + ":" + os.environ["PATH"]
        count = 0
        for name in DOCUMENTS:
            # One folder per document: later commands use what earlier ones wrote.
            with tempfile.TemporaryDirectory(prefix="retile-docs-") as folder:
                for kind, line, content in blocks(text_of(name)):
                    if kind != "console" or not is_meant(content):
                        continue
                    for command, expected in commands(content):
                        self.assertFalse(cuts_off_what_it_writes(command), f"{name}:{line}: {command}")
                        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                              cwd=folder, env=environment(PATH=path, RETILE_SOURCE=ROOT), timeout=120, check=False)
                        with self.subTest(document=name, line=line, command=command):
                            printed = without_progress(done.stdout.decode())
                            self.assertTrue(matches(expected, printed), f"\nsaid:\n{expected}\nprinted:\n{printed}")
                        count += 1
        print(f"{count} commands", file=sys.stderr)
        return count


class LongDocuments(Console):
    def test_console_blocks_print_what_they_say(self):
        self.assertEqual(self.print_what_they_say(lambda content: LONG in content), 2)


class Documents(Console):
    def test_console_blocks_print_what_they_say(self):
        self.assertGreater(self.print_what_they_say(lambda content: LONG not in content), 100)

    def test_other_blocks_are_quoted_from_what_is_run(self):
        scripts = [line.strip() for line in text_of("scripts/demo", "scripts/test").splitlines()]
        presets = json.loads(text_of("CMakePresets.json"))
        consumer = text_of("tests/house/install/consumer/CMakeLists.txt")
        example = os.path.join(ROOT, "examples/foreign_resharder")
        example_files = [text_of("examples/foreign_resharder/" + file) for file in os.listdir(example)]
        for name in DOCUMENTS:
            for kind, line, content in blocks(text_of(name)):
                with self.subTest(document=name, line=line):
                    if name == "docs/how-to/test-your-resharder.md" and kind in ("cmake", "cpp"):
                        self.assertTrue(any(content in file for file in example_files), content)
                    elif kind == "sh":
                        for each in content.splitlines():
                            each = each.partition("#")[0].strip()
                            self.assertTrue(each in scripts or preset(each, presets), each)
                    elif kind == "cmake":
                        for word in re.findall(r"retile::\w+|find_package\(retile [\d.]+", content):
                            self.assertIn(word, consumer)
                    elif kind == "cpp":
                        folder = os.path.join(ROOT, "tests/cli")
                        files = [text_of("tests/cli/" + file) for file in os.listdir(folder) if file.endswith(".cpp")]
                        self.assertIn(content, files)
                    elif kind == "python":  # tests/python runs them
                        self.assertIn(name, WITH_PYTHON)
                    else:
                        self.assertIn(kind, ("console", "text"))

    def test_the_comparison_can_fail(self):
        self.assertTrue(matches("a ... b\n...\nlast\n", "a 1 b\n\nx\nlast\n"))
        self.assertTrue(matches("", ""))
        self.assertEqual(without_progress("a\nretile: read, 0 bytes of 80.9 MiB\nretile: starting\nretile: b\n"), "a\nretile: b\n")
        presets = {"configurePresets": [{"name": "dev"}], "buildPresets": [], "testPresets": [{"name": "asan"}]}
        self.assertTrue(preset("cmake --preset dev", presets) and preset("ctest --preset asan -R '^x'", presets))
        self.assertFalse(preset("ctest --preset dev", presets) or preset("cmake --preset dev && rm x", presets))
        self.assertTrue(cuts_off_what_it_writes("one | tee a.txt | head -n 1"))
        self.assertFalse(cuts_off_what_it_writes("one | tee a.txt | sed -n 1p; two | head -n 1"))
        self.assertFalse(matches("a\n", "b\n"))
        self.assertFalse(matches("a ... b\n", "a 1 c\n"))
        self.assertFalse(matches("a\n", "a\nb\n"))
        self.assertEqual(commands("$ one \\\n  two\n1\n$ three\n"), [("one \\\n  two", "1\n"), ("three", "")])


if __name__ == "__main__":
    main()
