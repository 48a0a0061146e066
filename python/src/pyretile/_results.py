"""What the functions hand back: frozen dataclasses, each with the object that the program prints as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from ._errors import Wrong


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down; objects stay dicts."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value


@dataclass(frozen=True, eq=False)
class _Answer:
    """An answer of the program. Fields are those of its JSON; docs/reference/json.md has them with their units."""

    _json: dict = field(repr=False)
    _text: Any = field(repr=False)

    def __eq__(self, other: Any) -> bool:
        return self._json == other._json if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._json, sort_keys=True))

    def to_dict(self) -> dict:
        """The object that the command prints with ``--json``."""
        return json.loads(json.dumps(self._json))

    @property
    def text(self) -> str:
        """What the command prints for people."""
        return self._text() if callable(self._text) else self._text

    def __str__(self) -> str:
        return self.text

    @classmethod
    def _made(cls, data: dict, text: Any, **more: Any):
        names = _fields_of(cls)
        return cls(data, text, **{name: _frozen(data[name]) for name in names if name in data}, **more)

    def __reduce__(self):
        return _again, (type(self), {one.name: getattr(self, one.name) for one in fields(self) if one.name != "_text"},
                        self.text)


def _again(cls, values: dict, text: str):
    return cls(_text=text, **values)


def _fields_of(cls) -> tuple[str, ...]:
    """The fields that JSON has, too."""
    names = cls.__dict__.get("_json_names")
    if names is None:
        names = tuple(one.name for one in fields(cls) if not one.name.startswith("_"))
        cls._json_names = names
    return names


class Judged:
    """What has an attribute ``right``: in a condition it is true if and only if it is right.

    What a kind of answer raises when it is wrong is its ``_wrong``, and its ``_undecided`` where nobody knows: kinds of
    ``Wrong``, made of the answer.
    """

    _wrong: ClassVar[type[Wrong]] = Wrong
    _undecided: ClassVar[type[Wrong]] = Wrong

    def __bool__(self) -> bool:
        return self.right is True

    def raise_if_wrong(self):
        """Hands itself back when right.

        Raises:
          Wrong: it is wrong, or undecided. An ``AssertionError``.
        """
        if self.right is not True:
            raise (self._wrong if self.right is False else self._undecided)(self)
        return self


@dataclass(frozen=True)
class Step:
    """A step of a plan. Of the fields below those are set that its ``op`` has; sizes are in elements.

    Attributes:
      op: ``dynslice``, ``alltoall``, ``allpermute``, ``allgather``, ``reducescatter``, ``allreduce``, ``exchange``, ..
      localtype: the largest tile after the step.
      cost: elements per device, or bytes where the plan's cost is in bytes.
    """

    op: str
    localtype: tuple[int, ...]
    cost: int
    dim: int | None = None
    from_dim: int | None = None
    to_dim: int | None = None
    factor: int | None = None
    dims: tuple[int, ...] | None = None
    from_dims: tuple[int, ...] | None = None
    to_dims: tuple[int, ...] | None = None
    factors: tuple[int, ...] | None = None
    axes: tuple[str, ...] | None = None
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Plan(_Answer):
    """A sequence of collectives, and what is proved of it.

    Attributes:
      steps: first to last.
      cost: the sum over all steps, in elements per device (``cost="bytes"``: bytes received).
      height: the largest tile, both ends included, in elements.
      bound: the larger end, in elements.
      resident: the most held in one step, before and after together, in elements.
      lower_bound: proved: no sequence of ``scope`` within the memory limit costs less.
      optimal: whether ``cost`` is that bound.
      scope: of which steps the bound is proved: ``one_dim``, ``several_dims``, or ``any``, which is only said of 0.
      permutes: how many permutations there are.
    """

    steps: tuple[Step, ...]
    cost: int
    height: int
    bound: int
    resident: int
    lower_bound: int
    optimal: bool
    scope: str
    permutes: int
    _options: tuple = field(default=(), repr=False)

    @classmethod
    def _later(cls, line: str, options: list):
        """A plan that is read when somebody asks what it is: most of many are only counted, or never looked at."""
        made = object.__new__(cls)
        made.__dict__.update(_line=line, _options=tuple(options))
        return made

    def __getattr__(self, name: str):
        line = self.__dict__.get("_line")
        if line is None or name.startswith("__"):
            try:  # another thread may have read it meanwhile
                return self.__dict__[name]
            except KeyError:
                raise AttributeError(f"a plan has no {name!r}") from None
        from . import _core
        data = json.loads(line)
        steps = tuple(Step(**{key: _frozen(value) for key, value in step.items()}) for step in data["steps"])
        known = {key: data[key] for key in _fields_of(type(self)) if key != "steps"}
        self.__dict__.update(known, _json=data, _text=_core._text_of("plan", list(self._options)), steps=steps)
        self.__dict__.pop("_line", None)
        return getattr(self, name)

    @property
    def exchange(self) -> bool:
        """Whether one exchange takes the place of collectives."""
        return any(step.op == "exchange" for step in self.steps)

    def lower(self, form: str = "program"):
        """The plan as a ``Program``, or in another system's text: see ``pyretile.lower``."""
        from . import _core
        return _core._lower(list(self._options), form=form)

    def explain(self) -> str:
        """Why the plan is as it is."""
        from . import _core
        return _core._words_of("plan", [*self._options, ("--explain", "")])

    def svg(self) -> str:
        """A picture: who holds what, before, at the largest and after.

        Raises:
          Refused: more devices or dimensions than can be drawn.
        """
        from . import _core
        return _core._picture(self._options)

    def _repr_svg_(self) -> str | None:
        from ._errors import Refused
        try:
            return self.svg()
        except Refused:
            return None


