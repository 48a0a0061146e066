"""The one function by which torch redistributes, with ours in its place.

torch does every redistribute by `redistribute_local_tensor`: those that a program asks for, those that an operation needs, backward ones,
and those that torch.compile traces. Other modules hold it by its name, so it is replaced wherever it is held.
"""

import functools
import sys
import threading

_lock = threading.Lock()
_handlers = ()  # the innermost context last
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
            return go(_handlers)
        _replacement = redistribute_local_tensor
    _replace(_original, _replacement)


def add(handler):
    """From now on `handler(local, current, target, go, keywords)` is called in place of torch's function; `go()` is the next one."""
    global _handlers
    with _lock:
        _enter()
        _handlers = (*_handlers, handler)


def remove(handler):
    global _handlers
    with _lock:
        left = list(_handlers)
        left.reverse()
        left.remove(handler)
        left.reverse()
        _handlers = tuple(left)
        if not _handlers:
            _replace(_replacement, _original)
