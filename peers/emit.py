"""Writes what one release makes of one reshard, for `retile check --shrink --peer`.

    PYTHON peers/emit.py FORM MESH FROM TO [SHAPE] [--order ORDER]

FORM is hlo, sdy or stablehlo where PYTHON has JAX, dtensor or dtensor_a2a where it has PyTorch. MESH, FROM and TO are in the notation of
retile, whole axes only. With SHAPE, such as 16,64, FROM and TO are placements as torch writes them: '(Shard(0), Replicate())'. ORDER, such as [3,1,2,0], is the rank at each position of the mesh; DeviceMesh('cpu', [[3, 1], [2, 0]], mesh_dim_names=('x', 'y')) says it with the mesh. Exit code 1 says that the release refused, 134 that it aborted, 3 that it took too long, 2 that it cannot be asked.
"""

import ast
import os
import re
import sys
import tempfile
from math import prod
from pathlib import Path

PLACEMENT = re.compile(r"(Shard)\((?:dim=)?(-?\d+)\)|(Replicate)\(\)|(Partial)\((?:sum|'sum')?\)")
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


def listed(mesh):
    """A mesh as x:2,y:4, and the rank at each position where a DeviceMesh lists them."""
    if not mesh.startswith("DeviceMesh("):
        return mesh, None
    try:
        call = ast.parse(mesh, mode="eval").body
        rows = next(ast.literal_eval(one) for one in call.args if isinstance(one, ast.List))
        names = next((ast.literal_eval(key.value) for key in call.keywords if key.arg == "mesh_dim_names"), None)
    except (AttributeError, StopIteration, SyntaxError, ValueError):
        raise ValueError(f"no list of ranks in {mesh}: write x:2,y:4, or DeviceMesh('cpu', [[3, 1], [2, 0]])") from None
    sizes = [len(rows)]
    while rows and isinstance(rows[0], list):
        if any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows):
            raise ValueError(f"rows that differ in length: {mesh}")
        sizes.append(len(rows[0]))
        rows = [one for row in rows for one in row]
    names = names or [f"a{k}" for k in range(len(sizes))]
    if len(names) != len(sizes):
        raise ValueError(f"{len(sizes)} axes and {len(names)} names: {mesh}")
    return ",".join(f"{name}:{size}" for name, size in zip(names, sizes)), rows


def order_of(text):
    """The ranks that an option lists."""
    if not re.fullmatch(r"\[\d+(,\s*\d+)*\]", text):
        raise ValueError(f"no order such as [1,0]: {text}")
    return [int(rank) for rank in text[1:-1].split(",")]


def problem_of(mesh, source, target, order=None):
    if not re.fullmatch(r"\w+:\d+(,\w+:\d+)*", mesh):
        raise ValueError(f"no mesh such as x:2,y:4: {mesh}")
    axes = [[name, int(size)] for name, size in (part.split(":") for part in mesh.split(","))]
    (start, shape, start_sums), (goal, same, goal_sums) = end(source), end(target)
    if shape != same:
        raise ValueError("two arrays")
    if order is not None and sorted(order) != list(range(prod(size for _, size in axes))):
        raise ValueError(f"an order lists every rank from 0 once: {order}")
    return {"id": 0, "family": "asked", "mesh": axes, "shape": shape, "from": start, "to": goal, "from_order": order,
            "to_order": order, "from_sum": start_sums, "to_sum": goal_sums}


def placed(mesh, text, rank):
    """The axes that cut each dimension, by its number, and the axes that count addends, of placements along the axes of the mesh."""
    names = [part.split(":")[0] for part in mesh.split(",")]
    cuts, sums = {}, []
    words = re.findall(r"[^\s,()\[\]]+(?:\([^()]*\))?", text)
    found = [PLACEMENT.fullmatch(word) for word in words]
    if None in found:
        raise ValueError(f"{words[found.index(None)]} is not read: a placement is Shard(0), Replicate() or Partial()")
    if len(words) != len(names):
        raise ValueError(f"{len(words)} placements for the {len(names)} axes of {mesh}: {text}")
    for name, word in zip(names, found):
        shard, dim, _, partial = word.groups()
        if shard:
            if not -rank <= int(dim) < rank:
                raise ValueError(f"{word.group()}: no such dimension")
            cuts.setdefault(int(dim) % rank, []).append(name)
        if partial:
            sums.append(name)
    return cuts, sums


def notation(mesh, text, shape):
    """Placements in the notation of retile; only its axes and extents are read again."""
    cuts, sums = placed(mesh, text, len(shape))
    dims = [f"1{{{','.join(cuts[k][::-1])}}}{extent}" if k in cuts else str(extent) for k, extent in enumerate(shape)]
    return (f"sum{{{','.join(sums)}}}" if sums else "") + f"[{', '.join(dims)}]"


def emit(form, problem, folder):
    if form in ("dtensor", "dtensor_a2a"):
        import record_dtensor
        return record_dtensor.trace(problem, form)
    import record_jax
    return record_jax.emit(form, problem, folder)


def main():
    words, order = sys.argv[1:], None
    if "--order" in words[:-1]:
        at = words.index("--order")
        order = words[at + 1]
        del words[at:at + 2]
    if len(words) not in (4, 5) or words[0] not in ("hlo", "sdy", "stablehlo", "dtensor", "dtensor_a2a"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        mesh, ranks = listed(words[1])
        both = words[2:4]
        if len(words) == 5:
            both = [notation(mesh, text, [int(extent) for extent in words[4].split(",")]) for text in both]
        if order is not None:
            if ranks is not None and ranks != order_of(order):
                raise ValueError(f"{words[1]} lists other ranks than --order {order}")
            ranks = order_of(order)
        problem = problem_of(mesh, *both, ranks)
    except ValueError as why:
        print(why, file=sys.stderr)
        return 2
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
    from record_jax import in_child
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "emitted"
        state, said = in_child(lambda inner: emit(words[0], problem, inner), path)
        if state == "emitted":
            sys.stdout.write(path.read_text())
        else:
            print(said, file=sys.stderr)
    return {"emitted": 0, "refused": 1, "aborted": 134}.get(state, 3)


if __name__ == "__main__":
    sys.exit(main())
