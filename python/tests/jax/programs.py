"""Programs of many kinds, each a function with arguments on a mesh of CPU devices: what users write, made small.

A maker returns the function and its arguments. Shapes are enough, since nothing is run, unless an argument says otherwise.
"""

from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from jax import lax, nn
from jax import numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

PROGRAMS = {}


def listed(make):
    PROGRAMS[make.__name__] = make
    return make


def mesh(**axes):
    count = int(np.prod(list(axes.values())))
    return Mesh(np.array(jax.devices()[:count]).reshape(tuple(axes.values())), tuple(axes))


TWO = {"data": 2, "x": 4}


def array(*shape, spec=(), on=None, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(on or mesh(**TWO), P(*spec)))


def held(value, *spec, on=None):
    return lax.with_sharding_constraint(value, NamedSharding(on or mesh(**TWO), P(*spec)))


def weights(hidden=32):
    return {"up": array(hidden, 64, spec=(None, "x")), "bias": array(64, spec=("x",)), "down": array(64, hidden, spec=("x", None))}


def two_layers(given, x):
    return nn.gelu(x @ given["up"] + given["bias"]) @ given["down"]


def squares(function):
    return lambda *given: sum(jnp.sum(one * one) for one in jax.tree_util.tree_leaves(function(*given)))


@listed
def mlp():
    return two_layers, (weights(), array(8, 32, spec=("data",)))


@listed
def mlp_gradient():
    return jax.grad(squares(two_layers)), (weights(), array(8, 32, spec=("data",)))


@listed
def mlp_value_and_gradient_with_constraints():
    def loss(given, x):
        return jnp.mean(held(held(x @ given["up"], "data", "x") @ given["down"], "data", None) ** 2)
    return jax.value_and_grad(loss), (weights(), array(8, 32, spec=("data",)))


@listed
def fully_sharded_step():
    def step(given, x):
        def loss(given):
            return jnp.mean(two_layers(jax.tree_util.tree_map(held, given), x) ** 2)
        return jax.tree_util.tree_map(lambda one, slope: one - 0.1 * slope, given, jax.grad(loss)(given))
    return step, (jax.tree_util.tree_map(lambda one: array(*one.shape, spec=("data",)), weights()), array(8, 32, spec=("data",)))


@listed
def momentum_with_donated_state():
    def step(state, x):
        given, speed = state
        slopes = jax.grad(squares(two_layers))(given, x)
        speed = jax.tree_util.tree_map(lambda one, slope: 0.9 * one + slope, speed, slopes)
        return jax.tree_util.tree_map(lambda one, fast: one - 0.01 * fast, given, speed), speed
    return jax.jit(step, donate_argnums=0), ((weights(), weights()), array(8, 32, spec=("data",)))


def attend(query, key, value, mask=None):
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores, axis=-1), value)


@listed
def attention_by_heads():
    one = array(2, 16, 4, 8, spec=("data", None, "x"))
    return attend, (one, one, one)


@listed
def attention_by_sequence_causal():
    one = array(2, 16, 4, 8, spec=("data", "x"))
    return partial(attend, mask=np.tril(np.ones((16, 16), bool))), (one, one, one)


@listed
def attention_gradient():
    one = array(2, 8, 4, 4, spec=("data", None, "x"))
    return jax.grad(squares(attend), argnums=(0, 1, 2)), (one, one, one)


@listed
def grouped_queries():
    def function(query, key, value):
        return attend(query, *(jnp.repeat(one, 4, axis=2) for one in (key, value)))
    few = array(2, 8, 2, 4, spec=("data",))
    return function, (array(2, 8, 8, 4, spec=("data", None, "x")), few, few)


