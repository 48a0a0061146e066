"""Verdicts on whole programs: does the compiled program do what the function says?"""

from __future__ import annotations

import linecache
import os
import re
import time
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import pyretile as core
from pyretile._results import Judged
from pyretile.jax._capture import capture, origin
from pyretile.jax._source import Text

COLLECTIVE = re.compile(r"^ +(?:ROOT )?(%?[\w.\-]+) = (.*?) (all-gather|all-reduce|all-to-all|ragged-all-to-all|collective-broadcast|collective-permute|reduce-scatter)(?:-start)?\(")
ARRAY = re.compile(r"\b(pred|[a-z]+\d+\w*)\[([\d,]*)\]")
REFERENCES = {"partitioner": "after the partitioner", "lowered": "in the program that would run"}
"""Of which program each reference counts what moves."""
MANUAL = re.compile(r"SPMDFullToShardShape|sdy\.manual_computation")


def counted(number, thing):
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


@dataclass(frozen=True)
class Finding:
    """One thing that a report says of a program.

    Attributes:
      kind: `wrong`, `undecided`, `reshard`, `collective`, `large` or `asked`.
      message: in words.
      file: of the user's program; where the text does not say it, that of the function that was given, or else the text itself.
      line: of that file. Of a reshard it is the line of the `with_sharding_constraint` that asks for it, otherwise that of the operation
        that needs the array in its new layout; `details["made_at"]` is the line that made the array, or None.
      op: the operation, or None.
      bytes: what all devices receive each time, or what a value holds; None where that is not known.
      details: what else is known, by name. Those of collectives, reshards and large values are fields of `movement` in
        docs/reference/json.md, under `retile.validation/1`.
    """

    kind: str
    message: str
    file: str
    line: int
    op: str | None = None
    bytes: int | None = None
    details: dict = field(default_factory=dict, repr=False)

    @property
    def where(self):
        """`FILE:LINE`."""
        return f"{self.file}:{self.line}"

    @property
    def code(self):
        """The line itself, where the file is at hand; may be empty."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self):
        return f"{self.where}: {self.message}"

    def to_dict(self):
        """All of it as a dict, details among the rest."""
        return {"kind": self.kind, "message": self.message, "file": self.file, "line": self.line, "op": self.op, "bytes": self.bytes, **self.details}


class WrongProgram(core.Wrong):
    """A compiled program does something else than its function says."""

    @property
    def report(self):
        """The whole `Report`."""
        return self.verdict


class NotJudged(core.Wrong):
    """Nobody knows whether the program is right: a limit was reached, or nothing was partitioned."""

    @property
    def report(self):
        """The whole `Report`, which says which of both."""
        return self.verdict


@dataclass(frozen=True)
class Report(Judged):
    """What is known of a compiled program. True in a condition if that is right.

    `right` says that a pass changed nothing: two texts of the program compute the same. It vouches for nothing that stands in both, such
    as the body of a `shard_map`, and so not for the way of `reshard`, whose steps are such a body. A note says where that is so.

    Attributes:
      answer: `right`, `wrong`, `undecided`, or `one device` where nothing was partitioned.
      name: of the program.
      devices: how many there are.
      findings: the mistake, or why nothing was decided.
      collectives: what the program moves. Where that was not asked, or is too much to find out, each says what it makes on a device.
      reshards: values in two layouts with nothing but movement between, those first that a plan could save most of.
      large: values that are larger than any tile that the program declares, the largest first.
      counted: of which program collectives, reshards and large values are: `after the partitioner`, whose text the optimiser may still
        change, or `in the program that would run`.
      memory: what XLA says of the compiled program, in bytes for each device: `arguments`, `results`, `temporaries`, `aliased`.
      seconds: of `lower`, `compile` and `judge`.
      notes: what was not looked at, and assumptions.
      validation: the answer of `pyretile.validate`, or None.
      before: the text from before the pass, or None.
      after: the text from after it, or None.
    """

    answer: str
    name: str
    devices: int
    findings: tuple = ()
    collectives: tuple = ()
    reshards: tuple = ()
    large: tuple = ()
    counted: str = "after the pass"
    memory: dict = field(default_factory=dict)
    seconds: dict = field(default_factory=dict)
    notes: tuple = ()
    validation: object = field(default=None, repr=False)
    before: str | None = field(default=None, repr=False)
    after: str | None = field(default=None, repr=False)

    _wrong, _undecided = WrongProgram, NotJudged

    @property
    def right(self):
        """True, False, or None where nothing is known."""
        return {"right": True, "wrong": False}.get(self.answer)

    @property
    def text(self):
        """What `str()` says."""
        return str(self)

    def save(self, folder: str | os.PathLike) -> tuple[Path, Path]:
        """Writes the two texts that were compared, such as for `retile validate --shrink`, and returns their paths."""
        if self.before is None or self.after is None:
            raise ValueError("the program is for one device, so there are no texts")
        paths = tuple(Path(folder) / f"{self.name}.{which}" for which in ("before", "after"))
        for path, text in zip(paths, (self.before, self.after)):
            path.write_text(text)
        return paths

    def to_dict(self):
        """All of it but the texts, as a dict."""
        lists = {name: [one.to_dict() for one in getattr(self, name)] for name in ("findings", "collectives", "reshards", "large")}
        return {"answer": self.answer, "name": self.name, "devices": self.devices, **lists, "counted": self.counted, "memory": self.memory, "seconds": self.seconds,
                "notes": list(self.notes), "validation": self.validation.to_dict() if self.validation else None}

    def __str__(self):
        if self.answer == "one device":
            return f"{self.name}: one device: nothing is partitioned, so nothing was compared"
        lines = [f"{self.name}: {self.answer} on {counted(self.devices, 'device')}"]
        for one in self.findings:
            lines += [f"  {one}"] + ([f"    | {one.code}"] if one.code else [])
        if any(one.details["times"] is None for one in self.collectives):
            lines.append(f"  {counted(len(self.collectives), 'collective')} {self.counted}, the largest of which makes {max(one.details['made_bytes'] for one in self.collectives)} bytes on each device")
        elif self.collectives:
            total = sum(one.bytes * one.details["times"] for one in self.collectives)
            lines.append(f"  {counted(len(self.collectives), 'collective')} {self.counted}, by which all devices together receive {total} bytes")
        lines += [f"  {one}" for one in self.reshards if one.details["saved"]]
        lines += [f"  {one}" for one in self.large]
        if self.memory:
            lines.append("  memory of a device in bytes: " + ", ".join(f"{key} {value}" for key, value in self.memory.items()))
        return "\n".join([*lines, *(f"  {one}" for one in self.notes)])


class Places:
    """Finds the user's lines of operations in the two texts."""

    def __init__(self, before, after, names, fallback):
        self.texts = {"before": Text(before), "after": Text(after)}
        self.names = dict(zip(("before", "after"), names))
        self.fallback = fallback

    def known(self, which, line):
        """The user's line that made an operation, or None."""
        frame = self.texts[which].own(line)
        return (frame.file, frame.line) if frame else None

    def constraint(self, value, moved):
        """Who asks for a reshard of a value of the text before, as of `of`."""
        extents = moved["type"].partition("[")[2].partition("]")[0]
        found = value and value["in"] == "before" and self.texts["before"].constraint_on(value["value"], extents, moved["to"])
        return "before", {"line": found} if found else None

    def of(self, *operations):
        """Of the first operation whose line is known; each is (which text, object with its line)."""
        for which, one in operations:
            found = one and self.known(which, one.get("line"))
            if found:
                return found
        if self.fallback:
            return self.fallback
        which, one = next(((which, one) for which, one in operations if one and one.get("line")), ("before", {"line": 1}))
        return self.names[which], one["line"]


