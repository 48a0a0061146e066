"""The blocks of the page are run, and print what stands below them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax.sharding")
pytest.importorskip("pyretile")

WHOLE = (Path(__file__).parents[3] / "docs/how-to/xla.md").read_text()
PAGE = WHOLE[WHOLE.index("## From Python"):WHOLE.index("## From dumps to a verdict")]


def printed(code, folder):
    (folder / "model.py").write_text(code)
    done = subprocess.run([sys.executable, "model.py"], cwd=folder, env={**os.environ, "XLA_FLAGS": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(f"{folder}/", "")  # JAX names files by their whole path


def test_blocks_print_what_the_page_says(tmp_path):
    code, said = ("".join(re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)) for kind in ("python", "text"))
    assert printed(code, tmp_path) == said
    # Another index is inside of the array, but all are tried; without the update nothing goes wrong.
    assert printed(code.replace("return jax.lax.dynamic_update_slice(cache, value, (at,))", "return cache + value"), tmp_path) != said
