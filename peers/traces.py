"""Traces of DTensor (retile.dtensor-trace/1) that nobody recorded: a redistribution that gathers what must not stay, then slices.

    trace(problem)    of a problem that `corpus/problems.py --as dtensor` drew; nothing where DTensor cannot say it

MISTAKES are functions of a trace and a random.Random that hand back a trace with one mistake, or nothing.
"""

import json
from math import prod


class Rank:
    """What one device does; value 0 is what it has at the start."""

    def __init__(self, shape):
        self.shape, self.last, self.operations = list(shape), 0, []
        self.start, self.made = list(shape), 0

    def add(self, op, sizes, taken=None, **words):
        """An operation that makes values of these sizes; hands back their numbers."""
        out = list(range(self.made + 1, self.made + 1 + len(sizes)))
        self.made += len(sizes)
        taken = [self.last] if taken is None else taken
        self.operations.append({"op": op, **words, "in": taken, "out": out, "sizes": [list(size) for size in sizes]})
        self.last, self.shape = out[-1], list(sizes[-1])
        return out

    def gather(self, group, dim):
        whole = [self.shape[0] * len(group), *self.shape[1:]]
        tile = list(self.shape)
        self.add("all_gather", [whole], group=group)
        if dim != 0:
            parts = self.add("split", [tile] * len(group), dim=0)
            self.add("cat", [tile[:dim] + [tile[dim] * len(group)] + tile[dim + 1:]], taken=parts, dim=dim)

    def slice(self, dim, parts, part):
        size = self.shape[dim] // parts
        self.add("slice", [self.shape[:dim] + [size] + self.shape[dim + 1:]], dim=dim, start=size * part)

    def add_up(self, group):
        self.add("all_reduce", [self.shape], group=group, reduction="sum")


def place(number, sizes):
    out = []
    for size in reversed(sizes):
        out.append(number % size)
        number //= size
    return out[::-1]


def tiles_are_even(problem):
    sizes = dict(map(tuple, problem["mesh"]))
    return all(extent % prod(sizes[name] for name in axes) == 0
               for end in ("from", "to") for extent, axes in zip(problem["shape"], problem[end]))


def group_of(number, axis, sizes):
    """The devices that differ from one along an axis only."""
    stride = prod(sizes[axis + 1:])
    first = number - place(number, sizes)[axis] * stride
    return [first + k * stride for k in range(sizes[axis])]


def moved(problem, number):
    """What a device does."""
    names, sizes = [name for name, _ in problem["mesh"]], [size for _, size in problem["mesh"]]
    size_of = dict(zip(names, sizes))
    out = Rank([extent // prod(size_of[name] for name in axes) for extent, axes in zip(problem["shape"], problem["from"])])
    for name in problem["from_sum"]:
        if name not in problem["to_sum"]:
            out.add_up(group_of(number, names.index(name), sizes))
    kept = [next((k for k, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
            for a, b in zip(problem["from"], problem["to"])]
    for dim, axes in enumerate(problem["from"]):
        for name in reversed(axes[kept[dim]:]):
            out.gather(group_of(number, names.index(name), sizes), dim)
    for dim, axes in enumerate(problem["to"]):
        for name in axes[kept[dim]:]:
            out.slice(dim, size_of[name], place(number, sizes)[names.index(name)])
    return {"rank": number, "start": out.start, "operations": out.operations, "result": out.last}


def placements(text):
    """`(Shard(dim=0), Replicate())` as a list of words."""
    inner, out, depth = text[1:-1], [""], 0
    for letter in inner:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            out.append("")
        else:
            out[-1] += letter
    return [word.strip() for word in out if word.strip()]


def trace(problem):
    words = problem["as"]["dtensor"]
    if words["from"] is None or words["to"] is None or not tiles_are_even(problem):
        return None
    devices = prod(size for _, size in problem["mesh"])
    return written({
        "schema": "retile.dtensor-trace/1",
        "mesh": {"names": [name for name, _ in problem["mesh"]], "sizes": [size for _, size in problem["mesh"]],
                 "ranks": list(range(devices))},
        "shape": problem["shape"], "from": placements(words["from"]), "to": placements(words["to"]),
        "ranks": [moved(problem, number) for number in range(devices)]})


def written(content):
    """An operation a line, so that a verdict can name it."""
    ranks = content["ranks"]
    head = json.dumps({name: content[name] for name in content if name != "ranks"})[:-1]
    out = [head + ', "ranks": [']
    for rank in ranks:
        operations = ",\n".join("  " + json.dumps(one) for one in rank["operations"])
        out.append(f' {{"rank": {rank["rank"]}, "start": {json.dumps(rank["start"])}, "operations": [\n{operations}\n'
                   f' ], "result": {rank["result"]}}}' + ("," if rank is not ranks[-1] else ""))
    return "\n".join(out) + "\n]}\n"


# ---- Mistakes


def changed(text, draw, fits, change):
    """The trace with one operation, the same of all ranks, changed."""
    content = json.loads(text)
    found = [k for k, one in enumerate(content["ranks"][0]["operations"]) if fits(one)]
    if not found:
        return None
    k = draw.choice(found)
    change([rank["operations"][k] for rank in content["ranks"]])
    return written(content)


def turned(text, draw):
    """The parts of a gather come in another order."""
    return changed(text, draw, lambda one: one["op"] == "cat", lambda ops: [one["in"].reverse() for one in ops])


def offsets(text, draw):
    """Every rank slices where the next one should."""
    def change(ops):
        starts = [one["start"] for one in ops]
        for one, start in zip(ops, starts[1:] + starts[:1]):
            one["start"] = start
    return changed(text, draw, lambda one: one["op"] == "slice", change)


def groups(text, draw):
    """The ranks of every group in another order."""
    return changed(text, draw, lambda one: one["op"] == "all_gather", lambda ops: [one["group"].reverse() for one in ops])


def unsummed(text, draw):
    """Nothing is added up."""
    def change(ops):
        for one in ops:
            one["op"] = "same"
            del one["group"], one["reduction"]
    return changed(text, draw, lambda one: one["op"] == "all_reduce", change)


MISTAKES = {"turn": turned, "table": offsets, "group": groups, "dropped": unsummed}
