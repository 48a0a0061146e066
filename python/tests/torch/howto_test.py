"""The blocks of Python in docs/how-to/pytorch.md run on four ranks, and print what stands below them."""

import contextlib
import io
import pathlib
import re

import pytest
from ranks import run

pytest.importorskip("torch")
PAGE = pathlib.Path(__file__).parents[3] / "docs/how-to/pytorch.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def job(rank, blocks):
    printed, names = [], {}
    for k, code in enumerate(blocks):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, f"block {k}", "exec"), names)
        printed.append(out.getvalue())
    return printed


def test_blocks_print_what_stands_below_them():
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) >= 5 and sum(bool(wanted) for _, wanted in found) >= 4
    for printed in run(4, job, [code for code, _ in found]):
        assert printed == [wanted for _, wanted in found]
