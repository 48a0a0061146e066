"""Layers of networks: products, attention, norms, embeddings, losses, mixtures of experts, dropout."""

import jax
from jax import lax, nn
from jax import numpy as jnp

from .kit import P, program

HIDDEN, BATCH, SEQUENCE, HEADS = 64, 8, 32, 8


def mean_square(x):
    return jnp.mean(x * x)


def gradient_of(function):
    """Of the sum of the results' squares, by all arguments that are real."""
    def total(*arguments):
        return sum(jnp.sum(one * one) for one in jax.tree_util.tree_leaves(function(*arguments)))
    return jax.value_and_grad(total)


# Products.

def two_layers(kit, hold=True):
    def function(weights, x):
        hidden = nn.gelu(x @ weights["up"] + weights["bias"])
        if hold:
            hidden = kit.hold(hidden, None, "x")
        return hidden @ weights["down"]
    return function


def tensor_parallel(kit, hidden=HIDDEN):
    return {"up": kit.weight(hidden, 4 * hidden, spec=P(None, "x")), "bias": kit.real(4 * hidden, spec=P("x")),
            "down": kit.weight(4 * hidden, hidden, spec=P("x", None))}


@program({"x": 8}, {"x": 2})
def mlp_tensor_parallel(kit):
    return two_layers(kit), (tensor_parallel(kit), kit.real(BATCH, HIDDEN)), P()


@program({"x": 8})
def mlp_tensor_parallel_gradient(kit):
    weights = tensor_parallel(kit)
    return gradient_of(two_layers(kit)), (weights, kit.real(BATCH, HIDDEN)), (P(), {name: one.spec for name, one in weights.items()})


@program({"data": 2, "x": 4}, {"data": 4, "x": 2})
def mlp_data_and_tensor(kit):
    def function(weights, x):
        hidden = kit.hold(nn.relu(x @ weights["up"] + weights["bias"]), "data", "x")
        return kit.hold(hidden @ weights["down"], "data", None)
    return function, (tensor_parallel(kit, 128), kit.real(BATCH, 128, spec=P("data"))), P("data")


@program({"x": 8})
def mlp_weights_gathered(kit):
    """Both weights are cut along what is contracted, and the compiler chooses what it moves."""
    def function(up, down, x):
        return jnp.tanh(x @ up) @ down
    return function, (kit.weight(HIDDEN, 256, spec=P("x", None)), kit.weight(256, HIDDEN, spec=P(None, "x")), kit.real(BATCH, HIDDEN, spec=P("x"))), P("x")


@program({"x": 8}, activation=["gelu", "silu", "swiglu", "relu_squared"])
def gated_mlp(kit, activation):
    acts = {"gelu": lambda a, b: nn.gelu(a, approximate=False) + b, "silu": lambda a, b: nn.silu(a) - b, "swiglu": lambda a, b: nn.silu(a) * b,
            "relu_squared": lambda a, b: jnp.square(nn.relu(a)) + nn.softplus(b)}

    def function(one, two, down, x):
        return kit.hold(acts[activation](x @ one, x @ two), None, "x") @ down
    return function, (kit.weight(HIDDEN, 128, spec=P(None, "x")), kit.weight(HIDDEN, 128, spec=P(None, "x")), kit.weight(128, HIDDEN, spec=P("x", None)),
                      kit.real(BATCH, HIDDEN)), P()


@program({"data": 8})
def mlp_data_parallel_gradient(kit):
    def loss(weights, x, y):
        return mean_square(nn.relu(x @ weights["up"]) @ weights["down"] - y)
    weights = {"up": kit.weight(HIDDEN, 128), "down": kit.weight(128, HIDDEN)}
    return jax.value_and_grad(loss), (weights, kit.real(16, HIDDEN, spec=P("data")), kit.real(16, HIDDEN, spec=P("data"))), P()


@program({"fsdp": 8}, {"fsdp": 4})
def mlp_fsdp_gradient(kit):
    """Weights and their gradients lie in parts; a layer gathers its own before it runs."""
    def loss(weights, x, y):
        for name in ("first", "second", "third"):
            x = nn.silu(x @ kit.hold(weights[name], None, None))
        return mean_square(x - y)
    weights = {name: kit.weight(HIDDEN, HIDDEN, spec=P("fsdp")) for name in ("first", "second", "third")}
    return jax.value_and_grad(loss), (weights, kit.real(8, HIDDEN, spec=P("fsdp")), kit.real(8, HIDDEN, spec=P("fsdp"))), (P(), {name: P("fsdp") for name in weights})


