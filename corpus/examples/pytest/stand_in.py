"""A resharder to put yours in the place of: it gathers everything, then slices, in Shardy's collectives. RESHARDER_BUG=1 seeds a bug."""

import os


def dims(cut):
    return "[" + ", ".join("{" + ", ".join(f'"{axis}"' for axis in axes) + "}" for axes in cut) + "]"


def only(cut, dim):
    """The axes of one dimension alone."""
    return [axes if k == dim else [] for k, axes in enumerate(cut)]


def reshard(problem):
    mesh = ", ".join(f'"{name}"={size}' for name, size in problem["mesh"])
    array = f"tensor<{'x'.join(map(str, problem['shape']))}xf32>"
    start, end = dims(problem["from"]), dims(problem["to"])
    lines = [f"sdy.mesh @mesh = <[{mesh}]>",
             f"func.func @main(%arg0: {array} {{sdy.sharding = #sdy.sharding<@mesh, {start}>}}) -> "
             f"({array} {{sdy.sharding = #sdy.sharding<@mesh, {end}>}}) {{"]
    values = ["%arg0"]

    def add(operation, axes, after):
        values.append(f"%{len(values)}")
        lines.append(f"  {values[-1]} = sdy.{operation} {dims(axes)} {values[-2]} out_sharding=<@mesh, {dims(after)}> : {array}")

    cut = [list(axes) for axes in problem["from"]]
    for dim, axes in enumerate(problem["from"]):
        if axes:
            cut[dim] = []
            add("all_gather", only(problem["from"], dim), cut)
    for dim, axes in enumerate(problem["to"]):
        if axes:
            cut[dim] = axes
            taken = only(problem["to"], dim)
            if os.environ.get("RESHARDER_BUG"):
                taken[dim] = axes[::-1]
            add("all_slice", taken, cut)
    return "\n".join([*lines, f"  return {values[-1]} : {array}", "}", ""])
