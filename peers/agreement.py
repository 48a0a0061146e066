"""Whether what devices hold is what one device holds: shard by shard, every element, with numpy alone.

`compare(wanted, shards)` takes an array and pairs of index and tile. Integers and predicates must be the same. Numbers with a
point may differ by a part of the largest of the array, as additions come in another order: how large a part is said for every type.
"""

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 5e-5, "complex64": 5e-5, "float16": 1e-2, "bfloat16": 5e-2}
# Where all of an array is about zero, what is left are roundings.
SMALLEST = 1e-2


def differing(wanted, tile, scale, numpy):
    """Which elements of a tile differ, and how much the largest difference is, as a part of the largest number."""
    if wanted.dtype.name not in TOLERANCE:
        return wanted != tile, 0.0
    kind = numpy.complex128 if wanted.dtype.kind == "c" else numpy.float64
    one, other = wanted.astype(kind), tile.astype(kind)
    finite = numpy.isfinite(one) & numpy.isfinite(other)
    same = numpy.where(numpy.isnan(one), numpy.isnan(other), one == other)
    with numpy.errstate(invalid="ignore"):
        far = numpy.where(finite, numpy.abs(one - other), 0.0) / scale
    return numpy.where(finite, far > TOLERANCE[wanted.dtype.name], ~same), float(far.max()) if far.size else 0.0


def compare(wanted, shards):
    """`differs`: how many elements, of all devices; `largest`: the largest difference; `first`: device, index, both values."""
    import numpy
    wanted = numpy.asarray(wanted)
    scale = 1.0
    if wanted.dtype.name in TOLERANCE and wanted.size:
        sizes = numpy.abs(wanted.astype(numpy.complex128 if wanted.dtype.kind == "c" else numpy.float64))
        finite = sizes[numpy.isfinite(sizes)]
        scale = max(float(finite.max()) if finite.size else 0.0, SMALLEST)
    said = {"differs": 0, "elements": 0, "largest": 0.0, "first": None}
    for device, (index, tile) in enumerate(shards):
        tile, part = numpy.asarray(tile), wanted[index]
        if tile.shape != part.shape or tile.dtype != part.dtype:
            return {**said, "differs": wanted.size, "first": [device, [], f"{part.dtype}{part.shape}", f"{tile.dtype}{tile.shape}"]}
        where, largest = differing(part, tile, scale, numpy)
        said["elements"] += tile.size
        said["largest"] = max(said["largest"], largest)
        said["differs"] += int(where.sum())
        if said["first"] is None and where.any():
            at = tuple(int(k) for k in numpy.argwhere(where)[0])
            start = [one.start or 0 for one in index] if isinstance(index, tuple) else []
            said["first"] = [device, [k + low for k, low in zip(at, start)], str(part[at]), str(tile[at])]
    return said


def verdict_of(compared):
    """`equal` or `differs` of all results of all draws."""
    return "differs" if any(one["differs"] for one in compared) else "equal"
