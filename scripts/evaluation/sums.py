"""The section Sums of docs/ledger/evaluation.md: sums of the arrays of all processes, beside those that MPI makes."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "Sums"
PEERS = {"reduce-scatter": "MPI_Reduce_scatter_block", "all-reduce": "MPI_Allreduce"}
OWN = {"automatic": "own tiles", "automatic, caller's memory": "caller's memory", "by messages": "by messages", "collectives": "collectives"}
TARGET = 2.0


def load(results):
    """What scripts/evaluate-sums wrote under bench/results; nothing where it never did."""
    path = results / "sums.json"
    return json.loads(path.read_text()) if path.exists() else None


def rows(record):
    """A line of the table for each number of processes, problem and way: how many times as long MPI took, in its own memory and in
    huge pages, and how many times as long as the limit the way took; all of the same run."""
    for processes, runs in record["runs"].items():
        for number, problem in enumerate(each["problem"] for each in runs[0]):
            seconds = [run[number]["seconds"] for run in runs]
            peer = PEERS[problem]
            for name, words in OWN.items():
                yield (processes, problem, words,
                       [one[peer] / one[name] for one in seconds],
                       [one[f"{peer}, huge pages"] / one[name] for one in seconds],
                       [one[name] / one["limit"] for one in seconds])


def peaks(record):
    """The most of a stated bound on memory that any way used."""
    return max(used for runs in record["runs"].values() for run in runs for problem in run for used in problem["peaks"].values())


def target_line(record):
    own = [(processes, problem, median(ratios)) for processes, problem, words, ratios, *_ in rows(record) if words == "own tiles"]
    missed = [f"{problem} on {processes} processes ({ratio:.2f})" for processes, problem, ratio in own if ratio < TARGET]
    words = f"In own tiles, `automatic` should be at least {TARGET:.0f} times as fast as MPI in the median."
    return words + (" **Missed**: " + ", ".join(missed) + "." if missed else " It is in all cases.")


def section(record):
    lost = [f"- {problem} on {processes} processes, {words}: {ratio:.2f}" for processes, problem, words, own, huge, _ in rows(record)
            for ratio in [min(median(own), median(huge))] if ratio < 1]
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-sums` writes this section from runs of [`bench/sums`](../../bench/README.md). Every process has an array of "
             f"{record['kib'] / 1024:g} MiB in `f32`. A reduce-scatter leaves it a piece of the sum of all, an all-reduce the whole sum. The "
             "figures are medians over whole runs, with the least and the most. Every element was compared.", "",
             "- *MPI*: the time of `MPI_Reduce_scatter_block` or `MPI_Allreduce` over that of the way. Above 1 the way is faster.",
             "- *MPI, huge*: the same, with MPI's arrays in pages of 2 MiB, as the library's own tiles are.",
             "- *to limit*: the time of the way over that of one read of every addend and one write of every sum, for which each process "
             "uses its own memory alone.", "",
             "| Processes | Problem | Way | MPI | MPI, huge | To limit |", "|---|---|---|---|---|---|"]
    for processes, problem, words, *figures in rows(record):
        lines.append(f"| {processes} | {problem} | {words} | " + " | ".join(map(spread, figures)) + " |")
    losses = ["Slower than MPI in the median:", "", *lost] if lost else ["No way is slower than MPI in the median."]
    return "\n".join([*lines, "", target_line(record), "", *losses, "",
                      f"No way used more than {peaks(record):.1%} of the memory that it states as its bound.", "",
                      "The raw figures are in [sums.json](../../bench/results/sums.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
