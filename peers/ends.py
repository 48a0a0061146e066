"""What the devices hold at the two ends of a problem, from its lists of axes alone."""

from math import prod

import numpy as np


def tiles(problem):
    """Extents of the tiles at both ends."""
    sizes = dict(map(tuple, problem["mesh"]))
    return [[-(-extent // prod(sizes[name] for name in axes)) for extent, axes in zip(problem["shape"], problem[end])]
            for end in ("from", "to")]


def positions(problem, end):
    """For every device its place along each axis."""
    sizes = [size for _, size in problem["mesh"]]
    order = problem[end + "_order"] or list(range(prod(sizes)))
    places = np.empty((len(order), len(sizes)), dtype=np.int64)
    places[order] = np.stack(np.unravel_index(np.arange(len(order)), sizes), axis=1) if sizes else 0
    return {name: places[:, k] for k, (name, _) in enumerate(problem["mesh"])}


def number(problem, end, axes):
    """For every device its number along the axes, the first slowest, and how many there are."""
    sizes, places = dict(map(tuple, problem["mesh"])), positions(problem, end)
    count = prod(size for size in sizes.values())
    found, parts = np.zeros(count, dtype=np.int64), 1
    for name in axes:
        found, parts = found * sizes[name] + places[name], parts * sizes[name]
    return found, parts


def boxes(problem, end):
    """For every device the start of its box and the limit of it, in the array."""
    starts, limits = [], []
    for extent, axes in zip(problem["shape"], problem[end]):
        tile, parts = number(problem, end, axes)
        size = -(-extent // parts)
        starts.append(np.minimum(tile * size, extent))
        limits.append(np.minimum((tile + 1) * size, extent))
    count = prod(size for _, size in problem["mesh"])
    empty = np.zeros((count, 0), dtype=np.int64)
    return (np.stack(starts, axis=1), np.stack(limits, axis=1)) if starts else (empty, empty)


def addends(problem, end):
    """For every device which addend it holds, and how many there are."""
    return number(problem, end, problem[end + "_sum"])


def hlo_sharding(problem, end):
    """HLO's words for it, with every device listed."""
    parts, tile = [], 0
    for axes in problem[end]:
        found, count = number(problem, end, axes)
        tile, parts = tile * count + found, parts + [count]
    addend, sums = addends(problem, end)
    devices = prod(size for _, size in problem["mesh"])
    tile = np.broadcast_to(tile, (devices,)) * sums + addend
    replicas = devices // (prod(parts) * sums)
    if replicas == devices:
        return "{replicated}"
    listed = ",".join(str(device) for device in np.argsort(tile, kind="stable"))
    last, words = [], []
    if sums > 1:
        last, words = last + [sums], words + ["unreduced"]
    if replicas > 1:
        last, words = last + [replicas], words + ["replicated"]
    head = f"devices=[{','.join(map(str, parts + last))}]{listed}"
    if words == ["replicated"]:
        return "{" + head + " last_tile_dim_replicate}"
    return "{" + head + (f" last_tile_dims={{{', '.join(words)}}}" if words else "") + "}"
