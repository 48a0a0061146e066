"""Verdicts on programs that JAX really compiles: right ones, spoiled ones, and ones that XLA gets wrong."""

import pickle
import re
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("jax.sharding")
pytest.importorskip("pyretile")

import jax
import numpy as np
from jax import lax, nn
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from programs import PROGRAMS, array, attend, mesh

from pyretile.jax import NotJudged, Report, WrongProgram, _capture, _reshard, assert_right, check, check_texts, reshard
from pyretile.jax._source import Text

HERE = Path(__file__)
WHOLE = HERE.parents[3] / "examples" / "whole"

# One operation is put in another's place, from the last one of the text on, until it is no more the same program.
SWAPS = (("add", "subtract"), ("subtract", "add"), ("multiply", "add"), ("tanh", "sine"), ("sine", "tanh"), ("maximum", "minimum"), ("divide", "multiply"), ("negate", "tanh"))
PAIR = re.compile(r"source_target_pairs=\{\{(\d+),(\d+)\},\{(\d+),(\d+)\}")


def spoiled(text):
    """Texts with one mistake each: the sum of a collective is none, a permutation goes elsewhere, or an operation is another."""
    if "all-reduce(" in text:
        yield re.sub(r"all-reduce\((%[\w.\-]+)\).*", r"negate(\1)", text, count=1)
    if PAIR.search(text):
        yield PAIR.sub(r"source_target_pairs={{\1,\4},{\3,\2}", text, count=1)
    if "all-gather(" in text:
        yield re.sub(r"(replica_groups=\{)\{(\d+),(\d+)", r"\1{\3,\2", text, count=1)
    for old, new in SWAPS:
        found = [one.start() for one in re.finditer(rf"(?<= ){old}\(", text)]
        for place in reversed(found[-3:]):
            yield text[:place] + new + text[place + len(old):]
    # What is added to constants and what is moved alone: another constant, another permutation of dimensions.
    for match in re.finditer(r"constant\((\d+)\)", text):
        yield text[:match.start(1)] + str(int(match[1]) + 1) + text[match.end(1):]
    # Nothing but one operation: its result with another sign.
    head, entry, body = text.rpartition("ENTRY ")
    yield head + entry + re.sub(r"ROOT (%[\w.\-]+) = ([a-z]\w*\[[^\s]*) (.*)", r"\1 = \2 \3\n  ROOT %spoiled = \2 negate(\1)", body)


def answer_of(before, after):
    try:
        return check_texts(before, after, explain=False, seed=1).answer
    except ValueError:
        return "refused"


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_right_and_a_spoiled_one_is_wrong(name):
    function, arguments = PROGRAMS[name]()
    report = check(function, *arguments, seed=1)
    assert report.answer == "right", str(report)
    assert report.devices in (4, 8)
    answers = []
    for text in spoiled(report.after):
        if text != report.after:
            answers.append(answer_of(report.before, text))
        if answers and answers[-1] == "wrong":
            break
    assert "wrong" in answers, answers


def test_enough_programs():
    assert len(PROGRAMS) >= 30


def scattered():
    on = mesh(x=2, y=2)

    def function(values, rows):
        return jnp.zeros(4).at[rows].add(values[:3])  # LINE scattered
    return function, (array(4, spec=("x",), on=on), array(3, on=on, dtype=jnp.int32)), [np.arange(1, 5, dtype=np.float32), np.arange(1, 4, dtype=np.int32)]


def convolved():
    on = mesh(x=2, y=2)

    def function(signal, kernel):
        return lax.conv_general_dilated(signal, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))  # LINE convolved
    return function, (array(1, 4, 1, spec=(None, "x"), on=on), array(2, 1, 1, spec=("x",), on=on)), [np.ones((1, 4, 1), np.float32), np.ones((2, 1, 1), np.float32)]


def updated():
    on = mesh(x=2)

    def function(cache, value, at):
        doubled = value * 2
        return lax.dynamic_update_slice(cache, doubled, (at,))  # LINE updated
    return function, (array(2, spec=("x",), on=on), array(1, on=on), array(on=on, dtype=jnp.int32)), [np.arange(2, dtype=np.float32), np.array([7], np.float32), np.int32(2)]


