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
from pyretile.jax._capture import capture, origin
from pyretile.jax._source import Text

COLLECTIVE = re.compile(r"^ +(?:ROOT )?(%?[\w.\-]+) = (.*?) (all-gather|all-reduce|all-to-all|ragged-all-to-all|collective-broadcast|collective-permute|reduce-scatter)(?:-start)?\(")
ARRAY = re.compile(r"\b(pred|[a-z]+\d+\w*)\[([\d,]*)\]")
REFERENCES = ("partitioner", "lowered")


def counted(number, thing):
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


@dataclass(frozen=True)
class Finding:
    """One thing that a report says of a program.

    `kind` is `wrong`, `undecided`, `reshard`, `collective` or `large`. `file` and `line` are those of the user's program; where the text does not
    say them, those of the function that was given, or else of the text itself.
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
        return f"{self.file}:{self.line}"

    @property
    def code(self):
        """The line itself, where the file is at hand; may be empty."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self):
        return f"{self.where}: {self.message}"

    def to_dict(self):
        return {"kind": self.kind, "message": self.message, "file": self.file, "line": self.line, "op": self.op, "bytes": self.bytes, **self.details}


@dataclass(frozen=True)
class Report:
    """What is known of a compiled program. True in a condition if that is right.

    `answer` is `right`, `wrong`, `undecided`, or `one device` where nothing was partitioned. `findings` are the mistake, or why nothing
    was decided. `collectives` and `reshards` (the costliest first) say what the program moves, and `large` which values are larger than any tile that it
    declares. Where that was not asked, or is too much to find out, `collectives` say what each makes on a device, and the others are empty. `memory` has what XLA says of the compiled program, in bytes for each device. `before` and `after` are the texts that were compared.
    `seconds` are those of lowering, compiling and judging.
    """

    answer: str
    name: str
    devices: int
    findings: tuple = ()
    collectives: tuple = ()
    reshards: tuple = ()
    large: tuple = ()
    memory: dict = field(default_factory=dict)
    seconds: dict = field(default_factory=dict)
    notes: tuple = ()
    validation: object = field(default=None, repr=False)
    before: str | None = field(default=None, repr=False)
    after: str | None = field(default=None, repr=False)

    @property
    def right(self):
        """True, False, or None where nothing is known."""
        return {"right": True, "wrong": False}.get(self.answer)

    def __bool__(self):
        return self.right is True

    def raise_if_wrong(self):
        """Hands itself back if the program is right.

        Raises:
          WrongProgram: it is wrong. An AssertionError.
          NotJudged: nobody knows. An AssertionError.
        """
        if self.answer == "wrong":
            raise WrongProgram(self)
        if self.answer != "right":
            raise NotJudged(self)
        return self

    def save(self, folder: str | os.PathLike) -> tuple[Path, Path]:
        """Writes the two texts that were compared, such as for `retile validate --shrink`, and returns their paths."""
        if self.before is None or self.after is None:
            raise ValueError("the program is for one device, so there are no texts")
        paths = tuple(Path(folder) / f"{self.name}.{which}" for which in ("before", "after"))
        for path, text in zip(paths, (self.before, self.after)):
            path.write_text(text)
        return paths

    def to_dict(self):
        lists = {name: [one.to_dict() for one in getattr(self, name)] for name in ("findings", "collectives", "reshards", "large")}
        return {"answer": self.answer, "name": self.name, "devices": self.devices, **lists, "memory": self.memory, "seconds": self.seconds,
                "notes": list(self.notes), "validation": self.validation.to_dict() if self.validation else None}

    def __str__(self):
        if self.answer == "one device":
            return f"{self.name}: one device: nothing is partitioned, so nothing was compared"
        lines = [f"{self.name}: {self.answer} on {counted(self.devices, 'device')}"]
        for one in self.findings:
            lines += [f"  {one}"] + ([f"    | {one.code}"] if one.code else [])
        if any(one.details["times"] is None for one in self.collectives):
            lines.append(f"  {counted(len(self.collectives), 'collective')}, the largest of which makes {max(one.details['made_bytes'] for one in self.collectives)} bytes on each device")
        elif self.collectives:
            total = sum(one.bytes * one.details["times"] for one in self.collectives)
            lines.append(f"  {counted(len(self.collectives), 'collective')}, by which all devices together receive {total} bytes")
        lines += [f"  {one}" for one in self.reshards if one.details["saved"]]
        lines += [f"  {one}" for one in self.large]
        if self.memory:
            lines.append("  memory of a device in bytes: " + ", ".join(f"{key} {value}" for key, value in self.memory.items()))
        return "\n".join([*lines, *(f"  {one}" for one in self.notes)])


