"""What torch 2.15 recorded and printed, from outside."""

import gzip
import json
import pathlib

from support import Case, main, retile

TRACES = pathlib.Path(__file__).parent / "torch"
MESH = ("--mesh", "DeviceMesh((dp=2, cp=2, tp=2), 'cpu', stride=(4, 2, 1))")
WARNING = ("[rank0]:W1127 19:50:00.686000 18755 torch/distributed/tensor/_redistribute.py:394] While redistributing from (Shard(dim=0), "
           "Shard(dim=0), Replicate()) to (Replicate(), Replicate(), Replicate()), 2 sequential all_gather operations will be performed. "
           "This is suboptimal: multiple collective operations have higher latency (separate kernel launches and synchronization points) and "
           'may give inconsistent results between ranks due to different reduction orders. To optimize, flatten mesh dimensions ["dp", "cp"] '
           "so DTensor can use a single operation instead.\n")


# What a redistribute may do wrong, in all of its ranks or in one: the verdict must see it.
MISTAKES = (('"reduction": "sum"', '"reduction": "max"'), ('"reduction": "avg"', '"reduction": "sum"'),
            ('"op": "mask"', '"op": "same"'), ('"op": "root", "degree": 2', '"op": "same"'), ('"op": "power", "degree": 2', '"op": "same"'),
            ('"op": "divide", "divisor": 8', '"op": "divide", "divisor": 7'), ('"op": "divide", "divisor": 2', '"op": "divide", "divisor": 3'),
            ('"op": "rows", "start": 25129', '"op": "rows", "start": 25128'), ('"op": "all_gather", "group": [0, 1]', '"op": "all_gather", "group": [1, 0]'),
            ('"op": "pad", "padding": [0, 0, 1024, 768]', '"op": "pad", "padding": [0, 0, 1023, 769]'))


def redistributes_of_jobs():
    """One trace of each kind of redistribute that thirteen jobs did (scripts/peers jobs)."""
    text = gzip.decompress((TRACES / "jobs.json.gz").read_bytes()).decode()
    return ['{"schema"' + one for one in text.split('{"schema"')[1:]]


