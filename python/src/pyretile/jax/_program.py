"""The core's functions by way of the program `retile`, until the extension module takes their place."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path


class Refused(ValueError):
    """What cannot be read, or not be said."""

    def __init__(self, code, message, source="", input="", span=(0, 0), notes=(), rendered=None):
        super().__init__(rendered or message)
        self.code, self.message, self.source, self.input, self.span, self.notes = code, message, source, input, span, notes


class Undecided(Refused):
    """A limit was reached before there was an answer."""


class Infeasible(Refused):
    """There is no plan within the limit."""

    def __init__(self, *arguments, smallest_feasible_bytes=None, **keywords):
        super().__init__(*arguments, **keywords)
        self.smallest_feasible_bytes = smallest_feasible_bytes


@dataclass(frozen=True)
class Result:
    """An object of `--json`; its fields are attributes."""

    fields: dict

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self):
        return self.fields

    @property
    def right(self):
        return {"right": True, "wrong": False}.get(self.fields.get("answer"))


def called(*words, stdin=None):
    done = subprocess.run([os.environ.get("RETILE", "retile"), *words], input=stdin, capture_output=True, text=True, check=False)
    if not done.stdout:
        first = done.stderr.partition("\n")[0]
        raise (Undecided if done.returncode == 3 else Refused)("", first, rendered=done.stderr or f"retile ended with exit code {done.returncode}")
    return done.stdout


def options(mesh=None, order=None, mesh_to=None, order_to=None, shape=None, **more):
    named = {"mesh": mesh, "order": order, "mesh-to": mesh_to, "order-to": order_to, **{key.replace("_", "-"): value for key, value in more.items()}}
    if shape is not None:
        named["shape"] = ",".join(map(str, shape))
    words = []
    for key, value in named.items():
        if value is True:
            words.append(f"--{key}")
        elif value is not None and value is not False:
            words += [f"--{key}", str(value)]
    return words


def plan(src, dst, *, memory_limit=None, dtype="f32", cost="paper", collectives=False, one_dim=False, **ends):
    words = options(**ends, memory_limit=memory_limit, dtype=dtype, cost=cost, collectives=collectives, one_dim=one_dim)
    return Result(json.loads(called("plan", "--json", *words, "--", src, dst)))


def lower(src, dst, *, direct=False, form="program", **ends):
    if form != "program":
        return called("lower", "--as", form, *options(**ends), "--", src, dst)
    return Result(json.loads(called("lower", "--json", *options(**ends, direct=direct), "--", src, dst)))


def validate(before, after, *, draws=3, seed=None, extents="auto", explain=False, timeout=60):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, text in (("before", before), ("after", after)):
            if isinstance(text, os.PathLike):
                paths.append(str(text))
                continue
            paths.append(str(Path(folder) / name))
            Path(paths[-1]).write_text(text)
        words = options(draws=draws, seed=seed, extents=extents, explain=explain, timeout=timeout)
        return Result(json.loads(called("validate", "--json", *words, *paths)))
