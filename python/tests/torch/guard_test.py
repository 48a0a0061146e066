"""The pytest fixture: what it must fail, and what it must pass."""

import importlib
import textwrap
import time

import pytest
from ranks import apart

pytest.importorskip("torch")
# pytester forgets the modules that a test imports, and torch can be imported once only.
for _name in ("torch.distributed._local_tensor", "torch.distributed.tensor", "torch.testing._internal.distributed.fake_pg", "pyretile.torch",
              "pyretile.torch._local", "torch._dynamo"):
    importlib.import_module(_name)

pytest_plugins = ["pytester"]

HEAD = """
import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

def put(x, mesh, *placements):
    return distribute_tensor(x, mesh, list(placements), src_data_rank=None)
"""

RIGHT = {
    "gather": """
        with reshard_guard(8, limit="2x"):
            mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))
            x = torch.arange(96.).reshape(8, 12)
            assert torch.equal(put(x, mesh, Shard(0), Shard(1)).full_tensor().reconcile(), x)
        """,
    "uneven": """
        with reshard_guard(4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            x = torch.arange(35.).reshape(5, 7)
            put(x, mesh, Shard(0), Shard(0)).redistribute(placements=[Shard(1), Replicate()]).full_tensor()
        """,
    "training": """
        with reshard_guard(4) as guard:
            mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))
            w = torch.nn.Parameter(put(torch.ones(8, 8), mesh, Shard(0)))
            x = put(torch.ones(4, 8), mesh, Replicate())
            (x @ w.T).redistribute(placements=[Replicate()]).sum().backward()
            assert w.grad is not None
        assert guard.records
        """,
    "partial": """
        with reshard_guard(4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            for how in ("sum", "avg", "max", "min"):
                x = DTensor.from_local(torch.ones(4, 4), mesh, [Partial(how), Shard(0)], run_check=False)
                x.redistribute(placements=[Shard(1), Shard(0)]).full_tensor()
        """,
    "conv": """
        with reshard_guard(2):
            mesh = init_device_mesh("cpu", (2,))
            F.conv1d(put(torch.ones(2, 2, 12), mesh, Shard(0)), put(torch.ones(3, 2, 3), mesh, Replicate()))
        """,
    "planned": """
        from pyretile.torch import optimal
        with reshard_guard(4, limit="2x") as guard, optimal():
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            mesh["a", "b"]._flatten("ab")
            x = torch.arange(64.).reshape(8, 8)
            y = put(x, mesh, Shard(0), Shard(0)).requires_grad_()
            z = y.redistribute(placements=[Shard(1), Shard(1)])
            z.sum().backward()
            assert torch.equal(z.full_tensor().reconcile(), x)
            five = put(torch.arange(5.), mesh, Shard(0), Shard(0))
            assert torch.equal(five.full_tensor().reconcile(), torch.arange(5.))
        assert all(one.planned for one in guard.records)
        """,
    "planned types": """
        from pyretile.torch import optimal
        with reshard_guard(4) as guard, optimal(otherwise="torch") as ours:
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            for kind in (torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.bfloat16, torch.complex64):
                for how in ("sum", "max") if kind != torch.complex64 else ("sum",):
                    x = DTensor.from_local(torch.ones(4, 3, dtype=kind), mesh, [Partial(how), Shard(0)], run_check=False)
                    x.redistribute(placements=[Shard(1), Replicate()])
                    x.redistribute(placements=[Partial(how), Shard(1)])
            moved = ours.moved
            product = DTensor.from_local(torch.ones(4), mesh, [Partial("product")] * 2, run_check=False)
            product.redistribute(placements=[Replicate()] * 2)  # left to torch
        assert (moved, ours.moved, len(ours.left), len(guard.records)) == (26, 26, 1, 27)
        """,
    "sorted": """
        with reshard_guard(2):
            mesh = DeviceMesh("cpu", torch.tensor([0, 1]), mesh_dim_names=("x",))
            DTensor.from_local(torch.ones(2), mesh, [Shard(0)], run_check=False).redistribute(placements=[Replicate()])
        """,
}

