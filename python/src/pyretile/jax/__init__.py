"""Verdicts and reshards for JAX.

`check` and `assert_right` say whether XLA's program for many devices computes what the function says, and `check_texts` says it of two
texts, from before and after a pass. `explain` lists what a program moves, and what would suffice. `reshard` moves an array by a plan of
ours. Programs are compiled and not run, but for those that `reshard` stands in.

>>> import jax
>>> from jax import numpy as jnp
>>> from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
>>> import pyretile.jax as rtj
>>> mesh = jax.make_mesh((2, 4), ("data", "x"), axis_types=(AxisType.Auto,) * 2)  # of eight devices
>>> def array(*shape, spec=()):
...     return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))
"""

from pyretile.jax._check import Finding, NotJudged, Report, WrongProgram, assert_right, check, check_texts
from pyretile.jax._explain import Explanation, explain
from pyretile.jax._reshard import reshard

__all__ = ["Explanation", "Finding", "NotJudged", "Report", "WrongProgram", "assert_right", "check", "check_texts", "explain", "reshard"]
