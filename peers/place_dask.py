"""Which elements every chunk of a Dask array has, before and after `rechunk`.

    place_dask.py

Reads one JSON object a line, {"before": [[3, 3, 4], [5, 5]], "after": [[5, 5], [4, 4, 2]]}, and prints two lists for each: by chunk, in C
order of the grid, the numbers of its elements, in C order of the chunk.
"""

import itertools
import json
import sys

import dask.array
import numpy


def chunks_of(array):
    return [array.blocks[place].compute().flatten().tolist() for place in itertools.product(*map(range, array.numblocks))]


for line in sys.stdin:
    problem = json.loads(line)
    before = tuple(map(tuple, problem["before"]))
    shape = tuple(map(sum, before))
    whole = dask.array.from_array(numpy.arange(numpy.prod(shape)).reshape(shape), chunks=before)
    after = whole.rechunk(tuple(map(tuple, problem["after"])))
    print(json.dumps([chunks_of(whole), chunks_of(after)]))