@listed
def convolution():
    def function(image, kernel):
        return lax.conv_general_dilated(image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return function, (array(4, 8, 8, 4, spec=("data",)), array(3, 3, 4, 8, spec=(None, None, None, "x")))


@listed
def convolution_gradient():
    def function(image, kernel):
        return lax.conv_general_dilated(image, kernel, (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.grad(squares(function), argnums=1), (array(4, 9, 9, 2, spec=("data",)), array(3, 3, 2, 4))


@listed
def convolution_along_a_cut_dimension():
    def function(signal, kernel):
        return lax.conv_general_dilated(signal, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    return function, (array(2, 16, 3, spec=(None, "x")), array(3, 3, 4))


@listed
def layers_in_a_scan():
    def function(stack, x):
        return lax.scan(lambda state, one: (jnp.tanh(state @ one), jnp.sum(state)), x, stack)
    return function, (array(3, 16, 16, spec=(None, None, "x")), array(4, 16, spec=("data",)))


@listed
def gradient_of_a_scan():
    def function(stack, x):
        return lax.scan(lambda state, one: (jnp.tanh(state @ one), None), x, stack)[0]
    return jax.grad(squares(function)), (array(3, 16, 16, spec=(None, None, "x")), array(4, 16, spec=("data",)))


@listed
def loop_of_a_given_length():
    def function(x):
        return lax.fori_loop(0, 3, lambda k, state: state @ state.T * 0.1 + k, x)
    return function, (array(8, 8, spec=("data", "x")),)


@listed
def either_branch():
    def function(switch, x):
        return lax.cond(switch > 0, lambda x: x.T @ x, lambda x: jnp.cumsum(x, axis=0) * 2, x)
    return function, (array(dtype=jnp.int32), array(8, 8, spec=("x",)))


@listed
def remat():
    def function(given, x):
        return jax.checkpoint(two_layers)(given, x)
    return jax.grad(squares(function)), (weights(), array(8, 32, spec=("data",)))


@listed
def batched_by_vmap():
    return jax.vmap(two_layers, in_axes=(None, 0)), (weights(), array(3, 8, 32, spec=(None, "data")))


@listed
def gradients_of_each_example():
    return jax.vmap(jax.grad(squares(two_layers)), in_axes=(None, 0)), (weights(), array(8, 32, spec=("data",)))


@listed
def second_derivative():
    def function(x, a):
        return jnp.sum(jnp.tanh(a @ x) ** 2)
    return jax.hessian(function), (array(8), array(16, 8, spec=("x",)))


@listed
def forward_derivative():
    return lambda x: jax.jvp(lambda x: jnp.exp(-x @ x.T), (x,), (jnp.ones_like(x),)), (array(8, 4, spec=("x",)),)


@listed
def embedding_and_loss():
    def loss(table, tokens):
        x = table[tokens]
        logits = held(x @ table.T, "data", None, "x")
        return jnp.mean(nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, tokens[..., None], -1)[..., 0])
    return jax.value_and_grad(loss), (array(32, 16, spec=("x",)), array(4, 8, spec=("data",), dtype=jnp.int32))


@listed
def layer_norm():
    def function(x, scale):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt(jnp.mean(centred ** 2, -1, keepdims=True) + 1e-5) * scale
    return function, (array(8, 32, spec=("data", "x")), array(32, spec=("x",)))


@listed
def mixture_of_experts():
    def function(router, up, x):
        gates = nn.softmax(x @ router)
        best, chosen = lax.top_k(gates, 2)
        sent = jnp.einsum("tke,tk->te", nn.one_hot(chosen, 4), best)
        return jnp.einsum("te,tef->tf", sent, jnp.einsum("tm,emf->tef", x, up))
    return function, (array(16, 4), array(4, 16, 16, spec=("x",)), array(8, 16, spec=("data",)))


@listed
def sorted_along_a_cut_dimension():
    return lambda x: (jnp.sort(x, axis=0), jnp.argmax(x, axis=1)), (array(8, 8, spec=("x", "data")),)


@listed
def reshapes_and_transposes():
    return lambda x: x.reshape(4, 4, 2, 8).transpose(2, 0, 3, 1).reshape(16, 16) + 1, (array(16, 16, spec=("x", "data")),)


@listed
def slices_and_rolls():
    return lambda x: jnp.concatenate([x[4:], x[:4]], 0) - jnp.roll(x, 3, axis=1), (array(8, 16, spec=("x", "data")),)


@listed
def scatter_and_gather():
    def function(x, rows, values):
        return x.at[rows].add(values)[rows[::-1]]
    return function, (array(16, 8, spec=(None, "x")), array(4, dtype=jnp.int32), array(4, 8, spec=(None, "x")))


@listed
def cache_of_keys():
    def function(cache, new, at):
        return lax.dynamic_update_slice(cache, new, (0, at, 0))
    return function, (array(2, 16, 8, spec=("data", None, "x")), array(2, 1, 8, spec=("data", None, "x")), array(dtype=jnp.int32))


@listed
def dropout_by_a_key():
    def function(key, x):
        return jnp.where(jax.random.bernoulli(jax.random.wrap_key_data(key), 0.5, x.shape), x, 0)
    return function, (array(2, dtype=jnp.uint32), array(8, 16, spec=("data", "x")))


@listed
def half_precision():
    def function(a, b):
        return (a @ b).astype(jnp.float32).sum(-1) + a.astype(jnp.float32).max()
    return function, (array(8, 16, spec=("data", "x"), dtype=jnp.bfloat16), array(16, 8, spec=("x",), dtype=jnp.bfloat16))


@listed
def integers_and_truth_values():
    def function(a, keep):
        return jnp.where(keep, a << 2, ~a).sum(0), jnp.any(keep, 1)
    return function, (array(8, 16, spec=("data", "x"), dtype=jnp.int32), array(8, 16, spec=("x",), dtype=jnp.bool_))


@listed
def complex_numbers():
    return lambda x: jnp.fft.fft(x, axis=1) * 1j, (array(4, 8, spec=("x",), dtype=jnp.complex64),)


@listed
def uneven_extents():
    return lambda x: held(x @ x.T, "x", "data") * 2 + 1, (array(10, 6),)


@listed
def unspecified_arguments():
    on = mesh(**TWO)

    def function(a, b):
        return held(a @ b, "data", "x", on=on)
    return function, (jax.ShapeDtypeStruct((8, 16), jnp.float32), jax.ShapeDtypeStruct((16, 8), jnp.float32))


@listed
def own_collectives():
    on = mesh(x=8)

    def body(x):
        whole = lax.all_gather(x, "x", tiled=True)
        there = lax.ppermute(x, "x", [(k, (k + 1) % 8) for k in range(8)])
        return lax.psum_scatter(whole * lax.axis_index("x"), "x", tiled=True) + there
    return jax.shard_map(body, mesh=on, in_specs=P("x"), out_specs=P("x")), (array(16, 4, spec=("x",), on=on),)


@listed
def shard_map_in_a_gradient():
    on = mesh(**TWO)
    inner = jax.shard_map(lambda a, b: lax.psum(jnp.tanh(a @ b), "x"), mesh=on, in_specs=(P("data", "x"), P("x")), out_specs=P("data"))
    return jax.grad(squares(inner), argnums=1), (array(4, 16, spec=("data", "x")), array(16, 8, spec=("x",)))


@listed
def pipeline_of_permutes():
    on = mesh(x=4)

    def body(weight, x):
        state = x
        for _ in range(4):
            state = lax.ppermute(jnp.tanh(state @ weight[0]), "x", [(k, (k + 1) % 4) for k in range(4)])
        return state
    return jax.shard_map(body, mesh=on, in_specs=(P("x"), P("x")), out_specs=P("x")), (array(4, 8, 8, spec=("x",), on=on), array(8, 8, spec=("x",), on=on))


@listed
def explicit_shardings():
    on = jax.make_mesh((2, 4), ("data", "x"), axis_types=(AxisType.Explicit,) * 2)

    def function(a, b):
        return jax.sharding.reshard(jnp.sin(a) @ b, NamedSharding(on, P("x", "data")))
    return function, (array(8, 16, spec=("data", None), on=on), array(16, 8, spec=(None, "x"), on=on))


@listed
def explicit_gradient():
    on = jax.make_mesh((2, 4), ("data", "x"), axis_types=(AxisType.Explicit,) * 2)

    def loss(b, a):
        return jnp.sum(jnp.tanh(a @ b) ** 2)
    return jax.grad(loss), (array(16, 8, spec=(None, "x"), on=on), array(8, 16, spec=("data", None), on=on))


@jax.tree_util.register_pytree_node_class
@dataclass
class Dense:
    """A module whose weights are leaves, as those of Equinox and Flax are; the activation is no array."""

    weight: object
    bias: object
    activation: object

    def __call__(self, x):
        return self.activation(x @ self.weight + self.bias)

    def tree_flatten(self):
        return (self.weight, self.bias, self.activation), None

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls(*leaves)


@jax.tree_util.register_pytree_node_class
@dataclass
class Sequence:
    layers: list

    def __call__(self, x):
        for one in self.layers:
            x = one(x)
        return x

    def tree_flatten(self):
        return (self.layers,), None

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls(*leaves)


@listed
def module_that_is_called():
    up, down = array(32, 64, spec=(None, "x")), array(64, 32, spec=("x",))
    return Sequence([Dense(up, array(64, spec=("x",)), nn.relu), Dense(down, array(32), jnp.tanh)]), (array(8, 32, spec=("data",)),)


@listed
def module_as_an_argument():
    def loss(module, x):
        return jnp.mean(module(x) ** 2)
    return loss, (Dense(array(32, 64, spec=(None, "x")), array(64, spec=("x",)), nn.silu), array(8, 32, spec=("data",)))


@listed
def arrays_that_are_there():
    on = mesh(**TWO)
    a, b = (jax.device_put(np.arange(128, dtype=np.float32).reshape(8, 16), NamedSharding(on, P(*spec))) for spec in (("data", "x"), ("x", "data")))
    return lambda a, b: a @ b.T - 3.0, (a, b)


@listed
def lowered_before():
    one = array(8, 8, spec=("data", "x"))
    return jax.jit(lambda a, b: (a @ b).T).lower(one, one), ()


@listed
def traced_before():
    one = array(8, 8, spec=("data", "x"))
    return jax.jit(lambda a, b: (a + b).sum(0)).trace(one, one), ()
