"""`--many`: the parameters of a model in one file, planned by kind, summed by device, and as the part of one rank."""

import json
import math
import os
import re
import subprocess
import sys

from support import RETILE, Case, environment, main, retile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SMALL = ["--layers", "2", "--width", "16", "--hidden", "24", "--heads", "4", "--kv-heads", "2", "--words", "40"]
ORACLE = os.environ.get("RETILE_ORACLE", "retile-oracle")


def llama(*words):
    """Lines for --many: the parameters of a Llama 3 model, of 70B where nothing else is said."""
    script = os.path.join(ROOT, "examples/many/llama.py")
    return subprocess.run([sys.executable, script, *words], stdout=subprocess.PIPE, check=True, text=True).stdout


def arrays_of(text):
    """What is said of every array, with what objects without a name said before it."""
    said, out = {}, []
    for line in text.splitlines():
        one = {**said, **json.loads(line)}
        if "name" in one:
            out.append(one)
        else:
            said = one
    return out


def ends_of(array):
    return ["--mesh", array["mesh"], "--mesh-to", array.get("mesh_to", array["mesh"]), "--shape", ",".join(map(str, array["shape"])),
            array["from"], array["to"]]


def by_device(answer):
    """Device -> its object of the list `devices`."""
    return {device: one for one in answer["devices"] for device in range(one["first"], one["last"] + 1)}


def plan_of(text, *words):
    done = retile("plan", "--many", "-", "--json", *words, stdin=text)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


