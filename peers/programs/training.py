"""Steps of training: the gradient of a network and what an optimiser makes of it, by hand and with flax and optax."""

import jax
from jax import lax, nn
from jax import numpy as jnp

from .kit import P, program
from .layers import HIDDEN, block, block_weights, cross_entropy, mean_square, rms_norm, specs_of, tensor_parallel, two_layers

RATE = 0.01


def tree_map(function, *trees):
    return jax.tree_util.tree_map(function, *trees)


# Optimisers by hand: what they keep of each weight, and a step.

def sgd(weights, gradients, state):
    return tree_map(lambda w, g: w - RATE * g, weights, gradients), state


def momentum(weights, gradients, state):
    state = tree_map(lambda m, g: 0.9 * m + g, state, gradients)
    return tree_map(lambda w, m: w - RATE * m, weights, state), state


def adam(weights, gradients, state, decay=0.0):
    first, second, count = state
    count = count + 1
    first = tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    one, two = 1 - 0.9 ** count, 1 - 0.999 ** count

    def step(w, m, v):
        return w - RATE * (m / one / (jnp.sqrt(v / two) + 1e-8) + decay * w)
    return tree_map(step, weights, first, second), (first, second, count)


def adamw(weights, gradients, state):
    return adam(weights, gradients, state, decay=0.1)


def clipped(gradients):
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree_util.tree_leaves(gradients)))
    return tree_map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), gradients)


def state_of(kit, kind, weights):
    """The arguments of an optimiser's state, cut as the weights are. Of Adam the second moments are squares: the function takes them."""
    if kind == "sgd":
        return ()
    return weights if kind == "momentum" else (weights, weights, kit.integer(low=1, high=9))


def stepped(loss, kind):
    update = {"sgd": sgd, "momentum": momentum, "adam": adam, "adamw": adamw}[kind]

    def function(weights, state, *batch):
        if kind.startswith("adam"):
            state = (state[0], tree_map(lambda v: 0.01 + v * v, state[1]), state[2].astype(jax.tree_util.tree_leaves(weights)[0].dtype))
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        weights, state = update(weights, clipped(gradients), state)
        return value, weights, state
    return function


def step_of(kit, kind, loss, weights, batch):
    """The function, its arguments, and as its results' shardings those of what went in."""
    state = state_of(kit, kind, weights)
    return stepped(loss, kind), (weights, state, *batch), (P(), specs_of(kit, weights), specs_of(kit, state))


KINDS = ["sgd", "momentum", "adam", "adamw"]


@program({"data": 8}, optimiser=KINDS)
def train_data_parallel(kit, optimiser):
    weights = {"up": kit.weight(HIDDEN, 128), "bias": kit.real(128), "down": kit.weight(128, HIDDEN)}
    batch = [kit.real(16, HIDDEN, spec=P("data")) for _ in range(2)]
    return step_of(kit, optimiser, lambda weights, x, y: mean_square(two_layers(kit, False)(weights, x) - y), weights, batch)


@program({"data": 2, "x": 4}, optimiser=KINDS)
def train_tensor_parallel(kit, optimiser):
    batch = [kit.real(8, HIDDEN, spec=P("data")) for _ in range(2)]
    return step_of(kit, optimiser, lambda weights, x, y: mean_square(two_layers(kit)(weights, x) - y), tensor_parallel(kit), batch)


@program({"fsdp": 8}, optimiser=["sgd", "adamw"])
def train_fsdp(kit, optimiser):
    weights = {"first": kit.weight(HIDDEN, 128, spec=P("fsdp")), "second": kit.weight(128, HIDDEN, spec=P("fsdp")), "norm": kit.real(HIDDEN, spec=P("fsdp"))}

    def loss(weights, x, y):
        held = tree_map(lambda one: kit.hold(one), weights)
        return mean_square(rms_norm(nn.silu(x @ held["first"]) @ held["second"], held["norm"]) - y)
    return step_of(kit, optimiser, loss, weights, [kit.real(16, HIDDEN, spec=P("fsdp")) for _ in range(2)])


