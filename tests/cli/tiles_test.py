"""`retile run --input-tiles --output-tiles`: a .npy file for the tile of each device, by the simulator and on processes of MPI.

What a tile must hold is cut out of the array here, as numpy's slices would, from boxes that stand beside every problem.
"""

import itertools
import json
import os
import resource
import signal
import subprocess

from support import RETILE, Case, counting, environment, main, npy, npy_parts, retile

SIZES = {"<f4": 4, ">i8": 8, "|u1": 1}

# Mesh, FROM, TO, shape, and the boxes of the devices at both ends: a begin and an end for every dimension, or nothing.
EVEN = ("a:2,b:2", "[8{a}16, 12]", "[16, 3{b,a}12]", (16, 12),
        [[(8 * a, 8 * a + 8), (0, 12)] for a in (0, 1) for _ in (0, 1)],
        [[(0, 16), (3 * (2 * a + b), 3 * (2 * a + b) + 3)] for a in (0, 1) for b in (0, 1)])
TWO = ("p:2", "[3{p}5, 4]", "[5, 4]", (5, 4), [[(0, 3), (0, 4)], [(3, 5), (0, 4)]], [[(0, 5), (0, 4)]] * 2)
UNEVEN = ("p:4", "[4~{p}10, 3]", "[3={p}10, 3]", (10, 3),
          [[(0, 4), (0, 3)], [(4, 8), (0, 3)], [(8, 10), (0, 3)], None],
          [[(0, 3), (0, 3)], [(3, 6), (0, 3)], [(6, 8), (0, 3)], [(8, 10), (0, 3)]])
REPLICAS = ("a:2,b:2", "[6, 4]", "[6, 2{b}4]", (6, 4), [[(0, 6), (0, 4)]] * 4, [[(0, 6), (2 * b, 2 * b + 2)] for _ in (0, 1) for b in (0, 1)])
PROBLEMS = {"even": EVEN, "two": TWO, "uneven": UNEVEN, "replicas": REPLICAS}

SUM = "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[8]\nto sum{y}[8]\nallpermute source=[0,2,1,3]\n"
ADDED = "retile.program/2\nmesh x:4\nfrom sum{x}[8]\nto [2{x}8]\nreducescatter dim=0 groups=[1,4]<=[4]\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def sliced(data, size, shape, box):
    """The bytes of array[begin:end, ..] in C order."""
    out = b""
    for index in itertools.product(*(range(begin, end) for begin, end in box)):
        linear = 0
        for at, extent in zip(index, shape):
            linear = linear * extent + at
        out += data[linear * size:(linear + 1) * size]
    return out


def problem(mesh, start, end):
    return ["--mesh", mesh, start, end]


