"""The section Messages of docs/evaluation.md: what goes between processes that are all taken for nodes, beside MPI_Alltoallw."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "Messages"
WAY, PEER = "direct", "MPI_Alltoallw"
TARGET = 1.2


def load(results):
    """What scripts/evaluate-messages wrote under bench/results; nothing where it never did."""
    path = results / "messages.json"
    return json.loads(path.read_text()) if path.exists() else None


def ratio(problem):
    """How many times as long the peer took: the median of the ratios of the rounds."""
    return median(peer / way for way, peer in zip(problem[WAY], problem[PEER], strict=True))


def rows(record):
    """For each number of processes and size: the ratio of every problem, the median of the runs."""
    for processes, sizes in record["runs"].items():
        for kib, runs in sizes.items():
            yield processes, kib, {problem["problem"]: median(ratio(run[number]) for run in runs) for number, problem in enumerate(runs[0])}


def section(record):
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-messages` writes this section from runs of [`bench/execution`](../bench/README.md). Every process is taken for "
             "a node, and MPI is told to use TCP alone, on one machine with 2 cores. The figures say how many times as long `MPI_Alltoallw` "
             "took: the median over the problems, with the least and the most. Above 1 messages are faster. Every element was compared.", "",
             "| Processes | Array | Problems | Alltoallw over messages |", "|---:|---:|---:|---|"]
    missed, lost, most = {}, 0, 0
    for processes, kib, ratios in rows(record):
        lines.append(f"| {processes} | {int(kib) // 1024} MiB | {len(ratios)} | {spread(list(ratios.values()))} |")
        most += len(ratios)
        lost += sum(1 for each in ratios.values() if each < 1)
        if median(ratios.values()) < TARGET:
            missed.setdefault(processes, []).append(f"{int(kib) // 1024} MiB")
    worst = min(((each, name, processes, kib) for processes, kib, ratios in rows(record) for name, each in ratios.items()))
    said = [f"- **Missed** on {processes} processes: {', '.join(sizes)}." for processes, sizes in missed.items()] or ["They are in all cases."]
    return "\n".join([*lines, "",
                      f"Messages should be {TARGET} times as fast in the median of each size.", "", *said, "",
                      f"Messages are slower in {lost} of {most} cases. The worst is {worst[1]}, {int(worst[3]) // 1024} MiB on {worst[2]} processes: {worst[0]:.2f}. "
                      "Small arrays lose most where not everyone gets something from everyone. There a poll says who was given wrong buffers; a message "
                      "without bytes to everybody took as long. On several machines nothing was measured.", "",
                      "The raw figures are in [messages.json](../bench/results/messages.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
