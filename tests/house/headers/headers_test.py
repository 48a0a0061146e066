#!/usr/bin/env python3
"""What is installed is what docs/reference/library.md lists: not a header more, not one less.

    headers_test.py ROOT BUILD WITHOUT

The build's headers are installed into a scratch folder. WITHOUT names the face that the build leaves out (`mpi.h`, and with it that of C), or is
empty. Users include the faces only, so that examples and the consumer project do, too. Each rule has its control.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT, BUILD, WITHOUT = Path(sys.argv[1]), sys.argv[2], set(sys.argv[3:4]) - {""}
if "mpi.h" in WITHOUT:
    WITHOUT.add("c/mpi/retile_mpi.h")
del sys.argv[1:]

PAGE = "docs/reference/library.md"
CXX = {"retile.h", "mpi.h"}
FACES = CXX | {"c/retile.h", "c/mpi/retile_mpi.h"}
ROW = re.compile(r"^\| `(retile/[\w/]+\.h)` \| ((?:`[\w/]+\.h`(?:, )?)+|both) \| .+ \|$", re.M)
COUNT = re.compile(r"^(\d+) headers are installed\.", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](retile/[^>"]+)[>"]', re.M)
USERS = ("tests/house/install/consumer", "tests/cli")


def listed(page):
    """Header -> faces that reach it, as the page says."""
    return {name: CXX if cell == "both" else set(re.findall(r"`([^`]*)`", cell)) for name, cell in ROW.findall(page)}


def reached(folder, face):
    """All headers that a face includes, itself too."""
    out, todo = set(), [f"retile/{face}"]
    while todo:
        name = todo.pop()
        if name not in out and (folder / name).exists():
            out.add(name)
            todo += INCLUDE.findall((folder / name).read_text(encoding="utf-8"))
    return out


def complaints(page, folder, without):
    """What the page says and the folder of installed headers does not bear out."""
    rows = listed(page)
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.h")}
    wanted = {name for name, faces in rows.items() if faces - without}
    out = [f"{name} is installed, and {PAGE} does not list it" for name in sorted(there - wanted)]
    out += [f"{name} is listed, and not installed" for name in sorted(wanted - there)]
    number = COUNT.search(page)
    if not number or int(number[1]) != len(rows):
        out.append(f"{PAGE} says {number[1] if number else 'no number'}, and lists {len(rows)} headers")
    closure = {face: reached(folder, face) for face in FACES - without}
    for name in sorted(wanted & there):
        by = {face for face, headers in closure.items() if name in headers}
        if by != rows[name] - without:
            out.append(f"{name} is reached from {sorted(by)}, and listed for {sorted(rows[name])}")
    return out


def foreign_includes(text):
    """Headers of retile that are no faces."""
    return [name for name in INCLUDE.findall(text) if name.removeprefix("retile/") not in FACES]


def written_by_users():
    """Name -> text of all code that stands for a user's: the consumer, the examples, and what documents quote."""
    out = {}
    for folder in USERS:
        for path in sorted((ROOT / folder).glob("*.cpp")):
            out[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        blocks = re.findall(r"^```cpp\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)
        out[path.relative_to(ROOT).as_posix()] = "\n".join(blocks)
    return out


class Headers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="retile_headers_")
        prefix = Path(cls.scratch.name)
        command = ["cmake", "--install", BUILD, "--prefix", str(prefix), "--component", "headers"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        cls.folder = prefix / "include"
        cls.page = (ROOT / PAGE).read_text(encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_what_is_installed_is_listed(self):
        self.assertEqual(complaints(self.page, self.folder, WITHOUT), [])

    def test_examples_include_the_faces_only(self):
        read = written_by_users()
        self.assertEqual({name: found for name, text in read.items() if (found := foreign_includes(text))}, {})
        self.assertGreater(sum(len(INCLUDE.findall(text)) for text in read.values()), 5)


class Control(Headers):
    """Each change is one that the rules above must notice."""

    def test_what_is_installed_is_listed(self):
        with tempfile.TemporaryDirectory(prefix="retile_headers_control_") as scratch:
            folder = Path(scratch) / "include"
            shutil.copytree(self.folder, folder)

            def found(page=self.page):
                return "\n".join(complaints(page, folder, WITHOUT))

            self.assertEqual(found(), "")
            planted = folder / "retile/core/planted.h"
            planted.write_text("#pragma once\n", encoding="utf-8")
            self.assertIn("retile/core/planted.h is installed, and", found())
            row = "| `retile/core/planted.h` | both | nothing |\n"
            more = self.page.replace("| `retile/core/size.h`", row + "| `retile/core/size.h`")
            self.assertIn(f"and lists {len(listed(self.page)) + 1} headers", found(more))
            self.assertIn("retile/core/planted.h is reached from []", found(more))
            planted.unlink()
            self.assertIn("retile/core/planted.h is listed, and not installed", found(more))
            self.assertIn("says no number", found(COUNT.sub("Headers are installed.", self.page)))
            self.assertIn("retile/lower/lower.h is installed, and", found(re.sub(r"\| `retile/lower.*\n", "", self.page)))
            other = self.page.replace("| `retile/lower/lower.h` | `retile.h` |", "| `retile/lower/lower.h` | both |")
            if not WITHOUT:
                self.assertIn("retile/lower/lower.h is reached from ['retile.h']", found(other))

    def test_examples_include_the_faces_only(self):
        self.assertEqual(foreign_includes("#include <mpi.h>\n#include <retile/mpi.h>\n"), [])
        self.assertEqual(foreign_includes('#include "retile/plan/plan.h"\n'), ["retile/plan/plan.h"])
        self.assertEqual(foreign_includes("  # include <retile/core/size.h>\n"), ["retile/core/size.h"])


if __name__ == "__main__":
    unittest.main()
