"""Whether tensors, meshes and torch's redistributes are what their placements say."""

from dataclasses import asdict, dataclass

from .._ends import _is_placement, _is_torch_mesh, _refused, bytes_of
from .._results import Judged
from . import _rt, _trace
from ._carry import digits
from ._errors import WrongTile
from ._tiles import of_all_ranks, shape_of
from ._way import Way, _cuts, way
from ._words import axis_names, bytes_text, dtype_word, keep, mesh_text, numbers, of_ranks, placement_words, placements_text, ranks_of

_shapes = {}


@dataclass(frozen=True)
class Verdict(Judged):
    """An answer about tiles.

    Attributes:
      right: whether every rank has what the placements say.
      text: in words, with the first rank that has not.
    """

    right: bool
    text: str

    _wrong = _undecided = WrongTile

    def __str__(self):
        return self.text

    def to_dict(self):
        """Both as a dict."""
        return asdict(self)


def coordinate_of(mesh, rank):
    return tuple(digits(ranks_of(mesh).index(rank), numbers(mesh.shape)))


def _wanted(spec, coordinate):
    key = (spec, coordinate)
    found = _shapes.get(key)
    return keep(_shapes, key, shape_of(spec, coordinate), 65536) if found is None else found


def wrong_shape(local, spec):
    """None, or in words the first rank at hand whose tile has another shape than its placements say, or whose array another shape than
    those of others."""
    for dim, size in enumerate(spec.shape):
        if different := of_ranks(size):
            return f"the ranks take dimension {dim} of the array to have different sizes, {list(different.values())}; the placements are {placements_text(placement_words(spec))}"
    tiles = of_all_ranks(local)
    if tiles is None:
        import torch.distributed as dist
        tiles = {dist.get_rank(): local}
    members = set(ranks_of(spec.mesh))
    for rank, one in tiles.items():
        if rank in members:
            wanted = _wanted(spec, coordinate_of(spec.mesh, rank))
            if tuple(one.shape) != wanted:
                return f"rank {rank} has a tile {list(one.shape)}, its placements {placements_text(placement_words(spec))} " \
                       f"of {list(numbers(spec.shape))} over {mesh_text(spec.mesh)} say {list(wanted)}"
    return None


def spec_of(x):
    """The spec of a DTensor."""
    if not hasattr(x, "_spec") or not hasattr(x, "_local_tensor"):
        raise _refused("x", x, "no DTensor")
    return x._spec


def check_tensor(x):
    """Whether the local tile of a DTensor has the shape that its placements say, on this rank; in local tensor mode on all ranks.

    torch trusts whoever makes a DTensor. Uneven tiles given to `from_local` without a shape, and a convolution of an array
    that is cut along a spatial dimension, leave DTensors behind that say one thing and hold another.

    Args:
      x: a DTensor.

    Returns:
      A `Verdict`. It is not collective, so other ranks may have other answers.

    >>> lying = DTensor.from_local(torch.ones(3, 8), mesh, [Shard(0), Shard(0)], shape=torch.Size([8, 8]), stride=(8, 1), run_check=False)
    >>> rtt.check_tensor(x).right, rtt.check_tensor(lying).right
    (True, False)
    """
    spec = spec_of(x)
    words = wrong_shape(x._local_tensor, spec)
    return Verdict(words is None, words or f"right: the tile is {list(x._local_tensor.shape)}, as its placements say")


