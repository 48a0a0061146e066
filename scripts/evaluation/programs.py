"""The section Modules of docs/ledger/evaluation.md: what redistributions of a module take by their plans, and by gathering all and slicing."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "Modules"
PLAN = "plan"
WAYS = {"plan": "plan", "plan, collectives": "plan, step by step",
        "gather and slice, collectives": "gather and slice, step by step", "gather and slice, automatic": "gather and slice, ends only"}


def load(results):
    """What scripts/evaluate-programs wrote under bench/results; nothing where it never did."""
    path = results / "programs.json"
    return json.loads(path.read_text()) if path.exists() else None


def rows(record):
    """A line of the table for each module and way: bytes, seconds, and in each round how many times as long as the plan it took."""
    for module in record["modules"]:
        ways = {way["name"]: way for way in module["run"]["ways"]}
        for name, words in WAYS.items():
            way = ways[name]
            ratios = [own / plan for own, plan in zip(way["seconds"], ways[PLAN]["seconds"])]
            yield module["name"], words, way["received_bytes"], way["module_peak_bytes"], median(way["seconds"]), ratios


def section(record):
    rounds = record["modules"][0]["run"]["rounds"]
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-programs` writes this section from runs of [`bench/programs`](../../bench/README.md). A module runs on 8 processes "
             "by its plans, and the same module with every redistribution done by gathering all, then slicing. Every way ran its module "
             "first, and every element was compared.", "",
             "- *Received*: bytes that a process received in the redistributions of one run.",
             "- *Peak*: most bytes that a process held in the whole module, tiles included.",
             f"- *ms*: all redistributions together, the median of {rounds} rounds in one run.",
             "- *To plan*: times as long as the plan took in the same round, with the least and the most.", "",
             "*Step by step* each step of the text is one MPI collective. *Ends only*: the executor looks at the ends of a redistribution and "
             "moves what has to move. So it does not matter there how the steps were written.", "",
             "| Module | Way | Received | Peak | ms | To plan |", "|---|---|---|---|---|---|"]
    for name, words, received, peak, seconds, ratios in rows(record):
        lines.append(f"| {name} | {words} | {received:,} | {peak:,} | {seconds * 1e3:.1f} | {spread(ratios)} |")
    return "\n".join(lines) + "\n\nThe raw figures are in [programs.json](../../bench/results/programs.json).\n"


def write_section(page, record):
    put_section(page, HEADING, section(record))
