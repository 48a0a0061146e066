"""Our plans in the place of torch's own way, by functional collectives: forward, backward and compiled."""

import contextlib
from dataclasses import dataclass, field
from math import prod

from .._ends import _refused, bytes_of
from . import _hook, _rt
from ._carry import Exchange, Gather, Slice, _cut, _shape, actions, carry
from ._checks import Verdict, coordinate_of, target_spec
from ._errors import NotCarriedOut, WrongTile
from ._tiles import coordinates, length, of_all_ranks, shape_of, tile_of
from ._words import dtype_word, keep, mesh_text, numbers, placement_word, placement_words, placements_text, ranks_of, turns_of

_groups, _moves = {}, {}  # by ranks; by specs and limit


@dataclass(frozen=True)
class Move:
    """How a redistribute is carried out, for all ranks.

    Attributes:
      program: the Program, as an object; starts: the shapes of all tiles at its start, stops: those at the end.
      before, after: what is done to each tile without any communication: pairs of a name and a value.
      listed: what each position does, as far as somebody asked.
    """

    program: dict
    starts: tuple
    stops: tuple
    before: tuple
    after: tuple
    listed: dict = field(default_factory=dict, compare=False)


def _name(placement):
    return type(placement).__name__


def _embedded(current, target):
    """(the axes along which a shard becomes addends of a sum where it lies, the placements from which it does so)

    Whoever has a shard has zeros for all others. So nothing is sent where tiles are only cut beside that; otherwise the plan moves the
    shards, and they become addends at the end, if no later axis cuts the same dimension there.
    """
    turns = [turn for spec in (current, target) for turn in turns_of(spec)[1]]
    pairs = list(zip(current.placements, target.placements))
    if any(turn is not None for turn in turns) or any("_StridedShard" in map(_name, pair) for pair in pairs):
        return [], None
    axes = [axis for axis, (one, other) in enumerate(pairs) if _name(one) == "Shard" and _name(other) == "Partial" and other.reduce_op == "sum"]
    beside = [pair for axis, pair in enumerate(pairs) if axis not in axes]
    if all(one == other or (one.is_replicate() and _name(other) == "Shard") for one, other in beside) and _covered(current, target, axes):
        return axes, current.placements
    axes = [axis for axis in axes if not any(_name(later) == "Shard" and later.dim == pairs[axis][0].dim for later in target.placements[axis + 1:])]
    return axes, tuple(one if axis in axes else other for axis, (one, other) in enumerate(pairs))


def _covered(current, target, axes):
    """Whether the tiles along some axes, which have no element twice, have together all that each of their ranks is to have."""
    there = {}
    for at in coordinates(numbers(target.mesh.shape)):
        key = tuple(0 if axis in axes else place for axis, place in enumerate(at))
        wanted = tile_of(target, at)
        have, _ = there.get(key, (0, 0))
        there[key] = have + prod(_common(one, other)[1] for one, other in zip(tile_of(current, at), wanted)), prod(map(length, wanted))
    return all(have == wanted for have, wanted in there.values())


def _common(one, other):
    """(begin, length) of what two tiles have in common along a dimension in which each is a single range or nothing."""
    if not one or not other:
        return 0, 0
    begin, end = max(one[0][0], other[0][0]), min(one[0][1], other[0][1])
    return (begin, end - begin) if begin < end else (0, 0)


def _sums(current, target):
    """(words of the start, words of the end, what is done before, what is done after), by what placements mean for addends."""
    from torch.distributed.tensor._dtensor_spec import DTensorSpec
    mesh = current.mesh
    sizes = numbers(mesh.shape)
    words, ends = list(placement_words(current)), list(placement_words(target))
    kinds = {_name(one) if _name(one) != "Partial" else one.reduce_op for one in (*current.placements, *target.placements) if one.is_partial()}
    kinds.discard("_MaskPartial")
    if len(kinds) > 1:
        raise NotCarriedOut(f"addends of {' and '.join(sorted(kinds))} in one array")
    before, after, averaged, made, norm, (embedded, cut) = [], [], 1, [], None, _embedded(current, target)
    for axis, (one, other) in enumerate(zip(current.placements, target.placements)):
        if one.is_partial():
            if not other.is_partial() and _name(one) == "Partial" and one.reduce_op == "avg":
                averaged *= sizes[axis]
            if other.is_partial() and one != other:
                raise NotCarriedOut(f"{placement_word(one)} made {placement_word(other)}")
            if _name(one) == "Partial" and one.reduce_op not in ("sum", "avg", "max", "min"):
                raise NotCarriedOut(f"addends of a {one.reduce_op}: no plan adds them")
            words[axis] = "Partial(sum)" if _name(one) != "Partial" or one.reduce_op == "avg" else words[axis]
            ends[axis] = words[axis] if other.is_partial() else ends[axis]
            if _name(one) == "_NormPartial":
                norm = one.norm_type
            if _name(one) == "_MaskPartial" and not other.is_partial():
                before.append(("mask", one))
        elif axis in embedded:
            ends[axis] = words[axis]
        elif other.is_partial():
            # No plan makes addends: the array is brought to all of these ranks, which then share it out.
            ends[axis] = "Replicate()"
            made.append(axis)
    if norm is not None:
        before.append(("power", norm))
        after.append(("power", 1 / norm))
    if averaged > 1:
        if not current.tensor_meta.dtype.is_floating_point and not current.tensor_meta.dtype.is_complex:
            raise NotCarriedOut(f"an average of {dtype_word(current.tensor_meta.dtype)}")
        after.append(("divide", averaged))
    if embedded:
        if cut == current.placements:
            ends = list(words)
        after.append(("embed", DTensorSpec(target.mesh, cut, tensor_meta=target.tensor_meta)))
    after += [("share", (axis, target.placements[axis])) for axis in made]
    return words, ends, tuple(before), tuple(after)


