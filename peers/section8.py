"""Problems drawn as in Section 8 of the paper, the same as those of tests/support/random_problems.h, as lines like those of `corpus/problems.py --json`.

    peers/section8.py --mesh x:2,y:2,z:2 [--seed 1] [--count 1000]
"""

import argparse
import json
from math import prod

MOST = 800_000_000
LEAST = 64_000_000
MASK = (1 << 64) - 1


def mt19937_64(seed):
    """The numbers of std::mt19937_64."""
    state = [seed]
    for k in range(1, 312):
        state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + k) & MASK)
    while True:
        for k in range(312):
            both = (state[k] & 0xFFFFFFFF80000000) | (state[(k + 1) % 312] & 0x7FFFFFFF)
            state[k] = state[(k + 156) % 312] ^ (both >> 1) ^ (0xB5026F5AA96619E9 if both & 1 else 0)
        for x in state:
            x ^= (x >> 29) & 0x5555555555555555
            x ^= (x << 17) & 0x71D67FFFEDA60000
            x ^= (x << 37) & 0xFFF7EEE000000000
            yield x ^ (x >> 43)


def draw(random, low, high):
    return low + next(random) % (high - low + 1)


def draw_shape(random, mesh):
    """Rank 1 to 6, 64 to 800 MB of 4-byte elements, extents divisible by some of the axes."""
    while True:
        shape, size = [1] * draw(random, 1, 6), 4
        for _, axis in mesh:
            for dim in range(len(shape)):
                if size <= MOST // axis and draw(random, 0, 3) > 0:
                    shape[dim], size = shape[dim] * axis, size * axis
        for dim in range(len(shape)):
            factor = draw(random, 1, min(max(MOST // size, 1), 64))
            shape[dim], size = shape[dim] * factor, size * factor
        if LEAST <= size <= MOST:
            return shape


def draw_type(random, mesh, shape):
    """Axes of every dimension, major to minor: each in a random order on a dimension or on none."""
    axes, tiles, dims = list(mesh), list(shape), [[] for _ in shape]
    for k in range(len(axes) - 1, 0, -1):
        other = draw(random, 0, k)
        axes[k], axes[other] = axes[other], axes[k]
    for name, size in axes:
        dim = draw(random, 0, len(shape))
        if dim < len(shape) and tiles[dim] % size == 0:
            dims[dim].append(name)
            tiles[dim] //= size
    return dims


def problems(mesh, seed, count):
    random = mt19937_64(seed)
    for number in range(count):
        shape = draw_shape(random, mesh)
        yield {"id": number, "family": "section8", "mesh": mesh, "shape": shape, "from": draw_type(random, mesh, shape),
               "to": draw_type(random, mesh, shape), "from_order": None, "to_order": None, "from_sum": [], "to_sum": []}


def mesh_of(text):
    return [[name, int(size)] for name, size in (axis.split(":") for axis in text.split(","))]


def paper_type(problem, end):
    """`[3{x}12, 2{y}12]`: axes minor to major."""
    sizes = dict(map(tuple, problem["mesh"]))
    dims = [f"{extent // prod(sizes[name] for name in axes)}{{{','.join(reversed(axes))}}}{extent}" if axes else str(extent)
            for extent, axes in zip(problem["shape"], problem[end])]
    return f"[{', '.join(dims)}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mesh", default="x:2,y:2,z:2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    for problem in problems(mesh_of(given.mesh), given.seed, given.count):
        print(json.dumps(problem))


if __name__ == "__main__":
    main()
