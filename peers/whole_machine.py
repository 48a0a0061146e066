"""An evaluator of HLO modules by NumPy: all devices at once, every real number a double.

A value is an array with one dimension in front, over devices. Its length is 1 where all devices hold the same. Scalar
computations (of reductions, sorts, scatters) are evaluated with all their calls in that dimension.
"""

from math import prod

import numpy as np

import whole_algebra as algebra
import whole_moves as moves
import whole_numbers as elements
import whole_windows as windows
from groups import hlo_groups, rows
from tags import Refused
from whole_shardings import list_of, manual_starts, sharding_of
from whole_text import REALS, Array, Refusal, constant_of

ROUNDS = 200_000
IDENTITIES = {
    "Sharding",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.PropagationBarrier",
    "MoveToHost",
    "MoveToDevice",
    "annotate_device_placement",
}
SAME = {"optimization-barrier", "opt-barrier", "domain"}


class Pending:
    """What an operation in the background has begun to make."""

    def __init__(self, value):
        self.value = value


def each(function, *values):
    """A function over the arrays of tuples that are built alike."""
    if isinstance(values[0], list):
        return [each(function, *parts) for parts in zip(*values, strict=True)]
    return function(*values)


def chosen(mask, new, old):
    def one(a, b):
        return np.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    return each(one, new, old)


