"""Programs of `shard_map`, which say their collectives themselves. On one device a plain function says what they should do."""

import jax
from jax import lax, nn
from jax import numpy as jnp

from .kit import P, program
from .layers import HIDDEN, attend, causal, gradient_of, mean_square

X = P("x")


def ring(size, step=1):
    return [(k, (k + step) % size) for k in range(size)]


@program({"x": 8}, kind=["sum", "mean", "max", "gathered", "scattered", "exchanged", "shifted", "numbered"])
def collective(kit, kind):
    size = 8
    bodies = {"sum": lambda x: lax.psum(x, "x"), "mean": lambda x: lax.pmean(x, "x"), "max": lambda x: lax.pmax(x, "x") - lax.pmin(x, "x"),
              "gathered": lambda x: lax.all_gather(x, "x", tiled=True), "scattered": lambda x: lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True),
              "exchanged": lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True), "shifted": lambda x: lax.ppermute(x, "x", ring(size)),
              "numbered": lambda x: x * lax.axis_index("x").astype(x.dtype)}
    parts = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.max(0) - x.min(0), "gathered": lambda x: x.reshape(64, 32),
             "scattered": lambda x: x.sum(0), "exchanged": lambda x: x.reshape(64, 32), "shifted": lambda x: jnp.roll(x, 1, 0).reshape(64, 32),
             "numbered": lambda x: (x * jnp.arange(8, dtype=x.dtype)[:, None, None]).reshape(64, 32)}
    ends = {"sum": P(), "mean": P(), "max": P(), "gathered": P(), "scattered": P(None, "x"), "exchanged": P(None, "x")}
    function = (lambda x: parts[kind](x.reshape(8, 8, 32))) if kit.alone else kit.manual(bodies[kind], X, ends.get(kind, X))
    return lambda x: function(jnp.sin(x)) + 1, (kit.real(64, 32, spec=X),), ends.get(kind, X)


@program({"x": 8})
def manual_mlp(kit):
    def plain(up, down, x):
        return nn.relu(x @ up) @ down

    def function(up, down, x):
        return lax.psum(nn.relu(x @ up) @ down, "x")
    whole = plain if kit.alone else kit.manual(function, (P(None, "x"), X, P()), P())
    return whole, (kit.weight(HIDDEN, 128, spec=P(None, "x")), kit.weight(128, HIDDEN, spec=X), kit.real(8, HIDDEN)), P()


@program({"x": 8})
def manual_mlp_gradient(kit):
    function, arguments, _ = manual_mlp(kit)
    return gradient_of(function), arguments, (P(), P(None, "x"))


@program({"data": 2, "x": 4})
def manual_mlp_on_two_axes(kit):
    """The sums are scattered along the sequence, and gathered before the next product."""
    def plain(up, down, x):
        return nn.silu(x @ up) @ down

    def function(up, down, x):
        whole = lax.all_gather(x, "x", axis=1, tiled=True)
        return lax.psum_scatter(nn.silu(whole @ up) @ down, "x", scatter_dimension=1, tiled=True)
    cut = P("data", "x")
    whole = plain if kit.alone else kit.manual(function, (P(None, "x"), X, cut), cut)
    return whole, (kit.weight(HIDDEN, 128, spec=P(None, "x")), kit.weight(128, HIDDEN, spec=X), kit.real(4, 16, HIDDEN, spec=cut)), cut


@program({"data": 8})
def manual_step(kit):
    """A data-parallel step whose sum of gradients stands there."""
    def step(weights, x, y, reduce):
        value, gradients = jax.value_and_grad(lambda weights: mean_square(jnp.tanh(x @ weights["up"]) @ weights["down"] - y))(weights)
        gradients = reduce(gradients)
        return reduce(value), jax.tree_util.tree_map(lambda w, g: w - 0.1 * g, weights, gradients)
    if kit.alone:
        function = (lambda weights, x, y: step(weights, x, y, lambda one: one))
    else:
        function = kit.manual(lambda weights, x, y: step(weights, x, y, lambda one: lax.pmean(one, "data")), (P(), P("data"), P("data")), (P(), P()))
    return function, ({"up": kit.weight(HIDDEN, 64), "down": kit.weight(64, HIDDEN)}, *[kit.real(16, HIDDEN, spec=P("data")) for _ in range(2)]), None


