"""Partial sums, from outside: types are read or refused with a place, and both checkers name the addend that is wrong."""

import json
import os
import subprocess

from support import Case, main, retile

ORACLE = os.environ["RETILE_ORACLE"]
HEAD = "retile.program/2\nmesh x:2,y:2\n"
ALONG_X = "groups=[2,2]<=[2,2]T(1,0)"
ALONG_Y = "groups=[2,2]<=[4]"

# What both checkers say, but for the steps; of wrong ones the witness.
RIGHT = {
    "slice, then reduce": ("from sum{x}[8]\nto [8]", [f"dynslice dim=0 {ALONG_Y}", f"reducescatter dim=0 {ALONG_X}",
                           "allgather dim=0 groups=[1,4]<=[2,2]T(1,0)"], {"cost": 12, "height": 8, "bound": 8}),
    "reduce at once": ("from sum{x}[8]\nto [8]", [f"allreduce {ALONG_X}"], {"cost": 16, "height": 8, "bound": 8}),
    "to shards": ("from sum{x}[8]\nto [2{x,y}8]", [f"dynslice dim=0 {ALONG_Y}", f"reducescatter dim=0 {ALONG_X}"],
                  {"cost": 4, "height": 8, "bound": 8}),
    "other addends": ("from sum{x}[8]\nto sum{y}[8]", ["allpermute source=[0,2,1,3]"], {"cost": 8, "height": 8, "bound": 8}),
    "an odd size": ("from sum{y}[3]\nto [3]", [f"reducescatter dim=0 {ALONG_Y} piece=2", f"allgather dim=0 {ALONG_Y}"],
                    {"cost": 6, "height": 3, "bound": 3}),
    "uneven shards": ("from sum{y}[3]\nto [2{y}3]", [f"reducescatter dim=0 {ALONG_Y} piece=2"],
                      {"cost": 3, "height": 3, "bound": 3}),
    "both axes, either way": ("from sum{y,x}[4]\nto [4]", ["allreduce groups=[[0,1,2,3]]"], {"cost": 8, "height": 4, "bound": 4}),
    "a maximum of replicas": ("from max{x}[4]\nto [4]", ["allreduce groups=[[0,1,2,3]] add=max"],
                              {"cost": 8, "height": 4, "bound": 4}),
    "zeros are addends": ("from [4]\nto sum{y}[4]", [f"unreduce {ALONG_Y}"], {"cost": 0, "height": 4, "bound": 4}),
    "shards amid zeros": ("from [2{y}4]\nto sum{y}[4]", [f"embed dim=0 {ALONG_Y}"], {"cost": 0, "height": 4, "bound": 4}),
    "one exchange": ("from sum{x}[1]\nto [1]", ["exchange transfers=[[0,0,0,0,1],[0,2,0,0,1],[1,1,0,0,1],[1,3,0,0,1],"
                     "[2,0,0,0,1],[2,2,0,0,1],[3,1,0,0,1],[3,3,0,0,1]] add=sum tile=[1]"], {"cost": 2, "height": 1, "bound": 1}),
    "a stack stays": ("from stack{x}[4]\nto stack{x}[2{y}4]", [f"dynslice dim=0 {ALONG_Y}"], {"cost": 0, "height": 4, "bound": 4}),
}
WRONG = {
    "replicas are added, too": ("from sum{x}[2]\nto [2]", ["allreduce groups=[[0,1,2,3]]"],
                                {"first_wrong_step": 1, "reason": "addends", "device": 0, "at": [0], "element": [0], "addend": 0,
                                 "times": 2}, "device 0: element [0] at [0] has addend 0 2 times"),
    "the reduction is forgotten": ("from sum{x}[4]\nto [2{x}4]", [f"dynslice dim=0 {ALONG_X}"],
                                   {"first_wrong_step": 1, "reason": "addends", "device": 0, "at": [0], "element": [0],
                                    "addend": 1, "times": 0}, "device 0: element [0] at [0] lacks addend 1"),
    "the wrong axis": ("from sum{x}[4]\nto [4]", [f"allreduce {ALONG_Y}"],
                       {"first_wrong_step": 1, "reason": "replicas", "device": 2, "at": [0], "element": [0], "addend": 0,
                        "times": 0, "replica": 0, "replica_times": 2},
                       "device 2: element [0] at [0] lacks addend 0; its replica on device 0 has addend 0 2 times"),
    "a claim that forgets": ("from sum{x}[4]\nto [4]", [f"dynslice dim=0 {ALONG_Y} map=[2{{y}}4]", f"allreduce {ALONG_X}"],
                             {"first_wrong_step": 0, "reason": "map_claim", "device": 2, "at": [0], "element": [0], "addend": 0,
                              "times": 0, "replica": 0, "replica_times": 1}, None),
    "a maximum of sums": ("from sum{x}[4]\nto [4]", [f"allreduce {ALONG_X} add=max"],
                          {"first_wrong_step": 0, "reason": "addends", "device": None},
                          "the step adds in another way than the Program"),
    "an array of another place": ("from stack{x}[4]\nto stack{x}[4]", ["allpermute source=[2,3,0,1]"],
                                  {"first_wrong_step": 1, "reason": "addends", "device": 0, "addend": 0, "times": 0}, None),
    "other places": ("from sum{x}[2{y}4]\nto [2{y}4]", ["allpermute source=[1,0,3,2]", f"allreduce {ALONG_X}"],
                     {"first_wrong_step": 2, "reason": "end", "device": 0, "at": [0], "element": [0], "found": [2]},
                     "device 0 holds element [2] at [0], expected [0]"),
}
# A type that is refused, and what stands below the caret's line.
REFUSED = {
    "sum{x,x}[8]": ("axis x counts addends twice", "x", 6),
    "sum{x}[4{x}8]": ("axis x counts addends and cuts dimension 0", "x", 9),
    "sum{}[8]": ("expected the name of an axis", "}", 4),
    "sum{z}[8]": ("axis z", "z", 4),
    "sum{x:3}[8]": ("x", "3", 6),
    "sun{x}[8]": ("sun is no way of adding", "sun", 0),
    "sum{x}[8]@3": ("what one device holds alone has no addends", "sum{x}", 0),
    "sum{x[8]": ("expected ',' or '}' after an axis", "[", 5),
}


