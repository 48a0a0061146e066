"""Loops and branches: recurrent layers, scans over layers, decoding with caches, iterations until something holds."""

import jax
from jax import lax, nn
from jax import numpy as jnp

from .kit import P, program
from .layers import HIDDEN, attend, block, block_weights, gradient_of, specs_of


def recurrent(kind):
    def step(weights, state, x):
        if kind == "plain":
            state = jnp.tanh(x @ weights["in"] + state @ weights["state"])
            return state, state
        if kind == "gru":
            gate, reset, new = jnp.split(x @ weights["in"] + state @ weights["state"], 3, axis=-1)
            gate = nn.sigmoid(gate)
            state = gate * state + (1 - gate) * jnp.tanh(new * nn.sigmoid(reset))
            return state, state
        held, cell = state
        a, b, c, d = jnp.split(x @ weights["in"] + held @ weights["state"], 4, axis=-1)
        cell = nn.sigmoid(a) * cell + nn.sigmoid(b) * jnp.tanh(c)
        held = nn.sigmoid(d) * jnp.tanh(cell)
        return (held, cell), held

    def function(weights, x):
        start = jnp.zeros((x.shape[1], 64), x.dtype)
        return lax.scan(lambda state, one: step(weights, state, one), (start, start) if kind == "lstm" else start, x)[1]
    return function


def recurrent_weights(kit, kind, spec):
    width = {"plain": 64, "gru": 192, "lstm": 256}[kind]
    return {"in": kit.weight(32, width, spec=spec), "state": kit.weight(64, width, spec=spec)}


@program({"x": 4}, kind=["plain", "gru", "lstm"])
def recurrent_scan(kit, kind):
    return recurrent(kind), (recurrent_weights(kit, kind, P(None, "x")), kit.real(16, 8, 32)), None


@program({"x": 4}, kind=["plain", "lstm"])
def recurrent_scan_gradient(kit, kind):
    return gradient_of(recurrent(kind)), (recurrent_weights(kit, kind, P()), kit.real(16, 8, 32, spec=P(None, "x"))), None


@program({"x": 8})
def scan_along_cut(kit):
    """The axis that is scanned is the one that is cut."""
    return lambda x: lax.scan(lambda total, row: (0.9 * total + row, total * row), jnp.zeros(32, x.dtype), x), (kit.real(64, 32, spec=P("x")),), None


@program({"x": 8})
def scan_associative(kit):
    """A linear recurrence by a tree, as state-space models train."""
    def function(decay, x):
        return lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (nn.sigmoid(decay), x), axis=0)[1]
    return function, (kit.real(32, 64, spec=P(None, "x")), kit.real(32, 64, spec=P(None, "x"))), P(None, "x")


def stacked(kit, layers, tree):
    """The arguments of all layers as one, along a new first dimension."""
    import dataclasses
    return kit.jax.tree_util.tree_map(lambda one: dataclasses.replace(one, shape=(layers, *one.shape), spec=P(None, *one.spec)), tree)


@program({"x": 4})
def layers_scanned(kit):
    def function(weights, x):
        return lax.scan(lambda x, one: (block(kit)(one, x), None), x, weights)[0]
    return function, (stacked(kit, 4, block_weights(kit)), kit.real(4, 16, HIDDEN)), P()


@program({"data": 2, "x": 4})
def layers_scanned_gradient(kit):
    """Each layer is computed again on the way back."""
    def function(weights, x):
        return lax.scan(lambda x, one: (jax.checkpoint(block(kit, "data"))(one, x), None), x, weights)[0]
    weights = stacked(kit, 3, block_weights(kit))
    return gradient_of(function), (weights, kit.real(4, 16, HIDDEN, spec=P("data"))), (P(), specs_of(kit, weights))


@program({"fsdp": 8})
def layers_scanned_fsdp_gradient(kit):
    def function(weights, x):
        return lax.scan(lambda x, one: (jnp.tanh(x @ kit.hold(one, None, None)), None), x, weights)[0]
    return gradient_of(function), (kit.real(4, HIDDEN, HIDDEN, spec=P(None, "fsdp"), scale=0.125), kit.real(8, HIDDEN, spec=P("fsdp"))), (P(), P(None, "fsdp"))


def cached_attention(kit, cache_spec):
    def function(weights, keys, values, x, at):
        query, key, value = (jnp.einsum("bm,mhd->bhd", x, weights[name]) for name in ("query", "key", "value"))
        start = (jnp.zeros_like(at), at, jnp.zeros_like(at), jnp.zeros_like(at))
        keys = kit.hold(lax.dynamic_update_slice(keys, key[:, None], start), *cache_spec)
        values = kit.hold(lax.dynamic_update_slice(values, value[:, None], start), *cache_spec)
        mask = jnp.arange(keys.shape[1]) <= at
        mixed = attend(query[:, None], keys, values, mask[None, None, None])[:, 0]
        return jnp.einsum("bhd,hdm->bm", mixed, weights["out"]), keys, values
    return function


