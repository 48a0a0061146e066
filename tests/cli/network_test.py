"""`--network` and `--node`: plans that take the least time, where links come from, and what is refused."""

import json
import os
import subprocess
import tempfile

from support import Case, main, retile

ORACLE = os.environ.get("RETILE_ORACLE", "retile-oracle")
ENDS = ["--mesh", "dp:4,ep:2,tp:4", "[8192, 1024{ep,tp}8192]", "[2048{tp}8192, 8192]"]
LINKS = "dp:50GB/s:15us, *:450GB/s:5us"


def answer(*words, stdin=""):
    done = retile("plan", "--json", *words, stdin=stdin)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


class Network(Case):
    def test_a_plan_is_the_program_that_lower_prints(self):
        plan = answer(*ENDS, "--network", LINKS)
        self.assertTrue(plan["optimal"])
        self.assertEqual([level["name"] for level in plan["levels"]], ["*", "dp"])
        self.assertLess(plan["time_ps"], plan["fewest_elements_time_ps"])
        self.assertEqual(sum(step["time_ps"] for step in plan["steps"]), plan["time_ps"])
        lowered = retile("lower", *ENDS, "--network", LINKS)
        self.assertEqual(json.loads(retile("lower", "--json", *ENDS, "--network", LINKS).stdout), plan["program"])
        judged = subprocess.run([ORACLE, "check", "-"], input=lowered.stdout, stdout=subprocess.PIPE, text=True, check=False)
        self.assertIn("right: true", judged.stdout)
        # Control: the usual plan is another one.
        self.assertNotEqual(retile("lower", *ENDS).stdout, retile("lower", *ENDS, "--network", LINKS).stdout)

    def test_elements_have_the_size_of_their_type(self):
        narrow, wide = (answer(*ENDS, "--network", LINKS, "--dtype", dtype) for dtype in ("bf16", "f64"))
        self.assertEqual([4 * b for step in narrow["steps"] for b in step["bytes"]],
                         [b for step in wide["steps"] for b in step["bytes"]])

    def test_links_come_from_a_file(self):
        expected = answer(*ENDS, "--network", "8:450GB/s:5us,*:50GB/s:15us")
        lines = "// a node of eight\n8:450GB/s:5us,\n*:50GB/s:15us\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "links")
            with open(path, "w", encoding="utf-8") as file:
                file.write(lines)
            self.assertEqual(answer(*ENDS, "--network", path), expected)
            with open(path, "w", encoding="utf-8") as file:
                file.write("8:450GB/s:5us,\n7:50GB/s:15us\n")
            refused = retile("plan", *ENDS, "--network", path)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"{path}:2: a group of 7 is not made of groups of 8", refused.stderr)
            self.assertIn("\n  7:50GB/s:15us\n  ^\n", refused.stderr)
        self.assertEqual(answer(*ENDS, "--network", "-", stdin=lines), expected)
        # What is printed can be read again.
        levels = json.dumps({"levels": expected["levels"]})
        self.assertEqual(answer(*ENDS, "--network", levels), expected)
        self.assertEqual(answer(*ENDS, "--network", "-", stdin="// as printed\n" + levels), expected)

    def test_refuses_with_a_caret(self):
        for links in ["", "x:1GB/s:1us,*:1GB/s:1us", "dp:0B/s:1us,*:1GB/s:1us", "dp:1GB/s:-1us,*:1GB/s:1us", "dp:1GB/s:1us",
                      "dp:9999999999TB/s:1us,*:1GB/s:1us", "dp:1GB/s:9999999999s,*:1GB/s:1us", "no_such_file"]:
            refused = retile("plan", *ENDS, "--network", links)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), links)
            self.assertIn("--network", refused.stderr, links)
        for words in (["--cost", "bytes"], ["--collectives"], ["--certificate", "-"], ["--svg", "x.svg"]):
            self.assertEqual(retile("plan", *ENDS, "--network", LINKS, *words).returncode, 2, words)
        self.assertEqual(retile("lower", *ENDS, "--network", LINKS, "--direct").returncode, 2)

    def test_orders_have_axes_or_groups(self):
        # One order at both ends only gives devices other numbers, so axes are digits of their places.
        ends, axes, groups = ["--mesh", "n:2,a:2", "[4{n}8]", "[4{a}8]"], "n:1B/s:0s,*:2B/s:0s", "2:2B/s:0s,*:1B/s:0s"
        listed = ["--order", "[3,1,0,2]"]
        apart = ["--order", "[1,0,3,2]", "--order-to", "[3,2,1,0]"]
        self.assertEqual(retile("plan", *ends, *listed, "--network", axes).returncode, 0)
        self.assertIn("listed numbers", retile("plan", *ends, *listed, "--network", groups).stderr)
        self.assertEqual(retile("plan", *ends, *apart, "--network", groups).returncode, 0)
        self.assertIn("no axis n", retile("plan", *ends, *apart, "--network", axes).stderr)

    def test_a_time_that_is_too_long_is_no_number(self):
        long = retile("plan", "--mesh", "n:2", f"[{1 << 40}{{n}}{1 << 41}]", f"[{1 << 41}]", "--network", "n:1B/s:0s", "--dtype", "i8")
        self.assertEqual(long.returncode, 2)
        self.assertIn("does not fit in 63 bits of picoseconds", long.stderr)

    def test_memory_is_kept(self):
        tight = retile("plan", *ENDS, "--network", LINKS, "--memory-limit", "1KiB")
        self.assertEqual(tight.returncode, 1)
        bounded = answer("--mesh", "n:2,a:2", "[8{n}16, 8{a}16]", "[8{a}16, 8{n}16]", "--network", "*:1GB/s:1ms", "--memory-limit", "1KiB")
        roomy = answer("--mesh", "n:2,a:2", "[8{n}16, 8{a}16]", "[8{a}16, 8{n}16]", "--network", "*:1GB/s:1ms", "--memory-limit", "1MiB")
        self.assertLessEqual(roomy["time_ps"], bounded["time_ps"])

    def table(self, text):
        """What stands behind each label of the table of axes, without blanks."""
        lines = text.split("over each axis, ")[1].splitlines()[2:]
        return {" ".join(line.split("  ")[1:2]): [cell.strip() for cell in line[2:].split("  ")[1:] if cell.strip()] for line in lines if line[:2] == "  "}

    def test_explain_counts_what_goes_over_each_axis(self):
        ends = ["--mesh", "x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]"]
        rows = self.table(retile("plan", *ends, "--explain").stdout)
        # A tile of 6 in three pieces, of which each device gets two; then all of it from elsewhere; then half of it.
        self.assertEqual(rows["alltoall y/3 of 6: dim 1 -> dim 0"], ["0", "4"])
        self.assertEqual(rows["allpermute"], ["6", "6"])
        self.assertEqual(rows["alltoall x/2 of 4: dim 0 -> dim 1"], ["3", "0"])
        self.assertEqual(rows["in all"], ["9", "10"])
        self.assertEqual(rows["with the fewest elements"], rows["in all"])
        wide = self.table(retile("plan", *ends, "--explain", "--dtype", "f64").stdout)
        self.assertEqual(wide["in all"], ["9 (72)", "10 (80)"])
        # Who stands on no mesh differs in no axis.
        listed = retile("plan", *ends, "--order", str([*reversed(range(24))]), "--order-to", str([*range(24)]), "--explain")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertNotIn("over each axis", listed.stdout)

    def test_explain_says_what_other_costs_take(self):
        done = retile("plan", *ENDS, "--network", LINKS, "--explain", "--dtype", "bf16")
        rows, plan = self.table(done.stdout), answer(*ENDS, "--network", LINKS, "--dtype", "bf16")
        self.assertEqual(len(rows), len(plan["steps"]) + 3)
        self.assertIn(f"time {rows['in all'][-1]}, the least", done.stdout)
        self.assertIn(f"the plan with the fewest elements takes {rows['with the fewest elements'][-1]}\n", done.stdout)
        self.assertEqual(rows["in all"][0], "0 (0)")
        self.assertNotEqual(rows["with the fewest elements"][0], "0 (0)")  # which is why it is slow
        beside = retile("plan", *ENDS, "--network", LINKS, "--explain", "--json", "--dtype", "bf16")
        self.assertEqual(json.loads(beside.stdout), plan)
        self.assertIn("over each axis", beside.stderr)

    def test_explain_has_the_plan_of_the_network_beside(self):
        words = ["--dtype", "bf16", "--network", LINKS]
        done = retile("explain", *ENDS, *words, "--json")
        self.assertEqual(json.loads(done.stdout)["network"], answer(*ENDS, *words))
        text = retile("explain", *ENDS, *words).stdout
        self.assertIn(retile("plan", *ENDS, *words, "--explain").stdout, text)
        self.assertIn("4 bytes: --dtype says it", retile("explain", *ENDS, "--network", LINKS).stderr)
        # Control: without links there is none.
        self.assertNotIn("network", json.loads(retile("explain", *ENDS, "--json").stdout))
        for links in ("q:1GB/s:1us,*:1GB/s:1us", "dp:1GB/s", ""):
            refused = retile("explain", *ENDS, "--network", links)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), links)
            self.assertIn("^", refused.stderr)

    def test_many_arrays_go_by_plans_of_the_network(self):
        ends = {name: ENDS[2:] for name in ("a", "b")} | {"c": ["[4096{ep}8192, 2048{tp}8192]", "[2048{tp}8192, 4096{ep}8192]"]}
        lines = "\n".join(json.dumps({"name": name, "from": src, "to": dst}) for name, (src, dst) in ends.items())
        words = ["--many", "-", *ENDS[:2], "--dtype", "bf16"]
        many = answer(*words, "--network", LINKS, stdin=lines)
        self.assertEqual([kind["network"] for kind in many["kinds"]],
                         [answer(*ENDS[:2], *ends[name], "--network", LINKS, "--dtype", "bf16") for name in ("a", "c")])
        # What each device does are the steps of these Programs, and what it gets is what all of them get.
        got = 0
        for rank in (0, 5):
            part = json.loads(retile("lower", *words, "--network", LINKS, "--rank", str(rank), "--json", stdin=lines).stdout)
            for kind, steps in zip(many["kinds"], part["kinds"]):
                self.assertEqual([step["op"] for step in steps["steps"]], [step["op"] for step in kind["network"]["program"]["steps"]])
                got += (rank == 0) * 2 * kind["arrays"] * sum(box[-1] * box[-2] for step in steps["steps"] for box in step["receives"] if box[1] != 0)
        (first,) = [one for one in many["devices"] if one["first"] <= 0 <= one["last"]]
        self.assertEqual(got, first["received_bytes"])
        # Control: without links others get other boxes.
        self.assertNotEqual(answer(*words, stdin=lines)["total"], many["total"])
        text = retile("plan", *words, "--network", LINKS, stdin=lines).stdout
        self.assertIn("a and 1 more: alltoall, allgather; height 16777216; time 79.9 us, and 366 us with the fewest elements\n", text)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "arrays")
            with open(path, "w", encoding="utf-8") as file:
                file.write(lines)
            # Links that are read once serve all kinds.
            self.assertEqual(answer("--many", path, *words[2:], "--network", "-", stdin=LINKS), many)
        refused = retile("plan", *words, "--network", "q:1GB/s:1us,*:1GB/s:1us", stdin=lines)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("the mesh has no axis q", refused.stderr)

    def test_what_is_not_searched_is_timed(self):
        for ends in (["[3{n}5, 4]", "[5, 2{a}4]"], ["sum{n}[8, 4]", "[8, 4]"], ["[8, 4]@1", "[4{n}8, 4]"]):
            plan = answer("--mesh", "n:2,a:2", *ends, "--network", "n:1GB/s:1us,*:2GB/s:1us")
            self.assertGreater(plan["time_ps"], 0, ends)
            self.assertEqual(plan["time_ps"], plan["fewest_elements_time_ps"], ends)
            self.assertFalse(plan["optimal"], ends)


class Node(Case):
    def crossing(self, *words):
        done = retile("lower", "--json", "--mesh", "x:4,y:4", "[16{y}64, 64]", "[16{x}64, 64]", "--direct", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["steps"][0]["transfers"]
        self.assertEqual(retile("check", "-", stdin=done.stdout).returncode, 0)
        return sum(row[0] // 4 != row[1] // 4 for row in rows)

    def test_an_exchange_stays_in_the_node(self):
        self.assertEqual(self.crossing("--node", "4"), 0)
        self.assertGreater(self.crossing(), 0)

    def test_refuses_a_node_without_devices(self):
        for node in ("0", "-1", "many"):
            done = retile("lower", "--mesh", "x:4", "[1{x}4]", "[4]", "--direct", "--node", node)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--node", done.stderr)


if __name__ == "__main__":
    main()
