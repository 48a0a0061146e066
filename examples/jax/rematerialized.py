"""A reshard for which XLA gathers the whole array, and warns of it; with the argument `stop` the same by way of another sharding.

    XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_pass_re=spmd.* --xla_dump_large_constants=true" python rematerialized.py [stop]

It needs JAX alone, and compares every element. The eight devices are threads of the CPU.
"""

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 " + os.environ.get("XLA_FLAGS", "")

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Auto))
start = NamedSharding(mesh, P("y", None, "x"))
stop = NamedSharding(mesh, P("y", "x", None))
end = NamedSharding(mesh, P(None, ("x", "y"), None))


def move(v):
    if sys.argv[1:] == ["stop"]:
        v = jax.lax.with_sharding_constraint(v, stop)
    return v


array = np.arange(16 * 32 * 64, dtype=np.float32).reshape(16, 32, 64)
moved = jax.jit(move, in_shardings=start, out_shardings=end)(jax.device_put(array, start))
print("right" if moved.sharding.is_equivalent_to(end, 3) and np.array_equal(np.asarray(moved), array) else "wrong")
