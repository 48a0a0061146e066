"""The core of the package: answers equal those of the program, objects of JAX and PyTorch are read by what they have."""

import json
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import pyretile as rt

ENDS = ("[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]")
MESH = "x:4,y:6"
PEERS = pathlib.Path(__file__).parents[3] / "examples/pytorch"


def retile(*arguments, text=None):
    """What the command prints that came with the package."""
    program = pathlib.Path(sys.executable).with_name("retile")
    return subprocess.run([program, *arguments], input=text, capture_output=True, text=True)


def test_a_plan_is_what_the_command_prints():
    plan = rt.plan(*ENDS, mesh=MESH)
    said = retile("plan", "--mesh", MESH, *ENDS, "--json")
    assert plan.to_dict() == json.loads(said.stdout)
    assert str(plan) + "\n" == retile("plan", "--mesh", MESH, *ENDS).stdout
    assert [step.op for step in plan.steps] == ["alltoall", "allpermute", "alltoall"]
    assert (plan.steps[0].from_dim, plan.steps[0].factor, plan.cost, plan.optimal) == (1, 3, 18, True)
    assert not plan.exchange


def test_answers_are_frozen_and_have_their_own_objects():
    plan = rt.plan(*ENDS, mesh=MESH)
    with pytest.raises(AttributeError):
        plan.cost = 0
    plan.to_dict()["cost"] = 0
    assert plan.to_dict()["cost"] == plan.cost > 0
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and str(again) == str(plan)


def test_two_ends_that_differ_make_plans_that_differ():
    assert rt.plan(*ENDS, mesh=MESH) == rt.plan(*ENDS, mesh=MESH)
    assert rt.plan(*ENDS, mesh=MESH) != rt.plan(ENDS[1], ENDS[0], mesh=MESH)


def test_answers_that_are_equal_have_one_hash():
    def answers(ends):
        plan = rt.plan(*ends, mesh=MESH)
        return [plan, plan.lower(), rt.check(plan.lower())[0], *rt.explain(*ends, mesh=MESH)]
    first, again, other = answers(ENDS), answers(ENDS), answers((ENDS[1], "[12, 12]"))
    assert [hash(one) for one in first] == [hash(one) for one in again] and first == again
    assert len({*first, *again, *other}) == 8
    assert first[0] != first[1] != 7


@pytest.mark.parametrize("mesh", ["x:4,y:6", {"x": 4, "y": 6}])
def test_a_mesh_may_be_a_dict(mesh):
    assert rt.plan(*ENDS, mesh=mesh).cost == rt.plan(*ENDS, mesh=MESH).cost


@pytest.mark.parametrize("name", ["my axis", "0", "ä", "a:b", "a,b", "x", "a-b.c", "{x}", " "])
def test_an_axis_may_have_any_name(name):
    plan = rt.plan(f"P('{name}', None)", f"P(None, '{name}')", mesh={name: 4, "q": 2}, shape=(8, 8))
    assert plan.to_dict()["mesh"] == [[name, 4], ["q", 2]] and plan.cost == 16
    mesh = FakeMesh([[0, 1], [2, 3]], (name, "q"))
    assert rt.plan(FakeSharding(mesh, name, None), FakeSharding(mesh, None, name), shape=(8, 8)).cost == 32


def test_a_program_goes_to_check_as_it_is_and_as_text():
    program = rt.lower(*ENDS, mesh=MESH)
    assert program.to_dict() == json.loads(retile("lower", "--mesh", MESH, *ENDS, "--json").stdout)
    for given in (program, program.to_json(), str(program), rt.plan(*ENDS, mesh=MESH).lower()):
        (verdict,) = rt.check(given)
        assert verdict and verdict.right is True and verdict.raise_if_wrong() is verdict
        assert verdict.height == rt.plan(*ENDS, mesh=MESH).height


def spoiled():
    """A right Program whose last step is gone."""
    program = rt.lower(*ENDS, mesh=MESH).to_dict()
    program["steps"].pop()
    return json.dumps(program)


