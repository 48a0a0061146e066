"""Judges whole runs of bench/execution, and writes what is published of them.

A *run* is what the program wrote: seconds of every round. A *result* is several runs for one number of processes: of every
contender the median of each run, with quartiles. A figure is the median over the runs, its spread the least and the most of them.
"""

import json
import math
from pathlib import Path
from statistics import median

from evaluation import picture
from evaluation.page import put_section
from evaluation.picture import Mark

RUN_SCHEMA = "retile.execution_run/1"
SCHEMA = "retile.execution/1"
PROCESSES = (2, 4, 8)
JUDGED_KIB = 256 * 1024  # most targets are about arrays of 256 MiB
LONG_RUN_BYTES = 4096
SHORT_RUN_BYTES = 64
PAGE_LINK = "../../bench/results/execution_{}.json"

PEER, PEER_IN_HUGE_PAGES = "peer", "peer in huge pages"
LIMIT, STREAM, AUTOMATIC, IN_PLACE, ALLTOALLW = "copy limit", "one stream", "automatic", "in place", "MPI_Alltoallw"
COLUMNS = [  # of tables and pictures: contenders, short name, how they look: strategies round, peers square, references strokes
    ([AUTOMATIC], "automatic", ("#2f81f7", "o")),
    (["shared, private tiles"], "shared, private", ("#2f81f7", "o", False)),
    ([IN_PLACE], "in place", ("#2da44e", "o")),
    (["direct"], "direct", ("#b08800", "o")),
    (["collectives"], "collectives", ("#b08800", "o", False)),
    ([ALLTOALLW], "MPI_Alltoallw", ("#e0702e", "s")),
    (["MPI_Alltoallw, huge pages"], "Alltoallw, huge", ("#e0702e", "s", False)),
    (["MPI_Pack, MPI_Alltoallv"], "pack, Alltoallv", ("#d1495b", "^")),
    (["MPI_Alltoall, contiguous", "MPI_Allgather, contiguous"], "contiguous", ("#a371f7", "s")),
    (["MPI_Alltoall, contiguous, huge pages", "MPI_Allgather, contiguous, huge pages"], "contig., huge", ("#a371f7", "s", False)),
    (["ScaLAPACK p?gemr2d"], "p?gemr2d", ("#8b949e", "D")),
    (["FFTW MPI transpose"], "FFTW", ("#a0724a", "D")),
    ([STREAM], "one stream", ("#8b949e", "|")),
]


class Refused(Exception):
    """Results that cannot be published."""


# ---- From runs to results ---------------------------------------------------------------------------------------------


def rounded(value):
    return float(f"{value:.4g}")


def quartiles(values):
    ordered = sorted(values)
    return [rounded(ordered[round(part * (len(ordered) - 1))]) for part in (0.25, 0.75)]


def name_of(problem):
    return f"{problem['problem']}, {size_text(problem['kib'])}"


def same_in_all(runs, what, of):
    values = [of(run) for run in runs]
    if any(value != values[0] for value in values):
        raise Refused(f"the runs differ in {what}")
    return values[0]


def contenders_of(problem):
    out = {one["name"]: one for one in problem["contenders"]}
    for one in out.values():
        if one.get("verified") is not True:
            raise Refused(f"{one['name']} was not verified: {name_of(problem)}")
        if not one["seconds"] or min(one["seconds"]) <= 0:
            raise Refused(f"{one['name']} has no times: {name_of(problem)}")
    for name in (LIMIT, STREAM, AUTOMATIC):
        if name not in out:
            raise Refused(f"{name} is missing: {name_of(problem)}")
    return out


