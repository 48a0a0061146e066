"""Problems for the peers: one JSON object per line, the same for the same seed.

    peers/problems.py [--seed 1] [--count 1500]

    {"id": 7, "family": "coprime", "mesh": [["x", 3], ["y", 5]], "shape": [15, 30],
     "from": [["y", "x"], []], "to": [[], ["x"]], "from_order": null, "to_order": null,
     "from_sum": [], "to_sum": []}

`from` and `to` list for each dimension the axes that cut it, major to minor. An axis that is listed nowhere replicates. An
order lists the device at each position of the mesh, row by row; null counts. Along the axes in `from_sum` and `to_sum` the
devices hold addends of the array.
"""

import argparse
import json
import random
from math import prod

FAMILIES = ["powers", "mixed", "coprime", "composite", "section8", "uneven", "orders", "sums"]
NAMES = "xyzwv"


def mesh_of(family, draw):
    if family == "powers":
        return draw.choice([[2, 2], [2, 4], [4, 2], [8], [2, 2, 2], [4, 4], [2, 2, 4], [4, 2, 4], [16], [8, 4]])
    if family == "mixed":
        return draw.choice([[2, 3], [6, 2], [3, 2, 2], [4, 3], [6, 4], [2, 3, 4], [12], [2, 6, 2], [3, 6]])
    if family == "coprime":
        return draw.choice([[3, 5], [2, 5], [2, 3, 5], [4, 3], [8, 3], [5, 4], [7, 2], [3, 7], [4, 9], [5, 6]])
    if family == "composite":
        return draw.choice([[12, 2], [16, 2], [24], [8, 6], [12, 4], [18, 2], [36], [32, 2], [20, 3]])
    if family == "section8":
        return draw.choice([[2, 2, 2], [4, 2, 4], [8, 4, 2]])
    if family == "uneven":
        return draw.choice([[2, 2], [4, 2], [3, 2], [8], [2, 3, 2], [5], [4, 3], [7, 2]])
    return draw.choice([[2, 2], [4, 2], [2, 3], [2, 2, 2], [4, 3], [6, 2], [2, 4, 3], [8, 2]])


def spread(mesh, shape, draw, uneven, taken=()):
    """Every axis, in a random order, cuts a dimension or none; where it would not divide the tile it replicates."""
    dims, tiles = [[] for _ in shape], list(shape)
    axes = [axis for axis in mesh if axis[0] not in taken]
    draw.shuffle(axes)
    for name, size in axes:
        dim = draw.randint(0, len(shape))
        if dim == len(shape) or (tiles[dim] % size != 0 and not uneven):
            continue
        dims[dim].append(name)
        tiles[dim] = -(-tiles[dim] // size)
    return dims


def shape_of(family, mesh, draw, most):
    devices = prod(size for _, size in mesh)
    while True:
        rank = draw.randint(1, 4 if family == "section8" else 3)
        shape = [1] * rank
        if family == "uneven":
            shape = [draw.randint(1, 4 * max(size for _, size in mesh) + 3) for _ in range(rank)]
        else:
            for _, size in mesh:
                for dim in range(rank):
                    if draw.randint(0, 3) > 0:
                        shape[dim] *= size
            for dim in range(rank):
                shape[dim] *= draw.choice([1, 1, 2, 3])
        if devices <= prod(shape) <= most or (family == "uneven" and 2 <= prod(shape) <= most):
            return shape


def order_of(devices, draw):
    """A few devices exchanged, the mesh turned, or any order."""
    order = list(range(devices))
    kind = draw.randint(0, 2)
    if kind == 0:
        one, other = draw.sample(order, 2)
        order[one], order[other] = order[other], order[one]
    elif kind == 1:
        rows = next((k for k in range(2, devices) if devices % k == 0), 1)
        order = [column + row * (devices // rows) for column in range(devices // rows) for row in range(rows)]
    else:
        draw.shuffle(order)
    return order


def problem(number, seed):
    draw = random.Random(f"retile peers {seed} {number}")
    family = FAMILIES[number % len(FAMILIES)]
    mesh = [[NAMES[k], size] for k, size in enumerate(mesh_of(family, draw))]
    devices = prod(size for _, size in mesh)
    most = 4096 if devices <= 32 else 2048
    while True:
        shape = shape_of(family, mesh, draw, most)
        sums = [name for name, _ in mesh if family == "sums" and draw.random() < 0.5]
        kept = [name for name in sums if draw.random() < 0.25]
        uneven = family == "uneven" or (family == "sums" and draw.random() < 0.1)
        source, target = spread(mesh, shape, draw, uneven, sums), spread(mesh, shape, draw, uneven, kept)
        orders = [None, None]
        if family == "orders":
            orders[draw.randint(0, 1)] = order_of(devices, draw)
            if draw.random() < 0.3:
                orders = [order_of(devices, draw), order_of(devices, draw)]
        if source != target or sums != kept or orders != [None, None]:
            return {"id": number, "family": family, "mesh": mesh, "shape": shape, "from": source, "to": target,
                    "from_order": orders[0], "to_order": orders[1], "from_sum": sums, "to_sum": kept}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1500)
    given = parser.parse_args()
    for number in range(given.count):
        print(json.dumps(problem(number, given.seed)))


if __name__ == "__main__":
    main()
