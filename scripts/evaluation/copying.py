"""The section on copying inside one machine, from the raw results of bench/copy_benchmark and bench/copy_table."""

import json
import re
from statistics import median

MIB = 1 << 20
JUDGED_BYTES = 256 * MIB
REFERENCES = [("limit", "ratio", "To the limit"), ("one_stream", "ratio", "To one stream"), ("memcpy", "ratio", "To `memcpy`"),
              ("limit", "wall_ratio", "Wall time, to the limit")]
KINDS = [  # name, whether a result is of this kind; the first that fits counts
    ("mesh swap", lambda result: result["problem"] == "mesh swap"),
    ("gather", lambda result: result["problem"] == "gather"),
    ("runs of 4 and 8 KiB", lambda result: result["run_bytes"] >= 4096),
    ("runs of 64 B to 1 KiB", lambda result: result["run_bytes"] >= 64),
    ("runs of 4 and 16 B", lambda result: True),
]
SHOWN = [KINDS[k] for k in (2, 3, 4, 0, 1)]


def kind_of(result):
    return next(name for name, fits in KINDS if fits(result))


def figure(result, reference, key="ratio"):
    """The side that the library chooses, over a reference."""
    return result[result["chosen"]][key] / result[reference][key]


def other_side(result):
    """The side that the library does not choose, over the one that it chooses."""
    other = "pull" if result["chosen"] == "push" else "push"
    return result[other]["ratio"] / result[result["chosen"]]["ratio"]


def other_gain(result):
    """How much faster the other side would have been."""
    return 1 / other_side(result)


def median_and_worst(values):
    return f"{median(values):.2f} / {max(values):.2f}"


