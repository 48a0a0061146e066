#!/usr/bin/env python3
"""Random pairs of placements on processes that gloo connects, done by our plans and by torch's own way: every element, and the time.

    python python/tests/torch/pairs.py results.json [--ranks 4 8] [--pairs 1000] [--seed 1] [--elements 262144] [--repeat 5] [--go-on]

A pair is a mesh, a shape with extents that often do not divide, placements before and after, and a type of elements. It is done
by `optimal()` forward, backward, compiled and compiled backward; each rank's tile is compared with what the placements say, each element by
a value of its own. What no plan does raises, so nothing is left to torch. Then an array of about so many elements with the same
placements is moved by both ways in turn. The file, which is written anew after every hundred pairs, lists all of them, and those in which
ours was slower by more than a tenth. With --go-on it is continued where it ends.

Times are medians of calls in microseconds, each call that of the slowest rank. `load` is that of the machine before and after.
"""

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time

import ranks

CHUNK = 100  # pairs of one start of all ranks, which are compiled together


def drawn(generator, mesh):
    """(shape, placements before, placements after), of those that `DTensor.redistribute` takes."""
    from torch.distributed.tensor import Partial, Replicate, Shard
    rank = generator.choice([1, 2, 2, 3])
    shape = tuple(generator.choice([1, 2, 3, 5, 7, 8, 8, 12, 16]) for _ in range(rank))
    how, cuts = generator.choice(["sum", "avg", "max", "min"]), [Shard(dim) for dim in range(rank)]

    def chosen(addends):
        return generator.choice([Replicate(), *2 * cuts, *addends])
    while True:
        has_addends = generator.random() < 0.4
        before = tuple(chosen([Partial(how)] if has_addends else []) for _ in range(mesh.ndim))
        # Addends stay, or a shard is made one of a sum.
        after = tuple(chosen([one] if one.is_partial() else [Partial()] if one.is_shard() and (how == "sum" or not has_addends) else []) for one in before)
        if before != after:
            return shape, before, after


def larger(generator, shape, elements):
    """A shape of as many dimensions, some of them a little more than even."""
    side = max(8, round(elements ** (1 / len(shape)) / 8) * 8)
    return tuple(side + generator.choice([0, 0, 1, 3]) for _ in shape)


def spec_of(shape, placements, mesh, dtype):
    import torch
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    return DTensorSpec(mesh, tuple(placements), tensor_meta=TensorMeta(torch.Size(shape), torch.empty(shape, device="meta").stride(), dtype))


def whole(placements):
    from torch.distributed.tensor import Replicate
    return tuple(Replicate() if one.is_partial() else one for one in placements)


def forward_and_backward(function, problems, rank):
    """Of each problem the tile of the result and that of the gradient, with their specs."""
    import torch
    from torch.distributed.tensor import DTensor
    starts = [DTensor(one["start"][rank].clone(), one["current"], requires_grad=True) for one in problems]
    for one in starts:
        one.requires_grad_()
    made = function(starts)
    gradients = [DTensor(one["slope"][rank].clone(), one["sloped"], requires_grad=False) for one in problems]
    back = torch.autograd.grad(made, starts, gradients)
    return [[(one.to_local().detach(), one._spec) for one in pair] for pair in zip(made, back)]


def median_times(ways, repeat):
    import torch
    import torch.distributed as dist
    took = {name: [] for name in ways}
    for turn in range(repeat + 2):
        for name in sorted(ways, reverse=bool(turn % 2)):
            dist.barrier()
            began = time.perf_counter()
            made = ways[name]()
            made = made.wait() if hasattr(made, "wait") else made
            slowest = torch.tensor([time.perf_counter() - began])
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            took[name].append(float(slowest))
    return {name: round(1e6 * statistics.median(one[2:]), 1) for name, one in took.items()}


