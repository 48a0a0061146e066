"""Moves an array from one sharding to another by a plan of ours, with the collectives of `jax.lax`."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

import pyretile as core
from pyretile._ends import bytes_of
from pyretile.jax._sharding import described, devices_of, end_of, named, transposed, with_dims
from pyretile.jax._steps import Devices, runner

DTYPES = {1: "i8", 2: "f16", 4: "f32", 8: "f64", 16: "c128"}
# The axis of a mesh that has all devices of both ends in a row.
ROW = "devices"


def ends_of(start, end, order_to):
    """The meshes of a problem, as the core takes them. Device d is the one at position d of the start."""
    ends = {"mesh": start.mesh_text}
    if end.mesh != start.mesh or order_to:
        ends["mesh_to"] = end.mesh_text
    if order_to:
        ends["order_to"] = str(list(order_to)).replace(" ", "")
    return ends


def padded_alike(start, end, shape):
    """The shape up to which both ends cut into tiles of their own size, or None where they end at different places."""
    made = []
    for one, other, parts, other_parts in zip(start.padded(shape), end.padded(shape), start.parts, end.parts):
        if one != other and parts > 1 and other_parts > 1:
            return None
        made.append(max(one, other))
    return tuple(made)


@lru_cache(maxsize=4096)
def program_of(start, end, order_to, shape, itemsize, limit):
    """The Program that moves an array, as its JSON object.

    shape      in elements, none of them 0; where tiles are uneven, steps act on tiles that are padded to the size of the largest
    order_to   the devices of the end's mesh, row by row, by their positions in the start's; None if they stand in the same order
    limit      bytes per device, the tiles before and after a step together; or None
    """
    ends = ends_of(start, end, order_to)
    even = padded_alike(start, end, shape)
    shape = even or shape
    # Tiles whose cuts do not nest, or devices that only one end has: every element goes straight to its place.
    same_devices = order_to is None or sorted(order_to) == list(range(start.devices))
    direct = even is None or not same_devices
    texts = start.text(shape), end.text(shape)
    if limit is None:
        return core.lower(*texts, direct=direct, **ends).to_dict()
    exchange = sum(int(np.prod(one.tile(shape), dtype=np.int64)) for one in (start, end)) * itemsize
    if not direct:
        try:
            return core.lower(*texts, dtype=DTYPES[itemsize], memory_limit=limit, **ends).to_dict()
        except core.Infeasible:
            if exchange > limit:
                raise
    elif exchange > limit:
        raise core.Infeasible("infeasible", f"one exchange takes {exchange} bytes per device, of {limit}", smallest_feasible_bytes=exchange)
    return core.lower(*texts, direct=True, **ends).to_dict()


def over(mesh, start, end, run, one_mesh, end_mesh):
    """A function from the global array to the global array. `run` takes a tile of one end to one of the other."""
    def put(function, mesh, before, after):
        return jax.shard_map(function, mesh=mesh, in_specs=before, out_specs=after, check_vma=False)
    if one_mesh:
        return put(run, mesh, start.spec, end.spec)
    # The tiles of all devices in a row: the same devices hold them, whichever mesh names them.
    every = [PartitionSpec(tuple(one.axis_names)) for one in (mesh, end_mesh)]
    return lambda x: put(lambda tile: tile, end_mesh, every[1], end.spec)(put(run, mesh, start.spec, every[0])(x))


def resized(x, shape):
    """Longer by zeros, or shorter, in each dimension."""
    longer = [(0, max(0, new - old)) for old, new in zip(x.shape, shape)]
    x = jnp.pad(x, longer) if any(more for _, more in longer) else x
    return x[tuple(slice(0, extent) for extent in shape)] if x.shape != tuple(shape) else x


def one_way(x, src, dst, limit):
    """The array, moved: to be called under `jit`. The devices of both meshes stand in one order."""
    shape, rank = x.shape, x.ndim
    start, end = end_of(src, rank), end_of(dst, rank)
    axes = Devices(tuple(src.mesh.axis_names), src.mesh.size)
    if 0 in shape:
        def run(tile):
            return jnp.zeros(end.tile(shape), tile.dtype)
    elif end.sums and not start.sums:
        whole = runner(program_of(start, replace(end, sums=()), None, shape, x.dtype.itemsize, limit), axes, rank)

        def run(tile):
            """No plan makes addends, but of a whole array one device may keep its tile, and the others zeros."""
            made = whole(tile)
            return jnp.where(lax.axis_index(end.sums) == 0, made, jnp.zeros_like(made))
    else:
        run = runner(program_of(start, end, None, shape, x.dtype.itemsize, limit), axes, rank)
    # In explicit mode the mesh of a tracer is an abstract one, and equal to that of the sharding.
    one_mesh = start.mesh == end.mesh
    moved = over(src.mesh, start, end, run, one_mesh, dst.mesh)
    return resized(moved(resized(x, padded_alike(start, end, shape) or start.padded(shape))), shape)


move = Primitive("retile_reshard")
"""`one_way` as one equation, so that gradients go back by a plan of their own, and a batch moves at once. The equation has the jaxpr among its
parameters, in which JAX looks for the devices of a program."""


def moved_by(x, src, dst, limit):
    jaxpr = jaxpr_of(jax.typeof(x), src, dst, limit, jax.sharding.get_abstract_mesh())
    return move.bind(x, src=src, dst=dst, limit=limit, jaxpr=jaxpr)


@lru_cache(maxsize=1024)
def jaxpr_of(kind, src, dst, limit, _):
    return jax.make_jaxpr(partial(one_way, src=src, dst=dst, limit=limit))(kind)


def run(x, *, jaxpr, **_):
    return jaxpr_as_fun(jaxpr)(x)[0]


move.def_impl(lambda x, *, src, dst, limit, jaxpr: compiled(src, dst, limit)(x))
move.def_abstract_eval(lambda _, *, jaxpr, **ends: jaxpr.out_avals[0])
mlir.register_lowering(move, mlir.lower_fun(run, multiple_results=False))
ad.deflinear2(move, lambda cotangent, _, *, src, dst, limit, jaxpr: [moved_by(cotangent, transposed(dst), transposed(src), limit)])


def batch_moved(arguments, dims, *, src, dst, limit, jaxpr):
    (x,), (dim,) = arguments, dims
    x = jnp.moveaxis(x, dim, 0)
    known = jax.typeof(x).sharding
    first = known.spec.partitions[0] if known.mesh.shape and known.mesh.are_all_axes_explicit else None
    src, dst = (with_dims(one, [first, *one.spec.partitions]) for one in (src, dst))
    return moved_by(x, src, dst, limit), 0


batching.primitive_batchers[move] = batch_moved


@lru_cache(maxsize=1024)
def compiled(src, dst, limit):
    return jax.jit(partial(moved_by, src=src, dst=dst, limit=limit), out_shardings=dst)


@lru_cache(maxsize=1024)
def compiled_in_a_row(start, end, order_to, shape, itemsize, limit, mesh):
    """A function on the tiles of all devices of both ends, which lie along the first dimension."""
    program = program_of(start, end, order_to, shape, itemsize, limit)
    run = runner(program, Devices((ROW,), mesh.size), len(shape))
    row = PartitionSpec(ROW)
    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=row, out_specs=row, check_vma=False))


def between_meshes(x, src, dst, limit):
    """Moves an array whose devices stand in another order at the end, or are others. Not under `jit`, where JAX has no such arrays."""
    start, end = end_of(src, x.ndim), end_of(dst, x.ndim)
    devices = list(devices_of(src))
    devices += [one for one in devices_of(dst) if one not in devices]
    order_to = tuple(devices.index(one) for one in devices_of(dst))
    mesh = Mesh(np.array(devices), (ROW,))
    tile, given = start.tile(x.shape), {one.device: one.data for one in x.addressable_shards}
    own = [one for one in devices if one.process_index == jax.process_index()]
    tiles = [given[one] if one in given else jax.device_put(np.zeros(tile, x.dtype), one) for one in own]
    row = jax.make_array_from_single_device_arrays((len(devices) * tile[0], *tile[1:]), NamedSharding(mesh, PartitionSpec(ROW)), tiles)
    made = compiled_in_a_row(start, end, order_to, x.shape, x.dtype.itemsize, limit, mesh)(row)
    held = {one.device: one.data for one in made.addressable_shards}
    return jax.make_array_from_single_device_arrays(x.shape, dst, [held[one] for one in own if one in set(devices_of(dst))])


def on_one_device(sharding):
    """A mesh of its own for an array on one device."""
    if isinstance(sharding, SingleDeviceSharding):
        return NamedSharding(Mesh(np.array(list(sharding.device_set)), ("one",)), PartitionSpec(), memory_kind=sharding.memory_kind)
    return sharding


def source_of(x, src):
    """The sharding that an array has, or, of a tracer, the one that it is known to have."""
    if src is not None and not isinstance(src, Sharding):
        raise TypeError(f"src is a {type(src).__name__}, and no sharding with a mesh: write NamedSharding(mesh, ..)")
    if not isinstance(x, jax.core.Tracer):
        if src is not None and not src.is_equivalent_to(x.sharding, x.ndim):
            raise ValueError(f"src is {src}, and the array has {x.sharding}")
        return on_one_device(x.sharding)
    if src is not None:
        return src
    known = getattr(jax.typeof(x), "sharding", None)
    if known is None or not known.mesh.shape or not known.mesh.are_all_axes_explicit:
        raise ValueError("inside of jit the sharding of this array is not known: say it as src=, or use a mesh of explicit axes")
    return known


def with_mesh(sharding, mesh):
    """A partition spec with the mesh of the source."""
    return NamedSharding(mesh, sharding) if isinstance(sharding, PartitionSpec) else sharding


def reshard_array(x, sharding, limit, src):
    if not isinstance(x, jax.Array):
        raise TypeError(f"reshard takes arrays of JAX, and not {type(x).__name__}")
    src = named(source_of(x, src), "the sharding of the array")
    wanted = with_mesh(sharding, src.mesh)
    dst = named(on_one_device(wanted), "the new sharding")
    traced = isinstance(x, jax.core.Tracer)
    if src.memory_kind != dst.memory_kind and not traced:
        raise ValueError(f"the array lies in {src.memory_kind}, and the new sharding in {dst.memory_kind}: reshard moves between devices alone")
    if jnp.issubdtype(x.dtype, jax.dtypes.extended):
        return of_keys(x, src, dst, limit)
    if x.ndim == 0:
        for one in (src, dst):
            end_of(one, 0)  # which refuses what a scalar cannot have
        flat = [with_dims(one, [None]) for one in (src, dst)]
        return reshard_array(x.reshape(1), flat[1], limit, flat[0] if traced else None).reshape(())
    if traced:
        src, dst = on_concrete_meshes(src, dst)
        return moved_by(x, src, dst, limit)
    for extent, parts in zip(x.shape, end_of(dst, x.ndim).parts):
        if extent % parts:
            raise ValueError(f"outside of jit JAX has no arrays of uneven tiles, such as {described(dst, x.shape, x.dtype)}")
    if devices_of(src) == devices_of(dst):
        return compiled(src, dst, limit)(x)
    made = between_meshes(x, src, dst, limit)
    return made if dst is wanted else jax.make_array_from_single_device_arrays(x.shape, wanted, [one.data for one in made.addressable_shards])


def on_concrete_meshes(src, dst):
    """What `shard_map` takes. In explicit mode the mesh of a tracer has no devices; it is that of the other end."""
    if isinstance(dst.mesh, Mesh) and not isinstance(src.mesh, Mesh) and dst.mesh.abstract_mesh == src.mesh:
        src = NamedSharding(dst.mesh, src.spec)
    if isinstance(src.mesh, Mesh) and isinstance(dst.mesh, Mesh) and devices_of(src) != devices_of(dst):
        raise ValueError("inside of jit both meshes must have the same devices in the same order")
    return src, dst


def of_keys(x, src, dst, limit):
    """Keys of random numbers, by the numbers that they consist of."""
    data = jax.random.key_data(x)
    more = [None] * (data.ndim - x.ndim)

    def wide(one):
        return with_dims(one, [*one.spec.partitions, *[None] * (x.ndim - len(one.spec.partitions)), *more])
    moved = reshard_array(data, wide(dst), limit, wide(src) if isinstance(x, jax.core.Tracer) else None)
    return jax.random.wrap_key_data(moved, impl=jax.random.key_impl(x))


def reshard(x: Any, sharding: Any, memory_limit: int | str | None = None, *, src: Any = None) -> Any:
    """The same array in another sharding, moved by a plan of ours.

    Devices exchange what the plan says. It works on arrays, inside of `jit`, and under `grad`, `jvp` and `vmap`.

    Args:
      x: a `jax.Array`, or a pytree of them.
      sharding: a `NamedSharding`, a `PartitionSpec` over the array's own mesh, or a `SingleDeviceSharding`; of a pytree, one for all or a
        tree of them. Inside of `jit` tiles may be uneven, and the devices stay the same.
      memory_limit: the most bytes per device that tiles before and after a step take together, as a number or a text such as `80GB`.
      src: inside of `jit`, the sharding that the array has; in explicit mode JAX knows it. If it has another one, the result is right, and
        JAX moves the array to `src` first.

    Returns:
      The array, or the tree of arrays, in the new shardings.

    Raises:
      ValueError: no plan does it, for the reason that is named: a dimension that is left to the compiler, another kind of memory, an unknown source.
      Infeasible: no plan keeps the memory limit; `smallest_feasible_bytes` says what suffices. A ValueError.
      TypeError: what is no array of JAX, or a sharding of another kind.

    >>> rows = jax.device_put(jnp.arange(64.0).reshape(8, 8), NamedSharding(mesh, P("x", "data")))
    >>> columns = rtj.reshard(rows, P(None, ("x", "data")))
    >>> columns.sharding.spec, bool((columns == rows).all())
    (P(None, ('x', 'data')), True)
    """
    def one_for_all(given):
        return given is None or isinstance(given, (Sharding, PartitionSpec))
    limit = None if memory_limit is None else bytes_of(memory_limit)
    leaves, tree = jax.tree_util.tree_flatten(x)
    shardings, sources = ([given] * len(leaves) if one_for_all(given) else tree.flatten_up_to(given) for given in (sharding, src))
    moved = [reshard_array(*one, limit, source) for *one, source in zip(leaves, shardings, sources, strict=True)]
    return jax.tree_util.tree_unflatten(tree, moved)
