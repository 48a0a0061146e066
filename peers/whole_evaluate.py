#!/usr/bin/env python3
"""Whether a module per device computes what the module before partitioning did: a second evaluator, by NumPy in double precision.

    peers/whole_evaluate.py BEFORE AFTER [--seeds 3] [--seed 1] [--json]

BEFORE is evaluated on whole arrays, AFTER on every device, with random inputs that the shardings of BEFORE's parameters cut.
What lies behind the end of an array in an uneven tile is different on every device. The results are compared by the
shardings of BEFORE's root. Exit code: 0 right, 1 wrong, 2 refused.
"""

import argparse
import json
import sys
import time
import zlib
from pathlib import Path

import numpy as np

import whole_text
from whole_machine import Machine
from whole_shardings import list_of, sharding_of, whole
from whole_text import COMPLEX, REALS, Array, Refusal

TOLERANCE = 1e-9
# Inputs changed by that part of themselves, and how many times that effect the sums of another order may have.
SHAKEN, NOISE = 4e-15, 100
# Further draws, where a branch was not taken yet.
MORE = 12
VERDICTS = ("right", "wrong", "refused")


# ------------------------------------------------------------------------------------------------------------------- inputs
def extents_read(module):
    """Extents that numbers of the inputs may choose a place in."""
    found = []
    for computation in module.computations.values():
        types = {one.name: one.type for one in computation.instructions}
        for one in computation.instructions:
            found += [one.attributes.get("branch_computations", "").count(",") + 1] if one.op == "conditional" else []
            operand = types.get(one.operands[0].split("#")[0]) if one.operands else None
            if not isinstance(operand, Array):
                continue
            if one.op in ("gather", "scatter"):
                dims = one.numbers("start_index_map" if one.op == "gather" else "scatter_dims_to_operand_dims")
                found += [operand.shape[dim] for dim in dims]
            elif one.op in ("dynamic-slice", "dynamic-update-slice"):
                found += operand.shape
    return sorted({extent for extent in found if extent > 1}) or [8]


def integers(kind, extents, seed, draw):
    """Inside the smallest extent at first; then beyond both ends, and beyond the upper one; then, by turns, inside any
    of them and, where it is one number, at their ends."""
    if kind.kind in ("u32", "u64") and kind.shape and kind.shape[-1] in (2, 4):
        return draw.integers(0, np.iinfo(kind.dtype).max, kind.shape, dtype=kind.dtype, endpoint=True)
    limit = np.iinfo(kind.dtype)
    smallest, largest = extents[0], extents[-1]
    ranges = [(min(1, smallest - 1) if not kind.shape else 0, smallest - 1), (-2 - largest, 2 * largest + 2), (largest, 2 * largest + 2)]
    edge = int(draw.choice(extents))
    if not kind.shape and seed >= 3 and seed % 2 == 0:
        return np.array(draw.choice([number for number in (0, -1, 1, edge - 1, edge, -edge) if limit.min <= number <= limit.max])).astype(
            kind.dtype
        )
    low, high = ranges[seed % 3] if seed < 3 or seed % 2 == 0 else (0, edge - 1)
    return draw.integers(max(low, limit.min), min(high, limit.max), kind.shape, endpoint=True).astype(kind.dtype)


def input_of(kind, extents, seed, draw):
    """Positive reals at first, as roots and logarithms want them; then of both signs; then both by turns."""
    if kind.kind == "pred":
        return draw.integers(0, 2, kind.shape).astype(np.bool_)
    if kind.kind not in REALS and kind.kind not in COMPLEX:
        return integers(kind, extents, seed, draw)
    positive = seed % 2 == 0
    numbers = draw.uniform(0.25, 1.25, kind.shape) if positive else draw.standard_normal(kind.shape)
    if kind.kind in COMPLEX:
        numbers = numbers + 1j * draw.standard_normal(kind.shape)
    return np.asarray(numbers, dtype=kind.dtype)


def draw_of(seed, number, what):
    return np.random.default_rng(zlib.crc32(f"{seed} {number} {what}".encode()))


def junk(kind, shape, draw):
    if kind.dtype in (np.float64, np.complex128):
        return (draw.standard_normal(shape) * 50).astype(kind.dtype)
    if kind.kind == "pred":
        return draw.integers(0, 2, shape).astype(np.bool_)
    limit = np.iinfo(kind.dtype)
    return draw.integers(max(limit.min, -99), min(limit.max, 99), shape, endpoint=True).astype(kind.dtype)


def cut(whole_array, sharding, kind, draw):
    """Each device's tile."""
    tile, starts = sharding.tile(whole_array.shape), sharding.starts(whole_array.shape)
    if all(one == 1 for one in sharding.cuts):
        return whole_array[None]
    out = junk(kind, (len(starts), *tile), draw)
    for device, start in enumerate(starts):
        part = whole_array[tuple(slice(at, at + size) for at, size in zip(start, tile, strict=True))]
        out[(device, *(slice(0, size) for size in part.shape))] = part
    return out


