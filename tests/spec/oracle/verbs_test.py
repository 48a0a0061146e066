"""Every verb of retile-oracle but `check`: answers, exit codes, refusals, streams. ORACLE names the program.

What the rules say is written here a third time, in a few lines of Python, and thousands of random sequences are streamed
through the program and compared. A rule that is changed on purpose must be noticed.
"""

import itertools
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import unittest

ORACLE = os.environ["ORACLE"]


def oracle(*words, stdin=""):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    done = subprocess.run([ORACLE, *words], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    done.stdout = done.stdout.decode(errors="surrogateescape")
    done.stderr = done.stderr.decode(errors="surrogateescape")
    return done


# The rules of Fig. 8 over lists of axes. A dimension is (tile, axes, global), a mesh a dict from names to sizes.

def product(numbers):
    out = 1
    for number in numbers:
        out *= number
    return out


def step(mesh, tau, p):
    """The type after p, or None."""
    op, i, j, xs = p
    if op == "allpermute":
        same = [d[0] for d in tau] == [d[0] for d in xs] and [d[2] for d in tau] == [d[2] for d in xs]
        return xs if same else None
    if i >= len(tau) or j >= len(tau):
        return None
    xs = xs or tau[i][1][:1]
    if not xs or any(x not in mesh for x in xs):
        return None
    n = product(mesh[x] for x in xs)
    out = list(tau)
    if op == "dynslice":
        used = [x for d in tau for x in d[1]]
        if len(set(xs + used)) < len(xs + used) or tau[i][0] % n != 0:
            return None
        out[i] = (tau[i][0] // n, xs + tau[i][1], tau[i][2])
        return out
    if tau[i][1][:len(xs)] != xs:
        return None
    out[i] = (tau[i][0] * n, tau[i][1][len(xs):], tau[i][2])
    if op == "alltoall":
        if i == j or tau[j][0] % n != 0:
            return None
        out[j] = (tau[j][0] // n, xs + tau[j][1], tau[j][2])
    return out


def reversed_slice(mesh, tau, p):
    """The control: a dynslice that puts its axes to the major end."""
    out = step(mesh, tau, p)
    if p[0] == "dynslice" and out:
        c, xs, s = out[p[1]]
        out[p[1]] = (c, xs[len(p[3]):] + p[3], s)
    return out


def text(tau):
    return "[" + ", ".join(str(s) if not xs and c == s else f"{c}{{{','.join(xs)}}}{s}" for c, xs, s in tau) + "]"


def collective_text(p):
    op, i, j, xs = p
    if op == "allpermute":
        return "allpermute " + text(xs)
    axes = "" if not xs else "," + xs[0] if len(xs) == 1 else ",{" + ",".join(xs) + "}"
    return f"{op}({i}{f',{j}' if op == 'alltoall' else ''}{axes})"


def all_types(mesh, sizes):
    """By listing every order of every set of axes, and every way to cut it into lists."""
    out = []
    for m in range(len(mesh) + 1):
        for axes in itertools.permutations(mesh, m):
            for cuts in itertools.combinations_with_replacement(range(m + 1), max(len(sizes) - 1, 0)):
                ends = [0, *cuts, m]
                lists = [list(axes[a:b]) for a, b in zip(ends, ends[1:])]
                if not sizes and m > 0:
                    continue
                counts = [product(mesh[x] for x in xs) for xs in lists]
                if all(s % n == 0 for s, n in zip(sizes, counts)):
                    out.append([(s // n, xs, s) for s, n, xs in zip(sizes, counts, lists)])
    return out


def random_run(rng):
    """mesh, type, collectives; most apply, some nearly."""
    mesh = {x: rng.choice([2, 2, 2, 3, 4, 6]) for x in "abc"[:rng.randint(1, 3)]}
    rank = rng.randint(1, 3)
    sizes = [rng.choice([2, 4, 6, 12, 24, 5]) for _ in range(rank)]
    types = all_types(mesh, sizes)
    tau = start = rng.choice(types)
    steps = []
    for _ in range(rng.randint(1, 6)):
        choices = []
        for _ in range(20):
            op = rng.choice(["allgather", "dynslice", "alltoall", "allpermute"])
            i, j = rng.randrange(rank), rng.randrange(rank)
            if op == "allpermute":
                choices.append((op, i, j, rng.choice(types)))
            elif op == "dynslice":
                choices.append((op, i, 0, rng.sample(list(mesh), rng.randint(1, len(mesh)))))
            else:
                choices.append((op, i, j if op == "alltoall" else 0, tau[i][1][:rng.randint(0, 2)]))
        good = [p for p in choices if step(mesh, tau, p)]
        p = rng.choice(good) if good and rng.random() < 0.95 else rng.choice(choices)
        steps.append(p)
        tau = step(mesh, tau, p)
        if tau is None:
            break
    return mesh, start, steps


def answers(run, rule=step):
    """What apply, height and cost say of a run: lists of types or None, (height, bound, fits, normal), cost."""
    mesh, tau, steps = run
    types = [tau]
    for p in steps:
        types.append(rule(mesh, types[-1], p))
        if types[-1] is None:
            return types[1:], None, None
    sizes = [product(d[0] for d in t) for t in types]
    price = {"allgather": lambda k: sizes[k + 1], "dynslice": lambda k: 0}
    cost = sum(price.get(p[0], lambda k: sizes[k])(k) for k, p in enumerate(steps))
    letters = "".join({"dynslice": "D", "allgather": "G"}.get(p[0], "F") for p in steps)
    bound = max(sizes[0], sizes[-1])
    return types[1:], (max(sizes), bound, max(sizes) <= bound, bool(re.fullmatch("D*F*G*", letters))), cost


def mesh_line(mesh):
    return "mesh " + ",".join(f"{x}:{k}" for x, k in mesh.items()) + "\n"


def stream(runs):
    return "".join(mesh_line(run[0]) + " ".join([text(run[1])] + [collective_text(p) for p in run[2]]) + "\n" for run in runs)


class Case(unittest.TestCase):
    maxDiff = None

    def says(self, words, stdout, code=0, stdin=""):
        done = oracle(*words, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, stdout, ""))

    def refused(self, words, message, column=None, stdin=""):
        """Exit code 2, nothing on stdout, one error with a caret, in this column of the line that is shown."""
        done = oracle(*words, stdin=stdin)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 3, done.stderr)
        self.assertRegex(lines[0], "^error: .*" + message)
        self.assertRegex(lines[2], r"^  *\^$")
        self.assertTrue(all(" " <= c <= "~" for line in lines for c in line), done.stderr)
        if column is not None:
            self.assertEqual(lines[2].index("^") - 2, column, done.stderr)


class Types(Case):
    def test_lists_every_type_once(self):
        count = 0
        for mesh in ({}, {"x": 2}, {"x": 2, "y": 2}, {"x": 2, "y": 3}, {"x": 4, "y": 6}, {"x": 2, "y": 2, "z": 2},
                     {"x": 2, "y": 3, "z": 5}):
            for sizes in ([], [1], [4], [6, 4], [4, 4], [30, 2, 6]):
                want = [text(tau) for tau in all_types(mesh, sizes)]
                named = ",".join(f"{x}:{k}" for x, k in mesh.items()) or "one:1"
                done = oracle("types", "--mesh", named, str(sizes))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(sorted(done.stdout.splitlines()), sorted(want))
                count += len(want)
        print(f"{count} types", file=sys.stderr)
        self.assertGreater(count, 250)

    def test_answers_are_separated_by_a_blank_line(self):
        self.says(["types"], "[4]\n[2{x}4]\n\n[3, 1]\n[1{x}3, 1]\n", stdin="mesh x:2\n[4]\n# next\n\n mesh x:3\r\n[3,1]\n")

    def test_axes_of_size_one_mean_nothing(self):
        self.says(["types", "--mesh=u:1,x:2", "[2]"], "[2]\n[1{x}2]\n")

    def test_too_many_are_undecided(self):
        mesh = ",".join(f"x{k}:2" for k in range(12))
        self.says(["types", "--mesh", mesh, "[4096, 4096]"], "undecided: more than 2^20 dimensions in all types, by an upper bound\n", 3)
        self.says(["types", "--mesh", mesh, "[1, 3]"], "[1, 3]\n")
        self.says(["types", "--mesh", "x:2"], "undecided: more than 64 dimensions\n", 3, stdin=str([1] * 100000))
        self.says(["types", "--mesh", "x:2"], str([1] * 64) + "\n", stdin=str([1] * 64))


class Apply(Case):
    def test_prints_the_type_after_each_collective(self):
        self.says(["apply", "--mesh", "x:4,y:6", "[3{x}12, 2{y}12]", "allgather(0)", "alltoall(1,0)", "dynslice(1,x)"],
                  "[12, 2{y}12]\n[2{y}12, 12]\n[2{y}12, 3{x}12]\n")
        self.says(["apply", "--mesh", "x:2,y:2", "[1{x,y}4, 4] alltoall(0,1,{x,y})"], "[4, 1{x,y}4]\n")
        self.says(["apply", "--mesh", "x:2,y:2", "[1{x,y}4, 4] alltoall(0,1) alltoall(0,1)"], "[2{y}4, 2{x}4]\n[4, 1{y,x}4]\n")
        self.says(["apply", "--mesh", "x:2,y:2", "[2{x:2}4]", "allpermute[2{y}4]"], "[2{y}4]\n")
        self.says(["apply", "--mesh", '"a b":2,"4th":2', '[2{"a b"}4]', 'dynslice(0,"4th")'],
                  '[1{"4th","a b"}4]\n')
        self.says(["apply", "--mesh", "x:2,u:1", "[2{u,x}4, 4]", "alltoall(0,1)"], "[4, 2{x}4]\n")

    def test_the_first_rule_that_does_not_apply_is_named(self):
        for steps, answer in [
                ("allgather(0) allgather(0)", "[4, 6]\nno: step 1, allgather(0): dimension 0 has no axes [T-ALLGATHER]"),
                ("allgather(7)", "no: step 0, allgather(7): there is no dimension 7, the rank is 2 [T-ALLGATHER]"),
                ("allgather(0,y)", "no: step 0, allgather(0,y): the axes {x} of dimension 0 do not begin with {y} [T-ALLGATHER]"),
                ("dynslice(1,x)", "no: step 0, dynslice(1,x): axis x is in use [T-DYNSLICE]"),
                ("dynslice(1,{y,y})", "no: step 0, dynslice(1,{y,y}): it names an axis twice [T-DYNSLICE]"),
                ("dynslice(1,{y,x})", "no: step 0, dynslice(1,{y,x}): axis x is in use [T-DYNSLICE]"),
                ("dynslice(0,y)", "no: step 0, dynslice(0,y): the size 3 of {y} does not divide the tile extent 2 of dimension 0 [T-DYNSLICE]"),
                ("dynslice(0,z)", "no: step 0, dynslice(0,z): axis z is not in the mesh [T-DYNSLICE]"),
                ("dynslice(0,u)", "no: step 0, dynslice(0,u): all axes that it names have size 1 [T-DYNSLICE]"),
                ("alltoall(0,0)", "no: step 0, alltoall(0,0): the two dimensions are the same [T-ALLTOALL]"),
                ("alltoall(0,2)", "no: step 0, alltoall(0,2): there is no dimension 2, the rank is 2 [T-ALLTOALL]"),
                ("dynslice(1,y) allgather(0) alltoall(1,0)",
                 "[2{x}4, 2{y}6]\n[4, 2{y}6]\nno: step 2, alltoall(1,0): the size 3 of {y} does not divide the tile extent 4 of dimension 0 [T-ALLTOALL]"),
                ("allpermute[4, 6]", "no: step 0, allpermute[4, 6]: the localtypes differ [T-PERMUTE]"),
                ("allpermute[2, 6]", "no: step 0, allpermute[2, 6]: the globaltypes differ [T-PERMUTE]"),
                ("allpermute[2{z}4, 6]", "no: step 0, allpermute[2{z}4, 6]: the type that it leads to is not well-formed [WF-TYPE]"),
        ]:
            with self.subTest(steps):
                self.says(["apply", "--mesh", "x:2,y:3,u:1", "[2{x}4, 6] " + steps], answer + "\n", 1)

    def test_streams_agree_with_the_rules_written_a_third_time(self):
        runs = [random_run(random.Random(seed)) for seed in range(2500)]
        text_of_runs = stream(runs)
        got = oracle("apply", stdin=text_of_runs)
        blocks = got.stdout[:-1].split("\n\n")
        self.assertEqual(len(blocks), len(runs))
        heights, costs = (oracle(verb, stdin=text_of_runs).stdout.splitlines() for verb in ("height", "cost"))
        self.assertEqual((len(heights), len(costs), got.returncode), (len(runs), len(runs), 1))
        applied = differs = 0
        for run, block, height, cost in zip(runs, blocks, heights, costs):
            types, facts, price = answers(run)
            lines = block.split("\n")
            self.assertEqual(len(lines), len(types), block)
            for line, tau in zip(lines, types):
                if tau is None:
                    self.assertRegex(line, rf"^no: step {len(types) - 1}, \w+.*: .+ \[(T|WF)-[A-Z]+\]$")
                else:
                    self.assertEqual(line, text(tau))
            if facts:
                applied += 1
                word = {True: "true", False: "false"}
                self.assertEqual(height, f"{facts[0]} bound={facts[1]} within_bound={word[facts[2]]} normal_form={word[facts[3]]}")
                self.assertEqual(cost, str(price))
            else:
                self.assertEqual((height, cost), (lines[-1], lines[-1]))
            wrong, *_ = answers(run, reversed_slice)
            differs += [text(t) if t else "" for t in wrong] != [line if line[0] == "[" else "" for line in lines]
        print(f"{len(runs)} runs, {applied} apply, the control differs on {differs}", file=sys.stderr)
        self.assertGreater(applied, 1000)
        self.assertGreater(len(runs) - applied, 200)
        self.assertGreater(differs, 50)

    def test_height_and_cost_of_a_type_alone(self):
        self.says(["height", "--mesh", "x:2", "[2{x}4, 3]"], "6 bound=6 within_bound=true normal_form=true\n")
        self.says(["cost", "--mesh", "x:2", "[2{x}4, 3]"], "0\n")
        self.says(["height", "--mesh", "x:2", "[]"], "1 bound=1 within_bound=true normal_form=true\n")

    def test_a_cost_of_two_to_the_63_is_undecided(self):
        size = 2**61
        steps = ["allpermute [1{x}%d]" % size] * 3
        one = ["cost", "--mesh", "x:%d" % size, "[1{x}%d]" % size]
        self.says(one + steps, "3\n")
        # Each round gathers 2^61 elements: three fit, the fourth does not.
        rounds = ["allgather(0)", "dynslice(0,x)"]
        self.says(one + rounds * 3, f"{3 * size}\n")
        self.says(one + rounds * 4, "undecided: the cost is not below 2^63\n", 3)


class Normalize(Case):
    def test_prints_the_rewriting_and_its_measure(self):
        self.says(["normalize", "--mesh", "x:2,y:2", "[1{x}2, 4]", "allgather(0)", "dynslice(1,y)", "dynslice(1,x)"],
                  "mesh x:2,y:2\n"
                  "[1{x}2, 4] allgather(0) dynslice(1,y) dynslice(1,x)  # measure {8,4}\n"
                  "[1{x}2, 4] dynslice(1,y) allgather(0) dynslice(1,x)  # measure {4,2}, Lemma 4.6 (4) at step 0\n"
                  "[1{x}2, 4] dynslice(1,y) alltoall(0,1)  # measure {2}, Lemma 4.6 (3) at step 1\n")
        self.says(["normalize", "--mesh", "u:1", "[4]"], "mesh x:1\n[4]  # measure {}\n")
        self.says(["normalize", "--mesh", "x:2", "[4] allgather(0)"],
                  "no: step 0, allgather(0): dimension 0 has no axes [T-ALLGATHER]\n", 1)

    def test_axes_are_split_into_primes(self):
        self.says(["normalize", "--mesh", "x:4", "[1{x}4, 4]", "alltoall(0,1)"],
                  "mesh x.2:2,x.1:2\n[1{x.1,x.2}4, 4] alltoall(0,1) alltoall(0,1) allpermute[4, 1{x.1,x.2}4]  # measure {4,4}\n")

    def test_every_line_keeps_the_ends_and_the_last_is_a_normal_form_within_the_bound(self):
        runs = [run for run in (random_run(random.Random(seed)) for seed in range(800)) if answers(run)[1]]
        done = oracle("normalize", stdin=stream(runs))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        blocks = done.stdout[:-1].split("\n\n")
        self.assertEqual(len(blocks), len(runs))
        heights = iter(oracle("height", stdin=done.stdout).stdout.splitlines())
        # A type alone is no question to apply; its end is itself.
        applied = oracle("apply", stdin=re.sub(r"(?m)^\[[^]]*\]  #.*$", "", done.stdout))
        applied_ends = iter([block.split("\n")[-1] for block in applied.stdout[:-1].split("\n\n")])
        lines = 0
        for block in blocks:
            sequences = block.split("\n")[1:]
            measures, seen = [], set()
            for line in sequences:
                last = next(heights)
                seen.add(line.split("  #")[0] if "]  #" in line and line.count("[") == 1 else next(applied_ends))
                sizes = re.search(r"# measure \{([\d,]*)\}", line).group(1)
                measures.append([int(size) for size in sizes.split(",") if size])
            self.assertEqual(len(seen), 1, block)
            self.assertRegex(last, "within_bound=true normal_form=true$", block)
            self.assertEqual(measures, sorted(measures, reverse=True), block)
            self.assertEqual(len(measures), len({str(m) for m in measures}), block)
            lines += len(sequences)
        print(f"{len(runs)} sequences, {lines - len(runs)} rewritings", file=sys.stderr)
        self.assertGreater(lines - len(runs), 600)


class Optimum(Case):
    def test_the_numbers_that_are_known(self):
        for mesh, source, target, weak, best in [("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]", 12, 18),
                                                 ("a:2,b:2,c:3", "[12, 3{a,b}12]", "[6{b}12, 6{a}12]", 36, 60),
                                                 ("a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]", 4, 6),
                                                 ("x:4,y:4,u:1", "[16]", "[4{u,x}16]", 0, 0)]:
            for options in ([], ["--unbounded"]):
                done = oracle("optimum", *options, "--mesh", mesh, source, target)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout.split("retile.program/1")[0], f"# W: {weak}\n# optimum: {best}\n")
                verdict = oracle("check", stdin=done.stdout)
                self.assertEqual(verdict.returncode, 0, done.stdout)
                self.assertIn(f"cost: {best}\n", verdict.stdout)

    def test_its_programs_are_right_cost_what_it_says_and_no_less_than_w(self):
        queries = ""
        for mesh, sizes in [({"x": 2, "y": 2}, [4, 4]), ({"x": 2, "y": 3}, [6, 6]), ({"x": 4, "y": 2}, [8, 4])]:
            types = [text(tau) for tau in all_types(mesh, sizes)]
            queries += mesh_line(mesh) + "".join(f"{a} {b}\n" for a in types for b in types)
        done = oracle("optimum", stdin=queries)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        weak, best = ([int(n) for n in re.findall(word + r": (\d+)\n", done.stdout)] for word in ("# W", "# optimum"))
        verdicts = oracle("check", stdin=done.stdout)
        self.assertEqual(verdicts.returncode, 0)
        self.assertEqual([int(n) for n in re.findall(r"\ncost: (\d+)\n", verdicts.stdout)], best)
        self.assertEqual(verdicts.stdout.count("within_bound: true"), len(best))
        self.assertTrue(all(w <= b for w, b in zip(weak, best)))
        self.assertTrue(any(w < b for w, b in zip(weak, best)))
        print(f"{len(best)} optimal Programs", file=sys.stderr)
        self.assertGreater(len(best), 300)
        # Control: with a step left out some of them are wrong.
        broken = re.sub(r"(?m)^allpermute .*\n", "", done.stdout)
        self.assertEqual(oracle("check", stdin=broken).returncode, 1)

    def test_limits(self):
        self.says(["optimum", "--mesh", "x:128", "[128]", "[1{x}128]"], "# undecided: more than 127 devices\n", 3)
        self.assertEqual(oracle("optimum", "--mesh", "x:127", "[127]", "[1{x}127]").returncode, 0)
        self.says(["optimum", "--mesh", "x:9223372036854775807", "[2]", "[2]"], "# undecided: more than 127 devices\n", 3)
        many = str([2] * 13)
        self.says(["optimum", "--mesh", "x:2", many, many], "# undecided: more than 2^12 localtypes, by an upper bound\n", 3)
        self.assertEqual(oracle("optimum", "--mesh", "x:2", str([2] * 12), str([2] * 12)).returncode, 0)
        for rank in (17, 100000):
            flat = "[" + ", ".join(["1"] * rank) + "]"
            answer = oracle("optimum", "--mesh", "x:2", stdin=f"{flat} {flat}\n[2] [1{{x}}2]\n")
            self.assertEqual((answer.returncode, answer.stderr), (3, ""))
            self.assertRegex(answer.stdout, r"^# undecided: more than 16 dimensions\n\n# W: 0\n# optimum: 0\nretile.program/1\n")
        self.assertEqual(oracle("optimum", "--mesh", "x:2", str([1] * 16), str([1] * 16)).returncode, 0)

    def test_refuses_what_is_no_problem(self):
        self.refused(["optimum", "--mesh", "x:2", "[4]", "[5]"], "the globaltypes differ", 4)
        self.refused(["optimum", "--mesh", "x:2", "[4]"], r"expected '\['", 3)
        self.refused(["optimum", "--mesh", "x:2", "[4]", "[4]", "[4]"], "unexpected text", 8)
        self.refused(["optimum", "--bounded", "--mesh", "x:2", "[4]", "[4]"], "no option", 22)


class Boxes(Case):
    def test_a_line_for_every_device(self):
        self.says(["boxes", "--mesh", "x:2,y:2", "[3{y,x}10]"], "0: [0..3]\n1: [3..6]\n2: [6..9]\n3: [9..10]\n")
        self.says(["boxes", "--mesh", "p:4", "[3{p}9, 2]"], "0: [0..3, 0..2]\n1: [3..6, 0..2]\n2: [6..9, 0..2]\n3: empty\n")
        self.says(["boxes", "--mesh", "x:2 order=[1,0]", "[(0,1,4){x}4<1,0>]"], "0: [0..4]\n1: [0..1]\n")
        self.says(["boxes"], "0: [0..3]\n1: [3..5]\n\n0: [3..5]\n1: [0..3]\n", stdin="mesh x:2\n[3{x}5]\nmesh x:2 order=[2]<=[2] # same\n"
                  "mesh x:2 order=[1,0]\n[3{x}5]\n")
        self.says(["boxes", "--mesh", "x:2", "[4]@1"], "0: empty\n1: [0..4]\n")
        self.says(["boxes", "--mesh", "x:2,y:2", "sum{x}[4{y}8]"], "0: [0..4] addend 0\n1: [4..8] addend 0\n2: [0..4] addend 1\n3: [4..8] addend 1\n")
        self.says(["boxes", "--mesh", "x:2,y:3"], "0: [0..1] addend 0\n1: [0..1] addend 2\n2: [0..1] addend 4\n3: [0..1] addend 1\n"
                  "4: [0..1] addend 3\n5: [0..1] addend 5\n", stdin="max { x , y } [ 1 ] # minor first\n")
        self.says(["boxes", "--mesh", "x:1,y:2", "stack{x}[1{y}1]"], "0: [0..1]\n1: empty\n")
        self.says(["boxes", "--mesh", "x:2", "min{x}[]"], "0: [] addend 0\n1: [] addend 1\n")
        self.says(["boxes", "--mesh", "x:2 order=[2]<=[2]", "sum{x}[1]"], "0: [0..1] addend 0\n1: [0..1] addend 1\n")
        self.refused(["boxes", "--mesh", "x:2 order=[1,0]", "sum{x}[1]"], "at the position of its number", 0)
        self.refused(["boxes", "--mesh", "x:2", "sum{}[1]"], "expected a name", 4)
        self.refused(["boxes", "--mesh", "x:2", "sum{x}[2]@0"], "unexpected text", 9)
        self.refused(["boxes", "--mesh", "x:2", "sum{x}[1{x}2]"], "overlap", 0)
        self.refused(["cost", "--mesh", "x:2", "sum{x}[2]"], "a query starts with", 0)
        self.says(["boxes", "--mesh", "x:2", "[]"], "0: []\n1: []\n")

    def test_limits(self):
        self.says(["boxes", "--mesh", "x:2"], "undecided: more than 2^28 tags on all devices together\n\n0: [0..1]\n1: [1..2]\n", 3,
                  stdin="[500000000{x}1000000000]\n[1{x}2]\n")
        self.says(["boxes", "--mesh", "x:2147483648", "[4]"], "undecided: more than 2^22 devices and sides of their boxes\n", 3)

    def test_refusals_point(self):
        for layout, message, column in [("[100{x}256]", r"64\{x\}256, or 100~\{x\}256 for blocks of 100 \[WF-DIM-CEIL\]", 1),
                                        ("[63~{x}256]", "do not cover", 1), ("[(0,9,4,9,9){x}9]", "never down", 1),
                                        ("[3{x}9<1,10>]", "at most 9", 9), ("[9]@4", "does not exist", 0),
                                        ("[2{x:(1)2,x:(1)2}8]", "overlap", 0), ("[3{x:(3)1}3]", "no multiple", 3)]:
            self.refused(["boxes", "--mesh", "x:4", layout], message, column)
        for mesh, message, column in [("x:4 order=[0,1,2,2]", "none twice", 10), ("x:4 order=[0,1,2,4]", "there is no device 4", 10)]:
            self.refused(["boxes", "--mesh", mesh, "[4]"], message, column)

    def test_the_other_verbs_refuse_uneven_types_by_name(self):
        for verb, rest in [("apply", ["allgather(0)"]), ("height", []), ("cost", []), ("normalize", []), ("optimum", ["[9]"])]:
            for layout, column in [("[5{x}9]", 0), ("[5~{x}9]", 2), ("[(0,4,9){x}9]", 1), ("[9{}9<1,1>]", 5), ("[9]@1", 3), ("[9{x:(2)1}9]", 5)]:
                with self.subTest(verb=verb, layout=layout):
                    self.refused([verb, "--mesh", "x:2", layout, *rest], "only boxes and check read", column)
            self.refused([verb, "--mesh", "x:2 order=[1,0]", "[9]", *rest], "only boxes and check read an order", 4)
        for to in ("[5{x}9]", "[9]@1"):
            self.refused(["optimum", "--mesh", "x:2", "[9]", to], "only boxes and check read", 4 if "x" in to else 7)
        self.refused(["certify"], "certify reads retile.program/1 alone", 0, stdin="retile.program/2\nmesh x:2\nfrom [4]\nto [4]\n")
        # Control: the same questions about even types are answered.
        self.says(["cost", "--mesh", "x:2", "[5{x}10]"], "0\n")


class Input(Case):
    VERBS = {"types": "[4]", "apply": "[4] dynslice(0,x)", "height": "[4]", "cost": "[4]", "normalize": "[4]", "optimum": "[4] [4]",
             "boxes": "[4]"}

    def test_words_and_lines_are_the_same(self):
        for verb, query in self.VERBS.items():
            want = oracle(verb, "--mesh", "x:2", *query.split(" "))
            self.assertEqual((want.returncode, want.stderr), (0, ""))
            for words, stdin in [((verb,), f"mesh x:2\n{query}\n"), ((verb, "-"), f"\r\nmesh x:2\r\n\t{query} # all\r\n"),
                                 ((verb, "--mesh=x:2"), query), ((verb, "--mesh", "x:3", "-"), f"mesh x:2\n{query}")]:
                self.says(words, want.stdout, stdin=stdin)

    def test_thousands_of_lines_are_answered_in_order(self):
        sizes = range(1, 5001)
        done = oracle("height", "--mesh", "x:2", stdin="".join(f"[{s}]\n" for s in sizes))
        self.assertEqual([int(line.split()[0]) for line in done.stdout.splitlines()], list(sizes))

    def test_nothing_is_printed_when_one_line_cannot_be_read(self):
        self.refused(["height", "--mesh", "x:2"], r"<stdin>:3:6: expected a number", 5, stdin="[4]\n[5]\n[2{x}]\n[6]\n")

    def test_refusals_point(self):
        at = ["apply", "--mesh", "x:2,y:3"]
        for query, message, column in [("[4] gather(0)", "expected allgather, dynslice", 4), ("[4]", "expected a collective", 3),
                                       ("[4] allgather(", "expected a number", 14), ("[4] allgather(-1)", "expected a number", 14),
                                       ("[4] dynslice(0)", "expected ','", 14), ("[4] alltoall(0)", "expected ','", 14),
                                       ("[4] dynslice(0,{})", "at least one axis", 15), ("[4] allpermute", "expected the type to which this allpermute leads", 14),
                                       ("[4] allpermute(0)", "expected the type to which", 14),
                                       ("[4] allpermute dynslice(0,x)", "expected the type to which", 15),
                                       ("[4] allpermute allpermute [4]", "expected the type to which", 15), ("[4{z}4] allgather(0)", "axis z is not in the mesh", 0),
                                       ("[4{x}4]", r"WF-DIM", 0), ("[2{x}4, 2{x}4]", r"stands twice \[WF-TYPE\]", 0),
                                       ("[1{x,x}4]", "stands twice", 0), ("[2{x:3}4]", "not the size of axis x", 5),
                                       ("[0]", "at least 1", 1), ("[-4]", "expected a number", 1), ("[9223372036854775808]", "below 2.63", 1),
                                       ("[4294967296, 4294967296]", "global size is not below 2.63", 0), ("4", "starts with", 0),
                                       ("[4,]", "expected a number", 3), ("[4", "expected '\\]'", 2), ("[4] alltoall(0,1){x}", "expected allgather|a name", 17),
                                       ("[2{x}4] allgather(18446744073709551616)", "below 2.63", 18)]:
            with self.subTest(query):
                self.refused([*at, query], message, column)

    def test_meshes(self):
        for mesh, message, column in [("", "expected a name", 0), ("x", "expected ':'", 1), ("x:0", "at least 1", 2), ("x:-1", "number", 2),
                                      ("x:9223372036854775808", "below 2.63", 2), ("x:2,x:2", "stands twice", 0), ("x:2;y:2", "unexpected", 3),
                                      ("x:4294967296,y:4294967296", "number of devices", 0), ("x:2\ny:2", "unexpected", None)]:
            with self.subTest(mesh):
                self.refused(["types", "--mesh", mesh, "[4]"], message, column)
        self.refused(["types", "[4]"], "there is no mesh", 0)
        self.refused(["types", "--mesh", "x:2", "--mesh", "x:2", "[4]"], "--mesh stands twice", 31)
        self.refused(["types", "[4]", "--mesh"], "expected a mesh", 31)
        self.refused(["types", "--mesh", "x:2", "[4]", "-"], "either a query or -", 35)
        self.refused(["types", "--mesh", "x:2", "--json"], "types has no option --json", 31)

    def test_nasty_bytes(self):
        for verb in self.VERBS:
            for stdin in [b"", b"\n\n", b"\0", b"\xff\xfe[4]\n", b"mesh x:2\n[4]\0\n", b"mesh x:2\n[\xc3\xa9]\n", b"mesh \"x\n", b"[" * 100000,
                          b"mesh x:2\n" + b"[" + b"1," * 100000, b"mesh x:2\n[4]\r[4]\n", b"mesh\n", b"mesh", b"meshx:2\n[4]", b"x" * 1000000,
                          b"mesh x:2\n[2{\"\x1b[31m\"}4]\n", b"mesh \"\x1b[31m\":2\n[4]\n"]:
                with self.subTest(verb=verb, stdin=stdin[:20]):
                    self.refused([verb], "", stdin=stdin)

    def test_long_lines_are_shown_around_the_place(self):
        done = oracle("types", "--mesh", "x:2", "[" + "1, " * 5000 + "x]")
        self.assertEqual([len(line) <= 90 for line in done.stderr.splitlines()], [True] * 3)
        self.assertEqual(done.stderr.splitlines()[2].index("^"), 62)

    def test_a_name_is_only_a_name(self):
        """Whatever the axes are called, also "", the answers are the same."""
        odd = ["", "# {", "4th, "]

        def renamed(words):
            return re.sub(r"q(\d)((?:\.\d+)*)", lambda m: f'"{odd[int(m[1])]}{m[2]}"', words)

        def with_q(run):
            q = dict(zip("abc", ("q0", "q1", "q2")))
            tau = lambda t: [(c, [q[x] for x in xs], s) for c, xs, s in t]
            return ({q[x]: k for x, k in run[0].items()}, tau(run[1]),
                    [(op, i, j, tau(xs) if op == "allpermute" else [q[x] for x in xs]) for op, i, j, xs in run[2]])

        queries = stream([with_q(random_run(random.Random(seed))) for seed in range(500)])
        streams = {verb: queries for verb in ("apply", "height", "cost", "normalize")}
        streams["types"] = "mesh q0:4,q1:2,q2:3\n[12, 4]\n[6]\n"
        streams["optimum"] = "mesh q0:2,q1:2,q2:2\n[4, 1{q0,q1}4] [1{q0,q2}4, 4]\n[1{q0}2] [1{q1}2]\n"
        answers_of = {}
        for verb, text_of_queries in streams.items():
            plain, got = oracle(verb, stdin=text_of_queries), oracle(verb, stdin=renamed(text_of_queries))
            self.assertEqual((got.returncode, got.stderr), (plain.returncode, ""))
            self.assertEqual(got.stdout, renamed(plain.stdout), verb)
            answers_of[verb] = got.stdout
        # What normalize and optimum print is read again.
        again = re.sub(r"(?m)^no: .*\n", "", answers_of["normalize"])
        for verb in ("height", "cost", "normalize"):
            self.assertEqual(oracle(verb, stdin=again).returncode, 0)
        self.assertIn('dynslice(1,"")', again)
        self.assertEqual(oracle("check", stdin=answers_of["optimum"]).returncode, 0)
        # Control: the names matter to the text.
        self.assertNotEqual(oracle("apply", stdin=queries).stdout, answers_of["apply"])

    def test_names_in_messages_are_quoted_and_messages_are_not_long(self):
        for name, said in [("a b", '"a b"'), ("", '""'), ("x", "x"), ("n" * 1000, "n" * 100)]:
            with self.subTest(name[:10]):
                self.refused(["cost", "--mesh", f'"{name}":2', f'[2{{"{name}":3}}4]'], f"this is not the size of axis {said}")
                self.refused(["cost", "--mesh", "y:2", f'[2{{"{name}"}}4]'], f"axis {said}")
                header = f'retile.program/1\nmesh y:2\nfrom [2{{"{name}"}}4]\nto [4]\n'
                self.refused(["check"], f"axis {said}", stdin=header)
                self.refused(["check"], f"axis {said}.*", stdin=header.replace("y:2", f'"{name}":3').replace('"}', '":2}'))
        done = oracle("check", stdin=header)
        self.assertLess(len(done.stderr.splitlines()[0]), 260)

    def test_unknown_verbs_and_no_verb(self):
        self.refused([], "expected types, apply, check or another verb: --help lists them all", 14)
        self.refused(["prove"], "expected types", 14)
        for word in ("--help", "-h", "--version"):
            self.refused(["prove", word], "expected types", 14)
            self.refused([word, "prove"], "expected types", 15 + len(word))
        self.refused(["--json"], "expected types", 14)

    def test_behind_two_hyphens_no_word_is_an_option(self):
        self.says(["cost", "--mesh", "x:2", "--", "[4]"], "0\n")
        self.says(["cost", "--mesh", "x:2", "--"], "0\n", stdin="[4]")
        self.says(["cost", "--mesh", "x:2", "--", "-"], "0\n", stdin="[4]")
        self.refused(["cost", "--mesh", "x:2", "--", "--help"], "a query starts with", 0)
        self.refused(["cost", "--mesh", "x:2", "--", "--", "[4]"], "a query starts with", 0)
        self.refused(["check", "--", "--help"], "cannot read --help", 23)
        self.refused(["check", "--", "a", "b"], "expected one file", 25)
        self.assertEqual(oracle("check", "--", "-", stdin="retile.program/1\ndevices 1\nfrom []\nto []\n").returncode, 0)

    def test_a_tab_stands_behind_mesh_as_well_as_a_blank(self):
        for space in ("\t", "\t ", " \t"):
            self.says(["cost"], "0\n", stdin=f"mesh{space}x:2\n[4]\n")

    def test_mesh_ends_where_its_letters_end_as_in_programs(self):
        self.says(["cost"], "2\n", stdin='mesh"x":2\n[1{x}2] allgather(0)\n')
        self.assertEqual(oracle("check", stdin='retile.program/1\nmesh"x":2\nfrom [1{x}2]\nto [1{x}2]\n').returncode, 0)
        for word in ("meshx:2", "mesh.x:2", "mesh-x:2", "mesh4:2", "Mesh x:2", "mes x:2"):
            self.refused(["cost"], "a query starts with", 0, stdin=word + "\n[4]\n")

    def test_rank_zero(self):
        self.says(["types", "--mesh", "x:2", "[]"], "[]\n")
        self.says(["apply", "--mesh", "x:2", "[] allpermute []"], "[]\n")
        self.says(["apply", "--mesh", "x:2", "[]", "allpermute", "[]", "allpermute []"], "[]\n[]\n")
        self.says(["height", "--mesh", "x:2", "[] allpermute []"], "1 bound=1 within_bound=true normal_form=true\n")
        self.says(["cost", "--mesh", "x:2", "[] allpermute []"], "1\n")
        self.says(["normalize", "--mesh", "x:2", "[] allpermute []"], "mesh x:2\n[] allpermute[]  # measure {}\n")
        self.assertEqual(oracle("optimum", "--mesh", "x:2", "[] []").returncode, 0)

    def test_standard_input_that_cannot_be_read(self):
        for verb in [*self.VERBS, "check", "certify"]:
            for words in (["bash", "-c", f'"$ORACLE" {verb} <&-'], ["bash", "-c", f'"$ORACLE" {verb} < /']):
                done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, b""), words)
                self.assertTrue(done.stderr.startswith(b"error: cannot read standard input\n"), done.stderr)

    def test_many_axes_and_many_queries_take_little(self):
        """Below a second; with a copy of the mesh per query, or a search per axis, minutes or gigabytes."""
        axes = [f"axis{k}" for k in range(50000)]
        mesh = "mesh " + ",".join(x + ":1" for x in axes) + "\n"
        started = time.monotonic()
        self.says(["cost"], "0\n" * 20000, stdin=mesh + "[4]\n" * 20000)
        self.says(["cost"], "0\n", stdin=mesh + "[4{" + ",".join(x + ":1" for x in axes) + "}4]\n")
        done = oracle("cost", stdin=mesh + "[4] dynslice(0,{" + ",".join(axes) + "})\n")
        self.assertRegex(done.stdout, "all axes that it names have size 1")
        stage = "<=[2" + ",1" * 100000 + "]T(" + ",".join(str(k) for k in reversed(range(100001))) + ")"
        done = oracle("check", stdin=f"retile.program/1\ndevices 2\nfrom [1]\nto [1]\nallpermute source=[2]{stage}\n")
        self.assertEqual(done.returncode, 0, done)
        self.assertLess(time.monotonic() - started, 20)

    def test_memory_that_runs_out_leaves_the_other_answers(self):
        limit = 128 * 2**20  # bytes

        def little(*words, stdin):
            return subprocess.run([ORACLE, *words], input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                  check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

        if little("--version", stdin="").returncode != 0:
            self.skipTest("a sanitizer needs more address space than that")
        small = "retile.program/1\ndevices 1\nfrom []\nto []\n"
        done = little("check", stdin=small + f"retile.program/1\ndevices {2**28}\nfrom [1]\nto [1]\n" + small)
        self.assertEqual((done.returncode, done.stderr), (3, b""))
        self.assertEqual(re.findall(rb"right: (\w+)", done.stdout), [b"true", b"undecided", b"true"])
        self.assertIn(b"right: undecided\nreason: limit\n# undecided: out of memory\n\n", done.stdout)
        # The first type fits, but not all types along the sequence.
        wide = "[2," + "1," * 2**18 + "1]"
        done = little("cost", stdin="mesh x:2\n[4]\n" + wide + " dynslice(0,x) allgather(0)" * 7 + "\n" + "[4]\n")
        self.assertEqual((done.returncode, done.stderr), (3, b""))
        self.assertEqual(done.stdout, b"0\nundecided: out of memory\n0\n")
        done = little("types", stdin="mesh x:2\n" + "[4]\n" * 10**7)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"", b"error: out of memory\n"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_an_answer_that_nobody_can_read_is_exit_code_4(self):
        for verb, query in self.VERBS.items():
            with open("/dev/full", "wb") as full:
                done = subprocess.run([ORACLE, verb, "--mesh", "x:2", query], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual((done.returncode, done.stderr), (4, b"error: cannot write to standard output\n"))

    def test_a_file_that_may_not_grow_is_exit_code_4(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        for verb, query in self.VERBS.items():
            with self.subTest(verb=verb), tempfile.TemporaryFile() as file:
                done = subprocess.run(
                    [ORACLE, verb, "--mesh", "x:2", query], stdout=file, stderr=subprocess.PIPE, check=False, preexec_fn=limit)
                self.assertEqual((done.returncode, done.stderr), (4, b"error: cannot write to standard output\n"))


class Certify(Case):
    PROGRAM = "retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [4]\nallgather dim=0 groups=[[0,1]]\n"
    BOUND = "lower_bound 4\npotential [4] 0 4\n"
    FACTS = "fact groups [0,1,2]\nfact inside [0]\nfact end [4]\nfact bound [4,4]\nfact cost [4]\n"
    PROOF = PROGRAM + BOUND + "end\n"
    VERDICT = "right: true\nwithin_bound: true\nheight: 4\nbound: 4\ncost: 4\nsteps: 1\n"
    ABOUT = "certified: true\ndevices: 2\nglobal: [4]\nfrom: [2]\nto: [4]\n"
    SCOPE = ("scope: allgather, dynslice, alltoall, allpermute (Fig. 10), tiles within the bound (4), "
             "cost in elements per device (Fig. 11)\n")

    def test_a_proof_is_accepted_from_a_file_and_from_standard_input(self):
        answer = self.VERDICT + self.ABOUT + self.SCOPE + "lower_bound: 4\noptimal: true\n"
        for words in (["certify"], ["certify", "-"], ["certify", "--"], ["certify", "--", "-"], ["certify", "/dev/stdin"],
                      ["certify", "--optimal"], ["certify", "--optimal", "-"], ["certify", "-", "--optimal"], ["certify", "--optimal", "--", "-"]):
            self.says(words, answer, stdin=self.PROOF)

    def test_a_lower_bound_below_the_cost_proves_no_optimum(self):
        proof = self.PROOF.replace("lower_bound 4", "lower_bound 3").replace("0 4", "0 3")
        answer = self.VERDICT + self.ABOUT + self.SCOPE + "lower_bound: 3\noptimal: false\n"
        self.says(["certify"], answer, stdin=proof)
        self.says(["certify", "--optimal"], answer, 1, stdin=proof)

    def test_what_proves_nothing_says_why_and_where(self):
        for old, new, why, localtype in [
                ("lower_bound 4", "lower_bound 5", "potential", "[4]"), ("[4] 0 4", "[4] 1 4", "target", "[4]"),
                ("[4] 0 4", "[4] 0 5", "localtype", "[4]"), ("potential", "potential [3] 0 0\npotential", "localtype", "[3]"),
                ("[2{x}4]\n", "tile=[2] global=[4] at=[[0],[2]]\n", "tiling", "[2]")]:
            with self.subTest(new):
                self.says(["certify"], f"{self.VERDICT}certified: false\nwhy: {why}\nlocaltype: {localtype}\n", 1,
                          stdin=self.PROOF.replace(old, new))

    def test_a_wrong_program_proves_nothing(self):
        wrong = self.PROOF.replace("[0,1]", "[1,0]")
        done = oracle("certify", stdin=wrong)
        checked = oracle("check", stdin=re.sub("(lower_bound|potential|end).*\n", "", wrong))
        self.assertEqual((done.returncode, done.stdout), (1, checked.stdout))
        self.assertNotIn("certified", done.stdout)

    def test_facts_are_accepted_alone_and_with_a_lower_bound(self):
        self.says(["certify"], self.VERDICT + self.ABOUT + "facts: 5\n", stdin=self.PROGRAM + self.FACTS + "end\n")
        self.says(["certify"], self.VERDICT + self.ABOUT + "facts: 5\n" + self.SCOPE + "lower_bound: 4\noptimal: true\n",
                  stdin=self.PROGRAM + self.FACTS + self.BOUND + "end\n")
        for line, number in (("groups [0,1,2]", 0), ("end [4]", 2), ("cost [4]", 4)):
            for wrong in (self.FACTS.replace(f"fact {line}\n", ""), self.FACTS.replace(line, line.replace("[", "[1"))):
                self.says(["certify"], f"{self.VERDICT}certified: false\nwhy: fact\nfact: {number}\n", 1,
                          stdin=self.PROGRAM + wrong + self.BOUND + "end\n")
        self.refused(["certify"], "<stdin>:6:6: expected", stdin=self.PROGRAM + "fact [4]\nend\n")
        self.refused(["check"], "<stdin>:6:1: no line starts with fact", stdin=self.PROGRAM + self.FACTS)

    def test_where_nothing_is_claimed_nothing_is_certified(self):
        for text in (self.PROGRAM, self.PROGRAM + "end\n"):
            self.says(["certify"], self.VERDICT + "certified: nothing\n", 3, stdin=text)
            self.says(["certify", "--optimal"], self.VERDICT + "certified: nothing\noptimal: not claimed\n", 1, stdin=text)

    def test_facts_make_no_optimum(self):
        self.says(["certify", "--optimal"], self.VERDICT + self.ABOUT + "facts: 5\noptimal: not claimed\n", 1,
                  stdin=self.PROGRAM + self.FACTS + "end\n")

    def test_a_program_over_the_bound_is_not_optimal(self):
        # Nothing is to be done, and the whole array is gathered: height 4, bound 2.
        text = ("retile.program/1\nmesh x:2\nfrom [2{x}4]\nto [2{x}4]\nallgather dim=0 groups=[[0,1]]\n"
                "dynslice dim=0 groups=[[0,1]]\nlower_bound 0\nend\n")
        done = oracle("certify", "--optimal", stdin=text)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-2:]), (1, ["lower_bound: 0", "optimal: false"]), done)

    def test_an_exchange_is_not_comparable(self):
        # Its cost in elements per device has nothing to do with sequences of the paper's steps.
        text = ("retile.program/1\nmesh x:2\nfrom [1{x}2, 2]\nto [2, 1{x}2]\n"
                "exchange tile=[2,1] transfers=[[0,0,0,0,0,0,1,1],[0,1,1,0,0,0,1,1],[1,0,0,0,0,1,1,1],[1,1,1,0,0,1,1,1]]\n"
                "lower_bound 2\npotential [1,2] 2 2\npotential [2,1] 0 2\nend\n")
        for words, code in ((["certify"], 0), (["certify", "--optimal"], 1)):
            done = oracle(*words, stdin=text)
            self.assertEqual((done.returncode, done.stdout.splitlines()[-3:]), (code, [
                "lower_bound: 2", "optimal: not comparable", "# the Program has steps outside of this scope"]), done)

    def test_a_certificate_that_was_cut_anywhere_certifies_nothing(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "certificates")
        cuts = 0
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                lines = file.read().splitlines(keepends=True)
            self.assertEqual(lines[-1], "end\n")
            claims = min(k for k, line in enumerate(lines) if re.match("(fact|lower_bound) ", line))
            for k in range(len(lines)):
                for text in ("".join(lines[:k]), "".join(lines[:k]) + lines[k][:len(lines[k]) // 2]):
                    done = oracle("certify", stdin=text)
                    self.assertNotIn("certified: true", done.stdout)
                    self.assertNotEqual(done.returncode, 0)
                    cuts += 1
                if k > claims:
                    self.refused(["certify"], "the line end is missing: this certificate was cut, or is of an older form", stdin="".join(lines[:k]))
        self.assertGreater(cuts, 100)

    def test_what_cannot_be_read_is_refused(self):
        self.refused(["certify"], "<stdin>:7:12: this number must be at least 1", stdin=self.PROOF.replace("[4] 0", "[0] 0"))
        self.refused(["certify"], "<stdin>:6:13: expected a number", stdin=self.PROOF.replace("lower_bound 4", "lower_bound x"))
        self.refused(["certify"], r"<stdin>:8:14: expected \[i,j,n\]", stdin=self.PROOF.replace("end", "refuted [2] [[0,1]]"))
        self.refused(["certify"], "a certificate is for one Program", stdin=self.PROGRAM + self.PROOF)
        self.refused(["certify"], "lower_bound stands too often", stdin=self.PROOF.replace("end", "lower_bound 18"))
        self.refused(["certify"], "<stdin>:7:4: there is no line lower_bound", stdin=self.PROOF.replace("lower_bound 4\n", ""))
        for line in ("end", "potential [2] 0 4", "allgather dim=0 groups=[[0,1]]", "mesh x:2"):
            self.refused(["certify"], "<stdin>:9:1: this stands behind the line end", stdin=self.PROOF + line + "\n")
        self.says(["certify"], self.VERDICT + self.ABOUT + self.SCOPE + "lower_bound: 4\noptimal: true\n", stdin=self.PROOF + "\n  # a comment\n")
        self.refused(["certify"], "<stdin>:8:5: unexpected text", stdin=self.PROOF.replace("end", "end 4"))
        self.refused(["check"], "<stdin>:6:1: no line starts with lower_bound", stdin=self.PROOF)
        self.refused(["certify", "--json"], "certify has no option --json", 22)
        self.refused(["certify", "--", "--optimal"], "cannot read --optimal", 25)
        self.refused(["certify", "a", "b"], "expected one file", 24)
        self.refused(["certify", "/"], "cannot read /", 22)

    def test_undecided_says_why(self):
        header = "retile.program/1\ndevices {}\nfrom [1]\nto [1]\nlower_bound 0\nend\n"
        self.says(["certify"], "right: undecided\nreason: limit\n# undecided: more than 2^28 tags on all devices together\n", 3,
                  stdin=header.format(2**31))
        limit = 128 * 2**20  # bytes

        def little(devices):
            return subprocess.run([ORACLE, "certify"], input=header.format(devices).encode(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60, check=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

        if little(1).returncode != 0:
            self.skipTest("a sanitizer needs more address space than that")
        done = little(2**22)
        self.assertEqual((done.returncode, done.stderr), (3, b""))
        self.assertTrue(done.stdout.endswith(b"\ncertified: undecided\nreason: limit\n# undecided: out of memory\n"), done.stdout)


class Help(Case):
    def test_every_verb_has_help_whose_examples_work(self):
        general = oracle("--help")
        self.assertEqual((general.returncode, general.stderr), (0, ""))
        verbs = re.findall(r"(?m)^  (\w+)  +[a-z]", general.stdout.split("Queries")[0])
        self.assertEqual(verbs, ["types", "apply", "height", "cost", "normalize", "optimum", "boxes", "check", "certify", "rewrite"])
        count = 0
        for verb in verbs:
            done = oracle(verb, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith(f"usage: retile-oracle {verb} "), done.stdout)
            codes = {"1 "} if verb in ("apply", "height", "cost", "normalize", "check", "certify") else set()
            said = done.stdout.split("Exit codes: ")[1]
            for code in codes | {"0", "2 ", "3 undecided"}:
                self.assertIn(code, said, verb)
            self.assertEqual(oracle("-h", verb).stdout, general.stdout)
            examples = re.search(r"Examples:\n((?:  .*\n)+)", done.stdout).group(1).replace("\\\n", " ")
            for example in examples.splitlines():
                if "my-partitioner" in example or "program.txt" in example:
                    continue
                path = os.path.dirname(os.path.abspath(ORACLE)) + ":" + os.environ["PATH"]
                ran = subprocess.run(["bash", "-c", example.replace("retile-oracle", '"$ORACLE"')], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env={**os.environ, "PATH": path}, timeout=60, check=False)
                with self.subTest(example):
                    # One example of `apply` shows a rule that does not apply.
                    self.assertEqual((ran.returncode, ran.stderr), (1 if "dynslice(0,z)" in example else 0, b""))
                    self.assertNotEqual(ran.stdout, b"")
                count += 1
        self.assertGreater(count, 13)

    def test_the_limits_stand_in_the_help_and_in_the_documents(self):
        limits = oracle("--help").stdout.split("Limits.")[1].splitlines()[1:]
        said = [tuple(re.fullmatch(r"  ([a-z, ]+?)  +(\d\S*) (.*)", line).groups()) for line in limits]
        self.assertEqual([limit[:2] for limit in said], [
            ("apply, height, cost, normalize", "2^22"), ("types", "64"), ("types", "2^20"), ("normalize", "2^31"), ("normalize", "2^18"),
            ("normalize", "2^22"), ("optimum", "16"), ("optimum", "127"), ("optimum", "2^12"), ("optimum", "2^22"), ("check, certify, boxes", "2^28"),
            ("check, boxes", "2^22"), ("check", "2^23"), ("check, certify", "2^32"), ("certify", "2^29"),
            ("rewrite", "2^20"), ("rewrite", "2^26")])
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/reference/oracle.md")) as file:
            document = file.read()
        self.assertIn("\n".join(limits) + "\n", document)


class Control(unittest.TestCase):
    def test_a_changed_expectation_fails(self):
        changed = [
            lambda case: case.says(["cost", "--mesh", "x:2", "[2{x}4]", "allgather(0)"], "5\n"),
            lambda case: case.says(["cost", "--mesh", "x:2", "[2{x}4]", "allgather(0)"], "4\n", 1),
            lambda case: case.refused(["cost", "--mesh", "x:2", "[2{x}4]"], ""),
            lambda case: case.refused(["cost", "--mesh", "x:2", "[2{x}5]"], "WF-DIM", 1),
            lambda case: case.refused(["cost", "--mesh", "x:2", "[2{x}5]"], "WF-TYPE", 0),
        ]
        Case().says(["cost", "--mesh", "x:2", "[2{x}4]", "allgather(0)"], "4\n")
        Case().refused(["cost", "--mesh", "x:2", "[2{x}5]"], "WF-DIM", 0)
        for each in changed:
            with self.assertRaises(AssertionError):
                each(Case())


if __name__ == "__main__":
    unittest.main(verbosity=1)