def named(one, which):
    return f"{one['op']} {one['value']}" + (f" (line {one['line']} of the text {which})" if one.get("line") else "")


def mistake(verdict, places):
    """What a wrong verdict shows, at the line of the first value that is lost."""
    difference, lost, nearest = verdict.get("difference"), verdict.get("lost"), verdict.get("nearest")
    file, line = places.of(("before", lost), ("before", verdict.get("meant")), ("after", nearest), ("after", verdict.get("last")))
    words = []
    if lost:
        words.append(f"{named(lost, 'before')} is lost")
    if difference:
        with_integers = "".join(f", with {name.lstrip('%')} = {','.join(map(str, values))}" for name, values in difference["integers"].items())
        words.append(f"result {difference['result']} on device {difference['device']} at {difference['at']} is {difference['found']}, "
                     f"and should be {difference['expected']}{with_integers}")
    if nearest:
        words.append(f"nearest to the mistake is {named(nearest, 'after')}")
    if verdict.get("right_inside"):
        words.append("no difference was found with integers inside the extents that the program indexes")
    return Finding("wrong", "; ".join(words) or "the texts differ", file, line, op=lost and lost["op"], details={"difference": difference, "lost": lost, "nearest": nearest})


def undecided(verdict, places):
    which = verdict.get("text") or "before"
    file, line = places.of((which, {"line": verdict["line"]} if verdict.get("line") else None))
    return Finding("undecided", verdict.get("why") or "undecided", file, line)


def collective(one, places):
    file, line = places.of(("after", one))
    along = f" along {one['axes']}" if one.get("axes") else ""
    times = f", {one['times']} times" if one["times"] != 1 else ""
    return Finding("collective", f"{one['op']}{along}{times}: all devices receive {one['bytes']} bytes, one at most {one['most_bytes']}", file, line,
                   op=one["op"], bytes=one["bytes"], details={key: one.get(key) for key in ("times", "most_bytes", "cost", "axes", "groups", "pairs", "value")})


