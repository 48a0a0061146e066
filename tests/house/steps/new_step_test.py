#!/usr/bin/env python3
"""A step that nobody has heard of does not compile: the compiler names every place that must say something about it.

    new_step_test.py ROOT BUILD

Adds an alternative to `Op`, the table of steps, and one to `Meaning`, in copies of the headers in retile/program. Then compiles,
without writing anything, the files that visit one of them, those of a room together. Every visit must be among the errors; each
room that visits is a test. As controls the files compile with faithful copies, and a visit that has a default is missed.

How many places there are has a limit: most steps need none but the table, since everybody else asks `OpFacts`.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD = Path(sys.argv.pop(2))
ROOT = Path(sys.argv.pop(1)).resolve()
SRC = ROOT / "src"
# The headers of the table, each with the variant in it.
TABLE = {"Op": Path("retile/program/ops.h"), "Meaning": Path("retile/program/op_facts.h")}
# Whatever is said there is one place.
TABLE_FILES = ("program/ops.h", "program/ops.cpp", "program/op_facts.h", "program/op_facts.cpp")
# The table, what steps move as boxes, four forms in which a check replays them, and six languages.
MOST_PLACES = 12
# What a function of a visit takes first: the first alternatives of Op and of Meaning.
FIRST = re.compile(r"\((const )?(Dynslice|Keep)\b")
# A function that takes a step, with its name.
OVERLOAD = r"\b(\w+)\((?:[^(){};]*, )?(?:const )?(%s)& ?\w*[,)]"
# Who does not read the headers of steps has others of their own: operations of foreign texts have such names, too.
KNOWS_STEPS = re.compile(r'#include "retile/program/')
VISIT = re.compile(r"\b(?:match|std::visit)\(")
ROOMS = ("program", "check", "emit")
CONTROL = "program/op_facts.cpp"
# One step picked out of the table, which a new one would pass by in silence.
PICKED = re.compile(r"\b(?:holds_alternative|get_if|get)<(Dynslice|Allgather|Alltoall|Allpermute|Exchange|Keep|Regroup|Fetch|Assemble)>")
# File and step where that is right: these are what direct() makes, and the ways that take it as it is.
PICKS = {
    ("emit/trace.cpp", "Dynslice"): 1,
    ("exec/mpi/own_exchange.cpp", "Exchange"): 2,
    ("exec/add/sums.cpp", "Exchange"): 1,
    ("exec/cuda/executor.cpp", "Exchange"): 1,
    ("foreign/coarse.cpp", "Assemble"): 1,  # an action of foreign texts
    ("many/traffic.cpp", "Exchange"): 1,  # whose boxes are listed, so that nobody needs to make them to count them
}


def read(path):
    return path.read_text(encoding="utf-8")


def alternatives(variant):
    """The line of its header that says them, and what it says."""
    return re.search(rf"^using {variant} = std::variant<([^;]*)>;$", read(SRC / TABLE[variant]), re.MULTILINE)


def with_stranger(variant):
    """The header of `Op` or `Meaning` with a new alternative, about which nothing else is said."""
    line, stranger = alternatives(variant), f"UnheardOf{variant}"
    struct = f"struct {stranger} {{ friend bool operator==(const {stranger}&, const {stranger}&) = default; }};\n"
    return read(SRC / TABLE[variant]).replace(line[0], f"{struct}using {variant} = std::variant<{line[1]}, {stranger}>;")


def call_end(text, begin):
    """Where the call ends whose opening parenthesis stands just before `begin`."""
    depth = 1
    for i in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise AssertionError("a call without an end")


def visits(text):
    """The visits of Op and Meaning in a file: first and last line of each."""
    out = []
    for call in VISIT.finditer(text):
        end = call_end(text, call.end())
        if FIRST.search(text, call.end(), end):
            out.append((text.count("\n", 0, call.start()) + 1, text.count("\n", 0, end) + 1))
    return out


def overloads(text, steps):
    """The functions of a file that are overloaded for several steps."""
    takes = {}
    for function in re.finditer(OVERLOAD % "|".join(steps), text):
        takes.setdefault(function[1], set()).add(function[2])
    return sorted(name for name, taken in takes.items() if len(taken) >= 2)


def places(texts):
    """Where something must be said of a new step, in files with these texts: all that the table says is one."""
    steps = re.findall(r"\w+", alternatives("Op")[1]) + re.findall(r"\w+", alternatives("Meaning")[1])
    out = ["the table"]
    for name, text in sorted(texts.items()):
        if name not in TABLE_FILES:
            out += [f"{name}:{first}" for first, last in visits(text)]
            knows = name.startswith("program/") or KNOWS_STEPS.search(text)
            out += [f"{name}: {function}()" for function in overloads(text, steps) if knows]
    return out


def room_of(path):
    folder = path.relative_to(SRC / "retile").parent.as_posix()
    return max((room for room in ROOMS if (folder + "/").startswith(room + "/")), key=len, default=folder)


def commands():
    """How each source is compiled, without its outputs."""
    out = {}
    for entry in json.loads(read(BUILD / "compile_commands.json")):
        words = shlex.split(entry["command"])
        while not re.search(r"(^|/)(g\+\+|clang\+\+|c\+\+)[-\d.]*$", words[0]):
            words.pop(0)  # a compiler cache
        del words[words.index("-o") : words.index("-o") + 2]
        words.remove("-c")
        compiled_file = Path(entry["file"])
        sources = [compiled_file]
        if compiled_file.name.startswith("unity_"):  # CMake's list of the sources that are compiled as one
            sources = [Path(found) for found in re.findall(r'#include "([^"]+)"', read(compiled_file))]
        for path in sources:
            if path.is_relative_to(SRC):
                out.setdefault(path, [str(path) if word == entry["file"] else word for word in words])
    return out


def compiled(command, includes):
    """The compiler's complaints where `includes` come first."""
    done = subprocess.run(
        [command[0], "-fsyntax-only", "-I", str(includes), *command[1:]], cwd=BUILD, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def named_lines(complaints, path):
    """The lines of a file that complaints are about."""
    return {int(found[1]) for found in re.finditer(rf"{re.escape(str(path))}:(\d+):\d+:", complaints)}


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.includes = cls.copy("strangers", {TABLE[variant]: with_stranger(variant) for variant in TABLE})
        cls.commands = commands()
        files = sorted(path for path in (SRC / "retile").rglob("*") if path.suffix in (".h", ".cpp"))
        cls.visits = {path: found for path in files if (found := visits(read(path)))}
        # A header is compiled by the first source of its room that reads it.
        cls.sources = {path: cls.source_of(path) for path in cls.visits}
        wanted = sorted({source for source in cls.sources.values() if source})
        # What is compiled by the same words is compiled together.
        groups = {}
        for source in wanted:
            groups.setdefault(tuple(word for word in cls.commands[source] if word != str(source)), []).append(source)
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(cls.compiled_together, groups.values())
            cls.complaints = {source: said for group, said in zip(groups.values(), found) for source in group}

    @classmethod
    def compiled_together(cls, sources):
        """The compiler's complaints about all of these files."""
        together = Path(cls.folder.name) / f"{sources[0].parent.name}_{sources[0].stem}.cpp"
        together.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
        return compiled([str(together) if word == str(sources[0]) else word for word in cls.commands[sources[0]]], cls.includes)

    @classmethod
    def copy(cls, name, texts):
        folder = Path(cls.folder.name) / name
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        return folder

    @classmethod
    def source_of(cls, path):
        if path.suffix == ".cpp":
            return path if path in cls.commands else None
        line = f'#include "{path.relative_to(SRC).as_posix()}"'
        users = [source for source in sorted(cls.commands) if source.parent == path.parent and line in read(source)]
        return users[0] if users else None

    def missed(self, path, complaints):
        named = named_lines(complaints, path)
        return [first for first, last in self.visits[path] if not any(first <= line <= last for line in named)]

    def of_room(self, room):
        paths = [path for path in self.visits if room_of(path) == room]
        built = [path for path in paths if self.sources[path]]
        if paths and not built:
            self.skipTest(f"{room} is not built")
        self.assertTrue(built, f"{room} visits nothing; did it go?")
        for path in built:
            with self.subTest(file=path.relative_to(SRC).as_posix()):
                self.assertEqual(self.missed(path, self.complaints[self.sources[path]]), [], "visits that compile, by line")
        print(f"{room}: {sum(len(self.visits[path]) for path in built)} visits in {len(built)} files")

    def test_every_room_that_visits_is_a_test(self):
        self.assertEqual(sorted({room_of(path) for path in self.visits}), sorted(ROOMS))

    def test_a_faithful_copy_compiles(self):
        faithful = self.copy("faithful", {path: read(SRC / path) for path in TABLE.values()})
        self.assertEqual(compiled(self.commands[SRC / "retile" / CONTROL], faithful), "")

    def test_a_visit_with_a_default_is_missed(self):
        path = SRC / "retile" / CONTROL
        text = read(path)
        calls = [call for call in VISIT.finditer(text) if FIRST.search(text, call.end(), call_end(text, call.end()))]
        # With a default, which takes what has no function of its own: in the last one whose functions say what they make.
        made = [re.search(r"-> (\w+) \{", text[call.start() : call_end(text, call.end())]) for call in calls]
        number = max(k for k, result in enumerate(made) if result)
        end, result = call_end(text, calls[number].end()), made[number]
        default = f", [](const auto&) -> {result[1]} {{ return {{}}; }}"
        copy = Path(self.folder.name) / "copy.cpp"
        command = [str(copy) if word == str(path) else word for word in self.commands[path]] + ["-iquote", str(path.parent)]
        for added, missed in (("", []), (default, [self.visits[path][number][0]])):
            copy.write_text(text[:end] + added + text[end:], encoding="utf-8")
            complaints = compiled(command, self.includes).replace(str(copy), str(path))
            self.assertEqual(self.missed(path, complaints), missed)


class Picks(unittest.TestCase):
    def test_few_places_name_the_steps(self):
        files = [path for path in (SRC / "retile").rglob("*") if path.suffix in (".h", ".cpp", ".cu", ".inc")]
        texts = {path.relative_to(SRC / "retile").as_posix(): read(path) for path in files}
        found = places(texts)
        print(f"a new step is named in {len(found)} places: {', '.join(found)}")
        self.assertEqual(len(found), MOST_PLACES, "fewer: lower the limit; more: can OpFacts say it?")
        # Another visit is seen, and other functions that are overloaded for several steps.
        visit = "match(op, [](const Dynslice&) {}, [](const Allgather&) {});"
        others = "void f(const Keep& a);\nvoid f(int k, Fetch& b);\nvoid f(const Assemble&);"
        for more in (visit, '#include "retile/program/op_facts.h"\n' + others):
            self.assertEqual(len(places({**texts, "many/new.cpp": more})), len(found) + 1)
        # Of who cannot see the steps they are others.
        self.assertEqual(len(places({**texts, "foreign/new.cpp": others})), len(found))

    def test_no_step_is_picked_out(self):
        found = {}
        for path in sorted((SRC / "retile").rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu", ".inc"):
                for pick in PICKED.finditer(read(path)):
                    key = (path.relative_to(SRC / "retile").as_posix(), pick[1])
                    found[key] = found.get(key, 0) + 1
        self.assertEqual(found, PICKS)
        self.assertTrue(PICKED.search("std::holds_alternative<Dynslice>(op)"))


for name in ROOMS:
    setattr(Steps, f"test_{name.replace('/', '_')}", lambda self, room=name: self.of_room(room))

if __name__ == "__main__":
    unittest.main(verbosity=2)
