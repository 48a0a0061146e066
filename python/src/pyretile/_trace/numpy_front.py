"""Functions of NumPy arrays: they are called with arrays that write down what is done to them."""

from __future__ import annotations

import math
import operator
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import graph
from .graph import Index, Node
from .place import raised_at, refused

_BINARY = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "maximum": "max", "minimum": "min"}
_FOLDED = {"add": "sum", "maximum": "greatest", "minimum": "least"}
_COMPARED = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


class Recorder:
    """What one traced function does: its inputs, arrays that it has from elsewhere, and whether numbers are floating."""

    def __init__(self) -> None:
        self.constants: dict[str, np.ndarray] = {}
        self.floating = False
        self._known: dict[Any, Node] = {}  # by shape, type and bytes: an array may change while a function runs

    def node(self, value: Any, what: str) -> Node:
        """Anything that NumPy takes for an array."""
        if isinstance(value, Traced):
            return value.node
        if isinstance(value, Comparison):
            raise refused(f"{what} takes numbers, and a comparison of traced arrays has none before the program runs")
        try:
            array = np.asarray(value)
        except (TypeError, ValueError):
            array = np.asarray(None)
        if array.dtype.kind not in "biuf":
            raise refused(f"{what} takes arrays of real numbers, not {type(value).__name__}")
        self.floating |= array.dtype.kind == "f"
        return self.constant(array)

    def constant(self, array: np.ndarray) -> Node:
        """An array that is no argument: a number, or an input of its own."""
        if array.size == 0:
            raise refused("an array without elements")
        first = array.flat[0]
        if array.size == 1 or (array == first).all():
            return graph.number(first.item(), array.shape)
        key = (array.shape, array.dtype.str, array.tobytes())
        if key not in self._known:
            name = f"constant{len(self.constants) + 1}"
            self.constants[name] = np.array(array)
            self._known[key] = Node("input", array.shape, (), name)
        return self._known[key]