def goes_wrong(trace):
    """What torch 2.15 is known to do wrong: a gather puts parts in the order of the ranks, not of the mesh, and one along two axes that
    are flattened takes for granted that the ranks have what one axis would give them."""
    ranks, shape = trace["ranks"], trace["shape"]
    group = max((step["group"] for step in ranks[0]["operations"] if step["op"] == "all_gather"), key=len, default=[])
    if not group or trace["mesh"]["ranks"] != sorted(trace["mesh"]["ranks"]):
        return bool(group)
    chunk = -(-shape[0] // len(group))
    cut = [max(min(chunk, shape[0] - k * chunk), 0) for k in range(len(ranks))]
    return len(trace["mesh"]["sizes"]) == 2 and len(group) == len(ranks) and [one["start"][0] for one in ranks] != cut


class Torch(Case):
    def verdicts(self, traces):
        done = retile("check", "--json", stdin="".join(traces))
        self.assertEqual(done.stderr, "")
        return [json.loads(line)["right"] for line in done.stdout.splitlines()]

    def test_redistributes_of_jobs_are_judged(self):
        traces = redistributes_of_jobs()
        self.assertGreater(len(traces), 100)
        self.assertEqual(self.verdicts(traces), [not goes_wrong(json.loads(one)) for one in traces])
        self.assertTrue(any(goes_wrong(json.loads(one)) for one in traces))

    def test_mistakes_in_redistributes_of_jobs_are_wrong(self):
        traces, spoiled = redistributes_of_jobs(), []
        for old, new in MISTAKES:
            found = [one for one in traces if old in one]
            self.assertTrue(found, old)
            spoiled.append(min(found, key=len).replace(old, new))
        self.assertEqual(self.verdicts(spoiled), [False] * len(MISTAKES))

    def test_recorded_traces_have_a_verdict_or_a_refusal(self):
        answers = {"avg": "redistribute: right: cost 32, height 16 (bound 16)", "scalar_all_reduce": "redistribute: right: cost 2, height 1 (bound 1)",
                   "vocab_1": "redistribute: right: cost 2432, height 1600 (bound 1600)", "vocab_2": "redistribute: right: cost 2432, height 1600 (bound 416)",
                   "real_width": "redistribute: right: cost 50331648, height 50331648 (bound 12582912)", "product": "a reduction by product is not read"}
        self.assertEqual({path.stem for path in TRACES.glob("*.json")}, set(answers))
        for name, answer in answers.items():
            done = retile("check", str(TRACES / f"{name}.json"))
            self.assertIn(answer, done.stdout + done.stderr, name)
        # Spoiled ones are wrong: a sum is no average, and a piece of the wrong ranks no gather.
        for name, old, new in (("avg", '"reduction": "avg"', '"reduction": "sum"'), ("scalar_all_reduce", '"op": "all_reduce"', '"op": "broadcast"'),
                               ("real_width", '"result": 7', '"result": 8'), ("vocab_1", '"start": 0, "in"', '"start": 1, "in"')):
            text = (TRACES / f"{name}.json").read_text()
            self.assertIn(old, text)
            text = text.replace(old, new)
            if name == "scalar_all_reduce":
                text = text.replace('"reduction": "min"', '"root": 0')
            done = retile("check", stdin=text)
            self.assertEqual((done.returncode, "wrong" in done.stdout), (1, True), (name, done))

    def test_an_average_is_planned_as_a_sum_and_divided(self):
        ends = (*MESH, "--shape", "8,4", "P(avg)RR", "S(0)RR")
        plain = (*MESH, "--shape", "8,4", "P(sum)RR", "S(0)RR")
        self.assertEqual(retile("plan", *ends).stdout, retile("plan", *plain).stdout + "an average: what is added is divided by 2\n")
        plan = json.loads(retile("plan", *ends, "--json").stdout)
        self.assertEqual(plan.pop("divisor"), 2)
        self.assertEqual(plan, json.loads(retile("plan", *plain, "--json").stdout))
        for verb in ("lower", "run", "prove"):
            done = retile(verb, *ends)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("steps of a Program divide nothing", done.stderr)
        done = retile("plan", *MESH, "--shape", "8,4", "P(sum)P(sum)R", "P(avg)RR")
        self.assertIn("addends of an average are not made of those of a sum", done.stderr)
        # Which addends are left of an average are those of one of fewer.
        done = retile("plan", *MESH, "--shape", "8,4", "P(avg)P(avg)R", "P(avg)RR")
        self.assertIn("divided by 2", done.stdout)
        self.assertNotIn("average", retile("plan", *MESH, "--shape", "8,4", "P(avg)P(sum)R", "P(avg)RR").stdout)

    def test_its_warning_is_explained(self):
        done = retile("explain", *MESH, "--shape", "32,8", stdin=WARNING + WARNING)
        done = retile("explain", *MESH, "--shape", "32,8", "-", stdin=WARNING + WARNING)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "2 sequential all_gather operations"), done)
        self.assertEqual(done.stdout.count("allgather cp,dp: dim 0; cost 256"), 1)
        self.assertEqual(retile("explain", *MESH, "--shape", "32,8", WARNING).stdout, done.stdout)
        done = retile("explain", *MESH, "--shape", "32,8", WARNING[:150])
        self.assertEqual((done.returncode, "not the warning that torch prints" in done.stderr), (2, True), done)

    def test_its_names_of_types_have_their_bytes(self):
        for name, size in (("float32", 4), ("torch.bfloat16", 2), ("float8_e4m3fn", 1), ("bool", 1), ("int64", 8), ("complex64", 8), ("f8e5m2", 1), ("torch.float", 4)):
            plan = json.loads(retile("plan", "--mesh", "x:4", "--dtype", name, "--memory-limit", "1B", "[2{x}8]", "[8]", "--json").stdout)
            self.assertEqual(plan["smallest_feasible_bytes"], 10 * size, name)
        for name in ("f4e2m1fn", "float4"):
            self.assertEqual(retile("plan", "--mesh", "x:4", "--dtype", name, "[2{x}8]", "[8]").returncode, 2)
        run = ("--mesh", "x:4", "[2{x}8]", "[8]", "--backend", "sim", "--json")
        self.assertEqual(json.loads(retile("run", *run, "--dtype", "torch.float64").stdout)["bound_bytes"], 64)


if __name__ == "__main__":
    main()
