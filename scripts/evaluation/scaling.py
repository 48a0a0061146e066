"""The section Scaling over hosts of docs/ledger/evaluation.md: programs on 1 to 8 hosts, with waits in the place of computations."""

import json
from statistics import median

from evaluation.page import put_section
from evaluation.uneven import spread

HEADING = "Scaling over hosts"
KINDS = {"strong": "the same problem on all", "weak": "the same work for each host"}
ENDS = {"root": "from and to the root", "rows": "in rows"}


def load(results):
    """What scripts/evaluate-scaling wrote under bench/results; nothing where it never did."""
    path = results / "scaling.json"
    return json.loads(path.read_text()) if path.exists() else None


def is_move(part):
    return "wait_seconds" not in part


def touches_root(part):
    return is_move(part) and ("@0" in part["from"] or "@0" in part["to"])


def summed(case, which):
    """The median seconds of some parts together."""
    return sum(median(part["seconds"]) for part in case["run"]["statements"] if which(part))


def wait(case):
    return sum(part["wait_seconds"] for part in case["run"]["statements"] if not is_move(part))


def seconds(case):
    return median(case["run"]["seconds"])


def alone(record, case):
    """The same program on one host, whose schedule there says nothing."""
    return next(other for other in record["cases"] if other["hosts"] == 1 and
                all(other[key] == case[key] for key in ("program", "ends", "scaling")))


def efficiency(record, case):
    """How much of the hosts' time is that of one host alone."""
    one = seconds(alone(record, case)) / seconds(case)
    return one / case["hosts"] if case["scaling"] == "strong" else one


def predicted(case):
    return sum(part.get("predicted_seconds", 0) for part in case["run"]["statements"])


def name_of(part):
    if not is_move(part):
        return f"the wait for `{part['value']}`"
    if "@0" in part["from"]:
        return f"`{part['value']}` from the root"
    if "@0" in part["to"]:
        return f"`{part['value']}` to the root"
    return f"`{part['value']}`"


def limit(case):
    """The part that takes longest, and its share."""
    most = max(case["run"]["statements"], key=lambda part: median(part["seconds"]))
    return f"{name_of(most)}, {median(most['seconds']) / seconds(case):.0%}"


def row(record, case):
    moved = summed(case, is_move)
    ratio = f"{moved / predicted(case):.2f}" if predicted(case) > 0 else "-"
    said = f"{predicted(case):.2f}" if predicted(case) > 0 else "-"
    spread = f" ({min(case['run']['seconds']):.2f} to {max(case['run']['seconds']):.2f})"
    scheme = case["scheme"] if case["hosts"] > 1 else "-"
    return (f"| {case['hosts']} | {scheme} | {seconds(case):.2f}{spread} | {wait(case):.2f} | {moved:.2f} | {said} | {ratio} | "
            f"{efficiency(record, case):.2f} | {limit(case)} |")


def tables(record):
    names = list(dict.fromkeys((case["program"], case["scaling"], case["ends"]) for case in record["cases"]))
    for program, scaling, ends in names:
        cases = [case for case in record["cases"] if (case["program"], case["scaling"], case["ends"]) == (program, scaling, ends)]
        sizes = "; ".join(dict.fromkeys(f"{case['size']}" for case in cases)) if scaling == "weak" else cases[0]["size"]
        yield [f"**{program.capitalize()}, {scaling}: {KINDS[scaling]}; arrays {ENDS[ends]}.** {sizes}.", "",
               "| Hosts | Scheme | Seconds | Wait | Moving | Predicted | Moving over predicted | Efficiency | The longest part |",
               "|---:|---|---|---:|---:|---:|---:|---:|---|", *(row(record, case) for case in sorted(cases, key=lambda c: c["hosts"])), ""]


def at_most_hosts(record, program, scaling, ends):
    found = [case for case in record["cases"] if (case["program"], case["scaling"], case["ends"]) == (program, scaling, ends)]
    most = max(case["hosts"] for case in found) if found else 1
    return [case for case in found if case["hosts"] == most > 1]


