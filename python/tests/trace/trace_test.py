"""What is traced, cut among four devices and run by four processes is what NumPy and JAX compute, but for rounding."""

import importlib.util
import inspect

import numpy as np
import programs
import pytest

import pyretile as rt
from pyretile._trace import graph, numpy_front

# A folder of that name on the path is none.
HAS_JAX = getattr(importlib.util.find_spec("jax"), "origin", None) is not None
if HAS_JAX:
    import jax
    import programs_jax  # noqa: F401

WHICH = [pytest.param(one, id=one.name, marks=[] if one.is_quick else [pytest.mark.long]) for one in programs.PROGRAMS]
BY_NAME = {one.name: one for one in programs.PROGRAMS}


def arguments(program, seed=1, dtype=None):
    draw = np.random.default_rng(seed)
    if program.name == "of_integers":
        return [draw.integers(-9, 9, shape) for shape in program.shapes]
    dtype = dtype or (np.float32 if program.framework == "jax" else np.float64)
    drawn = [draw.standard_normal(shape).astype(dtype) / 2 for shape in program.shapes]
    drawn = [np.abs(one) + 0.5 for one in drawn] if program.is_positive else drawn
    return [draw.integers(0, program.indices[k], one.shape, np.int32) if k in program.indices else one for k, one in enumerate(drawn)]


def traced(program):
    return rt.trace(program.fn, *(np.zeros(shape, np.int32) if k in program.indices else shape for k, shape in enumerate(program.shapes)))


def difference(program, processes=4, dtype=None):
    """How far the run is off, and how far it may be. What the program compares with has a bound for each element; that of NumPy's own
    operations, in another order, is within the same.
    """
    given = arguments(program, dtype=dtype)
    statements = traced(program)
    out, report = statements._run(None, given, processes)
    expected = np.asarray(program.fn(*(one.copy() for one in given)))
    assert out.shape == expected.shape == statements.shape
    assert out.dtype.kind == expected.dtype.kind
    unit = np.finfo(out.dtype).eps if out.dtype.kind == "f" else 0
    assert report["tolerance"] <= 20000 * unit * max(1, np.abs(expected).max()), "a bound that says nothing"
    return np.abs(out - expected).max(), 2 * report["tolerance"]


@pytest.mark.parametrize("program", WHICH)
def test_four_processes_compute_what_the_function_does(program):
    off, bound = difference(program)
    assert off <= bound


@pytest.mark.parametrize("program", WHICH)
def test_modules_are_right(program):
    module = traced(program)._module(None, 4)
    (verdict,) = rt.check(module)
    assert verdict.raise_if_wrong()


def test_there_are_enough_programs():
    kinds = [one.kind for one in programs.PROGRAMS]
    assert len(kinds) >= 40 and kinds.count("contraction") >= 10 and kinds.count("softmax") >= 5 and kinds.count("residual") >= 5
    assert kinds.count("gather") >= 5


@pytest.mark.long
def test_floats_of_32_bits():
    off, bound = difference(BY_NAME["attention"], dtype=np.float32)
    assert 0 < off <= bound


# Rules that are wrong, and a program that must tell.


def transposed(real):
    return lambda x, y: real(x, graph.transpose(y, [*range(len(y.shape) - 2), len(y.shape) - 1, len(y.shape) - 2]) if len(y.shape) > 1 else y)


def other_op(real, names):
    return lambda op, *args, **more: real(names.get(op, op), *args, **more)


