"""The examples in the docstrings of pyretile.torch, of which docs/reference/python-torch.md is made, run on four ranks."""

import pathlib
import sys

import pytest
from ranks import run

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from examples import failures

pytest.importorskip("torch")


def job(rank, spoil):
    import pyretile.torch as home
    if spoil:
        home.explain.__doc__ = home.explain.__doc__.replace(", 16, True)", ", 17, True)")
    return failures(home)


def test_examples_print_what_stands_below_them():
    for count, out in run(4, job, False):
        assert (count >= 15, out) == (True, [])
    for _, out in run(4, job, True):
        assert len(out) == 1 and "17, True" in out[0]
