"""Movements, windows and indices: convolutions, pools, joins, pads, rolls, reshapes, sorts, gathers, scatters, transforms."""

import jax
from jax import lax, nn
from jax import numpy as jnp

from .kit import P, program
from .layers import gradient_of

# Convolutions and pools.


def convolve(x, kernel, strides=(1, 1), padding="SAME", **more):
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"), **more)


KERNELS = {
    "plain": (3, 3, 16, 32, {}),
    "strided": (3, 3, 16, 32, {"strides": (2, 2)}),
    "dilated": (3, 3, 16, 32, {"rhs_dilation": (2, 2)}),
    "by_channel": (3, 3, 1, 16, {"feature_group_count": 16}),
    "transposed": (2, 2, 16, 32, {"lhs_dilation": (2, 2), "padding": ((1, 1), (1, 1))}),
}
IMAGES = {"batch": P("x"), "height": P(None, "x"), "channels": P(None, None, None, "x")}


def convolution(kit, kind, cut):
    high, wide, into, out, more = KERNELS[kind]
    return lambda x, kernel: convolve(x, kernel, **more), (kit.real(8, 16, 16, 16, spec=IMAGES[cut]), kit.real(high, wide, into, out, scale=0.1))


@program({"x": 4}, kind=list(KERNELS))
def convolution_by_height(kit, kind):
    function, arguments = convolution(kit, kind, "height")
    return function, arguments, P(None, "x")


@program({"x": 4}, kind=list(KERNELS))
def convolution_gradient(kit, kind):
    function, arguments = convolution(kit, kind, "batch")
    return jax.grad(lambda x, kernel: jnp.sum(function(x, kernel) ** 2), argnums=(0, 1)), arguments, (P("x"), P())


@program({"x": 4})
def convolution_gradient_by_height(kit):
    function, arguments = convolution(kit, "plain", "height")
    return gradient_of(function), arguments, (P(), P(None, "x"))


@program({"x": 8})
def convolution_by_channels(kit):
    def function(x, first, second):
        return convolve(nn.relu(kit.hold(convolve(x, first), None, None, None, "x")), second)
    return function, (kit.real(4, 8, 8, 3), kit.real(3, 3, 3, 64, spec=P(None, None, None, "x"), scale=0.2), kit.real(3, 3, 64, 32, spec=P(None, None, "x"), scale=0.05)), P()


@program({"x": 2, "y": 2})
def convolution_of_kernel_in_parts(kit):
    """The kernel is cut along its window, and nothing is cut along y."""
    def function(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
    return function, (kit.real(4, 32, 16, spec=P(None, "x")), kit.real(4, 16, 16, spec=P("x"), scale=0.1)), None


@program({"x": 8}, {"x": 2})
def convolution_along_sequence(kit):
    """A causal one, cut along the sequence: every device needs the end of its neighbour's part."""
    def function(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1,), ((3, 0),), dimension_numbers=("NWC", "WIO", "NWC"), feature_group_count=64)
    return function, (kit.real(4, 64, 64, spec=P(None, "x")), kit.real(4, 1, 64)), P(None, "x")


@program({"data": 2, "x": 2})
def residual_network_gradient(kit):
    def function(weights, x):
        x = convolve(x, weights["stem"])
        for one, two in zip(weights["first"], weights["second"]):
            x = x + convolve(nn.relu(convolve(nn.relu(x), one)), two)
        return jnp.mean(x, (1, 2)) @ weights["head"]
    kernel = kit.real(3, 3, 16, 16, spec=P(None, None, None, "x"), scale=0.08)
    weights = {"stem": kit.real(3, 3, 3, 16, scale=0.2), "first": [kernel] * 2, "second": [kernel] * 2, "head": kit.weight(16, 10)}
    return gradient_of(function), (weights, kit.real(4, 8, 8, 3, spec=P("data"))), None


def pooled(x, kind, size=2):
    window, strides = (1, size, size, 1), (1, 2, 2, 1)
    if kind == "max":
        return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME")
    return lax.reduce_window(x, 0.0, lax.add, window, strides, "SAME") / size ** 2


@program({"x": 4}, kind=["max", "mean"])
def pool(kit, kind):
    return lambda x: pooled(x, kind, 3), (kit.real(4, 16, 16, 8, spec=P(None, "x")),), P(None, "x")


@program({"x": 4}, kind=["max", "mean"])
def pool_gradient(kit, kind):
    return gradient_of(lambda x: pooled(x, kind)), (kit.real(4, 16, 16, 8, spec=P(None, "x")),), None