@program({"x": 2, "y": 4})
def product_2d(kit):
    return lambda a, b: a @ b, (kit.real(HIDDEN, 128, spec=P("x", "y")), kit.weight(128, HIDDEN, spec=P("x", "y"))), P("x", "y")


@program({"x": 2, "y": 2, "z": 2})
def product_3d(kit):
    def function(a, b):
        return kit.hold(a @ b, ("x", "z"), "y")
    return function, (kit.real(HIDDEN, 128, spec=P("x", "y")), kit.weight(128, 64, spec=P(("y", "z"), None))), P("y", ("x", "z"))


# Attention.

def attention_weights(kit, hidden=HIDDEN, heads=HEADS, spec=P(None, "x", None)):
    size = hidden // heads
    three = {name: kit.real(hidden, heads, size, spec=spec, scale=hidden ** -0.5) for name in ("query", "key", "value")}
    return {**three, "out": kit.real(heads, size, hidden, spec=P(*spec[1:], None), scale=hidden ** -0.5)}


def attend(query, key, value, mask=None):
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores, axis=-1), value)


def causal(length):
    return jnp.tril(jnp.ones((length, length), bool))


def attention(kit, heads_spec, mask=None, change=lambda q, k, v: (q, k, v)):
    def function(weights, x):
        query, key, value = (kit.hold(jnp.einsum("bsm,mhd->bshd", x, weights[name]), *heads_spec) for name in ("query", "key", "value"))
        query, key, value = change(query, key, value)
        return jnp.einsum("bshd,hdm->bsm", attend(query, key, value, mask), weights["out"])
    return function


@program({"x": 8}, {"x": 4})
def attention_by_heads(kit):
    return attention(kit, (None, None, "x", None)), (attention_weights(kit), kit.real(4, SEQUENCE, HIDDEN)), P()


@program({"data": 2, "x": 4})
def attention_by_heads_gradient(kit):
    weights = attention_weights(kit)
    return (gradient_of(attention(kit, ("data", None, "x", None), causal(SEQUENCE))), (weights, kit.real(4, SEQUENCE, HIDDEN, spec=P("data"))),
            (P(), {name: one.spec for name, one in weights.items()}))


@program({"x": 8})
def attention_by_sequence(kit):
    weights = attention_weights(kit, spec=P(None, None, None))
    return attention(kit, (None, "x", None, None), causal(SEQUENCE)), (weights, kit.real(4, SEQUENCE, HIDDEN, spec=P(None, "x"))), P(None, "x")


@program({"x": 4})
def attention_by_sequence_gradient(kit):
    weights = attention_weights(kit, spec=P(None, None, None))
    return gradient_of(attention(kit, (None, "x", None, None))), (weights, kit.real(4, 16, HIDDEN, spec=P(None, "x"))), P()


@program({"data": 2, "x": 4})
def attention_from_heads_to_sequence(kit):
    """As DeepSpeed-Ulysses: the projections by sequence, the attention by heads, with an exchange before and after."""
    def function(weights, x):
        query, key, value = (kit.hold(kit.hold(jnp.einsum("bsm,mhd->bshd", x, weights[name]), "data", "x"), "data", None, "x")
                             for name in ("query", "key", "value"))
        mixed = kit.hold(attend(query, key, value, causal(SEQUENCE)), "data", "x")
        return jnp.einsum("bshd,hdm->bsm", mixed, weights["out"])
    weights = attention_weights(kit, spec=P(None, None, None))
    return function, (weights, kit.real(4, SEQUENCE, HIDDEN, spec=P("data", "x"))), P("data", "x")


def rotated(x):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 10000.0 ** (jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    one, two = x[..., :half], x[..., half:]
    return jnp.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1).astype(x.dtype)


def sliding(length, window):
    at = jnp.arange(length)
    return (at[:, None] >= at[None]) & (at[:, None] < at[None] + window)


