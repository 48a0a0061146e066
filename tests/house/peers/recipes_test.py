#!/usr/bin/env python3
"""What the pages docs/how-to/xla.md, pytorch.md and docs/found.md say of JAX and PyTorch, done again with the releases themselves.

    recipes_test.py ROOT RETILE

Skipped where none of them is in build/peers (`scripts/peers setup`).
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT, RETILE = Path(sys.argv[1]), sys.argv[2]
PEERS = ROOT / "build" / "peers"
# Those that the pages speak of. Older ones have other names for what the recipes use.
JAX = [path for path in (PEERS / f"jax-{release}" / "bin" / "python" for release in ("0.10.2", "0.12.0")) if path.exists()]
TORCH = PEERS / "torch-2.15.0" / "bin" / "python"
EXAMPLES = ROOT / "examples"
DUMP = "--xla_dump_to={} --xla_dump_hlo_pass_re=spmd.* --xla_dump_large_constants=true"
ENDS = ["--mesh", "x:4,y:2", "--shape", "16,32,64", "--from", "P('y', None, 'x')", "--to", "P(None, ('x', 'y'), None)"]

if not JAX and not TORCH.exists():
    print(f"skipped: neither JAX nor PyTorch is in {PEERS}")
    sys.exit(77)


def run(*words, text=None, **more):
    return subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, check=False, env={**os.environ, **more})


def verdict(*words, text=None):
    """right, within the bound, cost, height."""
    found = json.loads(run(RETILE, "check", "--json", *words, text=text).stdout)
    return found["right"], found["within_bound"], found["cost"], found["height"]


@unittest.skipUnless(JAX, "no JAX")
class Xla(unittest.TestCase):
    def moved(self, python, *words):
        """What JAX says on both streams, and the dump."""
        with tempfile.TemporaryDirectory() as folder:
            done = run(python, EXAMPLES / "jax" / "rematerialized.py", *words, XLA_FLAGS=DUMP.format(folder))
            self.assertEqual((done.returncode, done.stdout), (0, "right\n"), done.stderr)
            (dump,) = Path(folder).glob("*jit_move*after_spmd-partitioning*")
            return done.stderr, dump.read_text()

    def test_a_stop_spares_the_gather(self):
        for python in JAX:
            with self.subTest(python=python):
                warned, whole = self.moved(python)
                silent, stopped = self.moved(python, "stop")
                self.assertIn("Involuntary full rematerialization", warned)
                self.assertNotIn("Involuntary", silent)
                self.assertEqual(verdict(*ENDS, text=whole), (True, False, 49152, 32768))
                self.assertEqual(verdict(*ENDS, text=stopped), (True, True, 8192, 4096))
                if python.parts[-3] == "jax-0.12.0":
                    self.assertEqual(whole, (EXAMPLES / "jax" / "rematerialized.hlo").read_text())

    def test_the_programs_of_the_page_of_bugs_found(self):
        wrong = {"0.10.2": {"scattered", "convolved", "pooled", "updated", "running"}, "0.12.0": {"scattered", "convolved", "pooled", "updated"}}
        for python in JAX:
            with self.subTest(python=python):
                done = run(python, EXAMPLES / "found" / "jax_partitioner.py")
                said = dict(line.split(": ")[:2] for line in done.stdout.splitlines())
                self.assertEqual(set(said), wrong["0.10.2"], done.stderr)
                self.assertEqual({name for name, verdict in said.items() if verdict == "wrong"}, wrong[python.parts[-3].removeprefix("jax-")])

    def test_the_plan_moves_arrays_of_jax(self):
        for python in JAX:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                warned, _ = self.moved(python)
                explained = json.loads(run(RETILE, "explain", "--json", "--as", "jax", "-", text=warned).stdout)
                plan = Path(folder) / "plan.py"
                plan.write_text(explained["text"])
                self.assertEqual(run(python, plan).stdout, "right: 32768 elements compared on 8 devices\n")


@unittest.skipUnless(TORCH.exists(), "no PyTorch")
class PyTorch(unittest.TestCase):
    def traced(self, *placements):
        done = run(TORCH, ROOT / "peers" / "emit.py", "dtensor_a2a", "x:2,y:2", *placements, "8,8,8")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_third_dimension_keeps_within_the_bound(self):
        stops = ["(Shard(0), Shard(0))", "(Shard(0), Shard(2))", "(Shard(1), Shard(2))", "(Shard(1), Shard(1))"]
        direct = self.traced(stops[0], stops[-1])
        self.assertEqual(direct, (EXAMPLES / "pytorch" / "direct.dtensor.json").read_text())
        self.assertEqual(verdict("-", text=direct), (True, False, 512, 256))
        for one, other in zip(stops, stops[1:]):
            self.assertEqual(verdict("-", text=self.traced(one, other)), (True, True, 128, 128))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