class Plans(Case):
    def test_every_kind_is_planned_as_it_is_alone(self):
        text = llama("4x2", "2x2", *SMALL)
        answer = plan_of(text)
        arrays = arrays_of(text)
        self.assertEqual([one["name"] for one in answer["arrays"]], [one["name"] for one in arrays])
        self.assertEqual(len(answer["kinds"]), 7)
        self.assertEqual([kind["arrays"] for kind in answer["kinds"]],
                         [sum(one["kind"] == k for one in answer["arrays"]) for k in range(7)])
        for said, array in zip(answer["arrays"], arrays):
            alone = retile("plan", "--json", *ends_of(array))
            self.assertEqual(answer["kinds"][said["kind"]]["plan"], json.loads(alone.stdout), array)

    def sums_one_by_one(self, text):
        """Device -> bytes that it gets and gives, by the boxes of each array alone."""
        got, gave = {}, {}
        for array in arrays_of(text):
            program = json.loads(retile("lower", "--direct", "--json", *ends_of(array)).stdout)
            for row in program["steps"][0]["transfers"]:
                if row[0] == row[1]:
                    continue
                moved = 2 * math.prod(row[-len(array["shape"]):])
                got[row[0]] = got.get(row[0], 0) + moved
                gave[row[1]] = gave.get(row[1], 0) + moved
        return got, gave

    def test_sums_are_those_of_the_arrays_one_by_one(self):
        for words in (("4x2", "2x2"), ("3x2", "2x3"), ("4x2", "2x2", "--same-devices")):
            text = llama(*words, *SMALL)
            devices = by_device(plan_of(text))
            got, gave = self.sums_one_by_one(text)
            self.assertEqual({d: one["received_bytes"] for d, one in devices.items() if one["received_bytes"]}, got)
            self.assertEqual({d: one["sent_bytes"] for d, one in devices.items() if one["sent_bytes"]}, gave)
            self.assertEqual(sum(got.values()), plan_of(text)["total"]["received_bytes"]["all"])

    def test_text(self):
        done = retile("plan", "--many", self.write("state", llama("4x2", "2x2", *SMALL)))
        self.accepted(done)
        self.assertIn("layers.0.attention.wk.weight and 3 more: exchange; cost 64, height 64 (bound 64)\n", done.stdout)
        self.assertIn("\n21 arrays of 7 kinds, 12 devices, 1 round\n", done.stdout)
        self.assertRegex(done.stdout, r"\nreceived +at most .* on a device, first on 8; .* in all\n")

    def test_lines_say_what_others_leave_out(self):
        text = """{"mesh": "x:4", "dtype": "f64"}
            {"name": "a", "from": "[2{x}8]", "to": "[8]"}
            {"name": "b", "from": "[2{x}8]", "to": "[8]", "dtype": "i8"}
            {"mesh": "DeviceMesh('cuda', [4, 5])", "order": null}"""
        done = retile("plan", "--many", "-", stdin=text)
        self.refused(done, 2, "expected a text")
        text = text.replace(', "order": null', "") + """
            {"name": "c", "from": "[4{a0}8]", "to": "[8]"} {"name": "\\u0063d", "shape": [8], "from": "P()", "to": "P()"}"""
        answer = plan_of(text)
        self.assertEqual([one["name"] for one in answer["arrays"]], ["a", "b", "c", "cd"])
        self.assertEqual([kind["element_bytes"] for kind in answer["kinds"]], [8, 1, 8, 8])
        self.assertEqual([one["from_bytes"] for one in answer["devices"]], [18, 32 + 64])
        # Options say it of all, and an order is of the mesh beside it.
        array = '{"name": "a", "from": "[2{x}8]", "to": "[8]"%s}'
        answer = plan_of(array % "", "--mesh", "x:4", "--order", "4..7", "--dtype", "torch.float16")
        self.assertEqual((answer["devices"][0]["first"], answer["kinds"][0]["element_bytes"]), (4, 2))
        answer = plan_of(array % ', "mesh": "x:4"', "--mesh", "x:4", "--order", "4..7")
        self.assertEqual(answer["devices"][0]["first"], 0)

    def test_one_limit_for_all(self):
        text = "".join('{"name": "%s", "from": "[3{x}12, 2{y}12]", "to": "[2{y}12, 3{x}12]"}\n' % name for name in "ab")
        words = ("--mesh", "x:4,y:6", "--dtype", "i8")
        self.assertEqual(plan_of(text, *words)["total"]["peak_bytes"]["most"], 36)
        answer = plan_of(text, *words, "--memory-limit", "30")
        self.assertEqual((answer["rounds"], answer["total"]["peak_bytes"]["most"]), (2, 30))
        self.assertEqual([one["round"] for one in answer["arrays"]], [0, 1])
        answer = plan_of(text, *words, "--memory-limit", "29B")
        self.assertEqual((answer["kinds"][0]["direct"], answer["total"]["peak_bytes"]["most"]), (True, 24))
        done = retile("plan", "--many", "-", *words, "--memory-limit", "23", stdin=text)
        self.assertEqual((done.returncode, done.stdout),
                         (1, "no order of the arrays holds at most 23 bytes per device; the least that suffices is 24\n"))
        done = retile("plan", "--many", "-", *words, "--memory-limit", "23", "--json", stdin=text)
        self.assertEqual(json.loads(done.stdout), {"schema": "retile.many/1", "feasible": False, "limit_bytes": 23,
                                                   "smallest_feasible_bytes": 24})

    def test_what_a_node_needs_comes_once(self):
        text = llama("4x2", "2x2", *SMALL)  # the norms are whole on all four servers
        norms = 2 * 5 * 16
        plain, by_nodes = plan_of(text), plan_of(text, "--node", "4")
        self.assertEqual([kind["by_nodes"] for kind in by_nodes["kinds"]], [True] * 7)
        alone = plan_of(text, "--node", "2")
        self.assertEqual([kind["by_nodes"] for kind in alone["kinds"]], [False] * 6 + [True])
        self.assertNotIn("by_nodes", plain["kinds"][0])
        self.assertNotIn("crossed_bytes", plain["total"])
        held = 2 * sum(math.prod(array["shape"]) for array in arrays_of(text))
        self.assertEqual(by_nodes["total"]["crossed_bytes"]["all"], held)
        self.assertEqual(alone["total"]["crossed_bytes"]["all"], 2 * held)
        for answer in (plain, by_nodes, alone):
            self.assertEqual(answer["total"]["received_bytes"]["all"], 2 * held + 2 * norms)
            self.assertEqual(answer["total"]["peak_bytes"], plain["total"]["peak_bytes"])
        done = retile("plan", "--many", "-", "--node", "4", stdin=text)
        self.assertRegex(done.stdout, "and 4 more: exchanges to the nodes and inside them in the place of exchange; cost 16,")
        self.assertRegex(done.stdout, r"\nfrom other nodes +at most ")
        self.refused(retile("plan", "--many", "-", "--node", "0", stdin=text), 2, "--node: not a whole number")
        self.refused(retile("plan", "--node", "2", "--mesh", "x:2", "[2]", "[2]"), 2, "--node is for --many")

    def test_a_kind_without_a_plan(self):
        text = '{"name": "a", "from": "[8]", "to": "[8]"} {"name": "b", "from": "[8]", "to": "sum{x}[8]"}'
        done = retile("plan", "--many", "-", "--mesh", "x:4", stdin=text)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "^b: no redistribution makes addends")
        done = retile("plan", "--many", "-", "--mesh", "x:4", "--json", stdin=text)
        self.assertEqual(json.loads(done.stdout)["array"], "b")

    def test_what_cannot_be_read(self):
        good = '{"name": "a", "from": "[2{x}8]", "to": "[8]"}\n'
        for text, words in (
                ("", "no array is in this file"),
                ("\n \n", "no array is in this file"),
                ('{"mesh": "x:4"}', "no array is in this file"),
                (good + good, "stdin:2: a second array a\n.*\n.*\nnote: the first one stands in line 1"),
                (good + good[:-3], "stdin:2: a text has no closing quote"),
                (good + good[:-2], "stdin:2: expected ',' or '}' after a member, found the end"),
                (good + "[]", "stdin:2: expected '{'"),
                (good + "{", "stdin:2: expected a key, found the end"),
                ('{"nam": "a"}', "nam is no key of an array\n.*\n.*\nnote: did you mean name"),
                ('{"name": "a", "name": "b"}', "a second name"),
                ('{"name": 1}', "expected a name"),
                ('{"name": ""}', "an array has an empty name"),
                ('{"name": "a", "to": "[8]"}', "stdin:1: from is missing"),
                ('{"name": "a", "from": "[8]"}', "stdin:1: to is missing"),
                (good + '{"name": "b",\n"from": "[2{z}8]", "to": "[8]"}', r"stdin:2: from: the mesh has no axis z .*\n  \[2\{z\}8\]\n"),
                ('{"name": "a", "from": "[2{x}8]", "to": "[9]"}', "stdin:1: to: "),
                ('{"name": "a", "mesh": "x:0", "from": "[8]", "to": "[8]"}', "stdin:1: mesh: "),
                ('{"name": "a", "shape": [8, 0], "from": "P()", "to": "P()"}', "stdin:1: shape: an extent must be at least 1"),
                ('{"name": "a", "shape": [-8], "from": "P()", "to": "P()"}', "this number cannot be negative"),
                ('{"name": "a", "shape": [9223372036854775808], "from": "P()", "to": "P()"}', "does not fit in 63 bits"),
                ('{"name": "a", "shape": [9223372036854775807, 2], "from": "P()", "to": "P()"}', "the global size does not fit"),
                (good[:-2] + ', "dtype": "f99"}', "stdin:1: dtype: "),
                ('{"name": "\\x"}', "JSON has no such escape")):
            with self.subTest(text=text):
                self.refused(retile("plan", "--many", "-", "--mesh", "x:4", stdin=text), 2, words)
        big = '{"name": "%s", "from": "[2305843009213693952]", "to": "[2305843009213693952]"}'
        done = retile("plan", "--many", "-", "--mesh", "x:4", "--dtype", "i8", stdin=big % "a" + big % "b")
        self.assertEqual(done.returncode, 2)
        self.assertIn("error: the bytes of all arrays of a device do not fit in 63 bits\n", done.stderr)
        done = retile("plan", "--many", "-", "--mesh", "x:4", "--dtype", "f64", stdin=big % "a")
        self.assertIn("error: the bytes of a tile do not fit in 63 bits\nnote: the array is a\n", done.stderr)
        self.refused(retile("plan", "--many", "nowhere.jsonl"), 2, "--many: cannot open")
        for verb in (["plan"], ["explain"], ["lower", "--rank", "0"]):
            self.refused(retile(*verb, "--many", "-", "--mesh", "x:4", "[8]", "[8]"), 2, "the file of --many says FROM, TO and the shape")
        for option in (["--certificate", "-"], ["--svg", "a.svg"], ["--explain"]):
            self.refused(retile("plan", "--many", "-", *option), 2, "are of one array")