class Comparison(np.lib.mixins.NDArrayOperatorsMixin):
    """Whether elements of one array are less than those of another: what ``np.where`` chooses by, and nothing else."""

    __slots__ = ("op", "left", "recorder", "right")

    def __init__(self, op: str, left: Node, right: Node, recorder: Recorder):
        self.op, self.left, self.right, self.recorder = op, left, right, recorder

    @property
    def shape(self) -> tuple[int, ...]:
        return graph.broadcast_shapes(self.op, self.left.shape, self.right.shape)

    def __bool__(self) -> bool:
        raise refused("a branch on elements of a traced array, which are not known before the program runs",
                      "np.maximum, np.minimum and np.where stay in the program")

    def __array_function__(self, function, types, args, kwargs):
        return _function(function, args, kwargs, self.recorder)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise refused(f"np.{ufunc.__name__} of comparisons of traced arrays")

    def __array__(self, *_, **__):
        raise refused("elements of a traced array are not known before the program runs")

    __iter__ = __index__ = __float__ = __int__ = __array__


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that writes down what is done to it."""

    __slots__ = ("_has_views", "node", "recorder")

    def __init__(self, node: Node, recorder: Recorder):
        self.node, self.recorder = node, recorder
        self._has_views = False

    def _new(self, node: Node) -> Traced:
        return Traced(node, self.recorder)

    def _view(self, node: Node) -> Traced:
        """As NumPy's views it shares its elements, so neither can be changed any more."""
        self._has_views = True
        out = self._new(node)
        out._has_views = True
        return out

    # What is known of it.

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.node.size

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float64)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array of rank 0")
        return self.shape[0]

    def __iter__(self):
        return iter([self[k] for k in range(len(self))])

    def __repr__(self) -> str:
        return f"<traced array of shape {list(self.shape)}>"

    # What is not known.

    def __bool__(self) -> bool:
        raise refused("a branch on a traced array, whose elements are not known before the program runs",
                      "np.maximum, np.minimum and np.where stay in the program")

    def _number(self, *_, **__):
        raise refused("the elements of a traced array are needed as numbers or as an array of NumPy, and are not known before the program runs",
                      "functions of NumPy that call np.asarray need them, too")

    __array__ = __index__ = __int__ = __float__ = __complex__ = __contains__ = item = tolist = _number

    def __setitem__(self, key, value):
        raise refused("an element of a traced array is written, and statements write whole arrays")

    def __getattr__(self, name: str):
        if not name.startswith("__") and hasattr(np.ndarray, name):
            raise refused(f"the attribute {name} of arrays is not traced")
        raise AttributeError(name)

    # Views.

    def __getitem__(self, key) -> Traced:
        return self._view(_subscript(self.node, key, self.recorder))

    @property
    def T(self) -> Traced:
        return self.transpose()

    @property
    def mT(self) -> Traced:
        return self.swapaxes(-1, -2)

    def transpose(self, *axes) -> Traced:
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], Iterable)):
            axes = axes[0]
        return _transpose(self, axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> Traced:
        return _swapaxes(self, axis1, axis2)

    def reshape(self, *shape, order: str = "C") -> Traced:
        return _reshape(self, shape[0] if len(shape) == 1 and isinstance(shape[0], Iterable) else shape, order=order)

    def ravel(self, order: str = "C") -> Traced:
        return _reshape(self, (-1,), order=order)

    flatten = ravel

    def squeeze(self, axis=None) -> Traced:
        return _squeeze(self, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
        return _diagonal(self, offset, axis1, axis2)

    # Arithmetic.

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _ufunc(ufunc, method, inputs, kwargs, self.recorder)

    def __array_function__(self, function, types, args, kwargs):
        return _function(function, args, kwargs, self.recorder)

    def sum(self, axis=None, dtype=None, out=None, keepdims=False) -> Traced:
        _no_options("sum", dtype=dtype, out=out)
        return _fold(self, "sum", axis, keepdims)

    def max(self, axis=None, out=None, keepdims=False) -> Traced:
        _no_options("max", out=out)
        return _fold(self, "greatest", axis, keepdims)

    def min(self, axis=None, out=None, keepdims=False) -> Traced:
        _no_options("min", out=out)
        return _fold(self, "least", axis, keepdims)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False) -> Traced:
        _no_options("mean", dtype=dtype, out=out)
        return _mean(self, axis, keepdims)

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False) -> Traced:
        _no_options("var", dtype=dtype, out=out)
        return _var(self, axis, ddof, keepdims)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False) -> Traced:
        _no_options("std", dtype=dtype, out=out)
        return np.sqrt(_var(self, axis, ddof, keepdims))

    def dot(self, other) -> Traced:
        return np.dot(self, other)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
        return _fold(_diagonal(self, offset, axis1, axis2), "sum", -1, False)

    def clip(self, min=None, max=None) -> Traced:
        return _clip(self, min, max)

    def take(self, indices, axis=None, out=None, mode="raise") -> Traced:
        return _take(self.recorder, self, indices, axis, out, mode)

    def copy(self, order: str = "C") -> Traced:
        return self._new(self.node)

    def astype(self, dtype, *_, **__) -> Traced:
        if np.dtype(dtype).kind != "f":
            raise refused(f"astype({np.dtype(dtype).name}) rounds, and statements have no such operation")
        self.recorder.floating = True
        return self._new(self.node)


