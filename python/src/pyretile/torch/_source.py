"""Which line of the program led to a redistribute, and on whose behalf."""

import os
import re
import sys

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_is_program = {}  # by file


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


def source():
    """(file, line, implicit, backward): the innermost frame of the program, and whether an operation asked for the redistribute."""
    frame, implicit, backward = sys._getframe(2), False, False
    while frame is not None and not _of_program(frame.f_code.co_filename):
        name, function = frame.f_code.co_filename, frame.f_code.co_name
        implicit |= name.endswith(("tensor/_dispatch.py", "tensor/experimental/_tp_transform.py"))
        backward |= function == "backward" or function == "_engine_run_backward"
        frame = frame.f_back
    traced = _traced_line()
    if traced:
        return (*traced, implicit, backward)
    return (frame.f_code.co_filename, frame.f_lineno, implicit, backward) if frame else ("", 0, implicit, backward)
