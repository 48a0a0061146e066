#!/usr/bin/env python3
"""Draws redistribution problems by seed, to try planners and compilers with: one a line, as arguments of `retile plan`.

    corpus/problems.py --seed 1 --count 8 | xargs -L 1 retile plan
    corpus/problems.py --family uneven,sums --count 100 --json
    corpus/problems.py --first 33 --as jax,hlo2,dtensor

Problem K of a seed is the same whichever others are printed. corpus/README.md says what the families are, and the fields of
--json. --as adds the ends in other forms, which `retile convert` writes (RETILE, or the program of that name).
"""

import argparse
import json
import os
import random
import shlex
import subprocess
from math import prod

# Meshes of each family, as sizes of axes. Families take turns.
MESHES = {
    "powers": [[2, 2], [2, 4], [4, 2], [8], [2, 2, 2], [4, 4], [2, 2, 4], [4, 2, 4], [16], [8, 4]],
    "mixed": [[2, 3], [6, 2], [3, 2, 2], [4, 3], [6, 4], [2, 3, 4], [12], [2, 6, 2], [3, 6]],
    "coprime": [[3, 5], [2, 5], [2, 3, 5], [4, 3], [8, 3], [5, 4], [7, 2], [3, 7], [4, 9], [5, 6]],
    "composite": [[12, 2], [16, 2], [24], [8, 6], [12, 4], [18, 2], [36], [32, 2], [20, 3]],
    "section8": [[2, 2, 2], [4, 2, 4], [8, 4, 2]],
    "uneven": [[2, 2], [4, 2], [3, 2], [8], [2, 3, 2], [5], [4, 3], [7, 2]],
    "orders": [[2, 2], [4, 2], [2, 3], [2, 2, 2], [4, 3], [6, 2], [2, 4, 3], [8, 2]],
    "sums": [[2, 2], [4, 2], [2, 3], [2, 2, 2], [4, 3], [6, 2], [2, 4, 3], [8, 2]],
}
FAMILIES = tuple(MESHES)
FORMS = ("jax", "hlo1", "hlo2", "hlo3", "sdy", "dtensor", "mlir19", "mlir22", "paper")
ENDS = ("from", "to")


def draw_shape(family, mesh, draw):
    """Extents that some of the axes divide, or any where tiles need not be alike."""
    devices = prod(size for _, size in mesh)
    least, most = 2 if family == "uneven" else devices, 4096 if devices <= 32 else 2048
    while True:
        rank = draw.randint(1, 4 if family == "section8" else 3)
        if family == "uneven":
            shape = [draw.randint(1, 4 * max(size for _, size in mesh) + 3) for _ in range(rank)]
        else:
            shape = [1] * rank
            for _, size in mesh:
                for dim in range(rank):
                    if draw.randint(0, 3) > 0:
                        shape[dim] *= size
            shape = [extent * draw.choice([1, 1, 2, 3]) for extent in shape]
        if least <= prod(shape) <= most:
            return shape