def check_mesh(mesh):
    """Whether the process groups of a mesh list its ranks in the mesh's own order.

    torch sorts the ranks of a group. A gather along an axis of a mesh that lists ranks in another order puts the parts
    in the order of the ranks.

    Args:
      mesh: a DeviceMesh.

    Returns:
      A `Verdict`, the same on all ranks: it is about all rows of the mesh.

    >>> print(rtt.check_mesh(DeviceMesh("cpu", torch.tensor([3, 2, 1, 0]), mesh_dim_names=("x",))))
    along x the mesh lists the ranks [3, 2, 1, 0], and their group has them in the order [0, 1, 2, 3]: gathers exchange their parts
    """
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    if not _is_torch_mesh(mesh):
        raise _refused("mesh", mesh, "no DeviceMesh")
    with unset_fake_temporarily():
        table = mesh.mesh
        found = []
        for axis, name in enumerate(axis_names(mesh)):
            rows = table.movedim(axis, -1).reshape(-1, table.shape[axis]).tolist()
            turned = next((row for row in rows if row != sorted(row)), None)
            if turned:
                found.append(f"along {name} the mesh lists the ranks {turned}, and their group has them in the order {sorted(turned)}")
        if found:
            return Verdict(False, f"{', '.join(found)}: gathers exchange their parts")
    return Verdict(True, "right: every group has its ranks in the order of the mesh")


def target_spec(x, placements):
    """The spec of a DTensor after a redistribute; dimensions below 0 count from the end."""
    from torch.distributed.tensor._dtensor_spec import DTensorSpec
    spec, rank = spec_of(x), len(spec_of(x).shape)
    if not isinstance(placements, (tuple, list)) or len(placements) != spec.mesh.ndim:
        note = ("write objects of torch, such as [Shard(0), Replicate()], and no text",) if isinstance(placements, str) else ()
        raise _refused("placements", placements, f"not one placement for each axis of {mesh_text(spec.mesh)}", *note)
    out = []
    for at, one in enumerate(placements):
        if not _is_placement(one):
            wanted = f"a text is none: write {one}, of torch.distributed.tensor, without quotes" if isinstance(one, str) else "such as Shard(0), Replicate() or Partial()"
            raise _refused("placements", placements, "no placement", wanted, at=at)
        if _cuts(one):
            if not -rank <= one.dim < rank:
                raise _refused("placements", placements, f"the array has {rank} dimension{'' if rank == 1 else 's'}", at=at)
            if one.dim < 0:
                factor = {"split_factor": one.split_factor} if hasattr(one, "split_factor") else {}
                one = type(one)(one.dim + rank, **factor)
        out.append(one)
    return DTensorSpec(spec.mesh, tuple(out), tensor_meta=spec.tensor_meta)


def _gathered(mesh, value):
    """Of every rank of the mesh its value, on all of them."""
    import torch.distributed as dist
    found = {dist.get_rank(): value}
    for axis in range(mesh.ndim):
        group = mesh.get_group(axis)
        listed = [None] * dist.get_world_size(group)
        dist.all_gather_object(listed, found, group=group)
        found = {rank: one for part in listed for rank, one in part.items()}
    return found


def _trace_of(x, placements):
    target, current = target_spec(x, placements), x._spec
    if of_all_ranks(x._local_tensor):
        raise ValueError("in local tensor mode one process has all ranks, and no rank has operations of its own")
    part = _trace.of_rank(tuple(x._local_tensor.shape), x._local_tensor.dtype, current, target)
    part["said"] = repr((numbers(current.shape), placement_words(current), placement_words(target)))
    parts = _gathered(current.mesh, part)
    for rank, one in sorted(parts.items()):
        if one["said"] != part["said"]:
            raise WrongTile(Verdict(False, f"rank {rank} redistributes something else: {one['said']}, not {part['said']}"))
        if "unsaid" in one:
            raise _trace.Unsaid(f"rank {rank}: {one['unsaid']}")
    return _trace.text(current, target, parts)


def trace(x, placements):
    """What torch does for `x.redistribute(placements=placements)` on every rank, as `retile check` reads it.

    Nothing moves: the operations run on tensors without data. The ranks of the mesh call it together, as they tell each other
    their parts.

    Args:
      x: a DTensor.
      placements: the placement along every axis of its mesh.

    Returns:
      A text, `retile.dtensor-trace/1`, the same on all ranks.

    Raises:
      WrongTile: the ranks redistribute different arrays.
      ValueError: torch uses an operation that a trace cannot say.

    >>> pyretile.check(rtt.trace(x, [Shard(1), Shard(1)]))[0].right
    True
    """
    return _trace_of(x, placements)


