"""watch: records, lines, peaks, and what is raised."""

import time
import warnings

import pytest
from ranks import run

RANKS = 4


def line_of(mark):
    lines = open(__file__, encoding="utf-8").read().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.rstrip().endswith("# " + mark))


def grid(*sizes, names=("x", "y", "z")):
    from torch.distributed.device_mesh import init_device_mesh
    return init_device_mesh("cpu", sizes, mesh_dim_names=names[:len(sizes)])


def put(shape, mesh, placements):
    import torch
    from torch.distributed.tensor import distribute_tensor
    return distribute_tensor(torch.arange(float(torch.Size(shape).numel())).reshape(shape), mesh, placements, src_data_rank=None)


def job_of_records(rank):
    from pyretile.torch import watch
    from torch.distributed.tensor import Shard
    mesh = grid(2, 2)
    x = put((8, 8, 8), mesh, [Shard(0), Shard(0)]).requires_grad_()
    columns = put((8, 8, 8), mesh, [Shard(1), Shard(1)])
    with watch() as seen:
        y = x.redistribute(placements=[Shard(1), Shard(1)])  # forward
        (y * 2).sum().backward()  # backward
        x.detach() + columns  # implicit
    x.redistribute(placements=[Shard(1), Shard(1)])
    return [one.to_dict() for one in seen.records], str(seen)


def test_every_redistribute_is_recorded_with_its_line():
    for records, table in run(RANKS, job_of_records):
        asked = [one for one in records if one["before"] == ("Shard(0)", "Shard(0)") and one["after"] == ("Shard(1)", "Shard(1)")]
        first = asked[0]
        assert first["source"] == f"watch_test.py:{line_of('forward')}"
        assert (first["implicit"], first["backward"], first["compiled"]) == (False, False, False)
        # On a mesh of CPUs torch gathers along y, then along x, and cuts: docs/how-to/pytorch.md has the cost of the trace.
        assert (first["end_bytes"], first["plan_cost"], first["plan_height"], first["plan_bytes"]) == (512, 128, 128, 1024)
        assert first["torch_cost"] > first["plan_cost"] and first["dearer"]
        back = [one for one in records if one["backward"]]
        # Whose gradient it is, and who called for it.
        assert {(one["source"], one["call"]) for one in back} == {(f"watch_test.py:{line_of('forward')}", f"watch_test.py:{line_of('backward')}")}
        assert all(one["call"] == "" for one in records if not one["backward"])
        implicit = [one for one in records if one["implicit"] and not one["backward"]]
        assert {one["source"] for one in implicit} == {f"watch_test.py:{line_of('implicit')}"}
        assert f"watch_test.py:{line_of('forward')}" in table and "dearer" in table


def job_of_lines(rank, noted):
    """The source and call of backward redistributes whose forward one was watched, was not, or is known by torch alone."""
    import torch
    from pyretile.torch import _source, redistribute, watch
    from torch.distributed.tensor import Replicate, Shard
    mesh, said = grid(4), []
    if not noted:
        _source._forward_line = lambda node: None
    x = put((8, 8), mesh, [Shard(0)]).requires_grad_()
    with watch():
        watched = x.redistribute(placements=[Shard(1)])  # watched forward
        ours = redistribute(x, [Shard(1)])  # our forward
        again = x.redistribute(placements=[Shard(1)])  # forward again
    unwatched = x.redistribute(placements=[Shard(1)])
    with torch.autograd.detect_anomaly(check_nan=False):
        anomalous = x.redistribute(placements=[Shard(1)])  # known to torch
    for y in (watched, ours, unwatched, anomalous):
        with watch() as seen:
            (y * y).sum().redistribute(placements=[Replicate()]).backward()  # called
        said.append([(one.source, one.call) for one in seen.records if one.backward and one.before == ("Shard(1)",)])
        (row,) = (line for line in str(seen).splitlines() if "(Shard(1)) -> (Shard(0))" in line)
        assert "backward" in row and ("called here" in row) == (said[-1][0][0] == said[-1][0][1]), row
    with watch() as seen:
        (first,) = torch.autograd.grad((again * again).sum(), x, create_graph=True)
        (first * first).sum().backward()  # twice
    said.append(sorted({one.source for one in seen.records if one.backward and one.before != one.after}))
    return said


