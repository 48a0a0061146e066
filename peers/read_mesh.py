"""Programs of MLIR's dialect mesh (19), called shard in 22, as mlir-opt prints them: types of tiles, axes of a mesh by number."""

import re

import numpy as np

from groups import along, numbers
from read_mlir import body, extents, number
from tags import Held, Machine, Refused, take_boxes

MESH = re.compile(r"(?:mesh\.mesh|shard\.grid) @(\w+)\(shape = ([\dx]+)\)")


def reduction_of(tail):
    found = re.search(r"reduction = <?(\w+)>?", tail)
    kinds = {"sum": "add", "max": "maximum", "min": "minimum"}
    kind = found[1] if found else "sum"
    if kind not in kinds:
        raise Refused(f"a reduction by {kind}")
    return kinds[kind]


def all_slice(machine, value, groups, dim):
    """Every member of a group keeps the part of its own number."""
    members = machine.members(groups)
    count, sizes = members.shape[1], list(value.shape)
    if not 0 <= dim < len(sizes) or sizes[dim] % count:
        raise Refused("the dimension does not divide into parts")
    sizes[dim] //= count
    starts = np.zeros((machine.devices, len(sizes)), dtype=np.int64)
    starts[members, dim] = np.arange(count) * sizes[dim]
    return Held(take_boxes(machine.tags_of(value), starts, sizes), True)


def collective(machine, op, tail, value, groups):
    if op == "all_gather":
        return machine.all_gather(value, groups, number(tail, "gather_(?:axis|dim)"))
    if op == "all_slice":
        return all_slice(machine, value, groups, number(tail, "slice_(?:axis|dim)"))
    if op == "all_to_all":
        return machine.all_to_all(value, groups, number(tail, "split_(?:axis|dim)"), number(tail, "concat_(?:axis|dim)"))
    if op == "all_reduce":
        return machine.all_reduce(value, groups, reduction_of(tail))
    if op == "reduce_scatter":
        return machine.reduce_scatter(value, groups, number(tail, "scatter_(?:axis|dim)"), reduction_of(tail))
    raise Refused(f"{op} is not read")


def run(text, start):
    """What the function makes of what `start` says that the argument is."""
    found = MESH.search(text)
    if not found:
        raise Refused("no mesh")
    mesh = [(axis, int(size)) for axis, size in enumerate(found[2].split("x"))]
    machine = Machine(int(np.prod([size for _, size in mesh], dtype=np.int64)))
    first, *rest = body(text)
    values = {first[1]: start(machine, first[2])}
    seen = [(first[1], "argument", values[first[1]])]
    for _, line in rest:
        if re.match(r"(func\.)?return\b", line):
            given = re.findall(r"%\w+", line)
            if len(given) != 1 or given[0] not in values:
                raise Refused("one result")
            return machine, values[given[0]], seen
        read = re.match(r"(%\w+) = (mesh|shard|tensor)\.(\w+) (%\w+) (.*)$", line)
        if not read or read[4] not in values:
            raise Refused(f"not read: {line[:60]}")
        name, dialect, op, operand, tail = read.groups()
        types = re.findall(r"tensor<[^>]*>", tail)
        if len(types) != 2 or extents(types[0]) != values[operand].shape:
            raise Refused(f"the operand of {name} is of another type")
        if dialect == "tensor":
            if op != "cast":
                raise Refused(f"tensor.{op} is not read")
            out = values[operand]
        else:
            axes = re.search(r"(?:mesh|grid)_axes = \[([\d, ]*)\]", tail)
            groups = along(mesh, None, [(axis, 1, None) for axis in numbers(axes[1])] if axes else [])
            out = collective(machine, op, tail, values[operand], groups)
        if out.shape != extents(types[1]):
            raise Refused(f"{name} is said to be {extents(types[1])}, and is {out.shape}")
        values[name] = out
        seen.append((name, op, out))
    raise Refused("no return")
