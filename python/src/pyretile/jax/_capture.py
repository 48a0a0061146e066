"""The texts around XLA's partitioner, of one compilation of a user's program."""

from __future__ import annotations

import contextlib
import inspect
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

DUMPS = {"xla_dump_hlo_pass_re": "spmd.*", "xla_dump_large_constants": True}
TEXTS = ("*.before_spmd-partitioning*.txt", "*.after_spmd-partitioning*.txt", "*after_optimizations.txt")


@dataclass(frozen=True)
class Capture:
    """What one compilation left. `before` and `after` are of the partitioner, and None for a program on one device; `optimized` is what
    would run."""

    name: str
    devices: int
    before: str | None
    after: str | None
    optimized: str | None
    lowered: object
    compiled: object
    lower_seconds: float
    compile_seconds: float


def is_array(leaf):
    return isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct, np.ndarray, np.generic))


def is_given(path, leaf):
    """Whether a leaf of (function, args, kwargs) is an argument of the program. A number of Python is if it is an argument by itself:
    those inside of modules are settings."""
    return is_array(leaf) or (isinstance(leaf, (bool, int, float, complex)) and len(path) == 2 and path[0].idx > 0)


def origin(function):
    """(file, line) where a function is defined, or None: of the function under `jit`, `partial` and other wrappers."""
    seen = set()
    while id(function) not in seen:
        seen.add(id(function))
        function = getattr(function, "__wrapped__", None) or getattr(function, "func", None) or getattr(function, "__func__", None) or function
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        function = getattr(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else None


def lowered(function, args, kwargs):
    """The program as JAX lowers it for these arguments.

    `function` is one that was jitted, a plain function, a callable pytree such as a module of Equinox or Flax, or what `.trace`
    or `.lower` returned. Leaves of the arguments that are no arrays are left as they are: the program is made for them. Such results are
    left out.
    """
    if hasattr(function, "compile") and hasattr(function, "as_text"):
        return alone(function)
    if hasattr(function, "lower"):
        traced = hasattr(function, "jaxpr")  # it has its arguments
        return alone(function.lower() if traced else function.lower(*args, **kwargs))
    paths, tree = jax.tree_util.tree_flatten_with_path((function, args, kwargs))
    leaves = [leaf for _, leaf in paths]
    if leaves and leaves[0] is function and all(is_array(leaf) or isinstance(leaf, (bool, int, float, complex)) for leaf in leaves[1:]):
        return jax.jit(function).lower(*args, **kwargs)
    # A module's weights would be constants of the program if it were jitted as it stands.
    given = [k for k, one in enumerate(paths) if is_given(*one)]

    def program(*arrays):
        whole = list(leaves)
        for k, one in zip(given, arrays, strict=True):
            whole[k] = one
        again, *rest = jax.tree_util.tree_unflatten(tree, whole)
        made = again(*rest[0], **rest[1])
        parts = jax.tree_util.tree_leaves(made)
        return made if all(map(is_array, parts)) else [one for one in parts if is_array(one)]
    program.__name__ = program.__qualname__ = re.sub(r"\W", "_", getattr(function, "__name__", type(function).__name__))
    return jax.jit(program).lower(*[leaves[k] for k in given])


def alone(stage):
    """JAX's own object: Equinox wraps it."""
    inner = getattr(stage, "lowered", None)
    return inner if hasattr(inner, "compile") else stage


@contextlib.contextmanager
def no_cache():
    """Without the cache of compiled programs, which would leave no texts, and which would keep this compilation for others."""
    from jax.experimental.compilation_cache import compilation_cache
    held = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    # JAX remembers whether there is a cache, and asks its setting no more.
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", held)
        compilation_cache.reset_cache()


def attribute(module, name, default):
    attributes = module.operation.attributes
    return attributes[name].value if name in attributes else default


def texts_in(folder, name):
    """The texts of the module: XLA may compile others on the way."""
    found = []
    for pattern in TEXTS:
        paths = sorted(folder.glob(pattern))
        named = [one for one in paths if f".{name}." in one.name]
        path = (named or paths or [None])[0]
        found.append(path and path.read_text())
    return found


def capture(function, args, kwargs, options):
    """Compiles the program anew, with its texts written to a folder that is removed again."""
    begun = time.monotonic()
    low = lowered(function, args, kwargs)
    module = low.compiler_ir("stablehlo")
    name, devices = str(attribute(module, "sym_name", "")), int(attribute(module, "mhlo.num_partitions", 1))
    middle = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pyretile-") as folder, no_cache():
        compiled = low.compile(compiler_options={**DUMPS, **options, "xla_dump_to": folder})
        done = time.monotonic()
        before, after, optimized = texts_in(Path(folder), name)
    if devices > 1 and not (before and after):
        raise RuntimeError("XLA wrote no texts from around its partitioner")
    return Capture(name, devices, before if devices > 1 else None, after if devices > 1 else None, optimized, low, compiled, middle - begun, done - middle)
