"""`retile lower MODULE --as mpi-c`: programs compile without warnings and run, every element is right, and spoiled programs say so."""

import functools
import itertools
import math
import re
import shutil
import subprocess
from pathlib import Path

from support import Case, environment, main, retile

ROOT = Path(__file__).resolve().parents[2]
MPICC = shutil.which("mpicc")
MPIRUN = shutil.which("mpirun")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"]
UNDEFINED = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]


@functools.lru_cache
def blas():
    """What links a BLAS with cblas.h, or nothing."""
    done = subprocess.run(["pkg-config", "--libs", "blas"], capture_output=True, text=True, check=False) if shutil.which("pkg-config") else None
    flags = done.stdout.split() if done and done.returncode == 0 else ["-lblas"]
    tried = subprocess.run([MPICC, "-x", "c", "-", "-o", "/dev/null", *flags], capture_output=True, text=True, check=False,
                           input="#include <cblas.h>\nint main(void) { return (int)cblas_ddot(0, 0, 1, 0, 1); }\n")
    return flags if tried.returncode == 0 else None


def devices_of(module):
    mesh = re.search(r"^mesh (.*)$", module, re.M)[1]
    return math.prod(int(size) for size in re.findall(r":(\d+)", mesh))


def partitioned(text, schedule=None):
    text = text if text.startswith("retile.array") else "retile.array/1\n" + text
    done = retile("partition", "-", *(["--schedule", schedule] if schedule else []), stdin=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


MATMUL = "array a[{}] b[{}]\nc[i,j] += a[i,k] * b[k,j]\nreturn c{}\n"
SOFTMAX = (ROOT / "examples" / "array" / "softmax.array").read_text()
STEPS = """retile.spmd/1
mesh x:2,y:2
fn main(a : [4, 2{y,x}8]) -> [4, 8]
s = redistribute a as sum{y}[4, 4{x}8] {
allgather dim=1 groups=[2,2]<=[4]
unreduce groups=[2,2]<=[4]
}
t = spmd s { scale 3 s } as sum{y}[4, 4{x}8]
u = redistribute t as [4, 8]
return u
denotes scale 3 a
"""
USED_TWICE = """retile.spmd/1
mesh d:4
fn main(x : [2{d}8, 3], y : [2{d}8, 3]) -> [2{d}8, 3]
a = redistribute x as [8, 3]
s = spmd x y { add x y } as [2{d}8, 3]
t = spmd s a { mul s s } as [2{d}8, 3]
b = redistribute s as [8, 3]
u = spmd t x { x } as [2{d}8, 3]
r = spmd t u { sub t u } as [2{d}8, 3]
return r
denotes sub (mul (add x y) (add x y)) x
"""
EVERY_OPERATION = """retile.spmd/1
mesh d:2
fn main(x : [2{d}3, 4], y : [2{d}3, 4]) -> [2{d}3, 3]
r = spmd x y {
  a = min (max x y (fill -1 x)) (neg (sub x y))
  b = div (exp (scale -2 a)) (sqrt (add (mul y y y y) (fill 2 y)))
  c = transpose [1,0] (trim 1 1 0 b)
  d = relu (sub (reduce_sum 1 b) (reduce_max 1 (exp b)))
  e = transpose [1,0] (einsum "ki,i->ki" c d)
  return e
} as [2{d}3, 3]
return r
denotes einsum "ik,i->ik" (trim 1 1 0 B) (relu (sub (reduce_sum 1 B) (reduce_max 1 (exp B))))
"""
MAXIMA = """retile.spmd/1
mesh x:3
fn main(a : max{x}[4], b : min{x}[5]) -> [2{x}4]
p = redistribute a as [2{x}4]
q = redistribute b as [2{x}5]
r = redistribute q as [5]
s = spmd p r { add p (einsum "i,->i" (fill 1 p) (reduce_max 0 r)) } as [2{x}4]
return s
denotes add a (einsum "i,->i" (fill 1 a) (reduce_max 0 b))
"""


def modules():
    """Names and texts, of at most eight devices."""
    for name, text in re.findall(r'\{"(\w+)", R"\((.*?)\)"\}', (ROOT / "tests/spmd/modules.h").read_text(), re.S):
        yield name, text.replace("i:3,k:4", "i:3,k:2").replace("2{k}5", "3{k}5") if name == "uneven" else text
    listings = {"listing_1": ("8{devices}256", "32{devices}256"), "listing_3": ("64{devs}2048", "256{devs}2048")}
    for path in sorted((ROOT / "examples" / "spmd").glob("*.spmd")):
        text = path.read_text()
        if path.stem in listings:
            text = text.replace(*listings[path.stem]).replace("1{devs}32", "4{devs}32").replace(":32", ":8")
        text = text.replace("xdev:4,ydev:8", "xdev:2,ydev:4").replace("64{xdev}", "128{xdev}").replace("128{ydev}", "256{ydev}")
        if path.stem == "mlp":
            text = text.replace("s:8", "s:4").replace("32{s}", "64{s}")
        if path.stem == "transformer":  # process 0 computes all of it
            for old, new in (("4096", "64"), ("1024", "32"), ("512", "8")):
                text = text.replace(old, new)
        yield path.stem, text
    for path in sorted((ROOT / "examples" / "array").glob("*.array")):
        if path.stem in ("g4b_uneven", "g8_listing_3", "block"):  # more than eight devices, or large; others are like them
            continue
        yield path.stem, partitioned(path.read_text(), "y=i:2,k:4;z=i:4,j:2" if path.stem == "choice" else None)
    for schedule in ("c=i:8", "c=j:4,k:2", "c=k:8", "c=i:3,k:2", "c=i:2,j:3"):
        yield "matmul " + schedule, partitioned(MATMUL.format("12,10", "10,9", ""), schedule)
    yield "addends left", partitioned(MATMUL.format("6,8", "8,4", " : sum{k}[6, 4]"), "c=k:4")
    yield "more devices than rows", partitioned(MATMUL.format("5,3", "3,2", ""), "c=i:7")
    yield "softmax over columns", partitioned(SOFTMAX, "m=k:4;e=k:4;s=k:4;r=k:4")
    yield "softmax uneven", partitioned(SOFTMAX.replace("8,16", "7,5"), "m=i:3;e=k:3;s=i:3;r=k:3")
    yield "stencil in two dimensions", partitioned(
        "array x[9,8]\nr[i,j] = x[i,j+1] + x[i+2,j+1] + x[i+1,j] + x[i+1,j+2] - 4x[i+1,j+1]\nreturn r\n", "r=i:2,j:3")
    yield "convolution in two dimensions", partitioned("array x[7,9] w[2,3]\nr[i,j] += x[i+p,2j+q] * w[p,q]\nreturn r\n", "r=i:2,j:2,q:2")
    yield "batches", partitioned("array a[2,3,4,5] b[2,5,6]\nc[b,h,i,j] += a[b,h,i,k] * b[b,k,j]\nreturn c : [2, 3, 4, 6]\n", "c=b:2,j:2,k:2")
    yield "addends of steps", STEPS
    yield "used twice", USED_TWICE
    yield "maxima and minima", MAXIMA
    b = "(div (exp (scale -2 (min (max x y (fill -1 x)) (neg (sub x y))))) (sqrt (add (mul y y y y) (fill 2 y))))"
    yield "every operation", EVERY_OPERATION.replace("B", b)


# ---- What modules denote, a second time -----------------------------------------------------------------------------------------

MASK = (1 << 64) - 1


def mixed(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Denoted:
    """`denotes` of a module in Python: arrays are their shapes and functions of an index."""

    def __init__(self, module, seed, drawing):
        self.seed, self.drawing = seed, drawing
        head = re.search(r"fn main\((.*)\) ->", module)[1]
        self.names = []
        self.arrays = []
        for number, (name, layout) in enumerate(re.findall(r"(\w+) : (.*?)(?=, \w+ : |$)", head)):
            self.names.append(name)
            self.arrays.append(self.parameter(number, layout, module))
        self.parameters = list(self.arrays)
        self.block = re.search(r"^denotes (.*)\Z", module, re.M | re.S)[1].strip().splitlines()
        self.words = self.words_of(self.block[0])

    @staticmethod
    def words_of(line):
        return re.findall(r'"[^"]*"|[()]|[^\s()]+', line)

    def parameter(self, number, layout, module):
        if listed := re.search(r"global=\[([^]]*)\]", layout):
            inside = listed[1]
        else:
            inside = re.search(r"\[(.*)\]", layout)[1]
        # 12 of 3{i}12<0,2>, 8 of (0,5,8){j}8, and 5 of 3{y}3+2.
        extents = re.sub(r"<[^>]*>|(\([^)]*\)|[^,{(]*)\{[^}]*\}", "", inside).split(",")
        shape = tuple(sum(map(int, extent.split("+"))) for extent in extents if extent.strip())
        axes = re.match(r"(sum|max|min)\{([^}]*)\}", layout)
        sizes = dict(re.findall(r"(\w+):(\d+)", re.search(r"^mesh (.*)$", module, re.M)[1]))
        count = math.prod(int(sizes[axis]) for axis in axes[2].split(",")) if axes else 1
        joined = {"sum": sum, "max": max, "min": min}[axes[1] if axes else "sum"]
        below = re.search(r" below (\d+)$", layout)

        def element(at):
            position = 0
            for extent, index in zip(shape, at):
                position = position * extent + index
            return joined([self.drawn(number, addend, position, below and int(below[1])) for addend in range(count)])
        return self.table(shape, element)

    def drawn(self, number, addend, position, below):
        stream = mixed(self.seed ^ mixed((number << 32) ^ addend))
        if below:
            return mixed(stream ^ position) % below
        least = 512 if self.drawing % 2 else -1024
        return (mixed(stream ^ position) % (1025 - least) + least) / (1 << (10, 14, 18)[self.drawing // 2])

    @staticmethod
    def table(shape, element):
        values = {at: element(at) for at in itertools.product(*map(range, shape))}
        return shape, values.__getitem__

    def value(self):
        self.at = 0
        if self.words[0] != "{":
            return self.expression()
        # Definitions, a line each, and what is returned.
        for line in self.block[1:]:
            self.words, self.at = self.words_of(line), 0
            if self.words[0] == "return":
                return self.arrays[self.names.index(self.words[1])]
            if "=" not in self.words[:2]:
                return self.expression()
            name, self.at = self.words[0], 2
            value = self.expression()
            self.names.append(name)
            self.arrays.append(value)
        raise AssertionError("denotes returns nothing")

    def expression(self):
        word = self.words[self.at]
        self.at += 1
        if word == "(":
            out = self.expression()
            self.at += 1
            return out
        if word in self.names:
            return self.arrays[self.names.index(word)]
        numbers = []
        while self.at < len(self.words) and re.match(r'-?\d|"|\[', self.words[self.at]):
            numbers.append(self.words[self.at])
            self.at += 1
        operands = []
        while self.at < len(self.words) and self.words[self.at] != ")":
            operands.append(self.operand())
        return self.applied(word, numbers, operands or self.parameters)

    def operand(self):
        if self.words[self.at] == "(":
            return self.expression()
        self.at += 1
        return self.arrays[self.names.index(self.words[self.at - 1])]

    def applied(self, name, numbers, operands):
        shape, first = operands[0]
        functions = [function for _, function in operands]
        number = int(numbers[0]) if numbers and re.fullmatch(r"-?\d+", numbers[0]) else 0
        if name == "einsum":
            return self.einsum(numbers[0].strip('"'), operands)
        if name in ("reduce_sum", "reduce_max"):
            join = sum if name == "reduce_sum" else max
            return self.table(shape[:number] + shape[number + 1:],
                              lambda at: join([first(at[:number] + (k,) + at[number:]) for k in range(shape[number])]))
        if name == "take":  # along dimension `number`, at the indices of the second array
            indices, taken = operands[1]
            behind = number + len(indices)
            return self.table(shape[:number] + indices + shape[number + 1:],
                              lambda at: first((*at[:number], taken(at[number:behind]), *at[behind:])))
        if name == "transpose":
            order = [int(k) for k in re.findall(r"\d+", numbers[0])]
            return self.table(tuple(shape[k] for k in order), lambda at: first(tuple(at[order.index(d)] for d in range(len(order)))))
        if name == "trim":
            low, high = int(numbers[1]), int(numbers[2])
            cut = shape[:number] + (shape[number] - low - high,) + shape[number + 1:]
            return self.table(cut, lambda at: first(at[:number] + (at[number] + low,) + at[number + 1:]))
        pointwise = {
            "add": sum, "mul": math.prod, "max": max, "min": min, "sub": lambda x: x[0] - x[1], "div": lambda x: x[0] / x[1],
            "neg": lambda x: -x[0], "relu": lambda x: max(x[0], 0.0), "exp": lambda x: math.exp(x[0]), "sqrt": lambda x: math.sqrt(x[0]),
            "scale": lambda x: number * x[0], "fill": lambda x: float(number)}[name]
        return self.table(shape, lambda at: pointwise([function(at) for function in functions]))

    def einsum(self, subscripts, operands):
        inside, out = subscripts.split("->")
        terms = [[[(int(factor or 1), label) for factor, label in re.findall(r"(\d*)([A-Za-z])", dim)]
                  for dim in re.findall(r"\d*[A-Za-z](?:\+\d*[A-Za-z])*", operand)] for operand in inside.split(",")]
        extents = {}
        for dims, (shape, _) in zip(terms, operands):
            for dim, extent in zip(dims, shape):
                if len(dim) == 1 and dim[0][0] == 1:
                    extents[dim[0][1]] = extent
        for dims, (shape, _) in zip(terms, operands):
            for dim, extent in zip(dims, shape):
                unknown = [(factor, label) for factor, label in dim if label not in extents]
                rest = extent - 1 - sum(factor * (extents[label] - 1) for factor, label in dim if label in extents)
                for factor, label in unknown:
                    extents[label] = rest // factor + 1
        summed = [label for label in extents if label not in out]

        def element(at):
            total = 0.0
            for rest in itertools.product(*(range(extents[label]) for label in summed)):
                index = dict(zip(out, at)) | dict(zip(summed, rest))
                total += math.prod(function(tuple(sum(factor * index[label] for factor, label in dim) for dim in dims))
                                   for dims, (_, function) in zip(terms, operands))
            return total
        return self.table(tuple(extents[label] for label in out), element)


class Programs(Case):
    def compiled(self, text, flags=()):
        self.write("module.c", text)
        flags = [*STRICT, *flags]
        libraries = blas() if "cblas.h" in text and "-DNO_CBLAS" not in flags else []
        if libraries is None:
            flags, libraries = [*flags, "-DNO_CBLAS"], []
        done = subprocess.run([MPICC, *flags, "module.c", "-o", "module", *libraries, "-lm"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr[:2000])

    def started(self, processes, *arguments):
        return subprocess.run([MPIRUN, "--oversubscribe", "-n", str(processes), self.path("module"), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env=environment(), timeout=120, check=False)

    def lowered(self, module):
        done = retile("lower", "-", "--as", "mpi-c", stdin=module)
        self.assertEqual((done.returncode, done.stderr), (0, ""), module)
        return done.stdout

    def right(self, module, *arguments):
        done = self.started(devices_of(module), *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = re.search(r"^right: (\d+) elements compared on \d+ processes, none off by more than rounding, (.*)\n$", done.stdout, re.M)
        self.assertTrue(found, done.stdout)
        return int(found[1]), [float(line) for line in done.stdout.splitlines()[:-1]]

    def wrong(self, text, module, words="wrong: "):
        self.compiled(text)
        done = self.started(devices_of(module))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, words)

    def test_product_with_its_sum(self):
        module = dict(modules())["dot_product"]
        text = self.lowered(module)
        self.assertIn("cblas_dgemm(", text)
        self.assertIn("reducescatter(", text)
        self.compiled(text)
        self.assertEqual(self.right(module)[0], 64)
        self.assertEqual(self.right(module, "7")[0], 64)
        for old, new in (("(int)2, 1,\n", "(int)2, 2,\n"), (", MPI_SUM, (const", ", MPI_MAX, (const"),
                         ("  for (int64_t i = 0;", "  for (int64_t i = 1;"), ("*v3_z = v2_y;", "*v3_z = v2_y;\n  v3_z[0] += 1e-9;")):
            with self.subTest(new):
                self.assertIn(old, text)
                spoiled = text.replace(old, new)
                self.wrong(spoiled, module, r"^wrong: device \d holds \S+ at element \[\d, \d\], denotes says \S+\n")

    def test_wrong_calls(self):
        module = dict(modules())["stencil"]
        text = self.lowered(module)
        self.compiled(text)
        for processes, arguments in ((3, ()), (4, ("x",)), (4, ("1", "2")), (1, ())):
            done = self.started(processes, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(f"this module is for 4 processes, not {processes}", done.stderr)
        wrong = text.replace("i0 + 2)", "i0 + 1)", 1)
        self.assertNotEqual(wrong, text)
        self.wrong(wrong, module)
        # A module that is wrong says so, too.
        wrong = module.replace("denotes add (sub", "denotes add (add")
        self.assertEqual(retile("check", stdin=wrong).returncode, 1)
        self.wrong(self.lowered(wrong), wrong)

    def test_some(self):
        every = dict(modules())
        for name in ("softmax uneven", "every operation"):
            with self.subTest(name):
                self.check(every[name], ["-DNO_CBLAS", *UNDEFINED])

    def check(self, module, flags):
        """Runs it, and compares what it prints with what Python says of `denotes`."""
        self.compiled(self.lowered(module), flags)
        compared, printed = self.right(module, "5", "print")
        self.assertGreater(compared, 0)
        if len(printed) > 1000:
            return False
        functions = re.search(r"\b(exp|sqrt|div)\b", module)
        differences = []
        for drawing in range(6 if functions else 1):
            try:
                shape, wanted = Denoted(module, 5, drawing).value()
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            wanted = [wanted(at) for at in itertools.product(*map(range, shape))]
            self.assertEqual(len(printed), len(wanted))
            largest = max(map(abs, wanted))
            differences.append(max(abs(a - b) for a, b in zip(printed, wanted)) / (largest or 1))
        self.assertLess(min(differences), 1e-12, differences)
        return True

    def test_what_is_refused(self):
        module = dict(modules())["dot_product"]
        for text, arguments, words in (
            (module.replace("denotes", "# "), ["--as", "mpi-c"], "a module without denotes"),
            (module, ["--as", "jax"], "no module is printed as jax"),
            (module, ["--as", "mpi-c", "--network", "*:1GB/s:1us"], "has elements and plans of its own"),
            (module, ["--as", "mpi-c", "--dtype", "f32"], "has elements and plans of its own"),
            (module, ["--as", "mpi-c", "--json"], "--json is a form of its own"),
            (STEPS.replace("unreduce groups=[2,2]<=[4]", "unreduce groups=[2,2]<=[2,2]T(1,0)"),
             ["--as", "mpi-c"], "are not right"),
        ):
            with self.subTest(words):
                done = retile("lower", "-", *arguments, stdin=text)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)

    def test_comments_end_where_lines_do(self):
        module = dict(modules())["rows"].replace('{ einsum "ik,kj->ij" }', '{ # */ ??/ \\\nr = einsum "ik,kj->ij" x p\nreturn r\n}')
        text = self.lowered(module)
        self.assertNotIn("??", text)
        self.compiled(text)
        self.right(module)


class Every(Programs):
    def test_every_module(self):
        judged = beside = 0
        for number, (name, module) in enumerate(modules()):
            with self.subTest(name):
                self.assertLessEqual(devices_of(module), 8)
                self.assertEqual(retile("check", stdin=module).returncode, 0)
                self.check(module, ["-DNO_CBLAS", *UNDEFINED])
                beside += self.check(module, [])
                judged += 1
        print(f"{judged} modules, of which Python evaluated {beside}, too")
        self.assertGreaterEqual(judged, 30)
        self.assertGreaterEqual(beside, 30)


if __name__ == "__main__":
    main()