def spread(mesh, shape, uneven, taken, draw):
    """Every axis but those taken, in a random order, cuts a dimension or none; where it would not divide the tile it replicates."""
    dims, tile = [[] for _ in shape], list(shape)
    axes = [axis for axis in mesh if axis[0] not in taken]
    draw.shuffle(axes)
    for name, size in axes:
        dim = draw.randint(0, len(shape))
        if dim < len(shape) and (uneven or tile[dim] % size == 0):
            dims[dim].append(name)
            tile[dim] = -(-tile[dim] // size)
    return dims


def draw_order(devices, draw):
    """Two devices exchanged, the mesh turned, or any order."""
    order, kind = list(range(devices)), draw.randint(0, 2)
    if kind == 0:
        one, other = draw.sample(order, 2)
        order[one], order[other] = order[other], order[one]
    elif kind == 1:  # the least factor, the fastest of all, becomes the slowest
        rows = next((k for k in range(2, devices) if devices % k == 0), 1)
        order = [column + row * (devices // rows) for column in range(devices // rows) for row in range(rows)]
    else:
        draw.shuffle(order)
    return order


def drawn(seed, number):
    """A problem, as an object of --json."""
    draw = random.Random(f"retile peers {seed} {number}")
    family = FAMILIES[number % len(FAMILIES)]
    mesh = [[name, size] for name, size in zip("xyz", draw.choice(MESHES[family]))]
    devices = prod(size for _, size in mesh)
    while True:
        shape = draw_shape(family, mesh, draw)
        sums = [name for name, _ in mesh if family == "sums" and draw.random() < 0.5]
        kept = [name for name in sums if draw.random() < 0.25]
        uneven = family == "uneven" or (family == "sums" and draw.random() < 0.1)
        source, target = (spread(mesh, shape, uneven, taken, draw) for taken in (sums, kept))
        orders = [None, None]
        if family == "orders":
            order = draw_order(devices, draw)  # before the end that it is of
            orders[draw.randint(0, 1)] = order
            if draw.random() < 0.3:
                orders = [draw_order(devices, draw), draw_order(devices, draw)]
        if (source, sums) != (target, kept) or any(orders):
            one = {"schema": "retile.problem/1", "seed": seed, "id": number, "family": family, "mesh": mesh, "shape": shape,
                   "from": source, "to": target, "from_order": orders[0], "to_order": orders[1], "from_sum": sums, "to_sum": kept}
            return one | {"arguments": arguments(one)}


def type_text(one, end):
    """`sum{z}[3{x}12, 2{y}12]`: the axes of a dimension minor to major."""
    def listed(axes):
        return "{" + ",".join(reversed(axes)) + "}"
    sizes = dict(one["mesh"])
    dims = [f"{-(-extent // prod(sizes[name] for name in axes))}{listed(axes)}{extent}" if axes else str(extent)
            for extent, axes in zip(one["shape"], one[end])]
    sums = one[end + "_sum"]
    return f"{'sum' + listed(sums) if sums else ''}[{', '.join(dims)}]"


def mesh_text(one):
    return ",".join(f"{name}:{size}" for name, size in one["mesh"])


def order_text(one, order):
    return f"[{','.join(map(str, order))}]" if order else "[{0}]<=[{0}]".format(prod(size for _, size in one["mesh"]))


def arguments(one):
    """What `retile plan` takes."""
    orders = [one["from_order"], one["to_order"]]
    words = ["--order", order_text(one, orders[0]), "--order-to", order_text(one, orders[1])] if any(orders) else []
    return ["--mesh", mesh_text(one), *words, *(type_text(one, end) for end in ENDS)]


def written(retile, one, end, form):
    """An end in a form; nothing where the form cannot say it, its order of devices included."""
    order = one[end + "_order"]
    if order and form == "paper":
        return None
    # `retile` leaves out an order that counts. Where a problem lists one, it is asked for backwards, and the answer turned.
    backwards = order[::-1] if order and order == sorted(order) and form != "hlo1" else None
    words = [retile, "convert", "--json", "--mesh", mesh_text(one), "--order", order_text(one, backwards or order), "--as", form,
             type_text(one, end)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        raise SystemExit(f"{shlex.join(words)}: {done.stderr}")
    said = json.loads(done.stdout) if done.returncode == 0 else {"mesh": None}
    if said["mesh"] is None:
        return None
    text = said["text"]
    for comma in (",", ", ") if backwards else ():
        text = text.replace(comma.join(map(str, backwards)), comma.join(map(str, order)))
    return text


def in_forms(retile, one, forms):
    """Both ends in each of the forms."""
    return {form: {end: written(retile, one, end, form) for end in ENDS} for form in forms}


def names_of(known):
    """Reads `jax,hlo2`."""
    def read(text):
        names = text.split(",")
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(f"the values are {', '.join(known)}")
        return names
    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="K", help="the number of the first one")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--family", type=names_of(FAMILIES), default=FAMILIES, metavar="NAMES", help="only these, such as uneven,sums")
    parser.add_argument("--json", action="store_true", help="a JSON object per line, retile.problem/1")
    parser.add_argument("--as", dest="forms", type=names_of(FORMS), default=(), metavar="FORMS", help=f"of {', '.join(FORMS)}; implies --json")
    given = parser.parse_args()
    printed, number = 0, given.first
    while printed < given.count:
        if FAMILIES[number % len(FAMILIES)] in given.family:
            one = drawn(given.seed, number)
            if given.forms:
                one["as"] = in_forms(os.environ.get("RETILE", "retile"), one, given.forms)
            print(json.dumps(one, separators=(",", ":")) if given.json or given.forms else shlex.join(one["arguments"]))
            printed += 1
        number += 1


if __name__ == "__main__":
    main()
