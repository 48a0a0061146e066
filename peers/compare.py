#!/usr/bin/env python3
"""Every verdict of `retile check` beside that of peers/evaluate.py, on all files of a folder.

    peers/compare.py --problems PROBLEMS --retile RETILE [--verdicts OUT] FOLDER..

Prints the differences and a count. OUT gets a JSON object for each file. Exit code 1 where a verdict, a height or who holds
the whole array differs.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from math import prod
from pathlib import Path

import ends
from evaluate import judge, problems_of

FORMS = ("hlo", "stablehlo", "sdy", "dtensor", "dtensor_a2a", "mlir19", "mlir22")
TRACES = ("dtensor", "dtensor_a2a")


def ask_retile(retile, problem, path):
    """What `retile check` says of one file; both ends are given by the problem, but of traces, which say them."""
    given = [] if path.suffix[1:] in TRACES else ["--from", ends.hlo_sharding(problem, "from"), "--to", ends.hlo_sharding(problem, "to"),
                                                  "--shape", ",".join(map(str, problem["shape"]))]
    try:
        done = subprocess.run([retile, "check", "--json", *given, str(path)], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return {"right": None, "failed": "took longer than 120 s"}
    if done.returncode in (0, 1) and done.stdout.startswith("{"):
        return json.loads(done.stdout.splitlines()[0])
    kind = "refused" if done.returncode in (2, 3) else "failed"
    return {"right": None, kind: (done.stderr or done.stdout).strip()[:300], "code": done.returncode}


def even(problem):
    """Whether all tiles are full. Of others Shardy does not say what is in between."""
    return all(extent == tile * parts for end, listed in zip(("from", "to"), ends.tiles(problem))
               for extent, tile, parts in zip(problem["shape"], listed, (ends.number(problem, end, axes)[1] for axes in problem[end])))


def of_another_shape(one, other):
    """Whether both say that the result has tiles of another size: retile takes that for no reshard, and gives no verdict."""
    return (one["right"] is None and other["right"] is False and (other["first_wrong"] or {}).get("why") == "tile"
            and ", but a tile of the end is " in one.get("refused", ""))


def difference(problem, form, one, other):
    """What the two say differently: the first is retile's."""
    if "failed" in one:
        return f"retile failed: {one['failed']}"
    if of_another_shape(one, other):
        return None
    if one["right"] != other["right"]:
        return f"right: {one['right']} and {other['right']} ({one.get('refused') or one.get('reason')}; {other.get('refused') or other.get('first_wrong')})"
    if one["right"] and one["height"] != other["height"] and (form != "sdy" or even(problem)):
        return f"height: {one['height']} and {other['height']}"
    if one["right"] and (one["whole_array"] is None) != (other["whole_array"] is None):
        return f"whole array: {one['whole_array']} and {other['whole_array']}"
    return None


def ran(records, log):
    """What devices or ranks ended with, where a recorder of traces or peers/execute.py looked."""
    looked = [one for one in records if "right" in log.get(one["id"], {})]
    wrong = {one["id"] for one in looked if not log[one["id"]]["right"]}
    return {"executed": len(looked), "executed_ranks": sum(log[one["id"]]["executed"] for one in looked), "executed_wrong": len(wrong),
            "wrong_not_executed": sum(one["second"]["right"] is False and one["id"] not in wrong for one in records),
            "unlike_the_bytes": sum(log[one["id"]]["right"] != one[judge]["right"] for one in looked for judge in ("retile", "second"))}


