"""Products, windows and folds: dot, convolution, reduce, reduce-window, select-and-scatter, scatter, sort. One dimension is in front."""

import re
from math import prod

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from whole_moves import pad, together
from whole_text import Refusal, numbers_of

FOLDS = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
BINARY_OF_PREDICATES = {"add": np.logical_or, "multiply": np.logical_and}


def matmul(a, b):
    """Where one side holds the same on all devices and the other does not, NumPy repeats it without a copy."""
    if a.dtype == np.bool_:
        return (a.astype(np.int64) @ b.astype(np.int64)) != 0
    return a @ b


def dot(one, a, b, to):
    batch = one.numbers("lhs_batch_dims", []), one.numbers("rhs_batch_dims", [])
    inner = one.numbers("lhs_contracting_dims", []), one.numbers("rhs_contracting_dims", [])
    free = [[k for k in range(x.ndim - 1) if k not in batch[side] and k not in inner[side]] for side, x in enumerate((a, b))]
    for k, (left, right) in enumerate((*zip(*batch, strict=True), *zip(*inner, strict=True))):
        if a.shape[left + 1] != b.shape[right + 1]:
            raise Refusal(f"dot of extents {a.shape[left + 1]} and {b.shape[right + 1]}")
    if to != np.bool_:
        a, b = a.astype(to, copy=False), b.astype(to, copy=False)
    a = a.transpose([0, *(k + 1 for k in (*batch[0], *free[0], *inner[0]))])
    b = b.transpose([0, *(k + 1 for k in (*batch[1], *inner[1], *free[1]))])
    parts = [len(batch[0]), len(free[0]), len(inner[0]), len(free[1])]
    batches, rows = a.shape[1 : 1 + parts[0]], a.shape[1 + parts[0] : 1 + parts[0] + parts[1]]
    columns = b.shape[1 + parts[0] + parts[2] :]
    depth = prod(a.shape[1 + parts[0] + parts[1] :])
    left = a.reshape(len(a), prod(batches), prod(rows), depth)
    right = b.reshape(len(b), prod(batches), depth, prod(columns))
    if len(left) == 1 and len(right) > 1 and prod(batches) == 1:
        made = matmul(left[:, 0], right[:, 0])[:, None]
    elif len(right) == 1 and len(left) > 1 and prod(batches) == 1:
        made = matmul(left.reshape(-1, depth), right[0, 0])
    else:
        made = matmul(left, right)
    return made.reshape(max(len(a), len(b)), *batches, *rows, *columns)


