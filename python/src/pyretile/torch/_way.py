"""What torch's own way of a redistribute holds and costs, computed from the specs before anything moves.

Sizes are those of the rank that holds the most, which is the first of the mesh: torch gives it the largest part of every cut.
As in our plans, a step holds the tile before it and the tile after it; copies that a backend makes inside a collective do not count.
"""

from dataclasses import dataclass
from math import prod

from ._words import axis_names, numbers, placement_word, turns_of


@dataclass(frozen=True)
class WayStep:
    """One step of torch.

    Attributes:
      axes: the names of the mesh's axes along which it goes.
      before: the placement along them.
      after: the same, after it.
      operation: `all_gather`, `all_to_all`, `reduce_scatter`, `all_reduce`, or `local` where nothing is sent.
      gathers: whether it is an `all_to_all` that torch does by an `all_gather`, as on every mesh of CPUs. What is held and the cost are
        those of the `all_gather` then.
      held: the tile before the step and that after it together, in elements. Padding counts.
      height: the larger of the two, in elements.
      cost: elements per rank, counted as those of a plan.
    """

    axes: tuple[str, ...]
    before: str
    after: str
    operation: str
    held: int
    height: int
    cost: int
    gathers: bool = False

    def __str__(self):
        how = " by an all_gather" if self.gathers else ""
        return f"{self.operation}{how} along {','.join(self.axes)}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Way:
    """What torch does for a redistribute.

    Attributes:
      steps: a `WayStep` for each.
      held: the most held at once, in elements.
      height: the largest tile, in elements.
      cost: of all steps, in elements of a rank.
    """

    steps: tuple[WayStep, ...]
    held: int
    height: int
    cost: int


def _ceil(extent, count):
    return -(-extent // count)


class _State:
    """Which axes cut each dimension, first to last."""

    def __init__(self, spec):
        placements, turns = turns_of(spec)
        self.shape, self.sizes = numbers(spec.shape), numbers(spec.mesh.shape)
        self.cuts = [[] for _ in self.shape]
        for axis in sorted(range(len(placements)), key=lambda k: turns[k] or 0):
            self.cut(placements[axis], (axis,))

    def count(self, axes):
        return prod(self.sizes[axis] for axis in axes)

    def cut(self, placement, axes):
        if _cuts(placement):
            self.cuts[placement.dim].append((axes, getattr(placement, "split_factor", 1)))

    def join(self, placement, axes):
        if _cuts(placement):
            left = [one for one in self.cuts[placement.dim] if not set(one[0]) & set(axes)]
            self.cuts[placement.dim] = left

    def tile(self):
        out = []
        for extent, cuts in zip(self.shape, self.cuts):
            for axes, factor in cuts:
                chunk = _ceil(extent, factor)
                pieces = [max(min(chunk, extent - k * chunk), 0) for k in range(factor)]
                extent = sum(_ceil(piece, self.count(axes)) for piece in pieces)
            out.append(extent)
        return out


def _cuts(placement):
    return type(placement).__name__ in ("Shard", "_StridedShard")


def _operation(before, after):
    if before.is_partial():
        return "local" if after.is_partial() else "reduce_scatter" if type(after).__name__ == "Shard" else "all_reduce"
    if not _cuts(before) or after.is_partial():
        return "local"
    return "all_to_all" if type(before).__name__ == type(after).__name__ == "Shard" else "all_gather"


def infos(current, target):
    """torch's own steps. Not its cache, which keeps what one rank was told."""
    import torch.distributed.tensor._redistribute as home
    made = home._gen_transform_infos_non_cached(current, target)
    return home._optimize_transform_infos(made, current.mesh, current.placements, target.placements)


def setting(mesh):
    """What decides torch's way beside both specs, to be compared: the axes that are flattened, and torch's two switches."""
    import torch.distributed.tensor._redistribute as home
    return (*mesh._get_root_mesh()._flatten_mapping.items(), home._FORCE_MIN_COST_REDISTRIBUTION_PLAN,
            home._DISABLE_REDISTRIBUTE_TRANSFORM_OPTIMIZATION)


def way(current, target):
    """What torch does from one spec to the other, a `Way`."""
    state, steps, names = _State(current), [], axis_names(current.mesh)
    on_cpu = current.mesh.device_type == "cpu"
    height = prod(state.tile())
    for info in infos(current, target):
        before, after = info.src_dst_placements
        axes = tuple(getattr(info, "original_mesh_dims", (info.mesh_dim,)))
        count, old = state.count(axes), state.tile()
        if count == 1:
            continue
        operation = _operation(before, after)
        state.join(before, axes)
        joined = state.tile()
        state.cut(after, axes)
        new = state.tile()
        # A gather pads every part to the largest one, and an all-to-all also pads what it cuts. On meshes of CPUs an all-to-all is
        # a gather, too.
        sent = list(old)
        if operation == "all_to_all":
            sent[after.dim] = _ceil(sent[after.dim], count) * count
        padded = prod(sent) * count if _cuts(before) and operation in ("all_gather", "all_to_all") else prod(joined)
        made = padded if operation == "all_gather" or (operation == "all_to_all" and on_cpu) else max(prod(new), prod(sent))
        if operation in ("local", "reduce_scatter", "all_reduce"):
            made = prod(new)
        cost = {"all_gather": padded, "all_to_all": padded if on_cpu else prod(sent), "reduce_scatter": prod(old),
                "all_reduce": 2 * prod(old), "local": 0}[operation]
        steps.append(WayStep(tuple(names[k] for k in axes), placement_word(before), placement_word(after), operation,
                             max(prod(old), made) if operation == "local" else prod(old) + made, max(prod(old), made, prod(new)), cost,
                             operation == "all_to_all" and on_cpu))
        height = max(height, steps[-1].height)
    return Way(tuple(steps), max([height, *(one.held for one in steps)]), height, sum(one.cost for one in steps))
