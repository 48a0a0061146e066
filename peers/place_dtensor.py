"""What torch's placements leave every rank of a tensor.

    place_dtensor.py

Reads one JSON object a line, {"mesh": [2, 3], "shape": [10, 4], "placements": [["R"], ["S", 0], ["SS", 0, 3]]}, and prints a list for
each: by rank, row-major over the mesh, the numbers of the elements that it holds, in order. A tensor of these numbers is split by
torch's own placements, one axis of the mesh after the other, as distribute_tensor does it. No rank runs.
"""

import itertools
import json
import sys

import torch
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard


def placement(words):
    if words[0] == "R":
        return Replicate()
    return Shard(words[1]) if words[0] == "S" else _StridedShard(words[1], split_factor=words[2])


def piece(tensor, one, count, at):
    if isinstance(one, Replicate):
        return tensor
    parts, _ = one._split_tensor(tensor, count, with_padding=False, contiguous=False)
    return parts[at]


for line in sys.stdin:
    problem = json.loads(line)
    shape = problem["shape"]
    whole = torch.arange(torch.Size(shape).numel()).reshape(shape)
    placements = [placement(words) for words in problem["placements"]]
    ranks = []
    for coordinate in itertools.product(*[range(size) for size in problem["mesh"]]):
        tile = whole
        for one, count, at in zip(placements, problem["mesh"], coordinate):
            tile = piece(tile, one, count, at)
        ranks.append(tile.flatten().tolist())
    print(json.dumps(ranks))