def test_a_wrong_program_is_a_value_that_is_false():
    (verdict,) = rt.check(spoiled())
    assert verdict.right is False and not verdict
    with pytest.raises(rt.Wrong) as raised:
        verdict.raise_if_wrong()
    assert raised.value.verdict is verdict and "wrong" in str(raised.value)
    assert isinstance(raised.value, AssertionError)


def test_several_programs_get_a_verdict_each():
    right = rt.lower(*ENDS, mesh=MESH).to_json()
    verdicts = rt.check(f"{right}\n{spoiled()}")
    assert [verdict.right for verdict in verdicts] == [True, False]
    assert verdicts[0].text.startswith("right") and verdicts[1].text.startswith("wrong")


def test_a_path_is_a_file_and_a_str_is_a_text(tmp_path):
    file = tmp_path / "program.txt"
    file.write_text(str(rt.lower(*ENDS, mesh=MESH)))
    assert rt.check(file)[0].right
    with pytest.raises(rt.Refused):
        rt.check(str(file))
    with pytest.raises(rt.Refused) as raised:
        rt.check(tmp_path / "absent")
    assert raised.value.code == "file_error"


def test_a_verdict_is_of_what_the_file_held(tmp_path):
    file = tmp_path / "program.txt"
    file.write_text(spoiled())
    (verdict,) = rt.check(file)
    file.write_text(rt.lower(*ENDS, mesh=MESH).to_json())
    assert verdict.right is False and str(verdict).startswith("wrong")
    file.unlink()
    with pytest.raises(rt.Wrong):
        verdict.raise_if_wrong()


def test_files_of_any_name_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = product(4)
    after = before.replace(", sharding={replicated}", "")
    turned = after.replace("dot(%a, %b)", "dot(%b, %a)")
    for name, text in (("before", turned), ("after", after)):
        pathlib.Path(name).write_text(text)
    assert not rt.validate(before, pathlib.Path("before"), seed=1) and rt.validate(pathlib.Path("after"), after, seed=1).answer != "wrong"
    with pytest.raises(rt.Refused):
        rt.check(pathlib.Path("-"), timeout=2)


def test_what_a_plan_says_is_not_said_again():
    for more in ({"memory_limit": 1}, {"mesh": "x:2"}, {"cost": "bytes"}, {"collectives": True}, {"dst": "[12]"}):
        with pytest.raises(rt.Refused):
            rt.lower(rt.plan(*ENDS, mesh=MESH), **more)


def test_each_of_several_has_words_of_its_own():
    right = rt.lower(*ENDS, mesh=MESH).to_json()
    texts = [str(verdict) for verdict in rt.check(f"{right}\n{spoiled()}")]
    assert texts[0] != texts[1] and "None" not in texts[1] and "(end)" in texts[1]
    alone = [rt.check(one)[0] for one in (right, spoiled())]
    assert texts == [str(one) for one in alone]
    assert "\n".join(texts) + "\n" == retile("check", text=f"{right}\n{spoiled()}").stdout
    log = (pathlib.Path(__file__).parents[3] / "examples/foreign/rematerialized.log").read_text()
    first, second = rt.explain(log + log.replace("get-tuple-element", "other"))
    assert "%other" in str(second) and "%other" not in str(first) and "cost 8192" in str(first)


def test_refusals_have_a_caret_and_the_names_of_arguments():
    with pytest.raises(rt.Refused) as raised:
        rt.plan("[3{z}12, 12]", "[12, 3{x}12]", mesh="x:4")
    error = raised.value
    assert isinstance(error, ValueError) and error.code == "unknown_axis" and error.source == "src"
    assert error.input.encode()[slice(*error.span)] == b"z" and "^" in str(error)
    with pytest.raises(rt.Refused) as raised:
        rt.plan("[3{x}12, 12]", "[12, 3{x}12]", mesh="x:4", memory_limit="many")
    assert raised.value.source == "memory_limit" and "--" not in str(raised.value)
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.span, str(again)) == (error.code, error.span, str(error))