class Explanations(Case):
    def test_every_kind_is_explained_as_it_is_alone(self):
        text = llama("4x2", "2x2", *SMALL)
        done = retile("explain", "--many", "-", stdin=text)
        self.accepted(done)
        array = arrays_of(text)[1]
        alone = retile("explain", "--dtype", "bf16", *ends_of(array))
        self.assertIn(f"{array['name']} and 1 more\n" + alone.stdout, done.stdout)
        self.assertIn("\n21 arrays of 7 kinds, 12 devices, 1 round\n", done.stdout)
        done = retile("explain", "--many", "-", "--json", stdin=text)
        said = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(sorted(name for one in said for name in one["arrays"]), sorted(one["name"] for one in arrays_of(text)))
        alone = json.loads(retile("explain", "--json", "--dtype", "bf16", *ends_of(array)).stdout)
        self.assertEqual({**said[1], "operation": "", "arrays": None}, {**alone, "arrays": None})


class Ranks(Case):
    def parts_of(self, text, rank, *words):
        done = retile("lower", "--many", "-", "--rank", str(rank), "--json", *words, stdin=text)
        self.accepted(done)
        return json.loads(done.stdout)

    def programs_of(self, text, ranks, *words):
        """The kinds' steps of all ranks together, as exchanges."""
        parts = [self.parts_of(text, rank, *words) for rank in ranks]
        out = []
        for k, kind in enumerate(parts[0]["kinds"]):
            steps = [part["kinds"][k]["steps"] for part in parts]
            self.assertEqual(len({len(one) for one in steps}), 1)
            rows = []
            for step in zip(*steps):
                got = sorted(tuple(row) for one in step for row in one["receives"])
                gave = sorted(tuple(row) for one in step for row in one["sends"])
                self.assertEqual([row for row in got if row[0] != row[1]], gave)
                rows.append(([list(row) for row in got], [one["after"] for one in step]))
            out.append(rows)
        return out

    def verdicts(self, text, devices, *words):
        arrays = arrays_of(text)
        kinds = self.parts_of(text, 0, *words)["arrays"]
        for k, rows in enumerate(self.programs_of(text, range(devices), *words)):
            array = arrays[[one["kind"] for one in kinds].index(k)]
            ends = retile("lower", "--direct", *ends_of(array)).stdout.splitlines()
            head = [line for line in ends if not line.startswith(("exchange", "retile.program"))]
            steps = [f"exchange transfers={json.dumps(got)} shapes={json.dumps(after)}".replace(", ", ",") for got, after in rows]
            program = "\n".join(["retile.program/2", *head, *steps, ""])
            yield program

    def test_parts_of_all_ranks_are_right_together(self):
        count = 0
        for words, devices in ((("4x2", "2x2"), 12), (("3x2", "2x3"), 12), (("4x2", "2x2", "--same-devices"), 8)):
            for program in self.verdicts(llama(*words, *SMALL), devices):
                for judge in ([RETILE, "check"], [ORACLE, "check"]):
                    done = subprocess.run(judge, input=program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                          env=environment(), check=False)
                    self.assertEqual(done.returncode, 0, program + done.stdout)
                spoiled = re.sub(r"transfers=\[\[[^\]]*\],", "transfers=[", program, count=1)  # one box is missing
                done = retile("check", stdin=spoiled)
                self.assertEqual(done.returncode, 1, spoiled + done.stdout)
                count += 1
        self.assertEqual(count, 21)

    def test_parts_by_nodes(self):
        text = llama("4x2", "2x2", *SMALL)
        self.assertEqual({len(kind["steps"]) for kind in self.parts_of(text, 8, "--node", "4")["kinds"]}, {2})
        for program in self.verdicts(text, 12, "--node", "4"):
            self.assertEqual(retile("check", stdin=program).returncode, 0, program)

    def test_steps_of_collectives(self):
        text = '{"mesh": "x:4,y:6"}\n{"name": "a", "shape": [12, 12], "from": "[3{x}12, 2{y}12]", "to": "[2{y}12, 3{x}12]"}'
        part = self.parts_of(text, 5)
        self.assertGreater(len(part["kinds"][0]["steps"]), 1)
        for program in self.verdicts(text, 24):
            self.assertEqual(retile("check", stdin=program).returncode, 0, program)
        part = self.parts_of(text, 5, "--memory-limit", "48")
        self.assertEqual([step["op"] for step in part["kinds"][0]["steps"]], ["exchange"])
        done = retile("lower", "--many", "-", "--rank", "5", "--memory-limit", "47", stdin=text)
        self.assertEqual((done.returncode, done.stderr), (1, ""))

    def test_text_and_refusals(self):
        text = llama("4x2", "2x2", *SMALL)
        done = retile("lower", "--many", "-", "--rank", "8", stdin=text)
        self.accepted(done)
        self.assertRegex(done.stdout, r"^rank 8: 21 arrays of 7 kinds, 1 round\nround 0: 2 of kind 0, .*\nkind 0: tok_embeddings.weight and "
                                      r"1 more, \[40, 16\] of 2 bytes\n  exchange before=\[0,0\] after=\[20,16\]\n    receive \[8,0,0,0,0,0,5,16\]\n")
        self.refused(retile("lower", "--many", "-", "--rank", "12", stdin=text), 2, "no array is on this device")
        self.refused(retile("lower", "--many", "-", "--rank", "-1", stdin=text), 2, "--rank: not a whole number")
        self.refused(retile("lower", "--many", "-", stdin=text), 2, "--rank is missing")
        self.refused(retile("lower", "--rank", "1", "--mesh", "x:2", "[2]", "[2]"), 2, "--rank is for --many")
        self.refused(retile("lower", "--many", "-", "--rank", "1", "--direct", stdin=text), 2, "are of one array")


