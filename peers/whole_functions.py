#!/usr/bin/env python3
"""Small functions that JAX lowers and runs, and what the second evaluator of whole modules makes of their HLO, element by element.

    PYTHON-OF-JAX peers/whole_functions.py [--results FILE] [--only NAME]

Real numbers are of 64 bits, so that both compute alike. The module is judged before optimisation and, where its text is
whole, after it. Exit code 1 where one differs.
"""

import argparse
import json
import os
import sys
import zlib
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

import whole_text  # noqa: E402
from whole_evaluate import error_of  # noqa: E402
from whole_machine import Machine  # noqa: E402
from whole_text import Refusal  # noqa: E402

jax.config.update("jax_enable_x64", True)


def reals(*shape):
    return lambda draw: draw.standard_normal(shape)


def positive(*shape):
    return lambda draw: draw.uniform(0.1, 3.0, shape)


def between(*shape):
    return lambda draw: draw.uniform(-0.95, 0.95, shape)


def special(draw):
    return np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, -0.5, 3.5, np.inf, -np.inf, np.nan, 1e-300, 0.49999999999999994, 7.0, 1e300])


def whole(low, high, *shape, kind="int32"):
    return lambda draw: draw.integers(low, high, shape).astype(kind)


def edges(kind):
    limit = np.iinfo(kind)
    return lambda draw: np.array(
        [0, 1, 2, 3, 5, limit.max, limit.max - 1, limit.min, limit.min + 1, limit.max // 3, 7, 100 % limit.max], dtype=kind
    )


def truths(*shape):
    return lambda draw: draw.integers(0, 2, shape).astype(bool)


def complexes(*shape):
    return lambda draw: draw.standard_normal(shape) + 1j * draw.standard_normal(shape)


def key(draw):
    return draw.integers(0, 2**32, (2,), dtype=np.uint32)


ONE = {
    "abs": reals,
    "exp": reals,
    "expm1": reals,
    "log": positive,
    "log1p": positive,
    "tanh": reals,
    "sin": reals,
    "cos": reals,
    "tan": reals,
    "sqrt": positive,
    "rsqrt": positive,
    "cbrt": reals,
    "ceil": reals,
    "floor": reals,
    "logistic": reals,
    "erf": reals,
    "erfc": reals,
    "erf_inv": between,
    "lgamma": positive,
    "digamma": positive,
    "neg": reals,
    "sign": reals,
    "is_finite": reals,
    "asin": between,
    "acos": between,
    "atan": reals,
    "sinh": reals,
    "cosh": reals,
    "asinh": reals,
    "acosh": lambda *s: lambda d: d.uniform(1.1, 4, s),
    "atanh": between,
    "bessel_i1e": reals,
}


def elementwise():
    out = {name: (getattr(lax, name), [make(4, 5)]) for name, make in ONE.items()}
    for name in ("abs", "exp", "log", "tanh", "sqrt", "ceil", "floor", "sign", "is_finite", "neg", "logistic", "cbrt"):
        out[f"special_{name}"] = (getattr(lax, name), [special])
    for how in ("AWAY_FROM_ZERO", "TO_NEAREST_EVEN"):
        out[f"round_{how.lower()}"] = (lambda x, how=how: lax.round(x, getattr(lax.RoundingMethod, how)), [special])
    for name in ("add", "sub", "mul", "div", "rem", "max", "min", "atan2", "nextafter"):
        out[f"both_{name}"] = (getattr(lax, name), [reals(4, 5), reals(4, 5)])
    for name in ("max", "min", "rem", "pow", "eq", "ne", "lt", "ge"):
        out[f"special_both_{name}"] = (lambda x, name=name: getattr(lax, name)(x[:, None] + 0 * x, x[None] + 0 * x[:, None]), [special])
    out["pow"] = (lax.pow, [positive(4, 5), reals(4, 5)])
    out["integer_pow"] = (lambda x: (x**3, x**-2, x**0.5), [positive(7)])
    out["clamp"] = (lambda x: (lax.clamp(-0.5, x, 0.5), jnp.clip(x, x[::-1], 1.0)), [reals(9)])
    out["complex"] = (
        lambda z, w: (
            z * w,
            z / w,
            jnp.abs(z),
            jnp.exp(z),
            jnp.log(z),
            z.real,
            z.imag,
            jnp.conj(z),
            jnp.tanh(z),
            jnp.sqrt(z),
            z == w,
            jnp.angle(z),
        ),
        [complexes(3, 4), complexes(3, 4)],
    )
    out["complex_sums"] = (lambda z: (z.sum(0), z @ z.T, jnp.sign(z), jnp.sin(z), z.mean()), [complexes(3, 4)])
    out["where"] = (lambda p, x: jnp.where(p, x, -x), [truths(4, 5), reals(4, 5)])
    out["predicates"] = (lambda p, q: (p & q, p | q, p ^ q, ~p, p.sum(), p.any(0), p.all(1), p == q, p < q), [truths(4, 5), truths(4, 5)])
    out["integers_to_reals"] = (lambda a: (a.astype(float), a.astype(bool), a.astype("int8"), a.astype("uint16")), [edges("int32")])
    out["reals_to_integers"] = (lambda x: tuple(x.astype(kind) for kind in ("int8", "uint8", "int32", "uint32", "int64")), [special])
    out["narrow_reals"] = (lambda x: (x.astype("float32"), x.astype("bfloat16"), x.astype("float16")), [reals(40)])
    out["reduce_precision"] = (lambda x: (lax.reduce_precision(x, 5, 10), lax.reduce_precision(x, 8, 7)), [reals(40)])
    out["bits"] = (
        lambda x, a: (
            lax.bitcast_convert_type(x, "uint64"),
            lax.bitcast_convert_type(a, "float64"),
            lax.bitcast_convert_type(x, "uint32"),
            lax.bitcast_convert_type(x.astype("float32"), "int32"),
            lax.bitcast_convert_type(x.astype("bfloat16"), "uint16"),
        ),
        [reals(6), lambda d: d.standard_normal(6).view("uint64")],
    )
    for kind in ("int8", "int32", "int64", "uint8", "uint32", "uint64"):
        out[f"numbers_{kind}"] = (integers, [edges(kind)])
    return out


def integers(a):
    x, y = a[:, None] + 0 * a, a[None] + 0 * a[:, None]
    return (
        x + y,
        x - y,
        x * y,
        lax.div(x, y),
        lax.rem(x, y),
        x & y,
        x | y,
        x ^ y,
        ~x,
        -x,
        jnp.abs(x),
        jnp.sign(x),
        lax.shift_left(x, y),
        lax.shift_right_logical(x, y),
        lax.shift_right_arithmetic(x, y),
        lax.population_count(x),
        lax.clz(x),
        jnp.maximum(x, y),
        x < y,
        x == y,
        x // jnp.where(y == 0, 1, y),
        x**3,
    )


def moved():
    box = reals(4, 6, 5)
    return {
        "transpose": (lambda x: (x.T, x.transpose(1, 0, 2), jnp.moveaxis(x, 2, 0)), [box]),
        "reshape": (lambda x: (x.reshape(8, 15), x.reshape(-1), x.reshape(2, 2, 3, 10)), [box]),
        "broadcast": (lambda x: (lax.broadcast_in_dim(x, (3, 4, 2), (1,)), x[:, None] + x), [reals(4)]),
        "slice": (lambda x: (x[1:3, ::2, 4:], x[::-1, :, 1], lax.slice(x, (0, 1, 0), (4, 6, 5), (3, 2, 1))), [box]),
        "pad": (
            lambda x: (lax.pad(x, 7.0, ((1, 2, 0), (0, 0, 2), (-1, 3, 1))), lax.pad(x, 1.0, ((-2, -1, 1), (3, -4, 0), (0, 0, 0)))),
            [box],
        ),
        "pad_modes": (lambda x: [jnp.pad(x, 2, mode=mode) for mode in ("edge", "reflect", "wrap", "symmetric")], [reals(5, 6)]),
        "concatenate": (lambda x: (jnp.concatenate([x, x[:2], -x], 0), jnp.stack([x, x], 1)), [box]),
        "reverse": (lambda x: (x[::-1], lax.rev(x, (0, 2))), [box]),
        "roll": (lambda x: (jnp.roll(x, 2, 1), jnp.roll(x, (1, -2), (0, 2)), jnp.roll(x, 3)), [box]),
        "iota": (
            lambda x: (jnp.arange(7) * x.sum(), lax.broadcasted_iota("int32", (3, 4), 1), jnp.eye(4), jnp.tri(3, 5), jnp.linspace(0, 1, 5)),
            [reals(3)],
        ),
        "tile_repeat": (lambda x: (jnp.tile(x, (2, 3)), jnp.repeat(x, 3, 0), jnp.kron(x, x)), [reals(2, 3)]),
        "dynamic_slice": (
            lambda x, i: (lax.dynamic_slice(x, (i, 2 * i, -i), (2, 3, 4)), lax.dynamic_index_in_dim(x, i, 1)),
            [box, whole(-3, 9)],
        ),
        "dynamic_update": (
            lambda x, u, i: (lax.dynamic_update_slice(x, u, (i, -i, 2 * i)), x.at[i].set(0.0)),
            [box, reals(2, 3, 4), whole(-3, 9)],
        ),
        "gather_rows": (lambda x, i: (x[i], x[:, i], x[i, i]), [reals(7, 7), whole(-3, 7, 5)]),
        "gather_beyond": (
            lambda x, i: (x.at[i].get(mode="clip"), x.at[i].get(mode="fill", fill_value=9.0), jnp.take(x, i, 1)),
            [reals(7, 6), whole(-12, 14, 3, 2)],
        ),
        "gather_along": (lambda x, i: jnp.take_along_axis(x, i, 1), [reals(4, 6), whole(0, 6, 4, 3)]),
        "gather_windows": (gather_windows, [reals(6, 7, 3), whole(-2, 8, 4, 2)]),
        "gather_batched": (jax.vmap(lambda x, i: x[i]), [reals(3, 5, 2), whole(0, 5, 3, 4)]),
        "scatter_add": (
            lambda x, i, u: (x.at[i].add(u), x.at[:, i].multiply(2.0), x.at[i].min(u), x.at[i].max(u)),
            [reals(7, 4), whole(-9, 9, 5), reals(5, 4)],
        ),
        "scatter_set": (lambda x, u: (x.at[jnp.array([3, 0, 5])].set(u), x.at[1:3, ::2].set(0.0)), [reals(7, 4), reals(3, 4)]),
        "scatter_batched": (jax.vmap(lambda x, i, u: x.at[i].add(u)), [reals(3, 5), whole(0, 5, 3, 6), reals(3, 6)]),
        "scatter_windows": (scatter_windows, [reals(6, 7, 3), whole(-2, 8, 4, 2), reals(4, 2, 3)]),
        "scatter_apply": (lambda x, i: x.at[i].apply(jnp.sin), [reals(9), whole(0, 4, 9)]),
        "segments": (lambda x, i: (jax.ops.segment_sum(x, i, 5), jax.ops.segment_max(x, i, 5)), [reals(20, 3), whole(0, 5, 20)]),
        "one_hot": (lambda i: (jax.nn.one_hot(i, 5), jnp.bincount(i, length=7)), [whole(0, 6, 9)]),
        "diagonals": (lambda x: (jnp.diag(x), jnp.diagonal(x, 1), jnp.trace(x), jnp.tril(x), jnp.triu(x, 1)), [reals(5, 5)]),
    }


def gather_windows(x, i):
    numbers = lax.GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(1,), start_index_map=(1, 0))
    return lax.gather(x, i, numbers, slice_sizes=(2, 1, 3), mode="clip")