def _program(words, ends, mesh, shape, dtype, memory_limit):
    """The Program of the plan."""
    given = {"mesh": mesh_text(mesh), "shape": shape or (1,)}
    try:
        plan = _rt.plan(placements_text(words), placements_text(ends), dtype=dtype_word(dtype), memory_limit=memory_limit, **given)
        program = plan.lower().to_dict()
    except _rt.Infeasible:
        raise
    except ValueError as problem:
        raise NotCarriedOut(f"no plan: {problem}") from problem
    if program.get("view"):
        raise NotCarriedOut("a Program on a view")
    return program


def move_of(current, target, memory_limit=None):
    """The `Move` between two specs of one mesh, from memory where it was seen before."""
    key = (current, target, memory_limit)
    try:
        found = _moves.get(key)
    except TypeError:
        found, key = None, None
    if found is None:
        found = _made_move(current, target, memory_limit)
        if key:
            keep(_moves, key, found, 4096)
    return found


def _made_move(current, target, memory_limit):
    words, ends, before, after = _sums(current, target)
    shape, sizes = numbers(current.shape), numbers(current.mesh.shape)
    program = _program(words, ends, current.mesh, shape, current.tensor_meta.dtype, memory_limit)
    starts = tuple(_shape(shape_of(current, at)) or (1,) for at in coordinates(sizes))
    stop = dict(after).get("embed", target)
    stops = tuple(shape_of(stop, at) for at in coordinates(sizes))
    held = held_at_end(after, target)
    if memory_limit is not None and held > memory_limit:
        raise _rt.Infeasible("infeasible", f"what becomes addends holds {held} bytes, before and after", smallest_feasible_bytes=held)
    return Move(program, starts, stops, before, after)


def held_at_end(after, target):
    """The bytes of the tiles before and after shards become addends; 0 where none do."""
    old, first = dict(after).get("embed"), (0,) * target.mesh.ndim
    return (prod(shape_of(old, first)) + prod(shape_of(target, first))) * target.tensor_meta.dtype.itemsize if old else 0


def _actions(move, position):
    """What one position does."""
    if position not in move.listed:
        move.listed[position] = actions(move.program, move.starts, position)[0]
    return move.listed[position]


def _prepared(move, tile):
    for name, value in move.before:
        if name == "power":
            tile = tile ** value
        else:  # a mask is applied in place
            tile = tile.clone()
            value.mask_buffer.apply_mask(tile)
            value.mask_buffer.release_mask()
    return tile


def _padding(old, new, coordinate):
    """(where what a rank keeps of its old tile begins, its shape, how much of the new tile is before and behind it, the last dimension
    first)"""
    starts, sizes, padding = [], [], []
    for one, other in zip(tile_of(old, coordinate), tile_of(new, coordinate)):
        begin, size = _common(one, other)
        before = begin - other[0][0] if size else 0
        starts.append(begin - one[0][0] if size else 0)
        sizes.append(size)
        padding = [before, length(other) - size - before, *padding]
    return starts, sizes, padding


