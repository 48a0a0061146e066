"""Shardings of HLO in both spellings: which box of an array each device holds, and what a manual region cuts."""

import re
from math import prod

import numpy as np

from groups import iota
from tags import Refused
from whole_text import Refusal, numbers_of, parts_of

AXES = re.compile(r"'([^']+)'(?::\((\d+)\)(\d+))?")


class Sharding:
    """`number[d, k]`: which of the `cuts[k]` tiles of dimension k device d holds. A dimension that is not listed is not cut.
    `manual`: some axis is manual; `unreduced`: some axis holds addends."""

    def __init__(self, cuts, number, manual=False, unreduced=False):
        self.cuts, self.number, self.manual, self.unreduced = cuts, number, manual, unreduced

    def tile(self, shape):
        return tuple(-(-extent // cut) for extent, cut in zip(shape, self.cuts, strict=True))

    def starts(self, shape):
        return self.number * np.array(self.tile(shape), dtype=np.int64).reshape(1, -1)


def whole(rank, devices):
    return Sharding([1] * rank, np.zeros((devices, rank), dtype=np.int64))


def of_axes(mesh, ids, dims, devices):
    """Tiles along lists of axes or their parts, the first of a list slowest."""
    sizes = dict(mesh)
    if sorted(ids.reshape(-1).tolist()) != list(range(devices)):
        raise Refusal(f"a mesh of other devices than 0 to {devices - 1}")
    places = np.zeros((devices, len(mesh)), dtype=np.int64)
    for place in np.ndindex(*[size for _, size in mesh]):
        places[ids[place]] = place
    names = [name for name, _ in mesh]
    cuts, number = [], np.zeros((devices, len(dims)), dtype=np.int64)
    for k, refs in enumerate(dims):
        cut = 1
        for name, before, size in refs:
            if name not in sizes:
                raise Refusal(f"no axis {name} in the mesh")
            at = places[:, names.index(name)]
            if size is None:
                size = sizes[name]
            else:
                at = at // (sizes[name] // (before * size)) % size
            number[:, k] = number[:, k] * size + at
            cut *= size
        cuts.append(cut)
    return cuts, number


def refs_of(text):
    return [(name, int(before) if before else None, int(size) if size else None) for name, before, size in AXES.findall(text)]


def mesh_of(text):
    """The axes and the devices of `mesh['x'=2,'y'=4]`, `mesh[..], device_ids=(..)`, and the text behind them."""
    found = re.match(r"mesh\[([^\]]*)\](?:,\s*device_ids=\((\[[\d,\s]*\](?:T\([\d,\s]*\))?|[\d,\s]*)\))?,?\s*", text)
    if not found:
        raise Refusal(f"mesh {text[:60]}")
    mesh = [(name, int(size)) for name, size in re.findall(r"'([^']+)'=(\d+)", found[1])]
    shape = [size for _, size in mesh]
    if not found[2]:
        ids = np.arange(prod(shape))
    elif found[2].startswith("["):
        dims, _, turn = found[2].partition("]")
        ids = iota(numbers_of(dims), numbers_of(turn) if turn else None)
    else:
        ids = np.array(numbers_of(found[2]))
    return mesh, ids.reshape(shape), text[found.end() :]


def named(text, rank, devices):
    """`mesh['x'=2], [{}, {'x'}], manual={'y'}`."""
    mesh, ids, rest = mesh_of(text)
    manual, unreduced = "manual" in rest, "unreduced" in rest
    if not rest.startswith("["):
        return Sharding([1] * rank, np.zeros((devices, rank), dtype=np.int64), manual, unreduced)
    dims = [refs_of(one) for one in parts_of(rest[1 : rest.index("]")])]
    if len(dims) != rank:
        raise Refusal(f"a sharding of {len(dims)} dimensions for {rank}")
    if not mesh:
        return whole(rank, devices)
    return Sharding(*of_axes(mesh, ids, dims, devices), manual, unreduced)


def tiled(text, rank, devices):
    """`devices=[2,1,4]<=[8] last_tile_dim_replicate`, with or without a list of devices."""
    found = re.match(r"devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))\s*", text)
    if not found:
        raise Refusal(f"sharding {text[:60]}")
    dims = numbers_of(found[1])
    listed = iota(numbers_of(found[2]), numbers_of(found[3]) if found[3] else None) if found[2] else np.array(numbers_of(found[4]))
    rest = text[found.end() :]
    if sorted(listed.tolist()) != list(range(devices)) or prod(dims) != devices:
        raise Refusal(f"a sharding of other devices than 0 to {devices - 1}")
    number = np.zeros((devices, rank), dtype=np.int64)
    for place in np.ndindex(*dims):
        number[listed.reshape(dims)[place]] = place[:rank]
    return Sharding(dims[:rank], number, "manual" in rest, "unreduced" in rest)


def sharding_of(text, rank, devices):
    """One sharding, without or with its braces."""
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1].strip()
    inner = re.sub(r",?\s*metadata=\{.*\}", "", inner).strip()
    if inner.startswith("{"):
        raise Refusal(f"a list of shardings for an array: {text[:60]}")
    try:
        if inner.startswith("mesh["):
            return named(inner, rank, devices)
        if inner.startswith("devices="):
            return tiled(inner, rank, devices)
    except Refused as problem:
        raise Refusal(str(problem)) from None
    if inner == "replicated" or inner.startswith("maximal"):
        return whole(rank, devices)
    if inner == "manual":
        return Sharding([1] * rank, np.zeros((devices, rank), dtype=np.int64), True)
    raise Refusal(f"sharding {text[:60]}")


def list_of(text, count):
    """The shardings of a tuple, one for all or one each."""
    inner = text.strip()
    if not inner.startswith("{{"):
        return [inner] * count
    found = parts_of(inner[1:-1])
    if len(found) != count:
        raise Refusal(f"{len(found)} shardings for {count} results")
    return found


def manual_starts(sharding, shape, tile):
    """Where each device's part of a manual region begins. An axis that is manual is slower than one of the same dimension
    that is not, so the latter are the last digits of the number."""
    starts = np.zeros(sharding.number.shape, dtype=np.int64)
    for k, (extent, part) in enumerate(zip(shape, tile, strict=True)):
        if part == 0 or extent % part or sharding.cuts[k] % (extent // part):
            if extent == part:
                continue
            raise Refusal(f"a manual region cuts {extent} to {part} under {sharding.cuts[k]} tiles")
        starts[:, k] = sharding.number[:, k] // (sharding.cuts[k] // (extent // part)) * part
    return starts
