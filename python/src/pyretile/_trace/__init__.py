"""Functions of arrays as statements: traced, cut among devices, and run."""

from __future__ import annotations

import inspect
import operator
import re
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from .place import Tracing, refused
from .statements import Input, Statements
from .text import Writer

__all__ = ["Input", "Statements", "trace"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WORDS = {"array", "schedule", "tactic", "return", "for", "at"}


def trace(fn: Callable, *shapes_or_arrays: Any, names: Iterable[str] | None = None, framework: str | None = None) -> Statements:
    """Writes down what a function computes on arrays, as statements that ``partition`` cuts among devices.

    The function is called once, with arrays that only note what is done to them. So a branch must not look at elements, and a
    loop becomes as many statements as it has rounds. Traced are + - * / @, powers, ``exp``, ``sqrt``, ``tanh``,
    ``maximum``, ``minimum`` and ``clip``; ``einsum``, ``matmul``, ``dot``, ``tensordot``, ``inner``, ``outer`` and ``correlate``;
    ``sum``, ``max``, ``min``, ``mean``, ``var`` and ``std``; broadcasting, transposes, slices with constant bounds and strides,
    ``sliding_window_view``; ``reshape`` where no dimensions join; ``where`` for a maximum, a minimum or a constant mask;
    ``take`` and ``x[indices]`` with one array of integers, which is an argument: ``run`` takes no others than from 0 to below the
    extent, so none counts from the end.
    Arrays that the function has from elsewhere become inputs that ``run`` fills itself.

    Args:
      fn: a function of NumPy arrays that hands back one array, or one of JAX, whose jaxpr is read.
      shapes_or_arrays: for each argument its shape, ``(7, 5)``, or an array of that shape. Extents are from 1 on. A function of JAX is
        traced with the types of arrays, and with float32 for shapes.
      names: what the inputs are called; by default as the arguments of ``fn``.
      framework: ``"numpy"`` or ``"jax"``; by default it is JAX if ``fn`` is jitted, is given arrays of JAX, or names a module of JAX.

    Returns:
      ``Statements``; ``str()`` is the text ``retile.array/1`` (docs/reference/array.md).

    Raises:
      Refused: something is not traced, or shapes do not fit; the message names the function, with a caret below the line of it.
      TypeError: ``fn`` cannot be called with so many arrays.

    >>> import numpy as np, pyretile as rt
    >>> def softmax(x):
    ...     e = np.exp(x - x.max(axis=-1, keepdims=True))
    ...     return e / e.sum(axis=-1, keepdims=True)
    >>> print(rt.trace(softmax, (8, 16)))
    retile.array/1
    array x[8,16]
    t1[i] max= x[i,j]
    t2[i,j] = exp(x[i,j] - t1[i])
    t3[i] += t2[i,j]
    out[i,j] = t2[i,j] / t3[i]
    return out
    """
    name = getattr(fn, "__name__", type(fn).__name__)
    with Tracing(name):
        shapes = _shapes(fn, shapes_or_arrays, names)
        root, recorder = _front(fn, shapes_or_arrays, framework)(fn, shapes, shapes_or_arrays)
        root = _array_of(root, recorder)
        clash = next((one for one in recorder.constants if one in shapes), None)
        if clash is not None:
            raise refused(f"an input is called {clash}, which arrays from elsewhere are", code="bad_argument")
        arrays = shapes | {one: array.shape for one, array in recorder.constants.items()}
        writer = Writer(root, arrays)
    inputs = tuple(Input(one, shape) for one, shape in shapes.items())
    return Statements(name, writer.text, inputs, tuple(root.shape), recorder.floating, dict(recorder.constants), dict(writer.ranges),
                      dict(writer.longest), frozenset(writer.indices))


def _array_of(root: Any, recorder: Any) -> Any:
    """The one array that a function hands back."""
    from .graph import Node

    if isinstance(root, Node):
        return root
    from .numpy_front import Traced

    if isinstance(root, Traced):
        return root.node
    if isinstance(root, (tuple, list, dict)):
        raise refused(f"a {type(root).__name__} of {len(root)} is handed back, and statements return one array")
    raise refused(f"what is handed back, {type(root).__name__}, depends on no argument")


def _shapes(fn: Callable, given: tuple, names: Iterable[str] | None) -> dict[str, tuple[int, ...]]:
    if not given:
        raise refused("no shapes are given", code="bad_argument")
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if names is None:
        plain = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        several = next((one.name for one in parameters if one.kind == one.VAR_POSITIONAL), "x")
        names = [*plain, *(f"{several}{k}" for k in range(len(given)))][:len(given)]
    names = [str(one) for one in names]
    if len(names) != len(given) or len(set(names)) < len(names):
        raise refused(f"{len(given)} arrays have {len(set(names))} names", code="bad_argument")
    for name in names:
        if not _NAME.match(name) or name in _WORDS:
            raise refused(f"{name!r} is no name of an array in statements", "names=(..) gives others", code="bad_argument")
    return {name: _shape(one, name) for name, one in zip(names, given, strict=True)}


def _shape(value: Any, name: str) -> tuple[int, ...]:
    shape = getattr(value, "shape", value)
    try:
        extents = tuple(operator.index(one) for one in (shape if isinstance(shape, Iterable) else (shape,)))
    except TypeError:
        raise refused(f"{name} is {value!r}, which is neither a shape nor an array", code="bad_argument") from None
    if any(extent < 1 for extent in extents):
        raise refused(f"{name} has shape {list(extents)}; extents are from 1 on", code="bad_argument")
    return extents


def _front(fn: Callable, given: tuple, framework: str | None) -> Callable:
    if framework not in (None, "numpy", "jax"):
        raise refused(f"framework is {framework!r}, and there are 'numpy' and 'jax'", code="bad_argument")
    if framework == "jax" or (framework is None and _is_of_jax(fn, given)):
        from . import jax_front

        return jax_front.traced
    try:
        from . import numpy_front
    except ImportError:
        raise refused("functions are traced with NumPy, which is not installed") from None
    return numpy_front.traced


def _is_of_jax(fn: Callable, given: tuple) -> bool:
    if "jax" not in sys.modules:
        return False
    if any(type(one).__module__.partition(".")[0] in ("jax", "jaxlib") for one in (fn, *given)):
        return True
    return _names_jax(fn, set())


def _names_jax(fn: Any, seen: set[int]) -> bool:
    """Whether a function, or one that it names, names a module or function of JAX."""
    fn = inspect.unwrap(fn) if callable(fn) else fn
    code = getattr(fn, "__code__", None)
    if code is None or id(fn) in seen:
        return False
    seen.add(id(fn))
    closed = [cell.cell_contents for cell in fn.__closure__ or () if _is_filled(cell)]
    codes = [code, *(one for one in code.co_consts if inspect.iscode(one))]
    named = [fn.__globals__[name] for one in codes for name in one.co_names if name in fn.__globals__]
    for value in (*closed, *named):
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
        if str(module).partition(".")[0] in ("jax", "jaxlib") or (inspect.isfunction(value) and _names_jax(value, seen)):
            return True
    return False


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