def pipeline(kit, stages, micro):
    """Stages on devices, one behind the other: what one has made goes to the next."""
    def stage(weight, x):
        return jnp.tanh(x @ weight)

    def plain(weights, x):
        for weight in weights:
            x = stage(weight, x)
        return x

    def body(weight, x):
        weight, here, state = weight[0], lax.axis_index("x"), jnp.zeros_like(x[0])
        out = jnp.zeros_like(x)
        for k in range(micro + stages - 1):
            state = stage(weight, jnp.where(here == 0, x[min(k, micro - 1)], state))
            if k >= stages - 1:
                out = out.at[k - stages + 1].set(jnp.where(here == stages - 1, state, 0))
            state = lax.ppermute(state, "x", ring(stages))
        return lax.psum(out, "x")
    return plain if kit.alone else kit.manual(body, (X, P()), P())


@program({"x": 4}, {"x": 8})
def pipeline_by_permutes(kit):
    stages = kit.axes["x"] if kit.axes else None
    return pipeline(kit, stages, 4), (kit.real(stages or 8, HIDDEN, HIDDEN, spec=X, scale=0.125), kit.real(4, 4, HIDDEN)), P()


@program({"x": 4})
def pipeline_by_permutes_gradient(kit):
    return gradient_of(pipeline(kit, 4, 3)), (kit.real(4, HIDDEN, HIDDEN, spec=X, scale=0.125), kit.real(3, 4, HIDDEN)), (P(), X)


@program({"x": 4})
def pipeline_in_a_loop(kit):
    """The same with a loop, and the parts of the batch on the devices."""
    def plain(weights, x):
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return x

    def body(weight, x):
        def step(state, _):
            return lax.ppermute(jnp.tanh(state @ weight[0]), "x", ring(4)), None
        here = lax.axis_index("x")
        made = []
        for part in range(4):
            start = lax.psum(jnp.where(here == part, x, 0), "x")
            end = lax.scan(step, start, None, length=4)[0]
            made.append(lax.psum(jnp.where(here == 0, end, 0), "x"))
        return sum(jnp.where(here == part, one, 0) for part, one in enumerate(made))
    whole = plain if kit.alone else kit.manual(body, (X, X), X)
    return whole, (kit.real(4, 32, 32, spec=X, scale=0.2), kit.real(16, 32, spec=X)), X


def ring_attention(kit, size, masked):
    """Keys and values go round, and the softmax is put together from its parts."""
    def plain(query, key, value):
        return attend(query, key, value, causal(query.shape[1]) if masked else None)

    def body(query, key, value):
        here, length = lax.axis_index("x"), query.shape[1]
        best = jnp.full((query.shape[0], query.shape[2], length), -1e30, query.dtype)
        total, out = jnp.zeros_like(best), jnp.zeros_like(query)
        for k in range(size):
            scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / query.shape[-1] ** 0.5
            if masked:
                far = (here * length + jnp.arange(length))[:, None] >= ((here - k) % size * length + jnp.arange(length))[None]
                scores = jnp.where(far, scores, -1e9)
            new = jnp.maximum(best, scores.max(-1))
            part, kept = jnp.exp(scores - new[..., None]), jnp.exp(best - new)
            total = total * kept + part.sum(-1)
            out = out * kept.swapaxes(1, 2)[..., None] + jnp.einsum("bhqk,bkhd->bqhd", part, value)
            best = new
            key, value = (lax.ppermute(one, "x", ring(size)) for one in (key, value))
        return out / total.swapaxes(1, 2)[..., None]
    cut = P(None, "x")
    return plain if kit.alone else kit.manual(body, (cut, cut, cut), cut)


@program({"x": 4}, mask=["open", "causal"])
def attention_ring(kit, mask):
    cut = P(None, "x")
    return ring_attention(kit, 4, mask == "causal"), tuple(kit.real(2, 32, 4, 16, spec=cut) for _ in range(3)), cut