def reduce(runs):
    """Whole runs for one number of processes as one result."""
    for run in runs:
        if run.get("schema") != RUN_SCHEMA:
            raise Refused(f"not a run of bench/execution: {run.get('schema')}")
    out = {"schema": SCHEMA, "processes": same_in_all(runs, "processes", lambda run: run["processes"]), "runs": len(runs)}
    for key in ("rounds", "mpi", "fftw", "scalapack"):
        out[key] = same_in_all(runs, key, lambda run, key=key: run[key])
    machines = [dict(run["machine"]) for run in runs]
    loads = [machine.pop("load_average_at_start", None) for machine in machines]
    out["machine"] = same_in_all(machines, "machine", lambda machine: machine)
    out["load_averages_at_start"] = loads
    if memories := [run["memory"] for run in runs if "memory" in run]:
        out["memory"] = memories[0]
    same_in_all(runs, "problems", lambda run: [name_of(problem) for problem in run["problems"]])
    out["problems"] = []
    for k, first in enumerate(runs[0]["problems"]):
        every = [contenders_of(run["problems"][k]) for run in runs]
        same_in_all(every, f"contenders: {name_of(first)}", list)
        problem = {key: first[key] for key in ("problem", "kind", "kib", "mesh", "from", "to", "run_bytes", "in_bytes", "out_bytes")}
        problem["contenders"] = {}
        for name, one in every[0].items():
            paired = [{other: [a / b for a, b in zip(of[name]["seconds"], of[other]["seconds"])] for other in (LIMIT, STREAM, AUTOMATIC)}
                      for of in every]
            kept = {"kind": one["kind"],
                    "ms": [rounded(1e3 * median(of[name]["seconds"])) for of in every],
                    "ratio": [rounded(median(pair[LIMIT])) for pair in paired],
                    "quartiles": [quartiles(pair[LIMIT]) for pair in paired],
                    "to_one_stream": [rounded(median(pair[STREAM])) for pair in paired],
                    "to_automatic": [rounded(median(pair[AUTOMATIC])) for pair in paired]}
            for key in ("strategy", "peak_bytes"):
                if key in one:
                    kept[key] = one[key]
            if "peak_bytes" in one:
                kept["peak_bytes"] = max(of[name]["peak_bytes"] for of in every)
            problem["contenders"][name] = kept
        out["problems"].append(problem)
    return out


def dump(result):
    """JSON with a line for each contender."""
    head = {key: value for key, value in result.items() if key != "problems"}
    lines = [json.dumps(head)[:-1] + ', "problems": [']
    for k, problem in enumerate(result["problems"]):
        about = {key: value for key, value in problem.items() if key != "contenders"}
        lines.append((", " if k else "") + json.dumps(about)[:-1] + ', "contenders": {')
        lines.append(",\n".join(f" {json.dumps(name)}: {json.dumps(one)}" for name, one in problem["contenders"].items()))
        lines.append("}}")
    return "\n".join(lines + ["]}"]) + "\n"


def load(folder):
    """The results by number of processes; nothing where there are none in this form."""
    out = {}
    for processes in PROCESSES:
        path = Path(folder) / f"execution_{processes}.json"
        if path.exists():
            result = json.loads(path.read_text())
            if isinstance(result, dict) and result.get("schema") == SCHEMA:
                out[processes] = result
    return out


# ---- Figures ----------------------------------------------------------------------------------------------------------


def size_text(kib):
    return f"{kib // 1024} MiB" if kib % 1024 == 0 else f"{kib} KiB"


def spread(values):
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def of_size(result, kib):
    return [problem for problem in result["problems"] if problem["kib"] == kib]


def sizes_of(result):
    return sorted({problem["kib"] for problem in result["problems"]})


def judged_kib(result):
    """The size that the targets are about; where a trial did without it, the largest."""
    return JUDGED_KIB if JUDGED_KIB in sizes_of(result) else max(sizes_of(result))


def over_problems(problems, names, key="ratio"):
    """For each run the median over the problems; nothing where no problem has one of these contenders."""
    series = [problem["contenders"][name][key] for problem in problems for name in names if name in problem["contenders"]]
    return [median(of_run) for of_run in zip(*series)] if series else None


def is_gather(problem):
    return problem["kind"] == "gathers"