def listed(places):
    """The collectives that stand in the text after, where nobody knows what they carry: bytes are of what each makes on a device."""
    for number, line in enumerate(places.texts["after"].lines, 1):
        if not (match := COLLECTIVE.match(line)):
            continue
        value, kind, op = match.groups()
        size = sum(prod(map(int, filter(None, dims.split(",")))) * bits_of(element) for element, dims in ARRAY.findall(kind)) // 8
        file, place = places.of(("after", {"line": number}))
        yield Finding("collective", f"{op} makes {size} bytes on each device", file, place, op=op, bytes=None, details={"times": None, "made_bytes": size, "value": value})


def bits_of(element):
    """The names of types end with their bits; a truth value takes a byte."""
    return 8 if element == "pred" else int(re.search(r"\d+", element)[0])


def reshard(one, places):
    value = one.get("value")
    maker = value["in"] if value else "after", value
    # A constraint asks for it, or an operation that takes the array cut otherwise, whose line the last of the movement has, if not itself.
    asked = places.constraint(value, one)
    takers = [("after", {"line": number}) for number, *_ in places.texts["after"].users.get(one["last"]["value"], ())]
    file, line = places.of(asked, ("after", one["last"]), *takers, maker, ("after", one["first"]))
    made = next(filter(None, (places.known(which, each.get("line")) for which, each in (maker, ("after", one["first"])) if each)), None)
    elsewhere = made is not None and made != (file, line)
    words = f"{one['type']} {one['from']} to {one['to']}" + (f", made at {made[0]}:{made[1]}" if elsewhere else "")
    words += f": cost {one['cost']}, holds {one['height']} elements" + (", the whole array" if one["whole"] else "")
    if plan := one.get("plan"):
        words += f"; a plan costs {plan['cost']} and holds {plan['height']}: " + ", ".join(step.strip() for step in plan["steps"]) if one["saved"] else "; no plan is known to cost less"
    else:
        words += f"; {one.get('unplanned')}"
    return Finding("reshard", words, file, line, op="reshard", bytes=one["bytes"],
                   details={key: one.get(key) for key in ("type", "from", "to", "cost", "height", "whole", "saved", "times", "most_bytes", "plan", "unplanned", "first", "last", "value")} | {"made_at": made and f"{made[0]}:{made[1]}"})


def large(one, places, declared):
    file, line = places.of(("after", one))
    return Finding("large", f"{one['op']} {one['value']} holds {one['bytes']} bytes on each device; the largest tile that is declared has {declared}", file, line,
                   op=one["op"], bytes=one["bytes"], details={"type": one["type"], "value": one["value"]})


def memory_of(compiled):
    """What XLA says the program takes, in bytes for each device; nothing where the backend does not say it."""
    said = compiled.memory_analysis()
    names = {"arguments": "argument_size_in_bytes", "results": "output_size_in_bytes", "temporaries": "temp_size_in_bytes", "aliased": "alias_size_in_bytes"}
    return {name: getattr(said, key) for name, key in names.items() if getattr(said, key, None) is not None}


def check_texts(before: str | os.PathLike, after: str | os.PathLike, *, draws: int = 3, seed: int | None = None, timeout: float = 60, explain: bool = True,
                name: str = "module", fallback: tuple[str, int] | None = None, memory: dict | None = None, seconds: dict | None = None,
                counted: str = "after the pass") -> Report:
    """Compares two texts of one program, from before and after a pass, such as XLA's partitioner.

    Args:
      before: HLO or StableHLO, as text or as the path of a file.
      after: the same, from after the pass.
      draws: how often arguments are drawn.
      seed: by what; drawn itself where it is None.
      timeout: seconds for the comparison.
      explain: also what the text after the pass moves.
      name: how the report calls the program.
      fallback: (file, line) for findings whose operation has no line of the user's program. Without it the line of the text is told.
      memory: of the compiled program, for the report.
      seconds: of what was done before, for the report.
      counted: of which program the second text is, in words.

    Raises:
      Refused: a text cannot be read. A ValueError.

    >>> report = rtj.check(jnp.sin, array(8, 8, spec=("x",)), seed=1)
    >>> rtj.check_texts(report.before, report.after.replace("sine(", "cosine(")).answer
    'wrong'
    """
    begun = time.monotonic()
    names = [str(one) if isinstance(one, os.PathLike) else f"<{which}>" for one, which in ((before, "before"), (after, "after"))]
    before, after = (Path(one).read_text() if isinstance(one, os.PathLike) else one for one in (before, after))
    places = Places(before, after, names, fallback)
    try:
        validation = core.validate(before, after, draws=draws, seed=seed, explain=explain, timeout=timeout)
    except core.Undecided as limit:
        file, line = places.of()
        return Report("undecided", name, 0, findings=(Finding("undecided", limit.message, file, line),), counted=counted, memory=memory or {},
                      seconds={**(seconds or {}), "judge": round(time.monotonic() - begun, 3)}, before=before, after=after)
    verdict = validation.to_dict()
    findings = {"wrong": mistake, "undecided": undecided}
    made = findings.get(verdict["answer"])
    movement = verdict.get("movement") or {}
    declared = movement.get("declared_bytes")
    notes = list(verdict["notes"])
    if verdict["answer"] == "right" and MANUAL.search(before):
        notes.append("bodies of shard_map, as of reshard, stand in both texts: this says nothing of them")
    if verdict.get("unexplained"):
        notes.append(f"what the collectives carry is not known: {verdict['unexplained'].partition(';')[0]}")
    every = [reshard(one, places) for one in movement.get("reshards", [])]
    return Report(
        answer=verdict["answer"], name=name, devices=verdict["devices"], findings=(made(verdict, places),) if made else (),
        collectives=tuple(collective(one, places) for one in movement["collectives"]) if movement else tuple(listed(places)),
        reshards=tuple(every[k] for k in movement.get("by_saving", range(len(every)))),
        large=tuple(large(one, places, declared) for one in sorted(movement.get("large", []), key=lambda one: -one["bytes"])),
        counted=counted, memory=memory or {}, seconds={**(seconds or {}), "judge": round(time.monotonic() - begun, 3)}, notes=tuple(notes), validation=validation, before=before, after=after)


