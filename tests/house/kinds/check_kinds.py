#!/usr/bin/env python3
"""Counts the places of src that fork by the kind of a Program or a layout: even or not, listed or not, in boxes or not, with
addends or without.

    check_kinds.py [ROOT]

Most of src has one way for all kinds. Core and notation describe layouts and may ask for their forms; who needs to know something
of a layout asks for that, not for the form (core/layout_facts.h), or for a trait of the Program (traits_of()), or two objects of
one interface are chosen between once. So what is counted here only becomes less: whoever adds a place takes another one away.

A place is a statement. Two sorts are counted, each with its limit:

  question  a function of QUESTIONS is called
  addends   what addends() or addition_of() gives is taken as yes or no, or addend_count() is compared with 1

And files that are named after a kind are. NOT_COUNTED are functions with a reason each: most ask so as to tell the user what is not
done. Prints one line per place, and ends with 1 where there are more than the limits say.
"""

import functools
import re
import sys
from pathlib import Path

# What remains. Lower a limit when you take a place away.
MOST_QUESTIONS = 3
MOST_ADDENDS = 16
MOST_FILES = 0

QUESTIONS = "is_even", "is_listed", "in_boxes", "has_addends", "is_paper_type", "are_paper_types"
# Words of the names of files.
KINDS = {"uneven", "even", "listed", "dealt", "addends", "addend", "added", "adding"}
DESCRIBE = "core/", "notation/"

# (file of src/retile, function): why it may ask
NOT_COUNTED = {
    ("cli/in_process.cpp", "boxes_in"): "refuses a device that holds several boxes",
    ("emit/shardy.cpp", "body"): "refuses stacks, and writes what is there",
    ("exec/mpi/redistribute.cpp", "check"): "refuses tiles in larger arrays where something is added",
    ("foreign/shrink.cpp", "sharding_over"): "refuses what devices hold as a list",
    ("plan/aligned.cpp", "no_blocks"): "says why collectives alone do not do",
    ("program/forms/tilings.cpp", "place_devices"): "refuses addends of meshes with an order",
    ("program/program.cpp", "traits_of"): "the traits themselves",
    ("program/program_hash.cpp", "add"): "writes what is there",
    ("run/run.cpp", "open_source"): "refuses one file for many addends",
    ("run/sink.cpp", "header_of"): "refuses the same of the end",
    ("spmd/reader.cpp", "below"): "refuses addends of indices",
    ("spmd/run/run.cpp", "files_of"): "refuses a file for many addends",
    ("whole/hlo.cpp", "manual_detail"): "refuses a sum at the end of a region",
    ("whole/matching.cpp", "set_addends"): "refuses what is no sum",
}

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
QUESTION = re.compile(rf"\b(?:{'|'.join(QUESTIONS)})\(")
SUM = r"\s*(?:[\w.*]|->|::|\[\w*\]|\(\))*\b(?:addends\(\)|addition_of\([^()]*\))"
ADDENDS = re.compile(
    rf"(?:\breturn\b|[(,=!?:](?!:)|&&|\|\|){SUM}\s*(?:&&|\|\||\?)|(?:\b(?:if|while) \((?:[^();]* = )?|!|&&|\|\|){SUM}\s*[);]"
    r"|\baddend_count\(\) (?:==|!=|<|>|<=|>=) 1\b"
)
# Where a function begins: at the margin, or in a class with its brace on the line.
FUNCTION = re.compile(
    r"^(?:(?!namespace|class|struct|enum|using|template)[A-Za-z_\[][^=;\n]*?\b(\w+)\("
    r"|  (?!if|for|while|switch|return|else|do|case|class|struct|enum)[A-Za-z_\[][^=;\n(]*[ *&](\w+)\([^;\n]*(?:\{|,)$)",
    re.MULTILINE,
)


@functools.lru_cache(maxsize=None)  # the control reads the same files many times
def without_comments(text):
    return COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


@functools.lru_cache(maxsize=None)
def places(text, pattern):
    """The lines on which a statement begins to ask, with the name of the function around it; each statement once."""
    out = []
    last = -1
    for match in pattern.finditer(text):
        begin = max(text.rfind(sign, 0, match.start() + 1) for sign in ";{}")
        if begin == last:
            continue
        last = begin
        functions = [one[0] or one[1] for one in FUNCTION.findall(text[: match.start()])]
        out.append((text.count("\n", 0, match.start()) + 1, functions[-1] if functions else ""))
    return out


class Counter:
    def __init__(self, root):
        self.root = root / "src" / "retile"
        self.questions = []
        self.addends = []
        self.files = []
        self.asked = set()
        for path in sorted(self.root.rglob("*")):
            if path.suffix in {".h", ".cpp", ".cu", ".inc"}:
                self.read(path)

    def read(self, path):
        name = path.relative_to(self.root).as_posix()
        if name.startswith(DESCRIBE):
            return
        if KINDS & set(path.stem.split("_")):
            self.files.append(name)
        text = without_comments(path.read_text(encoding="utf-8"))
        for pattern, found in (QUESTION, self.questions), (ADDENDS, self.addends):
            for line, function in places(text, pattern):
                if (name, function) in NOT_COUNTED:
                    self.asked.add((name, function))
                else:
                    found.append(f"{name}:{line}: {function}")

    def report(self):
        """What is printed, and whether all is within the limits."""
        lines = []
        good = bool(self.questions or self.addends or self.files)
        for what, found, most in (
            ("question", self.questions, MOST_QUESTIONS),
            ("addends", self.addends, MOST_ADDENDS),
            ("file", self.files, MOST_FILES),
        ):
            lines += [f"{what}: {one}" for one in found]
            lines.append(f"kinds: {what}: {len(found)}, at most {most}")
            good = good and len(found) <= most
        for one in sorted(set(NOT_COUNTED) - self.asked):
            lines.append(f"kinds: {one[0]}: {one[1]} asks no more; take it out of NOT_COUNTED")
            good = False
        return lines, good


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[3]
    lines, good = Counter(root.resolve()).report()
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