def _no_options(what: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None and value is not np._NoValue:
            raise refused(f"{what} with {name}= is not traced")


def _axes(axis: Any, rank: int, what: str) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    out = []
    for one in axis if isinstance(axis, Iterable) else (axis,):
        one = operator.index(one)
        if not -rank <= one < rank:
            raise refused(f"{what} along axis {one} of an array of rank {rank}", code="bad_argument")
        out.append(one % rank)
    if len(set(out)) < len(out):
        raise refused(f"{what} along an axis twice", code="bad_argument")
    return tuple(out)


def _fold(x: Traced, op: str, axis: Any, keepdims: Any) -> Traced:
    dims = _axes(axis, x.ndim, op)
    out = graph.fold(op, x.node, dims)
    return x._new(graph.insert(out, dims) if keepdims is not np._NoValue and keepdims else out)


def _mean(x: Traced, axis: Any, keepdims: Any) -> Traced:
    x.recorder.floating = True
    return _fold(x, "sum", axis, keepdims) / _count(x, axis)


def _count(x: Traced, axis: Any) -> int:
    return math.prod(x.shape[dim] for dim in _axes(axis, x.ndim, "mean"))


def _var(x: Traced, axis: Any, ddof: Any, keepdims: Any) -> Traced:
    count = _count(x, axis) - ddof
    if count <= 0:
        raise refused(f"a variance of {_count(x, axis)} numbers with ddof={ddof}", code="bad_argument")
    off = x - _mean(x, axis, True)
    return _fold(off * off, "sum", axis, keepdims) / count


def _subscript(node: Node, key: Any, recorder: Recorder) -> Node:
    keys = list(key) if isinstance(key, tuple) else [key]
    rank = len(node.shape)
    taken = sum(1 for one in keys if one is not None and one is not Ellipsis)
    if sum(1 for one in keys if one is Ellipsis) > 1 or taken > rank:
        raise refused(f"{taken} subscripts of an array of rank {rank}", code="bad_argument")
    if Ellipsis not in [one for one in keys if one is None or one is Ellipsis]:
        keys.append(Ellipsis)
    indices: list[Index] = []
    shape: list[int] = []
    gathered: tuple[int, Node] | None = None
    if any(map(_is_array, keys)):
        if sum(1 for one in keys if _is_array(one) or not (one is None or one is Ellipsis or isinstance(one, slice))) > 1:
            raise refused("a subscript that is an array beside another one, or beside a number: statements are traced with one, beside slices")
    for one in keys:
        if one is None:
            shape.append(1)
        elif one is Ellipsis:
            for _ in range(rank - taken):
                extent = node.shape[len(indices)]
                indices.append(Index(0, {len(shape): 1}))
                shape.append(extent)
        else:
            extent = node.shape[len(indices)]
            if _is_array(one):
                gathered = len(shape), _indices(one, extent, recorder, "a subscript")
                one = slice(None)
            if isinstance(one, slice):
                begin, end, stride = _slice(one, extent)
                count = len(range(begin, end, stride))
                if count == 0:
                    raise refused(f"the slice {_slice_text(one)} of a dimension of {extent} has no elements")
                indices.append(Index(begin, {len(shape): stride}))
                shape.append(count)
            else:
                indices.append(Index(_position(one, extent)))
    out = graph.view(node, shape, indices)
    return out if gathered is None else graph.gather(out, *gathered, "a subscript")


def _is_array(one: Any) -> bool:
    return isinstance(one, (Traced, list, np.ndarray)) and np.ndim(one) > 0 and not isinstance(one, Comparison)


def _indices(value: Any, extent: int, recorder: Recorder, what: str) -> Node:
    """Indices of a dimension. Those that a trace knows may count from the end."""
    if isinstance(value, Traced):
        return value.node
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise refused(f"{what} that is an array of {array.dtype}: statements have whole numbers there")
    if ((array < -extent) | (array >= extent)).any():
        raise refused(f"{what} of {array[(array < -extent) | (array >= extent)].flat[0]} in a dimension of {extent}", code="bad_argument")
    return recorder.constant(np.where(array < 0, array + extent, array))


def _take(recorder: Recorder, a, indices, axis=None, out=None, mode="raise") -> Traced:
    _no_options("np.take", out=out)
    node = recorder.node(a, "np.take")
    if mode != "raise":
        raise refused(f"np.take with mode={mode!r}: indices are those of the array")
    if axis is None and len(node.shape) != 1:
        raise refused("np.take without axis= of an array that is no vector")
    (dim,) = _axes((0 if axis is None else axis,), len(node.shape), "np.take")
    return Traced(graph.gather(node, dim, _indices(indices, node.shape[dim], recorder, "np.take"), "np.take"), recorder)


def _slice_text(one: slice) -> str:
    return ":".join("" if part is None else str(part) for part in (one.start, one.stop, one.step))


def _slice(one: slice, extent: int) -> tuple[int, int, int]:
    try:
        begin, end, stride = one.indices(extent)
    except (TypeError, ValueError):
        raise refused(f"the slice {_slice_text(one)} has no constant bounds") from None
    if stride < 1 or stride > graph.MOST_STRIDE:
        raise refused(f"the slice {_slice_text(one)}: statements have strides from 1 to {graph.MOST_STRIDE}")
    return begin, end, stride


def _position(one: Any, extent: int) -> int:
    if isinstance(one, (bool, np.bool_)) or isinstance(one, (Traced, Comparison, list, tuple)) or not hasattr(one, "__index__") or np.ndim(one) > 0:
        raise refused(f"a subscript that is no array of integers, {type(one).__name__}: statements have these, slices and constant subscripts")
    position = operator.index(one)
    if not -extent <= position < extent:
        raise refused(f"subscript {position} of a dimension of {extent}", code="bad_argument")
    return position % extent


# ---- Functions of NumPy ----------------------------------------------------------------------------------------------------------------


def _ufunc(ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any], recorder: Recorder) -> Any:
    name = ufunc.__name__
    target = None
    if kwargs.get("out") is not None:
        (target,) = kwargs.pop("out")
        if method != "__call__" or not isinstance(target, Traced) or target is not inputs[0]:
            raise refused(f"np.{name} writes into an array, and statements make new ones")
        if target._has_views:
            raise refused("an array is changed in place that shares its elements with a view", "write x = x + y in the place of x += y")
    kwargs.pop("out", None)
    if method == "reduce" and name in _FOLDED:
        axis, keepdims = kwargs.pop("axis", 0), kwargs.pop("keepdims", False)
        _no_options(f"np.{name}.reduce", **kwargs)
        return _fold(Traced(recorder.node(inputs[0], name), recorder), _FOLDED[name], axis, keepdims)
    if method == "outer" and len(inputs) == 2:
        first, second = (recorder.node(one, f"np.{name}") for one in inputs)
        rank = len(first.shape)
        wide = Traced(graph.insert(first, range(rank, rank + len(second.shape))), recorder)
        return _ufunc(ufunc, "__call__", (wide, Traced(second, recorder)), kwargs, recorder)
    if method != "__call__":
        raise refused(f"np.{name}.{method} is not traced")
    _no_options(f"np.{name}", **{key: value for key, value in kwargs.items() if not (key == "where" and value is True)})
    nodes = [recorder.node(one, f"np.{name}") for one in inputs]
    if name in _COMPARED:
        return Comparison(name, *nodes, recorder)
    out = Traced(_called(name, nodes, inputs, recorder), recorder)
    if target is None:
        return out
    if out.shape != target.shape:
        raise refused(f"an array of shape {list(target.shape)} would become one of {list(out.shape)} in place", code="bad_argument")
    target.node = out.node
    return target


