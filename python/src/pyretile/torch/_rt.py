"""The core of the package, as far as this part of it needs it."""

from .. import Infeasible, check, plan

__all__ = ["Infeasible", "check", "plan"]
