"""HLO text as data: a module of computations of instructions. Nothing is evaluated here."""

import re

import numpy as np

from tags import Refused

REALS = {
    "f64",
    "f32",
    "f16",
    "bf16",
    "f8e5m2",
    "f8e4m3",
    "f8e4m3fn",
    "f8e4m3b11fnuz",
    "f8e5m2fnuz",
    "f8e4m3fnuz",
    "f8e3m4",
    "f4e2m1fn",
    "f8e8m0fnu",
}
COMPLEX = {"c64", "c128"}
MACHINE = {
    "pred": np.bool_,
    **{f"{sign}{bits}": np.dtype(f"{'u' * (sign == 'u')}int{max(bits, 8)}").type for sign in "su" for bits in (2, 4, 8, 16, 32, 64)},
}
CLOSING = {"(": ")", "[": "]", "{": "}"}
HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+)(?: \(.*\) -> .*)? \{$")
NAME = re.compile(r"%?([\w.\-]+(?:#\d+)*)$")
ARRAY = re.compile(r"(\w+)\[([\d,<=\s]*)\](?:\{([^}]*)\})?")


class Refusal(Refused):
    """What is not read or not evaluated, with the operation and its line."""

    def __init__(self, why, op=None, line=None):
        super().__init__(why)
        self.why, self.op, self.line = why, op, line


class Array:
    def __init__(self, kind, shape, layout):
        self.kind, self.shape, self.layout = kind, shape, layout

    @property
    def dtype(self):
        """What its numbers are kept as: reals as doubles, whatever their width."""
        if self.kind in REALS:
            return np.float64
        if self.kind in COMPLEX:
            return np.complex128
        if self.kind not in MACHINE:
            raise Refusal(f"numbers of type {self.kind}")
        return MACHINE[self.kind]

    def __str__(self):
        return f"{self.kind}[{','.join(map(str, self.shape))}]"


class Instruction:
    """`type` is an Array or a list of types, `inner` what stands in the parentheses, `rest` the text of the attributes."""

    def __init__(self, name, kind, op, inner, rest, line):
        self.name, self.type, self.op, self.inner, self.rest, self.line = name, kind, op, inner, rest, line
        self.operands, self.attributes, self.kept = [], attributes_of(rest), {}

    def need(self, name):
        if name not in self.attributes:
            raise Refusal(f"{name} is missing")
        return self.attributes[name]

    def numbers(self, name, otherwise=None):
        """`{1,2}` as numbers."""
        if name not in self.attributes and otherwise is not None:
            return otherwise
        return numbers_of(self.need(name))

    def computation(self, name):
        return self.need(name).lstrip("%")

    @property
    def array(self):
        if not isinstance(self.type, Array):
            raise Refusal("a tuple where an array is wanted")
        return self.type


class Computation:
    def __init__(self, name, instructions, root):
        self.name, self.instructions, self.root = name, instructions, root
        self.last_use = {}
        for place, one in enumerate(instructions):
            for operand in one.operands:
                self.last_use[operand.split("#")[0]] = place
        self.dies = [[] for _ in instructions]
        for name_used, place in self.last_use.items():
            if name_used != root.name:
                self.dies[place].append(name_used)

    @property
    def parameters(self):
        found = {int(one.inner): one for one in self.instructions if one.op == "parameter"}
        return [found[k] for k in sorted(found)]


class Module:
    def __init__(self, computations, entry, replicas, partitions, header):
        self.computations, self.entry = computations, computations[entry]
        self.replicas, self.partitions, self.header = replicas, partitions, header

    @property
    def devices(self):
        return self.replicas * self.partitions


def numbers_of(text):
    return [int(one) for one in re.findall(r"-?\d+", text)]


def closing(text, at):
    """Where the bracket at `at` closes; what stands in quotes is skipped."""
    waiting, k = [], at
    while k < len(text):
        one = text[k]
        if one == '"':
            k = end_of_quote(text, k)
        elif one in CLOSING:
            waiting.append(CLOSING[one])
        elif waiting and one == waiting[-1]:
            waiting.pop()
            if not waiting:
                return k
        k += 1
    raise Refusal("a bracket does not close")


def end_of_quote(text, at):
    k = at + 1
    while k < len(text) and text[k] != '"':
        k += 2 if text[k] == "\\" else 1
    return k


def parts_of(text):
    """The text cut at the commas that no bracket and no quote holds."""
    out, begin, k = [], 0, 0
    while k < len(text):
        one = text[k]
        if one in CLOSING:
            k = closing(text, k)
        elif one == '"':
            k = end_of_quote(text, k)
        elif one == ",":
            out.append(text[begin:k].strip())
            begin = k + 1
        k += 1
    last = text[begin:].strip()
    return [*out, last] if last else out


def attributes_of(rest):
    """A part without `=` belongs to the one before it, as `device_ids` of a mesh does."""
    found, name = {}, None
    for part in parts_of(rest.lstrip(", ")):
        key, equals, value = part.partition("=")
        if equals and re.fullmatch(r"\w+", key.strip()) and key.strip() != "device_ids":
            name = key.strip()
            found[name] = value.strip()
        elif name:
            found[name] += "," + part
    return found


def type_of(text):
    text = text.strip()
    if text.startswith("("):
        return [type_of(one) for one in parts_of(text[1 : closing(text, 0)])]
    found = ARRAY.fullmatch(text)
    if not found:
        if re.fullmatch(r"token(\[\])?(\{\})?", text):
            return Array("token", (), None)
        raise Refusal(f"type {text[:60]}")
    if "<" in found[2]:
        raise Refusal(f"bounded dynamic extents {text[:60]}")
    layout = re.match(r"[\d,]*", found[3])[0] if found[3] is not None else None
    shape = tuple(numbers_of(found[2]))
    if layout == "" and shape:
        layout = None
    return Array(found[1], shape, numbers_of(layout) if layout is not None else None)


def instruction_of(text, line):
    name, _, rest = text.partition(" = ")
    rest = re.sub(r"/\*.*?\*/", "", rest.strip()) if "/*" in rest else rest.strip()
    end = closing(rest, 0) + 1 if rest.startswith("(") else rest.index(" ")
    kind, rest = type_of(rest[:end]), rest[end:].strip()
    at = rest.index("(")
    last = closing(rest, at)
    one = Instruction(name.strip().lstrip("%"), kind, rest[:at].strip(), rest[at + 1 : last].strip(), rest[last + 1 :], line)
    if one.op not in ("constant", "parameter"):
        for operand in parts_of(one.inner):
            found = NAME.search(operand)
            if not found:
                raise Refusal(f"operand {operand[:40]}", one.op, line)
            one.operands.append(found[1])
    return one


def read(text):
    """The module of a text; a Refusal where it is none."""
    computations, entry, name, listed, root = {}, None, None, [], None
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
        if name is None:
            head = HEAD.match(line) if line.endswith("{") and not line.startswith("HloModule") else None
            if head:
                name, listed, root = head[2], [], None
                entry = name if head[1] else entry
        elif line == "}" or line.startswith("} "):
            if not listed:
                raise Refusal(f"{name} is empty", line=number)
            computations[name] = Computation(name, listed, root or listed[-1])
            name = None
        elif " = " in line:
            try:
                one = instruction_of(line[5:] if line.startswith("ROOT ") else line, number)
            except Refusal as problem:
                raise Refusal(problem.why, problem.op, number) from None
            except (ValueError, IndexError):
                raise Refusal(f"no instruction: {line[:60]}", line=number) from None
            listed.append(one)
            root = one if line.startswith("ROOT ") else root
    if entry is None or entry not in computations:
        raise Refusal("no ENTRY computation")
    return Module(computations, entry, count_of(text, "replica_count"), count_of(text, "num_partitions"), text.split("\n", 1)[0])


def count_of(text, name):
    found = re.search(r"^HloModule.*\b" + name + r"=(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 1


def constant_of(one):
    """The numbers of a constant."""
    kind = one.array
    if "..." in one.inner:
        raise Refusal("a constant is left out of the text ({...}): dump with xla_dump_large_constants")
    text = re.sub(r"[{}\s]", "", one.inner)
    if kind.kind in COMPLEX:
        words = [complex(float(a), float(b)) for a, b in re.findall(r"\(([^,()]*),([^,()]*)\)", text)]
    else:
        words = text.split(",") if text else []
        if kind.kind == "pred":
            words = [word in ("true", "1") for word in words]
        elif kind.kind in REALS:
            words = [float(re.sub(r"nan\(.*", "nan", word)) for word in words]
        else:
            words = [int(word) for word in words]
    if len(words) != int(np.prod(kind.shape, dtype=np.int64)):
        raise Refusal(f"a constant of {len(words)} numbers for {kind}")
    return np.array(words, dtype=kind.dtype).reshape(kind.shape)