class Window:
    """`{size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=2x2 rhs_dilate=1x1 rhs_reversal=1x1}`."""

    def __init__(self, text, rank):
        found = dict(one.split("=") for one in text.strip("{} ").split()) if text.strip("{} ") else {}
        self.size = self.listed(found, "size", rank)
        self.stride, self.base, self.dilation = (self.listed(found, name, rank) for name in ("stride", "lhs_dilate", "rhs_dilate"))
        self.reversal = [one != 0 for one in self.listed(found, "rhs_reversal", rank, 0)]
        given = [numbers_of(one.replace("_", " ")) for one in found["pad"].split("x")] if "pad" in found else [[0, 0]] * rank
        self.padding = [tuple(one) for one in given]

    @staticmethod
    def listed(found, name, rank, otherwise=1):
        out = numbers_of(found[name].replace("x", " ")) if name in found else [otherwise] * rank
        if len(out) != rank:
            raise Refusal(f"a window of {len(out)} dimensions for {rank}")
        return out

    def padded(self, a, value, lead):
        """With dilation and padding, over the last dimensions but `lead` in front."""
        config = [(0, 0, 0)] * (lead - 1) + [(low, high, base - 1) for (low, high), base in zip(self.padding, self.base, strict=True)]
        return pad(a, value, config)

    def views(self, a, value, lead):
        """All windows: dimensions in front, one for each place of a window, and then those inside it. No copy is made of the windows."""
        a = self.padded(a, value, lead)
        reach = [(size - 1) * step + 1 for size, step in zip(self.size, self.dilation, strict=True)]
        axes = tuple(range(lead, a.ndim))
        if any(a.shape[axis] < one for axis, one in zip(axes, reach, strict=True)):
            counts = [
                max((a.shape[axis] - one) // stride + 1, 0) if a.shape[axis] >= one else 0
                for axis, one, stride in zip(axes, reach, self.stride, strict=True)
            ]
            return np.empty((*a.shape[:lead], *counts, *self.size), a.dtype)
        seen = sliding_window_view(a, reach, axis=axes)
        places = tuple(slice(None, None, stride) for stride in self.stride)
        return seen[(slice(None),) * lead + places + tuple(slice(None, None, step) for step in self.dilation)]


def convolution(one, a, b, to):
    found = re.fullmatch(r"(\w+)_(\w+)->(\w+)", one.need("dim_labels"))
    if not found:
        raise Refusal(f"dim_labels {one.attributes['dim_labels']}")
    rank = len(found[1]) - 2
    digits = [str(k) for k in range(rank)]
    window = Window(one.attributes.get("window", "{}"), rank)
    groups, batches = int(one.attributes.get("feature_group_count", 1)), int(one.attributes.get("batch_group_count", 1))
    if to != np.bool_:
        a, b = a.astype(to, copy=False), b.astype(to, copy=False)
    a = a.transpose([0, *(found[1].index(label) + 1 for label in ["b", "f", *digits])])
    b = b.transpose([0, *(found[2].index(label) + 1 for label in ["o", "i", *digits])])
    if any(window.reversal):
        b = np.flip(b, [3 + k for k in range(rank) if window.reversal[k]])
    seen = window.views(a, np.zeros(1, a.dtype), 3)
    places = seen.shape[3 : 3 + rank]
    lead, images, features = seen.shape[:3]
    outputs, depth, inside, parts = b.shape[1], b.shape[2], prod(window.size), groups * batches
    seen = seen.reshape(lead, batches, images // batches, groups, features // groups, prod(places), inside)
    seen = seen.transpose(0, 1, 3, 2, 5, 4, 6).reshape(lead, parts, images // batches * prod(places), features // groups * inside)
    kernel = b.reshape(len(b), parts, outputs // parts, depth * inside).transpose(0, 1, 3, 2)
    made = matmul(seen, kernel)
    made = made.reshape(len(made), parts, images // batches, *places, outputs // parts)
    made = np.moveaxis(made, [1, 2], [-2, 1]).reshape(len(made), images // batches, *places, outputs)
    order = [found[3].index(label) for label in ["b", *digits, "f"]]
    return made.transpose([0, *(k + 1 for k in np.argsort(order))])


# -------------------------------------------------------------------------------------------------------------- reductions
def fold_of(reducer, dtype):
    return BINARY_OF_PREDICATES.get(reducer, FOLDS.get(reducer)) if dtype == np.bool_ else FOLDS.get(reducer)


def tree(call, values):
    """The last dimension of each folded to nothing, in pairs; `call` takes arrays of one shape, the first halves and the second."""
    while values[0].shape[-1] > 1:
        count = values[0].shape[-1]
        half = count // 2
        made = call([one[..., :half] for one in values] + [one[..., half : 2 * half] for one in values])
        values = [np.concatenate([new, one[..., 2 * half :]], -1) if count % 2 else new for new, one in zip(made, values, strict=True)]
    return [one[..., 0] for one in values]


def reduce_last(reducer, call, values, inits, count):
    """The last `count` dimensions folded; `inits` have the dimension in front only."""
    if len(values) == 1 and (function := fold_of(reducer, values[0].dtype)) is not None:
        axes = tuple(range(values[0].ndim - count, values[0].ndim))
        made = function.reduce(values[0], axis=axes, dtype=values[0].dtype) if count else values[0]
        return [function(made, inits[0].reshape(-1, *[1] * (made.ndim - 1)))]
    kept = [one.shape[: one.ndim - count] for one in values]
    inits = [one.reshape(-1, *[1] * (len(shape) - 1)) for one, shape in zip(inits, kept, strict=True)]
    flat = [one.reshape(*shape, prod(one.shape[one.ndim - count :])) for one, shape in zip(values, kept, strict=True)]
    if flat[0].shape[-1] == 0:
        return [np.broadcast_to(one, shape) for one, shape in zip(inits, kept, strict=True)]
    return call([*inits, *tree(call, flat)])


def reduce(reducer, call, values, inits, dims):
    if len(values) > 1:
        values = together(values)
    kept = [k for k in range(values[0].ndim) if k - 1 not in dims]
    values = [one.transpose(*kept, *(dim + 1 for dim in dims)) for one in values]
    return reduce_last(reducer, call, values, inits, len(dims))


def reduce_window(one, reducer, call, values, inits):
    window = Window(one.attributes.get("window", "{}"), values[0].ndim - 1)
    if any(window.reversal):
        raise Refusal("a window that is reversed")
    if len(values) > 1:
        values = together(values)
    seen = [window.views(value, init, 1) for value, init in zip(values, inits, strict=True)]
    return reduce_last(reducer, call, seen, inits, len(window.size))


def select_and_scatter(one, select, reducer, call, a, source, init):
    """In each window the place that `select` keeps gets the number of the source. Places that padding added take no part."""
    rank = a.ndim - 1
    window = Window(one.attributes.get("window", "{}"), rank)
    a, source, init = together([a, source, init])
    places = np.arange(prod(a.shape[1:]), dtype=np.int64).reshape(1, *a.shape[1:])
    seen, where = window.views(a, np.zeros(1, a.dtype), 1), window.views(places, np.full(1, -1, np.int64), 1)
    seen = seen.reshape(*seen.shape[: 1 + rank], -1)
    where = where.reshape(*where.shape[: 1 + rank], -1)
    value, place = seen[..., 0], np.broadcast_to(where[..., 0], seen.shape[:-1])
    for k in range(1, seen.shape[-1]):
        better = (where[..., k] >= 0) & ((place < 0) | ~select([value, seen[..., k]])[0])
        value, place = np.where(better, seen[..., k], value), np.where(better, where[..., k], place)
    size = prod(a.shape[1:])
    flat = (place + np.arange(len(a)).reshape([-1] + [1] * rank) * size).reshape(-1)
    start = np.array(np.broadcast_to(init.reshape(-1, *[1] * rank), a.shape))
    return combine(reducer, call, [start], flat, (place >= 0).reshape(-1), [source])[0]


def combine(reducer, call, starts, flat, fits, updates):
    """Updates put into arrays at flat places, one after the other where several have the same place."""
    flat = flat[fits]
    updates = [one.reshape(-1)[fits] for one in updates]
    out = [np.array(one).reshape(-1) for one in starts]
    if len(starts) == 1 and (function := fold_of(reducer, starts[0].dtype)) is not None:
        if function is np.add and starts[0].dtype == np.float64:
            out[0] += (
                np.bincount(flat, weights=updates[0], minlength=len(out[0]))
                if np.isfinite(updates[0]).all()
                else sum_at(flat, updates[0], len(out[0]))
            )
        else:
            function.at(out[0], flat, updates[0])
        return [one.reshape(start.shape) for one, start in zip(out, starts, strict=True)]
    order = np.argsort(flat, kind="stable")
    sorted_places = flat[order]
    first = np.flatnonzero(np.r_[True, sorted_places[1:] != sorted_places[:-1]]) if len(flat) else np.zeros(0, np.int64)
    turn = np.arange(len(flat)) - np.repeat(first, np.diff(np.r_[first, len(flat)]))
    for round_number in range(int(turn.max()) + 1 if len(flat) else 0):
        chosen = order[turn == round_number]
        made = call([one[flat[chosen]] for one in out] + [one[chosen] for one in updates])
        for one, new in zip(out, made, strict=True):
            one[flat[chosen]] = new
    return [one.reshape(start.shape) for one, start in zip(out, starts, strict=True)]


def sum_at(flat, updates, size):
    out = np.zeros(size)
    np.add.at(out, flat, updates)
    return out


# -------------------------------------------------------------------------------------------------------------------- sort
def sort(less, values, dim):
    """By a network that merges: numbers that the comparator holds for equal keep their order. `less` takes pairs of operands."""
    values = [np.moveaxis(one, dim + 1, -1) for one in together(values)]
    count = values[0].shape[-1]
    if count < 2:
        return [np.moveaxis(one, -1, dim + 1) for one in values]
    size = 1 << (count - 1).bit_length()
    pad_width = [(0, 0)] * (values[0].ndim - 1) + [(0, size - count)]
    number = np.broadcast_to(np.arange(size), (*values[0].shape[:-1], size)).copy()
    held = [np.pad(one, pad_width) for one in values] + [number]
    block = 2
    while block <= size:
        step = block // 2
        while step:
            low = np.flatnonzero((np.arange(size) & step) == 0)
            high = low + step
            falls = (low & block) != 0
            a, b = [one[..., low] for one in held], [one[..., high] for one in held]
            pairs = [x for both in zip(a[:-1], b[:-1], strict=True) for x in both]
            swapped = [x for both in zip(b[:-1], a[:-1], strict=True) for x in both]
            before, after = less(pairs), less(swapped)
            first = before | (~after & (a[-1] < b[-1]))
            first = np.where((a[-1] >= count) | (b[-1] >= count), a[-1] < b[-1], first)
            keep = first != falls
            for k, one in enumerate(held):
                one[..., low], one[..., high] = np.where(keep, a[k], b[k]), np.where(keep, b[k], a[k])
            step //= 2
        block *= 2
    return [np.moveaxis(one[..., :count], -1, dim + 1) for one in held[:-1]]
