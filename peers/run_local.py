"""Runs the programs per device that Shardy's own passes made, on CPU devices, and compares them with the function on one device.

    PYTHON peers/run_local.py FOLDER [--only REGEX]

PYTHON is a virtual environment with JAX, and FOLDER is what peers/record_whole.py filled. Of every program with local.mlir its folder
gets local.json: `execution`, which is `equal`, `differs`, or why it was not run. The text is run as the body of a manual
computation, which nothing partitions again, on the same arguments as the program itself: three draws, every element of every device.
Where numbers of 16 bits differ, both texts are run again with 32 bits.
"""

import argparse
import json
import os
import re
import sys
from pathlib import Path

import record_whole
from agreement import compare, verdict_of
from execute import listed_groups
from programs import all_programs
from programs.kit import Kit
from record_jax import in_child

NARROW = re.compile(r"\bb?f16\b|(?<=x)b?f16\b")
SHARDING = re.compile(r"#sdy\.sharding<@(\w+), \[(.*)\]>")


def axes_of(attribute):
    """The axes of every dimension of `#sdy.sharding<@mesh, [{"x"}, {}]>`; no axis is there in part."""
    found = SHARDING.fullmatch(attribute)
    if not found or ":(" in attribute:
        raise ValueError(f"a sharding that is not read: {attribute}")
    return [tuple(re.findall(r'"(\w+)"', dim)) for dim in re.findall(r"\{(.*?)\}", found[2])]


def own_attributes(function, name):
    """Of each argument or result its sharding, or None."""
    if name not in function.attributes:
        return []
    return [str(one["sdy.sharding"]) if "sdy.sharding" in one else None for one in function.attributes[name]]


def bare(text):
    """The text without any word of a sharding, the types of what it takes and makes, and how these lie."""
    from jaxlib.mlir import ir
    module = ir.Module.parse(text)
    main = next(one for one in module.body.operations if "sym_name" in one.attributes and str(one.attributes["sym_name"]) == '"main"')
    ends = {name: own_attributes(main, name) for name in ("arg_attrs", "res_attrs")}
    types = [str(one) for one in main.type.inputs], [str(one) for one in main.type.results]

    def strip(op):
        if "sdy.sharding" in op.attributes:
            del op.attributes["sdy.sharding"]
        for name in ends:
            if name in op.attributes:
                del op.attributes[name]
        return ir.WalkResult.ADVANCE
    module.operation.walk(strip)
    return str(module), types, ends


def wide(tensor, count):
    """A type of all devices' tiles behind each other; numbers alone are the same everywhere."""
    return re.sub(r"<(\d+)(?=x)", lambda found: f"<{int(found[1]) * count}", tensor, count=1)


def along(tensor):
    """The sharding along all devices of such a type."""
    rank = len(re.match(r"tensor<((?:\d+x)*)", tensor)[1].split("x")) - 1
    dims = ['{"d"}', *["{}"] * (rank - 1)] if rank else []
    return f"<@devices, [{', '.join(dims)}]>"


def manual(text, types, count):
    """The function on tiles as the body of a manual computation along all devices."""
    lines = listed_groups(text).rstrip().splitlines()
    at = next(k for k, line in enumerate(lines) if "func.func public @main" in line)
    end = next(k for k in range(at, len(lines)) if re.match(r"\s*return\b", lines[k]))
    returned = re.match(r"\s*return ?([^:]*)", lines[end])[1].strip()
    taken, made = types
    names = [f"%whole{k}" for k in range(len(taken))]
    inside = [re.search(rf"(%arg{k}): ", lines[at])[1] for k in range(len(taken))]

    def ends(listed):
        return ", ".join(f"{wide(one, count)} {{sdy.sharding = #sdy.sharding{along(one)}}}" for one in listed)
    # Main stands first, and behind it what it calls.
    head = [f"module @m attributes {{mhlo.num_partitions = {count} : i32, mhlo.num_replicas = 1 : i32}} {{", f'  sdy.mesh @devices = <["d"={count}]>']
    head += [line for line in lines[:at] if "sdy.mesh" in line]
    signature = ", ".join(f"{name}: {wide(one, count)} {{sdy.sharding = #sdy.sharding{along(one)}}}" for name, one in zip(names, taken))
    results = ", ".join(wide(one, count) for one in made)
    results_made = ", ".join(f"%done#{k}" for k in range(len(made)))
    return "\n".join([
        *head, f"  func.func public @main({signature}) -> ({ends(made)}) {{",
        f"    %done:{len(made)} = sdy.manual_computation({', '.join(names)}) in_shardings=[{', '.join(map(along, taken))}] "
        f'out_shardings=[{", ".join(map(along, made))}] manual_axes={{"d"}} ({", ".join(f"{name}: {one}" for name, one in zip(inside, taken))}) {{',
        *(re.sub(r"^(\s*(?:%\w+(?::\d+)? = )?)call @", r"\1func.call @", line) for line in lines[at + 1:end]), f"    sdy.return {returned} : {', '.join(made)}",
        f"    }} : ({', '.join(wide(one, count) for one in taken)}) -> ({results})", f"    return {results_made} : {results}", *lines[end + 1:]])


