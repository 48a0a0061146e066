#!/usr/bin/env python3
"""The table of what is proved, from the JSON files that the obligations write.

    table.py RESULTS                       prints it as Markdown
    table.py RESULTS --json                prints everything as one JSON object
    table.py RESULTS --write DOCUMENT      replaces the tables in the document
    table.py RESULTS --check DOCUMENT      ends with 1 if the document lists other obligations or plans than were proved

RESULTS is <build>/proofs/out. In the document a table stands between the lines `<!-- table: NAME -->` and
`<!-- end -->`. Times and counterexamples may differ from run to run, so --check does not compare them.
"""

import json
import re
import sys
from pathlib import Path

ORDER = """arithmetic lemma_4_1 lemma_4_2 injectivity balanced lemma_4_6 lemma_4_6_multi lemma_4_7 lemma_4_7_multi theorem_4_8
    lemma_5_1 lemma_6_3 theorem_6_4 equations_7_8 fig_11 lemma_6_5 lemma_6_6 theorem_6_7 s1 s2 s5 s6 section_7_1""".split()


def load(results):
    files = {path.stem: json.loads(path.read_text()) for path in Path(results).glob("*.json")}
    missing = [name for name in ORDER if name not in files]
    if missing:
        sys.exit(f"table.py: no results of {', '.join(missing)} in {results}")
    rows = [row for name in ORDER for row in files[name]["obligations"]]
    return {"schema": "retile.proofs/1", "z3": files[ORDER[0]]["z3"], "cvc5": files[ORDER[0]]["cvc5"], "obligations": rows,
            "plans": json.loads((Path(results) / "plans" / "scale.json").read_text())}


def cell(text):
    """Markdown takes `|` for the next cell and `](` for a link."""
    return text.replace("|", "\\|").replace("](", "]\\(")


def seconds(row, solver):
    return f"{row[solver + '_seconds']:.2f}" if row[solver] == "proved" else row[solver]


def fixed(row):
    """The cells that do not change from run to run."""
    controls = "; ".join(control["label"] for control in row["controls"])
    return [cell(text) for text in (row["statement"], row["claim"], f"`{row['file']}`", row["unbounded"], row["bounded"], controls)]


def obligations(everything):
    lines = ["| No. | What is proved | File | Unbounded in | Bounded in | Z3 s | cvc5 s | Controls, all refuted |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in everything["obligations"]:
        first = fixed(row)
        cells = first[:5] + [seconds(row, "z3"), seconds(row, "cvc5")] + first[5:]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def counterexamples(everything):
    lines = ["| No. | What is proved | Control | Counterexample |", "|---|---|---|---|"]
    for row in everything["obligations"]:
        for control in row["controls"]:
            if control["real"]:
                cells = [row["statement"], row["claim"], control["label"], control["counterexample"]]
                lines.append("| " + " | ".join(cell(text) for text in cells) + " |")
    return lines


def summary(everything):
    rows = everything["obligations"]
    controls = [control for row in rows for control in row["controls"]]

    def both(kind, good, items):
        return f"Z3 {sum(i['z3'] == good for i in items)}, cvc5 {sum(i['cvc5'] == good for i in items)} of {len(items)} {kind}"

    return [
        f"Z3 {everything['z3']}, cvc5 {everything['cvc5']}. Proved: {both('obligations', 'proved', rows)}. "
        f"Refuted: {both('controls', 'refuted', controls)}, {sum(bool(c['real']) for c in controls)} of them confirmed "
        f"by `spec/` or plain arithmetic. {sum(row['queries'] for row in rows)} queries; goals took Z3 {sum(r['z3_seconds'] for r in rows):.0f} s and cvc5 "
        f"{sum(r['cvc5_seconds'] for r in rows):.0f} s."
    ]


def plans(everything):
    lines = ["| Plans | Proved | Median s | Slowest s |", "|---|---|---|---|"]
    for row in everything["plans"]:
        lines.append(f"| {row['what']} | {row['programs']} | {row['median_seconds']:.3f} | {row['slowest_seconds']:.3f} |")
    return lines


TABLES = {"summary": summary, "obligations": obligations, "counterexamples": counterexamples, "plans": plans}
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


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
        text = Path(arguments[2]).read_text()
        listed = []
        for block in BLOCK.finditer(text):
            if block[2] == "obligations":
                for line in block[0].splitlines()[3:-1]:
                    cells = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
                    listed.append(cells[:5] + cells[7:])
        listed_plans = []
        for block in BLOCK.finditer(text):
            if block[2] == "plans":
                listed_plans = [[part.strip() for part in line.split("|")[1:3]] for line in block[0].splitlines()[3:-1]]
        if listed_plans != [[row["what"], str(row["programs"])] for row in everything["plans"]]:
            sys.exit("table.py: the document lists other plans; run `ninja proofs_document`")
        proved = [fixed(row) for row in everything["obligations"] if "proved" in (row["z3"], row["cvc5"])]
        for row in proved:
            if row not in listed:
                print(f"proved, but not in the document: {row}")
        for row in listed:
            if row not in proved:
                print(f"in the document, but not proved: {row}")
        if listed != proved:
            sys.exit("table.py: run `ninja proofs_document`")
        print(f"{len(proved)} obligations, as the document says")
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
