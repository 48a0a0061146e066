"""What a function computes, as a graph: the same for NumPy and for JAX.

A node is an array. Views move indices: each index of what is viewed is a sum of indices of the view with factors. Everything else
works on elements with equal indices, or folds some of the dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .place import Tracing, refused

Shape = tuple[int, ...]
MOST_STRIDE = 4096  # of the language


class Index:
    """``constant`` and a factor for each dimension of the view that counts: an index of the array that is viewed."""

    __slots__ = ("constant", "factors")

    def __init__(self, constant: int = 0, factors: dict[int, int] | None = None):
        self.constant = constant
        self.factors = factors or {}

    def into(self, outer: Sequence[Index]) -> Index:
        """The same in indices of another view, whose ``outer`` say what ours are."""
        constant, factors = self.constant, {}
        for dim, factor in self.factors.items():
            constant += factor * outer[dim].constant
            for other, inner in outer[dim].factors.items():
                factors[other] = factors.get(other, 0) + factor * inner
        return Index(constant, {dim: factor for dim, factor in factors.items() if factor})

    def is_plain(self, dim: int) -> bool:
        return self.constant == 0 and self.factors == {dim: 1}


class Node:
    """An array of the graph.

    Attributes:
      op: ``input``, ``number``, ``view``, ``add``.. of elements (``ELEMENTWISE``), ``sum``, ``greatest``, ``least`` over ``data``,
        ``gather`` of the first of two along ``data`` at the indices that the second one holds, or ``copy``.
      args: what it is made of.
      data: the name of an input, a number, the indices of a view, the dimensions that are folded, or the one that is gathered.
    """

    __slots__ = ("args", "data", "op", "shape")

    def __init__(self, op: str, shape: Iterable[int], args: Sequence[Node] = (), data: Any = None):
        self.op, self.shape, self.args, self.data = op, tuple(shape), tuple(args), data

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_number(self) -> bool:
        return self.op == "number"


def _made(op: str, shape: Iterable[int], args: Sequence[Node], data: Any = None, key: Any = None) -> Node:
    """One node for what is worked out twice in one trace."""
    tracing = Tracing.current()
    if tracing is None:
        return Node(op, shape, args, data)
    key = (op, tuple(shape), tuple((arg.op, arg.shape, arg.data) if arg.is_number else id(arg) for arg in args), data if key is None else key)
    if key not in tracing.nodes:
        tracing.nodes[key] = Node(op, shape, args, data)
    return tracing.nodes[key]


def _division(a: float, b: float) -> float:
    return a / b if b else math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def _exponential(a: float) -> float:
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


ELEMENTWISE: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": _division,
    "max": max, "min": min, "neg": lambda a: -a, "exp": _exponential, "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
}
FOLDS = {"sum": "+=", "greatest": "max=", "least": "min="}


def number(value: float | int | bool, shape: Shape = ()) -> Node:
    """A number everywhere."""
    return Node("number", shape, (), value)


def view(node: Node, shape: Iterable[int], indices: Sequence[Index]) -> Node:
    """``out[o] = node[indices of o]``."""
    shape = tuple(shape)
    if node.is_number:
        return number(node.data, shape)
    if node.op == "view":
        node, indices = node.args[0], [index.into(indices) for index in node.data]
    indices = [Index() if extent == 1 else _without_single(index, shape) for index, extent in zip(indices, node.shape, strict=True)]
    if shape == node.shape and all(extent == 1 or index.is_plain(dim) for dim, (index, extent) in enumerate(zip(indices, shape, strict=True))):
        return node
    key = tuple((index.constant, tuple(sorted(index.factors.items()))) for index in indices)
    return _made("view", shape, (node,), tuple(indices), key)


def _without_single(index: Index, shape: Shape) -> Index:
    """Dimensions of one element say nothing."""
    return Index(index.constant, {dim: factor for dim, factor in index.factors.items() if shape[dim] > 1})


def broadcast_shapes(what: str, *shapes: Shape) -> Shape:
    rank = max(map(len, shapes))
    out = []
    for dim in range(rank):
        extents = {shape[dim - rank] for shape in shapes if dim - rank >= -len(shape)} - {1}
        if len(extents) > 1:
            raise refused(f"{what} takes arrays of one shape, or of 1 where others are longer, not " + " and ".join(str(list(s)) for s in shapes))
        out.append(extents.pop() if extents else 1)
    return tuple(out)


def broadcast(node: Node, shape: Shape) -> Node:
    """As NumPy broadcasts. The shapes fit."""
    skipped = len(shape) - len(node.shape)
    return view(node, shape, [Index() if extent == 1 else Index(0, {dim + skipped: 1}) for dim, extent in enumerate(node.shape)])


def elementwise(op: str, *args: Node, what: str = "") -> Node:
    """An operation of ELEMENTWISE on arrays that are broadcast. Operations on numbers alone are done."""
    shape = broadcast_shapes(what or op, *(arg.shape for arg in args))
    if all(arg.is_number for arg in args):
        return number(ELEMENTWISE[op](*(arg.data for arg in args)), shape)
    if op in ("max", "min"):
        neutral = -math.inf if op == "max" else math.inf
        left = [arg for arg in args if not (arg.is_number and arg.data == neutral)]
        if len(left) == 1:
            return broadcast(left[0], shape)
    return _made(op, shape, [broadcast(arg, shape) for arg in args])


def fold(op: str, node: Node, dims: Iterable[int]) -> Node:
    """``sum``, ``greatest`` or ``least`` over these dimensions, which go."""
    dims = tuple(sorted(set(dims)))
    shape = [extent for dim, extent in enumerate(node.shape) if dim not in dims]
    if node.is_number:
        times = math.prod(node.shape[dim] for dim in dims) if op == "sum" else 1
        return number(node.data * times, tuple(shape))
    real = tuple(dim for dim in dims if node.shape[dim] > 1)
    if not real:
        return drop(node, dims)
    left = [extent for dim, extent in enumerate(node.shape) if dim not in real]
    rank = [dim for dim in range(len(node.shape)) if dim not in real]
    return drop(_made(op, left, (node,), real), [rank.index(dim) for dim in dims if dim not in real])


def drop(node: Node, dims: Iterable[int]) -> Node:
    """Without dimensions of one element."""
    gone = set(dims)
    kept = [dim for dim in range(len(node.shape)) if dim not in gone]
    place = {dim: k for k, dim in enumerate(kept)}
    return view(node, [node.shape[dim] for dim in kept], [Index(0, {place[dim]: 1}) if dim in place else Index() for dim in range(len(node.shape))])


def insert(node: Node, dims: Iterable[int]) -> Node:
    """With dimensions of one element, which stand at these numbers of the result."""
    added = set(dims)
    rank = len(node.shape) + len(added)
    places = [dim for dim in range(rank) if dim not in added]
    shape = [1] * rank
    for dim, extent in zip(places, node.shape, strict=True):
        shape[dim] = extent
    return view(node, shape, [Index(0, {dim: 1}) for dim in places])


def transpose(node: Node, order: Sequence[int]) -> Node:
    """New dimension k is old dimension order[k]."""
    place = {dim: k for k, dim in enumerate(order)}
    return view(node, [node.shape[dim] for dim in order], [Index(0, {place[dim]: 1}) for dim in range(len(order))])


def take(node: Node, begins: Sequence[int], counts: Sequence[int], strides: Sequence[int]) -> Node:
    """``counts`` indices of each dimension, from ``begins`` on, each so many behind the one before."""
    return view(node, counts, [Index(begin, {dim: stride}) for dim, (begin, stride) in enumerate(zip(begins, strides, strict=True))])


def gather(node: Node, dim: int, indices: Node, what: str) -> Node:
    """``out[i, j, l] = node[i, indices[j], l]``: the dimensions of the indices in the place of one."""
    shape = (*node.shape[:dim], *indices.shape, *node.shape[dim + 1:])
    if node.is_number:
        return number(node.data, shape)
    if indices.is_number and not 0 <= indices.data < node.shape[dim]:
        raise refused(f"{what} of {indices.data} in a dimension of {node.shape[dim]}", code="bad_argument")
    if indices.is_number or node.shape[dim] == 1:
        at = Index(int(indices.data) if indices.is_number else 0)
        behind = len(indices.shape) - 1
        return view(node, shape, [at if k == dim else Index(0, {k if k < dim else k + behind: 1}) for k in range(len(node.shape))])
    if (indices.args[0] if indices.op == "view" else indices).op != "input":
        raise refused(f"{what} has indices that are worked out, and statements take those of inputs alone",
                      "of these it is known that they are whole numbers below an extent")
    if node.op == "gather" or (node.op == "view" and not _is_whole_along(node, dim)):
        node = _made("copy", node.shape, (node,))
    return _made("gather", shape, (node, indices), dim)


def _is_whole_along(view: Node, dim: int) -> bool:
    """Whether one dimension of a view is a whole one of the array, and nothing else stands in its subscript."""
    source = view.args[0]
    at = [(index, extent) for index, extent in zip(view.data, source.shape, strict=True) if dim in index.factors]
    return source.op != "gather" and len(at) == 1 and at[0][0].is_plain(dim) and at[0][1] == view.shape[dim]


def reshape(node: Node, shape: Sequence[int], what: str = "reshape") -> Node:
    """Dimensions of one element come and go, and one dimension may become several. Several never become one: the language has no
    division of indices.
    """
    shape = tuple(shape)
    if math.prod(shape) != node.size:
        raise refused(f"{what} makes {list(shape)} of {list(node.shape)}, which has another number of elements")
    new = [dim for dim, extent in enumerate(shape) if extent > 1]
    indices, at = [], 0
    for extent in node.shape:
        parts, rest = [], extent
        while rest > 1:
            if at == len(new) or rest % shape[new[at]]:
                raise refused(f"{what} from {list(node.shape)} to {list(shape)} makes one dimension of several, which statements cannot say",
                              "dimensions of 1 may come and go, and one dimension may become several; einsum takes arrays as they are")
            rest //= shape[new[at]]
            if rest > MOST_STRIDE:
                raise refused(f"{what} makes {list(shape)} of {list(node.shape)}, and factors in subscripts are at most {MOST_STRIDE}")
            parts.append((new[at], rest))
            at += 1
        indices.append(Index(0, dict(parts)))
    return view(node, shape, indices)


def contract(operands: Sequence[tuple[Node, Sequence[Any]]], out: Sequence[Any], what: str) -> Node:
    """Products of operands whose dimensions have labels, summed over the labels that ``out`` does not have."""
    extents: dict[Any, int] = {}
    for node, labels in operands:
        for label, extent in zip(labels, node.shape, strict=True):
            before = extents.get(label, 1)
            if extent != before and 1 not in (extent, before):
                raise refused(f"{what} has dimensions of {before} and of {extent} where they must be one")
            extents[label] = max(extent, before)
    order = [*out, *(label for label in extents if label not in out)]
    place = {label: k for k, label in enumerate(order)}
    shape = tuple(extents[label] for label in order)
    factors = [view(node, shape, [Index() if extent == 1 else Index(0, {place[label]: 1}) for label, extent in zip(labels, node.shape, strict=True)])
               for node, labels in operands]
    product = factors[0]
    for factor in factors[1:]:
        product = elementwise("mul", product, factor)
    return fold("sum", product, range(len(out), len(order)))


def chosen(condition: tuple[str, Node, Node] | Node, then: Node, other: Node, what: str) -> Node:
    """``then`` where a comparison holds, else ``other``: where that is a maximum or minimum of the two, or the condition a mask."""
    if isinstance(condition, Node):  # numbers 0 and 1
        if condition.is_number:
            shape = broadcast_shapes(what, condition.shape, then.shape, other.shape)
            return broadcast(then if condition.data else other, shape)
        picked = elementwise("mul", condition, then, what=what)
        if other.is_number and other.data == 0:
            return picked
        return elementwise("add", picked, elementwise("mul", elementwise("sub", number(1), condition), other, what=what), what=what)
    op, left, right = condition
    if op in ("less", "less_equal"):
        op, left, right = {"less": "greater", "less_equal": "greater_equal"}[op], right, left
    if op in ("greater", "greater_equal"):
        for name, first, second in (("max", then, other), ("min", other, then)):
            if same(left, first) and same(right, second):
                return elementwise(name, then, other, what=what)
    raise refused(f"{what} chooses by a comparison what is neither the larger nor the smaller of the two that are compared",
                  "statements have max and min, and where takes a constant condition")


def same(a: Node, b: Node) -> bool:
    """Whether two nodes are the same array, but for how they are broadcast."""
    a, b = squeezed(a), squeezed(b)
    if a is b:
        return True
    if a.is_number or b.is_number:
        return a.is_number and b.is_number and a.data == b.data
    if a.op == "view" and b.op == "view":
        return a.args[0] is b.args[0] and a.shape == b.shape and all(
            x.constant == y.constant and x.factors == y.factors for x, y in zip(a.data, b.data, strict=True))
    return False


def squeezed(node: Node) -> Node:
    """Without the dimensions along which nothing changes."""
    if node.is_number:
        return number(node.data)
    used = {dim for index in node.data for dim in index.factors} if node.op == "view" else {d for d, n in enumerate(node.shape) if n > 1}
    kept = sorted(used)
    place = {dim: k for k, dim in enumerate(kept)}
    outer = [Index(0, {place[dim]: 1}) if dim in place else Index() for dim in range(len(node.shape))]
    return view(node, [node.shape[dim] for dim in kept], outer)
