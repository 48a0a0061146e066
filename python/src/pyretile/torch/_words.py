"""Meshes, placements and element types of torch, as the text that `retile` reads."""

import contextlib
import weakref
from math import prod

from .._ends import axis_names

def of_ranks(size):
    """Of a size that differs among the ranks of local tensor mode, that of each; otherwise None."""
    return getattr(getattr(size, "node", None), "_local_ints", None)


def number(size):
    """A size as an int. One that is symbolic while torch compiles is taken at its hint, so that no guard is made of it, and one that
    differs among ranks at its largest."""
    different = of_ranks(size)
    if different:
        return max(different.values())
    hint = getattr(getattr(size, "node", None), "hint", None)
    return int(size) if hint is None else int(hint)


def numbers(sizes):
    return tuple(number(one) for one in sizes)


def mesh_text(mesh):
    """The axes and their sizes, `dp:4,tp:2`, without the ranks: positions are counted row by row."""
    return ",".join(f"{name}:{size}" for name, size in zip(axis_names(mesh), mesh.shape))


def keep(cache, key, value, most):
    """Puts a value where it is found again. A cache that is full begins anew."""
    if len(cache) >= most:
        cache.clear()
    cache[key] = value
    return value


_ranks = weakref.WeakKeyDictionary()  # by mesh


def ranks_of(mesh):
    """The rank at every position, row by row."""
    found = _ranks.get(mesh)
    if found is None:
        from torch._subclasses.fake_tensor import unset_fake_temporarily
        with unset_fake_temporarily():
            found = _ranks[mesh] = tuple(mesh.mesh.flatten().tolist())
    return found


def turns_of(spec):
    """Placements with all strided shards that stand for an order of cuts replaced, and for each axis its turn in that order, or None."""
    placements, order = spec.placements, spec.shard_order
    if getattr(spec, "use_strided_shard_as_shard_order", True) and any(type(one).__name__ == "_StridedShard" for one in placements):
        with contextlib.suppress(AssertionError, ValueError):  # one that stands for no order stays what it is
            placements, order = spec._normalize_placements_into_shard_order(spec.placements, spec.mesh)
    turns = [None] * len(placements)
    for entry in order or ():
        if list(entry.mesh_dims) != sorted(entry.mesh_dims):
            for turn, axis in enumerate(entry.mesh_dims):
                turns[axis] = turn
    return tuple(placements), tuple(turns)


def placement_word(placement, turn=None):
    name = type(placement).__name__
    if name == "Shard":
        return f"Shard({placement.dim})" + ("" if turn is None else f"[{turn}]")
    if name == "_StridedShard":
        return f"_StridedShard(dim={placement.dim}, sf={placement.split_factor})"
    if name == "_NormPartial":
        return f"_NormPartial({placement.norm_type})"
    if name == "_MaskPartial":
        return f"_MaskPartial({placement.reduce_op}, {numbers(placement.offset_shape)}, {placement.offset_dim})"
    if name == "Partial":
        return f"Partial({placement.reduce_op})"
    return repr(placement)


def placement_words(spec):
    return tuple(placement_word(one, turn) for one, turn in zip(*turns_of(spec)))


def placements_text(words):
    return f"({', '.join(words)})"


def dtype_word(dtype):
    return str(dtype).removeprefix("torch.")


def shape_text(shape):
    return ",".join(map(str, shape))


def elements(shape):
    return prod(shape)


def bytes_text(count):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
