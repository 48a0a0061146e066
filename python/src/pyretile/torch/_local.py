"""All ranks in one process: torch's local tensor mode."""

import math

from . import _hook
from ._checks import Verdict
from ._tiles import coordinates, shape_of, tile_of
from ._words import elements, mesh_text, numbers, placement_words, placements_text, ranks_of


def _axes_of_addends(spec):
    return [k for k, one in enumerate(spec.placements) if one.is_partial()]


def _value(element, addend, small):
    """Whole numbers that tell addends of elements apart, exact in float64. Products need small ones."""
    if small:
        return ((element * 5 + addend * 7 + element // 11) % 13 + 1).double()
    return ((element * 2654435761 + addend * 40503 * (element + 11) + 97 * addend) % 16777213 + 1).double()


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
    small = any(getattr(spec.placements[k], "reduce_op", None) == "product" for k in axes)
    element = torch.arange(elements(shape)).reshape(shape)
    count = math.prod(int(spec.mesh.shape[k]) for k in axes)
    whole = [_value(element, k, small) for k in range(count)]
    tiles = {rank: _box(whole[_addend(spec, coordinate)], spec, coordinate)
             for rank, coordinate in zip(ranks_of(spec.mesh), coordinates(numbers(spec.mesh.shape)))}
    return tiles, _total(spec.placements[axes[0]], whole) if axes else whole[0]


def compared(tiles, array, spec):
    """A `Verdict` on tiles of all ranks, which are to be those of an array."""
    import torch
    axes = _axes_of_addends(spec)
    for rank, coordinate in zip(ranks_of(spec.mesh), coordinates(numbers(spec.mesh.shape))):
        if tuple(tiles[rank].shape) != shape_of(spec, coordinate):
            return Verdict(False, f"wrong: rank {rank} ends with a tile {list(tiles[rank].shape)}, not {list(shape_of(spec, coordinate))}")
    for key, members in _groups(spec).items():
        made = [tiles[rank] for rank, _ in members]
        total, wanted = _total(spec.placements[axes[0]], made) if axes else made[0], _box(array, spec, key)
        differs = ~torch.isclose(total, wanted, rtol=1e-9, atol=0)
        if differs.any():
            at = differs.nonzero()[0].tolist()
            return Verdict(False, f"wrong: rank {members[0][0]} ends with another element at {at} than its placements say")
    return Verdict(True, "right: every rank ends with the elements that its placements say")


def moved_right(current, target, way=None):
    """A `Verdict` on a redistribute, done with numbers of ours. To be called in local tensor mode."""
    from torch.distributed._local_tensor import LocalTensor, enabled_local_tensor_mode
    mode = enabled_local_tensor_mode()
    if any(type(one).__name__ == "_MaskPartial" for one in (*current.placements, *target.placements)):
        return Verdict(True, "not tried: a mask is no part of the placements")
    current, target = as_float64(current), as_float64(target)
    with mode.disable():
        tiles, array = beginnings(current)
        start = LocalTensor(tiles)
    done = (way or _hook.original())(start, current, target)
    with mode.disable():
        tiles = {rank: one.wait() if hasattr(one, "wait") else one for rank, one in done._local_tensors.items()}
        verdict = compared(tiles, array, target)
    move = f"{placements_text(placement_words(current))} -> {placements_text(placement_words(target))}"
    return Verdict(verdict.right, f"{verdict.text}: {move} of {list(numbers(current.shape))} over {mesh_text(current.mesh)}")
