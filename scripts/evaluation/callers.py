"""The section The caller's memory of docs/ledger/evaluation.md: exchanges on one node between buffers that the library did not make."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "The caller's memory"
HUGE = ", huge pages"
OURS, PEER = "shared, private tiles", "MPI_Alltoallw"
OFFSETS = (0, 8, 16, 24, 40)
TARGET, TARGET_ALIGNED = 1.2, 0.9


def at(name, offset):
    return f"{name}, at {offset}"


GIVEN = [OURS, PEER]
PLACED = [at(name, offset) for offset in OFFSETS for name in GIVEN]
IN_HUGE_PAGES = [OURS + HUGE, PEER + HUGE]
WAYS = [*GIVEN, *PLACED, *IN_HUGE_PAGES]


def load(results):
    """What scripts/evaluate-callers wrote under bench/results; nothing where it never did."""
    path = results / "callers.json"
    return json.loads(path.read_text()) if path.exists() else None


def rows(record, ours=OURS, peer=PEER):
    """For each number of processes and size: of every problem how many times as long the peer took, a figure for each round."""
    for processes, sizes in record["runs"].items():
        for kib, runs in sizes.items():
            of = {}
            for run in runs:
                for problem in run:
                    if ours in problem and peer in problem:
                        of.setdefault(problem["problem"], []).extend(theirs / own for own, theirs in zip(problem[ours], problem[peer], strict=True))
            yield processes, int(kib), of


def loses(ratios):
    """Slower by more than noise: in the median of the rounds, and in at least four of five."""
    return median(ratios) < 1 and sum(each < 1 for each in ratios) >= 0.8 * len(ratios)


def figure(of):
    return spread([median(each) for each in of.values()]) if of else ""


def table(record, columns):
    """A row for each number of processes and size that has them all: what of it is said."""
    all_rows = [list(rows(record, *each)) for each in columns]
    for first, *others in zip(*all_rows):
        if all(of for _, _, of in (first, *others)):
            yield first[0], first[1], [of for _, _, of in (first, *others)]


def lines_of(record, columns):
    return [f"| {processes} | {kib // 1024} MiB | {len(figures[0])} | {rounds_of(figures[0])} | " + " | ".join(map(figure, figures)) + " |"
            for processes, kib, figures in table(record, columns)]


def rounds_of(of):
    return min(len(each) for each in of.values())


def over_the_peer(record):
    columns = [(OURS, PEER), *((at(OURS, offset), at(PEER, offset)) for offset in OFFSETS)]
    heads = ["As given", *(f"At {offset}" for offset in OFFSETS)]
    short = [f"{heads[k]}: {processes} processes, {kib // 1024} MiB ({median(median(each) for each in of.values()):.2f})"
             for processes, kib, figures in table(record, columns) for k, of in enumerate(figures)
             if median(median(each) for each in of.values()) < TARGET]
    cases = [(heads[k], processes, kib, name, each)
             for processes, kib, figures in table(record, columns) for k, of in enumerate(figures) for name, each in of.items()]
    lost = [case for case in cases if loses(case[4])]
    lines = ["| Processes | Array | Problems | Rounds | " + " | ".join(heads) + " |", "|---:|---:|---:|---:" + "|---" * len(heads) + "|",
             *lines_of(record, columns), "",
             f"In the median over the problems of a size, the library should be {TARGET} times as fast at every offset. "
             + ("It is." if not short else "**Missed**:"), ""]
    if short:
        lines += [*(f"- {each}" for each in short), ""]
    lines += [f"It is slower by more than noise, in the median and in four of five rounds, in {len(lost)} of {len(cases)} cases.", ""]
    if lost:
        lines += ["| Where | Processes | Array | Problem | Alltoallw over the library |", "|---|---:|---:|---|---|",
                  *(f"| {where.lower()} | {processes} | {kib // 1024} MiB | {name} | {spread(each)} |" for where, processes, kib, name, each in lost), ""]
    return lines


def over_aligned(record):
    columns = [(at(OURS, offset), at(OURS, 0)) for offset in OFFSETS[1:]]
    short = [f"at {offset}: {processes} processes, {kib // 1024} MiB ({median(median(each) for each in of.values()):.2f})"
             for processes, kib, figures in table(record, columns) for offset, of in zip(OFFSETS[1:], figures, strict=True)
             if median(median(each) for each in of.values()) < TARGET_ALIGNED]
    return ["How fast the library is at an offset, beside itself at 0:", "",
            "| Processes | Array | Problems | Rounds | " + " | ".join(f"At {offset}" for offset in OFFSETS[1:]) + " |",
            "|---:|---:|---:|---:" + "|---" * (len(OFFSETS) - 1) + "|", *lines_of(record, columns), "",
            f"In the median it should be {TARGET_ALIGNED} times as fast. "
            + ("It is." if not short else "**Missed** " + ", ".join(short) + "."), ""]


def in_huge_pages(record):
    columns = [(OURS + HUGE, PEER + HUGE), (OURS + HUGE, PEER)]
    lines = lines_of(record, columns)
    if not lines:
        return []
    return ["In pages of 2 MiB:", "", "- *Huge*: both in such pages.",
            "- *Asked for*: the library in such pages, as with `Options::huge_pages`, `MPI_Alltoallw` in what a `std::vector` gives. So the "
            "difference to *as given* comes from the pages, not from the exchange.", "",
            "| Processes | Array | Problems | Rounds | Huge | Asked for |", "|---:|---:|---:|---:|---|---|", *lines, ""]


def section(record):
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-callers` writes this section from runs of [`bench/execution`](../../bench/README.md). Tiles lie in memory that the "
             "caller allocated, on one node, so bytes go through slots (`exchange`). A figure says how many times as long `MPI_Alltoallw` took: "
             "the median over the problems, with the least and the most. Above 1 the library is faster. Every element was compared.", "",
             "- *As given*: both in the memory of a `std::vector`, which is `malloc`'s.",
             "- *At* an offset: both so many bytes beyond a page. glibc's `malloc` puts large blocks at 16.",
             f"- {record['machine']['processor']}, {record['machine']['processors']} processors; {record['mpi']}. All ways take turns in "
             "every round." + (f" {record['note']}" if record.get("note") else ""), "",
             "Until 26 November 2026 this page said *as given* of memory from `aligned_alloc`, at multiples of 2 MiB: 1.24 to 1.55, and slower in 0 "
             "of 168 cases, on an AMD EPYC. `malloc` gives no such memory. At 16 bytes beyond a page the same code moved 1 and 16 MiB at 0.55 to 0.8 "
             "times the speed of `MPI_Alltoallw`, and 256 MiB at 0.77 to 1.3 times. The figures below are of other code on another machine, so "
             "they do not compare with those.", ""]
    return "\n".join([*lines, *over_the_peer(record), *over_aligned(record), *in_huge_pages(record),
                      "The raw figures are in [callers.json](../../bench/results/callers.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
