"""Verdicts and reshards for JAX.

check, assert_right   does XLA's program for many devices compute what the function says?
check_texts           the same of two texts, from before and after a pass
explain               what a program moves, and what would suffice
reshard               an array in another sharding, moved by a plan of ours
"""

from pyretile.jax._check import Finding, NotJudged, Report, WrongProgram, assert_right, check, check_texts
from pyretile.jax._explain import Explanation, explain
from pyretile.jax._reshard import reshard

__all__ = ["Explanation", "Finding", "NotJudged", "Report", "WrongProgram", "assert_right", "check", "check_texts", "explain", "reshard"]