def is_swap(problem):
    return problem["kind"] == "mesh swap"


def is_long(problem):
    return problem["run_bytes"] >= LONG_RUN_BYTES


def comparisons(result, kind=PEER):
    """(problem, peer, its kept figures) for all peers of that kind."""
    for problem in result["problems"]:
        for name, one in problem["contenders"].items():
            if one["kind"] == kind:
                yield problem, name, one


def slower_in(one):
    """Of automatic over a peer: the ratio in each run, and in how many it is above 1."""
    ratios = [1 / value for value in one["to_automatic"]]
    return ratios, sum(ratio > 1 for ratio in ratios)


def lost(result, kind=PEER):
    """Where automatic is slower than a peer by more than noise: in the median of the runs, and in four of five of them."""
    out = []
    for problem, name, one in comparisons(result, kind):
        ratios, slower = slower_in(one)
        if median(ratios) > 1 and slower >= math.ceil(0.8 * len(ratios)):
            out.append((problem, name, ratios, slower))
    return out


def within_noise(result):
    """Where automatic is slower in the median, but not in four of five runs."""
    count = 0
    for _, _, one in comparisons(result):
        ratios, slower = slower_in(one)
        count += median(ratios) > 1 and slower < math.ceil(0.8 * len(ratios))
    return count


# ---- Targets ----------------------------------------------------------------------------------------------------------


class Target:
    """What is asked for, what was measured for one number of processes, and whether that is met."""

    def __init__(self, text, bound, processes, values, met, missed_by=()):
        self.text, self.bound, self.processes, self.values, self.met = text, bound, processes, values, met
        self.missed_by = list(missed_by)  # (problem, contender) pairs that miss it


def each_within(text, result, problems, name, bound):
    """The worst problem's figure."""
    figures = [(problem, problem["contenders"][name]["ratio"]) for problem in problems if name in problem["contenders"]]
    if not figures:
        return None
    worst = max((ratios for _, ratios in figures), key=median)
    missed = [(problem, name) for problem, ratios in figures if median(ratios) > bound]
    return Target(text, f"each at most {bound:g}", result["processes"], spread(worst), not missed, missed)


def targets(result):
    judged = of_size(result, judged_kib(result))
    plain = [problem for problem in judged if not is_gather(problem) and not is_swap(problem)]
    long_runs = [problem for problem in plain if is_long(problem)]
    short_runs = [problem for problem in plain if SHORT_RUN_BYTES <= problem["run_bytes"] < LONG_RUN_BYTES]
    out = [each_within("automatic, runs of 4 KiB and more", result, long_runs, AUTOMATIC, 1.2)]
    if long_runs:
        values = over_problems(long_runs, [AUTOMATIC])
        missed = [(problem, AUTOMATIC) for problem in long_runs if median(problem["contenders"][AUTOMATIC]["ratio"]) > 1.05]
        met = median(values) <= 1.05
        out.append(Target("the same, median over the problems", "at most 1.05", result["processes"], spread(values), met, [] if met else missed))
    out.append(each_within("automatic, runs of 64 B to 4 KiB", result, short_runs, AUTOMATIC, 1.5))
    out.append(each_within("automatic, gathers", result, [problem for problem in judged if is_gather(problem)], AUTOMATIC, 0.9))
    out.append(each_within("automatic, mesh swap", result, [problem for problem in judged if is_swap(problem)], AUTOMATIC, 1.3))
    losses = lost(result)
    pairs = sum(1 for _ in comparisons(result))
    out.append(Target("automatic slower than a peer, all sizes", "never", result["processes"], f"{len(losses)} of {pairs}", not losses))
    faster = over_problems(judged, [ALLTOALLW], "to_automatic")
    if faster:
        out.append(Target("`MPI_Alltoallw` over automatic, median over the problems", "at least 2.5", result["processes"], spread(faster), median(faster) >= 2.5))
    out.append(each_within("in place, runs of 4 KiB and more", result, [problem for problem in judged if is_long(problem)], IN_PLACE, 2))
    out.append(each_within("in place, shorter runs", result, [problem for problem in judged if not is_long(problem)], IN_PLACE, 3))
    peaks = [problem["contenders"][IN_PLACE]["peak_bytes"] - max(problem["in_bytes"], problem["out_bytes"])
             for problem in result["problems"] if IN_PLACE in problem["contenders"]]
    if peaks:
        out.append(Target("in place, peak above the larger tile, all sizes", "at most 1,024 KiB", result["processes"],
                          f"{max(peaks) / 1024:,.0f} KiB", max(peaks) <= 1 << 20))
    return [target for target in out if target is not None]


