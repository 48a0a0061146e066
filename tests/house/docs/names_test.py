#!/usr/bin/env python3
"""The tables of docs/dev/paper-map.md, docs/dev/errata.md, docs/ledger/statements.md and docs/ledger/campaign.md name what exists; the first three leave nothing out.

In a cell of these tables every word in backquotes is a name. One with a file's ending names a file of the tree, by its path
or, where that is unique, by its last part; the names after it, up to the next file, stand in that file: `Suite.test` and
`Suite.*` as GoogleTest cases, other words as words. Names in other columns, before any file, are not checked.

A row whose status is no says "Absent: `word` in `folder/`": what it is not here must not occur there as a word, so a row that is no longer
true is noticed. The maps of the other documents name GoogleTest cases without their files: some file of tests/ has them.

In every document a path in backquotes that begins with a folder of the tree and ends like a file, or with a slash, exists.

    names_test.py ROOT
"""

import re
import sys
from pathlib import Path

FILE = re.compile(r"[\w./-]+\.(h|cpp|py|cmake|md|txt|sh|json)")
CASE = re.compile(r"(\w+)\.(\w+|\*|\w+\*)")
PATH = re.compile(r"`((?:spec|src|tests|fuzz|proofs|bench|docs|examples|scripts|cmake)/[\w./-]*\w(?:/|\.\w+))`")
STATUS = ("yes", "partial", "no")
CLASSES = ("misprint", "false", "imprecise", "observation")
FOLDERS = ("spec", "src", "tests", "fuzz", "proofs", "bench", "docs")

# What the paper numbers. Every one has a row in the map.
PAPER = (
    [f"Listing {n}" for n in range(1, 4)]
    + [f"Fig. {n}" for n in range(1, 15)]
    + ["Principle 1", "Principle 2"]
    + ["Lemma 4.1", "Lemma 4.2", "Def. 4.3", "Def. 4.4", "Def. 4.5", "Lemma 4.6", "Lemma 4.7", "Thm. 4.8"]
    + ["Lemma 5.1", "Def. 5.2", "Def. 5.3", "Def. 6.1", "Def. 6.2", "Lemma 6.3", "Thm. 6.4", "Lemma 6.5", "Lemma 6.6", "Thm. 6.7"]
    + ["Example 2.1", "Example 3.1", "Example 4.9", "Example 6.8", "Example 7.1"]
    + [f"eq. ({n})" for n in range(1, 11)]
    + ["Sec. 2.5", "Sec. 2.6", "Sec. 7.1", "Sec. 7.2", "Sec. 7.3", "Sec. 8", "App. A", "App. B"]
)


def files(root):
    """Every file by its path, and by its last part where only one has it (None where several do)."""
    out = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file():
                continue
            out[str(path.relative_to(root))] = path
            out[path.name] = None if path.name in out else path
    return out


def rows(text):
    """(line number, cells) of every table row but headings and rules."""
    out, before = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|") and not set(line) <= set("|-: "):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            if before.startswith("|"):  # the first row of a table is its heading
                out.append((number, cells))
        before = line
    return out


def contains(text, name):
    """Whether a file's text has this GoogleTest case, or this word."""
    case = CASE.fullmatch(name)
    if case:
        test = re.escape(case.group(2)).replace(r"\*", r"\w*")
        return re.search(rf"(?:TEST|TEST_P|TEST_F|RC_GTEST_PROP)\(\s*{case.group(1)},\s*{test}\b", text) is not None
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def complaints(text, known, where):
    """What the tables name and the tree has not."""
    out = []
    for number, cells in rows(text):
        for cell in cells:
            path = None
            for name in re.findall(r"`([^`]+)`", cell):
                if FILE.fullmatch(name):
                    path = known.get(name)
                    if path is None:
                        out.append(f"{where}:{number}: {'several files' if name in known else 'no file'} {name}")
                elif path is not None and not contains(path.read_text(), name):
                    out.append(f"{where}:{number}: {path.name} has no {name}")
    return out


def lost_paths(text, root, where):
    """The paths in a document that lead nowhere."""
    return [
        f"{where}:{number}: no {path}"
        for number, line in enumerate(text.splitlines(), 1)
        for path in PATH.findall(line)
        if not ((root / path).is_dir() if path.endswith("/") else (root / path).is_file())
    ]