def executable_of(text, types, held):
    import numpy
    from jax._src import compiler
    from jaxlib import xla_client
    from jaxlib.mlir import ir
    options = compiler.get_compile_options(num_replicas=1, num_partitions=len(held), device_assignment=numpy.arange(len(held)).reshape(1, -1))
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = True
    return held[0].client.compile_and_load(ir.Module.parse(manual(text, types, len(held))), xla_client.DeviceList(tuple(held)), options)


def spread(tiles, held):
    """One array of all devices' tiles."""
    import jax
    import numpy
    mesh = jax.sharding.Mesh(numpy.array(held), ("d",))
    shape = tiles[0].shape
    spec = jax.sharding.PartitionSpec("d") if shape else jax.sharding.PartitionSpec()
    whole = (len(held) * shape[0], *shape[1:]) if shape else ()
    placed = [jax.device_put(one, at) for one, at in zip(tiles, held)]
    return jax.make_array_from_single_device_arrays(whole, jax.sharding.NamedSharding(mesh, spec), placed)


def boxes(kit, attribute, shape):
    """Where the tile of every device lies in an array."""
    import jax
    axes = axes_of(attribute) if attribute else [()] * len(shape)
    sharding = jax.sharding.NamedSharding(kit.mesh, jax.sharding.PartitionSpec(*(one or None for one in axes)))
    places = sharding.devices_indices_map(tuple(shape))
    return [places[device] for device in kit.mesh.devices.flat]


def on_one(text, held):
    """What JAX lowered, for one device."""
    from jax._src import compiler
    from jaxlib import xla_client
    from jaxlib.mlir import ir
    bare_text = re.sub(r"num_partitions = \d+", "num_partitions = 1", bare(text)[0])
    bare_text = re.sub(r"= sdy\.sharding_constraint (%[\w#]+) .* : ", r"= stablehlo.optimization_barrier \1 : ", bare_text)
    bare_text = "\n".join(line for line in bare_text.splitlines() if "sdy.mesh" not in line)
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    return held.client.compile_and_load(ir.Module.parse(bare_text), xla_client.DeviceList((held,)), options)


def differences(listed, folder, wide):
    """What differs in each draw, for each result. With `wide` both texts have f32 in place of narrower numbers."""
    import jax
    import numpy
    from jax._src.interpreters import mlir
    facts, kit = json.loads((folder / "run.json").read_text()), Kit(listed.mesh)
    held = list(kit.mesh.devices.flat)
    alone, arguments = record_whole.made(listed, Kit(None))

    def widened(text):
        return NARROW.sub("f32", text) if wide else text
    with mlir.make_ir_context():
        text, types, ends = bare(widened((folder / "local.mlir").read_text()))
        executable = executable_of(text, types, held)
        one_device = on_one(widened((folder / "lowered.mlir").read_text()), held[0]) if wide else None
    used = [one["sharding"] is not None for one in facts["inputs"]]
    found = []
    for draw in range(record_whole.DRAWS):
        values = record_whole.values_of(listed, arguments, draw)
        leaves = [numpy.asarray(one) for one, is_used in zip(jax.tree_util.tree_leaves(values), used, strict=True) if is_used]
        if wide:
            leaves = [one.astype(numpy.float32) if one.dtype.name in ("bfloat16", "float16") else one for one in leaves]
            done = one_device.execute_sharded([jax.device_put(one, held[0]) for one in leaves])
            wanted = [numpy.asarray(tiles[0]) for tiles in done.disassemble_into_single_device_arrays()]
        else:
            wanted = [numpy.asarray(one) for one in jax.tree_util.tree_leaves(alone(*values))]
        starts = ends["arg_attrs"] or [None] * len(leaves)
        given = [spread([one[box] for box in boxes(kit, how, one.shape)], held) for one, how in zip(leaves, starts, strict=True)]
        made = executable.execute_sharded(given).disassemble_into_single_device_arrays()
        stops = ends["res_attrs"] or [None] * len(wanted)
        found.append([compare(one, list(zip(boxes(kit, how, one.shape), map(numpy.asarray, tiles), strict=True)))
                      for one, how, tiles in zip(wanted, stops, made, strict=True)])
    return found


def run(listed, folder):
    """A difference of numbers of few bits that is gone where they have more was a rounding."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={record_whole.devices_of(listed)} --xla_cpu_multi_thread_eigen=false"
    found = differences(listed, folder, False)
    facts = {"execution": verdict_of(sum(found, [])), "draws": found}
    if facts["execution"] == "differs" and NARROW.search((folder / "local.mlir").read_text()):
        wide = differences(listed, folder, True)
        facts |= {"narrow": "differs", "execution": verdict_of(sum(wide, [])), "wide_draws": wide}
    return json.dumps(facts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression of names")
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax  # noqa: F401  in the parent, once: children only fork
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
    for name, listed in all_programs().items():
        folder = given.folder / name
        out = folder / "local.json"
        if not re.search(given.only, name) or not (folder / "local.mlir").exists() or out.exists():
            continue
        state, words = in_child(lambda _: run(listed, folder), out, seconds=record_whole.SECONDS)
        if state != "emitted":
            out.write_text(json.dumps({"execution": "not run", "words": f"{state}: {words[-400:]}"}))
        print(f"{name}: {json.loads(out.read_text())['execution']} {words[-200:] if state != 'emitted' else ''}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
