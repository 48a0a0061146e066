"""Every redistribute of a program, with its line, what torch's way holds, and our plan beside it."""

import re
import warnings
import zlib
from dataclasses import asdict, dataclass

from .._ends import _refused, bytes_of
from . import _hook, _rt
from ._errors import Implicit, NotCarriedOut, OverLimit, RedistributeWarning, SpecsDiffer
from ._move import _sums, held_at_end
from ._source import shown, source
from ._tiles import of_all_ranks, shape_of
from ._way import setting, way
from ._words import bytes_text, dtype_word, elements, keep, mesh_text, numbers, placement_words, placements_text, ranks_of

def limit_of(limit):
    """(bytes, None), or (None, how many times the larger end), of a number, `"512MiB"` or `"2x"`."""
    times = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)x", limit, re.ASCII) if isinstance(limit, str) else None
    if times:
        return None, float(times[1])
    return None if limit is None else bytes_of(limit, "limit", "'2x' is twice the larger end"), None


@dataclass(frozen=True)
class Kind:
    """What redistributes of the same ends have in common. Bytes and elements are those of the rank that has the most.

    Attributes:
      mesh: the axes and their sizes.
      ranks: the rank at every position, row by row.
      shape: the global shape.
      dtype: torch's name of the element type.
      before: the placement along every axis of the mesh.
      after: the same, after it.
      peak_bytes: the most that torch's way holds in one step, the tiles before and after it together.
      end_bytes: the larger of the two ends.
      torch_cost: of torch's way, in elements of a rank; None where torch does not do it.
      torch_height: its largest tile, in elements.
      torch_steps: its steps in words.
      whole: whether torch's way holds the whole array on a rank though neither end does.
      gathers: whether torch does an `all_to_all` of it by an `all_gather`, as on every mesh of CPUs; its figures are those of the gather.
      plan_cost: of our plan, in elements of a rank; None without a plan.
      plan_height: its largest tile, in elements.
      plan_bytes: the most that it holds in one step, the tiles before and after it together.
      plan: its text.
      refused: why there is none.
      dearer: whether torch's way costs more than the plan; None without a plan.
    """

    mesh: str
    ranks: tuple
    shape: tuple
    dtype: str
    before: tuple
    after: tuple
    peak_bytes: int | None
    end_bytes: int
    torch_cost: int | None
    torch_height: int | None
    torch_steps: tuple
    whole: bool
    gathers: bool
    plan_cost: int | None
    plan_height: int | None
    plan_bytes: int | None
    plan: str | None
    refused: str | None
    dearer: bool | None

    @property
    def move(self):
        """What it does, in words."""
        return f"{placements_text(self.before)} -> {placements_text(self.after)} of {list(self.shape)} over {self.mesh}"


@dataclass(frozen=True)
class Record:
    """One redistribute.

    Attributes:
      kind: what it does, a `Kind`, whose fields can be read here, too.
      file: of the program, with the innermost line on the stack. In a backward pass it is the line whose gradient is redistributed,
        if that was watched or torch's anomaly mode is on, and otherwise the call of the pass.
      line: that line.
      implicit: whether an operation asked for it.
      backward: whether it is of a backward pass.
      compiled: whether torch.compile traced it. A compiled graph runs without any record.
      call: of a backward pass, the line that called it; otherwise empty.
      planned: whether `optimal` or `redistribute` of this package took torch's place.
    """

    kind: Kind
    file: str
    line: int
    implicit: bool
    backward: bool
    call: str
    compiled: bool
    planned: bool = False

    def __getattr__(self, name):
        if name.startswith("__") or name == "kind":
            raise AttributeError(name)
        return getattr(self.kind, name)

    @property
    def held_bytes(self):
        """What the way that was taken holds, as of `peak_bytes` and `plan_bytes`."""
        return self.kind.plan_bytes if self.planned else self.kind.peak_bytes

    @property
    def source(self):
        """`FILE:LINE`, the file without its folder."""
        return shown(self.file, self.line)

    def to_dict(self):
        """All of it as a dict, with the fields of its kind."""
        return {"source": self.source, **{key: value for key, value in asdict(self).items() if key != "kind"}, **asdict(self.kind)}


_kinds = {}  # by both specs, and what else decides torch's way


