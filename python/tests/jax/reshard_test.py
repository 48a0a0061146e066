"""Arrays that are moved by plans, on eight devices of the CPU, beside what JAX makes of them."""

import itertools
import re

import pytest

pytest.importorskip("jax.sharding")
pytest.importorskip("pyretile")

import jax
import numpy as np
from jax import numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from programs import mesh

from pyretile import Infeasible
from pyretile.jax import _reshard, _steps, check, explain, reshard

DEVICES = jax.devices()


def named(on, *spec):
    return NamedSharding(on, P(*spec))


def numbered(*shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape).astype(dtype)


def tiles_differ(moved, values, sharding):
    """Whether some device holds something else than JAX puts there."""
    wanted = {one.device: np.asarray(one.data) for one in jax.device_put(values, sharding).addressable_shards}
    found = {one.device: np.asarray(one.data) for one in moved.addressable_shards}
    return found.keys() != wanted.keys() or any(not np.array_equal(found[one], wanted[one]) for one in wanted)


def move_and_compare(values, start, end, **more):
    moved = reshard(jax.device_put(values, start), end, **more)
    assert moved.dtype == values.dtype and moved.sharding.is_equivalent_to(end, values.ndim)
    assert not tiles_differ(moved, values, end)
    return moved


def specs(axes, rank):
    """All specs over these axes, each dimension cut by any of them in any order."""
    for chosen in itertools.product(range(rank + 1), repeat=len(axes)):
        for order in itertools.permutations(range(len(axes))):
            dims = [tuple(axes[k] for k in order if chosen[k] == dim) for dim in range(rank)]
            yield tuple(one or None for one in dims)


def drawn_pairs(count, seed=5):
    random = np.random.default_rng(seed)
    meshes = [dict(x=8), dict(x=2, y=4), dict(x=4, y=2), dict(x=2, y=2, z=2), dict(x=3, y=2), dict(x=2, y=3)]
    for _ in range(count):
        axes = meshes[random.integers(len(meshes))]
        rank = int(random.integers(1, 4))
        both = [list(specs(tuple(axes), rank))[k] for k in random.integers(len(set(specs(tuple(axes), rank))), size=2)]
        size = int(np.prod(list(axes.values())))
        shape = tuple(int(size * random.integers(1, 3)) if rank < 3 else size for _ in range(rank))
        yield axes, both, shape


@pytest.mark.parametrize("axes, both, shape", list(drawn_pairs(40)), ids=str)
def test_drawn_pair(axes, both, shape):
    on = mesh(**axes)
    move_and_compare(numbered(*shape), *(named(on, *one) for one in both))


def test_all_pairs_of_a_small_mesh():
    on, values = mesh(x=2, y=2), numbered(4, 4)
    every = sorted(set(specs(("x", "y"), 2)), key=str)
    assert len(every) > 8
    for start, end in itertools.product(every, repeat=2):
        move_and_compare(values, named(on, *start), named(on, *end))


ON = dict(x=2, y=4)
START, END = ("x", "y"), (None, ("y", "x"))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_, np.int8, np.uint16, jnp.bfloat16, np.float16, np.complex64])
def test_type_of_elements(dtype):
    on = mesh(**ON)
    move_and_compare(numbered(8, 16, dtype=dtype), named(on, *START), named(on, *END))


def test_under_jit_and_inside_of_it():
    on, values = mesh(**ON), numbered(8, 16)
    x = jax.device_put(values, named(on, *START))
    inside = jax.jit(lambda x: reshard(x * 2, named(on, *END), src=named(on, *START)) / 2)
    assert not tiles_differ(inside(x), values, named(on, *END))
    assert not tiles_differ(jax.jit(lambda x: reshard(x, P(*END), src=named(on, *START)))(x), values, named(on, *END))


def test_a_source_that_is_another_one_is_still_right():
    on, values = mesh(**ON), numbered(8, 16)
    x = jax.device_put(values, named(on, "y"))
    assert not tiles_differ(jax.jit(lambda x: reshard(x, named(on, *END), src=named(on, *START)))(x), values, named(on, *END))


