"""Which elements the placements give to each rank, as torch cuts: the first axis first, the next one what that has left."""

import itertools
import sys
from math import prod

from ._words import numbers, turns_of

# Along a dimension a tile is a list of half-open ranges of indices, in the order in which the rank has them.


def length(ranges):
    return sum(stop - start for start, stop in ranges)


def _part(ranges, begin, end):
    """The indices at the places from `begin` to `end`."""
    out, at = [], 0
    for start, stop in ranges:
        low, high = max(begin - at, 0), min(end - at, stop - start)
        if low < high:
            out.append((start + low, start + high))
        at += stop - start
    return out


def _chunk(ranges, count, at):
    size = -(-length(ranges) // count)
    return _part(ranges, at * size, (at + 1) * size)


def _joined(ranges):
    out = []
    for start, stop in ranges:
        if out and out[-1][1] == start:
            out[-1] = (out[-1][0], stop)
        else:
            out.append((start, stop))
    return out


def tile(shape, placements, turns, sizes, coordinate):
    """For each dimension the ranges of indices that the rank at this coordinate of the mesh has."""
    dims = [[(0, extent)] if extent else [] for extent in shape]
    for axis in sorted(range(len(placements)), key=lambda k: (turns[k] or 0)):
        one, count, at = placements[axis], sizes[axis], coordinate[axis]
        name = type(one).__name__
        if name == "Shard":
            dims[one.dim] = _chunk(dims[one.dim], count, at)
        elif name == "_StridedShard":
            whole, factor = dims[one.dim], one.split_factor
            dims[one.dim] = _joined([part for k in range(factor) for part in _chunk(_chunk(whole, factor, k), count, at)])
    return dims


def of_all_ranks(local):
    """The tile of every rank where this process has all of them, which is torch's local tensor mode; otherwise None.

    In that mode a tensor that is the same on all ranks may be an ordinary one.
    """
    if hasattr(local, "_local_tensors"):
        return local._local_tensors
    home = sys.modules.get("torch.distributed._local_tensor")
    mode = home.enabled_local_tensor_mode() if home else None
    return dict.fromkeys(sorted(mode.ranks), local) if mode else None


def coordinates(sizes):
    return itertools.product(*map(range, sizes))


def tile_of(spec, coordinate):
    placements, turns = turns_of(spec)
    return tile(numbers(spec.shape), placements, turns, numbers(spec.mesh.shape), coordinate)


def shape_of(spec, coordinate):
    return tuple(map(length, tile_of(spec, coordinate)))


def largest(spec):
    """The number of elements of the largest tile, which is that of the first rank."""
    return prod(shape_of(spec, (0,) * spec.mesh.ndim))
