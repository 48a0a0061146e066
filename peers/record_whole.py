"""Records what one release of JAX makes of whole programs, and what they do on devices and on one.

    PYTHON peers/record_whole.py FOLDER [--only REGEX] [--again] [--all-passes]

PYTHON is a virtual environment with JAX. The programs are those of peers/programs. FOLDER/NAME gets

    before.hlo     before `spmd-partitioning`: global, with shardings
    after.hlo      after it: what every device does
    lowered.mlir   StableHLO as JAX lowers it, and lowered.hlo, the same as HLO
    compiled.hlo   what is run: after all passes, with fusions
    propagated.mlir and local.mlir   StableHLO after Shardy's propagation, and what every device does by Shardy's own passes, which
                   JAX does not run itself: of releases that lower to Shardy, where the passes take the program
    run.json       the shardings of all inputs and outputs, and what happened when it was run

Each program is recorded in a child process with limits of time and memory. It is compiled once for its mesh of CPU devices and once
for one device without shardings. Both are run with the same arguments, drawn three times by the program's seed, and every element of
every device is compared. Where numbers with a point differ a little, both are compiled and run again in f64, in another child: a
rounding shrinks, a fault stays. Programs that draw random bits draw others for f64, so theirs is no rounding. What FOLDER has is not recorded again, but with --again.
"""

import argparse
import json
import os
import re
import sys
import time
import zlib
from pathlib import Path

from agreement import compare, verdict_of
from programs import all_programs
from programs.kit import Argument, Kit, drawn
from record_jax import RESHARDS, in_child, padding

SECONDS, DRAWS = 240, 3
MOST_OF_ROUNDINGS = 1e-2
NAME = "whole_program"


def seed_of(name):
    return zlib.crc32(name.encode()) & 0xFFFF


def flags(devices, dump, passes):
    return (f"--xla_force_host_platform_device_count={devices} --xla_dump_to={dump} --xla_dump_hlo_pass_re={passes} "
            "--xla_dump_large_constants=true --xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false")


def is_argument(one):
    return isinstance(one, Argument)


def values_of(listed, arguments, draw):
    """The same numbers for devices and for one; of f64 those of f32."""
    import jax
    import numpy
    random = numpy.random.default_rng([seed_of(listed.name), draw])

    def value(one):
        narrow = drawn(one, random, draw)
        return narrow.astype(numpy.float32).astype(one.dtype) if one.dtype == "float64" else narrow
    return jax.tree_util.tree_map(value, arguments, is_leaf=is_argument)


def made(listed, kit):
    """The function, jitted for the kit's mesh or for one device, and its arguments."""
    import jax
    function, arguments, results = listed.make(kit, **listed.more)

    def whole_program(*given):
        return function(*given)
    if kit.alone:
        whole_program.__name__ = "alone"
        return jax.jit(whole_program), arguments
    given = jax.tree_util.tree_map(lambda one: kit.named(one.spec), arguments, is_leaf=is_argument)
    out = {} if results is None else {"out_shardings": kit.shardings(results)}
    return jax.jit(whole_program, in_shardings=given, **out), arguments


def shapes(arguments):
    import jax
    import numpy
    return jax.tree_util.tree_map(lambda one: jax.ShapeDtypeStruct(one.shape, numpy.dtype(one.dtype)), arguments, is_leaf=is_argument)


def ends_of(tree, shardings):
    """Of each array its place in the tree, its shape and type, and its sharding in HLO's words; none of what is not used."""
    import jax
    arrays = jax.tree_util.tree_flatten_with_path(tree)[0]
    listed = jax.tree_util.tree_leaves(shardings, is_leaf=lambda one: one is None)
    return [{"path": jax.tree_util.keystr(path), "shape": list(one.shape), "type": str(one.dtype),
             "sharding": sharding and str(sharding._to_xla_hlo_sharding(len(one.shape)))}
            for (path, one), sharding in zip(arrays, listed, strict=True)]


