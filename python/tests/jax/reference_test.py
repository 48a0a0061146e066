"""The examples in the docstrings of pyretile.jax, of which docs/reference/python-jax.md is made, are run."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1]))
from examples import failures

pytest.importorskip("jax.sharding")
pytest.importorskip("pyretile")


def test_examples_print_what_stands_below_them(monkeypatch):
    import pyretile.jax as home
    count, out = failures(home)
    assert (count >= 12, out) == (True, [])
    monkeypatch.setattr(home.explain, "__doc__", home.explain.__doc__.replace("([256], [256])", "([256], [257])"))
    _, out = failures(home)
    assert len(out) == 1 and "257" in out[0]
