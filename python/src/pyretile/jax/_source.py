"""Which line of a user's program made an operation, as the text of XLA says it.

XLA writes tables of files, functions, places and stack frames above a module, and numbers of frames behind operations. Older
releases write the file and the line behind the operation itself.
"""

from __future__ import annotations

import itertools
import re
import sysconfig
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

ROW = re.compile(r"^(\d+) (.*)$")
FIELD = re.compile(r"(\w+)=(\d+)")
COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+)(?: \(.*)? \{$")
FRAME = re.compile(r"\bstack_frame_id=(\d+)")
PLAIN = re.compile(r'source_file="([^"]*)"(?:[^}]*?source_line=(\d+))?')
OPERATION = re.compile(r"^ +(?:ROOT )?(%?[\w.\-]+) = [a-z]\w*\[([\d,]*)\]\S* [\w\-]+\(([^)]*)\)(.*)")
OPERAND = re.compile(r"%?[\w.\-]+")
# What a program asks for, by the last part of the operation's name.
ASKS = re.compile(r'op_name="(?:[^"]*/)?(?:sharding_constraint|reshard)"')
# Folders of libraries: their frames are shown only where there are no others.
LIBRARY = ("site-packages", "dist-packages")
STANDARD = sysconfig.get_path("stdlib")
PACKAGE = str(Path(__file__).parent)


@dataclass(frozen=True)
class Frame:
    file: str
    line: int
    function: str | None = None

    @property
    def where(self):
        return f"{self.file}:{self.line}"

    @property
    def is_of_library(self):
        """Whether an installed package has the line, or Python itself."""
        parts = PurePath(self.file).parts
        return any(one in parts for one in LIBRARY) or self.file.startswith(("<", STANDARD))


def until_ours(frames):
    """Those inside of the function: the caller of this package is who asks, and no part of the program. Innermost may be a reshard of ours."""
    own = list(itertools.dropwhile(lambda one: one.file.startswith(PACKAGE), frames))
    return tuple(itertools.takewhile(lambda one: not one.file.startswith(PACKAGE), own))


def own_of(frames):
    """The innermost frame that no library has, otherwise the innermost; None of none."""
    return next((one for one in frames if not one.is_of_library), frames[0] if frames else None)


class Text:
    """A module's text with its tables."""

    def __init__(self, text):
        self.text = text

    @cached_property
    def lines(self):
        return self.text.splitlines()

    @cached_property
    def tables(self):
        found, rows = {}, None
        for line in self.lines:
            if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
                rows = found.setdefault(line, {})
            elif rows is not None and (match := ROW.match(line)):
                rows[int(match[1])] = match[2]
            elif line:
                rows = None
        return found

    @cached_property
    def shift(self):
        """JAX 0.12.0 prints callers' numbers plus one, so that the first frame, which has no caller, names itself."""
        return int(dict(FIELD.findall(self.tables.get("StackFrames", {}).get(1, ""))).get("parent_frame_id", 0))

    def frame(self, number):
        """One frame, and the number of its caller's, or 0."""
        row = dict(FIELD.findall(self.tables.get("StackFrames", {}).get(number, "")))
        place = dict(FIELD.findall(self.tables.get("FileLocations", {}).get(int(row.get("file_location_id", 0)), "")))
        names = [self.tables.get(table, {}).get(int(place.get(key, 0)), "").strip('"') or None
                 for table, key in (("FileNames", "file_name_id"), ("FunctionNames", "function_name_id"))]
        parent = int(row.get("parent_frame_id", 0)) - self.shift
        return (Frame(names[0], int(place.get("line", 0)), names[1]) if names[0] else None), parent

    def frames(self, line):
        """The frames of the operation in this line of the text, counted from 1, the innermost first; () where none are known."""
        if not line or line > len(self.lines):
            return ()
        said = self.lines[line - 1]
        if match := PLAIN.search(said):
            return (Frame(match[1], int(match[2] or 0)),)
        match, made, seen = FRAME.search(said), [], set()
        number = int(match[1]) if match else 0
        while number and number not in seen:
            seen.add(number)
            frame, number = self.frame(number)
            if frame:
                made.append(frame)
        return until_ours(made)

    def call_of(self, line):
        """The line of the operation that calls the computation in which this line stands, or 0. JAX gives the body of a `shard_map` frames
        that end at the body."""
        head = next((match for one in reversed(self.lines[:line]) if (match := COMPUTATION.match(one))), None)
        name = head and re.compile(rf"(?:to_apply|calls|body)=%?{re.escape(head[1])}(?![\w.\-])")
        return next((k for k, one in enumerate(self.lines, 1) if name and name.search(one)), 0)

    @cached_property
    def users(self):
        """The operations with an array for a result that take a value: by its name, their (line, name, extents, all that stands behind)."""
        found = {}
        for number, line in enumerate(self.lines, 1):
            if match := OPERATION.match(line):
                name, extents, operands, rest = match.groups()
                for one in set(OPERAND.findall(operands)):
                    found.setdefault(one, []).append((number, name, extents, rest))
        return found

    def constraint_on(self, value, extents, layout):
        """The line of a constraint to this layout on a value, or 0. The compiler may meet it earlier: operations that lie between and
        keep the extents are done in the new layout."""
        layout = layout.removeprefix("{").removesuffix("}")  # as of one that names no mesh
        waiting, seen = [value], set()
        while waiting:
            for number, name, kept, rest in self.users.get(waiting.pop(0), ()):
                if kept != extents or name in seen:
                    continue
                if ASKS.search(rest) and layout in rest.partition("sharding={")[2]:
                    return number
                seen.add(name)
                waiting.append(name)
        return 0

    def own(self, line):
        """The innermost frame that no library has, otherwise the innermost; None where the text says none."""
        seen = set()
        while line and line not in seen and not self.frames(line):
            seen.add(line)
            line = self.call_of(line)
        return own_of(self.frames(line)) if line else None
