"""What a function asks to be moved, what XLA makes of it, and what would suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import NamedSharding

import pyretile as core
from pyretile.jax._capture import capture, origin
from pyretile.jax._check import REFERENCES, Finding, Report, check_texts, counted
from pyretile.jax._reshard import DTYPES, ends_of
from pyretile.jax._sharding import end_of
from pyretile.jax._source import Frame, own_of, until_ours


@dataclass(frozen=True)
class Explanation:
    """Reshards of a program.

    Attributes:
      asked: those that the function asks for: `with_sharding_constraint`, `reshard`, and shardings of a `jit` or `shard_map`, each a
        `Finding` with our plan where the sharding before it is known. On meshes of automatic axes it is known of arguments alone.
      made: those of the program after the partitioner, the one that could save most first.
      report: all that the program moves, as a `Report`.
    """

    asked: tuple
    made: tuple
    report: Report

    def to_dict(self):
        """Both lists as a dict."""
        return {"asked": [one.to_dict() for one in self.asked], "made": [one.to_dict() for one in self.made]}

    def __str__(self):
        lines = []
        for title, found in (("asked for", self.asked), (f"made, {self.report.counted}", self.made)):
            lines += [f"{counted(len(found), 'reshard')} {title}"] + [f"  {one}" for one in found]
        return "\n".join(lines)


def words_of(step):
    """A step of a plan in a few words."""
    if "from_dim" in step:
        where = f" dim {step['from_dim']} -> dim {step['to_dim']}"
    elif "from_dims" in step:
        where = f" dims {step['from_dims']} -> dims {step['to_dims']}"
    else:
        where = next((f" {key} {step[key]}" for key in ("dim", "dims") if key in step), "")
    return f"{step['op']}{where}"


class Walk:
    """Goes through a jaxpr with what is known of its values' shardings."""

    def __init__(self, fallback):
        self.asked, self.fallback = [], fallback

    def known(self, value, shardings):
        if not hasattr(value, "count") and not hasattr(value, "aval"):
            return None
        found = None if hasattr(value, "val") else shardings.get(value)
        explicit = getattr(value.aval, "sharding", None)
        if found is None and explicit is not None and explicit.mesh.shape and explicit.mesh.are_all_axes_explicit:
            return explicit
        return found

    def place(self, equation):
        traceback = equation.source_info.traceback
        frames = [Frame(one.file_name, one.line_num) for one in traceback.frames] if traceback else []
        frame = own_of(until_ours(frames))
        return (frame.file, frame.line) if frame and not frame.is_of_library else self.fallback

    def ask(self, place, kind, value, before, after):
        """Notes one reshard, if there is one."""
        if not isinstance(after, NamedSharding) or not hasattr(value.aval, "shape"):
            return
        shape, dtype = value.aval.shape, value.aval.dtype
        if before is not None and same(before, after, len(shape)):
            return
        type_words = f"{dtype.name}[{','.join(map(str, shape))}]"
        plan, why = planned(before, after, shape, dtype)
        words = f"{kind} of {type_words} to {after.spec}" if before is None else f"{kind} of {type_words} {before.spec} to {after.spec}"
        if plan:
            steps = ", ".join(map(words_of, plan["steps"])) or "nothing moves"
            words += f": a plan costs {plan['cost']} and holds {plan['height']} elements: {steps}"
        else:
            words += f": {why}"
        file, line = place
        self.asked.append(Finding("asked", words, file, line, op=kind, details={
            "type": type_words, "from": before and str(before.spec), "to": str(after.spec), "plan": plan, "why": why}))

    def run(self, jaxpr, shardings):
        for equation in jaxpr.eqns:
            self.equation(equation, shardings)

    def equation(self, equation, shardings):
        name, given = equation.primitive.name, equation.params
        before = [self.known(one, shardings) for one in equation.invars]
        inside = list(before)
        if name in ("sharding_constraint", "reshard", "mesh_cast"):
            after = given.get("sharding", given.get("dst_sharding"))
            self.ask(self.place(equation), name, equation.invars[0], before[0], after)
            shardings[equation.outvars[0]] = after
        elif name in ("jit", "pjit"):
            for k, after in enumerate(given["in_shardings"]):
                if isinstance(after, NamedSharding):
                    self.ask(self.place(equation), "jit", equation.invars[k], before[k], after)
                    inside[k] = after
            shardings.update({one: after for one, after in zip(equation.outvars, given["out_shardings"]) if isinstance(after, NamedSharding)})
        elif name == "shard_map":
            for k, spec in enumerate(given["in_specs"]):
                if before[k] is not None:
                    self.ask(self.place(equation), name, equation.invars[k], before[k], NamedSharding(given["mesh"], spec))
            shardings.update({one: NamedSharding(given["mesh"], spec) for one, spec in zip(equation.outvars, given["out_specs"])})
            return  # inside, values are tiles
        elif name == "retile_reshard":
            self.ask(self.place(equation), "pyretile.jax.reshard", equation.invars[0], given["src"], given["dst"])
            shardings[equation.outvars[0]] = given["dst"]
            return
        for inner in jaxprs_of(given):
            known = dict(zip(inner.invars, inside)) if name in ("jit", "pjit") else {}
            self.run(inner, {one: sharding for one, sharding in known.items() if sharding is not None})


