#!/usr/bin/env python3
"""The recorder of whole programs on a release of JAX: what is planted is noticed, a rounding is none, and a crash ends no campaign.
And recipes of random programs: the same seed draws the same, and what is smaller is a program again.

    record_whole_test.py ROOT

Skipped where no JAX is in build/peers (`scripts/peers setup`).
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
JAX = [path for path in (ROOT / "build" / "peers" / f"jax-{release}" / "bin" / "python" for release in ("0.12.0", "0.10.2", "0.4.34")) if path.exists()]

if not JAX:
    print(f"skipped: no JAX is in {ROOT / 'build' / 'peers'}")
    sys.exit(77)

RECORD = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
from jax import numpy as jnp
import record_whole
from programs import all_programs
from programs.kit import P, PROGRAMS, program

all_programs()
X = P("x")

@program({"x": 2})
def planted_element(kit):
    return lambda x: x + 1 if kit.alone else (x + 1).at[5].add(1), (kit.integer(8, high=9, spec=X),), X

@program({"x": 2})
def planted_fault(kit):
    return lambda x: x @ x.T if kit.alone else x @ x.T * (1 + 1e-3), (kit.real(8, 8, spec=X),), X

@program({"x": 2})
def planted_beyond_range(kit):
    def function(x, at):
        return x[jnp.clip(at, 0, 7)] if kit.alone else jnp.where(at > 7, 0, x[jnp.clip(at, 0, 7)])
    return function, (kit.real(8, spec=X), kit.integer(high=8, loose=True)), P()

@program({"x": 2})
def fault_of_narrow_numbers(kit):
    return lambda x: x if kit.alone or kit.wide else x.at[5].add(1), (kit.real(8, spec=X),), X

@program({"x": 2})
def only_a_rounding(kit):
    return lambda x: 1e4 + x - 1e4 if kit.alone else x + 0, (kit.real(8, spec=X),), X

@program({"x": 2})
def ends_the_process(kit):
    return lambda x: x if kit.alone else os.abort(), (kit.real(8, spec=X),), X

@program({"x": 2}, needs=("no_such_library",))
def needs_what_is_not_there(kit):
    raise AssertionError

names = ["planted_element", "planted_fault", "fault_of_narrow_numbers", "planted_beyond_range", "only_a_rounding", "ends_the_process", "needs_what_is_not_there",
         "mlp_tensor_parallel_on_2", "uneven_product", "manual_mlp"]
print(json.dumps({name: record_whole.one_program(PROGRAMS[name], Path(sys.argv[2]) / name, "spmd.*") for name in names}))
"""
RECIPES = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import recipes
drawn = [recipes.drawn(seed) for seed in range(40)]
def size(recipe):
    inputs = sum(sum(one["shape"]) for one in recipe["inputs"]) + sum(axes is not None for one in recipe["inputs"] for axes in one["spec"])
    return len(recipe["steps"]) * 1000 + recipe["gradient"] * 500 + len(recipe["inputs"]) * 100 + sum(recipe["mesh"].values()) + inputs
print(json.dumps({
    "again": drawn == [recipes.drawn(seed) for seed in range(40)], "steps": sum(len(one["steps"]) for one in drawn),
    "kinds": len({step["kind"] for one in drawn for step in one["steps"]}), "gradients": sum(one["gradient"] for one in drawn),
    "programs": sum(recipes.divides(one) and bool(recipes.shapes_of(one)) for one in drawn),
    "smaller": sum(recipes.divides(less) and bool(recipes.shapes_of(less)) for one in drawn[:4] for less in recipes.smaller(one)),
    "not_smaller": sum(size(less) >= size(one) for one in drawn for less in recipes.smaller(one)),
    "dangling": sum(max([k for step in less["steps"] for k in step["of"]], default=0) >= len(less["inputs"]) + len(less["steps"])
                    for one in drawn for less in recipes.smaller(one))}))
"""


def answer(text, *words):
    done = subprocess.run([JAX[0], "-c", text, ROOT / "peers", *words], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode != 0:
        raise AssertionError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


class Recorder(unittest.TestCase):
    def test_what_is_planted_is_noticed(self):
        with tempfile.TemporaryDirectory() as name:
            found = answer(RECORD, name)
            said = {one: (facts["state"], facts.get("execution"), "narrow" in facts) for one, facts in found.items()}
            self.assertEqual(said, {
                "planted_element": ("emitted", "differs", True), "planted_fault": ("emitted", "differs", True),
                "planted_beyond_range": ("emitted", "differs", False), "fault_of_narrow_numbers": ("emitted", "differs", False),
                "only_a_rounding": ("emitted", "equal", True), "ends_the_process": ("aborted", None, False),
                "needs_what_is_not_there": ("left out", None, False),
                "mlp_tensor_parallel_on_2": ("emitted", "equal", False), "uneven_product": ("emitted", "equal", False), "manual_mlp": ("emitted", "equal", False)})
            self.assertEqual([draw[0]["differs"] for draw in found["planted_element"]["draws"]], [1, 1, 1])
            self.assertEqual([draw[0]["differs"] > 0 for draw in found["planted_beyond_range"]["draws"]], [False, False, True])
            folder = Path(name) / "mlp_tensor_parallel_on_2"
            self.assertIn("sharding=", (folder / "before.hlo").read_text())
            self.assertIn(" all-reduce(", (folder / "after.hlo").read_text())
            self.assertIn("num_partitions=2", (folder / "compiled.hlo").read_text())
            facts = json.loads((folder / "run.json").read_text())
            self.assertEqual([one["sharding"] for one in facts["inputs"]], ["{devices=[2]<=[2]}", "{devices=[2,1]<=[2]}", "{devices=[1,2]<=[2]}", "{replicated}"])


class Recipes(unittest.TestCase):
    def test_seeds_draw_programs_and_smaller_ones(self):
        found = answer(RECIPES)
        self.assertTrue(found["again"])
        self.assertEqual((found["programs"], found["gradients"], found["not_smaller"], found["dangling"]), (40, 20, 0, 0))
        self.assertGreater(found["kinds"], 30)
        self.assertGreater(found["smaller"], 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