@pytest.mark.parametrize("end", [END, (), ("y", None)], ids=str)
def test_derivatives(end):
    """The gradient comes back in the sharding of the argument, exactly, also where devices hold replicas."""
    on, values = mesh(x=2, y=3), numbered(6, 12)
    start, end = named(on, *START), named(on, *end)
    x = jax.device_put(values, start)

    def half_square(x):
        return jnp.sum(reshard(x, end, src=start) ** 2) / 2
    gradient = jax.jit(jax.grad(half_square))(x)
    assert not tiles_differ(gradient, values, start)
    primal, tangent = jax.jit(lambda x: jax.jvp(lambda x: reshard(x, end, src=start), (x,), (3 * x,)))(x)
    assert not tiles_differ(primal, values, end) and not tiles_differ(tangent, 3 * values, end)
    hessian = jax.jit(jax.hessian(lambda x: jnp.sum(reshard(x, named(on, ("x", "y")), src=named(on)) ** 3)))(values[0, :6])
    np.testing.assert_array_equal(np.asarray(hessian), np.diag(6 * values[0, :6]))


def test_derivatives_outside_of_jit():
    on, values = mesh(**ON), numbered(8, 16)
    start, end = named(on, *START), named(on, *END)
    gradient = jax.grad(lambda x: jnp.sum(reshard(x, end, src=start) ** 2) / 2)(jax.device_put(values, start))
    assert not tiles_differ(gradient, values, start)


def test_gradient_of_a_gather_is_a_slice():
    """What goes back is a plan of its own, and no sum of what all devices say."""
    on = mesh(x=8)
    start, end = named(on, "x"), named(on)
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(reshard(x, end, src=start) ** 2)))
    text = gradient.lower(jax.ShapeDtypeStruct((16, 4), np.float32, sharding=start)).compile().as_text()
    assert "all-gather" in text and not re.search(r"all-reduce|reduce-scatter", text)


def test_a_batch():
    on, values = mesh(**ON), numbered(3, 8, 16)
    moved = jax.jit(jax.vmap(lambda x: reshard(x, named(on, *END), src=named(on, *START))))(values)
    np.testing.assert_array_equal(np.asarray(moved), values)
    gradients = jax.jit(jax.vmap(jax.grad(lambda x: jnp.sum(reshard(x, named(on, *END), src=named(on, *START)) ** 2) / 2), in_axes=1, out_axes=1))(values)
    np.testing.assert_array_equal(np.asarray(gradients), values)


def test_a_loop():
    on, values = mesh(**ON), numbered(8, 16)

    def step(x, _):
        return reshard(reshard(x, named(on, *END), src=named(on, *START)) + 1, named(on, *START), src=named(on, *END)), None
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: jax.lax.scan(step, x, None, length=3)[0])(values)), values + 3)


@pytest.mark.parametrize("shape, start, end", [((10, 3), ("x",), (("x", "y"),)), ((13, 7), ("x", "y"), ("y", "x")), ((5,), ("y",), (("y", "x"),)), ((3, 5), (None, ("x", "y")), ("y",)), ((3, 16), ("x", "y"), (None, ("y", "x")))], ids=str)
def test_uneven_inside_of_jit(shape, start, end):
    on, values = mesh(**ON), numbered(*shape)
    start, end = named(on, *start), named(on, *end)

    def function(x):
        return reshard(jax.lax.with_sharding_constraint(x, start), end, src=start) * 1
    np.testing.assert_array_equal(np.asarray(jax.jit(function)(values)), values)
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(function(x) ** 2) / 2))(values)
    np.testing.assert_array_equal(np.asarray(gradient), values)


@pytest.mark.parametrize("other", [dict(x=8), dict(x=4, y=2), dict(a=2, b=2, c=2)], ids=str)
def test_other_axes_over_the_same_devices(other):
    one, two, values = mesh(**ON), mesh(**other), numbered(16, 16)
    start, end = named(one, *START), named(two, None, tuple(other)[-1])
    move_and_compare(values, start, end)
    inside = jax.jit(lambda x: reshard(x, end, src=start), out_shardings=end)(jax.device_put(values, start))
    assert not tiles_differ(inside, values, end)


