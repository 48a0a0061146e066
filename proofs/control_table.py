#!/usr/bin/env python3
"""Control of table.py --check: a document that says anything else than what was proved is found out.

    control_table.py RESULTS DOCUMENT
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(__file__).with_name("table.py")


def accepted(results, text):
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "proofs.md"
        document.write_text(text)
        done = subprocess.run([sys.executable, str(TABLE), results, "--check", str(document)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        return done.returncode == 0


def main(results, document):
    text = Path(document).read_text()
    row = next(line for line in text.splitlines() if line.startswith("| 7.1 | allgather"))
    plan = next(line for line in text.splitlines() if line.startswith("| examples of the paper |"))
    bookkeeping = next(line for line in text.splitlines() if line.startswith("| 6.7 | leaving out"))
    cells = row.split(" | ")
    damages = {
        "a row left out": text.replace(row + "\n", "", 1),
        "a row too many": text.replace(row + "\n", row + "\n" + row.replace("7.1", "7.9", 1) + "\n", 1),
        "another claim": text.replace(cells[1], cells[1] + "!", 1),
        "unbounded in more": text.replace(row, row.replace(" | nothing | ", ", all | nothing | ", 1), 1),
        "bounded in less": re.sub(r"\| two dimensions: the others do not change \|", "| nothing |", text, count=1),
        "a control left out": text.replace(row, row[:row.rindex(";")] + " |", 1),
        "a lemma among the bookkeeping": text.replace(row + "\n", "", 1).replace(bookkeeping, bookkeeping + "\n" + row, 1),
        "another headline": re.sub(r"prove (\d+) lemmas", r"prove 1\1 lemmas", text, count=1),
        "more statements held by the kernel": text.replace("Solvers and the joining alone** hold ", "Solvers and the joining alone** hold 1", 1),
        "nothing that people add": text.replace(" induction over the axis list |", " - |", 1),
        "another theorem": text.replace("| `lemma_4_1` |", "| `lemma_4_2` |", 1),
        "another number of plans": text.replace(plan, plan.replace(" | ", " | 1", 1), 1),
        "no table": re.sub(r"<!-- table: obligations -->.*?<!-- end -->", "", text, count=1, flags=re.DOTALL),
    }
    wrong = [] if accepted(results, text) else ["the document as it is is refused"]
    for name, damaged in damages.items():
        if damaged == text:
            wrong.append(f"{name}: changes nothing")
        elif accepted(results, damaged):
            wrong.append(f"{name}: accepted")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(damages)} damaged documents refused")


main(*sys.argv[1:])
