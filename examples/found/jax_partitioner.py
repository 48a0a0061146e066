"""Five small programs of which XLA's partitioner makes something else than they say, each run on devices and on one.

    python jax_partitioner.py

It needs JAX alone, and prints what both made. The four devices are threads of the CPU. No program warns.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4 " + os.environ.get("XLA_FLAGS", "")

import jax
import numpy as np
from jax import lax, numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

DEVICES = np.array(jax.devices()[:4])  # XLA_FLAGS may ask for more
PAIR = Mesh(DEVICES[:2], ("x",))
SQUARE = Mesh(DEVICES.reshape(2, 2), ("x", "y"))


def scattered(values, rows):
    """Three values are added at rows 1, 2 and 3. Row 0 gets the fourth."""
    return jnp.zeros(4).at[rows].add(values[:3])


def convolved(signal, kernel):
    """The kernel is cut along its window, and nothing is cut along y: every number comes twice."""
    return lax.conv_general_dilated(signal, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


def pooled(values):
    """The gradient of sums of maxima of neighbours. At a device's end what goes back is counted from the wrong window."""
    def total(values):
        return jnp.sum(lax.reduce_window(values, -jnp.inf, lax.max, (2,), (1,), "SAME") * jnp.arange(1.0, 5.0))
    return jax.grad(total)(values)


def updated(cache, value, at):
    """An index beyond the end is clamped, so the last number is replaced. On two devices none is."""
    return lax.dynamic_update_slice(cache, value, (at,))


def running(values):
    """The maximum is taken over the zeros that the sum needs before its first number."""
    return jnp.cumsum(values), lax.cummax(values)


PROGRAMS = [
    (scattered, SQUARE, [P("x"), P()], [np.arange(1, 5, dtype=np.float32), np.arange(1, 4)]),
    (convolved, SQUARE, [P(None, "x"), P("x")], [np.ones((1, 4, 1), np.float32), np.ones((2, 1, 1), np.float32)]),
    (pooled, PAIR, [P("x")], [np.array([3, 1, 4, 1.5], np.float32)]),
    (updated, PAIR, [P("x"), P(), P()], [np.arange(2, dtype=np.float32), np.array([7], np.float32), np.int32(2)]),
    (running, PAIR, [P("x")], [np.array([-1, -2], np.float32)]),
]

for function, mesh, specs, arguments in PROGRAMS:
    cut = jax.jit(function, in_shardings=tuple(NamedSharding(mesh, spec) for spec in specs))(*arguments)
    whole = jax.jit(function)(*arguments)
    pairs = list(zip(jax.tree_util.tree_leaves(cut), jax.tree_util.tree_leaves(whole)))
    said = "right" if all(np.array_equal(one, other) for one, other in pairs) else "wrong"
    made, wanted = ([np.ravel(one).tolist() for one in both] for both in zip(*pairs))
    print(f"{function.__name__}: {said}: {made} on {mesh.size} devices, {wanted} on one")