@program({"x": 8}, kind=["rotary", "window", "alibi"])
def attention_with(kit, kind):
    def alibi(query, key, value):
        slopes = 2.0 ** -jnp.arange(1, HEADS + 1)
        far = jnp.abs(jnp.arange(SEQUENCE)[:, None] - jnp.arange(SEQUENCE)[None])
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) - slopes[:, None, None] * far
        return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), value)
    if kind == "alibi":
        def function(weights, x):
            parts = [kit.hold(jnp.einsum("bsm,mhd->bshd", x, weights[name]), None, None, "x") for name in ("query", "key", "value")]
            return jnp.einsum("bshd,hdm->bsm", alibi(*parts), weights["out"])
    else:
        change = (lambda q, k, v: (rotated(q), rotated(k), v)) if kind == "rotary" else (lambda q, k, v: (q, k, v))
        function = attention(kit, (None, None, "x", None), sliding(SEQUENCE, 8) if kind == "window" else causal(SEQUENCE), change)
    return function, (attention_weights(kit), kit.real(4, SEQUENCE, HIDDEN)), P()


@program({"data": 2, "x": 4})
def attention_grouped_queries(kit):
    def function(weights, x):
        query = kit.hold(jnp.einsum("bsm,mhd->bshd", x, weights["query"]), "data", None, "x")
        key, value = (jnp.repeat(kit.hold(jnp.einsum("bsm,mhd->bshd", x, weights[name]), "data", None, "x"), 2, axis=2) for name in ("key", "value"))
        return jnp.einsum("bshd,hdm->bsm", attend(query, key, value, causal(16)), weights["out"])
    few = {name: kit.real(HIDDEN, 4, 8, spec=P(None, "x"), scale=0.125) for name in ("key", "value")}
    return function, ({**attention_weights(kit), **few}, kit.real(4, 16, HIDDEN, spec=P("data"))), P("data")


@program({"x": 4})
def attention_across(kit):
    def function(weights, x, memory):
        query = kit.hold(jnp.einsum("bsm,mhd->bshd", x, weights["query"]), None, None, "x")
        key, value = (kit.hold(jnp.einsum("bsm,mhd->bshd", memory, weights[name]), None, None, "x") for name in ("key", "value"))
        return jnp.einsum("bshd,hdm->bsm", attend(query, key, value), weights["out"])
    return function, (attention_weights(kit), kit.real(4, 16, HIDDEN), kit.real(4, 48, HIDDEN)), P()


@program({"x": 8})
def attention_with_lengths(kit):
    """Sequences of different lengths in one batch: the mask is made of an argument."""
    def function(query, key, value, lengths):
        mask = jnp.arange(SEQUENCE)[None, :] < lengths[:, None]
        return attend(query, key, value, mask[:, None, None, :])
    three = [kit.real(BATCH, SEQUENCE, HEADS, 8, spec=P("x")) for _ in range(3)]
    return function, (*three, kit.integer(BATCH, low=1, high=SEQUENCE + 1, spec=P("x"))), P("x")


# Norms.

def layer_norm(x, scale, bias):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True) + 1e-5) * scale + bias


def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


@program({"x": 8}, {"x": 2})
def layer_norm_by_rows(kit):
    return layer_norm, (kit.real(BATCH, SEQUENCE, HIDDEN, spec=P(None, "x")), kit.real(HIDDEN), kit.real(HIDDEN)), P(None, "x")


@program({"x": 8})
def layer_norm_by_features(kit):
    return layer_norm, (kit.real(BATCH, SEQUENCE, HIDDEN, spec=P(None, None, "x")), kit.real(HIDDEN, spec=P("x")), kit.real(HIDDEN, spec=P("x"))), P(None, None, "x")


@program({"data": 2, "x": 4})
def layer_norm_gradient(kit):
    return gradient_of(layer_norm), (kit.real(BATCH, SEQUENCE, HIDDEN, spec=P("data", None, "x")), kit.real(HIDDEN, spec=P("x")), kit.real(HIDDEN, spec=P("x"))), P()


@program({"x": 8})
def rms_norm_gradient(kit):
    return gradient_of(rms_norm), (kit.real(BATCH, SEQUENCE, HIDDEN, spec=P(None, None, "x")), kit.real(HIDDEN)), P()