def jaxprs_of(params):
    """The jaxprs among the parameters of an equation."""
    for one in params.values():
        for value in one if isinstance(one, (tuple, list)) else (one,):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield inner


def same(one, other, rank):
    try:
        return end_of(one, rank) == end_of(other, rank)
    except ValueError:
        return False


def planned(before, after, shape, dtype):
    """(a plan, None), or (None, why there is none)."""
    if before is None:
        return None, "the sharding before it is left to the compiler"
    try:
        start, end = end_of(before, len(shape)), end_of(after, len(shape))
        return core.plan(start.text(shape), end.text(shape), dtype=DTYPES.get(dtype.itemsize, "f32"), **ends_of(start, end, None)).to_dict(), None
    except ValueError as problem:
        return None, str(problem)


def shardings_of_jit(traced, jaxpr):
    """(the shardings that the outermost `jit` says for arguments, those for results), as pairs with the jaxpr's values. JAX keeps them at
    no public place, so a release that keeps them elsewhere says none."""
    params = getattr(traced, "_params", None) or {}
    listed = []
    for name, values in (("in_shardings", jaxpr.invars), ("out_shardings", jaxpr.outvars)):
        said = params.get(name) or ()
        listed.append([pair for pair in zip(values, said) if isinstance(pair[1], NamedSharding)] if len(said) == len(values) else [])
    return listed


def explain(function: Any, *args: Any, timeout: float = 60, **kwargs: Any) -> Explanation:
    """Lists the reshards of a function: those that it asks for, and those that XLA's program does.

    The function is traced and compiled, and not run.

    Args:
      function: a function, jitted or not.
      args: as of `check`.
      timeout: seconds for finding what the program moves.
      kwargs: as of `check`.

    Returns:
      An Explanation; a program on one device makes no reshards.

    >>> rows = array(16, 64, spec=("x",))
    >>> said = rtj.explain(lambda a: jax.lax.with_sharding_constraint(a, NamedSharding(mesh, P(None, "x"))), rows)
    >>> [found.details["plan"]["cost"] for found in said.asked], [found.details["cost"] for found in said.made]
    ([256], [256])
    """
    fallback = origin(function) or ("<function>", 0)
    traced = function.trace(*args, **kwargs) if hasattr(function, "trace") else jax.jit(lambda *args, **kwargs: function(*args, **kwargs)).trace(*args, **kwargs)
    walk = Walk(fallback)
    leaves = jax.tree_util.tree_leaves((args, kwargs))
    jaxpr = traced.jaxpr.jaxpr
    shardings = {}
    if len(leaves) == len(jaxpr.invars):
        shardings = {value: one.sharding for value, one in zip(jaxpr.invars, leaves) if isinstance(getattr(one, "sharding", None), NamedSharding)}
    given, wanted = shardings_of_jit(traced, jaxpr)
    shardings |= {value: one for value, one in given if value not in shardings}
    walk.run(jaxpr, shardings)
    for value, after in wanted:
        walk.ask(fallback, "out_shardings", value, walk.known(value, shardings), after)
    got = capture(traced, (), {}, {"xla_backend_optimization_level": 0})
    if got.before is None:
        return Explanation(tuple(walk.asked), (), Report("one device", got.name, 1, counted=REFERENCES["partitioner"]))
    report = check_texts(got.before, got.after, draws=1, timeout=timeout, name=got.name, fallback=fallback, counted=REFERENCES["partitioner"])
    return Explanation(tuple(walk.asked), report.reshards, report)
