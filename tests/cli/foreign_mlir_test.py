"""`retile check` on texts of MLIR: StableHLO on tiles, Shardy's collectives, the dialects mesh and shard."""

import json
import re
import time
from pathlib import Path

from support import Case, main, retile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "foreign"

# ends that a file does not say
OPTIONS = {"stablehlo_calls": ["--mesh", "x:2", "--from", "[4,4{x}8]", "--to", "[2{x}4,8]"]}

# example: cost, height, bound, received elements
RIGHT = {
    "shardy": (144, 96, 96, 96),
    "shardy_generic": (144, 96, 96, 96),
    "shardy_several": (2304, 1728, 1728, 1944),
    "shardy_sums": (64, 32, 16, 32),
    "shardy_uneven": (44, 12, 12, 36),
    "stablehlo": (144, 96, 96, 96),
    "stablehlo_manual": (96, 64, 32, 56),
    "stablehlo_uneven": (24, 12, 5, 18),
    "stablehlo_calls": (16, 20, 16, 8),
    "mesh19": (64, 64, 64, 48),
    "mesh19_generic": (256, 128, 64, 160),
    "shard22": (36, 12, 12, 26),
}

# example, old, new, the value that is wrong first (None: it is still right)
MUTANTS = [
    # a permutation makes whatever its claim says: what follows does not fit then
    ("shardy", '{"x", "y":(1)2}]> : tensor', '{"y":(1)2, "x"}]> : tensor', "refused"),
    ("shardy", '%0 out_sharding=<@mesh, [{"y":(2)2}, {"x"}]>', '%0 out_sharding=<@mesh, [{"x"}, {"y":(2)2}]>', "%1"),
    ("shardy", '%0 out_sharding=<@mesh, [{"y":(2)2}, {"x"}]>', '%0 out_sharding=<@mesh, [{"y":(1)2}, {"x"}]>', "%1"),
    ("shardy", '-> (tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"x"}]>})',
     '-> (tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {}]>})', "%1"),
    ("shardy", '-> (tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"x"}]>})', "-> tensor<16x24xf32>", None),
    ("shardy", '%0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"y":(2)2}, {"x", "y":(1)2}]>',
     '%0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{}, {"x", "y":(1)2}]>', "%0"),
    ("shardy_generic", '{"y":(1)2}]>, out_sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {"x"}]>',
     '{"y":(1)2}]>, out_sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(2)2}]>', "%1"),
    ("shardy_several", '[{"x"}, {"y"}, {"z"}, {}]', '[{"x"}, {"y"}, {}, {"z"}]', "%0"),
    ("shardy_several", '{"z", "x"}, {"y"}]>', '{"x", "z"}, {"y"}]>', "%1"),
    ("shardy_several", "[6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]", "[6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 5, 4]", None),
    ("shardy_several", '%1 out_sharding=<@turned', '%1 out_sharding=<@mesh', "%3"),
    ("shardy_several", '%2 out_sharding=<@turned, [{}, {}, {"x"}, {}]>', '%2 out_sharding=<@mesh, [{}, {}, {"x"}, {}]>', "%3"),
    ("shardy_uneven", '[{"x", "y"}, {}]', '[{"y", "x"}, {}]', "%0"),
    ("shardy_uneven", '{"y"}: 1->0', '{"z"}: 1->0', "refused"),
    ("shardy_uneven", '[{"y", "x":(3)2}, {"x":(1)3}]', '[{"y", "x":(3)2}, {}]', "%2"),
    ("shardy_sums", 'unreduced={"z"}> : tensor<8x8xf32>\n  %1', 'unreduced=max{"z"}> : tensor<8x8xf32>\n  %1', "%1"),
    ("shardy_sums", '[{"x"}, {"y"}], unreduced={"z"}', '[{"x"}, {}], unreduced={"y", "z"}', "%2"),
    ("shardy_sums", '{"z"} %2 out_sharding=<@mesh, [{"x"}, {"y"}]>', '{"z"} %2 out_sharding=<@mesh, [{"x"}, {"y"}], unreduced={"z"}>',
     "%3"),
    ("stablehlo", "[4, 1], [1, 2]", "[1, 1], [4, 2]", "%1"),
    ("stablehlo", "[[0, 0], ", "[[0, 4], [4, 0], ", "refused"),
    ("stablehlo", "sub_axis_info = (1)2", "sub_axis_info = (2)2", "%1"),
    ("stablehlo", ", sub_axis_info = (1)2", "", "refused"),
    ("stablehlo", '#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>',
     "dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>", None),
    ("stablehlo", '#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>',
     "dense<[[0, 2], [1, 3], [4, 6], [7, 5]]> : tensor<4x2xi64>", "%1"),
    ("stablehlo_manual", "concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]",
     "concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 3, 2]", "%12"),
    ("stablehlo_manual", "dense<[[0, 4], [1, 5], [2, 6], [3, 7]]>", "dense<[[4, 0], [1, 5], [2, 6], [3, 7]]>", "%12"),
    ("stablehlo_manual", "%c_0 = stablehlo.constant dense<2>", "%c_0 = stablehlo.constant dense<1>", "%12"),
    ("stablehlo_manual", "%c_1 = stablehlo.constant dense<8>", "%c_1 = stablehlo.constant dense<7>", "%12"),
    ("stablehlo_manual", "%c_1 = stablehlo.constant dense<8>", "%c_1 = stablehlo.constant dense<9>", None),  # starts are clamped
    ("stablehlo_manual", "compare LT", "compare GE", "%12"),
    ("stablehlo_manual", "stablehlo.divide", "stablehlo.remainder", "%12"),
    ("stablehlo_manual", 'out_shardings=[<@mesh, [{"y"}, {"x"}]>]', 'out_shardings=[<@mesh, [{"y"}, {}]>]', "%12"),
    ("stablehlo_uneven", "0x000000000300000006", "0x000000000400000006", "%tile"),
    ("stablehlo_uneven", "compare LT", "compare LE", None),
    ("stablehlo_uneven", "[[0, 0], [5, 5]]", "[[0, 5], [0, 5]]", "%tile"),
    ("stablehlo_uneven", "%c = stablehlo.add %a, %b", "%c = stablehlo.maximum %a, %b", "%sum"),
    ("stablehlo_uneven", "select %inside, %arg1, %zeros", "select %inside, %zeros, %arg1", "%masked"),
    ("stablehlo_uneven", "[0:10]", "[2:12]", "%cut"),
    ("stablehlo_calls", "low = [0, 0], high = [0, 1]", "low = [0, 1], high = [0, 0]", "%right"),
    ("stablehlo_calls", "%padded [0:4, 2:4:1]", "%padded [0:4, 1:3]", "%right"),
    ("stablehlo_calls", "%left, %right", "%right, %left", "%moved"),
    ("stablehlo_calls", "dims = [1, 0]", "dims = [0, 1]", "%moved"),
    ("stablehlo_calls", "dense<[[0, 1]]>", "dense<[[1, 0]]>", "%moved"),
    ("mesh19", "split_axis = 0 concat_axis = 1", "split_axis = 0 concat_axis = 1 ", None),
    ("mesh19", "%1 = mesh.shard %all_to_all to", "%cast = tensor.cast %all_to_all : tensor<2x32xf32> to tensor<2x32xf32>\n"
     "%1 = mesh.shard %cast to", None),  # as the passes print it
    ("mesh19", "%1 = mesh.shard %all_to_all to", "%cast = tensor.cast %all_to_all : tensor<8x8xf32> to tensor<2x32xf32>\n"
     "%1 = mesh.shard %cast to", "refused"),
    ("mesh19", "to <@m, [[0, 1]]>", "to <@m, [[1, 0]]>", "%1"),
    ("mesh19", "to <@m, [[0], [1]]>", "to <@m, [[1], [0]]>", "refused"),
    ("mesh19_generic", "reduction = #mesh.partial<sum>", "reduction = #mesh.partial<max>", "%4"),
    ("mesh19_generic", "mesh_axes = array<i16: 0>, reduction", "mesh_axes = array<i16: 1>, reduction", "refused"),
    ("shard22", "offset = -1", "offset = 1", None),  # round a ring of two, both ways lead back
    ("shard22", "shift_axis = 1 offset = -1", "shift_axis = 1 offset = 2", "%6"),
    ("shard22", "%4 on @g grid_axes = [0] split_axis = 1", "%4 on @g grid_axes = [1] split_axis = 1", "refused"),
    ("shard22", "%to = shard.sharding @g split_axes = [[], [0]]", "%to = shard.sharding @g split_axes = [[1], []]", "refused"),
]

