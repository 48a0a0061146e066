"""Modules in `check`, `lower` and `run`: examples, JSON, exit codes, bad input, and the oracle's word on the same texts."""

import json
import re
import os
import subprocess
import tempfile
import time
from pathlib import Path

from support import Case, environment, main, retile

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "spmd"
SMALL = """retile.spmd/1
mesh d:2
fn main(x : [2, 2{d}4], w : [2{d}4, 3]) -> [2, 3]
y = spmd x w { einsum "ik,kj->ij" } as sum{d}[2, 3]
z = redistribute y as [2, 3]
return z
denotes einsum "ik,kj->ij" x w
"""


def oracle(*arguments, stdin):
    return subprocess.run([os.environ["RETILE_ORACLE"], *arguments], input=stdin, capture_output=True, text=True,
                          env=environment(), timeout=120, check=False)


def verdict(text):
    done = retile("check", "--json", stdin=text)
    return done.returncode, json.loads(done.stdout) if done.stdout else None


class Modules(Case):
    def test_listings_are_right(self):
        costs = {"listing_1": 0, "listing_2": 0, "listing_3": 2048, "mlp": 4096}
        for name, cost in costs.items():
            with self.subTest(name):
                code, found = verdict((EXAMPLES / f"{name}.spmd").read_text())
                self.assertEqual((code, found["right"], found["cost"]), (0, True, cost))
                self.assertEqual((found["maxima"], len(found["primes"])), (True, 2) if name == "mlp" else (False, 1))
                self.assertTrue(all(2**61 < prime < 2**62 for prime in found["primes"]))
                self.assertGreaterEqual(found["error_exponent"], 50)
        steps = verdict((EXAMPLES / "listing_3.spmd").read_text())[1]["redistributions"]
        self.assertEqual([(step["value"], step["steps"], step["cost"]) for step in steps], [("z", ["alltoall"], 2048)])

    def test_listing_3_needs_its_redistribution(self):
        lines = (EXAMPLES / "listing_3.spmd").read_text().replace("spmd z w2", "spmd y w2").splitlines(True)
        done = retile("check", stdin="".join(line for line in lines if not line.startswith("z = ")))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("error: stdin:6: the operands of einsum, [32, 64] and [2048, 256], do not fit on device 0 [T-SPMD]", done.stderr)
        self.assertIn("\n                  ^~~~~~\n", done.stderr)

    def test_mlp_of_the_talk(self):
        # Parameters of 8192 elements a device, and what the last redistribution costs by what is wanted.
        talk = retile("partition", str(ROOT / "examples" / "array" / "mlp.array")).stdout
        talk = talk.replace("r:2,s:2", "r:2,s:8").replace("128{s}", "32{s}")
        for wanted, cost in {"[8{r}16, 32{s}256]": 2048, "[8{r}16, 256]": 4096, "[16, 256]": 6144}.items():
            with self.subTest(wanted):
                text = talk.replace("-> sum{s}[8{r}16, 256]", f"-> {wanted}").replace("return y", f"z = redistribute y as {wanted}\nreturn z")
                code, found = verdict(text)
                self.assertEqual((code, found["right"], found["cost"]), (0, True, cost))

    def test_what_partition_prints_is_right_for_both(self):
        for path in sorted((ROOT / "examples" / "array").glob("g[1-7]*.array")):
            with self.subTest(path.name):
                text = retile("partition", str(path)).stdout
                self.assertEqual(verdict(text)[0], 0)
                self.assertEqual(oracle("check", stdin=text).returncode, 0)

    def test_wrong_modules(self):
        for what, by, reason, statement in (
            ("as sum{d}[2, 3]", "as [2, 3]", "replicas", "y"),
            ("denotes einsum", "denotes neg (einsum", "denotes", None),
        ):
            with self.subTest(by):
                text = SMALL.replace(what, by)
                text = text.replace("x w\n", "x w)\n") if statement is None else text
                code, found = verdict(text)
                self.assertEqual((code, found["right"]), (1, False))
                self.assertEqual((found["wrong"]["reason"], found["wrong"]["statement"]), (reason, statement))
                self.assertEqual(oracle("check", stdin=text).returncode, 1)

    def test_chosen_schedules(self):
        path = str(ROOT / "examples" / "array" / "choice.array")
        for limit, cost, inputs in (([], 0, None), (["--memory-limit", "256"], 24, 256), (["--memory-limit", "160"], 48, 160)):
            with self.subTest(limit):
                done = retile("partition", path, "--choose", "--devices", "4", "--json", *limit)
                self.assertEqual(done.returncode, 0, done.stderr)
                found = json.loads(done.stdout)
                self.assertEqual(found["schema"], "retile.choice/1")
                if inputs:
                    self.assertEqual((found["best"]["cost"], found["best"]["input_bytes"]), (cost, inputs))
                code, judged = verdict(found["module"])
                self.assertEqual((code, judged["cost"]), (0, found["best"]["cost"]))
        none = retile("partition", path, "--choose", "--devices", "4", "--memory-limit", "100")
        self.assertEqual((none.returncode, none.stdout), (1, ""))
        self.assertIn("at least 128 bytes", none.stderr)
        for arguments, words in (
            (["--choose"], "--choose needs --devices"),
            (["--devices", "4"], "are for --choose"),
            (["--choose", "--devices", "0"], "--devices"),
            (["--choose", "--devices", "4", "--schedule", "y=i:4"], "--schedule"),
            (["--choose", "--devices", "100000"], "at most 65536 devices"),
        ):
            with self.subTest(words):
                done = retile("partition", path, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)

    def test_what_would_be_with_other_devices_and_limits(self):
        """Every row is what the choice alone says."""
        path = str(ROOT / "examples" / "array" / "choice.array")
        links = "2:100GB/s:1ns,*:2GB/s:1ns"
        for network, cost, bound in (([], "cost", "lower_bound"), (["--network", links], "time_ps", "time_lower_bound_ps")):
            asked = ["partition", path, "--choose", *network]
            done = retile(*asked, "--what-if", "--devices", "2,4,8", "--memory-limit", "none,256B,128", "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found = json.loads(done.stdout)
            self.assertEqual(found["schema"], "retile.what_if/1")
            cases = [(one["devices"], one["memory_limit_bytes"]) for one in found["cases"]]
            self.assertEqual(cases, [(devices, limit) for devices in (2, 4, 8) for limit in (None, 256, 128)])
            for one in found["cases"]:
                with self.subTest(one):
                    limit = ["--memory-limit", str(one["memory_limit_bytes"])] if one["memory_limit_bytes"] else []
                    alone = retile(*asked, "--devices", str(one["devices"]), *limit, "--json")
                    if alone.returncode == 1:
                        self.assertIn(one["why"].partition(":")[0], alone.stderr)
                        self.assertNotIn(cost, one)
                        continue
                    alone = json.loads(alone.stdout)
                    self.assertEqual(one[cost], alone["best"][cost])
                    self.assertEqual(one[bound], alone.get(bound, alone["best"][cost]))
                    for key in ("input_bytes", "temporary_bytes", "schedules"):
                        self.assertEqual(one[key], alone["best"][key])
            self.assertEqual(sum("why" in one for one in found["cases"]), 1)
        table = retile("partition", path, "--choose", "--what-if", "--devices", "2,4", "--memory-limit", "none,128").stdout.splitlines()
        self.assertEqual(len(table), 5)
        self.assertEqual(table[1].split(), ["2", "none", "16", "16", "448", "96"])
        self.assertIn("at least 256 bytes", table[2])
        self.assertEqual(len({len(line) for line in table if "no schedule" not in line}), 1)
        for arguments, words in (
            (["--what-if", "--devices", "4"], "are for --choose"),
            (["--choose", "--what-if"], "--choose needs --devices"),
            (["--choose", "--what-if", "--devices", "4,,8"], "--devices"),
            (["--choose", "--what-if", "--devices", "4", "--memory-limit", "1,x"], "not a number of bytes"),
            (["--choose", "--what-if", "--devices", ",".join(["2"] * 257)], "257 cases"),
        ):
            with self.subTest(words):
                done = retile("partition", path, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)

    def test_schedules_that_take_the_least_time_on_a_network(self):
        text = (
            "retile.array/1\narray x[6,4] w[4,6] u[6,6]\ny[i,j] += x[i,k] * w[k,j]\n"
            "z[i,j] += y[i,k] * u[k,j]\nreturn z\n"
        )
        links = ["--network", "2:100GB/s:1ns,*:2GB/s:1ns"]
        choose = ["partition", "-", "--choose", "--devices", "4", "--dtype", "f64", "--memory-limit", "256"]
        usual = json.loads(retile(*choose, "--json", stdin=text).stdout)
        done = retile(*choose, *links, "--json", stdin=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([level["name"] for level in found["levels"]], ["2", "*"])
        self.assertNotEqual(found["best"]["schedules"], usual["best"]["schedules"])
        self.assertEqual(sum(found["best"]["times_ps"]), found["best"]["time_ps"])
        self.assertNotIn("cost", found["best"])
        # The times are those of the plans that `lower --network` prints.
        self.assertEqual(self.time_of(found["module"], links), found["best"]["time_ps"])
        self.assertLess(found["best"]["time_ps"], self.time_of(usual["module"], links))
        self.assertRegex(retile(*choose, *links, stdin=text).stdout, r"^# fastest of all assignments of digits: takes \d")
        lowered = retile("lower", "-", *links, "--dtype", "f64", stdin=found["module"])
        self.assertEqual(lowered.returncode, 0, lowered.stderr)
        self.assertEqual(verdict(lowered.stdout)[0], 0)
        for arguments, words in (
            ([*choose, "--network", "dp:1GB/s:1us,*:1MB/s:1us"], "the mesh has no axis dp"),
            ([*choose, "--network", "3:1GB/s:1us,*:1MB/s:1us"], "are not groups of 3"),
            ([*choose, "--network", "*:0GB/s:1us"], "--network"),
            (["partition", "-", *links], "are for --choose"),
        ):
            with self.subTest(words):
                done = retile(*arguments, stdin=text)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)

    def test_times_of_schedules_are_those_of_plans_and_fit(self):
        # One gather along two dimensions has one latency.
        text = "retile.array/1\narray x[2,64] w[64,2]\ny[i,j] += x[i,k] * w[k,j]\nreturn y : [2, 2]\n"
        links = ["--network", "*:100kB/s:130us"]
        found = json.loads(retile("partition", "-", "--choose", "--devices", "4", "--dtype", "f64", *links, "--json", stdin=text).stdout)
        self.assertEqual(self.time_of(found["module"], links), found["best"]["time_ps"])
        by_hand = retile("partition", "-", "--schedule", "y=i:2,j:2", stdin=text).stdout
        self.assertLessEqual(found["best"]["time_ps"], self.time_of(by_hand, links))
        # Sums of times beyond 63 bits.
        text = "retile.array/1\narray x[4,8] at root w[8,8] at root\ny[i,j] += x[i,k] * w[k,j]\no[i,j] = y[i,j] + x[i,j]\nreturn o at root\n"
        done = retile("partition", "-", "--choose", "--devices", "2", "--network", "*:1GB/s:5000000s", stdin=text)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("63 bits", done.stderr)
        # Slow links do not keep inputs from being small.
        text = "retile.array/1\narray x[4,8] w[8,4]\ny[i,j] += x[i,k] * w[k,j]\nz[i,j] = y[i,j] + y[j,i]\nreturn z\n"
        for links in ("*:1B/s:0s", "*:1GB/s:1000s", "*:450GB/s:5us"):
            with self.subTest(links):
                done = retile("partition", "-", "--choose", "--devices", "4", "--memory-limit", "64", "--network", links, stdin=text)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("inputs 64 bytes a device", done.stdout)

    def time_of(self, module, links):
        """What the redistributions of a module take, each by its plan for a network."""
        lines = module.splitlines()
        mesh = next(line for line in lines if line.startswith("mesh ")).split()[1]
        types = dict(re.findall(r"(\w+) : (\[[^]]*\])", lines[2]))
        out = 0
        for line in lines:
            if made := re.match(r"(\w+) = spmd .* as (.*)", line):
                types[made[1]] = made[2]
            elif made := re.match(r"(\w+) = redistribute (\w+) as (.*)", line):
                types[made[1]] = made[3]
                done = retile("plan", "--mesh", mesh, types[made[2]], made[3], *links, "--dtype", "f64", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                out += json.loads(done.stdout)["time_ps"]
        return out

    def test_a_module_is_lowered_for_a_network(self):
        # Two gathers at once take what leaves a group first; by elements either order is as cheap.
        module = "retile.spmd/1\nmesh o:2,i:4\nfn main(x : [8{o,i}64, 64]) -> [64, 8{o,i}64]\ny = redistribute x as [64, 8{o,i}64]\nreturn y\n"
        links = "i:100GB/s:1us,o:1GB/s:1us"
        done = retile("lower", "-", "--network", links, stdin=module)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(verdict(done.stdout)[0], 0)
        for arguments, words in (
            (["--network", "z:1GB/s:1us,*:1GB/s:1us"], "the mesh has no axis z"),
            (["--network", links, "--memory-limit", "1KiB"], "a module is printed as a module"),
            (["--network", links, "--direct"], "--network"),
        ):
            with self.subTest(words):
                wrong = retile("lower", "-", *arguments, stdin=module)
                self.assertEqual((wrong.returncode, wrong.stdout), (2, ""), wrong.stderr)
                self.assertIn(words, wrong.stderr)

    def test_statements_that_share_what_they_read(self):
        text = (
            "retile.array/1\narray x[8,16] w[16,32] u[32,16]\ny[i,j] += x[i,k] * w[k,j]\nz[i,j] += relu(y[i,k]) * u[k,j]\n"
            "r[i,j] = z[i,j] + x[i,j]\nreturn r : [8, 16]\n"
        )
        for limit, bounded in (([], False), (["--memory-limit", "2400"], True)):
            with self.subTest(limit):
                done = retile("partition", "-", "--choose", "--devices", "4", *limit, "--json", stdin=text)
                self.assertEqual(done.returncode, 0, done.stderr)
                found = json.loads(done.stdout)
                self.assertEqual("lower_bound" in found, bounded)
                self.assertEqual(found["second_sought"], not bounded)
                code, judged = verdict(found["module"])
                self.assertEqual((code, judged["cost"]), (0, found["best"]["cost"]))
        said = retile("partition", "-", "--choose", "--devices", "4", "--memory-limit", "2400", stdin=text).stdout
        self.assertRegex(said, "\n# (no candidate within the limit is better|every candidate within the limit moves [0-9]+ elements at least)\n")
        self.assertIn("\n# the second best was not looked for\n", said)
        none = retile("partition", "-", "--choose", "--devices", "4", "--memory-limit", "100", stdin=text)
        self.assertEqual((none.returncode, none.stdout), (1, ""))

    def test_a_transformer_block_beside_schedules_by_hand(self):
        path = ROOT / "examples/array/block.array"
        heads = ";".join(f"{name}=h:4" for name in ("q", "kk", "v", "s", "m", "e", "t", "p", "o", "y"))
        by_hand = [
            heads + ";f=j:4;g=j:4;d=k:4",  # tensor parallel
            heads + ";r=i:4;f=j:4;g=j:4;d=k:4;z=i:4",  # and sequence parallel between
            ";".join(f"{name}=i:4" for name in ("q", "kk", "v", "s", "m", "e", "t", "p", "o", "y", "r", "f", "g", "d", "z")),
        ]
        found = json.loads(retile("partition", str(path), "--choose", "--devices", "4", "--json").stdout)
        code, judged = verdict(found["module"])
        self.assertEqual((code, judged["cost"]), (0, found["best"]["cost"]))
        for schedule in by_hand:
            with self.subTest(schedule=schedule):
                done = retile("partition", str(path), "--schedule", schedule)
                self.assertEqual(done.returncode, 0, done.stderr)
                code, judged = verdict(done.stdout)
                self.assertEqual(code, 0)
                self.assertGreater(judged["cost"], 0)
                self.assertLessEqual(found["best"]["cost"], judged["cost"])

    def test_two_products_on_64_devices(self):
        text = "retile.array/1\narray x[4096,1024] w[1024,4096] u[4096,1024]\ny[i,j] += x[i,k] * w[k,j]\nz[i,j] += y[i,k] * u[k,j]\nreturn z\n"
        begun = time.monotonic()
        done = retile("partition", "-", "--choose", "--devices", "64", "--json", stdin=text, timeout=30)
        self.assertLess(time.monotonic() - begun, 20)  # a second on a machine without other work
        self.assertEqual(json.loads(done.stdout)["best"]["cost"], 0)

    def test_steps_in_blocks(self):
        done = retile("lower", "-", stdin=SMALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("z = redistribute y as [2, 3] {\nallreduce groups=", done.stdout)
        self.assertEqual(verdict(done.stdout)[0], 0)
        self.assertEqual(retile("lower", "-", stdin=done.stdout).stdout, done.stdout)
        wrong = done.stdout.replace("groups=[1,2]<=[2]", "groups=[2,1]<=[2]")
        self.assertNotEqual(wrong, done.stdout)
        code, found = verdict(wrong)
        self.assertEqual((code, found["wrong"]["reason"], found["wrong"]["statement"]), (1, "program", "z"))
        refused = retile("check", stdin=done.stdout.replace("allreduce", "allreduces"))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("error: stdin:6: ", refused.stderr)

    def test_bad_input(self):
        for text, words in {
            "": "there is no Program here",
            "retile.spmd/1\n": "ends here too early",
            SMALL.replace("mesh d:2", "mesh d:2,d:3"): "d",
            SMALL.replace("mesh d:2", "mesh d:99999999999999999999"): "stdin:2",
            SMALL.replace("2{d}4]", "2{e}4]", 1): "e",
            SMALL.replace("[2, 3]", "[2, -3]", 1): "stdin:3",
            SMALL[: len(SMALL) // 2]: "stdin:",
            SMALL.replace("einsum", "(" * 100000): "brackets",
        }.items():
            with self.subTest(words):
                done = retile("check", stdin=text)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)
        done = retile("check", "--shape", "2,3", stdin=SMALL)
        self.assertEqual(done.returncode, 2)
        self.assertIn("says its own ends", done.stderr)
        done = retile("lower", "-", "--json", stdin=SMALL)
        self.assertEqual(done.returncode, 2)

    def test_undecided(self):
        # Without the first row and column, and with a ragged end, no extent can be divided.
        product = 'einsum "ik,kj->ij" (trim 0 1 0 x) (trim 1 1 0 w)'
        large = f"""retile.spmd/1
mesh d:2
fn main(x : [4001, 2000{{d}}3999], w : [2000{{d}}3999, 4001]) -> [4000, 4000]
y = spmd x w {{ {product} }} as sum{{d}}[4000, 4000]
z = redistribute y as [4000, 4000]
return z
denotes {product}
"""
        done = retile("check", "--timeout", "1", stdin=large)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, "undecided: the time (is up|limit of 1 second)")

    def test_what_is_drawn(self):
        path = str(EXAMPLES / "mlp.spmd")
        first = json.loads(retile("check", "--json", path).stdout)
        second = json.loads(retile("check", "--json", path).stdout)
        self.assertNotEqual(first["seed"], second["seed"])
        self.assertFalse(set(first["primes"]) & set(second["primes"]))
        self.assertEqual(json.loads(retile("check", "--json", path, "--seed", str(first["seed"])).stdout), first)
        text = retile("check", path, "--seed", "5").stdout
        self.assertIn("agree modulo primes 3891753779043006413 and 2812107475709191757, with maxima as variables, at extents divided by up to 51, drawn by seed 5; ", text)
        for seed, words in (("-1", "not a whole number"), ("x", "not a whole number")):
            refused = retile("check", path, f"--seed={seed}")
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn(words, refused.stderr)
        program = retile("lower", "--mesh", "d:2", "[2{d}4]", "[4]").stdout
        refused = retile("check", "--seed", "1", stdin=program)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("--seed is for a module", refused.stderr)

    def test_run_on_the_simulator(self):
        for name in ("listing_1", "listing_3", "mlp"):
            for dtype in ("f32", "i64"):
                with self.subTest(f"{name} {dtype}"):
                    done = retile("run", str(EXAMPLES / f"{name}.spmd"), "--backend", "sim", "--dtype", dtype, "--json")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    report = json.loads(done.stdout)
                    self.assertTrue(report["right"])
                    self.assertGreater(report["compared"], 0)
        wrong = retile("run", "-", "--backend", "sim", "--json", stdin=SMALL.replace("denotes", "denotes neg (").replace("x w\n", "x w)\n"))
        self.assertEqual(wrong.returncode, 1, wrong.stderr)
        self.assertFalse(json.loads(wrong.stdout)["right"])

    def test_run_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.spmd"
            path.write_text(SMALL)
            for arguments, code, words in (
                (["--dtype", "bf16"], 4, "i32, i64, f32 and f64"),
                (["-n", "3"], 2, "there are 2 devices"),
                (["--repeat", "2"], 2, "runs once"),
                (["--backend", "cuda"], 4, "not run on GPUs"),
            ):
                with self.subTest(words):
                    done = retile("run", str(path), *arguments)
                    self.assertEqual(done.stdout, "")
                    self.assertIn(words, done.stderr)
                    self.assertIn(done.returncode, (2, code))
            path.write_text(SMALL.replace("denotes", "# denotes"))
            done = retile("run", str(path), "--backend", "sim")
            self.assertIn("without denotes", done.stderr)


def runs_on(case, name, moved, devices, compared):
    """So many bytes are received as planned, and every device compares its own elements of what is returned."""
    done = retile("run", str(EXAMPLES / f"{name}.spmd"), "--json")
    case.assertEqual(done.returncode, 0, done.stderr)
    report = json.loads(done.stdout)
    case.assertEqual((report["right"], report["received_bytes"]), (True, moved))
    case.assertEqual((report["devices"], report["compared"]), (devices, compared))


class ListingsRun(Case):
    """On 32 processes."""

    def test_listings(self):
        # 31 of 32 parts of 2048 elements are received.
        for name, moved, compared in (("listing_1", 0, 256 * 10), ("listing_2", 0, 256 * 1024), ("listing_3", 7936, 32 * 256)):
            with self.subTest(name):
                runs_on(self, name, moved, 32, compared)


class ModulesRun(Case):
    """On MPI processes."""

    def test_mlp_of_the_talk(self):
        runs_on(self, "mlp", 14336, 16, 8 * 16 * 256)

    def test_statements(self):
        for path in sorted((ROOT / "examples" / "array").glob("g[2-6]*.array")):
            with self.subTest(path.name):
                done = retile("run", "-", "--dtype", "i32", stdin=retile("partition", str(path)).stdout)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.startswith("right: "))

    def test_wrong_and_refused(self):
        done = retile("run", "-", stdin=SMALL.replace("denotes", "denotes neg (").replace("x w\n", "x w)\n"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("wrong: device 0 holds", done.stdout)
        done = retile("run", "-", "--dtype", "f16", stdin=SMALL)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        done = retile("run", "-", "--memory-limit", "1", stdin=SMALL)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")


class Transformer(Case):
    """The products of a transformer's block, in full size on 8 processes."""

    def test_stays_within_64_mib_and_moves_what_is_planned(self):
        path = str(EXAMPLES / "transformer.spmd")
        done = retile("run", path, "--memory-limit", "64MiB", "--json", timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["right"], report["devices"], report["compared"]), (True, 8, 4096 * 1024))
        # An allgather and a reducescatter of 16 MiB, of which a device has an eighth.
        self.assertEqual(report["received_bytes"], 2 * 7 * (4096 * 1024 * 4) // 8)
        self.assertLessEqual(report["peak_bytes"], 64 << 20)
        self.assertGreater(report["peak_bytes"], 36 << 20)  # what a device holds of p, y, w, u and x

    def test_control_less_memory_is_refused(self):
        done = retile("run", str(EXAMPLES / "transformer.spmd"), "--memory-limit", "16MiB", "--json")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("bytes", done.stderr)


if __name__ == "__main__":
    main()
