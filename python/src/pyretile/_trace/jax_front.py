"""Functions of JAX: their jaxpr, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import graph
from .graph import Index, Node
from .numpy_front import Recorder, power, tanh
from .place import Place, Tracing, is_users, raised_at, refused

Value = Any  # a Node, a comparison (op, left, right), or an array that is Known

_BINARY = {"add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "max", "min": "min"}
_FOLDED = {"reduce_sum": "sum", "reduce_max": "greatest", "reduce_min": "least"}
_COMPARED = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_SAME = ("stop_gradient", "copy", "copy_p", "reduce_precision", "optimization_barrier", "sharding_constraint", "pvary")


def _of(op: str, *args: Node) -> Node:
    return graph.elementwise(op, *args)


def _place(equation: Any) -> Place | None:
    traceback = equation.source_info.traceback
    frames = traceback.frames if traceback else []
    found = next((one for one in frames if is_users(one.file_name)), None)
    return Place(found.file_name, found.line_num, found.function_name) if found else None


class Known:
    """An array that depends on no argument: JAX works out what is done to such arrays alone."""

    def __init__(self, value: Any):
        self.value = value


class Wrapped:
    """Indices that would count from the end below 0, which those of statements never are."""

    def __init__(self, node: Node):
        self.node = node


class Reader:
    """Makes nodes of equations."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder

    def values(self, jaxpr: Any, constants: Sequence[Any], args: Sequence[Value]) -> list[Value]:
        known: dict[Any, Value] = dict(zip(jaxpr.constvars, map(Known, constants), strict=True))
        known.update(zip(jaxpr.invars, args, strict=True))

        def value(one: Any) -> Value:
            return Known(one.val) if hasattr(one, "val") else known[one]

        for equation in jaxpr.eqns:
            tracing = Tracing.current()
            before = tracing.place
            tracing.place = _place(equation) or before
            out = self.equation(equation, [value(one) for one in equation.invars])
            tracing.place = before
            known.update(zip(equation.outvars, out, strict=True))
        return [value(one) for one in jaxpr.outvars]

    def node(self, value: Value) -> Value:
        if not isinstance(value, Known):
            return value
        array = _array(value.value)
        if array.dtype.kind not in "biuf":
            array = array.astype("float32")  # of JAX's own types
        return self.recorder.constant(array)

    def equation(self, equation: Any, args: list[Value]) -> list[Value]:
        name, params = equation.primitive.name, equation.params
        if all(isinstance(one, Known) for one in args):
            return self.worked_out(equation, [one.value for one in args])
        inner = next((params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params), None)
        if inner is not None and name not in ("scan", "while", "cond", "shard_map", "pallas_call"):
            closed = hasattr(inner, "consts")
            return self.values(inner.jaxpr if closed else inner, inner.consts if closed else [], args)
        args = [self.node(one) for one in args]
        if name in _SAME or (name == "convert_element_type" and _is_of_integers(equation)):
            return args
        if any(isinstance(one, Wrapped) for one in args):
            if name not in ("gather", "broadcast_in_dim", "reshape", "squeeze", "expand_dims"):
                raise refused(f"{name} of indices, which are read and not worked with")
            made = self.made(name, params, [one.node if isinstance(one, Wrapped) else one for one in args])
            return [made if name == "gather" else Wrapped(made)]
        return [self.made(name, params, args)]

    @staticmethod
    def worked_out(equation: Any, args: list[Any]) -> list[Value]:
        primitive = equation.primitive
        found = primitive.get_bind_params(equation.params)
        functions, params = found if isinstance(found, tuple) else ((), found)  # releases before 0.12 have both
        out = primitive.bind(*functions, *args, **params)
        return [Known(one) for one in (out if primitive.multiple_results else [out])]

    def made(self, name: str, params: dict[str, Any], args: list[Value]) -> Value:
        known = _PRIMITIVES.get(name)
        comparison = next((one for one in args if isinstance(one, tuple)), None)
        if name in _COMPARED and comparison is None:
            return (_COMPARED[name], *args)
        if name == "select_n" and len(args) == 3 and _counts_from_the_end(*args):
            return Wrapped(args[1])
        if name == "select_n" and len(args) == 3:
            return graph.chosen(args[0], args[2], args[1], "where")
        if comparison is not None and name == "broadcast_in_dim":
            op, *both = comparison
            shape = graph.broadcast_shapes(op, *(one.shape for one in both))
            return (op, *(_broadcast_in_dim(params, graph.broadcast(one, shape)) for one in both))
        if known is None or comparison is not None:
            raise refused(f"the primitive {name} of JAX is not traced")
        return known(params, *args)


