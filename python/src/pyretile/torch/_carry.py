"""A Program carried out by one rank: which boxes of its tile go to whom, and how its new tile is put together.

Devices of a Program are positions of the mesh, row by row. `actions` makes of a Program what one position has to do, and `carry` does it:
a generator that yields what is to be sent and is given what came, so that one process can also do all positions in turn.
"""

import itertools
import re
from dataclasses import dataclass
from math import prod

from ._errors import NotCarriedOut


@dataclass(frozen=True)
class Box:
    peer: int
    starts: tuple
    sizes: tuple


@dataclass(frozen=True)
class Slice:
    starts: tuple
    sizes: tuple


@dataclass(frozen=True)
class Exchange:
    """Boxes of the old tile go out, boxes of the new one come. With `add` those that meet are added."""

    row: tuple
    sends: tuple
    receives: tuple
    shape: tuple
    add: str | None


@dataclass(frozen=True)
class Gather:
    """The tiles of a row, each at its place in the new one."""

    row: tuple
    tiles: tuple
    shape: tuple


@dataclass(frozen=True)
class ReduceScatter:
    row: tuple
    pieces: tuple
    add: str


@dataclass(frozen=True)
class AllReduce:
    row: tuple
    add: str


def table(text):
    """Rows of numbers, of lists or of an iota such as `[4,2]<=[2,4]T(1,0)`, which is read from the right."""
    if not isinstance(text, str):
        return [list(one) if isinstance(one, (list, tuple)) else one for one in text]
    shape, *stages = text.split("<=")
    values = None
    for stage in reversed(stages):
        extents, order = re.fullmatch(r"\[([\d,]*)\](?:T\(([\d,]*)\))?", stage).groups()
        extents = [int(one) for one in extents.split(",") if one]
        values = values if values is not None else list(range(prod(extents)))
        if order:
            order = [int(one) for one in order.split(",")]
            strides = [prod(extents[k + 1:]) for k in range(len(extents))]
            values = [values[sum(at * strides[k] for at, k in zip(index, order))]
                      for index in itertools.product(*(range(extents[k]) for k in order))]
    extents = [int(one) for one in shape[1:-1].split(",") if one]
    return values if len(extents) == 1 else [values[k * extents[1]:(k + 1) * extents[1]] for k in range(extents[0])]


def _pieces(extent, count, piece):
    """Begin and end of every piece."""
    if piece == "balanced":
        small, more = divmod(extent, count)
        ends = [k * small + min(k, more) for k in range(count + 1)]
    else:
        if piece is None and extent % count:
            raise NotCarriedOut(f"{extent} elements are not cut into {count} equal pieces")
        size = extent // count if piece is None else piece
        ends = [min(k * size, extent) for k in range(count + 1)]
    return list(zip(ends, ends[1:]))


def _with(values, dim, value):
    return (*values[:dim], value, *values[dim + 1:])


def digits(position, counts):
    """The digits of a number, the slowest first: where a position stands in a mesh of these sizes."""
    out = []
    for count in reversed(counts):
        out.append(position % count)
        position //= count
    return out[::-1]


def _along(dims, counts, position, rank):
    """Of each dimension the number of a part, and of how many."""
    number, total = [0] * rank, [1] * rank
    for dim, count, digit in zip(dims, counts, digits(position, counts)):
        number[dim], total[dim] = number[dim] * count + digit, total[dim] * count
    return number, total


def _shape(sizes):
    """Of an empty tile all zeros, as in Programs."""
    return tuple(sizes) if prod(sizes) else (0,) * len(sizes)


