"""The section ScaLAPACK of docs/ledger/evaluation.md: block-cyclic matrices by pdgemr2d and by the library, in the same runs."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "ScaLAPACK"
PEER = "Cpdgemr2d"
COLUMNS = ("Redistributor::run()", "redistribute()")


def load(results):
    """What scripts/evaluate-scalapack wrote under bench/results; nothing where it never did."""
    path = results / "scalapack.json"
    return json.loads(path.read_text()) if path.exists() else None


def reduced(result):
    """Of one run, what is kept of every problem: the medians of its rounds, or why the library refused it."""
    kept = []
    for problem in result["problems"]:
        one = {key: problem[key] for key in ("problem", "rows", "columns", "mesh", "mesh_to", "from", "to", "kib")}
        if "refused" in problem:
            one["refused"] = problem["refused"]
        for contender in problem["contenders"]:
            if contender["verified"] is not True:
                raise SystemExit(f"{contender['name']} was not verified: {problem['problem']}")
        one["seconds"] = {contender["name"]: median(contender["seconds"]) for contender in problem["contenders"]}
        kept.append(one)
    return kept


def rows(record):
    """Of every problem, size and number of processes: seconds of the peer, and of each way how many times as long it took, per run;
    of none where the library refused."""
    for processes, runs in record["runs"].items():
        for number, problem in enumerate(runs[0]):
            seconds = [run[number]["seconds"] for run in runs]
            yield int(processes), problem, median(one[PEER] for one in seconds), {
                name: [one[name] / one[PEER] for one in seconds] for name in COLUMNS if name in seconds[0]}


def size(problem):
    return f"{problem['kib'] // 1024} MiB, {problem['rows']} x {problem['columns']}"


def losses(record):
    """Cases in which a way takes longer in the median of the runs."""
    return [f"`{name}`, {size(problem)}, {processes} processes, {problem['problem']}: {median(ratios):.2f}"
            for processes, problem, _, ways in rows(record) for name, ratios in ways.items() if median(ratios) > 1]


def section(record):
    machine = record["machine"]
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-scalapack` writes this section from runs of [`bench/scalapack_bench`](../../bench/README.md). A block-cyclic "
             "matrix of doubles gets another block-cyclic layout, by ScaLAPACK's own `pdgemr2d` and by the library, between a caller's "
             "vectors. All take turns in every round. Every element of every output was compared with what its indices say, and the "
             "outputs with each other. A figure says how many times as long as `pdgemr2d` a way took: the median over whole runs, with the "
             "least and the most. Below 1 the library is faster.", "",
             f"- {len(next(iter(record['runs'].values())))} runs, {record['rounds']} rounds each, fewer where they take long; "
             f"{machine['processor'].strip()}, {machine['processors']} processors; {record['mpi']}."
             + (f" {record['note']}" if "note" in record else ""),
             "- *run()* of a `Redistributor` that was made before; *redistribute()* makes one in every call, as `pdgemr2d` finds in every "
             "call what to send.",
             "- *Elements in turn*: if rows and columns are dealt out, a Program lists every element as a box, and the library has no more than "
             "4.2 million of them. All processes read, check and hash that list whenever a `Redistributor` is made, which is where "
             "`redistribute()` loses. With two million boxes and 8 processes that took 2.9 GiB on each, more than a machine of 24 GiB has. *As a view* the "
             "same move in whole rounds takes a few boxes ([layouts](../explanation/layouts.md#cyclic)).",
             "- No block divides an extent, but where the table says *whole rounds*.", "",
             "| Problem | Processes | Matrix | pdgemr2d, ms | run() | redistribute() |", "|---|---:|---|---:|---|---|"]
    for processes, problem, seconds, ways in sorted(rows(record), key=lambda row: (row[0], row[1]["kib"])):
        figures = [spread(ways[name]) for name in COLUMNS] if ways else [problem["refused"], ""]
        lines.append(f"| {problem['problem']} | {processes} | {size(problem)} | {seconds * 1e3:.2f} | " + " | ".join(figures) + " |")
    lost = losses(record)
    cases = sum(len(ways) for _, _, _, ways in rows(record))
    lines += ["", f"The library is slower in {len(lost)} of {cases} cases" + (":" if lost else "."), ""]
    lines += [f"- {each}" for each in lost] + ([""] if lost else [])
    return "\n".join([*lines, "The raw figures are in [scalapack.json](../../bench/results/scalapack.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
