#!/usr/bin/env python3
"""One mistake planted in a module of HLO, which keeps all its types.

    peers/whole_mutate.py AFTER --seed N [--kind KIND] [--out FILE]
    peers/whole_mutate.py --kinds

Prints a JSON object: the kind, the instruction that was changed with its computation and line, the line before and after.
The same seed gives the same mistake. FILE gets the changed text. Exit code 1 where the module has no place for a mistake.
"""

import argparse
import json
import random
import re
import sys
from math import prod
from pathlib import Path

import whole_text
from groups import hlo_groups, rows
from tags import Refused
from whole_text import COMPLEX, REALS, Array, Refusal, closing, numbers_of, parts_of

COLLECTIVES = ("all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-broadcast", "collective-permute")
OTHER = {
    "add": ["subtract", "multiply"],
    "subtract": ["add"],
    "multiply": ["add"],
    "divide": ["multiply"],
    "maximum": ["minimum", "add"],
    "minimum": ["maximum", "add"],
    "and": ["or", "xor"],
    "or": ["and"],
    "xor": ["or"],
    "sine": ["cosine"],
    "cosine": ["sine"],
    "exponential": ["tanh"],
    "tanh": ["sine"],
    "log": ["tanh"],
    "sqrt": ["rsqrt"],
    "rsqrt": ["sqrt"],
    "floor": ["ceil"],
    "ceil": ["floor"],
    "logistic": ["tanh"],
    "shift-left": ["shift-right-logical"],
    "shift-right-logical": ["shift-left"],
    "negate": ["abs"],
    "erf": ["tanh"],
    "log-plus-one": ["sine"],
}
TURNED = {"EQ": ["NE"], "NE": ["EQ"], "LT": ["LE", "GE", "GT"], "LE": ["LT", "GT"], "GT": ["GE", "LE", "LT"], "GE": ["GT", "LT"]}
ORDERED = ("subtract", "divide", "power", "remainder", "atan2", "shift-left", "shift-right-logical", "shift-right-arithmetic", "complex")


class Place:
    """An instruction with its line, and what a mistake needs to know of those around it."""

    def __init__(self, module, computation, one, raw, draw):
        self.module, self.computation, self.one, self.draw = module, computation, one, draw
        self.head, _, body = re.sub(r"/\*.*?\*/", "", raw).partition(" = ")
        end = closing(body, 0) + 1 if body.startswith("(") else body.index(" ")
        self.type, body = body[:end], body[end:].strip()
        at = body.index("(")
        last = closing(body, at)
        self.op, self.inner, self.rest = body[:at], body[at + 1 : last], body[last + 1 :]
        self.before, self.clones = [], []

    # ------------------------------------------------------------------------------------------------------ what is there
    @property
    def devices(self):
        return self.module.devices

    def operand(self, k):
        """The type of an operand, or nothing where it is a tuple."""
        base, *parts = self.one.operands[k].split("#")
        kind = next((one.type for one in self.computation.instructions if one.name == base), None)
        for part in parts:
            kind = kind[int(part)]
        return kind if isinstance(kind, Array) else None

    def named(self, name):
        return next((one for one in self.computation.instructions if one.name == name), None)

    # ------------------------------------------------------------------------------------------------------- what is made
    def line(self, op=None, inner=None, rest=None):
        op, inner, rest = (old if new is None else new for new, old in ((op, self.op), (inner, self.inner), (rest, self.rest)))
        return f"{self.head} = {self.type} {op}({inner}){rest}"

    def attribute(self, name, new):
        """The line with another value of an attribute."""
        old = self.one.attributes[name]
        found = re.search(r"\b" + name + "=" + re.escape(old), self.rest) or re.search(
            r"\b" + name + "=" + re.escape(old).replace(",", r",\s*"), self.rest
        )
        if not found or new == old:
            return None
        return self.line(rest=self.rest[: found.start()] + f"{name}={new}" + self.rest[found.end() :])

    def listed(self, name, numbers):
        return self.attribute(name, "{" + ",".join(map(str, numbers)) + "}")

    def alone(self, op, operand, rest=""):
        """Another operation of one operand, without the attributes of the first."""
        metadata = re.search(r", metadata=\{.*?\}(?=,|$)", self.rest)
        return self.line(op, operand, rest + (metadata[0] if metadata else ""))

    def operands_in(self, order):
        given = parts_of(self.inner)
        return self.line(inner=", ".join(given[k] for k in order))

    def with_operand(self, k, name):
        given = parts_of(self.inner)
        given[k] = name
        return self.line(inner=", ".join(given))

    def fresh(self, kind, text):
        """A new instruction in front; answers with its name."""
        mark = "%" if self.head.strip().removeprefix("ROOT ").startswith("%") else ""
        name = f"{mark}planted.{len(self.before)}"
        self.before.append(f"  {name} = {kind} {text}")
        return name

    def clone(self, attribute, change):
        """Another copy of a computation with one instruction changed, called from here instead."""
        name = self.one.attributes[attribute].lstrip("%")
        computation = self.module.computations.get(name)
        if computation is None:
            return None
        mark = "%" if self.one.attributes[attribute].startswith("%") else ""
        new = change(computation)
        if new is None:
            return None
        self.clones.append((computation, f"{mark}planted.{name}", new))
        return self.attribute(attribute, f"{mark}planted.{name}")