def _called(name: str, nodes: list[Node], inputs: Sequence[Any], recorder: Recorder) -> Node:
    what = f"np.{name}"

    def of(op: str, *args: Node) -> Node:
        return graph.elementwise(op, *args, what=what)

    one = graph.number(1)
    if name in _BINARY:
        recorder.floating |= name == "divide"
        return of(_BINARY[name], *nodes)
    if name == "matmul":
        return _matmul(*nodes)
    if name == "negative":
        return of("neg", *nodes)
    if name == "positive":
        return nodes[0]
    if name == "square":
        return of("mul", nodes[0], nodes[0])
    if name in ("absolute", "fabs"):
        return of("max", nodes[0], of("neg", nodes[0]))
    if name in ("power", "float_power"):
        return _power(nodes, recorder)
    recorder.floating = True
    if name in ("exp", "sqrt"):
        return of(name, nodes[0])
    if name == "reciprocal":
        return of("div", one, nodes[0])
    if name == "tanh":
        return tanh(nodes[0])
    raise refused(f"{what} is not traced", "operations are + - * /, products, exp, sqrt, tanh, maximum, minimum, and sums of these")


def tanh(x: Node) -> Node:
    """1 - 2 / (exp(2 x) + 1)"""
    grown = graph.elementwise("exp", graph.elementwise("mul", graph.number(2), x))
    return graph.elementwise("sub", graph.number(1), graph.elementwise("div", graph.number(2), graph.elementwise("add", grown, graph.number(1))))


def power(x: Node, exponent: int) -> Node:
    """A product of so many, or the quotient of 1 by it."""
    if abs(exponent) > 64:
        raise refused(f"the power {exponent}, and those up to 64 are products")
    out = graph.number(1, x.shape)
    for k in range(abs(exponent)):
        out = x if k == 0 else graph.elementwise("mul", out, x)
    return out if exponent >= 0 else graph.elementwise("div", graph.number(1), out)