class Reader:
    """What one position does in each step, by the shapes of the tiles of all positions."""

    def __init__(self, shapes, me):
        self.shapes, self.me, self.actions = list(map(_shape, shapes)), me, []

    def read(self, step):
        name = step["op"]
        reader = getattr(self, f"read_{name}", None)
        if reader is None:
            raise NotCarriedOut(f"no functional collective does the step {name}")
        reader(step)
        self.shapes = list(map(_shape, self.shapes))

    def read_dynslice(self, step):
        dim, new = step["dim"], list(self.shapes)
        if "part" in step:
            places = {device: (at, step["parts"]) for device, at in enumerate(table(step["part"]))}
        else:
            places = {device: (at, len(row)) for row in table(step["groups"]) for at, device in enumerate(row)}
        for device, (at, count) in places.items():
            low, high = _pieces(self.shapes[device][dim], count, step.get("piece"))[at]
            new[device] = _with(self.shapes[device], dim, high - low)
            if device == self.me:
                starts = _with((0,) * len(self.shapes[device]), dim, low)
                self.actions.append(Slice(starts, new[device]))
        self.shapes = new

    def _gathered(self, rows, place):
        """`place(row, shapes)`: of every member where its tile lies in the new one, and the new shape."""
        new = list(self.shapes)
        for row in rows:
            starts, shape = place([self.shapes[device] for device in row])
            for device in row:
                new[device] = shape
            if self.me in row:
                tiles = tuple(Box(device, start, self.shapes[device]) for device, start in zip(row, starts))
                self.actions.append(Gather(tuple(row), tiles, shape))
        self.shapes = new

    def read_allgather(self, step):
        dim = step["dim"]

        def place(shapes):
            ends = list(itertools.accumulate((one[dim] if prod(one) else 0 for one in shapes), initial=0))
            model = max(shapes, key=prod)
            return [_with((0,) * len(model), dim, start) for start in ends[:-1]], _with(model, dim, ends[-1])
        self._gathered(table(step["groups"]), place)

    def read_allgather_dims(self, step):
        def place(shapes):
            starts, shape, model = [], None, shapes[0]
            for position in range(len(shapes)):
                number, total = _along(step["dims"], step["counts"], position, len(model))
                starts.append(tuple(a * b for a, b in zip(number, model)))
                shape = tuple(a * b for a, b in zip(total, model))
            return starts, shape
        self._gathered(table(step["groups"]), place)

    def _exchange(self, rows, sends, receives, shape, add=None):
        """The action of this position in its row."""
        self.actions.append(Exchange(tuple(rows), tuple(sends), tuple(receives), tuple(shape), add))

    def read_alltoall(self, step):
        split, concat, new = step["split"], step["concat"], list(self.shapes)
        for row in table(step["groups"]):
            cuts = {device: _pieces(self.shapes[device][split], len(row), step.get("piece")) for device in row}
            for at, device in enumerate(row):
                boxes, end = [], 0
                for source in row:
                    low, high = cuts[source][at]
                    sizes = _with(self.shapes[source], split, high - low)
                    if prod(sizes):
                        boxes.append((source, _with((0,) * len(sizes), concat, end), sizes, low))
                        end += sizes[concat]
                model = boxes[0][2] if boxes else _with(self.shapes[device], split, 0)
                new[device] = _with(model, concat, end) if boxes else model
                if device == self.me:
                    receives = [Box(source, starts, sizes) for source, starts, sizes, _ in boxes]
                    mine = [(target, *cuts[self.me][k]) for k, target in enumerate(row)]
                    sends = [Box(target, _with((0,) * len(self.shapes[self.me]), split, low), _with(self.shapes[self.me], split, high - low))
                             for target, low, high in mine]
                    self._exchange(row, [one for one in sends if prod(one.sizes)], receives, new[device])
        self.shapes = new

    def read_alltoall_dims(self, step):
        new, counts = list(self.shapes), step["counts"]
        for row in table(step["groups"]):
            model = self.shapes[row[0]]
            _, parts = _along(step["splits"], counts, 0, len(model))
            _, times = _along(step["concats"], counts, 0, len(model))
            if any(extent % count for extent, count in zip(model, parts)):
                raise NotCarriedOut(f"a tile {list(model)} is not cut into {parts} equal pieces")
            piece = tuple(extent // count for extent, count in zip(model, parts))
            shape = tuple(extent * count for extent, count in zip(piece, times))
            for device in row:
                new[device] = shape
            if self.me in row:
                sends, receives = [], []
                for at, device in enumerate(row):
                    number, _ = _along(step["splits"], counts, at, len(model))
                    sends.append(Box(device, tuple(a * b for a, b in zip(number, piece)), piece))
                    number, _ = _along(step["concats"], counts, at, len(model))
                    receives.append(Box(device, tuple(a * b for a, b in zip(number, piece)), piece))
                self._exchange(row, sends, receives, shape)
        self.shapes = new

    def read_allpermute(self, step):
        source = list(range(len(self.shapes)))
        if "source" in step:
            source = table(step["source"])
        else:
            for one, target in step["pairs"]:
                source[target] = one
        if source == list(range(len(source))):
            return
        zero = (0,) * len(self.shapes[self.me])
        sends = [Box(target, zero, self.shapes[self.me]) for target, one in enumerate(source) if one == self.me]
        old = self.shapes
        self.shapes = [old[one] for one in source]
        receives = [Box(source[self.me], zero, self.shapes[self.me])]
        row = _together([(target, one) for target, one in enumerate(source)], len(source), self.me)
        self._exchange(row, [one for one in sends if prod(one.sizes)], [one for one in receives if prod(one.sizes)], self.shapes[self.me])

    def read_exchange(self, step):
        rank, transfers = len(self.shapes[0]), step["transfers"]
        self.shapes = [tuple(one) for one in step["shapes"]] if "shapes" in step else [tuple(step["tile"])] * len(self.shapes)
        sends, receives = [], []
        for target, source, *rest in transfers:
            there, here, sizes = (tuple(rest[k * rank:(k + 1) * rank]) for k in range(3))
            if source == self.me:
                sends.append(Box(target, here, sizes))
            if target == self.me:
                receives.append(Box(source, there, sizes))
        row = _together([one[:2] for one in transfers], len(self.shapes), self.me)
        self._exchange(row, sends, receives, self.shapes[self.me], step.get("add"))

    def read_reducescatter(self, step):
        dim, new = step["dim"], list(self.shapes)
        for row in table(step["groups"]):
            model = self.shapes[row[0]]
            cuts = _pieces(model[dim], len(row), step.get("piece"))
            for device, (low, high) in zip(row, cuts):
                new[device] = _with(model, dim, high - low)
            if self.me in row:
                pieces = tuple(Box(device, _with((0,) * len(model), dim, low), _with(model, dim, high - low)) for device, (low, high) in zip(row, cuts))
                self.actions.append(ReduceScatter(tuple(row), pieces, step.get("add", "sum")))
        self.shapes = new

    def read_allreduce(self, step):
        row = next(row for row in table(step["groups"]) if self.me in row)
        self.actions.append(AllReduce(tuple(row), step.get("add", "sum")))


def _together(pairs, count, me):
    """All positions that are linked with one, however far."""
    root = list(range(count))

    def find(one):
        while root[one] != one:
            root[one] = one = root[root[one]]
        return one
    for one, other in pairs:
        root[find(one)] = find(other)
    return [one for one in range(count) if find(one) == find(me)]


def actions(program, shapes, me):
    """What position `me` does, of a Program as an object and the shapes of the tiles at its start."""
    reader = Reader(shapes, me)
    for step in program["steps"]:
        reader.read(step)
    return tuple(reader.actions), reader.shapes[me]


# Doing it.


def _cut(tile, starts, sizes):
    for dim, (start, size) in enumerate(zip(starts, sizes)):
        if size != tile.shape[dim]:
            tile = tile.narrow(dim, start, size)
    return tile


def _flat(pieces, tile):
    import torch
    flat = [one.reshape(-1) for one in pieces]
    return tile.new_empty(0) if not flat else flat[0] if len(flat) == 1 else torch.cat(flat)


def _assembled(shape, parts, start, like):
    """One tile of boxes that fill it once each: joined along a dimension where all have the same borders there, otherwise written."""
    import torch
    if len(parts) == 1:
        return parts[0][2]
    if not parts:
        return like.new_empty(shape)
    for dim in range(len(shape)):
        borders = sorted({(box_start[dim], sizes[dim]) for box_start, sizes, _ in parts})
        ends = list(itertools.accumulate((size for _, size in borders), initial=start[dim]))
        if len(borders) > 1 and [one for one, _ in borders] == ends[:-1] and ends[-1] == start[dim] + shape[dim]:
            rows = []
            for at, size in borders:
                inside = [one for one in parts if one[0][dim] == at]
                rows.append(_assembled(_with(shape, dim, size), inside, _with(start, dim, at), like))
            return torch.cat(rows, dim)
    made = like.new_empty(shape)
    for box_start, sizes, part in parts:
        _cut(made, tuple(a - b for a, b in zip(box_start, start)), sizes).copy_(part)
    return made


_IDENTITY = {"sum": 0, "max": float("-inf"), "min": float("inf")}


def _identity(add, dtype):
    import torch
    if dtype == torch.bool:
        return add == "min"
    if dtype.is_floating_point or add == "sum":
        return _IDENTITY[add]
    return torch.iinfo(dtype).min if add == "max" else torch.iinfo(dtype).max


def _added(shape, parts, add, like):
    import torch
    how = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}[add]
    made = like.new_full(shape, _identity(add, like.dtype))
    for starts, sizes, part in parts:
        place = _cut(made, starts, sizes)
        place.copy_(how(place, part))
    return made


