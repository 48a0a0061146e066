"""Rows of the tables of docs/ledger/peers.md, from the figures under peers/results.

    python3 peers/pages.py [ROOT]

Puts each row in the place of the one that has the same first cell.
"""

import json
import sys
from pathlib import Path

NAMES = {"jax-0.10.2": {"hlo": "JAX 0.10.2, HLO", "sdy": "JAX 0.10.2, Shardy", "stablehlo": "JAX 0.10.2, StableHLO per device"},
         "jax-0.12.0": {"hlo": "JAX 0.12.0, HLO", "sdy": "JAX 0.12.0, Shardy", "stablehlo": "JAX 0.12.0, StableHLO per device"},
         "torch-2.15.0": {"dtensor": "PyTorch 2.15.0, meshes of CPUs", "dtensor_a2a": "PyTorch 2.15.0, exchange of GPU meshes"},
         "mlir-19": {"mlir19": "MLIR 19.1.7, `mesh`"}, "mlir-22": {"mlir22": "MLIR 22.1.8, `shard`"}}


def emitted(name, one):
    """Of a form of a release, under What was found."""
    asked = one["problems"] - one["inexpressible"] - one.get("not_executed", 0)
    ran = one.get("executed", 0)
    times = f", at most {one['most_over_bound']:g} times" if one["over_bound"] else ""
    return (f"| {name} | {asked:,} | {one['emitted']:,} | {one['refused']} + {one['aborted']} | {f'{ran:,}' if ran else 'not executed'} | "
            f"{one['executed_wrong'] if ran else '–'} | {one.get('wrong_not_executed', one['wrong'])} | {one['over_bound']}{times} | "
            f"{one['whole_array']} | {one['over_optimum']} of {one['with_optimum']} |")


def operations(release, out):
    """Of a release, under Operations."""
    compared = sum(count for counts in out["rows"].values() for name, count in counts.items() if name.startswith("compared "))
    aborted = sum(count for words, count in out["not taken by the peer"].items() if ": aborted" in words)
    refused = sum(out["not taken by the peer"].values()) - aborted
    return (f"| {release.replace('jax-', 'JAX ')} | {out['modules']:,} | {out['texts run']:,} | {out['fewest of a row']} | {compared:,} | "
            f"{refused} + {aborted} | {sum(out['listed'].values())} | {len(out['different'])} |")


def rows(results):
    """All of them."""
    found = json.loads((results / "peers.json").read_text())["peers"]
    asked = json.loads((results / "operations.json").read_text())
    return ([emitted(NAMES[release][form], one) for release, forms in found.items() for form, one in forms.items()]
            + [operations(release, one) for release, one in asked.items()])


def with_rows(page, made):
    """The page with these rows."""
    by_name = {row.split(" | ")[0]: row for row in made}
    return "\n".join(by_name.get(line.split(" | ")[0], line) for line in page.split("\n"))


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    page = root / "docs/ledger/peers.md"
    page.write_text(with_rows(page.read_text(), rows(root / "peers/results")))


if __name__ == "__main__":
    main()
