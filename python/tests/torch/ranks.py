"""Runs a function on several ranks, each a process forked from the test, which gloo connects."""

import os
import pickle
import select
import signal
import tempfile
import time
import traceback
from datetime import timedelta

SECONDS = 90


def meshes(count):
    """Meshes of so many processes, in every shape that tests draw from."""
    from torch.distributed.device_mesh import init_device_mesh
    sizes = {2: [(2,)], 4: [(4,), (2, 2)], 8: [(8,), (4, 2), (2, 4), (2, 2, 2)]}[count]
    return [init_device_mesh("cpu", one, mesh_dim_names=("x", "y", "z")[:len(one)]) for one in sizes]


def _rank(rank, count, folder, function, args, wait, deaths, pipe):
    answer = None
    try:
        signal.alarm(SECONDS)
        import torch
        import torch.distributed as dist
        torch.set_num_threads(1)
        torch.manual_seed(0)
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=count, timeout=timedelta(seconds=wait))
        answer = (True, function(rank, *args))
        if not deaths:
            dist.barrier()
    except BaseException as problem:
        answer = (False, "".join(traceback.format_exception(problem))[-3000:])
    finally:
        with os.fdopen(pipe, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)


def run(count, function, *args, wait=SECONDS, deaths=0):
    """What `function(rank, *args)` returned on each rank. A rank that fails, fails the test, but for `deaths` that end without a word,
    whose answers are None. Groups wait for `wait` seconds."""
    os.environ |= {"TORCH_CPP_LOG_LEVEL": "ERROR", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    import torch.distributed.tensor  # noqa: F401  once, before the ranks fork
    pipes, children, texts = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for rank in range(count):
                read, write = os.pipe()
                child = os.fork()
                if child == 0:
                    _rank(rank, count, folder, function, args, wait, deaths, write)
                os.close(write)
                pipes.append(read)
                children.append(child)
            texts, left, end = dict.fromkeys(pipes, b""), set(pipes), time.monotonic() + SECONDS
            while left:
                ready = select.select(list(left), [], [], max(end - time.monotonic(), 0))[0]
                if not ready:
                    break
                for read in ready:
                    part = os.read(read, 1 << 20)
                    texts[read] += part
                    if not part:
                        left.discard(read)
                        if not deaths and not pickle.loads(texts[read] or pickle.dumps((False, "")))[0]:
                            end = min(end, time.monotonic() + 3)  # who waits for that rank waits in vain
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            for read in pipes:
                os.close(read)
    answers = [pickle.loads(texts[read]) if texts[read] else (False, "a rank ended without a word") for read in pipes]
    if deaths:
        silent = [rank for rank, read in enumerate(pipes) if not texts[read]]
        assert len(silent) == deaths, f"the ranks {silent} ended without a word"
        answers = [(True, None) if rank in silent else one for rank, one in enumerate(answers)]
    failed = [f"rank {rank}: {said}" for rank, (done, said) in enumerate(answers) if not done]
    assert not failed, max(failed, key=len)
    return [said for _, said in answers]


def apart(function, seconds=SECONDS):
    """What a function returns in a process of its own, forked from the test. Torch's threads for gradients do not outlive a fork, so a
    test that has none may not start them in the process that other tests fork."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(seconds)
            answer = (True, function())
        except BaseException as problem:
            answer = (False, "".join(traceback.format_exception(problem))[-3000:])
        with os.fdopen(write, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as made:
        text = made.read()
    os.waitpid(child, 0)
    done, said = pickle.loads(text) if text else (False, "it ended without a word")
    assert done, said
    return said
