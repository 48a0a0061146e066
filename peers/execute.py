"""What the peer's own CPU devices do with its program, element by element, against the verdicts.

    PYTHON peers/execute.py FOLDER [--retile RETILE] [--count 300] [--results OUT] < PROBLEMS

PYTHON is the environment of the release that FOLDER was recorded with. HLO is compiled again by the release, must be the text
that was recorded, and is run; StableHLO per device is run as the body of a manual computation. Of every element stands its own
number, of every addend another; where a tile goes past the array stands -7. At the end every element of every device is
compared, and of sums the sum of all addends. The verdicts are those of `retile check` and of peers/evaluate.py. OUT gets the
figures of the release. Exit code 1 where a run and a verdict differ, or none ran.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from math import prod
from pathlib import Path

import ends
import read_mlir
from compare import ask_retile
from evaluate import judge
from record_jax import devices, emit_hlo, in_child, uneven

BEYOND = -7


def value(element, addend):
    """What stands for an addend of an element: a whole number, small enough that 64 of them add up exactly in f32."""
    return (element * 2654435761 + addend * 40503 * (element + 11) + 97 * addend) % 262139 + 1


def tiles_on(problem, numpy):
    """What every device begins with."""
    numbers = numpy.arange(prod(problem["shape"])).reshape(problem["shape"])
    starts, limits = ends.boxes(problem, "from")
    addend, _ = ends.addends(problem, "from")
    tile, _ = ends.tiles(problem)
    out = []
    for low, high, which in zip(starts, limits, addend):
        cells = numpy.full(tile, BEYOND, dtype=numpy.float32)
        inside = value(numbers[tuple(slice(*both) for both in zip(low, high))], int(which))
        cells[tuple(slice(0, size) for size in inside.shape)] = inside
        out.append(cells)
    return out


def is_right(problem, made, numpy):
    """Whether all devices have what belongs to them: replicas the same, and all addends of an element its sum."""
    starts, limits = ends.boxes(problem, "to")
    numbers, _ = ends.addends(problem, "to")
    _, addends = ends.addends(problem, "from")
    elements = numpy.arange(prod(problem["shape"]))
    wanted = sum(value(elements, k) for k in range(addends)).reshape(problem["shape"]).astype(numpy.float64)
    _, tile = ends.tiles(problem)
    total, seen = numpy.zeros(problem["shape"]), {}
    for low, high, number, cells in zip(starts, limits, numbers, made):
        if list(cells.shape) != tile:
            return False
        inside = cells[tuple(slice(0, one) for one in high - low)]
        key = (*low.tolist(), *high.tolist(), int(number))
        if key not in seen:
            seen[key] = inside
            total[tuple(slice(*both) for both in zip(low, high))] += inside
        elif not numpy.array_equal(seen[key], inside):
            return False
    return numpy.array_equal(total, wanted)


def run(executable, held, begin, numpy):
    import jax
    count = len(held)
    mesh = jax.sharding.Mesh(numpy.array(held), ("d",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    shape = (count * begin[0].shape[0], *begin[0].shape[1:])
    given = jax.make_array_from_single_device_arrays(shape, sharding, [jax.device_put(one, at) for one, at in zip(begin, held)])
    made = executable.execute_sharded([given]).disassemble_into_single_device_arrays()[0]
    return [numpy.asarray(one) for one in made]


def run_hlo(problem, folder, text):
    import numpy
    emitted, executable, held = emit_hlo(problem, folder)
    if emitted != text:
        raise ValueError("another text than was recorded")
    return is_right(problem, run(executable, held, tiles_on(problem, numpy), numpy), numpy)


def listed_groups(text):
    """Groups along axes of a mesh that orders its devices, device by device: the export of 0.12.0 forgets that order."""
    known = read_mlir.meshes(text)

    def rows(found):
        if known[found[2]][1] is None:
            return found[0]
        groups = read_mlir.groups_of("replica_groups = " + found[1], known)
        return f"replica_groups = dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>"
    return re.sub(r"replica_groups = (#stablehlo\.replica_group_mesh_axes<mesh = @(\w+), axes = \[.*?\]>)", rows, text)


def manual(text, count):
    """The function on tiles as the body of a manual computation: nothing partitions it again."""
    lines = listed_groups(text).splitlines()
    at = next(k for k, line in enumerate(lines) if "func.func" in line)
    end = next(k for k in range(at, len(lines)) if re.match(r"\s*return ", lines[k]))
    argument, local = re.search(r"\((%\w+): (tensor<[^>]*>)", lines[at]).groups()
    returned, made = re.match(r"\s*return (%\w+) : (tensor<[^>]*>)", lines[end]).groups()

    def wide(tensor):
        return re.sub(r"<(\d+)", lambda found: f"<{int(found[1]) * count}", tensor, count=1)

    def sharding(tensor):
        return '<@devices, [{"d"}' + ", {}" * (tensor.count("x") - 1) + "]>"
    head = [f"module @m attributes {{mhlo.num_partitions = {count} : i32, mhlo.num_replicas = 1 : i32}} {{", f'  sdy.mesh @devices = <["d"={count}]>']
    head += [line for line in lines[:at] if "sdy.mesh" in line]
    return "\n".join(head + [
        f"  func.func public @main(%whole: {wide(local)} {{sdy.sharding = #sdy.sharding{sharding(local)}}}) -> "
        f"({wide(made)} {{sdy.sharding = #sdy.sharding{sharding(made)}}}) {{",
        f"    %done = sdy.manual_computation(%whole) in_shardings=[{sharding(local)}] out_shardings=[{sharding(made)}] "
        f'manual_axes={{"d"}} ({argument}: {local}) {{', *lines[at + 1:end], f"    sdy.return {returned} : {made}",
        f"    }} : ({wide(local)}) -> {wide(made)}", f"    return %done : {wide(made)}", "  }", "}", ""])


def run_stablehlo(problem, folder, text):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices(problem)}"
    import jax
    import numpy
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir
    held = jax.devices()
    options = compiler.get_compile_options(num_replicas=1, num_partitions=len(held),
                                           device_assignment=numpy.arange(len(held)).reshape(1, -1))
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = True
    bare = manual(text, len(held))
    with mlir.make_ir_context():
        executable = held[0].client.compile_and_load(ir.Module.parse(bare), xla_client.DeviceList(tuple(held)), options)
    return is_right(problem, run(executable, held, tiles_on(problem, numpy), numpy), numpy)


RUNS = {"hlo": run_hlo, "stablehlo": run_stablehlo}


def kind_of(problem):
    return "sums" if problem["from_sum"] else "uneven" if uneven(problem) else "even"


def execute(problem, form, path):
    """What became of one program: `right` or `wrong`, or why it was not run."""
    text, result = path.read_text(), path.parent / "executed"
    state, words = in_child(lambda folder: str(RUNS[form](problem, folder, text)), result)
    if state != "emitted":
        return {"ran": "not run", "words": f"{state}: {words[-300:]}"}
    return {"ran": "right" if result.read_text() == "True" else "wrong"}


def executed(folder, problems):
    """What became of all programs of these problems. What FOLDER/executed.jsonl has is not run again."""
    log = folder / "executed.jsonl"
    known = {(one["id"], one["form"]): one for one in map(json.loads, log.read_text().splitlines())} if log.exists() else {}
    with log.open("a") as lines:
        for problem in problems:
            for form in RUNS:
                key, path = (problem["id"], form), folder / f"{problem['id']}.{form}"
                if key not in known and path.exists():
                    known[key] = {"id": key[0], "form": form, **execute(problem, form, path)}
                    print(json.dumps(known[key]), file=lines, flush=True)
    (folder / "executed").unlink(missing_ok=True)
    return {key: one for key, one in known.items() if key[0] in {problem["id"] for problem in problems}}


def figures_of(found, problems, folder, retile):
    """Counts for every form and kind of problem, and the programs whose two verdicts are not what happened."""
    known, counts, unlike = {one["id"]: one for one in problems}, {form: Counter() for form in RUNS}, []
    for (number, form), one in sorted(found.items()):
        problem, path = known[number], folder / f"{number}.{form}"
        counts[form][f"{kind_of(problem)}, {one['ran']}"] += 1
        if one["ran"] == "not run":
            print(f"{path}: {one['words']}", flush=True)
            continue
        verdicts = [ask_retile(retile, problem, path)["right"], judge(problem, form, path.read_text())["right"]]
        if verdicts != [one["ran"] == "right"] * 2:
            unlike.append({**one, "verdicts": verdicts})
    ran = sum(one["ran"] != "not run" for one in found.values())
    return {"problems": len(problems), "programs_run": ran, "verdicts_unlike": unlike, **{form: dict(sorted(of.items())) for form, of in counts.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--retile", help="the program retile; without it the programs are only run")
    parser.add_argument("--count", type=int, default=300, help="problems; each is run in both forms")
    parser.add_argument("--results", type=Path, help="where to write the figures of this release")
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax  # noqa: F401
    problems = [json.loads(line) for line in sys.stdin][:given.count]
    found = executed(given.folder, problems)
    if not given.retile:
        return 0
    figures = figures_of(found, problems, given.folder, given.retile)
    if given.results:
        write_results(given.results, given.folder.name, figures)
    print(f"{given.folder.name}: {json.dumps(figures)}")
    return 1 if figures["verdicts_unlike"] or not figures["programs_run"] else 0


def write_results(path, release, figures):
    """Beside those of other releases."""
    known = json.loads(path.read_text()) if path.exists() else {"schema": "retile.peers-executed/1"}
    path.write_text(json.dumps({**known, release: figures}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
