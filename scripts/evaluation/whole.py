"""The section Whole programs of docs/ledger/evaluation.md: what `retile validate` takes, beside others and beside the compilation."""

import json
from statistics import median

from evaluation.page import put_section

HEADING = "Whole programs"
TIMED_OUT = 124


def load(results):
    """What scripts/evaluate-whole wrote under bench/results; nothing where it never did."""
    path = results / "whole.json"
    return json.loads(path.read_text()) if path.exists() else None


def seconds(runs):
    return f"{median(one['processor_seconds'] for one in runs):.2f}"


def mebibytes(runs):
    return f"{max(one['peak_bytes'] for one in runs) / 2**20:,.0f}"


def of_other(one, limit):
    if one is None:
        return ""
    return f"over {limit}" if one["exit"] == TIMED_OUT else f"{one['processor_seconds']:.2f}"


def section(record):
    rows = record["rows"]
    others = sorted({key for row in rows for key in row if isinstance(row[key], dict) and "processor_seconds" in row[key]} - {"second"})
    lines = [f"## {HEADING}", "",
             f"`scripts/evaluate-whole` writes this section. `retile validate` judged programs that {record['release'].replace('jax-', 'JAX ')} compiled for 2 to 8 "
             "devices: the texts before and after partitioning, with seed 1. Every program is right, and was called right.", "",
             f"- {record['machine']['processor']}, {record['machine']['processors']} processors. Other work ran beside it.",
             "- *Processor, s*: of all threads, the median of the runs. *MiB*: the most that the process held.",
             "- *Compiled, s*: time that JAX took to compile the program.",
             "- *Second*: [the second evaluator](peers.md#whole-programs), which is Python with NumPy, with three seeds."
             + "".join(f" *{name.capitalize()}*: another one in Python, without NumPy, from which this one was learnt; 24 draws." for name in others)
             + f" Neither was given more than {record['limit']} seconds.", "",
             "Both others look at all elements. `retile validate` divides extents of large programs first, as "
             "[statements.md](statements.md#what-smaller-extents-show) says. Nobody gave the four blocks and the last row to the others.", "",
             "| Program | Instructions after | Draws | Processor, s | MiB | Compiled, s | Second | " + "".join(f"{name.capitalize()} | " for name in others),
             "|---|---:|---:|---:|---:|---:|---:|" + "---:|" * len(others)]
    for row in rows:
        compiled = "" if row["compile_seconds"] is None else f"{row['compile_seconds']:.2f}"
        cells = [f"`{row['model']}`" if " " not in row["model"] else row["model"], f"{row['instructions']['after']:,}", str(row["draws"]),
                 seconds(row["retile"]), mebibytes(row["retile"]), compiled, of_other(row.get("second"), record["limit"])]
        cells += [of_other(row.get(name), record["limit"]) for name in others]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(line.rstrip() for line in lines) + "\n\nThe raw figures are in [whole.json](../../bench/results/whole.json).\n"


def write_section(page, record):
    if any(row["answer"] != "right" for row in record["rows"]):
        raise SystemExit("evaluate-whole: a right program was not called right")
    put_section(page, HEADING, section(record))