def _array(value: Any) -> Any:
    import numpy

    return numpy.asarray(value)


def _is_of_integers(equation: Any) -> bool:
    return all(one.aval.dtype.kind in "iu" for one in (*equation.invars, *equation.outvars))


def _counts_from_the_end(condition: Value, other: Value, then: Value) -> bool:
    """Whether it is c where c >= 0, and else c and a number."""
    if not isinstance(condition, tuple) or not isinstance(other, Node) or not isinstance(then, Node) or then.op != "add":
        return False
    op, left, right = condition
    is_below_0 = op == "less" and graph.same(left, other) and right.is_number and right.data == 0
    return is_below_0 and any(graph.same(one, other) and two.is_number for one, two in (then.args, then.args[::-1]))


def _gather(params: dict[str, Any], x: Node, indices: Node) -> Node:
    """Of whole rows along one dimension. Indices are those of the array, so that modes do not matter."""
    numbers = params["dimension_numbers"]
    dims = tuple(numbers.collapsed_slice_dims)
    whole = all(size == (1 if dim in dims else extent) for dim, (size, extent) in enumerate(zip(params["slice_sizes"], x.shape, strict=True)))
    batched = getattr(numbers, "operand_batching_dims", ()) or getattr(numbers, "start_indices_batching_dims", ())
    if len(dims) != 1 or tuple(numbers.start_index_map) != dims or not whole or batched or indices.shape[-1:] != (1,):
        raise refused("a gather of other parts of an array than of whole rows along one dimension")
    dim, rank = dims[0], len(indices.shape) - 1
    out = graph.gather(x, dim, graph.drop(indices, [rank]), "a gather")
    offsets, batches = tuple(numbers.offset_dims), iter(range(dim, dim + rank))
    own = iter(k for k in range(len(out.shape)) if not dim <= k < dim + rank)
    return graph.transpose(out, [next(own) if k in offsets else next(batches) for k in range(len(out.shape))])


def _dot_general(params: dict[str, Any], x: Node, y: Node) -> Node:
    (first, second), (batch_x, batch_y) = params["dimension_numbers"]
    left: list[Any] = [("x", dim) for dim in range(len(x.shape))]
    right: list[Any] = [("y", dim) for dim in range(len(y.shape))]
    batch = [("batch", k) for k in range(len(batch_x))]
    for kind, dims_x, dims_y in (("sum", first, second), ("batch", batch_x, batch_y)):
        for k, (i, j) in enumerate(zip(dims_x, dims_y, strict=True)):
            left[i] = right[j] = (kind, k)
    out = batch + [one for one in left if one[0] == "x"] + [one for one in right if one[0] == "y"]
    return graph.contract([(x, left), (y, right)], out, "dot_general")


def _broadcast_in_dim(params: dict[str, Any], x: Node, *_) -> Node:
    dims = params["broadcast_dimensions"]
    return graph.view(x, params["shape"], [Index() if extent == 1 else Index(0, {dim: 1}) for dim, extent in zip(dims, x.shape, strict=True)])


