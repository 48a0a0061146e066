#!/usr/bin/env python3
"""Whether what a peer emitted moves an array from one end to the other: a second evaluator, by numpy alone.

    peers/evaluate.py --problems PROBLEMS FILE..     FILE is NUMBER.hlo, .stablehlo, .sdy, .mlir19, .mlir22,
                                                 .dtensor or .dtensor_a2a

Prints a JSON object for each file: `right` (null where it is not read, with `refused`), `height`, `whole_array`, and for a
wrong one the first device and place.
"""

import argparse
import json
import sys
from math import prod
from pathlib import Path

import numpy as np

import ends
import read_dtensor
import read_hlo
import read_mesh
import read_mlir
from tags import UNKNOWN, ZERO, Held, Refused


def start_of(problem):
    """What the parameter holds: each device's box at the beginning of its tile, and behind it what nobody knows."""
    tile, _ = ends.tiles(problem)
    starts, limits = ends.boxes(problem, "from")
    addend, _ = ends.addends(problem, "from")
    total, shape = prod(problem["shape"]), problem["shape"]
    strides = [prod(shape[k + 1:]) for k in range(len(shape))]

    def start(machine, extents):
        if list(extents) != tile or machine.devices != len(starts):
            raise Refused(f"the parameter is {list(extents)} on {machine.devices} devices, not {tile} on {len(starts)}")
        cells = (addend * total).reshape((-1,) + (1,) * len(shape)) + np.zeros((1,) + tuple(tile), dtype=np.int64)
        inside = np.ones(cells.shape, dtype=bool)
        for k, stride in enumerate(strides):
            line = np.arange(tile[k]).reshape([-1 if j == k + 1 else 1 for j in range(len(shape) + 1)])
            place = starts[:, k].reshape((-1,) + (1,) * len(shape)) + line
            inside &= place < limits[:, k].reshape((-1,) + (1,) * len(shape))
            cells = cells + place * stride
        return Held(np.where(inside, cells, UNKNOWN), True)
    return start


def mismatch(problem, machine, result):
    """The first device and place that is not what belongs there. An element is there when, over the addends of the end, every
    addend of the beginning is there once; devices with the same addend hold the same."""
    _, tile = ends.tiles(problem)
    if list(result.shape) != tile:
        return {"why": "tile", "found": list(result.shape), "tile": tile}
    starts, limits = ends.boxes(problem, "to")
    number, count = ends.addends(problem, "to")
    _, given = ends.addends(problem, "from")
    total, shape = prod(problem["shape"]), problem["shape"]
    cells = machine.tags_of(result)
    if given == 1 and count == 1:
        wanted = start_of({**problem, "from": problem["to"], "from_order": problem["to_order"], "from_sum": []})(machine, tile).cells
        differs = np.argwhere((wanted != UNKNOWN) & (wanted != cells))
        if len(differs) == 0:
            return None
        device, *at = differs[0].tolist()
        return {"why": "element", "device": device, "at": at, "found": int(cells[(device, *at)]), "wanted": int(wanted[(device, *at)])}
    held = {}
    for device in range(machine.devices):
        for place in np.ndindex(*(limits[device] - starts[device])):
            element = int(np.ravel_multi_index(starts[device] + place, shape)) if shape else 0
            tag = int(cells[(device, *place)])
            before = held.setdefault((element, int(number[device])), (tag, device))
            if before[0] != tag:
                return {"why": "replicas", "device": device, "at": list(place), "found": tag, "wanted": before[0]}
    full = {}
    for (element, _), (tag, device) in held.items():
        full[element] = machine.sum_of(full.get(element, -1), tag)
    for element, tag in full.items():
        wanted = tuple((element + addend * total, 1) for addend in range(given))
        if tag < 0 and tag > -10 or machine.terms(tag) != wanted:
            return {"why": "addends", "element": element, "found": tag}
    return None


def holds_all(value, total, machine):
    """Whether a device holds every element, be it as an addend of a sum."""
    if value is None or not value.tagged or prod(value.shape) < total:
        return False
    for row in value.cells.reshape(len(value.cells), -1):
        tags = [tag for tag in np.unique(row).tolist() if tag not in (ZERO, UNKNOWN)]
        if len({term % total for tag in tags for term, _ in machine.terms(tag)}) == total:
            return True
    return False


def judge(problem, form, text):
    """The verdict of one file."""
    try:
        start, claim = start_of(problem), None
        if form == "hlo":
            machine, result, seen = read_hlo.run(text, start)
        elif form == "stablehlo":
            machine, result, seen = read_mlir.run_stablehlo(text, start)
        elif form == "sdy":
            machine, result, seen, claim = read_mlir.Shardy(text, start).run()
        elif form in ("mlir19", "mlir22"):
            machine, result, seen = read_mesh.run(text, start)
        else:
            return read_dtensor.judge(problem, text)
    except Refused as problem_found:
        return {"right": None, "refused": str(problem_found)}
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as problem_found:
        return {"right": None, "refused": f"{type(problem_found).__name__}: {problem_found}"}
    found = {"why": "claim", "value": claim} if claim else mismatch(problem, machine, result)
    total = prod(problem["shape"])
    sizes = [prod(tile) for tile in ends.tiles(problem)]
    held = [(prod(value.shape), name) for name, _, value in seen if value is not None and value.tagged]
    whole = [name for name, _, value in seen if max(sizes) < total and holds_all(value, total, machine)]
    out = {"right": found is None, "height": max(size for size, _ in held), "bound": max(sizes), "whole_array": whole[0] if whole else None}
    if found:
        out["first_wrong"] = found
    return out


def problems_of(path):
    return {one["id"]: one for one in map(json.loads, Path(path).read_text().splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path, required=True, help="lines of `corpus/problems.py --json`")
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    known, right = problems_of(given.problems), True
    for path in given.files:
        verdict = judge(known[int(path.stem)], path.suffix[1:], path.read_text())
        right = right and verdict["right"] is True
        print(json.dumps({"file": str(path), **verdict}))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