MUTANTS = {
    "a matrix is transposed": (numpy_front, "_matmul", transposed, "softmax_of_a_square"),
    "einsum exchanges arrays": (numpy_front, "einsum", lambda real: lambda text, nodes: real(text, nodes[::-1]), "einsum_of_two"),
    "einsum sums over another label": (
        numpy_front, "einsum", lambda real: lambda text, nodes: real(text.replace("->ij", "->ji"), nodes), "einsum_of_two"),
    "a transpose is the inverse one": (
        graph, "transpose", lambda real: lambda node, order: real(node, [list(order).index(k) for k in range(len(order))]), "turned"),
    "the least in the place of the greatest": (graph, "fold", lambda real: other_op(real, {"greatest": "least"}), "spread"),
    "the greatest in the place of sums": (graph, "fold", lambda real: other_op(real, {"sum": "greatest"}), "spread"),
    "a quotient is a product": (graph, "elementwise", lambda real: other_op(real, {"div": "mul"}), "spread"),
    "a maximum is a minimum": (graph, "elementwise", lambda real: other_op(real, {"max": "min"}), "residual"),
    "operands of a difference are exchanged": (
        graph, "elementwise",
        lambda real: lambda op, *args, **more: real(op, *(args[::-1] if op == "sub" else args), **more), "stencil"),
    "slices begin at 0": (numpy_front, "_slice", lambda real: lambda one, extent: real(slice(None, len(range(extent)[one]), None), extent), "stencil"),
    "strides are 1": (numpy_front, "_slice", lambda real: lambda one, extent: (real(one, extent)[0], real(one, extent)[0] + len(range(extent)[one]), 1),
                      "every_second"),
    "broadcasting from the left": (
        graph, "broadcast",
        lambda real: lambda node, shape: node if node.shape == shape else graph.view(
            node, shape, [graph.Index(0, {dim: 1}) if n > 1 else graph.Index() for dim, n in enumerate(node.shape)]), "bias_of_a_square"),
    "a mean is a sum": (numpy_front, "_count", lambda real: lambda x, axis: 1, "centred"),
    "where chooses the other": (
        graph, "chosen", lambda real: lambda condition, then, other, what: real(condition, other, then, what), "half_masked"),
    "a reshape has its parts in another order": (
        graph, "reshape", lambda real: lambda node, shape, *what: graph.transpose(real(node, shape, *what), (1, 0, 2)), "split"),
    "indices are those of the last dimension": (
        graph, "gather", lambda real: lambda node, dim, indices, what: real(node, len(node.shape) - 1, indices, what), "rows_of_a_square"),
    "indices are numbers of the result": (
        graph, "gather", lambda real: lambda node, dim, indices, what: graph.take(node, (0, 0), (3, 3), (1, 1)), "rows_of_a_square"),
    "numbers are cut off": (graph, "number", lambda real: lambda value, shape=(): real(int(value), shape), "scaled"),
}
SMALL = {
    "softmax_of_a_square": (lambda x, w: x @ w, (3, 4), (4, 4)),
    "einsum_of_two": (lambda x, y: np.einsum("ik,kj->ij", x, y), (3, 3), (3, 3)),
    "turned": (lambda x: x.transpose(1, 2, 0), (3, 3, 3)),
    "spread": (lambda x: (x - x.max(0)) / x.sum(0), (3, 4)),
    "every_second": (lambda x: x[1:8:2], (9,)),
    "bias_of_a_square": (lambda x, b: x + b, (3, 3), (3,)),
    "centred": (lambda x: x - x.mean(0), (3, 4)),
    "half_masked": (lambda x: np.where(np.arange(4) < 2, x, 5), (3, 4)),
    "split": (lambda x: x.reshape(2, 2, 3), (4, 3)),
    "scaled": (lambda x: x * 0.5, (4,)),
    "rows_of_a_square": (lambda x, c: x[c], (3, 3), (3,)),
}


def small(name):
    if name in BY_NAME:
        return BY_NAME[name]
    fn, *shapes = SMALL[name]
    return programs.Program(fn, tuple(shapes), "small", "numpy", indices={1: 3} if name == "rows_of_a_square" else {})


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({one[-1] for one in MUTANTS.values()}))
def test_programs_that_must_tell_are_right(name):
    off, bound = difference(small(name), processes=1)
    assert off <= bound


@pytest.mark.parametrize("mutant", [pytest.param(one, marks=[] if k < 2 else [pytest.mark.long]) for k, one in enumerate(MUTANTS)])
def test_a_wrong_rule_is_seen(mutant, monkeypatch):
    module, name, made, program = MUTANTS[mutant]
    real = getattr(module, name)
    monkeypatch.setattr(module, name, made(real))
    off, bound = difference(small(program), processes=1)
    assert off > bound