@program({"data": 8})
def train_state_in_parts(kit):
    """As ZeRO's first stage: every device has all weights and a part of the optimiser's state."""
    weights = {"up": kit.weight(HIDDEN, 128), "down": kit.weight(128, HIDDEN)}
    parts = {"up": kit.weight(HIDDEN, 128, spec=P("data")), "down": kit.weight(128, HIDDEN, spec=P("data"))}
    state = (parts, parts, kit.integer(low=1, high=9))
    function = stepped(lambda weights, x, y: mean_square(nn.relu(x @ weights["up"]) @ weights["down"] - y), "adam")
    return function, (weights, state, *[kit.real(16, HIDDEN, spec=P("data")) for _ in range(2)]), (P(), P(), specs_of(kit, state))


def transformer_weights(kit, layers, vocabulary, hidden=HIDDEN):
    return {"table": kit.real(vocabulary, hidden, spec=P("x"), scale=0.1), "layers": [block_weights(kit, hidden) for _ in range(layers)], "norm": kit.real(hidden),
            "head": kit.weight(hidden, vocabulary, spec=P(None, "x"))}


def transformer_loss(kit, checkpoint=False, dtype=None):
    def loss(weights, tokens, labels):
        if dtype:
            weights = tree_map(lambda one: one.astype(dtype), weights)
        x = kit.hold(weights["table"][tokens], "data")
        for one in weights["layers"]:
            layer = block(kit, "data")
            x = (jax.checkpoint(layer) if checkpoint else layer)(one, x)
        logits = kit.hold(rms_norm(x, weights["norm"]) @ weights["head"], "data", None, "x")
        return cross_entropy(logits.astype(kit.float), labels)
    return loss


def tokens(kit, batch, length, vocabulary):
    """Tokens, which may lie beyond the vocabulary, and labels."""
    return [kit.integer(batch, length, high=vocabulary, spec=P("data"), loose=loose) for loose in (True, False)]


@program({"data": 2, "x": 4}, layers=[2, 6])
def train_transformer_adamw(kit, layers):
    return step_of(kit, "adamw", transformer_loss(kit), transformer_weights(kit, layers, 256), tokens(kit, 8, 32, 256))


@program({"data": 2, "x": 2}, optimiser=["sgd", "adam"])
def train_transformer(kit, optimiser):
    return step_of(kit, optimiser, transformer_loss(kit), transformer_weights(kit, 2, 128), tokens(kit, 4, 16, 128))


@program({"data": 4, "x": 2})
def train_transformer_checkpointed(kit):
    return step_of(kit, "adamw", transformer_loss(kit, checkpoint=True), transformer_weights(kit, 2, 128), tokens(kit, 8, 16, 128))


@program({"data": 2, "x": 4})
def train_transformer_bfloat16(kit):
    def function(weights, *batch):
        gradients = jax.grad(transformer_loss(kit, dtype=jnp.bfloat16))(weights, *batch)
        return tree_map(lambda one: one.astype(jnp.bfloat16), gradients)
    return function, (transformer_weights(kit, 2, 128), *tokens(kit, 4, 16, 128)), None


@program({"data": 2, "x": 4})
def train_transformer_wide(kit):
    return step_of(kit, "sgd", transformer_loss(kit), transformer_weights(kit, 2, 256, hidden=256), tokens(kit, 4, 16, 256))


@program({"data": 4, "x": 2})
def train_accumulated(kit):
    """The gradients of four parts of the batch, one after the other, and then one step."""
    def function(weights, x, y):
        def loss(weights, x, y):
            return mean_square(two_layers(kit)(weights, x) - y)

        def part(total, one):
            return tree_map(jnp.add, total, jax.grad(loss)(weights, *one)), None
        total = lax.scan(part, tree_map(jnp.zeros_like, weights), (x.reshape(4, -1, HIDDEN), y.reshape(4, -1, HIDDEN)))[0]
        return tree_map(lambda w, g: w - RATE * g / 4, weights, total)
    weights = tensor_parallel(kit)
    return function, (weights, *[kit.real(32, HIDDEN, spec=P("data")) for _ in range(2)]), specs_of(kit, weights)


@program({"data": 8})
def train_averaged_weights(kit):
    """SGD, and a running mean of the weights beside it."""
    def function(weights, mean, x, y):
        gradients = jax.grad(lambda weights: mean_square(jnp.tanh(x @ weights) - y))(weights)
        weights = weights - RATE * gradients
        return weights, 0.99 * mean + 0.01 * weights
    weights = kit.weight(HIDDEN, HIDDEN, spec=P("data"))
    return function, (weights, weights, *[kit.real(16, HIDDEN, spec=P("data")) for _ in range(2)]), (P("data"), P("data"))