def scatter_windows(x, i, u):
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1, 2), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1, 0))
    return lax.scatter_add(x, i, u, numbers), lax.scatter_mul(x, i, u, numbers)


def folded():
    box = reals(4, 6, 5)
    return {
        "sums": (lambda x: (x.sum(), x.sum(1), x.mean((0, 2)), x.prod(0), x.max(2), x.min((1, 2)), x.std(), x.var(1)), [box]),
        "extremes_of_nan": (lambda x: (x.max(), x.min(), jnp.nanmax(x), jnp.argmax(x), jnp.argmin(x), jnp.nansum(x)), [special]),
        "argmax": (lambda x: (x.argmax(1), x.argmin(2), x.argmax()), [lambda d: np.round(d.standard_normal((4, 6, 5)) * 2)]),
        "integer_folds": (
            lambda a: (
                a.sum(0),
                a.prod(),
                a.max(1),
                jnp.bitwise_and.reduce(a),
                jnp.bitwise_xor.reduce(a, axis=1),
                jnp.bitwise_or.reduce(a),
            ),
            [whole(-50, 50, 3, 7)],
        ),
        "odd_fold": (lambda x: lax.reduce((x, x + 1), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)), [box]),
        "softmax": (lambda x: (jax.nn.softmax(x, 1), jax.nn.log_softmax(x, 0), jax.nn.logsumexp(x)), [box]),
        "norms": (lambda x: (jnp.linalg.norm(x), jnp.linalg.norm(x, axis=1), jax.nn.standardize(x)), [reals(4, 6)]),
        "cumulative": (
            lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 2), lax.cumlogsumexp(x, 1), jnp.cumsum(x[::-1], 0)),
            [box],
        ),
        "associative_scan": (lambda x: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x), axis=1), [reals(3, 9)]),
        "pools": (
            lambda x: [
                lax.reduce_window(x, start, fold, (1, 3, 2), (1, 2, 1), how, window_dilation=(1, 2, 1), base_dilation=(1, 1, 2))
                for fold, start in ((lax.max, -jnp.inf), (lax.add, 0.0), (lax.min, jnp.inf), (lax.mul, 1.0))
                for how in ("VALID", "SAME")
            ],
            [reals(2, 8, 7)],
        ),
        "pool_gradients": (
            lambda x: (
                jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2), (1, 2, 2), "SAME") ** 2).sum())(x),
                jax.grad(lambda x: (lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 2, 2), "VALID") ** 2).sum())(x),
            ),
            [reals(2, 8, 7)],
        ),
    }


