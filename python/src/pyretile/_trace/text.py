"""The text ``retile.array/1`` of a graph.

A statement is made for every fold, and for what is used more than once or would be worked out again and again. All else stands in
the statement that uses it. Arrays that statements write have no dimensions of one element.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from .graph import ELEMENTWISE, FOLDS, Index, Node
from .place import refused

# Of one statement; the language takes 64 brackets in each other and 1024 factors.
MOST_NESTED = 24
MOST_FACTORS = 400
MOST_NUMBER = 2**63
MOST_ROOT = 1000
LETTERS = "ijklmnpqrstuvw"
_SUM, _PRODUCT, _FACTOR = range(3)
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def number_text(value: float | int | bool) -> str:
    """A number as a root of an integer, or a quotient of integers: the one with the least denominator that is the same number of 64 bits."""
    value = float(value) if not isinstance(value, int) else int(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise refused(f"the number {value} is needed, and statements have finite ones only")
    square = round(value * value) if 0 < value < MOST_ROOT else 0
    if value == math.sqrt(square) and not float(value).is_integer():
        return f"sqrt({square})"
    exact = Fraction(value)
    near = (exact.limit_denominator(10**power) for power in (0, 3, 6, 9, 12, 15, 18))
    found = next((one for one in near if float(one) == value), exact)
    if max(abs(found.numerator), found.denominator) >= MOST_NUMBER:
        raise refused(f"the number {value} is no quotient of integers of 63 bits")
    return str(found.numerator) if found.denominator == 1 else f"{found.numerator}/{found.denominator}"


def source_of(node: Node) -> Node:
    """What a view is a view of."""
    return node.args[0] if node.op == "view" else node


def in_order(root: Node) -> list[Node]:
    """All nodes that are no views, operands first."""
    done: set[int] = set()
    out: list[Node] = []
    todo = [(source_of(root), False)]
    while todo:
        node, is_ready = todo.pop()
        if is_ready:
            out.append(node)
        elif id(node) not in done:
            done.add(id(node))
            todo.append((node, True))
            todo += [(source_of(arg), False) for arg in reversed(node.args)]
    return out


def only_adds_ones(view: Node) -> bool:
    """Whether a view has the elements of its array in their order."""
    source = view.args[0]
    dims = [dim for dim, extent in enumerate(view.shape) if extent > 1]
    indices = [(index, extent) for index, extent in zip(view.data, source.shape, strict=True) if extent > 1]
    return len(dims) == len(indices) and all(
        index.is_plain(dim) and view.shape[dim] == extent for dim, (index, extent) in zip(dims, indices, strict=True))


class Writer:
    """Writes the statements of a graph."""

    def __init__(self, root: Node, inputs: dict[str, tuple[int, ...]]):
        self.root = root
        self.taken = set(inputs) | {"array", "schedule", "tactic", "return", "for"}
        self.names: dict[int, str] = {}  # of arrays, by node
        self.ranges: dict[str, int] = {}
        self.indices: set[str] = set()  # inputs that are arrays of indices
        self.longest: dict[str, str] = {}  # the longest variable of each statement that has some, those that it writes at first
        self.lines = ["retile.array/1", *(f"array {name}[{','.join(map(str, shape))}]" for name, shape in inputs.items())]
        nodes = in_order(root)
        self.returned = source_of(root)
        if (root.op == "view" and not only_adds_ones(root)) or self.returned.op in ("input", "number"):
            self.returned = Node("copy", root.shape, (root,))
            nodes.append(self.returned)
        self.find_arrays(nodes)
        for node in nodes:
            if node.op == "input":
                self.names[id(node)] = node.data
            elif id(node) in self.arrays:
                self.statement(node)
        self.lines.append(f"return {self.names[id(self.returned)]}")

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def find_arrays(self, nodes: list[Node]) -> None:
        """Which nodes get a statement of their own."""
        self.arrays = {id(self.returned)}
        uses: dict[int, int] = {}
        for node in nodes:
            for arg in node.args:
                source = source_of(arg)
                uses[id(source)] = uses.get(id(source), 0) + 1
                if arg.size > source.size and source.op in ELEMENTWISE:
                    self.arrays.add(id(source))  # each element would be worked out several times
            if node.op == "gather":
                self.arrays.add(id(source_of(node.args[0])))  # what has a subscript has a name
        depth: dict[int, int] = {}
        factors: dict[int, int] = {}
        for node in nodes:
            inside = [source_of(arg) for arg in node.args if id(source_of(arg)) not in self.arrays]
            depth[id(node)] = 1 + max((depth[id(one)] for one in inside), default=0)
            factors[id(node)] = 1 + sum(factors[id(one)] for one in inside)
            many = uses.get(id(node), 0) > 1 or depth[id(node)] > MOST_NESTED or factors[id(node)] > MOST_FACTORS
            if node.op in FOLDS or node.op == "copy" or (node.op in ELEMENTWISE and many):
                self.arrays.add(id(node))
            if id(node) in self.arrays or node.op in ("input", "number"):
                depth[id(node)] = factors[id(node)] = 1

    def fresh(self, begin: str) -> str:
        name = next(name for name in _numbered(begin) if name not in self.taken)
        self.taken.add(name)
        return name

    def statement(self, node: Node) -> None:
        body, dims = node, list(range(len(node.shape)))
        folded: tuple[int, ...] = ()
        if node.op in FOLDS:
            body, folded = node.args[0], node.data
            dims = [dim for dim in range(len(body.shape)) if dim not in folded]
        elif node.op == "copy":
            body = node.args[0]
        it = Statement(self, body.shape, [dim for dim in dims if body.shape[dim] > 1] + list(folded))
        term = it.whole(body, node)
        name = "out" if node is self.returned and "out" not in self.taken else self.fresh("t")
        self.taken.add(name)
        self.names[id(node)] = name
        written = ",".join(it.names[dim] for dim in dims if dim in it.names)
        variables = [dim for dim in dims if dim in it.names] or list(it.names)
        if variables:
            self.longest[name] = it.names[max(variables, key=lambda dim: it.shape[dim])]
        said = f" for {','.join(f'{it.names[dim]}:{it.shape[dim]}' for dim in it.said)}" if it.said else ""
        self.lines.append(f"{name}[{written}] {FOLDS.get(node.op, '=')} {term}{said}")


def _numbered(begin: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{begin}{number}"


class Statement:
    """The term of one statement. Variables have the numbers of the dimensions of its body."""

    def __init__(self, writer: Writer, shape: tuple[int, ...], dims: Iterable[int]):
        self.writer = writer
        self.shape = shape
        self.names = {dim: self.variable(k) for k, dim in enumerate(dims)}
        self.indices = [Index(0, {dim: 1}) if dim in self.names else Index() for dim in range(len(shape))]
        self.reads: list[tuple[Index, int]] = []  # a subscript and the extent of what it is a subscript of
        self.parts: list[set[int]] = []  # variables of each array or number in the term
        self.said: list[int] = []  # variables whose ranges stand behind the statement

    def whole(self, body: Node, own: Node) -> str:
        """The term. A variable at which nothing is read makes an input of the module, and so gets a name that no other has."""
        self.term(body, self.indices, own)
        self.said = self.needed(body)
        for dim in self.said:
            if not self.is_alone(dim):
                self.names[dim] = self.writer.fresh("n")
                self.writer.ranges[self.names[dim]] = self.shape[dim]
        self.reads.clear()
        return self.term(body, self.indices, own)

    @staticmethod
    def variable(k: int) -> str:
        return LETTERS[k] if k < len(LETTERS) else f"v{k}"

    def term(self, node: Node, indices: list[Index], own: Node | None = None, least: int = _SUM) -> str:
        """\\param own  what the statement makes, whose name is not known yet"""
        if node.op == "view":
            return self.term(node.args[0], [index.into(indices) for index in node.data], own, least)
        if node.op == "number":
            self.parts.append(set())
            text = number_text(node.data)
            return f"({text})" if "/" in text or (text.startswith("-") and least > _SUM) else text
        if node is not own and id(node) in self.writer.names:
            return self.access(node, indices)
        if node.op == "gather":
            return self.gathered(node, indices)
        if node.op in FOLDS or node.op == "copy":
            raise AssertionError("this has a statement of its own")
        args = node.args
        if node.op in _SIGNS:
            level = _SUM if node.op in ("add", "sub") else _PRODUCT
            first = self.term(args[0], indices, own, level)
            second = self.term(args[1], indices, own, level + 1)
            text = f"{first} {_SIGNS[node.op]} {second}"
            return text if level >= least else f"({text})"
        if node.op == "neg":
            return f"-{self.term(args[0], indices, own, _FACTOR)}"
        return f"{node.op}({', '.join(self.term(arg, indices, own) for arg in args)})"

    def gathered(self, node: Node, indices: list[Index]) -> str:
        """``x[i,col[j]]``"""
        (array, at), dim = node.args, node.data
        rank = len(at.shape)
        inner = indices[dim : dim + rank]
        column = source_of(at)
        text = self.access(column, [index.into(inner) for index in at.data] if at.op == "view" else inner)
        self.writer.indices.add(column.data)
        variables = self.parts.pop()
        # Which subscript of the array itself stands for the dimension, if this is a view of it.
        outer = [*indices[:dim], Index(), *indices[dim + rank :]]
        source = source_of(array)
        views = array.data if array.op == "view" else [Index(0, {k: 1}) for k in range(len(array.shape))]
        place = next(k for k, index in enumerate(views) if dim in index.factors)
        out = self.access(source, [index.into(outer) for index in views], {place: text})
        self.parts[-1] |= variables
        return out

    def access(self, node: Node, indices: list[Index], said: dict[int, str] | None = None) -> str:
        """\\param said  subscripts that are elements of arrays of indices"""
        self.parts.append({dim for index in indices for dim in index.factors})
        subscripts = []
        for k, (index, extent) in enumerate(zip(indices, node.shape, strict=True)):
            if said and k in said:
                subscripts.append(said[k])
                continue
            if extent == 1 and node.op != "input":
                continue
            subscripts.append(self.subscript(index))
            self.reads.append((index, extent))
        return f"{self.writer.names[id(node)]}[{','.join(subscripts)}]"

    def subscript(self, index: Index) -> str:
        parts = [self.names[dim] if factor == 1 else f"{factor}*{self.names[dim]}" for dim, factor in sorted(index.factors.items())]
        if index.constant or not parts:
            parts.append(str(index.constant))
        return "+".join(parts)

    def is_alone(self, dim: int) -> bool:
        """Whether a variable stands alone in a subscript."""
        return any(index.factors.keys() == {dim} for index, _ in self.reads)

    def is_product(self, node: Node) -> bool:
        """Whether a term is a product of arrays and integers."""
        node = source_of(node)
        if node.op == "number":
            return "/" not in number_text(node.data) and "sqrt" not in number_text(node.data)
        return id(node) in self.writer.names or node.op == "gather" or (node.op == "mul" and all(map(self.is_product, node.args)))

    def needed(self, body: Node) -> list[int]:
        """Variables whose ranges must be said: others go as far as every subscript is inside of its array, and that is right.
        What lacks a variable is repeated along it, by an array that has it alone.
        """
        said: list[int] = []
        if not self.is_product(body):
            said = [dim for dim in self.names if not self.is_alone(dim) and any(dim not in part for part in self.parts)]
        while True:
            found = self.inferred(said)
            wrong = next((dim for dim in self.names if found.get(dim) != self.shape[dim]), None)
            if wrong is None:
                return said
            said.append(wrong)

    def inferred(self, said: list[int]) -> dict[int, int]:
        """How far variables go by the rules of the language: first those that stand alone in a subscript, then those in sums."""
        known = {dim: self.shape[dim] for dim in said}
        for alone in (True, False):
            for _ in self.names:
                for dim in self.names:
                    if dim in known:
                        continue
                    rooms = []
                    for index, extent in self.reads:
                        factor = index.factors.get(dim)
                        others = [other for other in index.factors if other != dim]
                        if factor is None or (alone and others):
                            continue
                        if any(other not in known for other in others):
                            rooms.append(None)
                            continue
                        room = extent - 1 - index.constant - sum(index.factors[other] * (known[other] - 1) for other in others)
                        rooms.append(room // factor + 1)
                    plain = all(index.is_plain(dim) for index, _ in self.reads if dim in index.factors)
                    if rooms and None not in rooms and not (plain and len(set(rooms)) > 1):
                        known[dim] = min(rooms)
        return known
