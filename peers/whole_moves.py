"""Operations of HLO that move numbers: every array has one dimension in front, over devices (of length 1 where all hold the same)."""

import re
from math import prod

import numpy as np

from whole_text import Refusal, numbers_of


def together(arrays):
    """The same arrays with one length of the dimension in front."""
    lead = max(len(one) for one in arrays)
    return [one if len(one) == lead else np.broadcast_to(one, (lead, *one.shape[1:])) for one in arrays]


def along(values, axis, rank):
    """A list of numbers as an array that varies along one of `rank` dimensions."""
    return np.asarray(values).reshape([-1 if k == axis else 1 for k in range(rank)])


def broadcast(a, shape, dims):
    if len(dims) != a.ndim - 1:
        raise Refusal("broadcast with another number of dimensions")
    order = np.argsort(dims, kind="stable")
    turned = a.transpose([0, *(order + 1)])
    inner = [1] * len(shape)
    for k in order:
        inner[dims[k]] = a.shape[k + 1]
    return np.broadcast_to(turned.reshape(len(a), *inner), (len(a), *shape))


def reshape(a, shape):
    if prod(a.shape[1:]) != prod(shape):
        raise Refusal(f"reshape of {list(a.shape[1:])} to {list(shape)}")
    return a.reshape(len(a), *shape)


def transpose(a, dims):
    return a.transpose([0, *(dim + 1 for dim in dims)])


def bitcast(a, kind, to):
    """The numbers in the order of memory, read as another shape with another layout."""

    def order(array):
        layout = array.layout if array.layout is not None else list(range(len(array.shape)))[::-1]
        if sorted(layout) != list(range(len(array.shape))):
            raise Refusal(f"layout {array.layout} of {array}")
        return layout[::-1]

    flat = transpose(a, order(kind)).reshape(len(a), -1)
    major = order(to)
    return transpose(flat.reshape(len(a), *[to.shape[k] for k in major]), np.argsort(major))


def slices(a, text):
    found = re.findall(r"\[(\d+):(\d+)(?::(\d+))?\]", text)
    if len(found) != a.ndim - 1:
        raise Refusal("slice with another number of dimensions")
    return a[(slice(None), *(slice(int(low), int(high), int(step or 1)) for low, high, step in found))]


def padding_of(text):
    """`0_1x2_0_1`: what is put before, behind, and between."""
    return [tuple((numbers_of(one.replace("_", " ")) + [0])[:3]) for one in text.split("x")] if text else []


def pad(a, value, padding):
    a, value = together([a, value])
    for k, (low, high, between) in enumerate(padding, 1):
        extent = a.shape[k] + max(a.shape[k] - 1, 0) * between
        out = np.empty((*a.shape[:k], max(low + extent + high, 0), *a.shape[k + 1 :]), a.dtype)
        out[...] = value.reshape(-1, *[1] * (a.ndim - 1))
        places = low + np.arange(a.shape[k]) * (between + 1)
        kept = np.flatnonzero((places >= 0) & (places < out.shape[k]))
        if len(kept):
            step = (slice(None),) * k
            out[(*step, slice(int(places[kept[0]]), int(places[kept[-1]]) + 1, between + 1))] = a[
                (*step, slice(int(kept[0]), int(kept[-1]) + 1))
            ]
        a = out
    return a


def clamped(starts, sizes, extents):
    """Where a box begins: as far inside as it must be to fit."""
    return [
        np.clip(one.astype(np.int64) if one.dtype != np.uint64 else np.minimum(one, np.uint64(1 << 62)).astype(np.int64), 0, extent - size)
        for one, size, extent in zip(starts, sizes, extents, strict=True)
    ]


def same_on_all(starts):
    return all(len(one) == 1 or (one == one[:1]).all() for one in starts)


def dynamic_slice(a, starts, sizes):
    starts = clamped(starts, sizes, a.shape[1:])
    if same_on_all(starts):
        return a[(slice(None), *(slice(int(at[0]), int(at[0]) + size) for at, size in zip(starts, sizes, strict=True)))]
    lead = max(len(a), *(len(one) for one in starts))
    a = np.broadcast_to(a, (lead, *a.shape[1:]))
    starts = [np.broadcast_to(one, lead) for one in starts]
    return np.stack([a[(d, *(slice(int(at[d]), int(at[d]) + size) for at, size in zip(starts, sizes, strict=True)))] for d in range(lead)])


def dynamic_update_slice(a, update, starts):
    sizes = update.shape[1:]
    starts = clamped(starts, sizes, a.shape[1:])
    lead = max(len(a), len(update), *(len(one) for one in starts)) if starts else max(len(a), len(update))
    out = np.array(np.broadcast_to(a, (lead, *a.shape[1:])))
    if same_on_all(starts):
        out[(slice(None), *(slice(int(at[0]), int(at[0]) + size) for at, size in zip(starts, sizes, strict=True)))] = update
        return out
    update = np.broadcast_to(update, (lead, *sizes))
    starts = [np.broadcast_to(one, lead) for one in starts]
    for d in range(lead):
        out[(d, *(slice(int(at[d]), int(at[d]) + size) for at, size in zip(starts, sizes, strict=True)))] = update[d]
    return out


def iota(kind, dim):
    line = np.arange(kind.shape[dim]).astype(kind.dtype)
    return np.broadcast_to(along(line, dim + 1, len(kind.shape) + 1), (1, *kind.shape))