@pytest.mark.parametrize("call", [
    lambda: rt.plan("", "[12]", mesh="x:4"),
    lambda: rt.plan("[3{x}12]", "[12]"),
    lambda: rt.plan("[3{x}12]", "[12]", mesh=""),
    lambda: rt.plan(3, "[12]", mesh="x:4"),
    lambda: rt.plan("[3{x}12]", "[12]", mesh=4),
    lambda: rt.plan("[3{x}12]", "[12]", mesh="x:4", memory_limit=-1),
    lambda: rt.plan("[3{x}12]", "[12]", mesh="x:4", memory_limit=1.5),
    lambda: rt.plan("[3{x}12]", "[12]", mesh="x:4", cost="gold"),
    lambda: rt.plan("[3{x}12]", "[12]", mesh="x:4", dtype="f33", memory_limit="1GB"),
    lambda: rt.plan("P('x')", "P()", mesh="x:4", shape="twelve"),
    lambda: rt.plan("P('x')", "P()", mesh="x:4", shape=12),
    lambda: rt.plan("P('x')", "P()", mesh="x:4", shape=(16.9,)),
    lambda: rt.plan("P('x')", "P()", mesh="x:4", shape=(True,)),
    lambda: rt.plan("[4{x}16]", "[16]", mesh="x:4", order=[0.7, 1, 2, 3]),
    lambda: rt.plan("[99999999999999999999{x}12]", "[12]", mesh="x:4"),
    lambda: rt.plan("\udc80", "[12]", mesh="x:4"),
    lambda: rt.lower("[3{x}12]", "[12]", mesh="x:4", form="cobol"),
    lambda: rt.lower("[3{x}12]", mesh="x:4"),
    lambda: rt.check(""),
    lambda: rt.check(b"\xff\xfe"),
    lambda: rt.check(None),
    lambda: rt.check("nothing that is a program"),
    lambda: rt.check(spoiled(), timeout=-1),
    lambda: rt.check(spoiled(), timeout="soon"),
    lambda: rt.check(spoiled(), timeout=float("nan")),
    lambda: rt.boxes("P('x')", mesh="x:4", shape="\ud800"),
    lambda: rt.plan("[3{x}12]", "[12]", mesh="x:4", order=[3, 1, 0, 2], mesh_to="x"),
    lambda: rt.validate("HloModule a", "HloModule b"),
    lambda: rt.convert("P('x')", "cobol", mesh="x:4", shape=(8,)),
    lambda: rt.boxes("[3{x}", mesh="x:4"),
    lambda: rt.explain("no warning"),
])
def test_whatever_cannot_be_read_is_refused(call, capfd):
    with pytest.raises(rt.Refused) as raised:
        call()
    assert str(raised.value) and raised.value.code
    assert capfd.readouterr() == ("", "")


def test_no_plan_within_a_limit_says_what_suffices():
    with pytest.raises(rt.Infeasible) as raised:
        rt.plan("[8{x}32, 32]", "[32, 8{x}32]", mesh="x:4", memory_limit=100)
    least = raised.value.smallest_feasible_bytes
    assert rt.plan("[8{x}32, 32]", "[32, 8{x}32]", mesh="x:4", memory_limit=least).resident * 4 <= least
    with pytest.raises(rt.Infeasible):
        rt.plan("[8{x}32, 32]", "[32, 8{x}32]", mesh="x:4", memory_limit=least - 1)
    assert pickle.loads(pickle.dumps(raised.value)).smallest_feasible_bytes == least


def test_a_plan_within_a_limit_is_lowered_as_it_is():
    ends, mesh = ("[Replicate(), Shard(1)]", "[Replicate(), Shard(0)]"), "x:2,y:2"
    kept = {"memory_limit": 1536, "shape": (16, 32), "mesh": mesh}
    limited, usual = rt.plan(*ends, **kept), rt.plan(*ends, shape=(16, 32), mesh=mesh)
    assert limited.steps != usual.steps
    for program in (limited.lower(), rt.lower(limited), rt.lower(*ends, **kept)):
        assert [step["op"] for step in program.steps] == [step.op for step in limited.steps]
        assert rt.check(program)[0].cost == limited.cost
    with pytest.raises(rt.Infeasible):
        rt.lower(*ends, memory_limit=1000, shape=(16, 32), mesh=mesh)
    assert rt.lower(*ends, dtype="f64", cost="bytes", shape=(16, 32), mesh=mesh).steps
    with pytest.raises(rt.Refused):
        rt.lower(*ends, direct=True, **kept)