def program(head, steps):
    return HEAD + head + "\n" + "\n".join(steps) + "\n"


def oracle(text):
    done = subprocess.run([ORACLE, "check"], input=text, capture_output=True, text=True, check=False)
    return done.returncode, dict(line.split(": ", 1) for line in done.stdout.splitlines())


def word(value):
    return "null" if value is None else json.dumps(value).replace(" ", "").strip('"')


class Addends(Case):
    def both(self, text, fields):
        said = retile("check", "--json", "-", stdin=text)
        verdict = json.loads(said.stdout)
        code, lines = oracle(text)
        for field, value in fields.items():
            self.assertEqual(verdict[field], value, (field, text))
            self.assertEqual(lines[field], word(value), (field, text))
        for field in ("addend", "times", "replica", "replica_times"):
            self.assertEqual(field in verdict, field in fields, (field, text))
            self.assertEqual(field in lines, field in fields, (field, text))
        self.assertEqual(said.returncode, code)
        return said.returncode

    def test_right_programs(self):
        for name, (head, steps, fields) in RIGHT.items():
            with self.subTest(name):
                text = program(head, steps)
                self.assertEqual(self.both(text, {"right": True, "within_bound": True, **fields, "steps": len(steps)}), 0)

    def test_wrong_programs(self):
        for name, (head, steps, fields, words) in WRONG.items():
            with self.subTest(name):
                text = program(head, steps)
                self.assertEqual(self.both(text, {"right": False, **fields}), 1)
                if words:
                    line = f"wrong at step {fields['first_wrong_step']} ({fields['reason']}): {words}\n"
                    self.assertEqual(retile("check", "-", stdin=text).stdout, line)

    def test_a_step_less_is_wrong(self):
        """The controls of the right ones: whatever step is left out, the end is another."""
        for name, (head, steps, _) in RIGHT.items():
            for k in range(len(steps)):
                with self.subTest(name, left_out=k):
                    text = program(head, steps[:k] + steps[k + 1:])
                    self.assertEqual(retile("check", "-", stdin=text).returncode, 1, text)
                    self.assertEqual(oracle(text)[0], 1, text)

    def test_plans_have_certificates_along_one_dimension(self):
        """The plan itself gathers along two dimensions at once."""
        problem = ("--mesh", "x:2,y:2,z:2", "sum{z}[8{x}16, 8{y}16]", "[16, 16]")
        self.assertIn("allgather_dims", retile("lower", *problem).stdout)
        certificate = retile("plan", *problem, "--certificate", "-")
        self.assertEqual(certificate.returncode, 0, certificate.stderr)
        done = subprocess.run([ORACLE, "certify"], input=certificate.stdout, capture_output=True, text=True, check=False)
        lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
        self.assertEqual((done.returncode, lines["certified"], lines["lower_bound"], lines["optimal"]), (0, "true", "352", "true"))

    def test_sums_are_added_up_before_everything_is_gathered(self):
        """What the plan is compared with, in elements: an allreduce costs two tiles, an allgather the gathered tile."""
        gathers = "gathering everything, then slicing: cost "
        for problem, line in (
            (("x:4,y:2", "sum{x}[8{y}16, 4]", "[16, 4]"), f"adding up, {gathers}128, height 64"),
            (("x:2,y:2", "stack{x}[8, 8{y}16]", "stack{x}[4{y}8, 16]"), f"{gathers}128, height 128"),
        ):
            with self.subTest(problem):
                self.assertIn(f"\n{line}\n", retile("plan", "--explain", "--mesh", *problem).stdout)
        # Slices bring no device another addend.
        for ends in (("sum{x}[8, 8{y}16]", "sum{y}[8, 8{x}16]"), ("sum{x}[16]", "sum{y}[16]"), ("stack{x,y}[16]", "stack{y,x}[16]"),
                     ("max{x,y}[4]", "max{y}[4]")):
            with self.subTest(ends):
                said = retile("plan", "--explain", "--mesh", "x:2,y:2", *ends).stdout
                self.assertIn("memory: ", said)
                self.assertNotIn("gathering everything", said)
                peer = json.loads(retile("explain", "--json", "--mesh", "x:2,y:2", *ends).stdout)["peer"]
                self.assertIsNone(peer["cost"])
        peer = json.loads(retile("explain", "--json", "--mesh", "x:4,y:2", "sum{x}[8{y}16, 4]", "[16, 4]").stdout)["peer"]
        self.assertEqual((peer["does"], peer["cost"]), ("adding up, gathering everything, then slicing", 128))

    def test_exchanges_that_add_say_so(self):
        for ends, words in ((("sum{x}[3]", "[1~{x}3]"), "its new tile, addend by addend, and"), (("[4~{x}10]", "[3{x}10]"), "its new tile, and")):
            self.assertIn(f"\nevery device receives what it lacks of {words} nothing else\n", retile("plan", "--explain", "--mesh", "x:4", *ends).stdout)

    def test_types_are_refused_where_they_are_wrong(self):
        for text, (message, mark, column) in REFUSED.items():
            with self.subTest(text):
                said = retile("plan", "--mesh", "x:2,y:2", text, "[8]")
                self.assertEqual(said.returncode, 2)
                lines = said.stderr.splitlines()
                self.assertIn(message, lines[0])
                self.assertEqual(lines[1:3], ["  " + text, " " * (2 + column) + "^" + "~" * (len(mark) - 1)])

    def test_programs_are_refused(self):
        for text, message in [
            (program("from sum{x}[8]\nto max{y}[8]", []), "to is a max, but another tiling of this Program is a sum"),
            (program("from stack{x}[8]\nto [8]", []), "to has 1 array of a stack, from has 2"),
            (program("from sum{x}[8]\nto [8]", ["allreduce groups=[[0,1,2,3]] add=stack"]), "no step adds a stack"),
            (program("from sum{x}[8]\nto [8]", [f"dynslice dim=0 {ALONG_Y} add=sum"]), "dynslice has no key add"),
            (program("from sum{x}[8]\nto [8]", []).replace("/2", "/1", 1),
             "a Program with addends begins with retile.program/2"),
            (program("from [8]\nto [8]", [f"allreduce {ALONG_Y}"]).replace("/2", "/1", 1),
             "allreduce is a step of retile.program/2"),
            ("retile.program/2\nmesh x:2,y:2 order=[1,0,2,3]\nfrom sum{x}[8]\nto [8]\n", "a mesh with an order"),
        ]:
            with self.subTest(message):
                said = retile("check", "-", stdin=text)
                self.assertEqual((said.returncode, oracle(text)[0]), (2, 2), said.stdout)
                self.assertIn(message, said.stderr)


if __name__ == "__main__":
    main()
