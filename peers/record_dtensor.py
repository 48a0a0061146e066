"""Records what one release of PyTorch does for problems: what DTensor.redistribute does on every rank, as a trace.

    corpus/problems.py --count 1500 --json | PYTHON peers/record_dtensor.py FOLDER [--forms dtensor,dtensor_a2a] [--most-ranks 16]

FOLDER gets NUMBER.dtensor, NUMBER.dtensor_a2a (`retile.dtensor-trace/1`, docs/ledger/peers.md) and log.jsonl. Every rank is a process
of its own with a tensor of its own, and gloo carries what they send. Each problem and form has new processes, so that no rank
knows what another rank, or another problem, left in the caches of torch. A problem is done twice: first as it is, and then with
its operations recorded. Both times every element of every rank is compared with what the placements say, and the log says
whether they are right. What the trace says of every element is compared with them, too.

`dtensor` is what a mesh of CPUs does: where a mesh of GPUs exchanges, torch gathers there and cuts. In `dtensor_a2a` the ranks call
what torch calls on meshes of GPUs instead, `torch.ops._dtensor.shard_dim_alltoall`, which gloo carries, too. The trace says it by
operations of its own (`exchanged` below).

DTensor cuts a dimension by axes in the order of the mesh; problems that no order of the mesh says, or with two orders of
devices, are `inexpressible`. Of meshes of more ranks than --most-ranks nothing is known: `not executed`.
"""

import argparse
import importlib
import json
import os
import pickle
import resource
import select
import signal
import socket
import sys
import time
from datetime import timedelta
from math import prod
from pathlib import Path

FORMS = ("dtensor", "dtensor_a2a")
SECONDS = 180


def mesh_order(problem):
    """An order of the axes that agrees with all lists, or nothing."""
    left, order = [name for name, _ in problem["mesh"]], []
    lists = problem["from"] + problem["to"]
    while left:
        free = [name for name in left if all(name not in axes[1:] or set(axes[:axes.index(name)]) <= set(order) for axes in lists)]
        if not free:
            return None
        order.append(free[0])
        left.remove(free[0])
    return order


def placements(problem, end, order):
    """What torch calls it, for every axis of the mesh."""
    found = []
    for name in order:
        dims = [dim for dim, axes in enumerate(problem[end]) if name in axes]
        found.append(f"Shard({dims[0]})" if dims else "Partial(sum)" if name in problem[end + "_sum"] else "Replicate()")
    return found