LINKED = dict(mesh="dp:4,ep:2,tp:4", dtype="bf16")
LINKED_ENDS = ("[8192, 1024{ep,tp}8192]", "[2048{tp}8192, 8192]")
LINKS = "dp:50GB/s:15us, *:450GB/s:5us"


def test_a_plan_of_a_network_is_what_the_command_prints():
    plan = rt.plan(*LINKED_ENDS, **LINKED, network=LINKS)
    words = ["--mesh", LINKED["mesh"], *LINKED_ENDS, "--dtype", "bf16", "--network", LINKS]
    assert plan.to_dict() == json.loads(retile("plan", *words, "--json").stdout)
    assert str(plan) + "\n" == retile("plan", *words).stdout
    assert plan.optimal and plan.time_ps == sum(step["time_ps"] for step in plan.steps) < plan.fewest_elements_time_ps
    program = plan.lower()
    assert program.to_dict() == plan.to_dict()["program"] and rt.check(program)[0]
    assert program == rt.lower(*LINKED_ENDS, **LINKED, network=LINKS) == rt.lower(plan)
    assert program != rt.lower(*LINKED_ENDS, mesh=LINKED["mesh"])
    assert "all_to_all" in plan.lower("jax") and plan.lower("jax") == rt.lower(plan, form="jax")
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and str(again) == str(plan) and again.lower() == program


def test_links_are_a_text_or_a_file(tmp_path):
    path = tmp_path / "links"
    path.write_text("// nodes\n" + LINKS.replace(",", ",\n"))
    plan = rt.plan(*LINKED_ENDS, **LINKED, network=LINKS)
    for links in (path, path.read_text(), {"levels": plan.levels}, json.dumps({"levels": plan.levels})):
        other = rt.plan(*LINKED_ENDS, **LINKED, network=links)
        assert other == plan and other.lower() == plan.lower() and str(other) == str(plan)
    path.write_text("*:1GB/s:0s")
    assert rt.plan(*LINKED_ENDS, **LINKED, network=path) != plan


def test_many_arrays_are_planned_for_a_network(tmp_path):
    path = tmp_path / "links"
    path.write_text(LINKS)
    for links in (LINKS, path):
        many = rt.plan_many({"w": LINKED_ENDS}, **LINKED, network=links)
        assert many.kinds[0]["network"] == rt.plan(*LINKED_ENDS, **LINKED, network=LINKS).to_dict()
        assert [step["op"] for step in many.for_rank(3).kinds[0]["steps"]] == ["alltoall", "allgather"]
        assert "time 79.9 us" in str(many)
    assert "network" not in rt.plan_many({"w": LINKED_ENDS}, **LINKED).kinds[0]


@pytest.mark.parametrize("links", ["", "dp", "dp:1GB/s", "q:1GB/s:1us, *:1GB/s:1us", "dp:0B/s:1us, *:1GB/s:1us", pathlib.Path("no such file"), 7, 1.5, [], {}, {"levels": 1}])
def test_links_that_cannot_be_read_are_refused(links, capfd):
    for call in (rt.plan, rt.lower):
        with pytest.raises(rt.Refused) as caught:
            call(*LINKED_ENDS, mesh=LINKED["mesh"], network=links)
        assert "^" in str(caught.value) and "--network" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_boxes_partition_the_array():
    numpy = pytest.importorskip("numpy")
    boxes = rt.boxes("P('x', ('y',))", mesh="x:3,y:2", shape=(7, 4))  # uneven
    assert boxes.shape == (6, 2, 2) and boxes.dtype == numpy.int64
    count = numpy.zeros((7, 4), int)
    for box in boxes:
        count[tuple(slice(*one) for one in box)] += 1
    assert (count == 1).all()
    boxes[0, 0, 0] = 5  # its own memory
    assert rt.boxes("P('x', ('y',))", mesh="x:3,y:2", shape=(7, 4))[0, 0, 0] == 0
    with pytest.raises(rt.Refused):
        rt.boxes("[2@{x}16]", mesh="x:4")


