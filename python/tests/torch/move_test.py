"""Our plans carried out in the place of torch's own way: every element compared."""

import random

import pytest
from ranks import meshes, run

torch = pytest.importorskip("torch")


def drawn(generator, mesh):
    """(shape, placements before, placements after), even and uneven, with addends and without."""
    from torch.distributed.tensor import Partial, Replicate, Shard
    rank = generator.choice([1, 2, 2, 3])
    shape = tuple(generator.choice([1, 2, 3, 5, 7, 8, 8, 12, 16]) for _ in range(rank))
    how = generator.choice(["sum", "avg", "max", "min"])

    def placements(addends):
        kinds = [Replicate(), *[Shard(dim) for dim in range(rank)] * 2, *([Partial(how)] if addends else [])]
        return tuple(generator.choice(kinds) for _ in range(mesh.ndim))
    return shape, placements(generator.random() < 0.4), placements(generator.random() < 0.15)


def specs(shape, before, after, mesh, dtype=None):
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    meta = TensorMeta(torch.Size(shape), torch.empty(shape).stride(), dtype or torch.float64)
    return [DTensorSpec(mesh, one, tensor_meta=meta) for one in (before, after)]


# In one process.


@pytest.fixture
def one_process():
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
    yield
    dist.destroy_process_group()


def simulated_verdict(current, target, spoil=lambda actions: actions):
    from pyretile.torch import _local, _move
    from pyretile.torch._words import ranks_of
    move = _move.move_of(current, target)
    tiles, array = _local.beginnings(current)
    right = _move._actions
    _move._actions = lambda one, at: spoil(right(one, at))
    try:
        made = _move.simulated(move, tiles, target, ranks_of(current.mesh))
    finally:
        _move._actions = right
    return move, _local.compared(dict(zip(ranks_of(current.mesh), [made[at] for at in range(len(made))])), array, target)


@pytest.mark.parametrize("count", [400, pytest.param(10000, marks=pytest.mark.long)])
def test_random_moves_put_every_element_where_it_belongs(one_process, count):
    generator, listed, seen = random.Random(20261128), meshes(8), {}
    for _ in range(count):
        mesh = generator.choice(listed)
        shape, before, after = drawn(generator, mesh)
        move, verdict = simulated_verdict(*specs(shape, before, after, mesh))
        assert verdict, (shape, before, after)
        for step in move.program["steps"]:
            seen[step["op"]] = seen.get(step["op"], 0) + 1
    print(seen)
    assert {"alltoall", "allgather", "allpermute", "dynslice", "exchange", "reducescatter", "allreduce"} <= set(seen)


def test_mutants_of_moves_are_caught(one_process):
    """An action spoiled in one of the ways that a wrong executor would, for each kind of action."""
    from dataclasses import replace

    from pyretile.torch import _carry
    from torch.distributed.tensor import Partial, Replicate, Shard
    mesh = meshes(8)[3]
    shard, second, whole, total = Shard(0), Shard(1), Replicate(), Partial()

    def first(kind, change):
        return lambda actions: tuple(change(one) if isinstance(one, kind) else one for one in actions)

    def swapped(one):
        a, b, *rest = one.tiles
        return replace(one, tiles=(replace(a, starts=b.starts), replace(b, starts=a.starts), *rest))

    def from_others(one):
        a, b, *rest = one.sends
        return replace(one, sends=(replace(a, starts=b.starts), replace(b, starts=a.starts), *rest))

    def shifted(one):
        return replace(one, starts=(0,) * len(one.starts))

    def turned(one):
        return replace(one, pieces=tuple(replace(a, starts=b.starts) for a, b in zip(one.pieces, reversed(one.pieces))))
    cases = [((shard, whole, whole), (whole,) * 3, first(_carry.Gather, swapped)), ((shard, whole, whole), (second, whole, whole), first(_carry.Exchange, from_others)),
             ((whole,) * 3, (shard, whole, whole), first(_carry.Slice, shifted)), ((total, whole, whole), (shard, whole, whole), first(_carry.ReduceScatter, turned)),
             ((total,) * 3, (whole,) * 3, first(_carry.AllReduce, lambda one: replace(one, add="max")))]
    for before, after, spoil in cases:
        both = specs((8, 8), before, after, mesh)
        assert simulated_verdict(*both)[1], (before, after)
        assert not simulated_verdict(*both, spoil)[1], (before, after)