class Simulated(Case):
    BACKEND = ["--backend", "sim"]

    def run_many(self, text, *words):
        done = retile("run", "--many", self.write("state.jsonl", text), "--json", *self.BACKEND, *words)
        self.accepted(done)
        return json.loads(done.stdout)

    def test_every_element_of_every_array_is_compared(self):
        for words, processes in ((("2x2", "2x2"), 8), (("2x1", "3x2"), 8), (("2x2", "2x2", "--same-devices"), 4)):
            text = llama(*words, *SMALL)
            report = self.run_many(text)
            replicas, tp = map(int, words[1].split("x"))
            held = 0
            for array in arrays_of(text):
                cut = 1 if array["to"] == "(Replicate(), Replicate())" else tp
                held += replicas * tp * math.prod(array["shape"]) // cut
            self.assertEqual((report["right"], report["elements_checked"], report["processes"], report["arrays"], report["kinds"]),
                             (True, held, processes, 21, 7))
            planned = plan_of(text)["total"]
            self.assertEqual(report["bytes_per_process"], planned["received_bytes"]["most"])
            self.assertGreaterEqual(report["tiles_bytes"], planned["peak_bytes"]["most"])
            self.assertLessEqual(report["peak_bytes_per_process"], report["peak_limit_bytes"])

    def test_devices_of_any_numbers(self):
        text = """{"dtype": "i8", "mesh": "DeviceMesh('cuda', [9, 2])"} {"name": "a", "from": "[4{a0}8]", "to": "[8]"}
            {"mesh": "DeviceMesh('cuda', [4, 5])"} {"name": "b", "from": "[4{a0}8]", "to": "[8]"}"""
        report = self.run_many(text)
        self.assertEqual((report["processes"], report["elements_checked"]), (4, 4 * 8))

    def test_the_memory_limit(self):
        text = llama("2x2", "2x2", *SMALL)
        least = self.run_many(text)["tiles_bytes"]
        done = retile("run", "--many", "-", *self.BACKEND, "--memory-limit", str(least - 1), stdin=text)
        self.assertEqual((done.returncode, done.stdout),
                         (1, f"not run: a process holds {least} bytes of old and new tiles, over the limit of {least - 1} bytes\n"))
        done = retile("run", "--many", "-", *self.BACKEND, "--memory-limit", str(least - 1), "--json", stdin=text)
        self.assertEqual(json.loads(done.stdout)["tiles_bytes"], least)
        roomy = least + (1 << 20)
        report = self.run_many(text, "--memory-limit", str(roomy))
        self.assertLessEqual(report["peak_limit_bytes"], roomy)

    def test_text_and_refusals(self):
        text = llama("2x2", "2x2", *SMALL)
        done = retile("run", "--many", "-", *self.BACKEND, "--repeat", "3", stdin=text)
        self.accepted(done)
        self.assertRegex(done.stdout, r"^right: 21 arrays, \d+ elements compared on 8 processes \(\w+(, exchange)?\)\n"
                                      r"moved in [\d.]+ s \(median of 3\); a process received at most .*\n"
                                      r"memory per process: peak .* \(limit .*\), old and new tiles .*\n$")
        one = '{"name": "a", "from": "%s", "to": "%s"}'
        for ends, words in ((("sum{x}[8]", "[8]"), "are not run at once where one of them is a sum\n.*\n*note: the array is a"),
                            (("[1@{x}8]", "[8]"), "where a device has several boxes of one")):
            done = retile("run", "--many", "-", *self.BACKEND, "--mesh", "x:2", stdin=one % ends)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, words)
        self.refused(retile("run", "--many", "-", *self.BACKEND, "-n", "3", stdin=text), 2, "there are 8 devices")
        self.refused(retile("run", "--many", "-", *self.BACKEND, "--mesh", "x:2", stdin=one % ("[4{z}8]", "[8]")), 2, "stdin:1: from: ")
        for words in (["--output", "a.npy"], ["--program", "-"], ["--collectives"], ["--explain"]):
            self.refused(retile("run", "--many", "-", *self.BACKEND, *words), 2, "every kind of them goes in one exchange")