@program({"x": 4})
def attention_ring_gradient(kit):
    cut = P(None, "x")
    return gradient_of(ring_attention(kit, 4, False)), tuple(kit.real(2, 16, 4, 16, spec=cut) for _ in range(3)), (P(), cut)


@program({"x": 8})
def product_gathered_in_steps(kit):
    """A product whose right side goes round in a ring, so that it need not be gathered."""
    def body(a, b):
        here, out = lax.axis_index("x"), 0
        for k in range(8):
            out = out + lax.dynamic_slice_in_dim(a, ((here - k) % 8) * 16, 16, axis=1) @ b
            b = lax.ppermute(b, "x", ring(8))
        return out
    whole = (lambda a, b: a @ b) if kit.alone else kit.manual(body, (X, X), X)
    return whole, (kit.real(32, 128, spec=X), kit.weight(128, 64, spec=X)), X


@program({"x": 8})
def experts_exchanged(kit):
    """Tokens go to the device of their expert and back, by two exchanges."""
    def plain(router, up, x):
        chosen = jnp.arange(64) % 8
        return jnp.einsum("tm,tmf->tf", x, up[chosen]) * nn.sigmoid(x @ router)

    def body(router, up, x):
        sent = lax.all_to_all(x.reshape(8, 1, HIDDEN), "x", 0, 0, tiled=True)
        made = jnp.einsum("scm,mf->scf", sent, up[0])
        back = lax.all_to_all(made, "x", 0, 0, tiled=True).reshape(8, HIDDEN)
        return back * nn.sigmoid(x @ router)
    whole = plain if kit.alone else kit.manual(body, (P(), X, X), X)
    return whole, (kit.weight(HIDDEN, HIDDEN), kit.weight(8, HIDDEN, HIDDEN, spec=X), kit.real(64, HIDDEN, spec=X)), X


@program({"x": 8})
def halo_exchanged(kit):
    def plain(x):
        wide = jnp.pad(x, ((1, 1), (0, 0)))
        return wide[2:] + wide[:-2] - 2 * x

    def body(x):
        above = lax.ppermute(x[-1:], "x", [(k, k + 1) for k in range(7)])
        below = lax.ppermute(x[:1], "x", [(k + 1, k) for k in range(7)])
        wide = jnp.concatenate([above, x, below])
        return wide[2:] + wide[:-2] - 2 * x
    return plain if kit.alone else kit.manual(body, X, X), (kit.real(64, 32, spec=X),), X


@program({"x": 4})
def manual_within_automatic(kit):
    """A manual part in the middle: what is before and after is the compiler's."""
    def middle(x):
        return x - lax.pmean(jnp.mean(x, 0, keepdims=True), "x")
    center = (lambda x: x - jnp.mean(x, 0, keepdims=True)) if kit.alone else kit.manual(middle, X, X)
    return lambda weight, x: jnp.tanh(center(kit.hold(x @ weight, None, "x"))) @ weight.T, (kit.weight(HIDDEN, 32, spec=P(None, "x")), kit.real(16, HIDDEN, spec=X)), X


@program({"x": 4})
def manual_loss_of_vocabulary(kit):
    """A cross entropy whose vocabulary is cut: maxima, sums and the label's own logit from wherever it is."""
    def plain(logits, labels):
        return jnp.mean(nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[:, None], 1)[:, 0])

    def body(logits, labels):
        best = lax.stop_gradient(lax.pmax(lax.stop_gradient(logits.max(-1)), "x"))
        total = lax.psum(jnp.exp(logits - best[:, None]).sum(-1), "x")
        at = labels - lax.axis_index("x") * logits.shape[1]
        mine = (at >= 0) & (at < logits.shape[1])
        own = jnp.take_along_axis(logits, jnp.clip(at, 0, logits.shape[1] - 1)[:, None], 1)[:, 0]
        return jnp.mean(jnp.log(total) + best - lax.psum(jnp.where(mine, own, 0), "x"))
    whole = plain if kit.alone else kit.manual(body, (P(None, "x"), P()), P())
    return whole, (kit.real(16, 128, spec=P(None, "x")), kit.integer(16, high=128)), P()