def check(function: Any, *args: Any, reference: str = "partitioner", draws: int = 3, seed: int | None = None, timeout: float = 60, explain: bool = True,
          **kwargs: Any) -> Report:
    """Says whether XLA's program for many devices computes what the function says.

    The program is compiled for these arguments, without any cache, and is not run. Its texts from before and after the partitioner are
    compared on numbers that are drawn.

    Args:
      function: a function, jitted or not; a callable pytree, such as a module of Equinox or Flax; or what `.trace` or `.lower` returned.
      args: arrays, `jax.ShapeDtypeStruct`s with shardings, and pytrees of them.
      reference: `"partitioner"` compares the texts around the partitioner. `"lowered"` compares what JAX lowered with the program that
        would run, Shardy and the optimiser included.
      draws: how often arguments are drawn.
      seed: by what; drawn itself where it is None.
      timeout: seconds for the comparison, without the compilation.
      explain: also say what the program moves.
      kwargs: of the function. One that bears a name from above has to be bound with `functools.partial`.

    Returns:
      A `Report`.

    Raises:
      Refused: a text cannot be read. A ValueError.
      Exception: what JAX raises for a program that it does not compile.

    >>> report = rtj.check(lambda a, b: jnp.tanh(a @ b), array(16, 64, spec=("data", "x")), array(64, 32, spec=("x",)), seed=1)
    >>> report.right, report.devices, [found.op for found in report.collectives]
    (True, 8, ['all-reduce'])
    """
    if reference not in REFERENCES:
        raise ValueError(f"reference is one of {', '.join(REFERENCES)}, not {reference!r}")
    fast = {"xla_backend_optimization_level": 0} if reference == "partitioner" else {}
    got = capture(function, args, kwargs, fast)
    seconds = {"lower": round(got.lower_seconds, 3), "compile": round(got.compile_seconds, 3)}
    memory = memory_of(got.compiled)
    if reference == "lowered":
        from pyretile.jax._lowered import lowered_text
        # `compiled.as_text()` leaves out the numbers of large constants.
        before, after = lowered_text(got.lowered, got.compiled), got.optimized or got.compiled.as_text()
    elif got.before is None:
        return Report("one device", got.name, 1, memory=memory, seconds=seconds)
    else:
        before, after = got.before, got.after
    return check_texts(before, after, draws=draws, seed=seed, timeout=timeout, explain=explain, name=got.name, fallback=origin(function),
                       memory=memory, seconds=seconds, counted=REFERENCES[reference])


def assert_right(function: Any, *args: Any, **kwargs: Any) -> Report:
    """As `check`, but for tests: it raises where the program is not right, and does not say what moves unless `explain=True`.

    Args:
      function: as of `check`.
      args: as of `check`.
      kwargs: those of `check`, and others of the function.

    Returns:
      The report of a right program.

    Raises:
      WrongProgram: the program is wrong. An AssertionError, with the file and the line.
      NotJudged: nobody knows: a limit was reached, or the program is for one device. An AssertionError.

    >>> rtj.assert_right(jax.grad(lambda a: jnp.sum(a * a)), array(16, 8, spec=("x",))).answer
    'right'
    """
    return check(function, *args, **{"explain": False, **kwargs}).raise_if_wrong()
