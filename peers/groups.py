"""Groups of devices as HLO and StableHLO write them."""

import re
from math import prod

import numpy as np

from tags import Refused


def numbers(text):
    text = text.strip()
    if text and not re.fullmatch(r"-?\d+(\s*,\s*-?\d+)*", text):
        raise Refused(f"no numbers: {text[:40]}")
    return [int(one) for one in text.split(",")] if text else []


def rows(text, opening="{", closing="}"):
    """`{{0,1},{2,3}}` as lists."""
    inner = text.strip()
    if not (inner.startswith(opening) and inner.endswith(closing)):
        raise Refused(f"no rows: {text[:40]}")
    inner = inner[1:-1].strip()
    if not inner:
        return []
    found = re.findall(re.escape(opening) + r"([^{}\[\]]*)" + re.escape(closing), inner)
    if re.sub(r"\s", "", inner) != ",".join(opening + re.sub(r"\s", "", one) + closing for one in found):
        raise Refused(f"no rows: {text[:40]}")
    return [numbers(one) for one in found]


def iota(dims, turned):
    """`<=[4,2]T(1,0)`, or without the turn."""
    order = list(range(len(dims))) if turned is None else turned
    if sorted(order) != list(range(len(dims))):
        raise Refused("no permutation in T(..)")
    return np.arange(prod(dims)).reshape(dims).transpose(order).reshape(-1)


def along(mesh, order, axes):
    """Groups along parts of axes, the first slowest: (name, what is before it, its size), or a size of None for all of it."""
    shape, digits = [], []
    for name, size in mesh:
        cuts = sorted((before, part) for one, before, part in axes if one == name and part is not None)
        if any(one == name and part is None for one, _, part in axes):
            if cuts:
                raise Refused("an axis twice")
            cuts = [(1, size)]
        at = 1
        for before, part in cuts:
            if part < 1 or before % at or size % (before * part):
                raise Refused("no such part of an axis")
            if before > at:
                shape.append(before // at)
                digits.append(None)
            shape.append(part)
            digits.append((name, before))
            at = before * part
        shape.append(size // at)
        digits.append(None)
    wanted = []
    for name, before, part in axes:
        key = (name, 1 if part is None else before)
        if key not in digits:
            raise Refused(f"no axis {name}")
        wanted.append(digits.index(key))
    if len(set(wanted)) != len(wanted):
        raise Refused("an axis twice")
    kept = [k for k in range(len(shape)) if k not in wanted]
    devices = np.arange(prod(shape)) if order is None else np.array(order)
    if len(devices) != prod(shape):
        raise Refused("device_ids of another number of devices")
    turned = devices.reshape(shape).transpose(kept + wanted)
    return turned.reshape(-1, prod(shape[k] for k in wanted)).tolist()


def hlo_groups(text, devices):
    """All three versions; `{}` is one group of all."""
    text = text.strip()
    if text == "{}":
        return [list(range(devices))]
    if text.startswith("{"):
        return rows(text)
    found = re.fullmatch(r"\[(\d+),(\d+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", text)
    if found:
        listed = iota(numbers(found[3]), numbers(found[4]) if found[4] else None)
        if len(listed) != int(found[1]) * int(found[2]):
            raise Refused("groups of another number of devices")
        return listed.reshape(int(found[1]), int(found[2])).tolist()
    found = re.fullmatch(r"mesh\[(.*?)\](?:,\s*device_ids=\((.*?\)?)\))?\s*\{(.*)\}", text)
    if not found:
        raise Refused(f"groups are not read: {text[:60]}")
    mesh = [(name, int(size)) for name, size in re.findall(r"'([^']+)'=(\d+)", found[1])]
    order = None
    if found[2]:
        turned = re.fullmatch(r"\[([\d,]+)\](?:T\(([\d,]+)\))?", found[2])
        order = iota(numbers(turned[1]), numbers(turned[2]) if turned[2] else None) if turned else numbers(found[2])
    axes = [(name, int(before or 1), int(part) if part else None)
            for name, before, part in re.findall(r"'([^']+)'(?::\((\d+)\)(\d+))?", found[3])]
    return along(mesh, order, axes)
