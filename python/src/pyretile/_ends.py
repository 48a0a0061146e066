"""Ends, meshes and types as the words that the program reads, whatever object says them.

Objects are known by what they have, so neither JAX nor PyTorch is imported here.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any

from . import _retile
from ._errors import Refused, raised


def _line(value: Any) -> str:
    """Its ``repr()`` on one line, as the caret stands below it."""
    return " ".join(repr(value).split())


def _refused(source: str, value: Any, message: str, *notes: str, at: int | None = None) -> Refused:
    """A value with a caret below it; with `at` below that entry of a sequence."""
    entries = [] if at is None else [_line(one) for one in value]
    shown = f"[{', '.join(entries)}]" if entries else _line(value)
    begin = 0 if at is None else 1 + sum(len(one) + 2 for one in entries[:at])
    length = len(shown) if at is None else len(entries[at])
    if begin + length > 200:
        shown, begin, length = "..." + shown[begin:begin + 197], 3, min(length, 197)
    elif len(shown) > 200:
        shown = shown[:197] + "..."
    length = min(length, len(shown) - begin)
    text = f"error: {source}: {message}\n  {shown}\n  {' ' * begin}{'^' * length}\n"
    text += "".join(f"note: {note}\n" for note in notes)
    span = tuple(len(shown[:end].encode()) for end in (begin, begin + length))
    return Refused("bad_argument", message, source, shown, span, notes, text)


def _is_jax_mesh(value: Any) -> bool:
    return hasattr(value, "axis_names") and hasattr(value, "shape")


def _is_torch_mesh(value: Any) -> bool:
    return hasattr(value, "mesh_dim_names") and hasattr(value, "mesh")


# An axis is called by its name in the mesh if the names are plain words, and by its number otherwise.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


_WORD = _PLAIN | frozenset("-.")


def _is_word(name: str) -> bool:
    """Whether an axis of that name stands in a mesh as it is."""
    return not name or (set(name) <= _WORD and (name[0].isalpha() or name[0] == "_"))


def axis_names(mesh: Any) -> tuple[str, ...]:
    """What the axes of a mesh of PyTorch are called."""
    names = mesh.mesh_dim_names or ()
    plain = len(names) == mesh.ndim and all(name and set(name) <= _PLAIN and not name[0].isdigit() for name in names)
    return tuple(names) if plain else tuple(f"a{k}" for k in range(mesh.ndim))


def _is_placement(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("is_shard", "is_replicate", "is_partial"))


def _order_text(devices: Sequence[int]) -> str | None:
    """The order that is not 0, 1, 2, .., as the program reads it."""
    return None if list(devices) == list(range(len(devices))) else f"[{','.join(map(str, devices))}]"


def _axes_words(axes: Iterable[tuple[Any, Any]]) -> str:
    """Axes of any names as a mesh is written: in quotes where a name is no plain word."""
    return ",".join(f"{name}:{size}" if _is_word(str(name)) else f'"{name}":{size}' for name, size in axes)


def _mesh_words(mesh: Any, source: str) -> tuple[str, str | None]:
    """A mesh and the order of its devices."""
    if isinstance(mesh, str):
        return mesh, None
    if isinstance(mesh, dict):
        return _axes_words(mesh.items()), None
    if _is_torch_mesh(mesh):
        table = mesh.mesh
        words = ",".join(f"{name}:{size}" for name, size in zip(axis_names(mesh), table.shape, strict=True))
        return words, _order_text(table.flatten().tolist())
    if _is_jax_mesh(mesh):
        words = _axes_words((name, mesh.shape[name]) for name in mesh.axis_names)
        if not hasattr(mesh, "devices") or getattr(mesh, "_is_abstract", False):
            return words, None
        try:
            devices = [device.id for device in mesh.devices.flatten()]
        except (AttributeError, ValueError):  # an abstract mesh has none
            return words, None
        return words, _order_text(devices)
    raise _refused(source, mesh, "neither a mesh of JAX or PyTorch, nor a text or a dict of axes",
                   "write mesh='x:4,y:6' or mesh={'x': 4, 'y': 6}")


def _spec_words(spec: Any) -> str:
    """A PartitionSpec of JAX."""
    def entry(axes: Any) -> str:
        if axes is None:
            return "None"
        if isinstance(axes, str):
            return repr(axes)
        if isinstance(axes, (tuple, list)):
            return "(" + "".join(f"{axis!r}, " for axis in axes) + ")" if axes else "None"
        return str(axes)  # UNCONSTRAINED, which is refused by its name
    words = [entry(axes) for axes in spec]
    for kind in ("unreduced", "reduced"):
        if axes := getattr(spec, kind, None):
            words.append(f"{kind}={{{', '.join(repr(axis) for axis in sorted(axes))}}}")
    return f"P({', '.join(words)})"


def _in_order(array: Any) -> Iterable[str]:
    """The placements of a DTensor. It may be cut by its axes in another order than theirs, which its spec alone says."""
    spec = getattr(array, "_spec", array)
    if not getattr(spec, "shard_order", None):
        return map(repr, array.placements)
    from .torch._words import placement_words
    return placement_words(spec)


class End:
    """One end: its words, and the mesh, order and shape where its object says them."""

    def __init__(self, value: Any, source: str):
        self.mesh: tuple[str, str | None] | None = None
        self.shape: Any = None
        if isinstance(value, str):
            self.words = value
        elif hasattr(value, "placements") and hasattr(value, "device_mesh"):  # a DTensor
            self.words = self._placements(_in_order(value))
            self.mesh = _mesh_words(value.device_mesh, source)
            self.shape = tuple(value.shape)
        elif hasattr(value, "spec") and hasattr(value, "mesh"):  # a NamedSharding
            self.words = _spec_words(value.spec)
            self.mesh = _mesh_words(value.mesh, source)
        elif hasattr(value, "sharding") and hasattr(value, "shape"):  # an array of JAX
            inner = End(value.sharding, source)
            self.words, self.mesh, self.shape = inner.words, inner.mesh, tuple(value.shape)
        elif type(value).__name__ == "PartitionSpec":
            self.words = _spec_words(value)
        elif _is_placement(value):
            self.words = self._placements(map(repr, [value]))
        elif isinstance(value, (tuple, list)) and value and all(map(_is_placement, value)):
            self.words = self._placements(map(repr, value))
        else:
            raise _refused(source, value, "no sharding",
                           "a text in any notation, a NamedSharding or PartitionSpec of JAX, placements of PyTorch, "
                           "or an array that has one")

    @staticmethod
    def _placements(words: Iterable[str]) -> str:
        return f"[{', '.join(words)}]"


def _whole(number: Any) -> str:
    if isinstance(number, bool):
        raise TypeError("a truth value is no number here")
    return str(operator.index(number))


def shape_words(shape: Any, source: str = "shape") -> str:
    if isinstance(shape, str):
        return shape
    try:
        return ",".join(_whole(extent) for extent in shape) or "[]"
    except (TypeError, ValueError):
        raise _refused(source, shape, "no shape", "write shape=(16, 8)") from None


def order_words(order: Any, source: str = "order") -> str:
    if isinstance(order, str):
        return order
    try:
        return f"[{','.join(_whole(device) for device in order)}]"
    except (TypeError, ValueError):
        raise _refused(source, order, "no order of devices", "write order=[3, 1, 0, 2]") from None


def dtype_words(dtype: Any) -> str:
    """``f32``, ``float32``, ``torch.float32``, numpy's and JAX's types."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None)
    if isinstance(name, str):
        return name
    if isinstance(dtype, type):
        return dtype.__name__
    inner = getattr(dtype, "dtype", None)
    return str(inner if inner is not None else dtype)


