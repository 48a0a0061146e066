#!/usr/bin/env python3
"""spec/README.md is the index of spec/: a table per folder, a row per file, and in it the first line of the file's comment.

The folders stand in the order in which they may include each other. In a table every file stands below those that it includes. Files that
comments name exist. Controls, each of which must be found: every first line changed or missing, every row missing or doubled, every file
renamed, moved out of its folder or gone, a lost name in a comment of every file, every include that runs backwards between two folders, every
two neighbours exchanged of which one includes the other, another name of a folder.

    index_test.py ROOT
"""

import collections
import functools
import posixpath
import re
import sys
from pathlib import Path

FOLDERS = ("paper", "layout", "program", "programs", "search", "oracle")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]*)"', re.MULTILINE)
NAMED = re.compile(r"(?<![\w./-])[\w./-]*\w\.(?:h|cpp|md|py|cmake)\b")
ROW = re.compile(r"\| `([^`]*)` \| (.*) \|")


def index(text):
    """(path, what it is) of every row, in order."""
    out, folder = [], None
    for line in text.splitlines():
        if heading := re.fullmatch(r"## (\w+)/", line):
            folder = heading[1]
        elif folder and (row := ROW.fullmatch(line)):
            out.append((f"{folder}/{row[1]}", row[2]))
    return out


def headings(text):
    return tuple(re.findall(r"^## (\w+)/$", text, re.MULTILINE))


# The controls change one file and read all the others again.
@functools.lru_cache(maxsize=None)
def first_line(text):
    """What the first line of a file says of it."""
    found = re.match(r"/// (\S.*)\n", text)
    return found[1].replace("|", "\\|") if found else None


@functools.lru_cache(maxsize=None)
def includes(path, text):
    """The files of spec/ that a file includes, by their paths there."""
    return [posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) for name in INCLUDE.findall(text)]


@functools.lru_cache(maxsize=None)
def named(text):
    """The files that comments name, a line after the other."""
    return [name for line in text.splitlines() for name in NAMED.findall(line.partition("//")[2])]


def complaints(readme, files, exists):
    """What is wrong with the index of these files, path -> text. `exists` says whether the tree has a file."""
    out = []
    if headings(readme) != FOLDERS:
        out.append(f"the folders are {', '.join(headings(readme))}, not {', '.join(FOLDERS)}")
    rows = index(readme)
    place = {path: number for number, (path, _) in enumerate(rows)}
    out += [f"{path}: stands twice" for path, times in collections.Counter(path for path, _ in rows).items() if times > 1]
    out += [f"{path}: no such file" for path in place if path not in files]
    for path, text in files.items():
        folder = path.partition("/")[0]
        if folder not in FOLDERS or path.count("/") != 1:
            out.append(f"{path}: stands in none of the folders")
            continue
        said = first_line(text)
        if said is None:
            out.append(f"{path}: the first line is no comment ///")
        if path not in place:
            out.append(f"{path}: is not listed")
        elif said != rows[place[path]][1]:
            out.append(f"{path}: begins with another line: {said}")
        for other in includes(path, text):
            target = other.partition("/")[0]
            if other not in files:
                out.append(f"{path}: includes {other}, which is not there")
            elif target in FOLDERS and FOLDERS.index(target) > FOLDERS.index(folder):
                out.append(f"{path}: {folder} may not include {target}: {other}")
            elif path in place and place.get(other, -1) >= place[path]:
                out.append(f"{path}: includes {other}, which stands below it")
        for name in named(text):
            known = (posixpath.join(folder, name), name)
            if not any(other in files for other in known) and not (name.startswith(("spec/", "tests/", "docs/")) and exists(name)):
                out.append(f"{path}: names {name}, which is not there")
    return out


def mutants(readme, files):
    """(what, readme, files, what must be said of it), each wrong in one place."""
    rows = index(readme)
    lines = readme.splitlines()
    at = {f"| `{posixpath.basename(path)}` | {said} |": path for path, said in rows}
    for path, text in files.items():
        said = first_line(text)
        yield "first line", readme, {**files, path: text.replace(said, said + " Not so.", 1)}, f"{path}: begins with another line"
        yield "no first line", readme, {**files, path: "\n" + text}, f"{path}: the first line is no comment"
        renamed = path.replace(".", "_renamed.")
        yield "renamed", readme, {renamed if other == path else other: files[other] for other in files}, f"{renamed}: is not listed"
        yield "left over", readme, {other: files[other] for other in files if other != path}, f"{path}: no such file"
        yield "moved", readme, {**files, posixpath.basename(path): text}, f"{posixpath.basename(path)}: stands in none of the folders"
        yield "comment", readme, {**files, path: text + "// gone.h\n"}, f"{path}: names gone.h"
        folder = path.partition("/")[0]
        for other in files:
            target = other.partition("/")[0]
            if FOLDERS.index(target) > FOLDERS.index(folder):
                planted = text + f'#include "../{other}"\n'
                yield "backward", readme, {**files, path: planted}, f"{path}: {folder} may not include {target}: {other}"
    for number, line in enumerate(lines):
        if line in at:
            without = "\n".join(lines[:number] + lines[number + 1:])
            yield "row", without, files, f"{at[line]}: is not listed"
            yield "twice", "\n".join([*lines[:number], line, *lines[number:]]), files, f"{at[line]}: stands twice"
            below = lines[number + 1] if number + 1 < len(lines) else ""
            if below in at and at[line] in includes(at[below], files[at[below]]):
                swapped = "\n".join([*lines[:number], below, line, *lines[number + 2:]])
                yield "order", swapped, files, f"{at[below]}: includes {at[line]}, which stands below it"
    yield "folders", readme.replace("## paper/", "## paperback/"), files, "the folders are"


def main():
    root = Path(sys.argv[1])
    spec = root / "spec"
    readme = (spec / "README.md").read_text(encoding="utf-8")
    files = {
        path.relative_to(spec).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(spec.rglob("*"))
        if path.is_file() and path.name not in ("README.md", "CMakeLists.txt")
    }

    @functools.lru_cache(maxsize=None)
    def exists(name):
        return (root / name).is_file()

    wrong = complaints(readme, files, exists)
    kinds = {}
    if not wrong:
        for what, text, changed, expected in mutants(readme, files):
            kinds[what] = kinds.get(what, 0) + 1
            if not any(line.startswith(expected) for line in complaints(text, changed, exists)):
                wrong.append(f"not found: {expected} ({what})")
        if len(kinds) < 10 or len(files) < 40:
            wrong.append(f"controls of {len(kinds)} kinds, {len(files)} files: too few")
    print("\n".join(wrong) if wrong else f"{len(files)} files; found " + ", ".join(f"{kinds[what]} x {what}" for what in kinds))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
