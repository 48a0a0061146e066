"""A fixture of pytest that fails a test in which DTensor puts an element in the wrong place, or holds too much.

    def test_model(reshard_guard):
        with reshard_guard(8, limit="2x"):
            mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))
            ...

All ranks are in this process: torch's local tensor mode and a process group that sends nothing. Needs torch 2.15 or later.
"""

import contextlib

import pytest


class Guard:
    """What a guarded test has done so far.

    Attributes:
      found: what is wrong, each in words; empty if nothing is.
      records: a `pyretile.torch.Record` for every redistribute.
    """

    def __init__(self, watching):
        self._watching, self.found, self._meshes, self._moves = watching, [], {}, {}

    @property
    def records(self):
        return self._watching.records

    def say(self, words):
        if words not in self.found:
            self.found.append(words)

    def see(self, local, spec, source):
        """A DTensor that an operation takes or makes."""
        from pyretile.torch._checks import check_mesh, wrong_shape
        if spec.mesh not in self._meshes:
            self._meshes[spec.mesh] = check_mesh(spec.mesh)
            if not self._meshes[spec.mesh]:
                self.say(f"{source}: {self._meshes[spec.mesh]}")
        words = wrong_shape(local, spec)
        if words:
            self.say(f"{source}: {words}")
        return words

    def redistribute(self, record, local, current, target, go):
        if not self.see(local, current, record.source):
            verdict = self._verdict(current, target)
            if not verdict:
                self.say(f"{record.source}: {verdict}")
        return go()

    def _verdict(self, current, target):
        """On what is done now, from memory where it was seen before."""
        from pyretile.torch import _hook, _local, _way
        key = current, target, _hook.movers(), _way.setting(current.mesh)
        if key not in self._moves:
            self._moves[key] = _local.moved_right(current, target, _hook.way if _hook.movers() else None)
        return self._moves[key]


def _limit(watching, guard):
    """What was over the limit, in words."""
    from pyretile.torch._errors import OverLimit
    for record in dict.fromkeys(watching.records):
        for problem in watching._problems(record, None, None, None):
            guard.say(str(problem))
            assert isinstance(problem, OverLimit) or watching.implicit == "forbid"


@contextlib.contextmanager
def _guarded(world, limit, implicit):
    import torch.distributed as dist
    from torch.distributed._local_tensor import LocalTensorMode
    from torch.distributed.tensor import DTensor
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_iter

    from pyretile.torch import watch
    from pyretile.torch._source import shown, source
    if dist.is_initialized():
        pytest.fail("reshard_guard begins a process group of its own, and one is there already", pytrace=False)
    watching = watch(limit, implicit=implicit)
    guard = Guard(watching)
    watching.listener = guard.redistribute

    def see(values):
        for one in tree_iter(values):
            if isinstance(one, DTensor):
                guard.see(one._local_tensor, one._spec, shown(*source()[:2]))

    class Tiles(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if not any(issubclass(one, DTensor) for one in types):
                return function(*args, **(kwargs or {}))
            see((args, kwargs))
            made = function(*args, **(kwargs or {}))
            see(made)
            return made
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    try:
        with LocalTensorMode(world), watching, Tiles():
            yield guard
    except BaseException as problem:  # which may well come of what was found
        _limit(watching, guard)
        problem.__notes__ = [*getattr(problem, "__notes__", ()), *(f"reshard_guard: {words}" for words in guard.found)]
        raise
    finally:
        dist.destroy_process_group()
    _limit(watching, guard)
    if guard.found:
        pytest.fail("\n".join(guard.found), pytrace=False)


@pytest.fixture
def reshard_guard():
    """A context `reshard_guard(world, limit=None, implicit="allow")`, in which a test has `world` ranks in this process.

    When the context ends it fails the test if a redistribute put an element in the wrong place, a tile is not what its placements
    say, the groups of a mesh have not the order of the mesh, a redistribute held more than `limit` (as of `pyretile.torch.watch`),
    or an operation redistributed by itself where that is forbidden. Without torch the test is skipped.
    """
    pytest.importorskip("torch", minversion="2.15")
    return lambda world, limit=None, implicit="allow": _guarded(world, limit, implicit)