def job(rank, seed, count, elements, repeat, spoil):
    import torch
    import torch.distributed as dist
    from pyretile.torch import _hook, _local, _move, optimal, watch
    from pyretile.torch._words import mesh_text, placement_words
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where torch warns of its own redistributes
    generator, listed, problems = random.Random(seed), ranks.meshes(dist.get_world_size()), []
    for _ in range(count):
        mesh = generator.choice(listed)
        shape, before, after = drawn(generator, mesh)
        dtype = generator.choice([torch.float64, torch.float32, torch.bfloat16])
        current, target, sloped = (spec_of(shape, one, mesh, dtype) for one in (before, after, whole(after)))
        (start, array), (slope, slopes) = _local.beginnings(current), _local.beginnings(sloped)
        large = larger(generator, shape, elements)
        problems.append({"current": current, "target": target, "sloped": sloped, "start": start, "array": array, "slope": slope, "slopes": slopes,
                         "back": whole(before), "large": [spec_of(large, one, mesh, torch.float32) for one in (before, after)],
                         "row": {"ranks": dist.get_world_size(), "mesh": mesh_text(mesh), "shape": list(shape), "from": list(placement_words(current)),
                                 "to": list(placement_words(target)), "dtype": str(dtype).removeprefix("torch."), "large": list(large)}})

    def move(starts):
        return [one.redistribute(placements=problem["target"].placements) for one, problem in zip(starts, problems)]
    if spoil:
        right = _move.carry

        def carry(*arguments):
            made = yield from right(*arguments)
            return made.flip(0) if rank == 0 else made
        _move.carry = carry
    with watch() as seen, optimal() as ours:
        done = {"eager": forward_and_backward(move, problems, rank),
                "compiled": forward_and_backward(torch.compile(move, backend="aot_eager", fullgraph=True), problems, rank)}
    done["torch"] = forward_and_backward(move, problems, rank)
    planned = all(one.planned for one in seen.records) and ours.moved >= 2 * count and not ours.left
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, {name: [[tile for tile, _ in pair] for pair in listed] for name, listed in done.items()})
    for k, problem in enumerate(problems):
        wrong = problem["row"]["wrong"] = []
        for name, pairs in done.items() if k % len(every) == rank else ():  # each is judged by one rank
            for at, way in enumerate(("forward", "backward")):
                spec = pairs[k][at][1]
                wanted, array = ((problem["target"].placements, problem["array"]), (problem["back"], problem["slopes"]))[at]
                tiles = {one: every[one][name][k][at] for one in range(len(every))}
                if spec.placements != wanted or not _local.compared(tiles, array, spec):
                    wrong.append(f"{name} {way}")
        if repeat and not spoil:
            current, target = problem["large"]
            tile = _local.beginnings(current)[0][rank]
            ways = {"ours": lambda: _move.moved(tile, current, target), "torch": lambda: _hook.original()(tile, current, target)}
            made = {name: go() for name, go in ways.items()}
            same = torch.allclose(*(one.wait() if hasattr(one, "wait") else one for one in made.values()), rtol=1e-5)
            if not any(part.is_partial() for part in target.placements):  # of addends there are several that are right
                problem["row"]["same_large"] = same
            problem["row"]["microseconds"] = median_times(ways, repeat)
    return [{**one["row"], "planned": planned} for one in problems]


def rows_of(count, pairs, seed, elements, repeat, spoil=False, then=lambda rows: None, had=()):
    import torch
    with torch.no_grad():  # what a first compilation imports, once, before the ranks fork
        torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(1))
    torch._dynamo.reset()
    ranks.SECONDS, rows = 900, list(had)
    for first in range(len(rows), pairs, CHUNK):
        said = ranks.run(count, job, f"{seed} {count} {first}", min(CHUNK, pairs - first), elements, repeat, spoil)
        for k, every in enumerate(zip(*said)):
            rows.append(every[k % count])
            rows[-1] |= {name: all(one[name] for one in every) for name in ("planned", "same_large") if name in every[0]}
        then(rows)
    return rows


def wrong_of_ours(row):
    return [name for name in row["wrong"] if not name.startswith("torch")]


def ratio(row):
    return row["microseconds"]["ours"] / row["microseconds"]["torch"]


def summary(rows):
    ours = [one.get("same_large", True) and not wrong_of_ours(one) for one in rows]
    timed = [one for one in rows if "microseconds" in one]
    ratios = [ratio(one) for one in timed]
    return {"pairs": len(rows), "right": sum(ours), "planned": sum(one["planned"] for one in rows),
            "right_of_torch": sum(len(one["wrong"]) == len(wrong_of_ours(one)) for one in rows),
            "time_by_torch": round(statistics.median(ratios), 3) if ratios else None,
            "mean_time_by_torch": round(statistics.geometric_mean(ratios), 3) if ratios else None,
            "faster_by_a_tenth": sum(one < 0.9 for one in ratios), "slower_by_a_tenth": sum(one > 1.1 for one in ratios)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--elements", type=int, default=1 << 18)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--go-on", action="store_true")
    given = parser.parse_args()
    load, before, had = [os.getloadavg()[0]], [], had_in(given) if given.go_on else []
    for count in given.ranks:
        before += rows_of(count, given.pairs, given.seed, given.elements, given.repeat, then=lambda rows: write(given, load, before + rows),
                          had=[one for one in had if one["ranks"] == count])
    said = write(given, load, before)
    return 0 if all(one["right"] == one["planned"] == one["pairs"] for one in said.values()) else 1


def had_in(given):
    """The pairs of a file that was written with the same settings."""
    with open(given.file, encoding="ascii") as file:
        had = json.load(file)
    if any(had[name] != getattr(given, name) for name in ("seed", "elements", "repeat")):
        raise SystemExit(f"{given.file} has another --seed, --elements or --repeat")
    return had["problems"]


def write(given, load, rows):
    import torch
    facts = {"torch": torch.__version__, "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(),
             "load": [*load, os.getloadavg()[0]], "seed": given.seed, "elements": given.elements, "repeat": given.repeat}
    said = {str(count): summary([one for one in rows if one["ranks"] == count]) for count in sorted({one["ranks"] for one in rows})}
    head = json.dumps({"schema": "pyretile.torch-redistribute/1", **facts, "summary": said}, indent=1)
    lost = [one for one in rows if "microseconds" in one and ratio(one) > 1.1]
    lists = (f'"{name}": [\n' + ",\n".join(map(json.dumps, listed)) + "\n]" for name, listed in (("losses", lost), ("problems", rows)))
    with open(given.file + ".new", "w", encoding="ascii") as file:
        file.write(head.removesuffix("\n}") + ",\n" + ",\n".join(lists) + "\n}\n")
    os.replace(given.file + ".new", given.file)
    return said


if __name__ == "__main__":
    sys.exit(main())
