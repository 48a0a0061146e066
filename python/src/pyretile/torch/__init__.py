"""Redistributes of PyTorch's DTensor: watched, checked, explained, and done by our plans.

Needs torch 2.15 or later. `watch` notes every redistribute of a program, `check_redistribute`, `check_tensor` and
`check_mesh` say whether ranks have what placements say, and `redistribute` and `optimal` carry our plans out. Every rank
runs the same lines.

>>> import torch
>>> from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
>>> from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
>>> import pyretile
>>> import pyretile.torch as rtt
>>> mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("x", "y"))  # of four ranks
>>> x = distribute_tensor(torch.ones(8, 8), mesh, [Shard(0), Shard(0)], src_data_rank=None)
"""

from ._checks import Explanation, Verdict, check_mesh, check_redistribute, check_tensor, explain, trace
from ._errors import Implicit, NotCarriedOut, OverLimit, RedistributeError, RedistributeWarning, SpecsDiffer, WrongTile
from ._move import optimal, redistribute
from ._watch import Kind, Record, watch

__all__ = ["Explanation", "Implicit", "Kind", "NotCarriedOut", "OverLimit", "Record", "RedistributeError", "RedistributeWarning",
           "SpecsDiffer", "Verdict", "WrongTile", "check_mesh", "check_redistribute", "check_tensor", "explain", "optimal",
           "redistribute", "trace", "watch"]
