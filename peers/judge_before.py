"""What `retile check` says of texts from before partitioning, and of what the partitioner makes of programs that are no reshard.

    peers/judge_before.py RETILE RESULTS FOLDER..

A FOLDER is one that peers/before_texts.py or `peers/record_mlir.py --before` wrote. Every text from before must end with exit code 2,
without a verdict, and name the text to take. Of a program that returns something else than its argument no verdict may leave out
that it was taken as a reshard, and `right` is wrong. RESULTS gets the figures. Exit code 1 where a text does otherwise.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ASSUMPTION = "taken as a reshard"


def texts_of(folder):
    """Texts with what is known of them: of MLIR's passes that they are from before."""
    log = folder / "texts.jsonl"
    if log.exists():
        return [{**json.loads(line), "path": folder / json.loads(line)["text"]} for line in log.read_text().splitlines()]
    return [{"path": path, "kind": path.suffix[1:]} for path in sorted(folder.glob("*.mlir*"))]


def jax_spec(axes):
    def one(listed):
        return "None" if listed is None else "(" + ",".join(f"'{axis}'" for axis in ([listed] if isinstance(listed, str) else listed)) + ",)"
    return "P(" + ", ".join(map(one, axes)) + ")"


def ask(retile, text):
    """The kind of answer: `refused`, `other`, `right`, `wrong`, `bare` (wrong without the assumption) or `before`."""
    options = []
    if "after" in text["kind"]:
        options = ["--mesh", ",".join(f"{name}:{size}" for name, size in text["mesh"].items()), "--shape", ",".join(map(str, text["shape"])),
                   "--from", jax_spec(text["from"]), "--to", jax_spec(text["to"])]
    done = subprocess.run([retile, "check", *options, str(text["path"])], capture_output=True, text=True, timeout=300)
    if done.returncode == 2 and not done.stdout:
        named = "from before the partitioner" in done.stderr and "note: take " in done.stderr
        return "before" if named else "refused", done.stderr
    if done.returncode in (0, 1) and ASSUMPTION not in done.stdout:
        return "bare", done.stdout
    return {0: "right", 1: "wrong"}.get(done.returncode, "other"), done.stdout + done.stderr


def is_fault(text, answer):
    if "after" not in text["kind"]:
        return answer != "before"
    if text["is_reshard"]:
        return answer != "right"
    return answer not in ("refused", "wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("retile")
    parser.add_argument("results", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    given = parser.parse_args()
    figures, faults = {}, 0
    for folder in given.folders:
        texts = texts_of(folder)
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda text: ask(given.retile, text), texts))
        counts = Counter()
        for text, (answer, words) in zip(texts, answers):
            kind = text["kind"]
            if "after" in kind:
                kind += " of a reshard" if text["is_reshard"] else " of no reshard"
            counts[f"{kind}: {answer}"] += 1
            if is_fault(text, answer):
                faults += 1
                print(f"{text['path']}: {answer}: {words[:400]}")
        figures[folder.name] = dict(sorted(counts.items()))
    given.results.write_text(json.dumps({"schema": "retile.before/1", "texts": figures, "faults": faults}, indent=1) + "\n")
    print(json.dumps(figures, indent=1))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