class Tracer:
    """The operations of one rank, by the numbers of their values. Value 0 is what the rank begins with."""

    def __init__(self, torch, distributed, start):
        self.torch, self.distributed = torch, distributed
        self.numbers, self.kept, self.operations = {}, [], []
        self.know(start)

    def plain(self, tensor):
        """What an asynchronous collective's result wraps."""
        while hasattr(tensor, "elem"):
            tensor = tensor.elem
        return tensor

    def know(self, tensor, number=None):
        tensor = self.plain(tensor)
        if id(tensor) not in self.numbers:
            self.kept.append(tensor)
            self.numbers[id(tensor)] = self.count() if number is None else number
        return self.numbers[id(tensor)]

    def count(self):
        return 1 + max(self.numbers.values(), default=-1)

    def number(self, tensor):
        found = self.numbers.get(id(self.plain(tensor)))
        if found is None:
            raise ValueError("a tensor that no operation made")
        return found

    def group(self, group):
        if isinstance(group, str):
            group = self.distributed.distributed_c10d._resolve_process_group(group)
        return list(self.distributed.get_process_group_ranks(group))

    def add(self, function, args, kwargs, made):
        name = function.name().split("::")[-1].split(".")[0]
        outs = list(made) if isinstance(made, (list, tuple)) else [made]
        if any(one.dtype != self.kept[0].dtype for one in outs):
            raise ValueError(f"{name} makes another type of elements")
        if name in ("wait_tensor", "_wrap_tensor_autograd"):
            return self.know(made, self.number(args[0]))
        if name == "shard_dim_alltoall":
            steps = exchanged(self.group(args[3]), list(args[0].shape), args[1:3], self.count())
            steps[0]["in"] = [self.number(args[0])]
            self.operations += steps
            return self.know(made, steps[-1]["out"][0])
        if name in ("empty", "empty_like", "new_empty", "zeros", "zeros_like", "new_zeros"):
            kind = {"op": "zeros" if "zeros" in name else "empty", "in": []}
        elif name in ("cat", "concat"):
            rank = len(made.shape)
            kind = {"op": "cat", "dim": (args[1] if len(args) > 1 else 0) % rank, "in": [self.number(one) for one in args[0]]}
        else:
            kind = {**self.single(name, args, kwargs), "in": [self.number(args[0])]}
        kind["out"] = [self.know(one) for one in outs]
        kind["sizes"] = [list(one.shape) for one in outs]
        self.operations.append(kind)
        return None

    def single(self, name, args, kwargs):
        rank, rest = len(args[0].shape), list(args[1:])
        if name == "all_gather_into_tensor":
            return {"op": "all_gather", "group": self.group(rest[1])}
        if name == "all_to_all_single":
            return {"op": "all_to_all", "group": self.group(rest[2]), "receive": list(rest[0]), "send": list(rest[1])}
        if name == "reduce_scatter_tensor":
            return {"op": "reduce_scatter", "group": self.group(rest[2]), "reduction": rest[0].lower()}
        if name == "all_reduce":
            return {"op": "all_reduce", "group": self.group(rest[1]), "reduction": rest[0].lower()}
        if name == "broadcast":
            return {"op": "broadcast", "group": self.group(rest[1]), "root": rest[0]}
        if name in ("split", "split_with_sizes", "chunk", "tensor_split"):
            return {"op": "split", "dim": (rest[1] if len(rest) > 1 else kwargs.get("dim", 0)) % rank}
        if name in ("slice", "narrow"):
            dim, start = (rest[0] if rest else 0) % rank, (rest[1] if len(rest) > 1 else 0) or 0
            if name == "slice" and len(rest) > 3 and rest[3] != 1:
                raise ValueError("a slice with a step")
            return {"op": "slice", "dim": dim, "start": start + (args[0].shape[dim] if start < 0 else 0)}
        if name == "constant_pad_nd":
            if len(rest) > 1 and rest[1] != 0:
                raise ValueError("padding by something else than zeros")
            return {"op": "pad", "padding": list(rest[0])}
        if name in ("clone", "contiguous", "detach", "alias", "_to_copy", "lift_fresh"):
            return {"op": "same"}
        if name in ("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze"):
            return {"op": "reshape"}
        if name in ("transpose", "permute", "movedim", "t"):
            return {"op": "transpose", "order": turned(name, rank, rest)}
        raise ValueError(f"aten::{name} is not recorded")


def turned(name, rank, rest):
    """Which old dimension each new one is."""
    order = list(range(rank))
    if name == "permute":
        return [one % rank for one in rest[0]]
    if name == "transpose":
        one, other = rest[0] % rank, rest[1] % rank
        order[one], order[other] = other, one
        return order
    if name == "t":
        return order[::-1]
    raise ValueError(f"aten::{name} is not recorded")


def exchange(tensor, gather_dim, shard_dim, mesh, mesh_dim):
    """torch.distributed.tensor's shard_dim_alltoall, as it goes on for all meshes but those of CPUs."""
    import torch
    import torch.distributed._functional_collectives as functional
    group = functional._resolve_group((mesh, mesh_dim))
    return torch.ops._dtensor.shard_dim_alltoall(tensor, gather_dim, shard_dim, functional._group_or_group_name(group))


