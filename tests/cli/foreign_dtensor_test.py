"""`retile check` on traces of DTensor (`retile.dtensor-trace/1`)."""

import json
import os
import subprocess
from pathlib import Path

from support import Case, main, retile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "foreign"
RECORDED = Path(__file__).resolve().parents[1] / "house" / "peers" / "texts"

# example: cost, height, bound, received elements
RIGHT = {"columns": (8, 8, 8, 6), "reduced": (6, 6, 5, 3)}

# example, old, new, what is wrong, the rank and the operation
WRONG = [
    ("columns", '"in": [1, 2, 3, 4], "out": [5]', '"in": [2, 1, 3, 4], "out": [5]', "end", "rank 0", "all_to_all"),
    ("columns", '"result": 6', '"result": 5', "end", "rank 0", "cat"),
    ("columns", '"to": ["Shard(1)"]', '"to": ["Shard(0)"]', "tile", "rank 0", "all_to_all"),
    ("columns", '"ranks": [0, 1, 2, 3]}', '"ranks": [1, 0, 2, 3]}', "end", "rank 1", "all_to_all"),
    ("reduced", '"reduction": "sum", "in": [1]', '"reduction": "sum", "in": [1]', None, None, None),
    ("reduced", '"result": 3', '"result": 2', "tile", "rank 1", "reduce_scatter"),
    ("reduced", '"start": 0, "in": [2]', '"start": 1, "in": [2]', "end", "rank 1", "slice"),
    ("reduced", '["Partial(sum)"]', '["Replicate()"]', "end", "rank 0", "reduce_scatter"),
]

# example, old, new, words of the refusal
REFUSED = [
    ("columns", '"schema": "retile.dtensor-trace/1"', '"schema": "retile.dtensor-trace/9"', "the schema is not retile.dtensor-trace/1"),
    ("columns", '"op": "split"', '"op": "roll"', "roll is not read"),
    ("columns", '"op": "split", ', "", "an operation without its op"),
    ("columns", '"dim": 1', '"dim": 2', "no dimension 2"),
    ("columns", '"dim": 1', '"dim": 1, "dim": 1', "a second dim"),
    ("columns", '"dim": 1', '"axis": 1', "axis is no key of an operation"),
    ("columns", '"dim": 1', '"dim": 9223372036854775808', "does not fit in 63 bits"),
    ("columns", '"in": [0]', '"in": [7]', "no value 7 so far"),
    ("columns", '"out": [5]', '"out": [4]', "value 4 is made twice"),
    ("columns", '"sizes": [[2, 1], [2, 1], [2, 1], [2, 1]]', '"sizes": [[2, 1], [2, 1], [2, 1], [2, 2]]', "not the whole"),
    ("columns", '"sizes": [[2, 1], [2, 1], [2, 1], [2, 1]]', '"sizes": [[2, 1], [2, 1], [2, 1]]', "as many sizes"),
    ("columns", '"sizes": [[2, 1], [2, 1], [2, 1], [2, 1]]', '"sizes": [[2, 1], [2, 1], [2, 1], [4294967296, 4294967296]]', "2^63"),
    ("columns", '"send": [2, 2, 2, 2]', '"send": [2, 2, 1, 2]', "what is sent is not all rows"),
    ("columns", '"send": [2, 2, 2, 2]', '"send": [1, 3, 2, 2]', "what is sent is not what is received"),
    ("columns", '"send": [2, 2, 2, 2]', '"send": [8]', "to every member"),
    ("columns", '"group": [0, 1, 2, 3]', '"group": [0, 1, 3, 2]', "this rank waits here"),
    ("columns", '"group": [0, 1, 2, 3]', '"group": [0, 1, 2, 2]', "different ranks"),
    ("columns", '"group": [0, 1, 2, 3]', '"group": [0, 1, 2, 4]', "no rank 4"),
    ("columns", '"start": [2, 4]', '"start": [1, 4]', "differs in another dimension"),
    ("columns", '"shape": [8, 4]', '"shape": [16, 4]', "rank 0 begins with a tile 2,4, but its tile of the start is 4,4"),
    ("columns", '"sizes": [4]', '"sizes": [3]', "as many ranks as the sizes say"),
    ("columns", '"ranks": [0, 1, 2, 3]}', '"ranks": [0, 1, 2, 2]}', "rank 2 is there twice"),
    ("columns", '"ranks": [0, 1, 2, 3]}', '"ranks": [0, 1, 2, 5]}', "the mesh has no rank 3"),
    ("columns", '["Shard(0)"]', '["Shard(3)"]', "dimension"),
    ("columns", '["Shard(0)"]', '["Sharp(0)"]', "Sharp is not read"),
    ("columns", '"to": ["Shard(1)"],', "", "a trace has the keys"),
    ("reduced", '"padding": [0, 1]', '"padding": [0, -6]', "takes away too much"),
    ("reduced", '"padding": [0, 1]', '"padding": [0, 1, 0, 0]', "more dimensions"),
    ("reduced", '"padding": [0, 1]', '"padding": [0]', "low without high"),
    ("reduced", '"reduction": "sum"', '"reduction": "product"', "a reduction by product is not read"),
    ("reduced", '"reduction": "sum"', '"reduction": "max"', "add in different ways"),
    ("reduced", '"start": 0, "in": [2]', '"start": 2, "in": [2]', "past the end"),
]