def why_missed(result, target):
    """Where the time goes, from the figures."""
    judged = of_size(result, judged_kib(result))
    out = []
    if target.text.startswith("`MPI_Alltoallw`"):
        peer = over_problems(judged, [ALLTOALLW], "to_one_stream")
        own = over_problems(judged, [AUTOMATIC], "to_one_stream")
        peer_twice = over_problems(judged, [ALLTOALLW], "ratio")
        out.append(f"`MPI_Alltoallw` takes {median(peer):.2f} times as long as one plain stream of stores per process ({median(peer_twice):.2f} of the copy limit), "
                   f"so whatever copies at the speed of one stream is {median(peer):.2f} times as fast; automatic takes {median(own):.2f} of one stream.")
    for problem, name in target.missed_by:
        one = problem["contenders"][name]
        text = f"{problem['problem']} (runs of {problem['run_bytes']:,} B): {spread(one['ratio'])} of the copy limit, {median(one['to_one_stream']):.2f} of one stream"
        if name == IN_PLACE:
            text += f"; everything twice through memory at the speed of one stream would be {2 * median(problem['contenders'][STREAM]['ratio']):.2f} of the limit"
        out.append(text + ".")
    return out


# ---- What is written --------------------------------------------------------------------------------------------------


def target_rows(results):
    rows = ["| | target | processes | measured | |", "|---|---|---:|---|---|"]
    by_text = {}
    for result in results.values():
        for target in targets(result):
            by_text.setdefault(target.text, []).append(target)
    for text, same in by_text.items():
        for target in same:
            rows.append(f"| {text} | {target.bound} | {target.processes} | {target.values} | {'met' if target.met else '**missed**'} |")
    return rows


def missed_lines(results):
    lines = []
    for result in results.values():
        for target in targets(result):
            if target.met or target.bound == "never":
                continue
            lines.append(f"- {target.text}, {target.processes} processes ({target.bound}; {target.values}):")
            lines += [f"  - {line}" for line in why_missed(result, target)]
    return lines


def loss_rows(results, kind=PEER):
    rows = ["| processes | size | problem | peer | automatic over the peer | slower in |", "|---:|---:|---|---|---|---|"]
    for result in results.values():
        for problem, name, ratios, slower in lost(result, kind):
            rows.append(f"| {result['processes']} | {size_text(problem['kib'])} | {problem['problem']} | {name} | {spread(ratios)} | {slower} of {len(ratios)} runs |")
    return rows


def class_rows(result):
    rows = ["| size | problems | " + " | ".join(short for _, short, _ in COLUMNS) + " |", "|---:|---|" + "---:|" * len(COLUMNS)]
    for kib in sizes_of(result):
        problems = of_size(result, kib)
        for kind in dict.fromkeys(problem["kind"] for problem in problems):
            of_kind = [problem for problem in problems if problem["kind"] == kind]
            cells = []
            for names, _, _ in COLUMNS:
                values = over_problems(of_kind, names)
                cells.append("" if values is None else spread(values).replace(" to ", "–"))
            rows.append(f"| {size_text(kib)} | {kind} ({len(of_kind)}) | " + " | ".join(cells) + " |")
    return rows


