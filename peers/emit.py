"""Writes what one release makes of one reshard, for `retile check --shrink --peer`.

    PYTHON peers/emit.py FORM MESH FROM TO [SHAPE]

FORM is hlo, sdy or stablehlo where PYTHON has JAX, dtensor or dtensor_a2a where it has PyTorch. MESH, FROM and TO are in the notation of
retile, whole axes only. With SHAPE, such as 16,64, FROM and TO are placements as torch writes them: '(Shard(0), Replicate())'. Exit code 1 says that the release refused, 134 that it aborted, 3 that it took too long, 2 that it cannot be asked.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

DIM = re.compile(r"\s*(?:\d+(?:~?)\{([^{}]*)\})?(\d+)\s*")


def end(text):
    """The axes of every dimension, major to minor, the extents, and the axes that count addends."""
    found = re.fullmatch(r"\s*(?:sum\{([^{}]*)\})?\[(.*)\]\s*", text)
    if not found:
        raise ValueError(f"not read: {text}" + ("; with placements, say the SHAPE, too" if "(" in text else ""))
    sums, inside = found.groups()
    dims = [DIM.fullmatch(dim) for dim in re.split(r",(?![^{}]*\})", inside)]
    if None in dims:
        raise ValueError(f"not read: {text}")
    axes = [names_of(dim.group(1))[::-1] for dim in dims]
    return axes, [int(dim.group(2)) for dim in dims], names_of(sums)


def names_of(text):
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if any(not name.isidentifier() for name in names):
        raise ValueError(f"not whole axes: {text}")
    return names


def problem_of(mesh, source, target):
    if not re.fullmatch(r"\w+:\d+(,\w+:\d+)*", mesh):
        raise ValueError(f"no mesh such as x:2,y:4: {mesh}")
    axes = [[name, int(size)] for name, size in (part.split(":") for part in mesh.split(","))]
    (start, shape, start_sums), (goal, same, goal_sums) = end(source), end(target)
    if shape != same:
        raise ValueError("two arrays")
    return {"id": 0, "family": "asked", "mesh": axes, "shape": shape, "from": start, "to": goal, "from_order": None,
            "to_order": None, "from_sum": start_sums, "to_sum": goal_sums}


def placed(mesh, text):
    """The axes that cut each dimension, by its number, and the axes that count addends, of placements along the axes of the mesh."""
    words = re.findall(r"(Shard)\((?:dim=)?(\d+)\)|(Replicate)\(\)|(Partial)\((?:sum|'sum')?\)", text)
    names = [part.split(":")[0] for part in mesh.split(",")]
    if not words or len(words) != len(names) or len(re.findall(r"\w+\(", text)) != len(words):
        raise ValueError(f"no placement for each axis of {mesh}: {text}")
    cuts = {}
    for name, (shard, dim, _, _) in zip(names, words):
        if shard:
            cuts.setdefault(int(dim), []).append(name)
    return cuts, [name for name, word in zip(names, words) if word[3]]


def notation(mesh, text, shape):
    """Placements in the notation of retile; only its axes and extents are read again."""
    cuts, sums = placed(mesh, text)
    if any(dim >= len(shape) for dim in cuts):
        raise ValueError(f"no such dimension: {text}")
    dims = [f"1{{{','.join(cuts[k][::-1])}}}{extent}" if k in cuts else str(extent) for k, extent in enumerate(shape)]
    return (f"sum{{{','.join(sums)}}}" if sums else "") + f"[{', '.join(dims)}]"


def emit(form, problem, folder):
    if form in ("dtensor", "dtensor_a2a"):
        import record_dtensor
        return record_dtensor.trace(problem, form)
    import record_jax
    return record_jax.emit(form, problem, folder)


def main():
    if len(sys.argv) not in (5, 6) or sys.argv[1] not in ("hlo", "sdy", "stablehlo", "dtensor", "dtensor_a2a"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        mesh, *both = sys.argv[2:5]
        if len(sys.argv) == 6:
            both = [notation(mesh, text, [int(extent) for extent in sys.argv[5].split(",")]) for text in both]
        problem = problem_of(mesh, *both)
    except ValueError as why:
        print(why, file=sys.stderr)
        return 2
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
    from record_jax import in_child
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "emitted"
        state, words = in_child(lambda inner: emit(sys.argv[1], problem, inner), path)
        if state == "emitted":
            sys.stdout.write(path.read_text())
        else:
            print(words, file=sys.stderr)
    return {"emitted": 0, "refused": 1, "aborted": 134}.get(state, 3)


if __name__ == "__main__":
    sys.exit(main())
