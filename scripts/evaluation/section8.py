"""The section What XLA emits of docs/ledger/evaluation.md: samples of the paper's evaluation, XLA's programs beside our plans."""

import json
from math import exp, log
from statistics import median

from evaluation.page import put_section

HEADING = "What XLA emits"
ANOTHER_PLAN = "another plan"  # was run, when our plan had other steps
FIGURES = {"cost": "cost", "height": "height", "received": "elements received"}


def load(results):
    """What scripts/evaluate-section8 wrote under bench/results; nothing where it never did."""
    path = results / "section8_xla.json"
    return json.loads(path.read_text()) if path.exists() else None


def save(path, record):
    """A line for every sample."""
    head = {key: value for key, value in record.items() if key != "meshes"}
    meshes = ",\n".join(json.dumps(mesh) + ": [\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]"
                        for mesh, rows in record["meshes"].items())
    path.write_text(json.dumps(head)[:-1] + ', "meshes": {\n' + meshes + "\n}}\n")


def read(rows):
    return [row for row in rows if isinstance(row["xla"], list)]


def mean(ratios):
    return exp(sum(map(log, ratios)) / len(ratios))


def ratios(rows, figure):
    """XLA's over ours, where both are more than nothing."""
    return [row["xla"][figure] / row["retile"][figure] for row in read(rows) if row["xla"][figure] and row["retile"][figure]]


def compared(rows):
    """Counts of samples: judged, aborted and the like."""
    judged = read(rows)
    return {"samples": len(rows), "aborted": sum(row["xla"] == "aborted" for row in rows), "wrong": sum(row["xla"] == "wrong" for row in rows),
            "not alike": sum(not row["alike"] for row in judged), "whole array": sum(row["whole"] for row in judged),
            "over the bound": sum(row["xla"][1] > row["bound"] for row in judged), "ours over the bound": sum(row["retile"][1] > row["bound"] for row in judged)}


def figure_rows(mesh, rows):
    judged = read(rows)
    for number, name in enumerate(FIGURES.values()):
        more = sum(row["xla"][number] > row["retile"][number] for row in judged)
        less = sum(row["xla"][number] < row["retile"][number] for row in judged)
        found = ratios(rows, number)
        yield f"| `{mesh}` | {name} | {more} | {less} | {mean(found):.2f} | {max(found):.1f} |"


def run_rows(mesh, rows):
    runs = [row["run"]["seconds"] for row in rows if isinstance(row.get("run"), dict)]
    if runs:
        found = [theirs / ours for theirs, ours in runs]
        yield (f"| `{mesh}` | {len(runs)} | {mean(found):.2f} | {median(found):.2f} | {max(found):.1f} | {1 / min(found):.1f} | "
               f"{sum(ratio > 1 for ratio in found)} |")


def words_on_cost(judged):
    """In how many samples XLA costs less than our plan, and in how many as much."""
    less = [row for row in judged if row["xla"][0] < row["retile"][0]]
    level = sum(row["xla"][0] == row["retile"][0] for row in judged)
    counted = f"It costs as much in {level} of {len(judged):,}."
    if not less:
        return f"XLA costs less than our plan in no sample. {counted} Steps of ours may take several dimensions at once, as XLA's do."
    within = sum(row["xla"][1] <= row["bound"] for row in less)
    return f"XLA costs less than our plan in {len(less)} samples, and stays within the bound in {within} of them. {counted}"


def section(record):
    meshes = record["meshes"]
    lines = [f"## {HEADING}", "",
             f"`scripts/evaluate-section8` writes this section. It draws samples as Section 8 of the paper does, and asks XLA of "
             f"{record['peer'].replace('jax-', 'JAX ')} to reshard them. What its partitioner emits is judged by `retile check`, and so are our plans.", "",
             "| mesh | samples | XLA aborts | wrong | whole array held | over the bound | ours over the bound |", "|---|---:|---:|---:|---:|---:|---:|"]
    for mesh, rows in meshes.items():
        found = compared(rows)
        lines.append(f"| `{mesh}` | {found['samples']:,} | {found['aborted']} | {found['wrong']} | {found['whole array']} | {found['over the bound']} | "
                     f"{found['ours over the bound']} |")
    lines += ["", "Ratios are XLA's figure over that of our plan. The mean is geometric, over samples in which both figures are above 0.", "",
              "| mesh | figure | XLA more | XLA less | mean ratio | largest ratio |", "|---|---|---:|---:|---:|---:|"]
    lines += [line for mesh, rows in meshes.items() for line in figure_rows(mesh, rows)]
    lines += ["", words_on_cost([row for rows in meshes.values() for row in read(rows)])]
    apart = sum(compared(rows)["not alike"] for rows in meshes.values())
    lines += ["", "XLA's texts are judged for the same samples with smaller extents. Its operations, groups and tiles are the same there"
              + (f", but for {apart} samples, in which XLA decides by extents." if apart else ".")]
    counts = {mesh: sum(isinstance(row.get("run"), dict) for row in rows) for mesh, rows in meshes.items()}
    if any(counts.values()):
        counted = " and ".join(f"{count} on `{mesh}`" for mesh, count in counts.items())
        skipped, another = (sum(row.get("run") == why for rows in meshes.values() for row in rows) for why in ("not run", ANOTHER_PLAN))
        lines += ["", f"For {counted}, both programs were run by the strategy `collectives` on the same processes. Extents were divided until "
                  f"every tile of both takes at most {record['most_mib']} MiB in all. Every element was compared, and all are right. "
                  f"{skipped} samples between them were left out: there one collective of XLA moves several dimensions, which was an exchange when these ran."
                  + (f" {another} that were run, too, are not counted, because our plan has other steps since." if another else "")]
    if any(counts.values()) and record["repeat"] > 1:
        lines += ["", "A ratio is XLA's time over ours, as in Fig. 14. Above 1 our plan is faster.", "",
                  "| mesh | samples run | mean ratio | median | largest | largest of ours over XLA's | our plan faster |", "|---|---:|---:|---:|---:|---:|---:|",
                  *[line for mesh, rows in meshes.items() for line in run_rows(mesh, rows)]]
    return "\n".join([*lines, "", "The raw figures are in [section8_xla.json](../../bench/results/section8_xla.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
