"""Functions that are drawn: their statements, cut among four devices and run on the simulator, are what NumPy computes."""

import json
import random
import subprocess

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import pyretile as rt
from pyretile._trace.statements import program_with_mpi

MOST = 2000  # elements of an array


def fits(x, y):
    return all(p == q or 1 in (p, q) for p, q in zip(x[::-1], y[::-1], strict=False))


def fold(draw, shapes, k):
    axis, keepdims = draw.randrange(len(shapes[k])), draw.random() < 0.5
    name = draw.choice(["sum", "max", "min", "mean"])
    return lambda a: getattr(a[k], name)(axis=axis, keepdims=keepdims)


def turned(draw, shapes, k):
    order = draw.sample(range(len(shapes[k])), len(shapes[k]))
    return lambda a: np.transpose(a[k], order)


def subscript(draw, shapes, k):
    keys = []
    for n in shapes[k]:
        begin = draw.randrange(max(1, n - 1))
        keys.append(draw.choice([draw.randrange(-n, n), slice(begin, None, draw.choice([1, 2, 3])), slice(None, max(1, n - 1)), slice(None)]))
    if draw.random() < 0.3:
        keys.insert(draw.randrange(len(keys) + 1), None)
    return lambda a: a[k][tuple(keys)]


def two(draw, shapes, k):
    i = draw.choice([i for i, shape in enumerate(shapes) if fits(shape, shapes[k])])
    op = draw.choice([np.add, np.subtract, np.multiply, np.maximum, np.minimum, lambda x, y: x / (y * y + 1)])
    return lambda a: op(a[k], a[i])


def one(draw, shapes, k):
    op = draw.choice([np.negative, lambda x: np.exp(-x * x), lambda x: np.sqrt(x * x + 1), lambda x: x * 0.3 + 3, lambda x: np.clip(x, -1, 1), np.tanh])
    return lambda a: op(a[k])


def einsum(draw, shapes, k):
    i = draw.randrange(len(shapes))
    extents = {}
    terms = ["", ""]
    for term, shape in enumerate((shapes[k], shapes[i])):
        for n in shape:
            known = [label for label in extents if extents[label] == n and label not in terms[term]]
            label = draw.choice(known) if known and term == 1 and draw.random() < 0.7 else "abcdefgh"[len(extents)]
            extents[label] = n
            terms[term] += label
    kept = [label for label in extents if draw.random() < 0.6]
    draw.shuffle(kept)
    text = f"{terms[0]},{terms[1]}->{''.join(kept)}"
    return (lambda a: np.einsum(text, a[k], a[i])) if len(extents) <= 5 else None


def windows(draw, shapes, k):
    axis = draw.randrange(len(shapes[k]))
    width = draw.randrange(1, shapes[k][axis] + 1)
    return lambda a: sliding_window_view(a[k], width, axis=axis)


def split(draw, shapes, k):
    axis = draw.randrange(len(shapes[k]))
    parts = [d for d in range(2, shapes[k][axis]) if shapes[k][axis] % d == 0]
    if not parts:
        return None
    shape = list(shapes[k])
    shape[axis:axis + 1] = [parts[0], shape[axis] // parts[0]]
    return lambda a: a[k].reshape(shape)


def diagonal(draw, shapes, k):
    if len(shapes[k]) < 2:
        return None
    axes = draw.sample(range(len(shapes[k])), 2)
    return lambda a: np.diagonal(a[k], 0, *axes)


def matmul(draw, shapes, k):
    x = shapes[k]
    others = [i for i, y in enumerate(shapes) if len(y) >= 2 and y[-2] == x[-1] and fits(x[:-2], y[:-2])]
    if not others:
        return None
    i = draw.choice(others)
    return lambda a: a[k] @ a[i]


STEPS = [fold, turned, subscript, subscript, two, two, two, one, einsum, einsum, windows, split, diagonal, matmul]


def drawn(seed):
    """A function and arguments for it."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    shapes = [tuple(draw.choice([1, 2, 3, 4, 5, 6, 8]) for _ in range(draw.randrange(1, 4))) for _ in range(draw.randrange(1, 3))]
    args = [numbers.standard_normal(shape) / 2 for shape in shapes]
    pool, steps, wanted = list(args), [], draw.randrange(2, 8)
    while len(steps) < wanted:
        k = draw.choice([k for k, x in enumerate(pool) if x.ndim])
        made = draw.choice(STEPS)(draw, [x.shape for x in pool], k)
        if made is not None and 0 < np.size(made(pool)) <= MOST:
            pool.append(np.asarray(made(pool)))
            steps.append(made)

    def function(*args):
        values = list(args)
        for made in steps:
            values.append(made(values))
        return values[-1]

    return function, args


def simulated(statements, args, folder):
    """What the simulator returns and reports; None where a maximum has too few elements for four devices."""
    try:
        module = statements._module(None, 4)
    except rt.Refused as error:
        assert "a piece without work has no maximum or minimum" in error.message, f"{error}\n{statements}"
        return None
    assert rt.check(module)[0].right, str(statements)
    for name, value in statements._values(args).items():
        np.save(folder / f"{name}.npy", value)
    (folder / "m.spmd").write_text(module)
    done = subprocess.run([program_with_mpi(), "run", "m.spmd", "--backend", "sim", "--input", "{}.npy", "--output", "out of it.npy", "--json"],
                          cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{statements}\n{done.stdout}{done.stderr}"
    return np.load(folder / "out of it.npy").reshape(statements.shape), json.loads(done.stdout)["tolerance"]


@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.long)])
def test_drawn_functions_are_what_numpy_computes(count, tmp_path):
    judged = 0
    for seed in range(count):
        function, args = drawn(seed)
        statements = rt.trace(function, *args)
        found = simulated(statements, args, tmp_path)
        if found is None:
            continue
        judged += 1
        assert np.abs(found[0] - function(*args)).max() <= 2 * found[1], f"seed {seed}\n{statements}"
    assert judged > 0.9 * count