def _finished(move, tile, target, coordinate):
    import torch
    for name, value in move.after:
        if name == "power":
            tile = tile ** value
        elif name == "divide":
            tile = tile / value
        elif name == "embed":
            starts, sizes, padding = _padding(value, target, coordinate)
            tile = torch.nn.functional.pad(_cut(tile, starts, sizes), padding)
        else:
            axis, placement = value
            if _name(placement) != "Partial":
                tile = placement._partition_value(tile, target.mesh, axis)
            elif placement.reduce_op == "sum" and coordinate[axis]:
                tile = torch.zeros_like(tile)  # the first rank along the axis has it all, so that nothing is rounded
            elif placement.reduce_op == "product" and coordinate[axis]:
                tile = torch.ones_like(tile)
    return tile


def _steps(move, position, tile, target, coordinate, order):
    """All that one rank does, as a generator like `carry`."""
    start = tile
    tile = _prepared(move, tile)
    listed = _actions(move, position)
    wire = _wire(tile.dtype) if all(isinstance(one, (Slice, Exchange, Gather)) and not getattr(one, "add", None) for one in listed) else None
    kind = tile.dtype
    if tuple(tile.shape) != move.starts[position]:
        if (_shape(tuple(tile.shape)) or (1,)) != move.starts[position]:
            raise WrongTile(Verdict(False, f"the tile is {list(tile.shape)}, its placements say {list(move.starts[position])}"))
        tile = tile.reshape(move.starts[position])
    if wire is not None:
        tile = tile.view(wire)
    tile = yield from carry(listed, tile, order)
    if wire is not None:
        tile = tile.view(kind)
    if tuple(tile.shape) != move.stops[position]:
        tile = tile.reshape(move.stops[position])
    tile = _finished(move, tile, target, coordinate)
    fresh = any(name == "embed" for name, _ in move.after)
    if not fresh and (listed and all(isinstance(one, Slice) for one in listed) or (tile is not start and not listed)):
        return tile.clone()  # what was cut from the old tile is not to keep it
    return tile.contiguous()


def _wire(dtype):
    """As which type elements travel that gloo does not take; None for those that go as they are."""
    import torch
    return torch.uint8 if dtype == torch.bool or "float8" in str(dtype) else None


# Collectives.

_COUNT = 1 << 40


def _timeout(mesh):
    """How long the groups that the program made wait for a rank; None where their backend does not say it. A new group of torch's waits
    for half an hour, whatever the program said."""
    import torch
    import torch.distributed as dist
    options = getattr(dist.group.WORLD._get_backend(torch.device(mesh.device_type)), "options", None)
    return getattr(options, "_timeout", None)


def _group(mesh, ranks):
    """The process group of some ranks of a mesh, all of which ask for it together. One is made where none is there, and kept by its ranks,
    so there are at most as many as sets of ranks that move something together."""
    import torch.distributed as dist
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    for axis in range(mesh.ndim):
        group = mesh.get_group(axis)
        if sorted(dist.get_process_group_ranks(group)) == sorted(ranks):
            return group
    if len(ranks) == dist.get_world_size():
        return dist.group.WORLD
    ranks = tuple(sorted(ranks))
    found = _groups.get(ranks)
    if found is None or found not in dist.distributed_c10d._world.pg_map:
        # torch salts the name of a group with the number of groups that a rank has made so far, and ranks whose numbers differ wait
        # for each other for ever. Which groups we make differs among ranks, so ours have one number, and the others keep theirs.
        world = dist.distributed_c10d._world
        kept, world.group_count = world.group_count, _COUNT
        for old in [key for key, group in _groups.items() if group not in world.pg_map]:
            del _groups[old]  # the others are used again, and torch keeps them as long
        try:
            with unset_fake_temporarily():
                found = _groups[ranks] = dist.new_group(list(ranks), timeout=_timeout(mesh), use_local_synchronization=True,
                                                        group_desc="pyretile")
        finally:
            world.group_count = kept
    return found


def _wait(tensor):
    import torch.distributed._functional_collectives as functional
    return tensor.wait() if isinstance(tensor, functional.AsyncCollectiveTensor) else functional.wait_tensor(tensor)


# What gloo moves as it is. All else it moves as octets.
_GLOO = frozenset(f"torch.{one}" for one in ("float32", "float64", "float16", "int8", "uint8", "int32", "int64"))


def _octets(flat):
    import torch
    return (torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat).view(torch.uint8)


def _elements(octets, kind):
    import torch
    if kind.is_complex:
        return torch.view_as_complex(octets.view({8: torch.float32, 16: torch.float64}[kind.itemsize]).reshape(-1, 2))
    return octets.view(kind)


