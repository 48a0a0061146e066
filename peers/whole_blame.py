#!/usr/bin/env python3
"""Changed collectives in modules that a partitioner made: whether `retile validate` names the place.

    peers/whole_blame.py --retile RETILE [--count 300] [--each 3] [--seed 1] [--results FILE] [--records FILE] FOLDER..

A pair is before.hlo and after.hlo in one folder; all below FOLDER are taken, by turns, until as many mistakes are called wrong as are
asked for. Each changes one collective: its groups, its pairs, its dimension, or it is dropped. What the verdict says of AFTER is compared
with the changed instruction and with those that take its value. Inside a loop or a branch it may be the instruction that does that.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import whole_text
from whole_mistakes import ask, pairs_in
from whole_mutate import KINDS, plant
from whole_text import Refusal

CHANGES = [kind for kind in KINDS if kind.startswith(("group-", "pair", "exchange-")) or kind == "collective-dropped"]


def base(name):
    return name.lstrip("%").split("#")[0]


def holders(module, computation):
    """Instructions of the entry that do this computation, however deep."""
    if computation is module.entry:
        return []
    out = []
    for other in module.computations.values():
        for one in other.instructions:
            words = " ".join(str(value) for value in one.attributes.values())
            if computation.name in words.replace("%", " ").replace("{", " ").replace("}", " ").replace(",", " ").split():
                out += [one] if other is module.entry else holders(module, other)
    return out


def expected(text, said):
    """Names that may be said: the changed instruction itself, and what takes its value."""
    module = whole_text.read(text)
    computation = module.computations[said["computation"]]
    outside = {base(one.name) for one in holders(module, computation)}
    changed = base(said["instruction"])
    takers = {base(one.name) for one in computation.instructions if changed in map(base, one.operands)}
    # A tuple only holds it, and its parts are taken further on.
    parts = {base(one.name) for one in computation.instructions if one.op == "get-tuple-element" and base(one.operands[0]) in takers | {changed}}
    more = {base(one.name) for one in computation.instructions if parts & set(map(base, one.operands))}
    return {changed} | takers | parts | more | outside


def measured(folder, given, number):
    """One mistake in one module, or nothing where it is none or is not called wrong."""
    after = (folder / "after.hlo").read_text()
    kind = CHANGES[number % len(CHANGES)]
    try:
        made = plant(after, f"{given.seed} {folder.name} {number}", kind)
    except Refusal:
        return None
    if made is None:
        return None
    answer = ask(given.retile, folder / "before.hlo", made[0])
    record = {"pair": f"{folder.parent.name}/{folder.name}", "number": number, **made[1], "verdict": answer["verdict"], "seconds": answer["seconds"]}
    if answer["verdict"] != "wrong":
        return record
    said = answer["said"]
    names = expected(made[0], made[1])
    for key in ("nearest", "last"):
        spot = said.get(key)
        record[key] = spot and base(spot["value"])
        record[f"{key} hits"] = bool(spot) and base(spot["value"]) in names
    record["lost"] = said["lost"] and f"{said['lost']['op']} {said['lost']['value']}"
    record["in a loop"] = made[1]["computation"] != whole_text.read(made[0]).entry.name
    return record


def collected(given):
    found, pairs = [], pairs_in(given.folders)
    wrong = 0
    for number in range(given.each * len(CHANGES)):
        for at, folder in enumerate(pairs):
            # Every module gets its kinds in another order, so that all kinds have their part.
            record = measured(folder, given, number + at)
            if record is None:
                continue
            found.append(record)
            wrong += record["verdict"] == "wrong"
            if record["verdict"] == "wrong" and not (record["nearest hits"] or record["last hits"]):
                print(f"{record['pair']} {record['number']} {record['kind']} {record['op']} {record['instruction']}: "
                      f"nearest {record['nearest']}, last {record['last']}, lost {record['lost']}", flush=True)
            if wrong >= given.count:
                return found
    return found


def summary(records):
    wrong = [one for one in records if one["verdict"] == "wrong"]
    return {
        "modules": len({one["pair"] for one in wrong}), "changed": len(records), "verdicts": dict(Counter(one["verdict"] for one in records)),
        "named": sum(one["nearest hits"] or one["last hits"] for one in wrong),
        "by nearest": sum(one["nearest hits"] for one in wrong), "by last": sum(one["last hits"] for one in wrong),
        "in loops": sum(one["in a loop"] for one in wrong),
        "without a place": sum(one["nearest"] is None for one in wrong), "by kind": {kind: f"{sum(one['nearest hits'] or one['last hits'] for one in wrong if one['kind'] == kind)} of {sum(one['kind'] == kind for one in wrong)}"
                    for kind in CHANGES if any(one["kind"] == kind for one in wrong)},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--retile", required=True, help="the program retile")
    parser.add_argument("--count", type=int, default=300, help="mistakes that are called wrong")
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--records", type=Path, help="a file for a line of JSON a mistake")
    given = parser.parse_args()
    records = collected(given)
    if given.records:
        given.records.write_text("".join(json.dumps(one) + "\n" for one in records))
    told = {"schema": "retile.peers-blame/1", "seed": given.seed, **summary(records)}
    if given.results:
        given.results.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
