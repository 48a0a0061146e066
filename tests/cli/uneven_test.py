"""Tiles that are not all alike, from outside: plans are right, both checkers agree on them and on spoiled ones."""

import json
import os
import random
import re
import subprocess

from support import Case, main, retile

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
        if kind < 0.5:
            return f"{tile}{{{names}}}{size}"
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
        for _ in range(60):
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
        for arguments in (("run", *problem), ("run", *problem, "--backend", "sim"), ("prove", *problem),
                          ("plan", *problem, "--svg", "unwritten.svg"), ("plan", *problem, "--certificate", "-")):
            done = retile(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("not all alike", done.stderr)

    def test_a_plan_says_why_it_is_an_exchange(self):
        plan = json.loads(self.output("plan", "--mesh", "x:2,y:2", "[3{y,x}10]", "[5{x}10]", "--json"))
        self.assertEqual(plan["steps"], [{"op": "exchange", "localtype": [5], "cost": 5,
                                          "reason": "dim 0: cuts 0 3 6 9 10 and 0 5 10 do not nest, so no collective ends there"}])
        self.assertFalse(plan["optimal"])

    def test_a_memory_limit_holds_for_exchanges(self):
        problem = ("plan", "--mesh", "x:2,y:2", "[3{y,x}10]", "[5{x}10]")
        self.assertEqual(retile(*problem, "--memory-limit", "32").returncode, 0)
        done = retile(*problem, "--memory-limit", "31")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("the least that suffices is 32", done.stdout)


if __name__ == "__main__":
    main()