def _dtype_of(spec):
    return spec.tensor_meta.dtype if spec.tensor_meta is not None else None


def kind_of(current, target):
    """The `Kind` of a redistribute, from memory where it was seen before."""
    key = (current, target, current.mesh.device_type, setting(current.mesh))
    try:
        found = _kinds.get(key)
    except TypeError:  # of symbolic sizes, which have no hash
        return _made_kind(current, target)
    return keep(_kinds, key, _made_kind(current, target), 65536) if found is None else found


def plan_of(current, target, memory_limit=None):
    """(our plan, None), or (None, why there is none). Norms are sums of powers, and whoever is to get addends gets the array."""
    try:
        words, ends, _, after = _sums(current, target)
        held = held_at_end(after, target)
        if memory_limit is not None and held > memory_limit:
            return None, f"what becomes addends holds {held} bytes, before and after"
        return _rt.plan(placements_text(words), placements_text(ends), mesh=mesh_text(current.mesh), shape=numbers(current.shape) or (1,),
                        dtype=dtype_word(_dtype_of(current)), memory_limit=memory_limit), None
    except (NotCarriedOut, ValueError) as problem:
        return None, str(problem)


def _made_kind(current, target):
    shape, mesh, dtype = numbers(current.shape), mesh_text(current.mesh), _dtype_of(current)
    before, after, size = placement_words(current), placement_words(target), dtype.itemsize
    first = (0,) * current.mesh.ndim
    ends = max(elements(shape_of(current, first)), elements(shape_of(target, first)))
    try:
        taken, steps = way(current, target), ()
        steps = tuple(map(str, taken.steps))
    except Exception as problem:  # what torch itself does not do, it says when it is asked to
        taken, steps = None, (f"{type(problem).__name__}: {problem}",)
    plan, refused = plan_of(current, target)
    plan_bytes = plan and max(plan.resident * size, held_at_end(_sums(current, target)[3], target))
    return Kind(
        mesh=mesh, ranks=ranks_of(current.mesh), shape=shape, dtype=dtype_word(dtype), before=before, after=after,
        peak_bytes=taken and taken.held * size, end_bytes=ends * size, torch_cost=taken and taken.cost, torch_height=taken and taken.height,
        torch_steps=steps, gathers=bool(taken) and any(one.gathers for one in taken.steps), whole=bool(taken) and taken.height >= elements(shape) > ends, plan_cost=plan and plan.cost,
        plan_height=plan and plan.height, plan_bytes=plan_bytes, plan=plan and plan.text, refused=refused,
        dearer=None if plan is None or taken is None else taken.cost > plan.cost)


def is_compiling():
    from torch._guards import TracingContext
    return TracingContext.try_get() is not None


