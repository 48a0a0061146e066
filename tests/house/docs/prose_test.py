#!/usr/bin/env python3
"""Sentences of README and the documents stay short: none over 35 words, and 20 words on average per page.

    prose_test.py ROOT              the test
    prose_test.py ROOT --report     a table: page, sentences, longest, mean, and how many are over 25 and over 35 words
    prose_test.py ROOT --over 25    every sentence longer than that, with its page, line and words

What is counted: paragraphs and list items. What is not: code blocks, tables, headings, pictures, comments and tags of HTML,
and where links lead. `.`, `!` and `?` end a sentence, and so does the end of a list item or a paragraph; `:` and `;` do not.
Inline code is a word for each of its pieces between blanks. A piece without a letter or a digit (`=`, `-`) is no word.
"""

import argparse
import re
import sys
import unittest
from pathlib import Path

LONGEST = 35
MEAN = 20

FENCE = re.compile(r"\s*(```+|~~~+)")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
ENDS = re.compile(r"[.!?]+[\"')\]*_\x02]*(?=\s|$)")
# What stands before a full stop that ends no sentence.
ABBREVIATIONS = set("e.g i.e cf vs Fig Figs Sec Secs Thm Thms Def Defs Ex Exs Eq Eqs eq eqs App No Nos ca approx resp".split())


class Sentence:
    def __init__(self, page, line, text):
        self.page, self.line, self.text = page, line, text
        self.words = sum(any(letter.isalnum() for letter in piece) for piece in text.split())

    def __str__(self):
        return f"{self.page}:{self.line}: {self.words} words: {self.text}"


def without_comments(text):
    """Comments of HTML become the line ends that they hold, so that lines keep their numbers. Not inside fenced code."""
    parts = re.split(r"(^\s*```.*?^\s*```\s*$)", text, flags=re.M | re.S)
    return "".join(part if k % 2 else re.sub(r"<!--.*?-->", lambda m: "\n" * m.group().count("\n"), part, flags=re.S)
                   for k, part in enumerate(parts))


def paragraphs(text):
    """(first line's number, lines) of every paragraph and list item."""
    out, lines, first, fence, in_list = [], [], 0, None, False

    def flush():
        nonlocal lines
        if lines:
            out.append((first, lines))
        lines = []

    for number, line in enumerate(without_comments(text).splitlines(), 1):
        mark = FENCE.match(line)
        if fence is not None:
            if mark and mark.group(1) == fence:
                fence = None
            continue
        if mark:
            flush()
            fence = mark.group(1)
            continue
        item = ITEM.match(line)
        if not line.strip():
            flush()
            continue
        if line.startswith(("#", "|")) or re.fullmatch(r"\s*([-*_]\s*){3,}", line):
            flush()
            in_list = False
            continue
        if not lines and not in_list and line.startswith(("    ", "\t")):
            continue  # indented code
        if item:
            flush()
            in_list = True
        elif not line.startswith(" ") and not lines:
            in_list = False
        if not lines:
            first = number
        lines.append(line[item.end():] if item else line.lstrip("> "))
    flush()
    return out


# Marks inside inline code, and the letters that they become, so that they mean nothing.
MARKS = {ord(mark): 0xE000 + k for k, mark in enumerate(".!?[]()<>*")}
MARKS_BACK = {hidden: mark for mark, hidden in MARKS.items()}


def plain(text):
    """Text as it is read."""
    text = re.sub(r"(`+)(.+?)\1", lambda m: "\x01" + m.group(2).translate(MARKS) + "\x02", text, flags=re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"</?[A-Za-z][^>]*>", "", text)


def ends_nothing(before, mark, after):
    """Whether the mark behind `before` is no end: that of an abbreviation, or two dots for what is left out."""
    word = (before.split() or [""])[-1].lstrip("(\"'[*_")
    dots = mark.rstrip("\"')]*_\x02")
    return dots == ".." or (dots == "." and (word in ABBREVIATIONS or (word == "etc" and after.lstrip()[:1].islower())))


def sentences(page, text):
    out = []
    for first, lines in paragraphs(text):
        whole = plain("\n".join(lines))
        ends = [mark.end() for mark in ENDS.finditer(whole) if not ends_nothing(whole[: mark.start()], mark.group(), whole[mark.end() :])]
        begin = 0
        for end in [*ends, len(whole)]:
            while begin < end and whole[begin].isspace():
                begin += 1
            said = re.sub("[\x01\x02]", "`", whole[begin:end]).translate(MARKS_BACK)
            sentence = Sentence(page, first + whole[:begin].count("\n"), " ".join(said.split()))
            if sentence.words:
                out.append(sentence)
            begin = end
    return out


def mean(of):
    return sum(sentence.words for sentence in of) / len(of) if of else 0


def faults(page, text):
    of = sentences(page, text)
    out = [str(sentence) for sentence in of if sentence.words > LONGEST]
    if mean(of) > MEAN:
        out.append(f"{page}: {mean(of):.1f} words a sentence on average, more than {MEAN}")
    return out


