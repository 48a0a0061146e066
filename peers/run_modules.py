"""HLO modules run on the peer's own CPU devices: the child of peers/operations.py.

    PYTHON peers/run_modules.py [--together N] < MODULES > RESULTS

PYTHON is the environment of a JAX release. A line of MODULES is an object: `id`, `text`, `replicas`, `partitions`, and
`arguments`, of each its type, its shape and what every device holds. A line of RESULTS has `id` and either `failed`, the
peer's words, or `results`, of each result what every device holds, and `stablehlo`, the text that the peer makes of the
module. Up to N modules of one device are compiled as one, each with names of its own; one that fails is tried alone.
"""

import argparse
import itertools
import json
import os
import re
import sys

DEVICES = 8
ROOT = re.compile(r"^ROOT (\w+) = (\([^)]*\)|\S+) ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--together", type=int, default=1)
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES} --xla_backend_optimization_level=0"
    import jax
    jax.config.update("jax_enable_x64", True)
    jobs = map(json.loads, sys.stdin)
    for alone, group in itertools.groupby(jobs, lambda job: job["replicas"] * job["partitions"] > 1):
        group = list(group)
        step = 1 if alone else given.together
        for k in range(0, len(group), step):
            answer(group[k:k + step])


def answer(jobs):
    print(json.dumps({"begun": [job["id"] for job in jobs]}), flush=True)
    try:
        results = run(jobs)
        for job, found in zip(jobs, results):
            print(json.dumps({"id": job["id"], "results": found, "stablehlo": stablehlo_of(job["text"])}), flush=True)
    except Exception as problem:  # whatever the peer says; a crash ends the child, which the parent sees
        if len(jobs) > 1:
            for job in jobs:
                answer([job])
        else:
            print(json.dumps({"id": jobs[0]["id"], "failed": f"{type(problem).__name__}: {str(problem)[:300]}"}), flush=True)


def computation(text):
    from jaxlib import xla_client
    module = xla_client.hlo.hlo_module_from_text(text)
    made = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    return xla_client._xla.mlir.xla_computation_to_mlir_module(made)


def stablehlo_of(text):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        return ir.Module.parse(computation(text)).operation.get_asm(enable_debug_info=False)


def together(jobs):
    """One text of several of one device: a tuple of all results; how many results each has."""
    bodies, lines, roots, counts, parameters = [], [], [], [], 0
    for k, job in enumerate(jobs):
        before, entry = job["text"].split("ENTRY e {\n")
        bodies.append(before.split("\n\n", 1)[1].replace("%body", f"%body{k}"))
        own = [line.strip() for line in entry.splitlines() if " = " in line]
        names = {re.sub(r"^ROOT ", "", line).split(" = ")[0] for line in own}
        mine = re.compile(r"(?<![\w.%-])(" + "|".join(sorted(names, key=len, reverse=True)) + r")(?![\w.\[-])")
        first = parameters
        for line in own:
            root = ROOT.match(line)
            line = mine.sub(lambda name: f"{name[1]}_{k}", re.sub("^ROOT ", "", line))
            line = re.sub(r" parameter\((\d+)\)", lambda number: f" parameter({first + int(number[1])})", line)
            lines.append(line)
            if root:
                name, kind = f"{root[1]}_{k}", root[2]
                if kind.startswith("("):
                    kinds = re.findall(r"\w+\[[\d,]*\]", kind)
                    lines += [f"{name}_{n} = {one} get-tuple-element({name}), index={n}" for n, one in enumerate(kinds)]
                    roots += [(f"{name}_{n}", one) for n, one in enumerate(kinds)]
                    counts.append(len(kinds))
                else:
                    roots.append((name, kind))
                    counts.append(1)
        parameters += len(job["arguments"])
    lines.append(f"ROOT all = ({', '.join(kind for _, kind in roots)}) tuple({', '.join(name for name, _ in roots)})")
    return "HloModule m\n\n" + "".join(bodies) + "ENTRY e {\n  " + "\n  ".join(lines) + "\n}\n", counts


def dtype_of(name):
    import ml_dtypes
    import numpy
    known = {"pred": "bool", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
    if name in known:
        return numpy.dtype(known[name])
    if name[0] in "su" and name[1:] in ("8", "16", "32", "64"):
        return numpy.dtype(("int" if name[0] == "s" else "uint") + name[1:])
    others = {"bf16": "bfloat16", **{f"s{n}": f"int{n}" for n in (1, 2, 4)}, **{f"u{n}": f"uint{n}" for n in (1, 2, 4)}}
    if name.startswith("f"):
        others[name] = "float" + name[1:].replace("e", "_e", 1)
    return numpy.dtype(getattr(ml_dtypes, others[name]))


def number_of(text):
    """A number as it was written: integers as they are, others in hexadecimal, complex ones in two parts."""
    if isinstance(text, list):
        return complex(*(float.fromhex(part) for part in text))
    return float.fromhex(text) if isinstance(text, str) else text


def text_of(value, dtype):
    import numpy
    if dtype.kind == "c":
        return [float(value.real).hex(), float(value.imag).hex()]
    if dtype.kind in "iub" or dtype.name.startswith(("int", "uint")):
        return int(value)
    out = float(numpy.asarray(value, dtype=dtype))
    return "nan" if out != out else out.hex()


def executable_of(text, replicas, partitions, devices):
    import numpy
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir
    assignment = numpy.arange(len(devices)).reshape(replicas, partitions)
    options = compiler.get_compile_options(num_replicas=replicas, num_partitions=partitions, device_assignment=assignment)
    # What has the sharding `manual` everywhere is partitioned already.
    options.executable_build_options.use_spmd_partitioning = partitions > 1
    with mlir.make_ir_context():
        module = ir.Module.parse(computation(text))
        return devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)


def run(jobs):
    """What every device holds of every result, of each module."""
    import jax
    import numpy
    replicas, partitions = jobs[0]["replicas"], jobs[0]["partitions"]
    devices = jax.devices()[:replicas * partitions]
    text, counts = together(jobs) if len(jobs) > 1 else (jobs[0]["text"], None)
    executable = executable_of(text, replicas, partitions, devices)
    sharding = jax.sharding.NamedSharding(jax.sharding.Mesh(numpy.array(devices), ("d",)), jax.sharding.PartitionSpec())
    given = []
    for argument in (one for job in jobs for one in job["arguments"]):
        dtype, shape = dtype_of(argument["type"]), tuple(argument["shape"])
        tiles = [numpy.array([number_of(one) for one in tile], dtype=dtype).reshape(shape) for tile in argument["tiles"]]
        parts = [jax.device_put(tile, device) for tile, device in zip(tiles, devices)]
        given.append(jax.make_array_from_single_device_arrays(shape, sharding, parts))
    made = []
    for parts in executable.execute_sharded(given).disassemble_into_single_device_arrays():
        arrays = [numpy.asarray(part) for part in parts]
        made.append([[text_of(one, array.dtype) for one in array.ravel()] for array in arrays])
    if counts is None:
        return [made]
    ends = list(itertools.accumulate(counts))
    return [made[end - count:end] for count, end in zip(counts, ends)]


if __name__ == "__main__":
    main()
