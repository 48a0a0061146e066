"""What a rank does for one redistribute, as `retile.dtensor-trace/1`, without moving anything."""

import json

from . import _hook
from ._words import axis_names, dtype_word, numbers, placement_words, ranks_of

_NEW = {"empty": "empty", "empty_like": "empty", "new_empty": "empty", "zeros": "zeros", "zeros_like": "zeros", "new_zeros": "zeros"}
_SAME = frozenset(("clone", "contiguous", "detach", "alias", "_to_copy", "lift_fresh", "copy"))
_RESHAPES = frozenset(("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten"))


class Unsaid(ValueError):
    """An operation that a trace cannot say."""


def _bare(tensor):
    while hasattr(tensor, "elem"):  # an asynchronous collective's result
        tensor = tensor.elem
    return tensor


class Writer:
    """The operations of one rank. Every value has a number, and 0 is the tile at the start."""

    def __init__(self, start):
        self.values, self.kept, self.operations = {}, [], []
        self.dtype = start.dtype
        self.name(start)

    def name(self, tensor):
        tensor = _bare(tensor)
        self.kept.append(tensor)  # so that its identity stays its own
        self.values[id(tensor)] = number = self.next_number()
        return number

    def next_number(self):
        self.last = getattr(self, "last", -1) + 1
        return self.last

    def of(self, tensor):
        try:
            return self.values[id(_bare(tensor))]
        except KeyError:
            raise Unsaid("a tensor that no operation made") from None

    def write(self, op, operands, results, **keys):
        self.operations.append({"op": op, **keys, "in": operands, "out": [self.name(one) for one in results],
                                "sizes": [list(numbers(one.shape)) for one in results]})

    def say(self, function, args, kwargs, made):
        name = function.name().split("::")[-1].split(".")[0]
        results = list(made) if isinstance(made, (list, tuple)) else [made]
        rest = list(args[1:])
        if not all(hasattr(one, "dtype") for one in results):
            return  # what a tensor lies on, and the like
        if name in ("wait_tensor", "_wrap_tensor_autograd"):
            self.kept.append(_bare(made))
            self.values[id(_bare(made))] = self.of(args[0])
        elif name == "shard_dim_alltoall":
            self.exchange(args[0], rest[0], rest[1], _members(rest[2]), made)
        elif any(one.dtype != self.dtype for one in results):
            raise Unsaid(f"{name} makes elements of another type")
        elif name in _NEW:
            self.write(_NEW[name], [], results)
        elif name in ("cat", "concat"):
            dim = rest[0] if rest else kwargs.get("dim", 0)
            self.write("cat", [self.of(one) for one in args[0]], results, dim=dim % len(made.shape))
        else:
            self.write(operands=[self.of(args[0])], results=results, **_operation(name, args[0], rest, kwargs))

    def exchange(self, tensor, gather, shard, members, made):
        """torch's all-to-all from one dimension to another. Part k along `shard` goes to member k; what comes lies along `gather`."""
        shape, count = list(numbers(tensor.shape)), len(members)
        order = list(range(len(shape)))
        order[0], order[shard] = shard, 0
        turned = [shape[k] for k in order]
        part = [turned[0] // count, *turned[1:]]
        back = [part[k] for k in order]

        def step(op, operands, sizes, **keys):
            out = [self.next_number() for _ in sizes]
            self.operations.append({"op": op, **keys, "in": operands, "out": out, "sizes": sizes})
            return out
        there = step("transpose", [self.of(tensor)], [turned], order=order)
        come = step("all_to_all", there, [turned], group=members, receive=[part[0]] * count, send=[part[0]] * count)
        parts = step("split", come, [part] * count, dim=0)
        parts = [step("transpose", [one], [back], order=order)[0] for one in parts]
        self.write("cat", parts, [made], dim=gather)


def _members(group):
    from torch.distributed import distributed_c10d, get_process_group_ranks
    if isinstance(group, str):
        group = distributed_c10d._resolve_process_group(group)
    return list(get_process_group_ranks(group))


def _operation(name, tensor, rest, kwargs):
    """The operation in a trace's words, of one operand."""
    rank = len(tensor.shape)
    if name == "all_gather_into_tensor":
        return {"op": "all_gather", "group": _members(rest[1])}
    if name == "all_to_all_single":
        return {"op": "all_to_all", "group": _members(rest[2]), "receive": list(numbers(rest[0])), "send": list(numbers(rest[1]))}
    if name in ("reduce_scatter_tensor", "all_reduce"):
        group = rest[2] if name == "reduce_scatter_tensor" else rest[1]
        return {"op": "reduce_scatter" if "scatter" in name else name, "group": _members(group), "reduction": str(rest[0]).lower()}
    if name == "broadcast":
        return {"op": "broadcast", "group": _members(rest[1]), "root": rest[0]}
    if name in ("split", "split_with_sizes", "chunk", "tensor_split"):
        return {"op": "split", "dim": (rest[1] if len(rest) > 1 else kwargs.get("dim", 0)) % rank}
    if name in ("slice", "narrow"):
        dim, start = (rest[0] if rest else 0) % rank, number_or_0(rest[1] if len(rest) > 1 else 0)
        if name == "slice" and len(rest) > 3 and rest[3] != 1:
            raise Unsaid("a slice with a step")
        return {"op": "slice", "dim": dim, "start": start + (int(tensor.shape[dim]) if start < 0 else 0)}
    if name in ("constant_pad_nd", "pad"):
        if any(isinstance(one, (int, float)) and one != 0 for one in rest[1:]) or kwargs.get("value"):
            raise Unsaid("padding by something else than zeros")
        return {"op": "pad", "padding": list(numbers(rest[0]))}
    if name in ("div", "true_divide") and isinstance(rest[0], (int, float)) and rest[0] == int(rest[0]):
        return {"op": "divide", "divisor": int(rest[0]), "degree": 1}
    if name in _SAME:
        return {"op": "same"}
    if name in _RESHAPES:
        return {"op": "reshape"}
    if name in ("transpose", "permute", "t"):
        return {"op": "transpose", "order": _order(name, rank, rest)}
    raise Unsaid(f"{name} is not said by a trace")


def number_or_0(value):
    return int(value or 0)


def _order(name, rank, rest):
    order = list(range(rank))
    if name == "permute":
        return [one % rank for one in rest[0]]
    one, other = (rest[0] % rank, rest[1] % rank) if name == "transpose" else (0, rank - 1)
    order[one], order[other] = other, one
    return order


def of_rank(local_shape, dtype, current, target):
    """The part of this rank: a dict with `start`, `operations` and `result`, or with `unsaid`, why there is none.

    The operations run on tensors without data, so nothing is sent and nothing held.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.distributed.tensor import DTensor

    with FakeTensorMode(allow_non_fake_inputs=True, static_shapes=True):
        start = torch.empty(local_shape, dtype=dtype, device=current.mesh.device_type)
        writer = Writer(start)

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                if any(issubclass(one, DTensor) for one in types):
                    return NotImplemented
                made = function(*args, **(kwargs or {}))
                writer.say(function, args, kwargs or {}, made)
                return made
        try:
            with Mode():
                done = _hook.original()(start, current, target)
            return {"start": list(local_shape), "operations": writer.operations, "result": writer.of(done)}
        except Unsaid as problem:
            return {"unsaid": str(problem)}


def text(current, target, parts, source=None):
    """The trace of all ranks, one operation a line. `parts` maps a rank to its part."""
    import torch
    mesh = current.mesh
    head = {"peer": f"torch {torch.__version__}, without data", **({"source": source} if source else {}),
            "mesh": {"names": list(axis_names(mesh)), "sizes": list(numbers(mesh.shape)), "ranks": list(ranks_of(mesh))},
            "shape": list(numbers(current.shape)), "dtype": dtype_word(current.tensor_meta.dtype),
            "from": list(placement_words(current)), "to": list(placement_words(target))}
    lines = ['{"schema": "retile.dtensor-trace/1",', *(f"{json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()), '"ranks": [']
    for number, (rank, part) in enumerate(sorted(parts.items())):
        lines.append(f'{{"rank": {rank}, "start": {json.dumps(part["start"])}, "operations": [')
        lines += [json.dumps(step) + ("," if k + 1 < len(part["operations"]) else "") for k, step in enumerate(part["operations"])]
        lines.append(f'], "result": {part["result"]}}}' + ("," if number + 1 < len(parts) else ""))
    return "\n".join([*lines, "]}", ""])
