#!/usr/bin/env python3
"""Reshards by plans beside JAX's own, on eight devices of the CPU: values, memory, time.

    python bench/jax_reshard.py [--pairs 60] [--seed 1] [--elements 262144] [--repeat 15] > results.json

Each problem is drawn: a mesh, a shape and two partition specs. Three ways move it: `pyretile.jax.reshard` and
`jax.lax.with_sharding_constraint`, each compiled alone, and `jax.device_put`. Every tile of all three is compared with the array first.
Times are medians of calls in turn, in microseconds of a machine that does nothing else. Bytes are XLA's, for each device.
`load` has what the machine did before and after: times taken beside other work say nothing.

Each problem has a process of its own, because XLA's partitioner ends the process on some; ours is then measured alone. The result has every
problem, and lists those that ours loses: slower by more than a tenth, with more temporaries, refused, or wrong.
"""

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 " + os.environ.get("XLA_FLAGS", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from pyretile.jax import reshard

MESHES = [{"x": 8}, {"x": 2, "y": 4}, {"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}, {"x": 2, "y": 3}, {"x": 6}]
COLLECTIVES = re.compile(r" (all-gather|all-to-all|collective-permute|all-reduce|reduce-scatter)(?:-start)?\(")


def spec_of(random, axes, rank):
    """Every axis cuts one dimension or none, in a drawn order."""
    dims = [[] for _ in range(rank)]
    for axis in random.permutation(list(axes)):
        place = int(random.integers(rank + 1))
        if place < rank:
            dims[place].append(str(axis))
    return P(*[tuple(one) or None for one in dims])


def drawn(random, elements):
    axes = MESHES[random.integers(len(MESHES))]
    devices, rank = int(np.prod(list(axes.values()))), int(random.integers(1, 4))
    side = max(1, round((elements / devices ** rank) ** (1 / rank)))
    shape = (devices * side,) * rank
    while True:
        both = [spec_of(random, axes, rank) for _ in range(2)]
        if both[0] != both[1]:
            return axes, shape, both


def tiles_equal(moved, wanted):
    there = {one.device: np.asarray(one.data) for one in wanted.addressable_shards}
    return moved.sharding.is_equivalent_to(wanted.sharding, moved.ndim) and all(np.array_equal(np.asarray(one.data), there[one.device]) for one in moved.addressable_shards)


def timed(calls, repeat):
    """Median microseconds of each call; they take turns in drawn orders, so that nobody alone has a slow second or a cold cache."""
    took = {name: [] for name in calls}
    random = np.random.default_rng(0)
    for _ in range(repeat + 2):
        for name in random.permutation(list(calls)).tolist():
            begun = time.perf_counter()
            jax.block_until_ready(calls[name]())
            took[name].append(time.perf_counter() - begun)
    return {name: round(1e6 * statistics.median(one[2:]), 1) for name, one in took.items()}


def said(compiled):
    memory = compiled.memory_analysis()
    return {"temporary_bytes": memory.temp_size_in_bytes, "collectives": COLLECTIVES.findall(compiled.as_text())}


def measured(axes, shape, both, repeat, peer):
    """One row. Without the peer's ways where these end the process."""
    mesh = Mesh(np.array(jax.devices()[:int(np.prod(list(axes.values())))]).reshape(tuple(axes.values())), tuple(axes))
    start, end = (NamedSharding(mesh, one) for one in both)
    row = {"mesh": axes, "shape": list(shape), "from": str(both[0]), "to": str(both[1])}
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x, wanted = jax.device_put(values, start), jax.device_put(values, end)
    try:
        ours = jax.jit(lambda x: reshard(x, end, src=start), out_shardings=end).lower(x).compile()
    except ValueError as problem:
        return {**row, "refused": str(problem)}
    calls, row["ours"] = {"ours": lambda: ours(x)}, said(ours)
    if peer:
        its = jax.jit(lambda x: jax.lax.with_sharding_constraint(x, end), out_shardings=end).lower(x).compile()
        calls |= {"constraint": lambda: its(x), "device_put": lambda: jax.device_put(x, end)}
        row["constraint"] = said(its)
    row["right"] = {name: tiles_equal(call(), wanted) for name, call in calls.items()}
    # What was not right is not timed.
    row["microseconds"] = timed(calls, repeat) if all(row["right"].values()) else None
    return row


def in_child(work):
    """What a forked process returns, or None where it was ended. The parent starts no devices, so there is no thread to lose."""
    with tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                answer.write(json.dumps(work()))
                answer.flush()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return None
        if os.WEXITSTATUS(status):
            raise RuntimeError("a problem ended with an error; see above")
        answer.seek(0)
        return json.load(answer)


def row_of(problem, repeat):
    row = in_child(lambda: measured(*problem, repeat, True))
    if row is None:
        row = in_child(lambda: measured(*problem, repeat, False))
        if row is None:
            raise RuntimeError(f"ours ends the process: {problem}")
        row["constraint"] = "ends the process"
    return row


def more_temporaries(one, other):
    """By more than a kilobyte: offsets of slices take some bytes here and there."""
    return one["temporary_bytes"] > other["temporary_bytes"] + 1024


def losses(rows):
    found = []
    for row in rows:
        why = []
        if "refused" in row:
            why.append("refused")
        else:
            if not row["right"]["ours"]:
                why.append("wrong")
            if row["constraint"] == "ends the process":
                continue
            if more_temporaries(row["ours"], row["constraint"]):
                why.append("more temporaries")
            took = row["microseconds"]
            if took and took["ours"] > 1.1 * took["constraint"]:
                why.append("slower")
        if why:
            found.append({"why": why, **row})
    return found


def median_of(ratios):
    return round(statistics.median(ratios), 3) if ratios else None


def summary(rows, lost):
    done = [one for one in rows if "refused" not in one]
    right = sum(one["right"]["ours"] for one in done)
    aborted = sum(one["constraint"] == "ends the process" for one in done)
    refused, done = len(rows) - len(done), [one for one in done if one["constraint"] != "ends the process"]
    took = [one["microseconds"] for one in done if one["microseconds"]]
    return {
        "problems": len(rows), "refused": refused, "right": right, "constraint_ends_the_process": aborted,
        "right_of_constraint": sum(one["right"]["constraint"] for one in done), "right_of_device_put": sum(one["right"]["device_put"] for one in done),
        "fewer_temporaries": sum(more_temporaries(one["constraint"], one["ours"]) for one in done),
        "more_temporaries": sum(more_temporaries(one["ours"], one["constraint"]) for one in done), "slower": sum("slower" in one["why"] for one in lost),
        "time_by_constraint": median_of([one["ours"] / one["constraint"] for one in took]),
        "time_by_device_put": median_of([one["ours"] / one["device_put"] for one in took]),
        "faster_by_a_tenth": sum(one["ours"] < 0.9 * one["constraint"] for one in took)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--elements", type=int, default=1 << 18)
    parser.add_argument("--repeat", type=int, default=15)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    rows, load = [], [os.getloadavg()[0]]
    for k in range(given.pairs):
        rows.append(row_of(drawn(random, given.elements), given.repeat))
        print(f"{k + 1} of {given.pairs}: {rows[-1].get('microseconds')}", file=sys.stderr)
    load.append(os.getloadavg()[0])
    lost = losses(rows)
    facts = {"jax": jax.__version__, "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(), "load": load, **vars(given)}
    print(json.dumps({"schema": "pyretile.jax-reshard/1", **facts, "summary": summary(rows, lost), "losses": lost, "problems": rows}, indent=1))
    return 0 if all("refused" not in one and one["right"]["ours"] for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