def example(name):
    return (EXAMPLES / f"{name}.dtensor.json").read_text(encoding="utf-8")


def changed(name, old, new):
    text = example(name)
    assert old in text, (name, old)
    # What stands in every rank alike is changed in the last one alone, but the ends and the mesh have one place.
    return text[:text.rindex(old)] + text[text.rindex(old):].replace(old, new, 1)


def trace(mesh, shape, ends, ranks):
    """Of axes x, y, ..; every rank is what it begins with, its operations, and the number of its result."""
    count = len(ranks)
    return json.dumps({"schema": "retile.dtensor-trace/1", "mesh": {"names": list("xyz")[:len(mesh)], "sizes": mesh, "ranks": list(range(count))},
                       "shape": shape, "from": ends[0], "to": ends[1],
                       "ranks": [{"rank": number, "start": start, "operations": operations, "result": result}
                                 for number, (start, operations, result) in enumerate(ranks)]})


def step(op, made, sizes, **more):
    taken = more.pop("taken", [made[0] - 1])
    return {"op": op, "in": taken, "out": made, "sizes": sizes, **more}


class ForeignDtensor(Case):
    def verdict(self, text, *options):
        done = retile("check", "--json", *options, stdin=text)
        self.assertIn(done.returncode, (0, 1, 3), done)
        out = json.loads(done.stdout)
        self.assertEqual(done.returncode, {True: 0, False: 1, None: 3}[out["right"]])
        return out

    def test_examples_are_right(self):
        self.assertEqual({path.name for path in EXAMPLES.glob("*.json")}, {f"{name}.dtensor.json" for name in RIGHT})
        for name, figures in RIGHT.items():
            with self.subTest(name):
                out = self.verdict(example(name))
                self.assertIs(out["right"], True, out)
                self.assertEqual((out["cost"], out["height"], out["bound"], out["received"]["elements"]), figures)

    def test_what_pytorch_did(self):
        """Recorded by one process a rank; the recorder saw that of 606 and 1262 some ranks end with the wrong elements."""
        wrong, found = {"606.dtensor", "1262.dtensor"}, set()
        for path in sorted(RECORDED.glob("*.dtensor*")):
            with self.subTest(path.name):
                self.assertIs(self.verdict(path.read_text(encoding="utf-8"))["right"], path.name not in wrong)
                found.add(path.name)
        self.assertGreater(len(found), 20)
        self.assertLessEqual(wrong, found)

    def test_ranks_are_put_in_order_once(self):
        """The file's own ranks, again in --mesh, leave its verdict as it is; others are refused, and so is what numbers devices."""
        found = (EXAMPLES.parent / "found" / "torch-2.15.0-order.json").read_text(encoding="utf-8")
        right = found.replace('"group": [0, 1]', '"group": [1, 0]')
        ends = ["--from", "S(0)", "--to", "R", "--shape", "2"]
        meshes = ["x:2", "DeviceMesh((2,), 'cpu', stride=(1,))", "DeviceMesh('cpu', [1, 0], mesh_dim_names=('x',))",
                  "Mesh(device_ids=array([1, 0]), axis_names=('x',))", 'sdy.mesh @m = <["x"=2], device_ids=[1, 0]>']
        for mesh in meshes:
            with self.subTest(mesh):
                self.assertIs(self.verdict(found, "--mesh", mesh, *ends)["right"], False)
                self.assertIs(self.verdict(right, "--mesh", mesh, *ends)["right"], True)
                self.assertNotIn("otherwise", retile("check", "--mesh", mesh, *ends, stdin=right).stderr)
        for mesh in ("DeviceMesh('cpu', [0, 1])", "DeviceMesh('cpu', [ [0], [1]])", "mesh['x'=2], device_ids=([2])"):
            self.refused(retile("check", "--mesh", mesh, *ends, stdin=found), 2, r"lists the ranks \[0,1\], but the trace is of \[1,0\]")
        whole = ["--to", "{replicated}", "--shape", "2"]
        for start in ("{devices=[2]<=[2]}", "{devices=[2]1,0}", "NamedSharding(mesh=Mesh('x': 2), spec=P('x'), logical_device_ids=(0, 1))"):
            self.refused(retile("check", "--from", start, *whole, stdin=found), 2, "numbers devices")
        # In order, who numbers devices means ranks.
        columns = ["--to", "{devices=[1,4]<=[4]}", "--shape", "8,4"]
        self.assertIs(self.verdict(example("columns"), "--from", "{devices=[4,1]<=[4]}", *columns)["right"], True)
        self.assertIs(self.verdict(example("columns"), "--from", "{devices=[4,1]1,0,2,3}", *columns)["right"], False)

    def test_wrong(self):
        for name, old, new, reason, rank, op in WRONG:
            with self.subTest(name=name, old=old, new=new):
                out = self.verdict(example(name).replace(old, new))
                self.assertIs(out["right"], reason is None, out)
                if reason:
                    self.assertEqual((out["reason"], out["first_wrong"]["value"], out["first_wrong"]["op"]), (reason, rank, op))

    def test_addends_may_be_made_of_an_array(self):
        """No plan makes them, but PyTorch does. Without a verdict the exit code is never that of a wrong one."""
        zeros = step("zeros", [1], [[8]], taken=[])
        for ends, made, right in ((("Replicate()", "Partial()"), True, True), (("Replicate()", "Partial()"), False, False),
                                  (("Replicate()", "Partial(max)"), False, True), (("Replicate()", "Partial(max)"), True, False)):
            with self.subTest(ends=ends, zeros=made):
                last = ([8], [zeros], 1) if made else ([8], [], 0)
                out = self.verdict(trace([2], [8], ([ends[0]], [ends[1]]), [([8], [], 0), last]))
                self.assertEqual((out["right"], out["optimum"]), (right, None))
        text = trace([2], [8], (["Partial(max)"], ["Partial()"]), [([8], [], 0), ([8], [], 0)])
        self.refused(retile("check", stdin=text), 2, "addends of a max are no addends of a sum")
        module = "retile.spmd/1\nmesh d:2\nfn main(x : [8]) -> [8]\ny = redistribute x as sum{d}[8]\nz = redistribute y as [8]\nreturn z\n"
        self.refused(retile("check", stdin=module), 2, "no redistribution makes addends")

    def test_refusals(self):
        for name, old, new, words in REFUSED:
            with self.subTest(name=name, old=old, new=new):
                done = retile("check", stdin=changed(name, old, new))
                self.assertIn(done.returncode, (2, 3), done)
                self.assertIn(words, done.stderr.splitlines()[0])
                self.assertIn("^", done.stderr.splitlines()[2])

    def test_all_operations(self):
        # Columns of rank 0 and 1, through transposes: the second rank of two gathers, the first broadcasts, both reduce.
        gathers = [([2, 2], [step("transpose", [1], [[2, 2]], order=[1, 0]), step("all_gather", [2], [[4, 2]], group=[0, 1]),
                             step("transpose", [3], [[2, 4]], order=[1, 0]), step("same", [4], [[2, 4]])], 4) for _ in range(2)]
        ends = (["Shard(1)"], ["Replicate()"])
        self.assertIs(self.verdict(trace([2], [2, 4], ends, gathers))["right"], True)
        gathers[1][1][2]["order"] = [0, 1]
        self.refused(retile("check", stdin=trace([2], [2, 4], ends, gathers)), 2, r"makes \[4,2\], not \[2,4\]")
        cast = [([3] if rank == 1 else [0], [step("broadcast", [1], [[3]], group=[0, 1], root=1)], 1) for rank in range(2)]
        self.refused(retile("check", stdin=trace([2], [3], (["Shard(0)"], ["Replicate()"]), cast)), 2, "rank 0 begins with a tile 0")
        cast = [([3], [step("broadcast", [1], [[3]], group=[0, 1], root=1)], 1) for rank in range(2)]
        self.assertEqual(self.verdict(trace([2], [3], (["Partial(sum)"], ["Replicate()"]), cast))["reason"], "addends")
        reduced = [([3], [step("all_reduce", [1], [[3]], group=[0, 1], reduction="max")], 1) for rank in range(2)]
        self.assertIs(self.verdict(trace([2], [3], (["Partial(max)"], ["Replicate()"]), reduced))["right"], True)
        self.assertIs(self.verdict(trace([2], [3], (["Partial(sum)"], ["Replicate()"]), reduced))["right"], False)

    def test_empty_tiles(self):
        # [2] over three ranks: the last has nothing, and makes zeros and a hole of the right sizes on its way.
        ranks = [([1], [step("reshape", [1], [[1, 1]]), step("reshape", [2], [[1]])], 2) for _ in range(2)]
        ranks.append(([0], [step("empty", [1], [[0]], taken=[]), step("zeros", [2], [[4]], taken=[]),
                            step("cat", [3], [[0]], dim=0, taken=[0, 1])], 3))
        out = self.verdict(trace([3], [2], (["Shard(0)"], ["Shard(0)"]), ranks))
        self.assertIs(out["right"], True, out)
        self.assertEqual((out["height"], out["height_value"]["value"], out["height_value"]["op"]), (4, "rank 2", "zeros"))

    def test_the_whole_array(self):
        whole = [([1], [step("all_gather", [1], [[2]], group=[0, 1]), step("slice", [2], [[1]], dim=0, start=1 - rank)], 2) for rank in range(2)]
        ends = (["Shard(0)"], ["Shard(0)"])
        out = self.verdict(trace([2], [2], ends, whole))
        self.assertEqual((out["right"], out["whole_array"]["op"]), (False, "all_gather"))
        for rank in range(2):
            whole[rank][1][1]["start"] = rank
        self.assertIs(self.verdict(trace([2], [2], ends, whole))["right"], True)

    def test_programs_agree(self):
        for name in RIGHT:
            for text in (example(name), example(name).replace('"result": 3', '"result": 2')):
                done = retile("check", "--program", stdin=text)
                right = self.verdict(text)["right"]
                if not right:
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("rank 1 ends with a tile 3, but its tile of the end is 2", done.stderr)
                    continue
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(retile("check", stdin=done.stdout).returncode, 0 if right else 1)
                oracle = subprocess.run([os.environ["RETILE_ORACLE"], "check"], input=done.stdout, capture_output=True, text=True, check=False)
                self.assertIn(f"right: {str(right).lower()}", oracle.stdout)

    def test_no_crash_on_parts_of_files(self):
        text = example("reduced")
        for end in range(0, len(text), 7):
            self.assertIn(retile("check", stdin=text[:end]).returncode, (0, 1, 2), end)

    def test_hostile(self):
        self.refused(retile("check", stdin=example("columns").replace('"in": [0]', '"in": ' + "[" * 100000, 1)), 2, "")
        self.refused(retile("check", stdin=example("columns").replace('"peer"', '"x"').replace('"shape": [8, 4]', '"shape": [8, -4]')), 2, "")
        many = example("columns").replace('"shape": [8, 4]', '"shape": [' + ", ".join(["1"] * 100000) + "]")
        self.assertIn(retile("check", stdin=many).returncode, (2, 3))


if __name__ == "__main__":
    main()