@program({"data": 4})
def train_steps_in_a_loop(kit):
    def function(weights, x, y):
        def step(weights, _):
            value, gradients = jax.value_and_grad(lambda weights: mean_square(jnp.tanh(x @ weights["up"]) @ weights["down"] - y))(weights)
            return sgd(weights, gradients, ())[0], value
        return lax.scan(step, weights, None, length=3)
    return function, ({"up": kit.weight(HIDDEN, 64), "down": kit.weight(64, HIDDEN)}, *[kit.real(16, HIDDEN, spec=P("data")) for _ in range(2)]), None


@program({"data": 2, "x": 4})
def train_contrast_of_two_networks(kit):
    """A loss of two networks, of which one is not trained: its gradient stops."""
    def loss(weights, fixed, x):
        mine, other = two_layers(kit)(weights, x), lax.stop_gradient(two_layers(kit)(fixed, x))
        return -jnp.mean(jnp.sum(mine * other, -1) * lax.rsqrt(jnp.sum(mine * mine, -1) * jnp.sum(other * other, -1)))
    weights = tensor_parallel(kit)
    return jax.value_and_grad(loss), (weights, weights, kit.real(8, HIDDEN, spec=P("data"))), (P(), specs_of(kit, weights))


# With flax and optax. Weights and states are arguments of the shapes that the libraries make.

def arguments_like(kit, tree, spec_of, scale):
    """Arguments of these shapes. `spec_of` says how a shape is cut; whole numbers, which count steps, are small."""
    def one(leaf):
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            return kit.integer(*leaf.shape, high=4)
        return kit.real(*leaf.shape, spec=spec_of(leaf.shape), scale=scale(leaf.shape))
    return tree_map(one, tree)


def along_last(kit, axis):
    """Matrices are cut along their last dimension where it can be cut."""
    size = kit.axes[axis] if kit.axes else 1
    return lambda shape: P(*[None] * (len(shape) - 1), axis) if len(shape) > 1 and shape[-1] % size == 0 else P()


def fan(shape):
    return 1.0 / max(1, shape[0] if len(shape) < 3 else shape[-2] * shape[0]) ** 0.5


def positive_moments(state):
    """Second moments that were drawn like any number, made positive: optimisers take their root."""
    def fixed(path, leaf):
        named = any(getattr(part, "name", None) in ("nu", "v", "v_row", "v_col", "sum_of_squares", "mu_nu") for part in path)
        return 0.01 + leaf * leaf if named else leaf
    return jax.tree_util.tree_map_with_path(fixed, state)


def library_step(kit, model, optimiser, inputs, spec_of, loss):
    import optax
    example = tree_map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), list(inputs))
    weights = jax.eval_shape(model.init, jax.ShapeDtypeStruct((2,), jnp.uint32), example[0])
    state = jax.eval_shape(optimiser.init, weights)

    def function(weights, state, *batch):
        value, gradients = jax.value_and_grad(lambda weights: loss(model.apply(weights, batch[0]), *batch[1:]))(weights)
        updates, state = optimiser.update(gradients, positive_moments(state), weights)
        return value, optax.apply_updates(weights, updates), state
    given = arguments_like(kit, weights, spec_of, fan), arguments_like(kit, state, spec_of, fan)
    return function, (*given, *inputs), (P(), *specs_of(kit, given))


def flax_mlp():
    from flax import linen

    class Perceptron(linen.Module):
        @linen.compact
        def __call__(self, x):
            x = linen.gelu(linen.Dense(128)(x))
            return linen.Dense(HIDDEN)(linen.LayerNorm()(x))
    return Perceptron()


def flax_convolutions():
    from flax import linen

    class Convolutions(linen.Module):
        @linen.compact
        def __call__(self, x):
            for features in (16, 32):
                x = linen.avg_pool(linen.relu(linen.GroupNorm(num_groups=4)(linen.Conv(features, (3, 3))(x))), (2, 2), strides=(2, 2))
            return linen.Dense(10)(x.reshape(x.shape[0], -1))
    return Convolutions()


