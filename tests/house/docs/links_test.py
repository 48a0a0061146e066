#!/usr/bin/env python3
"""Links between the documents lead to files that are there, and to headings that are there.

    links_test.py ROOT
"""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
FOLDERS = ("docs", "spec", "src", "tests", "bench", "fuzz", "examples", "proofs")


def without_code(text):
    """Lines keep their numbers."""
    text = re.sub(r"^\s*```.*?^\s*```\s*$", lambda m: "\n" * m.group().count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "code", text)


def anchors(text):
    """What GitHub makes of the headings: small letters, digits, hyphens and underscores; a blank is a hyphen."""
    text = re.sub(r"^\s*```.*?^\s*```\s*$", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.*?) *$", text, flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(text):
    """(line, path, anchor) of every link, and of every picture's source."""
    for number, line in enumerate(without_code(text).splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", line):
            path, _, anchor = "".join(target).partition("#")
            if not re.match(r"[a-z]+:", path):
                yield number, path, anchor


def complaints(root, page, text):
    out = []
    for number, path, anchor in links(text):
        goal = root / Path(page).parent / path
        if path and not goal.exists():
            out.append(f"{page}:{number}: no file {path}")
        elif anchor and anchor not in anchors(goal.read_text(encoding="utf-8") if path else text):
            out.append(f"{page}:{number}: {path or page} has no heading #{anchor}")
    return out


def pages(root):
    found = [root / "README.md"] + [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.md"))]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found}


class Links(unittest.TestCase):
    def test_all_lead_somewhere(self):
        read = pages(ROOT)
        self.assertGreater(len(read), 15)
        self.assertEqual([each for page, text in read.items() for each in complaints(ROOT, page, text)], [])
        self.assertGreater(sum(1 for text in read.values() for _ in links(text)), 80)
        self.assertGreater(sum(1 for text in read.values() for _, _, anchor in links(text) if anchor), 5)

    def test_what_leads_nowhere_is_noticed(self):
        self.assertEqual(complaints(ROOT, "docs/reference/x.md", "[a](cli.md) [b](cli.md#plan) [c](#here) `[d](no)`\n# Here\n"), [])
        for text in ("[a](no.md)", "[a](cli.md#no-such-heading)", "[a](#here)", "![a](no.svg)", '<img src="no.svg">'):
            self.assertEqual(len(complaints(ROOT, "docs/x.md", text)), 1, text)
        self.assertEqual(anchors("# What `a.b` is: 2_3\n```\n# no\n```\n"), {"what-ab-is-2_3"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
