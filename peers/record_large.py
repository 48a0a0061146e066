"""Records a transformer block of real size around the partitioner: nothing of it is run, so that a small machine can do it.

    PYTHON peers/record_large.py FOLDER [--hidden 4096] [--heads 32] [--sequence 2048] [--batch 8] [--causal] [--gradient]

PYTHON is a virtual environment with JAX. The mesh is data:2,x:4: the batch is cut along data, heads and the hidden units of the
feed-forward layer along x. FOLDER gets before.hlo, after.hlo, and in run.json the seconds that JAX took to compile.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from record_whole import flags, keep_dumps


def block(jax, hold, causal):
    jnp = jax.numpy

    def norm(x, scale):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale

    def function(weights, x):
        normed = norm(x, weights["norm1"])
        q, k, v = (hold(jnp.einsum("bsd,dhk->bshk", normed, weights[name]), "data", None, "x", None) for name in "qkv")
        scores = jnp.einsum("bqhk,bshk->bhqs", q, k) / q.shape[-1] ** 0.5
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
        mixed = jnp.einsum("bhqs,bshk->bqhk", jax.nn.softmax(scores), v)
        x = hold(x + jnp.einsum("bqhk,hkd->bqd", mixed, weights["o"]), "data", None, None)
        inner = hold(jax.nn.silu(norm(x, weights["norm2"]) @ weights["up"]), "data", None, "x")
        return hold(x + inner @ weights["down"], "data", None, None)
    return function


def lowered(given):
    import jax
    import numpy
    spec = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(numpy.array(jax.devices()[:8]).reshape(2, 4), ("data", "x"))

    def cut(*axes):
        return jax.sharding.NamedSharding(mesh, spec(*axes))

    def real(*shape, axes=()):
        return jax.ShapeDtypeStruct(shape, jax.numpy.float32, sharding=cut(*axes))

    hidden, heads = given.hidden, given.heads
    size = hidden // heads
    weights = {name: real(hidden, heads, size, axes=(None, "x")) for name in "qkv"}
    weights |= {"o": real(heads, size, hidden, axes=("x",)), "norm1": real(hidden), "norm2": real(hidden),
                "up": real(hidden, 4 * hidden, axes=(None, "x")), "down": real(4 * hidden, hidden, axes=("x",))}
    function = block(jax, lambda x, *axes: jax.lax.with_sharding_constraint(x, cut(*axes)), given.causal)
    whole_program = function
    if given.gradient:
        def whole_program(weights, x):
            return jax.value_and_grad(lambda w: jax.numpy.mean(function(w, x) ** 2))(weights)
    whole_program.__name__ = "whole_program"
    return jax.jit(whole_program).lower(weights, real(given.batch, given.sequence, hidden, axes=("data",)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for name, size in {"hidden": 4096, "heads": 32, "sequence": 2048, "batch": 8}.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--causal", action="store_true", help="with a mask")
    parser.add_argument("--gradient", action="store_true", help="and its gradient")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as dump:
        os.environ["XLA_FLAGS"] = flags(8, dump, "spmd-partitioning")
        text = lowered(given)
        begin = time.monotonic()
        text.compile()
        (given.folder / "run.json").write_text(json.dumps({"seconds": {"compile": round(time.monotonic() - begin, 2)}}) + "\n")
        keep_dumps(Path(dump), given.folder)


if __name__ == "__main__":
    sys.exit(main())