@program({"x": 8})
def pool_gradient_overlapping(kit):
    return jax.grad(lambda x: jnp.sum(pooled(x, "max", 3) ** 2)), (kit.real(8, 16, 16, 4, spec=P("x")),), P("x")


@program({"x": 4})
def pool_gradient_in_steps_of_one(kit):
    def function(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    return gradient_of(function), (kit.real(4, 16, 16, 8, spec=P(None, "x")),), None


# Joins, pads, rolls, reshapes.

@program({"x": 8}, {"x": 2})
def concatenated_uneven(kit):
    """Two extents that no device's part ends at."""
    return lambda a, b: kit.hold(jnp.concatenate([a, b, a[:3]]), "x"), (kit.real(24, 64, spec=P("x")), kit.real(40, 64, spec=P("x"))), None


@program({"x": 4, "y": 2})
def concatenated_with_itself(kit):
    return lambda x: jnp.concatenate([x, x, -x], axis=1), (kit.real(16, 64, spec=P("y", "x")),), P(None, "x")


@program({"x": 4, "y": 2})
def concatenated_gradient(kit):
    return gradient_of(lambda a, b: kit.hold(jnp.concatenate([a, jnp.tanh(b)], axis=1), "y", "x")), (kit.real(16, 32, spec=P("y", "x")), kit.real(16, 64, spec=P("x"))), None


@program({"x": 8}, shift=[1, 13])
def rolled(kit, shift):
    return lambda x: jnp.roll(x, shift, axis=0) - jnp.roll(x, (2, -shift), axis=(0, 1)), (kit.real(64, 32, spec=P("x")),), P("x")


@program({"x": 4})
def rolled_by_argument(kit):
    return lambda x, shift: jnp.roll(x, shift, axis=0), (kit.real(32, 64, spec=P("x")), kit.integer(low=0, high=32)), P("x")


@program({"x": 2, "y": 4})
def halo_stencil(kit):
    """Five points of a grid that is cut both ways, with walls of zeros, three times."""
    def function(x):
        for _ in range(3):
            wide = jnp.pad(x, 1)
            x = kit.hold(x + 0.1 * (wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2] - 4 * x), "x", "y")
        return x
    return function, (kit.real(64, 64, spec=P("x", "y")),), P("x", "y")


@program({"x": 2, "y": 4})
def halo_stencil_around(kit):
    def function(x):
        for _ in range(2):
            x = sum(jnp.roll(x, by, axis) for axis in (0, 1) for by in (1, -1)) / 4
        return x
    return function, (kit.real(32, 64, spec=P("x", "y")),), P("x", "y")


@program({"x": 8}, mode=["constant", "edge", "reflect"])
def padded(kit, mode):
    return lambda x: kit.hold(jnp.pad(x, ((5, 3), (0, 2)), mode=mode), "x"), (kit.real(64, 32, spec=P("x")),), None


@program({"x": 4})
def padded_within(kit):
    return lambda x: lax.pad(x, jnp.asarray(2, x.dtype), ((1, 3, 1), (0, -2, 2))), (kit.real(32, 16, spec=P("x")),), None


@program({"x": 4}, {"x": 8})
def sliced_unevenly(kit):
    return lambda x: kit.hold(x[3:50, ::2], "x") * 2, (kit.real(64, 64, spec=P("x", None)),), None


@program({"x": 8})
def sliced_gradient(kit):
    return gradient_of(lambda x: x[1::2, 5:] * x[::2, :-5]), (kit.real(64, 32, spec=P("x")),), (P(), P("x"))


@program({"x": 4, "y": 2})
def dimensions_merged(kit):
    return lambda x: jnp.tanh(x.reshape(4 * 16, 64)), (kit.real(4, 16, 64, spec=P(None, "x", "y")),), P("x", "y")


@program({"x": 4, "y": 2})
def dimensions_split(kit):
    return lambda x: x.reshape(8, 8, 8, 8).swapaxes(1, 2).reshape(64, 64), (kit.real(64, 64, spec=P("x", "y")),), P(("x", "y"))


@program({"x": 8})
def dimensions_merged_unevenly(kit):
    """5 x 24 becomes 120, of which a device has 15: no device's part is whole rows."""
    return lambda x: kit.hold(x.reshape(120, 16), "x").reshape(24, 5, 16), (kit.real(5, 24, 16, spec=P(None, "x")),), P("x")