def bytes_words(limit: Any, name: str = "memory_limit") -> str:
    """A number of bytes, or a text such as ``80GB``."""
    if isinstance(limit, str):
        return limit
    if isinstance(limit, bool) or not hasattr(limit, "__index__"):
        raise _refused(name, limit, "no number of bytes", f"write {name}=80_000_000 or '80GB'")
    return str(limit.__index__())


def bytes_of(limit: Any, name: str = "memory_limit", *notes: str) -> int:
    """The number of bytes that the program reads there."""
    problem, count = _retile.bytes_of(bytes_words(limit, name).encode("utf-8", "replace").decode(), name)
    if problem is not None:
        raise raised((*problem[:6], (*problem[6], *notes), problem[7] + "".join(f"note: {one}\n" for one in notes)))
    return count


def options_of(src: Any, dst: Any, *, mesh: Any, order: Any, mesh_to: Any, order_to: Any,
               shape: Any) -> list[tuple[str, str]]:
    """The options of the command line that say a problem. What an argument says goes before what an object says."""
    start = src if isinstance(src, End) else End(src, "src")
    out = [("FROM", start.words)]
    end = None
    if dst is not None:
        end = dst if isinstance(dst, End) else End(dst, "dst")
        out.append(("TO", end.words))
    at_start = _mesh_words(mesh, "mesh") if mesh is not None else start.mesh
    at_end = _mesh_words(mesh_to, "mesh_to") if mesh_to is not None else (end.mesh if end else None)
    if at_start is None and end is not None and end.mesh is not None:
        at_start, at_end = end.mesh, None if mesh_to is None else at_end
    if order is not None:
        at_start = (at_start[0] if at_start else "", order_words(order))
    if at_start is not None:
        out.append(("--mesh", at_start[0]))
        if at_start[1] is not None:
            out.append(("--order", at_start[1]))
    if order_to is not None:
        at_end = (at_end[0] if at_end else (at_start[0] if at_start else ""), order_words(order_to, "order_to"))
    if at_end is not None and at_end != at_start:
        out.append(("--mesh-to", at_end[0]))
        if at_end[1] is not None:
            out.append(("--order-to", at_end[1]))
    if shape is None:
        shape = start.shape if start.shape is not None else (end.shape if end else None)
    if shape is not None:
        out.append(("--shape", shape_words(shape)))
    return out


def text_or_path(value: Any, name: str) -> tuple[str, list[tuple[str, str]]]:
    """The argument that stands for a text, and the text of that name, if it is one."""
    if isinstance(value, os.PathLike):
        path = os.fsdecode(value)
        path = path if os.path.isabs(path) else os.path.join(".", path)  # which is neither stdin nor the name of a text
        if not os.path.isfile(path):  # the program says what is wrong with it
            return path, []
        with open(path, "rb") as file:  # once: an answer is of what the file held then
            return path, [(path, file.read().decode("utf-8", "replace"))]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return name, [(name, value)]
    if hasattr(value, "to_json"):
        return name, [(name, value.to_json())]
    raise _refused(name, value, "neither a text nor a path", "a str is a text; pathlib.Path(..) is a file")