def keep_dumps(dump, folder):
    """The pair around the partitioner, and where all passes were asked for, all of them."""
    pair = {"before.hlo": f"*jit_{NAME}*.before_spmd-partitioning*.txt", "after.hlo": f"*jit_{NAME}*.after_spmd-partitioning*.txt"}
    for name, pattern in pair.items():
        found = sorted(dump.glob(pattern))
        if not found:
            raise ValueError(f"no dump {pattern}")
        (folder / name).write_text(found[0].read_text())
    every = sorted(dump.glob(f"*jit_{NAME}*.txt"))
    if len(every) > 12:
        (folder / "passes").mkdir(exist_ok=True)
        for path in every:
            (folder / "passes" / path.name).write_bytes(path.read_bytes())


def warnings(dump):
    """What XLA said while it compiled. The child's words lie beside its dumps."""
    sys.stderr.flush()
    lines = (Path(dump) / "words").read_text(errors="replace").splitlines()
    return [line[:600] for line in lines if re.match(r"[WE]\d{4} |.*\[spmd\]|.*[Ii]nvoluntary", line)][:20]


def parts_of(result):
    return [(shard.index, shard.data) for shard in result.addressable_shards]


def run(listed, compiled, alone, arguments, kit):
    """What differs in each draw, for each result."""
    import jax
    import numpy
    found = []
    for draw in range(DRAWS):
        values = values_of(listed, arguments, draw)
        wanted = [numpy.asarray(one) for one in jax.tree_util.tree_leaves(alone(*values))]
        put = jax.tree_util.tree_map(lambda one, value: jax.device_put(value, kit.named(one.spec)), arguments, values, is_leaf=is_argument)
        results = jax.tree_util.tree_leaves(compiled(*put))
        found.append([compare(one, parts_of(result)) for one, result in zip(wanted, results, strict=True)])
    return found


class Report:
    """run.json, written again after every step, so that what a crash leaves says how far it came."""

    def __init__(self, path, facts):
        self.path, self.facts = path, facts
        self.begun = time.monotonic()

    def step(self, name, **facts):
        now = time.monotonic()
        self.facts.setdefault("seconds", {})[name] = round(now - self.begun, 2)
        self.facts.update(facts)
        self.begun = now
        self.path.write_text(json.dumps(self.facts, indent=1) + "\n")


def record(listed, folder, dump, facts, passes):
    """All of one program, in a child."""
    count = facts["devices"]
    os.environ["XLA_FLAGS"] = flags(count, dump, passes)
    import jax
    report = Report(folder / "run.json", facts)
    kit = Kit(listed.mesh)
    jitted, arguments = made(listed, kit)
    lowered = jitted.lower(*shapes(arguments))
    (folder / "lowered.mlir").write_text(lowered.as_text())
    (folder / "lowered.hlo").write_text(lowered.as_text(dialect="hlo"))
    report.step("lower", shardy=bool(getattr(jax.config, "jax_use_shardy_partitioner", True)))
    compiled = lowered.compile()
    (folder / "compiled.hlo").write_text(compiled.as_text())
    keep_dumps(Path(dump), folder)
    results = jax.eval_shape(jitted, *shapes(arguments))
    report.step("compile", warnings=warnings(dump), inputs=ends_of(shapes(arguments), compiled.input_shardings[0]),
                outputs=ends_of(results, compiled.output_shardings))
    for path in Path(dump).glob("*.txt"):
        path.unlink()
    alone, _ = made(listed, Kit(None))
    found = run(listed, compiled, alone, arguments, kit)
    report.step("run", execution=verdict_of(sum(found, [])), draws=found)


