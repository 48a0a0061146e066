"""The one function by which torch redistributes, with ours in its place.

torch does every redistribute by `redistribute_local_tensor`: those that a program asks for, those that an operation needs, backward ones,
and those that torch.compile traces. Other modules hold it by its name, so it is replaced wherever it is held.
"""

import functools
import sys
import threading

_lock = threading.Lock()
_movers = ()  # that take torch's place, the innermost context last, each with its way for judges
_watchers = ()  # that see what is moved, whoever moves it
_original = None


def original():
    """torch's own function."""
    if _original is not None:
        return _original
    import torch.distributed.tensor._redistribute as home
    return home.redistribute_local_tensor


def _replace(old, new):
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("redistribute_local_tensor") is old:
            module.redistribute_local_tensor = new


def _enter():
    global _original, _replacement
    if _original is None:
        import torch.distributed.tensor  # noqa: F401  so that whoever holds the function is there
        _original = original()

        @functools.wraps(_original)
        def redistribute_local_tensor(local, current, target, *args, **kwargs):
            def go(handlers):
                if not handlers:
                    return _original(local, current, target, *args, **kwargs)
                return handlers[-1](local, current, target, functools.partial(go, handlers[:-1]), kwargs)
            return go((*(handler for handler, _ in _movers), *_watchers))
        _replacement = redistribute_local_tensor
    _replace(_original, _replacement)


def add(handler, way=None):
    """From now on `handler(local, current, target, go, keywords)` is called in place of torch's function; `go()` is the next one.

    One that moves has a `way(local, current, target)`, which does the same but counts nothing, and gives None for what it leaves to the
    next. Those that move are behind those that watch, whichever came first.
    """
    global _movers, _watchers
    with _lock:
        _enter()
        if way:
            _movers = (*_movers, (handler, way))
        else:
            _watchers = (*_watchers, handler)


def _without(handlers, handler):
    at = len(handlers) - 1 - handlers[::-1].index(handler)
    return handlers[:at] + handlers[at + 1:]


def remove(handler, way=None):
    global _movers, _watchers
    with _lock:
        if way:
            _movers = _without(_movers, (handler, way))
        else:
            _watchers = _without(_watchers, handler)
        if not _movers and not _watchers:
            _replace(_replacement, _original)


def movers():
    """Who takes torch's place: whatever can be compared, empty if nobody does."""
    return _movers


def way(local, current, target):
    """What would be done now, for a judge: nobody sees it, and nobody counts it."""
    for _, one in reversed(_movers):
        made = one(local, current, target)
        if made is not None:
            return made
    return original()(local, current, target)