# What Shardy's verifier refuses, of an array [8, 8] or [8, 8, 8, 8] over x=2, y=2, z=4, and what it takes: operation, start, end, words
# of our refusal, or the verdict. Each was tried on the verifier of JAX 0.10.2 and 0.12.0.
VERIFIED = [
    ('all_to_all [{"y"}: 0->1, {"x"}: 0->2]', '{"x", "y"}, {}, {}, {}', '{}, {"y"}, {"x"}, {}', "dimension 0 stands in two moves"),
    ('all_to_all [{"x"}: 0->2, {"y"}: 1->2]', '{"x"}, {"y"}, {}, {}', '{}, {}, {"x", "y"}, {}', "dimension 2 stands in two moves"),
    ('all_to_all [{"x"}: 0->1, {"y"}: 1->2]', '{"x"}, {"y"}, {}, {}', '{}, {"x"}, {"y"}, {}', "dimension 1 stands in two moves"),
    ('all_to_all [{"y"}: 1->3, {"x"}: 0->2]', '{"x"}, {"y"}, {}, {}', '{}, {}, {"x"}, {"y"}', "source dimension 0 stands behind 1"),
    ('all_to_all [{"x"}: 0->3, {"y"}: 1->2]', '{"x"}, {"y"}, {}, {}', '{}, {}, {"y"}, {"x"}', True),
    ('all_to_all [{"x"}: 0->0]', '{"x"}, {}', '{"x"}, {}', "from a dimension to itself"),
    ('all_gather [{"z":(1)2, "z":(2)2}, {}]', '{"z"}, {}', '{}, {}', "two parts of an axis that are one part"),
    ('all_gather [{"z"}, {}]', '{"z":(1)2, "z":(2)2}, {}', '{}, {}', "two parts of an axis that are one part"),
    ('all_slice [{"z"}, {}]', '{}, {}', '{"z":(1)2, "z":(2)2}, {}', "two parts of an axis that are one part"),
    ('all_slice [{"z":(2)2, "z":(1)2}, {}]', '{}, {}', '{"z":(2)2, "z":(1)2}, {}', True),
    ('all_slice [{"z":(2)2}, {}]', '{"z":(1)2}, {}', '{"z"}, {}', True),
    ('all_reduce {"x"}', '{"x"}, {}', '{"x"}, {}', "the operand is cut along these axes"),
    ('all_reduce {"y", "y"}', '{"x"}, {}', '{"x"}, {}', "stand in the order of the mesh"),
    ('all_reduce {"z", "y"}', '{"x"}, {}', '{"x"}, {}', "stand in the order of the mesh"),
    ('all_reduce {"y"}', '{"x"}, {}', '{"x"}, {}', False),  # adds what both hold alike
    ('all_reduce {"z"}', '{"x"}, {}], unreduced={"y"}', '{"x"}, {}], unreduced={"y"}', False),
    ('all_reduce {"y"}', '{"x"}, {}], unreduced={"y"}', '{"x"}, {}', True),
    ('all_reduce {"z":(1)2}', '{"x"}, {}], unreduced={"z"}', '{"x"}, {}], unreduced={"z":(2)2}', True),
    ('reduce_scatter [{"y"}, {}]', '{"x"}, {}], unreduced={"y"}', '{"x", "y"}, {}', True),
    ('reduce_scatter [{"y"}, {}]', '{"x"}, {}', '{"x", "y"}, {}', False),
]

