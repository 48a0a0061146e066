"""Pages as people write them: prose in lines of at most 120 columns."""

import re
import textwrap

WIDTH = 120


def wrapped(text):
    """Markdown with its paragraphs and list items filled anew. What stands in backquotes or behind a link stays whole."""

    def whole(match):
        return match.group().replace(" ", "\0")

    def filled(paragraph):
        if paragraph.startswith(("|", "#", "!", "<")):
            return paragraph
        lines = []
        for item in re.split(r"\n(?=- )", paragraph):
            kept = re.sub(r"`[^`]+`|\]\([^)]*\)", whole, " ".join(item.split()))
            indent = "  " if item.startswith("- ") else ""
            lines += textwrap.wrap(kept, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        return "\n".join(lines).replace("\0", " ")

    body = text.rstrip("\n")
    return "\n\n".join(filled(paragraph) for paragraph in body.split("\n\n")) + text[len(body) :]


def put_section(page, heading, text):
    """Puts a section in place of what stands under its heading, or at the end of the page."""
    old = page.read_text() if page.exists() else ""
    begin = old.find(f"\n## {heading}\n")
    behind = ""
    if begin >= 0:
        end = old.find("\n## ", begin + 1)
        if end >= 0:
            behind = old[end:]
        old = old[:begin]
    page.write_text(old.rstrip("\n") + "\n\n" + wrapped(text) + behind)