# --------------------------------------------------------------------------------------------------------------------- ends
def same_types(a, b):
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(same_types, a, b))
    return a.kind == b.kind


def end_of(text, kind, local, devices, what):
    """The sharding of an end. One that is not said must be whole, as its tile shows."""
    sharding = sharding_of(text, len(kind.shape), devices) if text else whole(len(kind.shape), devices)
    if sharding.unreduced:
        raise Refusal(f"{what} has unreduced axes")
    if sharding.tile(kind.shape) != local.shape:
        raise Refusal(f"{what}: {kind} under {text or 'no sharding'} is no tile {local}")
    return sharding


def leaves(kind):
    return kind if isinstance(kind, list) else [kind]


def branches_of(module):
    """The computations of which a conditional takes one."""
    found = [one for computation in module.computations.values() for one in computation.instructions if one.op == "conditional"]
    names = ("branch_computations", "true_computation", "false_computation")
    return {name.lstrip("%") for one in found for key in names for name in whole_text.parts_of(one.attributes.get(key, "").strip("{}"))}


class Pair:
    """The two modules and the shardings of the ends."""

    def __init__(self, before, after):
        self.before, self.after = before, after
        if before.devices not in (1, after.devices):
            raise Refusal(f"{before.devices} devices before and {after.devices} after")
        devices, given, made = after.devices, before.entry.parameters, after.entry.parameters
        if len(given) != len(made):
            raise Refusal(f"{len(given)} parameters before and {len(made)} after")
        if not same_types([one.type for one in given], [one.type for one in made]) or not same_types(
            before.entry.root.type, after.entry.root.type
        ):
            raise Refusal("types of parameters or results that differ")
        if any(not isinstance(one.type, Array) for one in given):
            raise Refusal("a tuple as a parameter")
        self.inputs = [
            end_of(one.attributes.get("sharding") or its.attributes.get("sharding"), one.type, its.type, devices, f"parameter {k}")
            for k, (one, its) in enumerate(zip(given, made, strict=True))
        ]
        kinds, root = leaves(before.entry.root.type), before.entry.root.attributes.get("sharding")
        texts = list_of(root, len(kinds)) if root else [None] * len(kinds)
        self.outputs = [
            end_of(text, kind, local, devices, f"result {k}")
            for k, (text, kind, local) in enumerate(zip(texts, kinds, leaves(after.entry.root.type), strict=True))
        ]
        self.extents = extents_read(before)
        self.missing = branches_of(before)

    def arguments(self, seed, number):
        kinds = [one.type for one in self.before.entry.parameters]
        return kinds, [input_of(kind, self.extents, number, draw_of(seed, number, k)) for k, kind in enumerate(kinds)]

    def noise(self, seed, number, wanted, narrow=False):
        """For each result, how far it goes when the inputs are changed in their last bits: no order of sums is better than that."""
        kinds, given = self.arguments(seed, number)
        out = [0.0] * len(wanted)
        for turn in range(2):
            shaken = [
                (
                    array * (1 + SHAKEN * draw_of(seed, number, f"shake {turn} {k}").choice([-1.0, 1.0], array.shape))
                    if array.dtype.kind in "fc"
                    else array
                )
                for k, array in enumerate(given)
            ]
            with np.errstate(all="ignore"):
                made = Machine(self.before, narrow).run(self.before.entry, [array[None] for array in shaken])
            made = made if isinstance(made, list) else [made]
            out = [max(before, float(error_of(a, b).max(initial=0.0))) for before, a, b in zip(out, wanted, made, strict=True)]
        return out

    def run(self, seed, number, narrow=False):
        """Results of both for one draw; devices in front of those after."""
        kinds, given = self.arguments(seed, number)
        tiles = [
            cut(array, sharding, kind, draw_of(seed, number, f"junk {k}"))
            for k, (array, sharding, kind) in enumerate(zip(given, self.inputs, kinds, strict=True))
        ]
        with np.errstate(all="ignore"):
            before = Machine(self.before, narrow)
            wanted = before.run(self.before.entry, [array[None] for array in given])
            got = Machine(self.after, narrow).run(self.after.entry, tiles)
        self.missing -= before.reached
        return [one if isinstance(one, list) else [one] for one in (wanted, got)]


# ------------------------------------------------------------------------------------------------------------------ compare
def error_of(wanted, got):
    """How far apart, in units of what the two are: 0 where equal, infinity where only one is finite or a number."""
    if wanted.dtype.kind not in "fc":
        return (wanted != got).astype(np.float64)
    with np.errstate(all="ignore"):
        size = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0.0)
        # One number that is very large must not hide the others.
        scale = np.maximum(np.abs(wanted), min(1e-3 * size, 1.0)) + 1e-12
        apart = np.abs(wanted - got) / scale
    apart = np.where((wanted == got) | (np.isnan(wanted) & np.isnan(got)), 0.0, apart)
    return np.where(np.isnan(apart), np.inf, apart)