def test_a_shard_becomes_addends_where_it_lies(one_process, monkeypatch):
    from pyretile.torch import _move
    from torch.distributed.tensor import Partial, Replicate, Shard
    mesh = meshes(8)[3]
    both = specs((7, 5), (Shard(0), Shard(1), Shard(0)), (Partial(), Shard(1), Partial()), mesh)
    move, verdict = simulated_verdict(*both)
    assert verdict and not move.program["steps"]
    # Of a dimension that a later axis cuts, too, a rank's part lies elsewhere.
    move, verdict = simulated_verdict(*specs((8, 5), (Shard(0), Shard(0), Replicate()), (Partial(), Shard(0), Replicate()), mesh))
    assert verdict and move.program["steps"]
    # Where others only cut, too, nothing is sent, in which order ever.
    lying = specs((7, 5), (Replicate(), Shard(1), Replicate()), (Shard(1), Partial(), Shard(1)), mesh)
    for one in (lying, specs((7, 5), (Replicate(), Shard(0), Shard(1)), (Shard(0), Partial(), Partial()), mesh)):
        move, verdict = simulated_verdict(*one)
        assert verdict and not move.program["steps"]
    right = _move._padding
    monkeypatch.setattr(_move, "_padding", lambda *arguments: (*right(*arguments)[:2], [right(*arguments)[2][at ^ 1] for at in range(4)]))
    assert not simulated_verdict(*both)[1]
    monkeypatch.setattr(_move, "_padding", lambda *arguments: ([0, 0], *right(*arguments)[1:]))
    assert not simulated_verdict(*lying)[1]


def test_addends_that_are_made_keep_a_limit(one_process):
    import pyretile
    from pyretile.torch import _move
    from torch.distributed.tensor import Partial, Replicate, Shard
    both = specs((8, 8), (Shard(0), Replicate(), Replicate()), (Partial(), Replicate(), Replicate()), meshes(8)[3])
    held = (32 + 64) * 8
    assert _move.move_of(*both, held)
    with pytest.raises(pyretile.Infeasible) as problem:
        _move.move_of(*both, held - 1)
    assert problem.value.smallest_feasible_bytes == held


def test_gathers_that_lie_in_order_are_not_copied(one_process):
    from pyretile.torch import _carry
    def gather(shape, *boxes):
        return _carry.Gather((0, 1), tuple(_carry.Box(peer, *box) for peer, box in enumerate(boxes)), shape)
    even, rows = gather((4, 3), ((0, 0), (2, 3)), ((2, 0), (2, 3))), gather((33, 3), ((0, 0), (17, 3)), ((17, 0), (16, 3)))
    assert (_carry._in_place(even, [0, 1], 6), _carry._in_place(even, [1, 0], 6), _carry._in_place(rows, [0, 1], 51)) == (12, 0, 99)
    padded, columns = gather((3, 3), ((0, 0), (2, 3)), ((2, 0), (1, 3))), gather((2, 6), ((0, 0), (2, 3)), ((0, 3), (2, 3)))
    assert (_carry._in_place(padded, [0, 1], 6), _carry._in_place(columns, [0, 1], 6)) == (0, 0)


# On processes.


def tile_of(array, spec, rank):
    from pyretile.torch._checks import coordinate_of
    from pyretile.torch._local import _box
    return _box(array, spec, coordinate_of(spec.mesh, rank))


def job_of_random_moves(rank, seed, count):
    import torch.distributed as dist
    from pyretile.torch import _local, _move
    from pyretile.torch._words import ranks_of
    generator, listed, left = random.Random(seed), meshes(dist.get_world_size()), []
    for _ in range(count):
        mesh = generator.choice(listed)
        shape, before, after = drawn(generator, mesh)
        current, target = specs(shape, before, after, mesh)
        tiles, array = _local.beginnings(current)
        made = _move.moved(tiles[rank], current, target)
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, made)
        verdict = _local.compared(dict(enumerate(every)), array, target)
        if not verdict:
            left.append((shape, str(before), str(after), str(verdict)))
    return left


@pytest.mark.parametrize("ranks, count", [(4, 60), pytest.param(8, 40), pytest.param(8, 400, marks=pytest.mark.long)])
def test_random_moves_on_processes(ranks, count):
    assert run(ranks, job_of_random_moves, 17, count) == [[]] * ranks


