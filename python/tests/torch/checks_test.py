"""check_redistribute, check_tensor, check_mesh, trace and explain."""

import json

import pytest
from ranks import run

torch = pytest.importorskip("torch")


def put(array, mesh, placements):
    from torch.distributed.tensor import distribute_tensor
    return distribute_tensor(array, mesh, placements, src_data_rank=None)


def grid(*sizes):
    from torch.distributed.device_mesh import init_device_mesh
    return init_device_mesh("cpu", sizes, mesh_dim_names=("x", "y")[:len(sizes)])


def job_of_redistributes(rank):
    from pyretile.torch import check_redistribute
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    plain, said = grid(2, 2), {}
    for shape in ((8, 8), (5, 7), (4096, 4096)):
        x = put(torch.empty(shape), plain, [Shard(0), Shard(0)])
        for after in ([Shard(1), Shard(1)], [Replicate(), Replicate()], [Replicate(), Shard(1)]):
            said[f"{shape} {after}"] = check_redistribute(x, after).right
    for how in ("sum", "max", "min"):
        addends = DTensor.from_local(torch.ones(6, 4), plain, [Partial(how), Shard(0)], run_check=False)
        said[how] = check_redistribute(addends, [Shard(1), Shard(0)]).right
    flat = grid(2, 2)
    flat["x", "y"]._flatten("xy")
    for rows in (8, 5):
        verdict = check_redistribute(put(torch.ones(rows), flat, [Shard(0), Shard(0)]), [Replicate(), Replicate()])
        said[f"flattened {rows}"] = verdict.right, "wrong" in verdict.text
    turned = DeviceMesh("cpu", torch.tensor([1, 0, 3, 2]), mesh_dim_names=("x",))
    said["turned"] = check_redistribute(DTensor.from_local(torch.ones(2), turned, [Shard(0)], run_check=False), [Replicate()]).right
    local = torch.ones(1 if rank == 3 else 3)
    lying = DTensor.from_local(local, grid(4), [Shard(0)], run_check=False, shape=torch.Size([12]), stride=(1,))
    verdict = check_redistribute(lying, [Replicate()])
    said["lying"] = verdict.right, "rank 3 has a tile [1]" in verdict.text
    return said


def test_verdicts_on_torchs_own_redistributes():
    for said in run(4, job_of_redistributes):
        assert said.pop("flattened 8") == (True, False)
        assert said.pop("flattened 5") == (False, True)  # pytorch#194457, docs/found.md
        assert said.pop("lying") == (False, True)
        assert said.pop("turned") is False
        assert set(said.values()) == {True}, said


def job_of_traces(rank):
    from pyretile.torch import trace
    from torch.distributed.tensor import Shard
    return trace(put(torch.empty(8, 8), grid(2, 2), [Shard(0), Shard(0)]), [Shard(1), Shard(1)])


def test_a_trace_is_judged_and_a_spoiled_one_is_wrong():
    import pyretile
    texts = run(4, job_of_traces)
    assert len(set(texts)) == 1
    assert sorted(one["rank"] for one in json.loads(texts[0])["ranks"]) == [0, 1, 2, 3]
    assert pyretile.check(texts[0])[0].right is True
    old = next(one for one in ('"group": [0, 1]', '"group": [0, 2]') if one in texts[0])
    spoiled = texts[0].replace(old, old.replace("[0, 1]", "[1, 0]").replace("[0, 2]", "[2, 0]"))
    assert pyretile.check(spoiled)[0].right is False


def job_of_tensors(rank):
    import torch.nn.functional as F
    from pyretile import Wrong
    from pyretile.torch import WrongTile, check_mesh, check_tensor
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor, Replicate, Shard
    mesh, said = grid(2), {}
    said["right"] = bool(check_tensor(put(torch.ones(5, 3), mesh, [Shard(0)])))
    kernel = put(torch.ones(3, 2, 3), mesh, [Replicate()])
    said["conv"] = [bool(check_tensor(F.conv1d(put(torch.ones(2, 2, 12), mesh, [Shard(dim)]), kernel))) for dim in (0, 2)]
    uneven = DTensor.from_local(torch.ones(3 - rank, 2), mesh, [Shard(0)], run_check=False, shape=torch.Size([6, 2]), stride=(2, 1))
    said["from_local"] = bool(check_tensor(uneven))
    try:
        check_tensor(uneven).raise_if_wrong()
    except WrongTile as problem:
        said["raised"] = rank, isinstance(problem, Wrong), bool(problem.verdict)
    said["meshes"] = [bool(check_mesh(DeviceMesh("cpu", torch.tensor(ranks)))) for ranks in ([0, 1], [1, 0])]
    return said


def test_tensors_and_meshes():
    for rank, said in enumerate(run(2, job_of_tensors)):
        wrong = {"raised": (1, True, False)} if rank == 1 else {}
        # A convolution of an array that is cut along its length says Replicate, and holds the rank's part.
        assert said == {"right": True, "conv": [True, False], "from_local": rank == 0, "meshes": [True, False], **wrong}


def job_of_explanations(rank):
    from pyretile.torch import explain
    from torch.distributed.tensor import Shard
    x = put(torch.empty(8, 8, 8), grid(2, 2), [Shard(0), Shard(0)])
    said = explain(x, [Shard(1), Shard(1)])
    return str(said), said.to_dict()["plan"]["cost"], said.torch.cost, explain(x, [Shard(1), Shard(1)], memory_limit=64).plan


def test_explanations():
    for text, cost, torch_cost, limited in run(4, job_of_explanations):
        assert (cost, limited) == (128, None)
        assert torch_cost > cost
        assert "alltoall y,x: dim 0 -> dim 1" in text and "all_gather along y" in text
