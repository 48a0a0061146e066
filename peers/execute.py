"""What the peer's own CPU devices do with its program, element by element, against the verdict of peers/evaluate.py.

    PYTHON peers/execute.py FOLDER [--count 300] [--seed 1] < PROBLEMS

PYTHON is the environment of the release that FOLDER was recorded with. The array's elements are their own indices. HLO is
compiled and run as it was recorded; StableHLO per device is run as the body of a manual computation. Problems with
uneven tiles or sums are left out. Exit code 1 where a run and a verdict differ, or none ran.
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
from evaluate import judge
from record_jax import devices, emit_hlo, in_child, uneven


def tiles_on(problem, numpy):
    """What every device begins with, and what it is to end with."""
    whole = numpy.arange(prod(problem["shape"]), dtype=numpy.float32).reshape(problem["shape"])
    both = []
    for end in ("from", "to"):
        starts, limits = ends.boxes(problem, end)
        both.append([whole[tuple(slice(low, high) for low, high in zip(*box))] for box in zip(starts, limits)])
    return both


def run(executable, held, begin, numpy):
    import jax
    count = len(held)
    mesh = jax.sharding.Mesh(numpy.array(held), ("d",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    shape = (count * begin[0].shape[0], *begin[0].shape[1:])
    given = jax.make_array_from_single_device_arrays(shape, sharding, [jax.device_put(one, at) for one, at in zip(begin, held)])
    made = executable.execute_sharded([given]).disassemble_into_single_device_arrays()[0]
    return [numpy.asarray(one) for one in made]


def run_hlo(problem, folder):
    import numpy
    _, executable, held = emit_hlo(problem, folder)
    begin, end = tiles_on(problem, numpy)
    made = run(executable, held, begin, numpy)
    return all(numpy.array_equal(one, wanted) for one, wanted in zip(made, end))


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
    begin, end = tiles_on(problem, numpy)
    made = run(executable, held, begin, numpy)
    return all(numpy.array_equal(one, wanted) for one, wanted in zip(made, end))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300, help="problems; each is run in both forms")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax  # noqa: F401
    counts, tried = Counter(), 0
    result = given.folder / "executed"
    for problem in map(json.loads, sys.stdin):
        if uneven(problem) or problem["from_sum"] or tried >= given.count:
            continue
        tried += 1
        for form in ("hlo", "stablehlo"):
            path = given.folder / f"{problem['id']}.{form}"
            if not path.exists():
                continue
            text = path.read_text()
            work = (lambda folder: str(run_hlo(problem, folder))) if form == "hlo" else (lambda folder: str(run_stablehlo(problem, folder, text)))
            state, words = in_child(work, result)
            if state != "emitted":
                counts[form, "not run"] += 1
                print(f"{path}: {state}: {words[-300:]}", flush=True)
                continue
            right, verdict = result.read_text() == "True", judge(problem, form, text)["right"]
            counts[form, "right" if right else "wrong"] += 1
            if right != verdict:
                counts["different"] += 1
                print(f"{path}: ran {'right' if right else 'wrong'}, judged {verdict}", flush=True)
    result.unlink(missing_ok=True)
    ran = sum(count for key, count in counts.items() if key != "different" and key[1] != "not run")
    for key, count in sorted((key, count) for key, count in counts.items() if key != "different"):
        print(f"{given.folder.name} {' '.join(key)}: {count}")
    print(f"{given.folder.name}: {tried} problems, {ran} programs run, {counts['different']} differences")
    return 1 if counts["different"] or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
