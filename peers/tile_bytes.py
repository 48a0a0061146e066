"""Whether the tiles that ranks ended with are those that their placements say, by the tiles that they began with.

The whole array is put together from what the ranks had, with numpy alone, and cut again. Numbers that nobody added must be the same
bit by bit. Sums may differ by the rounding of their order.
"""

import itertools
import re

import numpy as np


def pieces(indices, word, count, at):
    """Which of a list of indices a rank keeps, as torch.chunk cuts them."""
    strided = re.fullmatch(r"_StridedShard\(dim=(\d+), sf=(\d+)\)", word)
    if strided:
        return np.concatenate([chunk(part, count, at) for k in range(int(strided[2])) for part in [chunk(indices, int(strided[2]), k)]])
    return chunk(indices, count, at)


def chunk(indices, count, at):
    size = -(-len(indices) // count)
    return indices[at * size:(at + 1) * size]


def turn_of(word):
    found = re.search(r"\[(\d+)\]$", word)
    return int(found[1]) if found else 0


def held(shape, words, sizes, coordinate):
    """The indices of a rank along every dimension."""
    lists = [np.arange(extent) for extent in shape]
    order = sorted(range(len(words)), key=lambda k: turn_of(words[k]))  # those without a turn stay as they are
    for k in order:
        found = re.match(r"(?:Shard\(|_StridedShard\(dim=)(\d+)", words[k])
        if found:
            dim = int(found[1])
            lists[dim] = pieces(lists[dim], re.sub(r"\[\d+\]$", "", words[k]), sizes[k], coordinate[k])
    return np.ix_(*lists) if lists else ()


def addends_of(words):
    """How addends are made one: the name, and along which axes."""
    axes = [k for k, word in enumerate(words) if "Partial" in word]
    return (words[axes[0]] if axes else None), axes


def total_of(how, listed):
    found = re.fullmatch(r"_NormPartial\((.*)\)", how)
    if found:
        power = float(found[1])
        return np.sum([np.abs(one.astype(np.float64)) ** power for one in listed], axis=0) ** (1 / power)
    word = re.search(r"\((\w+)", how)[1]
    return {"sum": np.sum, "avg": np.mean, "max": np.max, "min": np.min, "product": np.prod}[word](
        [one.astype(np.float64) for one in listed], axis=0)


def whole(ranks, key, end):
    """The array that the tiles make, or where they contradict each other."""
    first = next(iter(ranks.values()))
    shape, words, mesh = first["shape"], first[end], first["mesh"]
    how, added = addends_of(words)
    groups = {}
    for rank, coordinate in zip(mesh["ranks"], itertools.product(*map(range, mesh["sizes"]))):
        box = held(shape, words, mesh["sizes"], coordinate)
        tile = ranks[rank][key]
        cut = np.empty(shape, dtype=np.int8)[box]
        if tile.shape != cut.shape:
            return None, f"rank {rank} has {list(tile.shape)}, its placements say {list(cut.shape)}"
        other = tuple(c for k, c in enumerate(coordinate) if k not in added)
        groups.setdefault(other, []).append((rank, box, tile))
    made, seen = np.zeros(shape, dtype=np.float64 if how else tile.dtype), np.zeros(shape, dtype=bool)
    for members in groups.values():
        box = members[0][1]
        tile = total_of(how, [one for _, _, one in members]) if how else members[0][2]
        both = seen[box] if shape else seen
        if np.any(both & differing(tile, made[box], how)):
            return None, f"rank {members[0][0]} has other numbers than its replicas"
        made[box], seen[box] = tile, True
    return (made, None) if seen.all() else (None, "an element is nowhere")


def differing(one, other, summed):
    """Where two arrays differ."""
    if not summed:
        return (one != other) & ~((one != one) & (other != other))
    limit = 1e-5 * max(float(np.max(np.abs(other), initial=0)), 1e-30)
    return ~(np.abs(one - other) <= limit)


def indices_compared(ranks):
    """Of indices of an embedding: each rank has those of its own rows, counted from the first of them, and 0 for the others."""
    first = next(iter(ranks.values()))
    mesh, words = first["mesh"], first["to"]
    axis = next(k for k, word in enumerate(words) if word.startswith("_MaskPartial"))
    _, shape, dim = re.fullmatch(r"_MaskPartial\((\w+), \((.*)\), (\d+)\)", words[axis]).groups()
    extent = [int(one) for one in shape.split(",") if one][int(dim)]
    for rank, coordinate in zip(mesh["ranks"], itertools.product(*map(range, mesh["sizes"]))):
        rows = chunk(np.arange(extent), mesh["sizes"][axis], coordinate[axis])
        before = ranks[rank]["before"]
        if not np.array_equal(ranks[rank]["after"], np.where(np.isin(before, rows), before - rows[:1].sum(), 0)):
            return f"rank {rank} has other indices"
    return "equal"


def compared(ranks):
    """`equal`, or how the tiles differ from what they are to be."""
    first = next(iter(ranks.values()))
    if any(word.startswith("_MaskPartial") for word in first["to"]) and not any(word.startswith("_MaskPartial") for word in first["from"]):
        return indices_compared(ranks)
    before, problem = whole(ranks, "before", "from")
    if problem:
        return f"begins wrong: {problem}"
    after, problem = whole(ranks, "after", "to")
    if problem:
        return problem
    summed = any("Partial" in word for word in first["from"] + first["to"])
    found = np.argwhere(differing(after, before, summed))
    return f"element {found[0].tolist()} differs" if len(found) else "equal"
