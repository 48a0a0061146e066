"""Where in somebody's program something is refused."""

from __future__ import annotations

import linecache
import sys
import sysconfig
from contextvars import ContextVar
from pathlib import Path, PurePath
from types import FrameType
from typing import Any, NamedTuple

from .._errors import Refused

_OWN = str(Path(__file__).parent.parent)
_ENTRY = str(Path(__file__).with_name("__init__.py"))
_LIBRARIES = ("site-packages", "dist-packages")
_STANDARD = sysconfig.get_path("stdlib")


class Place(NamedTuple):
    """A line of a program, and its function."""

    file: str
    line: int
    function: str

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).strip()


def is_users(file: str) -> bool:
    """Whether neither this package nor a library or Python itself has the line."""
    return not (file.startswith((_OWN, _STANDARD, "<frozen")) or any(part in _LIBRARIES for part in PurePath(file).parts))


class Tracing:
    """The function that is traced: its name, the place of an operation that has been recorded, and the nodes that it has made."""

    _all: ContextVar[Tracing | None] = ContextVar("tracing", default=None)

    def __init__(self, name: str):
        self.name = name
        self.place: Place | None = None
        self.nodes: dict[Any, Any] = {}  # by what they are made of

    @classmethod
    def current(cls) -> Tracing | None:
        """That of this thread."""
        return cls._all.get()

    def __enter__(self) -> Tracing:
        self._token = Tracing._all.set(self)
        return self

    def __exit__(self, *_) -> None:
        Tracing._all.reset(self._token)


def _place_of_call() -> Place | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        if frame.f_code.co_filename == _ENTRY and frame.f_code.co_name == "trace":
            return None  # who called trace() is not inside of the function
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) if frame else None


def refused(message: str, *notes: str, code: str = "unsupported", place: Place | None = None) -> Refused:
    """A refusal that names the function which is traced, and points at the line of it."""
    tracing = Tracing.current()
    place = place or (tracing.place if tracing else None) or _place_of_call()
    name = tracing.name if tracing else "trace"
    message = f"{name}: {message}"
    if place is None:
        return Refused(code, message, name, notes=notes, rendered=f"error: {message}\n" + "".join(f"note: {note}\n" for note in notes))
    source = f"{place.file}:{place.line}"
    text = place.text
    rendered = f"error: {source}: {message}\n"
    if text:
        rendered += f"  {text}\n  {'^' * len(text)}\n"
    rendered += "".join(f"note: {note}\n" for note in notes)
    return Refused(code, message, source, text, (0, len(text.encode())), notes, rendered)


def raised_at(error: BaseException) -> Place | None:
    """The innermost line of the user's that an error came through."""
    found, traceback = None, error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            found = Place(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return found