class Machine:
    """`narrow`: reals are rounded to their type after every operation. `watch` is told of every value of the entry. `reached` are
    the branches that were taken."""

    def __init__(self, module, narrow=False, watch=None):
        self.module, self.narrow, self.watch = module, narrow, watch
        self.lifted, self.active, self.here, self.reached = 0, None, None, set()

    # ------------------------------------------------------------------------------------------------------- computations
    def run(self, computation, arguments):
        """What a computation makes of values."""
        if isinstance(computation, str):
            if computation not in self.module.computations:
                raise Refusal(f"no computation {computation}")
            computation = self.module.computations[computation]
        values, outer = {}, self.here
        for place, one in enumerate(computation.instructions):
            self.here = computation
            values[one.name] = self.value_of(one, values, arguments)
            if self.watch is not None and computation is self.module.entry:
                self.watch(one, values[one.name])
            for name in computation.dies[place]:
                values.pop(name, None)
        self.here = outer
        return values[computation.root.name]

    def value_of(self, one, values, arguments):
        try:
            if one.op == "parameter":
                value = arguments[int(one.inner)]
            else:
                value = self.apply(one, [self.look_up(name, values) for name in one.operands])
            if not isinstance(value, Pending):
                self.check(one.type, value)
            return value
        except Refusal as problem:
            if problem.line is None:
                problem.op, problem.line = one.op, one.line
            raise
        except Refused as problem:
            raise Refusal(str(problem), one.op, one.line) from None
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, AssertionError) as problem:
            raise Refusal(f"{type(problem).__name__}: {problem}", one.op, one.line) from problem

    @staticmethod
    def look_up(name, values):
        base, *parts = name.split("#")
        if base not in values:
            raise Refusal(f"operand {name} is not known")
        value = values[base]
        for part in parts:
            value = value[int(part)]
        return value

    def check(self, kind, value):
        if isinstance(kind, Array):
            if kind.kind == "token":
                return
            if not isinstance(value, np.ndarray) or value.shape[1:] != kind.shape or value.dtype != kind.dtype:
                raise Refusal(
                    f"the type is {kind}, and the value {getattr(value, 'dtype', 'a tuple')}{list(getattr(value, 'shape', ()))[1:]}"
                )
            return
        if not isinstance(value, list) or len(value) != len(kind):
            raise Refusal("a tuple of another length than its type")
        for part, its in zip(kind, value, strict=True):
            self.check(part, its)

    def lift(self, name):
        """A scalar computation over arrays of one shape: answers with the list of its results."""

        def call(arrays):
            shape = np.broadcast_shapes(*[one.shape for one in arrays])
            size = prod(shape)
            flat = [one.reshape(1) if one.size == 1 else np.broadcast_to(one, shape).reshape(size) for one in arrays]
            self.lifted += 1
            try:
                made = self.run(name, flat)
            finally:
                self.lifted -= 1
            return [
                np.broadcast_to(one, size).reshape(shape) if len(one) == 1 and size != 1 else one.reshape(shape)
                for one in (made if isinstance(made, list) else [made])
            ]

        return call

    def reducer(self, name):
        """The operation of a computation that is one operation of its two parameters, or nothing."""
        computation = self.module.computations.get(name)
        if computation is None:
            raise Refusal(f"no computation {name}")
        found = {one.name: one for one in computation.instructions}

        def through(one):
            while one.op == "copy" or (
                one.op == "convert" and {one.array.kind, found[one.operands[0]].array.kind} <= REALS and not self.narrow
            ):
                one = found[one.operands[0]]
            return one

        root = through(computation.root)
        if root.op not in windows.FOLDS or len(computation.parameters) != 2:
            return None
        ends = {through(found[name]).inner for name in root.operands if through(found[name]).op == "parameter"}
        return root.op if ends == {"0", "1"} else None

    # --------------------------------------------------------------------------------------------------------- operations
    def apply(self, one, given):
        op = one.op
        if (
            op in elements.BINARY
            or op in elements.UNARY
            or op in ("select", "clamp", "compare", "convert", "reduce-precision", "stochastic-convert", "is-finite", "count-leading-zeros")
        ):
            return self.narrowed(one, self.elementwise(one, given))
        if op in SAME:
            return given[0] if len(given) == 1 else list(given)
        method = getattr(self, "do_" + op.replace("-", "_"), None)
        if method is None:
            if op.endswith("-start") and hasattr(self, "do_" + op[:-6].replace("-", "_")):
                return Pending(getattr(self, "do_" + op[:-6].replace("-", "_"))(one, given))
            if op.endswith(("-done", "-update")) and isinstance(given[0], Pending):
                return given[0].value if op.endswith("-done") else given[0]
            raise Refusal(f"{op} is not evaluated")
        value = method(one, given)
        return (
            self.narrowed(one, value)
            if self.narrow and isinstance(one.type, Array) and op in ("dot", "convolution", "reduce", "all-reduce")
            else value
        )

    def narrowed(self, one, value):
        if not self.narrow or value.dtype.kind not in "fc":
            return value
        kind = {"c64": "f32", "c128": "f64"}.get(one.array.kind, one.array.kind)
        if value.dtype.kind == "c":
            return elements.rounded(value.real, kind) + 1j * elements.rounded(value.imag, kind)
        return elements.rounded(value, kind)

    def elementwise(self, one, given):
        op, shape = one.op, one.array.shape
        for k, value in enumerate(given):
            scalar = value.ndim == 1 and ((op == "select" and k == 0) or (op == "clamp" and k != 1))
            if value.shape[1:] != shape and not scalar:
                raise Refusal(f"{op} of shape {list(value.shape[1:])} for {list(shape)}")
        given = [value if value.ndim == len(shape) + 1 else value.reshape(-1, *[1] * len(shape)) for value in given]
        if op in elements.BINARY:
            a, b = given
            if a.dtype != b.dtype:
                raise Refusal(f"{op} of {a.dtype} and {b.dtype}")
            return elements.fold_width(elements.BINARY[op](a, b), one.array)
        if op == "count-leading-zeros":
            return elements.leading_zeros(elements.bits_of(one.array))(given[0])
        if op in elements.UNARY:
            made = elements.UNARY[op](given[0])
            return made if op in ("is-finite",) else elements.fold_width(np.ascontiguousarray(made), one.array)
        if op == "select":
            return np.where(*given)
        if op == "clamp":
            return np.minimum(np.maximum(given[1], given[0]), given[2])
        if op == "compare":
            total = one.attributes.get("order") == "TOTAL" or one.attributes.get("type") == "TOTALORDER"
            return elements.compare(one.need("direction"), total, *given)
        if op == "convert":
            return elements.convert(given[0], None, one.array)
        return self.reduced_precision(one, given[0])

    def reduced_precision(self, one, value):
        if not self.narrow:
            return value
        return elements.rounded(value, None, int(one.need("mantissa_bits")), int(one.need("exponent_bits")))

    def do_constant(self, one, _):
        if "value" not in one.kept:
            one.kept["value"] = constant_of(one)[None]
        return one.kept["value"]

    def do_iota(self, one, _):
        return moves.iota(one.array, int(one.need("iota_dimension")))

    def do_broadcast(self, one, given):
        return moves.broadcast(given[0], one.array.shape, one.numbers("dimensions"))

    def do_reshape(self, one, given):
        return moves.reshape(given[0], one.array.shape)

    def do_bitcast(self, one, given):
        source = self.instruction(one.operands[0])
        if source.kind == one.array.kind:
            return moves.bitcast(given[0], source, one.array)
        return elements.same_bits(given[0], source, one.array)

    def do_bitcast_convert(self, one, given):
        return elements.same_bits(given[0], self.instruction(one.operands[0]), one.array)

    def instruction(self, name):
        """The type of an operand."""
        base, *parts = name.split("#")
        kind = next(one for one in self.here.instructions if one.name == base).type
        for part in parts:
            kind = kind[int(part)]
        if not isinstance(kind, Array):
            raise Refusal("a tuple where an array is wanted")
        return kind

    def do_transpose(self, one, given):
        return moves.transpose(given[0], one.numbers("dimensions"))

    def do_slice(self, one, given):
        return moves.slices(given[0], one.need("slice"))

    def do_pad(self, one, given):
        return moves.pad(*given, moves.padding_of(one.attributes.get("padding", "")))

    def do_concatenate(self, one, given):
        if len({value.dtype for value in given}) > 1:
            raise Refusal("concatenate of several types")
        return np.concatenate(moves.together(given), one.numbers("dimensions")[0] + 1)

    def do_reverse(self, one, given):
        return moves.reverse(given[0], one.numbers("dimensions"))

    @staticmethod
    def starts_of(given, rank):
        if len(given) == 1 and given[0].ndim == 2:
            return [given[0][:, k] for k in range(rank)]
        return given

    def do_dynamic_slice(self, one, given):
        return moves.dynamic_slice(given[0], self.starts_of(given[1:], given[0].ndim - 1), one.numbers("dynamic_slice_sizes"))

    def do_dynamic_update_slice(self, one, given):
        return moves.dynamic_update_slice(given[0], given[1], self.starts_of(given[2:], given[0].ndim - 1))

    def do_gather(self, one, given):
        return moves.gather(one, *given, one.array.shape)

    def do_scatter(self, one, given):
        count = len(given) // 2
        given = moves.together(given)
        starts, indices, updates = given[:count], given[count], given[count + 1 :]
        flat, fits = moves.scatter_places(one, starts[0], indices, updates[0])
        name = one.computation("to_apply")
        made = windows.combine(self.reducer(name), self.lift(name), starts, flat, fits, updates)
        return made if isinstance(one.type, list) else made[0]

    def do_dot(self, one, given):
        return windows.dot(one, *given, one.array.dtype)

    def do_convolution(self, one, given):
        return windows.convolution(one, *given, one.array.dtype)

    def folded(self, one, given, how):
        count = len(given) // 2
        name = one.computation("to_apply")
        made = how(self.reducer(name) if count == 1 else None, self.lift(name), given[:count], given[count:])
        return list(made) if isinstance(one.type, list) else made[0]

    def do_reduce(self, one, given):
        return self.folded(one, given, lambda *rest: windows.reduce(*rest, one.numbers("dimensions")))

    def do_reduce_window(self, one, given):
        return self.folded(one, given, lambda *rest: windows.reduce_window(one, *rest))

    def do_select_and_scatter(self, one, given):
        name = one.computation("scatter")
        return windows.select_and_scatter(one, self.lift(one.computation("select")), self.reducer(name), self.lift(name), *given)

    def do_map(self, one, given):
        made = self.lift(one.computation("to_apply"))(moves.together(given))
        return made if isinstance(one.type, list) else made[0]

    def do_sort(self, one, given):
        call = self.lift(one.computation("to_apply"))
        made = windows.sort(lambda pairs: call(pairs)[0], given, one.numbers("dimensions")[0])
        return made if isinstance(one.type, list) else made[0]

    def do_topk(self, one, given):
        largest = one.attributes.get("largest", "true") == "true"
        return self.top(given[0], one.type[0].shape[-1], one.type[1].dtype, largest)

    @staticmethod
    def top(a, count, dtype, largest=True):
        key = elements.total_order(a) if a.dtype.kind == "f" else a.astype(np.int64)
        order = np.argsort(~key if largest else key, axis=-1, kind="stable")[..., :count]
        return [np.take_along_axis(a, order, -1), order.astype(dtype)]

    def do_fft(self, one, given):
        kind, lengths = one.need("fft_type"), one.numbers("fft_length")
        axes = list(range(given[0].ndim - len(lengths), given[0].ndim))
        functions = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
        return functions[kind](given[0], lengths, axes)

    def do_cholesky(self, one, given):
        return algebra.cholesky(given[0], one.attributes.get("lower", "false") == "true")[0]

    def do_triangular_solve(self, one, given):
        said = {name: one.attributes.get(name, "false") == "true" for name in ("lower", "left_side", "unit_diagonal")}
        return algebra.triangular_solve(*moves.together(given), said, one.attributes.get("transpose_a", "NO_TRANSPOSE"))

    def do_rng_bit_generator(self, one, given):
        state, parts = given[0], one.type
        pair = isinstance(parts, list)
        words = np.ascontiguousarray(state) if state.dtype == np.uint64 else np.ascontiguousarray(state).view(np.uint64)
        after, bits = elements.random_bits(one.need("algorithm"), words.reshape(len(state), -1), parts[1] if pair else parts)
        return [after.view(state.dtype).reshape(state.shape), bits] if pair else bits

    # ------------------------------------------------------------------------------------------------------------ control
    def do_tuple(self, one, given):
        return list(given)

    def do_get_tuple_element(self, one, given):
        if isinstance(given[0], Pending):
            raise Refusal("a part of what is not done")
        return given[0][int(one.need("index"))]

    def do_after_all(self, one, given):
        return np.zeros(1, np.bool_)

    def do_add_dependency(self, one, given):
        return given[0]

    def do_call(self, one, given):
        return self.run(one.computation("to_apply"), given)

    def do_fusion(self, one, given):
        return self.run(one.computation("calls"), given)

    def do_async_start(self, one, given):
        return Pending(self.run(one.computation("calls"), given))

    def do_copy(self, one, given):
        return given[0]

    def do_while(self, one, given):
        condition, body, value, outer = one.computation("condition"), one.computation("body"), given[0], self.active
        for _ in range(ROUNDS):
            going = self.run(condition, [value])
            going = going if outer is None or self.lifted else going & outer
            if not going.any():
                self.active = outer
                return value
            if going.all() and (outer is None or self.lifted):
                value = self.run(body, [value])
                continue
            self.active = outer if self.lifted else going
            value = chosen(going, self.run(body, [value]), value)
            self.active = outer
        raise Refusal(f"more than {ROUNDS} rounds")

    def do_conditional(self, one, given):
        if "branch_computations" in one.attributes:
            names = [name.strip().lstrip("%") for name in one.need("branch_computations").strip("{}").split(",")]
            index = np.where((given[0] < 0) | (given[0] >= len(names)), len(names) - 1, given[0])
        else:
            names = [one.computation("true_computation"), one.computation("false_computation")]
            index = np.where(given[0], 0, 1)
        self.reached |= {names[branch] for branch in np.unique(index)}
        if len(np.unique(index)) == 1:
            return self.run(names[index[0]], [given[1 + index[0]]])
        value, outer = None, self.active
        for branch in np.unique(index):
            mask = index == branch
            self.active = outer if self.lifted else mask if outer is None else mask & outer
            made = self.run(names[branch], [given[1 + branch]])
            value = made if value is None else chosen(mask, made, value)
        self.active = outer
        return value

    # ------------------------------------------------------------------------------------------------------------ devices
    def on_devices(self):
        if self.lifted:
            raise Refusal("a device's number inside of a scalar computation")
        return np.arange(self.module.devices, dtype=np.uint32)

    def do_partition_id(self, one, _):
        return self.on_devices() % np.uint32(self.module.partitions)

    def do_replica_id(self, one, _):
        return self.on_devices() // np.uint32(self.module.partitions)

    def groups(self, one, partitions_alone=False):
        """Groups of devices. Numbers are of replicas without a channel, else of devices (use_global_device_ids), of replicas with all their
        partitions, or of partitions: the definition says which for each operation."""
        text, replicas, partitions = one.attributes.get("replica_groups", "{}"), self.module.replicas, self.module.partitions
        if self.lifted:
            raise Refusal("a collective inside of a scalar computation")
        if one.attributes.get("use_global_device_ids") == "true":
            found = hlo_groups(text, self.module.devices)
        elif int(one.attributes.get("channel_id", 0)) == 0:
            found = [[r * partitions + p for r in group] for group in hlo_groups(text, replicas) for p in range(partitions)]
        elif partitions_alone:
            found = [[r * partitions + p for p in group] for group in hlo_groups(text, partitions) for r in range(replicas)]
        else:
            found = [[r * partitions + p for r in group for p in range(partitions)] for group in hlo_groups(text, replicas)]
        flat = [device for group in found for device in group]
        if len(set(flat)) != len(flat) or any(not 0 <= device < self.module.devices for device in flat):
            raise Refusal("groups that are none of these devices")
        self.meet(found)
        return found

    def meet(self, groups):
        """Devices of a group must all be here: others would be waited for."""
        for group in groups:
            if self.active is not None and len(set(self.active[group].tolist())) > 1:
                raise Refusal("devices of one group are in different branches")

    def everywhere(self, groups):
        if sum(map(len, groups)) != self.module.devices:
            raise Refusal("groups that leave devices out")
        return groups

    def spread(self, value):
        return np.broadcast_to(value, (self.module.devices, *value.shape[1:]))

    def collected(self, value, groups, make):
        """`make` of a group's values gives one value for all, or one for each member; where one group is all devices and has one value,
        that is kept once."""
        value, out = self.spread(value), None
        for group in groups:
            made = make(value[group])
            if len(made) == 1 and len(group) == self.module.devices:
                return made
            out = np.zeros((self.module.devices, *made.shape[1:]), made.dtype) if out is None else out
            out[group] = made
        return out

    def each_operand(self, one, given, make):
        made = [make(value) for value in given]
        alone = len(made) == 1 and (not isinstance(one.type, list) or one.op.endswith("-start"))
        return made[0] if alone else made

    def fold_group(self, name):
        reducer, call = self.reducer(name), self.lift(name)

        def fold(values):
            function = windows.fold_of(reducer, values.dtype)
            if function is not None:
                return function.reduce(values, axis=0, dtype=values.dtype)[None]
            return windows.tree(call, [np.moveaxis(values, 0, -1)])[0][None]

        return fold

    def do_all_reduce(self, one, given):
        groups, fold = self.everywhere(self.groups(one)), self.fold_group(one.computation("to_apply"))
        return self.each_operand(one, given, lambda value: self.collected(value, groups, fold))

    def do_reduce_scatter(self, one, given):
        groups, fold, dim = self.everywhere(self.groups(one)), self.fold_group(one.computation("to_apply")), one.numbers("dimensions")[0]

        def scatter(values):
            return np.stack(np.split(fold(values)[0], len(values), axis=dim))

        return self.each_operand(one, given, lambda value: self.collected(value, groups, scatter))

    def do_all_gather(self, one, given):
        groups, dim = self.everywhere(self.groups(one)), one.numbers("dimensions")[0]
        return self.each_operand(
            one, given, lambda value: self.collected(value, groups, lambda values: np.concatenate(list(values), dim)[None])
        )

    def do_all_to_all(self, one, given):
        groups = self.everywhere(self.groups(one, True))
        if "dimensions" in one.attributes:
            dim = one.numbers("dimensions")[0]

            def exchange(values):
                cut = [np.split(value, len(values), axis=dim) for value in values]
                return np.stack([np.concatenate([parts[k] for parts in cut], dim) for k in range(len(values))])

            return self.each_operand(one, given, lambda value: self.collected(value, groups, exchange))
        given = [self.spread(value) for value in given]
        out = [np.zeros_like(value) for value in given]
        for group in groups:
            if len(group) != len(given):
                raise Refusal("as many operands as a group has devices")
            for k, receiver in enumerate(group):
                for j, sender in enumerate(group):
                    out[j][receiver] = given[k][sender]
        return out

    def do_collective_broadcast(self, one, given):
        groups = self.groups(one, True)
        return self.each_operand(one, given, lambda value: self.collected(value, groups, lambda values: values[:1]))

    def do_collective_permute(self, one, given):
        pairs = rows(one.need("source_target_pairs"))
        replicas, partitions = self.module.replicas, self.module.partitions
        if self.lifted or any(len(pair) != 2 for pair in pairs):
            raise Refusal("pairs of devices")
        if int(one.attributes.get("channel_id", 0)):
            pairs = [[r * partitions + a, r * partitions + b] for a, b in pairs for r in range(replicas)]
        else:
            pairs = [[a * partitions + p, b * partitions + p] for a, b in pairs for p in range(partitions)]
        targets = [target for _, target in pairs]
        if len(set(targets)) != len(targets):
            raise Refusal("two senders to one device")
        self.meet(pairs)

        def permute(value):
            value = self.spread(value)
            out = np.zeros_like(value)
            if pairs:
                out[targets] = value[[source for source, _ in pairs]]
            return out

        return self.each_operand(one, given, permute)

    # ------------------------------------------------------------------------------------------------------- custom calls
    def do_custom_call(self, one, given):
        target = one.need("custom_call_target").strip('"')
        if target in IDENTITIES:
            return given[0]
        if target in ("SPMDFullToShardShape", "SPMDShardToFullShape"):
            return self.into_manual(one, given[0]) if target == "SPMDFullToShardShape" else self.out_of_manual(one, given[0])
        if target in ("TopK", "mhlo.topk"):
            return self.top(given[0], one.type[0].shape[-1], one.type[1].dtype)
        if target == "mhlo.erf":
            return elements.UNARY["erf"](given[0])
        made = algebra.lapack(target, one.attributes.get("backend_config", ""), moves.together(given))
        if made is None:
            raise Refusal(f"custom call {target}")
        return made

    def sharding_before(self, name, rank):
        """The sharding of an operand; copies that have none hand on that of theirs."""
        base, *parts = name.split("#")
        one = next(found for found in self.here.instructions if found.name == base)
        while "sharding" not in one.attributes and one.op in ("copy", "custom-call") and len(one.operands) == 1:
            return self.sharding_before(one.operands[0], rank)
        text = one.need("sharding")
        if parts:
            text = list_of(text, len(one.type))[int(parts[0])]
        return sharding_of(text, rank, self.module.devices)

    def into_manual(self, one, value):
        sharding, shape = self.sharding_before(one.operands[0], value.ndim - 1), one.array.shape
        if sharding.unreduced:
            raise Refusal("unreduced axes at the beginning of a manual region")
        starts = manual_starts(sharding, value.shape[1:], shape)
        value = self.spread(value)
        if not shape:
            return value
        return np.stack(
            [value[(d, *(slice(at, at + size) for at, size in zip(starts[d], shape, strict=True)))] for d in range(self.module.devices)]
        )

    def out_of_manual(self, one, value):
        sharding, shape = sharding_of(one.need("sharding"), value.ndim - 1, self.module.devices), one.array.shape
        if sharding.manual or sharding.unreduced:
            raise Refusal("a manual region inside of another, or unreduced axes at its end")
        starts = manual_starts(sharding, shape, value.shape[1:])
        value, out, seen = self.spread(value), np.zeros((1, *shape), value.dtype), {}
        for device in range(self.module.devices):
            key = tuple(starts[device].tolist())
            if key in seen:
                if not alike(value[seen[key]], value[device]):
                    raise Refusal(f"devices {seen[key]} and {device} leave a manual region with different values of one tile")
                continue
            seen[key] = device
            out[(0, *(slice(at, at + size) for at, size in zip(key, value.shape[1:], strict=True)))] = value[device]
        return out


def alike(a, b, tolerance=1e-9):
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= tolerance * max(float(np.max(np.abs(a), initial=0.0)), 1e-300)
    return bool((near | (a == b) | (np.isnan(a) & np.isnan(b))).all())