@program({"x": 8})
def group_norm(kit):
    def function(x, scale):
        parts = x.reshape(BATCH, 8, 8, 4, 16)
        mean, var = jnp.mean(parts, (1, 2, 4), keepdims=True), jnp.var(parts, (1, 2, 4), keepdims=True)
        return ((parts - mean) / jnp.sqrt(var + 1e-5)).reshape(x.shape) * scale
    return function, (kit.real(BATCH, 8, 8, 64, spec=P(None, None, None, "x")), kit.real(64, spec=P("x"))), P(None, None, None, "x")


@program({"x": 8})
def batch_norm_training(kit):
    def function(x, scale, running):
        mean, var = jnp.mean(x, (0, 1)), jnp.var(x, (0, 1))
        return (x - mean) * lax.rsqrt(var + 1e-5) * scale, 0.9 * running[0] + 0.1 * mean, 0.9 * running[1] + 0.1 * var
    return function, (kit.real(BATCH, SEQUENCE, HIDDEN, spec=P("x")), kit.real(HIDDEN), [kit.real(HIDDEN), kit.real(HIDDEN)]), (P("x"), P(), P())


# Transformer blocks.

def block_weights(kit, hidden=HIDDEN, axis="x"):
    return {"attention": attention_weights(kit, hidden, spec=P(None, axis, None)), "norm1": kit.real(hidden), "norm2": kit.real(hidden),
            "up": kit.weight(hidden, 4 * hidden, spec=P(None, axis)), "down": kit.weight(4 * hidden, hidden, spec=P(axis, None))}


def specs_of(kit, tree):
    return kit.jax.tree_util.tree_map(lambda one: one.spec, tree)


def block(kit, batch_axis=None, model_axis="x", sequence_axis=None):
    def function(weights, x):
        attended = attention(kit, (batch_axis, None, model_axis, None), causal(x.shape[1]))(weights["attention"], rms_norm(x, weights["norm1"]))
        x = kit.hold(x + attended, batch_axis, sequence_axis, None)
        hidden = kit.hold(nn.gelu(rms_norm(x, weights["norm2"]) @ weights["up"]), batch_axis, None, model_axis)
        return kit.hold(x + hidden @ weights["down"], batch_axis, sequence_axis, None)
    return function


@program({"x": 8}, {"x": 2})
def transformer_block(kit):
    return block(kit), (block_weights(kit), kit.real(4, SEQUENCE, HIDDEN)), P()


@program({"data": 2, "x": 4}, {"data": 2, "x": 2})
def transformer_block_gradient(kit):
    weights = block_weights(kit)
    return gradient_of(block(kit, "data")), (weights, kit.real(4, SEQUENCE, HIDDEN, spec=P("data"))), (P(), specs_of(kit, weights))


@program({"x": 8})
def transformer_block_sequence_parallel(kit):
    """As Megatron's sequence parallelism: between the products the activations are cut along the sequence."""
    return block(kit, None, "x", "x"), (block_weights(kit), kit.real(4, SEQUENCE, HIDDEN, spec=P(None, "x"))), P(None, "x")


@program({"data": 2, "x": 4})
def transformer_block_sequence_parallel_gradient(kit):
    weights = block_weights(kit)
    return gradient_of(block(kit, "data", "x", "x")), (weights, kit.real(4, 16, HIDDEN, spec=P("data", "x"))), (P(), specs_of(kit, weights))


@program({"x": 8})
def transformer_block_parallel_branches(kit):
    def function(weights, x):
        normed = layer_norm(x, weights["norm1"], weights["norm2"])
        return x + attention(kit, (None, None, "x", None))(weights["attention"], normed) + nn.silu(normed @ weights["up"]) @ weights["down"]
    return function, (block_weights(kit, 128), kit.real(4, 16, 128)), P()


@program({"data": 2, "x": 4})
def transformer_block_bfloat16(kit):
    def function(weights, x):
        small = kit.jax.tree_util.tree_map(lambda one: one.astype(jnp.bfloat16), weights)
        return block(kit, "data")(small, x.astype(jnp.bfloat16))
    return function, (block_weights(kit), kit.real(4, 16, HIDDEN, spec=P("data"))), P("data")


# Embeddings and losses.

@program({"x": 8}, cut=["vocabulary", "hidden", "batch"])
def embedding(kit, cut):
    table, ids = {"vocabulary": (P("x"), P()), "hidden": (P(None, "x"), P()), "batch": (P(), P("x"))}[cut]
    return lambda weights, tokens: weights[tokens], (kit.real(256, HIDDEN, spec=table), kit.integer(BATCH, SEQUENCE, high=256, spec=ids, loose=True)), None