def table(heading, of):
    """Rows of (name, results)."""
    lines = [f"| {heading} | " + " | ".join(title for _, _, title in REFERENCES) + " |", "|---|" + "---|" * len(REFERENCES)]
    for name, results in of:
        cells = [median_and_worst([figure(result, reference, key) for result in results]) for reference, key, _ in REFERENCES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def size(count):
    return f"{count // MIB} MiB" if count >= MIB else f"{count // 1024} KiB" if count >= 1024 else f"{count} B"


def named(result):
    return f"{result['problem']} in runs of {size(result['run_bytes'])}, {result['processes']} processes, {size(result['total_bytes'])}"


def worst(results, value):
    return max(results, key=value)


def sides(results):
    lines = ["| Runs | Problems | The other side, median / worst |", "|---|---:|---|"]
    for name in ("runs of 4 and 16 B", "runs of 64 B to 1 KiB", "runs of 4 and 8 KiB"):
        of = [other_side(result) for result in results if kind_of(result) == name]
        lines.append(f"| {name} | {len(of)} | {median_and_worst(of)} |")
    return "\n".join(lines)


def streaming(result, rows, share):
    """Where streaming costs more than ordinary stores although the code streams: more than 5 %."""
    out = []
    for each in result["results"]:
        row = max((row for row in rows if row[0] <= each["run_bytes"]), key=lambda row: row[0])
        if each["tile_bytes"] >= row[1] * share and each["streaming_over_ordinary"] > 1.05:
            out.append(each)
    return sorted(out, key=lambda each: -each["streaming_over_ordinary"])


def streaming_table(source):
    """What stores.cpp holds: from what length of runs on, and from how many shares of the last cache, the library streams."""
    rows, = re.findall(r"StreamingRow, \d+> table\{\{(.*?)\}\};", source)
    return [(int(run), float(shares)) for run, shares in re.findall(r"\{(\d+), ([\d.]+)\}", rows)]


def of_tree(root):
    """The section that the raw results of a tree make."""
    benchmark, streamed = (json.loads((root / "bench" / "results" / name).read_text()) for name in ("copy_benchmark.json", "copy_table.json"))
    return section(benchmark, streamed, streaming_table((root / "src/retile/exec/copy/stores.cpp").read_text()))


def section(benchmark, streamed, rows):
    results = [result for result in benchmark["results"] if result["processes"] > 1]
    large = [result for result in results if result["total_bytes"] == JUDGED_BYTES]
    small = [result for result in results if result["total_bytes"] <= MIB]
    rounds = sorted({result["rounds"] for result in results})
    machine = benchmark["machine"]
    sizes = sorted({result["total_bytes"] for result in results})
    counts = " or ".join(str(count) for count in sorted({result["processes"] for result in results}))
    share = streamed["machine"]["cache_share_bytes"]
    slow = worst(small, lambda result: figure(result, "limit"))
    by_memcpy = worst(results, lambda result: figure(result, "memcpy"))
    late = streaming(streamed, rows, share)
    below = max(each["streaming_over_ordinary"] for each in streamed["results"])
    middle = worst([result for result in results if result["total_bytes"] == 16 * MIB and result["run_bytes"] >= 64], other_gain)
    return f"""## Copying

`bench/copy_benchmark` asks how near the passes of `exec/copy` come to the copy limit. Raw:
[copy_benchmark.json](../../bench/results/copy_benchmark.json).

- The *limit*: all processes copy their tile at once, with streaming stores dealt out over four neighbouring pages.
- *One stream* is the same straight through.
- The benchmark runs the limit, one stream, `memcpy`, push and pull in turn. Before, it compared every byte of every way with the source.
- Times are processor times, summed over the processes. A ratio is the median of {" or ".join(map(str, rounds))} ratios, each of two measurements
  within a few milliseconds. The raw file has quartiles and wall times, too.
- The machine is virtual: {machine['processor']}, {machine['processors']} processors, {machine['compiler']}. Nothing else was running. The load average
  when the benchmark began, {float(machine['load_average_at_start']):.1f}, was left by the run before.
- Tiles lie in pages of 2 MiB.

The arrays have {size(JUDGED_BYTES)} in all, and {counts} processes copy. The library chooses which side copies. The figures are median over problems / worst:

{table("Problems", [(f"{name} ({sum(kind_of(r) == name for r in large)})", [r for r in large if kind_of(r) == name]) for name, _ in SHOWN])}

The same by size, for all problems with runs of 64 bytes and more:

{table("In all", [(size(count), [r for r in results if r["total_bytes"] == count and r["run_bytes"] >= 64]) for count in sizes])}

What this says, losses first:

- Four streams are not the limit on this machine. One stream needs {median(r["one_stream"]["ratio"] for r in large):.2f} of their time for large tiles, and `memcpy`
  {median(r["memcpy"]["ratio"] for r in large):.2f}. So a ratio to the limit below 1 is nothing to be proud of. The ratio to one stream is the hard one. Long runs are
  level with it.
- Where tiles fit in the caches, the worst ratio to the limit is {figure(slow, "limit"):.2f}: {named(slow)}.
- `memcpy` of a tile in the cache is up to {figure(by_memcpy, "memcpy"):.1f} times as fast as copying it in short runs. The case is {named(by_memcpy)}.
- The worst choice of a side at 16 MiB is for {named(middle)}. The other side would have taken {other_side(middle):.2f} of the time.
- A pull where a push is right (rows to columns), or the reverse, is not repaired by any kernel. One of the two sides then jumps.
- Not measured, only tested: numbers of peers that are no powers of two, runs of other lengths, and unaligned tiles. They are staged and slower.
- Runs are copied whole. Dealing long runs out in pieces of 256 bytes, at least four at a time, was faster on another machine and slower here.
  That was seen in trials of the bare loops, whose raw results were not kept.

### Who copies

The side with short runs should copy, as [execution.md](../dev/execution.md#what-a-pass-does) explains. The table says how many times as long the other side takes,
from 16 MiB on:

{sides([result for result in results if result["total_bytes"] >= 16 * MIB])}

### Streaming stores

`bench/copy_table` measures streaming over ordinary stores for tiles of 64 KiB to 64 MiB. It ran {streamed["processes"]} processes, each of which has
{size(share)} of the last cache. Raw: [copy_table.json](../../bench/results/copy_table.json). Below the sizes from which the library streams, streaming costs up to
{below:.1f} times as much. From these sizes on it costs more than 5 % extra in {"these cases" if late else "no case"}:

| Problem | Runs | Tile | Streaming over ordinary stores |
|---|---:|---:|---:|
{chr(10).join(f"| {each['problem']} | {size(each['run_bytes'])} | {size(each['tile_bytes'])} | {each['streaming_over_ordinary']:.2f} |" for each in late)}

## Tiles of more than 2^31 elements

`ctest --preset dev-slow -R exec.mpi.large` moves tiles of more than 2.1 GB by a permute, an alltoall and an allgather, and looks at every element. It
uses `collectives`, `inplace`, and `exchange` by messages and through shared memory. It needs 11 GB and minutes. In the last run, on 2026-11-21,
15 of 15 passed, each within its stated bound. For the alltoall that was 4.56 to 4.57 GB per process, in place 2.28.
"""