def line_of(name):
    return 1 + next(k for k, line in enumerate(HERE.read_text().splitlines()) if line.endswith(f"# LINE {name}"))


def goes_wrong(function, arguments, values):
    """Whether JAX itself computes something else on its devices than on one."""
    whole = jax.jit(function)(*values)
    cut = jax.jit(function)(*[jax.device_put(value, one.sharding) for value, one in zip(values, arguments)])
    return not np.array_equal(np.asarray(whole), np.asarray(cut))


@pytest.mark.parametrize("make", [scattered, convolved, updated], ids=lambda one: one.__name__)
def test_what_xla_gets_wrong_is_found_with_file_and_line(make):
    function, arguments, values = make()
    if not goes_wrong(function, arguments, values):
        assert jax.__version_info__ > (0, 12, 0), "the releases that were tried do this wrong"
        pytest.skip(f"JAX {jax.__version__} does this right")
    with pytest.raises(WrongProgram) as caught:
        assert_right(function, *arguments, seed=1)
    assert f"{HERE}:{line_of(make.__name__)}" in str(caught.value) and f"# LINE {make.__name__}" in str(caught.value)
    finding = caught.value.report.findings[0]
    assert (finding.kind, finding.file, finding.line) == ("wrong", str(HERE), line_of(make.__name__))


def test_the_same_program_on_a_mesh_that_xla_masters_is_right():
    function, arguments, _ = updated()
    given = [jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=NamedSharding(one.sharding.mesh, P())) for one in arguments]
    assert assert_right(function, *given).right


@pytest.mark.parametrize("reference", ["partitioner", "lowered"])
@pytest.mark.parametrize("name", ["mlp", "explicit_shardings", "layer_norm", "unspecified_arguments", "own_collectives", "attention_by_sequence_causal"])
def test_both_references(name, reference):
    function, arguments = PROGRAMS[name]()
    assert check(function, *arguments, reference=reference).answer == "right"


def test_a_mistake_is_found_beside_the_lowered_program():
    function, arguments, values = updated()
    report = check(function, *arguments, reference="lowered")
    assert report.right is (not goes_wrong(function, arguments, values))
    assert bool(report) is (report.right is True)
    if report.right is False:
        assert report.findings[0].where == f"{HERE}:{line_of('updated')}"
        with pytest.raises(WrongProgram):
            report.raise_if_wrong()


def test_one_device_is_said_and_not_called_right():
    report = check(lambda x: x + 1, np.ones(3, np.float32))
    assert (report.answer, report.right, report.devices) == ("one device", None, 1) and not report
    with pytest.raises(NotJudged):
        report.raise_if_wrong()
    assert "one device" in str(report)
    with pytest.raises(NotJudged, match="one device"):
        assert_right(lambda x: x + 1, np.ones(3, np.float32))
    lowered = check(lambda x: x + 1, np.ones(3, np.float32), reference="lowered")
    assert lowered and lowered.raise_if_wrong() is lowered


def test_a_limit_of_time_leaves_it_undecided():
    def function(x):
        return lax.fori_loop(0, 1 << 30, lambda k, state: jnp.sin(state @ state), x)
    one = array(64, 64, spec=("data", "x"))
    report = check(function, one, timeout=1, explain=False)
    assert (report.answer, report.right) == ("undecided", None)
    with pytest.raises(NotJudged):
        assert_right(function, one, timeout=1)


