"""Shardings of HLO that name the axes of a mesh, as tiles: what XLA's own propagation takes.

`{mesh['x'=2,'y'=4], [{'y'}, {}]}` becomes `{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}`.
"""

import re
from math import prod

NAMED = re.compile(r"mesh\[([^\]]*)\](?:, device_ids=\(([^)]*)\))?, (replicated|\[((?:\{[^}]*\}(?:, )?)*)\])")
AXIS = re.compile(r"'([^']+)'(?::\((\d+)\)(\d+))?")


def pieces_of(axes, used):
    """Every axis in pieces, major to minor, so that each part that is used is made of whole ones: [name, size before, size]."""
    out = []
    for name, size in axes:
        ends = {1, size} | {end for one, before, part in used if one == name for end in (before, before * part)}
        ends = sorted(ends)
        out += [(name, low, high // low) for low, high in zip(ends, ends[1:])]
    return out


def used_in(dim, sizes):
    return [(name, int(before or 1), int(part or sizes[name])) for name, before, part in AXIS.findall(dim)]


def tiles(match):
    mesh, ids, whole, listed = match.groups()
    if whole == "replicated":
        return "replicated"
    axes = [(name, int(size)) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh)]
    dims = [used_in(dim, dict(axes)) for dim in re.findall(r"\{([^}]*)\}", listed)]
    pieces = pieces_of(axes, [one for dim in dims for one in dim])
    order = []
    for name, before, part in (one for dim in dims for one in dim):
        order += [k for k, (other, low, size) in enumerate(pieces) if other == name and low >= before and low * size <= before * part]
    extents = [prod(part for _, _, part in dim) for dim in dims]
    if prod(extents) == 1:
        return "replicated"
    rest = [k for k in range(len(pieces)) if k not in order]
    copies = prod(pieces[k][2] for k in rest)
    extents += [copies] if copies > 1 else []
    return f"devices=[{','.join(map(str, extents))}]{placed(pieces, order + rest, ids)}" + (" last_tile_dim_replicate" if copies > 1 else "")


def placed(pieces, order, ids):
    """The devices along the tiles, the last dimension first."""
    sizes = [size for _, _, size in pieces]
    if ids:
        given, out = [int(one) for one in ids.split(",")], []
        strides = [prod(sizes[k + 1:]) for k in range(len(sizes))]
        for number in range(len(given)):
            at = 0
            for k in reversed(order):
                number, digit = divmod(number, sizes[k])
                at += digit * strides[k]
            out.append(given[at])
        return ",".join(map(str, out))
    if order == sorted(order):
        return f"<=[{prod(sizes)}]"
    return f"<=[{','.join(map(str, sizes))}]T({','.join(map(str, order))})"


def with_tiles(text):
    return NAMED.sub(tiles, text)
