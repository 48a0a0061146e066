"""Runs the steps of a Program on tiles, with the collectives of `jax.lax`.

A Program is what `pyretile.lower` returns as `retile.program/1` or `/2`. Every device runs all of its steps, inside of
`jax.shard_map`, on its own tile. Tables that differ by device are constants, of which each device takes its own row.

Not run: steps that make addends (`unreduce`, `embed`), views, and pieces of unequal size. The callers of this module ask for none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

IOTA = re.compile(r"\[([\d,]*)\](?:T\(([\d,]*)\))?")


def numbers(text):
    return [int(one) for one in text.split(",") if one]


def table(value):
    """The numbers of an iota such as `[8,3]<=[2,2,6]T(0,2,1)`, or of a list. The result has one or two dimensions."""
    if not isinstance(value, str):
        return np.asarray(value, dtype=np.int64)
    shape, *stages = value.split("<=")
    stages = [IOTA.fullmatch(one).groups() for one in stages]
    made = np.arange(np.prod(numbers(stages[-1][0]), dtype=np.int64))
    # The right-most stage is the first: each reshapes what the one to its right has made.
    for sizes, order in reversed(stages):
        made = made.reshape(numbers(sizes))
        made = (made.transpose(numbers(order)) if order else made).reshape(-1)
    return made.reshape(numbers(shape[1:-1]))


@dataclass(frozen=True)
class Devices:
    """The axes of the mesh that number the devices row by row, and how many there are."""

    axes: tuple
    count: int

    def own(self, rows):
        """The row of a table that belongs to the device that runs this."""
        return jnp.asarray(np.asarray(rows, dtype=np.int32))[lax.axis_index(self.axes)]


def positions(groups, count):
    """For every device its position in its group."""
    found = np.zeros(count, dtype=np.int64)
    for row in groups:
        found[row] = np.arange(len(row))
    return found


def dynslice(step, devices):
    if "part" in step:
        parts, part = step["parts"], table(step["part"])
    else:
        groups = table(step["groups"])
        parts, part = groups.shape[1], positions(groups, devices.count)
    dim = step["dim"]

    def run(tile):
        size = tile.shape[dim] // parts
        return lax.dynamic_slice_in_dim(tile, devices.own(part) * size, size, dim)
    return run


def allgather(step, devices):
    groups = table(step["groups"]).tolist()
    return lambda tile: lax.all_gather(tile, devices.axes, axis_index_groups=groups, axis=step["dim"], tiled=True)


def alltoall(step, devices):
    groups, split, concat = table(step["groups"]), step["split"], step["concat"]
    rows, count = groups.tolist(), groups.shape[1]

    def exchanged(pieces):
        return lax.all_to_all(pieces, devices.axes, split, split, axis_index_groups=rows, tiled=True)

    def run(tile):
        if split == concat:
            return exchanged(tile)
        # With the pieces along a dimension of their own, XLA joins them and transposes in one go.
        shape = list(tile.shape)
        shape[split:split + 1] = [count, shape[split] // count]
        moved = jnp.moveaxis(exchanged(tile.reshape(shape)), split, concat)
        return lax.collapse(moved, concat, concat + 2)
    return run


def reducescatter(step, devices):
    groups = table(step["groups"]).tolist()
    return lambda tile: lax.psum_scatter(tile, devices.axes, scatter_dimension=step["dim"], axis_index_groups=groups, tiled=True)


def allreduce(step, devices):
    groups = table(step["groups"]).tolist()
    return lambda tile: lax.psum(tile, devices.axes, axis_index_groups=groups)


def cut(tile, dims, counts):
    """The pieces of a tile, numbered by their digits along `dims`, as a new first dimension."""
    shape, digits, place = [], [], {}
    for dim, extent in enumerate(tile.shape):
        mine = [k for k, one in enumerate(dims) if one == dim]
        for k in mine:
            place[k] = len(shape)
            shape.append(counts[k])
        shape.append(extent // int(np.prod([counts[k] for k in mine], dtype=np.int64)))
        digits.append(len(shape) - 1)
    order = [place[k] for k in range(len(dims))] + digits
    pieces = tile.reshape(shape).transpose(order)
    return pieces.reshape(-1, *pieces.shape[len(dims):])


def joined(pieces, dims, counts):
    """A tile of the pieces in the first dimension, which stand at their digits along `dims`."""
    grid = pieces.reshape(*counts, *pieces.shape[1:])
    order, shape = [], []
    for dim, extent in enumerate(pieces.shape[1:]):
        mine = [k for k, one in enumerate(dims) if one == dim]
        order += [*mine, len(counts) + dim]
        shape.append(extent * int(np.prod([counts[k] for k in mine], dtype=np.int64)))
    return grid.transpose(order).reshape(shape)


def allgather_dims(step, devices):
    """As a gather for each dimension, those of the last digits first. All of them receive what one would, but nothing is transposed, and
    what is between two of them is smaller than the array that is made."""
    dims, counts = step["dims"], step["counts"]
    rows = table(step["groups"]).reshape(-1, *counts)
    parts, first = [], len(dims)
    while first > 0:
        last = first
        while first > 0 and dims[first - 1] == dims[last - 1]:
            first -= 1
        # Devices that differ in these digits alone.
        alike = np.moveaxis(rows, range(1 + first, 1 + last), range(first - last, 0))
        parts.append((dims[first], alike.reshape(-1, int(np.prod(counts[first:last], dtype=np.int64))).tolist()))

    def run(tile):
        for dim, groups in parts:
            tile = lax.all_gather(tile, devices.axes, axis_index_groups=groups, axis=dim, tiled=True)
        return tile
    return run


def alltoall_dims(step, devices):
    groups = table(step["groups"]).tolist()

    def run(tile):
        pieces = cut(tile, step["splits"], step["counts"])
        return joined(lax.all_to_all(pieces, devices.axes, 0, 0, axis_index_groups=groups, tiled=True), step["concats"], step["counts"])
    return run


def allpermute(step, devices):
    if "pairs" in step:
        pairs = [tuple(one) for one in step["pairs"]]
        moved = {target for _, target in pairs}
        pairs += [(one, one) for one in range(devices.count) if one not in moved]
    else:
        pairs = [(int(source), target) for target, source in enumerate(table(step["source"]))]
    return lambda tile: lax.ppermute(tile, devices.axes, pairs)


@dataclass(frozen=True)
class Round:
    """Boxes of which every device sends at most one and gets at most one."""

    boxes: list  # rows of target, source, start in the new tile, start in the old tile, shape
    local: bool

    @property
    def shape(self):
        return tuple(np.max([shape for *_, shape in self.boxes], axis=0).tolist())


def rounds(transfers, rank):
    """Puts the boxes of an exchange into few rounds, large boxes first. Boxes that stay on their device have rounds of their own."""
    boxes = [(row[0], row[1], *(tuple(row[2 + k * rank:2 + (k + 1) * rank]) for k in range(3))) for row in transfers]
    boxes.sort(key=lambda one: (-int(np.prod(one[4], dtype=np.int64)), one[4], (one[0] - one[1])))
    made = []
    for target, source, *box in boxes:
        local = target == source
        for one, sends, gets in made:
            if one.local == local and source not in sends and target not in gets:
                break
        else:
            one, sends, gets = Round([], local), set(), set()
            made.append((one, sends, gets))
        one.boxes.append((target, source, *box))
        sends.add(source)
        gets.add(target)
    return [one for one, _, _ in made]


def widened(tile, shape):
    """The tile with room behind it, so that no box of this shape reaches beyond its end."""
    return jnp.pad(tile, [(0, max(0, size - extent)) for extent, size in zip(tile.shape, shape)])


def exchange(step, devices, rank):
    shape = step["tile"] if "tile" in step else np.max(step["shapes"], axis=0).tolist()
    parts = [part_of_exchange(one, devices, rank) for one in rounds(step["transfers"], rank)]

    def run(tile):
        made = jnp.zeros(shape, tile.dtype)
        for part in parts:
            made = part(tile, made)
        return made
    return run


def part_of_exchange(one, devices, rank):
    """One round: each device cuts its box out, sends it, and puts what it gets into the new tile."""
    shape = one.shape
    old, new, sizes = (np.zeros((devices.count, rank), dtype=np.int64) for _ in range(3))
    for target, source, at_new, at_old, size in one.boxes:
        new[target], old[source], sizes[target] = at_new, at_old, size
    pairs = [(source, target) for target, source, *_ in one.boxes]
    whole = len(pairs) == devices.count and bool((sizes == shape).all())
    reach_old, reach_new = (np.max(starts + np.array(shape, dtype=np.int64), axis=0, initial=0).tolist() for starts in (old, new))

    def run(tile, made):
        box = lax.dynamic_slice(widened(tile, reach_old), list(devices.own(old)), shape)
        got = box if one.local else lax.ppermute(box, devices.axes, pairs)
        wide, at = widened(made, reach_new), list(devices.own(new))
        if not whole:
            # Smaller boxes, and devices that get none, keep what they have.
            size = devices.own(sizes)
            inside = jnp.ones(shape, bool)
            for dim in range(rank):
                inside &= lax.broadcasted_iota(np.int32, shape, dim) < size[dim]
            got = jnp.where(inside, got, lax.dynamic_slice(wide, at, shape))
        put = lax.dynamic_update_slice(wide, got, at)
        return lax.slice(put, [0] * rank, made.shape)
    return run


STEPS = {"dynslice": dynslice, "allgather": allgather, "alltoall": alltoall, "allpermute": allpermute,
         "reducescatter": reducescatter, "allreduce": allreduce, "allgather_dims": allgather_dims, "alltoall_dims": alltoall_dims}


def runner(program, devices, rank):
    """A function from a tile of the start to one of the end, to be called inside of `shard_map`.

    `program` is the JSON object of a Program. Raises ValueError for what is not run here.
    """
    if program.get("view"):
        raise ValueError("steps on a view of the array are not run")
    parts = []
    for step in program["steps"]:
        name = step["op"]
        if "piece" in step or "add" in step or not (name == "exchange" or name in STEPS):
            raise ValueError(f"a step {name} is not run that makes addends, adds otherwise than by a sum, or cuts unequal pieces")
        parts.append(exchange(step, devices, rank) if name == "exchange" else STEPS[name](step, devices))

    def run(tile):
        for part in parts:
            tile = part(tile)
        return tile
    return run