def _power(nodes: list[Node], recorder: Recorder) -> Node:
    base, exponent = nodes
    if not exponent.is_number or exponent.shape:
        raise refused("a power that is an array; statements have whole powers, 0.5 and -0.5")
    if abs(exponent.data) == 0.5:
        recorder.floating = True
        root = graph.elementwise("sqrt", base)
        return root if exponent.data > 0 else graph.elementwise("div", graph.number(1), root)
    if exponent.data != int(exponent.data):
        raise refused(f"the power {exponent.data}; statements have whole powers, 0.5 and -0.5")
    return power(base, int(exponent.data))


def _matmul(x: Node, y: Node) -> Node:
    if not x.shape or not y.shape:
        raise refused("np.matmul of an array of rank 0", code="bad_argument")
    batch = [("batch", k) for k in range(max(len(x.shape), len(y.shape)) - 2, 0, -1)]

    def of(node: Node, last: list[Any]) -> tuple[Node, list[Any]]:
        return node, [*batch[len(batch) - len(node.shape) + 2:], *last] if len(node.shape) > 1 else last[-1:]

    first = of(x, ["row", "inner"])
    second = (y, ["inner"]) if len(y.shape) == 1 else of(y, ["inner", "column"])
    inner = (x.shape[-1], y.shape[-1] if len(y.shape) == 1 else y.shape[-2])
    if inner[0] != inner[1]:
        raise refused(f"np.matmul of arrays of shapes {list(x.shape)} and {list(y.shape)}", code="bad_argument")
    out = batch + (["row"] if len(x.shape) > 1 else []) + (["column"] if len(y.shape) > 1 else [])
    return graph.contract([first, second], out, "np.matmul")


def _function(function, args: Sequence[Any], kwargs: dict[str, Any], recorder: Recorder) -> Any:
    known = _FUNCTIONS.get(function)
    name = getattr(function, "__name__", str(function))
    if known is None:
        raise refused(f"np.{name} is not traced")
    try:
        return known(recorder, *args, **kwargs)
    except TypeError as error:
        raise refused(f"np.{name} with these arguments is not traced: {error}") from None


