"""What is raised and warned of redistributes."""

from .._errors import Wrong


class RedistributeError(RuntimeError):
    """A redistribute that `watch` is to refuse.

    Attributes:
      record: the `Record` of it.
      file: of the program, with the line that led to it; empty where no frame of the program is on the stack.
      line: that line, or 0.
    """

    def __init__(self, message, record):
        super().__init__(f"{record.source or 'unknown line'}: {message}")
        self.record, self.file, self.line = record, record.file, record.line


class OverLimit(RedistributeError):
    """torch's way holds more than the limit."""


class Implicit(RedistributeError):
    """An operation, and not the program, asked for it."""


class SpecsDiffer(RedistributeError):
    """The ranks have other ideas of the array, or a rank has another tile than its placements say."""


class WrongTile(Wrong, ValueError):
    """A tensor, a mesh or a redistribute in which some rank has not what its placements say; `verdict` says which."""


class NotCarriedOut(NotImplementedError):
    """A redistribute that no plan of functional collectives does; the message names what is missing."""


class RedistributeWarning(UserWarning):
    """What `watch(mode="raise")` would raise."""