def conditions(results):
    any_result = next(iter(results.values()))
    machine = any_result["machine"]
    loads = [float(load) for result in results.values() for load in result["load_averages_at_start"] if load is not None]
    several = any_result["runs"] > 1
    return [f"{any_result['runs']} whole runs for each number of processes, in turn, of {any_result['rounds']} rounds each, and three times as many up to 1 MiB.",
            f"{machine['processor']}, {machine['processors']} processors. {any_result['mpi']}; FFTW: {any_result['fftw']}; "
            f"ScaLAPACK: {any_result['scalapack']}; {machine['compiler']}.",
            f"Load average when a run began: {min(loads):.1f} to {max(loads):.1f}" + (", some of it left by the run before." if several else ".")]


def callers_memory(results):
    """Where the tiles of peers and of private ones lay; older results do not say it."""
    if "memory" in next(iter(results.values())):
        return ("Those of the peers, and private ones, lie in the memory of a `std::vector`, as `malloc` gives it. These are smaller pages unless the "
                "system's setting is `always`.")
    return ("Those of the peers, and private ones, came from `aligned_alloc`, at multiples of 2 MiB: these runs are from before 26 November 2026. "
            "`malloc` gives no such memory. So it was with [uneven tiles](#uneven-tiles) and [messages](#messages). "
            "[The caller's memory](#the-callers-memory) has figures for other places.")


def in_huge_pages(results):
    """The peers in memory like the library's: nothing where they did not run."""
    pairs = sum(1 for result in results.values() for _ in comparisons(result, PEER_IN_HUGE_PAGES))
    if pairs == 0:
        return ""
    ratios = []
    for processes, result in results.items():
        values = over_problems(of_size(result, judged_kib(result)), [f"{ALLTOALLW}, huge pages"], "to_automatic")
        if values is not None:
            ratios.append(f"{spread(values)} with {processes} processes")
    losses = loss_rows(results, PEER_IN_HUGE_PAGES)
    text = f"""### Peers in huge pages

The callers of `MPI_Alltoallw` and of the contiguous collectives may put their tiles in pages of 2 MiB. Then `MPI_Alltoallw` takes longer than
automatic by these factors, in the median over the problems of {size_text(judged_kib(next(iter(results.values()))))}:

{chr(10).join(f"- {ratio}" for ratio in ratios)}

Automatic loses in {len(losses) - 2} of {pairs} pairs of a problem and such a peer{":" if len(losses) > 2 else "."}

"""
    return text + ("\n".join(losses) + "\n\n" if len(losses) > 2 else "")


def summary(results):
    rows = ["| | " + " | ".join(f"{p} processes" for p in results) + " |", "|---|" + "---|" * len(results)]
    for names, short, _ in COLUMNS:
        cells = []
        for result in results.values():
            figures = [median(problem["contenders"][name]["ratio"]) for problem in of_size(result, judged_kib(result)) for name in names
                       if name in problem["contenders"]]
            cells.append(spread(figures) if figures else "")
        rows.append(f"| {short} | " + " | ".join(cells) + " |")
    all_targets = [target for result in results.values() for target in targets(result)]
    met = sum(target.met for target in all_targets)
    losses = sum(len(lost(result)) for result in results.values())
    pairs = sum(1 for result in results.values() for _ in comparisons(result))
    judged = size_text(judged_kib(next(iter(results.values()))))
    return f"""### In short

Over all sizes automatic is slower than a peer, by more than noise, in {losses} of {pairs} cases. {met} of {len(all_targets)} targets are met. For
arrays of {judged} in all the table gives the time over the copy limit, median over the problems and (least to most):

{chr(10).join(rows)}

"""