@pytest.mark.parametrize("order", [range(7, -1, -1), (3, 1, 4, 0, 7, 5, 2, 6), (0, 2, 4, 6, 1, 3, 5, 7)], ids=str)
def test_another_order_of_the_devices(order):
    end = NamedSharding(Mesh(np.array([DEVICES[k] for k in order]).reshape(2, 4), ("a", "b")), P("b", "a"))
    values, start = numbered(8, 16), named(mesh(**ON), *START)
    moved = move_and_compare(values, start, end)
    assert not tiles_differ(reshard(moved, start), values, start)


@pytest.mark.parametrize("devices", [(2, 3, 4, 5), (7,), (0, 1)], ids=str)
def test_other_devices(devices):
    end = NamedSharding(Mesh(np.array([DEVICES[k] for k in devices]), ("a",)), P(None, "a"))
    values, start = numbered(8, 16), named(mesh(**ON), *START)
    moved = move_and_compare(values, start, end)
    assert not tiles_differ(reshard(moved, start), values, start)


def test_axes_that_are_no_words():
    on = Mesh(np.array(DEVICES).reshape(4, 2), ("my axis", "a:b"))
    start, end = named(on, "my axis", "a:b"), named(on, "a:b", "my axis")
    move_and_compare(numbered(8, 8), start, end)
    said = explain(lambda x: jax.lax.with_sharding_constraint(x, end), jax.device_put(numbered(8, 8), start))
    assert "my axis" in str(said)


def test_one_device():
    values, start = numbered(8, 16), named(mesh(**ON), *START)
    moved = move_and_compare(values, start, SingleDeviceSharding(DEVICES[5]))
    assert moved.sharding == SingleDeviceSharding(DEVICES[5])
    assert not tiles_differ(reshard(moved, start), values, start)
    assert float(reshard(jax.device_put(jnp.float32(3), named(mesh(**ON))), SingleDeviceSharding(DEVICES[5]))) == 3


def test_trees_keys_and_arrays_without_elements():
    on = mesh(**ON)
    tree = {"a": numbered(8, 16), "b": [numbered(8), np.float32(4)]}
    put = jax.device_put(tree, named(on))
    moved = reshard(put, {"a": P("x", "y"), "b": [P("y"), P()]})
    assert moved["a"].sharding == named(on, "x", "y")
    assert jax.tree_util.tree_all(jax.tree_util.tree_map(np.array_equal, moved, tree))
    keys = jax.random.split(jax.random.key(1), 8)
    spread = reshard(jax.device_put(keys, named(on, "y")), named(on, "x"))
    assert spread.sharding.is_equivalent_to(named(on, "x"), 1) and np.array_equal(jax.random.key_data(spread), jax.random.key_data(keys))
    assert reshard(jax.device_put(jnp.zeros((0, 8)), named(on, None, "x")), named(on, None, "y")).shape == (0, 8)


def test_explicit_mode_needs_no_source():
    on = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    values = numbered(8, 16)
    with jax.set_mesh(on):
        x = jax.device_put(values, named(on, *START))
        moved = jax.jit(lambda x: reshard(x + 0, P(*END)))(x)
        gradient = jax.jit(jax.grad(lambda x: jnp.sum(reshard(x, named(on, *END)) ** 2) / 2))(x)
    assert not tiles_differ(moved, values, named(on, *END))
    assert not tiles_differ(gradient, values, named(on, *START))


ENDS_OF_SUMS = [P("x", "y"), P("x", None), P(None, "x"), P(), P(("y", "x")), P(None, "x", unreduced={"y"})]


