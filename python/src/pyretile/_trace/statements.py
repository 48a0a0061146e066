"""What tracing hands back: statements, their module, and its run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .._core import partition
from .._ends import _refused
from .._errors import Infeasible, Refused, Undecided, Wrong

_PARAMETERS = re.compile(r"^fn main\((.*)\) -> ", re.MULTILINE)
_PARAMETER = re.compile(r"(?:^|, )([A-Za-z_][\w.\-]*) : ")
_TYPES = ("float32", "float64", "int32", "int64")
_NO, _UNDECIDED = 1, 3  # exit codes of the command


class Input(NamedTuple):
    """An array that statements read: its name and shape."""

    name: str
    shape: tuple[int, ...]


class Ran(NamedTuple):
    """A run that is not right: what ``Wrong`` has as its verdict."""

    text: str
    right: bool = False


@dataclass(frozen=True, eq=False)
class Statements:
    """What a function computes, as statements on arrays.

    Attributes:
      function: the name of the function.
      text: the statements, ``retile.array/1``. The array that is returned is written without dimensions of 1, which ``run`` puts back.
      inputs: name and shape of each argument, in order.
      shape: that of what the function hands back.
      floating: whether the result is floating where all arguments are integers.
      constants: arrays that the function has from elsewhere, by the names of their inputs.
      ranges: extents of inputs of which only the extent counts.
    """

    function: str
    text: str
    inputs: tuple[Input, ...]
    shape: tuple[int, ...]
    floating: bool
    constants: dict[str, Any] = field(repr=False)
    ranges: dict[str, int] = field(repr=False)
    _longest: dict[str, str] = field(repr=False)
    _indices: frozenset[str] = field(default=frozenset(), repr=False)  # inputs that are arrays of indices

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def partition(self, schedule: str | None = None, *, choose: bool = False, devices: int | None = None,
                  memory_limit: int | str | None = None, dtype: Any = None, network: Any = None) -> str:
        """The statements cut among devices: a module, ``retile.spmd/1``, as of ``pyretile.partition``.

        >>> import numpy as np, pyretile as rt
        >>> product = rt.trace(lambda a, b: a @ b, (7, 5), (5, 6))
        >>> rt.check(product.partition("out=i:2,k:2"))[0].right
        True
        """
        return partition(self.text, schedule=schedule, choose=choose, devices=devices, memory_limit=memory_limit, dtype=dtype, network=network)

    def run(self, how: str | None, *arrays: Any, processes: int = 4, retile: str | os.PathLike | None = None,
            timeout: float | None = None) -> Any:
        """Runs the module on MPI processes, on these arrays, and compares every element with what the statements denote.

        Args:
          how: a module, ``retile.spmd/1``; or a schedule, such as ``"out=i:2,k:2"``; or None, for the one that moves fewest elements. Where
            none is found, the longest variable that each statement writes at is cut.
          arrays: one for each input, of its shape. They are taken as the type that NumPy gives all of them together, which must be
            float32, float64, int32 or int64; integers are taken as float64 where the function divides or has numbers with a point.
          processes: how many, one for each device of the module.
          retile: the program with MPI; by default ``$RETILE``, or the first one with MPI on ``PATH``.
          timeout: seconds until the processes are ended; None: as long as it takes.

        Returns:
          What the module returns, as an array of NumPy in that type.

        Raises:
          Refused: arrays do not fit, there is no program with MPI, or it refuses the module.
          Undecided: the time was up, or values take more memory than a comparison may.
          Wrong: an element is off by more than rounding, a bound that the program works out for each; an ``AssertionError``.
        """
        return self._run(how, arrays, processes, retile, timeout)[0]

    def _run(self, how: str | None, arrays: Sequence[Any], processes: int, retile: Any = None,
             timeout: float | None = None) -> tuple[Any, dict[str, Any]]:
        """The array, and what the program reports (docs/reference/json.md, ``retile.module-run/1``)."""
        import numpy

        values = self._values(arrays)
        module = self._module(how, processes)
        program = program_with_mpi(retile)
        with tempfile.TemporaryDirectory(prefix="pyretile-") as folder:
            place = Path(folder)
            (place / "in").mkdir()
            for name in _PARAMETER.findall(_PARAMETERS.search(module)[1] if _PARAMETERS.search(module) else ""):
                if name not in values:
                    raise _refused("how", name, f"{self.function}: a parameter of the module is no input of the statements")
                numpy.save(place / "in" / f"{name}.npy", values[name])
            (place / "module.spmd").write_text(module, encoding="utf-8")
            command = [program, "run", "module.spmd", "--input", "in/{}.npy", "--output", "out.npy", "-n", str(processes), "--json"]
            report = self._report(command, place, timeout)
            return numpy.load(place / "out.npy").reshape(self.shape), report

    def _report(self, command: list[str], place: Path, timeout: float | None) -> dict[str, Any]:
        with subprocess.Popen(command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            try:
                out, problems = running.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                running.terminate()  # by which the program ends its processes
                running.communicate()
                raise Undecided("limit_reached", f"{self.function}: the processes took longer than {timeout} s") from None
            except BaseException:
                running.terminate()
                raise
        if running.returncode == 0:
            return json.loads(out)
        if running.returncode == _NO and out:
            found = json.loads(out)["difference"]
            raise Wrong(Ran(f"{self.function}: device {found['device']} holds {found['found']} at element {found['element']}, and the statements "
                            f"denote {found['expected']}"))
        words = problems.strip() or f"it ended with {running.returncode}"
        message = f"{self.function}: retile run: {words.splitlines()[0].removeprefix('error: ')}"
        kind, code = (Undecided, "limit_reached") if running.returncode == _UNDECIDED else (Refused, "inapplicable")
        raise kind(code, message, "run", rendered=f"error: {message}\n{problems.partition(chr(10))[2]}")

    def _values(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """All inputs in one type."""
        import numpy

        if len(arrays) != len(self.inputs):
            raise TypeError(f"{self.function} takes {len(self.inputs)} arrays ({', '.join(one.name for one in self.inputs)}), not {len(arrays)}")
        given = {}
        for one, array in zip(self.inputs, arrays, strict=True):
            given[one.name] = numpy.asarray(array)
            if given[one.name].shape != one.shape:
                raise _refused(one.name, list(given[one.name].shape), f"{self.function} was traced with shape {list(one.shape)}")
        for name in self._indices & given.keys():
            if given[name].dtype.kind not in "iu":
                raise _refused(name, given[name].dtype.name, f"{self.function}: it holds indices, which are integers")
        # Indices are numbers of the others' type where there are some.
        dtype = numpy.result_type(*([one for name, one in given.items() if name not in self._indices] or given.values()))
        if dtype.kind in "iu" and self.floating:
            dtype = numpy.dtype(numpy.float64)
        if dtype.name not in _TYPES:
            raise _refused("arrays", dtype.name, f"{self.function}: modules run on {', '.join(_TYPES)}", "array.astype(..) has another type")
        values = given | self.constants | {name: numpy.zeros(extent) for name, extent in self.ranges.items()}
        return {name: numpy.ascontiguousarray(value, dtype) if numpy.ndim(value) else numpy.asarray(value, dtype) for name, value in values.items()}

    def _module(self, how: str | None, processes: int) -> str:
        if how is None:
            try:
                return self.partition(choose=True, devices=processes)
            except Infeasible:  # inputs of which only some elements are read at several places
                return self.partition(";".join(f"{name}={variable}:{processes}" for name, variable in self._longest.items()))
        if not isinstance(how, str):
            raise _refused("how", how, "neither a module nor a schedule")
        first = next((line.strip() for line in how.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
        return how if first == "retile.spmd/1" else self.partition(how)


def _has_mpi(program: str) -> bool:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.startswith("retile ") and "mpi" in said


def program_with_mpi(said: str | os.PathLike | None = None) -> str:
    """The program that starts processes: the one that is said, that of ``$RETILE``, or the first one on ``PATH`` that has MPI."""
    for source, program in (("retile", said), ("$RETILE", os.environ.get("RETILE"))):
        if program:
            found = shutil.which(os.fspath(program))
            if found is None or not _has_mpi(found):
                raise _refused(source, os.fspath(program), "no program retile with MPI", "`retile --version` lists mpi among its backends where it has MPI")
            return os.path.abspath(found)
    for folder in os.get_exec_path():
        found = shutil.which("retile", path=folder)
        if found and _has_mpi(found):
            return os.path.abspath(found)
    raise _refused("PATH", "retile", "no program retile with MPI is on it, and that of this package has none",
                   "retile=, $RETILE or PATH names one that is built with MPI")