def section(results):
    pairs = {p: sum(1 for _ in comparisons(result)) for p, result in results.items()}
    losses = loss_rows(results)
    missed = missed_lines(results)
    unsettled = sum(within_noise(result) for result in results.values())
    judged = size_text(judged_kib(next(iter(results.values()))))
    text = f"""## Execution

`scripts/evaluate-execution` writes this section from runs of [`bench/execution`](../../bench/README.md).

{chr(10).join(f"- {line}" for line in conditions(results))}
- Raw: {", ".join(f"[{p} processes]({PAGE_LINK.format(p)})" for p in results)}.

How the figures come about:

- All contenders run in turn in every round, between barriers. The clock stops when the last process is through. What is short is repeated
  until it takes 3 ms.
- Every element of every output was compared before.
- A ratio is one of two times of the same round. The figure of a run is the median of the ratios over its rounds. The tables give the median
  over the runs and, in brackets, the least and the most of them.

What the names mean:

- *Automatic* is the strategy that the library chooses by itself. A *peer* is another library's way, or a caller's own way, to do the same.
- The *copy limit*: all processes copy as many bytes as the larger tile at once, by streaming stores over four pages.
- *One stream* is the same straight through. On some machines it is faster, and then the harder reference.
- *Contiguous* is `MPI_Alltoall` or `MPI_Allgather` of as many bytes. They do not bring the bytes to their places in the new tile.
- *Huge* is a peer in pages of 2 MiB, which its caller has to see to.

Two things to know when you read them:

- Small arrays stay in the caches, where streaming stores are slow. There only the ratio to the peers says something.
- The library's own tiles and those of the plain copies lie in pages of 2 MiB. {callers_memory(results)}

{summary(results)}### Targets

The arrays have {judged} in all where nothing else is said. The figure is that of the worst problem, or of the median.

{chr(10).join(target_rows(results))}

"""
    text += "Where a target is missed:\n\n" + "\n".join(missed) + "\n\n" if missed else "No target for a time is missed.\n\n"
    text += f"""### Losses

Automatic loses against a peer where it is slower in the median over the runs and in at least four of five runs. Where it is slower in the
median but not in so many runs, we call it a tie ({unsettled} of {sum(pairs.values())} pairs).

"""
    text += "\n".join(losses) + "\n\n" if len(losses) > 2 else f"None, in {sum(pairs.values())} pairs of a problem and a peer.\n\n"
    text += in_huge_pages(results)
    text += "### By size and kind of problem\n\nThe tables give ratios to the copy limit, as the median over the problems of a kind.\n\n"
    for processes, result in results.items():
        text += f"{processes} processes:\n\n" + "\n".join(class_rows(result)) + "\n\n"
    for processes in results:
        text += f"![{processes} processes, {judged}: time over the copy limit by problem and contender](evaluation/execution_{processes}.svg)\n\n"
    return text + "![Time over the copy limit by number of processes and size](evaluation/execution_sizes.svg)\n"


def write_section(page, results):
    put_section(page, "Execution", section(results))


def pictures(folder, results):
    folder.mkdir(parents=True, exist_ok=True)
    marks = [Mark(short, *look) for _, short, look in COLUMNS]

    def values(problems):
        return [None if (of_runs := over_problems(problems, names)) is None else median(of_runs) for names, _, _ in COLUMNS]

    for processes, result in results.items():
        problems = of_size(result, judged_kib(result))
        picture.draw(folder / f"execution_{processes}.svg", f"{processes} processes, {size_text(judged_kib(result))}", "time over the copy limit",
                     [(problem["problem"], values([problem])) for problem in problems], marks, rule=1)
    picture.draw(folder / "execution_sizes.svg", "By size, median over the problems", "time over the copy limit",
                 [(f"{processes} processes, {size_text(kib)}", values(of_size(result, kib)))
                  for processes, result in results.items() for kib in sizes_of(result)], marks, rule=1)


def publish(root, results):
    """Everything that is published, under a tree."""
    folder = root / "bench" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    for processes, result in results.items():
        (folder / f"execution_{processes}.json").write_text(dump(result))
    pictures(root / "docs" / "ledger" / "evaluation", results)
    write_section(root / "docs" / "ledger" / "evaluation.md", results)