@pytest.mark.parametrize("end", ENDS_OF_SUMS, ids=str)
def test_sums_of_explicit_mode(end):
    """A product whose sum is still to be done, moved to where it is whole; its gradients lie as JAX's own."""
    on = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    values = numbered(8, 8)

    def product(a, b, move):
        sums = jnp.einsum("ij,jk->ik", a, b, out_sharding=NamedSharding(on, P("x", None, unreduced={"y"})))
        moved = move(sums, NamedSharding(on, end))
        return jax.sharding.reshard(moved, named(on, None, "x")) if end.unreduced else moved
    with jax.set_mesh(on):
        a, b = jax.device_put(values, named(on, "x", "y")), jax.device_put(values, named(on, "y"))
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda a, b: product(a, b, reshard))(a, b)), values @ values)
        both = [jax.jit(jax.grad(lambda a, b, move=move: jnp.sum(product(a, b, move) ** 2), argnums=(0, 1)))(a, b) for move in (reshard, jax.sharding.reshard)]
        sums = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=NamedSharding(on, P("x", None, unreduced={"y"}))))(a, b)
        outside = reshard(sums, named(on, "y", "x"))
    for ours, its in zip(*both):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(its))
        assert ours.sharding == its.sharding
    np.testing.assert_array_equal(np.asarray(outside), values @ values)


def test_addends_of_a_gradient():
    """What JAX calls reduced holds replicas, and its gradient addends, of which their sum counts."""
    on = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    values = numbered(8, 8)

    def function(a):
        replicas = jax.sharding.reshard(a, NamedSharding(on, P("x", None, reduced={"y"})))
        return jnp.sum(reshard(replicas, named(on, "x", "y")) ** 2) / 2
    with jax.set_mesh(on):
        gradient = jax.jit(jax.grad(function))(jax.device_put(values, named(on, "x", "y")))
    assert not tiles_differ(gradient, values, named(on, "x", "y"))


def test_limit_of_memory():
    on, values = mesh(**ON), numbered(8, 16)
    start, end = named(on, *START), named(on, *END)
    two_tiles = 2 * values.nbytes // 8
    move_and_compare(values, start, end, memory_limit=two_tiles)
    with pytest.raises(Infeasible) as refused:
        reshard(jax.device_put(values, start), end, memory_limit=two_tiles - 1)
    assert refused.value.smallest_feasible_bytes == two_tiles


def test_refusals_name_their_reason():
    on = mesh(**ON)
    x = jax.device_put(numbered(8, 16), named(on, *START))
    with pytest.raises(ValueError, match="say it as src="):
        jax.jit(lambda x: reshard(x, named(on, *END)))(x)
    with pytest.raises(ValueError, match="left to the compiler|leaves a dimension"):
        reshard(x, P(P.UNCONSTRAINED, "x"))
    with pytest.raises(ValueError, match="more dimensions"):
        reshard(x, P(None, None, "x"))
    with pytest.raises(ValueError, match="more dimensions"):
        reshard(jax.device_put(np.float32(3), named(on)), named(on, "x"))
    with pytest.raises(TypeError, match="src is a"):
        reshard(x, named(on, *END), src=P(*START))
    with pytest.raises(ValueError, match="uneven"):
        reshard(jax.device_put(numbered(6, 16), named(on, "x")), P("y"))
    with pytest.raises(ValueError, match="src is"):
        reshard(x, P(), src=named(on, "y"))
    with pytest.raises(TypeError, match="ndarray"):
        reshard(numbered(8, 16), named(on, *END))
    with pytest.raises(ValueError, match="same devices"):
        jax.jit(lambda x: reshard(x, NamedSharding(Mesh(np.array(DEVICES[:4]), ("a",)), P("a")), src=named(on, *START)))(x)


