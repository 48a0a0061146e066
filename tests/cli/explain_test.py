"""`retile explain`: XLA's warning in its wordings, files, and pairs of ends."""

import json
import re
from pathlib import Path

from support import Case, main, retile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "foreign"
ENDS = ("{devices=[2,1,4]<=[4,2]T(1,0)}", "{devices=[1,8,1]<=[8]}")
NAMED = ("{mesh['x'=4,'y'=2], [{'y'}, {}, {'x'}]}", "{mesh['x'=4,'y'=2], [{}, {'x', 'y'}, {}]}")
OPERATION = "%get-tuple-element = f32[8,32,16]{2,1,0} get-tuple-element(%tuple), index=0, sharding={replicated}"
LOGGED = "E0531 10:54:04.832741 2609008 spmd_partitioner.cc:569] "


def new(ends=ENDS, operation=OPERATION):
    return (f"{LOGGED}[SPMD] Involuntary full rematerialization. The compiler cannot go from sharding {ends[0]} to "
            f"{ends[1]} efficiently for HLO operation {operation}. As the last resort, SPMD will replicate the tensor.")


def old(ends=ENDS, operation=""):
    return (f"{LOGGED}[spmd] Involuntary full rematerialization. The compiler was not able to go from sharding {ends[0]} "
            f"to {ends[1]} without doing a full rematerialization of the tensor{operation}. You probably want to enrich "
            "the sharding annotations to prevent this from happening.")


