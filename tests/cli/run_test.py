"""`retile run --backend sim`: real bytes, .npy files in and out, the fields of the report."""

import json
import os

from support import ELEMENT_BYTES, EXAMPLE, PROBLEMS, Case, counting, main, npy, npy_parts, retile, splitmix64, spoiled

FIELDS = ["schema", "right", "backend", "processes", "repetitions", "elements_checked", "seconds", "bytes_per_process",
          "peak_bytes_per_process", "peak_limit_bytes", "resident_bytes", "bound_bytes"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Sim(Case):
    def run_json(self, *arguments, **options):
        done = retile("run", *arguments, "--backend", "sim", "--json", **options)
        self.accepted(done)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def test_strategies_are_not_for_gpus(self):
        self.refused(retile("run", *EXAMPLE, "--backend", "cuda", "--strategy", "direct"), 2, "strategies are those of MPI")

    def test_strategies_are_not_for_the_simulator(self):
        for option in (["--strategy", "direct"], ["--explain"]):
            self.refused(retile("run", *EXAMPLE, "--backend", "sim", *option), 2, f"so {option[0]} says nothing")

    def test_report_of_every_problem_and_element_type(self):
        for mesh, start, end in PROBLEMS.values():
            for dtype in ELEMENT_BYTES:
                with self.subTest(mesh=mesh, dtype=dtype):
                    report = self.run_json("--mesh", mesh, start, end, "--dtype", dtype)
                    self.assertEqual(list(report), FIELDS)
                    self.assertEqual((report["right"], report["backend"]), (True, "sim"))
                    plan = json.loads(retile("plan", "--mesh", mesh, start, end, "--json").stdout)
                    size = ELEMENT_BYTES[dtype]
                    self.assertEqual(report["bound_bytes"], plan["bound"] * size)
                    self.assertEqual(report["resident_bytes"], plan["resident"] * size)
                    self.assertLessEqual(report["peak_bytes_per_process"], report["peak_limit_bytes"])

    def test_the_generated_array_is_what_the_manual_says(self):
        for dtype, descr in {"u8": "|u1", "i16": "<i2", "f32": "<f4", "u64": "<u8", "c64": "<c8", "bf16": "|V2"}.items():
            with self.subTest(dtype=dtype):
                self.run_json(*EXAMPLE, "--dtype", dtype, "--output", self.path("out.npy"))
                header, data = npy_parts(read(self.path("out.npy")))
                self.assertIn(f"'descr': '{descr}'", header)
                self.assertIn("'shape': (12, 12)", header)
                size = ELEMENT_BYTES[dtype]
                wanted = b"".join(splitmix64(i).to_bytes(8, "little")[:size] for i in range(144))
                self.assertEqual(data, wanted)

    def test_a_file_goes_through_unchanged(self):
        for descr, size in {"<f4": 4, ">f4": 4, ">i8": 8, "|u1": 1, "<c16": 16, "|V2": 2, "|b1": 1}.items():
            data = counting(144, size)
            for version in (1, 2, 3):
                with self.subTest(descr=descr, version=version):
                    source = self.write("in.npy", npy((12, 12), descr, data, version))
                    report = self.run_json(*EXAMPLE, "--input", source, "--output", self.path("out.npy"))
                    self.assertEqual(report["bound_bytes"], 6 * size)
                    header, out = npy_parts(read(self.path("out.npy")))
                    self.assertIn(f"'descr': '{descr}'", header)
                    self.assertEqual(out, data)

    def test_dtype_may_repeat_what_the_file_says_in_any_byte_order(self):
        source = self.write("in.npy", npy((12, 12), ">f4", counting(144, 4)))
        self.run_json(*EXAMPLE, "--input", source, "--dtype", "f32")
        self.refused(retile("run", *EXAMPLE, "--backend", "sim", "--input", source, "--dtype", "u32"), 2, ">f4")

    def test_input_and_output_may_be_one_file(self):
        data = counting(144, 4)
        both = self.write("both.npy", npy((12, 12), "<f4", data))
        self.run_json(*EXAMPLE, "--input", both, "--output", both)
        self.assertEqual(npy_parts(read(both))[1], data)
        self.assertEqual(os.listdir(self.folder), ["both.npy"])

    def test_an_array_without_dimensions(self):
        source = self.write("in.npy", npy((), "<f8", counting(1, 8)))
        self.run_json("--mesh", "x:3", "[]", "[]", "--input", source, "--output", self.path("out.npy"))
        self.assertEqual(npy_parts(read(self.path("out.npy"))), ("{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                                                                counting(1, 8)))

    def test_a_program_of_ones_own(self):
        program = retile("lower", *EXAMPLE).stdout
        file = self.write("program.txt", program)
        self.assertEqual(self.run_json("--program", file)["elements_checked"], 144)
        self.assertEqual(self.run_json("--program", "-", stdin=program)["elements_checked"], 144)
        as_json = retile("lower", *EXAMPLE, "--json").stdout
        self.assertEqual(self.run_json("--program", "-", stdin=as_json)["elements_checked"], 144)

    def test_an_end_that_does_not_cover_the_array_has_no_output(self):
        program = ("retile.program/1\ndevices 2\nfrom tile=[2] global=[4] at=[[0],[0]]\nto tile=[2] global=[4] at=[[0],[0]]\n")
        self.run_json("--program", "-", stdin=program)
        done = retile("run", "--program", "-", "--backend", "sim", "--output", self.path("out.npy"), stdin=program)
        self.refused(done, 2, "cover")
        self.assertEqual(os.listdir(self.folder), [])
        covers = program.replace("[[0],[0]]", "[[0],[2]]")
        self.run_json("--program", "-", "--output", self.path("out.npy"), stdin=covers)

    def test_a_wrong_element_is_found(self):
        code, out, said = spoiled(self, "--backend", "sim")
        self.assertEqual(code, 1, said)
        self.assertRegex(out, "^wrong: process 1 holds a wrong element at position 88 of its tile\n")
        self.assertEqual(os.listdir(self.folder), ["spoiled.npy"])

    def test_repetitions_are_counted(self):
        self.assertEqual(self.run_json(*EXAMPLE, "--repeat", "7")["repetitions"], 7)

    def test_text_report(self):
        done = retile("run", *EXAMPLE, "--backend", "sim")
        self.accepted(done)
        self.assertRegex(done.stdout, r"^right: 144 elements compared on 24 processes \(sim\)\nmoved in .*\nmemory per process: .*\n$")


ADDING = """retile.program/2
mesh x:2,y:2
from OP{x}[8]
to [8]
dynslice dim=0 groups=[2,2]<=[4] tile=[4] map=OP{x}[4{y}8]
reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0)ADD tile=[2] map=[2{x,y}8]
allgather dim=0 groups=[1,4]<=[2,2]T(1,0) tile=[8] map=[8]
"""


def adding(op):
    return ADDING.replace("OP", op).replace("ADD", "" if op == "sum" else f" add={op}")


PARTIAL = "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[8]\nto sum{y}[8]\nallpermute source=[0,2,1,3]\n"


class Addends(Case):
    def refused_as_a_whole(self, done, words):
        """What is wrong is no word of the command line, so nothing is pointed at."""
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertRegex(done.stderr, f"^error: .*{words}")

    def test_every_element_type(self):
        for op in ("sum", "max", "min"):
            for dtype in ELEMENT_BYTES:
                with self.subTest(op=op, dtype=dtype):
                    done = retile("run", "--program", "-", "--backend", "sim", "--dtype", dtype, stdin=adding(op))
                    if op != "sum" and dtype.startswith("c"):
                        self.refused_as_a_whole(done, f"complex numbers have no {op}")
                        continue
                    self.accepted(done)
                    self.assertIn("right: 32 elements compared on 4 processes (sim)\n", done.stdout)

    def test_a_target_of_addends(self):
        done = retile("run", "--program", "-", "--backend", "sim", stdin=PARTIAL)
        self.accepted(done)
        self.assertIn("right: 32 elements compared", done.stdout)

    def test_a_wrong_program_is_not_run(self):
        wrong = "".join(line + "\n" for line in adding("sum").splitlines() if not line.startswith("reduce"))
        done = retile("run", "--program", "-", "--backend", "sim", stdin=wrong)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not run: wrong", done.stdout)

    def test_files_have_but_one_array(self):
        path = self.path("out.npy")
        self.accepted(retile("run", "--program", "-", "--backend", "sim", "--output", path, stdin=adding("sum")))
        self.assertTrue(os.path.exists(path))
        self.refused_as_a_whole(retile("run", "--program", "-", "--backend", "sim", "--input", path, stdin=adding("sum")),
                                "with the generated arrays")
        other = self.path("other.npy")
        self.refused(retile("run", "--program", "-", "--backend", "sim", "--output", other, stdin=PARTIAL), 2, "are addends")
        self.assertFalse(os.path.exists(other))

    def test_gpus_do_not_add(self):
        self.refused_as_a_whole(retile("run", "--program", "-", "--backend", "cuda", stdin=adding("sum")), "is not run on GPUs")


if __name__ == "__main__":
    main()