class WrongProgram(AssertionError):
    """A compiled program does something else than its function says. `report` has the whole verdict."""

    def __init__(self, report):
        super().__init__(str(report))
        self.report = report


class NotJudged(AssertionError):
    """Nobody knows whether the program is right: a limit was reached, or nothing was partitioned. `report` says which."""

    def __init__(self, report):
        super().__init__(str(report))
        self.report = report


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
    file, line = places.of((value["in"] if value else "after", value), ("after", one["last"]), ("after", one["first"]))
    words = f"{one['type']} {one['from']} to {one['to']}: cost {one['cost']}, holds {one['height']} elements" + (", the whole array" if one["whole"] else "")
    if plan := one.get("plan"):
        words += f"; a plan costs {plan['cost']} and holds {plan['height']}: " + ", ".join(step.strip() for step in plan["steps"]) if one["saved"] else "; no plan is known to cost less"
    else:
        words += f"; {one.get('unplanned')}"
    return Finding("reshard", words, file, line, op="reshard", bytes=one["bytes"],
                   details={key: one.get(key) for key in ("type", "from", "to", "cost", "height", "whole", "saved", "times", "most_bytes", "plan", "unplanned", "first", "last", "value")})


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
                name: str = "module", fallback: tuple[str, int] | None = None, memory: dict | None = None, seconds: dict | None = None) -> Report:
    """Compares two texts of one program, from before and after a pass, such as XLA's partitioner.

    Args:
      before, after: HLO or StableHLO, as text or as the path of a file.
      draws: how often arguments are drawn.
      seed: by what; drawn itself where it is None.
      timeout: seconds for the comparison.
      explain: also what the text after the pass moves.
      name: how the report calls the program.
      fallback: (file, line) for findings whose operation has no line of the user's program. Without it the line of the text is told.
      memory, seconds: of the compiled program, for the report.

    Raises:
      Refused: a text cannot be read. A ValueError.
    """
    begun = time.monotonic()
    names = [str(one) if isinstance(one, os.PathLike) else f"<{which}>" for one, which in ((before, "before"), (after, "after"))]
    before, after = (Path(one).read_text() if isinstance(one, os.PathLike) else one for one in (before, after))
    places = Places(before, after, names, fallback)
    try:
        validation = core.validate(before, after, draws=draws, seed=seed, explain=explain, timeout=timeout)
    except core.Undecided as limit:
        file, line = places.of()
        return Report("undecided", name, 0, findings=(Finding("undecided", limit.message, file, line),), memory=memory or {},
                      seconds={**(seconds or {}), "judge": round(time.monotonic() - begun, 3)}, before=before, after=after)
    verdict = validation.to_dict()
    findings = {"wrong": mistake, "undecided": undecided}
    made = findings.get(verdict["answer"])
    movement = verdict.get("movement") or {}
    declared = movement.get("declared_bytes")
    notes = list(verdict["notes"])
    if verdict.get("unexplained"):
        notes.append(f"what the collectives carry is not known: {verdict['unexplained'].partition(';')[0]}")
    every = [reshard(one, places) for one in movement.get("reshards", [])]
    return Report(
        answer=verdict["answer"], name=name, devices=verdict["devices"], findings=(made(verdict, places),) if made else (),
        collectives=tuple(collective(one, places) for one in movement["collectives"]) if movement else tuple(listed(places)),
        reshards=tuple(every[k] for k in movement.get("by_saving", range(len(every)))),
        large=tuple(large(one, places, declared) for one in sorted(movement.get("large", []), key=lambda one: -one["bytes"])),
        memory=memory or {}, seconds={**(seconds or {}), "judge": round(time.monotonic() - begun, 3)}, notes=tuple(notes), validation=validation, before=before, after=after)


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

    Raises:
      Refused: a text cannot be read. A ValueError.
      Exception: what JAX raises for a program that it does not compile.
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
    return check_texts(before, after, draws=draws, seed=seed, timeout=timeout, explain=explain, name=got.name, fallback=origin(function), memory=memory, seconds=seconds)


def assert_right(function: Any, *args: Any, **kwargs: Any) -> Report:
    """As `check`, but for tests. Returns the report of a right program.

    Raises:
      WrongProgram: the program is wrong. An AssertionError, with the file and the line.
      NotJudged: nobody knows: a limit was reached, or the program is for one device. An AssertionError.
    """
    return check(function, *args, **{"explain": False, **kwargs}).raise_if_wrong()
