"""All ranks in one process: torch's local tensor mode."""

import math

from . import _hook
from ._checks import Verdict
from ._tiles import coordinates, shape_of, tile_of
from ._words import dtype_word, elements, mesh_text, numbers, placement_words, placements_text, ranks_of


def _axes_of_addends(spec):
    return [k for k, one in enumerate(spec.placements) if one.is_partial()]


def _value(element, addend, most):
    """Whole numbers from 1 to `most`, or 0 and 1, that tell addends of elements apart as far as so many can."""
    if most <= 13:
        return (element * 5 + addend * 7 + element // 11) % max(most, 2) + (most > 1)
    return (element * 2654435761 + addend * 40503 * (element + 11) + 97 * addend) % most + 1


def _most(spec, count):
    """The largest value of which a type of elements holds the sums of so many exactly."""
    import torch
    kind = spec.tensor_meta.dtype
    if any(type(one).__name__ == "_NormPartial" or getattr(one, "reduce_op", None) == "product" for one in spec.placements):
        return 13
    if kind == torch.bool:
        return 1
    exact = 2 / torch.finfo(kind).eps if kind.is_floating_point or kind.is_complex else torch.iinfo(kind).max
    return max(min(int(exact) // count, 16777213), 1)


def _wide(tensor):
    """Its elements in a type in which they can be added and compared."""
    import torch
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _total(placement, tiles):
    import torch
    stacked = torch.stack(tiles)
    if type(placement).__name__ == "_NormPartial":
        power = float(placement.norm_type)
        return (stacked.abs() ** power).sum(0) ** (1 / power)
    return {"sum": lambda: stacked.sum(0), "avg": lambda: stacked.mean(0), "max": lambda: stacked.amax(0), "min": lambda: stacked.amin(0),
            "product": lambda: stacked.prod(0)}[placement.reduce_op]()


def _box(array, spec, coordinate):
    import torch
    for dim, ranges in enumerate(tile_of(spec, coordinate)):
        places = [torch.arange(start, stop) for start, stop in ranges]
        array = array.index_select(dim, torch.cat(places) if places else torch.empty(0, dtype=torch.int64))
    return array


def _groups(spec):
    """Ranks that hold the addends of one tile, with the coordinate of the first."""
    axes, found = _axes_of_addends(spec), {}
    for rank, coordinate in zip(ranks_of(spec.mesh), coordinates(numbers(spec.mesh.shape))):
        key = tuple(0 if k in axes else at for k, at in enumerate(coordinate))
        found.setdefault(key, []).append((rank, coordinate))
    return found


def _addend(spec, coordinate):
    number = 0
    for k in _axes_of_addends(spec):
        number = number * int(spec.mesh.shape[k]) + coordinate[k]
    return number


def as_float64(spec):
    from torch import float64
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    meta = TensorMeta(spec.tensor_meta.shape, spec.tensor_meta.stride, float64)
    return DTensorSpec(spec.mesh, spec.placements, tensor_meta=meta, use_strided_shard_as_shard_order=spec.use_strided_shard_as_shard_order)


def beginnings(spec):
    """Of every rank a tile that tells all elements and addends apart, and the array that they stand for."""
    import torch
    shape, axes = numbers(spec.shape), _axes_of_addends(spec)
    kind = spec.tensor_meta.dtype
    element = torch.arange(elements(shape)).reshape(shape)
    count = math.prod(int(spec.mesh.shape[k]) for k in axes)
    most = _most(spec, count)
    whole = [_value(element, k, most).double() for k in range(count)]
    if kind.is_complex:
        whole = [torch.complex(one, -one.flip(tuple(range(one.dim())))) for one in whole]
    tiles = {rank: _box(whole[_addend(spec, coordinate)], spec, coordinate).to(kind)
             for rank, coordinate in zip(ranks_of(spec.mesh), coordinates(numbers(spec.mesh.shape)))}
    return tiles, _total(spec.placements[axes[0]], whole) if axes else whole[0]


def compared(tiles, array, spec):
    """A `Verdict` on tiles of all ranks, which are to be those of an array."""
    import torch
    axes, kind = _axes_of_addends(spec), spec.tensor_meta.dtype
    exact = not (kind.is_floating_point or kind.is_complex)
    rounding = 0 if exact else max(1e-9, 4 * torch.finfo(kind).eps)
    for rank, coordinate in zip(ranks_of(spec.mesh), coordinates(numbers(spec.mesh.shape))):
        if tuple(tiles[rank].shape) != shape_of(spec, coordinate):
            return Verdict(False, f"wrong: rank {rank} ends with a tile {list(tiles[rank].shape)}, not {list(shape_of(spec, coordinate))}")
        if tiles[rank].dtype != kind:
            return Verdict(False, f"wrong: rank {rank} ends with elements of {dtype_word(tiles[rank].dtype)}")
    for key, members in _groups(spec).items():
        made = [_wide(tiles[rank]) for rank, _ in members]
        total, wanted = _total(spec.placements[axes[0]], made) if axes else made[0], _box(array, spec, key)
        total, wanted = (_wide(one.to(kind)) for one in (total, wanted))  # truth values are added by their type's rules
        differs = ~torch.isclose(total, wanted, rtol=rounding, atol=0)
        if differs.any():
            at = differs.nonzero()[0].tolist()
            return Verdict(False, f"wrong: rank {members[0][0]} ends with another element at {at} than its placements say")
    return Verdict(True, "right: every rank ends with the elements that its placements say")


def moved_right(current, target, way=None):
    """A `Verdict` on a redistribute, done with numbers of ours. To be called in local tensor mode.

    In float64 numbers tell all elements apart. A `way` other than torch's own is tried in the array's own type, too, but for products,
    which few types can hold.
    """
    kind = dtype_word(current.tensor_meta.dtype)
    verdict = _moved_right(as_float64(current), as_float64(target), way or _hook.original(), kind)
    products = any(getattr(one, "reduce_op", None) == "product" for one in (*current.placements, *target.placements))
    return _moved_right(current, target, way, kind) if verdict and way and not products else verdict


def _moved_right(current, target, way, kind):
    """`kind` is what the array's type is called."""
    from torch.distributed._local_tensor import LocalTensor, enabled_local_tensor_mode
    mode = enabled_local_tensor_mode()
    if any(type(one).__name__ == "_MaskPartial" for one in (*current.placements, *target.placements)):
        return Verdict(True, "not tried: a mask is no part of the placements")
    with mode.disable():
        tiles, array = beginnings(current)
        start = LocalTensor(tiles)
    done = way(start, current, target)
    with mode.disable():
        tiles = {rank: one.wait() if hasattr(one, "wait") else one for rank, one in done._local_tensors.items()}
        verdict = compared(tiles, array, target)
    move = f"{placements_text(placement_words(current))} -> {placements_text(placement_words(target))}"
    return Verdict(verdict.right, f"{verdict.text}: {move} of {kind}{list(numbers(current.shape))} over {mesh_text(current.mesh)}")