def test_text_is_found_although_jax_has_the_program_in_its_caches():
    function, arguments = PROGRAMS["mlp"]()
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs", "jax_persistent_cache_min_entry_size_bytes")
    held = {name: getattr(jax.config, name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, value in zip(names, (folder, 0, -1)):
                jax.config.update(name, value)
            jitted = jax.jit(function)
            jitted.lower(*arguments).compile()
            kept = sorted(one.name for one in Path(folder).iterdir())
            assert kept, "the cache of JAX was not filled, so this test shows nothing"
            for _ in range(2):
                assert check(jitted, *arguments).right
            assert sorted(one.name for one in Path(folder).iterdir()) == kept
            assert jax.config.jax_enable_compilation_cache
        finally:
            for name, value in held.items():
                jax.config.update(name, value)
            from jax.experimental.compilation_cache import compilation_cache
            compilation_cache.reset_cache()


def test_texts_are_saved_for_others(tmp_path):
    function, arguments, _ = updated()
    report = check(function, *arguments, seed=1)
    before, after = report.save(tmp_path)
    assert before.read_text() == report.before and check_texts(before, after, seed=1).answer == report.answer
    with pytest.raises(ValueError, match="one device"):
        check(lambda x: x + 1, np.ones(3, np.float32)).save(tmp_path)


def test_no_folder_remains(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    def texts_in(folder, name, real=_capture.texts_in):
        seen.extend(folder.iterdir())
        return real(folder, name)
    monkeypatch.setattr(_capture, "texts_in", texts_in)
    function, arguments = PROGRAMS["mlp"]()
    check(function, *arguments)
    assert seen and all(one.is_relative_to(tmp_path) for one in seen)
    assert not list(tmp_path.iterdir())


def test_collectives_reshards_and_memory_have_lines():
    on = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))

    def function(v):
        doubled = v * 2  # LINE doubled
        moved = jnp.sin(doubled)  # LINE moved
        return lax.with_sharding_constraint(moved, NamedSharding(on, P(None, ("x", "y"), None)))  # LINE constrained
    report = check(function, array(16, 32, 64, spec=("y", None, "x"), on=on), explain=True)
    assert report.right
    assert all(one.file == str(HERE) for one in (*report.collectives, *report.reshards, *report.large))
    assert [one.where for one in report.reshards] == [f"{HERE}:{line_of('constrained')}"]
    reshard = report.reshards[0].details
    made = f"made at {HERE}:{line_of('doubled')}"
    assert reshard["made_at"] == f"{HERE}:{line_of('doubled')}" and made in str(report.reshards[0])
    # Where nobody says what a constraint is, the operation that takes the array in its new layout is told, and who made it; without lines
    # in the text after, the latter alone.
    unsaid = report.before.replace("/sharding_constraint", "/copy")
    needed = check_texts(unsaid, report.after, seed=1).reshards[0]
    assert needed.where == f"{HERE}:{line_of('moved')}" and made in needed.message
    bare = check_texts(unsaid, re.sub(r", metadata=\{[^}]*\}", "", report.after), seed=1).reshards[0]
    assert (bare.where, "made at" in bare.message) == (f"{HERE}:{line_of('doubled')}", False)
    assert reshard["whole"] and reshard["plan"]["cost"] < reshard["cost"]
    assert report.large and report.large[0].bytes == 16 * 32 * 64 * 4
    assert report.memory["arguments"] == 16 * 32 * 64 * 4 // 8
    assert report.to_dict()["reshards"][0]["line"] == line_of("constrained")


def test_each_reshard_has_the_line_of_its_own_constraint():
    on = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))

    def function(v, w):
        first = lax.with_sharding_constraint(jnp.tanh(v), NamedSharding(on, P("y", "x", None)))  # LINE first asked
        second = lax.with_sharding_constraint(jnp.sin(first @ w), NamedSharding(on, P(None, ("x", "y"), None)))  # LINE second asked
        return second.sum(0) @ w  # LINE product
    report = check(function, array(16, 32, 64, spec=("y", None, "x"), on=on), array(64, 64, spec=("x",), on=on), seed=1)
    assert report.right
    lines = {one.line for one in report.reshards}
    # The matrix is gathered for the first product, which names it, as it says no line itself.
    assert lines == {line_of("first asked"), line_of("second asked")}
    text, (value,) = Text(report.before), {one.details["value"]["value"] for one in report.reshards if one.line == line_of("second asked") and one.details["made_at"]}
    (moved,) = (one.details for one in report.reshards if one.details["value"]["value"] == value)
    found = [text.constraint_on(value, "16,32,64", layout) for layout in (moved["to"], moved["from"], "[{'x'}, {}, {}]")]
    assert [text.own(line).line if line else 0 for line in found] == [line_of("second asked"), line_of("first asked"), 0]
    assert text.constraint_on(value, "16,32", moved["to"]) == 0