def _collective(mesh, ranks, me, asked):
    """One collective of this rank, by torch's functional collectives."""
    import torch.distributed._functional_collectives as functional
    name, tensor, *rest = asked
    group = _group(mesh, tuple(ranks[one] for one in rest[-1]))
    if name in ("all_to_all", "gather"):
        kind, times = tensor.dtype, 1
        if tensor.device.type == "cpu" and str(kind) not in _GLOO:
            tensor, times = _octets(tensor), kind.itemsize
        if name == "gather":
            made = functional.all_gather_single(tensor, 0, group)
        else:
            made = functional.all_to_all_single(tensor, [times * one for one in rest[0]], [times * one for one in rest[1]], group)
        made = _wait(made)
        return made if made.dtype == kind else _elements(made, kind)
    if name == "reduce_scatter":
        return _wait(functional.reduce_scatter_single(tensor, rest[0], 0, group)), me
    return _wait(functional.all_reduce(tensor, rest[0], group))


def moved(local, current, target, memory_limit=None):
    """This rank's new tile. In local tensor mode that of all ranks."""
    if current.mesh != target.mesh:
        raise NotCarriedOut("a redistribute between two meshes")
    tiles = of_all_ranks(local)
    if tiles:
        return _all_moved(tiles, current, target, memory_limit)
    if not current.mesh._is_current_rank_part_of_mesh():
        return local
    import torch.distributed as dist
    move, mesh = move_of(current, target, memory_limit), current.mesh
    ranks, rank = ranks_of(mesh), dist.get_rank()
    me = ranks.index(rank)
    if hasattr(local, "wait"):
        local = local.wait()
    steps = _steps(move, me, local, target, coordinate_of(mesh, rank), lambda row: sorted(row, key=lambda one: ranks[one]))
    try:
        asked = next(steps)
        while True:
            asked = steps.send(_collective(mesh, ranks, me, asked))
    except StopIteration as done:
        return done.value


def _all_moved(tiles, current, target, memory_limit):
    """All ranks in one process, step by step."""
    from torch.distributed._local_tensor import LocalTensor, enabled_local_tensor_mode
    mesh, ranks = current.mesh, ranks_of(current.mesh)
    if any(_name(one) == "_MaskPartial" for one in (*current.placements, *target.placements)):
        raise NotCarriedOut("a mask in local tensor mode")
    move, mode = move_of(current, target, memory_limit), enabled_local_tensor_mode()
    with mode.disable() if mode else contextlib.nullcontext():
        tiles = simulated(move, {at: tiles[rank] for at, rank in enumerate(ranks)}, target, ranks)
        return LocalTensor({rank: tiles[at] for at, rank in enumerate(ranks)})


def simulated(move, tiles, target, ranks):
    """The new tiles of all positions, done by one process without collectives."""
    sizes = numbers(target.mesh.shape)

    def order(row):
        return sorted(row, key=lambda one: ranks[one])
    running = {at: _steps(move, at, tiles[at], target, coordinate, order) for at, coordinate in enumerate(coordinates(sizes))}
    asked, made = {}, {}

    def go(at, value):
        try:
            asked[at] = running[at].send(value)
        except StopIteration as done:
            asked.pop(at, None)
            made[at] = done.value
    for at in running:
        go(at, None)
    while asked:
        # Whoever waits in a row of which all wait, goes on.
        ready = next(row for row in (one[-1] for one in asked.values())
                     if all(k in asked and asked[k][-1] == row and asked[k][0] == asked[row[0]][0] for k in row))
        came = _together({k: asked[k] for k in ready}, ready)
        for k in ready:
            go(k, came[k])
    return made


def _together(asked, row):
    """What a collective makes on each member of a row."""
    import torch
    name, first = asked[row[0]][0], asked[row[0]]
    tensors = [asked[k][1] for k in row]
    add = {"sum": lambda one: one.sum(0), "max": lambda one: one.amax(0), "min": lambda one: one.amin(0)}
    if name == "all_to_all":
        parts = {k: dict(zip(row, asked[k][1].split(asked[k][3]))) for k in row}
        made = {k: torch.cat([parts[other][k] for other in row]) for k in row}
        for k in row:
            assert [parts[other][k].shape[0] for other in row] == asked[k][2], "sizes that are sent are those that are awaited"
        return made
    if name == "gather":
        return dict.fromkeys(row, torch.cat(tensors))
    total = add[first[2]](torch.stack(tensors)).to(tensors[0].dtype)
    if name == "all_reduce":
        return {k: total.clone() for k in row}
    return {k: (part.clone(), k) for k, part in zip(row, total.chunk(len(row)))}


def _limit_here():
    """The tightest limit of all contexts that are open: one that is opened inside of another does not lift its limit."""
    limits = [handler.__self__.memory_limit for handler, _ in _hook.movers() if isinstance(getattr(handler, "__self__", None), optimal)]
    return min((one for one in limits if one is not None), default=None)


