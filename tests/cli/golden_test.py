"""What the verbs print, byte for byte: golden/NAME.EXTENSION. `golden_test.py --update` writes what is printed now."""

import os
import re
import sys

from support import EXAMPLE, Case, main, retile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
LISTING_3 = ["--mesh", "devs:32", "[32,64{devs}2048]", "[1{devs}32,2048]"]
P1 = ["--mesh", "a:2,b:2,c:2", "[360, 184{c:2}368, 320]", "[90{c:2,a:2}360, 368, 160{b:2}320]"]
REPLICAS = ["--mesh", "a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]"]
OVER_PARTITIONED = ["--mesh", "x:4,y:2,z:4", "[8{x}32, 16{y}32, 32]", "[32, 32, 4{x,y}32]"]
UNEQUAL = ["--mesh", "a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]"]
QUOTED = ["--mesh", '"the axis":2,_y.z-1:1', '[2{"the axis"}4, 1{_y.z-1}1]', '[4, 1]']

CASES = {
    "plan_example_3_1.json": ["plan", *EXAMPLE, "--json"],
    "plan_example_3_1.txt": ["plan", *EXAMPLE],
    "plan_example_3_1_bytes.json": ["plan", *EXAMPLE, "--json", "--cost", "bytes", "--dtype", "f64"],
    "plan_example_3_1_explained.txt": ["plan", *EXAMPLE, "--explain"],
    "plan_example_3_1_bytes.txt": ["plan", *EXAMPLE, "--cost", "bytes"],
    # More dimensions than the search can hold: a plan, but no proof.
    "plan_unproved.txt": ["plan", "--mesh", "a:2,b:15015", "[1{a}2, 2, 15015" + 19 * ", 2" + "]",
                          "[2, 1{a}2, 15015" + 19 * ", 2" + "]", "--memory-limit", "94466211840"],
    "plan_over_partitioned_explained.txt": ["plan", *OVER_PARTITIONED, "--explain"],
    "plan_replicas_explained.txt": ["plan", *REPLICAS, "--explain"],
    "plan_listing_3.json": ["plan", *LISTING_3, "--json"],
    "plan_listing_3.txt": ["plan", *LISTING_3],
    "plan_p1.json": ["plan", *P1, "--json"],
    "plan_p1.txt": ["plan", *P1],
    "plan_replicas.json": ["plan", *REPLICAS, "--json"],
    "plan_replicas.txt": ["plan", *REPLICAS],
    "plan_unequal.txt": ["plan", *UNEQUAL],
    "plan_quoted.json": ["plan", *QUOTED, "--json"],
    "plan_quoted.txt": ["plan", *QUOTED],
    "plan_nothing.json": ["plan", "--mesh", "x:1", "[4]", "[4]", "--json"],
    "plan_nothing.txt": ["plan", "--mesh", "x:1", "[4]", "[4]"],
    "plan_infeasible.json": ["plan", *EXAMPLE, "--memory-limit", "0", "--json"],
    "plan_infeasible.txt": ["plan", *EXAMPLE, "--memory-limit", "0"],
    # The least limit is beyond 63 bits itself; the answer is still no.
    "plan_infeasible_at_any_limit.json": ["plan", "--mesh", "x:2", "[288230376151711744, 1{x}2]",
                                          "[144115188075855872{x}288230376151711744, 2]",
                                          "--dtype", "c128", "--memory-limit", "1", "--json"],
    "lower_example_3_1.json": ["lower", *EXAMPLE, "--json"],
    "lower_example_3_1.txt": ["lower", *EXAMPLE],
    "lower_replicas.txt": ["lower", *REPLICAS],
    "lower_unequal.txt": ["lower", *UNEQUAL],
    "lower_p1.txt": ["lower", *P1],
    "lower_direct.txt": ["lower", *REPLICAS, "--direct"],
    "lower_direct.json": ["lower", "--mesh", "x:2", "[2{x}4, 4]", "[4, 2{x}4]", "--direct", "--json"],
    "check_transfers.txt": ["check", os.path.join(FOLDER, "wrong_transfers.txt")],
    "check_transfers.json": ["check", "--json", os.path.join(FOLDER, "wrong_transfers.txt")],
    "check_right.json": ["check", "--json", os.path.join(FOLDER, "lower_example_3_1.txt")],
    "check_right.txt": ["check", os.path.join(FOLDER, "lower_example_3_1.txt")],
    "check_wrong.json": ["check", "--json", os.path.join(FOLDER, "wrong_program.txt")],
    "check_wrong.txt": ["check", os.path.join(FOLDER, "wrong_program.txt")],
    "run_sim.json": ["run", *EXAMPLE, "--backend", "sim", "--json"],
    "run_sim_infeasible.json": ["run", *EXAMPLE, "--backend", "sim", "--json", "--memory-limit", "0"],
    "run_sim_wrong.json": ["run", "--program", os.path.join(FOLDER, "wrong_program.txt"), "--backend", "sim", "--json"],
    "error_ill_formed.txt": ["plan", "--mesh", "xdev:4", "[32{xdev}256, 1024]", "[256, 1024]"],
    "error_usage.txt": ["plan", "--mesh", "x:4", "[4]", "[4]", "--bogus"],
}


def printed(arguments):
    """stdout and stderr, with the one number that differs from run to run struck out."""
    done = retile(*arguments)
    return re.sub(r'"seconds":[0-9.e+-]+', '"seconds":0', done.stdout) + done.stderr


def golden(name):
    with open(os.path.join(FOLDER, name)) as file:
        return file.read()


class Golden(Case):
    def test_output(self):
        for name, arguments in CASES.items():
            with self.subTest(name=name):
                self.assertEqual(printed(arguments), golden(name))

    def test_no_file_is_left_over(self):
        self.assertEqual(sorted(os.listdir(FOLDER)), sorted([*CASES, "wrong_program.txt", "wrong_transfers.txt"]))

    def test_a_changed_byte_would_be_seen(self):
        self.assertNotEqual(printed(CASES["plan_listing_3.txt"]), golden("plan_listing_3.txt").replace("2048", "2047", 1))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        for each, words in CASES.items():
            with open(os.path.join(FOLDER, each), "w") as output:
                output.write(printed(words))
    else:
        main()