def reverse(a, dims):
    return np.flip(a, [dim + 1 for dim in dims]) if dims else a


def index_vectors(indices, vector_dim, count):
    """The parts of the vectors in `indices`, each over the batch dimensions; where there is no dimension of vectors, they have one part."""
    if vector_dim == indices.ndim - 1:
        indices = indices[..., None]
    moved = np.moveaxis(indices, vector_dim + 1, -1)
    if moved.shape[-1] != count:
        raise Refusal(f"vectors of {moved.shape[-1]} indices for {count}")
    if moved.dtype == np.uint64:
        moved = np.minimum(moved, np.uint64(1 << 62))
    return [moved[..., k].astype(np.int64) for k in range(count)]


class Windows:
    """What gather and scatter have in common: for each dimension of the operand, where windows begin, and the numbers inside one."""

    def __init__(self, one, names, operand_rank, batch_rank, output_rank):
        given = {key: one.numbers(name, []) for key, name in names.items() if key != "map"}
        self.map = one.numbers(names["map"])
        self.window, self.left_out = given["window"], given["left_out"]
        self.batching, self.index_batching = given["batching"], given["index_batching"]
        self.vector_dim = int(one.need("index_vector_dim"))
        self.batch_dims = [k for k in range(output_rank) if k not in self.window]
        self.kept = [k for k in range(operand_rank) if k not in self.left_out and k not in self.batching]
        if len(self.batch_dims) != batch_rank or len(self.kept) != len(self.window):
            raise Refusal("dimensions of windows that do not fit")

    def begins(self, indices, shape, operand_rank):
        """One array for each dimension of the operand, over devices and the batch dimensions, put where the output has them."""
        vectors = index_vectors(indices, self.vector_dim, len(self.map))
        batch = vectors[0].shape[1:] if vectors else tuple(n for k, n in enumerate(indices.shape[1:]) if k != self.vector_dim)
        out = [np.zeros((1, *[1] * len(batch)), np.int64) for _ in range(operand_rank)]
        for dim, vector in zip(self.map, vectors, strict=True):
            out[dim] = vector
        for dim, index_dim in zip(self.batching, self.index_batching, strict=True):
            place = index_dim - (index_dim > self.vector_dim)
            out[dim] = along(np.arange(batch[place]), place + 1, len(batch) + 1)
        spread = [1] * len(shape)
        result = []
        for one in out:
            for place, dim in enumerate(self.batch_dims):
                spread[dim] = one.shape[place + 1]
            result.append(one.reshape(len(one), *spread))
        return result

    def inside(self, shape, operand_rank):
        """The number inside the window, over the output's dimensions."""
        out = [np.zeros([1] * (len(shape) + 1), np.int64) for _ in range(operand_rank)]
        for dim, place in zip(self.kept, sorted(self.window), strict=True):
            out[dim] = along(np.arange(shape[place]), place + 1, len(shape) + 1)
        return out


GATHER = {
    "window": "offset_dims",
    "left_out": "collapsed_slice_dims",
    "map": "start_index_map",
    "batching": "operand_batching_dims",
    "index_batching": "start_indices_batching_dims",
}
SCATTER = {
    "window": "update_window_dims",
    "left_out": "inserted_window_dims",
    "map": "scatter_dims_to_operand_dims",
    "batching": "input_batching_dims",
    "index_batching": "scatter_indices_batching_dims",
}


def batch_rank_of(indices, vector_dim):
    return indices.ndim - 1 - (vector_dim < indices.ndim - 1)


def gather(one, a, indices, shape):
    rank = a.ndim - 1
    windows = Windows(one, GATHER, rank, batch_rank_of(indices, int(one.need("index_vector_dim"))), len(shape))
    sizes = one.numbers("slice_sizes")
    begins, inside = windows.begins(indices, shape, rank), windows.inside(shape, rank)
    places = [
        np.clip(begin, 0, extent - size) + within for begin, within, size, extent in zip(begins, inside, sizes, a.shape[1:], strict=True)
    ]
    lead = max(len(a), len(indices))
    front = np.arange(lead).reshape([-1] + [1] * len(shape)) if len(a) > 1 else np.zeros([1] * (len(shape) + 1), np.int64)
    return np.broadcast_to(a[(front, *places)], (lead, *shape))


def scatter_places(one, a, indices, updates):
    """For each number of the updates its place in the flat operand with devices in front, and whether its window lies inside.
    All have one length of the dimension in front."""
    rank, shape = a.ndim - 1, updates.shape[1:]
    windows = Windows(one, SCATTER, rank, batch_rank_of(indices, int(one.need("index_vector_dim"))), len(shape))
    begins, inside = windows.begins(indices, shape, rank), windows.inside(shape, rank)
    sizes = [1] * rank
    for dim, place in zip(windows.kept, sorted(windows.window), strict=True):
        sizes[dim] = shape[place]
    fits, flat = np.ones([1] * updates.ndim, bool), np.zeros([1] * updates.ndim, np.int64)
    for begin, within, size, extent in zip(begins, inside, sizes, a.shape[1:], strict=True):
        fits = fits & (begin >= 0) & (begin <= extent - size)
        flat = flat * extent + np.clip(begin, 0, max(extent - size, 0)) + within
    flat = flat + np.arange(len(a)).reshape([-1] + [1] * len(shape)) * prod(a.shape[1:])
    whole = (len(a), *shape)
    return np.broadcast_to(flat, whole).reshape(-1), np.broadcast_to(fits, whole).reshape(-1)