def stale(text, root, where):
    """The rows that say no of what is there after all, or that name nothing which would show it."""
    out = []
    for number, cells in rows(text):
        if re.match(r"no\b", cells[-1]) is None:
            continue
        absent = re.search(r"Absent: `(\w+)` in ((?:`[\w/]+/`(?: and )?)+)", cells[-1])
        if absent is None:
            out.append(f"{where}:{number}: no word shows that this is not here")
            continue
        for folder in re.findall(r"`([^`]+)`", absent.group(2)):
            found = [path for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp") and contains(path.read_text(), absent.group(1))]
            if found or not (root / folder).is_dir():
                out.append(f"{where}:{number}: {absent.group(1)} stands in {found[0].relative_to(root) if found else 'no folder ' + folder}")
    return out


def lost_cases(text, cases, where):
    """The GoogleTest cases in tables that no file of tests has."""
    return [f"{where}:{number}: no test {name}" for number, cells in rows(text) for cell in cells for name in re.findall(r"`([^`]+)`", cell)
            if CASE.fullmatch(name) and not FILE.fullmatch(name) and not any(contains(file, name) for file in cases)]


def numbered(text, pattern):
    """The cells of the rows whose first cell matches."""
    return {cells[0]: cells for _, cells in rows(text) if re.fullmatch(pattern, cells[0])}


def unclassed(text, where):
    """The errata that have not one class of their own, or that are false and show no example over a mesh."""
    out = []
    for number, cells in rows(text):
        if re.fullmatch(r"E\d+", cells[0]):
            if len(cells) != 6 or cells[4] not in CLASSES:
                out.append(f"{where}:{number}: {cells[0]} has not one of the classes {', '.join(CLASSES)}")
            elif cells[4] == "false" and "`" not in cells[2]:
                out.append(f"{where}:{number}: {cells[0]} is false, and has no counterexample")
    return out


def main():
    root = Path(sys.argv[1])
    known = files(root)
    pages = {path.name: path for path in (root / "docs").rglob("*.md")}
    texts = {name: pages[name].read_text() for name in ("paper-map.md", "errata.md", "statements.md", "campaign.md")}
    wrong, names = [], 0
    for where, text in texts.items():
        wrong += complaints(text, known, where)
        # The control: any name changed is noticed.
        lines = text.splitlines()
        for number, cells in rows(text):
            for cell in cells:
                path = None
                for name in re.findall(r"`([^`]+)`", cell):
                    if FILE.fullmatch(name):
                        path = known.get(name)
                        changed = name.replace(".", "_gone.", 1)
                    elif path is not None and not name.endswith("*"):
                        changed = name + "_gone"
                    else:
                        continue
                    names += 1
                    mutant = lines[: number - 1] + [lines[number - 1].replace(f"`{name}`", f"`{changed}`")] + lines[number:]
                    heading = lines[number - 2] if lines[number - 2].startswith("|") else "| heading |"
                    if not complaints("\n".join([heading, mutant[number - 1]]), known, where):
                        wrong.append(f"{where}:{number}: not noticed: {changed}")
    # Paths in all documents; the control: every one with its last part changed.
    paths = 0
    for document in sorted([root / "README.md", *(path for folder in FOLDERS for path in (root / folder).rglob("*.md"))]):
        where, text = document.relative_to(root), document.read_text()
        wrong += lost_paths(text, root, where)
        for path in PATH.findall(text):
            paths += 1
            changed = re.sub(r"(\w)(\.\w+|/)$", r"\1_gone\2", path)
            if not lost_paths(f"`{changed}`", root, where):
                wrong.append(f"{where}: not noticed: {changed}")
    # The maps of the other documents, and rows that say no; the controls: a name changed, and a word that is there.
    cases = [path.read_text() for path in sorted((root / "tests").rglob("*_test.cpp"))]
    maps = {name: pages[name].read_text() for name in ("paper-map.md", "paper-map-partir.md", "paper-map-thesis.md")}
    for where, text in maps.items():
        wrong += stale(text, root, where)
        if "Absent: `" in text and not stale(re.sub(r"Absent: `\w+` in .*? \|", "Absent: `include` in `src/` |", text), root, where):
            wrong.append(f"{where}: not noticed: a word that is there")
        if re.search(r"\| no\b", text) and not stale(text.replace("Absent: ", ""), root, where):
            wrong.append(f"{where}: not noticed: a row without a word")
        if where != "paper-map.md":
            wrong += lost_cases(text, cases, where)
            if not lost_cases(re.sub(r"`(\w+\.\w+)`", r"`\1_gone`", text), cases, where):
                wrong.append(f"{where}: not noticed: tests that are gone")
    # Completeness.
    items = {cells[0] for _, cells in rows(texts["paper-map.md"])}
    covered = {part.strip() for item in items for part in item.split(";")}
    wrong += [f"paper-map.md: no row for {item}" for item in PAPER if item not in covered]
    for number, cells in rows(texts["paper-map.md"]):
        if len(cells) < 5 or re.match(r"\w*", cells[4])[0] not in STATUS:
            wrong.append(f"paper-map.md:{number}: the fifth column is not one of {', '.join(STATUS)}")
    wrong += unclassed(texts["errata.md"], "errata.md")
    for number, cells in rows(texts["errata.md"]):  # the control: without its class, with two, with an unknown one
        if not re.fullmatch(r"E\d+", cells[0]):
            continue
        for damage in ("", cells[4] + ", " + cells[4], "error"):
            row = "| No. |\n| " + " | ".join([*cells[:4], damage, *cells[5:]]) + " |"
            if not unclassed(row, "errata.md"):
                wrong.append(f"errata.md:{number}: not noticed: class {damage!r}")
        if cells[4] == "false" and not unclassed("| No. |\n| " + " | ".join([*cells[:2], "words", *cells[3:]]) + " |", "errata.md"):
            wrong.append(f"errata.md:{number}: not noticed: no counterexample")
    for name, pattern, last in (("errata.md", r"E\d+", 32), ("statements.md", r"S\d+", 10)):
        table = numbered(texts[name], pattern)
        for number in range(1, last + 1):
            row = table.get(f"{pattern[0]}{number}")
            if row is None or not any(CASE.fullmatch(word) for word in re.findall(r"`([^`]+)`", row[-1])):
                wrong.append(f"{name}: {pattern[0]}{number} has no row that names a test")
    table = numbered(texts["errata.md"], r"D\d+")
    wrong += [f"errata.md: no row for D{number}" for number in range(1, 22) if f"D{number}" not in table]
    print("\n".join(wrong) if wrong else f"{names} names and {paths} paths, every one is there and would be missed")
    sys.exit(1 if wrong or names < 100 or paths < 50 else 0)


main()