def test_no_step_is_left_to_the_partitioner():
    """The program has the collectives of the plan, and no others."""
    on = mesh(x=4, y=2)
    start, end = named(on, "y", None, "x"), named(on, None, ("x", "y"), None)
    shape = jax.ShapeDtypeStruct((16, 32, 64), np.float32, sharding=start)
    ours = jax.jit(lambda x: reshard(x, end, src=start)).lower(shape).compile()
    its = jax.jit(lambda x: jax.lax.with_sharding_constraint(x, end)).lower(shape).compile()
    found = [re.findall(r" (all-gather|all-to-all|collective-permute|all-reduce)(?:-start)?\(", one.as_text()) for one in (ours, its)]
    assert found[0] == ["all-to-all"] and "all-gather" in found[1]
    temporaries = [one.memory_analysis().temp_size_in_bytes for one in (ours, its)]
    assert temporaries[0] < temporaries[1]


def test_a_program_with_reshards_of_ours_is_judged():
    on = mesh(x=4, y=2)
    start, end = named(on, "y", None, "x"), named(on, None, ("x", "y"), None)
    shape = jax.ShapeDtypeStruct((16, 32, 64), np.float32, sharding=start)

    def function(x):
        return reshard(jnp.tanh(x), end, src=start) * 2
    for given in (function, jax.grad(lambda x: jnp.sum(function(x) ** 2))):
        report = check(given, shape)
        assert report.right and report.collectives
        assert {one.where for one in report.collectives} == {f"{__file__}:{function.__code__.co_firstlineno + 1}"}


@pytest.mark.parametrize("spoil", [
    lambda step: {**step, "groups": [row[::-1] for row in _steps.table(step["groups"]).tolist()]},
    lambda step: {**step, "split": step["concat"], "concat": step["split"]}], ids=["groups", "dimensions"])
def test_a_spoiled_plan_is_seen(monkeypatch, spoil):
    """The comparison above can fail: with another step on the way the tiles are wrong, or of another shape."""
    real = _reshard.program_of.__wrapped__

    def wrong(*arguments):
        program = real(*arguments)
        assert [one["op"] for one in program["steps"]] == ["alltoall"]
        return {**program, "steps": [spoil(one) for one in program["steps"]]}
    monkeypatch.setattr(_reshard, "program_of", wrong)
    _reshard.compiled.cache_clear()
    on = mesh(x=8)
    try:
        with pytest.raises((AssertionError, ValueError, TypeError)):
            move_and_compare(numbered(24, 16), named(on, "x"), named(on, None, "x"))
    finally:
        _reshard.compiled.cache_clear()


@pytest.mark.parametrize("words, rows", [
    ("[2,2]<=[4]", [[0, 1], [2, 3]]), ("[2,2]<=[2,2]T(1,0)", [[0, 2], [1, 3]]), ("[4]<=[2,2]T(1,0)", [0, 2, 1, 3]),
    ("[3,2]<=[2,3]T(1,0)<=[3,2]T(1,0)", [[0, 1], [2, 3], [4, 5]]), ("[6]<=[3,2]T(1,0)<=[6]", [0, 2, 4, 1, 3, 5])])
def test_iotas(words, rows):
    assert _steps.table(words).tolist() == rows


def test_rounds_of_an_exchange():
    transfers = [[1, 0, 0, 0, 4], [2, 0, 0, 4, 2], [0, 1, 0, 0, 4], [2, 2, 2, 0, 1], [0, 0, 4, 6, 2]]
    made = _steps.rounds(transfers, 1)
    assert sorted(row for one in made for row in one.boxes) == sorted((t, s, (a,), (b,), (c,)) for t, s, a, b, c in transfers)
    for one in made:
        for place in (0, 1):
            assert len({row[place] for row in one.boxes}) == len(one.boxes)
        assert {row[0] == row[1] for row in one.boxes} == {one.local}


