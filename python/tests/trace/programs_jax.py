"""Functions of JAX that are traced."""

import jax
import jax.numpy as jnp
from programs import program


@program((7, 5), (5, 6), kind="contraction", framework="jax")
def jax_product(a, b):
    return a @ b


@program((3, 4, 5), (6, 3, 5), kind="contraction", framework="jax")
def jax_batched(a, b):
    return jnp.einsum("bik,jbk->bji", a, b)


@program((4, 3, 5), (6, 5, 4), kind="contraction", framework="jax")
def jax_tensors(a, b):
    return jnp.tensordot(a, b, axes=([0, 2], [2, 1]))


@program((8, 16), kind="softmax", framework="jax")
def jax_softmax(x):
    return jax.nn.softmax(x, axis=-1)


@program((2, 4, 8), (8, 8), (8, 8), (8, 8), kind="softmax", framework="jax")
def jax_attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = jnp.einsum("bid,bjd->bij", q, k) / jnp.sqrt(8.0)
    return jax.nn.softmax(s) @ v


@program((6, 8), (8, 16), (16, 8), kind="residual", framework="jax")
@jax.jit
def jax_block(x, w, u):
    return x + jax.nn.relu(x @ w) @ u


@program((6, 16), (16,), (16,), kind="residual", framework="jax")
def jax_layer_norm(x, g, b):
    return x + (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


@program((4, 8), framework="jax")
def jax_activations(x):
    return jax.nn.gelu(x) + jax.nn.silu(x) * jnp.abs(x) - jnp.clip(x, -1, 1) + jnp.where(x > 0, x, 0) + x**3


@program((8, 6), framework="jax")
def jax_views(x):
    return x[1::2, 1:4].T.reshape(3, 1, 4)[:, 0] - jnp.max(x, axis=0)[:3, None] + jnp.min(x) * jnp.expand_dims(x[0, 3:], 1)


@program((6, 4), (4,), framework="jax")
def jax_constants(x, b):
    return x * jnp.arange(4.0) - jnp.sqrt(b * b + 1) + jnp.float32(0.1)


@program((5, 5), (5, 4), kind="softmax", framework="jax")
def jax_causal_attention(s, v):
    mask = jnp.tril(jnp.ones((5, 5), bool))
    return jax.nn.softmax(jnp.where(mask, s, -20), axis=-1) @ v


@program((5, 4), (7,), (4, 3), kind="gather", framework="jax", indices={1: 5})
def jax_embedding(table, words, u):
    return table[words] @ u


@program((4, 5), (3, 2), kind="gather", framework="jax", indices={1: 5})
def jax_along_axis_1(x, columns):
    return jnp.take(x, columns, axis=1) - x[:, columns]


@program((8, 3), (8, 3), (6,), kind="gather", framework="jax", indices={1: 6})
def jax_sparse_matrix_vector(values, columns, x):
    return jnp.einsum("ik,ik->i", values, jnp.take(x, columns, mode="clip"))