def job_of_training(rank):
    from pyretile.torch import optimal, redistribute, watch
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    said = {}
    for mesh in meshes(4):
        pairs = [((8, 6), [Shard(0)] * mesh.ndim, [Shard(1)] * mesh.ndim), ((5, 7), [Shard(0)] * mesh.ndim, [Replicate()] * mesh.ndim),
                 ((5, 7), [Shard(1), Shard(0)][:mesh.ndim], [Shard(0), Shard(1)][:mesh.ndim])]
        for k, (shape, before, after) in enumerate(pairs):
            array = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
            for way in ("context", "function"):
                x = distribute_tensor(array, mesh, before, src_data_rank=None).requires_grad_()
                weight = distribute_tensor(array, mesh, after, src_data_rank=None)
                with watch() as seen:
                    if way == "context":
                        with optimal() as ours:
                            y = x.redistribute(placements=after)
                            (y * weight).sum().backward()
                        moved = ours.moved
                    else:
                        y = redistribute(x, after)
                        (y * weight).sum().backward()
                        moved = None
                name = f"{mesh.ndim} {k} {way}"
                said[name] = (bool(torch.equal(y.to_local(), weight.to_local())), bool(torch.equal(x.grad.to_local(), x.to_local())),
                              list(x.grad.placements) == before, moved is None or moved >= 2, len(seen.records) >= 2)
    return said


def test_forward_and_backward_are_ours():
    for said in run(4, job_of_training):
        assert {name for name, one in said.items() if not all(one)} == set(), said


def job_of_compile(rank):
    from pyretile.torch import optimal
    from torch._dynamo.backends.common import aot_autograd
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh, graphs = meshes(4)[1], []

    def keep(module, inputs):
        graphs.append([str(node.target) for node in module.graph.nodes if node.op == "call_function"])
        return module.forward
    said = []
    for shape in ((8, 8), (5, 7)):
        array = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
        x = distribute_tensor(array, mesh, [Shard(0), Shard(0)], src_data_rank=None).requires_grad_()
        torch._dynamo.reset()
        with optimal() as ours:
            f = torch.compile(lambda t: t.redistribute(placements=[Shard(1), Shard(1)]) * 2, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep), fullgraph=True)
            y = f(x)
            y.sum().backward()
        want = distribute_tensor(2 * array, mesh, [Shard(1), Shard(1)], src_data_rank=None)
        said.append((bool(torch.equal(y.to_local(), want.to_local())), bool((x.grad.to_local() == 2).all()), ours.moved >= 1))
        again = f(x.detach().clone().requires_grad_())  # the graph stays ours outside
        said.append((bool(torch.equal(again.to_local(), want.to_local())),))
    return said, sum("all_to_all_single" in name for graph in graphs for name in graph), sum("all_gather" in name for graph in graphs for name in graph)


def test_compiled_graphs_are_ours():
    for said, exchanges, gathers in run(4, job_of_compile):
        assert all(all(one) for one in said), said
        assert (exchanges >= 4, gathers) == (True, 0)  # torch would gather on a mesh of CPUs


def job_of_types(rank):
    from pyretile.torch import optimal
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    mesh, said = meshes(4)[1], {}
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn):
        array = (torch.arange(35) % 5).reshape(5, 7).to(dtype)
        x = distribute_tensor(array, mesh, [Shard(0), Shard(1)], src_data_rank=None)
        for after in ([Shard(1), Shard(0)], [Replicate(), Replicate()]):
            with optimal():
                y = x.redistribute(placements=after)
            want = tile_of(array.float() if "float8" in str(dtype) else array, y._spec, rank)
            made = y.to_local()
            said[str(dtype), str(after)] = made.dtype == dtype and bool(torch.equal(made.float() if "float8" in str(dtype) else made, want))
    return said


def test_types_of_elements():
    for said in run(4, job_of_types):
        assert {name for name, right in said.items() if not right} == set()


