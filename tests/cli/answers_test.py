"""Plans in the text of other systems, from outside: C programs compile and run, HLO is judged by `retile check`, JAX's module is Python."""

import ast
import random
import shutil
import subprocess

from support import PROBLEMS, Case, environment, main, retile

MPICC = shutil.which("mpicc")
MPIRUN = shutil.which("mpirun")


def drawn(seed, count):
    """Problems over a few devices: mesh, from, to, shape."""
    draw = random.Random(seed)
    for _ in range(count):
        mesh = draw.choice([(("x", 2), ("y", 3)), (("x", 4), ("y", 2)), (("x", 2), ("y", 2), ("z", 2)), (("x", 6),)])
        shape = draw.choice([(24,), (24, 12), (12, 24, 2)])

        def end(axes):
            dims = [[] for _ in shape]
            rest = list(axes)
            draw.shuffle(rest)
            for axis in rest:
                place = draw.randrange(len(shape) + 1)
                tiles = axis[1]
                for name, size in dims[place] if place < len(shape) else []:
                    tiles *= size
                if place < len(shape) and shape[place] % tiles == 0:
                    dims[place].append(axis)
            out = []
            for extent, cut in zip(shape, dims):
                tile = extent
                for _, size in cut:
                    tile //= size
                out.append(f"{tile}{{{','.join(name for name, _ in cut)}}}{extent}" if cut else str(extent))
            return f"[{', '.join(out)}]"

        yield (",".join(f"{name}:{size}" for name, size in mesh), end(mesh), end(mesh), ",".join(map(str, shape)))