@program({"x": 2, "y": 2, "z": 2})
def patches_of_image(kit):
    """As a vision transformer cuts its image."""
    def function(x, weight):
        parts = x.reshape(4, 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(4, 64, 48)
        return kit.hold(parts, "x", "y") @ weight
    return function, (kit.real(4, 32, 32, 3, spec=P("x", "y", "z")), kit.weight(48, 64)), P("x", ("y", "z"))


@program({"x": 4})
def uneven_everywhere(kit):
    """Extents that four does not divide, held in parts all the same: the last tiles are padded."""
    def function(x, weight):
        middle = kit.hold(jnp.tanh(x[:, :-1] @ weight[:-1, :-3]), None, "x")
        return middle - kit.hold(jnp.max(middle, axis=1, keepdims=True), None, None) + kit.hold(middle[:, ::-1], None, "x"), jnp.sum(middle, axis=1), jnp.argmin(middle, axis=1)
    return function, (kit.real(8, 64), kit.weight(64, 64)), None


@program({"x": 8})
def uneven_product(kit):
    def function(a, b):
        return kit.hold(a, None, "x") @ kit.hold(b, "x", None)
    return function, (kit.real(16, 45), kit.real(45, 32)), None


@program({"x": 8})
def reversed_and_transposed(kit):
    return lambda x: kit.hold(x[::-1, :, ::-1].transpose(2, 0, 1), None, "x"), (kit.real(16, 8, 32, spec=P("x")),), P("x")


@program({"x": 4, "y": 2})
def tiled_and_repeated(kit):
    return lambda x: (jnp.tile(x, (2, 3)), jnp.repeat(x, 3, axis=0), jnp.broadcast_to(x[:, None], (16, 4, 32))), (kit.real(16, 32, spec=P("x", "y")),), None


@program({"x": 8})
def triangles(kit):
    return lambda x: (jnp.tril(x), jnp.triu(x, 2), jnp.diagonal(x), jnp.trace(x)), (kit.real(64, 64, spec=P("x")),), None


@program({"x": 4, "y": 2})
def outer_and_kronecker(kit):
    return lambda a, b: (jnp.outer(a[0], b[0]), jnp.kron(a[:4, :4], b[:2, :2])), (kit.real(16, 32, spec=P("x", "y")), kit.real(8, 32, spec=P("y"))), None


# Einsums.

EINSUMS = {
    "bilinear": ("bi,ijk,bk->bj", (16, 32), (32, 24, 8), (16, 8)),
    "batched": ("abij,abjk->abik", (2, 4, 16, 32), (2, 4, 32, 16)),
    "chain": ("ij,jk,kl->il", (16, 64), (64, 32), (32, 64)),
    "repeated": ("ii,ij->j", (64, 64), (64, 32)),
    "summed": ("abc,bd->d", (8, 16, 32), (16, 64)),
}


@program({"x": 4, "y": 2}, kind=list(EINSUMS))
def einsum(kit, kind):
    text, *shapes = EINSUMS[kind]
    specs = [P("x", "y"), P("y"), P(None, "x")]
    specs = specs if kind != "batched" else [P("y", "x"), P(None, None, "x")]
    return lambda *given: jnp.einsum(text, *given), tuple(kit.real(*shape, spec=spec) for shape, spec in zip(shapes, specs)), None


# Sorts, top-k, sums along an axis.

@program({"x": 8}, cut=["along", "across"])
def sorted_rows(kit, cut):
    return lambda x: (jnp.sort(x, axis=0), jnp.argsort(x, axis=0)), (kit.real(64, 16, spec=P("x") if cut == "along" else P(None, "x")),), None


@program({"x": 4})
def sorted_together(kit):
    return lambda keys, x: lax.sort((keys, x, -x), dimension=0, num_keys=2), (kit.integer(64, 8, high=9, spec=P(None, "x")), kit.real(64, 8, spec=P("x"))), None


@program({"x": 4})
def sorted_gradient(kit):
    return jax.grad(lambda x, w: jnp.sum(jnp.sort(x, axis=1) * w)), (kit.real(8, 32, spec=P("x")), kit.real(8, 32)), P("x")


@program({"x": 8}, cut=["along", "across"])
def top_k(kit, cut):
    return lambda x: lax.top_k(x, 5), (kit.real(16, 128, spec=P(None, "x") if cut == "along" else P("x")),), None


@program({"x": 4})
def median_and_quantile(kit):
    return lambda x: (jnp.median(x, axis=1), jnp.quantile(x, 0.3, axis=0)), (kit.real(16, 33, spec=P("x")),), None


@program({"x": 8}, cut=["along", "across"])
def sums_along(kit, cut):
    """Running sums, products and maxima."""
    return (lambda x: (jnp.cumsum(x, axis=0), lax.cummax(x, axis=0), jnp.cumprod(1 + 0.1 * x, axis=1)[::7], lax.cumlogsumexp(x, axis=0)),
            (kit.real(64, 16, spec=P("x") if cut == "along" else P(None, "x")),), None)


@program({"x": 4})
def sums_and_maxima_along(kit):
    return lambda x: (jnp.cumsum(x, axis=0), lax.cummax(x, axis=0)), (kit.real(16, 64, spec=P("x")),), None


@program({"x": 8})
def sums_along_gradient(kit):
    return gradient_of(lambda x: jnp.cumsum(jnp.tanh(x), axis=0)), (kit.real(64, 16, spec=P("x")),), (P(), P("x"))


@program({"x": 4, "y": 2}, kind=["max", "min", "prod", "any", "mean", "var", "logsumexp"])
def reduced(kit, kind):
    functions = {"max": lambda x: jnp.max(x, 0), "min": lambda x: jnp.min(x, 1), "prod": lambda x: jnp.prod(x[:, :8], 0), "mean": lambda x: jnp.mean(x),
                 "any": lambda x: (jnp.any(x > 2, 0), jnp.all(x > -2, 1)), "var": lambda x: jnp.var(x, 0), "logsumexp": lambda x: nn.logsumexp(x, 1)}
    return functions[kind], (kit.real(32, 64, spec=P("x", "y")),), None


@program({"x": 4, "y": 2})
def positions_of_extremes(kit):
    return lambda x: (jnp.argmax(x, 0), jnp.argmin(x, 1), jnp.argmax(x)), (kit.real(32, 64, spec=P("x", "y")),), None


@program({"x": 4})
def max_gradient(kit):
    return gradient_of(lambda x: jnp.max(x, axis=0) + jnp.min(x, axis=0)), (kit.real(32, 64, spec=P("x")),), None


# Gathers, scatters, masks. Indices are of one type in f64, too, where a number of Python's is of another.

@program({"x": 8}, cut=["operand", "indices"])
def taken_rows(kit, cut):
    rows, ids = (P("x"), P()) if cut == "operand" else (P(), P("x"))
    return lambda x, at: (jnp.take(x, at, axis=0, mode="clip"), x[at % 64, at % 32]), (kit.real(64, 32, spec=rows), kit.integer(40, high=64, spec=ids, loose=True)), None


@program({"x": 8})
def taken_along(kit):
    return lambda x, at: jnp.take_along_axis(x, at, axis=1), (kit.real(16, 64, spec=P(None, "x")), kit.integer(16, 8, high=64)), None


@program({"x": 4})
def taken_gradient(kit):
    return jax.grad(lambda x, at: jnp.sum(x[:, at] ** 2)), (kit.real(16, 64, spec=P(None, "x")), kit.integer(24, high=64)), P(None, "x")


@program({"x": 8}, kind=["add", "set", "max", "multiply"])
def scattered(kit, kind):
    def function(x, at, values):
        if kind == "set":
            return x.at[at % 3 + jnp.arange(16) * 4].set(values)
        return getattr(x.at[at], kind)(values)
    return function, (kit.real(64, 32, spec=P("x")), kit.integer(16, high=64), kit.real(16, 32)), P("x")


@program({"x": 8})
def scattered_beyond(kit):
    """Rows past the end are dropped."""
    return lambda x, at, values: x.at[at].add(values, mode="drop"), (kit.real(64, 32, spec=P("x")), kit.integer(16, low=0, high=80), kit.real(16, 32, spec=P("x"))), P("x")


@program({"x": 8}, {"x": 2})
def segments_summed(kit):
    def function(x, segments):
        return jax.ops.segment_sum(x, segments, num_segments=16), jax.ops.segment_max(x, segments, num_segments=16)
    return function, (kit.real(64, 32, spec=P("x")), kit.integer(64, high=16, spec=P("x"))), None


@program({"x": 4, "y": 2})
def segments_summed_of_part(kit):
    """All rows but the last are added up, and the rows that are left lie in uneven tiles."""
    return (lambda x, segments: jax.ops.segment_sum(x[:-1], segments, num_segments=16), (kit.real(64, 32, spec=P("x")), kit.integer(63, high=16)), None)


@program({"x": 8})
def messages_of_graph(kit):
    """One layer of a graph network: gather along edges, sum at their ends."""
    def loss(weight, nodes, sources, targets):
        sent = jnp.tanh(nodes[sources] @ weight)
        return jnp.sum(jax.ops.segment_sum(sent, targets, num_segments=32) ** 2)
    return jax.grad(loss, argnums=(0, 1)), (kit.weight(32, 32), kit.real(32, 32), kit.integer(128, high=32, spec=P("x")), kit.integer(128, high=32, spec=P("x"))), None


@program({"x": 8})
def counted(kit):
    return (lambda ids, x: (jnp.bincount(ids, length=32), jnp.histogram(x, bins=8, range=(-2.0, 2.0))[0], jnp.searchsorted(jnp.sort(x), jnp.asarray([-1.0, 0.0, 1.0], x.dtype))),
            (kit.integer(128, high=32, spec=P("x")), kit.real(128, spec=P("x"))), None)


@program({"x": 8})
def masked(kit):
    def function(x, mask, lengths):
        inside = jnp.arange(64)[None] < lengths[:, None]
        return jnp.where(mask & inside, x, -jnp.inf).max(1), jnp.sum(jnp.where(inside, x, 0), 1) / lengths, jnp.cumsum(mask, axis=1)
    return function, (kit.real(16, 64, spec=P(None, "x")), kit.predicate(16, 64, spec=P("x")), kit.integer(16, low=1, high=65)), None


@program({"x": 4, "y": 2})
def one_hot(kit):
    return lambda at, x: (nn.one_hot(at, 64) * x[:, :, None], jnp.eye(64)[at[0]]), (kit.integer(16, 8, high=64, spec=P("x", "y")), kit.real(16, 8, spec=P("y"))), None


@program({"x": 8}, cut=["sliced", "whole"])
def updated_at_index(kit, cut):
    """The index comes at run time, and may lie past the end: it is clamped."""
    def function(x, value, at):
        return lax.dynamic_update_slice(x, value, (at, 0 * at)), lax.dynamic_slice(x, (at, 0 * at + 1), (16, 8))
    return function, (kit.real(64, 32, spec=P("x") if cut == "sliced" else P(None, "x")), kit.real(4, 32), kit.integer(high=60, loose=True)), None


@program({"x": 4})
def updated_row_at_index(kit):
    """One row, as a cache of keys is written."""
    return (lambda x, row, at: lax.dynamic_update_slice(x, row, (at, 0 * at)),
            (kit.real(16, 64, spec=P("x")), kit.real(1, 64), kit.integer(high=16, loose=True)), P("x"))


@program({"x": 2})
def updated_at_index_of_slice(kit):
    return (lambda x, value, at: lax.dynamic_update_slice(x, value, (at, 0 * at)),
            (kit.real(16, 32, spec=P("x")), kit.real(3, 32), kit.integer(high=12, loose=True)), P(None, "x"))


# Transforms and numbers.

@program({"x": 8}, kind=["complex", "real", "both_axes", "real_gradient"])
def fourier(kit, kind):
    functions = {"complex": lambda x: jnp.fft.ifft(jnp.fft.fft(x) * jnp.arange(32)), "real": lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 0.5),
                 "both_axes": lambda x: jnp.abs(jnp.fft.fft2(x)), "real_gradient": jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2))}
    return functions[kind], (kit.real(64, 32, spec=P("x")),), None


