"""Traces of DTensor.redistribute (`retile.dtensor-trace/1`): every rank's operations, with tiles of exact sizes.

DTensor cuts a dimension once for every axis: what an axis leaves, the next one cuts again. So uneven tiles lie elsewhere than
where one cut by the product would put them.
"""

import json
from math import prod

import numpy as np

import ends
from tags import UNKNOWN, ZERO, Machine, Refused

COLLECTIVES = ("all_gather", "all_to_all", "reduce_scatter", "all_reduce", "broadcast")


def boxes(problem, end):
    """Starts and limits, a row for every rank."""
    sizes, places = dict(map(tuple, problem["mesh"])), ends.positions(problem, end)
    count = prod(sizes.values())
    starts, limits = [], []
    for extent, axes in zip(problem["shape"], problem[end]):
        start, length = np.zeros(count, dtype=np.int64), np.full(count, extent)
        for name in axes:
            tile = -(-length // sizes[name])
            at = np.minimum(places[name] * tile, length)
            start, length = start + at, np.minimum(tile, length - at)
        starts.append(start)
        limits.append(start + length)
    return np.stack(starts, axis=1), np.stack(limits, axis=1)


def beginnings(problem):
    """What every rank begins with."""
    starts, limits = boxes(problem, "from")
    addend, _ = ends.addends(problem, "from")
    total = prod(problem["shape"])
    whole = np.arange(total).reshape(problem["shape"])
    return [whole[tuple(slice(low, high) for low, high in zip(*both))] + number * total
            for *both, number in zip(starts, limits, addend)]


class Ranks:
    def __init__(self, trace, cells):
        self.machine = Machine(1)
        self.programs = {one["rank"]: one for one in trace["ranks"]}
        if sorted(self.programs) != list(range(len(cells))):
            raise Refused("a program for every rank")
        self.values = {rank: {0: cells[rank]} for rank in self.programs}
        self.at = {rank: 0 for rank in self.programs}
        self.largest = max(one.size for one in cells)
        self.whole = set()
        for rank, one in self.programs.items():
            if one["start"] != list(cells[rank].shape):
                raise Refused(f"rank {rank} begins with {one['start']}, not {list(cells[rank].shape)}")

    def operation(self, rank):
        listed = self.programs[rank]["operations"]
        return listed[self.at[rank]] if self.at[rank] < len(listed) else None

    def put(self, rank, made):
        operation = self.operation(rank)
        if [list(one.shape) for one in made] != operation["sizes"] or len(made) != len(operation["out"]):
            raise Refused(f"rank {rank}: {operation['op']} makes {[list(one.shape) for one in made]}, not {operation['sizes']}")
        for number, one in zip(operation["out"], made):
            self.values[rank][number] = one
            self.largest = max(self.largest, one.size)
        self.at[rank] += 1

    def run(self):
        while True:
            moved = False
            for rank in self.programs:
                while (operation := self.operation(rank)) and operation["op"] not in COLLECTIVES:
                    self.put(rank, alone(operation, [self.values[rank][number] for number in operation["in"]]))
                    moved = True
            for rank in self.programs:
                operation = self.operation(rank)
                if operation is None or operation["op"] not in COLLECTIVES or operation["group"][0] != rank:
                    continue
                others = [self.operation(member) for member in operation["group"]]
                if all(one and one["op"] == operation["op"] and one["group"] == operation["group"] for one in others):
                    self.together(operation["group"], others)
                    moved = True
            if not moved:
                break
        if any(self.operation(rank) for rank in self.programs):
            raise Refused("ranks wait for each other")
        return [self.values[rank][one["result"]] for rank, one in sorted(self.programs.items())]

    def together(self, group, operations):
        given = [self.values[rank][one["in"][0]] for rank, one in zip(group, operations)]
        op, count = operations[0]["op"], len(group)
        if op == "all_to_all":
            parts = [np.split(cells, np.cumsum(one["send"])[:-1]) for cells, one in zip(given, operations)]
            for k, one in enumerate(operations):
                if [len(parts[j][k]) for j in range(count)] != one["receive"]:
                    raise Refused("what is sent is not what is received")
            made = [np.concatenate([parts[j][k] for j in range(count)]) for k in range(count)]
        else:
            if len({cells.shape for cells in given}) != 1 and op != "broadcast":
                raise Refused(f"{op} of tiles of different sizes")
            if op == "all_gather":
                made = [np.concatenate(given)] * count
            elif op == "broadcast":
                made = [given[group.index(operations[0]["root"])]] * count
            else:
                total = self.reduced([one["reduction"] for one in operations], given)
                made = [total] * count if op == "all_reduce" else np.split(total, count)
        for rank, one in zip(group, made):
            self.put(rank, [one])

    def reduced(self, words, given):
        if len(set(words)) != 1 or words[0] not in ("sum", "avg"):
            raise Refused(f"reductions by {words}")
        total = given[0]
        for cells in given[1:]:
            total = self.machine.add_tags(total, cells)
        if words[0] == "avg":
            parts = [self.machine.part_of(int(tag), len(given)) for tag in total.ravel()]
            total = np.array(parts, dtype=np.int64).reshape(total.shape)
        return total


def alone(operation, given):
    op, sizes = operation["op"], operation["sizes"]
    if op in ("zeros", "empty"):
        return [np.full(sizes[0], ZERO if op == "zeros" else UNKNOWN)]
    if op == "same":
        return given
    if op == "cat":
        kept = [one for one in given if one.shape != (0,)] or given[:1]
        return [np.concatenate(kept, axis=operation["dim"])]
    if op == "split":
        lengths = [size[operation["dim"]] for size in sizes]
        if sum(lengths) != given[0].shape[operation["dim"]]:
            raise Refused("the parts of a split are not the whole")
        return np.split(given[0], np.cumsum(lengths)[:-1], axis=operation["dim"])
    if op == "slice":
        start, length = operation["start"], sizes[0][operation["dim"]]
        return [given[0][(slice(None),) * operation["dim"] + (slice(start, start + length),)]]
    if op == "pad":
        listed = operation["padding"]
        cells = given[0]
        for k in range(len(listed) // 2):
            dim, (low, high) = cells.ndim - 1 - k, listed[2 * k:2 * k + 2]
            cells = cells[(slice(None),) * dim + (slice(max(-low, 0), cells.shape[dim] - max(-high, 0)),)]
            wide = [(0, 0)] * cells.ndim
            wide[dim] = (max(low, 0), max(high, 0))
            cells = np.pad(cells, wide, constant_values=ZERO)
        return [cells]
    if op == "reshape":
        return [given[0].reshape(sizes[0])]
    if op == "transpose":
        return [given[0].transpose(operation["order"])]
    raise Refused(f"{op} is not read")


def judge(problem, text):
    """The verdict of a trace."""
    trace = json.loads(text)
    if trace.get("schema") != "retile.dtensor-trace/1" or trace["shape"] != problem["shape"]:
        raise Refused("no trace of this problem")
    ranks = Ranks(trace, beginnings(problem))
    made = ranks.run()
    sizes = [max(prod(high - low) for low, high in zip(*boxes(problem, end))) for end in ("from", "to")]
    total = prod(problem["shape"])
    held = max((elements(ranks.machine, one, total) for values in ranks.values.values() for one in values.values()), default=0)
    out = {"height": ranks.largest, "bound": int(max(sizes)), "whole_array": "a tile" if held == total and max(sizes) < total else None}
    found = mismatch(problem, ranks.machine, made)
    return {"right": found is None, **out, **({"first_wrong": found} if found else {})}


def elements(machine, cells, total):
    """Of how many elements something is in a tile."""
    tags = set(cells.reshape(-1).tolist()) - {ZERO, UNKNOWN}
    return len({term[0] % total for tag in tags for term in machine.terms(tag)}) if cells.size >= total else 0


def mismatch(problem, machine, made):
    starts, limits = boxes(problem, "to")
    number, _ = ends.addends(problem, "to")
    _, given = ends.addends(problem, "from")
    total, held = prod(problem["shape"]), {}
    whole = np.arange(total).reshape(problem["shape"])
    for rank, cells in enumerate(made):
        wanted = whole[tuple(slice(low, high) for low, high in zip(starts[rank], limits[rank]))]
        if cells.shape != wanted.shape:
            return {"why": "tile", "device": rank, "found": list(cells.shape), "tile": list(wanted.shape)}
        for element, tag in zip(wanted.reshape(-1).tolist(), cells.reshape(-1).tolist()):
            if held.setdefault((element, int(number[rank])), tag) != tag:
                return {"why": "replicas", "device": rank, "element": element}
    full = {}
    for (element, _), tag in held.items():
        full[element] = machine.sum_of(full.get(element, ZERO), tag)
    for element, tag in full.items():
        if tag in (ZERO, UNKNOWN) or machine.terms(tag) != tuple((element + one * total, 1) for one in range(given)):
            return {"why": "addends" if given > 1 else "element", "element": element, "found": tag}
    return None
