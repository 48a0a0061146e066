"""Runs the torch jobs of peers/torch_jobs.py with peers/record_job.py, one process a rank, and writes a trace of every redistribute.

    PYTHON peers/run_jobs.py FOLDER [--only REGEX] [--ways run,large,fake]

PYTHON is a virtual environment with PyTorch. `run` has small widths and gloo, and every tile before and after a redistribute is
compared with what the placements say. `large` does the same at the widths of a real model, of jobs whose tiles of eight ranks fit into
a few gigabytes. `fake` has the widths of a real model and nothing moves: every rank is a process whose
tensors have shapes without numbers, and whose process group sends nothing (torch's FakeTensorMode and `fake` group). FOLDER gets
JOB.WAY/NUMBER.json, a trace each, and JOB.WAY/log.jsonl, a line for each redistribute. Exit code 1 where a rank failed.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path

import record_job
import tile_bytes

WAYS = {"run": "gloo", "large": "gloo", "fake": "without data"}
LARGE = {"uneven_batches", "partial_sums"}
RANKS = 8
SECONDS = 240


def begin_group(way, rank, folder):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if way != "fake":
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS, timeout=timedelta(seconds=600))
    else:
        from torch.testing._internal.distributed.fake_pg import FakeStore
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=RANKS)


def rank_process(name, way, rank, folder):
    """One rank, from its first group to its records; what goes wrong is a text beside them."""
    try:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where torch warns of its own redistributes
        begin_group(way, rank, folder)
        import torch.distributed as dist
        import torch_jobs
        widths = torch_jobs.SMALL if way == "run" else torch_jobs.REAL
        job = torch_jobs.Job(rank, widths, way != "fake", folder)
        recorder = record_job.Recorder(keep=way != "fake")
        try:
            with recorder, without_data() if way == "fake" else contextlib.nullcontext():
                torch_jobs.JOBS[name](job)
        finally:
            recorder.write(folder)
        if way != "fake":
            dist.barrier()
    except Exception:
        (folder / f"{rank}.failed").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(0)


@contextlib.contextmanager
def without_data():
    """Tensors have shapes and no numbers, but for those of meshes, which torch must read."""
    import torch_jobs
    from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
    from torch.distributed.device_mesh import DeviceMesh
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    for holder, name in ((torch_jobs, "init_device_mesh"), *((DeviceMesh, one) for one in ("__init__", "__getitem__", "_flatten", "_unflatten"))):
        setattr(holder, name, unset_fake_temporarily()(getattr(holder, name)))
    DeviceMesh._concatenate = staticmethod(unset_fake_temporarily()(DeviceMesh._concatenate))
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=True):
        yield


def run(name, way, folder):
    """Runs one job, and writes its traces. How many redistributes there were, and how many ranks that failed."""
    import torch
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    children = []
    for rank in range(RANKS):
        child = os.fork()
        if child == 0:
            rank_process(name, way, rank, folder)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    failed = sorted(folder.glob("*.failed"))
    if failed:
        print(f"{name}.{way}: {failed[0].name}: {failed[0].read_text(encoding='utf-8')[-1500:]}", file=sys.stderr)
    redistributes = record_job.joined(folder)
    with (folder / "log.jsonl").open("w") as log:
        for number, ranks in enumerate(redistributes):
            print(json.dumps({"number": number, **summary(ranks)}), file=log)
            if not any("raised" in one for one in ranks.values()) and not record_job.disagreement(ranks):
                (folder / f"{number}.json").write_text(record_job.trace_text(ranks, f"torch {torch.__version__}", WAYS[way]))
    for path in [*folder.glob("*.pickle"), *folder.glob("store")]:
        path.unlink()
    return len(redistributes), len(failed)


def summary(ranks):
    """What the log says of a redistribute."""
    first = next(iter(ranks.values()))
    said = {key: first[key] for key in ("source", "shape", "from", "to", "compiled")} | {"mesh": first["mesh"]["sizes"]}
    raised = [one["raised"] for one in ranks.values() if "raised" in one]
    if raised:
        return said | {"raised": raised[0]}
    other = record_job.disagreement(ranks)
    if other:
        return said | {"disagree": other}
    if all("after" in one for one in ranks.values()):
        said["bytes"] = tile_bytes.compared(ranks)
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--ways", default=",".join(WAYS))
    given = parser.parse_args()
    os.environ |= {"TORCH_CPP_LOG_LEVEL": "ERROR", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    import torch._dynamo  # noqa: F401  once, before the ranks fork
    import torch_jobs
    failures = 0
    for name in torch_jobs.JOBS:
        for way in given.ways.split(","):
            if re.search(given.only, name) and (way != "large" or name in LARGE):
                began = time.monotonic()
                count, failed = run(name, way, (given.folder / f"{name}.{way}").resolve())
                failures += failed
                print(f"{name}.{way}: {count} redistributes, {failed} ranks failed, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