@pytest.mark.parametrize("reference", ["partitioner", "lowered"])
def test_a_report_says_of_which_program_it_counts(reference):
    function, arguments = PROGRAMS["mlp"]()
    report = check(function, *arguments, reference=reference)
    words = {"partitioner": "after the partitioner", "lowered": "in the program that would run"}[reference]
    assert report.collectives and report.counted == report.to_dict()["counted"] == words
    assert re.search(rf"\d+ collectives? {words}, ", str(report))
    assert check_texts(report.before, report.after).counted == "after the pass"


NOTE = "bodies of shard_map, as of reshard, stand in both texts: this says nothing of them"


def test_right_does_not_vouch_for_what_stands_in_both_texts(monkeypatch):
    """A plan of ours that puts every element in the wrong place is in both texts, so they agree. A note says what that is worth."""
    on = mesh(x=2, y=4)
    start, end = NamedSharding(on, P("x", "y")), NamedSharding(on, P(None, ("y", "x")))
    x = jax.device_put(np.arange(128, dtype=np.float32).reshape(8, 16), start)

    def function(v):
        return reshard(v, end, src=start) * 1
    right = check(function, x, seed=1)
    assert right.right and NOTE in right.notes and NOTE in str(right)
    runner = _reshard.runner
    monkeypatch.setattr(_reshard, "runner", lambda *given: lambda tile: runner(*given)(tile)[::-1])
    jax.clear_caches()
    for cache in (_reshard.jaxpr_of, _reshard.compiled):
        cache.cache_clear()
    wrong = check(lambda v: function(v), x, seed=1)
    assert not np.array_equal(np.asarray(jax.jit(lambda v: function(v))(x)), np.asarray(x))
    assert wrong.right and NOTE in wrong.notes
    monkeypatch.undo()
    for cache in (_reshard.jaxpr_of, _reshard.compiled):
        cache.cache_clear()
    plain, arguments = PROGRAMS["mlp"]()
    assert NOTE not in check(plain, *arguments).notes


def test_all_verdicts_are_true_in_a_condition_by_one_rule():
    import pyretile
    from pyretile._results import Judged
    kinds = (Report, pyretile.Verdict, pyretile.Validation)
    assert {kind.__bool__ for kind in kinds} == {Judged.__bool__} and {kind.raise_if_wrong for kind in kinds} == {Judged.raise_if_wrong}
    for answer, raised in (("wrong", WrongProgram), ("undecided", NotJudged), ("one device", NotJudged)):
        report = Report(answer, "some", 2)
        with pytest.raises(pyretile.Wrong) as caught:
            report.raise_if_wrong()
        assert not report and type(caught.value) is raised and caught.value.report is report and str(caught.value) == str(report)
        assert pickle.loads(pickle.dumps(caught.value)).report == report
    assert Report("right", "some", 2).raise_if_wrong()


def test_lines_of_libraries_give_way_to_those_that_call_them(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "some_layers.py").write_text("def square(x):\n    return x @ x.T\n")
    monkeypatch.syspath_prepend(str(folder))
    import some_layers

    def function(x):
        return some_layers.square(x) + 1  # LINE layers
    for given, line in ((function, f"{HERE}:{line_of('layers')}"), (some_layers.square, f"{folder}/some_layers.py:2")):
        report = check(given, array(8, 16, spec=("data", "x")))
        assert report.collectives and {one.where for one in report.collectives} == {line}


def sharded(leaf):
    """Weights cut along their first dimension where four devices can share it."""
    cut = len(leaf.shape) > 0 and leaf.shape[0] % 4 == 0
    return NamedSharding(mesh(data=2, x=4), P("x") if cut else P())


def test_modules_of_equinox():
    eqx = pytest.importorskip("equinox")
    module = eqx.nn.MLP(16, 8, 32, 2, key=jax.random.key(0))
    module = jax.tree_util.tree_map(lambda one: jax.device_put(one, sharded(one)) if eqx.is_array(one) else one, module)
    x = array(8, 16, spec=("data",))

    def function(module, x):
        return jax.vmap(module)(x)
    for given in (function, eqx.filter_grad(lambda module, x: jnp.sum(function(module, x) ** 2))):
        report = check(given, module, x)
        assert report.right and report.collectives
    there = jax.device_put(np.ones((8, 16), np.float32), x.sharding)
    assert check(eqx.filter_jit(function), module, there).right
    assert check(module, array(16)).right