def flax_transformer(layers):
    from flax import linen

    class Transformer(linen.Module):
        @linen.compact
        def __call__(self, tokens):
            x = linen.Embed(128, HIDDEN)(tokens)
            mask = linen.make_causal_mask(tokens)
            for _ in range(layers):
                x = x + linen.SelfAttention(num_heads=8)(linen.LayerNorm()(x), mask=mask)
                x = x + linen.Dense(HIDDEN)(linen.gelu(linen.Dense(4 * HIDDEN)(linen.LayerNorm()(x))))
            return linen.Dense(128)(linen.LayerNorm()(x))
    return Transformer()


def flax_recurrent():
    from flax import linen

    class Recurrent(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(16)(linen.RNN(linen.LSTMCell(32))(x))
    return Recurrent()


def optimiser_of(name):
    import optax
    made = {"sgd": lambda: optax.sgd(RATE, momentum=0.9), "adam": lambda: optax.adam(RATE), "adamw": lambda: optax.adamw(RATE), "lamb": lambda: optax.lamb(RATE),
            "lion": lambda: optax.lion(RATE), "adafactor": lambda: optax.adafactor(RATE, min_dim_size_to_factor=32), "rmsprop": lambda: optax.rmsprop(RATE),
            "clipped_adamw": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(RATE, 100)))}
    return made[name]()


@program({"data": 2, "x": 4}, optimiser=["sgd", "adam", "adamw", "lamb", "lion", "adafactor", "rmsprop", "clipped_adamw"], needs=("flax", "optax"))
def flax_mlp_step(kit, optimiser):
    inputs = [kit.real(16, HIDDEN, spec=P("data")), kit.real(16, HIDDEN, spec=P("data"))]
    return library_step(kit, flax_mlp(), optimiser_of(optimiser), inputs, along_last(kit, "x"), lambda made, y: mean_square(made - y))


@program({"data": 4}, needs=("flax", "optax"))
def flax_convolutions_step(kit):
    inputs = [kit.real(8, 16, 16, 3, spec=P("data")), kit.integer(8, high=10, spec=P("data"))]
    return library_step(kit, flax_convolutions(), optimiser_of("sgd"), inputs, lambda shape: P(), lambda made, y: cross_entropy(made, y))


@program({"data": 2, "x": 4}, layers=[2, 6], needs=("flax", "optax"))
def flax_transformer_step(kit, layers):
    return library_step(kit, flax_transformer(layers), optimiser_of("adamw"), tokens(kit, 8, 16, 128), along_last(kit, "x"), cross_entropy)


@program({"fsdp": 8}, needs=("flax", "optax"))
def flax_transformer_fsdp_step(kit):
    def first_that_divides(shape):
        at = next((k for k, extent in enumerate(shape) if extent % 8 == 0), None)
        return P() if at is None else P(*[None] * at, "fsdp")
    inputs = [kit.integer(8, 16, high=128, spec=P("fsdp")) for _ in range(2)]
    return library_step(kit, flax_transformer(2), optimiser_of("adam"), inputs, first_that_divides, cross_entropy)


@program({"data": 4}, needs=("flax", "optax"))
def flax_recurrent_step(kit):
    inputs = [kit.real(8, 12, 16, spec=P("data")), kit.real(8, 12, 16, spec=P("data"))]
    return library_step(kit, flax_recurrent(), optimiser_of("adam"), inputs, lambda shape: P(), lambda made, y: mean_square(made - y))


@program({"data": 2, "x": 4}, kind=["softmax_cross_entropy", "huber", "ctc"], needs=("optax",))
def optax_loss_gradient(kit, kind):
    import optax
    if kind == "ctc":
        def loss(logits, labels):
            return jnp.sum(optax.ctc_loss(logits, jnp.zeros((8, 12), logits.dtype), labels, jnp.zeros((8, 5), logits.dtype)))
        return jax.value_and_grad(loss), (kit.real(8, 12, 16, spec=P("data", None, "x")), kit.integer(8, 5, low=1, high=16, spec=P("data"))), (P(), P("data"))
    if kind == "huber":
        return jax.value_and_grad(lambda a, b: jnp.mean(optax.huber_loss(a, b))), (kit.real(16, 64, spec=P("data", "x")), kit.real(16, 64, spec=P("x"))), None
    return (jax.value_and_grad(lambda logits, labels: jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))),
            (kit.real(16, 128, spec=P("data", "x")), kit.integer(16, high=128, spec=P("data"))), None)
