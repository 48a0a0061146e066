"""Text that nobody has partitioned gets no verdict: as releases of JAX and MLIR print it, and what may look like it."""

import re
from pathlib import Path

from support import Case, main, retile

BEFORE = Path(__file__).resolve().parent / "before"
WORDS = "from before the partitioner"

HLO = """HloModule m, num_partitions=4
ENTRY main{spmd} {{
  a = f32[{tile}]{{1,0}} parameter(0), sharding={{devices=[4,1]<=[4]}}
  b = f32[{tile}]{{1,0}} {work}
  ROOT c = f32[{tile}]{{1,0}} copy(b), sharding={{devices=[4,1]<=[4]}}
}}
"""
SDY = """sdy.mesh @m = <["x"=4]>
func.func @main(%arg0: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) -> (tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@m, [{end}]>}}) {{
{work}}}
"""
MESH = """mesh.mesh @m(shape = 4)
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {{
  %0 = mesh.shard %arg0 to <@m, [[0]]> : tensor<8x8xf32>
  %1 = mesh.shard %0 to <@m, [{middle}]> annotate_for_users : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}}
"""
TRANSPOSES = """  %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
"""


class Before(Case):
    def test_texts_of_releases(self):
        texts = sorted(BEFORE.iterdir())
        self.assertEqual(len(texts), 15)
        for path in texts:
            with self.subTest(path.name):
                done = retile("check", str(path))
                self.refused(done, 2, WORDS)
                wanted = "mlir-opt-19 --mesh-spmdization" if "mlir" in path.suffix and path.suffix != ".mlir" else "after_spmd-partitioning"
                self.assertIn(wanted, done.stderr)
                # Whatever verb asks: the reader refuses.
                self.refused(retile("check", "--json", "--within-bound", str(path)), 2, WORDS)
                self.refused(retile("check", "--program", str(path)), 2, WORDS)

    def test_hlo(self):
        transposed = "transpose(a), dimensions={1,0}"
        for words, text, options, code in [
                ("neither parameter nor root", HLO.format(spmd="", tile="8,8", work="copy(a), sharding={replicated}"), [], 2),
                ("neither parameter nor root", HLO.format(spmd="_spmd", tile="8,8", work="copy(a), sharding={replicated}"), [], 2),
                ("no collective", HLO.format(spmd="", tile="8,8", work=transposed), [], 2),
                ("calls", HLO.format(spmd="", tile="8,8", work='custom-call(a), custom_call_target="Sharding"'), [], 2),
                ("calls", HLO.format(spmd="", tile="8,8", work='custom-call(a), custom_call_target="xla.sdy.FuncResultSharding"'), [], 2),
                # A library's kernel is no sharding; it is not read.
                (None, HLO.format(spmd="_spmd", tile="8,8", work='custom-call(a), custom_call_target="Shard"'), [], 2),
                # Operations that are not read come second.
                ("no collective", HLO.format(spmd="", tile="8,8", work="sine(a)"), [], 2),
                # What XLA has partitioned it calls so, and a known shape tells tiles from arrays.
                (None, HLO.format(spmd="_spmd", tile="8,8", work="copy(a)"), [], 0),
                (None, HLO.format(spmd="", tile="8,8", work="copy(a)"), [], 0),
                (None, HLO.format(spmd="", tile="8,8", work="negate(a)").replace("f32", "pred").replace("negate", "copy"), [], 0),
                (None, HLO.format(spmd="", tile="2,8", work="opt-barrier(a)"), ["--shape", "8,8"], 0),
                (None, HLO.format(spmd="", tile="2,2", work=transposed), ["--shape", "8,2"], 1),
                ("the parameter is the whole array", HLO.format(spmd="", tile="8,8", work=transposed), ["--shape", "8,8"], 2)]:
            with self.subTest(text=text):
                done = retile("check", *options, stdin=text)
                self.assertEqual(done.returncode, code, done)
                if words is None:
                    self.assertNotIn(WORDS, done.stderr)
                else:
                    self.refused(done, 2, WORDS + ".*" + words)

    def test_shardy(self):
        for words, end, work, code in [
                ("no collective", "{}, {\"x\"}", "  return %arg0 : tensor<8x8xf32>\n", 2),
                (None, "{\"x\"}, {}", "  return %arg0 : tensor<8x8xf32>\n", 0),
                ("no collective", "{\"x\"}, {}", TRANSPOSES, 2),
                ("leaves it to others", "{}, {\"x\"}",
                 "  %0 = sdy.reshard %arg0 <@m, [{}, {\"x\"}]> : tensor<8x8xf32>\n  return %0 : tensor<8x8xf32>\n", 2),
                ("sdy.sharding_constraint", "{\"x\"}, {}",
                 "  %0 = sdy.sharding_constraint %arg0 <@m, [{}, {\"x\"}]> : tensor<8x8xf32>\n  return %0 : tensor<8x8xf32>\n", 2),
                ("sdy.sharding", "{\"x\"}, {}", "  %0 = stablehlo.sine %arg0 : tensor<8x8xf32>\n  return %0 : tensor<8x8xf32>\n", 2),
                (None, "{}, {}", "  %0 = sdy.all_gather [{\"x\"}, {}] %arg0 out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>\n"
                                 "  return %0 : tensor<8x8xf32>\n", 0)]:
            with self.subTest(end=end, work=work):
                done = retile("check", stdin=SDY.format(end=end, work=work))
                self.assertEqual(done.returncode, code, done)
                if words is not None:
                    self.refused(done, 2, WORDS + ".*" + re.escape(words))
        # Where the shape is known, these are the tiles of 32 rows.
        done = retile("check", "--shape", "32,8", stdin=SDY.format(end="{\"x\"}, {}", work=TRANSPOSES))
        self.assertEqual((done.returncode, done.stdout.split(":")[1].strip()), (0, "right"), done)

    def test_a_sharding_on_the_way(self):
        text = SDY.format(end="{\"x\"}, {}", work=TRANSPOSES)
        for name in ("sdy.sharding", "mhlo.sharding"):
            value = '#sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>' if name == "sdy.sharding" else '"{devices=[1,4]<=[4]}"'
            marked = text.replace("dims = [1, 0] :", f"dims = [1, 0] {{{name} = {value}}} :", 1)
            self.refused(retile("check", stdin=marked), 2, WORDS + ".*neither argument nor result")

    def test_mesh(self):
        done = retile("check", stdin=MESH.format(middle="[0]"))
        self.assertEqual(done.returncode, 0, done)
        for middle in ("[]", "[], [0]"):
            self.refused(retile("check", stdin=MESH.format(middle=middle)), 2, WORDS + ".*leaves a reshard to others")
        self.refused(retile("check", stdin=MESH.format(middle="[0]").replace("mesh.shard %0", "tosa.abs %0")), 2, WORDS)


if __name__ == "__main__":
    main()
