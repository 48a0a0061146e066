#!/usr/bin/env python3
"""The tables of what is proved, from the JSON files that the obligations write, from glue.txt and from rocq/statements.txt.

    table.py RESULTS                       prints them as Markdown
    table.py RESULTS --json                prints everything as one JSON object
    table.py RESULTS --write DOCUMENT      replaces the tables in the document
    table.py RESULTS --check DOCUMENT      ends with 1 if the document says anything else than was proved

RESULTS is <build>/proofs/out. In the document a table stands between the lines `<!-- table: NAME -->` and
`<!-- end -->`. Times and counterexamples may differ from run to run, so --check does not compare them.
"""

import json
import re
import sys
from pathlib import Path

ORDER = """arithmetic lemma_4_1 lemma_4_2 injectivity balanced lemma_4_6 lemma_4_6_multi lemma_4_7 lemma_4_7_multi theorem_4_8
    lemma_5_1 lemma_6_3 theorem_6_4 equations_7_8 fig_11 lemma_6_5 lemma_6_6 theorem_6_7 s1 s2 s5 s6 section_7_1 uneven addends
    partir""".split()


HERE = Path(__file__).resolve().parent


def lines_of(path):
    """The cells of the lines of a text file; comments begin with #."""
    return [[cell.strip() for cell in line.split(" | ")] for line in path.read_text().splitlines() if line and not line.startswith("#")]


def statements(rows):
    """What glue.txt lists, each with its obligations and with the theorems of the kernel."""
    kernel = {number: where.split() for number, _, held, where in lines_of(HERE / "rocq" / "statements.txt") if held == "kernel"}
    out = []
    for number, name, glue, test in lines_of(HERE / "glue.txt"):
        own = [row for row in rows if row["statement"] == number]
        out.append({"number": number, "lemmas": sum(not row["bookkeeping"] for row in own), "sums": sum(row["bookkeeping"] for row in own),
                    "glue": glue, "kernel": kernel.get(name, []), "test": test})
    gone = [each["test"] for each in out if each["test"] != "-" and not any((HERE.parent / "tests").rglob(each["test"]))]
    if gone:
        sys.exit(f"table.py: no test {', '.join(gone)}")
    lost = {row["statement"] for row in rows} - {each["number"] for each in out}
    if lost:
        sys.exit(f"table.py: glue.txt does not list {', '.join(sorted(lost))}")
    return out


def theorems():
    return {name for _, _, held, where in lines_of(HERE / "rocq" / "statements.txt") if held == "kernel" for name in where.split()}


def load(results):
    files = {path.stem: json.loads(path.read_text()) for path in Path(results).glob("*.json")}
    missing = [name for name in ORDER if name not in files]
    if missing:
        sys.exit(f"table.py: no results of {', '.join(missing)} in {results}")
    rows = [row for name in ORDER for row in files[name]["obligations"]]
    return {"schema": "retile.proofs/1", "z3": files[ORDER[0]]["z3"], "cvc5": files[ORDER[0]]["cvc5"], "obligations": rows,
            "statements": statements(rows), "plans": json.loads((Path(results) / "plans" / "scale.json").read_text())}


def cell(text):
    """Markdown takes `|` for the next cell and `](` for a link."""
    return text.replace("|", "\\|").replace("](", "]\\(")


def seconds(row, solver):
    return f"{row[solver + '_seconds']:.2f}" if row[solver] == "proved" else row[solver]


def proved(row):
    return "proved" in (row["z3"], row["cvc5"])


def fixed(row):
    """The cells that do not change from run to run."""
    controls = "; ".join(control["label"].removeprefix("without ") for control in row["controls"])
    return [cell(text) for text in (row["statement"], row["claim"], f"`{row['file']}`", row["unbounded"], row["bounded"], controls)]