def job_of_refusals(rank):
    import pyretile
    from pyretile.torch import NotCarriedOut, optimal, redistribute
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
    mesh, said = meshes(4)[0], {}
    product = DTensor.from_local(torch.ones(4), mesh, [Partial("product")], run_check=False)
    try:
        with optimal():
            product.redistribute(placements=[Replicate()])
    except NotCarriedOut as problem:
        said["product"] = str(problem)
    x = distribute_tensor(torch.arange(64.).reshape(8, 8), mesh, [Shard(0)], src_data_rank=None)
    try:
        redistribute(x, [Shard(1)], memory_limit=100)
    except pyretile.Infeasible as problem:
        said["limit"] = problem.smallest_feasible_bytes
    said["within"] = bool(torch.equal(redistribute(x, [Shard(1)], memory_limit=128).full_tensor(), x.full_tensor()))
    # The plan within this limit slices first, and no step holds more; the usual one does.
    tight = distribute_tensor(torch.arange(512.).reshape(16, 32), meshes(4)[1], [Replicate(), Shard(1)], src_data_rank=None)
    said["tight"] = bool(torch.equal(redistribute(tight, [Replicate(), Shard(0)], memory_limit=1536).full_tensor(), tight.full_tensor()))
    with optimal(100, otherwise="torch") as ours:
        y = x.redistribute(placements=[Shard(1)])
    said["left"] = (ours.moved, len(ours.left), bool(torch.equal(y.full_tensor(), x.full_tensor())))
    return said


def test_what_is_not_carried_out_is_named():
    for said in run(4, job_of_refusals):
        assert said == {"product": "addends of a product: no plan adds them", "limit": 128, "within": True,
                        "tight": True, "left": (0, 1, True)}


def job_of_submeshes(rank):
    """Meshes of some ranks, which make groups of their own, and then one of all."""
    from pyretile.torch import optimal
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    said = []
    array = torch.arange(70.).reshape(10, 7)
    with optimal() as ours:
        # On the first mesh the plan asks for a group of its four ranks, and the ranks outside it make none.
        for ranks in ([[0, 1], [2, 3]], [[7, 6], [5, 4]], [[0, 2], [4, 6]], [[5, 1], [3, 7]], [[0, 1, 2, 3], [4, 5, 6, 7]]):
            mesh = DeviceMesh("cpu", torch.tensor(ranks), mesh_dim_names=("x", "y"))
            if not any(rank in row for row in ranks):
                continue
            for before, after in (([Shard(0), Shard(0)], [Shard(1), Shard(1)]), ([Shard(0), Shard(1)], [Shard(1), Shard(0)]), ([Shard(1), Shard(1)], [Replicate(), Shard(0)])):
                x = distribute_tensor(torch.zeros(10, 7), mesh, before, src_data_rank=None)
                # By coordinates, as distribute_tensor itself goes by the order of the ranks (docs/found.md).
                x.to_local().copy_(tile_of(array, x._spec, rank))
                y = x.redistribute(placements=after)
                said.append(bool(torch.equal(y.to_local(), tile_of(array, y._spec, rank))))
    return said, ours.left


def test_meshes_of_some_ranks_and_in_other_orders():
    for said, left in run(8, job_of_submeshes):
        assert all(said) and len(said) >= 6 and not left, said


def job_of_time(rank):
    import statistics
    import time

    import torch.distributed as dist
    from pyretile.torch import optimal
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh, times = meshes(4)[1], {}
    x = distribute_tensor(torch.arange(float(1 << 20)).reshape(1024, 1024), mesh, [Shard(0), Shard(0)], src_data_rank=None)

    def one():
        dist.barrier()
        began = time.perf_counter()
        x.redistribute(placements=[Shard(1), Shard(1)])
        took = torch.tensor([time.perf_counter() - began])
        dist.all_reduce(took, dist.ReduceOp.MAX)
        return 1e3 * float(took)
    for _ in range(12):
        times.setdefault("torch", []).append(one())
        with optimal():
            times.setdefault("ours", []).append(one())
    return {name: [round(statistics.median(listed[2:]), 2), round(min(listed), 2), round(max(listed[2:]), 2)] for name, listed in times.items()}


@pytest.mark.long
def test_time_of_a_swap():
    """No bound, as the machine may be busy: the figures are printed."""
    print(run(4, job_of_time)[0])


def job_of_truths(rank):
    """Whether truth values are added as torch adds them, on tiles of which some are larger."""
    from pyretile.torch import redistribute
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    mesh = meshes(4)[0]
    said = []
    for reduce in ("max", "min", "sum"):
        for value in (False, True):
            for after in ([Shard(0)], [Replicate()]):
                x = DTensor.from_local(torch.full((6,), value), mesh, [Partial(reduce)], run_check=False)
                said.append((reduce, value, bool((redistribute(x, after).full_tensor() == value).all())))
    return said