def ordered():
    box = reals(4, 6, 5)
    return {
        "sorts": (lambda x: (jnp.sort(x, 0), jnp.sort(x, 1, descending=True), jnp.argsort(x, 2), jnp.median(x, 1)), [box]),
        "sorts_of_nan": (lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argsort(x, descending=True)), [special]),
        "sort_ties": (
            lambda a: (jnp.argsort(a), jnp.argsort(a, stable=True, descending=True), jnp.lexsort((a % 3, a)), jnp.unique(a, size=9)),
            [whole(-3, 4, 21)],
        ),
        "sort_pairs": (lambda a, x: lax.sort((a, x, -x), dimension=0, num_keys=2), [whole(0, 3, 11, 2), reals(11, 2)]),
        "top_k": (lambda x: (lax.top_k(x, 3), lax.top_k(jnp.round(x), 4), lax.approx_max_k(x, 2)), [reals(4, 9)]),
        "search": (
            lambda x, y: (
                jnp.searchsorted(jnp.sort(x), y),
                jnp.interp(y, jnp.sort(x), x),
                jnp.digitize(y, jnp.sort(x)),
                jnp.histogram(x, 4),
            ),
            [reals(9), reals(5)],
        ),
        "map": (lambda x: lax.map(lambda a: jnp.sin(a).sum(), x), [box]),
        "quantiles": (lambda x: (jnp.quantile(x, 0.3, axis=0), jnp.percentile(x, 70.0)), [reals(7, 3)]),
        "ranks": (lambda x: jax.scipy.stats.rankdata(x), [reals(9)]),
    }