class optimal:
    """Every redistribute in the context is done by our plan, in place of torch's own way.

    Forward and backward, eager and compiled; a function that is compiled must be compiled inside, as its graph keeps what it was
    traced with. The context holds for all threads. Autograd is torch's own, so the backward pass of a redistribute is ours if it
    runs inside. Of contexts inside of each other the tightest limit holds, also for `redistribute`.

    Args:
      memory_limit: the most bytes of a rank's tiles before and after a step: a number, or a text such as `"80GB"`. What a collective
        packs and unpacks is a copy of its own, and the caller's tensor stays alive; neither counts.
      otherwise: what happens where no plan can be carried out, or none within the limit: `"raise"` raises, `"torch"` leaves it to
        torch, which keeps no limit, and `left` lists why.

    Attributes:
      moved: how many redistributes were done by our plans.
      left: why others were left to torch.

    Raises:
      NotCarriedOut: by a redistribute that no functional collectives do; the message names what is missing.
      pyretile.Infeasible: by one that no plan does within the limit.
      pyretile.Refused: the limit is no number of bytes.

    >>> with rtt.optimal(memory_limit="1MiB") as ours:
    ...     y = x.redistribute(placements=[Shard(1), Shard(1)])
    >>> ours.moved, y.to_local().shape
    (1, torch.Size([8, 2]))
    """

    def __init__(self, memory_limit=None, *, otherwise="raise"):
        if otherwise not in ("raise", "torch"):
            raise _refused("otherwise", otherwise, "not 'raise' or 'torch'")
        self.memory_limit = None if memory_limit is None else bytes_of(memory_limit)
        self.otherwise, self.moved, self.left = otherwise, 0, []

    def __enter__(self):
        _hook.add(self._call, self._way)
        return self

    def __exit__(self, *_):
        _hook.remove(self._call, self._way)

    def _does(self, local, current, target):
        """Whether a redistribute is not left to torch, which watchers ask before it is done."""
        if self.otherwise == "raise":
            return True
        try:
            import torch.distributed as dist
            move = move_of(current, target, _limit_here())
            _actions(move, 0 if of_all_ranks(local) else ranks_of(current.mesh).index(dist.get_rank()))
        except (NotCarriedOut, _rt.Infeasible):
            return False
        return True

    def _way(self, local, current, target, left=lambda problem: None):
        try:
            return moved(local, current, target, _limit_here())
        except (NotCarriedOut, _rt.Infeasible) as problem:
            if self.otherwise == "raise":
                raise
            left(str(problem))
            return None

    def _call(self, local, current, target, go, keywords):
        made = self._way(local, current, target, self.left.append)
        if made is None:
            return go()
        self.moved += 1
        return made


def redistribute(x, placements, memory_limit=None):
    """`x.redistribute(placements=placements)` by our plan, forward and backward.

    It breaks the graph of a function that is compiled. `optimal()` around a plain redistribute does not.

    Args:
      x: a DTensor; the ranks of its mesh call this together.
      placements: the placement along every axis of its mesh.
      memory_limit: the most bytes of a rank's tiles before and after a step: a number, or a text such as `"80GB"`. A tighter limit of
        an `optimal` around it, or around its backward pass, holds, too.

    Returns:
      A DTensor with these placements.

    Raises:
      NotCarriedOut: no functional collectives do it; the message names what is missing.
      pyretile.Infeasible: no plan is within the limit.
      pyretile.Refused: the placements or the limit mean nothing here.
      WrongTile: this rank's tile is not what its placements say.

    >>> rtt.redistribute(x, [Shard(1), Shard(1)]).to_local().shape
    torch.Size([8, 2])
    """
    from torch.distributed.tensor._redistribute import Redistribute
    global _Planned
    if _Planned is None:
        class Planned(Redistribute):
            @staticmethod
            def forward(ctx, tensor, mesh, target, limit, types):
                ctx.limit = limit
                with optimal(limit):
                    return Redistribute.forward(ctx, tensor, mesh, target, False, types)

            @staticmethod
            def backward(ctx, gradient):
                with optimal(ctx.limit):
                    return (Redistribute.backward(ctx, gradient)[0], None, None, None, None)
        _Planned = Planned
    target = target_spec(x, placements).placements
    kind = x.dtype
    types = {"op_dtype": kind, "out_dtype": kind, "backward_options": {"op_dtype": kind, "out_dtype": kind}}
    memory_limit = None if memory_limit is None else bytes_of(memory_limit)
    return _Planned.apply(x, x.device_mesh, target, memory_limit, types)


_Planned = None
