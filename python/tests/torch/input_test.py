"""What DTensors say to the functions of pyretile, and what is no input: refused, with a caret in its text."""

import pytest

torch = pytest.importorskip("torch")

import pyretile as rt  # noqa: E402


@pytest.fixture
def four():
    """Four ranks, of which this process is the first."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    yield
    dist.destroy_process_group()


def mesh_of(sizes, names=None):
    from torch.distributed.device_mesh import init_device_mesh
    return init_device_mesh("cpu", sizes, mesh_dim_names=names)


def put(shape, mesh, *placements):
    from torch.distributed.tensor import distribute_tensor
    return distribute_tensor(torch.zeros(shape), mesh, list(placements), src_data_rank=None)


def of_order(shape, mesh, placements, order):
    """A DTensor that the axes of a mesh cut in an order that is not theirs."""
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, ShardOrderEntry, TensorMeta
    whole = torch.zeros(shape)
    spec = DTensorSpec(mesh, tuple(placements), tensor_meta=TensorMeta(whole.shape, whole.stride(), whole.dtype),
                       shard_order=(ShardOrderEntry(tensor_dim=0, mesh_dims=order),))
    return DTensor(whole[:shape[0] // 4], spec, requires_grad=False)


def test_arrays_without_dimensions_are_planned(four):
    from torch.distributed.tensor import DTensor, Partial, Replicate
    mesh = mesh_of((4,))
    addends = DTensor.from_local(torch.tensor(1.0), mesh, [Partial()], run_check=False)
    assert rt.plan(addends, [Replicate()]).steps[0].op == "allreduce"
    assert rt.plan(put((), mesh, Replicate()), [Replicate()]).cost == 0


@pytest.mark.parametrize("names", [None, ("data parallel", "tp"), ("1", "tp"), ("é", "tp")])
def test_axes_without_plain_names_are_numbered(four, names):
    from torch.distributed.tensor import Shard
    from pyretile.torch import explain
    x = put((8, 8), mesh_of((2, 2), names), Shard(0), Shard(0))
    # Both parts of the package call them the same.
    assert rt.plan(x, [Shard(1), Shard(1)]).text == explain(x, [Shard(1), Shard(1)]).plan.text == "alltoall a1,a0: dim 0 -> dim 1; cost 16, height 16 (bound 16)"


def test_the_order_in_which_axes_cut_is_kept(four):
    from torch.distributed.tensor import Replicate, Shard
    mesh = mesh_of((2, 2), ("x", "y"))
    plain, other = (of_order((8, 4), mesh, [Shard(0), Shard(0)], order) for order in ((0, 1), (1, 0)))
    assert [box[0] for box in rt.boxes(plain).tolist()] == [[0, 2], [2, 4], [4, 6], [6, 8]]
    assert [box[0] for box in rt.boxes(other).tolist()] == [[0, 2], [4, 6], [2, 4], [6, 8]]
    assert rt.plan(plain, other).steps[0].op == "allpermute"
    assert rt.plan(other, [Replicate(), Replicate()]).cost == 32


def test_arrays_of_a_model_are_planned_at_once(four):
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh, other = mesh_of((2, 2), ("x", "y")), mesh_of((4,), ("z",))
    old = {"w": put((8, 8), mesh, Shard(0), Shard(0)), "b": distribute_tensor(torch.zeros(8, dtype=torch.bfloat16), mesh, [Shard(0)] * 2, src_data_rank=None)}
    new = {"w": put((8, 8), other, Shard(1)), "b": put((8,), other, Shard(0))}
    many = rt.plan_many({name: (old[name], new[name]) for name in old})
    assert [(one["element_bytes"], one["plan"]["cost"]) for one in many.kinds] == [(4, 16), (2, 0)]
    assert many.total["from_bytes"]["all"] == 8 * 8 * 4 + 8 * 2


def test_what_becomes_addends_is_held(four):
    from torch.distributed.tensor import Partial, Shard
    from pyretile.torch import watch
    x = put((8, 8), mesh_of((4,)), Shard(0))
    with watch() as seen:
        x.redistribute(placements=[Partial()])
    assert (seen.records[0].plan_cost, seen.records[0].plan_bytes) == (0, (16 + 64) * 4)


def test_placements_that_mean_nothing_are_refused(four):
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.placement_types import _StridedShard
    from pyretile.torch import check_redistribute, explain, redistribute, trace
    mesh = mesh_of((4,))
    matrix, number = put((8, 8), mesh, Shard(0)), put((), mesh, Replicate())
    cases = [(matrix, [Shard(2)]), (matrix, [Shard(-3)]), (matrix, [None]), (matrix, ["Shard(0)"]), (matrix, []), (matrix, [Replicate()] * 2),
             (matrix, None), (matrix, Replicate()), (matrix, [_StridedShard(2, split_factor=2)]), (number, [Shard(-1)]), (number, [Shard(0)])]
    for function in (redistribute, explain, check_redistribute, trace):
        for x, placements in cases:
            with pytest.raises(rt.Refused) as problem:
                function(x, placements)
            assert problem.value.source == "placements", (function, placements)
            words = str(problem.value).splitlines()
            assert set(words[2].strip()) == {"^"}
            begin, end = problem.value.span
            assert (words[2].index("^"), words[2].rindex("^") + 1) == (2 + begin, 2 + end)


def test_placements_as_a_text_are_told_what_is_wanted(four):
    from torch.distributed.tensor import Shard
    from pyretile.torch import explain
    x = put((8, 8), mesh_of((4,)), Shard(0))
    for placements, words in (("[Shard(1)]", "objects of torch, such as [Shard(0), Replicate()], and no text"), (["Shard(1)"], "write Shard(1), of torch.distributed.tensor, without quotes"),
                              ([1], "such as Shard(0)")):
        with pytest.raises(rt.Refused) as problem:
            explain(x, placements)
        assert words in problem.value.notes[0] and words in str(problem.value), placements
    with pytest.raises(rt.Refused) as problem:
        explain(x, [Shard(1)] * 2)
    assert not problem.value.notes


def test_what_is_no_array_or_mesh_or_word_is_refused(four):
    from torch.distributed.tensor import Replicate
    from pyretile.torch import check_mesh, check_redistribute, check_tensor, explain, optimal, redistribute, trace, watch
    plain, there = torch.zeros(40, 40), [Replicate()]
    cases = [*((lambda f=f: f(plain, there)) for f in (redistribute, explain, check_redistribute, trace)), lambda: check_tensor(plain),
             lambda: check_mesh(plain), lambda: check_mesh("x:4"), lambda: watch(mode="quiet"), lambda: watch(implicit="no"), lambda: optimal(otherwise="jax")]
    for go in cases:
        with pytest.raises(rt.Refused) as problem:
            go()
        first, shown, caret = str(problem.value).splitlines()[:3]
        assert first.startswith("error: ") and set(caret.strip()) == {"^"} and len(caret) <= len(shown)


def test_the_caret_is_below_the_placement_that_is_wrong(four):
    from torch.distributed.tensor import Replicate, Shard
    from pyretile.torch import explain
    x = put((8, 8), mesh_of((2, 2), ("x", "y")), Shard(0), Replicate())
    with pytest.raises(rt.Refused) as problem:
        explain(x, [Replicate(), Shard(2)])
    assert problem.value.input[slice(*problem.value.span)] == "Shard(dim=2)"


def test_dimensions_below_0_count_from_the_end(four):
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.placement_types import _StridedShard
    from pyretile.torch import explain
    from pyretile.torch._checks import target_spec
    x = put((8, 8), mesh_of((4,)), Shard(0))
    assert target_spec(x, [Shard(-1)]).placements == (Shard(1),)
    assert target_spec(x, [_StridedShard(-1, split_factor=2)]).placements == (_StridedShard(1, split_factor=2),)
    assert explain(x, [Shard(-1)]).plan.cost == explain(x, [Shard(1)]).plan.cost == 16


@pytest.mark.parametrize("limit", ["80 parsecs", "1e400", -1, 1.5, True])
def test_what_is_no_limit_is_refused(four, limit):
    from torch.distributed.tensor import Shard
    from pyretile.torch import explain, optimal, redistribute
    x = put((8, 8), mesh_of((4,)), Shard(0))
    for go in (lambda: optimal(limit), lambda: optimal(limit, otherwise="torch"), lambda: redistribute(x, [Shard(1)], limit),
               lambda: explain(x, [Shard(1)], memory_limit=limit), lambda: rt.plan(x, [Shard(1)], memory_limit=limit)):
        with pytest.raises(rt.Refused) as problem:
            go()
        assert problem.value.source == "memory_limit" and "^" in str(problem.value)


def test_a_tile_of_another_shape_is_not_reshaped(four):
    from torch.distributed.tensor import DTensor, Shard
    from pyretile.torch import WrongTile, redistribute
    mesh = mesh_of((4,))
    for shape in ((4, 4), (16,), (1, 2, 8)):
        x = DTensor.from_local(torch.zeros(shape), mesh, [Shard(0)], run_check=False, shape=torch.Size([8, 8]), stride=(8, 1))
        with pytest.raises(WrongTile, match=r"its placements say \[2, 8\]"):
            redistribute(x, [Shard(1)])


def test_plans_that_were_made_are_not_kept_for_ever(four, monkeypatch):
    from torch.distributed.tensor import Replicate, Shard
    from pyretile.torch import _move, _words
    from pyretile.torch._checks import target_spec
    mesh, most = mesh_of((4,)), []
    monkeypatch.setattr(_move, "_moves", {})
    monkeypatch.setattr(_move, "keep", lambda cache, key, value, _: _words.keep(cache, key, value, 3))
    for rows in range(1, 9):
        x = put((rows,), mesh, Shard(0))
        move = _move.move_of(x._spec, target_spec(x, [Replicate()]))
        assert _move.move_of(x._spec, target_spec(x, [Replicate()])) is move
        most.append(len(_move._moves))
    assert most == [1, 2, 3, 1, 2, 3, 1, 2]


def test_nothing_is_printed(four, capfd):
    from torch.distributed.tensor import Replicate, Shard
    from pyretile.torch import check_mesh, check_tensor, explain, optimal, watch
    x = put((8, 8), mesh_of((4,)), Shard(0))
    with watch() as seen, optimal():
        x.redistribute(placements=[Shard(0)])
    assert check_tensor(x) and check_mesh(x.device_mesh) and str(seen) and str(explain(x, [Replicate()]))
    assert capfd.readouterr() == ("", "")
