"""The core of the package, as far as this part of it needs it."""

import json
import os
import subprocess
from dataclasses import dataclass


class Refused(ValueError):
    def __init__(self, text):
        super().__init__(text)
        self.code, self.message, self.span, self.notes = "", text, None, []


class Told:
    def __init__(self, said):
        self.__dict__["said"] = said

    def to_dict(self):
        return self.said

    def __getattr__(self, name):
        if name == "right":
            return self.said["right"]
        if name == "exchange":
            return any(step["op"] == "exchange" for step in self.said["steps"])
        try:
            return self.said[name]
        except KeyError:
            raise AttributeError(name) from None


def _call(verb, *args, stdin=None, answers=(0,)):
    done = subprocess.run([os.environ.get("RETILE", "retile"), verb, "--json", *args], input=stdin, capture_output=True, text=True)
    if done.returncode not in answers:
        raise Refused(done.stderr or done.stdout)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _ends(src, dst, mesh, shape):
    return ["--mesh", mesh, "--shape", ",".join(map(str, shape)) or "1", src, dst]


def plan(src, dst, *, mesh=None, shape=None, dtype="f32", memory_limit=None, collectives=False):
    more = ["--dtype", dtype] + (["--memory-limit", str(memory_limit)] if memory_limit is not None else [])
    said = _call("plan", *more, *(["--collectives"] if collectives else []), *_ends(src, dst, mesh, shape), answers=(0, 1))[0]
    if "steps" not in said:
        raise Refused(json.dumps(said))
    return Told(said)


def lower(src, dst, *, mesh=None, shape=None, direct=False):
    return Told(_call("lower", *(["--direct"] if direct else []), *_ends(src, dst, mesh, shape))[0])


def check(program, *, timeout=60):
    return [Told(one) for one in _call("check", "--timeout", str(timeout), stdin=program, answers=(0, 1, 3))]