def _in_place(action, row, most):
    """How many elements of what a gather brings are the new tile as they lie; 0 where it has to be put together."""
    boxes, at = {box.peer: box for box in action.tiles}, 0
    for k, peer in enumerate(row):
        box = boxes[peer]
        behind = box.starts[0] == at and not any(box.starts[1:]) and tuple(box.sizes[1:]) == tuple(action.shape[1:])
        if not behind or (prod(box.sizes) < most and k + 1 < len(row)):
            return 0
        at += box.sizes[0]
    # What is padded stays in memory with it.
    return prod(action.shape) if at == action.shape[0] and 16 * (most * len(row) - prod(action.shape)) <= prod(action.shape) else 0


def carry(listed, tile, order):
    """Does the actions on a tile. `order(row)` is the row in the order of its process group.

    Yields (`all_to_all`, flat tensor, receive sizes, send sizes, row), (`gather`, flat tensor, row), (`reduce_scatter`, flat tensor,
    add, row) and (`all_reduce`, tensor, add, row), and is sent what the collective makes. Returns the new tile.
    """
    import torch
    for one in listed:
        if isinstance(one, Slice):
            tile = _cut(tile, one.starts, one.sizes)
        elif isinstance(one, Exchange):
            row = order(one.row)
            sends = {peer: [box for box in one.sends if box.peer == peer] for peer in row}
            receives = {peer: [box for box in one.receives if box.peer == peer] for peer in row}

            def count(boxes):
                return sum(prod(box.sizes) for box in boxes)
            out = _flat([_cut(tile, box.starts, box.sizes) for peer in row for box in sends[peer]], tile)
            if len(row) > 1:
                out = yield ("all_to_all", out.contiguous(), [count(receives[peer]) for peer in row], [count(sends[peer]) for peer in row], row)
            parts, at = [], 0
            for peer in row:
                for box in receives[peer]:
                    parts.append((box.starts, box.sizes, out[at:at + prod(box.sizes)].reshape(box.sizes)))
                    at += prod(box.sizes)
            tile = _added(one.shape, parts, one.add, tile) if one.add else _assembled(one.shape, parts, (0,) * len(one.shape), tile)
        elif isinstance(one, Gather):
            row, boxes = order(one.row), {box.peer: box for box in one.tiles}
            most = max(prod(box.sizes) for box in one.tiles)
            flat = tile.reshape(-1)
            if flat.shape[0] < most:
                flat = torch.cat([flat, flat.new_zeros(most - flat.shape[0])])
            made = (yield ("gather", flat.contiguous(), row)) if most else flat
            ready = _in_place(one, row, most)
            if ready:
                tile = made[:ready].reshape(one.shape)
                continue
            parts = [(boxes[peer].starts, boxes[peer].sizes, made[k * most:k * most + prod(boxes[peer].sizes)].reshape(boxes[peer].sizes))
                     for k, peer in enumerate(row) if prod(boxes[peer].sizes)]
            tile = _assembled(one.shape, parts, (0,) * len(one.shape), tile)
        elif isinstance(one, ReduceScatter):
            row, boxes = order(one.row), {box.peer: box for box in one.pieces}
            most, pieces, me = max(prod(box.sizes) for box in one.pieces), [], None
            for peer in row:
                piece = _cut(tile, boxes[peer].starts, boxes[peer].sizes).reshape(-1)
                pieces.append(piece if piece.shape[0] == most else torch.cat([piece, piece.new_zeros(most - piece.shape[0])]))
            made, me = yield ("reduce_scatter", torch.cat(pieces), one.add, row)
            tile = made[:prod(boxes[me].sizes)].reshape(boxes[me].sizes)
        else:
            tile = yield ("all_reduce", tile.contiguous(), one.add, order(one.row))
    return tile