def products():
    return {
        "dot": (lambda a, b: (a @ b, a.T @ a, a @ b[:, 0], jnp.dot(a[0], b[:, 1])), [reals(4, 6), reals(6, 5)]),
        "batched": (
            lambda a, b: (a @ b, jnp.einsum("bij,bkj->ibk", a, a), jnp.einsum("bij,bjk->bk", a, b), jnp.tensordot(a, b, ((0, 2), (0, 1)))),
            [reals(6, 4, 6), reals(6, 6, 5)],
        ),
        "outer": (lambda a, b: (jnp.outer(a, b), jnp.einsum("i,j,k->kij", a, b, a), jnp.vdot(a, a)), [reals(4), reals(3)]),
        "integer_dot": (
            lambda a, b: (a @ b, lax.dot(a.astype("int8"), b.astype("int8"), preferred_element_type="int32")),
            [whole(-99, 99, 4, 6), whole(-99, 99, 6, 5)],
        ),
        "attention": (
            lambda q, k, v: jax.nn.softmax(jnp.where(jnp.tri(6), jnp.einsum("bqhd,bkhd->bhqk", q, k), -1e9), -1) @ v.transpose(0, 2, 1, 3),
            [reals(2, 6, 3, 4)] * 3,
        ),
        "fft": (
            lambda x: (
                jnp.fft.fft(x),
                jnp.fft.ifft(x),
                jnp.fft.rfft(x),
                jnp.fft.fft2(x),
                jnp.fft.irfft(jnp.fft.rfft(x)),
                jnp.fft.rfftn(x),
                jnp.fft.irfft(jnp.fft.rfft(x), 7),
            ),
            [reals(4, 8)],
        ),
        "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + 5 * jnp.eye(5)), [reals(5, 5)]),
        "solves": (
            lambda a, b: [
                lax.linalg.triangular_solve(
                    a + 4 * jnp.eye(5), b if left else b.T, left_side=left, lower=low, transpose_a=turn, unit_diagonal=unit
                )
                for left in (True, False)
                for low in (True, False)
                for turn in (True, False)
                for unit in (True, False)
            ],
            [reals(5, 5), reals(5, 3)],
        ),
    }