JAX_MUTANTS = {
    "a product has a transposed matrix": (
        "dot_general", lambda real: lambda params, x, y: real({"dimension_numbers": (((1,), (1,)), ((), ()))}, x, y), lambda jnp, x: x @ (x + 1)),
    "a transpose is the inverse one": (
        "transpose", lambda real: lambda params, x: real({"permutation": np.argsort(params["permutation"])}, x),
        lambda jnp, x: jnp.transpose(x[:, :, None] + x, (1, 2, 0))),
    "slices begin at 0": (
        "slice", lambda real: lambda params, x: real({**params, "start_indices": (0, 0), "limit_indices": tuple(
            end - begin for begin, end in zip(params["start_indices"], params["limit_indices"], strict=True))}, x), lambda jnp, x: x[1:, 1:]),
    "rows are broadcast as columns": (
        "broadcast_in_dim", lambda real: lambda params, x: real({**params, "broadcast_dimensions": (0,), "shape": params["shape"][::-1]}, x),
        lambda jnp, x: x + x[0]),
    "the least in the place of the greatest": ("reduce_max", lambda real: lambda params, x: graph.fold("least", x, params["axes"]), lambda jnp, x: x.max(0)),
    "one over a root is the root": ("rsqrt", lambda real: lambda params, x: graph.elementwise("sqrt", x), lambda jnp, x: jax.lax.rsqrt(x * x + 3)),
    "what is gathered is transposed": (
        "gather", lambda real: lambda params, x, indices: graph.transpose(real(params, x, indices), (1, 0)), lambda jnp, x: x[jnp.array([2, 0, 1])]),
    "a cube is a square": ("integer_pow", lambda real: lambda params, x: real({"y": 2}, x), lambda jnp, x: x**3),
}


@pytest.mark.long
@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
@pytest.mark.parametrize("mutant", JAX_MUTANTS)
def test_a_wrong_rule_of_jax_is_seen(mutant, monkeypatch):
    import jax.numpy as jnp

    from pyretile._trace import jax_front

    primitive, made, fn = JAX_MUTANTS[mutant]
    program = programs.Program(lambda x: fn(jnp, x), ((3, 3),), "small", "jax")
    for is_mutant in (False, True):
        if is_mutant:
            monkeypatch.setitem(jax_front._PRIMITIVES, primitive, made(jax_front._PRIMITIVES[primitive]))
        off, bound = difference(program, processes=1)
        assert (off > bound) == is_mutant


# What is refused, and where.


def line_of(fn, words):
    lines, first = inspect.getsourcelines(fn)
    return next(first + k for k, line in enumerate(lines) if words in line)


def branch(x):
    if x[0] > 0:
        return x
    return -x


def sorted_rows(x):
    return np.sort(x, axis=0)


def sine(x):
    return x + np.sin(x)


def wrong_shapes(x):
    y = x.T
    return x @ x + y


def beyond_its_end(x):
    return x[[0, 3]]


def by_computed_indices(x):
    return x[x + 1]


def by_two_arrays(x):
    return x[x, [0, 1]]


def by_fractions(x):
    return x[np.array([0.5, 1])]


def backwards(x):
    return x[::-1]


def joined(x):
    return x.reshape(12) * 2


def written(x):
    x[0] = 1
    return x


def into(x):
    return np.exp(x, out=np.zeros((3, 4)))


def as_numbers(x):
    return np.asarray(x) + 1


def float_of(x):
    return float(x.sum()) * x


def two(x):
    return x, x


def nothing(x):
    return 3


def cumulative(x):
    return x.cumsum(0)


def changed_view(x):
    y = x[1:]
    x += 1
    return y


def other_choice(x):
    return np.where(x > 0, x, 2 * x)


def power_of_arrays(x):
    return x**x


def array_of_arrays(x):
    return np.array([x, x])


def larger_of_two(x):
    return max(x[0, 0], x[1, 1])


def compared(x):
    y = (x > 0) * 2
    return x + y


def bad_einsum(x):
    return np.einsum("ij,jk->ik", x)


def endless(x):
    return x * np.inf


REFUSED = [(branch, "x[0] > 0", "branch"), (sorted_rows, "np.sort", "sort"), (sine, "np.sin", "sin"), (wrong_shapes, "x @ x", "matmul"),
           (beyond_its_end, "[[0, 3]]", "a subscript of 3"), (by_computed_indices, "x[x + 1]", "worked out"),
           (by_two_arrays, "x[x, [0, 1]]", "beside another"), (by_fractions, "np.array([0.5", "float64"), (backwards, "::-1", "strides"), (joined, "reshape(12)", "one dimension of several"),
           (written, "x[0] = 1", "written"), (into, "out=", "writes into"), (as_numbers, "asarray", "not known"), (float_of, "float(", "not known"),
           (cumulative, "cumsum", "cumsum"), (changed_view, "x += 1", "in place"), (other_choice, "np.where", "neither"),
           (power_of_arrays, "x**x", "power"), (array_of_arrays, "np.array(", "not known"), (larger_of_two, "max(", "branch"), (compared, "(x > 0)", "comparison"),
           (bad_einsum, "np.einsum(", "subscripts")]