def test_truth_values_are_added():
    for said in run(4, job_of_truths):
        assert said and all(right for _, _, right in said), said


def job_of_limits_around(rank):
    """What raises inside of limits: the tightest of all contexts holds, forward and backward."""
    import pyretile
    from pyretile.torch import optimal, redistribute
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh, said = meshes(4)[0], []
    x = distribute_tensor(torch.arange(64.).reshape(8, 8), mesh, [Shard(0)], src_data_rank=None).requires_grad_()

    def raised(go):
        try:
            go()
        except pyretile.Infeasible as problem:
            return problem.smallest_feasible_bytes
    for limit in (128, 127):  # two tiles of 64 bytes
        with optimal(limit):
            said.append([raised(lambda: x.redistribute(placements=[Shard(1)])), raised(lambda: redistribute(x, [Shard(1)])),
                         raised(lambda: redistribute(x, [Shard(1)], memory_limit=10**6))])
            with optimal():
                said[-1].append(raised(lambda: x.redistribute(placements=[Shard(1)])))
        with optimal(10**6):
            said[-1].append(raised(lambda: redistribute(x, [Shard(1)], memory_limit=limit)))
        y = redistribute(x, [Shard(1)])
        with optimal(limit):
            said[-1].append(raised(lambda: y.backward(y.detach())))
    said.append(raised(lambda: redistribute(x, [Shard(1)])))  # nothing holds any more
    return said


def test_the_tightest_limit_around_holds():
    for within, below, after in run(4, job_of_limits_around):
        assert within == [None] * 6 and below == [128] * 6 and after is None


def job_of_groups(rank):
    """How many groups we made after each turn, how many sets of ranks they are of, how long they wait, and how many we keep."""
    from datetime import timedelta

    import torch.distributed as dist
    from pyretile.torch import _move, optimal
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    made, right, counts = [], dist.new_group, []

    def new_group(ranks, **keywords):
        made.append((tuple(ranks), keywords["timeout"]))
        return right(ranks, **keywords)
    dist.new_group = new_group
    for turn in range(3):
        mesh = meshes(8)[3]  # a new one each time
        for axes in ((0, 1), (1, 2), (0, 2)):
            for shape in ((8, 8), (16, 8 + turn)):
                before, after = ([Shard(dim) if axis in axes else Replicate() for axis in range(3)] for dim in (0, 1))
                x = distribute_tensor(torch.zeros(shape), mesh, before, src_data_rank=None)
                with optimal():
                    x.redistribute(placements=after).redistribute(placements=before)
        counts.append(len(made))
    return counts, len({ranks for ranks, _ in made}), {timeout for _, timeout in made} == {timedelta(seconds=77)}, len(_move._groups)


def test_groups_are_made_once_and_wait_as_long_as_those_of_the_program():
    for counts, different, waits, kept in run(8, job_of_groups, wait=77):
        assert counts == [3] * 3 and different == kept == 3 and waits  # along two axes of three


def job_of_a_death(rank, group):
    """One rank ends between two moves, or before the others make a group: what they get, and after how many seconds."""
    import os
    import time

    import torch.distributed as dist
    from pyretile.torch import _move, optimal
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = meshes(4)[1]
    x = distribute_tensor(torch.zeros(64, 64), mesh, [Shard(0), Shard(0)], src_data_rank=None)
    with optimal():
        x.redistribute(placements=[Shard(1), Shard(1)])
    dist.barrier()
    if rank == 3:
        os._exit(1)
    began = time.monotonic()
    try:
        if group:
            _move._group(mesh, (0, 1, 2, 3)[1:] if rank else (0, 3))
        else:
            with optimal():
                x.redistribute(placements=[Shard(1), Shard(1)])
        said = "moved"
    except Exception as problem:
        said = type(problem).__name__
    return said, time.monotonic() - began


@pytest.mark.parametrize("group", [False, True], ids=["before a move", "before a group"])
def test_a_rank_that_dies_leaves_nobody_waiting(group):
    *alive, dead = run(4, job_of_a_death, group, wait=6, deaths=1)
    assert dead is None and all(said != "moved" and seconds < 20 for said, seconds in alive), alive
