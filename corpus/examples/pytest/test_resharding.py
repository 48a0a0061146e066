"""Every reshard of the corpus is right: `pytest test_resharding.py`.

Put your own `reshard` in the place of the stand-in's. CORPUS is the folder of problems.jsonl (default: the corpus that this
folder is a part of), RETILE the program (default: that of PATH).
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from stand_in import reshard

CORPUS = Path(os.environ.get("CORPUS", Path(__file__).resolve().parents[2]))
COUNT = 50


def problems():
    """What this resharder can do: no sums, the order of the mesh, tiles that are all alike."""
    lines = (CORPUS / "problems.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one["family"] not in ("sums", "orders", "uneven")][:COUNT]


def check(problem, text):
    """What `retile check` says of a program, told the ends as HLO writes them."""
    ends = problem["as"]["hlo1"]
    mesh = ",".join(f"{name}:{size}" for name, size in problem["mesh"])
    shape = ",".join(map(str, problem["shape"]))
    done = subprocess.run([os.environ.get("RETILE", "retile"), "check", "--json", "--mesh", mesh, "--shape", shape,
                           "--from", ends["from"], "--to", ends["to"]], input=text, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: str(problem["id"]))
def test_reshard(problem):
    verdict = check(problem, reshard(problem))
    assert verdict["right"], verdict
    if problem["optimum"]:  # proved for collectives of one dimension each, as the stand-in's are
        assert verdict["cost"] >= problem["optimum"]["lower_bound"]
