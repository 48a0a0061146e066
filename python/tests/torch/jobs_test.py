"""Thirteen jobs of peers/torch_jobs.py by our plans: every tile after a redistribute is compared with what the placements say."""

import os
import pathlib
import pickle
import sys

import pytest
import ranks

torch = pytest.importorskip("torch")
PEERS = pathlib.Path(__file__).parents[3] / "peers"
sys.path.append(str(PEERS))
if not (PEERS / "torch_jobs.py").exists():
    pytest.skip("the jobs are in the repository alone", allow_module_level=True)
torch_jobs, tile_bytes, record_job = (pytest.importorskip(name) for name in ("torch_jobs", "tile_bytes", "record_job"))

# What no plan does in these jobs, by a part of its name.
LEFT = {"implicit": (1, "several pieces"), "partial_sums": (3, "product")}


def job(rank, name, folder, spoil):
    from pyretile.torch import optimal, watch
    from pyretile.torch._watch import is_compiling
    from pyretile.torch._words import axis_names, numbers, placement_words, ranks_of
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where torch warns of its own redistributes
    kept = []

    def keep(record, local, current, target, go):
        if is_compiling():
            return go()
        local = local.wait() if hasattr(local, "wait") else local
        mesh = {"names": list(axis_names(current.mesh)), "sizes": list(numbers(current.mesh.shape)), "ranks": list(ranks_of(current.mesh))}
        one = {"mesh": mesh, "shape": list(numbers(current.shape)), "from": list(placement_words(current)), "to": list(placement_words(target)),
               "before": record_job.raw(record_job.masked(local.detach().clone(), current))}
        made = go()
        made = made.wait() if hasattr(made, "wait") else made
        one["after"] = record_job.raw(made.detach())
        if spoil and rank == 0 and one["after"].size > 1:
            one["after"] = one["after"].ravel()[::-1].reshape(one["after"].shape)
        kept.append(one)
        return made
    with watch() as seen, optimal(otherwise="torch") as ours:
        seen.listener = keep
        torch_jobs.JOBS[name](torch_jobs.Job(rank, torch_jobs.SMALL, True, pathlib.Path(folder)))
    (pathlib.Path(folder) / f"{rank}.pickle").write_bytes(pickle.dumps(kept))
    unknown = sum(one.torch_cost is None or not one.source for one in seen.records)
    return ours.moved, ours.left, unknown


def differences(folder):
    found = [tile_bytes.compared(one) for one in record_job.joined(folder)]
    return len(found), [one for one in found if one != "equal"]


@pytest.mark.long
@pytest.mark.parametrize("name", torch_jobs.JOBS)
def test_tiles_are_what_the_placements_say(name, tmp_path):
    import torch._dynamo  # noqa: F401  once, before the ranks fork
    for moved, left, unknown in ranks.run(8, job, name, str(tmp_path), False):
        count, words = LEFT.get(name, (0, ""))
        assert moved and len(left) == count and all(words in one for one in left) and not unknown
    count, wrong = differences(tmp_path)
    print(name, count, "redistributes")
    assert count and not wrong


@pytest.mark.long
def test_spoiled_tiles_are_seen(tmp_path):
    ranks.run(8, job, "tensor_parallel", str(tmp_path), True)
    assert differences(tmp_path)[1]
