"""The section One call of docs/ledger/evaluation.md: what redistribute() takes with all that it makes ready, beside MPI_Alltoallw."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "One call"
PEER = "MPI_Alltoallw"
COLUMNS = {"redistribute()": "`redistribute()`", "Redistributor::run()": "`Redistributor::run()`", "MPI_Alltoallw and its types": "types made anew"}
MOST = {16384: 1.5, 262144: 1.2}  # KiB to how many times as long as MPI_Alltoallw one call may take


def load(results):
    """What scripts/evaluate-one-shot wrote under bench/results; nothing where it never did."""
    path = results / "one_shot.json"
    return json.loads(path.read_text()) if path.exists() else None


def rows(record):
    """For each size and number of processes, of each way: how many times as long as MPI_Alltoallw it took, a figure for each run."""
    for processes, runs in record["runs"].items():
        for number, kib in enumerate(each["kib"] for each in runs[0]):
            seconds = [run[number]["seconds"] for run in runs]
            yield int(kib), int(processes), median(one[PEER] for one in seconds), {
                name: [one[name] / one[PEER] for one in seconds] for name in COLUMNS}


def missed(record):
    return [f"{kib // 1024} MiB on {processes} processes ({median(ways['redistribute()']):.2f})" for kib, processes, _, ways in rows(record)
            if median(ways["redistribute()"]) > MOST[kib]]


def section(record):
    most = " and ".join(f"{limit:g} times for {kib // 1024} MiB" for kib, limit in MOST.items())
    late = missed(record)
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-one-shot` writes this section from runs of [`bench/one_shot`](../../bench/README.md). Rows become columns, so every "
             "process has something for every other. A ratio is the time of the way over that of `MPI_Alltoallw` in the same run. Below 1 "
             "the way is faster. The figures are medians over whole runs, with the least and the most. Every element was compared.", "",
             "- *redistribute()*: checks, chooses, makes ready and moves. What it keeps with the communicator is there from the first call on.",
             "- *Redistributor::run()*: moves between the caller's buffers. All was made ready before.",
             "- *types made anew*: `MPI_Alltoallw`, with its types made and freed each time.", "",
             "| Array | Processes | MPI_Alltoallw, ms | " + " | ".join(COLUMNS.values()) + " |", "|---|---|---|" + "---|" * len(COLUMNS)]
    for kib, processes, seconds, ways in sorted(rows(record), key=lambda row: row[:2]):
        lines.append(f"| {kib // 1024} MiB | {processes} | {seconds * 1e3:.1f} | " + " | ".join(spread(ways[name]) for name in COLUMNS) + " |")
    return "\n".join([*lines, "", f"`redistribute()` should take at most {most}, in the median of the runs. "
                      + ("**Missed**: " + ", ".join(late) + "." if late else "It does in all cases."), "",
                      "The raw figures are in [one_shot.json](../../bench/results/one_shot.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