def root_sentence(record):
    """What the thesis says of its figure 8.2, looked at: how much of what is lost goes to and from the root."""
    found = at_most_hosts(record, "matrix product", "strong", "root")
    if not found:
        return []
    shares = []
    for case in found:
        lost = seconds(case) - seconds(alone(record, case)) / case["hosts"]
        shares.append(summed(case, touches_root) / lost)
    rows = at_most_hosts(record, "matrix product", "strong", "rows")
    best = {ends: max((efficiency(record, case), case["scheme"]) for case in cases)
            for ends, cases in (("root", found), ("rows", rows)) if cases}
    least, most = f"{min(shares):.0%}", f"{max(shares):.0%}"
    out = ("The thesis says of its figure 8.2 that scaling is sub-linear \"in large part\" since inputs come from the root and outputs go there. "
           f"On {found[0]['hosts']} hosts, redistributions from and to the root take {least if least == most else f'{least} to {most}'} of what is lost "
           "beside linear scaling. Here a redistribution from the root is one exchange, so the root's one link carries every replica, which a broadcast would share.")
    if "rows" in best:
        out += (f" The best scheme has an efficiency of {best['root'][0]:.2f} with the root ({best['root'][1]}), and of {best['rows'][0]:.2f} where arrays "
                f"begin and end in rows ({best['rows'][1]}).")
    return [out, ""]


def by_steps(record):
    """How far redistributions by the same steps are from what is predicted."""
    ratios = {}
    for case in record["cases"]:
        for part in case["run"]["statements"]:
            if part.get("predicted_seconds", 0) > 0:
                ratios.setdefault(part["steps"], []).append(median(part["seconds"]) / part["predicted_seconds"])
    if not ratios:
        return []
    return ["| Steps | Redistributions | Measured over predicted |", "|---|---:|---|",
            *(f"| {steps} | {len(found)} | {spread(found)} |" for steps, found in sorted(ratios.items(), key=lambda entry: -len(entry[1]))), "",
            "Links were measured by a permutation, in which all hosts send at once. Then one machine carries less over each than where one host sends, as the "
            "root does in an exchange. What a reducescatter takes depends on how Open MPI makes it.", ""]


def choice_sentence(record):
    """Whether what --choose finds is the fastest scheme."""
    groups = {}
    for case in record["cases"]:
        if case["hosts"] > 1:
            groups.setdefault((case["program"], case["scaling"], case["ends"], case["hosts"]), []).append(case)
    groups = [cases for cases in groups.values() if any(case["scheme"] == "choose" for case in cases) and len(cases) > 1]
    if not groups:
        return []
    ratios = [next(seconds(case) for case in cases if case["scheme"] == "choose") / min(seconds(case) for case in cases if case["scheme"] != "choose")
              for cases in groups]
    return [f"*choose* is what `retile partition --choose --network` finds. It takes {min(ratios):.2f} to {max(ratios):.2f} times as long as the fastest "
            f"scheme by hand, {median(ratios):.2f} in the median of {len(ratios)} comparisons.", ""]


def section(record):
    links = ", ".join(f"{rate / 1e6:.3g} MB/s and {latency * 1e3:.2g} ms on {hosts}" for hosts, (rate, latency) in record["links"].items())
    compared = sum(case["run"]["compared"] for case in record["cases"])
    arrived = sum(case["run"]["arrived"] for case in record["cases"])
    lines = [f"## {HEADING}", "",
             "`scripts/evaluate-scaling` writes this section. It repeats figure 8.2 of the thesis on schedules, a matrix product on more and more hosts, with "
             "what one machine has. Hosts are network namespaces, each an MPI process with a link of its own. A program in user space gives links "
             f"{record['bytes_per_second'] / 1e6:g} MB/s in each direction and {record['microseconds'] / 1e3:g} ms of latency. So redistributions are measured.", "",
             f"Computations are not: a few cores cannot scale. They are replaced by waits, the operations of a host's own statement at {record['rate'] / 1e9:.3g} "
             "billion in a second. With these links and extents, computing and moving are in the same proportion as at 8192, with links of 10 GB/s and "
             f"{record['rate'] / record['bytes_per_second'] * 1e10 * 8192 / record['extent'] / 1e12:.3g} trillion operations in a second.", "",
             "- *Seconds*: from when all begin to when the last host is through; the median of "
             f"{record['runs']} runs, with the least and the most. *Wait*: what of it is stated. *Moving*: what redistributions took, as measured.",
             "- *Predicted*: the times that `retile plan --network` says of the same redistributions. Links are as they were measured beforehand: "
             f"{links} hosts.",
             "- *Efficiency*: the time of one host over that of all; strong also over their number.",
             "- *data* cuts rows of the output, *reduction* what is summed over, *hybrid* rows, columns and sums in turn, as the thesis has them. *columns* "
             "cuts the hidden dimension.", "",
             f"Every module first ran with its computations, and {compared:,} elements of results were compared. So were {arrived:,} elements that arrived in "
             "redistributions, in every run." + (f" {record['note']}" if record["note"] else ""), ""]
    for table in tables(record):
        lines += table
    lines += root_sentence(record) + choice_sentence(record) + by_steps(record)
    return "\n".join([*lines, "The raw figures are in [scaling.json](../../bench/results/scaling.json).", ""])


def write_section(page, record):
    put_section(page, HEADING, section(record))