@pytest.mark.parametrize(("fn", "words", "reason"), REFUSED, ids=lambda one: getattr(one, "__name__", None))
def test_what_is_not_traced_is_refused_at_its_line(fn, words, reason):
    with pytest.raises(rt.Refused) as found:
        rt.trace(fn, (3, 4))
    error = found.value
    assert error.message.startswith(f"{fn.__name__}: ") and reason in error.message
    assert error.source == f"{__file__}:{line_of(fn, words)}"
    assert words in error.input and "^" in str(error)


@pytest.mark.parametrize(("fn", "reason"), [(two, "2"), (nothing, "no argument"), (endless, "finite")])
def test_results_that_are_no_array_are_refused(fn, reason):
    with pytest.raises(rt.Refused, match=reason) as found:
        rt.trace(fn, (3, 4))
    assert found.value.message.startswith(fn.__name__)


def test_arguments_are_refused_by_name():
    with pytest.raises(rt.Refused, match="extents"):
        rt.trace(sine, (0, 4))
    with pytest.raises(rt.Refused, match="neither a shape"):
        rt.trace(sine, "abc")
    with pytest.raises(rt.Refused, match="no name"):
        rt.trace(sine, (3,), names=["for"])
    with pytest.raises(rt.Refused, match="names"):
        rt.trace(sine, (3,), names=["a", "b"])
    with pytest.raises(rt.Refused, match="framework"):
        rt.trace(sine, (3,), framework="torch")
    with pytest.raises(TypeError, match="argument"):
        rt.trace(programs.product, (3, 4))


def test_arrays_of_a_run_must_fit():
    product = rt.trace(programs.product, (7, 5), (5, 6))
    x, y = np.zeros((7, 5)), np.zeros((5, 6))
    with pytest.raises(TypeError, match="takes 2 arrays"):
        product.run(None, x)
    with pytest.raises(rt.Refused, match="was traced with shape"):
        product.run(None, x, y.T)
    with pytest.raises(rt.Refused, match="modules run on"):
        product.run(None, x.astype(np.float16), y.astype(np.float16))
    with pytest.raises(rt.Refused, match="2 devices"):
        product.run("out=i:2", x, y)
    with pytest.raises(rt.Refused, match="schedule"):
        product.run("out=z:4", x, y)
    with pytest.raises(rt.Refused, match="no number"):
        product.run(None, x + np.nan, y)


def test_a_program_with_mpi_is_needed(monkeypatch, tmp_path):
    product = rt.trace(programs.product, (7, 5), (5, 6))
    given = np.ones((7, 5)), np.ones((5, 6))
    own = tmp_path / "retile"
    own.write_text("#!/bin/sh\necho 'retile 0.1.0 (backends: sim)'\n")
    own.chmod(0o755)
    with pytest.raises(rt.Refused, match="no program retile with MPI"):
        product.run(None, *given, retile=own)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RETILE", raising=False)
    with pytest.raises(rt.Refused, match="is on it"):
        product.run(None, *given)
    monkeypatch.setenv("RETILE", str(own))
    with pytest.raises(rt.Refused, match="RETILE"):
        product.run(None, *given)


def test_indices_that_an_array_does_not_have_are_refused():
    rows = rt.trace(BY_NAME["embedding"].fn, (5, 4), (7,))
    x, words = np.arange(20.0).reshape(5, 4), np.array([4, 0, 1, 2, 3, 4, 4])
    for dtype in (np.float32, np.float64, np.int64):
        out = rows.run(None, x.astype(dtype), words)
        assert (out == x[words]).all() and out.dtype == dtype
    for other in (5, -1):
        with pytest.raises(rt.Refused, match=f"words holds {other}"):
            rows.run(None, x, np.where(words == 2, other, words))
    with pytest.raises(rt.Refused, match="which are integers"):
        rows.run(None, x, words + 0.0)


