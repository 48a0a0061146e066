#!/usr/bin/env python3
"""The second evaluator of whole modules (peers/whole_evaluate.py): on pairs of texts that releases of JAX made before and
after partitioning, on operations whose result is known, and on mistakes that peers/whole_mutate.py plants.

    second_test.py ROOT
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
TEXTS = Path(__file__).resolve().parent / "second"
sys.path.insert(0, str(ROOT / "peers"))

try:
    import numpy
except ImportError:
    print("skipped: needs numpy")
    sys.exit(77)

import whole_evaluate  # noqa: E402
import whole_mutate  # noqa: E402
import whole_numbers  # noqa: E402
import whole_shardings  # noqa: E402
import whole_text  # noqa: E402
from whole_machine import Machine  # noqa: E402

# As releases made them: JAX 0.4.34 concatenates parts of one array wrongly, and 0.12.0 updates a tile wrongly where the index
# is beyond the end.
WRONG = {"concat_self", "concat_two", "dus_clamp"}


def pairs():
    names = sorted({path.name.split(".")[0] for path in TEXTS.iterdir()})
    return {name: [(TEXTS / f"{name}.{when}.hlo").read_text() for when in ("before", "after")] for name in names}


def verdict(before, after, **more):
    return whole_evaluate.judge(before, after, **more)


def module(lines, header="", more=""):
    """A module of one entry; `more` are computations."""
    return f"HloModule m{header}\n\n{more}\n" + "ENTRY e {\n" + "\n".join("  " + line for line in lines) + "\n}\n"


ADD = "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n"


def run(lines, *given, devices=1, more="", **keys):
    """The result for arguments that all devices share, or that have one row a device."""
    text = module(lines, f", num_partitions={devices}" if devices > 1 else "", more)
    made = whole_text.read(text)
    arguments = [
        array if array.ndim > len(one.type.shape) else array[None] for array, one in zip(map(numpy.asarray, given), made.entry.parameters)
    ]
    return Machine(made, **keys).run(made.entry, arguments)


class Pairs(unittest.TestCase):
    def test_what_the_releases_made(self):
        found = {name: verdict(*texts)["verdict"] for name, texts in pairs().items()}
        self.assertEqual({name for name, one in found.items() if one == "wrong"}, WRONG)
        self.assertEqual(set(found.values()), {"right", "wrong"})
        self.assertGreater(len(found), 10)

    def test_what_is_wrong_is_shown(self):
        said = verdict(*pairs()["dus_clamp"])
        self.assertEqual((said["result"], said["device"], said["index"]), (0, 1, [0, 3]))
        self.assertNotEqual(said["got"], said["expected"])

    def test_a_product_without_its_sum_is_wrong(self):
        before, after = pairs()["two_products"]
        self.assertEqual(verdict(before, re.sub(r"all-reduce\(%dot.1\), .*", "copy(%dot.1)", after))["verdict"], "wrong")

    def test_the_number_of_devices_and_parameters_must_agree(self):
        before, after = pairs()["two_products"]
        self.assertIn("devices", verdict(before, after.replace("num_partitions=4", "num_partitions=2"))["why"])
        self.assertIn(
            "parameters",
            verdict(
                before,
                pairs()["dus_clamp"][1]
                .replace("num_partitions=2", "num_partitions=4")
                .replace("%param.2 = s32[] parameter(2)", "%param.2 = s32[] constant(2)"),
            )["why"],
        )
        self.assertIn("no tile", verdict(before.replace("[{}, {'x'}]", "[{'x'}, {}]", 1), after)["why"])

    def test_the_command(self):
        for name, code, words in (
            ("two_products", 0, "right: 1 results on 4 devices"),
            ("dus_clamp", 1, "wrong: result 0 on device 1 at [0, 3]"),
        ):
            done = subprocess.run(
                [sys.executable, ROOT / "peers/whole_evaluate.py", TEXTS / f"{name}.before.hlo", TEXTS / f"{name}.after.hlo"],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual((done.returncode, words in done.stdout), (code, True), done.stdout + done.stderr)


class Refused(unittest.TestCase):
    def refused(self, old, new, name="two_products"):
        before, after = pairs()[name]
        self.assertIn(old, after)
        said = verdict(before, after.replace(old, new))
        self.assertEqual(said["verdict"], "refused", said)
        return said

    def test_with_the_operation_and_its_line(self):
        said = self.refused("dot(%param, %param.1)", "outfeed(%param, %param.1)")
        self.assertEqual((said["op"], said["line"]), ("outfeed", 12))
        said = self.refused("to_apply=%add.clone", "to_apply=%nothing")
        self.assertEqual((said["op"], said["line"]), ("all-reduce", 15))

    def test_what_is_no_module_of_these_devices(self):
        self.assertIn("left out", self.refused("constant({0, 1})", "constant({...})", "dus_clamp")["why"])
        self.assertIn("constant of", self.refused("constant({0, 1})", "constant({0})", "dus_clamp")["why"])
        self.assertIn("the type is", self.refused("%dot = f32[4,2]{1,0}", "%dot = f32[4,4]{1,0}")["why"])
        self.assertIn("not known", self.refused("dot(%param, %param.1)", "dot(%param, %param.9)")["why"])
        self.assertIn("leave devices out", self.refused("mesh['axis_0'=4] {'axis_0'}", "{{0,1,2}}")["why"])
        self.assertIn("none of these devices", self.refused("mesh['axis_0'=4] {'axis_0'}", "{{0,1,2,7}}")["why"])

    def test_texts_that_are_none(self):
        before, after = pairs()["two_products"]
        for text in ("", "HloModule m\n", after.replace("}", ")"), after.replace("f32[4,2]{1,0} parameter", "q7[4] parameter")):
            self.assertEqual(verdict(before, text)["verdict"], "refused")


class Shardings(unittest.TestCase):
    def test_spellings_of_one_sharding(self):
        for one, other in (
            ("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "{mesh['x'=2,'y'=4], [{'y'}, {}]}"),
            ("{devices=[2,4]<=[8]}", "{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}"),
            ("{devices=[4,1,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}", "{mesh['x'=2,'y'=4], [{'y'}, {}]}"),
            ("{devices=[8,1]<=[2,2,2]T(0,2,1)}", "{mesh['x'=8], [{'x':(1)2, 'x':(4)2, 'x':(2)2}, {}]}"),
            ("{devices=[8,1]7,6,5,4,3,2,1,0}", "{mesh['x'=8], device_ids=(7,6,5,4,3,2,1,0), [{'x'}, {}]}"),
            ("{replicated}", "{mesh[], replicated}"),
        ):
            a, b = (whole_shardings.sharding_of(text, 2, 8) for text in (one, other))
            self.assertEqual((a.cuts, a.number.tolist()), (b.cuts, b.number.tolist()), other)
        turned = whole_shardings.sharding_of("{mesh['x'=2,'y'=4], [{'y', 'x'}, {}]}", 2, 8)
        self.assertNotEqual(turned.number.tolist(), whole_shardings.sharding_of("{devices=[8,1]<=[8]}", 2, 8).number.tolist())

    def test_others_are_refused(self):
        for text in (
            "{devices=[3,1]<=[8]}",
            "{devices=[8,1]0,0,1,2,3,4,5,6}",
            "{mesh['x'=8], [{'z'}, {}]}",
            "{mesh['x'=8], [{'x'}]}",
            "{tiled}",
        ):
            with self.assertRaises(whole_text.Refusal, msg=text):
                whole_shardings.sharding_of(text, 2, 8)

    def test_what_lies_behind_the_end_differs_and_must_not_count(self):
        before = module(
            [
                "p = f32[5] parameter(0), sharding={devices=[2]<=[2]}",
                "z = f32[] constant(0)",
                "ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add, sharding={replicated}",
            ],
            ", num_partitions=2",
            ADD,
        )
        sum_of_all = [
            "s = f32[] reduce({}, z), dimensions={{0}}, to_apply=add",
            "ROOT r = f32[] all-reduce(s), channel_id=1, replica_groups={{{{0,1}}}}, use_global_device_ids=true, to_apply=add",
        ]
        masked = [
            "i = s32[3] iota(), iota_dimension=0",
            "d = u32[] partition-id()",
            "n = s32[] convert(d)",
            "three = s32[] constant(3)",
            "b = s32[] multiply(n, three)",
            "bb = s32[3] broadcast(b), dimensions={}",
            "at = s32[3] add(i, bb)",
            "five = s32[] constant(5)",
            "end = s32[3] broadcast(five), dimensions={}",
            "in = pred[3] compare(at, end), direction=LT",
            "zz = f32[3] broadcast(z), dimensions={}",
            "m = f32[3] select(in, p, zz)",
        ]
        begin = ["p = f32[3] parameter(0)", "z = f32[] constant(0)"]
        for lines, wanted in (
            (begin + masked + [one.format("m") for one in sum_of_all], "right"),
            (begin + [one.format("p") for one in sum_of_all], "wrong"),
        ):
            self.assertEqual(verdict(before, module(lines, ", num_partitions=2", ADD))["verdict"], wanted)


class Collectives(unittest.TestCase):
    ROWS = numpy.arange(16.0).reshape(4, 4)

    def made(self, line, kind="f32[4]", more=ADD):
        made = run(["p = f32[4] parameter(0)", f"ROOT r = {kind} {line}"], self.ROWS, devices=4, more=more)
        return numpy.broadcast_to(made, (4, *made.shape[1:])).tolist()

    def test_groups_in_three_spellings(self):
        for groups in ("{{0,2},{1,3}}", "[2,2]<=[2,2]T(1,0)", "mesh['x'=2,'y'=2] {'x'}"):
            made = self.made(f"all-reduce(p), channel_id=1, replica_groups={groups}, use_global_device_ids=true, to_apply=add")
            self.assertEqual(made, [(self.ROWS[d] + self.ROWS[(d + 2) % 4]).tolist() for d in range(4)], groups)

    def test_numbers_of_groups_are_of_replicas_without_their_attribute(self):
        self.assertEqual(self.made("all-reduce(p), replica_groups={{0}}, to_apply=add"), self.ROWS.tolist())
        self.assertEqual(self.made("all-reduce(p), channel_id=1, replica_groups={{0}}, to_apply=add"), [self.ROWS.sum(0).tolist()] * 4)

    def test_what_is_gathered_scattered_and_exchanged(self):
        end = "channel_id=1, replica_groups={{3,1,0,2}}, dimensions={0}, use_global_device_ids=true"
        self.assertEqual(self.made(f"all-gather(p), {end}", "f32[16]")[2], self.ROWS[[3, 1, 0, 2]].reshape(-1).tolist())
        self.assertEqual(self.made(f"reduce-scatter(p), {end}, to_apply=add", "f32[1]"), [[self.ROWS[:, k].sum()] for k in (2, 1, 3, 0)])
        self.assertEqual(self.made(f"all-to-all(p), {end}"), [self.ROWS[[3, 1, 0, 2], k].tolist() for k in (2, 1, 3, 0)])

    def test_who_gets_nothing_has_zeros(self):
        self.assertEqual(
            self.made("collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,3}}"),
            [[0.0] * 4, self.ROWS[0].tolist(), [0.0] * 4, self.ROWS[1].tolist()],
        )
        self.assertEqual(
            self.made("collective-broadcast(p), channel_id=1, replica_groups={{2,0,1}}"), [self.ROWS[2].tolist()] * 3 + [[0.0] * 4]
        )

    def test_in_the_background(self):
        made = run(
            [
                "p = f32[4] parameter(0)",
                "s = (f32[4], f32[4]) collective-permute-start(p), channel_id=1, source_target_pairs={{0,1}}",
                "ROOT r = f32[4] collective-permute-done(s)",
            ],
            self.ROWS,
            devices=4,
        )
        self.assertEqual(made.tolist(), self.made("collective-permute(p), channel_id=1, source_target_pairs={{0,1}}"))

    def test_devices_that_wait_for_others_are_refused(self):
        branch = (
            "yes {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] all-reduce(a), channel_id=1, replica_groups={GROUPS}, use_global_device_ids=true, to_apply=add\n}\n"
            "no {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] negate(a)\n}\n"
        )
        lines = [
            "p = f32[4] parameter(0)",
            "d = u32[] partition-id()",
            "two = u32[] constant(2)",
            "c = pred[] compare(d, two), direction=LT",
            "ROOT r = f32[4] conditional(c, p, p), true_computation=yes, false_computation=no",
        ]
        made = run(lines, self.ROWS, devices=4, more=ADD + branch.replace("{GROUPS}", "{{0,1},{2,3}}"))
        self.assertEqual(made.tolist(), [(self.ROWS[0] + self.ROWS[1]).tolist()] * 2 + (-self.ROWS[2:]).tolist())
        with self.assertRaisesRegex(whole_text.Refusal, "different branches"):
            run(lines, self.ROWS, devices=4, more=ADD + branch.replace("{GROUPS}", "{{0,2},{1,3}}"))

    def test_devices_that_loop_differently(self):
        loop = (
            "go {\n  s = (s32[], f32[]) parameter(0)\n  a = s32[] get-tuple-element(s), index=0\n  z = s32[] constant(0)\n  ROOT c = pred[] compare(a, z), direction=GT\n}\n"
            "do {\n  s = (s32[], f32[]) parameter(0)\n  a = s32[] get-tuple-element(s), index=0\n  o = s32[] constant(1)\n  b = s32[] subtract(a, o)\n"
            "  x = f32[] get-tuple-element(s), index=1\n  y = f32[] add(x, x)\n  ROOT t = (s32[], f32[]) tuple(b, y)\n}\n"
        )
        made = run(
            [
                "d = u32[] partition-id()",
                "n = s32[] convert(d)",
                "one = f32[] constant(1)",
                "t = (s32[], f32[]) tuple(n, one)",
                "w = (s32[], f32[]) while(t), condition=go, body=do",
                "ROOT r = f32[] get-tuple-element(w), index=1",
            ],
            devices=4,
            more=loop,
        )
        self.assertEqual(made.tolist(), [1, 2, 4, 8])


class Operations(unittest.TestCase):
    def test_boxes_are_moved_inside(self):
        a = numpy.arange(6.0)
        for at, wanted in ((-3, [0, 1]), (2, [2, 3]), (9, [4, 5])):
            made = run(
                ["p = f32[6] parameter(0)", "i = s32[] parameter(1)", "ROOT r = f32[2] dynamic-slice(p, i), dynamic_slice_sizes={2}"],
                a,
                numpy.int32(at),
            )
            self.assertEqual(made.tolist(), [wanted])

    def test_updates_beyond_the_end_are_left_out_and_gathers_are_moved_inside(self):
        a, at = numpy.arange(5.0), numpy.array([[-1], [4], [5], [1]], numpy.int32)
        lines = [
            "p = f32[5] parameter(0)",
            "i = s32[4,1] parameter(1)",
            "u = f32[4] parameter(2)",
            "ROOT r = f32[5] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
        ]
        self.assertEqual(run(lines, a, at, numpy.full(4, 10.0), more=ADD).tolist(), [[0, 11, 2, 3, 14]])
        lines = [
            "p = f32[5] parameter(0)",
            "i = s32[4,1] parameter(1)",
            "ROOT r = f32[4] gather(p, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
        ]
        self.assertEqual(run(lines, a, at).tolist(), [[0, 4, 4, 1]])

    def test_windows_are_moved_inside_by_gather_and_left_out_whole_by_scatter(self):
        a, at = numpy.arange(5.0), numpy.array([[-1], [3], [4], [1]], numpy.int32)
        lines = [
            "p = f32[5] parameter(0)",
            "i = s32[4,1] parameter(1)",
            "ROOT r = f32[4,2] gather(p, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={2}",
        ]
        self.assertEqual(run(lines, a, at).tolist(), [[[0, 1], [3, 4], [3, 4], [1, 2]]])
        lines = [
            "p = f32[5] parameter(0)",
            "i = s32[4,1] parameter(1)",
            "u = f32[4,2] parameter(2)",
            "ROOT r = f32[5] scatter(p, i, u), update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
        ]
        self.assertEqual(run(lines, a, at, numpy.full((4, 2), 10.0), more=ADD).tolist(), [[0, 11, 12, 13, 14]])

    def test_updates_of_one_place_come_one_after_the_other(self):
        twice = "f {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  d = f32[] add(x, x)\n  ROOT s = f32[] add(d, y)\n}\n"
        lines = [
            "p = f32[2] parameter(0)",
            "i = s32[3,1] parameter(1)",
            "u = f32[3] parameter(2)",
            "ROOT r = f32[2] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
        ]
        made = run(lines, numpy.array([1.0, 5.0]), numpy.zeros((3, 1), numpy.int32), numpy.array([1.0, 2.0, 3.0]), more=twice)
        self.assertEqual(made.tolist(), [[19, 5]])

    def test_a_kernel_that_is_reversed(self):
        lines = ["p = f32[1,3,1] parameter(0)", "k = f32[2,1,1] parameter(1)"]
        end = "ROOT r = f32[1,2,1] convolution(p, k), window={{size=2{}}}, dim_labels=b0f_0io->b0f"
        given = numpy.array([1.0, 10.0, 100.0]).reshape(1, 3, 1), numpy.array([1.0, 2.0]).reshape(2, 1, 1)
        for more, wanted in (("", [21, 210]), (" rhs_reversal=1", [12, 120])):
            self.assertEqual(run([*lines, end.format(more)], *given).reshape(-1).tolist(), wanted)

    def test_padding_is_never_chosen_in_a_window(self):
        ge = "ge {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = pred[] compare(x, y), direction=GE\n}\n"
        lines = [
            "p = f32[4] parameter(0)",
            "s = f32[3] parameter(1)",
            "z = f32[] constant(0)",
            "ROOT r = f32[4] select-and-scatter(p, s, z), window={size=2 stride=2 pad=1_1}, select=ge, scatter=add",
        ]
        self.assertEqual(
            run(lines, numpy.array([-4.0, -1.0, -2.0, -3.0]), numpy.array([1.0, 2.0, 3.0]), more=ADD + ge).tolist(), [[1, 2, 0, 3]]
        )

    def test_an_index_of_no_branch_takes_the_last(self):
        branches = "".join(
            f"b{k} {{\n  a = f32[] parameter(0)\n  c = f32[] constant({k})\n  ROOT s = f32[] add(a, c)\n}}\n" for k in range(3)
        )
        lines = [
            "i = s32[] parameter(0)",
            "p = f32[] constant(10)",
            "ROOT r = f32[] conditional(i, p, p, p), branch_computations={b0, b1, b2}",
        ]
        self.assertEqual([run(lines, numpy.int32(at), more=branches).tolist() for at in (-1, 0, 1, 2, 3)], [[12], [10], [11], [12], [12]])

    def test_padding_between_and_below_zero(self):
        lines = ["p = f32[3] parameter(0)", "z = f32[] constant(9)", "ROOT r = f32[7] pad(p, z), padding=-1_3_1"]
        self.assertEqual(run(lines, numpy.array([1.0, 2.0, 3.0])).tolist(), [[9, 2, 9, 3, 9, 9, 9]])

    def test_sort_keeps_the_order_of_what_is_equal(self):
        less = "less {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n  ROOT c = pred[] compare(a, b), direction=LT\n}\n"
        keys = numpy.array([3, 1, 3, 2, 1, 3, 0], numpy.int32)
        made = run(
            [
                "p = s32[7] parameter(0)",
                "i = s32[7] iota(), iota_dimension=0",
                "ROOT r = (s32[7], s32[7]) sort(p, i), dimensions={0}, is_stable=true, to_apply=less",
            ],
            keys,
            more=less,
        )
        self.assertEqual(made[1].tolist(), [numpy.argsort(keys, kind="stable").tolist()])

    def test_whole_numbers(self):
        low = numpy.iinfo(numpy.int32).min
        a, b = numpy.array([7, -7, 5, low, low], numpy.int32), numpy.array([2, 2, 0, -1, 3], numpy.int32)
        self.assertEqual(whole_numbers.divide(a, b).tolist(), [3, -3, -1, low, -715827882])
        self.assertEqual(whole_numbers.remainder(a, b).tolist(), [1, -1, 5, 0, -2])
        self.assertEqual(
            whole_numbers.BINARY["shift-right-logical"](a, numpy.array([1, 1, 40, 31, 0], numpy.int32)).tolist(), [3, 2**31 - 4, 0, 1, low]
        )
        self.assertEqual(
            whole_numbers.BINARY["shift-right-arithmetic"](a, numpy.array([1, 1, 40, 31, 40], numpy.int32)).tolist(), [3, -4, 0, -1, -1]
        )

    def test_reals_become_whole_numbers_of_their_range(self):
        kind = whole_text.Array("s8", (5,), None)
        self.assertEqual(
            whole_numbers.convert(numpy.array([1.9, -1.9, 300.0, -numpy.inf, numpy.nan]), None, kind).tolist(), [1, -1, 127, -128, 0]
        )

    def test_the_order_of_all_reals(self):
        listed = [-numpy.inf, -1.0, -0.0, 0.0, 1.0, numpy.inf, numpy.nan]
        self.assertTrue((numpy.diff(whole_numbers.total_order(numpy.array(listed)).astype(object)) > 0).all())

    def test_rounding_is_off_unless_asked_for(self):
        lines, third = ["p = f32[] parameter(0)", "h = bf16[] convert(p)", "ROOT r = f32[] convert(h)"], numpy.float64(1 / 3)
        self.assertEqual(run(lines, third).tolist(), [1 / 3])
        self.assertEqual(run(lines, third, narrow=True).tolist(), [0.333984375])

    def test_layouts_count_in_a_bitcast(self):
        a = numpy.arange(6.0).reshape(2, 3)
        for layout, wanted in (("{1,0}", [0, 1, 2, 3, 4, 5]), ("{0,1}", [0, 3, 1, 4, 2, 5])):
            self.assertEqual(run([f"p = f32[2,3]{layout} parameter(0)", "ROOT r = f32[6]{0} bitcast(p)"], a).tolist(), [wanted])


class Rounding(unittest.TestCase):
    """A sum in another order is right, a smaller change than that of a mistake is not."""

    @staticmethod
    def text(factor):
        return module(
            [
                "p = f32[64] parameter(0), sharding={replicated}",
                "z = f32[] constant(0)",
                "s = f32[] reduce(p, z), dimensions={0}, to_apply=add",
                f"c = f32[] constant({factor})",
                "ROOT r = f32[] multiply(s, c), sharding={replicated}",
            ],
            "",
            ADD,
        )

    def test_the_limit(self):
        for factor, wanted in ((1, "right"), (1 + 1e-12, "right"), (1 + 1e-7, "wrong"), (2, "wrong")):
            self.assertEqual(verdict(self.text(1), self.text(factor))["verdict"], wanted, factor)

    def test_a_large_number_hides_no_other(self):
        wanted, got = numpy.array([1e300, 3.0, 0.0, 2.0]), numpy.array([1e300, 2.0, 0.0, 2.0])
        self.assertEqual((whole_evaluate.error_of(wanted, got) > 1e-9).tolist(), [False, True, False, False])

    def test_what_is_never_a_number_gets_no_verdict(self):
        nothing = self.text("nan")
        self.assertEqual(verdict(nothing, nothing)["verdict"], "refused")


class Mistakes(unittest.TestCase):
    RIGHT = [name for name in pairs() if name not in WRONG]

    def test_every_kind_is_planted_and_seen(self):
        seen, equal, refused = set(), 0, []
        for name in self.RIGHT:
            before, after = pairs()[name]
            for kind in whole_mutate.KINDS:
                made = whole_mutate.plant(after, f"test {name}", kind)
                if made is None:
                    continue
                said = verdict(before, made[0])["verdict"]
                refused += [(name, kind)] if said == "refused" else []
                equal += said == "right"
                seen |= {kind} if said == "wrong" else set()
        self.assertEqual(refused, [])
        self.assertGreater(len(seen), 30)
        self.assertLess(equal, 40)

    def test_the_same_seed_plants_the_same(self):
        after = pairs()["train"][1]
        one, other, third = (whole_mutate.plant(after, seed) for seed in ("1", "1", "2"))
        self.assertEqual(one, other)
        self.assertNotEqual(one, third)

    def test_one_line_and_its_helpers_change(self):
        after = pairs()["train"][1]
        for seed in range(20):
            text, said = whole_mutate.plant(after, str(seed))
            lost = set(after.splitlines()) - set(text.splitlines())
            self.assertEqual(len(lost), 1, said)
            self.assertIn(f"{said['instruction']} = ", lost.pop())

    def test_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "changed.hlo"
            done = subprocess.run(
                [
                    sys.executable,
                    ROOT / "peers/whole_mutate.py",
                    TEXTS / "train.after.hlo",
                    "--seed",
                    "3",
                    "--kind",
                    "group-halved",
                    "--out",
                    out,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual((done.returncode, '"kind": "group-halved"' in done.stdout), (0, True), done.stderr)
            self.assertEqual(verdict(pairs()["train"][0], out.read_text())["verdict"], "wrong")


if __name__ == "__main__":
    unittest.main()
