"""`retile check` on what other systems compile: verdicts, mutants that must be wrong, refusals, ends by options."""

import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from support import RETILE, Case, main, retile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "foreign"

FIELDS = ["schema", "function", "line", "devices", "shape", "from", "to", "assumed", "right", "first_wrong", "reason", "device", "at", "element",
          "found", "addend", "times", "replica", "rearranged", "right_with", "height", "height_value", "bound", "within_bound", "cost", "received", "optimum",
          "whole_array", "notes"]

def uneven_columns(name, devices, rows, columns):
    """Rows to columns by way of the whole array, padded as XLA does; no extents have a factor in common."""
    wide = -(-columns // devices)
    group = ",".join(map(str, range(devices)))
    return f"""HloModule {name}, num_partitions={devices}
ENTRY e {{
  p = f32[1,{columns}] parameter(0), sharding={{devices=[{devices},1]<=[{devices}]}}
  g = f32[{devices},{columns}] all-gather(p), channel_id=1, replica_groups={{{{{group}}}}}, dimensions={{0}}, use_global_device_ids=true
  n = f32[] constant(0)
  h = f32[{devices},{wide * devices}] pad(g, n), padding=0_0x0_{wide * devices - columns}
  i = u32[] partition-id()
  j = s32[] convert(i)
  w = s32[] constant({wide})
  s = s32[] multiply(j, w)
  z = s32[] constant(0)
  o = f32[{devices},{wide}] dynamic-slice(h, z, s), dynamic_slice_sizes={{{devices},{wide}}}
  ROOT r = f32[{rows},{wide}] slice(o), slice={{[0:{rows}],[0:{wide}]}}, sharding={{devices=[1,{devices}]<=[{devices}]}}
}}
"""


# example: cost, height, bound, received elements
RIGHT = {
    "rows_to_columns": (16, 16, 16, 12),
    "offsets": (0, 64, 64, 0),
    "whole_array": (64, 64, 32, 32),
    "uneven": (24, 12, 5, 18),
    "permute": (8, 8, 8, 8),
    "groups": (48, 48, 48, 36),
    "sum": (8, 8, 8, 4),
}

# example, old, new, reason, what is found (None: not said)
MUTANTS = [
    ("rows_to_columns", "replica_groups=[1,4]<=[4]", "replica_groups={{0,1,3,2}}", "end", None),
    ("rows_to_columns", "replica_groups=[1,4]<=[4]", "replica_groups=[1,4]<=[2,2]T(1,0)", "end", None),
    ("rows_to_columns", "dimensions={1,0,2}", "dimensions={1,2,0}", "end", None),
    ("rows_to_columns", "{devices=[1,4]<=[4]}", "{devices=[1,4]<=[2,2]T(1,0)}", "end", [0, 2]),
    ("rows_to_columns", "{devices=[4,1]<=[4]}", "{devices=[4,1]<=[2,2]T(1,0)}", "end", None),
    ("offsets", "constant({0, 0, 4, 4})", "constant({0, 4, 4, 0})", "end", None),
    ("offsets", "constant({0, 4, 0, 4})", "constant({0, 5, 0, 3})", "end", None),
    ("offsets", "(%param, %reshape.1, %reshape.2)", "(%param, %reshape.2, %reshape.1)", "end", [4, 0]),
    ("whole_array", "dynamic-slice(%all-gather, %constant, %reshape)", "dynamic-slice(%all-gather, %reshape, %constant)", "end",
     None),
    ("whole_array", "constant({0, 4})", "constant({4, 0})", "end", [0, 4]),
    ("uneven", "constant({0, 3, 6, 9})", "constant({0, 3, 6, 8})", "end", None),
    ("uneven", "constant({0, 0, 5, 5})", "constant({0, 0, 5, 4})", "end", [4]),
    ("uneven", "direction=LT", "direction=GE", "end", "zero"),
    ("uneven", "direction=LT", "direction=LE", None, None),
    ("uneven", "iota_dimension=0", "iota_dimension=0, metadata={}", None, None),
    ("uneven", "select(%compare, %param, %zeros)", "select(%compare, %zeros, %param)", "end", "zero"),
    ("uneven", "dynamic-update-slice(%whole, %select, %offset)", "dynamic-update-slice(%whole, %param, %offset)", None, None),
    ("uneven", "replica_groups={{0,1,2,3}}", "replica_groups={{0,1},{2,3}}", "end", "zero"),
    ("uneven", "ROOT %add.1 = f32[] add(", "ROOT %add.1 = f32[] maximum(", "end", "undefined"),
    ("permute", "{1,2},{2,4}", "{2,2},{1,4}", "end", [0, 8]),
    ("permute", "{{0,0},", "{", "end", "zero"),
    ("groups", "{'y'}, dimensions", "{'y':(1)2,'y':(2)2}, dimensions", None, None),
    ("groups", "{'y'}, dimensions", "{'y':(2)2,'y':(1)2}, dimensions", "end", [4, 0]),
    ("groups", "{'y'}, dimensions", "{'x','y':(2)2}, dimensions", "end", None),
    ("groups", "mesh['x'=2,'y'=4] {'y'}", "mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}", "end", None),
    ("sum", "[2,2]<=[2,2]T(1,0)", "[2,2]<=[4]", "end", None),
    ("sum", "ROOT %sum = f32[] add(%a, %b)", "ROOT %sum = f32[] minimum(%a, %b)", "end", "sum"),
    ("sum", "all-reduce(%slice), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true, to_apply=%add",
     "copy(%slice)", "replicas", None),
    ("sum", "constant({0, 2, 0, 2})", "constant({0, 2, 2, 0})", "end", None),
]

# what is wrong with a text: example, old, new, words of the refusal
REFUSALS = [
    ("offsets", "constant({0, 0, 4, 4})", "constant({...})", "left out"),
    ("offsets", "constant({0, 0, 4, 4})", "constant({0, 0, 4})", "a constant with 3 numbers where there are 4"),
    ("offsets", "constant({0, 0, 4, 4})", "constant({0, 0, 4, 99999999999999999999})", "is no value of s32"),
    ("offsets", "dynamic_slice_sizes={4,4}", "dynamic_slice_sizes={4,9}", "a slice of 9 elements of 8"),
    ("offsets", "partition-id()", "rng-get-and-update-state()", "rng-get-and-update-state is not read"),
    ("offsets", "dynamic-slice(%param, %reshape.1", "dynamic-slice(%param, %reshape.9", "nothing is called reshape.9"),
    ("permute", "{5,5}", "{5,6}", "partition 6 stands in a group"),
    ("permute", "{5,5}", "{5,3}", "device 3 is a target twice"),
    ("permute", "num_partitions=6", "num_partitions=92233720368547758070", "does not fit in 63 bits"),
    ("permute", "collective-permute(%param), channel_id=1", "collective-permute(%param)", "without channel_id"),
    ("groups", "dimensions={0}", "dimensions={2}", "dimension 2 of an array of rank 2"),
    ("groups", "{'y'}, dimensions", "{'z'}, dimensions", "no axis 'z'"),
    ("groups", "{'y'}, dimensions", "{'y','y':(1)2}, dimensions", "overlap"),
    ("groups", "f32[8,6]{1,0} all-gather", "f32[8,5]{1,0} all-gather", "the computation makes another type than it says"),
    ("groups", "%param), channel_id", "%param, channel_id", "after an operand"),
    ("groups", "dimensions={0}", "dimensions={0}, dimensions={0}", "stands twice"),
    ("groups", "dimensions={0}", "dimensions={0}, constraint=3", "with constraint is not read"),
    ("rows_to_columns", "replica_groups=[1,4]<=[4]", "replica_groups={{0,1,2,2}}", "device 2 stands in two groups"),
    ("rows_to_columns", "replica_groups=[1,4]<=[4]", "replica_groups={{0,1,2}}", "device 3 stands in no group"),
    ("rows_to_columns", "[1,4]<=[4]", "[1,4]<=[5]", "as many devices on both sides"),
    ("rows_to_columns", "[1,4]<=[4]", "[1,4]<=[2,2]T(0,0)", "each of 2 dimensions once"),
    ("rows_to_columns", ", sharding={devices=[4,1]<=[4]}", "", "does not say the start"),
    ("rows_to_columns", "{devices=[4,1]<=[4]}", "{devices=[8,1]<=[8]}", "8 devices"),
    ("rows_to_columns", "{devices=[4,1]<=[4]}", "{manual}", "manual"),
    ("sum", "to_apply=%add,", "to_apply=%sub,", "no computation has this name"),
    ("sum", "f32[] add(%a, %b)", "f32[] add(%a, %a)", "no addition, maximum or minimum"),
    ("sum", "ROOT %all-reduce", "ROOT %half", "defined twice"),
    # As XLA's verifier and its parser have it: channels, groups, sources, and what a reduction applies.
    ("sum", "channel_id=1", "channel_id=0", "use_global_device_ids without channel_id"),
    ("sum", "channel_id=1, ", "", "use_global_device_ids without channel_id"),
    ("sum", "replica_groups=[2,2]<=[2,2]T(1,0)", "replica_groups={}", "needs groups that are not empty"),
    ("groups", "replica_groups=mesh['x'=2,'y'=4] {'y'}", "replica_groups={{}}", "needs groups that are not empty"),
    ("rows_to_columns", "replica_groups=[1,4]<=[4]", "replica_groups={}", "needs groups that are not empty"),
    ("permute", "{1,2},{2,4}", "{1,2},{1,4}", "1 is a source twice"),
    ("permute", "channel_id=1", "channel_id=0", "but there is 1 replica"),
    ("sum", "f32[] add(%a, %b)", "f32[] add(%a, %zzz)", "no addition, maximum or minimum"),
    ("sum", "f32[] add(%a, %b)", "f32[] add(%x, %y)", "no addition, maximum or minimum"),
    ("sum", "%b = f32[] parameter(1)", "%b = f32[] parameter(0)", "no addition, maximum or minimum"),
    ("sum", "ROOT %sum = f32[] add(%a, %b)", "%u = f32[] add(%a, %b)\n  ROOT %sum = f32[] add(%u, %b)", "no addition, maximum or minimum"),
    ("sum", "ROOT %sum = f32[] add(%a, %b)", "ROOT %sum = f32[] and(%a, %b)", "no addition, maximum or minimum"),
    # A bitcast reads memory as it lies.
    ("rows_to_columns", "f32[2,4,2]{2,1,0} reshape(%param)", "f32[2,4,2]{1,2,0} bitcast(%param)", "not row by row"),
    ("rows_to_columns", "f32[2,4,2]{2,1,0} reshape(%param)", "f32[2,4,2]{2,1,0:T(2,128)} bitcast(%param)", "not row by row"),
    ("rows_to_columns", "f32[4,2,2]{2,1,0} transpose(%all-to-all), dimensions={1,0,2}\n  ROOT %reshape.2 = f32[8,2]{1,0} reshape",
     "f32[4,2,2]{2,0,1} transpose(%all-to-all), dimensions={1,0,2}\n  ROOT %reshape.2 = f32[8,2]{1,0} bitcast", "not row by row"),
]

TWO = """HloModule two, num_partitions=2
ENTRY main_spmd {
  b = f32[4]{0} parameter(1), sharding={devices=[2]<=[2]}
  a = f32[2,4]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  g = (f32[4,4]{1,0}, f32[4,4]{1,0}) all-gather(a, a), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
  h = f32[8]{0} all-gather(b), channel_id=2, replica_groups={{1,0}}, dimensions={0}, use_global_device_ids=true
  x = f32[4,4]{1,0} get-tuple-element(g), index=1
  ROOT t = (f32[4,4]{1,0}, f32[8]{0}) tuple(x, h), sharding={{replicated}, {replicated}}
}
"""

CALLS = """HloModule calls, num_partitions=2
gather {
  q = f32[2,4]{1,0} parameter(0)
  ROOT g = f32[4,4]{1,0} all-gather(q), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
}
both {
  p = (f32[2,4]{1,0}, s32[]) parameter(0)
  c = f32[4,4]{1,0} call(p#0), to_apply=gather
  ROOT t = (f32[4,4]{1,0}, s32[]) tuple(c, p#1)
}
ENTRY main_spmd {
  q = f32[2,4]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  n = s32[] constant(1)
  t = (f32[2,4]{1,0}, s32[]) tuple(q, n)
  c = (f32[4,4]{1,0}, s32[]) call(t), to_apply=both
  ROOT r = f32[4,4]{1,0} copy((f32[4,4]{1,0}, s32[]) c#0), sharding={replicated}
}
"""

# Moves every row one further, as XLA's partitioner makes it of jnp.roll.
ROLL = """HloModule roll, num_partitions=4
ENTRY main_spmd {
  p = f32[2,2]{1,0} parameter(0)
  s = f32[1,2]{1,0} slice(p), slice={[1:2], [0:2]}
  c = f32[1,2]{1,0} collective-permute(s), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  t = f32[1,2]{1,0} slice(p), slice={[0:1], [0:2]}
  ROOT r = f32[2,2]{1,0} concatenate(c, t), dimensions={0}
}
"""
LARGE = """HloModule large, num_partitions=2
ENTRY main_spmd {
  p = f32[65536,65536] parameter(0), sharding={replicated}
  r = f32[65536,65536] reverse(p), dimensions={0,1}
  ROOT c = f32[65536,65536] reverse(r), dimensions={0,1}, sharding={replicated}
}
"""
ROWS = ["--mesh", "x:4", "--from", "[2{x}8,2]", "--to", "[2{x}8,2]"]


def example(name):
    return (EXAMPLES / f"{name}.hlo").read_text(encoding="utf-8")


def changed(name, old, new):
    text = example(name)
    assert old in text, (name, old)
    return text.replace(old, new, 1)


class Foreign(Case):
    def verdict(self, text, *options):
        done = retile("check", "--json", *options, stdin=text)
        self.assertIn(done.returncode, (0, 1, 3), done)
        out = json.loads(done.stdout)
        self.assertEqual(done.returncode, {True: 0, False: 1, None: 3}[out["right"]])
        return out

    def test_examples_are_right(self):
        self.assertEqual({path.stem for path in EXAMPLES.glob("*.hlo")}, set(RIGHT))
        for name, figures in RIGHT.items():
            with self.subTest(name):
                out = self.verdict(example(name))
                self.assertEqual(list(out), FIELDS)
                self.assertEqual(out["schema"], "retile.foreign/1")
                self.assertIs(out["right"], True, out)
                self.assertEqual((out["cost"], out["height"], out["bound"], out["received"]["elements"]), figures)
                self.assertEqual(out["received"]["bytes"], 4 * figures[3])

    def test_mutants(self):
        for name, old, new, reason, found in MUTANTS:
            with self.subTest(name=name, new=new):
                out = self.verdict(changed(name, old, new))
                self.assertIs(out["right"], reason is None, out)
                self.assertEqual(out["reason"], reason)
                if found is not None:
                    self.assertEqual(out["found"], found)
                if reason is not None:
                    line = out["first_wrong"]["line"]
                    self.assertIn(out["first_wrong"]["value"], changed(name, old, new).splitlines()[line - 1])

    def test_refusals(self):
        for name, old, new, words in REFUSALS:
            with self.subTest(name=name, new=new):
                self.refused(retile("check", stdin=changed(name, old, new)), 2, re.escape(words))

    def test_a_module_that_computes_is_told_who_judges_it(self):
        judges = "note: `retile validate BEFORE AFTER` judges modules that compute\n"
        alone = "note: check judges moves: compile the move alone (docs/how-to/xla.md) where a module computes\n"
        for opcode, note in (("dot", judges), ("stochastic-convert", alone)):
            done = retile("check", stdin=changed("offsets", "partition-id()", f"{opcode}(%param, %param)"))
            self.refused(done, 2, f"{opcode} is not read")
            self.assertIn(note, done.stderr)
            self.assertIn("note: what is read: docs/reference/operations.md", done.stderr)
        text = ('module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main(%p: tensor<4xf32>) -> tensor<4xf32> {\n'
                ' %id = stablehlo.partition_id : tensor<ui32>\n %r = "stablehlo.tanh"(%p) : (tensor<4xf32>) -> tensor<4xf32>\n return %r : tensor<4xf32>\n}\n}\n')
        for name, note in (("stablehlo.tanh", judges), ("chlo.erf", judges), ("chlo.lgamma", alone)):
            done = retile("check", stdin=text.replace("stablehlo.tanh", name))
            self.refused(done, 2, f"{name} is not read")
            self.assertIn(note, done.stderr)

    def test_memory_raises_the_limit_on_tags(self):
        # 4 GiB of tags, which nobody allocates.
        text = LARGE.replace("65536,65536", "32768,32768").replace("num_partitions=2", "num_partitions=1")
        for options, most in (([], 512), (["--memory", "1GiB"], 512), (["--memory", "8GiB"], 2048)):
            words = self.verdict(text, *options)["limit"]
            self.assertEqual(words, f"the devices hold more than {most} MiB of tags; a smaller array on the same mesh takes fewer")

    def test_several_arrays(self):
        done = retile("check", "--json", stdin=TWO)
        self.assertEqual(done.returncode, 1)
        verdicts = list(map(json.loads, done.stdout.splitlines()))
        self.assertEqual([(one["function"], one["shape"], one["right"]) for one in verdicts],
                         [("two, array 0", [4, 4], True), ("two, array 1", [8], False)])
        done = retile("check", "--json", stdin=TWO.replace("{{1,0}}", "{{0,1}}"))
        self.assertEqual((done.returncode, [json.loads(line)["cost"] for line in done.stdout.splitlines()]), (0, [16, 8]))
        bare = re.sub(r", sharding=\{\{[^\n]*|, sharding=\{devices[^\n]*", "", TWO)
        for options in (["--from", "[2{x}4, 4];[4{x}8]", "--to", "[4,4]; [8]"], ["--shape", "4,4; 8", "--from", "P('x');P('x')", "--to", "P()"]):
            done = retile("check", "--mesh", "x:2", *options, stdin=bare)
            self.assertEqual([line.split(": ")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("two")], ["right", "wrong"],
                             done)
        self.refused(retile("check", "--mesh", "x:2", "--from", "[2{x}4, 4];[4{x}8];[1]", "--to", "[4,4]; [8]", stdin=bare), 2,
                     "--from says 3 arrays, but this function moves 2 arrays")
        self.refused(retile("check", stdin=TWO.replace("tuple(x, h)", "tuple(x, k)").replace("  x =", "  k = f32[8]{0} iota(), iota_dimension=0\n  x =")),
                     2, "result 1 is made of 0 parameters")
        self.refused(retile("check", stdin=TWO.replace("b = f32[4]{0} parameter(1)", "b = f32[4]{0} parameter(2)")), 2, "parameter 1 is missing")
        self.refused(retile("check", stdin=TWO.replace("b = f32[4]{0} parameter(1)", "b = f32[4]{0} parameter(0)")), 2, "a second parameter 0")

    def test_calls_are_read_in_their_place(self):
        out = self.verdict(CALLS)
        self.assertEqual((out["right"], out["cost"]), (True, 16))
        self.assertIs(self.verdict(CALLS.replace("{{0,1}}", "{{1,0}}"))["right"], False)
        for old, new, words in [("call(p#0), to_apply=gather", "call(p#0), to_apply=both", "another type"),
                                ("p#0)", "p#2)", "no such part"), ("c#0", "q#0", "no such part"),
                                ("call(t), to_apply=both", "call(t), to_apply=none", "no computation has this name"),
                                ("q = f32[2,4]{1,0} parameter(0)\n", "q = f32[2,4]{1,0} parameter(1)\n", "but the call has 1 operand"),
                                ("all-gather(q)", "all-gather(n)", "nothing is called n above"),
                                ("ROOT g = f32[4,4]{1,0} all-gather(q), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true",
                                 "ROOT g = f32[4,4]{1,0} call(q), to_apply=gather", "deeper than 32")]:
            with self.subTest(new=new):
                self.refused(retile("check", stdin=CALLS.replace(old, new, 1)), 2, re.escape(words))
        doubled = "".join(f"d{k} {{\n  p = f32[2,4] parameter(0)\n  a = f32[2,4] call(p), to_apply=d{k + 1}\n"
                          f"  ROOT r = f32[2,4] call(a), to_apply=d{k + 1}\n}}\n" for k in range(24))
        doubled += "d24 {\n  p = f32[2,4] parameter(0)\n  ROOT r = f32[2,4] copy(p)\n}\n"
        text = CALLS.replace("gather {", doubled + "gather {", 1).replace("c = f32[4,4]{1,0} call(p#0)", "d = f32[2,4] call(p#0), to_apply=d0\n  c = f32[4,4]{1,0} call(d)")
        self.refused(retile("check", stdin=text), 3, "calls make more than")

    def test_copies_to_other_layouts_move_nothing(self):
        text = example("rows_to_columns").replace("f32[2,4,2]{2,1,0} reshape(%param)", "f32[2,4,2]{1,2,0} reshape(%param)")
        self.assertIs(self.verdict(text)["right"], True)
        bitcast = example("rows_to_columns").replace("f32[2,4,2]{2,1,0} reshape(%param)", "f32[2,4,2]{2,1,0} bitcast(%param)")
        self.assertIs(self.verdict(bitcast)["right"], True)

    def test_groups_of_replicas_are_noted(self):
        text = example("sum").replace(", use_global_device_ids=true", "").replace("[2,2]<=[2,2]T(1,0)", "{{0}}")
        done = retile("check", stdin=text)
        self.assertIn("groups of replicas", done.stderr)
        self.assertNotIn("groups of replicas", retile("check", stdin=example("sum")).stderr)

    def test_verdicts_say_what_they_take_for_granted(self):
        words = "  taken as a reshard: the result is the argument\n"
        for text, options, right in [(example("offsets"), [], True), (ROLL, ROWS, False), (LARGE, [], None)]:
            done = retile("check", *options, stdin=text)
            self.assertEqual(done.stdout.count(words), 1, done)
            self.assertIs(json.loads(retile("check", "--json", *options, stdin=text).stdout)["right"], right)
        out = self.verdict(ROLL, *ROWS)
        self.assertEqual((out["assumed"], out["rearranged"]), ("the result is the argument", True))
        self.assertIn("every element is there once, in another order", retile("check", *ROWS, stdin=ROLL).stdout)
        for old, new in [("{3,0}}", "{2,0}}"), ("{{0,1},{1,2}", "{{1,2}"), ("slice={[0:1]", "slice={[1:2]"), ("concatenate(c, t)", "concatenate(c, c)")]:
            if new == "{2,0}}":
                continue  # two targets of one source are refused
            out = self.verdict(ROLL.replace(old, new), *ROWS)
            self.assertEqual((out["right"], out["rearranged"]), (False, False), new)
        self.assertIs(self.verdict(example("offsets"))["rearranged"], False)

    def test_a_result_of_another_shape_is_no_reshard(self):
        for old, new, words in [("r = f32[2,2]{1,0} concatenate(c, t), dimensions={0}", "r = f32[1,4]{1,0} concatenate(c, t), dimensions={1}", "a tile 1,4, but"),
                                ("r = f32[2,2]{1,0} concatenate(c, t), dimensions={0}", "r = f32[1,2]{1,0} copy(c)", "a tile 1,2, but"),
                                ("r = f32[2,2]{1,0} concatenate(c, t), dimensions={0}", "r = f32[2]{0} reshape(c)", "another shape than the argument")]:
            self.assertIn(old, ROLL)
            done = retile("check", *ROWS, stdin=ROLL.replace(old, new))
            self.refused(done, 2, words)
            self.assertIn("no reshard", done.stderr)

    def test_a_result_of_numbers_is_wrong(self):
        out = self.verdict("HloModule m, num_partitions=2\nENTRY m_spmd {\n  p = s32[4] parameter(0), sharding={replicated}\n"
                           "  ROOT r = s32[4] iota(), iota_dimension=0, sharding={replicated}\n}\n")
        self.assertEqual((out["right"], out["found"], out["rearranged"]), (False, "zero", False))

    def test_axes_in_the_other_order(self):
        text = re.sub(r"sharding=\{[^\n]*", "sharding={devices=[4]<=[4]}", """HloModule m, num_partitions=4
ENTRY main_spmd {
  p = f32[2]{0} parameter(0), sharding={}
  ROOT c = f32[2]{0} collective-permute(p), channel_id=1, source_target_pairs={{0,0},{1,2},{2,1},{3,3}}
}
""")
        mesh = ["--mesh", "x:2,y:2", "--to"]
        self.assertEqual(self.verdict(text, *mesh, "[2{x,y}8]")["right"], True)
        out = self.verdict(text, *mesh, "[2{y,x}8]")
        self.assertEqual((out["right"], out["right_with"]), (False, {"from": "{devices=[4]<=[4]}", "to": "[2{x,y}8]"}))
        self.assertIn("right with the axes in the other order, as others list them: --from '{devices=[4]<=[4]}' --to '[2{x,y}8]'",
                      retile("check", *mesh, "[2{y,x}8]", stdin=text).stdout)
        out = self.verdict(text, "--mesh", "x:2,y:2", "--from", "[2{x,y}8]", "--to", "[2{x,y}8]")
        self.assertEqual((out["right"], out["right_with"]), (False, {"from": "[2{y,x}8]", "to": "[2{x,y}8]"}))
        # Another notation says its order itself.
        self.assertIsNone(self.verdict(text, *mesh, "P(('x','y'))")["right_with"])

    def test_whole_array(self):
        whole = self.verdict(example("whole_array"))["whole_array"]
        self.assertEqual(whole, {"line": 5, "value": "%all-gather", "op": "all-gather"})
        self.assertIsNone(self.verdict(example("groups"))["whole_array"])

    def test_a_lost_element_is_blamed_on_who_loses_it(self):
        out = self.verdict(changed("uneven", "slice={[0:10]}", "slice={[1:11]}"))
        self.assertEqual(out["first_wrong"]["value"], "%slice")
        out = self.verdict(changed("uneven", "select(%compare, %param, %zeros)", "select(%compare, %zeros, %param)"))
        self.assertEqual(out["first_wrong"]["value"], "%select")

    def test_ends_by_options(self):
        text = re.sub(r", sharding=\{devices=[^}]*\}", "", example("rows_to_columns"))
        ends = {"hlo": ("{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"), "paper": ("[2{x}8, 8]", "[8, 2{x}8]"),
                "sdy": ("#sdy.sharding<@m, [{\"x\"}, {}]>", "#sdy.sharding<@m, [{}, {\"x\"}]>"), "jax": ("P('x')", "P(None,'x')")}
        for name, (start, end) in ends.items():
            with self.subTest(name):
                mesh = [] if name == "hlo" else ["--mesh", "x:4"]
                shape = ["--shape", "8,8"]
                out = self.verdict(text, "--from", start, "--to", end, *mesh, *shape)
                self.assertIs(out["right"], True)
                self.assertEqual(out["notes"], [])
                self.assertIs(self.verdict(text, "--from", start, "--to", end.replace("x", "x").replace("1,4", "1,4"), *mesh)["right"],
                              True)

    def test_a_later_dump_is_told_which_to_take(self):
        text = changed("rows_to_columns", "reshape(%transpose)", "fusion(%transpose), kind=kLoop, calls=%c")
        self.refused(retile("check", "--shape", "8,8", stdin=text), 2, "fusion is not read")
        done = retile("check", "--shape", "8,8", stdin=text)
        self.assertIn("note: take XLA's dump after_spmd-partitioning", done.stderr)
        done = retile("check", "--shape", "8,8", stdin=text.replace("fusion(", "sine("))
        self.assertIn("note: what is read: docs/reference/operations.md", done.stderr)

    def test_an_end_brings_the_mesh_of_the_other(self):
        text = re.sub(r", sharding=\{devices=[^}]*\}", "", example("rows_to_columns"))
        rows, columns = ("NamedSharding(mesh=Mesh('x': 4), spec=P('x'))", "NamedSharding(mesh=Mesh('x': 4), spec=P(None, 'x'))")
        for start, end in ((rows, "P(None, 'x')"), (rows, "[8, 2{x}8]"), ("P('x')", columns), ("[2{x}8, 8]", columns)):
            for shape in ([], ["--shape", "8,8"]):
                with self.subTest(start=start, end=end, shape=shape):
                    self.assertIs(self.verdict(text, "--from", start, "--to", end, *shape)["right"], True)
        missing = "the mesh is missing"
        self.refused(retile("check", "--from", "P('x')", "--to", "P(None, 'x')", stdin=text), 2, missing)
        self.refused(retile("check", "--from", rows, "--to", "P(None, 'y')", stdin=text), 2, missing)
        # The file's own notation names no axes.
        self.refused(retile("check", "--to", "P(None, 'a0')", stdin=example("rows_to_columns")), 2, missing)

    def test_options_that_contradict_the_file(self):
        done = retile("check", "--to", "{devices=[1,4]<=[2,2]T(1,0)}", stdin=example("rows_to_columns"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("note: --to says otherwise than the file, line 8", done.stderr)

    def test_several_modules(self):
        text = example("rows_to_columns") + "\n" + changed("permute", "{1,2},{2,4}", "{2,2},{1,4}") + example("sum")
        done = retile("check", "--json", stdin=text)
        self.assertEqual(done.returncode, 1)
        self.assertEqual([json.loads(line)["right"] for line in done.stdout.splitlines()], [True, False, True])

    def test_words(self):
        done = retile("check", stdin=changed("offsets", "constant({0, 0, 4, 4})", "constant({0, 4, 4, 0})"))
        self.assertRegex(done.stdout, r"^jit_slices: wrong at line 12 \(dynamic-slice %dynamic-slice.3\): device 1 holds element "
                                      r"\[4,4\] at \[0,0\], expected \[0,4\]\n  12 \| ROOT %dynamic-slice.3 = ")
        done = retile("check", "--within-bound", stdin=example("whole_array"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"^jit_whole: right, but over the bound: .*\n  taken as a reshard: .*\n  the whole array on one device: line 5 ")

    def test_programs_of_modules_are_judged_alike(self):
        oracle = os.environ["RETILE_ORACLE"]
        texts = [example(name) for name in RIGHT] + [changed(name, old, new) for name, old, new, _, _ in MUTANTS]
        answers = set()
        for text in texts:
            with self.subTest(text=text):
                right = self.verdict(text)["right"]
                program = retile("check", "--program", stdin=text)
                self.assertEqual(program.returncode, 0, program)
                self.assertEqual(json.loads(retile("check", "--json", stdin=program.stdout).stdout)["right"], right)
                done = subprocess.run([oracle, "check", "-"], input=program.stdout.encode(), stdout=subprocess.PIPE, check=False)
                self.assertEqual(done.stdout.decode().splitlines()[0], f"right: {str(right).lower()}")
                answers.add(right)
        self.assertEqual(answers, {True, False})

    def test_steps_are_found(self):
        steps = {"rows_to_columns": ["alltoall"], "whole_array": ["allgather", "dynslice"], "permute": ["allpermute"],
                 "groups": ["allgather"], "uneven": ["exchange"], "sum": ["exchange"], "offsets": ["dynslice", "dynslice"]}
        for name, expected in steps.items():
            lines = retile("check", "--program", stdin=example(name)).stdout.splitlines()
            heads = [line.split()[0] for line in lines]
            self.assertEqual([head for head in heads if head not in ("retile.program/1", "retile.program/2", "devices", "from", "to")],
                             expected)

    def test_convert_writes_the_program_that_check_does(self):
        for name in ("offsets", "uneven", "sum"):
            with self.subTest(name):
                checked = retile("check", "--program", stdin=example(name))
                done = retile("convert", "--as", "program", "-", stdin=example(name))
                self.assertEqual((done.returncode, done.stdout), (0, checked.stdout), done.stderr)
                self.assertEqual(retile("convert", "--as", "program", str(EXAMPLES / f"{name}.hlo")).stdout, done.stdout)
                self.assertEqual(retile("check", stdin=done.stdout).returncode, 0)
        bare = re.sub(r", sharding=\{[^}]*\}", "", example("rows_to_columns"))
        for words, arguments, stdin in [
                ("the file does not say the start", ["-"], bare),
                ("no file of another system's programs", ["-"], "[4]"),
                ("cannot open", ["[4]"], ""),
                ("--as program has no JSON form", ["--json", "-"], example("sum")),
                ("are for shardings", ["--mesh-to", "x:4", "-"], example("sum"))]:
            done = retile("convert", "--as", "program", *arguments, stdin=stdin)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(words, done.stderr)

    def test_programs_say_their_own_ends(self):
        program = "retile.program/1\nmesh a:2\nfrom [2{a}4]\nto [2{a}4]\n"
        self.assertEqual(retile("check", stdin=program).returncode, 0)
        self.refused(retile("check", "--shape", "4", stdin=program), 2, "says its own ends")

    def test_no_crash_on_parts_of_files(self):
        for name in RIGHT:
            text = example(name)
            for end in range(0, len(text), 37):
                self.assertIn(retile("check", stdin=text[:end]).returncode, (0, 1, 2), (name, end))

    def test_many_devices_take_two_seconds_and_less_than_a_gib(self):
        """A hundred modules for 64 devices with 10^4 elements, and one for 256 devices with 10^5."""
        for count, devices, rows, columns in ((100, 64, 63, 163), (1, 256, 255, 401)):
            text = "".join(uneven_columns(f"m{k}", devices, rows, columns) for k in range(count))
            wrong = re.sub(r"w = s32\[\] constant\(\d+\)", "w = s32[] constant(1)", text)
            for module, right in ((text, True), (wrong, False)):
                with self.subTest(devices=devices, right=right), tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
                    file.write(module)
                    file.flush()
                    started = time.monotonic()
                    with subprocess.Popen([RETILE, "check", "--json", "--shape", f"{rows},{columns}", file.name],
                                          stdout=subprocess.PIPE) as running:
                        verdicts = [json.loads(line)["right"] for line in running.stdout]
                        _, status, usage = os.wait4(running.pid, 0)
                        running.returncode = os.waitstatus_to_exitcode(status)
                    self.assertEqual(verdicts, [right] * count)
                    self.assertLess(time.monotonic() - started, 2)
                    self.assertLess(usage.ru_maxrss, 1 << 20)

    def test_deep_and_long(self):
        deep = "HloModule m\nENTRY e {\n p = " + "(" * 200000 + "f32[2]" + ")" * 200000 + " parameter(0)\n}\n"
        self.refused(retile("check", stdin=deep), 2, "deeper than 32")
        braces = "HloModule m\nENTRY e {\n p = s32[2] constant(" + "{" * 200000 + "0,1" + "}" * 200000 + ")\n}\n"
        self.refused(retile("check", stdin=braces), 2, "does not say|parameter")
        lines = ["HloModule long, num_partitions=2", "ENTRY e {", " v0 = f32[2] parameter(0), sharding={devices=[2]<=[2]}"]
        lines += [f" v{k + 1} = f32[2] copy(v{k})" for k in range(200000)]
        lines += [" ROOT r = f32[2] copy(v200000), sharding={devices=[2]<=[2]}", "}"]
        started = time.monotonic()
        out = self.verdict("\n".join(lines), "--timeout", "1000")
        self.assertIs(out["right"], True)
        self.assertLess(time.monotonic() - started, 60)


if __name__ == "__main__":
    main()