def test_a_picture_in_a_notebook():
    assert rt.plan(*ENDS, mesh=MESH)._repr_svg_().startswith("<svg")


def test_what_does_not_fit_a_picture_has_none():
    huge = rt.plan("[1{x}16777216]", "[16777216]", mesh="x:16777216")
    assert huge._repr_svg_() is None
    with pytest.raises(rt.Refused):
        huge.svg()


def test_a_plan_explains_itself():
    assert "weak path" in rt.plan(*ENDS, mesh=MESH).explain()


def test_an_end_of_another_order_of_devices():
    plan = rt.plan("[3{x}12]", "[3{x}12]", mesh="x:4", order_to=[3, 1, 0, 2])
    assert [step.op for step in plan.steps] == ["exchange"] and plan.exchange
    assert not rt.plan("[3{x}12]", "[3{x}12]", mesh="x:4", order_to=[0, 1, 2, 3]).steps


def test_explanations_of_two_ends_and_of_a_warning():
    (one,) = rt.explain("P('x', None)", "P(None, 'x')", mesh="x:4", shape=(16, 64))
    assert one.plan["cost"] < one.peer["cost"] and one.form == "jax" and one.program


def test_a_compiled_text_is_converted_to_a_program():
    compiled = (PEERS / "direct.dtensor.json").read_text(encoding="utf-8")
    program = rt.convert(compiled, "program")
    assert program == rt.convert(PEERS / "direct.dtensor.json", "program")
    assert rt.check(program)[0].right is True
    with pytest.raises(rt.Refused):
        rt.convert("nonsense", "program")


def test_many_arrays_are_planned_at_once(tmp_path):
    ends = {"a": ("[2{x}4, 8]", "[4, 4{x}8]"), "b": ("[8]", "[4{x}8]"), "c": ("[2{x}4, 8]", "[4, 4{x}8]")}
    lines = "\n".join(json.dumps({"name": name, "from": src, "to": dst}) for name, (src, dst) in ends.items())
    path = tmp_path / "arrays.jsonl"
    path.write_text(lines, encoding="utf-8")
    many = rt.plan_many(ends, mesh="x:2")
    assert many == rt.plan_many(lines, mesh="x:2") == rt.plan_many(path, mesh="x:2")
    said = retile("plan", "--many", str(path), "--mesh", "x:2", "--json")
    assert many.to_dict() == json.loads(said.stdout) and [one["arrays"] for one in many.kinds] == [2, 1]
    assert str(many) + "\n" == retile("plan", "--many", str(path), "--mesh", "x:2").stdout
    assert many.total["received_bytes"]["most"] == 2 * rt.plan(*ends["a"], mesh="x:2").cost / 2 * 4
    path.unlink()
    parts = [pickle.loads(pickle.dumps(many)).for_rank(rank) for rank in range(2)]
    # What one sends the other receives.
    for one, other in (parts, parts[::-1]):
        for kind, its in zip(one.kinds, other.kinds):
            for step, its_step in zip(kind["steps"], its["steps"]):
                there = [box for box in step["sends"] if box[0] == other.rank]
                assert there == [box for box in its_step["receives"] if box[1] == one.rank]
    assert parts[0].kinds[0]["steps"][0]["sends"] and parts[0] != parts[1]


def test_a_limit_is_one_of_many_arrays_together():
    ends = {str(k): ("[2{x}4, 8]", "[4, 4{x}8]") for k in range(4)}
    for dtype, least in (("f32", 512), ("f64", 1024)):
        assert rt.plan_many(ends, mesh="x:2", dtype=dtype, memory_limit=least).total["peak_bytes"]["most"] == least
        with pytest.raises(rt.Infeasible) as problem:
            rt.plan_many(ends, mesh="x:2", dtype=dtype, memory_limit=least - 1)
        assert problem.value.smallest_feasible_bytes == least


