#!/usr/bin/env python3
"""The verdicts of `retile validate` on recorded whole programs beside what happened when they were run.

    peers/whole.py RETILE FOLDER [--only REGEX] [--release RELEASE] [--results OUT] [--short] [--seconds 120]

FOLDER has a folder for each release, as peers/record_whole.py writes them. Every pair before.hlo and after.hlo is judged. `right`
should have been executed as `equal`, and `wrong` as `differs`; anything else is a contradiction. OUT gets the counts of all
operations, and of each program its verdict, its execution and its time; not where only some programs were asked for. With --short it has no operations, and none of the programs that were right and ran
so. Exit code 1 where there is a contradiction.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

TEXTS = ("before", "after", "compiled")
VERDICTS = {0: "right", 1: "wrong", 2: "refused", 3: "undecided"}
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = .*?(?<= )([a-z][a-z0-9\-]*)\(", re.M)
OPERATION = re.compile(r"^\s*(?:%[\w:, %#]+ = )?\"?((?:stablehlo|sdy|chlo|mhlo|func)\.\w+|return|call)\b|(?<=applies )(stablehlo\.\w+)", re.M)


def opcodes(text):
    """The operations of an HLO text, each with how often it stands there."""
    return Counter(INSTRUCTION.findall(text))


def operations(text):
    """The operations of a StableHLO text, and those that a reduction applies."""
    return Counter(one or other for one, other in OPERATION.findall(text))


def targets(text):
    return Counter(re.findall(r'custom_call_target="([^"]*)"', text))


def read(path):
    return path.read_text() if path.exists() else ""


def counted(folders):
    """All operations of all texts, by kind of text, and all targets of custom calls."""
    found = {kind: Counter() for kind in (*TEXTS, "lowered.mlir", "targets")}
    for folder in folders:
        for kind in TEXTS:
            text = read(folder / f"{kind}.hlo")
            found[kind] += opcodes(text)
            found["targets"] += targets(text)
        found["lowered.mlir"] += operations(read(folder / "lowered.mlir"))
    return {kind: dict(counts.most_common()) for kind, counts in found.items()}


def has_validate(retile):
    done = subprocess.run([retile, "validate", "--help"], capture_output=True, text=True, check=False)
    return done.returncode == 0


def answered(retile, folder, seconds):
    """What the program says of the pair. An answer of the same program is kept beside it."""
    kept, program = folder / "verdict.json", hashlib.sha256(Path(retile).read_bytes()).hexdigest()
    if kept.exists() and kept.stat().st_mtime > (folder / "after.hlo").stat().st_mtime:
        known = json.loads(kept.read_text())
        if known.pop("program") == program:
            return known
    answer = ask(retile, folder, seconds)
    kept.write_text(json.dumps({"program": program, **answer}) + "\n")
    return answer


def validated(retile, words, seconds):
    """The verdict of `retile validate` with these words and its time, and the process that ended; None where it did not in time."""
    begun = time.monotonic()
    try:
        done = subprocess.run([retile, "validate", *words, "--json", "--timeout", str(seconds)], capture_output=True, text=True, timeout=2 * seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"verdict": "out of time", "seconds": seconds}, None
    return {"verdict": VERDICTS.get(done.returncode, "failed"), "seconds": round(time.monotonic() - begun, 2)}, done


def ask(retile, folder, seconds):
    """What `retile validate` says of the pair, and what it printed."""
    answer, done = validated(retile, [folder / "before.hlo", folder / "after.hlo"], seconds)
    said = (done.stdout or done.stderr).strip().replace(f"{Path.cwd()}/", "") if done else ""
    return {**answer, "said": said[:600]}


def agreement(verdict, execution):
    """`agree` or `contradiction`; `open` where one of the two said nothing."""
    pairs = {("right", "equal"): "agree", ("wrong", "differs"): "agree", ("right", "differs"): "contradiction", ("wrong", "equal"): "contradiction"}
    return pairs.get((verdict, execution), "open")


def row(retile, folder, seconds):
    facts = json.loads((folder / "run.json").read_text())
    one = {"program": facts["program"], "release": facts["release"], "devices": facts["devices"], "state": facts["state"],
           "execution": facts.get("execution", "not run")}
    if facts["state"] != "emitted":
        one["words"] = re.sub(r"\S*/(?=peers/)", "", facts.get("words", ""))[-300:]
    if not (folder / "after.hlo").exists():
        return {**one, "verdict": "no text", "agreement": "open"}
    after = read(folder / "after.hlo")
    one |= {"instructions": sum(opcodes(after).values()), "compile_seconds": facts.get("seconds", {}).get("compile")}
    if not retile:
        return {**one, "verdict": "not asked", "agreement": "open"}
    answer = answered(retile, folder, seconds)
    if answer["verdict"] == "right":
        del answer["said"]
    return {**one, **answer, "agreement": agreement(answer["verdict"], one["execution"])}


def recorded(root, only, release):
    return sorted(path.parent for path in root.glob(f"jax-{release or '*'}/*/run.json") if re.search(only, path.parent.name))


def rows_of(retile, folders, seconds):
    found = []
    for folder in folders:
        found.append(row(retile, folder, seconds))
        print("{release} {program}: {verdict}, {execution}: {agreement}".format(**found[-1]), flush=True)
    return found


def summary(rows):
    """By release: how many programs, verdicts, executions and agreements."""
    out = {}
    for release in sorted({one["release"] for one in rows}):
        mine = [one for one in rows if one["release"] == release]
        out[release] = {"programs": len(mine), **{key: dict(sorted(Counter(one[key] for one in mine).items())) for key in ("state", "verdict", "execution", "agreement")}}
    return out


def write(path, rows, more):
    """A program a line: git shows what has changed."""
    head = json.dumps({"schema": "retile.peers-whole/1", "summary": summary(rows), **more}, indent=1)
    if not more:
        rows = [one for one in rows if (one["verdict"], one["execution"]) != ("right", "equal")]
    lines = ",\n".join("  " + json.dumps(one) for one in rows)
    path.write_text(f'{head[:-2]},\n "programs": [\n{lines}\n ]\n}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("retile")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seconds", type=int, default=120, help="for one pair")
    parser.add_argument("--release", default="", help="of JAX")
    given = parser.parse_args()
    retile = given.retile
    if not has_validate(retile):
        print(f"{retile} has no verb `validate`: programs are counted, and not judged", file=sys.stderr)
        retile = None
    folders = recorded(given.folder, given.only, given.release)
    rows = rows_of(retile, folders, given.seconds)
    if given.results and given.short:
        write(given.results, rows, {})
    elif given.results and not given.only and not given.release:
        write(given.results, rows, {"operations": counted(folders)})
    print(json.dumps(summary(rows), indent=1))
    return 1 if any(one["agreement"] == "contradiction" for one in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