def convolutions():
    out = {
        "convolve": (lambda x, k: (jnp.convolve(x, k), jnp.correlate(x, k, mode="same")), [reals(9), reals(4)]),
        "integer_convolution": (lambda a, k: lax.conv(a, k, (1, 1), "SAME"), [whole(-9, 9, 2, 3, 5, 6), whole(-9, 9, 4, 3, 3, 2)]),
    }
    for k, (strides, padding, base, step, groups) in enumerate(
        [
            ((1, 1), "SAME", (1, 1), (1, 1), 1),
            ((2, 3), "VALID", (1, 1), (1, 1), 1),
            ((1, 1), ((2, 1), (0, 3)), (2, 3), (1, 1), 1),
            ((2, 1), ((1, 1), (2, 0)), (1, 2), (2, 2), 1),
            ((1, 2), "SAME", (1, 1), (1, 1), 2),
            ((1, 1), ((-1, 2), (0, -1)), (1, 1), (1, 1), 4),
        ]
    ):

        def run(x, w, strides=strides, padding=padding, base=base, step=step, groups=groups):
            return lax.conv_general_dilated(x, w, strides, padding, base, step, ("NHWC", "HWIO", "NHWC"), feature_group_count=groups)

        shapes = [reals(2, 8, 7, 4), reals(3, 2, 4 // groups, 8)]
        out[f"convolution_{k}"] = (run, shapes)
        out[f"convolution_gradient_{k}"] = (jax.grad(lambda x, w, run=run: (run(x, w) ** 2).sum(), (0, 1)), shapes)
    out["convolution_transposed"] = (lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), [reals(2, 5, 4, 3), reals(3, 3, 3, 2)])
    out["convolution_3d"] = (lambda x, w: lax.conv(x, w, (1, 2, 1), "SAME"), [reals(2, 3, 4, 5, 3), reals(4, 3, 2, 3, 2)])
    out["convolution_batch_groups"] = (
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", batch_group_count=2),
        [reals(4, 3, 5, 6), reals(4, 3, 2, 2)],
    )
    out["convolution_flipped"] = (lambda x, w: jax.scipy.signal.convolve2d(x, w), [reals(6, 7), reals(3, 2)])
    return out


def controlled():
    return {
        "scan": (lambda x, w: lax.scan(lambda c, u: (jnp.tanh(c @ u), c.sum()), x, w), [reals(3, 4), reals(5, 4, 4)]),
        "scan_gradient": (
            jax.grad(lambda x, w: lax.scan(lambda c, u: (jnp.tanh(c @ u), c.sum()), x, w)[0].sum(), (0, 1)),
            [reals(3, 4), reals(5, 4, 4)],
        ),
        "while": (
            lambda x: lax.while_loop(lambda c: (c[0] < 9) & (c[1].sum() < 50), lambda c: (c[0] + 1, c[1] * 1.3 + 1), (0, x)),
            [reals(4)],
        ),
        "while_by_element": (jax.vmap(lambda x: lax.while_loop(lambda c: c < 20, lambda c: c * 1.7 + 1, x)), [positive(9)]),
        "fori": (lambda x: lax.fori_loop(0, 5, lambda k, c: c.at[k].add(c.sum() * k), x), [reals(6)]),
        "cond": (lambda p, x: lax.cond(p, jnp.sin, lambda x: x**2, x), [truths(), reals(4)]),
        "switch": (lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, lambda x: x * 2], x), [whole(-2, 6), reals(4)]),
        "cond_by_element": (jax.vmap(lambda p, x: lax.cond(p > 0, jnp.sin, lambda x: x**2, x)), [reals(5), reals(5)]),
    }