def again_in_wide(listed, dump, facts, path):
    """Where f32 differs: the same in f64."""
    os.environ["XLA_FLAGS"] = flags(facts["devices"], dump, "no-pass")
    import jax
    jax.config.update("jax_enable_x64", True)
    report = Report(path, facts)
    kit = Kit(listed.mesh, wide=True)
    jitted, arguments = made(listed, kit)
    alone, _ = made(listed, Kit(None, wide=True))
    found = run(listed, jitted.lower(*shapes(arguments)).compile(), alone, arguments, kit)
    report.step("wide", execution=verdict_of(sum(found, [])), wide_draws=found)


def shardy_texts(folder, first):
    """Shardy's own way to StableHLO per device, with these passes first. Uneven tiles need a pass more."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager

    def after(passes, text):
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            for one in passes:
                passmanager.PassManager.parse(f"builtin.module({one})").run(module.operation)
            return str(module)
    propagated = after([*first, "sdy-propagation-pipeline"], (folder / "lowered.mlir").read_text())
    (folder / "propagated.mlir").write_text(propagated)
    moved = after(RESHARDS, propagated)
    try:
        local = after(["sdy-convert-global-to-local"], moved)
    except ir.MLIRError:
        local = after([padding(), "sdy-convert-global-to-local"], moved)
    (folder / "local.mlir").write_text(local)


def draws_bits(folder):
    return re.search(r"threefry|rng_bit_generator|stablehlo\.rng\b", (folder / "lowered.mlir").read_text()) is not None


def may_be_rounding(facts):
    found = [one for draw in facts["draws"] for one in draw if one["differs"]]
    return bool(found) and max(one["largest"] for one in found) <= MOST_OF_ROUNDINGS


def missing(listed):
    """A library that the program needs and the environment lacks."""
    import importlib.util
    return next((name for name in listed.needs if importlib.util.find_spec(name) is None), None)


def devices_of(listed):
    count = 1
    for size in listed.mesh.values():
        count *= size
    return count


def one_program(listed, folder, passes):
    import jax
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.json"
    facts = {"program": listed.name, "release": jax.__version__, "mesh": listed.mesh, "devices": devices_of(listed), "seed": seed_of(listed.name), "state": "begun"}
    lacks = missing(listed)
    if lacks:
        return {**facts, "state": "left out", "words": f"needs {lacks}"}
    path.write_text(json.dumps(facts))
    state, words = in_child(lambda dump: record(listed, folder, dump, facts, passes), seconds=SECONDS)
    facts = json.loads(path.read_text())
    if state == "emitted" and may_be_rounding(facts) and not draws_bits(folder):
        narrow = facts["execution"]
        state, words = in_child(lambda dump: again_in_wide(listed, dump, facts, path), seconds=SECONDS)
        facts = {**json.loads(path.read_text()), "narrow": narrow}
    return {**facts, "state": state, "words": words}


def with_shardy_texts(facts, folder):
    """Some passes do not look into functions that are called, so the second try is without such."""
    for first in ([], ["inline"]):
        state, words = in_child(lambda _: shardy_texts(folder, first), seconds=SECONDS)
        if state == "emitted":
            break
    return {**facts, "shardy_texts": state, "shardy_first": first, "shardy_words": words[-400:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--again", action="store_true", help="record what is there, too")
    parser.add_argument("--all-passes", action="store_true", help="keep the text around every pass, in NAME/passes")
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax  # noqa: F401  in the parent, once: children only fork
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
    for name, listed in all_programs().items():
        folder = given.folder / name
        if not re.search(given.only, name) or (not given.again and finished(folder / "run.json")):
            continue
        start = time.monotonic()
        facts = one_program(listed, folder, ".*" if given.all_passes else "spmd.*")
        if facts.get("shardy"):
            facts = with_shardy_texts(facts, folder)
        (folder / "run.json").write_text(json.dumps(facts, indent=1) + "\n")
        told = facts.get("execution", facts["words"][-200:])
        print(f"{name}: {facts['state']}, {told}, {time.monotonic() - start:.1f} s", flush=True)


def finished(path):
    return path.exists() and json.loads(path.read_text())["state"] != "begun"


if __name__ == "__main__":
    sys.exit(main())
