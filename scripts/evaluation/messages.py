"""The section Messages of docs/ledger/evaluation.md: what goes between processes that are all taken for nodes, beside MPI_Alltoallw."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "Messages"
WAY, NODES_WAY, PEER = "direct", "automatic", "MPI_Alltoallw"
UNASKED = "direct, unasked"  # nobody asks whether somebody was given wrong buffers
BOUND = "MPI_Alltoall, contiguous"  # as many bytes, which need no packing; not of all problems
TARGET = 1.2
NODES_TARGET = 1.5  # with 4 processes on each of 2 nodes


def load(results):
    """What scripts/evaluate-messages wrote under bench/results; nothing where it never did."""
    path = results / "messages.json"
    return json.loads(path.read_text()) if path.exists() else None


def ratio(problem, way):
    """How many times as long the peer took: the median of the ratios of the rounds."""
    return median(peer / ours for ours, peer in zip(problem[way], problem[PEER], strict=True))


def rows(counts, way=WAY):
    """For each number of processes and size: the ratio of every problem that goes that way, the median of the runs."""
    for processes, sizes in counts.items():
        for kib, runs in sizes.items():
            yield processes, kib, {problem["problem"]: median(ratio(run[number], way) for run in runs)
                                   for number, problem in enumerate(runs[0]) if way in problem}


def worst_of(counts, way):
    return min(((each, name, processes, kib) for processes, kib, ratios in rows(counts, way) for name, each in ratios.items()))


def bounds_of(counts, way=BOUND):
    """The spread of ratios by processes and size, in words where nothing went that way."""
    return {(processes, kib): spread(list(ratios.values())) if ratios else "not run" for processes, kib, ratios in rows(counts, way)}


def losses(counts, way):
    """How many ratios are below one, and how many there are."""
    ratios = [each for _, _, those in rows(counts, way) for each in those.values()]
    return sum(each < 1 for each in ratios), len(ratios)


def of_nodes(counts):
    """Two nodes that are namespaces: by the strategy that is chosen, in its own tiles."""
    lines = ["", "On two nodes `automatic` moves what stays on a node through its memory, and sends messages "
             "between them. The nodes are namespaces of one machine, each with one core of its own, joined by a "
             "link without a limit. Tiles are the library's own. `MPI_Alltoallw` takes what MPI chooses, on a node and between them.", "",
             "| Processes | Array | Problems | Alltoallw over automatic | over contiguous Alltoall |", "|---:|---:|---:|---|---|"]
    bounds = bounds_of(counts)
    missed, lost, most = [], 0, 0
    for processes, kib, ratios in rows(counts, NODES_WAY):
        lines.append(f"| 2 x {processes} | {int(kib) // 1024} MiB | {len(ratios)} | {spread(list(ratios.values()))} | {bounds[processes, kib]} |")
        most += len(ratios)
        lost += sum(1 for each in ratios.values() if each < 1)
        if processes == "4" and median(ratios.values()) < NODES_TARGET:
            missed.append(f"{int(kib) // 1024} MiB")
    worst = worst_of(counts, NODES_WAY)
    said = f"**Missed** for {', '.join(missed)}." if missed else "It is in all sizes."
    return [*lines, "", f"With 2 x 4 processes it should be {NODES_TARGET} times as fast in the median. {said} It is slower in {lost} of {most} cases. "
            f"The worst is {worst[1]}, {int(worst[3]) // 1024} MiB on 2 x {worst[2]}: {worst[0]:.2f}."]


def section(record):
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-messages` writes this section from runs of [`bench/execution`](../../bench/README.md). Every process is taken for "
             "a node, and MPI is told to use TCP alone, on one machine with 2 cores. The figures say how many times as long `MPI_Alltoallw` "
             "took: the median over the problems, with the least and the most. Above 1 messages are faster. Every element was compared.", "",
             "*Unasked* are messages where nobody asks whether somebody was given wrong buffers (`WrongBuffers::end_job`); MPI asks nobody. "
             "*Contiguous* is `MPI_Alltoall` of as many bytes which lie as they are sent, where the problem is one: nothing is packed. On "
             "cores that all processes share it says how much packing costs at all.", "",
             "| Processes | Array | Problems | Alltoallw over messages | over unasked | over contiguous |", "|---:|---:|---:|---|---|---|"]
    missed = {}
    unasked, bounds = bounds_of(record["runs"], UNASKED), bounds_of(record["runs"])
    for processes, kib, ratios in rows(record["runs"]):
        where = (processes, kib)
        lines.append(f"| {processes} | {int(kib) // 1024} MiB | {len(ratios)} | {spread(list(ratios.values()))} | {unasked[where]} | {bounds[where]} |")
        if median(ratios.values()) < TARGET:
            missed.setdefault(processes, []).append(f"{int(kib) // 1024} MiB")
    worst = worst_of(record["runs"], WAY)
    lost, most = losses(record["runs"], WAY)
    unasked_lost, unasked_most = losses(record["runs"], UNASKED)
    said = [f"- **Missed** on {processes} processes: {', '.join(sizes)}." for processes, sizes in missed.items()] or ["They are in all cases."]
    return "\n".join([*lines, "",
                      f"Messages should be {TARGET} times as fast in the median of each size.", "", *said, "",
                      f"Messages are slower in {lost} of {most} cases. The worst is {worst[1]}, {int(worst[3]) // 1024} MiB on {worst[2]} processes: {worst[0]:.2f}. "
                      "Small arrays lose most where not everyone gets something from everyone. There a poll says who was given wrong buffers; a message "
                      f"without bytes to everybody took as long. Unasked they are slower in {unasked_lost} of {unasked_most}. On several machines nothing was measured.",
                      *(of_nodes(record["nodes"]) if record.get("nodes") else []),
                      *(["", f"Two nodes are left out: {record['no_nodes']}."] if record.get("no_nodes") else []), "",
                      "The raw figures are in [messages.json](../../bench/results/messages.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
