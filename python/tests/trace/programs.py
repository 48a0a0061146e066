"""Functions that are traced, with the shapes of their arguments and what they are examples of."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


class Program(NamedTuple):
    fn: Callable
    shapes: tuple
    kind: str
    framework: str
    is_positive: bool = False  # arguments are above 0
    is_quick: bool = False  # runs by default
    indices: dict = {}  # arguments that are indices, and what they are below

    @property
    def name(self):
        return self.fn.__name__


PROGRAMS = []


def program(*shapes, kind="other", framework="numpy", **more):
    def noted(fn):
        PROGRAMS.append(Program(fn, shapes, kind, framework, **more))
        return fn

    return noted


# ---- Contractions ---------------------------------------------------------------------------------------------------------------


@program((7, 5), (5, 6), kind="contraction", is_quick=True)
def product(a, b):
    return a @ b


@program((5, 7), (6, 5), kind="contraction")
def product_of_transposes(a, b):
    return np.dot(a.T, b.T)


@program((6, 8), (8,), kind="contraction")
def matrix_vector(a, x):
    return np.matmul(a, x)


@program((8,), (8,), kind="contraction")
def dot(x, y):
    return np.dot(x, y)


@program((3, 4, 5), (3, 5, 6), kind="contraction")
def batched(a, b):
    return a @ b


@program((2, 1, 4, 5), (3, 5, 6), kind="contraction")
def batches_are_broadcast(a, b):
    return a @ b


@program((4, 3, 5), (6, 5, 4), kind="contraction")
def tensors(a, b):
    return np.tensordot(a, b, axes=([0, 2], [2, 1]))


@program((2, 4, 6), (6, 3, 2), kind="contraction")
def einsum_of_three(x, w):
    return np.einsum("bik,khj,hl->bihl", x, w, np.arange(15.0).reshape(3, 5))


@program((5, 4), (4, 6), (6, 3), kind="contraction")
def chain(a, b, c):
    return a @ b @ c


@program((8, 8), kind="contraction")
def trace_of_a_square(a):
    return np.einsum("ij,ji->", a, a)


@program((4, 6), (5, 6), kind="contraction")
def inner_products(a, b):
    return np.inner(a, b) * 2


@program((4,), (5,), kind="contraction")
def outer_products(x, y):
    return np.outer(x, y) - np.multiply.outer(x, y) / 3


@program((3, 4, 6), (6, 4, 5), kind="contraction")
def einsum_with_dots(x, w):
    return np.einsum("...ik,kij->j...", x, w)


# ---- Softmax and its like ---------------------------------------------------------------------------------------------------------


@program((8, 16), kind="softmax", is_quick=True)
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@program((6, 8), kind="softmax")
def softmax_along_columns(x):
    e = np.exp(x - np.max(x, axis=0))
    return e / np.sum(e, axis=0)


@program((8, 12), kind="softmax")
def softmax_with_temperature(x):
    y = x * 0.7
    e = np.exp(y - y.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@program((2, 4, 8), (8, 8), (8, 8), (8, 8), kind="softmax")
def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = np.einsum("bid,bjd->bij", q, k) / np.sqrt(8.0)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


@program((2, 4, 8), (8, 8), (8, 8), (8, 8), (4, 2, 8), kind="softmax")
def attention_with_heads(x, wq, wk, wv, wo):
    q, k, v = ((x @ w).reshape(2, 4, 4, 2) for w in (wq, wk, wv))
    s = np.einsum("bihd,bjhd->bhij", q, k) / 2**0.5
    e = np.exp(s - s.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return np.einsum("bhij,bjhd,hde->bie", p, v, wo)


@program((6, 6), (6, 4), kind="softmax")
def causal_attention(s, v):
    e = np.exp(s) * np.tril(np.ones((6, 6)))
    return e / e.sum(-1, keepdims=True) @ v


@program((5, 8), kind="softmax")
def sum_of_exponentials(x):
    m = x.max(axis=1)
    return m + np.exp(x - m[:, None]).sum(axis=1)


# ---- Residuals: an array that is used again --------------------------------------------------------------------------------------


@program((6, 8), (8, 8), kind="residual", is_quick=True)
def residual(x, w):
    return x + np.maximum(x @ w, 0)


@program((4, 8), (8, 16), (16, 8), kind="residual")
def two_products_and_a_residual(x, w, u):
    return np.maximum(x @ w, 0) @ u + x


@program((6, 16), (16,), (16,), kind="residual")
def layer_norm(x, g, b):
    off = x - x.mean(-1, keepdims=True)
    return off / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b + x


@program((6, 16), (16,), kind="residual")
def rms_norm(x, g):
    return x + x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * g


@program((6, 8), (8, 8), kind="residual")
def in_place(x, w):
    y = x @ w
    y += x
    y *= y
    return y


@program((6, 8), (8, 8), (8, 8), kind="residual")
def gated(x, w, u):
    y = x @ w
    return x + y / (1 + np.exp(-y)) * (x @ u)


# ---- Elements at indices -----------------------------------------------------------------------------------------------------------


@program((5, 4), (7,), kind="gather", is_quick=True, indices={1: 5})
def embedding(table, words):
    return table[words]


@program((6, 3), (6,), kind="gather", indices={1: 6})
def rows_in_another_order(x, order):
    return np.take(x, order, axis=0) - x


@program((5, 4), (6,), (4, 3), kind="gather", indices={1: 5})
def rows_that_are_multiplied(table, words, u):
    return table[words] @ u


@program((8, 3), (8, 3), (6,), kind="gather", is_quick=True, indices={1: 6})
def sparse_matrix_vector(values, columns, x):
    return (values * x[columns]).sum(axis=1)


@program((4, 5), (6,), kind="gather", indices={1: 5})
def along_axis_1(x, columns):
    return np.exp(np.take(x, columns, 1)) + x[:, columns]


@program((7, 3, 2), (4,), kind="gather", indices={1: 6})
def of_parts(x, rows):
    return x[:-1, 1][rows] - x[1:].take(rows, axis=0)[:, 0] + x[:, 2][[3, 0, -1, -7]]


@program((5, 4), (3, 2), (4,), kind="gather", indices={1: 5})
def of_what_is_computed(x, rows, b):
    return np.exp(x + b)[rows].max(axis=1) * rows.sum()


@program((5, 4), (6,), (3,), kind="gather", indices={1: 5, 2: 6})
def of_what_was_gathered(x, rows, again):
    return x.T[:, rows][1:, again]


# ---- Views and folds ----------------------------------------------------------------------------------------------------------------


@program((12,))
def stencil(x):
    return x[:-2] - 2 * x[1:-1] + x[2:]


@program((8, 9))
def five_points(x):
    return x[1:-1, 1:-1] - (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4


@program((9,), (4,))
def convolution(x, w):
    return np.correlate(x, w, "valid")


@program((7, 8), (3, 2))
def convolution_of_images(x, w):
    return np.einsum("ijkl,kl->ij", sliding_window_view(x, (3, 2)), w)


@program((11,))
def strides(x):
    return x[1::2] * x[:-1:2]


@program((5, 6, 3))
def constant_subscripts(x):
    return x[:, 2, None, -1] + x[0, 1:4:2, :].sum(0)


@program((3, 4, 5))
def transposes(x):
    return np.transpose(x, (1, 2, 0)) - np.moveaxis(x, 0, -1).swapaxes(0, 1).swapaxes(0, 1) * x.T[0, 0, 0]


@program((4, 1, 6))
def ones_come_and_go(x):
    return np.expand_dims(np.squeeze(x, 1).reshape(1, 4, 6, 1), 0)[0, ..., 0] + x.reshape(4, 6)


@program((3, 12))
def one_dimension_becomes_two(x):
    return x.reshape(3, 4, 3).max(axis=1)


@program((6, 4), (4,))
def broadcast(x, b):
    return x + b - np.broadcast_to(b, (6, 4)) * x[:, :1] + np.ones((6, 1))


@program((4,))
def rows_are_repeated(x):
    return np.broadcast_to(np.exp(x), (8, 4))


@program((6, 8))
def folds(x):
    return x.sum(0) * x.min() + np.add.reduce(x * x, axis=0) - np.amax(x, axis=0) + x.mean() + np.std(x, axis=0, ddof=1)


@program((6, 6))
def diagonals(x):
    return np.diagonal(x) * np.trace(x) + x.diagonal(0)[::1]


@program((6, 8), is_positive=True)
def roots_and_powers(x):
    return np.sqrt(x) + x**3 - x**-1 + x**0.5 * np.reciprocal(x) + np.square(x)


@program((6, 8))
def larger_and_smaller(x):
    return np.clip(x, -0.5, 1) + np.where(x > 0, x, 0) + np.where(x < x[::1, :1], x, x[:, :1]) - np.abs(x)


@program((8, 8))
def masked(x):
    return np.where(np.arange(8)[:, None] >= np.arange(8), x, -3)


@program((6, 8))
def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


@program((6, 8))
def of_integers(x):
    return (2 * x - 1) @ x.T


@program((5, 3), (4, 3))
def distances(x, y):
    return np.linalg.norm(x[:, None, :] - y[None, :, :], axis=-1)


@program((6, 4))
def rounds_of_a_loop(x):
    y = x
    for k in range(5):
        y = y * (k + 1) / 4 + x[::1]
    return y