class Explain(Case):
    def explained(self, *arguments, stdin=""):
        done = retile("explain", "--json", *arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def refused(self, words, *arguments, stdin=""):
        done = retile("explain", *arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(words, done.stderr)

    def test_warnings(self):
        shape = ["--shape", "16,32,64"]
        for name, arguments in {
            "new": [new()],
            "named": [new(NAMED)],
            "old": [old(operation=" for HLO operation: " + OPERATION)],
            "oldest": [*shape, "--dtype", "f32", old()],
            "metadata": [new((ENDS[0][:-1] + ' metadata={op_name="a }} to {{"}}', ENDS[1]))],
        }.items():
            with self.subTest(name):
                found, = self.explained(*arguments)
                self.assertEqual(found["shape"], [16, 32, 64])
                self.assertEqual(found["devices"], 8)
                self.assertEqual(found["element_bytes"], 4)
                self.assertEqual(found["operation"], "" if name == "oldest" else "%get-tuple-element")
                # Gathered by 2, then by 4: 8192 elements and 32768.
                self.assertEqual(found["peer"], {"does": "XLA gathers everything, then slices", "height": 32768,
                                                 "cost": 40960, "received": None})
                self.assertEqual(found["plan"], {"height": 4096, "bound": 4096, "cost": 8192, "lower_bound": 8192,
                                                 "optimal": True, "scope": "one_dim"})
                self.assertEqual(found["as"], "hlo")
                self.assertEqual(len(found["notes"]), 0 if name == "oldest" else 1)
                checked = retile("check", "--shape", "16,32,64", "--within-bound", stdin=found["text"])
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_what_is_proved_of_uneven_tiles_and_of_two_meshes(self):
        for options, ends, elements in ((["--mesh", "p:4"], ("[3={p}10, 6]", "[10, 2={p}6]"), 14), (["--mesh", "p:4"], ("[4~{p}10]", "[3{p}10]"), 2),
                                        (["--mesh", "x:4", "--mesh-to", "y:6"], ("[3{x}12]", "[2{y}12]"), 2)):
            said = retile("explain", *options, "--dtype", "f32", *ends)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn(f"(not proved; whatever the steps, some device receives at least {elements} elements ({4 * elements} bytes))", said.stdout)
            self.assertNotIn("nothing costs less", said.stdout)
            plan = self.explained(*options, *ends)[0]["plan"]
            self.assertEqual((plan["lower_bound"], plan["scope"], plan["least_received"], plan["optimal"]), (None, None, elements, False))
            # U3: a run of one exchange receives just so much.
            run = json.loads(retile("run", *options, "--backend", "sim", "--dtype", "f32", "--json", *ends).stdout)
            self.assertGreaterEqual(run["bytes_per_process"], 4 * elements)
        free = retile("explain", "--mesh", "a:2", "[5]", "[5~{a}5]").stdout
        self.assertIn("(proved: no steps of any kind cost less)", free)
        adding = retile("explain", "--mesh", "x:4", "sum{x}[3]", "[1~{x}3]").stdout
        self.assertIn("(not proved)", adding)

    def test_an_array_on_one_device(self):
        ends = ("{maximal device=0}", "{devices=[4,1]<=[4]}")
        warning = new(ends, "%a = f32[8,4]{1,0} parameter(0), sharding={maximal device=0}")
        for options in ([], ["--mesh", "x:4"], ["--mesh", "x:4", "--shape", "8,4"]):
            found, = self.explained(*options, warning)
            self.assertEqual((found["shape"], found["devices"], found["plan"]["least_received"]), ([8, 4], 4, 8))
        self.refused("over a mesh of 5", "--mesh", "x:5", warning)

    def test_logs(self):
        other = new(operation=OPERATION.replace("f32[8", "bf16[4").replace("%get", "%other"))
        log = "\n".join(["started", new(), new(), "something else", other, ""])
        found = self.explained("-", stdin=log)
        self.assertEqual([(one["operation"], one["shape"], one["element_bytes"]) for one in found],
                         [("%get-tuple-element", [16, 32, 64], 4), ("%other-tuple-element", [8, 32, 64], 2)])
        # A shape may cut off what the tiles have too much. It is of the first warning alone, and a note says so. HLO does
        # not say plans of uneven tiles: a note says that, too, where nobody asked for HLO.
        found = self.explained("--shape", "15,32,64", "-", stdin=log)
        self.assertEqual([(one["operation"], one["shape"], one["as"]) for one in found], [("%get-tuple-element", [15, 32, 64], None)])
        self.assertIn("passed over: %other-tuple-element of tiles 4,32,16 has no array of --shape 15,32,64", found[0]["notes"])
        self.assertEqual(len(found[0]["notes"]), 2)
        self.refused("not all alike", "--as", "hlo", "--shape", "15,32,64", "-", stdin=log)
        # Uneven tiles have no such gathers; the whole array is held all the same.
        self.assertEqual((found[0]["peer"]["height"], found[0]["peer"]["cost"]), (15 * 32 * 64, None))

    def test_plans_of_a_log_are_cut_out_by_their_ends(self):
        other = new(operation=OPERATION.replace("f32[8", "bf16[4").replace("%get", "%other"))
        said = retile("explain", "-", stdin="\n".join([new(), other, ""])).stdout
        modules = re.findall(r"^HloModule.*?^}\n", said, re.MULTILINE | re.DOTALL)  # sed -n '/^HloModule/,/^}/p'
        self.assertEqual(len(modules), 2)
        judged = retile("check", stdin="".join(modules))
        self.assertEqual((judged.returncode, judged.stdout.count(": right")), (0, 2), judged.stderr)

    def test_a_shape_that_is_not_that_of_the_warning(self):
        # The type in the warning is that of one tile: 8,32,16 are 2 x 1 x 4 parts of 16,32,64.
        for shape in ("8,32,16", "17,32,64", "16,32,60", "16,32", "16,32,64,1"):
            with self.subTest(shape):
                self.refused("no array of this shape is in the warning of %get-tuple-element of tiles 8,32,16", "--shape", shape, new())
                self.refused(f"\n  {shape}\n  ^", "--json", "--shape", shape, new())
        self.assertEqual(self.explained("--shape", "16,32,64", new())[0]["shape"], [16, 32, 64])
        # A warning that names no tile takes any.
        self.assertEqual(self.explained("--shape", "8,32,16", old())[0]["shape"], [8, 32, 16])

    def test_elements(self):
        # The text has the type of the warning, and that of --dtype only where the warning has none.
        for element, form, words in (("bf16", "hlo", "bf16[8,32,16]"), ("s32", "hlo", "s32[8,32,16]"), ("pred", "hlo", "pred[8,32,16]"),
                                     ("u8", "stablehlo", "tensor<8x32x16xui8>"), ("f8e4m3fn", "sdy", "tensor<16x32x64xf8E4M3FN>"),
                                     ("c64", "mlir22", "tensor<8x32x16xcomplex<f32>>")):
            with self.subTest(element):
                warning = new(operation=OPERATION.replace("f32", element))
                found, = self.explained("--as", form, warning)
                self.assertIn(words, found["text"])
                self.assertNotRegex(found["text"].replace("complex<f32>", ""), r"\bf32|xf32")
                checked = retile("check", "--mesh", "a:8", "--shape", "16,32,64", "--from", ENDS[0], "--to", ENDS[1], stdin=found["text"])
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
                # A note says that the option does not count.
                again, = self.explained("--as", form, "--dtype", "i64", warning)
                self.assertEqual((again["text"], again["element_bytes"]), (found["text"], found["element_bytes"]))
                self.assertIn(f"elements are {element}, as the input says: --dtype i64 is not used", again["notes"])
                self.assertEqual(self.explained("--as", form, "--dtype", element, warning)[0]["notes"], found["notes"])
        for dtype, name, size in (("i32", "s32", 4), ("s8", "s8", 1), ("pred", "pred", 1), ("bf16", "bf16", 2), ("complex<f32>", "c64", 8)):
            found, = self.explained("--shape", "16,32,64", "--dtype", dtype, old())
            self.assertIn(f"ROOT %end = {name}[", found["text"])
            self.assertEqual(found["element_bytes"], size)
            self.assertNotIn("f32", found["text"])
        self.assertIn("f32[", self.explained("--shape", "16,32,64", old())[0]["text"])
        # HLO has no tf32.
        self.refused("hlo has no such type of elements", "--as", "hlo", "--dtype", "tf32", "--shape", "16,32,64", old())
        c, = self.explained("--as", "mpi-c", new())
        self.assertIn("the C program moves 64-bit integers, not f32", c["notes"])
        found, = self.explained("-", stdin=(EXAMPLES / "rows_to_columns.hlo").read_text().replace("f32[", "u16["))
        self.assertEqual((found["element_bytes"], "u16[" in found["text"], "f32" in found["text"]), (2, True, False))

    def test_pairs(self):
        for name, mesh, ends, form in [
            ("paper", "x:4", ("[4{x}16, 64]", "[16, 16{x}64]"), None),
            ("jax", None, ("NamedSharding(mesh=Mesh('x': 4), spec=P('x'))", "P(None, 'x')"), "jax"),
            ("shardy", "x:4", ('#sdy.sharding<@mesh, [{"x"}, {}]>', '#sdy.sharding<@mesh, [{}, {"x"}]>'), "sdy"),
            ("hlo", None, ("{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"), "hlo"),
            ("dtensor", "x:4", ("(Shard(0),)", "(Shard(1),)"), None),
        ]:
            with self.subTest(name):
                arguments = [*(["--mesh", mesh] if mesh else []), "--shape", "16,64", *ends]
                found, = self.explained(*arguments)
                self.assertEqual(found["peer"], {"does": "gathering everything, then slicing", "height": 1024,
                                                 "cost": 1024, "received": None})
                self.assertEqual((found["plan"]["cost"], found["plan"]["height"]), (256, 256))
                self.assertEqual(found["as"], form)
                self.assertEqual(self.explained("--as", "mlir22", *arguments)[0]["as"], "mlir22")

    def test_files(self):
        found, = self.explained(str(EXAMPLES / "columns.dtensor.json"))
        self.assertEqual(found["peer"], {"does": "as it stands", "height": 8, "cost": 8, "received": 6})
        self.assertEqual((found["plan"]["cost"], found["as"]), (8, None))
        found, = self.explained(str(EXAMPLES / "whole_array.hlo"))
        self.assertEqual((found["peer"]["height"], found["peer"]["received"], found["element_bytes"], found["as"]),
                         (64, 32, 4, "hlo"))
        wrong = (EXAMPLES / "columns.dtensor.json").read_text().replace('"ranks": [0, 1, 2, 3]}', '"ranks": [1, 0, 2, 3]}')
        self.assertEqual(self.explained("-", stdin=wrong)[0]["peer"]["does"], "as it stands, and wrong")

    def test_refusals(self):
        self.refused("the global shape is missing", old())
        self.refused("neither wording", new()[:200])
        self.refused("neither wording", new().replace(" efficiently", " quickly"))
        self.refused("no warning, and no file", "-", stdin="nothing of interest")
        self.refused("cannot open", "/nowhere/at/all")
        self.refused("the two ends are missing")
        self.refused("--mesh is missing", "[4]", "[4]")
        self.refused("the values are sdy", "--as", "hlo4", new())
        self.refused("not a value of this option", "--dtype", "f33", new())
        self.refused("63 bits", new(operation="%p = f32[4611686018427387904,32,16] parameter(0)"))
        self.refused("2^63 elements", new(operation="%p = f32[4611686018427387904,1,1] parameter(0)"))
        self.refused("63 bits", new(operation="%p = f32[2305843009213693952,1,1] parameter(0)"))
        # A tuple is no array.
        self.refused("the global shape is missing", new(operation="%t = (f32[8], f32[8]) tuple(%a, %b)"))

    def test_words(self):
        done = retile("explain", new())
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(
            "%get-tuple-element\n"
            "XLA gathers everything, then slices: holds 32768 elements (131072 bytes), cost 40960\n"
            "enough: holds 4096 elements (16384 bytes), cost 8192 "
            "(proved: no collectives along one dimension each cost less)\n"
            "alltoall a0: dim 2 -> dim 1"), done.stdout)
        self.assertRegex(done.stdout, re.compile(r"^HloModule retile", re.MULTILINE))
        self.assertEqual(done.stderr, "note: the warning names tiles 8,32,16: the array is taken to be 16,32,64\n")


if __name__ == "__main__":
    main()