def random_and_derived():
    return {
        "threefry": (
            lambda k: (
                jax.random.split(k, 3),
                jax.random.bits(k, (3, 5)),
                jax.random.uniform(k, (7,), "float64"),
                jax.random.randint(k, (6,), 0, 99),
            ),
            [key],
        ),
        "normal": (
            lambda k: (
                jax.random.normal(k, (5, 3), "float64"),
                jax.random.bernoulli(k, 0.3, (9,)),
                jax.random.permutation(k, 8),
                jax.random.categorical(k, jnp.arange(4.0), shape=(5,)),
            ),
            [key],
        ),
        "gamma": (lambda k: jax.random.gamma(k, 2.5, (4,), "float64"), [key]),
        "generator": (
            lambda s: [
                lax.rng_bit_generator(s, shape, dtype=kind, algorithm=how)
                for how in (lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_DEFAULT)
                for kind in ("uint8", "uint16", "uint32", "uint64")
                for shape in ((4, 6), (5,), (3, 5), (7, 3), ())
            ],
            [lambda d: d.integers(0, 2**32, 4, dtype=np.uint32)],
        ),
        "checkpoint": (jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), [reals(4)]),
        "custom_rule": (
            jax.grad(lambda x: jax.nn.relu(x).sum() + jax.nn.gelu(x).sum() + jax.nn.silu(x).sum() + jax.nn.softplus(x).sum()),
            [reals(9)],
        ),
        "second_derivative": (jax.hessian(lambda x: jnp.tanh(x).sum() * x.prod()), [reals(4)]),
        "forward_derivative": (jax.jacfwd(lambda x: jnp.cumsum(jnp.sin(x))), [reals(4)]),
        "loss": (jax.value_and_grad(loss), [reals(6, 8), reals(8, 5), whole(0, 5, 6)]),
        "layer_norm": (
            jax.grad(lambda x, g: ((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g).max(), (0, 1)),
            [reals(4, 6), reals(6)],
        ),
        "embedding": (jax.grad(lambda e, i: (e[i] ** 3).sum()), [reals(9, 4), whole(0, 9, 3, 5)]),
        "power_iteration": (lambda x: lax.fori_loop(0, 20, lambda _, v: x @ v / jnp.linalg.norm(x @ v), jnp.ones(4)), [positive(4, 4)]),
        "polynomials": (
            lambda c, x: (jnp.polyval(c, x), jnp.vander(x, 4), jnp.cross(x[:3], c[:3]), jnp.convolve(c, c)),
            [reals(4), reals(5)],
        ),
    }