def _slice(params: dict[str, Any], x: Node) -> Node:
    strides = params["strides"] or (1,) * len(x.shape)
    counts = [-(-(end - begin) // stride) for begin, end, stride in zip(params["start_indices"], params["limit_indices"], strides, strict=True)]
    if any(not 1 <= stride <= graph.MOST_STRIDE for stride in strides) or any(count < 1 for count in counts):
        raise refused(f"a slice with strides {list(strides)} that has {counts} elements; statements have strides from 1 to {graph.MOST_STRIDE}")
    return graph.take(x, params["start_indices"], counts, strides)


def _convert(params: dict[str, Any], x: Node) -> Node:
    kind = _array(0).astype(params["new_dtype"]).dtype.kind
    if kind != "f" and not (kind == "V" or x.is_number):  # V: bfloat16 and others of JAX alone
        raise refused(f"a conversion to {params['new_dtype']} rounds, and statements have no such operation")
    return x


def _reshape(params: dict[str, Any], x: Node, *_) -> Node:
    if params.get("dimensions") is not None:
        raise refused("a reshape in another order of dimensions")
    return graph.reshape(x, params["new_sizes"])


def _integer_pow(params: dict[str, Any], x: Node) -> Node:
    return power(x, params["y"])


def _logistic(params: dict[str, Any], x: Node) -> Node:
    return _of("div", graph.number(1), _of("add", graph.number(1), _of("exp", _of("neg", x))))


def _binary(op: str) -> Callable[..., Node]:
    return lambda params, *args: _of(op, *args)


def _fold(op: str) -> Callable[..., Node]:
    return lambda params, x: graph.fold(op, x, params["axes"])


_PRIMITIVES: dict[str, Callable[..., Node]] = {
    **{name: _binary(op) for name, op in _BINARY.items()},
    **{name: _fold(op) for name, op in _FOLDED.items()},
    "neg": lambda params, x: _of("neg", x), "exp": lambda params, x: _of("exp", x), "sqrt": lambda params, x: _of("sqrt", x),
    "rsqrt": lambda params, x: _of("div", graph.number(1), _of("sqrt", x)), "square": lambda params, x: _of("mul", x, x),
    "abs": lambda params, x: _of("max", x, _of("neg", x)), "tanh": lambda params, x: tanh(x), "logistic": _logistic,
    "integer_pow": _integer_pow, "clamp": lambda params, low, x, high: _of("min", _of("max", x, low), high),
    "dot_general": _dot_general, "broadcast_in_dim": _broadcast_in_dim, "slice": _slice, "reshape": _reshape,
    "gather": _gather,
    "transpose": lambda params, x: graph.transpose(x, params["permutation"]),
    "squeeze": lambda params, x: graph.drop(x, params["dimensions"]),
    "expand_dims": lambda params, x: graph.insert(x, params["dimensions"]), "convert_element_type": _convert,
}


def traced(function: Callable, shapes: dict[str, tuple[int, ...]], given: Sequence[Any]) -> tuple[Node, Recorder]:
    """The node of what a function hands back. What is given as a shape is float32, and arrays are of their own type."""
    import jax

    types = [getattr(one, "dtype", "float32") for one in given]
    try:
        made = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(shape, one) for shape, one in zip(shapes.values(), types, strict=True)))
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.NonConcreteBooleanIndexError) as error:
        raise refused(f"JAX cannot trace this: {str(error).strip().splitlines()[0]}", place=raised_at(error)) from error
    if len(made.out_avals) != 1:
        raise refused(f"{len(made.out_avals)} arrays are handed back, and statements return one")
    recorder = Recorder()
    recorder.floating = made.out_avals[0].dtype.kind not in "iu"
    inputs = [Node("input", shape, (), name) for name, shape in shapes.items()]
    reader = Reader(recorder)
    out = reader.node(reader.values(made.jaxpr, made.consts, inputs)[0])
    if isinstance(out, tuple):
        raise refused("a comparison is handed back, and statements return numbers")
    return out, recorder
