"""Which line of the program led to a redistribute, and on whose behalf."""

import os
import re
import sys

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_program = {}  # by file
_codes = []


def _of_program(name):
    found = _is_program.get(name)
    if found is None:
        import torch
        torch_folder = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
        inside = name.startswith((_OURS, torch_folder, "<")) or f"{os.sep}contextlib.py" in name or f"{os.sep}functools.py" in name
        found = _is_program[name] = not inside
    return found


def _traced_line():
    """While a graph is traced torch keeps the lines of its operations."""
    import torch.fx.traceback
    from torch._guards import TracingContext
    if TracingContext.try_get() is None:
        return None
    lines = re.findall(r'File "([^"]+)", line (\d+)', "".join(torch.fx.traceback.format_stack()))
    lines = [(name, int(line)) for name, line in lines if _of_program(name)]
    return lines[-1] if lines else None


def _node_codes():
    """What makes and runs the nodes by which torch differentiates a redistribute: (codes of the former, codes of the latter)."""
    if not _codes:
        from torch.distributed.tensor._redistribute import NestedRedistribute, Redistribute
        _codes.append(tuple(frozenset(getattr(kind, name).__code__ for kind in (Redistribute, NestedRedistribute))
                            for name in ("forward", "backward")))
    return _codes[0]


def _forward_line(node):
    """The line of the program that made a node, where it was noted, or where torch's anomaly mode keeps it; otherwise None."""
    noted = getattr(node, "_pyretile_line", None)
    if noted is None and node is not None:
        stack = "".join(getattr(node, "metadata", {}).get("traceback_", ()))
        lines = [(name, int(line)) for name, line in re.findall(r'File "([^"]+)", line (\d+)', stack) if _of_program(name)]
        noted = lines[-1] if lines else None
    return noted


def _current_node():
    """The node that the backward pass is at. torch has no public name for it, so a release without it knows none."""
    import torch
    found = getattr(torch._C, "_current_autograd_node", None)
    return found() if found else None


def source():
    """(file, line, implicit, backward, call): the line of the program that led to a redistribute, and whether an operation asked for it.

    In a backward pass that is the line whose gradient it is, if that is known, and `call` is the line that called the pass; otherwise
    both are the call.
    """
    frame, implicit, backward, made, node = sys._getframe(2), False, False, None, None
    makers, runners = _node_codes()
    while frame is not None and not _of_program(frame.f_code.co_filename):
        code = frame.f_code
        name, function = code.co_filename, code.co_name
        if made is None and code in makers:
            made = frame.f_locals.get("ctx")
        elif node is None and code in runners:
            node = frame.f_locals.get("ctx")
        implicit |= name.endswith(("tensor/_dispatch.py", "tensor/experimental/_tp_transform.py"))
        backward |= function == "backward" or function == "_engine_run_backward"
        frame = frame.f_back
    here = (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)
    traced = _traced_line()
    if traced:
        return (*traced, implicit, backward, "")
    call = shown(*here) if backward else ""
    if backward:
        here = _forward_line(node) or _forward_line(_current_node()) or here
    if made is not None:
        made._pyretile_line = here  # torch hands the same node to its backward pass
    return (*here, implicit, backward, call)


def shown(file, line):
    return f"{file.rpartition('/')[2]}:{line}" if file else ""