@dataclass(frozen=True, eq=False)
class NetworkPlan(_Answer):
    """A sequence of collectives that takes the least time on a network; docs/reference/json.md has all fields, as
    ``retile.network/1``. Times are in picoseconds.

    Attributes:
      levels: the links, from the inside out.
      steps: what each step takes: ``time_ps``, and the ``bytes`` of its busiest device over each link.
      time_ps: of all steps.
      lower_bound_ps: proved: no sequence of steps along one dimension each takes less; 0 where nothing is proved.
      optimal: whether ``time_ps`` is that bound.
      complete: whether the search ended before its limit.
      fewest_elements_time_ps: what the plan takes that does not know the network.
    """

    levels: tuple[dict, ...]
    steps: tuple[dict, ...]
    time_ps: int
    lower_bound_ps: int
    optimal: bool
    complete: bool
    fewest_elements_time_ps: int
    _options: tuple = field(default=(), repr=False)
    _texts: tuple = field(default=(), repr=False)

    def lower(self, form: str = "program"):
        """The plan as a ``Program``, or in another system's text: see ``pyretile.lower``."""
        from . import _core
        return _core._lower(list(self._options), form=form, texts=list(self._texts))


@dataclass(frozen=True, eq=False)
class ManyPlan(_Answer):
    """Plans of many arrays, and sums over all of them; docs/reference/json.md has all fields, as ``retile.many/1``.

    Attributes:
      arrays: each with its name, its kind and the round in which it goes.
      kinds: what arrays with equal ends have in common, with their plan.
      rounds: how many there are.
      total: what all devices hold, receive and send, and the one with the most.
      devices: the same for every device.
    """

    arrays: tuple[dict, ...]
    kinds: tuple[dict, ...]
    rounds: int
    total: dict
    devices: tuple[dict, ...]
    _options: tuple = field(default=(), repr=False)
    _texts: tuple = field(default=(), repr=False)

    def for_rank(self, rank: int) -> RankPart:
        """What one device receives and sends."""
        from . import _core
        return _core._part(self._options, self._texts, rank)


@dataclass(frozen=True, eq=False)
class RankPart(_Answer):
    """The part that one device has in a plan, or in plans of many arrays, as ``retile.rank/1``.

    Attributes:
      rank: the device.
      arrays: each with its name, its kind and the round in which it goes.
      rounds: how many there are.
      kinds: of each its steps, with the boxes that the device receives and sends: target, source, two starts and a shape.
    """

    rank: int
    arrays: tuple[dict, ...]
    rounds: int
    kinds: tuple[dict, ...]


@dataclass(frozen=True, eq=False)
class Program(_Answer):
    """Steps for every device, as ``retile.program/1`` or ``/2`` has them.

    Attributes:
      schema: which of both.
      devices: the numbers of the devices.
      steps: the steps, as JSON objects.
    """

    schema: str
    steps: tuple[dict, ...]
    devices: Any
    _options: tuple = field(default=(), repr=False)
    _texts: tuple = field(default=(), repr=False)

    def for_rank(self, rank: int) -> RankPart:
        """What one device receives and sends in each step.

        Raises:
          Refused: there is no such device, or the Program follows no plan, as with ``direct=True``.

        >>> import pyretile as rt
        >>> program = rt.lower("[2{x}4, 8]", "[4, 4{x}8]", mesh="x:2")
        >>> program.for_rank(1).kinds[0]["steps"][0]["sends"]
        [[0, 1, 2, 0, 0, 0, 2, 4]]
        """
        from ._core import _part_of_program

        return _part_of_program(self, rank)

    def to_json(self) -> str:
        """On one line, as ``check`` and the program ``retile`` read it."""
        return json.dumps(self._json, separators=(",", ":"))


@dataclass(frozen=True, eq=False)
class Verdict(_Answer, Judged):
    """Whether a sequence is right. In a condition it is true if and only if it is right.

    Attributes:
      right: None where a limit was reached before it was decided.
      height: the largest tile, in elements.
      bound: the larger end, in elements.
      within_bound: whether the former is at most the latter.
      cost: of the collectives, in elements per device.
      reason: when wrong: ``end``, ``replicas``, ``addends``, ``tile``, ..; docs/reference/json.md lists all.
      device, at, element, found: when wrong: a device that shows it, an index in its tile, the global index that
        belongs there, and what is there.
    """

    right: bool | None
    height: int | None = None
    bound: int | None = None
    within_bound: bool | None = None
    cost: int | None = None
    reason: str | None = None
    device: int | None = None
    at: tuple[int, ...] | None = None
    element: tuple[int, ...] | None = None
    found: Any = None


@dataclass(frozen=True, eq=False)
class Validation(_Answer, Judged):
    """Whether a whole program computes after a pass what it did before. True in a condition if it is right.

    Attributes:
      right: None where it is undecided.
      answer: ``right``, ``wrong`` or ``undecided``.
    """

    right: bool | None
    answer: str


@dataclass(frozen=True, eq=False)
class Explanation(_Answer):
    """A reshard explained: what the other side holds and moves, what suffices, and the plan in its own form.

    Attributes:
      peer: what it ``does`` in words, its ``height``, ``cost`` and ``received``.
      plan: ``height``, ``bound``, ``cost``, ``lower_bound``, ``optimal`` and ``scope`` of ours.
      form: the form of ``program``; None where there is none.
      program: the plan in that form.
      notes: what was assumed.
    """

    peer: dict
    plan: dict
    notes: tuple[str, ...]
    form: str | None = None
    program: str | None = None