def test_explain_lists_what_is_asked_and_what_is_made():
    on = mesh(x=4, y=2)
    start, middle, end = named(on, "y", None, "x"), named(on, "y", "x", None), named(on, None, ("x", "y"), None)
    shape = jax.ShapeDtypeStruct((16, 32, 64), np.float32, sharding=start)

    def through(v):
        v = jax.lax.with_sharding_constraint(v, middle)
        return jax.lax.with_sharding_constraint(v, end)

    def at_once(v):
        return jax.lax.with_sharding_constraint(v, end)
    found = explain(at_once, shape)
    assert len(found.asked) == len(found.made) == 1
    assert found.asked[0].details["plan"]["cost"] == 4096 and found.made[0].details["cost"] > 4096
    assert {one.file for one in (*found.asked, *found.made)} == {__file__}
    assert found.asked[0].line == at_once.__code__.co_firstlineno + 1
    assert [one.details["from"] for one in explain(through, shape).asked] == [str(start.spec), str(middle.spec)]
    nested = explain(lambda v: jax.jit(at_once, in_shardings=middle)(v), shape)
    assert [one.op for one in nested.asked] == ["jit", "sharding_constraint"]
    assert not explain(lambda v: v * 2, shape).asked
    looped = explain(lambda v: jax.lax.scan(lambda state, _: (at_once(state), None), v, None, length=2)[0], shape)
    assert [(one.op, one.line) for one in looped.asked] == [("sharding_constraint", at_once.__code__.co_firstlineno + 1)]
    assert explain(jax.checkpoint(at_once), shape).asked
    # Ours is asked for, too, and its collectives are reshards that are made, one all-to-all as well as several.
    for end_of_ours in (end, middle, named(on, "x", None, "y"), named(on)):
        ours = explain(lambda v: reshard(v * 2, end_of_ours, src=start) + 1, shape)
        (one,), (asked,) = ours.made, ours.asked
        assert asked.op == "pyretile.jax.reshard" and asked.details["from"] == str(start.spec) and asked.details["to"] == str(end_of_ours.spec)
        assert one.details["cost"] == sum(each.details["cost"] for each in ours.report.collectives)
        # A gather along two dimensions is one along each, which cost more together.
        assert (one.details["cost"] > asked.details["plan"]["cost"]) == (end_of_ours == named(on))
        assert ours.report.collectives and one.line == asked.line
    # What the outermost jit says of its results, and of arguments that say nothing themselves.
    outside = explain(jax.jit(lambda v: v, out_shardings=end), shape)
    assert [(one.op, one.details["plan"]["cost"]) for one in outside.asked] == [("out_shardings", 4096)]
    bare = jax.ShapeDtypeStruct(shape.shape, shape.dtype)
    both = explain(jax.jit(at_once, in_shardings=start, out_shardings=start), bare).asked
    assert [(one.op, one.details["from"], one.details["to"]) for one in both] == [("sharding_constraint", str(start.spec), str(end.spec)), ("out_shardings", str(end.spec), str(start.spec))]
    assert not explain(jax.jit(lambda v: v * 2, in_shardings=start), bare).asked
    alone = explain(lambda x: x + 1, np.ones(3, np.float32))
    assert (alone.asked, alone.made, alone.report.answer) == ((), (), "one device")


@pytest.mark.parametrize(("axes", "shape", "start", "end"), [
    ({"x": 4, "y": 2}, (512, 512), ("x", "y"), ("y", None)),
    ({"x": 2, "y": 2, "z": 2}, (64, 64, 64), ("x", "y", "z"), (None, "y", None)),
    ({"x": 2, "y": 4}, (64, 64, 64), ("y", None, "x"), (None, None, None)),
    ({"x": 2, "y": 2, "z": 2}, (64, 64, 64), (("x", "y"), None, "z"), (None, None, None)),
    ({"x": 2, "y": 2, "z": 2}, (512, 512), (("z", "x"), "y"), (None, None))])
def test_gathers_along_several_dimensions_hold_no_array_beside_the_result(axes, shape, start, end):
    on, values = mesh(**axes), numbered(*shape)
    start, end = named(on, *start), named(on, *end)
    x = jax.device_put(values, start)
    ours = jax.jit(lambda x: reshard(x, end, src=start)).lower(x).compile()
    assert not tiles_differ(ours(x), values, end)
    its = jax.jit(lambda x: jax.lax.with_sharding_constraint(x, end), out_shardings=end).lower(x).compile()
    assert ours.memory_analysis().temp_size_in_bytes <= its.memory_analysis().temp_size_in_bytes