def plain(number):
    """A number as JSON has it."""
    if isinstance(number, (complex, np.complexfloating)):
        return [plain(number.real), plain(number.imag)]
    if isinstance(number, (bool, np.bool_)):
        return bool(number)
    if isinstance(number, np.integer):
        return int(number)
    number = float(number)
    return number if np.isfinite(number) else str(number)


def worst(wanted, got, sharding, result):
    """The largest error of a result, with its device and the index in the whole array."""
    out = {"error": 0.0}
    if len(wanted) > 1:
        raise Refusal(f"result {result} is not one value before partitioning")
    wanted, devices = wanted[0], len(sharding.number)
    tile, starts = sharding.tile(wanted.shape), sharding.starts(wanted.shape)
    for device in range(devices):
        if len(got) == 1 and all(one == 1 for one in sharding.cuts) and device:
            break
        part = wanted[tuple(slice(at, at + size) for at, size in zip(starts[device], tile, strict=True))]
        held = got[device if len(got) > 1 else 0][tuple(slice(0, size) for size in part.shape)]
        errors = error_of(part, held)
        if errors.size and errors.max() > out["error"]:
            at = np.unravel_index(int(np.argmax(errors)), errors.shape)
            out = {
                "error": float(errors.max()),
                "result": result,
                "device": device,
                "index": [int(a + b) for a, b in zip(at, starts[device], strict=True)],
                "got": plain(held[at]),
                "expected": plain(part[at]),
            }
    return out


def is_blind(array):
    """Nothing can be told of a result that is no number anywhere."""
    return array.dtype.kind in "fc" and array.size > 0 and not np.isfinite(array).any()


def judge(before, after, seeds=3, seed=1, tolerance=TOLERANCE, narrow=False):
    """The verdict on two texts."""
    try:
        pair = Pair(whole_text.read(before), whole_text.read(after))
        largest, blind = 0.0, set(range(len(pair.outputs)))
        for number in range(seeds + MORE):
            if number >= seeds and not pair.missing:
                break
            draws = number + 1
            wanted, got = pair.run(seed, number, narrow)
            found = [worst(a, b, sharding, k) for k, (a, b, sharding) in enumerate(zip(wanted, got, pair.outputs, strict=True))]
            first = max(found, key=lambda one: one["error"], default={"error": 0.0})
            if first["error"] > tolerance:
                allowed = [max(tolerance, NOISE * one) for one in pair.noise(seed, number, wanted, narrow)]
                beyond = [one for one, limit in zip(found, allowed, strict=True) if one["error"] > limit]
                if beyond:
                    first = max(beyond, key=lambda one: one["error"])
                    return {"verdict": "wrong", "draw": number, **first, "error": plain(first["error"])}
            largest = max(largest, first["error"])
            blind -= {k for k, array in enumerate(wanted) if not is_blind(array)}
    except Refusal as problem:
        return {"verdict": "refused", "why": problem.why, "op": problem.op, "line": problem.line}
    except RecursionError:
        return {"verdict": "refused", "why": "computations that call themselves", "op": None, "line": None}
    if blind:
        return {"verdict": "refused", "why": f"results {sorted(blind)} are no finite number in any draw", "op": None, "line": None}
    unseen = {"branches_never_taken": sorted(pair.missing)} if pair.missing else {}
    return {"verdict": "right", "results": len(pair.outputs), "devices": pair.after.devices, "draws": draws, "error": largest, **unseen}


def sentence(said):
    if said["verdict"] == "right":
        return f"right: {said['results']} results on {said['devices']} devices, {said['draws']} draws, largest error {said['error']:.1e}"
    if said["verdict"] == "refused":
        where = f"line {said['line']}: " if said["line"] else ""
        return f"refused: {where}{said['op'] + ': ' if said['op'] else ''}{said['why']}"
    return (
        f"wrong: result {said['result']} on device {said['device']} at {said['index']} is {said['got']}, not {said['expected']} "
        f"(draw {said['draw']})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="how many draws")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="what two doubles may differ by, in units of the result")
    parser.add_argument("--narrow", action="store_true", help="round reals to their type after every operation")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    begin = time.monotonic()
    said = judge(given.before.read_text(), given.after.read_text(), given.seeds, given.seed, given.tolerance, given.narrow)
    said["seconds"] = round(time.monotonic() - begin, 3)
    print(json.dumps(said) if given.json else sentence(said))
    return VERDICTS.index(said["verdict"])


if __name__ == "__main__":
    sys.exit(main())
