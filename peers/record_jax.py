"""Records what one release of JAX emits for problems: HLO after partitioning, Shardy's collectives, StableHLO per device.

    corpus/problems.py --count 1500 --json | PYTHON peers/record_jax.py FOLDER [--forms hlo,sdy,stablehlo]

PYTHON is a virtual environment with JAX. FOLDER gets NUMBER.hlo, NUMBER.sdy, NUMBER.stablehlo and log.jsonl, with a line for
each problem and form: `emitted`, `refused`, `aborted`, or `out of time`, which is our limit. Each is made in a child process,
because the peers abort; its name is written before it starts. What the log has is not made again.

HLO is what XLA's whole pipeline makes. Of sums, the function says what JAX says for `jax.sharding.reshard`. The other two forms are
made by passes of Shardy, in this order: sdy-insert-explicit-reshards (which adds addends), sdy-reshard-to-collectives, canonicalize;
of uneven tiles sdy-pad-for-divisibility, and sdy-convert-global-to-local.
"""

import argparse
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
from math import prod
from pathlib import Path

FORMS = {"hlo": "hlo", "sdy": "sdy", "stablehlo": "stablehlo"}
SECONDS = 60


def devices(problem):
    return prod(size for _, size in problem["mesh"])


def uneven(problem):
    sizes = dict(map(tuple, problem["mesh"]))
    return any(extent % prod(sizes[name] for name in axes)
               for end in ("from", "to") for extent, axes in zip(problem["shape"], problem[end]))


def mesh_text(problem, order):
    axes = ", ".join(f'"{name}"={size}' for name, size in problem["mesh"])
    listed = "" if order in (None, list(range(devices(problem)))) else f", device_ids={order}"
    return f"<[{axes}]{listed}>"


def sharding_text(problem, end, mesh):
    dims = ", ".join("{" + ", ".join(f'"{name}"' for name in axes) + "}" for axes in problem[end])
    sums = ", ".join(f'"{name}"' for name in problem[end + "_sum"])
    return f"<@{mesh}, [{dims}]" + (f", unreduced={{{sums}}}" if sums else "") + ">"


def shardy_module(problem, steps):
    """The problem as a function that reshards its argument, by these steps: operations, each with the end that it goes to."""
    meshes = [mesh_text(problem, problem["from_order"]), mesh_text(problem, problem["to_order"])]
    names = ["mesh", "mesh" if meshes[0] == meshes[1] else "mesh_0"]
    source, target = (sharding_text(problem, end, name) for end, name in zip(("from", "to"), names))
    tensor = "tensor<" + "".join(f"{extent}x" for extent in problem["shape"]) + "f32>"
    lines = [f"module @m attributes {{mhlo.num_partitions = {devices(problem)} : i32, mhlo.num_replicas = 1 : i32}} {{"]
    lines += [f"  sdy.mesh @{name} = {text}" for name, text in dict(zip(names, meshes)).items()]
    lines += [f"  func.func public @main(%arg0: {tensor} {{sdy.sharding = #sdy.sharding{source}}}) -> "
              f"({tensor} {{sdy.sharding = #sdy.sharding{target}}}) {{"]
    value = "%arg0"
    for number, (step, end) in enumerate(steps):
        lines.append(f"    %{number} = sdy.{step} {value} {target if end == 'to' else source} : {tensor}")
        value = f"%{number}"
    return "\n".join([*lines, f"    return {value} : {tensor}", "  }", "}", ""])


def steps_of_jax(problem):
    """As the release's own jit(lambda x: jax.sharding.reshard(x, ..)) lowers: an array without addends needs none."""
    import jax
    target = ("sharding_constraint", "to")
    if not problem["from_sum"]:
        return []
    return [target] if jax.__version_info__ < (0, 12) else [("sharding_constraint", "from"), target]


def hlo_sharding(problem, end):
    """HLO's own words, with every device listed."""
    import ends
    return ends.hlo_sharding(problem, end)


def gspmd_module(problem):
    """Uneven ends, which Shardy drops at the ends of a function."""
    tensor = "tensor<" + "".join(f"{extent}x" for extent in problem["shape"]) + "f32>"
    source, target = hlo_sharding(problem, "from"), hlo_sharding(problem, "to")
    return (f"module @m attributes {{mhlo.num_partitions = {devices(problem)} : i32, mhlo.num_replicas = 1 : i32}} {{\n"
            f'  func.func public @main(%arg0: {tensor} {{mhlo.sharding = "{source}"}}) -> ({tensor} {{mhlo.sharding = "{target}"}}) {{\n'
            f"    return %arg0 : {tensor}\n  }}\n}}\n")


