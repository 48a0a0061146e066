"""HLO text after SPMD partitioning: evaluated line by line on all devices."""

import re

import numpy as np

from groups import hlo_groups, numbers, rows
from tags import Held, Machine, Refused

LINE = re.compile(r"^\s*(ROOT\s+)?%?([\w.\-]+)\s*=\s*(.*)$")
ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{[^}]*\})?")
HEAD = re.compile(r"^(ENTRY\s+)?%?([\w.\-]+)\s*\(.*\{\s*$")
REDUCERS = {"add": "add", "maximum": "maximum", "minimum": "minimum"}
TWO = {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor"}
SAME = {"copy", "bitcast", "optimization-barrier", "convert"}


def closing(text, at):
    """Where the bracket at `at` closes."""
    pairs, depth = {"(": ")", "[": "]", "{": "}"}, []
    for k in range(at, len(text)):
        if text[k] in pairs:
            depth.append(pairs[text[k]])
        elif depth and text[k] == depth[-1]:
            depth.pop()
            if not depth:
                return k
    raise Refused("a bracket does not close")


def shape_of(text):
    found = ARRAY.fullmatch(text.strip())
    if not found:
        raise Refused(f"no array: {text[:60]}")
    return tuple(numbers(found[2]))


def attribute(rest, name):
    """The value of an attribute, up to the comma behind it; the groups of V3 have a comma of their own."""
    found = re.search(r"(?:^|,)\s*" + name + r"=", rest)
    if not found:
        return None
    at = found.end()
    k = at
    while k < len(rest) and rest[k] != ",":
        k = closing(rest, k) + 1 if rest[k] in "([{" else k + 1
        if rest[k:].startswith((", device_ids=", ",device_ids=")) and rest[at:].startswith("mesh["):
            k += 1
    return rest[at:k].strip()


def need(rest, name):
    found = attribute(rest, name)
    if found is None:
        raise Refused(f"{name} is missing")
    return found


def braces(text):
    if not (text.startswith("{") and text.endswith("}")):
        raise Refused(f"no list: {text[:40]}")
    return numbers(text[1:-1])


class Line:
    def __init__(self, text):
        root, self.name, rest = LINE.match(text).groups()
        self.root = bool(root)
        end = closing(rest, 0) + 1 if rest.startswith("(") else rest.index(" ")
        self.type, rest = rest[:end], rest[end:].strip()
        at = rest.index("(")
        self.op, last = rest[:at].strip(), closing(rest, at)
        self.inner, self.rest = rest[at + 1:last], rest[last + 1:]
        self.operands = re.findall(r"%([\w.\-]+)", self.inner)


def computations(text):
    """Name to lines, and which is the entry."""
    found, entry, name = {}, None, None
    for line in text.splitlines():
        head = HEAD.match(line)
        if name is None and head and "=" not in line.split("(")[0]:
            name = head[2]
            found[name] = []
            entry = name if head[1] else entry
        elif line.strip() == "}":
            name = None
        elif name is not None and line.strip():
            found[name].append(line)
    if entry is None:
        raise Refused("no ENTRY")
    return found, entry


def devices(text):
    parts = re.search(r"num_partitions=(\d+)", text)
    copies = re.search(r"replica_count=(\d+)", text)
    if copies and int(copies[1]) > 1:
        raise Refused("several replicas")
    return int(parts[1]) if parts else 1


def constant(line, shape):
    if "..." in line.inner:
        raise Refused("a constant is left out")
    text = re.sub(r"[{}\s]|/\*.*?\*/", "", line.inner)
    words = [word for word in text.split(",") if word]
    try:
        listed = [{"true": 1, "false": 0}.get(word, None) if word in ("true", "false") else
                  int(word) if re.fullmatch(r"-?\d+", word) else int(float(word) != 0) for word in words]
    except ValueError as problem:
        raise Refused(f"a constant is not read: {problem}") from None
    if len(listed) != np.prod(shape, dtype=np.int64):
        raise Refused("a constant of another size")
    return np.array(listed, dtype=np.int64).reshape(shape)


def run(text, start):
    """Answers with the result and its machine. `start(machine, shape)` is what the parameter holds; `seen` is told of all."""
    bodies, entry = computations(text)
    module = Module(bodies, Machine(devices(text)), start)
    return module.machine, module.result_of(entry, None), module.seen


class Module:
    def __init__(self, bodies, machine, start):
        self.bodies, self.machine, self.start, self.seen, self.inside = bodies, machine, start, [], []

    def reducer(self, name):
        body = self.bodies.get((name or "").lstrip("%"))
        roots = [Line(one).op for one in body or [] if LINE.match(one) and LINE.match(one)[1]]
        if len(roots) != 1 or roots[0] not in REDUCERS:
            raise Refused(f"the reduction {name} is not read")
        return REDUCERS[roots[0]]

    def result_of(self, name, arguments):
        """What a computation makes; of no arguments, it is the entry."""
        if name not in self.bodies or name in self.inside:
            raise Refused(f"{name} is no computation that can be called here")
        self.inside.append(name)
        values, parts, result = {}, {}, None
        for text_line in self.bodies[name]:
            line = Line(text_line)
            if any(one not in values and one not in parts for one in line.operands):
                raise Refused(f"an operand of {line.name} is not known")
            out = self.value_of(line, values, parts, arguments)
            if out is None:
                continue
            if out.shape != shape_of(line.type):
                raise Refused(f"{line.name} is said to be {line.type}, and is {list(out.shape)}")
            values[line.name] = out
            self.seen.append((line.name, line.op, out))
            result = out if line.root else result
        self.inside.pop()
        if result is None:
            raise Refused("no array as ROOT")
        return result

    def value_of(self, line, values, parts, arguments):
        """Nothing for a tuple, whose parts are kept."""
        given = [values.get(one) for one in line.operands]
        if line.op == "tuple":
            parts[line.name] = given
            return None
        if line.op == "get-tuple-element":
            listed = parts.get(line.operands[0])
            if listed is None:
                raise Refused("no tuple")
            return listed[int(need(line.rest, "index"))]
        if any(one is None for one in given):
            raise Refused("a tuple as an operand")
        if line.op == "all-to-all" and len(given) > 1:
            parts[line.name] = self.machine.all_to_all_parts(given, hlo_groups(need(line.rest, "replica_groups"), self.machine.devices))
            return None
        if line.op == "parameter" and arguments is not None:
            return arguments[int(line.inner)]
        if line.op == "call":
            return self.result_of(need(line.rest, "to_apply").lstrip("%"), given)
        return evaluate(self.machine, line, given, self.start, self.reducer)


def evaluate(machine, line, given, start, reducer):
    op, rest = line.op, line.rest
    shape = shape_of(line.type)
    wanted = {"parameter": 0, "constant": 0, "partition-id": 0, "iota": 0, "pad": 2, "select": 3, "compare": 2, "concatenate": None,
              "dynamic-slice": None, "dynamic-update-slice": None, **{one: 2 for one in TWO}}.get(op, 1)
    if wanted is not None and len(given) != wanted:
        raise Refused(f"{op} with {len(given)} operands")
    if op == "parameter":
        return start(machine, shape)
    if op == "constant":
        return machine.constant(constant(line, shape))
    if op == "partition-id":
        return machine.device_number()
    if op == "iota":
        return machine.iota(shape, int(need(rest, "iota_dimension")))
    if op in SAME:
        return given[0]
    if op == "reshape":
        return machine.reshape(given[0], shape)
    if op == "transpose":
        return machine.transpose(given[0], braces(need(rest, "dimensions")))
    if op == "slice":
        bounds = re.findall(r"\[(\d+):(\d+)(?::(\d+))?\]", need(rest, "slice"))
        return machine.slice(given[0], [(int(low), int(high), int(step or 1)) for low, high, step in bounds])
    if op == "pad":
        padding = [[int(one) for one in dim.split("_")] for dim in need(rest, "padding").split("x")] if shape else []
        return machine.pad(given[0], given[1], [(dim + [0])[:3] for dim in padding])
    if op == "concatenate":
        return machine.concatenate(given, braces(need(rest, "dimensions"))[0])
    if op == "broadcast":
        return machine.broadcast(given[0], shape, braces(need(rest, "dimensions")))
    if op == "dynamic-slice":
        return machine.dynamic_slice(given[0], given[1:], braces(need(rest, "dynamic_slice_sizes")))
    if op == "dynamic-update-slice":
        return machine.dynamic_update_slice(given[0], given[1], given[2:])
    if op == "select":
        return machine.select(*given)
    if op == "compare":
        return machine.calculate(need(rest, "direction"), given)
    if op in TWO or op == "negate":
        return machine.calculate(op, given)
    if op == "collective-permute":
        pairs = rows(need(rest, "source_target_pairs"))
        if any(len(pair) != 2 for pair in pairs):
            raise Refused("no pairs")
        return machine.permute(given[0], pairs)
    if op in ("all-gather", "all-to-all", "all-reduce", "reduce-scatter"):
        groups = hlo_groups(need(rest, "replica_groups"), machine.devices)
        if op == "all-reduce":
            return machine.all_reduce(given[0], groups, reducer(need(rest, "to_apply")))
        dim = braces(need(rest, "dimensions"))[0]
        if op == "all-gather":
            return machine.all_gather(given[0], groups, dim)
        if op == "all-to-all":
            return machine.all_to_all(given[0], groups, dim, dim)
        return machine.reduce_scatter(given[0], groups, dim, reducer(need(rest, "to_apply")))
    raise Refused(f"{op} is not read")


__all__ = ["run", "Held"]