WRONG = {
    "flattened": ("wrong", """
        with reshard_guard(4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            mesh["a", "b"]._flatten("ab")
            put(torch.ones(5), mesh, Shard(0), Shard(0)).full_tensor()
        """),
    "unsorted": ("exchange their parts", """
        with reshard_guard(2):
            mesh = DeviceMesh("cpu", torch.tensor([1, 0]), mesh_dim_names=("x",))
            DTensor.from_local(torch.ones(2), mesh, [Shard(0)], run_check=False).redistribute(placements=[Replicate()])
        """),
    "conv": ("has a tile", """
        with reshard_guard(2):
            mesh = init_device_mesh("cpu", (2,))
            F.conv1d(put(torch.ones(1, 2, 12), mesh, Shard(2)), put(torch.ones(3, 2, 3), mesh, Replicate()))
        """),
    "from_local": ("has a tile", """
        from torch.distributed._local_tensor import LocalTensor
        with reshard_guard(2):
            mesh = init_device_mesh("cpu", (2,))
            local = LocalTensor({0: torch.ones(3, 2), 1: torch.ones(1, 2)})
            DTensor.from_local(local, mesh, [Shard(0)], run_check=False, shape=torch.Size([5, 2]), stride=(2, 1)) + 1
        """),
    "sizes that differ": ("have different sizes, [6, 2]", """
        from torch.distributed._local_tensor import LocalTensor
        with reshard_guard(2):
            mesh = init_device_mesh("cpu", (2,))
            local = LocalTensor({0: torch.ones(3, 2), 1: torch.ones(1, 2)})
            DTensor.from_local(local, mesh, [Shard(0)], run_check=False).redistribute(placements=[Replicate()])
        """),
    "over": ("over the limit", """
        with reshard_guard(4, limit="2x"):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            put(torch.ones(8, 8), mesh, Shard(0), Shard(0)).redistribute(placements=[Shard(1), Shard(1)])
        """),
    "planned wrong": ("wrong", """
        from dataclasses import replace
        from pyretile.torch import _move, optimal
        right = _move._actions
        def spoiled(move, at):
            return [replace(one, sends=tuple(replace(a, starts=b.starts) for a, b in zip(one.sends, one.sends[::-1]))) for one in right(move, at)]
        _move._actions = spoiled
        try:
            with reshard_guard(4), optimal():
                mesh = init_device_mesh("cpu", (4,))
                put(torch.ones(8, 8), mesh, Shard(0)).redistribute(placements=[Shard(1)])
        finally:
            _move._actions = right
        """),
    "planned wrong in its type": ("of int32", """
        from pyretile.torch import _move, optimal
        right = _move.simulated
        def spoiled(*arguments):
            return {at: one + 1 if one.dtype == torch.int32 else one for at, one in right(*arguments).items()}
        _move.simulated = spoiled
        try:
            with reshard_guard(4), optimal():
                mesh = init_device_mesh("cpu", (4,))
                put(torch.ones(8, 8, dtype=torch.int32), mesh, Shard(0)).redistribute(placements=[Shard(1)])
        finally:
            _move.simulated = right
        """),
    "flattened later": ("wrong", """
        with reshard_guard(4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            five = put(torch.ones(5), mesh, Shard(0), Shard(0))
            five.full_tensor()
            mesh["a", "b"]._flatten("ab")
            five.full_tensor()
        """),
    "planned no more": ("wrong", """
        from pyretile.torch import optimal
        with reshard_guard(4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            mesh["a", "b"]._flatten("ab")
            five = put(torch.ones(5), mesh, Shard(0), Shard(0))
            with optimal():
                five.full_tensor()
            five.full_tensor()
        """),
    "failed by itself": ("reshard_guard: ", """
        with reshard_guard(4):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
            mesh["a", "b"]._flatten("ab")
            assert put(torch.ones(5), mesh, Shard(0), Shard(0)).full_tensor().shape == (6,)
        """),
    "implicit": ("an operation redistributes", """
        with reshard_guard(4, implicit="forbid"):
            mesh = init_device_mesh("cpu", (4,))
            put(torch.ones(8, 8), mesh, Shard(0)) + put(torch.ones(8, 8), mesh, Shard(1))
        """),
}


def outcome(pytester, body):
    """How many tests passed, how many failed, and what pytest printed."""
    pytester.makepyfile(HEAD + "\ndef test_it(reshard_guard):\n" + textwrap.indent(textwrap.dedent(body), "    "))

    def go():
        done = pytester.runpytest_inprocess("-p", "pyretile.pytest_plugin", "-p", "no:cacheprovider")
        counts = done.parseoutcomes()
        return counts.get("passed", 0), counts.get("failed", 0), done.stdout.str()
    return apart(go)


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_pass(pytester, name):
    passed, failed, printed = outcome(pytester, RIGHT[name])
    assert (passed, failed) == (1, 0), printed


MANY = """
import random
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_it(reshard_guard, number):
    generator = random.Random(number)
    sizes = generator.choice([(2,), (4,), (2, 2), (8,), (4, 2), (2, 2, 2)])
    shape = tuple(generator.choice([1, 2, 3, 5, 8, 12]) for _ in range(generator.choice([1, 2, 3])))
    placed = lambda: [generator.choice([Replicate(), *(Shard(dim) for dim in range(len(shape)))]) for _ in sizes]
    x = torch.randn(shape)
    with reshard_guard(torch.Size(sizes).numel()) as guard:
        mesh = init_device_mesh("cpu", sizes, mesh_dim_names=("a", "b", "c")[:len(sizes)])
        y = put(x, mesh, *placed()).requires_grad_()
        z = y.redistribute(placements=placed())
        torch.sin(z).sum().redistribute(placements=[Replicate()] * len(sizes)).backward()
        assert z.full_tensor().shape == y.grad.shape == x.shape
    assert guard.records and not guard.found
"""


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.long)])
def test_many_right_ones_pass_in_a_second_each(pytester, count):
    pytester.makepyfile(HEAD + MANY.format(count=count))

    def go():
        began = time.process_time()
        done = pytester.runpytest_inprocess("-p", "pyretile.pytest_plugin", "-p", "no:cacheprovider")
        return done.parseoutcomes(), time.process_time() - began, done.stdout.str()
    counts, took, printed = apart(go, 600)
    assert counts == {"passed": count}, printed
    print(f"{took / count:.2f} s a test")
    assert took < 2 * count


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_fail(pytester, name):
    words, body = WRONG[name]
    passed, failed, printed = outcome(pytester, body)
    assert (passed, failed) == (0, 1) and words in printed, printed
