"""The section Networks of docs/ledger/evaluation.md: predicted times beside measured ones."""

import json
from math import exp, log
from statistics import correlation, median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "Networks"
RANKS, FASTER, SLOWER = 0.9, 1.5, 1.05  # the targets


def link(small_bytes, small_seconds, large_bytes, large_seconds):
    """(bytes per second, seconds of latency) of a link over which both took so long."""
    seconds = (large_seconds - small_seconds) / (large_bytes - small_bytes)
    return 1 / seconds, max(0.0, small_seconds - small_bytes * seconds)


def expect(links, bytes_per_second, microseconds):
    """Refuses links that are far from those that were made, on which nothing can be said."""
    (rate, latency), (inside, _) = links
    if not 0.5 < rate / bytes_per_second < 1.1:
        raise ValueError(f"links of {bytes_per_second:g} B/s have {rate:g}")
    if not 0.9 < latency * 1e6 / microseconds < 3:
        raise ValueError(f"links of {microseconds:g} microseconds have {latency * 1e6:g}")
    if inside < 5 * rate:
        raise ValueError(f"a node has {inside:g} B/s inside, and {rate:g} to others")


def words(mesh, links):
    """What --network is told of a mesh, of which the axis a is inside a node."""
    between, inside = (f"{round(rate)}B/s:{round(latency * 1e9)}ns" for rate, latency in links)
    axes = [axis.split(":")[0] for axis in mesh.split(",")]
    return ", ".join([*(f"{axis}:{between}" for axis in axes if axis != "a"), f"*:{inside}"])


def load(results):
    """What scripts/evaluate-network wrote under bench/results; nothing where it never did."""
    path = results / "network.json"
    return json.loads(path.read_text()) if path.exists() else None


def places(values):
    """The place of each value in order; equal ones share the mean of theirs."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def rank_correlation(pairs):
    """Spearman's: of the places of both."""
    return correlation(*(places(values) for values in zip(*pairs, strict=True)))


def plans(problems):
    """(predicted, measured) of every plan that was run."""
    return [(problem["predicted"][plan], median(problem["measured"][plan]))
            for problem in problems for plan in ("usual", "network") if plan in problem["measured"]]


def gains(problems, other="usual"):
    """How many times as long the other way took as the plan for the network, where the plans differ, with the problem: medians."""
    return [(median(problem["measured"][other]) / median(problem["measured"]["network"]), problem) for problem in problems if problem["differ"]]


def mean(ratios):
    return exp(sum(map(log, ratios)) / len(ratios))


def name_of(problem):
    return f"`{problem['from']}` to `{problem['to']}` over `{problem['mesh']}`"


def section(record):
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-network` writes this section. It answers the paper's third question, does cost predict time, for "
             "[plans for a network](../reference/network.md). The nodes are namespaces of one machine with "
             f"{record['cores']} cores, and every device is an MPI process. A program in user space gives each device a link of its own to the other nodes, "
             f"of {record['bytes_per_second'] / 1e6:.0f} MB/s in each direction and with {record['microseconds'] / 1e3:g} ms of latency. Inside a node is shared memory. "
             "What `--network` is told was measured first, by permutations of small and large tiles.", "",
             "Problems are drawn at random, half of them such that the plan for the network differs from the usual one. Steps run as the collectives that Open MPI "
             f"chooses, and every element is compared. Times are the median of {record['runs']} runs, which took turns.", "",
             "| Nodes x devices | Links | Plans | Rank correlation | Measured over predicted | Gain where plans differ | Beside one exchange |",
             "|---|---|---:|---:|---|---|---:|"]
    missed, lost = [], []
    for nodes, run in record["nodes"].items():
        problems = run["problems"]
        pairs = plans(problems)
        gained = gains(problems)
        ratios = [ratio for ratio, _ in gained]
        correlated = rank_correlation(pairs)
        told = "; ".join(f"{rate / 1e6:.4g} MB/s, {latency * 1e3:.2g} ms" for rate, latency in run["links"])
        lines.append(f"| {nodes} | {told} | {len(pairs)} | {correlated:.3f} | {spread([took / said for said, took in pairs])} | "
                     f"{mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), {len(ratios)} problems | {mean([r for r, _ in gains(problems, 'exchange')]):.2f} |")
        if correlated < RANKS:
            missed.append(f"the rank correlation on {nodes}, {correlated:.3f}")
        if mean(ratios) < FASTER:
            missed.append(f"the gain on {nodes}, {mean(ratios):.2f}")
        lost += [(ratio, nodes, problem) for ratio, problem in gained if ratio < 1]
    worse = [each for each in lost if each[0] < 1 / SLOWER]
    if worse:
        missed.append(f"{len(worse)} plans are slower than the usual one by more than a twentieth")
    lines += ["", f"The rank correlation (Spearman's) of predicted and measured times should be {RANKS}, the gain {FASTER} in the geometric mean, and no plan "
              f"slower than the usual one by more than a twentieth. " + ("Missed: " + "; ".join(missed) + "." if missed else "So it is."), "",
              "The last column says how many times as long the exchange of both ends takes, which `retile run` would choose: the geometric mean where plans differ.", ""]
    if lost:
        lines += ["Slower than the usual plan:", "",
                  *(f"- {name_of(problem)}: {ratio:.2f} times as fast, predicted {problem['predicted']['usual'] / problem['predicted']['network']:.2f}"
                    for ratio, _, problem in sorted(lost, key=lambda each: each[0])), ""]
    return "\n".join([*lines, "The raw figures are in [network.json](../../bench/results/network.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