def test_backward_rows_name_the_line_whose_gradient_it_is():
    import warnings
    warnings.simplefilter("ignore")

    def at(mark):
        return f"watch_test.py:{line_of(mark)}"
    for watched, ours, unwatched, anomalous, twice in run(RANKS, job_of_lines, True):
        assert [watched, ours, unwatched, anomalous] == [[(at(mark), at("called"))] for mark in ("watched forward", "our forward", "called", "known to torch")]
        assert at("forward again") in twice
    for *once, _ in run(RANKS, job_of_lines, False):
        assert once == [[(at("called"), at("called"))]] * 4


def job_of_left(rank):
    """What is left to torch is watched as torch's way: whether it is planned, and whether it raises over the limit."""
    import torch
    from pyretile.torch import OverLimit, optimal, watch
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    mesh, said = grid(4), []
    product = DTensor.from_local(torch.ones(8, 8), mesh, [Partial("product")], run_check=False)
    for x, after, limit in ((product, [Replicate()], None), (put((16, 16), mesh, [Shard(0)]), [Shard(1)], 511), (put((16, 16), mesh, [Shard(0)]), [Shard(1)], 512)):
        with watch("600B", mode="raise") as seen, optimal(limit, otherwise="torch") as ours:
            try:
                x.redistribute(placements=after)
                over = False
            except OverLimit:
                over = True
        said.append((seen.records[0].planned, over, ours.moved))
    return said


def test_what_is_left_to_torch_is_watched_as_its_way():
    for said in run(RANKS, job_of_left):
        # A gather of 1024 bytes for the exchange; of the product, two tiles of 256 bytes.
        assert said == [(False, False, 0), (False, True, 0), (True, False, 1)]


def job_of_tables(rank):
    from pyretile.torch import explain, watch
    from torch.distributed.tensor import Replicate, Shard
    mesh, x = grid(4), put((16, 16), grid(4), [Shard(0)])
    tables = []
    for limit, after in ((None, [Shard(1)]), ("1KiB", [Shard(1)]), ("1MiB", [Replicate()])):
        with watch(limit) as seen:
            x.redistribute(placements=after)
        tables.append(str(seen))
    return tables, str(explain(x, [Shard(1)])), seen.records[0].gathers, mesh.size()


def test_a_table_says_units_what_is_over_the_limit_and_what_gathers():
    for (exchange, over, gather), said, gathers, _ in run(RANKS, job_of_tables):
        assert all("costs are in elements of a rank" in one for one in (exchange, over, gather))
        assert ["over limit" in one for one in (exchange, over, gather)] == [False, True, False]
        # On a mesh of CPUs torch exchanges by a gather, and what it costs is the gather.
        assert ["gathers: on a mesh of CPUs" in one for one in (exchange, over, gather)] == [True, True, False]
        assert "all_to_all by an all_gather along x" in said and "elements" in said and not gathers


def test_a_mesh_of_gpus_gathers_nothing_for_an_exchange(monkeypatch):
    import torch
    from pyretile.torch import _way
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    try:
        mesh = grid(4)
        meta = TensorMeta(torch.Size((16, 16)), (16, 1), torch.float32)
        both = [DTensorSpec(mesh, (Shard(dim),), tensor_meta=meta) for dim in (0, 1)]
        on_cpu = _way.way(*both)
        monkeypatch.setattr(type(mesh), "device_type", property(lambda mesh: "cuda"))
        on_gpu = _way.way(*both)
    finally:
        dist.destroy_process_group()
    assert [(one.steps[0].gathers, one.cost) for one in (on_cpu, on_gpu)] == [(True, 256), (False, 64)]
    assert [str(one.steps[0]).partition(":")[0] for one in (on_cpu, on_gpu)] == ["all_to_all by an all_gather along x", "all_to_all along x"]


