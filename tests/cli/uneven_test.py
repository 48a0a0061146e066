"""Tiles that are not all alike, from outside: plans are right, both checkers agree on them and on spoiled ones."""

import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

from support import Case, counting, main, npy, npy_parts, retile

ORACLE = os.environ["RETILE_ORACLE"]
FIELDS = ["right", "within_bound", "height", "bound", "cost", "steps", "first_wrong_step", "reason"]


def oracle_check(program):
    """The exit code of retile-oracle, and its verdict in the words of JSON."""
    done = subprocess.run([ORACLE, "check"], input=program, capture_output=True, text=True, check=False)
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    return done.returncode, {field: lines[field] for field in FIELDS if field in lines}


def word(value):
    return "null" if value is None else json.dumps(value).strip('"')


class Draws:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def dimension(self, axes, size):
        if not axes:
            return str(size)
        names = ",".join(name for name, _ in axes)
        tiles = 1
        for _, extent in axes:
            tiles *= extent
        tile = -(-size // tiles)
        kind = self.random.random()
        if kind < 0.3:
            return f"{tile}{{{names}}}{size}"
        if kind < 0.5:
            return f"{tile}={{{names}}}{size}"
        if kind < 0.7:
            return f"{tile + self.random.randint(0, 2)}~{{{names}}}{size}"
        if kind < 0.9:
            inner = sorted(self.random.randint(0, size) for _ in range(tiles - 1))
            return f"({','.join(map(str, [0] + inner + [size]))}){{{names}}}{size}"
        most = min(2, size)
        return f"{tile}{{{names}}}{size}<{self.random.randint(0, most)},{self.random.randint(0, most)}>"

    def type(self, mesh, sizes):
        if self.random.random() < 0.08:
            return f"[{', '.join(map(str, sizes))}]@{self.random.randrange(mesh[0][1] * mesh[1][1])}"
        split = [[] for _ in range(len(sizes) + 1)]
        for axis in self.random.sample(mesh, len(mesh)):
            self.random.choice(split).append(axis)
        return f"[{', '.join(self.dimension(axes, size) for axes, size in zip(split, sizes))}]"

    def problem(self):
        mesh = [("x", self.random.choice([2, 3, 4])), ("y", self.random.choice([2, 3]))]
        sizes = [self.random.randint(1, 9) for _ in range(self.random.choice([1, 2]))]
        text = ",".join(f"{name}:{extent}" for name, extent in mesh)
        return text, self.type(mesh, sizes), self.type(mesh, sizes)

    def spoiled(self, program):
        """The Program with one number changed, as one of version 2."""
        body = program.split("\n", 1)[1]
        number = self.random.choice(list(re.finditer(r"\d+", body)))
        changed = max(0, int(number.group()) + self.random.choice([-1, 1, 2]))
        return f"retile.program/2\n{body[:number.start()]}{changed}{body[number.end():]}"


class Uneven(Case):
    def compare(self, program):
        """What both checkers say of it: nothing where both refuse to read it."""
        ours = retile("check", "--json", stdin=program)
        code, theirs = oracle_check(program)
        self.assertEqual(ours.returncode == 2, code == 2, (ours, code, program))
        if code == 2:
            return "refused"
        verdict = json.loads(ours.stdout)
        said = {field: word(verdict[field]) for field in FIELDS if field in verdict}
        self.assertEqual(said, theirs, program)
        return verdict.get("reason", "right")

    def test_plans_are_right_and_both_checkers_agree_on_spoiled_ones(self):
        draws = Draws(2)
        reasons = {}
        for _ in range(30):
            mesh, source, target = draws.problem()
            program = self.output("lower", "--mesh", mesh, source, target)
            self.assertEqual(self.compare(program), "right", (mesh, source, target))
            for _ in range(4):
                reason = self.compare(draws.spoiled(program))
                reasons[reason] = reasons.get(reason, 0) + 1
        print(reasons)
        for reason in ["right", "refused", "transfers", "end", "tile_claim"]:
            self.assertGreater(reasons.get(reason, 0), 2, reasons)

    def output(self, *arguments):
        done = retile(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def test_what_takes_even_tiles_only_refuses_others_by_name(self):
        problem = ("--mesh", "x:4", "[3{x}10]", "[10]")
        for arguments in (("prove", *problem, "--certificate", "-"), ("run", *problem, "--backend", "cuda"),
                          ("plan", *problem, "--certificate", "-")):
            done = retile(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("not all alike", done.stderr)

    def test_a_proof_looks_at_every_device(self):
        proof = json.loads(self.output("prove", "--mesh", "x:4", "[3{x}10]", "[10]", "--json"))
        self.assertEqual((proof["proved"], proof["method"]), (True, "evaluation"))

    def test_in_place_is_refused(self):
        done = retile("run", "--mesh", "x:2,y:2", "[3{y,x}11]", "[6{x}11]", "--strategy", "inplace")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("not all alike", done.stderr)

    def test_collectives_alone(self):
        problem = ("--mesh", "a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]", "--collectives")
        plan = json.loads(self.output("plan", *problem, "--json"))
        self.assertEqual([step["op"] for step in plan["steps"]], ["allgather", "dynslice", "allpermute", "alltoall"])
        self.assertEqual([step["localtype"] for step in plan["steps"]], [[16, 6], [16, 2], [16, 2], [4, 8]])
        self.assertEqual((plan["cost"], plan["height"], plan["bound"], plan["permutes"], plan["optimal"]), (160, 96, 36, 1, False))
        self.assertIn("dim 0: cuts 0 6 12 16 and 0 4 8 12 16 do not nest", plan["reason"])
        program = self.output("lower", *problem)
        self.assertNotIn("exchange", program)
        self.assertEqual(self.compare(program), "right")
        self.assertEqual(retile("check", "--within-bound", stdin=program).returncode, 1)
        for options, strategy in (([], "collectives"), (["--strategy", "collectives"], "collectives"), (["--backend", "sim"], None)):
            done = json.loads(self.output("run", *problem, *options, "--json"))
            self.assertEqual((done["right"], done["elements_checked"], done.get("strategy")), (True, 368, strategy), done)
        self.assertIn("\nwhy: dim 0", self.output("plan", *problem, "--explain"))

    def test_cuts_that_nest_are_planned_with_collectives(self):
        draws = random.Random(7)
        kinds = {}
        for _ in range(24):
            fine, coarse = draws.choice([(4, 2), (6, 2), (6, 3), (4, 4), (3, 3), (2, 2), (4, 1)])
            size = draws.randint(1, 12)
            cuts = [0, *sorted(draws.randint(0, size) for _ in range(fine - 1)), size]
            if draws.random() < 0.3:  # balanced
                cuts = [size // fine * t + min(t, size % fine) for t in range(fine + 1)]
            factor = fine // coarse
            inner, outer = f"b:{factor}", f"a:{coarse}"
            listed = lambda these: "(" + ",".join(map(str, these)) + ")"
            begin = f"{listed(cuts)}{{b,a}}{size}"
            end = f"{listed(cuts[::factor])}{{a}}{size}" if coarse > 1 else str(size)
            other = draws.choice([6, 7, 12])
            tile = f"{-(-other // factor)}{{b}}{other}"
            for source, target in ((f"[{begin}, {other}]", f"[{end}, {other}]"), (f"[{begin}, {other}]", f"[{end}, {tile}]"),
                                   (f"[{begin}, {other}]", f"[{begin}, {other}]")):
                problem = ("--mesh", f"{outer},{inner}", source, target, "--collectives")
                program = self.output("lower", *problem)
                self.assertNotIn("exchange", program, problem)
                self.assertEqual(self.compare(program), "right", problem)
                plan = json.loads(self.output("plan", *problem, "--json"))
                verdict = json.loads(retile("check", "--json", stdin=program).stdout)
                self.assertEqual((plan["cost"], plan["height"]), (verdict["cost"], verdict["height"]), problem)
                run = json.loads(self.output("run", *problem, "--backend", "sim", "--json"))
                self.assertTrue(run["right"], problem)
                for step in plan["steps"]:
                    kinds[step["op"]] = kinds.get(step["op"], 0) + 1
        print(kinds)
        self.assertGreater(kinds["allgather"], 8)
        self.assertGreater(kinds["alltoall"], 8)

    def test_balanced_pencils_are_one_alltoall(self):
        draws = random.Random(8)
        for count in range(16):
            devices, rows, columns = draws.randint(2, 7), draws.randint(1, 40), draws.randint(1, 40)
            dimension = lambda size: f"{-(-size // devices)}={{p}}{size}"
            ends = (f"[{dimension(rows)}, {columns}]", f"[{rows}, {dimension(columns)}]")
            for source, target in (ends, ends[::-1]):
                problem = ("--mesh", f"p:{devices}", source, target)
                plan = json.loads(self.output("plan", *problem, "--collectives", "--json"))
                self.assertEqual([step["op"] for step in plan["steps"]], ["alltoall"], problem)
                program = self.output("lower", *problem, "--collectives")
                self.assertEqual(self.compare(program), "right", problem)
                wrong = program.replace("piece=balanced", "piece=1")
                if "piece=balanced" in program and rows > devices and columns > devices:
                    self.assertNotEqual(self.compare(wrong), "right", wrong)
                for backend in ("sim", "mpi") if count < 2 else ("sim",):
                    done = json.loads(self.output("run", *problem, "--collectives", "--backend", backend, "--json"))
                    self.assertEqual((done["right"], done["elements_checked"]), (True, rows * columns), problem)

    def test_balanced_tiles_say_what_array_split_does(self):
        for devices, size in ((4, 10), (3, 7), (4, 12), (4, 11), (4, 3), (5, 23)):
            tile = -(-size // devices)
            program = self.output("lower", "--mesh", f"p:{devices}", f"[{tile}={{p}}{size}]", f"[{size}]@0")
            widths = [size // devices + (1 if t < size % devices else 0) for t in range(devices)]
            at = [sum(widths[:t]) for t in range(devices + 1)]
            listed = f"[({','.join(map(str, at))}){{p}}{size}]"
            self.assertEqual(program, self.output("lower", "--mesh", f"p:{devices}", listed, f"[{size}]@0"))
        done = retile("plan", "--mesh", "p:4", "[2={p}10]", "[10]")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertEqual(done.stderr, "error: FROM: the largest of 4 tiles of a dimension of 10 elements have 3, not 2 [WF-DIM-CEIL]\n  [2={p}10]\n   ^~~~~~~\n"
                                      "note: axis p has size 4; 3={p}10 is well formed\n")

    def test_limits_in_powers_of_ten_and_orders_with_ranges(self):
        problem = ("plan", "--mesh", "x:4", "[8{x}32, 32]", "[32, 8{x}32]", "--json", "--memory-limit")
        for limit, size in (("2kB", 2000), ("2KiB", 2048), ("1MB", 1_000_000), ("3GB", 3_000_000_000), ("1TB", 10**12)):
            done = json.loads(retile(*problem, limit).stdout)
            self.assertEqual(done.get("limit_bytes", size), size, done)
            self.assertEqual(done.get("feasible", True), size >= 2048, done)
        self.assertIn("kB, MB, GB and TB of 1000", retile(*problem, "2kb").stderr)
        ends = ("[3{x}24, 24]", "[24, 3{x}24]")
        for options in (("--order", "[4..7, 0..3]"), ("--order-to", "[4..7,0 .. 3]")):
            listed = (options[0], "[4,5,6,7,0,1,2,3]")
            for verb in ("plan", "lower"):
                self.assertEqual(self.output(verb, "--mesh", "x:8", *options, *ends, "--json").replace(" ", ""),
                                 self.output(verb, "--mesh", "x:8", *listed, *ends, "--json").replace(" ", ""))
        done = retile("plan", "--mesh", "x:8", "--order", "[0..8]", *ends)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("with 0..8 there are more than 8 numbers\n  [0..8]\n      ^\n", done.stderr)

    def test_what_no_step_cuts_is_an_exchange(self):
        problem = ("--mesh", "p:2", "[3, 2{p}4]", "[(0,1,3){p}3, 4]")
        self.assertTrue(self.output("plan", *problem).endswith("dim 0: no step cuts at 0 1 3\n"))
        done = retile("plan", *problem, "--collectives")
        self.assertEqual((done.returncode, done.stdout), (1, "no plan of collectives alone: dim 0: no step cuts at 0 1 3\n"), done)
        # Equal pieces, blocks and balanced ones are cut, whatever the tile.
        for cuts, piece in (("(0,1,2,4,6)", ""), ("(0,2,3,5,6)", " piece=2"), ("(0,2,3,6,8)", " piece=balanced")):
            size = cuts.strip("()").split(",")
            program = self.output("lower", "--mesh", "a:2,b:2", f"[({size[0]},{size[2]},{size[4]}){{a}}{size[4]}]", f"[{cuts}{{b,a}}{size[4]}]", "--collectives")
            self.assertIn(f"dynslice dim=0 groups=[2,2]<=[4]{piece} tile", program)
            self.assertEqual(self.compare(program), "right")

    def test_what_collectives_do_not_reach_has_no_plan(self):
        for problem, reason in ((("[3{p}12]", "[3{p}12<1,1>]"), "tiles of to have halos"), (("[12]@1", "[12]"), "from lists its tiles"),
                                (("[3{p}12]", "[3{p}12]", "--order-to", "[3,1,0,2]"), "the order of to lists devices"),
                                (("[3{p}12]", "[12]", "--mesh-to", "p:5"), "from stands on 4 of 5 devices")):
            for verb in ("plan", "lower", "run"):
                done = retile(verb, "--mesh", "p:4", *problem, "--collectives")
                self.assertEqual((done.returncode, done.stderr), (1, ""), done)
                self.assertIn(reason, done.stdout)
                done = json.loads(retile(verb, "--mesh", "p:4", *problem, "--collectives", "--json").stdout)
                self.assertEqual((done["feasible"], reason in done["reason"]), (False, True), done)
        # That there is none holds whatever it would cost. Where there may be one, its bytes are not counted: that is no answer.
        halos = ("plan", "--mesh", "p:4", "[3{p}10]", "[3{p}10<1,1>]", "--collectives", "--cost", "bytes")
        done = retile(*halos)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done)
        self.assertIn("tiles of to have halos", done.stdout)
        for end in ("[10]", "[4~{p}10]"):
            done = retile("plan", "--mesh", "p:4", "[3{p}10]", end, "--collectives", "--cost", "bytes")
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("bytes are planned for even tiles only", done.stderr)
        # What the tiles hold in the array counts, not what they would hold filled up.
        self.assertIn("dynslice x: dim 0", self.output("plan", "--mesh", "x:2", "[3]", "[2{x}3]", "--collectives", "--memory-limit", "12"))
        self.assertEqual(retile("plan", "--mesh", "x:2", "[3]", "[2{x}3]", "--collectives", "--memory-limit", "11").returncode, 1)
        problem = ("plan", "--mesh", "p:2,q:3", "[3{q}7, 12]", "[4{p}7, 12]", "--collectives")
        limit = json.loads(retile(*problem, "--memory-limit", "100", "--json").stdout)["smallest_feasible_bytes"]
        self.assertEqual(retile(*problem, "--memory-limit", str(limit)).returncode, 0)
        done = retile(*problem, "--memory-limit", str(limit - 1))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(f"the least that suffices is {limit}", done.stdout)

    def test_collectives_with_what_they_exclude(self):
        problem = ("--mesh", "p:2,q:3", "[3{q}7]", "[4{p}7]", "--collectives")
        for arguments, message in ((("lower", *problem, "--direct"), "--direct is an exchange"),
                                   (("run", *problem, "--strategy", "exchange"), "no other strategy"),
                                   (("run", *problem, "--backend", "cuda"), "so --collectives says nothing"),
                                   (("run", "--program", "x", "--collectives"), "--collectives is for planning"),
                                   (("plan", *problem, "--cost", "bytes"), "even tiles only"),
                                   (("plan", *problem, "--certificate", "-"), "no certificates yet")):
            done = retile(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(message, done.stderr)

    def test_runs_compare_every_element_and_keep_files(self):
        with tempfile.TemporaryDirectory() as folder:
            array, out = f"{folder}/a.npy", f"{folder}/b.npy"
            self.output("run", "--mesh", "z:1", "[16, 23]", "[16, 23]", "--backend", "sim", "--dtype", "i16", "--output", array)
            for source, target, elements in (
                    ("[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]", 368), ("[16, 23]@3", "[4{b}16, (0,3,3,23){a}23]", 368),
                    ("[4{b}16, (0,3,3,23){a}23]", "[16, 23]@11", 368), ("[6{a}16<1,1>, 23]", "[16, 6{b}23]", 16 * 23 * 3)):
                for backend in ("sim", "mpi") if source.endswith("3") else ("sim",):
                    done = json.loads(self.output("run", "--mesh", "a:3,b:4", source, target, "--backend", backend, "--json",
                                                  "--input", array, "--output", out))
                    self.assertTrue(done["right"], done)
                    self.assertEqual(done["elements_checked"], elements, (source, target))
                    self.assertEqual(pathlib.Path(out).read_bytes(), pathlib.Path(array).read_bytes(), (source, target))
            done = retile("run", "--mesh", "a:3,b:4", "[6{a}16, 23]", "[6{a}16<1,1>, 23]", "--backend", "sim", "--output", out)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("do not cover the array exactly once", done.stderr)

    def test_blocks_that_nest_are_planned_in_a_view(self):
        problem = ["--mesh", "d:4", "[8{d}32]", "[2@{d}32]"]
        self.assertEqual(self.output("plan", *problem),
                         "alltoall d: dim 0 -> dim 1; cost 8, height 8 (bound 8)\nin the view [4, 4, 2] of the array\n")
        self.assertIn("optimal: in this view no sequence of", self.output("plan", *problem, "--explain"))
        self.assertEqual(json.loads(self.output("plan", *problem, "--json"))["view"], [4, 4, 2])
        program = self.output("lower", *problem)
        self.assertIn("\nview [4,4,2]\n", program)
        self.assertEqual(oracle_check(program)[0], 0)
        # What is written is the array, and its tiles: blocks 1 and 5, 9 and 13.
        with tempfile.TemporaryDirectory() as folder:
            array, out = pathlib.Path(folder, "a.npy"), pathlib.Path(folder, "b.npy")
            array.write_bytes(npy((32,), "<i4", counting(32, 4)))
            for words in (["--backend", "sim"], ["--backend", "mpi"], ["--backend", "mpi", "--strategy", "collectives"]):
                with self.subTest(words=words):
                    for output in (["--output", str(out)], ["--output-tiles", f"{folder}/t{{}}.npy"]):
                        done = json.loads(self.output("run", *problem, *words, "--json", "--input", str(array), *output))
                        self.assertEqual((done["right"], done["elements_checked"]), (True, 32))
                    self.assertEqual(out.read_bytes(), array.read_bytes())
                    header, tile = npy_parts(pathlib.Path(folder, "t1.npy").read_bytes())
                    self.assertIn("'shape': (8,)", header)
                    whole = counting(32, 4)
                    self.assertEqual(tile, b"".join(whole[8 * b:8 * b + 8] for b in (1, 5, 9, 13)))
        done = retile("plan", *problem, "--certificate", "-")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("no certificates yet", done.stderr)
        # Text for others has arrays of the view.
        for form in ("jax", "hlo", "mpi-c"):
            self.assertIn("from [1{d}4, 4, 2], a view of [8{d}32]\n", self.output("lower", *problem, "--as", form))

    def test_meshes_and_orders_of_two_ends(self):
        draws = random.Random(3)
        for _ in range(25):
            start, end = draws.randint(1, 6), draws.randint(1, 6)
            size = draws.randint(1, 13)
            options = ["--mesh", f"x:{start}", f"[{-(-size // start)}{{x}}{size}]"]
            options += ["--mesh-to", f"y:{end}", f"[{-(-size // end)}{{y}}{size}]"]
            for option, count in (("--order", start), ("--order-to", end)):
                if draws.random() < 0.7:
                    options += [option, json.dumps(draws.sample(range(count + draws.randint(0, 3)), count))]
            program = self.output("lower", *options)
            self.assertEqual(self.compare(program), "right", options)
            done = json.loads(self.output("run", *options, "--backend", "sim", "--json"))
            self.assertTrue(done["right"], options)

    def test_an_order_alone_is_one_permutation(self):
        problem = ("--mesh", "x:2,y:3", "--order-to", "[6]<=[3,2]T(1,0)", "[3{x}6, 2{y}6]", "[3{x}6, 2{y}6]")
        plan = json.loads(self.output("plan", *problem, "--json"))
        self.assertEqual([step["op"] for step in plan["steps"]], ["allpermute"])
        self.assertEqual((plan["cost"], plan["optimal"]), (6, True))
        self.assertEqual((plan.get("order"), plan["order_to"]), (None, "[6]<=[3,2]T(1,0)"))
        program = json.loads(self.output("lower", *problem, "--json"))
        self.assertEqual(self.compare(self.output("lower", *problem)), "right")
        self.assertEqual(program["steps"][0]["source"], "[6]<=[2,3]T(1,0)")  # the inverse: 0 3 1 4 2 5
        same = ("--mesh", "x:2,y:3", "--order", "[6]<=[3,2]T(1,0)", "[3{x}6, 6]", "[6, 2{y}6]")
        self.assertIn("allgather", self.output("plan", *same))
        self.assertEqual(self.compare(self.output("lower", *same)), "right")

    def test_a_list_that_both_ends_share_is_planned_as_positions_are(self):
        draws = random.Random(4)
        for source, target in (("[3{x,y}16, 4]", "[16, 1{x,y}4]"), ("[2{x,y}12, 6]", "[6{x}12, 2{y}6]"), ("[4{x,y}24]", "[8{y}24]")):
            plain = ("--mesh", "x:2,y:3", source, target)
            order = json.dumps(draws.sample(range(6), 6))
            for options in ((), ("--collectives",)):
                want = json.loads(self.output("plan", *plain, *options, "--json"))
                plan = json.loads(self.output("plan", *plain, "--order", order, *options, "--json"))
                self.assertEqual((plan["steps"], plan["cost"], plan["optimal"]), (want["steps"], want["cost"], want["optimal"]))
                self.assertEqual(self.compare(self.output("lower", *plain, "--order", order, *options)), "right")
                if options:
                    run = json.loads(self.output("run", *plain, "--order", order, *options, "--json"))
                    self.assertEqual((run["right"], run["processes"]), (True, 6))

    def test_a_shared_order_is_drawn_and_certified(self):
        problem = ("--mesh", "x:2,y:2", "--order", "[1,3,2,0]", "[2{x}4]", "[1{x,y}4]")
        with tempfile.TemporaryDirectory() as folder:
            picture, certificate = os.path.join(folder, "p.svg"), os.path.join(folder, "c.rp")
            self.output("plan", *problem, "--svg", picture, "--certificate", certificate)
            self.assertIn("largest in between", pathlib.Path(picture).read_text())
            self.assertIn("\ndevices [1,3,2,0]\n", pathlib.Path(certificate).read_text())
            done = subprocess.run([ORACLE, "certify", "--optimal", certificate], text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done)
            # An iota that leaves no digits is none of a list.
            turned = ("--mesh", "x:2,y:3", "--order", "[6]<=[2,3]T(1,0)", "[1{x,y}6]", "[6]")
            done = retile("plan", *turned, "--certificate", certificate)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("there are no certificates yet for devices whose order", done.stderr)

    def test_an_iota_of_many_devices_is_not_listed(self):
        many = 2**31
        order = f"[{many}]<=[2,{many // 2}]T(1,0)"
        for option in ("--order", "--order-to"):
            plan = self.output("plan", "--mesh", f"x:{many}", option, order, f"[1{{x}}{many}]", f"[{many}]")
            self.assertTrue(plan.startswith(f"allgather x: dim 0; cost {many}"), plan)

    def test_what_every_device_holds_costs_nothing(self):
        for mesh, source, target in (("a:2,b:4", "[16, 1{a,b}1]", "[16, 1{b,a}1]"), ("a:2", "[1{a}1, 1]", "[1, 1{a}1]"),
                                     ("a:2", "[5]", "[5~{a}5]")):
            for options in ((), ("--memory-limit", "1000")):
                plan = json.loads(self.output("plan", "--mesh", mesh, source, target, *options, "--json"))
                self.assertEqual((plan["cost"], plan["optimal"]), (0, True), (mesh, source, target))

    def test_where_the_exchange_that_moves_nothing_is_too_large_steps_do(self):
        problem = ("plan", "--mesh", "x:2,y:2,z:2", "[8, 1{y,x}1]", "[4{z}8, 1{x,y}1]")
        self.assertTrue(self.output(*problem, "--memory-limit", "48").startswith("exchange; cost 0"))
        self.assertTrue(self.output(*problem, "--memory-limit", "32").startswith("dynslice"))
        self.assertIn("the least that suffices is 32", retile(*problem, "--memory-limit", "31").stdout)

    def test_a_plan_within_a_limit_is_the_cheapest_that_was_found(self):
        for mesh, source, target, *options in (("a:2,b:3", "[23, 11{a}22]", "[12{a}23, 22]"),
                                               ("a:2,b:5", "[20, 2{a:2}3]", "[10{a}20, 3]", "--collectives", "--dtype", "i16")):
            problem = ("--mesh", mesh, source, target, *options, "--json")
            free = json.loads(self.output("plan", *problem))
            limit = free["resident"] * (2 if "i16" in options else 4)
            self.assertEqual(json.loads(self.output("plan", *problem, "--memory-limit", str(limit)))["cost"], free["cost"])

    def test_the_reason_under_a_limit_speaks_of_collectives(self):
        problem = ("--mesh", "a:2,b:1,c:2", "--dtype", "i16", "[(0,7,13){a}13, 24, 1{c}2]", "[13, 17~{b,c}24, 2]")
        self.assertIn("allgather", self.output("plan", *problem))
        self.assertEqual(self.output("plan", *problem, "--memory-limit", "1220"),
                         "exchange; cost 442, height 442 (bound 442)\ncollectives hold more than 1220 bytes\n")

    def test_what_the_least_limit_promises_a_run_keeps(self):
        problem = ("--mesh", "x:2", "--order-to", "[1,0]", "[3, 19]", "[3, 10{x}19]")
        for verb in (("plan",), ("run", "--backend", "sim")):
            self.output(*verb, *problem, "--memory-limit", "348")
            self.assertEqual(retile(*verb, *problem, "--memory-limit", "347").returncode, 1)

    def test_processes_on_no_mesh_run_along(self):
        done = json.loads(self.output("run", "--mesh", "x:2", "--order-to", "[3,4]", "[2{x}4, 3]", "[4, 2{x}3]", "--json"))
        self.assertEqual((done["right"], done["processes"], done["elements_checked"]), (True, 5, 12))

    def test_orders_that_are_none_are_refused(self):
        problem = ("[2{x}4]", "[4]")
        for options, message in ((("--order", "[0]"), "order has 1 entry, the mesh has 2 positions"),
                                 (("--order", "[1,1]"), "device 1 stands twice"), (("--order-to", "[0,-1]"), "--order-to"),
                                 (("--order", "[0,2147483648]"), "there is no device 2147483648"),
                                 (("--mesh-to", ""), "--mesh-to"),
                                 (("--mesh-to", "y:2,y:2"), "--mesh-to"), (("--order", ""), "--order")):
            done = retile("plan", "--mesh", "x:2", *options, *problem)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(message, done.stderr)
        for option, to in (("--order", "[4]@1"), ("--order-to", "[2{x}4]"), ("--order-to", "[4]@1")):
            done = retile("plan", "--mesh", "x:2", option, "[0,2147483647]", "[4]", to)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done)
            self.assertTrue(done.stderr.startswith(f"error: {option}: too many devices"), done)
            self.assertIn("\n  [0,2147483647]\n     ^~~~~~~~~~\n", done.stderr)
        # Both ends on the same two devices are a group.
        self.assertEqual(self.output("plan", "--mesh", "x:2", "--order", "[0,2147483647]", "[4]", "[2{x}4]"),
                         "dynslice x: dim 0; cost 0, height 4 (bound 4)\n")
        # Of the mesh the order may not be the cause.
        done = retile("plan", "--mesh", "x:2147483648", "[4]", "[4]@1")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done)
        self.assertTrue(done.stderr.startswith("error: TO: too many devices"), done)
        done = retile("plan", "--mesh", "x:4", "--order", "[6]<=[3,2]T(1,0)", "[4]", "[4]")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("order has 6 entries, the mesh has 4 positions\n  [6]<=[3,2]T(1,0)\n   ^\n", done.stderr)

    def test_a_plan_says_why_it_is_an_exchange(self):
        plan = json.loads(self.output("plan", "--mesh", "x:2,y:2", "[3{y,x}10]", "[5{x}10]", "--json"))
        self.assertEqual(plan["steps"], [{"op": "exchange", "localtype": [5], "cost": 5,
                                          "reason": "dim 0: cuts 0 3 6 9 10 and 0 5 10 do not nest, so no collective ends there"}])
        self.assertFalse(plan["optimal"])

    def test_the_reason_names_who_stands_where(self):
        three = ("--mesh", "x:4,y:3", "[3{x}10, 2{y}6]", "[3{x}10, 2{y}6]")
        for arguments, reason in (
                (("--mesh", "x:4", "[3{x}12]", "[12]", "--order", "[3,1,0,2]", "--order-to", "[4]<=[4]"), "the order of from lists devices one by one"),
                (("--mesh", "x:4", "[3{x}12]", "[12]", "--order-to", "[3,1,0,4]"), "from stands on 4 of 5 devices"),
                (("--mesh", "x:4", "[12]@1", "[12]", "--order", "[3,1,0,2]"), "from lists its tiles one by one"),
                ((*three, "--order", "[12]<=[2,6]T(1,0)", "--order-to", "[12]<=[3,4]T(1,0)"), "the order of from leaves no tiling in digits"),
                (("--mesh", "x:4", "[3{x}12<1,1>]", "[12]", "--order", "[3,1,0,2]"), "tiles of from have halos")):
            self.assertEqual(self.output("plan", *arguments).splitlines()[-1], reason, arguments)

    def test_an_exchange_promises_a_bound_of_every_device(self):
        text = self.output("plan", "--mesh", "a:3,b:4", "[6{a}16, 6{b}23]", "[4{b}16, 8{a}23]", "--explain")
        # The last device of all has 4 x 5 elements before, and 4 x 7 after.
        self.assertIn("the larger of them at most 36 elements, on one device 28; no step makes any other tile", text)
        text = self.output("plan", "--mesh", "p:4", "[3{p}12]", "[12]@0", "--explain")
        self.assertIn("the larger of them at most 12 elements, on one device 3;", text)

    def test_a_memory_limit_holds_for_exchanges(self):
        problem = ("plan", "--mesh", "x:2,y:2", "[3{y,x}10]", "[5{x}10]")
        self.assertEqual(retile(*problem, "--memory-limit", "32").returncode, 0)
        done = retile(*problem, "--memory-limit", "31")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("the least that suffices is 32", done.stdout)


if __name__ == "__main__":
    main()
