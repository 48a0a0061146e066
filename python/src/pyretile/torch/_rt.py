"""The core of the package, as far as this part of it needs it."""

from .. import Infeasible, Refused, Undecided, check, explain, lower, plan

__all__ = ["Infeasible", "Refused", "Undecided", "check", "explain", "lower", "plan"]