# what is wrong with a text: example, old, new, words of the refusal, what the caret points at
REFUSALS = [
    ("shardy", "sdy.collective_permute", "sdy.reshard", "sdy.reshard leaves it to others", "sdy.reshard"),
    ("shardy", '[{}, {"y":(1)2}] %0', '[{}, {"x"}] %0', "not the last ones of dimension 1", '{"x"}'),
    ("shardy", '[{}, {"y":(1)2}] %0', '[{"y":(1)2}] %0', "1 list for an array of 2 dimensions", "["),
    ("shardy", '[{}, {"y":(1)2}] %0', '[{}, {"y":(3)2}] %0', "no axis y, or no such part", '"y":(3)2'),
    ("shardy", "%1 = sdy", "%0 = sdy", "a second value of this name", "%0"),
    ("shardy", "return %1", "return %2", "no value of this name", "%2"),
    ("shardy", "16x24xf32> {sdy", "99999999999999999999x24xf32> {sdy", "does not fit in 63 bits", "9"),
    ("shardy", '"y"=4', '"y"=4611686018427387904', "at most 2\\^31|devices", ""),
    ("shardy", "func.func @main", "func.func @main(", "expected", "%"),
    ("shardy_generic", "sdy.all_gather", "sdy.all_shuffle", "sdy.all_shuffle is not read", '"sdy.all_shuffle"'),
    ("shardy_generic", "gathering_axes", "gathered_axes", "without its axes", '"sdy.all_gather"'),
    ("shardy_several", '"y"}: 1->3', '"y"}: 1->4', "no such dimension", "4"),
    ("shardy_several", '"y"}: 1->3', '"x"}: 1->3', "not the last ones of dimension 1", '{"x"}'),
    ("shardy_sums", '{"z"} %2', '{"x"} %2', "the operand is cut along these axes", '{"x"}'),
    ("stablehlo", "use_global_device_ids", "use_local_ids", "numbers of replicas", '"stablehlo.all_gather"'),
    ("stablehlo", "[4, 1], [1, 2]", "[4, 1], [1, 8]", "a pair 1,8", ""),
    ("stablehlo", "[4, 1], [1, 2]", "[4, 1], [1, 1]", "a target twice", ""),
    ("stablehlo", "[4, 1], [1, 2]", "[4, 1], [2]", "1 entry where a row has 2", "["),
    ("stablehlo", "tensor<8x2xi64>", "tensor<2x8xi64>", "other extents", "tensor<2x8xi64>"),
    ("stablehlo", "mesh = @mesh", "mesh = @other", "no mesh of this name", "other"),
    ("stablehlo", 'name = "y"', 'name = "q"', "no such axis", "#"),
    ("stablehlo", "mhlo.num_replicas = 1", "mhlo.num_replicas = 2", "several replicas of several partitions", ""),
    ("stablehlo_manual", "stablehlo.divide", "stablehlo.power", "stablehlo.power is not read", "stablehlo.power"),
    ("stablehlo_manual", 'manual_axes={"x", "y"}', 'manual_axes={"x"}', "axis y is not manual", "{"),
    ("stablehlo_manual", "    return %0 :", "    return %arg0 :", "not all that a function of one argument does", ""),
    ("stablehlo_manual", "split_count = 4", "split_count = 2", "split_count is 2", "2"),
    ("stablehlo_manual", "%4, %c : tensor<ui32>", "%4, %c : tensor<i32>", "has another type", "tensor<i32>"),
    ("stablehlo_uneven", "%c = stablehlo.add %a, %b", "%c = stablehlo.add %a, %a", "a reduction by stablehlo.add", "stablehlo.add"),
    ("stablehlo_uneven", "0x00000000030000", "0x000000000300", "not as many bytes", '"0x'),
    ("stablehlo_uneven", "0x00000000030000", "0x0000000003000g", "hexadecimal", '"0x'),
    ("stablehlo_uneven", "loc(#loc)", "loc(#loc", "expected '\\)'", "}"),
    ("stablehlo_calls", "@rows(%arg0)", "@cols(%arg0)", "no function of this name", "@cols"),
    ("stablehlo_calls", "%padded = stablehlo.pad %a", "%padded = func.call @rows(%a) : (tensor<4x4xf32>) -> tensor<2x8xf32>\n %q = stablehlo.pad %a",
     "deeper than 32", "func.call"),
    ("mesh19", "mesh_axes = [1]", "mesh_axes = [2]", "no axis 2", "[2]"),
    ("mesh19", "mesh.all_to_all %0", "mesh.scatter %0", "mesh.scatter is not read", "mesh.scatter"),
    ("mesh19", "shape = 2x4", "shape = 2x?", "not known", "2x?"),
    ("mesh19_generic", "mesh = @m, mesh_axes = array<i16: 1>", "mesh = @k, mesh_axes = array<i16: 1>", "no mesh @k", "@k"),
    ("stablehlo", "[4, 1], [1, 2]", "[4, 1], [4, 2]", "4 is a source twice", ""),
    ("stablehlo_manual", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>", "channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>",
     "replicas", ""),
    ("shard22", "offset = -1 rotate", "offset = -1", "does not rotate", "shard.shift"),
    ("shard22", "grid_axes = [1] gather_axis", "grid_axes = [1, 1] gather_axis", "axis 1 stands twice", "["),
]