class Texts(Case):
    def lowered(self, form, mesh, start, end):
        done = retile("lower", "--mesh", mesh, start, end, "--as", form)
        self.assertEqual((done.returncode, done.stderr), (0, ""), (form, mesh, start, end))
        return done.stdout

    def test_all_texts_are_judged_right(self):
        judged = dict.fromkeys(("sdy", "stablehlo", "hlo", "mlir19", "mlir22"), 0)
        for mesh, start, end, shape in drawn(5, 40):
            for form in judged:
                done = retile("lower", "--mesh", mesh, start, end, "--as", form)
                if form.startswith("mlir") and done.returncode == 2:
                    continue  # a permutation
                self.assertEqual((done.returncode, done.stderr), (0, ""), (form, mesh, start, end))
                if form == "sdy" and "out_sharding" not in done.stdout:
                    continue  # nothing moves
                text = done.stdout
                done = retile("check", "--mesh", mesh, "--from", start, "--to", end, "--shape", shape, "-", stdin=text)
                self.assertIn("right", done.stdout, (mesh, start, end, text, done.stderr))
                self.assertEqual(done.returncode, 0)
                judged[form] += 1
        self.assertGreater(min(judged.values()), 15, judged)

    def test_elements_have_the_type_of_dtype(self):
        for form, dtype, name in (("sdy", "bf16", "8xbf16>"), ("stablehlo", "i32", "2xi32>"), ("hlo", "i32", "s32[2]"), ("hlo", "pred", "pred[2]"),
                                  ("mlir19", "u8", "2xui8>"), ("mlir22", "c64", "2xcomplex<f32>>")):
            done = retile("lower", "--mesh", "x:4", "[2{x}8]", "[8]", "--as", form, "--dtype", dtype)
            self.assertEqual((done.returncode, done.stderr), (0, ""), (form, dtype))
            self.assertIn(name, done.stdout)
            judged = retile("check", "--mesh", "x:4", "--from", "[2{x}8]", "--to", "[8]", "--shape", "8", "-", stdin=done.stdout)
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
        for words, arguments in (("--dtype is for --as", ["--dtype", "bf16"]), ("not a value", ["--as", "hlo", "--dtype", "f33"]),
                                 ("has elements of its own", ["--as", "mpi-c", "--dtype", "f64"]),
                                 ("hlo has no such type", ["--as", "hlo", "--dtype", "tf32"])):
            done = retile("lower", "--mesh", "x:4", "[2{x}8]", "[8]", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(words, done.stderr)

    def test_another_end_makes_them_wrong(self):
        for form in ("sdy", "stablehlo", "hlo", "mlir19", "mlir22"):
            text = self.lowered(form, "x:2,y:2", "[1{y,x}4]", "[2{x}4]")
            done = retile("check", "--mesh", "x:2,y:2", "--from", "[1{y,x}4]", "--to", "[2{y}4]", "--shape", "4", "-", stdin=text)
            self.assertEqual(done.returncode, 1, (form, done.stdout, done.stderr))

    def test_hlo_with_a_group_turned_round_is_wrong(self):
        text = self.lowered("hlo", "x:4", "[2{x}8]", "[8]")
        spoiled = text.replace("replica_groups=[1,4]<=[4]", "replica_groups={{1,0,2,3}}")
        self.assertNotEqual(spoiled, text)
        done = retile("check", "--mesh", "x:4", "--from", "[2{x}8]", "--to", "[8]", "--shape", "8", "-", stdin=spoiled)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_jax_is_python(self):
        for mesh, start, end, _ in drawn(6, 10):
            module = ast.parse(self.lowered("jax", mesh, start, end))
            names = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
            self.assertLessEqual({"steps", "reshard", "check"}, names)

    def test_what_cannot_be_said_is_refused(self):
        for form in ("sdy", "stablehlo", "hlo", "mlir19", "mlir22", "jax"):
            done = retile("lower", "--mesh", "x:2", "[4{x}8]", "[8]", "--direct", "--as", form)
            self.assertEqual((done.returncode, done.stdout), (2, ""), form)
            self.assertIn("exchange", done.stderr)
        uneven = ("--mesh", "x:2,y:2", "[3{y,x}11]", "[6{x}11]", "--as", "mpi-c")
        done = retile("lower", *uneven)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("note: `lower --direct` writes one exchange", done.stderr)
        self.assertEqual(retile("lower", *uneven, "--direct").returncode, 0)
        done = retile("lower", "--mesh", "x:2", "[4{x}8]", "[8]", "--as", "fortran")
        self.assertEqual(done.returncode, 2)
        self.assertIn("sdy, stablehlo, hlo", done.stderr)


class Runs(Case):
    def run_c(self, text, processes):
        with open(self.path("move.c"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([MPICC, "-O1", "-Wall", "-Wextra", "-Werror", "-std=c11", "move.c", "-o", "move"],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return subprocess.run([MPIRUN, "--oversubscribe", "-n", str(processes), self.path("move")], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env=environment(), timeout=120, check=False)

    def moved(self, processes, *arguments):
        lowered = retile("lower", *arguments, "--as", "mpi-c")
        self.assertEqual((lowered.returncode, lowered.stderr), (0, ""))
        text = lowered.stdout
        done = self.run_c(text, processes)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^right: \d+ elements compared\n$")
        return text

    def test_every_element_arrives(self):
        for processes in (1, 2, 4, 6, 8):
            mesh, start, end = PROBLEMS[processes]
            self.moved(processes, "--mesh", mesh, start, end)

    def test_addends_are_added(self):
        self.moved(4, "--mesh", "x:2,y:2", "sum{x}[8]", "[8]")
        self.moved(4, "--mesh", "x:2,y:2", "sum{x,y}[8]", "sum{y}[8]")
        self.moved(4, "--mesh", "x:4", "max{x}[3]", "[3]")
        self.moved(4, "--mesh", "x:4", "min{x}[8]", "[2{x}8]")

    def test_an_exchange_moves_uneven_tiles(self):
        self.moved(4, "--mesh", "x:2,y:2", "[5{x}10, 3]", "[3{x,y}10, 3]")
        self.moved(4, "--mesh", "x:4", "[2{x}8]", "[8]", "--direct")

    def test_an_exchange_may_add(self):
        text = self.moved(4, "--mesh", "x:4", "sum{x}[5, 3]", "[2{x}5, 3]", "--direct")
        self.assertIn(", MPI_SUM);", text)
        self.moved(4, "--mesh", "x:2,y:2", "max{x}[7]", "[4{y}7]", "--direct")
        done = self.run_c(text.replace(", MPI_SUM);", ", MPI_OP_NULL);"), 4)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_a_spoiled_program_says_so(self):
        text = self.moved(2, "--mesh", "a:2", "[6{a}12, 10]", "[12, 5{a}10]")
        spoiled = text.replace("alltoall(tile, (const int64_t[]){6, 10}, 1, 0,", "alltoall(tile, (const int64_t[]){6, 10}, 0, 1,")
        self.assertNotEqual(spoiled, text)
        done = self.run_c(spoiled, 2)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("wrong", done.stdout)


if __name__ == "__main__":
    main()