def figures(records, log, known):
    """Of one form of one release."""
    states = {number: one["state"] for number, one in log.items()}

    def named(listed):
        """The smallest problems first."""
        return [one["id"] for one in sorted(listed, key=lambda one: (prod(size for _, size in known[one["id"]]["mesh"]),
                                                                     prod(known[one["id"]]["shape"]), one["id"]))]
    sums = {one["id"] for one in known.values() if one["from_sum"]}
    right = [one for one in records if one["second"]["right"] is True]
    wrong = [one for one in records if one["second"]["right"] is False]
    above = [one for one in right if one["second"]["height"] > one["second"]["bound"]]
    whole = [one for one in right if one["second"]["whole_array"]]
    optimal = [one for one in right if (one["retile"].get("optimum") or {}).get("optimal")]
    dearer = [one for one in optimal if one["retile"]["cost"] > one["retile"]["optimum"]["cost"]]
    return {"problems": len(states), **{state.replace(" ", "_"): list(states.values()).count(state)
                                         for state in ("emitted", "refused", "aborted", "inexpressible", "not executed")},
            **ran(records, log),
            "right": len(right), "wrong": len(wrong), "wrong_of_sums": sum(one["id"] in sums for one in wrong),
            "not_read": sum(one["second"]["right"] is None for one in records), "over_bound": len(above), "whole_array": len(whole),
            "most_over_bound": round(max((one["second"]["height"] / one["second"]["bound"] for one in above), default=1), 1),
            "with_optimum": len(optimal), "over_optimum": len(dearer),
            "most_over_optimum": round(max((one["retile"]["cost"] / one["retile"]["optimum"]["cost"] for one in dearer
                                            if one["retile"]["optimum"]["cost"]), default=1), 1),
            "differences": sum(one["different"] is not None for one in records),
            "smallest": {"wrong": named(one for one in wrong if one["id"] not in sums)[:3],
                         "wrong_of_sums": named(one for one in wrong if one["id"] in sums)[:3], "over_bound": named(above)[:3],
                         "whole_array": named(whole)[:3],
                         "aborted": named({"id": one} for one, state in states.items() if state == "aborted")[:3]}}


def summary(records, folders, known, before):
    """A release's forms to their figures; those of other releases stay."""
    out = {"schema": "retile.peers/2", "peers": before.get("peers", {})}
    for folder in folders:
        states = {}
        for one in map(json.loads, (folder / "log.jsonl").read_text().splitlines()):
            if "state" in one and one["id"] in known:
                states.setdefault(one["form"], {})[one["id"]] = one
        if (folder / "executed.jsonl").exists():
            for one in map(json.loads, (folder / "executed.jsonl").read_text().splitlines()):
                if one["id"] in states.get(one["form"], {}) and one["ran"] != "not run":
                    count = prod(size for _, size in known[one["id"]]["mesh"])
                    states[one["form"]][one["id"]].update(executed=count, right=one["ran"] == "right")
        out["peers"][folder.name] = {
            form: figures([one for one in records if one["peer"] == folder.name and one["form"] == form], states[form], known)
            for form in FORMS if form in states}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path, required=True)
    parser.add_argument("--retile", required=True, help="the program retile")
    parser.add_argument("--verdicts", type=Path, help="where to write the verdicts")
    parser.add_argument("--results", type=Path, help="where to write what docs/ledger/peers.md quotes, beside what is there of other releases")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    known, counts, records, start = problems_of(given.problems), Counter(), [], time.monotonic()
    for folder in given.folders:
        for form in given.forms.split(","):
            for path in sorted((path for path in folder.glob(f"*.{form}") if int(path.stem) in known), key=lambda path: int(path.stem)):
                problem = known[int(path.stem)]
                one, other = ask_retile(given.retile, problem, path), judge(problem, form, path.read_text())
                found = difference(problem, form, one, other)
                counts[folder.name, form, str(other["right"])] += 1
                counts["different"] += found is not None
                if found:
                    print(f"{path}: {found}", flush=True)
                records.append({"peer": folder.name, "form": form, "id": problem["id"], "family": problem["family"],
                                "different": found, "retile": one, "second": other})
    if given.verdicts:
        given.verdicts.write_text("".join(json.dumps(one) + "\n" for one in records))
    if given.results:
        given.results.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(given.results.read_text()) if given.results.exists() else {}
        given.results.write_text(json.dumps(summary(records, given.folders, known, before), indent=1) + "\n")
    for key, count in sorted((key, count) for key, count in counts.items() if key != "different"):
        print(f"{' '.join(key)}: {count}")
    print(f"{len(records)} files, {counts['different']} differences, {time.monotonic() - start:.0f} s")
    return 1 if counts["different"] or not records else 0


if __name__ == "__main__":
    sys.exit(main())
