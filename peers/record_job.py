"""Records every redistribute of a torch job: one process a rank, forward, backward and what torch.compile traces.

    with Recorder() as recorder:
        train()
    recorder.write(FOLDER)           # of every rank FOLDER/RANK.pickle
    ...
    traces = joined(FOLDER)          # in any process, once all ranks have written

torch does all of its redistributes by one function, `redistribute_local_tensor`. While the recorder is there it stands in that
function's place, and notes what the ranks hold (mesh, shape, placements, type), the line of the job that asked for it, and every
operation on the way. With `keep=True` it also keeps the rank's tile before and after, so that what truly came can be compared.

A job compiled by torch.compile calls that function while it is traced, and afterwards only runs the graph. So a redistribute in a
graph is noted once, when the graph is traced, and its tiles are never seen.

The ranks of a mesh do the same redistributes in the same order. So the k-th of each rank of a mesh make one trace
(`retile.dtensor-trace/1`, docs/ledger/peers.md).
"""

import contextlib
import functools
import json
import pickle
import re
import sys
import traceback
from math import prod
from pathlib import Path

from record_dtensor import Tracer

MOST_PARTS = 4096  # that an array is put together of, in another order


def placement_words(spec):
    """What the trace calls the placements: axes that cut one dimension in another order than the mesh's say their turns. A strided
    shard that stands for such an order, as of sharded parameters in tensor parallel, is one, too."""
    placements, order = spec.placements, spec.shard_order
    if spec.use_strided_shard_as_shard_order:
        with contextlib.suppress(AssertionError, ValueError):  # those that stand for no order stay what they are
            placements, order = spec._normalize_placements_into_shard_order(spec.placements, spec.mesh)
    words = [placement_word(one) for one in placements]
    for entry in order or ():
        if list(entry.mesh_dims) != sorted(entry.mesh_dims):
            for turn, axis in enumerate(entry.mesh_dims):
                words[axis] += f"[{turn}]"
    return words


def placement_word(placement):
    name = type(placement).__name__
    if name == "Shard":
        return f"Shard({placement.dim})"
    if name == "_StridedShard":
        return f"_StridedShard(dim={placement.dim}, sf={placement.split_factor})"
    if name == "_NormPartial":
        return f"_NormPartial({placement.norm_type})"
    if name == "_MaskPartial":
        return f"_MaskPartial({placement.reduce_op}, {tuple(numbers(placement.offset_shape))}, {placement.offset_dim})"
    if name == "Partial":
        return f"Partial({placement.reduce_op})"
    return repr(placement)


def mesh_words(mesh):
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    with unset_fake_temporarily():
        names = mesh.mesh_dim_names or [f"axis{k}" for k in range(mesh.ndim)]
        return {"names": list(names), "sizes": numbers(mesh.shape), "ranks": mesh.mesh.flatten().tolist()}


def numbers(sizes):
    return [int(one) for one in sizes]


def is_ours(name):
    return "/torch/" not in name and not name.endswith(("record_job.py", "record_dtensor.py")) and not name.startswith("<")


def source_line():
    """The line of the job that led here. Of a graph torch keeps the lines of its operations."""
    import torch.fx.traceback
    lines = re.findall(r'File "([^"]+)", line (\d+)', "".join(torch.fx.traceback.format_stack()))
    lines = [f"{Path(name).name}:{line}" for name, line in lines if is_ours(name)]
    if lines:
        return lines[-1]
    lines = [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_stack() if is_ours(one.filename)]
    return lines[-1] if lines else ""


def is_row_by_row(tensor, size, stride, offset=None):
    """Whether a view has all elements of a tensor in their order."""
    steps = [prod(size[k + 1:]) for k in range(len(size))]
    return tensor.is_contiguous() and prod(size) == tensor.numel() and list(stride) == steps and offset in (None, tensor.storage_offset())