def chosen(place, given):
    given = list(given)
    return place.draw.choice(given) if given else None


def swapped(numbers, place, alike=lambda a, b: True):
    """The same numbers with two exchanged that are different and, as places, alike."""
    pairs = [(i, j) for i in range(len(numbers)) for j in range(i) if numbers[i] != numbers[j] and alike(numbers[i], numbers[j])]
    if not pairs:
        return None
    i, j = place.draw.choice(pairs)
    out = list(numbers)
    out[i], out[j] = out[j], out[i]
    return out


# -------------------------------------------------------------------------------------------------------------- collectives
def groups_of(place):
    try:
        return hlo_groups(place.one.need("replica_groups"), place.devices)
    except (Refused, ValueError):
        return None


def written(groups):
    return "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in groups) + "}"


def group_permuted(place):
    groups = groups_of(place)
    if groups is None or len(groups[0]) < 2 or place.one.op == "all-reduce":
        return None
    k = place.draw.randrange(len(groups))
    new = swapped(groups[k], place)
    return new and place.attribute("replica_groups", written(groups[:k] + [new] + groups[k + 1 :]))


def group_other(place):
    """Two devices of two groups change places."""
    groups = groups_of(place)
    if groups is None or len(groups) < 2 or len(groups[0]) < 2:
        return None
    a, b = place.draw.sample(range(len(groups)), 2)
    groups = [list(group) for group in groups]
    i, j = place.draw.randrange(len(groups[a])), place.draw.randrange(len(groups[b]))
    groups[a][i], groups[b][j] = groups[b][j], groups[a][i]
    return place.attribute("replica_groups", written(groups))


def group_across(place):
    """As many groups of as many devices, along other axes."""
    groups = groups_of(place)
    if groups is None or len({len(group) for group in groups}) > 1:
        return None
    size, flat = len(groups[0]), sorted(device for group in groups for device in group)
    count = len(groups)
    ways = [[flat[k * size : (k + 1) * size] for k in range(count)], [flat[k::count] for k in range(count)]]
    ways = [way for way in ways if sorted(map(sorted, way)) != sorted(map(sorted, groups))]
    return place.attribute("replica_groups", written(chosen(place, ways))) if ways else None


def group_halved(place):
    """A sum of a part of its group."""
    groups = groups_of(place)
    if groups is None or len(groups[0]) < 2 or len(groups[0]) % 2:
        return None
    half = len(groups[0]) // 2
    return place.attribute("replica_groups", written([part for group in groups for part in (group[:half], group[half:])]))


def group_missing(place):
    """The devices of one group keep what they have."""
    groups = groups_of(place)
    if groups is None or len(groups[0]) < 2:
        return None
    k = place.draw.randrange(len(groups))
    return place.attribute("replica_groups", written(groups[:k] + [[device] for device in groups[k]] + groups[k + 1 :]))