def pages(root):
    """Every page that a reader is meant to read from top to bottom."""
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    found += [root / folder / "README.md" for folder in ("fuzz", "bench", "spec") if (root / folder / "README.md").is_file()]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found}


def words(count, last="."):
    return " ".join(["word"] * count) + last


class Prose(unittest.TestCase):
    ROOT = None

    def test_no_sentence_and_no_page_is_too_long(self):
        read = pages(self.ROOT)
        self.assertGreater(len(read), 15)
        found = [fault for page, text in read.items() for fault in faults(page, text)]
        self.assertEqual(found, [], "\n" + "\n".join(found))
        for page, text in read.items():
            self.assertGreaterEqual(len(sentences(page, text)), 5, page)


class Control(unittest.TestCase):
    """What the test must find, and what it must not."""

    def counts(self, text, *wanted):
        self.assertEqual([sentence.words for sentence in sentences("p.md", text)], list(wanted), text)

    def found(self, text, *wanted):
        self.assertEqual([fault.partition(" words")[0] for fault in faults("p.md", text)], list(wanted), text)

    def test_a_long_sentence_is_found_at_its_line(self):
        short = "It is short. " * 9 + "\n"
        self.found(short + words(35))
        self.found(short + words(36), "p.md:2: 36")
        self.found(short + "\n" + words(18, "\n") + words(18), "p.md:3: 36")
        self.found(short + words(20, ": ") + words(10, "; ") + words(6), "p.md:2: 36")

    def test_a_planted_sentence_is_found_on_every_page(self):
        for page, text in pages(self.ROOT).items():
            planted = text + "\n\n" + words(36) + "\n"
            self.assertIn(f"{page}:{len(planted.splitlines())}: 36 words", "\n".join(faults(page, planted)))

    def test_a_dense_page_is_found(self):
        self.found((words(20) + " ") * 9)
        self.assertRegex("".join(faults("p.md", (words(20) + " ") * 9 + words(21))), r"p\.md: 20\.1 words a sentence on average")

    def test_a_long_sentence_is_found_in_a_list_item(self):
        short = "- It is short.\n" * 9
        self.found(short + "- " + words(36), "p.md:10: 36")
        self.found(short + "10. " + words(18, "\n    ") + words(18) + "\n", "p.md:10: 36")
        self.found(short + "  - inside\n\n    " + words(36), "p.md:12: 36")
        self.counts("Some of these:\n- one\n- two words\n", 3, 1, 2)

    def test_a_long_sentence_is_found_behind_what_ends_none(self):
        parts = {"e.g. ": 1, "(i.e. ": 1, "Fig. 8 ": 2, "Figs. 1 ": 2, "Sec. 2.5 ": 2, "Lemma 4.1 ": 2, "Def. 4.3 ": 2, "`retile.program/1` ": 1,
                 "docs/reference/cli.md ": 1, "0.5 ": 1, "`a. b` ": 2, "*eq. (4)* ": 2, "[x](p. q.md) ": 1, "0, 1, .. ": 2, "etc. and ": 2}
        for part, count in parts.items():
            self.found("Short. " * 9 + words(18, " ") + part + words(18 - count + 1), "p.md:1: 37")
            self.found("Short. " * 9 + words(18, " ") + part + words(18 - count - 1))

    def test_sentences_end_where_they_do(self):
        self.counts("One two. Three! Four? (Five six.) **Seven.** eight", 2, 1, 1, 2, 1, 1)
        self.counts("This is `code.`. And more, etc. Then this.", 3, 3, 2)
        self.counts("It is `retile plan --mesh x:4`. So it is.", 6, 3)
        self.counts("A [link](to/a/long place.md) and ![a picture. Of two](x.svg) words.", 4)
        self.counts("a = b + c - 1\n", 4)

    def test_what_is_no_prose_is_not_counted(self):
        long = words(99)
        self.counts(f"```text\n{long}\n```\n\n    {long}\n\n| {long} |\n|---|\n| {long} |\n\n# {long}\n\n<!-- {long}\n{long} -->\n<img alt=\"{long}\">\n\nOne.\n", 1)
        self.counts(f"- item\n  ```sh\n  {long}\n  ```\n  more of it\n", 1, 3)
        self.counts(f"One\n```\n<!--\n```\n{words(3)}\n", 1, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--over", type=int)
    given = parser.parse_args()
    Prose.ROOT = Control.ROOT = given.root
    if given.report:
        print("page                    sentences  longest  mean  over 25  over 35")
    for page, text in pages(given.root).items() if given.report or given.over else ():
        of = sentences(page, text)
        if given.report:
            over = [sum(sentence.words > most for sentence in of) for most in (25, LONGEST)]
            print(f"{page:24}{len(of):9}{max(s.words for s in of):9}{mean(of):6.1f}{over[0]:9}{over[1]:9}")
        for sentence in of if given.over else ():
            if sentence.words > given.over:
                print(sentence)
    if not given.report and not given.over:
        unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
