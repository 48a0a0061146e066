"""Plans, Programs, verdicts and explanations: what the program `retile` does, in this process."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _retile
from ._ends import End, _refused, _whole, bytes_words, dtype_words, options_of, text_or_path
from ._errors import Infeasible, raised
from ._results import Explanation, ManyPlan, NetworkPlan, Plan, Program, RankPart, Validation, Verdict

_MEMORY = 2 << 30
_NO, _UNDECIDED = 1, 3  # exit codes of the command

Options = list[tuple[str, str]]


def _call(verb: str, options: Options, texts: Options = (), timeout: int | None = None,
          memory: int = _MEMORY) -> tuple[int, str, list[str]]:
    """(exit code, output, the same as texts of verbs that judge); what keeps the program from an answer is raised."""
    if timeout is not None:
        timeout = _seconds(timeout)
    exit_code, out, answers, problems = _of_extension(_retile.call, verb, options, texts, timeout, memory)
    if problems and not out:
        raise raised(problems[0], undecided=exit_code == _UNDECIDED)
    return exit_code, out, answers


def _seconds(timeout: Any) -> int:
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout > 0:  # which NaN is not
        return max(1, int(min(timeout, 1_000_000)))
    raise _refused("timeout", timeout, "no number of seconds above 0", "None is without a limit")


def _of_extension(function, *arguments):
    """What a function of the extension gives. It takes texts that are UTF-8."""
    try:
        return function(*arguments)
    except TypeError:
        pairs = [pair for argument in arguments if isinstance(argument, list) for pair in argument]
        for name, value in pairs:
            if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
                raise _refused(name, value, "no text, or one with half of a surrogate pair") from None
        raise


def _text_of(verb: str, options: Options, texts: Options = (), timeout: int | None = None):
    return lambda: _call(verb, options, texts, timeout)[1].rstrip("\n")


def _words_of(verb: str, options: Options) -> str:
    return _call(verb, options)[1].rstrip("\n")


def _feasible(data: dict) -> dict:
    if data.get("feasible", True):
        return data
    least = data.get("smallest_feasible_bytes")
    message = data.get("reason")
    if message is None:
        message = f"no plan within {data['limit_bytes']} bytes per device"
        message += f"; the least that suffices is {least}" if least is not None else ""
    raise Infeasible("infeasible", message, smallest_feasible_bytes=least)


def _planning(memory_limit: int | str | None, cost: str, collectives: bool, one_dim: bool) -> Options:
    """Which plan is wanted."""
    out = [("--memory-limit", bytes_words(memory_limit))] if memory_limit is not None else []
    out += [("--cost", str(cost))] if cost != "paper" else []
    return out + [(f"--{name}", "") for name, wanted in (("collectives", collectives), ("one-dim", one_dim)) if wanted]


def _network(network: Any) -> tuple[Options, Options]:
    """The option, and the text of a file that it names."""
    if network is None:
        return [], []
    if isinstance(network, str) and ":" in network and "\n" not in network:
        return [("--network", network)], []
    name, texts = text_or_path(json.dumps(network) if isinstance(network, dict) else network, "network")
    return [("--network", name)], texts


def plan(src: Any, dst: Any, *, mesh: Any = None, order: Any = None, mesh_to: Any = None, order_to: Any = None,
         shape: Any = None, dtype: Any = "f32", memory_limit: int | str | None = None, cost: str = "paper",
         collectives: bool = False, one_dim: bool = False, network: Any = None) -> Plan | NetworkPlan:
    """The cheapest sequence of collectives that turns one tiling into another, and what is proved of it.

    Args:
      src: the tiling at the start: a text in any notation, such as ``"[3{x}12, 2{y}12]"``,
        ``"P('x', None)"`` or ``"[Shard(0), Replicate()]"``; a ``NamedSharding`` or ``PartitionSpec`` of JAX;
        placements of PyTorch; or an array of one of these that has them.
      dst: the tiling at the end, likewise.
      mesh: the axes with their sizes, ``"x:4,y:6"`` or ``{"x": 4, "y": 6}``, or a mesh of JAX or PyTorch. Not
        needed where an end says it.
      order: the device at each position of the mesh.
      mesh_to, order_to: those at the end, where they are others.
      shape: the global shape, where no end says it.
      dtype: the type of the elements, for ``memory_limit``, ``cost="bytes"`` and ``network``.
      memory_limit: the most bytes per device that tiles before and after a step take together: a number,
        or a text such as ``"80GB"``.
      cost: ``"paper"``, elements per device, or ``"bytes"``, bytes received from others.
      collectives: no exchange, also where that takes larger tiles than the ends.
      one_dim: only steps along one dimension each, as in the paper.
      network: links, for the plan that takes the least time: ``"dp:50GB/s:15us, *:450GB/s:5us"``, a dict as of JSON, or a
        path (``pathlib.Path``) to a file with them (docs/reference/network.md).

    Returns:
      A ``Plan``; with ``network`` a ``NetworkPlan``.

    Raises:
      Refused: an argument cannot be read; ``str()`` has a caret below the place.
      Infeasible: no plan is within the limit; ``smallest_feasible_bytes`` says what suffices.
      Undecided: a limit was reached before there was a plan.

    >>> import pyretile as rt
    >>> print(rt.plan("[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]", mesh="x:4,y:6"))
    alltoall y/3 of 6: dim 1 -> dim 0  tile [1, 6]  cost 6
    allpermute                         tile [1, 6]  cost 6
    alltoall x/2 of 4: dim 0 -> dim 1  tile [2, 3]  cost 6
    cost 18, height 6 (bound 6)
    optimal among collectives along one dimension each
    """
    options = options_of(src, dst, mesh=mesh, order=order, mesh_to=mesh_to, order_to=order_to, shape=shape)
    if dtype != "f32":
        options.append(("--dtype", dtype_words(dtype)))
    links, texts = _network(network)
    options += _planning(memory_limit, cost, collectives, one_dim) + links
    exit_code, out, _ = _call("plan", [*options, ("--json", "")], texts)
    if exit_code == _NO:
        _feasible(json.loads(out))
    if not links:
        return Plan._later(out, options)
    return NetworkPlan._made(json.loads(out), _text_of("plan", options, texts), _options=tuple(options), _texts=tuple(texts))


_KEYS = {"FROM": "from", "TO": "to", "--mesh": "mesh", "--order": "order", "--mesh-to": "mesh_to", "--order-to": "order_to"}


def _line_of(name: Any, ends: Any, dtype: Any) -> str:
    """An array as a line of a file of many."""
    try:
        src, dst = ends
    except (TypeError, ValueError):
        raise _refused("arrays", ends, f"not both ends of {name!r}", "write {'w': (src, dst)}") from None
    start = End(src, "src")
    said = options_of(start, dst, mesh=None, order=None, mesh_to=None, order_to=None, shape=None)
    kind = getattr(src, "dtype", None) if dtype is None else None
    return _line_said(name, said, kind if kind is None else dtype_words(kind))


def _line_said(name: Any, said: Options, dtype: str | None) -> str:
    """The line of an array whose ends are options."""
    line: dict[str, Any] = {"name": str(name)} | {_KEYS[key]: value for key, value in said if key in _KEYS}
    shape = dict(said).get("--shape")
    if shape is not None:
        line["shape"] = [int(one) for one in shape.strip("[]").split(",") if one]
    return json.dumps(line if dtype is None else line | {"dtype": dtype})


def plan_many(arrays: Any, *, mesh: Any = None, order: Any = None, mesh_to: Any = None, order_to: Any = None,
              dtype: Any = None, memory_limit: int | str | None = None, cost: str = "paper", collectives: bool = False,
              one_dim: bool = False, node: int | None = None, network: Any = None, timeout: float | None = 60) -> ManyPlan:
    """Plans of all arrays of a model, and what every device holds, receives and sends.

    Args:
      arrays: the name of each with both ends, ``{"w": (src, dst)}``, of which each is as of ``plan``; or lines of JSON
        (docs/reference/many.md), a text or a path (``pathlib.Path``).
      mesh, order, mesh_to, order_to, dtype: those of all arrays, where they do not say them.
      memory_limit: the most bytes per device that all arrays together take, for which they go in rounds.
      cost, collectives, one_dim, network: as of ``plan``.
      node: of how many devices with successive numbers a node is.
      timeout: whole seconds, from 1 on, until it is undecided.

    Raises:
      Refused: an argument cannot be read.
      Infeasible: an array has no plan, or no order of all is within the limit; ``smallest_feasible_bytes`` says what suffices.
      Undecided: a limit was reached before there was an answer.

    >>> import pyretile as rt
    >>> many = rt.plan_many({name: ("[2{x}4, 8]", "[4, 4{x}8]") for name in ("a", "b")}, mesh="x:2")
    >>> many.total["received_bytes"]["most"], many.for_rank(1).kinds[0]["steps"][0]["sends"]
    (64, [[0, 1, 2, 0, 0, 0, 2, 4]])
    """
    if hasattr(arrays, "items"):
        arrays = "\n".join(_line_of(name, ends, dtype) for name, ends in arrays.items())
    name, texts = text_or_path(arrays, "arrays")
    given = options_of("", None, mesh=mesh, order=order, mesh_to=mesh_to, order_to=order_to, shape=None)
    options: Options = [("--many", name), *(one for one in given if one[0] != "FROM")]
    options += [("--dtype", dtype_words(dtype))] if dtype is not None else []
    options += _planning(memory_limit, cost, collectives, one_dim)
    options += [("--node", _whole_word(node, "node"))] if node is not None else []
    links, more = _network(network)
    options += links
    texts = [*texts, *more]
    _, out, _ = _call("plan", [*options, ("--json", "")], texts, timeout)
    return ManyPlan._made(_feasible(json.loads(out)), _text_of("plan", options, texts, timeout), _options=tuple(options), _texts=tuple(texts))


def _part(options: tuple, texts: tuple, rank: Any) -> RankPart:
    said = [*options, ("--rank", _whole_word(rank, "rank"))]
    _, out, _ = _call("lower", [*said, ("--json", "")], list(texts))
    return RankPart._made(json.loads(out), _text_of("lower", said, list(texts)))


def _part_of_program(program: Program, rank: Any) -> RankPart:
    """By the same plan, as that of one array among many."""
    options, texts = program._options, program._texts
    names = dict(options)
    if "--direct" in names or not options:
        raise _refused("rank", rank, "a Program that follows no plan has no parts", "lower() without direct makes one that does")
    line = _line_said("array", list(options), names.get("--dtype"))
    planning = [one for one in options if one[0] not in _KEYS and one[0] not in ("--shape", "--dtype")]
    part = _part((("--many", "array"), *planning), (("array", line), *texts), rank)
    made, said = ([step["op"] for step in steps] for steps in (part.kinds[0]["steps"], program.steps))
    if made != said:
        raise _refused("rank", rank, f"the part has steps {', '.join(made)}, and the Program has {', '.join(said)}")
    return part


def _whole_word(value: Any, name: str) -> str:
    try:
        return _whole(value)
    except TypeError:
        raise _refused(name, value, "no whole number") from None


# Options of plans that say which plan it is, and so are those of its Program.
_LOWER_OPTIONS = {"FROM", "TO", "--mesh", "--order", "--mesh-to", "--order-to", "--shape", "--collectives", "--one-dim", "--cost",
                  "--memory-limit", "--direct", "--network"}
_IN_BYTES = {"--cost", "--memory-limit", "--network"}


def _lower(options: Options, *, form: str, texts: Options = ()) -> Program | str:
    said = [(name, value) for name, value in options if name in _LOWER_OPTIONS]
    if form != "program" or any(name in _IN_BYTES for name, _ in said):
        said += [(name, value) for name, value in options if name == "--dtype"]
    if form == "program":
        _, out, _ = _call("lower", [*said, ("--json", "")], texts)
        return Program._made(_feasible(json.loads(out)), _text_of("lower", said, texts), _options=tuple(said), _texts=tuple(texts))
    said.append(("--as", form))
    exit_code, out, _ = _call("lower", said, texts)
    if exit_code == _NO:
        raise Infeasible("infeasible", out.strip())
    return out


def lower(src: Any, dst: Any = None, *, mesh: Any = None, order: Any = None, mesh_to: Any = None,
          order_to: Any = None, shape: Any = None, direct: bool = False, form: str = "program", dtype: Any = None,
          memory_limit: int | str | None = None, cost: str = "paper", collectives: bool = False,
          one_dim: bool = False, network: Any = None) -> Program | str:
    """A plan as a Program, step by step for every device, or in another system's text.

    Args:
      src, dst, mesh, order, mesh_to, order_to, shape, memory_limit, cost, collectives, one_dim, network: as of ``plan``.
        ``src`` may be a plan in the place of all of these.
      direct: no plan: one exchange that moves every element straight to its new tile.
      form: ``"program"``, or ``"sdy"``, ``"stablehlo"``, ``"hlo"``, ``"mlir19"``, ``"mlir22"``, ``"jax"``, ``"mpi-c"``.
      dtype: the type of the elements, for ``memory_limit``, ``cost`` and ``network``, and in those forms that say it.

    Returns:
      A ``Program``; with another form its text.

    Raises:
      Refused: an argument cannot be read, or the form cannot say the plan.
      Infeasible: no plan is within the limit, or collectives alone do not reach the end.
      Undecided: a limit was reached before there was a plan.
    """
    if isinstance(src, (Plan, NetworkPlan)):
        beside = {"dst": dst, "mesh": mesh, "order": order, "mesh_to": mesh_to, "order_to": order_to, "shape": shape,
                  "memory_limit": memory_limit, "cost": None if cost == "paper" else cost, "collectives": collectives or None,
                  "one_dim": one_dim or None, "network": network}
        for name, value in beside.items():
            if value is not None:
                raise _refused(name, value, "a plan says that itself")
        options, texts = list(src._options), getattr(src, "_texts", ())
    else:
        if dst is None:
            raise _refused("dst", dst, "the end is missing")
        options = options_of(src, dst, mesh=mesh, order=order, mesh_to=mesh_to, order_to=order_to, shape=shape)
        links, texts = _network(network)
        options += _planning(memory_limit, cost, collectives, one_dim) + links
    if direct:
        options.append(("--direct", ""))
    if dtype is not None:
        options = [one for one in options if one[0] != "--dtype"] + [("--dtype", dtype_words(dtype))]
    return _lower(options, form=form, texts=list(texts))


def check(program: Any, *, src: Any = None, dst: Any = None, mesh: Any = None, shape: Any = None,
          timeout: float | None = 60) -> list[Verdict]:
    """Replays sequences, and says whether every device ends with the elements that it must have.

    Args:
      program: Programs, modules of HLO, StableHLO, Shardy or MLIR, or traces of DTensor: a text; a path
        (``pathlib.Path``); or what ``lower`` made.
      src, dst, mesh, shape: the ends of a module that does not say them itself, as of ``plan``.
      timeout: whole seconds, from 1 on, until it is undecided.

    Returns:
      A verdict for every Program or function, in their order.

    Raises:
      Refused: the text cannot be read.
      Undecided: a limit was reached before there was a verdict.

    >>> import pyretile as rt
    >>> bool(rt.check(rt.lower("[3{x}12, 12]", "[12, 3{x}12]", mesh="x:4"))[0])
    True
    """
    name, texts = text_or_path(program, "program")
    options: Options = [("PROGRAM", name)]
    if src is not None or dst is not None or mesh is not None or shape is not None:
        options += _ends_of_module(src, dst, mesh, shape)
    return [Verdict._made(one, text) for one, text in _answers("check", options, texts, timeout)]


def _answers(verb: str, options: Options, texts: Options, timeout: float | None) -> list[tuple[dict, str]]:
    """Each answer as an object and as a text."""
    _, out, answers = _call(verb, [*options, ("--json", "")], texts, timeout)
    return [(json.loads(line), text.rstrip("\n")) for line, text in zip(out.splitlines(), answers, strict=True)]


def _ends_of_module(src: Any, dst: Any, mesh: Any, shape: Any) -> Options:
    given = options_of(src if src is not None else "", dst, mesh=mesh, order=None, mesh_to=None, order_to=None,
                       shape=shape)
    names = {"FROM": "--from", "TO": "--to"}
    return [(names.get(name, name), value) for name, value in given if value]


def validate(before: Any, after: Any, *, draws: int = 3, seed: int | None = None, extents: str = "auto",
             explain: bool = False, timeout: float | None = 60) -> Validation:
    """Whether a pass changed what a whole program computes, on drawn arguments.

    Args:
      before, after: the texts before and after the pass, in HLO or StableHLO: texts, or paths (``pathlib.Path``).
      draws: at least so many draws.
      seed: what they are drawn by; drawn itself where it is None.
      extents: ``"full"`` as they are, ``"reduced"`` where nothing can tell, ``"auto"``.
      explain: also what the text after the pass moves: its reshards beside plans, large values, collectives.
      timeout: whole seconds, from 1 on, until it is undecided.

    Raises:
      Refused: a text cannot be read.
      Undecided: a limit was reached before there was a verdict.
    """
    first, texts = text_or_path(before, "before")
    second, more = text_or_path(after, "after")
    options: Options = [("BEFORE", first), ("AFTER", second), ("--draws", str(draws)), ("--extents", extents)]
    if seed is not None:
        options.append(("--seed", str(seed)))
    if explain:
        options.append(("--explain", ""))
    ((data, text),) = _answers("validate", options, texts + more, timeout)
    right = {"right": True, "wrong": False}.get(data["answer"])
    return Validation(data, text, right, data["answer"])


def explain(src: Any, dst: Any = None, *, mesh: Any = None, order: Any = None, mesh_to: Any = None,
            order_to: Any = None, shape: Any = None, form: str | None = None,
            timeout: float | None = 60) -> list[Explanation]:
    """What another system holds and moves for a reshard, what suffices, and the plan in its own form.

    Args:
      src: with ``dst`` one end, as of ``plan``. Alone: XLA's or PyTorch's warning, a log that has such warnings,
        or a text that ``check`` reads; a path (``pathlib.Path``) is the file of one.
      form: the form of the plan, as of ``lower``; by default that of the notation that was read.

    Returns:
      An explanation for every reshard.

    Raises:
      Refused: an argument or text cannot be read.
      Undecided: a limit was reached before there was an answer.
    """
    texts: Options = []
    if dst is None:
        name, texts = text_or_path(src, "text")
        options: Options = [("FROM", name)]
        if mesh is not None or shape is not None or order is not None:
            options += [one for one in options_of("", None, mesh=mesh, order=order, mesh_to=mesh_to,
                                                  order_to=order_to, shape=shape) if one[0] != "FROM"]
    else:
        options = options_of(src, dst, mesh=mesh, order=order, mesh_to=mesh_to, order_to=order_to, shape=shape)
    if form is not None:
        options.append(("--as", form))
    return [Explanation(one, text, one["peer"], one["plan"], tuple(one["notes"]), one["as"], one["text"])
            for one, text in _answers("explain", options, texts, timeout)]


def convert(sharding: Any, to: str, *, mesh: Any = None, order: Any = None, shape: Any = None) -> str:
    """A sharding as another system writes it: ``jax``, ``hlo1``, ``hlo2``, ``hlo3``, ``sdy``, ``dtensor``, ``mlir19``,
    ``mlir22`` or ``paper``. With ``program`` a text, or a path, of what another system compiled, as the program that is judged.

    Raises:
      Refused: the sharding or text cannot be read, or the form cannot say it.
      Undecided: a limit was reached before there was an answer.

    >>> import pyretile as rt
    >>> rt.convert("P('x', None)", "hlo2", mesh="x:4", shape=(16, 8))
    '{devices=[4,1]<=[4]}'
    """
    texts: Options = []
    if to == "program":
        sharding, texts = text_or_path(sharding, "text")
    options = options_of(sharding, None, mesh=mesh, order=order, mesh_to=None, order_to=None, shape=shape)
    return _call("convert", [*options, ("--as", to)], texts)[1].rstrip("\n")


def boxes(sharding: Any, *, mesh: Any = None, order: Any = None, shape: Any = None):
    """What every device holds: begin and end along each dimension.

    Returns:
      int64 of shape [devices, rank, 2]: an array of NumPy; nested lists where NumPy is not installed.

    Raises:
      Refused: the sharding cannot be read, or deals out blocks, so that a device holds several boxes.

    >>> import pyretile as rt
    >>> rt.boxes("[2{x}4, 3]", mesh="x:2").tolist()
    [[[0, 2], [0, 3]], [[2, 4], [0, 3]]]
    """
    options = options_of(sharding, None, mesh=mesh, order=order, mesh_to=None, order_to=None, shape=shape)
    problem, devices, rank, numbers = _of_extension(_retile.boxes, options)
    if problem is not None:
        raise raised(problem)
    try:
        import numpy
    except ImportError:
        flat = memoryview(numbers).cast("q").tolist()
        return [[flat[2 * (d * rank + i):2 * (d * rank + i) + 2] for i in range(rank)] for d in range(devices)]
    return numpy.frombuffer(numbers, numpy.int64).reshape(devices, rank, 2).copy()


def partition(statements: Any, *, schedule: str | None = None, choose: bool = False, devices: int | None = None,
              memory_limit: int | str | None = None, dtype: Any = None, network: Any = None) -> str:
    """Statements on arrays (``retile.array/1``) cut among devices: a module, ``retile.spmd/1``, as a text.

    Args:
      statements: a text, or a path (``pathlib.Path``).
      schedule: into how many pieces the variables of each statement are cut, ``"h=i:2,j:2;y=i:2,k:2"``, in the place of what the
        statements say.
      choose: the schedule is looked for that moves fewest elements, or with ``network`` takes the least time. Comments
        above the module say what it costs.
      devices: of how many devices the chosen schedule is.
      memory_limit: the most bytes per device of the inputs of all statements, as of ``plan``.
      dtype: the type of the elements, for ``memory_limit`` and ``network``.
      network: links, as of ``plan``.

    Raises:
      Refused: an argument cannot be read, or no module says the statements.
      Infeasible: no schedule is within the limit.
      Undecided: there are more candidates than are looked at.

    >>> import pyretile as rt
    >>> text = "retile.array/1\\narray x[8,4]\\ns[i] += x[i,k]\\nreturn s\\n"
    >>> print(rt.partition(text, schedule="s=i:4").splitlines()[2])
    fn main(x : [2{i}8, 4]) -> [2{i}8]
    """
    name, texts = text_or_path(statements, "statements")
    options: Options = [("FILE", name)]
    if schedule is not None:
        options.append(("--schedule", schedule))
    options += [("--choose", "")] if choose else []
    options += [("--devices", _whole_word(devices, "devices"))] if devices is not None else []
    if memory_limit is not None:
        options.append(("--memory-limit", bytes_words(memory_limit)))
    options += [("--dtype", dtype_words(dtype))] if dtype is not None else []
    links, more = _network(network)
    exit_code, out, _ = _call("partition", options + links, [*texts, *more])
    if exit_code == _NO:
        raise Infeasible("infeasible", out.strip() or "no schedule is within the limit")
    return out


def _picture(options: tuple) -> str:
    import tempfile  # which takes longer to import than all of this package

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.svg")
        _call("plan", [*options, ("--svg", path)])
        with open(path, encoding="utf-8") as picture:
            return picture.read()