@program({"x": 8}, cut=["vocabulary", "hidden", "batch"])
def embedding_gradient(kit, cut):
    table, ids = {"vocabulary": (P("x"), P()), "hidden": (P(None, "x"), P()), "batch": (P(), P("x"))}[cut]

    def loss(weights, tokens, target):
        return jnp.sum((weights[tokens] - target) ** 2)
    return jax.grad(loss), (kit.real(256, HIDDEN, spec=table), kit.integer(BATCH, SEQUENCE, high=256, spec=ids), kit.real(BATCH, SEQUENCE, HIDDEN, spec=ids)), table


@program({"x": 4})
def embedding_by_one_hot(kit):
    def function(weights, tokens):
        return nn.one_hot(tokens, 256, dtype=weights.dtype) @ weights
    return function, (kit.real(256, HIDDEN, spec=P("x")), kit.integer(BATCH, 16, high=256)), P()


@program({"data": 2, "x": 4})
def embedding_tied(kit):
    """The table turns tokens into vectors and, transposed, vectors into logits; its gradient has both parts."""
    def loss(weights, tokens, labels):
        hidden = jnp.tanh(weights[tokens])
        logits = kit.hold(hidden @ weights.T, "data", None, "x")
        return -jnp.mean(jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], axis=-1))
    ids = [kit.integer(BATCH, 16, high=128, spec=P("data"), loose=loose) for loose in (True, False)]
    return jax.value_and_grad(loss), (kit.real(128, HIDDEN, spec=P("x")), *ids), (P(), P("x"))


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], axis=-1))


LOSSES = {
    "cross_entropy": lambda logits, labels: cross_entropy(logits, labels),
    "smoothed": lambda logits, labels: -jnp.mean(jnp.sum((0.9 * nn.one_hot(labels, 128) + 0.1 / 128) * nn.log_softmax(logits), -1)),
    "focal": lambda logits, labels: -jnp.mean(jnp.sum(nn.one_hot(labels, 128) * (1 - nn.softmax(logits)) ** 2 * nn.log_softmax(logits), -1)),
    "hinge": lambda logits, labels: jnp.mean(jnp.sum(jnp.maximum(0, 1 + logits - jnp.take_along_axis(logits, labels[:, None], 1)), -1)),
    "log_sum": lambda logits, labels: jnp.mean(nn.logsumexp(logits, axis=-1) ** 2) + jnp.mean(jnp.where(labels > 64, logits[:, 0], logits[:, 1])),
}


@program({"data": 2, "x": 4}, kind=list(LOSSES))
def loss_gradient(kit, kind):
    return (jax.value_and_grad(LOSSES[kind]), (kit.real(16, 128, spec=P("data", "x")), kit.integer(16, high=128, spec=P("data"))), (P(), P("data", "x")))


@program({"x": 8}, kind=["huber", "cosine", "divergence", "binary"])
def loss_of_pairs(kit, kind):
    def huber(a, b):
        far = jnp.abs(a - b)
        return jnp.mean(jnp.where(far < 1, 0.5 * far * far, far - 0.5))

    def cosine(a, b):
        return jnp.mean(1 - jnp.sum(a * b, -1) / (jnp.linalg.norm(a, axis=-1) * jnp.linalg.norm(b, axis=-1)))

    def divergence(a, b):
        return jnp.mean(jnp.sum(nn.softmax(a) * (nn.log_softmax(a) - nn.log_softmax(b)), -1))

    def binary(a, b):
        return jnp.mean(jnp.maximum(a, 0) - a * nn.sigmoid(b) + jnp.log1p(jnp.exp(-jnp.abs(a))))
    function = {"huber": huber, "cosine": cosine, "divergence": divergence, "binary": binary}[kind]
    return jax.value_and_grad(function, argnums=(0, 1)), (kit.real(16, HIDDEN, spec=P("x")), kit.real(16, HIDDEN, spec=P(None, "x"))), None


@program({"x": 8})
def loss_contrastive(kit):
    def loss(images, texts, scale):
        images, texts = (one / jnp.linalg.norm(one, axis=-1, keepdims=True) for one in (images, texts))
        logits = jnp.exp(scale) * images @ texts.T
        at = jnp.arange(32)
        return -(jnp.mean(nn.log_softmax(logits, 1)[at, at]) + jnp.mean(nn.log_softmax(logits, 0)[at, at])) / 2
    return jax.value_and_grad(loss, argnums=(0, 1, 2)), (kit.real(32, HIDDEN, spec=P("x")), kit.real(32, HIDDEN, spec=P("x")), kit.real()), None


