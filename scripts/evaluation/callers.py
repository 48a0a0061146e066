"""The section The caller's memory of docs/evaluation.md: exchanges on one node between buffers that the library did not make."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "The caller's memory"
HUGE = ", huge pages"
OURS, PEER = "shared, private tiles", "MPI_Alltoallw"
WAYS = [OURS, OURS + HUGE, PEER, PEER + HUGE]
COLUMNS = ((OURS, PEER), (OURS + HUGE, PEER + HUGE), (OURS + HUGE, PEER))
TARGET = 1.3


def load(results):
    """What scripts/evaluate-callers wrote under bench/results; nothing where it never did."""
    path = results / "callers.json"
    return json.loads(path.read_text()) if path.exists() else None


def rows(record, ours=OURS, peer=PEER):
    """For each number of processes and size: of every problem how many times as long the peer took, a figure for each run."""
    for processes, sizes in record["runs"].items():
        for kib, runs in sizes.items():
            yield processes, int(kib), {problem["problem"]: [median(theirs / own for own, theirs in zip(run[number][ours], run[number][peer], strict=True))
                                                             for run in runs] for number, problem in enumerate(runs[0])}


def loses(ratios):
    """Slower by more than noise: in the median of the runs, and in at least four of five."""
    return median(ratios) < 1 and sum(each < 1 for each in ratios) >= 0.8 * len(ratios)


def section(record):
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-callers` writes this section from runs of [`bench/execution`](../bench/README.md). Tiles lie in memory that the "
             "caller allocated, on one node, so bytes go through slots (`exchange`). A figure says how many times as long `MPI_Alltoallw` took: "
             "the median over the problems, with the least and the most. Above 1 the library is faster. Every element was compared.", "",
             "- *As given*: both in what `malloc` gives.",
             "- *Huge*: both in pages of 2 MiB.",
             "- *Asked for*: the library in such pages, as with `Options::huge_pages`, `MPI_Alltoallw` in what `malloc` gives. So the difference to "
             "*as given* comes from the pages, not from the exchange.", "",
             "| Processes | Array | Problems | As given | Huge | Asked for |", "|---:|---:|---:|---|---|---|"]
    columns = [list(rows(record, *each)) for each in COLUMNS]
    pooled, lost = {}, []
    for (processes, kib, ratios), *others in zip(*columns):
        figures = [spread([median(each) for each in of.values()]) for _, _, of in ((processes, kib, ratios), *others)]
        lines.append(f"| {processes} | {kib // 1024} MiB | {len(ratios)} | " + " | ".join(figures) + " |")
        pooled.setdefault(processes, []).extend(median(each) for each in ratios.values())
        lost += [f"| {processes} | {kib // 1024} MiB | {name} | {spread(each)} |" for name, each in ratios.items() if loses(each)]
    all_of_them = [each for ratios in pooled.values() for each in ratios]
    late = [f"{processes} processes ({median(ratios):.2f})" for processes, ratios in pooled.items() if median(ratios) < TARGET]
    lines += ["", f"As given, the library should be {TARGET} times as fast in the median over all problems and sizes. "
              + ("**Missed** on " + ", ".join(late) + "." if late else "It is: "
                 + ", ".join(f"{median(ratios):.2f} on {processes} processes" for processes, ratios in pooled.items()) + "."),
              "", f"It is slower by more than noise, in the median and in four of five runs, in {len(lost)} of {len(all_of_them)} cases."]
    if lost:
        lines += ["", "| Processes | Array | Problem | Alltoallw over the library |", "|---:|---:|---|---|", *lost]
    return "\n".join([*lines, "", "The raw figures are in [callers.json](../bench/results/callers.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
