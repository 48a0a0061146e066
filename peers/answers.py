"""Plans that `retile lower --as FORM` printed, taken by the systems they are for.

    PYTHON peers/answers.py RETILE [--count 1000] [--run 200] [--seed 17] [--forms sdy,..] [--results OUT]

PYTHON is an environment with JAX. For every form, problems of corpus/problems.py until so many plans could be said in it:

- sdy, stablehlo: parsed and verified by JAX's MLIR
- hlo: parsed by XLA, made StableHLO by it, and that verified
- mlir19, mlir22: parsed and verified by mlir-opt-19 and mlir-opt-22
- jax: compiled by Python, and so many run on host devices, which compares every element
- mpi-c: so many compiled by mpicc and run on 8 processes, the same

Prints what was not taken, and a line for each form. Exit code 1 where something was not taken, or where the first plan that
moves something was taken with another type at its end.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "corpus"))

import ends
from problems import drawn
from record_jax import devices, in_child, uneven
from section8 import paper_type

FORMS = ("sdy", "stablehlo", "hlo", "mlir19", "mlir22", "jax", "mpi-c")
PROCESSES = 8
BATCH = 50


def arguments(one):
    """How `lower` is asked: in the paper's words where they say it, else in HLO's."""
    mesh = ",".join(f"{name}:{size}" for name, size in one["mesh"])
    if uneven(one) or one["from_order"] or one["to_order"]:
        shape = ",".join(map(str, one["shape"]))
        return ["--mesh", mesh, "--shape", shape, *(ends.hlo_sharding(one, end) for end in ("from", "to"))]
    types = [("sum{" + ",".join(one[end + "_sum"]) + "}" if one[end + "_sum"] else "") + paper_type(one, end) for end in ("from", "to")]
    return ["--mesh", mesh, *types]


def plans(retile, form, count, seed, processes=None):
    """Numbers of problems and their plans in the form. Counts the problems whose plan it cannot say."""
    out, refused = [], 0
    for number in range(100 * count):
        if len(out) == count:
            break
        one = drawn(seed, number)
        if processes and devices(one) != processes:
            continue
        done = subprocess.run([retile, "lower", *arguments(one), "--as", form], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            out.append((number, done.stdout))
        elif done.returncode == 2 and "--as" in done.stderr:
            refused += 1
        else:
            raise SystemExit(f"problem {number}: retile lower --as {form}: {done.returncode}: {done.stderr}")
    return out, refused


def verified(form, text):
    """By the peer's own parser and verifier, which throw."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    with mlir.make_ir_context():
        if form == "hlo":
            from jaxlib import _hlo, _jax, xla_client
            module = _hlo.hlo_module_from_text(text)
            text = _jax.mlir.xla_computation_to_mlir_module(xla_client.XlaComputation(module.as_serialized_hlo_module_proto()))
        parsed = ir.Module.parse(text)
        if not parsed.operation.verify():
            raise ValueError("not verified")


def verified_by_jax(form, listed, folder):
    """What is not taken. Batches are done in child processes, and one by one where a batch fails."""
    def work(some):
        return lambda _: "".join(verified(form, text) or "" for _, text in some)
    out = []
    for at in range(0, len(listed), BATCH):
        batch = listed[at:at + BATCH]
        if in_child(work(batch), folder / "out")[0] != "emitted":
            for one in batch:
                state, words = in_child(work([one]), folder / "out")
                if state != "emitted":
                    out.append((one[0], f"{state}: {words}"))
    return out


def verified_by_mlir(form, listed, folder):
    program = shutil.which(f"mlir-opt-{form[4:]}")
    if program is None:
        raise SystemExit(f"{form}: no mlir-opt-{form[4:]}")
    out = []
    for number, text in listed:
        (folder / "plan.mlir").write_text(text)
        done = subprocess.run([program, "--verify-each", folder / "plan.mlir"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            out.append((number, done.stderr[-600:]))
    return out


def spoiled(form, text):
    """The text with another extent at its end, which no verifier may take; None where it says none."""
    pattern = r"(?s)(.*ROOT [^=]*= \w+\[)(\d+)" if form == "hlo" else r"(?s)(.*return %\w+ : tensor<)(\d+)"
    out, count = re.subn(pattern, lambda found: f"{found[1]}{int(found[2]) + 1}", text, count=1)
    return out if count else None


def controlled(form, listed, verify, folder):
    """Whether the verifier refuses a spoiled plan."""
    texts = [text for text in (spoiled(form, text) for _, text in listed[:BATCH]) if text]
    return bool(texts) and bool(verify(form, [(-1, texts[0])], folder))


def executed(command, folder):
    """None where every element arrived."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=300)
    return None if done.returncode == 0 and done.stdout.startswith("right: ") else (done.stdout + done.stderr)[-600:]


def run_as_c(text, folder):
    (folder / "move.c").write_text(text)
    done = subprocess.run(["mpicc", "-O1", "-Wall", "-Wextra", "-Werror", "-std=c11", "move.c", "-o", "move"], cwd=folder,
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else executed(["mpirun", "-n", str(PROCESSES), "./move"], folder)


def run_as_jax(text, folder):
    (folder / "move.py").write_text(text)
    return executed([sys.executable, "move.py"], folder)


def judge(retile, form, count, runs, seed, folder):
    """Figures of one form, and what was not taken."""
    if form == "mpi-c":
        listed, refused = plans(retile, form, runs, seed, PROCESSES)
        wrong = [(number, run_as_c(text, folder)) for number, text in listed]
        figures = {"executed": len(listed)}
    else:
        listed, refused = plans(retile, form, count, seed)
        figures = {}
        verify = verified_by_mlir if form.startswith("mlir") else verified_by_jax
        if form == "jax":
            for number, text in listed:
                compile(text, f"{number}.py", "exec")
            wrong = [(number, run_as_jax(text, folder)) for number, text in listed[:runs]]
            figures = {"executed": min(len(listed), runs)}
        else:
            wrong = verify(form, listed, folder)
            if not controlled(form, listed, verify, folder):
                wrong.append((-1, "a spoiled plan was taken"))
    wrong = [one for one in wrong if one[1]]
    return {"plans": len(listed), "cannot_say": refused, **figures, "not_taken": len(wrong)}, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("retile")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--run", type=int, default=200)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax  # in the parent, once: children only fork
    out, failed = {"schema": "retile.answers/1", "seed": given.seed, "jax": jax.__version__, "forms": {}}, False
    retile = str(Path(given.retile).resolve())
    with tempfile.TemporaryDirectory() as folder:
        for form in given.forms.split(","):
            figures, wrong = judge(retile, form, given.count, given.run, given.seed, Path(folder))
            out["forms"][form] = figures
            for number, words in wrong:
                print(f"{form}: problem {number} of seed {given.seed}: {words}", flush=True)
            print(f"{form}: " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in figures.items()), flush=True)
            failed = failed or bool(wrong) or not figures["plans"]
    if given.results:
        given.results.write_text(json.dumps(out, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