def _takes(*indices: int) -> Callable:
    """Makes arguments of these numbers traced arrays."""

    def wrapped(function: Callable) -> Callable:
        def called(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
            args = list(args)
            for k in indices:
                if k < len(args):
                    args[k] = _traced(recorder, args[k], function.__name__.lstrip("_"))
            return function(*args, **kwargs)

        return called

    return wrapped


def _traced(recorder: Recorder, value: Any, what: str) -> Traced:
    return value if isinstance(value, Traced) else Traced(recorder.node(value, what), recorder)


def _transpose(a: Traced, axes=None) -> Traced:
    order = _axes(axes, a.ndim, "transpose") if axes is not None else tuple(reversed(range(a.ndim)))
    if len(order) != a.ndim:
        raise refused(f"a transpose of an array of rank {a.ndim} by {len(order)} axes", code="bad_argument")
    return a._view(graph.transpose(a.node, order))


def _swapaxes(a: Traced, axis1: int, axis2: int) -> Traced:
    first, second = _axes((axis1,), a.ndim, "swapaxes") + _axes((axis2,), a.ndim, "swapaxes")
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return _transpose(a, order)


def _moveaxis(a: Traced, source, destination) -> Traced:
    sources, targets = _axes(source, a.ndim, "moveaxis"), _axes(destination, a.ndim, "moveaxis")
    order = [dim for dim in range(a.ndim) if dim not in sources]
    for target, dim in sorted(zip(targets, sources, strict=True)):
        order.insert(target, dim)
    return _transpose(a, order)


def _reshape(a: Traced, shape=None, order: str = "C", *, newshape=None, copy=None) -> Traced:
    if order != "C":
        raise refused(f"reshape in order {order}")
    shape = newshape if shape is None else shape
    extents = [operator.index(one) for one in (shape if isinstance(shape, Iterable) else (shape,))]
    if extents.count(-1) == 1:
        rest = math.prod(one for one in extents if one != -1)
        extents[extents.index(-1)] = a.size // rest if rest else 0
    return a._view(graph.reshape(a.node, extents))


def _squeeze(a: Traced, axis=None) -> Traced:
    dims = [dim for dim, extent in enumerate(a.shape) if extent == 1] if axis is None else _axes(axis, a.ndim, "squeeze")
    if any(a.shape[dim] != 1 for dim in dims):
        raise refused(f"squeeze of a dimension of more than one element, of shape {list(a.shape)}", code="bad_argument")
    return a._view(graph.drop(a.node, dims))


def _expand_dims(a: Traced, axis) -> Traced:
    count = len(axis) if isinstance(axis, Iterable) else 1
    return a._view(graph.insert(a.node, _axes(axis, a.ndim + count, "expand_dims")))


def _broadcast_to(array: Traced, shape, subok: bool = False) -> Traced:
    extents = tuple(operator.index(one) for one in (shape if isinstance(shape, Iterable) else (shape,)))
    if graph.broadcast_shapes("np.broadcast_to", array.shape, extents) != extents:
        raise refused(f"an array of shape {list(array.shape)} is not broadcast to {list(extents)}", code="bad_argument")
    return array._view(graph.broadcast(array.node, extents))


def _diagonal(a: Traced, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
    first, second = _axes((axis1,), a.ndim, "diagonal") + _axes((axis2,), a.ndim, "diagonal")
    low, high = max(-offset, 0), max(offset, 0)
    count = min(a.shape[first] - low, a.shape[second] - high)
    if first == second or count < 1:
        raise refused(f"the diagonal {offset} of an array of shape {list(a.shape)} has no elements", code="bad_argument")
    others = [dim for dim in range(a.ndim) if dim not in (first, second)]
    place = {dim: k for k, dim in enumerate(others)}
    indices = [Index(0, {place[dim]: 1}) if dim in place else Index(low if dim == first else high, {len(others): 1}) for dim in range(a.ndim)]
    return a._view(graph.view(a.node, [a.shape[dim] for dim in others] + [count], indices))


def _sliding_window_view(x: Traced, window_shape, axis=None, *, subok: bool = False, writeable: bool = False) -> Traced:
    windows = list(window_shape) if isinstance(window_shape, Iterable) else [window_shape]
    dims = _axes(axis, x.ndim, "sliding_window_view")
    if len(dims) != len(windows) or any(not 0 < n <= x.shape[dim] for dim, n in zip(dims, windows, strict=False)):
        raise refused(f"windows of {windows} in an array of shape {list(x.shape)}", code="bad_argument")
    shape = list(x.shape)
    indices = [Index(0, {dim: 1}) for dim in range(x.ndim)]
    for k, (dim, n) in enumerate(zip(dims, windows, strict=True)):
        shape[dim] -= n - 1
        indices[dim].factors[x.ndim + k] = 1
    return x._view(graph.view(x.node, shape + windows, indices))


def _clip(a: Traced, a_min=None, a_max=None, out=None, *, min=None, max=None) -> Traced:
    _no_options("clip", out=out)
    low, high = (one if two is None or two is np._NoValue else two for one, two in ((a_min, min), (a_max, max)))
    if low is not None and low is not np._NoValue:
        a = np.maximum(a, low)
    return np.minimum(a, high) if high is not None and high is not np._NoValue else a


def _where(recorder: Recorder, condition, x=None, y=None) -> Traced:
    if x is None or y is None:
        raise refused("np.where without both arrays says at which indices something holds")
    then, other = (recorder.node(one, "np.where") for one in (x, y))
    if isinstance(condition, Comparison):
        chosen = graph.chosen((condition.op, condition.left, condition.right), then, other, "np.where")
    elif isinstance(condition, Traced):
        raise refused("np.where chooses by the elements of a traced array", "it takes comparisons and constant arrays")
    else:
        floating = recorder.floating
        mask = recorder.constant(np.asarray(condition) != 0)
        recorder.floating = floating
        chosen = graph.chosen(mask, then, other, "np.where")
    return Traced(chosen, recorder)


def _einsum(recorder: Recorder, *operands, out=None, optimize=None, **options) -> Traced:
    _no_options("np.einsum", out=out, **options)
    if not operands or not isinstance(operands[0], str):
        raise refused("np.einsum without subscripts as a text")
    nodes = [recorder.node(one, "np.einsum") for one in operands[1:]]
    return Traced(einsum(operands[0], nodes), recorder)


def einsum(subscripts: str, nodes: Sequence[Node]) -> Node:
    """\\param subscripts  as NumPy reads them, with ellipses"""
    text = subscripts.replace(" ", "")
    given, arrow, wanted = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(nodes):
        raise refused(f"np.einsum has {len(terms)} subscripts, {subscripts!r}, for {len(nodes)} arrays", code="bad_argument")

    def labels(term: str, rank: int) -> list[Any]:
        before, dots, behind = term.partition("...")
        named = len(before) + len(behind)
        if any(one not in string.ascii_letters for one in before + behind) or named > rank or (not dots and named != rank):
            raise refused(f"np.einsum takes subscripts {subscripts!r}, of which {term!r} says nothing of an array of rank {rank}", code="bad_argument")
        return [*before, *(k - (rank - named) for k in range(rank - named)), *behind]

    all_labels = [labels(term, len(node.shape)) for term, node in zip(terms, nodes, strict=True)]
    numbered = sorted({one for found in all_labels for one in found if isinstance(one, int)})
    named = [one for found in all_labels for one in found if isinstance(one, str)]
    if arrow:
        before, dots, behind = wanted.partition("...")
        out = [*before, *(numbered if dots else ()), *behind]
    else:
        out = [*numbered, *sorted(one for one in set(named) if named.count(one) == 1)]
    if len(set(out)) < len(out) or any(one not in named and one not in numbered for one in out):
        raise refused(f"np.einsum has a result with subscripts {wanted!r}", code="bad_argument")
    return graph.contract(list(zip(nodes, all_labels, strict=True)), out, "np.einsum")


def _tensordot(recorder: Recorder, a, b, axes=2) -> Traced:
    x, y = recorder.node(a, "np.tensordot"), recorder.node(b, "np.tensordot")
    if isinstance(axes, Iterable):
        first, second = (_axes(one, len(node.shape), "tensordot") for one, node in zip(axes, (x, y), strict=True))
    else:
        first, second = tuple(range(len(x.shape) - axes, len(x.shape))), tuple(range(axes))
    return Traced(_summed_over(x, first, y, second, "np.tensordot"), recorder)


def _summed_over(x: Node, first: Sequence[int], y: Node, second: Sequence[int], what: str) -> Node:
    if len(first) != len(second) or any(x.shape[i] != y.shape[k] for i, k in zip(first, second, strict=True)):
        raise refused(f"{what} of arrays of shapes {list(x.shape)} and {list(y.shape)} over dimensions {list(first)} and {list(second)}",
                      code="bad_argument")
    left = [("sum", first.index(dim)) if dim in first else ("x", dim) for dim in range(len(x.shape))]
    right = [("sum", second.index(dim)) if dim in second else ("y", dim) for dim in range(len(y.shape))]
    return graph.contract([(x, left), (y, right)], [one for one in left + right if one[0] != "sum"], what)


def _dot(recorder: Recorder, a, b, out=None) -> Traced:
    _no_options("np.dot", out=out)
    x, y = recorder.node(a, "np.dot"), recorder.node(b, "np.dot")
    if not x.shape or not y.shape:
        return Traced(graph.elementwise("mul", x, y, what="np.dot"), recorder)
    return Traced(_summed_over(x, (len(x.shape) - 1,), y, (max(len(y.shape) - 2, 0),), "np.dot"), recorder)


def _inner(recorder: Recorder, a, b) -> Traced:
    x, y = recorder.node(a, "np.inner"), recorder.node(b, "np.inner")
    if not x.shape or not y.shape:
        return Traced(graph.elementwise("mul", x, y, what="np.inner"), recorder)
    return Traced(_summed_over(x, (len(x.shape) - 1,), y, (len(y.shape) - 1,), "np.inner"), recorder)


def _outer(recorder: Recorder, a, b, out=None) -> Traced:
    _no_options("np.outer", out=out)
    x, y = (graph.reshape(recorder.node(one, "np.outer"), (recorder.node(one, "np.outer").size,), "np.outer") for one in (a, b))
    return Traced(graph.contract([(x, ["x"]), (y, ["y"])], ["x", "y"], "np.outer"), recorder)


def _correlate(recorder: Recorder, a, v, mode: str = "valid") -> Traced:
    x, y = recorder.node(a, "np.correlate"), recorder.node(v, "np.correlate")
    if mode != "valid" or len(x.shape) != 1 or len(y.shape) != 1 or x.size < y.size:
        raise refused("np.correlate is traced of vectors, the longer first, with mode 'valid'")
    windows = graph.view(x, (x.size - y.size + 1, y.size), [Index(0, {0: 1, 1: 1})])
    return Traced(graph.contract([(windows, ["i", "k"]), (y, ["k"])], ["i"], "np.correlate"), recorder)


def _like(value: Any) -> Callable:
    def made(recorder: Recorder, a, fill_value=None, dtype=None, order="K", subok=True, shape=None, *, device=None) -> Traced:
        _no_options("a function *_like", shape=shape)
        number = value if value is not None else fill_value
        return Traced(graph.broadcast(recorder.node(number, "np.full_like"), recorder.node(a, "np.full_like").shape), recorder)

    return made


def _norm(recorder: Recorder, x, ord=None, axis=None, keepdims=False) -> Traced:
    traced = _traced(recorder, x, "norm")
    if ord not in (None, 2, "fro") or (ord == 2 and axis is None and traced.ndim != 1) or isinstance(axis, tuple):
        raise refused("np.linalg.norm is traced of vectors, with ord=2")
    return np.sqrt(_fold(traced * traced, "sum", axis, keepdims))


def _folded(op: str, what: str) -> Callable:
    def called(recorder: Recorder, a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None) -> Traced:
        _no_options(what, dtype=dtype, out=out, initial=initial, where=where)
        return _fold(_traced(recorder, a, what), op, axis, keepdims)

    return called


def _greatest(op: str, what: str) -> Callable:
    folded = _folded(op, what)
    return lambda recorder, a, axis=None, out=None, keepdims=False, initial=None, where=None: folded(
        recorder, a, axis, None, out, keepdims, initial, where)


def _method(name: str) -> Callable:
    def called(recorder: Recorder, a, *args, where=None, **kwargs) -> Any:
        _no_options(f"np.{name}", where=where)
        kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
        return getattr(_traced(recorder, a, name), name)(*args, **kwargs)

    return called


_FUNCTIONS: dict[Any, Callable] = {
    np.sum: _folded("sum", "np.sum"), np.max: _greatest("greatest", "np.max"), np.min: _greatest("least", "np.min"),
    np.amax: _greatest("greatest", "np.amax"), np.amin: _greatest("least", "np.amin"),
    np.mean: _method("mean"), np.var: _method("var"), np.std: _method("std"), np.trace: _method("trace"), np.copy: _method("copy"),
    np.transpose: _takes(0)(_transpose), np.swapaxes: _takes(0)(_swapaxes), np.moveaxis: _takes(0)(_moveaxis),
    np.reshape: _takes(0)(_reshape), np.ravel: _method("ravel"), np.squeeze: _takes(0)(_squeeze), np.expand_dims: _takes(0)(_expand_dims),
    np.broadcast_to: _takes(0)(_broadcast_to), np.diagonal: _takes(0)(_diagonal), np.clip: _takes(0)(_clip),
    np.lib.stride_tricks.sliding_window_view: _takes(0)(_sliding_window_view),
    np.where: _where, np.einsum: _einsum, np.tensordot: _tensordot, np.dot: _dot, np.inner: _inner, np.outer: _outer,
    np.correlate: _correlate, np.linalg.norm: _norm, np.take: _take,
    np.zeros_like: _like(0), np.ones_like: _like(1), np.full_like: _like(None),
    np.shape: lambda recorder, a: a.shape, np.ndim: lambda recorder, a: a.ndim, np.size: lambda recorder, a, axis=None: (
        a.size if axis is None else a.shape[axis]),
}


def traced(function: Callable, shapes: dict[str, tuple[int, ...]], given: Sequence[Any]) -> tuple[Any, Recorder]:
    """What a function hands back for traced arrays, and what else it did."""
    del given  # of arrays the shape alone counts
    recorder = Recorder()
    arrays = [Traced(Node("input", shape, (), name), recorder) for name, shape in shapes.items()]
    try:
        return function(*arrays), recorder
    except TypeError as error:
        if "JAX" not in str(error):
            raise
        raise refused("a function of JAX is given a traced array of NumPy", "framework='jax' traces functions of JAX", place=raised_at(error)) from error