def test_a_wrong_module_raises_wrong():
    product = rt.trace(programs.product, (7, 5), (5, 6))
    module = product.partition("out=i:2,k:2").replace("spmd a b { einsum \"ik,kj->ij\" a b }", "spmd a b { neg (einsum \"ik,kj->ij\" a b) }")
    with pytest.raises(rt.Wrong, match="device 0 holds -"):
        product.run(module, np.ones((7, 5)), np.ones((5, 6)))


def test_schedules_and_modules_are_taken():
    product = rt.trace(programs.product, np.zeros((7, 5)), (5, 6), names=["left", "right"])
    given = np.arange(35.0).reshape(7, 5), np.arange(30.0).reshape(5, 6)
    for how in ("out=i:2,k:2", product.partition("out=j:2,k:2")):
        assert (product.run(how, *given) == given[0] @ given[1]).all()
    assert [one.name for one in product.inputs] == ["left", "right"]
    assert product.run("out=k:2", *given, processes=2).shape == product.shape == (7, 6)


def test_the_text_is_one_statement_for_a_product():
    assert str(rt.trace(programs.product, (7, 5), (5, 6))).splitlines()[3:] == ["out[i,j] += a[i,k] * b[k,j]", "return out"]


def text_of(fn, *shapes):
    return str(rt.trace(fn, *shapes)).splitlines()


def test_arrays_from_elsewhere_are_what_they_are_when_they_are_used():
    def changing(x):
        weights, y = np.arange(4.0), x
        for k in range(2):
            weights[k] += 5
            y = y + weights * np.where(weights > 4, x, 0)
        return y

    statements = rt.trace(changing, (4,))
    assert [one.tolist() for one in statements.constants.values()] == [[1, 0, 0, 0], [5, 1, 2, 3], [1, 1, 0, 0], [5, 6, 2, 3]]
    x = np.array([1.0, -2, 3, 4])
    assert np.abs(statements.run(None, x, processes=1) - changing(x)).max() < 1e-12


def test_names_do_not_clash():
    def product(t1, out, exp):
        return np.exp(t1 * out).sum() * exp

    assert text_of(product, (3,), (3,), ())[4:] == ["t2[] += exp(t1[i] * out[i])", "t3[] = t2[] * exp[]", "return t3"]
    statements = rt.trace(product, (3,), (3,), ())
    assert np.abs(statements.run(None, np.ones(3), np.ones(3), 2.0, processes=1) - 6 * np.e) < 1e-12


def test_what_is_worked_out_twice_stands_once():
    assert text_of(lambda x: x / x.sum() - x.sum(), (3,))[2:] == ["t1[] += x[i]", "out[i] = x[i] / t1[] - t1[]", "return out"]


def test_threads_trace_apart():
    from concurrent.futures import ThreadPoolExecutor

    def many(x):
        for _ in range(50):
            x = x * 2 + x.sum()
        return x

    alone = str(rt.trace(many, (3,)))
    with ThreadPoolExecutor(4) as pool:
        assert {str(one) for one in pool.map(lambda _: rt.trace(many, (3,)), range(12))} == {alone}


def test_a_run_ends_when_its_time_is_up():
    product = rt.trace(programs.product, (7, 5), (5, 6))
    with pytest.raises(rt.Undecided, match="longer than"):
        product.run("out=i:4", np.ones((7, 5)), np.ones((5, 6)), timeout=0.01)


@pytest.mark.skipif(not HAS_JAX, reason="needs JAX")
def test_functions_of_jax_are_refused_at_their_line():
    import jax.numpy as jnp

    def jax_branch(x):
        if x[0, 0] > 0:
            return x
        return -x

    def jax_sine(x):
        return x + jnp.sin(x)

    for fn, words in ((jax_branch, "> 0"), (jax_sine, "jnp.sin")):
        with pytest.raises(rt.Refused) as found:
            rt.trace(fn, (3, 4), framework="jax")
        assert found.value.message.startswith(fn.__name__)
        assert found.value.source == f"{__file__}:{line_of(fn, words)}"
    with pytest.raises(rt.Refused, match="framework"):
        rt.trace(lambda x: jnp.exp(x), (3, 4), framework="numpy")