@program({"x": 8})
def fourier_along_cut(kit):
    return lambda x: jnp.fft.fft(x, axis=0), (kit.real(64, 32, spec=P("x")),), P("x")


@program({"x": 4})
def long_convolution(kit):
    """A filter as long as the sequence, by transforms, as state-space models do it."""
    def function(x, kernel):
        size = 2 * x.shape[1]
        return jnp.fft.irfft(jnp.fft.rfft(x, size, axis=1) * jnp.fft.rfft(kernel, size, axis=0)[None], size, axis=1)[:, :x.shape[1]]
    return function, (kit.real(4, 32, 64, spec=P(None, None, "x")), kit.real(32, 64, spec=P(None, "x"))), P(None, None, "x")


@program({"x": 8})
def complex_product(kit):
    return lambda a, b, c: ((a + 1j * b) @ (c - 1j * c)).conj(), (kit.real(16, 64, spec=P(None, "x")), kit.real(16, 64, spec=P("x")), kit.real(64, 32)), None


@program({"x": 8})
def whole_numbers(kit):
    def function(a, b):
        return (a * b) % 17 + (a // (jnp.abs(b) + 1)), lax.population_count(a) ^ lax.clz(b), (a << 3) | (b >> 2), jnp.sign(a) * jnp.clip(b, -4, 4), a @ b.T
    return function, (kit.integer(32, 64, low=-99, high=99, spec=P("x")), kit.integer(32, 64, low=-99, high=99, spec=P(None, "x"))), None


@program({"x": 4, "y": 2})
def eight_bits(kit):
    """A product in 8 bits with scales, as quantised weights are used."""
    def function(x, weight, scale):
        size = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 127
        small = jnp.round(x / size).astype(jnp.int8)
        return lax.dot_general(small, weight, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32).astype(x.dtype) * size * scale
    return function, (kit.real(8, 64, spec=P(None, "x")), kit.integer(64, 128, low=-128, high=128, spec=P("x", "y"), dtype="int8"), kit.real(128, spec=P("y"))), P(None, "y")


ELEMENTWISE = {
    "angles": lambda x: jnp.sin(x) + jnp.cos(x) * jnp.tan(0.1 * x) + jnp.arctan2(x, 1 + x * x) + jnp.sinh(x) - jnp.arcsinh(x),
    "exponents": lambda x: jnp.expm1(x) + jnp.exp2(-x) + jnp.log1p(x * x) + jnp.cbrt(x) + jnp.sqrt(jnp.abs(x)) + jnp.power(jnp.abs(x) + 1, 1.5),
    "steps": lambda x: jnp.floor(x) + jnp.ceil(2 * x) + jnp.round(3 * x) + jnp.trunc(x) + jnp.sign(x) + jnp.mod(x, 0.7) + jnp.nextafter(x, x + 1),
    "specials": lambda x: jax.scipy.special.erf(x) + jax.scipy.special.gammaln(jnp.abs(x) + 1) + nn.sigmoid(x) + jax.scipy.special.erfinv(jnp.tanh(x)),
    "tests": lambda x: jnp.isfinite(1 / x) & (jnp.isnan(x) | (x > 0.3)) ^ jnp.logical_not(x < -0.3),
}


@program({"x": 8}, kind=list(ELEMENTWISE))
def elementwise(kit, kind):
    return lambda x: ELEMENTWISE[kind](x) if kind == "tests" else (ELEMENTWISE[kind](x), jnp.sum(ELEMENTWISE[kind](x), 0)), (kit.real(64, 16, spec=P("x")),), None


@program({"x": 4})
def narrow_types(kit):
    return (lambda x: (x.astype(jnp.bfloat16) @ x.T.astype(jnp.bfloat16), lax.reduce_precision(x, 5, 7).sum(0), x.astype(jnp.float16).max(1)),
            (kit.real(32, 64, spec=P("x")),), None)


@program({"x": 4})
def factored(kit):
    """Cholesky, a triangular solve and their gradient."""
    def loss(x, right):
        matrix = x @ x.T + 20 * jnp.eye(16, dtype=x.dtype)
        root = jnp.linalg.cholesky(matrix)
        return jnp.sum(lax.linalg.triangular_solve(root, right, left_side=True, lower=True) ** 2) + jnp.sum(jnp.log(jnp.diagonal(root)))
    return jax.value_and_grad(loss), (kit.real(16, 64, spec=P("x")), kit.real(16, 8, spec=P(None, "x"))), None


@program({"x": 4})
def random_numbers(kit):
    def function(key, x):
        one, two, three = jax.random.split(key, 3)
        return (x + jax.random.normal(one, x.shape, x.dtype), jax.random.randint(two, (32,), 0, 100), jax.random.permutation(three, 32),
                jax.random.truncated_normal(key, -1.0, 1.0, (8, 32), x.dtype))
    return function, (kit.key(), kit.real(32, 32, spec=P("x"))), None


@program({"x": 8})
def interpolated(kit):
    return lambda x: jax.image.resize(x, (4, 24, 32, 3), "bilinear"), (kit.real(4, 16, 16, 3, spec=P(None, "x")),), None


@program({"x": 4, "y": 2})
def distances_of_pairs(kit):
    def function(a, b):
        squared = jnp.sum(a * a, 1)[:, None] + jnp.sum(b * b, 1)[None] - 2 * a @ b.T
        return jnp.argmin(squared, 1), jnp.exp(-squared / 64)
    return function, (kit.real(64, 32, spec=P("x")), kit.real(32, 32, spec=P("y"))), None