class watch:
    """Notes every redistribute that torch does in the context: eager, backward, and those that torch.compile traces.

    `str()` is a table, one row for each line of the program and kind. Nothing is printed. The context holds for all threads.

    Args:
      limit: the most bytes that a redistribute may hold: a number, a text such as `"512MiB"`, or `"2x"` of the larger of its
        ends. The tiles before and after a step count together, on the rank with the most.
      mode: `"record"` notes only, `"warn"` also warns with `RedistributeWarning`, `"raise"` raises before anything moves:
        `OverLimit`, `Implicit` or `SpecsDiffer`, all of them `RedistributeError`.
      implicit: `"allow"`, or `"forbid"` redistributes that an operation asks for by itself: these raise `Implicit`, but for
        `mode="warn"`, which warns.
      check_specs: before each, compare with all ranks of the mesh what is to be moved, and this rank's tile with its
        placements. This is a collective of its own, so every rank of the mesh must watch. Not while a graph is traced.

    Attributes:
      records: a `Record` for each, in order.

    >>> with rtt.watch(limit="2x") as seen:
    ...     y = x.redistribute(placements=[Replicate(), Shard(0)])
    >>> [(record.peak_bytes, record.plan_bytes, record.dearer) for record in seen.records]
    [(384, 192, True)]
    """

    def __init__(self, limit=None, mode="record", implicit="allow", check_specs=False):
        if mode not in ("record", "warn", "raise"):
            raise _refused("mode", mode, "not 'record', 'warn' or 'raise'")
        if implicit not in ("allow", "forbid"):
            raise _refused("implicit", implicit, "not 'allow' or 'forbid'")
        self.bytes, self.times = limit_of(limit)
        self.mode, self.implicit, self.check_specs = mode, implicit, check_specs
        self.records, self.listener = [], None
        self._same = {}

    def __enter__(self):
        _hook.add(self._call)
        return self

    def __exit__(self, *_):
        _hook.remove(self._call)

    def _call(self, local, current, target, go, keywords):
        if current.mesh != target.mesh or not current.mesh._is_current_rank_part_of_mesh():
            return go()
        key = (kind_of(current, target), *source(), is_compiling(), any(handler.__self__._does(local, current, target) for handler, _ in _hook.movers()))
        record = self._same.get((id(key[0]), *key[1:]))
        if record is None:
            record = self._same[id(key[0]), *key[1:]] = Record(*key)
        self.records.append(record)
        for problem in self._problems(record, local, current, target):
            forbidden = isinstance(problem, Implicit) and self.listener is None
            if self.mode == "raise" or (forbidden and self.mode == "record"):
                raise problem
            if self.mode == "warn":
                warnings.warn_explicit(str(problem), RedistributeWarning, record.file, record.line)
        return self.listener(record, local, current, target, go) if self.listener else go()

    def _limit(self, record):
        """In bytes, or None."""
        return self.bytes if self.times is None else int(self.times * record.end_bytes)

    def _is_over(self, record):
        limit = self._limit(record)
        return limit is not None and record.held_bytes is not None and record.held_bytes > limit

    def _problems(self, record, local, current, target):
        if self.implicit == "forbid" and record.implicit:
            yield Implicit(f"an operation redistributes {record.move}", record)
        if self._is_over(record):
            limit = self._limit(record)
            ours = "" if record.plan_bytes is None or record.planned else f"; our plan {bytes_text(record.plan_bytes)}"
            yield OverLimit(f"{'our plan' if record.planned else 'torch'} holds {bytes_text(record.held_bytes)}, over the limit of {bytes_text(limit)}{ours}: {record.move}", record)
        if self.check_specs and not record.compiled:
            yield from self._specs(record, local, current, target)

    def _specs(self, record, local, current, target):
        from ._checks import wrong_shape
        words = wrong_shape(local, current)
        import torch
        import torch.distributed as dist
        if not of_all_ranks(local):
            # The same on all ranks if the largest of it and the largest of its negative are each other's negatives.
            said = zlib.crc32(repr((record.kind.move, record.dtype, record.kind.ranks)).encode())
            both = torch.tensor([said, -said, bool(words)], dtype=torch.int64, device=local.device)
            for axis in range(current.mesh.ndim):
                dist.all_reduce(both, dist.ReduceOp.MAX, group=current.mesh.get_group(axis))
            most, least, any_words = both.tolist()
            if most != -least:
                yield SpecsDiffer(f"the ranks redistribute different arrays; this one {record.move}", record)
            elif any_words and not words:
                words = "another rank's tile is not what its placements say"
        if words:
            yield SpecsDiffer(f"{words}: {record.move}", record)

    def __str__(self):
        if not self.records:
            return "no redistributes"
        counts = {}
        for one in self.records:
            counts[one] = counts.get(one, 0) + 1
        rows = [("times", "line", "from -> to", "torch holds", "plan holds", "torch costs", "plan costs", "")]
        for one, times in counts.items():
            back = "backward" if one.call != one.source else "backward, called here"
            words = [word for word, said in (("over limit", self._is_over(one)), ("implicit", one.implicit), (back, one.backward),
                                             ("compiled", one.compiled), ("planned", one.planned), ("whole array", one.whole),
                                             ("dearer", one.dearer), ("gathers", one.gathers)) if said]
            rows.append((str(times), one.source, one.move, _or(one.peak_bytes, bytes_text), _or(one.plan_bytes, bytes_text),
                         _or(one.torch_cost, str), _or(one.plan_cost, str), ", ".join(words)))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        lines.append("costs are in elements of a rank; what is held are the tiles before and after a step together")
        if any(one.gathers for one in counts):
            lines.append("gathers: on a mesh of CPUs torch does an all_to_all by an all_gather, of which its figures are")
        return "\n".join(lines)


def _or(value, words):
    return "-" if value is None else words(value)