class EveryRun(Simulated):
    """The same on processes."""
    BACKEND = ["--backend", "mpi"]


class Processes(Case):
    def test_between_two_groups(self):
        for words in (("2x2", "2x2"), ("2x1", "3x2")):
            path = self.write("state.jsonl", llama(*words, *SMALL))
            simulated = json.loads(retile("run", "--many", path, "--backend", "sim", "--json").stdout)
            done = retile("run", "--many", path, "--memory-limit", str(simulated["tiles_bytes"] + (1 << 20)), "--json")
            self.accepted(done)
            report = json.loads(done.stdout)
            for key in ("right", "elements_checked", "bytes_per_process", "processes", "arrays", "kinds", "tiles_bytes"):
                self.assertEqual(report[key], simulated[key], key)
            self.assertLessEqual(report["peak_bytes_per_process"], report["peak_limit_bytes"])
            self.assertLessEqual(report["peak_limit_bytes"], simulated["tiles_bytes"] + (1 << 20))

    def test_under_mpirun(self):
        text = '{"mesh": "a:2,b:2"} {"name": "a", "from": "[8{a}16, 16]", "to": "[16, 4{b,a}16]"}'
        path = self.write("state.jsonl", text)
        for words, code, said in ((["4"], 0, "^right: 1 array, 256 elements compared on 4 processes"), (["3"], 2, "there are 4 devices")):
            done = subprocess.run(["mpirun", "--oversubscribe", "-n", *words, RETILE, "run", "--many", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment(), timeout=120, check=False)
            self.assertEqual(done.returncode, code, done)
            self.assertEqual(len(re.findall(said, done.stdout + done.stderr, re.M)), 1, done)


class Sizes(Case):
    """A real model, in little time and memory. Seconds are those of a processor, as other tests run beside this one, and as many more as
    the machine is slower than the one that the budgets of tests were measured on."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        words = subprocess.run([sys.executable, "-B", "-c", "import test_times; print(test_times.slowness())"], cwd=os.path.join(ROOT, "scripts"),
                               capture_output=True, text=True, check=True)
        cls.slowness = float(words.stdout)

    def measured(self, *words):
        with open(self.path("out"), "wb") as out:
            job = subprocess.Popen([RETILE, *words], stdout=out, stderr=subprocess.DEVNULL, env=environment())
            _, status, used = os.wait4(job.pid, 0)
            job.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(job.returncode, 0, words)
        self.assertLess(used.ru_maxrss * 1024, 256 << 20)
        self.assertLess(used.ru_utime + used.ru_stime, 0.5 * self.slowness)
        with open(self.path("out"), "rb") as out:
            return out.read()

    def test_llama_70b(self):
        for trainer in ("64x8", "256x8", "6x8"):
            for server in ("8x8", "32x8"):
                text = llama(trainer, server)
                path = self.write("state.jsonl", text)
                answer = json.loads(self.measured("plan", "--many", path, "--json"))
                self.assertEqual(len(answer["arrays"]), 723)
                replicas = int(server.split("x")[0])
                held = sum(math.prod(one["shape"]) for one in arrays_of(text))
                self.assertEqual(held, 70_553_706_496)  # the parameters of Llama 3 70B
                # Each replica gets all, and each of its eight devices the norms, which are whole.
                whole = 161 * 8192
                self.assertEqual(answer["total"]["received_bytes"]["all"], 2 * replicas * (held + 7 * whole))
                for rank in (0, answer["devices"][-1]["last"]):
                    self.assertLess(len(self.measured("lower", "--many", path, "--rank", str(rank), "--json")), 10_000_000)


if __name__ == "__main__":
    main()