class JobTracer(Tracer):
    """Also notes what jobs do beside moving: shares of addends, powers of norms, masks of embeddings, indices of a rank's own rows, zeros
    around a part. An operation that a trace cannot say keeps torch's name, so that whoever reads the trace refuses it by that."""

    def __init__(self, torch, distributed, start, specs):
        self.highest, self.problem = -1, None
        super().__init__(torch, distributed, start)
        placements = [one for spec in specs for one in spec.placements]
        self.masks = [one.mask_buffer.data for one in specs[0].placements if type(one).__name__ == "_MaskPartial"]
        self.norm = next((one.norm_type for one in placements if type(one).__name__ == "_NormPartial"), None)
        self.meant = {}  # by the identity of a tensor that is no value of the trace, what it stands for

    def run(self, function, args, kwargs):
        """Indices keep their numbers where other tensors have none."""
        from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
        flat = [one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else [arg])]
        tensors = [one for one in flat if isinstance(one, self.torch.Tensor)]
        are_indices = all(type(one) is self.torch.Tensor and one.dtype == self.torch.int64 for one in tensors)
        if isinstance(self.kept[0], FakeTensor) and are_indices and (tensors or "arange" in function.name()):
            with unset_fake_temporarily():
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    def count(self):
        self.highest = max(self.highest + 1, super().count())
        return self.highest

    def add(self, function, args, kwargs, made):
        name = function.name().split("::")[-1].split(".")[0]
        if not isinstance(made, (self.torch.Tensor, list, tuple)):
            return
        meaning = self.meaning(name, args)
        if meaning:
            self.kept.append(made)
            self.meant[id(made)] = meaning
            return
        if name == "index_select" and self.origin(args[0]) is not None and type(args[2]) is self.torch.Tensor and self.select(args, made):
            return
        step = self.beside(name, args, kwargs)
        if step is None:
            try:
                super().add(function, args, kwargs, made)
                if name in ("zeros", "new_zeros", "zeros_like"):
                    self.meant[id(made)] = ("zeros",)
                return
            except ValueError:
                operands = [one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else [arg])]
                known = [self.numbers[id(one)] for one in map(self.plain, operands) if id(one) in self.numbers]
                if not known:  # of tensors that are no values, which the trace says nothing of
                    return
                step = {"op": f"aten::{name}", "in": known}
        outs = [one for one in (made if isinstance(made, (list, tuple)) else [made]) if isinstance(one, self.torch.Tensor)]
        for one in outs:  # what changes its operand makes a value of it
            self.kept.append(self.plain(one))
            self.numbers[id(self.plain(one))] = self.count()
        self.operations.append({**step, "out": [self.number(one) for one in outs], "sizes": [numbers(one.shape) for one in outs]})

    def select(self, args, made):
        """Elements along a dimension in another order, as parts one behind the other, or as a grid that is turned."""
        from torch._subclasses.fake_tensor import unset_fake_temporarily
        with unset_fake_temporarily():
            indices = args[2].cpu().numpy()
        value, dim = self.number(args[0]), args[1]
        starts = [0, *(k + 1 for k in range(len(indices) - 1) if indices[k + 1] != indices[k] + 1), len(indices)]
        runs = [(int(indices[a]), b - a) for a, b in zip(starts, starts[1:])]
        shape, length = numbers(args[0].shape), runs[0][1]

        def add(op, of, size, **keys):
            self.operations.append({"op": op, **keys, "in": of if isinstance(of, list) else [of], "out": [self.count()], "sizes": [size]})
            return self.highest
        for rows in range(2, len(runs) if all(one == length for _, one in runs) and len(indices) == shape[dim] else 0):
            columns = len(runs) // rows
            if rows * columns == len(runs) and all(at == (k % rows * columns + k // rows) * length for k, (at, _) in enumerate(runs)):
                grid = [*shape[:dim], rows, columns, length, *shape[dim + 1:]]
                order = list(range(len(grid)))
                order[dim:dim + 2] = dim + 1, dim
                turned = add("transpose", add("reshape", value, grid), [grid[k] for k in order], order=order)
                self.know(made, add("reshape", turned, shape))
                return True
        if len(runs) > MOST_PARTS:
            return False
        parts = [add("slice", value, [*shape[:dim], size, *shape[dim + 1:]], dim=dim, start=at) for at, size in runs]
        self.know(made, add("cat", parts, numbers(made.shape), dim=dim) if len(parts) > 1 else parts[0])
        return True

    def of(self, tensor):
        """What a tensor that is no value stands for."""
        return self.meant.get(id(tensor), (None,))

    def origin(self, tensor):
        """The value that it is, or that it is a copy of."""
        number = self.numbers.get(id(self.plain(tensor)))
        for step in reversed(self.operations):
            if step["op"] == "same" and number in step["out"]:
                number = step["in"][step["out"].index(number)]
        return number

    def meaning(self, name, args):
        """Of tensors that are no values: where a mask has its rows, which elements lie in some rows, and numbers one behind the other."""
        if name in ("detach", "alias") and id(args[0]) in self.meant:
            return self.of(args[0])
        if name == "unsqueeze" and self.is_mask(args[0]):
            return ("mask",)
        if name == "scalar_tensor" and isinstance(args[0], int):
            return ("number", int(args[0]))
        if name == "arange" and len(args) == 1:
            return ("numbers", 0)
        if name == "add" and self.of(args[0])[0] == "numbers" and self.of(args[1])[0] == "number":
            return ("numbers", self.of(args[0])[1] + self.of(args[1])[1])
        if name in ("lt", "ge", "sub") and self.origin(args[0]) is not None and isinstance(args[1], int):
            return (name, self.origin(args[0]), args[1])
        if name in ("bitwise_or", "__or__") and (self.of(args[0])[0], self.of(args[1])[0]) == ("lt", "ge"):
            (_, one, start), (_, other, end) = self.of(args[0]), self.of(args[1])
            return ("outside", one, start, end) if one == other else None
        return None

    def is_mask(self, tensor):
        return any(tensor is one for one in self.masks) or self.of(tensor) == ("mask",)

    def beside(self, name, args, kwargs):
        """The operation in a trace's words, of those that a redistribute alone has not."""
        def of(tensor, op, **keys):
            return {"op": op, **keys, "in": [self.number(tensor)]}
        if name in ("div", "true_divide") and isinstance(args[1], (int, float)):
            for degree in (1, int(self.norm or 1)):
                divisor = round(args[1] ** degree)
                if args[1] == divisor ** (1 / degree):
                    return of(args[0], "divide", divisor=divisor, degree=degree)
        if name == "pow" and self.norm == int(self.norm or 0) and args[1] in (self.norm, 1.0 / self.norm):
            return of(args[0], "power" if args[1] == self.norm else "root", degree=int(self.norm))
        if name == "masked_fill_" and args[2] == 0 and self.is_mask(args[1]):
            return of(args[0], "mask")
        if name == "masked_fill_" and args[2] == 0 and self.of(args[0])[0] == "sub" and self.of(args[1])[0] == "outside":
            (_, one, start), (_, other, first, end) = self.of(args[0]), self.of(args[1])
            if one == other and start == first:
                return {"op": "rows", "start": start, "length": end - start, "in": [one]}
        if name == "pad" and args[2:] in ((), ("constant",), ("constant", None), ("constant", 0)) and not kwargs.get("value"):
            return of(args[0], "pad", padding=numbers(args[1]))
        if name == "as_strided" and is_row_by_row(args[0], *args[1:]):
            return of(args[0], "reshape")
        if name == "index_add" and self.of(args[0]) == ("zeros",) and self.of(args[2])[0] == "numbers":
            dims, part, low = len(args[0].shape), args[3], self.of(args[2])[1]
            around = [0] * (2 * dims)
            last = 2 * (dims - 1 - args[1])
            around[last:last + 2] = [low, int(args[0].shape[args[1]] - part.shape[args[1]]) - low]
            return of(part, "pad", padding=around)
        return None


class Recorder:
    def __init__(self, keep=False):
        self.records, self.keep = [], keep

    def __enter__(self):
        import torch.distributed.tensor._redistribute as home
        self.original = home.redistribute_local_tensor
        # Other modules hold the function by its name.
        self.holders = [one for one in list(sys.modules.values()) if getattr(one, "redistribute_local_tensor", None) is self.original]

        @functools.wraps(self.original)
        def recorded(local, current, target, *arguments, **keywords):
            return self.call(local, current, target, lambda: self.original(local, current, target, *arguments, **keywords))
        for one in self.holders:
            one.redistribute_local_tensor = recorded
        return self

    def __exit__(self, *_):
        for one in self.holders:
            one.redistribute_local_tensor = self.original

    def call(self, local, current, target, go):
        import torch
        from torch._guards import TracingContext
        from torch.fx.experimental.proxy_tensor import get_proxy_mode
        compiling = TracingContext.try_get() is not None
        if (compiling and get_proxy_mode() is None) or not current.mesh._is_current_rank_part_of_mesh():
            return go()
        record = {"mesh": mesh_words(current.mesh), "shape": numbers(current.shape), "dtype": str(local.dtype).removeprefix("torch."),
                  "from": placement_words(current), "to": placement_words(target), "source": source_line(), "compiled": compiling}
        self.records.append(record)
        if self.keep and not compiling:
            record["before"] = raw(masked(local.detach().clone(), current))
        tracer = JobTracer(torch, torch.distributed, local, (current, target))
        try:
            done = self.traced(tracer, go)
        except Exception as problem:
            record["raised"] = f"{type(problem).__name__}: {problem}"[:300]
            raise
        result = tracer.numbers.get(id(tracer.plain(done)))
        if result is None or tracer.problem:
            record["unrecorded"] = tracer.problem or "it ends with a tensor that no operation made"
            return done
        record |= {"start": numbers(local.shape), "operations": tracer.operations, "result": result}
        if "before" in record:
            made = done.wait() if hasattr(done, "wait") else done
            record["after"] = raw(made.detach())
        return done

    @staticmethod
    def traced(tracer, go):
        from torch.distributed.tensor import DTensor
        from torch.utils._python_dispatch import TorchDispatchMode

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                if any(issubclass(one, DTensor) for one in types):
                    return NotImplemented
                made = tracer.run(function, args, kwargs or {})
                try:
                    tracer.add(function, args, kwargs or {}, made)
                except Exception as problem:  # whatever the recorder cannot say, the job goes on
                    tracer.problem = tracer.problem or f"{function.name()}: {type(problem).__name__}: {problem}"[:300]
                return made
        with Mode():
            return go()

    def write(self, folder):
        import torch.distributed
        Path(folder).mkdir(parents=True, exist_ok=True)
        rank = torch.distributed.get_rank()
        (Path(folder) / f"{rank}.pickle").write_bytes(pickle.dumps(self.records))


def raw(tensor):
    """Numbers that numpy has, none of them rounded."""
    import torch
    return (tensor.to(torch.float32) if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy().copy()


def masked(local, spec):
    """Of an array whose mask is still to come, the rows that are added."""
    for one in spec.placements:
        if type(one).__name__ == "_MaskPartial":
            mask = one.mask_buffer.data
            local[mask if mask.ndim == local.ndim else (mask, slice(None))] = 0
    return local


def joined(folder):
    """One redistribute of all ranks of its mesh after the other: a list of {rank: record}."""
    turns, found = {}, []
    for path in sorted(Path(folder).glob("*.pickle"), key=lambda one: int(one.stem)):
        seen = {}
        for record in pickle.loads(path.read_bytes()):
            mesh = json.dumps(record["mesh"])
            seen[mesh] = seen.get(mesh, -1) + 1
            at = turns.setdefault((mesh, seen[mesh]), {})
            if not at:
                found.append(at)
            at[int(path.stem)] = record
    return found


def disagreement(ranks):
    """Why records of the ranks of a mesh are no one redistribute."""
    first = next(iter(ranks.values()))
    for one in ranks.values():
        if "result" not in one:
            return one.get("unrecorded", "it did not end")
    if sorted(ranks) != sorted(first["mesh"]["ranks"]):
        return f"ranks {sorted(set(first['mesh']['ranks']) - set(ranks))} did not do it"
    for key in ("shape", "from", "to", "dtype"):
        if any(one[key] != first[key] for one in ranks.values()):
            return f"the ranks have another {key} each"
    return None


def trace_text(ranks, peer, way):
    """The trace, with one operation a line. `way` says how it was recorded."""
    first = next(iter(ranks.values()))
    way += ", compiled" if first["compiled"] else ""
    head = {"peer": f"{peer}, {way}", "source": first["source"], "mesh": first["mesh"], "shape": first["shape"], "dtype": first["dtype"],
            "from": first["from"], "to": first["to"]}
    lines = ['{"schema": "retile.dtensor-trace/1",', *(f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()), '"ranks": [']
    for number, (rank, one) in enumerate(sorted(ranks.items())):
        lines.append(f'{{"rank": {rank}, "start": {json.dumps(one["start"])}, "operations": [')
        lines += [json.dumps(step) + ("," if k + 1 < len(one["operations"]) else "") for k, step in enumerate(one["operations"])]
        lines.append(f'], "result": {one["result"]}}}' + ("," if number + 1 < len(ranks) else ""))
    return "\n".join(lines + ["]}", ""])