@pytest.mark.parametrize("call", [
    lambda: rt.plan_many({"a": "[4]"}), lambda: rt.plan_many({"a": ("[4]",)}), lambda: rt.plan_many({"a": (1, "[4]")}), lambda: rt.plan_many({}),
    lambda: rt.plan_many("nonsense"), lambda: rt.plan_many({"a": ("[2{y}4]", "[4]")}, mesh="x:2"), lambda: rt.plan_many(3),
    lambda: rt.plan_many({"a": ("[2{x}4]", "[4]")}, mesh="x:2", node=0), lambda: rt.plan_many({"a": ("[2{x}4]", "[4]")}, mesh="x:2", node=True),
    lambda: rt.plan_many({"a": ("[2{x}4]", "[4]")}, mesh="x:2").for_rank(2), lambda: rt.plan_many({"a": ("[2{x}4]", "[4]")}, mesh="x:2").for_rank(0.5)])
def test_many_arrays_that_cannot_be_read_are_refused(call, capfd):
    with pytest.raises(rt.Refused) as problem:
        call()
    assert "^" in str(problem.value) and capfd.readouterr() == ("", "")


class Device:
    def __init__(self, number):
        self.id = number


class FakeMesh:
    """What a mesh of JAX has."""

    def __init__(self, devices, names):
        numpy = pytest.importorskip("numpy")
        self.devices = numpy.vectorize(Device)(numpy.array(devices))
        self.axis_names, self.shape = names, dict(zip(names, self.devices.shape))


class PartitionSpec(tuple):
    def __new__(cls, *axes):
        return super().__new__(cls, axes)


class FakeSharding:
    def __init__(self, mesh, *axes):
        self.mesh, self.spec = mesh, PartitionSpec(*axes)


def test_shardings_of_jax_are_read_by_what_they_have():
    mesh = FakeMesh([[0, 1], [2, 3]], ("x", "y"))
    plan = rt.plan(FakeSharding(mesh, ("x", "y"), None), FakeSharding(mesh, None, ("x", "y")), shape=(8, 8))
    assert [step.op for step in plan.steps] == ["alltoall"] and plan.cost == 16
    turned = FakeMesh([[3, 1], [0, 2]], ("x", "y"))
    moved = rt.plan(FakeSharding(mesh, "x"), FakeSharding(turned, "x"), shape=(8,))
    assert moved.to_dict()["order_to"] == "[3,1,0,2]" and moved.steps
    assert not rt.plan(FakeSharding(turned, "x"), FakeSharding(turned, "x"), shape=(8,)).steps
    back = rt.plan(FakeSharding(turned, "x"), FakeSharding(mesh, "x"), shape=(8,))
    assert back.steps  # an order at the start is not that of the end


def test_threads_plan_at_the_same_time():
    wrong, expected = [], rt.plan(*ENDS, mesh=MESH)

    def many():
        for _ in range(200):
            if rt.plan(*ENDS, mesh=MESH) != expected or rt.check(spoiled())[0].right:
                wrong.append(1)
    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return 4096 * int(file.read().split()[1])


def test_calls_leak_nothing():
    def many():
        for _ in range(3000):
            rt.plan(*ENDS, mesh=MESH)
            try:
                rt.plan(*ENDS, mesh="x:4")
            except rt.Refused:
                pass
    many()
    before = resident_bytes()
    many()
    assert resident_bytes() - before < 1 << 20  # 350 bytes a call


def product(extent):
    """A module that multiplies two matrices on two devices, each of which has both."""
    matrix = f"f32[{extent},{extent}]"
    return f"""HloModule product, num_partitions=2
ENTRY %main (a: {matrix}, b: {matrix}) -> {matrix} {{
  %a = {matrix} parameter(0), sharding={{replicated}}
  %b = {matrix} parameter(1), sharding={{replicated}}
  ROOT %product = {matrix} dot(%a, %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
"""


