"""Whole programs: Python functions as users of JAX write them, with widths, meshes, shardings and the ranges of their arguments.

`all_programs()` reads every module of this folder. A program is made for a `Kit`: once for its mesh, and once for one device without
any sharding, which is what the other is compared with.
"""

import importlib
from pathlib import Path

from .kit import PROGRAMS


def all_programs():
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in ("__init__", "kit"):
            importlib.import_module(f"{__name__}.{path.stem}")
    return PROGRAMS