def collective_dropped(place):
    """What the device has in the place of what others send."""
    if len(place.one.operands) != 1 or not isinstance(place.one.type, Array) or (groups_of(place) and len(groups_of(place)[0]) < 2):
        return None
    given, name = place.operand(0), parts_of(place.inner)[0]
    if given is None:
        return None
    if given.shape == place.one.type.shape:
        return place.alone("copy", name)
    if place.one.op == "all-gather":
        dim = place.one.numbers("dimensions")[0]
        return place.alone("concatenate", ", ".join([name] * (place.one.type.shape[dim] // given.shape[dim])), f", dimensions={{{dim}}}")
    if place.one.op == "reduce-scatter":
        bounds = ", ".join(f"[0:{extent}]" for extent in place.one.type.shape)
        return place.alone("slice", name, f", slice={{{bounds}}}")
    return None


def pairs_of(place):
    return rows(place.one.need("source_target_pairs"))


def pairs_swapped(place):
    pairs = pairs_of(place)
    new = swapped([target for _, target in pairs], place)
    return new and place.attribute(
        "source_target_pairs", written([[source, target] for (source, _), target in zip(pairs, new, strict=True)])
    )


def pair_dropped(place):
    pairs = pairs_of(place)
    k = place.draw.randrange(len(pairs)) if pairs else None
    return place.attribute("source_target_pairs", written(pairs[:k] + pairs[k + 1 :])) if len(pairs) > 1 else None


def pairs_turned(place):
    return place.attribute("source_target_pairs", written([[target, source] for source, target in pairs_of(place)]))


def exchange_dimension(place):
    groups = groups_of(place)
    if "dimensions" not in place.one.attributes or groups is None:
        return None
    now = place.one.numbers("dimensions")[0]
    dim = chosen(place, [k for k, extent in enumerate(place.one.array.shape) if k != now and extent % len(groups[0]) == 0 and extent])
    return None if dim is None else place.listed("dimensions", [dim])


def device_number_zero(place):
    return place.alone("constant", "0")


# ------------------------------------------------------------------------------------------------------------- computations
def root_other(place, attribute):
    def change(computation):
        root = computation.root
        if root.op not in OTHER or not isinstance(root.type, Array):
            return None
        ways = [one for one in OTHER[root.op] if root.type.kind != "pred" or one in ("and", "or", "xor")]
        new = chosen(place, ways)
        return new and (root, lambda raw: re.sub(r"(?<= )" + root.op + r"\(", new + "(", raw, count=1))

    return place.clone(attribute, change)


def fold_other(place):
    return root_other(place, "scatter" if place.one.op == "select-and-scatter" else "to_apply")


def comparator_turned(place):
    def change(computation):
        found = [
            one for one in computation.instructions if one.op == "compare" and one.attributes.get("direction") in ("LT", "GT", "LE", "GE")
        ]
        root = [one for one in found if one is computation.root] or found[-1:]
        if not root:
            return None
        now = root[0].attributes["direction"]
        return root[0], lambda raw: raw.replace(
            f"direction={now}", f"direction={ {'LT': 'GT', 'GT': 'LT', 'LE': 'GE', 'GE': 'LE'}[now] }", 1
        )

    return place.clone("select" if place.one.op == "select-and-scatter" else "to_apply", change)


def branches_swapped(place):
    if "branch_computations" in place.one.attributes:
        names = parts_of(place.one.attributes["branch_computations"][1:-1])
        kinds = [str(place.operand(k + 1)) if place.operand(k + 1) else str(type_text(place, k + 1)) for k in range(len(names))]
        pairs = [(i, j) for i in range(len(names)) for j in range(i) if kinds[i] == kinds[j] and names[i] != names[j]]
        if not pairs:
            return None
        i, j = place.draw.choice(pairs)
        names[i], names[j] = names[j], names[i]
        return place.attribute("branch_computations", "{" + ", ".join(names) + "}")
    return None


def type_text(place, k):
    base = place.named(place.one.operands[k].split("#")[0])
    return shown(base.type) if base is not None else None


def shown(kind):
    return "(" + ", ".join(map(shown, kind)) + ")" if isinstance(kind, list) else str(kind)


# ----------------------------------------------------------------------------------------------------------------- constants
def numbers_in(text):
    return list(re.finditer(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)|true|false", text))


def other_number(word, kind, place):
    if kind == "pred":
        return {"true": "false", "false": "true"}.get(word, "1" if word == "0" else "0")
    if kind in REALS:
        number = float(word)
        if number != number or abs(number) == float("inf"):
            return "0.5"
        return repr(number * place.draw.choice([0.5, 1.5, 2.0]) if number else place.draw.choice([0.25, 1.0]))
    new = int(word) + place.draw.choice([1, -1] if int(word) > 0 else [1])
    return str(new)


def constant_changed(place):
    kind = place.one.array.kind
    if kind in COMPLEX or "..." in place.inner:
        return None
    found = chosen(place, numbers_in(place.inner))
    if found is None:
        return None
    new = other_number(found[0], kind, place)
    return None if new == found[0] else place.line(inner=place.inner[: found.start()] + new + place.inner[found.end() :])


def is_table(place):
    return place.one.array.kind in ("s32", "u32", "s64") and 2 <= prod(place.one.array.shape) <= 4096 and len(place.one.array.shape) == 1


def table_entry(place):
    """Two entries of a table of whole numbers are exchanged."""
    if not is_table(place):
        return None
    new = swapped(numbers_of(place.inner), place)
    return new and place.line(inner="{" + ", ".join(map(str, new)) + "}")


def table_rotated(place):
    if not is_table(place):
        return None
    now = numbers_of(place.inner)
    new = now[1:] + now[:1]
    return place.line(inner="{" + ", ".join(map(str, new)) + "}") if new != now else None


# --------------------------------------------------------------------------------------------------------------------- moves
def index_shifted(place):
    """The place of a box is one further."""
    first = 1 if place.one.op == "dynamic-slice" else 2
    sizes = place.one.numbers("dynamic_slice_sizes") if first == 1 else place.operand(1).shape
    whole = place.operand(0)
    ways = [
        k
        for k in range(first, len(place.one.operands))
        if whole is not None and whole.shape[k - first] > sizes[k - first] and place.operand(k) is not None and place.operand(k).shape == ()
    ]
    k = chosen(place, ways)
    if k is None:
        return None
    kind = f"{place.operand(k).kind}[]"
    one = place.fresh(kind, "constant(1)")
    return place.with_operand(k, place.fresh(kind, f"add({parts_of(place.inner)[k]}, {one})"))


def index_other(place):
    """Two indices of one type are exchanged."""
    first = 1 if place.one.op == "dynamic-slice" else 2
    given = place.one.operands[first:]
    if len({str(place.operand(k)) for k in range(first, len(place.one.operands))}) != 1:
        return None
    new = swapped(given, place)
    order = list(range(first)) + [first + given.index(name) for name in new] if new else None
    return order and place.operands_in(order)


def update_dropped(place):
    return place.alone("copy", parts_of(place.inner)[0])


def slice_shifted(place):
    bounds = [[int(one) if one else 1 for one in row] for row in re.findall(r"\[(\d+):(\d+)(?::(\d+))?\]", place.one.need("slice"))]
    shape = place.operand(0).shape if place.operand(0) else ()
    ways = [(k, step) for k, (low, high, _) in enumerate(bounds) for step in (1, -1) if 0 <= low + step and high + step <= shape[k]]
    way = chosen(place, ways)
    if way is None:
        return None
    bounds[way[0]][0] += way[1]
    bounds[way[0]][1] += way[1]
    return place.attribute(
        "slice", "{" + ", ".join(f"[{low}:{high}]" if step == 1 else f"[{low}:{high}:{step}]" for low, high, step in bounds) + "}"
    )


def pad_value(place):
    kind = place.operand(1)
    if kind is None or kind.kind in COMPLEX:
        return None
    now = place.named(place.one.operands[1])
    value = {"pred": "true"}.get(kind.kind, "3")
    if now is not None and now.op == "constant" and now.inner == value:
        value = {"pred": "false"}.get(kind.kind, "2")
    return place.with_operand(1, place.fresh(f"{kind.kind}[]", f"constant({value})"))


def pad_shifted(place):
    parts = place.one.need("padding").split("x")
    ways = [k for k, part in enumerate(parts) if numbers_of(part.replace("_", " "))[:2] != [0, 0]]
    k = chosen(place, ways)
    if k is None:
        return None
    low, high, *rest = numbers_of(parts[k].replace("_", " "))
    step = 1 if high > 0 else -1
    parts[k] = "_".join(map(str, [low + step, high - step, *rest]))
    return place.attribute("padding", "x".join(parts))


def concatenate_swapped(place):
    new = swapped(list(range(len(place.one.operands))), place, lambda a, b: place.one.operands[a] != place.one.operands[b])
    return new and place.operands_in(new)


def transpose_other(place):
    shape = place.operand(0).shape
    new = swapped(place.one.numbers("dimensions"), place, lambda a, b: shape[a] == shape[b] and shape[a] > 1)
    return new and place.listed("dimensions", new)


def reverse_other(place):
    dims = place.one.numbers("dimensions")
    extra = chosen(place, [k for k, extent in enumerate(place.one.array.shape) if k not in dims and extent > 1])
    return place.alone("copy", place.inner) if extra is None or len(dims) > 1 else place.listed("dimensions", [extra])


def broadcast_other(place):
    dims, shape, given = place.one.numbers("dimensions"), place.one.array.shape, place.operand(0)
    if not dims or given is None:
        return None
    k = place.draw.randrange(len(dims))
    ways = [dim for dim, extent in enumerate(shape) if dim not in dims and extent == given.shape[k] and extent > 1]
    if not ways:
        new = swapped(dims, place, lambda a, b: shape[a] == shape[b] and shape[a] > 1)
        return new and place.listed("dimensions", new)
    new = [*dims[:k], chosen(place, ways), *dims[k + 1 :]]
    return place.listed("dimensions", new) if new == sorted(new) else None


def iota_other(place):
    now = int(place.one.need("iota_dimension"))
    dim = chosen(
        place, [k for k, extent in enumerate(place.one.array.shape) if k != now and (extent > 1 or place.one.array.shape[now] > 1)]
    )
    return None if dim is None else place.attribute("iota_dimension", str(dim))


# ----------------------------------------------------------------------------------------------------- products and windows
def dot_shape(a, b, dims):
    """The shape of a product, or nothing where extents do not agree."""
    left, right, first, second = dims
    if any(a[i] != b[j] for i, j in [*zip(left, right, strict=True), *zip(first, second, strict=True)]):
        return None
    free = [k for k in range(len(a)) if k not in left and k not in first], [k for k in range(len(b)) if k not in right and k not in second]
    return tuple([a[i] for i in first] + [a[i] for i in free[0]] + [b[j] for j in free[1]])


DOT = ("lhs_contracting_dims", "rhs_contracting_dims", "lhs_batch_dims", "rhs_batch_dims")


def dot_dimension(place, names):
    """Other dimensions of the same extents are contracted, or are of the batch."""
    a, b = place.operand(0), place.operand(1)
    if a is None or b is None:
        return None
    dims = [place.one.numbers(name, []) for name in DOT]
    ways = []
    for name in names:
        k = DOT.index(name)
        rank = len((a, b)[k % 2].shape)
        for place_of in range(len(dims[k])):
            for dim in range(rank):
                new = [list(one) for one in dims]
                old = new[k][place_of]
                other = k + 2 if k < 2 else k - 2
                for which in (k, other):
                    new[which] = [old if one == dim else dim if one == old else one for one in new[which]]
                if (a, b)[k % 2].shape[dim] > 1 and new != dims and dot_shape(a.shape, b.shape, new) == place.one.array.shape:
                    ways.append((name, new[k], DOT[other], new[other]))
    way = chosen(place, ways)
    if way is None:
        return None
    line = place.line()
    for name, numbers in (way[:2], way[2:]):
        if name in place.one.attributes:
            line = re.sub(r"\b" + name + r"=\{[\d,\s]*\}", f"{name}={{{','.join(map(str, numbers))}}}", line)
    return line


def dot_contracting(place):
    return dot_dimension(place, DOT[:2])


def dot_batch(place):
    return dot_dimension(place, DOT[2:])


def dot_swapped(place):
    a, b = place.operand(0), place.operand(1)
    if a is None or b is None or place.one.operands[0] == place.one.operands[1]:
        return None
    dims = [place.one.numbers(name, []) for name in DOT]
    return (
        place.operands_in([1, 0])
        if a.kind == b.kind and len(a.shape) == len(b.shape) and dot_shape(b.shape, a.shape, dims) == place.one.array.shape
        else None
    )


def window_shifted(place):
    """One more before and one less behind."""
    window = place.one.attributes.get("window", "")
    found = re.search(r"pad=([-\d_x]+)", window)
    if not found:
        return None
    parts = found[1].split("x")
    ways = [k for k, part in enumerate(parts) if part != "0_0"]
    k = chosen(place, ways)
    if k is None:
        return None
    low, high = numbers_of(parts[k].replace("_", " "))
    step = 1 if high > 0 else -1
    parts[k] = f"{low + step}_{high - step}"
    return place.attribute("window", window.replace(found[0], "pad=" + "x".join(parts)))


def window_turned(place):
    window = place.one.attributes.get("window", "")
    size = re.search(r"size=([\dx]+)", window)
    if not size or all(extent == "1" for extent in size[1].split("x")):
        return None
    now = re.search(r" rhs_reversal=([01x]+)", window)
    rank = len(size[1].split("x"))
    if now:
        return place.attribute("window", window.replace(now[0], ""))
    return place.attribute("window", window[:-1] + " rhs_reversal=" + "x".join(["1"] * rank) + "}")


def reduce_dimension(place):
    given, dims = place.operand(0), place.one.numbers("dimensions")
    if given is None or not dims:
        return None
    k = place.draw.randrange(len(dims))
    ways = []
    for dim, extent in enumerate(given.shape):
        new = [*dims[:k], dim, *dims[k + 1 :]]
        if (
            dim not in dims
            and extent > 1
            and [n for i, n in enumerate(given.shape) if i not in new] == [n for i, n in enumerate(given.shape) if i not in dims]
        ):
            ways.append(sorted(new))
    new = chosen(place, ways)
    return new and place.listed("dimensions", new)


def init_other(place):
    """Another number at the beginning of a sum."""
    k = {"select-and-scatter": 2}.get(place.one.op, len(place.one.operands) // 2)
    kind = place.operand(k)
    if kind is None or kind.kind in COMPLEX or kind.shape:
        return None
    reducer = place.module.computations[place.one.computation("scatter" if place.one.op == "select-and-scatter" else "to_apply")].root.op
    value = {"maximum": "1000", "minimum": "-1000", "and": "false" if kind.kind == "pred" else "0"}.get(
        reducer, "true" if kind.kind == "pred" else "2"
    )
    if kind.kind.startswith("u") and value.startswith("-"):
        value = "0"
    if kind.kind in ("s8", "u8"):
        value = {"1000": "127", "-1000": "-128"}.get(value, value)
    return place.with_operand(k, place.fresh(f"{kind.kind}[]", f"constant({value})"))


def map_other(place):
    """A vector of indices says other dimensions."""
    name = "start_index_map" if place.one.op == "gather" else "scatter_dims_to_operand_dims"
    new = swapped(place.one.numbers(name), place)
    return new and place.listed(name, new)


def window_dimension(place):
    """Two dimensions of a window with equal extents are exchanged."""
    if place.one.op == "gather":
        name, other, shape = "offset_dims", "collapsed_slice_dims", place.one.array.shape
    else:
        name, other = "update_window_dims", "inserted_window_dims"
        updates = place.operand(len(place.one.operands) - 1)
        shape = updates.shape if updates else ()
    dims = place.one.numbers(name, [])
    ways = [
        sorted([*dims[:k], dim, *dims[k + 1 :]])
        for k in range(len(dims))
        for dim in range(len(shape))
        if dim not in dims and shape[dim] == shape[dims[k]] and shape[dim] > 1
    ]
    # Windows lie in the order of the operand's dimensions, so that the extents must agree one by one.
    ways = [
        way
        for way in ways
        if [shape[dim] for dim in way] == [shape[dim] for dim in sorted(dims)]
        and [n for k, n in enumerate(shape) if k not in way] == [n for k, n in enumerate(shape) if k not in dims]
    ]
    new = chosen(place, ways)
    return new and other and place.listed(name, new)


# ------------------------------------------------------------------------------------------------------------------- numbers
def direction(place):
    ways = [
        one
        for one in TURNED[place.one.need("direction")]
        if place.operand(0) is not None and place.operand(0).kind not in COMPLEX or one in ("EQ", "NE")
    ]
    new = chosen(place, ways)
    return new and place.attribute("direction", new)


def select_swapped(place):
    return place.operands_in([0, 2, 1]) if place.one.operands[1] != place.one.operands[2] else None


def operands_swapped(place):
    return place.operands_in([1, 0]) if place.one.operands[0] != place.one.operands[1] else None


def operation_other(place):
    kind = place.one.array.kind
    if kind == "pred" and place.one.op not in ("and", "or", "xor"):
        return None
    ways = [one for one in OTHER[place.one.op] if not (kind in COMPLEX and one in ("maximum", "minimum", "abs"))]
    new = chosen(place, ways)
    return new and place.line(new)


def operation_dropped(place):
    """An operation of one operand and its type is left out."""
    given = place.operand(0)
    if given is None or (given.kind, given.shape) != (place.one.array.kind, place.one.array.shape):
        return None
    return place.alone("copy", parts_of(place.inner)[0])


def clamp_dropped(place):
    return place.alone("copy", parts_of(place.inner)[1])


def narrowed(place):
    """A number goes by a narrower type on its way to another."""
    given = place.operand(0)
    if given is None or given.kind in COMPLEX or given.kind == "pred":
        return None
    through = "s8" if given.kind in REALS or given.kind not in ("s8", "u8") else "pred"
    extents = ",".join(map(str, given.shape))
    name = place.fresh(f"{through}[{extents}]", f"convert({parts_of(place.inner)[0]})")
    return place.with_operand(0, name)


def operand_other(place):
    """Another value of the same type, from an earlier line."""
    before = place.computation.instructions[: place.computation.instructions.index(place.one)]
    mark = "%" if "%" in place.inner else ""
    ways = []
    for k in range(len(place.one.operands)):
        kind = place.operand(k)
        if kind is not None and kind.shape:
            ways += [
                (k, one.name)
                for one in before
                if isinstance(one.type, Array)
                and one.name != place.one.operands[k]
                and (one.type.kind, one.type.shape) == (kind.kind, kind.shape)
                and one.op not in ("get-tuple-element-done",)
            ]
    way = chosen(place, ways)
    return None if way is None else place.with_operand(way[0], mark + way[1])


def part_other(place):
    kinds = place.named(place.one.operands[0])
    now = int(place.one.need("index"))
    if kinds is None or not isinstance(kinds.type, list):
        return None
    ways = [
        k
        for k, kind in enumerate(kinds.type)
        if k != now and isinstance(kind, Array) and (kind.kind, kind.shape) == (place.one.array.kind, place.one.array.shape)
    ]
    k = chosen(place, ways)
    return None if k is None else place.attribute("index", str(k))


def tuple_swapped(place):
    given = place.one.operands
    new = swapped(
        list(range(len(given))),
        place,
        lambda a, b: given[a] != given[b] and place.operand(a) is not None and str(place.operand(a)) == str(place.operand(b)),
    )
    return new and place.operands_in(new)


def sort_dimension(place):
    given, now = place.operand(0), place.one.numbers("dimensions")[0]
    dim = chosen(place, [k for k, extent in enumerate(given.shape) if k != now and extent > 1]) if given else None
    return None if dim is None else place.listed("dimensions", [dim])


GROUPED = COLLECTIVES[:5]
FOLDING = ("reduce", "all-reduce", "reduce-scatter", "reduce-window", "scatter", "select-and-scatter")
KINDS = {
    "group-permuted": (group_permuted, GROUPED),
    "group-other": (group_other, GROUPED),
    "group-across": (group_across, GROUPED),
    "group-halved": (group_halved, ("all-reduce",)),
    "group-missing": (group_missing, ("all-reduce",)),
    "collective-dropped": (collective_dropped, COLLECTIVES),
    "pairs-swapped": (pairs_swapped, COLLECTIVES[5:]),
    "pair-dropped": (pair_dropped, COLLECTIVES[5:]),
    "pairs-turned": (pairs_turned, COLLECTIVES[5:]),
    "exchange-dimension": (exchange_dimension, ("all-to-all",)),
    "device-number-zero": (device_number_zero, ("partition-id", "replica-id")),
    "fold-other": (fold_other, FOLDING),
    "comparator-turned": (comparator_turned, ("sort", "select-and-scatter")),
    "branches-swapped": (branches_swapped, ("conditional",)),
    "constant-changed": (constant_changed, ("constant",)),
    "table-entry": (table_entry, ("constant",)),
    "table-rotated": (table_rotated, ("constant",)),
    "index-shifted": (index_shifted, ("dynamic-slice", "dynamic-update-slice")),
    "index-other": (index_other, ("dynamic-slice", "dynamic-update-slice")),
    "update-dropped": (update_dropped, ("dynamic-update-slice",)),
    "slice-shifted": (slice_shifted, ("slice",)),
    "pad-value": (pad_value, ("pad",)),
    "pad-shifted": (pad_shifted, ("pad",)),
    "concatenate-swapped": (concatenate_swapped, ("concatenate",)),
    "transpose-other": (transpose_other, ("transpose",)),
    "reverse-other": (reverse_other, ("reverse",)),
    "broadcast-other": (broadcast_other, ("broadcast",)),
    "iota-other": (iota_other, ("iota",)),
    "dot-contracting": (dot_contracting, ("dot",)),
    "dot-batch": (dot_batch, ("dot",)),
    "dot-swapped": (dot_swapped, ("dot",)),
    "window-shifted": (window_shifted, ("convolution", "reduce-window", "select-and-scatter")),
    "window-turned": (window_turned, ("convolution",)),
    "reduce-dimension": (reduce_dimension, ("reduce",)),
    "init-other": (init_other, ("reduce", "reduce-window", "select-and-scatter")),
    "map-other": (map_other, ("gather", "scatter")),
    "window-dimension": (window_dimension, ("gather", "scatter")),
    "direction": (direction, ("compare",)),
    "select-swapped": (select_swapped, ("select",)),
    "operands-swapped": (operands_swapped, ORDERED),
    "operation-other": (operation_other, tuple(OTHER)),
    "clamp-dropped": (clamp_dropped, ("clamp",)),
    "narrowed": (narrowed, ("convert",)),
    "operation-dropped": (
        operation_dropped,
        (
            "negate",
            "exponential",
            "log",
            "tanh",
            "sine",
            "cosine",
            "sqrt",
            "rsqrt",
            "abs",
            "sign",
            "floor",
            "ceil",
            "not",
            "logistic",
            "erf",
            "transpose",
            "reverse",
            "log-plus-one",
            "exponential-minus-one",
            "cbrt",
        ),
    ),
    "operand-other": (
        operand_other,
        (
            "add",
            "subtract",
            "multiply",
            "divide",
            "dot",
            "select",
            "maximum",
            "dynamic-slice",
            "concatenate",
            "reduce",
            "all-reduce",
            "all-gather",
            "collective-permute",
            "all-to-all",
            "reduce-scatter",
            "reshape",
            "transpose",
            "dynamic-update-slice",
            "slice",
        ),
    ),
    "part-other": (part_other, ("get-tuple-element",)),
    "tuple-swapped": (tuple_swapped, ("tuple",)),
    "sort-dimension": (sort_dimension, ("sort",)),
}


def living(module):
    """Instructions that the result depends on, each with its computation."""
    out, waiting, seen = [], [module.entry], set()
    while waiting:
        computation = waiting.pop()
        if computation.name in seen:
            continue
        seen.add(computation.name)
        by_name = {one.name: one for one in computation.instructions}
        need, found = [computation.root], set()
        while need:
            one = need.pop()
            if one.name in found:
                continue
            found.add(one.name)
            need += [by_name[name.split("#")[0]] for name in one.operands]
            called = " ".join(
                one.attributes.get(name, "")
                for name in (
                    "to_apply",
                    "calls",
                    "body",
                    "condition",
                    "branch_computations",
                    "select",
                    "scatter",
                    "true_computation",
                    "false_computation",
                )
            )
            # A reduction's own computation is changed by a copy of it, as others may call it, too.
            if one.op in ("call", "fusion", "while", "conditional", "async-start"):
                waiting += [module.computations[name] for name in re.findall(r"[\w.\-]+", called) if name in module.computations]
        out += [(computation, one) for one in computation.instructions if one.name in found]
    return out


def copied(lines, computation, name, one, change):
    """The lines of a computation under another name, one of them changed."""
    first = computation.instructions[0].line - 1
    head = max(k for k in range(first) if lines[k].strip().endswith("{"))
    last = next(k for k in range(head, len(lines)) if lines[k].strip().startswith("}"))
    out = list(lines[head : last + 1])
    out[0] = re.sub(r"^%?[\w.\-]+", lambda _: name, out[0])
    at = one.line - 1 - head
    changed = change(out[at])
    return None if changed == out[at] else (last + 1, [*out[:at], changed, *out[at + 1 :], ""])


def put(lines, place, new):
    """All lines with those of the mistake."""
    at = place.one.line - 1
    out = [*lines[:at], *place.before, new, *lines[at + 1 :]]
    for computation, name, (one, change) in place.clones:
        made = copied(lines, computation, name, one, change)
        if made is None:
            return None
        behind, block = made
        out = [*out[:behind], *block, *out[behind:]]
    return out


def plant(text, seed, kind=None, module=None):
    """The changed text and what was changed, or nothing where there is no place for it."""
    module = module or whole_text.read(text)
    lines, draw = text.splitlines(), random.Random(f"mistake {seed}")
    where, kinds = living(module), [kind] if kind else list(KINDS)
    draw.shuffle(kinds)
    for name in kinds:
        function, operations = KINDS[name]
        found = [(computation, one) for computation, one in where if one.op in operations or one.op.removesuffix("-start") in operations]
        draw.shuffle(found)
        for computation, one in found[:200]:
            try:
                place = Place(module, computation, one, lines[one.line - 1], draw)
                new = function(place)
            except (Refused, ValueError, KeyError, IndexError, AttributeError):
                continue
            if not new or new.strip() == re.sub(r"/\*.*?\*/", "", lines[one.line - 1]).strip():
                continue
            made = put(lines, place, new)
            if made is None:
                continue
            said = {
                "kind": name,
                "instruction": one.name,
                "op": one.op,
                "computation": computation.name,
                "line": one.line,
                "old": lines[one.line - 1].strip()[:400],
                "new": new.strip()[:400],
            }
            return "\n".join(made) + "\n", said
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("after", type=Path, nargs="?")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--out", type=Path, help="a file for the changed text")
    parser.add_argument("--kinds", action="store_true", help="print the kinds and the operations of each")
    given = parser.parse_args()
    if given.kinds:
        for name, (_, operations) in KINDS.items():
            print(f"{name}: {', '.join(operations)}")
        return 0
    if given.after is None:
        parser.error("AFTER is missing")
    try:
        made = plant(given.after.read_text(), given.seed, given.kind)
    except Refusal as problem:
        print(f"{given.after}:{problem.line}: {problem.why}", file=sys.stderr)
        return 2
    if made is None:
        print("no place for a mistake", file=sys.stderr)
        return 1
    if given.out:
        given.out.write_text(made[0])
    print(json.dumps(made[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
