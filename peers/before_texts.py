"""Texts of small programs from before partitioning, as one release of JAX prints and dumps them, and what its partitioner makes of them.

    PYTHON peers/before_texts.py FOLDER

PYTHON is a virtual environment with JAX. Each program is lowered and compiled in a child process, for 8 devices. FOLDER gets
NAME.lowered.mlir (what `as_text()` prints), NAME.generic.mlir, NAME.propagated.mlir (after Shardy's propagation), NAME.lowered.hlo,
the dumps NAME.optimizations.hlo and NAME.partitioning.hlo from before these passes, the same with `gspmd` where the release still
lowers without Shardy, and NAME.after.hlo, the dump after `spmd-partitioning`. texts.jsonl has a line for each: what it is, the
mesh, both ends, and whether the program returns its argument.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from record_jax import in_child

MESHES = [{"x": 8}, {"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}]
SHARDINGS = {
    1: [(["x", None], [None, "x"]), (["x", None], ["x", None]), ([None, "x"], ["x", None])],
    2: [(["x", "y"], ["y", "x"]), ([["x", "y"], None], [None, ["y", "x"]]), (["x", None], [None, "y"]), (["y", None], ["y", None])],
    3: [(["x", "z"], [["x", "y"], None]), ([None, ["z", "x"]], ["y", "z"]), ([["x", "y"], "z"], [["x", "y"], "z"])],
}


def programs(jax, named):
    """Small programs of one array, by name; `named` makes a sharding of axes."""
    from jax import lax, numpy as jnp
    hold = lax.with_sharding_constraint
    return {
        "copied": lambda x: x,
        "chain": lambda x: hold(hold(x, named([None, "x"])), named(["x", None])),
        "through_whole": lambda x: hold(x, named([None, None])),
        "transposed": lambda x: x.T,
        "transposed_twice": lambda x: hold(x.T, named(["x", None])).T,
        "rolled": lambda x: jnp.roll(x, 1, axis=0),
        "rolled_both": lambda x: jnp.roll(x, (3, 2), axis=(0, 1)),
        "flipped": lambda x: jnp.flip(x, axis=1),
        "flipped_rows": lambda x: x[::-1],
        "sliced": lambda x: x[:8],
        "every_second": lambda x: x[::2],
        "halves_swapped": lambda x: jnp.concatenate([x[8:], x[:8]]),
        "joined": lambda x: jnp.concatenate([x, x], axis=1),
        "padded": lambda x: jnp.pad(x, ((8, 8), (0, 0))),
        "shifted": lambda x: jnp.pad(x, ((1, 0), (0, 0)))[:16],
        "summed": lambda x: x + jnp.sum(x, axis=0, keepdims=True),
        "means": lambda x: jnp.broadcast_to(jnp.mean(x, axis=1, keepdims=True), x.shape),
        "sines": lambda x: jnp.sin(x),
        "softmax": lambda x: jax.nn.softmax(x, axis=1),
        "relu": lambda x: jnp.maximum(x, 0),
        "plus_one": lambda x: x + 1,
        "negated": lambda x: -x,
        "gram": lambda x: x @ x.T @ x,
        "reshaped": lambda x: x.reshape(16, 4, 4).reshape(16, 16),
        "rows_mixed": lambda x: x.reshape(4, 4, 16).swapaxes(0, 1).reshape(16, 16),
        "running": lambda x: jnp.cumsum(x, axis=0),
        "looped": lambda x: lax.fori_loop(0, 3, lambda _, y: hold(jnp.roll(y, 1, axis=1), named(["x", None])), x),
        "triangle": lambda x: jnp.tril(x),
        "gathered_rows": lambda x: x[jnp.array([3, 1, 2, 0] * 4)],
        "sorted_rows": lambda x: jnp.sort(x, axis=0),
        "updated": lambda x: x.at[3].set(x[5]),
    }


class Recorder:
    def __init__(self, folder, log):
        self.folder, self.log = folder, log

    def keep(self, name, kind, text, facts):
        path = self.folder / f"{name}.{kind}"
        path.write_text(text)
        with self.log.open("a") as lines:
            print(json.dumps({"text": path.name, "kind": kind, **facts}), file=lines)


def record(recorder, name, function_name, mesh_axes, ends, dump):
    """All texts of one program, in a child."""
    os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count=8 --xla_dump_to={dump} --xla_dump_hlo_pass_re=spmd.* "
                               "--xla_dump_large_constants=true")
    import jax
    import numpy
    mesh = jax.sharding.Mesh(numpy.array(jax.devices()).reshape(tuple(mesh_axes.values())), tuple(mesh_axes))

    def named(spec):
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*(tuple(one) if isinstance(one, list) else one for one in spec)))

    function = programs(jax, named)[function_name]
    shape = jax.ShapeDtypeStruct((16, 16), numpy.float32)
    facts = {"mesh": mesh_axes, "from": ends[0], "to": ends[1], "shape": [16, 16], "program": function_name,
             "result": list(jax.eval_shape(function, shape).shape),
             "is_reshard": function_name in ("copied", "chain", "through_whole", "transposed_twice", "reshaped")}
    for shardy in (True, False):
        front = "" if shardy else "gspmd."
        try:
            jax.config.update("jax_use_shardy_partitioner", shardy)
        except (AttributeError, ValueError):
            if not shardy:
                continue
        lowered = jax.jit(lambda x: function(x), in_shardings=named(ends[0]), out_shardings=named(ends[1])).lower(shape)
        recorder.keep(name, front + "lowered.mlir", lowered.as_text(), facts)
        recorder.keep(name, front + "lowered.hlo", lowered.as_text("hlo"), facts)
        module = lowered.compiler_ir("stablehlo")
        recorder.keep(name, front + "generic.mlir", module.operation.get_asm(print_generic_op_form=True), facts)
        for path in Path(dump).glob("*.txt"):
            path.unlink()
        lowered.compile()
        for pattern, kind in (("*before_optimizations.txt", "optimizations.hlo"), ("*before_spmd-partitioning.txt", "partitioning.hlo"),
                              ("*after_spmd-partitioning*", "after.hlo")):
            for path in sorted(Path(dump).glob(pattern))[:1]:
                recorder.keep(name, front + kind, path.read_text(), facts)
        if shardy:
            from jaxlib.mlir import passmanager
            with module.context:
                passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
            recorder.keep(name, "propagated.mlir", str(module), facts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    log = given.folder / "texts.jsonl"
    log.write_text("")
    recorder = Recorder(given.folder, log)
    import jax  # the children have it at once; no device is looked at here
    for number, name in enumerate(programs(jax, lambda axes: axes)):
        axes = 1 + number % len(MESHES)
        for one in {(axes, number % len(SHARDINGS[axes])), (2, number % len(SHARDINGS[2]))}:
            mesh, ends = MESHES[one[0] - 1], SHARDINGS[one[0]][one[1]]
            if name == "copied" and ends[0] == ends[1]:
                continue  # right before and after partitioning
            label = f"{name}-{one[0]}{one[1]}"
            state, words = in_child(lambda dump: record(recorder, label, name, mesh, ends, dump))
            if state != "emitted":
                print(f"{label}: {words}", file=sys.stderr)


if __name__ == "__main__":
    main()
