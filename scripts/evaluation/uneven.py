"""The section Uneven tiles of docs/ledger/evaluation.md: extents that no number of processes divides, beside their even neighbours."""

import json
import sys
from statistics import median

from evaluation.page import put_section

HEADING = "Uneven tiles"


def load(results):
    """What scripts/evaluate-uneven wrote under bench/results; nothing where it never did."""
    path = results / "uneven.json"
    return json.loads(path.read_text()) if path.exists() else None


def pairs(run):
    """(even, uneven) problems of a run: each stands behind its neighbour."""
    found = list(zip(run[::2], run[1::2]))
    for even, uneven in found:
        if (even["kind"], uneven["kind"]) != ("even neighbour", "uneven") or \
                even["problem"].split(",")[0] != uneven["problem"].split(",")[0]:
            sys.exit(f"uneven: {uneven['problem']} does not stand behind its neighbour")
    return found


def spread(values):
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def rows(results):
    """A line of the table for each number of processes and problem."""
    for processes, runs in results.items():
        for number in range(len(runs[0]) // 2):
            both = [pairs(run)[number] for run in runs]
            first = both[0][1]
            automatic = [uneven["seconds"]["automatic"] for _, uneven in both]
            to_even = [own / even["seconds"]["automatic"] for own, (even, _) in zip(automatic, both)]
            to_copy = [own / uneven["seconds"]["copy limit"] for own, (_, uneven) in zip(automatic, both)]
            peers = [[uneven["seconds"][name] / own for own, (_, uneven) in zip(automatic, both)]
                     for name in ("MPI_Alltoallw", "MPI_Alltoallw, huge pages")]
            yield processes, first["problem"], to_even, *peers, to_copy


def section(record):
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-uneven` writes this section from runs of [`bench/execution`](../../bench/README.md) with `--uneven`. Each "
             f"problem has extents that no number of processes divides, and a neighbour that has even tiles. Arrays have {record['kib'] // 1024} MiB. The "
             "figures are medians over whole runs, with the least and the most. Every element was compared.", "",
             "- *to even*: the time of `automatic` over its time for the even neighbour, in the same run.",
             "- *Alltoallw*: the time of `MPI_Alltoallw` over that of `automatic`, on the same boxes; *huge*: with its tiles in pages of "
             "2 MiB.",
             "- *to copying*: the time of `automatic` over the copy limit.", "",
             "Where *Alltoallw* is below 2 in a run, `automatic` copies as fast as the machine does in that run, so nothing can be twice as fast "
             "there.", "",
             "| Processes | Problem | To even | Alltoallw | Alltoallw, huge | To copying |", "|---|---|---|---|---|---|"]
    for processes, problem, *figures in rows(record["runs"]):
        lines.append(f"| {processes} | {problem} | " + " | ".join(map(spread, figures)) + " |")
    return "\n".join(lines) + "\n\nThe raw figures are in [uneven.json](../../bench/results/uneven.json).\n"


def write_section(page, record):
    put_section(page, HEADING, section(record))
