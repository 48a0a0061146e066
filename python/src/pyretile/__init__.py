"""pyretile: plans, checks and explains redistributions of distributed arrays.

A distributed array is cut into tiles over a mesh of devices. Redistribution turns one tiling into another by
collectives. This package finds the cheapest sequence within a memory bound, and says of anybody's sequence
whether it is right:

>>> import pyretile as rt
>>> rt.plan("[Shard(0)]", "[Shard(1)]", mesh={"x": 4}, shape=(8, 8)).steps[0].op
'alltoall'

`pyretile.jax` and `pyretile.torch` do so for programs of these. Input that cannot be read raises `Refused`, with a
caret below the place. Something wrong is a value, and no exception. Nothing is printed.
"""

from ._core import boxes, check, convert, explain, lower, partition, plan, plan_many, validate
from ._errors import Infeasible, Refused, Undecided, Wrong
from ._results import Explanation, ManyPlan, NetworkPlan, Plan, Program, RankPart, Step, Validation, Verdict
from ._retile import version as __version__
from ._trace import Statements, trace

__all__ = [
    "Explanation", "Infeasible", "ManyPlan", "NetworkPlan", "Plan", "Program", "RankPart", "Refused", "Statements", "Step", "Undecided", "Validation", "Verdict", "Wrong",
    "__version__", "boxes", "check", "convert", "explain", "lower", "partition", "plan", "plan_many", "trace", "validate",
]