class Tiles(Case):
    """The tests; each backend has them all."""

    backend = []

    def setUp(self):
        super().setUp()
        self.inputs, self.outputs = self.path("in-{}.npy"), self.path("out-{}.npy")

    def run_tiles(self, *arguments, **options):
        return retile("run", *self.backend, *arguments, **options)

    def write_tiles(self, descr, boxes, tile):
        for device, box in enumerate(boxes):
            if box is not None:
                self.write(f"in-{device}.npy", npy([end - begin for begin, end in box], descr, tile(device)))

    def even_tiles(self, descr="<f4"):
        data = counting(16 * 12, 4)
        self.write_tiles(descr, EVEN[4], lambda device: sliced(data, 4, EVEN[3], EVEN[4][device]))
        return problem(*EVEN[:3])

    def nothing_written(self):
        self.assertEqual([name for name in os.listdir(self.folder) if "out" in name], [])

    def test_there_and_back(self):
        for name, (mesh, start, end, shape, old, new) in PROBLEMS.items():
            for descr, size in SIZES.items():
                if name != "even" and descr != ">i8" or descr == "<f4":
                    continue  # what is not even is read and written by the same code for all sizes
                with self.subTest(problem=name, descr=descr):
                    elements = 1
                    for extent in shape:
                        elements *= extent
                    data = counting(elements, size)
                    whole = self.write("whole.npy", npy(shape, descr, data))
                    self.accepted(self.run_tiles(*problem(mesh, start, end), "--input", whole, "--output-tiles", self.outputs))
                    for device, box in enumerate(new):
                        header, tile = npy_parts(read(self.path(f"out-{device}.npy")))
                        self.assertIn(f"'descr': '{descr}'", header)
                        self.assertIn(f"'shape': {tuple(e - b for b, e in box)}", header)
                        self.assertEqual(tile, sliced(data, size, shape, box))
                    # What was written is what the other direction starts from.
                    back = self.run_tiles(*problem(mesh, end, start), "--input-tiles", self.outputs, "--output", self.path("back.npy"))
                    self.accepted(back)
                    self.assertEqual(read(self.path("back.npy")), read(whole))
                    self.write_tiles(descr, old, lambda device, box=old: sliced(data, size, shape, box[device]))
                    self.accepted(self.run_tiles(*problem(mesh, start, end), "--input-tiles", self.inputs, "--output-tiles",
                                                 self.path("again-{}.npy"), "--json"))
                    for device in range(len(new)):
                        self.assertEqual(read(self.path(f"again-{device}.npy")), read(self.path(f"out-{device}.npy")))

    def test_a_device_without_elements_has_no_file(self):
        mesh, start, end, shape = UNEVEN[:4]
        whole = self.write("whole.npy", npy(shape, "|u1", counting(30, 1)))
        self.accepted(self.run_tiles(*problem(mesh, end, start), "--input", whole, "--output-tiles", self.outputs))
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if "out" in name), ["out-0.npy", "out-1.npy", "out-2.npy"])

    def test_addends(self):
        data = [counting(8, 4), counting(16, 4)[32:]]
        for device in range(4):
            self.write(f"in-{device}.npy", npy((8,), "<i4", data[device // 2]))
        program = self.write("sum.txt", SUM)
        self.accepted(self.run_tiles("--program", program, "--input-tiles", self.inputs, "--output-tiles", self.outputs))
        for device in range(4):
            self.assertEqual(npy_parts(read(self.path(f"out-{device}.npy")))[1], data[device % 2])
        backwards = self.write("back.txt", SUM.replace("from sum{x}[8]\nto sum{y}", "from sum{y}[8]\nto sum{x}"))
        self.accepted(self.run_tiles("--program", backwards, "--input-tiles", self.outputs, "--output-tiles", self.path("back-{}.npy")))
        for device in range(4):
            self.assertEqual(read(self.path(f"back-{device}.npy")), read(self.path(f"in-{device}.npy")))

    def test_addends_that_are_added(self):
        numbers = [[1000 * device + k for k in range(8)] for device in range(4)]
        for device in range(4):
            self.write(f"in-{device}.npy", npy((8,), "<i8", b"".join(n.to_bytes(8, "little") for n in numbers[device])))
        program = self.write("sum.txt", ADDED)
        done = self.run_tiles("--program", program, "--input-tiles", self.inputs, "--output", self.path("sum.npy"))
        self.accepted(done)
        self.assertIn("right: 8 elements compared on 4 processes", done.stdout)
        wanted = b"".join((6000 + 4 * k).to_bytes(8, "little") for k in range(8))
        self.assertEqual(npy_parts(read(self.path("sum.npy")))[1], wanted)

    def test_replicas_that_differ_are_no_array(self):
        mesh, start, end, shape, old, _ = REPLICAS
        data = counting(24, 4)
        self.write_tiles("<f4", old, lambda device: data[:36] + b"!" + data[37:] if device == 2 else data)
        done = self.run_tiles(*problem(mesh, start, end), "--input-tiles", self.inputs, "--output-tiles", self.outputs)
        self.refused(done, 2, r"--input-tiles: the tiles of devices 0 and 2 differ in the element \[2, 1\], which both hold")
        self.nothing_written()

    def test_files_that_do_not_fit(self):
        example = self.even_tiles()
        path = self.path("in-2.npy")
        good = read(path)
        bad = {
            "truncated": good[:-1], "follow the last element": good + b"x", "no .npy file": b"",
            r"an array of shape \[12, 8\], where \[8, 12\] is the tile of device 2": npy((12, 8), "<f4", bytes(384)),
            "elements of type <i4, where the first tile holds <f4": npy((8, 12), "<i4", bytes(384)),
            "elements of type >f4, where the first tile holds <f4": npy((8, 12), ">f4", bytes(384)),
            "Fortran order": npy((8, 12), "<f4", bytes(384), fortran=True),
        }
        for words, content in bad.items():
            with self.subTest(words=words):
                self.write("in-2.npy", content)
                self.refused(self.run_tiles(*example, "--input-tiles", self.inputs, "--output-tiles", self.outputs), 2, words)
                self.nothing_written()
        os.remove(path)
        self.refused(self.run_tiles(*example, "--input-tiles", self.inputs), 2, "the file cannot be opened: No such file")
        os.mkdir(path)
        self.refused(self.run_tiles(*example, "--input-tiles", self.inputs), 2, "this is a directory")
        os.rmdir(path)
        self.write("in-2.npy", good)
        self.refused(self.run_tiles(*example, "--input-tiles", self.inputs, "--dtype", "f64"), 2, "--dtype says <f8")
        self.accepted(self.run_tiles(*example, "--input-tiles", self.inputs, "--dtype", "f32"))

    def test_a_foreign_order_of_bytes_goes_through_but_is_not_added(self):
        self.accepted(self.run_tiles(*self.even_tiles(">f4"), "--input-tiles", self.inputs, "--output-tiles", self.outputs))
        self.assertIn("'descr': '>f4'", npy_parts(read(self.path("out-3.npy")))[0])
        for device in range(4):
            self.write(f"in-{device}.npy", npy((8,), ">i8", bytes(64)))
        done = self.run_tiles("--program", self.write("sum.txt", ADDED), "--input-tiles", self.inputs)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("another byte order", done.stderr)

    def test_outputs_that_cannot_be_written(self):
        example = problem(*EVEN[:3])
        os.mkdir(self.path("out-1.npy"))
        self.refused(self.run_tiles(*example, "--output-tiles", self.outputs), 4, r"the output is a directory\n  .*out-1\.npy")
        os.rmdir(self.path("out-1.npy"))
        self.refused(self.run_tiles(*example, "--output-tiles", self.path("no/{}.npy")), 4, "the output cannot be written: No such")
        self.nothing_written()

    def test_options_that_contradict(self):
        example = problem(*EVEN[:3])
        for option in ("--input", "--output"):
            done = self.run_tiles(*example, option, "a.npy", option + "-tiles", "{}.npy")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"error: {option} is one file with the array, and {option}-tiles are several", done.stderr)
            for pattern in ("a.npy", "{}-{}.npy", "{0}.npy"):
                self.refused(self.run_tiles(*example, option + "-tiles", pattern), 2,
                             option + "-tiles: {} must stand in it once, for the number of the device")
            self.refused(self.run_tiles(*example, option + "-tiles", ""), 2, option + "-tiles")
            self.refused(retile("run", *example, "--backend", "cuda", option + "-tiles", "{}.npy"), 4, "moves the generated array, no files")
        self.nothing_written()


class Sim(Tiles):
    backend = ["--backend", "sim"]

    def test_the_report_is_that_of_one_file(self):
        example = self.even_tiles()
        done = self.run_tiles(*example, "--input-tiles", self.inputs, "--output-tiles", self.outputs, "--json")
        self.accepted(done)
        whole = self.write("whole.npy", npy(EVEN[3], "<f4", counting(192, 4)))
        one = json.loads(self.run_tiles(*example, "--input", whole, "--output", self.path("one.npy"), "--json").stdout)
        several = json.loads(done.stdout)
        self.assertEqual(list(several), list(one))
        one.pop("seconds"), several.pop("seconds")
        self.assertEqual(several, one)

    def test_a_full_disk(self):
        long = ["--mesh", "x:2", "[1{x}2, 300000]", "[2, 150000{x}300000]"]
        done = subprocess.run([RETILE, "run", *self.backend, *long, "--output-tiles", self.outputs], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment(), timeout=60, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.assertEqual(done.returncode, 4, done)
        self.assertRegex(done.stderr.decode(), "error: .*the output of 1200128 bytes cannot be written: File too large\n")
        self.nothing_written()

    def test_a_signal_leaves_nothing(self):
        long = ["--mesh", "x:16", "[128{x}2048, 2048]", "[2048, 128{x}2048]", "--repeat", "100000"]
        job = subprocess.Popen([RETILE, "run", *self.backend, *long, "--output-tiles", self.outputs], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env=environment())
        self.addCleanup(job.stderr.close)
        said = b""
        while b"move" not in said and job.poll() is None:
            said += job.stderr.readline()
        self.assertEqual(len(os.listdir(self.folder)), 16, said)
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=30)
        self.assertEqual((job.returncode, os.listdir(self.folder)), (-signal.SIGTERM, []))

    def test_modules_take_none(self):
        self.write("m.spmd", "")
        done = retile("run", self.path("m.spmd"), *self.backend, "--input-tiles", "{}.npy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a module's parameters and result are whole arrays", done.stderr)


class Processes(Tiles):
    backend = ["--backend", "mpi"]

    def test_every_strategy(self):
        example = self.even_tiles()
        for strategy in ("exchange", "collectives", "inplace"):
            self.accepted(self.run_tiles(*example, "--strategy", strategy, "--input-tiles", self.inputs, "--output-tiles",
                                         self.path(strategy + "-{}.npy")))
            for device in range(4):
                self.assertEqual(npy_parts(read(self.path(f"{strategy}-{device}.npy")))[1],
                                 sliced(counting(192, 4), 4, EVEN[3], EVEN[5][device]))

    def test_floating_sums_by_collectives_have_no_order(self):
        for device in range(4):
            self.write(f"in-{device}.npy", npy((8,), "<f4", bytes(32)))
        program = self.write("sum.txt", ADDED)
        self.accepted(self.run_tiles("--program", program, "--input-tiles", self.inputs))
        done = self.run_tiles("--program", program, "--input-tiles", self.inputs, "--strategy", "collectives")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("MPI chooses the order", done.stderr)


del Tiles  # the tests of both, and none itself

if __name__ == "__main__":
    main()
