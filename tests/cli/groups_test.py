"""Groups of devices of any numbers, from outside: as DTensor's meshes of some ranks are."""

import json
import os
import subprocess
import tempfile

from support import Case, main, retile

ORACLE = os.environ["RETILE_ORACLE"]


def oracle_check(program):
    return subprocess.run([ORACLE, "check"], input=program, capture_output=True, text=True, check=False).returncode


class Groups(Case):
    def output(self, *words):
        done = retile(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), (words, done))
        return done.stdout

    def test_groups_of_any_devices_are_planned_and_proved_as_those_from_0_on(self):
        ends = {1: ((["Shard(0)"], ["Shard(1)"]), (["Shard(0)"], ["Replicate()"]), (["Partial()"], ["Shard(0)"])),
                2: ((["Shard(0)", "Shard(1)"], ["Shard(1)", "Replicate()"]), (["Partial()", "Shard(0)"], ["Shard(1)", "Replicate()"]),
                    (["Shard(0)", "Shard(0)"], ["Replicate()", "Replicate()"]))}
        for ranks, plain, line in (("[2, 3]", "[0, 1]", "2..3"), ("[4, 5, 6, 7]", "[0, 1, 2, 3]", "4..7"), ("[0, 2, 4, 6]", "[0, 1, 2, 3]", "[0,2,4,6]"),
                                   ("[[4, 5], [6, 7]]", "[[0, 1], [2, 3]]", "4..7"), ("[[7, 2], [9, 0]]", "[[0, 1], [2, 3]]", "[7,2,9,0]")):
            for source, target in ends[ranks.count("[") - 1 or 1]:
                for shape in ("16,8", "10,7"):
                    with self.subTest(ranks=ranks, source=source, target=target, shape=shape):
                        def problem(devices, source=source, target=target, shape=shape):
                            return ("--shape", shape, "--mesh", f"DeviceMesh('cuda', {devices})", f"({', '.join(source)},)", f"({', '.join(target)},)")
                        self.hold_group(problem(ranks), problem(plain), line)

    def hold_group(self, named, plain, line):
        """Same plan, certificate, proof and Program, but for a line."""
        plan = json.loads(self.output("plan", *named, "--json"))
        plan.pop("order")
        self.assertEqual(plan, json.loads(self.output("plan", *plain, "--json")))
        self.assertEqual(self.output("explain", *named), self.output("explain", *plain))
        without = [text.replace(f"devices {line}\n", "", 1) for text in (self.output("lower", *named), self.output("lower", *plain))]
        if "transfers" not in without[0]:  # which name the devices
            self.assertEqual(*without)
        program = self.output("lower", *named)
        self.assertIn(f"\ndevices {line}\n", program)
        self.assertEqual(retile("check", stdin=program).stdout, retile("check", stdin=self.output("lower", *plain)).stdout)
        self.assertEqual(oracle_check(program), 0)
        self.assertEqual(self.output("prove", *named), self.output("prove", *plain))
        run = json.loads(self.output("run", *named, "--backend", "sim", "--json"))
        self.assertTrue(run["right"], run)
        want, got = (retile("plan", *problem, "--certificate", "-") for problem in (plain, named))
        self.assertEqual(got.returncode, want.returncode)
        if want.returncode == 0:
            self.assertEqual(got.stdout.replace(f"devices {line}\n", "", 1), want.stdout)
            self.assertEqual(subprocess.run([ORACLE, "certify"], input=got.stdout, text=True, capture_output=True, check=False).returncode, 0)

    def test_a_wrong_program_of_a_group_names_its_devices(self):
        program = "retile.program/1\ndevices [7,2,9,4]\nmesh x:4\nfrom [2{x}8]\nto [8]\nallgather dim=0 groups=[[7,2,4,9]]\n"
        done = retile("check", stdin=program)
        self.assertEqual((done.returncode, done.stdout), (1, "wrong at step 0 (not_a_box): device 7 holds element [6] at [4], expected [4]\n"), done)
        self.assertEqual(oracle_check(program), 1)
        for listed, message in (("[7,2,9,7]", "device 7 stands twice"), ("[7,2,9]", "devices"), ("4..2", "a range goes up"),
                                (f"[0, {2**31}, 1, 2]", "a device beyond 2^31")):
            self.assertIn(message, retile("check", stdin=program.replace("[7,2,9,4]", listed)).stderr)
            self.assertEqual(oracle_check(program.replace("[7,2,9,4]", listed)), 2)
        done = retile("check", stdin=program.replace("7,2,4,9]]", "7,2,4,3]]"))
        self.assertIn("device 3 does not exist", done.stderr)
        self.assertIn("the devices are [7,2,9,4]", done.stderr)

    def test_addends_of_a_group_are_written_as_others_do(self):
        words = ("convert", "--mesh", "DeviceMesh('cuda', [[4, 5], [7, 6]])", "--shape", "8,4", "(Partial(), Shard(0))", "--as")
        self.assertEqual(self.output(*words, "paper"), "sum{a0}[4{a1}8, 4]\n")
        self.assertEqual(self.output(*words, "dtensor").splitlines()[0], "(Partial(sum), Shard(dim=0))")
        self.assertIn("device_ids=[4, 5, 7, 6]", self.output(*words, "sdy"))

    def test_tiles_of_a_group_are_files_of_its_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("--mesh", "x:2", "--order", "[5,3]", "[2{x}4]", "[4]", "--backend", "sim")
            self.output("run", *words, "--output-tiles", f"{folder}/t{{}}.npy")
            self.assertEqual(sorted(os.listdir(folder)), ["t3.npy", "t5.npy"])


if __name__ == "__main__":
    main()