def loss(w, v, labels):
    scores = jax.nn.log_softmax(jnp.tanh(w) @ v)
    return -jnp.take_along_axis(scores, labels[:, None], 1).mean()


def functions():
    tables = (elementwise, moved, folded, ordered, products, convolutions, controlled, random_and_derived)
    return {name: one for table in tables for name, one in table().items()}


def difference(name, text, given, wanted, tolerance=1e-11):
    """Nothing where the evaluator makes the same but for the last places, in which approximations of functions differ; else words."""
    narrow = name in ("narrow_reals", "reduce_precision")
    try:
        module = whole_text.read(text)
        arguments = [np.asarray(array)[None] for array in given]
        with np.errstate(all="ignore"):
            made = Machine(module, narrow).run(module.entry, [arguments[k] for k in kept(module, given)])
    except Refusal as problem:
        return f"refused: line {problem.line}: {problem.op}: {problem.why}"
    made = made if isinstance(made, list) else [made]
    if len(made) != len(wanted):
        return f"{len(made)} results for {len(wanted)}"
    for k, (one, its) in enumerate(zip(made, wanted, strict=True)):
        its = np.asarray(its)
        its = its.astype(one.dtype) if one.dtype.kind in "fc" else its
        if one.shape[1:] != its.shape or one.dtype != its.dtype:
            return f"result {k} is {one.dtype}{list(one.shape[1:])}, not {its.dtype}{list(its.shape)}"
        errors = error_of(its, one[0])
        if errors.size and errors.max() > tolerance:
            at = np.unravel_index(int(np.argmax(errors)), errors.shape)
            return f"result {k} at {[int(one) for one in at]} is {one[0][at]}, not {its[at]}"
    return None


def kept(module, given):
    """JAX drops arguments that nothing reads: the numbers of those that are left, by their types, in their order."""
    out, at = [], 0
    for one in module.entry.parameters:
        while given[at].shape != one.array.shape or given[at].dtype != one.array.dtype:
            at += 1
        out.append(at)
        at += 1
    return out


def check(name, function, makers):
    """What differs, before optimisation and after it."""
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    given = [np.asarray(make(draw)) for make in makers]
    lowered = jax.jit(function).lower(*given)
    compiled = lowered.compile()
    wanted = jax.tree.leaves(compiled(*given))
    before = lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True)
    after = compiled.as_text()
    out = {"before": difference(name, before, given, wanted)}
    out["after"] = "left out: {...}" if "{...}" in after else difference(name, after, given, wanted)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="a file for the figures")
    parser.add_argument("--only", help="one function")
    given = parser.parse_args()
    counts = {"functions": 0, "before": {"equal": 0}, "after": {"equal": 0}}
    bad = 0
    for name, (function, makers) in functions().items():
        if given.only and name != given.only:
            continue
        counts["functions"] += 1
        for when, words in check(name, function, makers).items():
            key_word = "equal" if words is None else words.split(":")[0] if words.startswith(("refused", "left out")) else "different"
            counts[when][key_word] = counts[when].get(key_word, 0) + 1
            if words is not None and not words.startswith("left out"):
                bad += key_word == "different"
                print(f"{name} {when}: {words}", flush=True)
    print(json.dumps(counts))
    if given.results:
        all_results = json.loads(given.results.read_text()) if given.results.exists() else {}
        all_results[f"jax-{jax.__version__}"] = counts
        given.results.write_text(json.dumps(all_results, indent=1, sort_keys=True) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