def emit_hlo(problem, folder):
    os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count={devices(problem)} --xla_dump_to={folder} "
                               "--xla_dump_hlo_pass_re=spmd.* --xla_dump_large_constants=true")
    import jax
    import numpy
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir
    held = jax.devices()
    options = compiler.get_compile_options(num_replicas=1, num_partitions=len(held),
                                           device_assignment=numpy.arange(len(held)).reshape(1, -1))
    gspmd = uneven(problem)
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = not gspmd
    with mlir.make_ir_context():
        module = ir.Module.parse(gspmd_module(problem) if gspmd else shardy_module(problem, steps_of_jax(problem)))
        executable = held[0].client.compile_and_load(module, xla_client.DeviceList(tuple(held)), options)
    found = sorted(Path(folder).glob("*after_spmd-partitioning*"))
    if not found:
        raise ValueError("no HLO after spmd-partitioning")
    return found[0].read_text(), executable, held


RESHARDS = ["func.func(sdy-insert-explicit-reshards{enable-full-version=true})", "func.func(sdy-reshard-to-collectives)", "canonicalize"]


def padding():
    """Shardy's pass for uneven tiles, as the release nests it."""
    import jax
    return "func.func(sdy-pad-for-divisibility)" if jax.__version_info__ < (0, 12) else "sdy-pad-for-divisibility"


def emit_mlir(problem, passes):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager
    with mlir.make_ir_context():
        module = ir.Module.parse(shardy_module(problem, [("reshard", "to")]))
        for one in passes:
            passmanager.PassManager.parse(f"builtin.module({one})").run(module.operation)
        return str(module)


def emit(form, problem, folder):
    if form == "hlo":
        return emit_hlo(problem, folder)[0]
    if form == "sdy":
        return emit_mlir(problem, RESHARDS)
    return emit_mlir(problem, [*RESHARDS, *([padding()] if uneven(problem) else []), "sdy-convert-global-to-local"])


def in_child(work, path=None, seconds=SECONDS):
    """What `work(folder)` returns goes to the file, if there is one. Answers with what became of it, and the last words."""
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words"
        child = os.fork()
        if child == 0:
            code = 3
            try:
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
                resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
                signal.alarm(2 * seconds)
                said = os.open(words, os.O_CREAT | os.O_WRONLY)
                os.dup2(said, 1)
                os.dup2(said, 2)
                text = work(folder)
                if path:
                    path.write_text(text)
                code = 0
            except Exception as problem:  # what the peer says, whatever it is
                print(f"{type(problem).__name__}: {problem}"[:2000], flush=True)
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        said = words.read_text(errors="replace") if words.exists() else ""
        if os.WIFSIGNALED(status):
            ours = os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGXCPU)
            return ("out of time" if ours else "aborted"), reason(said) + said[-600:]
        return ("emitted", "") if os.WEXITSTATUS(status) == 0 else ("refused", said[-600:])


def reason(said):
    """The check that failed, which stands before a stack that is longer than what we keep."""
    found = re.search(r"[^\n]*Check failed[^\n]{0,300}", said)
    return found[0] + "\n" if found else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--forms", default=",".join(FORMS))
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import jax  # noqa: F401  in the parent, once: children only fork
    from jaxlib.mlir import passmanager  # noqa: F401
    given.folder.mkdir(parents=True, exist_ok=True)
    log = given.folder / "log.jsonl"
    done = set()
    if log.exists():
        done = {(one["id"], one["form"]) for one in map(json.loads, log.read_text().splitlines()) if "state" in one}
    with log.open("a") as lines:
        for problem in map(json.loads, sys.stdin):
            for form in given.forms.split(","):
                if (problem["id"], form) in done:
                    continue
                path = given.folder / f"{problem['id']}.{FORMS[form]}"
                print(json.dumps({"id": problem["id"], "form": form, "started": True}), file=lines, flush=True)
                start = time.monotonic()
                state, words = in_child(lambda folder: emit(form, problem, folder), path)
                record = {"id": problem["id"], "form": form, "state": state, "seconds": round(time.monotonic() - start, 2)}
                if words:
                    record["words"] = words
                print(json.dumps(record), file=lines, flush=True)


if __name__ == "__main__":
    main()