def job_of_flattened(rank):
    from pyretile.torch import watch
    from torch.distributed.tensor import Replicate, Shard
    mesh = grid(2, 2)
    x = put((8,), mesh, [Shard(0), Shard(0)])
    with watch() as seen:
        x.redistribute(placements=[Replicate(), Replicate()])
        mesh["x", "y"]._flatten("xy")
        x.redistribute(placements=[Replicate(), Replicate()])
    return [one.torch_steps for one in seen.records]


def test_a_mesh_that_was_flattened_meanwhile_has_another_way():
    for two, one in run(RANKS, job_of_flattened):
        assert (len(two), len(one)) == (2, 1)


def measured_peak(go):
    """The largest tensor that any operation makes, in elements."""
    import torch
    from torch.distributed.tensor import DTensor
    from torch.utils._python_dispatch import TorchDispatchMode
    most = [0]

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if any(issubclass(one, DTensor) for one in types):
                return NotImplemented
            made = function(*args, **(kwargs or {}))
            for one in made if isinstance(made, (list, tuple)) else [made]:
                if isinstance(one, torch.Tensor):
                    most[0] = max(most[0], one.numel())
            return made
    with Mode():
        go()
    return most[0]


def job_of_peaks(rank):
    from pyretile.torch import watch
    from torch.distributed.tensor import Partial, Replicate, Shard
    found = []
    moves = [((8, 8, 8), [Shard(0), Shard(0)], [Shard(1), Shard(1)]), ((8, 8), [Shard(0), Shard(1)], [Replicate(), Replicate()]),
             ((10, 6), [Shard(0), Shard(0)], [Replicate(), Shard(0)]), ((8, 6), [Shard(0), Replicate()], [Replicate(), Shard(1)]),
             ((5, 3), [Shard(0), Shard(1)], [Shard(1), Shard(0)]), ((8, 8), [Shard(1), Shard(0)], [Partial(), Shard(0)])]
    mesh = grid(2, 2)
    for shape, before, after in moves:
        x = put(shape, mesh, before)
        with watch() as seen:
            most = measured_peak(lambda: x.redistribute(placements=after))
        found.append((str(before), str(after), seen.records[0].torch_height, max(most, x.to_local().numel())))
    return found


def test_heights_are_those_of_the_tensors_that_torch_makes():
    per_rank = run(RANKS, job_of_peaks)
    for k, (before, after, said, _) in enumerate(per_rank[0]):
        assert said == max(one[k][3] for one in per_rank), (before, after)


def job_of_limits(rank):
    from pyretile.torch import Implicit, OverLimit, RedistributeWarning, watch
    from torch.distributed.tensor import Replicate, Shard
    mesh = grid(4)
    x, other = put((16, 16), mesh, [Shard(0)]), put((16, 16), mesh, [Shard(1)])
    said = {}
    for limit in (10**6, "2x", "1KiB", 1024, "0.5x"):
        try:
            with watch(limit, mode="raise"):
                x.redistribute(placements=[Replicate()])  # limited
            said[limit] = None
        except OverLimit as problem:
            said[limit] = (problem.file.rpartition("/")[2], problem.line, x.to_local().numel())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with watch("1KiB", mode="warn"):
            x.redistribute(placements=[Replicate()])  # warned
        with watch("1KiB"):
            x.redistribute(placements=[Replicate()])
    said["warned"] = [(one.filename.rpartition("/")[2], one.lineno) for one in warned if issubclass(one.category, RedistributeWarning)]
    said["implicit"] = []
    for mode in ("raise", "record"):
        with watch(mode=mode, implicit="forbid"):
            x.redistribute(placements=[Replicate()])
            try:
                x + other
            except Implicit as problem:
                said["implicit"].append(problem.record.implicit)
    x + other  # nothing holds any more
    return said