# Mixtures of experts, dropout.

@program({"x": 8})
def experts_top_one(kit):
    """A token goes to one expert, within the expert's capacity."""
    def function(router, up, down, x):
        gates = nn.softmax(x @ router)
        chosen = nn.one_hot(jnp.argmax(gates, -1), 8, dtype=x.dtype)
        place = (jnp.cumsum(chosen, axis=0) - 1) * chosen
        sent = chosen[..., None] * nn.one_hot(place.astype(jnp.int32), 16, dtype=x.dtype)
        given = kit.hold(jnp.einsum("tec,tm->ecm", sent, x), "x")
        made = jnp.einsum("ecf,efm->ecm", nn.relu(jnp.einsum("ecm,emf->ecf", given, up)), down)
        return jnp.einsum("tec,ecm->tm", sent * gates[..., None], made)
    return function, (kit.weight(HIDDEN, 8), kit.weight(8, HIDDEN, 128, spec=P("x")), kit.weight(8, 128, HIDDEN, spec=P("x")), kit.real(64, HIDDEN)), P()


@program({"x": 4})
def experts_top_two(kit):
    def function(router, up, down, x):
        gates, chosen = lax.top_k(nn.softmax(x @ router), 2)
        weights = jnp.sum(nn.one_hot(chosen, 4, dtype=x.dtype) * gates[..., None], axis=1)
        made = jnp.einsum("etf,efm->etm", nn.silu(jnp.einsum("tm,emf->etf", x, up)), down)
        return jnp.einsum("te,etm->tm", weights, kit.hold(made, "x"))
    return function, (kit.weight(HIDDEN, 4), kit.weight(4, HIDDEN, 64, spec=P("x")), kit.weight(4, 64, HIDDEN, spec=P("x")), kit.real(32, HIDDEN)), P()


@program({"x": 8})
def experts_gradient(kit):
    def function(router, up, x):
        gates = nn.softmax(x @ router)
        chosen = nn.one_hot(jnp.argmax(gates, -1), 8, dtype=x.dtype) * gates
        return jnp.einsum("te,etm->tm", chosen, kit.hold(jnp.einsum("tm,emf->etf", x, up), "x"))
    return gradient_of(function), (kit.weight(HIDDEN, 8), kit.weight(8, HIDDEN, HIDDEN, spec=P("x")), kit.real(32, HIDDEN)), (P(), P())


@program({"x": 8}, {"x": 2})
def dropout(kit):
    def function(key, x):
        kept = jax.random.bernoulli(key, 0.9, x.shape)
        return jnp.where(kept, x / 0.9, 0)
    return function, (kit.key(), kit.real(BATCH, SEQUENCE, HIDDEN, spec=P(None, "x"))), P(None, "x")


@program({"data": 2, "x": 4})
def dropout_gradient(kit):
    def loss(up, down, key, x):
        one, two = jax.random.split(key)
        hidden = nn.relu(x @ up) * jax.random.bernoulli(one, 0.8, (16, 128))
        return jnp.sum((hidden @ down * jax.random.bernoulli(two, 0.8, (16, HIDDEN))) ** 2)
    return (jax.value_and_grad(loss, argnums=(0, 1)), (kit.weight(HIDDEN, 128, spec=P(None, "x")), kit.weight(128, HIDDEN, spec=P("x")), kit.key(),
                                                       kit.real(16, HIDDEN, spec=P("data"))), None)


@program({"x": 8})
def noise_added(kit):
    def function(key, x):
        return x + kit.hold(jax.random.uniform(key, x.shape, dtype=x.dtype, minval=-1.0), "x")
    return function, (kit.key(), kit.real(64, HIDDEN, spec=P("x"))), P("x")


@program({"x": 4})
def sampled_tokens(kit):
    """One token for every row by the Gumbel trick, as a decoder samples."""
    def function(key, logits):
        return jax.random.categorical(key, logits / 0.7)
    return function, (kit.key(), kit.real(BATCH, 256, spec=P(None, "x"))), P()