def exchanged(group, shape, dims, first):
    """That operation in those of a trace: part k along dims[1] goes to member k, and what comes lies one behind the other along
    dims[0]. Its values are numbered from `first` on; value -1 is its operand. What it makes is the last."""
    gather, shard = dims
    order = list(range(len(shape)))
    order[0], order[shard] = shard, 0
    turn = {"op": "transpose", "order": order}
    rows, count = [shape[k] for k in order], len(group)
    part = [rows[0] // count, *rows[1:]]
    back, made = [part[k] for k in order], [shape[k] for k in range(len(shape))]
    made[shard], made[gather] = made[shard] // count, made[gather] * count
    sent = [part[0]] * count
    parts, turned_back = range(first + 2, first + 2 + count), range(first + 2 + count, first + 2 + 2 * count)
    return [{**turn, "in": [-1], "out": [first], "sizes": [rows]},
            {"op": "all_to_all", "group": group, "receive": sent, "send": sent, "in": [first], "out": [first + 1], "sizes": [rows]},
            {"op": "split", "dim": 0, "in": [first + 1], "out": list(parts), "sizes": [part] * count},
            *({**turn, "in": [one], "out": [other], "sizes": [back]} for one, other in zip(parts, turned_back)),
            {"op": "cat", "dim": gather, "in": list(turned_back), "out": [first + 2 + 2 * count], "sizes": [made]}]


def value(element, addend):
    """What stands for an addend of an element: whole numbers below 2^24, none of them 0, and no two sums alike by their making."""
    return (element * 2654435761 + addend * 40503 * (element + 11) + 97 * addend) % 16777213 + 1


class Rank:
    """One process: what it begins with, what it does, and what it ends with."""

    def __init__(self, problem, rank, begin, form):
        import torch
        import torch.distributed as distributed
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, placement_types
        self.torch, self.distributed, self.kind = torch, distributed, DTensor
        if form == "dtensor_a2a":
            placement_types.shard_dim_alltoall = exchange
        names, ranks, sizes = mesh_of(problem)
        self.mesh = DeviceMesh("cpu", torch.tensor(ranks).reshape(sizes), mesh_dim_names=tuple(names))
        means = {"Partial(sum)": Partial(), "Replicate()": Replicate()}
        self.source, self.target = ([means[word] if word in means else Shard(int(word[6:-1])) for word in placements(problem, end, names)]
                                    for end in ("from", "to"))
        self.shape, self.begin = problem["shape"], begin

    def tiles(self):
        """Where torch says that the two tiles of this rank are."""
        from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
        return [[list(one) for one in compute_local_shape_and_global_offset(self.shape, self.mesh, end)] for end in (self.source, self.target)]

    def given(self):
        strides = tuple(prod(self.shape[k + 1:]) for k in range(len(self.shape)))
        local = self.torch.from_numpy(self.begin.copy())
        return self.kind.from_local(local, self.mesh, self.source, run_check=False, shape=self.torch.Size(self.shape), stride=strides)

    def bare(self):
        return self.given().redistribute(self.mesh, self.target).to_local().detach().numpy().copy()

    def recorded(self):
        from torch.utils._python_dispatch import TorchDispatchMode
        given = self.given()
        tracer, kind = Tracer(self.torch, self.distributed, given._local_tensor), self.kind

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                if any(issubclass(one, kind) for one in types):
                    return NotImplemented
                made = function(*args, **(kwargs or {}))
                tracer.add(function, args, kwargs or {}, made)
                return made
        with Mode():
            done = given.redistribute(self.mesh, self.target)._local_tensor
        program = {"start": list(self.begin.shape), "operations": tracer.operations, "result": tracer.number(done)}
        if hasattr(done, "wait"):
            done = done.wait()
        return program, done.detach().numpy().copy()


def mesh_of(problem):
    """The axes in torch's order, the ranks row by row, and the sizes."""
    import numpy
    order, sizes = mesh_order(problem), dict(map(tuple, problem["mesh"]))
    names, count = [name for name, _ in problem["mesh"]], prod(sizes.values())
    ranks = numpy.array(problem["from_order"] or range(count)).reshape([sizes[name] for name in names])
    return order, ranks.transpose([names.index(name) for name in order]).ravel().tolist(), [sizes[name] for name in order]


def beginnings(problem):
    """What every rank begins with, as numbers."""
    import numpy
    import read_dtensor
    total = prod(problem["shape"])
    return [value(tags % total, tags // total).astype(numpy.float64) for tags in read_dtensor.beginnings(problem)]


def first_wrong(problem, made):
    """The first rank that has not what its placements say: tiles of their sizes, the same on replicas, and in the sum every addend."""
    import ends
    import numpy
    import read_dtensor
    starts, limits = read_dtensor.boxes(problem, "to")
    numbers, _ = ends.addends(problem, "to")
    _, addends = ends.addends(problem, "from")
    elements = numpy.arange(prod(problem["shape"]))
    wanted = sum(value(elements, k) for k in range(addends)).reshape(problem["shape"])
    total, seen = numpy.zeros(problem["shape"]), {}
    for rank, cells in enumerate(made):
        box = tuple(slice(low, high) for low, high in zip(starts[rank], limits[rank]))
        if cells.shape != wanted[box].shape:
            return {"rank": rank, "why": "tile", "found": list(cells.shape), "wanted": list(wanted[box].shape)}
        key = (*starts[rank].tolist(), *limits[rank].tolist(), int(numbers[rank]))
        if key in seen:
            if not numpy.array_equal(made[seen[key]], cells):
                return {"rank": rank, "why": "replicas", "other": seen[key]}
            continue
        seen[key] = rank
        total[box] += cells
    for rank, (low, high) in enumerate(zip(starts, limits)):
        box = tuple(slice(*both) for both in zip(low, high))
        if not numpy.array_equal(total[box], wanted[box]):
            at = numpy.argwhere(total[box] != wanted[box])[0]
            return {"rank": rank, "why": "element", "at": at.tolist(), "found": float(total[box][tuple(at)]), "wanted": float(wanted[box][tuple(at)])}
    return None


def tiles_differ(problem, answers):
    """Whether torch says other tiles than peers/read_dtensor.py does."""
    import read_dtensor
    both = [read_dtensor.boxes(problem, end) for end in ("from", "to")]
    for rank, answer in enumerate(answers):
        for (starts, limits), (shape, offset) in zip(both, answer["tiles"]):
            size = (limits[rank] - starts[rank]).tolist()
            if size != shape or (0 not in size and starts[rank].tolist() != offset):
                return f"rank {rank}: torch says {shape} at {offset}, not {size} at {starts[rank].tolist()}"
    return None


def trace_differs(problem, programs, made):
    """Whether the trace, by peers/read_dtensor.py, ends in other tiles or elements than the ranks did."""
    import numpy
    import read_dtensor
    total = prod(problem["shape"])
    ranks = read_dtensor.Ranks({"ranks": programs}, read_dtensor.beginnings(problem))
    for rank, (tags, cells) in enumerate(zip(ranks.run(), made)):
        sums = {tag: sum(times * value(atom % total, atom // total) for atom, times in ranks.machine.terms(tag))
                for tag in numpy.unique(tags).tolist() if tag not in (read_dtensor.ZERO, read_dtensor.UNKNOWN)}
        known = tags != read_dtensor.UNKNOWN
        wanted = numpy.array([sums.get(tag, 0) for tag in tags.ravel().tolist()], dtype=numpy.float64).reshape(tags.shape)
        if tags.shape != cells.shape or not numpy.array_equal(wanted[known], cells[known]):
            return f"rank {rank} ends otherwise than its trace says"
    return None


# Processes.


def rank_process(problem, rank, count, listener, form, begin, pipe):
    """Never returns. Writes what happened into the pipe."""
    answer = {"state": "refused"}
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(SECONDS)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 2)
        import torch.distributed as distributed
        host, port = listener.getsockname()
        store = distributed.TCPStore(host, port, count, rank == 0, timedelta(seconds=SECONDS), wait_for_workers=False,
                                     **({"master_listen_fd": listener.detach()} if rank == 0 else {}))
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=count, timeout=timedelta(seconds=SECONDS))
        one = Rank(problem, rank, begin, form)
        tiles, bare = one.tiles(), one.bare()
        program, made = one.recorded()
        answer = {"state": "emitted", "tiles": tiles, "bare": bare, "made": made, "program": {"rank": rank, **program}}
        distributed.barrier()
    except Exception as problem_found:  # what the peer says, whatever it is
        answer.setdefault("words", f"{type(problem_found).__name__}: {problem_found}"[:600])
    finally:
        with os.fdopen(pipe, "wb") as out:
            pickle.dump(answer, out)
        if rank == 0 and answer["state"] == "emitted":
            time.sleep(0.02)  # the store is in this process, and others may still ask it
        os._exit(0)


def ask_ranks(problem, form):
    """The answers of all ranks. Where one has none, those of the others are not waited for."""
    count = prod(size for _, size in problem["mesh"])
    begin = beginnings(problem)
    listener = socket.create_server(("127.0.0.1", 0), backlog=4 * count)
    pipes, children = {}, []
    try:
        for rank in range(count):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                rank_process(problem, rank, count, listener, form, begin[rank], write)
            os.close(write)
            children.append(child)
            pipes[read] = rank
        return answers_of(pipes, count)
    finally:
        listener.close()
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(child, 0)
        for read in pipes:
            os.close(read)


def answers_of(pipes, count):
    found, texts, end = {}, dict.fromkeys(pipes, b""), time.monotonic() + SECONDS
    left = set(pipes)
    while left:
        ready, _, _ = select.select(list(left), [], [], max(end - time.monotonic(), 0))
        if not ready:
            break
        for read in ready:
            part = os.read(read, 1 << 20)
            texts[read] += part
            if part:
                continue
            left.discard(read)
            found[pipes[read]] = pickle.loads(texts[read]) if texts[read] else {"state": "aborted", "words": "a rank ended without a word"}
            if found[pipes[read]]["state"] != "emitted":
                end = min(end, time.monotonic() + 2)  # who waits for it waits in vain
    missing = {"state": "aborted", "words": "a rank did not end in time"}
    return [found.get(rank, missing) for rank in range(count)]


def traced(problem, form):
    """The state, what is to be logged of it, and the trace."""
    answers = ask_ranks(problem, form)
    for state in ("refused", "aborted"):
        words = [one.get("words", "") for one in answers if one["state"] == state]
        if words:
            return state, {"words": words[0], "ranks": len(words)}, None
    other = tiles_differ(problem, answers)
    if other:
        return "refused", {"words": other}, None
    found = [first_wrong(problem, [one[key] for one in answers]) for key in ("bare", "made")]
    more = {"executed": len(answers), "right": found[0] is None, **({"first_wrong": found[0]} if found[0] else {})}
    if any((one["bare"].shape, one["bare"].tobytes()) != (one["made"].shape, one["made"].tobytes()) for one in answers):
        return "refused", {**more, "words": "recorded, it ends otherwise"}, None
    programs = [one["program"] for one in answers]
    other = trace_differs(problem, programs, [one["made"] for one in answers])
    return ("refused", {**more, "words": other}, None) if other else ("emitted", more, text_of(problem, programs, release()))


def release():
    import torch
    return f"torch {torch.__version__}, gloo"


def text_of(problem, programs, peer):
    """The trace, with one operation a line."""
    names, ranks, sizes = mesh_of(problem)
    lines = ['{"schema": "retile.dtensor-trace/1", ' + f'"peer": "{peer}",',
             f'"mesh": {json.dumps({"names": names, "sizes": sizes, "ranks": ranks})},',
             f'"shape": {json.dumps(problem["shape"])}, ' + ", ".join(
                 f'"{end}": {json.dumps(placements(problem, end, names))}' for end in ("from", "to")) + ",", '"ranks": [']
    for number, program in enumerate(programs):
        lines.append(f'{{"rank": {program["rank"]}, "start": {json.dumps(program["start"])}, "operations": [')
        lines += [json.dumps(one) + ("," if k + 1 < len(program["operations"]) else "") for k, one in enumerate(program["operations"])]
        lines.append(f'], "result": {program["result"]}}}' + ("," if number + 1 < len(programs) else ""))
    return "\n".join(lines + ["]}", ""])


def modules_of_a_rank():
    """What torch imports when a rank uses it for the first time."""
    read, write = os.pipe()
    if os.fork() == 0:
        before, problem = set(sys.modules), {"mesh": [["x", 1]], "shape": [2], "from": [["x"]], "to": [[]], "from_order": None,
                                             "to_order": None, "from_sum": [], "to_sum": []}
        import torch.distributed as distributed
        listener = socket.create_server(("127.0.0.1", 0))
        store = distributed.TCPStore(*listener.getsockname(), 1, True, master_listen_fd=listener.detach(), wait_for_workers=False)
        distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        Rank(problem, 0, beginnings(problem)[0], "dtensor").recorded()
        os.write(write, json.dumps(sorted(set(sys.modules) - before)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        return json.loads(said.read())


def get_ready():
    """Imports all that ranks need, once: they only fork. No rank finds more than modules."""
    os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    torch.set_num_threads(1)
    import torch.distributed._functional_collectives
    import torch.distributed.tensor  # noqa: F401
    import read_dtensor  # noqa: F401
    for name in modules_of_a_rank():
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # a name that only its own package can import


def trace(problem, form="dtensor"):
    get_ready()
    if mesh_order(problem) is None or problem["from_order"] != problem["to_order"]:
        raise ValueError("inexpressible")
    state, more, text = traced(problem, form)
    if state != "emitted":
        raise ValueError(more["words"])
    return text


def state_before(problem, most_ranks):
    """Why a problem is not done."""
    if mesh_order(problem) is None or problem["from_order"] != problem["to_order"]:
        return "inexpressible"
    return "not executed" if prod(size for _, size in problem["mesh"]) > most_ranks else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--most-ranks", type=int, default=16)
    given = parser.parse_args()
    get_ready()
    given.folder.mkdir(parents=True, exist_ok=True)
    log, done = given.folder / "log.jsonl", set()
    if log.exists():
        done = {(one["id"], one["form"]) for one in map(json.loads, log.read_text().splitlines()) if "state" in one}
    with log.open("a") as lines:
        for problem in map(json.loads, sys.stdin):
            for form in given.forms.split(","):
                if (problem["id"], form) in done:
                    continue
                record, start = {"id": problem["id"], "form": form}, time.monotonic()
                state, more = state_before(problem, given.most_ranks), {}
                if not state:
                    state, more, text = traced(problem, form)
                    if state != "emitted":  # a busy machine cuts connections, too
                        state, more, text = traced(problem, form)
                    if text:
                        (given.folder / f"{problem['id']}.{form}").write_text(text)
                record = {**record, "state": state, "seconds": round(time.monotonic() - start, 2), **more}
                print(json.dumps(record), file=lines, flush=True)


if __name__ == "__main__":
    main()