def table_of(rows):
    lines = ["| No. | What is proved | File | Unbounded in | Bounded in | Z3 s | cvc5 s | Premises, each needed; not: what is too much |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in rows:
        first = fixed(row)
        cells = first[:5] + [seconds(row, "z3"), seconds(row, "cvc5")] + first[5:]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def obligations(everything):
    return table_of([row for row in everything["obligations"] if not row["bookkeeping"]])


def bookkeeping(everything):
    return table_of([row for row in everything["obligations"] if row["bookkeeping"]])


def headline(everything):
    rows, listed = everything["obligations"], [each for each in everything["statements"] if each["number"] != "arith"]
    by_solvers = [each for each in listed if each["lemmas"]]
    alone = [each["number"] for each in by_solvers if not each["kernel"]]
    counted = [each["number"] for each in listed if not each["lemmas"] and not each["kernel"]]
    lemmas = sum(proved(row) and not row["bookkeeping"] for row in rows)
    sums = sum(proved(row) and row["bookkeeping"] for row in rows)
    controls = [control for row in rows for control in row["controls"]]
    refuted = sum("refuted" in (control["z3"], control["cvc5"]) for control in controls)
    return [
        f"- **Solvers** prove {lemmas} lemmas of algebra for all sizes, and {sums} sums and case distinctions (bookkeeping).",
        f"- **No solver proves a theorem of the paper.** People join these lemmas to {len(by_solvers)} statements, by induction and lists of "
        "cases.",
        f"- **The kernel** of a proof assistant proves {len(theorems())} theorems as wholes, without an axiom. They hold "
        f"{len(by_solvers) - len(alone)} of the {len(by_solvers)} statements again.",
        f"- **Solvers and the joining alone** hold {len(alone)}: {'; '.join(alone)}.",
        f"- **Enumeration** of small cases alone holds {len(counted)}: {', '.join(counted)}.",
        f"- **Controls**: {refuted} of {len(controls)} are refuted. Each drops a premise or asks for too much.",
    ]


def held(everything):
    lines = ["| No. | Lemmas by solvers | Bookkeeping | What people add | Theorems of the kernel | Enumerated in |", "|---|---|---|---|---|---|"]
    for each in everything["statements"]:
        cells = [each["number"], str(each["lemmas"] or "-"), str(each["sums"] or "-"), each["glue"],
                 " ".join(f"`{name}`" for name in each["kernel"]) or "-", f"`{each['test']}`" if each["test"] != "-" else "-"]
        lines.append("| " + " | ".join(cell(text) for text in cells) + " |")
    return lines


def counterexamples(everything):
    lines = ["| No. | What is proved | Control | Counterexample |", "|---|---|---|---|"]
    for row in everything["obligations"]:
        for control in row["controls"]:
            if control["real"]:
                cells = [row["statement"], row["claim"], control["label"], control["counterexample"]]
                lines.append("| " + " | ".join(cell(text) for text in cells) + " |")
    return lines


def run(everything):
    rows = everything["obligations"]
    controls = [control for row in rows for control in row["controls"]]
    both = sum(row["z3"] == row["cvc5"] == "proved" for row in rows)
    refuted = sum(control["z3"] == control["cvc5"] == "refuted" for control in controls)
    real = sum(bool(control["real"]) for control in controls)
    return [
        f"Z3 {everything['z3']}, cvc5 {everything['cvc5']}. Both proved {both} of {len(rows)} obligations and refuted {refuted} of "
        f"{len(controls)} controls, in {sum(row['queries'] for row in rows)} queries. Goals took Z3 "
        f"{sum(r['z3_seconds'] for r in rows):.0f} s and cvc5 {sum(r['cvc5_seconds'] for r in rows):.0f} s. `spec/` or plain arithmetic "
        f"confirmed {real} of the counterexamples."
    ]


def plans(everything):
    lines = ["| Plans | Proved | Median s | Slowest s |", "|---|---|---|---|"]
    for row in everything["plans"]:
        lines.append(f"| {row['what']} | {row['programs']} | {row['median_seconds']:.3f} | {row['slowest_seconds']:.3f} |")
    return lines


TABLES = {"headline": headline, "run": run, "held": held, "obligations": obligations, "bookkeeping": bookkeeping,
          "counterexamples": counterexamples, "plans": plans}
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def without_times(name, lines):
    """The lines of a table, without what changes from run to run."""
    if name in ("obligations", "bookkeeping"):
        rows = [[part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        return [cells[:5] + cells[7:] for cells in rows]
    if name == "plans":
        return [line.split("|")[1:3] for line in lines]
    return lines


def differences(everything, text):
    """What the document does not say as it was proved."""
    out = [f"not proved: {row['claim']}" for row in everything["obligations"] if not proved(row)]
    found = {block[2]: block[0].splitlines()[1:-1] for block in BLOCK.finditer(text)}
    for name in ("headline", "held", "obligations", "bookkeeping", "plans"):
        wanted, there = (without_times(name, lines) for lines in (TABLES[name](everything), found.get(name, [])))
        out += [f"{name}: not in the document: {line}" for line in wanted if line not in there]
        out += [f"{name}: only in the document: {line}" for line in there if line not in wanted]
        if wanted != there and not out:
            out.append(f"{name}: another order")
    return out


def main(arguments):
    if len(arguments) not in (1, 2, 3) or arguments[0].startswith("-"):
        sys.exit(__doc__)
    everything = load(arguments[0])
    option = arguments[1] if len(arguments) > 1 else "--markdown"
    if option == "--markdown":
        for name in TABLES:
            print("\n".join(TABLES[name](everything)) + "\n")
    elif option == "--json":
        print(json.dumps(everything, indent=2))
    elif option == "--write":
        document = Path(arguments[2])
        text = document.read_text()
        document.write_text(BLOCK.sub(lambda m: m[1] + "\n".join(TABLES[m[2]](everything)) + "\n" + m[3], text))
    elif option == "--check":
        wrong = differences(everything, Path(arguments[2]).read_text())
        if wrong:
            sys.exit("\n".join([*wrong, "table.py: run `ninja proofs_document`"]))
        print(f"{len(everything['obligations'])} obligations, as the document says")
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
