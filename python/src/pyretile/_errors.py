"""What is raised: input that cannot be read, and questions that have no answer within a limit."""

from __future__ import annotations


class Refused(ValueError):
    """Input that cannot be read, or that means nothing that this package handles.

    ``str()`` has the input with a caret below the place, and how to mend it.

    Attributes:
      code: which of the ways in which input is refused, such as ``unknown_axis`` (docs/reference/errors.md).
      message: what is wrong, in one line.
      source: the argument or file that it stands in, such as ``src``; may be empty.
      input: the line that it stands in.
      span: first byte of the place in ``input``, and the first one behind it.
      notes: how to mend it.
    """

    def __init__(self, code: str, message: str, source: str = "", input: str = "", span: tuple[int, int] = (0, 0),
                 notes: tuple[str, ...] = (), rendered: str | None = None):
        super().__init__((rendered or message).rstrip("\n"))
        self.code = code
        self.message = message
        self.source = source
        self.input = input
        self.span = span
        self.notes = notes

    def __reduce__(self):
        return type(self), (self.code, self.message, self.source, self.input, self.span, self.notes, str(self))


class Undecided(Refused):
    """A limit of time or memory was reached before there was an answer."""


class Infeasible(Refused):
    """There is no plan: within the memory limit, or by collectives alone.

    Attributes:
      smallest_feasible_bytes: the least memory limit with a plan; None where no limit helps, or it cannot be counted.
    """

    def __init__(self, *arguments, smallest_feasible_bytes: int | None = None, **keywords):
        super().__init__(*arguments, **keywords)
        self.smallest_feasible_bytes = smallest_feasible_bytes

    def __reduce__(self):
        made, arguments = super().__reduce__()
        return made, arguments, {"smallest_feasible_bytes": self.smallest_feasible_bytes}


def raised(problem: tuple, undecided: bool = False) -> Refused:
    """A problem that the extension hands back, as it is raised."""
    code, message, source, words, begin, end, notes, rendered = problem
    kind = Infeasible if code == "infeasible" else Undecided if undecided or code == "limit_reached" else Refused
    return kind(code, message, source, words, (begin, end), notes, rendered)


class Wrong(AssertionError):
    """What was judged is not right, or nobody knows; ``verdict`` is the answer that says where, or why."""

    def __init__(self, verdict):
        super().__init__(verdict.text)
        self.verdict = verdict

    def __reduce__(self):
        return type(self), (self.verdict,)
