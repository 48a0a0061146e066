"""Compiles the gradient of a small network for eight devices, and keeps what XLA's partitioner made of it in the folder `dump`.

    JAX_PLATFORMS=cpu python dump_step.py && retile validate dump
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)  # where there are no eight devices
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "x"))


def loss(weights, batch):
    return jnp.mean(jax.nn.softmax(jnp.tanh(batch @ weights["up"]) @ weights["down"]) ** 2)


def array(*shape, spec):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))


weights = {"up": array(1024, 4096, spec=P(None, "x")), "down": array(4096, 1024, spec=P("x", None))}
lowered = jax.jit(jax.grad(loss)).lower(weights, array(512, 1024, spec=P("data", None)))
lowered.compile(compiler_options={
    "xla_dump_to": "dump", "xla_dump_hlo_pass_re": "spmd.*", "xla_dump_large_constants": True})
