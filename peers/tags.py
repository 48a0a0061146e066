"""What all devices hold: a number for every element, of all devices in one numpy array (device first).

Of the array that moves, the numbers are tags: which element (and of which addend) it is, ZERO, UNKNOWN, or a sum. Of offsets
and masks they are numbers. Every operation does what it says; no pattern is recognised.
"""

from fractions import Fraction

import numpy as np

ZERO, UNKNOWN = -1, -2
FIRST_SUM = -10


class Refused(Exception):
    """Not read, or no program."""


class Held:
    """One value on all devices."""

    def __init__(self, cells, tagged):
        self.cells, self.tagged = cells, tagged

    @property
    def shape(self):
        return self.cells.shape[1:]


class Machine:
    def __init__(self, devices):
        self.devices = devices
        self.sums, self.sum_numbers = [], {}
        self.received = np.zeros(devices, dtype=np.int64)

    # Sums: (tag, how often) in the order of tags.

    def terms(self, tag):
        return self.sums[FIRST_SUM - tag] if tag <= FIRST_SUM else ((tag, 1),)

    def sum_of(self, one, other):
        if one == ZERO or other == ZERO:
            return other if one == ZERO else one
        if UNKNOWN in (one, other):
            return UNKNOWN
        times = dict(self.terms(one))
        for tag, count in self.terms(other):
            times[tag] = times.get(tag, 0) + count
        return self.known(tuple(sorted((tag, int(often) if often == int(often) else often) for tag, often in times.items())))

    def known(self, key):
        """The tag of a sum with these terms."""
        if len(key) == 1 and key[0][1] == 1:
            return key[0][0]
        if key not in self.sum_numbers:
            self.sum_numbers[key] = FIRST_SUM - len(self.sums)
            self.sums.append(key)
        return self.sum_numbers[key]

    def part_of(self, tag, count):
        """One of `count` equal parts: an addend may be there a fraction of a time."""
        if tag in (ZERO, UNKNOWN):
            return tag
        times = [(term, Fraction(often) / count) for term, often in self.terms(tag)]
        return self.known(tuple((term, int(often) if often.denominator == 1 else often) for term, often in times))

    def most_of(self, one, other):
        """Of a maximum or minimum: an addend counts once, however often it is there."""
        if UNKNOWN in (one, other) or ZERO in (one, other):
            return one if one == other else UNKNOWN
        return self.known(tuple((tag, 1) for tag in sorted({tag for whole in (one, other) for tag, _ in self.terms(whole)})))

    def add_tags(self, one, other, kind="add"):
        join = self.sum_of if kind == "add" else self.most_of
        if kind == "add":
            out = np.where(one == ZERO, other, one)
            left = np.argwhere((one != ZERO) & (other != ZERO))
        else:
            out, left = one.copy(), np.argwhere(one != other)
        for place in map(tuple, left):
            out[place] = join(int(one[place]), int(other[place]))
        return out

    # Values.

    def tags_of(self, value):
        """As elements: the number 0 is zero, and of another one nobody knows which element it is."""
        return value.cells if value.tagged else np.where(value.cells == 0, ZERO, UNKNOWN)

    def numbers_of(self, value):
        if value.tagged:
            raise Refused("a number is needed where an element of the array is")
        return value.cells

    def constant(self, numbers):
        return Held(np.broadcast_to(numbers, (self.devices,) + numbers.shape), False)

    def device_number(self):
        return Held(np.arange(self.devices, dtype=np.int64), False)

    def unknown(self, shape):
        return np.full((self.devices,) + tuple(shape), UNKNOWN, dtype=np.int64)

    # What a device does alone.

    def reshape(self, value, shape):
        if np.prod(shape, dtype=np.int64) != np.prod(value.shape, dtype=np.int64):
            raise Refused("a reshape keeps the number of elements")
        return Held(value.cells.reshape((self.devices,) + tuple(shape)), value.tagged)

    def transpose(self, value, order):
        if sorted(order) != list(range(len(value.shape))):
            raise Refused("no permutation of the dimensions")
        return Held(value.cells.transpose([0] + [k + 1 for k in order]), value.tagged)

    def slice(self, value, bounds):
        if len(bounds) != len(value.shape):
            raise Refused("a slice of another rank")
        for (low, high, step), extent in zip(bounds, value.shape):
            if not 0 <= low <= high <= extent or step < 1:
                raise Refused("a slice outside of the array")
        return Held(value.cells[(slice(None),) + tuple(slice(*bound) for bound in bounds)], value.tagged)

    def pad(self, value, filler, padding):
        if len(padding) != len(value.shape) or filler.shape != ():
            raise Refused("padding of another rank")
        if not value.tagged and not filler.tagged:
            cells, fill, tagged = value.cells, filler.cells, False
        else:
            cells, fill, tagged = self.tags_of(value), self.tags_of(filler), True
        for k, (low, high, interior) in enumerate(padding):
            extent = cells.shape[k + 1]
            wide = extent + max(extent - 1, 0) * interior
            if interior < 0 or wide + low + high < 0:
                raise Refused("padding takes more than there is")
            shape = list(cells.shape)
            shape[k + 1] = wide + low + high
            out = np.empty(shape, dtype=np.int64)
            out[...] = fill.reshape((-1,) + (1,) * (len(shape) - 1))
            places = np.arange(extent) * (interior + 1) + low
            kept = (places >= 0) & (places < shape[k + 1])
            index = [slice(None)] * len(shape)
            index[k + 1] = places[kept]
            source = [slice(None)] * len(shape)
            source[k + 1] = np.nonzero(kept)[0]
            out[tuple(index)] = cells[tuple(source)]
            cells = out
        return Held(cells, tagged)

    def concatenate(self, values, dim):
        ranks = {len(value.shape) for value in values}
        if len(ranks) != 1 or not 0 <= dim < ranks.pop():
            raise Refused("no such dimension to concatenate along")
        if len({value.shape[:dim] + value.shape[dim + 1:] for value in values}) != 1:
            raise Refused("concatenated arrays differ in another dimension")
        tagged = any(value.tagged for value in values)
        cells = [self.tags_of(value) if tagged else value.cells for value in values]
        return Held(np.concatenate(cells, axis=dim + 1), tagged)

    def broadcast(self, value, shape, dims):
        if len(dims) != len(value.shape) or len(set(dims)) != len(dims) or any(not 0 <= k < len(shape) for k in dims):
            raise Refused("no such dimensions to broadcast to")
        wide = [1] * len(shape)
        for k, extent in zip(dims, value.shape):
            if extent not in (1, shape[k]):
                raise Refused("a dimension is broadcast to another extent")
            wide[k] = extent
        if list(dims) != sorted(dims):
            value = self.transpose(value, np.argsort(dims).tolist())
        cells = value.cells.reshape([self.devices] + wide)
        return Held(np.broadcast_to(cells, [self.devices] + list(shape)), value.tagged)

    def iota(self, shape, dim):
        if not 0 <= dim < len(shape):
            raise Refused("no such dimension of an iota")
        line = np.arange(shape[dim]).reshape([-1 if k == dim else 1 for k in range(len(shape))])
        return self.constant(np.broadcast_to(line, shape))

    def starts(self, extents, sizes, values):
        if len(values) != len(extents) or len(sizes) != len(extents):
            raise Refused("a start for every dimension")
        found = []
        for extent, size, value in zip(extents, sizes, values):
            if value.shape != () or not 0 <= size <= extent:
                raise Refused("a slice larger than the array, or a start that is no scalar")
            found.append(np.clip(self.numbers_of(value), 0, extent - size))
        return np.stack(found, axis=1) if found else np.zeros((self.devices, 0), dtype=np.int64)

    def dynamic_slice(self, value, values, sizes):
        starts = self.starts(value.shape, sizes, values)
        return Held(take_boxes(value.cells, starts, sizes), value.tagged)

    def dynamic_update_slice(self, value, update, values):
        starts = self.starts(value.shape, update.shape, values)
        tagged = value.tagged or update.tagged
        out = (self.tags_of(value) if tagged else value.cells).copy()
        new = self.tags_of(update) if tagged else update.cells
        for device, start in enumerate(starts):
            out[(device,) + tuple(slice(at, at + size) for at, size in zip(start, update.shape))] = new[device]
        return Held(out, tagged)

    def select(self, mask, one, other):
        if one.shape != other.shape or mask.shape not in ((), one.shape):
            raise Refused("a select of different shapes")
        cells = self.numbers_of(mask)
        if mask.shape == ():
            cells = cells.reshape((-1,) + (1,) * len(one.shape))
        tagged = one.tagged or other.tagged
        return Held(np.where(cells != 0, *((self.tags_of(x) if tagged else x.cells) for x in (one, other))), tagged)

    def calculate(self, kind, values):
        if len({value.shape for value in values}) != 1:
            raise Refused("operands of different shapes")
        if any(value.tagged for value in values):
            if kind not in ("add", "maximum", "minimum") or len(values) != 2:
                raise Refused(f"{kind} of elements of the array")
            return Held(self.add_tags(self.tags_of(values[0]), self.tags_of(values[1]), kind), True)
        return Held(CALCULATIONS[kind](*(value.cells for value in values)), False)

    # Collectives. A group is a list of devices; who is in none holds what nobody knows.

    def members(self, groups):
        if len({len(group) for group in groups}) != 1:
            raise Refused("groups of different sizes")
        found = np.array(groups, dtype=np.int64)
        if found.size and (found.min() < 0 or found.max() >= self.devices) or len(np.unique(found)) != found.size:
            raise Refused("a device twice, or one that is not there")
        return found

    def all_gather(self, value, groups, dim):
        members = self.members(groups)
        if not 0 <= dim < len(value.shape):
            raise Refused("no such dimension to gather along")
        cells = self.tags_of(value)
        parts = np.concatenate([cells[members[:, k]] for k in range(members.shape[1])], axis=dim + 1)
        out = self.unknown(parts.shape[1:])
        out[members] = parts[:, None]
        return Held(out, True)

    def all_to_all(self, value, groups, split, concat):
        members = self.members(groups)
        count, rank = members.shape[1], len(value.shape)
        if not (0 <= split < rank and 0 <= concat < rank) or value.shape[split] % count:
            raise Refused("the dimension does not divide into the parts of an all-to-all")
        parts = np.split(self.tags_of(value), count, axis=split + 1)
        shape = list(parts[0].shape[1:])
        shape[concat] *= count
        out = self.unknown(shape)
        for k in range(count):
            out[members[:, k]] = np.concatenate([parts[k][members[:, j]] for j in range(count)], axis=concat + 1)
        return Held(out, True)

    def all_to_all_parts(self, values, groups):
        members = self.members(groups)
        if len(values) != members.shape[1] or len({value.shape for value in values}) != 1:
            raise Refused("a part for every member")
        cells = [self.tags_of(value) for value in values]
        out = [self.unknown(values[0].shape) for _ in values]
        for j in range(len(values)):
            for k in range(len(values)):
                out[j][members[:, k]] = cells[k][members[:, j]]
        return [Held(one, True) for one in out]

    def permute(self, value, pairs):
        targets = [target for _, target in pairs]
        sources = [source for source, _ in pairs]
        if len(set(targets)) != len(targets):
            raise Refused("a device receives twice")
        if any(not 0 <= device < self.devices for pair in pairs for device in pair):
            raise Refused("a device that is not there")
        cells = self.tags_of(value)
        out = np.full_like(cells, ZERO)
        out[targets] = cells[sources]
        return Held(out, True)

    def all_reduce(self, value, groups, kind="add"):
        members = self.members(groups)
        if kind not in ("add", "maximum", "minimum"):
            raise Refused(f"an all-reduce by {kind}")
        cells = self.tags_of(value)
        total = cells[members[:, 0]]
        for k in range(1, members.shape[1]):
            total = self.add_tags(total, cells[members[:, k]], kind)
        out = self.unknown(value.shape)
        out[members] = total[:, None]
        return Held(out, True)

    def reduce_scatter(self, value, groups, dim, kind="add"):
        members = self.members(groups)
        if not 0 <= dim < len(value.shape) or value.shape[dim] % members.shape[1]:
            raise Refused("the dimension does not divide into the parts of a reduce-scatter")
        total = self.all_reduce(value, groups, kind).cells
        parts = np.split(total, members.shape[1], axis=dim + 1)
        out = self.unknown(parts[0].shape[1:])
        for k, part in enumerate(parts):
            out[members[:, k]] = part[members[:, k]]
        return Held(out, True)


def take_boxes(cells, starts, sizes):
    index = [np.arange(len(cells)).reshape((-1,) + (1,) * len(sizes))]
    for k, size in enumerate(sizes):
        places = starts[:, k][:, None] + np.arange(size)
        index.append(places.reshape([len(cells)] + [size if j == k else 1 for j in range(len(sizes))]))
    return cells[tuple(index)]


def divide(one, other):
    if np.any(other == 0):
        raise Refused("a division by zero")
    return np.sign(one) * np.sign(other) * (abs(one) // abs(other))


CALCULATIONS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": divide,
    "remainder": lambda a, b: a - divide(a, b) * b, "maximum": np.maximum, "minimum": np.minimum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "negate": lambda a: -a,
    "EQ": lambda a, b: (a == b) * 1, "NE": lambda a, b: (a != b) * 1, "LT": lambda a, b: (a < b) * 1,
    "LE": lambda a, b: (a <= b) * 1, "GT": lambda a, b: (a > b) * 1, "GE": lambda a, b: (a >= b) * 1,
}