def test_modules_of_flax():
    linen = pytest.importorskip("flax.linen")
    nnx = pytest.importorskip("flax.nnx")

    class Layers(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(8)(linen.relu(linen.LayerNorm()(linen.Dense(32)(x))))
    module, x = Layers(), array(8, 16, spec=("data",))
    weights = jax.eval_shape(module.init, jax.random.key(0), jnp.zeros((8, 16)))
    weights = jax.tree_util.tree_map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharded(one)), weights)
    for given in (module.apply, jax.grad(lambda weights, x: jnp.sum(module.apply(weights, x) ** 2))):
        report = check(given, weights, x)
        assert report.right and report.collectives
    linear = nnx.Linear(16, 8, rngs=nnx.Rngs(0))
    for given in (nnx.jit(lambda module, x: module(x)), lambda module, x: module(x)):
        assert check(given, linear, x).right


def test_a_block_of_real_size():
    """Its arrays have gigabytes; the verdict takes a fraction of a second, and what collectives make is read off the text."""
    def one(*shape, spec=()):
        return array(*shape, spec=spec, dtype=jnp.bfloat16)

    def block(given, x):
        query, key, value = (jnp.einsum("bsh,hnd->bsnd", x, given[name]) for name in ("query", "key", "value"))
        x = x + jnp.einsum("bqnd,ndh->bqh", attend(query, key, value, jnp.tril(jnp.ones((2048, 2048), bool))), given["out"])
        return x + nn.gelu(x @ given["up"]) @ given["down"]
    given = {name: one(4096, 32, 128, spec=(None, "x")) for name in ("query", "key", "value")}
    given |= {"out": one(32, 128, 4096, spec=("x",)), "up": one(4096, 16384, spec=(None, "x")), "down": one(16384, 4096, spec=("x",))}
    report = check(block, given, one(8, 2048, 4096, spec=("data",)), explain=False, seed=1)
    assert report.right and report.seconds["judge"] < 20
    assert [(found.op, found.details["made_bytes"]) for found in report.collectives] == [("all-reduce", 4 * 2048 * 4096 * 2)] * 2
    assert all(found.file == str(HERE) for found in report.collectives)
    assert check_texts(report.before, next(spoiled(report.after)), explain=False, seed=1).answer == "wrong"


def test_texts_that_are_wrong_go_the_same_way():
    """Of the partitioner of JAX 0.12.0: the text names the user's line."""
    before, after = ((WHOLE / f"update.{which}.hlo").read_text() for which in ("before", "after"))
    report = check_texts(before, after, seed=2)
    assert report.answer == "wrong"
    assert report.findings[0].where == "model.py:13"
    assert check_texts(before, before, seed=2).answer == "right"


WRONG = {"concat_self": 7, "concat_two": 6, "dus_clamp": 12}


@pytest.mark.parametrize("path", sorted((HERE.parents[3] / "tests" / "house" / "peers" / "second").glob("*.before.hlo")), ids=lambda path: path.name.split(".")[0])
def test_texts_without_lines_are_told_by_their_own(path):
    """Dumps of several releases that name no line of a program; three are wrong."""
    name = path.name.split(".")[0]
    report = check_texts(path, path.with_name(f"{name}.after.hlo"), seed=1)
    assert report.right is (name not in WRONG)
    if name in WRONG:
        assert report.findings[0].where == f"{path}:{WRONG[name]}"


def test_texts_in_memory_have_lines_too():
    before, after = ((HERE.parents[3] / "tests" / "house" / "peers" / "second" / f"concat_two.{which}.hlo").read_text() for which in ("before", "after"))
    assert check_texts(before, after).findings[0].where == "<before>:6"
    assert check_texts(before, after, fallback=("model.py", 3)).findings[0].where == "model.py:3"


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="error"):
        check_texts("HloModule nothing\n", "HloModule nothing\n")
    with pytest.raises(ValueError, match="reference"):
        check(lambda x: x, np.ones(3), reference="nobody")
