"""Records what the passes of MLIR make of problems: Spmdization of the dialect mesh (19), or Partition of the dialect shard (22).

    corpus/problems.py --count 1500 --json | peers/record_mlir.py FOLDER --release 19

FOLDER gets NUMBER.mlir19 or NUMBER.mlir22, and log.jsonl as peers/record_jax.py writes it. Asks mlir-opt-19 or mlir-opt-22, as
Debian's packages mlir-19-tools and mlir-22-tools have them. An order of devices cannot be said; a sum only in 19.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

PASSES = {19: "sharding-propagation,mesh-spmdization", 22: "sharding-propagation,shard-partition"}
BEFORE = "sharding-propagation"  # what leaves the reshards to a later pass
SECONDS = 60


def axes_text(problem, end):
    """`[[0], [1, 2]]`: a list for every dimension, major to minor."""
    numbers = {name: number for number, (name, _) in enumerate(problem["mesh"])}
    return str([[numbers[name] for name in axes] for axes in problem[end]])


def module(problem, release):
    """A function that is sharded as at the beginning, and then as at the end."""
    tensor = "tensor<" + "".join(f"{extent}x" for extent in problem["shape"]) + "f32>"
    shape = "x".join(str(size) for _, size in problem["mesh"])
    numbers = {name: number for number, (name, _) in enumerate(problem["mesh"])}
    lines = [f"mesh.mesh @mesh(shape = {shape})" if release == 19 else f"shard.grid @mesh(shape = {shape})",
             f"func.func @main(%arg0: {tensor}) -> {tensor} {{"]
    for value, (end, given) in enumerate((("from", "%arg0"), ("to", "%0"))):
        users = " annotate_for_users" if value == 1 else ""
        sums = [numbers[name] for name in problem[end + "_sum"]]
        if release == 19:
            partial = f", partial = sum{sums}" if sums else ""
            lines.append(f"  %{value} = mesh.shard {given} to <@mesh, {axes_text(problem, end)}{partial}>{users} : {tensor}")
        else:
            lines += [f"  %s{value} = shard.sharding @mesh split_axes = {axes_text(problem, end)} : !shard.sharding",
                      f"  %{value} = shard.shard {given} to %s{value}{users} : {tensor}"]
    return "\n".join([*lines, f"  return %1 : {tensor}", "}", ""])


def inexpressible(problem, release):
    return problem["from_order"] or problem["to_order"] or (release != 19 and (problem["from_sum"] or problem["to_sum"]))


def emit(problem, release, path, passes):
    """What becomes of it, and the last words."""
    if inexpressible(problem, release):
        return "inexpressible", ""
    command = [f"mlir-opt-{release}", f"--pass-pipeline=builtin.module(func.func({passes}))", "-"]
    try:
        done = subprocess.run(command, input=module(problem, release), capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "aborted", f"took longer than {SECONDS} s"
    if done.returncode == 0:
        path.write_text(done.stdout)
        return "emitted", ""
    return ("aborted" if done.returncode < 0 or "PLEASE submit a bug report" in done.stderr else "refused"), done.stderr[:600]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", type=int, choices=sorted(PASSES), required=True)
    parser.add_argument("--before", action="store_true", help="stop before the pass that partitions")
    parser.add_argument("--forms", help="for the likeness of other recorders; there is one form")
    given = parser.parse_args()
    form = f"mlir{given.release}"
    given.folder.mkdir(parents=True, exist_ok=True)
    with (given.folder / "log.jsonl").open("w") as lines:
        for problem in map(json.loads, sys.stdin):
            if given.before and all(problem["from" + part] == problem["to" + part] for part in ("", "_sum")):
                continue  # right before and after the pass
            start = time.monotonic()
            state, words = emit(problem, given.release, given.folder / f"{problem['id']}.{form}",
                                BEFORE if given.before else PASSES[given.release])
            record = {"id": problem["id"], "form": form, "state": state, "seconds": round(time.monotonic() - start, 2)}
            if words:
                record["words"] = words
            print(json.dumps(record), file=lines, flush=True)


if __name__ == "__main__":
    main()
