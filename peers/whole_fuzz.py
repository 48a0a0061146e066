"""Random programs on one release of JAX: compiled, kept around the partitioner, and run on devices and on one.

    PYTHON peers/whole_fuzz.py FOLDER [--first N] [--count N] [--seconds S]
    PYTHON peers/whole_fuzz.py FOLDER --shrink SEED [--retile RETILE]
    PYTHON peers/whole_fuzz.py FOLDER --zeros SEED
    PYTHON peers/whole_fuzz.py FOLDER --said SEED --retile RETILE

PYTHON is a virtual environment with JAX. Program N is drawn by seed N (peers/recipes.py); odd ones are gradients. Each is done in a
child process with limits, as peers/record_whole.py does its own, into FOLDER/N with its recipe. `peers/whole.py` judges the pairs.
Of a program that runs right only the pair around the partitioner stays. `--seconds` ends the campaign after that time.

`--shrink` makes a program smaller for as long as the devices differ from one device: it drops steps, halves extents, drops axes.
Where devices and one agree, it keeps what `retile validate` says instead. The smallest goes to FOLDER/SEED.smallest. `--zeros` runs a
program again whose draws did not show what is wrong with it, with all integers 0, and writes to its run.json what happened. `--said` does so
with the integers that a wrong verdict names.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import record_whole
from agreement import verdict_of
from programs.kit import Kit
from record_jax import in_child
from whole import VERDICTS


def recorded(name, recipe, folder):
    import recipes
    facts = record_whole.one_program(recipes.listed(name, recipe), folder, "spmd.*")
    (folder / "run.json").write_text(json.dumps(facts, indent=1) + "\n")
    (folder / "recipe.json").write_text(json.dumps(recipe) + "\n")
    return facts


def campaign(root, first, count, seconds):
    import recipes
    begun, states = time.monotonic(), Counter()
    for seed in range(first, first + count):
        if time.monotonic() - begun > seconds:
            break
        folder = root / str(seed)
        if record_whole.finished(folder / "run.json"):
            continue
        recipe = recipes.drawn(seed)
        facts = recorded(str(seed), recipe, folder)
        what = facts.get("execution", facts["state"])
        states[what] += 1
        if what == "equal":
            for name in ("compiled.hlo", "lowered.mlir", "lowered.hlo"):
                (folder / name).unlink(missing_ok=True)
        else:
            kinds = " ".join(step["kind"] for step in recipe["steps"])
            print(f"{seed}: {facts['state']}, {what}; {kinds}; {facts['words'][-160:].strip()}", flush=True)
    print(f"{root.name}: {dict(states)} in {time.monotonic() - begun:.0f} s", flush=True)


def zeros(_):
    """Indices of 0 are the ones that are inside of every extent, and drawn seldom."""
    return lambda path, value: value * 0 if value.dtype.kind in "iu" else value


def said(retile):
    """The integers that the verdict on a folder's pair names, in place of those that are drawn."""
    import numpy

    def of(folder):
        done = subprocess.run([retile, "validate", "--json", folder / "before.hlo", folder / "after.hlo"], capture_output=True, text=True, check=False)
        difference = json.loads(done.stdout)["difference"]
        named = {name.strip("%").split(".")[0]: numbers for name, numbers in (difference or {"integers": {}})["integers"].items()}
        print(f"{folder.name}: {named}")

        def value(path, drawn):
            numbers = named.get(f"given_{path[0].idx}_")
            return drawn if numbers is None or drawn.dtype.kind not in "iub" else numpy.array(numbers).astype(drawn.dtype).reshape(drawn.shape)
        return value
    return of


def again(root, seed, words, change_of):
    """Runs a program once more with other arguments, twelve times."""
    import jax
    folder = root / str(seed)
    path = folder / "run.json"
    facts = json.loads(path.read_text())
    one = recipe_of(folder, seed)
    drawn, change = record_whole.values_of, change_of(folder)

    def work(dump):
        os.environ["XLA_FLAGS"] = record_whole.flags(facts["devices"], dump, "no-pass")
        record_whole.DRAWS = 12
        record_whole.values_of = lambda *given: jax.tree_util.tree_map_with_path(change, drawn(*given))
        kit = Kit(one.mesh)
        jitted, arguments = record_whole.made(one, kit)
        found = record_whole.run(one, jitted.lower(*record_whole.shapes(arguments)).compile(), record_whole.made(one, Kit(None))[0], arguments, kit)
        what = verdict_of(sum(found, []))
        return json.dumps({**facts, words: found, "execution": "differs" if "differs" in (what, facts["execution"]) else what}, indent=1) + "\n"
    state, printed = in_child(work, path, seconds=record_whole.SECONDS)
    print(f"{seed}: {state}, {json.loads(path.read_text())['execution']} {printed}")
    return 0


def recipe_of(folder, seed):
    import recipes
    return recipes.listed(str(seed), json.loads((folder / "recipe.json").read_text()))


def verdict(retile, folder):
    done = subprocess.run([retile, "validate", folder / "before.hlo", folder / "after.hlo"], capture_output=True, text=True, check=False, timeout=300)
    return VERDICTS.get(done.returncode, "failed")


def kind_of(recipe, folder, retile):
    """What is the matter with a program: how its execution ends, or where that is `equal`, its verdict."""
    facts = recorded("smaller", recipe, folder)
    what = facts.get("execution", facts["state"])
    return verdict(retile, folder) if what == "equal" and retile else what


def shrink(root, seed, retile):
    """Greedily: the first smaller one that has the same matter, again and again."""
    import recipes
    recipe = json.loads((root / str(seed) / "recipe.json").read_text())
    tried = 0
    with tempfile.TemporaryDirectory() as name:
        wanted = kind_of(recipe, Path(name), retile)
        if wanted == "equal":
            print(f"{seed}: nothing is the matter with it")
            return 1
        going = True
        while going:
            going = False
            for one in recipes.smaller(recipe):
                if not recipes.divides(one) or not recipes.shapes_of(one):
                    continue
                tried += 1
                if kind_of(one, Path(name), retile) == wanted:
                    recipe, going = one, True
                    print(f"{wanted}: {json.dumps(recipe)}", flush=True)
                    break
    facts = recorded(f"{seed}.smallest", recipe, root / f"{seed}.smallest")
    print(f"{seed}: {wanted} ({facts.get('execution', facts['state'])}), {len(recipe['steps'])} steps after {tried} tries: {json.dumps(recipe)}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--shrink", type=int, metavar="SEED")
    parser.add_argument("--zeros", type=int, metavar="SEED")
    parser.add_argument("--said", type=int, metavar="SEED")
    parser.add_argument("--retile", help="the program retile")
    given = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax  # noqa: F401  in the parent, once: children only fork
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
    if given.shrink is not None:
        return shrink(given.folder, given.shrink, given.retile)
    if given.zeros is not None:
        return again(given.folder, given.zeros, "with_zeros", zeros)
    if given.said is not None:
        return again(given.folder, given.said, "with_said", said(given.retile))
    campaign(given.folder, given.first, given.count, given.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