@program({"x": 8}, cut=["heads", "sequence", "batch"])
def decode_with_cache(kit, cut):
    """One token: its key and value go to the cache, at an index that comes at run time."""
    spec = {"heads": P(None, None, "x"), "sequence": P(None, "x"), "batch": P("x")}[cut]
    weights = block_weights(kit)["attention"]
    cache = kit.real(8, 32, 8, 8, spec=spec)
    return cached_attention(kit, spec), (weights, cache, cache, kit.real(8, HIDDEN), kit.integer(high=32, loose=True)), (P(), spec, spec)


@program({"x": 4})
def decode_many(kit):
    """Eight tokens, each the likeliest after the one before."""
    def function(weights, table, keys, values, token):
        def step(state, at):
            token, keys, values = state
            out, keys, values = cached_attention(kit, (None, None, "x"))(weights, keys, values, table[token], at)
            token = jnp.argmax(out @ table.T, axis=-1).astype(jnp.int32)
            return (token, keys, values), token
        return lax.scan(step, (token, keys, values), jnp.arange(8))[1]
    cache = kit.real(4, 16, 8, 8, spec=P(None, None, "x"))
    return function, (block_weights(kit)["attention"], kit.real(128, HIDDEN), cache, cache, kit.integer(4, high=128)), P()


@program({"x": 8})
def beams_chosen(kit):
    """One step of a beam search: the best of all continuations, and the caches of the beams that they go on from."""
    def function(scores, logits, cache):
        total = (scores[..., None] + nn.log_softmax(logits)).reshape(2, 4 * 128)
        best, at = lax.top_k(total, 4)
        return best, at % 128, jnp.take_along_axis(cache, (at // 128)[..., None, None], axis=1)
    return function, (kit.real(2, 4), kit.real(2, 4, 128, spec=P(None, None, "x")), kit.real(2, 4, 16, 64, spec=P(None, None, None, "x"))), None


@program({"x": 8})
def power_iteration(kit):
    """Until the vector no longer moves, and no more than 20 times."""
    def function(x, start):
        matrix = x @ x.T

        def step(state):
            k, v, _ = state
            new = matrix @ v
            new = new / jnp.sqrt(jnp.sum(new * new))
            return k + 1, new, jnp.sum(jnp.abs(new - v))
        return lax.while_loop(lambda state: (state[0] < 20) & (state[2] > 1e-3), step, (0, start, jnp.asarray(1.0, start.dtype)))[1]
    return function, (kit.real(32, 64, spec=P("x")), kit.real(32, spec=P("x"))), None


@program({"x": 4, "y": 2})
def loop_of_shifts(kit):
    return lambda x: lax.fori_loop(0, 5, lambda k, y: kit.hold(jnp.roll(y, 3, axis=0) * (1 + k), "x", "y") + x, x), (kit.real(32, 16, spec=P("x", "y")),), P("x", "y")


@program({"x": 4})
def loop_counted_at_run_time(kit):
    return (lambda x, count: lax.fori_loop(0, count, lambda k, y: kit.hold(jnp.sin(y) + k, "x"), x), (kit.real(32, 16, spec=P("x")), kit.integer(high=6, low=1)), P("x"))


@program({"x": 4})
def loop_that_updates(kit):
    """A table that is filled row by row, each from the two before."""
    def function(x):
        def step(k, table):
            row = lax.dynamic_slice(table, (k - 1, 0), (1, 16)) + 0.5 * lax.dynamic_slice(table, (k - 2, 0), (1, 16))
            return lax.dynamic_update_slice(table, row, (k, 0))
        return lax.fori_loop(2, 12, step, x)
    return function, (kit.real(16, 16, spec=P("x")),), P("x")


@program({"x": 8}, cut=["rows", "columns"])
def branch(kit, cut):
    def function(x, which):
        return lax.cond(which, lambda x: jnp.tanh(x) @ x.T, lambda x: x @ x.T - 1, x)
    return function, (kit.real(64, 32, spec=P("x") if cut == "rows" else P(None, "x")), kit.predicate()), None


@program({"x": 4})
def branch_of_many(kit):
    def function(x, which):
        return lax.switch(which, [lambda x: jnp.cumsum(x, 0), lambda x: x[::-1], lambda x: kit.hold(x * 2, None, "x")], x)
    return function, (kit.real(32, 16, spec=P("x")), kit.integer(high=3, loose=True)), P("x")


@program({"x": 4})
def branch_gradient(kit):
    def loss(x, which):
        return jnp.sum(lax.cond(which, lambda x: jnp.sin(x) ** 2, lambda x: x * x.sum(0), x))
    return jax.grad(loss), (kit.real(32, 16, spec=P("x")), kit.predicate()), P("x")


@program({"x": 4})
def mapped(kit):
    """`vmap` of a function with a loop, and `lax.map`."""
    def function(x, steps):
        return jax.vmap(lambda row, n: lax.fori_loop(0, 4, lambda k, y: jnp.where(k < n, y * 1.5 + 1, y), row))(x, steps), lax.map(lambda row: jnp.sort(row)[:3], x)
    return function, (kit.real(16, 16, spec=P("x")), kit.integer(16, high=5, spec=P("x"))), None


@program({"x": 8})
def conjugate_gradients(kit):
    def function(x, right):
        return jax.scipy.sparse.linalg.cg(lambda v: x.T @ (x @ v) + 30 * v, right, maxiter=6)[0]
    return function, (kit.real(64, 32, spec=P("x")), kit.real(32)), None