def test_raise_and_warn():
    for said in run(RANKS, job_of_limits):
        over = ("watch_test.py", line_of("limited"), 64)
        # 64 elements before, 256 after: 1280 bytes, 1.25 of the larger end.
        assert said == {10**6: None, "2x": None, "1KiB": over, 1024: over, "0.5x": over, "warned": [("watch_test.py", line_of("warned"))], "implicit": [True, True]}


@pytest.mark.parametrize("limit", ["many", "12 parsecs", -1, 1.5, "1e400", "1e400x", "-1x", "infx", "nanx", "x", "", "9223372036854775808", True])
def test_what_is_no_limit_is_refused(limit):
    from pyretile import Refused
    from pyretile.torch import watch
    with pytest.raises(Refused, match="number of bytes") as problem:
        watch(limit)
    assert problem.value.source == "limit" and "^" in str(problem.value)


@pytest.mark.parametrize("limit, read", [(7, (7, None)), ("512KiB", (1 << 19, None)), ("80GB", (80 * 10**9, None)), ("2x", (None, 2)), ("0.5x", (None, 0.5))])
def test_limits(limit, read):
    from pyretile.torch import watch
    one = watch(limit)
    assert (one.bytes, one.times) == read


def job_of_specs(rank, spoiled):
    import torch
    from pyretile.torch import SpecsDiffer, watch
    from torch.distributed.tensor import DTensor, Replicate, Shard
    mesh = grid(4)
    # Uneven tiles without a shape: each rank takes the array to be four times its own tile.
    local = torch.ones(3 if spoiled and rank == 3 else 4, 2)
    x = DTensor.from_local(local, mesh, [Shard(0)], run_check=False)
    try:
        with watch(mode="raise", check_specs=True):
            x.redistribute(placements=[Replicate()])
    except SpecsDiffer as problem:
        return str(problem)
    return "moved"


def test_check_specs_finds_ranks_that_disagree():
    assert run(RANKS, job_of_specs, False) == ["moved"] * RANKS
    for said in run(RANKS, job_of_specs, True):
        assert "the ranks redistribute different arrays" in said


def job_of_compile(rank):
    import torch
    from pyretile.torch import watch
    from torch.distributed.tensor import Shard
    mesh = grid(4)
    x = put((8, 8), mesh, [Shard(0)]).requires_grad_()

    @torch.compile(backend="aot_eager", fullgraph=True)
    def moved(t):
        return t.redistribute(placements=[Shard(1)]) * 2  # traced
    with watch() as seen:
        made = moved(x)
        made.sum().backward()
    return [(one.source, one.compiled) for one in seen.records], bool(torch.equal(made.full_tensor(), 2 * x.full_tensor()))


def test_what_is_compiled_is_recorded_when_it_is_traced():
    for records, right in run(RANKS, job_of_compile):
        assert right
        assert (f"watch_test.py:{line_of('traced')}", True) in records


def job_of_speed(rank):
    from pyretile.torch import watch
    from torch.distributed.tensor import Replicate, Shard
    mesh = grid(1)
    x = put((8, 8), mesh, [Shard(0)])

    def best(repeat=5, times=300):
        out = []
        for _ in range(repeat):
            began = time.process_time()
            for _ in range(times):
                x.redistribute(placements=[Replicate()])
            out.append((time.process_time() - began) / times)
        return min(out)
    bare = best()
    with watch(10**9, mode="raise"):
        watched = best()
    return 1e6 * (watched - bare)


def test_a_redistribute_that_was_seen_takes_at_most_200_us_more():
    microseconds, = run(1, job_of_speed)
    print(f"{microseconds:.0f} us")
    assert microseconds < 200