def example(name):
    return (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")


def changed(name, old, new):
    text = example(name)
    assert old in text, (name, old)
    return text.replace(old, new, 1)


class ForeignMlir(Case):
    def verdict(self, text, *options):
        done = retile("check", "--json", *options, stdin=text)
        self.assertIn(done.returncode, (0, 1, 3), done)
        out = json.loads(done.stdout)
        self.assertEqual(done.returncode, {True: 0, False: 1, None: 3}[out["right"]])
        return out

    def test_what_shardys_verifier_has(self):
        for op, start, end, answer in VERIFIED:
            with self.subTest(op=op, start=start, end=end):
                dims = start.split("]")[0].count("{")
                tensor = "tensor<" + "8x" * dims + "f32>"
                ends = [f"<@mesh, [{one}{'' if ']' in one else ']'}>" for one in (start, end)]
                text = (f'sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>\nfunc.func @main(%arg0: {tensor} {{sdy.sharding = #sdy.sharding{ends[0]}}}) -> '
                        f"({tensor} {{sdy.sharding = #sdy.sharding{ends[1]}}}) {{\n  %0 = sdy.{op} %arg0 out_sharding={ends[1]} : {tensor}\n"
                        f"  return %0 : {tensor}\n}}\n")
                done = retile("check", stdin=text)
                if isinstance(answer, str):
                    self.refused(done, 2, answer)
                else:
                    self.assertEqual((done.returncode, done.stderr), (0 if answer else 1, ""), done)

    def test_channels_of_stablehlo(self):
        """A channel makes the numbers of an all_to_all and of a permutation those of partitions, whatever the module has."""
        text = """module attributes {{mhlo.num_partitions = {partitions} : i32, mhlo.num_replicas = {replicas} : i32}} {{
  func.func @main(%arg0: tensor<4x2xf32>) -> tensor<2x4xf32> {{
    %0 = "stablehlo.all_to_all"(%arg0) <{{{channel}split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0,1]]> : tensor<1x2xi64>}}> : (tensor<4x2xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }}
}}
"""
        channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
        ends = ["--mesh", "d:2", "--from", "[4,2{d}4]", "--to", "[2{d}4,4]"]
        for partitions, replicas, handle, words in [(2, 1, channel, None), (1, 2, "", None), (1, 2, channel, "numbers of partitions in a program of several replicas"),
                                                    (2, 1, "", "numbers of replicas in a program of several partitions")]:
            done = retile("check", *ends, stdin=text.format(partitions=partitions, replicas=replicas, channel=handle))
            if words:
                self.refused(done, 2, words)
            else:
                self.assertEqual(done.returncode, 0, done)
        gather = text.replace("all_to_all", "all_gather").replace("split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64",
                                                                 "all_gather_dim = 1 : i64, use_global_device_ids").replace("tensor<2x4xf32>", "tensor<4x4xf32>")
        ends[-1] = "[4,4]"
        self.assertEqual(retile("check", *ends, stdin=gather.format(partitions=2, replicas=1, channel=channel)).returncode, 0)
        self.refused(retile("check", *ends, stdin=gather.format(partitions=1, replicas=2, channel="")), 2, "without a channel_handle")

    def test_several_arrays(self):
        text = """module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @m = <["x"=2]>
  func.func @main(%a: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}, tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
    %0:2 = stablehlo.optimization_barrier %a, %b : tensor<2x4xf32>, tensor<4xf32>
    %1 = "stablehlo.all_gather"(%0#1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, replica_groups = dense<[[0,1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
    return %1, %0#0 : tensor<8xf32>, tensor<2x4xf32>
  }
}
"""
        done = retile("check", "--json", stdin=text)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual([(one["function"], one["shape"], one["cost"]) for one in map(json.loads, done.stdout.splitlines())],
                         [("main, array 0", [8], 8), ("main, array 1", [4, 4], 0)])

    def test_examples_are_right(self):
        self.assertEqual({path.stem for path in EXAMPLES.glob("*.mlir")}, set(RIGHT))
        for name, figures in RIGHT.items():
            with self.subTest(name):
                out = self.verdict(example(name), *OPTIONS.get(name, []))
                self.assertIs(out["right"], True, out)
                self.assertEqual((out["cost"], out["height"], out["bound"], out["received"]["elements"]), figures)

    def test_mutants(self):
        for name, old, new, value in MUTANTS:
            with self.subTest(name=name, old=old, new=new):
                text = changed(name, old, new)
                if value == "refused":
                    self.assertEqual(retile("check", *OPTIONS.get(name, []), stdin=text).returncode, 2)
                    continue
                out = self.verdict(text, *OPTIONS.get(name, []))
                self.assertIs(out["right"], value is None, out)
                if value is not None:
                    self.assertEqual(out["first_wrong"]["value"], value)
                    self.assertIn(value, text.splitlines()[out["first_wrong"]["line"] - 1])

    def test_refusals(self):
        for name, old, new, words, marked in REFUSALS:
            with self.subTest(name=name, old=old, new=new):
                done = retile("check", *OPTIONS.get(name, []), stdin=changed(name, old, new))
                self.refused(done, 2, words)
                shown, caret = done.stderr.splitlines()[1:3]
                self.assertEqual(shown[caret.index("^"):][:len(marked)], marked, done.stderr)

    def test_claims_are_exact(self):
        out = self.verdict(changed("shardy_several", '{"z", "x"}, {"y"}]>', '{"x", "z"}, {"y"}]>'))
        self.assertEqual(out["reason"], "claim")
        self.assertEqual(out["first_wrong"], {"line": 6, "value": "%1", "op": "sdy.all_to_all"})

    def test_a_claim_of_another_tile_names_that_tile(self):
        text = ("sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\nfunc.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
                "[{\"x\"}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {\n"
                "  %0 = sdy.all_gather [{\"x\"}, {}] %a out_sharding=<@mesh, [{\"y\"}, {}]> : tensor<8x4xf32>\n"
                "  return %0 : tensor<8x4xf32>\n}\n")
        done = retile("check", stdin=text)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the result is a tile [8,4], but a tile of what it claims is [4,4]", done.stdout)

    def test_the_first_axis_of_a_group_is_the_slowest(self):
        move = """sdy.mesh @m = <["x"=2, "y"=2]>
func.func @f(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.all_to_all [{"x", "y"}: 0->1] %a out_sharding=<@m, [{}, {"x", "y"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
        self.assertIs(self.verdict(move)["right"], True)
        self.assertIs(self.verdict(move.replace('[{}, {"x", "y"}]', '[{}, {"y", "x"}]'))["right"], False)

    def test_a_slice_along_axes_of_addends_drops_addends(self):
        text = """sdy.mesh @m = <["x"=6, "y"=2]>
func.func @f(%a: tensor<12xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"x", "y"}>}) -> tensor<12xf32> {
  %0 = sdy.all_slice [{"y", "x":(2)3}] %a out_sharding=<@m, [{"y", "x":(2)3}], unreduced={"x":(1)2}> : tensor<12xf32>
  return %0 : tensor<12xf32>
}
"""
        out = self.verdict(text)
        self.assertEqual((out["right"], out["first_wrong"]["value"]), (False, "%0"))
        # the axis that adds no more is not sliced along: that reduces nothing either, and the claim says otherwise
        other = text.replace('[{"y", "x":(2)3}]', '[{"y"}]')
        self.assertEqual(self.verdict(other)["reason"], "claim")
        uneven = text.replace("12xf32", "13xf32").replace('[{}], unreduced={"x", "y"}', '[{"y"}], unreduced={"x"}').replace('[{"y", "x":(2)3}] %a', '[{"x"}] %a')
        self.refused(retile("check", stdin=uneven), 2, "an uneven slice along axes of addends")

    def test_a_function_that_does_nothing(self):
        text = """module attributes {mhlo.num_partitions = 4 : i32} {
sdy.mesh @m = <["x"=4]>
func.func @f(%a: tensor<2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  return %a : tensor<2xf32>
}
}
"""
        # The shape says whether these are tiles.
        self.assertIs(self.verdict(text, "--shape", "8", "--mesh", "x:4", "--from", "[2{x}8]", "--to", "[2{x}8]")["right"], True)
        self.refused(retile("check", "--shape", "8", "--mesh", "x:4", "--from", "[2{x}8]", "--to", "[8]", stdin=text), 2, "a tile 2, but")
        whole = text.replace("tensor<2x", "tensor<8x")
        self.assertIs(self.verdict(whole, "--shape", "8")["right"], True)
        self.assertIs(self.verdict(whole)["right"], True)

    def test_forms_agree(self):
        for one, other in (("shardy", "shardy_generic"), ("shardy", "stablehlo")):
            first, second = (self.verdict(example(name)) for name in (one, other))
            for field in ("cost", "height", "bound", "received", "optimum", "devices", "shape"):
                self.assertEqual(first[field], second[field])

    def test_several_modules_and_parts(self):
        parts = "\n// -----\n".join(example(name) for name in ("shardy", "shardy_sums", "mesh19"))
        done = retile("check", "--json", stdin=parts)
        self.assertEqual([json.loads(line)["right"] for line in done.stdout.splitlines()], [True, True, True])
        modules = example("shardy") + example("shardy").replace('%0 out_sharding=<@mesh, [{"y":(2)2}', '%0 out_sharding=<@mesh, [{"y":(1)2}')
        done = retile("check", "--json", stdin=modules)
        self.assertEqual(done.returncode, 1)
        self.assertEqual([json.loads(line)["right"] for line in done.stdout.splitlines()], [True, False])
        self.refused(retile("check", stdin=example("shardy_several") + example("shardy_several")), 2, "a second mesh")

    def test_no_crash_on_parts_of_files(self):
        for name in RIGHT:
            text = example(name)
            for end in range(0, len(text), 61):
                self.assertIn(retile("check", *OPTIONS.get(name, []), stdin=text[:end]).returncode, (0, 1, 2), (name, end))

    def test_deep(self):
        for old, opening, closing in (("replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>", "replica_groups = dense<" + "[" * 200000,
                                       "]" * 200000 + ">"), ("split_count = 4 : i64", "split_count = " + "{a = " * 200000, "}" * 200000),
                                      ("split_count = 4 : i64", "split_count = " + "(" * 200000, ")" * 200000),
                                      ("tensor<16x2xf32>)", "tensor<" * 200000, ">" * 200000)):
            self.refused(retile("check", stdin=changed("stablehlo_manual", old, opening + closing)), 2, "deeper than 64")
        modules = "module {\n" * 100000 + "}\n" * 100000
        self.refused(retile("check", stdin=modules), 2, "deeper than 64")

    def test_calls_do_not_multiply(self):
        text = "module {\n func.func private @f0(%a: tensor<2xf32>) -> tensor<2xf32> {\n return %a : tensor<2xf32>\n }\n"
        call = "func.call @f{k}(%{a}) : (tensor<2xf32>) -> tensor<2xf32>"
        for k in range(31):
            body = [f" %{j + 1} = " + call.format(k=k, a=j if j else "a") for j in range(8)]
            body[0] += f"\n %s{k} = stablehlo.reshape %a : (tensor<2xf32>) -> tensor<2xf32>"
            text += f" func.func private @f{k + 1}(%a: tensor<2xf32>) -> tensor<2xf32> {{\n" + "\n".join(body)
            text += "\n return %8 : tensor<2xf32>\n }\n"
        text += "}\n"
        done = retile("check", "--mesh", "x:2", "--from", "[2{x}4]", "--to", "[2{x}4]", stdin=text)
        self.refused(done, 3, "calls make more than 262144 operations")

    def test_a_private_function_that_nobody_calls_is_left_out(self):
        # As XLA's importer leaves the reduction of an all-reduce, in both forms.
        reduction = ("func.func private @body(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n %0 = stablehlo.add %a, %b : tensor<f32>\n"
                     " return %0 : tensor<f32>\n}\n")
        generic = ('"func.func"() <{function_type = (tensor<f32>, tensor<f32>) -> tensor<f32>, sym_name = "body", sym_visibility = "private"}> ({\n'
                   '^bb0(%a: tensor<f32>, %b: tensor<f32>):\n %0 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n'
                   ' "func.return"(%0) : (tensor<f32>) -> ()\n}) : () -> ()\n')
        main_function = ("func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
                         ' %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, '
                         "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({\n ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                         "  %1 = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %1 : tensor<f32>\n"
                         " }) : (tensor<4xf32>) -> tensor<4xf32>\n return %0 : tensor<4xf32>\n}\n")
        head = "module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {\n"
        given = ["--mesh", "x:2", "--from", "sum{x}[4]", "--to", "[4]"]
        for left_over in (reduction, generic):
            with self.subTest(text=left_over):
                self.assertIs(self.verdict(head + left_over + main_function + "}\n", *given)["right"], True)
                for judged in (left_over.replace("private", "public"), ""):  # public, or nothing else to judge
                    text = head + judged + main_function + "}\n" if judged else head + left_over + "}\n"
                    self.refused(retile("check", *given, stdin=text), 2, "result 0 is made of 2 parameters")

    def test_long(self):
        lines = ["sdy.mesh @m = <[\"x\"=2]>", 'func.func @f(%v0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {']
        lines += [f" %v{k + 1} = stablehlo.optimization_barrier %v{k} : tensor<4xf32>" for k in range(200000)]
        lines += [' %r = sdy.all_gather [{"x"}] %v200000 out_sharding=<@m, [{}]> : tensor<4xf32>', " return %r : tensor<4xf32>", "}"]
        started = time.monotonic()
        self.assertIs(self.verdict("\n".join(lines), "--timeout", "1000")["right"], True)
        self.assertLess(time.monotonic() - started, 60)

    def test_words(self):
        done = retile("check", stdin=changed("shardy", '%0 out_sharding=<@mesh, [{"y":(2)2}', '%0 out_sharding=<@mesh, [{"y":(1)2}'))
        self.assertRegex(done.stdout, re.escape("main: wrong at line 6 (sdy.all_gather %1)"))


if __name__ == "__main__":
    main()