def test_whole_programs_are_compared():
    before = product(4)
    validation = rt.validate(before, before.replace(", sharding={replicated}", ""), seed=1)
    assert validation and validation.answer == "right" and validation.to_dict()["answer"] == "right"
    turned = rt.validate(before, before.replace("dot(%a, %b)", "dot(%b, %a)").replace(", sharding={replicated}", ""), seed=1)
    assert turned.right is False and not turned and "wrong" in str(turned)
    with pytest.raises(rt.Wrong):
        turned.raise_if_wrong()


def test_an_answer_is_worked_out_once(monkeypatch):
    program, calls, call = spoiled(), [], rt._core._retile.call
    monkeypatch.setattr(rt._core._retile, "call", lambda *arguments: calls.append(arguments[0]) or call(*arguments))
    before = product(4)
    after = before.replace(", sharding={replicated}", "")
    for answer in (rt.check(program)[0], rt.validate(before, after), rt.explain(*ENDS, mesh=MESH)[0], rt.check(PEERS / "direct.dtensor.json")[0]):
        assert str(answer) and answer.to_dict()
    assert calls == ["check", "validate", "explain", "check"]


def test_a_limit_of_time_leaves_a_program_undecided():
    large = product(1024)
    validation = rt.validate(large, large.replace(", sharding={replicated}", ""), extents="full", draws=1000, timeout=1)
    assert validation.right is None and validation.answer == "undecided" and not validation


def replayed(program, devices, src, shape):
    """The tiles at the end, where each device does its part."""
    whole = np.arange(np.prod(shape)).reshape(shape)
    tiles = [whole[tuple(slice(*side) for side in box)] for box in src]
    parts = [program.for_rank(rank).kinds[0]["steps"] for rank in range(devices)]
    rank = len(shape)
    for k in range(len(program.steps)):
        sent = sorted(box for steps in parts for box in steps[k]["sends"])
        assert sent == sorted(box for steps in parts for box in steps[k]["receives"] if box[0] != box[1])
        after = [np.full(steps[k]["after"], -1) for steps in parts]
        for target, source, *numbers in (box for steps in parts for box in steps[k]["receives"]):
            there, here, extent = (numbers[i * rank:(i + 1) * rank] for i in range(3))
            cut = [tuple(slice(b, b + n) for b, n in zip(begins, extent, strict=True)) for begins in (there, here)]
            after[target][cut[0]] = tiles[source][cut[1]]
        tiles = after
    return whole, tiles


@pytest.mark.parametrize(("mesh", "src", "dst", "shape"), [
    ("x:4,y:6", *ENDS, (12, 12)), ("x:3", "P('x')", "P(None, 'x')", (7, 5)), ("x:2,y:2", "P('x', 'y')", "P()", (4, 6)),
    ("x:2,y:3", "P(('x', 'y'))", "P('y', 'x')", (12, 6))])
def test_parts_of_all_devices_are_the_program(mesh, src, dst, shape):
    program = rt.lower(src, dst, mesh=mesh, shape=None if src == ENDS[0] else shape)
    keywords = {"mesh": mesh, "shape": None if src == ENDS[0] else shape}
    target = rt.boxes(dst, **keywords)
    whole, tiles = replayed(program, len(target), rt.boxes(src, **keywords), shape)
    for box, tile in zip(target, tiles, strict=True):
        assert (tile == whole[tuple(slice(*side) for side in box)]).all()
    assert pickle.loads(pickle.dumps(program)).for_rank(0) == program.for_rank(0)


def test_parts_of_what_has_none_are_refused():
    program = rt.plan(*ENDS, mesh=MESH).lower()
    assert program.for_rank(23).rank == 23
    for rank in (24, -1, "x"):
        with pytest.raises(rt.Refused):
            program.for_rank(rank)
    with pytest.raises(rt.Refused, match="follows no plan"):
        rt.lower(*ENDS, mesh=MESH, direct=True).for_rank(0)