def check_redistribute(x, placements, *, timeout=60):
    """Whether torch's own redistribute of this tensor puts the right element everywhere.

    With one process a rank, the verdict is that of `pyretile.check` on the trace of all ranks. In local tensor mode numbers that
    tell the elements apart are redistributed and compared. The data of `x` is neither read nor moved.

    Args:
      x: a DTensor; the ranks of its mesh call this together.
      placements: the placement along every axis of its mesh.
      timeout: seconds for the judge.

    Returns:
      A verdict with `right` (None if undecided) and `text`, the same on all ranks.

    >>> rtt.check_redistribute(x, [Replicate(), Shard(1)]).right
    True
    """
    target = target_spec(x, placements)
    words = wrong_shape(x._local_tensor, x._spec)
    if of_all_ranks(x._local_tensor):
        from ._local import moved_right
        return Verdict(False, f"wrong at the start: {words}") if words else moved_right(x._spec, target)
    found = [one for _, one in sorted(_gathered(x._spec.mesh, words).items()) if one]
    if found:
        return Verdict(False, f"wrong at the start: {found[0]}")
    return _rt.check(_trace_of(x, placements), timeout=timeout)[0]


@dataclass(frozen=True)
class Explanation:
    """A redistribute in words: torch's way beside our plan.

    Attributes:
      move: what is redistributed, in words.
      torch: torch's `Way`: its steps, and in elements `held`, `height` and `cost`.
      plan: a `pyretile.Plan`, or None.
      refused: why there is no plan.
      itemsize: bytes of an element.
    """

    move: str
    torch: Way
    plan: object
    refused: str | None
    itemsize: int

    def to_dict(self):
        """All of it as a dict."""
        return {"move": self.move, "torch": asdict(self.torch), "plan": self.plan and self.plan.to_dict(), "refused": self.refused,
                "itemsize": self.itemsize}

    def __str__(self):
        lines = [self.move, f"torch: cost {self.torch.cost}, height {self.torch.height} elements, holds {bytes_text(self.torch.held * self.itemsize)}"]
        lines += [f"  {one}" for one in self.torch.steps]
        if self.plan is None:
            return "\n".join([*lines, f"no plan: {self.refused}"])
        lines.append(f"plan: cost {self.plan.cost}, height {self.plan.height} elements, holds {bytes_text(self.plan.resident * self.itemsize)}")
        return "\n".join(lines + [f"  {line}" for line in self.plan.text.splitlines()])


def explain(x, placements, *, memory_limit=None):
    """What torch does for a redistribute and what would suffice, without moving anything. Not collective.

    Args:
      x: a DTensor.
      placements: the placement along every axis of its mesh.
      memory_limit: the most bytes of the tiles before and after a step of the plan.

    Returns:
      An `Explanation`; costs and heights count elements per rank.

    Raises:
      pyretile.Refused: the placements or the limit mean nothing here.

    >>> said = rtt.explain(x, [Shard(1), Shard(1)])
    >>> said.torch.cost, said.plan.cost, said.plan.optimal
    (96, 16, True)
    """
    from ._watch import plan_of
    target, current = target_spec(x, placements), x._spec
    before, after = placements_text(placement_words(current)), placements_text(placement_words(target))
    shape, mesh, dtype = numbers(current.shape), mesh_text(current.mesh), x.dtype
    plan, refused = plan_of(current, target, None if memory_limit is None else bytes_of(memory_limit))
    move = f"{before} -> {after} of {dtype_word(dtype)}{list(shape)} over {mesh}"
    return Explanation(move, way(current, target), plan, refused, dtype.itemsize)
