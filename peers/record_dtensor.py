"""Records what one release of PyTorch does for problems: what DTensor.redistribute does on every rank, as a trace.

    retile problems --count 1500 --json | PYTHON peers/record_dtensor.py FOLDER

FOLDER gets NUMBER.dtensor (`retile.dtensor-trace/1`, docs/peers.md) and log.jsonl. A process group that sends nothing stands in
for the others, and the ranks are taken one after the other. DTensor cuts a dimension by axes in the order of the mesh; problems
that no order of the mesh says, or with two orders of devices, are `inexpressible`.
"""

import argparse
import json
import os
import sys
import time
from math import prod
from pathlib import Path

from record_jax import in_child


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

    def group(self, name):
        return list(self.distributed.get_process_group_ranks(self.distributed.distributed_c10d._resolve_process_group(name)))

    def add(self, function, args, kwargs, made):
        name = function.name().split("::")[-1].split(".")[0]
        if name in ("wait_tensor", "_wrap_tensor_autograd"):
            return self.know(made, self.number(args[0]))
        if name in ("empty", "empty_like", "new_empty", "zeros", "zeros_like", "new_zeros"):
            kind = {"op": "zeros" if "zeros" in name else "empty", "in": []}
        elif name in ("cat", "concat"):
            rank = len(made.shape)
            kind = {"op": "cat", "in": [self.number(one) for one in args[0]], "dim": (args[1] if len(args) > 1 else 0) % rank}
        else:
            kind = {**self.single(name, args, kwargs, made), "in": [self.number(args[0])]}
        outs = list(made) if isinstance(made, (list, tuple)) else [made]
        kind["out"] = [self.know(one) for one in outs]
        kind["sizes"] = [list(one.shape) for one in outs]
        self.operations.append(kind)

    def single(self, name, args, kwargs, made):
        rank, rest = len(args[0].shape), list(args[1:])
        if name == "all_gather_into_tensor":
            return {"op": "all_gather", "group": self.group(rest[1])}
        if name == "all_to_all_single":
            return {"op": "all_to_all", "group": self.group(rest[2]), "receive": list(rest[0]), "send": list(rest[1])}
        if name == "reduce_scatter_tensor":
            return {"op": "reduce_scatter", "group": self.group(rest[2]), "reduction": rest[0]}
        if name == "all_reduce":
            return {"op": "all_reduce", "group": self.group(rest[1]), "reduction": rest[0]}
        if name == "broadcast":
            return {"op": "broadcast", "group": self.group(rest[1]), "root": rest[0]}
        if name in ("split", "split_with_sizes", "chunk", "tensor_split", "unbind"):
            dim = (rest[1] if len(rest) > 1 else kwargs.get("dim", 0)) % rank
            return {"op": "split", "dim": dim}
        if name in ("slice", "narrow", "select"):
            dim = (rest[0] if rest else 0) % rank
            if name == "slice":
                start, step = (rest[1] if len(rest) > 1 else 0) or 0, rest[3] if len(rest) > 3 else 1
            else:
                start, step = rest[1], 1
            if step != 1 or name == "select":
                raise ValueError(f"{name} with a step, or of one")
            return {"op": "slice", "dim": dim, "start": start + (args[0].shape[dim] if start < 0 else 0)}
        if name == "constant_pad_nd":
            return {"op": "pad", "padding": list(rest[0])}
        if name in ("clone", "contiguous", "detach", "alias", "_to_copy", "lift_fresh"):
            return {"op": "same"}
        if name in ("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze"):
            return {"op": "reshape"}
        if name in ("transpose", "permute", "movedim", "t"):
            order = list(range(rank))
            if name == "permute":
                order = [one % rank for one in rest[0]]
            elif name == "transpose":
                one, other = rest[0] % rank, rest[1] % rank
                order[one], order[other] = other, one
            else:
                order.reverse()
            return {"op": "transpose", "order": order}
        if name in ("mul", "div"):
            raise ValueError(f"{name} of the array")
        raise ValueError(f"aten::{name} is not recorded")


def trace(problem):
    import torch
    import torch.distributed as distributed
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils._python_dispatch import TorchDispatchMode
    order = mesh_order(problem)
    sizes = dict(map(tuple, problem["mesh"]))
    count = prod(sizes.values())
    ranks = torch.empty(count, dtype=torch.int64)
    ranks[:] = torch.tensor(problem["from_order"] or list(range(count)))
    names = [name for name, _ in problem["mesh"]]
    ranks = ranks.reshape([sizes[name] for name in names]).permute([names.index(name) for name in order]).contiguous()
    words = {end: placements(problem, end, order) for end in ("from", "to")}
    means = {"Partial(sum)": Partial(), "Replicate()": Replicate()}
    source, target = ([means[word] if word in means else Shard(int(word[6:-1])) for word in words[end]] for end in ("from", "to"))
    strides = [prod(problem["shape"][k + 1:]) for k in range(len(problem["shape"]))]
    programs = []
    for rank in range(count):
        distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=count)
        mesh = DeviceMesh("cpu", ranks, mesh_dim_names=tuple(order))
        local, _ = compute_local_shape_and_global_offset(problem["shape"], mesh, source)
        start = torch.zeros(local)
        given = DTensor.from_local(start, mesh, source, run_check=False, shape=torch.Size(problem["shape"]), stride=tuple(strides))
        tracer = Tracer(torch, distributed, given._local_tensor)

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                if any(issubclass(one, DTensor) for one in types):
                    return NotImplemented
                made = function(*args, **(kwargs or {}))
                tracer.add(function, args, kwargs or {}, made)
                return made
        with Mode():
            done = given.redistribute(mesh, target)._local_tensor
        programs.append({"rank": rank, "start": list(local), "operations": tracer.operations, "result": tracer.number(done)})
        distributed.destroy_process_group()
    return json.dumps({"schema": "retile.dtensor-trace/1", "peer": f"torch {torch.__version__}",
                       "mesh": {"names": order, "sizes": [sizes[name] for name in order], "ranks": ranks.flatten().tolist()},
                       "shape": problem["shape"], "from": words["from"], "to": words["to"], "ranks": programs}) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--forms", default="dtensor")
    given = parser.parse_args()
    import torch
    torch.set_num_threads(1)
    import torch.distributed.tensor  # noqa: F401  in the parent, once: children only fork
    import torch.testing._internal.distributed.fake_pg  # noqa: F401
    # What torch imports at the first use, children need not import again.
    trace({"mesh": [["x", 2]], "shape": [2], "from": [["x"]], "to": [[]], "from_order": None, "to_order": None, "from_sum": [], "to_sum": []})
    given.folder.mkdir(parents=True, exist_ok=True)
    log, done = given.folder / "log.jsonl", set()
    if log.exists():
        done = {one["id"] for one in map(json.loads, log.read_text().splitlines()) if "state" in one}
    with log.open("a") as lines:
        for problem in map(json.loads, sys.stdin):
            if problem["id"] in done:
                continue
            record = {"id": problem["id"], "form": "dtensor"}
            if mesh_order(problem) is None or problem["from_order"] != problem["to_order"]:
                print(json.dumps({**record, "state": "inexpressible"}), file=lines, flush=True)
                continue
            print(json.dumps({**record, "started": True}), file=lines, flush=True)
            start = time.monotonic()
            state, words = in_child(lambda folder: trace(problem), given.folder / f"{problem['id']}.dtensor")
            record = {**record, "state": state, "seconds": round(time.monotonic() - start, 2)}
            print(json.dumps({**record, "words": words} if words else record), file=lines, flush=True)


if __name__ == "__main__":
    os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
    main()
