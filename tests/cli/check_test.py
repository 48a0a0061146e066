"""`retile check`: verdicts as text and JSON, exit codes, several Programs."""

import json
import os
import subprocess
import time

from support import EXAMPLE, RETILE, Case, main, retile

RIGHT = """retile.program/1
mesh a:2,b:2
from [2{a}4, 2{b}4]
to [2{b}4, 2{a}4]
allpermute source=[0,2,1,3]
"""
# Gathers everything on the way: right, but twice as high as its ends.
HIGH = """retile.program/1
mesh a:2
from [2{a}4, 4]
to [4, 2{a}4]
allgather dim=0 groups=[1,2]<=[2]
dynslice dim=1 groups=[1,2]<=[2]
"""
# The second gather makes a tile of 2^63 elements.
TOO_LARGE = """retile.program/1
devices 2
from [4611686018427387904]
to [4611686018427387904]
allgather dim=0 groups=[1,2]<=[2]
"""
LINE = "retile.program/1\ndevices 2\nfrom [4{1:2}8]\nto [4{1:2}8]\n"
FIELDS = ["schema", "right", "within_bound", "height", "bound", "cost", "steps"]
WRONG_FIELDS = FIELDS + ["first_wrong_step", "reason", "device", "at", "element", "found"]

# name: Program, verdict in words, witness fields
WRONG = {
    "groups, repeated": (LINE + "allgather dim=0 groups=[[0,0]]\n", r"^wrong at step 0 \(groups\): device \d is missing or stands",
                         {"first_wrong_step": 0, "reason": "groups", "at": [0], "found": None}),
    "groups, ragged": (LINE + "allgather dim=0 groups=[[0,1],[]]\n", r"^wrong at step 0 \(groups\): ",
                       {"first_wrong_step": 0, "reason": "groups", "found": None}),
    "bijection": (LINE + "allpermute source=[0,0]\n", r"^wrong at step 0 \(bijection\): ",
                  {"first_wrong_step": 0, "reason": "bijection", "at": [0], "found": None}),
    "indivisible": (LINE + "dynslice dim=0 parts=3 part=[0,1]\n", r"^wrong at step 0 \(indivisible\): ",
                    {"first_wrong_step": 0, "reason": "indivisible", "element": [0], "found": None}),
    "tile_claim": (LINE + "allgather dim=0 groups=[1,2]<=[2] tile=[4]\n", r"^wrong at step 0 \(tile_claim\): ",
                   {"first_wrong_step": 0, "reason": "tile_claim", "at": [4], "found": [4], "element": None}),
    "map_claim": (LINE + "allpermute source=[1,0] map=[4{1:2}8]\nallpermute source=[1,0]\n",
                  r"^wrong at step 0 \(map_claim\): device \d holds element \[\d\] at \[\d\], expected \[\d\]",
                  {"first_wrong_step": 0, "reason": "map_claim"}),
    "not_a_box": (LINE + "alltoall split=0 concat=0 groups=[1,2]<=[2]\n",
                  r"^wrong at step 0 \(not_a_box\): device \d holds element \[\d\] at \[\d\], expected \[\d\]",
                  {"first_wrong_step": 0, "reason": "not_a_box"}),
    "end, contents": (LINE + "allpermute source=[1,0]\n",
                      r"^wrong at step 1 \(end\): device \d holds element \[\d\] at \[\d\], expected \[\d\]",
                      {"first_wrong_step": 1, "reason": "end"}),
    "end, shape": (LINE + "allgather dim=0 groups=[1,2]<=[2]\n", r"^wrong at step 1 \(end\): .*another shape",
                   {"first_wrong_step": 1, "reason": "end", "at": [4], "found": [4], "element": None}),
}


class Check(Case):
    def test_right(self):
        done = retile("check", stdin=RIGHT)
        self.accepted(done)
        self.assertEqual(done.stdout, "right: cost 4, height 4 (bound 4), 1 step\n")
        done = retile("check", "-", "--json", stdin=RIGHT)
        self.accepted(done)
        self.assertEqual(list(json.loads(done.stdout)), FIELDS)
        self.assertEqual(json.loads(done.stdout),
                         {"schema": "retile.verdict/1", "right": True, "within_bound": True, "height": 4, "bound": 4,
                          "cost": 4, "steps": 1})

    def test_every_reason(self):
        for name, (program, words, fields) in WRONG.items():
            with self.subTest(name=name):
                done = retile("check", stdin=program)
                self.assertEqual((done.returncode, done.stderr), (1, ""), done)
                self.assertRegex(done.stdout, words)
                done = retile("check", "--json", stdin=program)
                self.assertEqual(done.returncode, 1)
                verdict = json.loads(done.stdout)
                self.assertEqual(list(verdict), WRONG_FIELDS)
                self.assertEqual((verdict["schema"], verdict["right"]), ("retile.verdict/1", False))
                self.assertEqual({key: verdict[key] for key in fields}, fields)
        self.accepted(retile("check", stdin=LINE))

    def test_within_bound(self):
        done = retile("check", stdin=HIGH)
        self.accepted(done)
        self.assertEqual(done.stdout, "right: cost 16, height 16 (bound 8), 2 steps\n")
        done = retile("check", "--within-bound", stdin=HIGH)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(done.stdout, "right, but over the bound: cost 16, height 16 (bound 8), 2 steps\n")
        verdict = json.loads(retile("check", "--within-bound", "--json", stdin=HIGH).stdout)
        self.assertEqual((verdict["right"], verdict["within_bound"]), (True, False))
        self.accepted(retile("check", "--within-bound", stdin=RIGHT))

    def test_undecided(self):
        done = retile("check", stdin=TOO_LARGE)
        self.assertEqual((done.returncode, done.stderr), (3, ""), done)
        self.assertRegex(done.stdout, r"^undecided \(limit\)")
        verdict = json.loads(retile("check", "--json", stdin=TOO_LARGE).stdout)
        self.assertEqual((verdict["right"], verdict["reason"]), (None, "limit"))

    # Arrays of 2^20 elements that are no boxes, moved again and again: half a minute.
    SLOW = ("retile.program/1\ndevices 2\nfrom [" + "1," * 19 + "1]\nto [" + "1," * 19 + "1]\n"
            + "".join(f"allgather dim={k} groups=[1,2]<=[2]\n" for k in range(20))
            + "alltoall split=0 concat=0 groups=[1,2]<=[2]\n" * 6000)

    def test_a_time_limit(self):
        self.accepted(retile("check", "--timeout", "1000000", stdin=RIGHT))
        start = time.monotonic()
        done = retile("check", "--timeout", "1", stdin=self.SLOW)
        self.assertLess(time.monotonic() - start, 15)
        self.assertEqual((done.returncode, done.stderr), (3, ""), done)
        self.assertEqual(done.stdout, "undecided (limit): no verdict in time\n")
        # It is for all Programs together, and says nothing about those before.
        done = retile("check", "--json", "--timeout", "1", stdin=RIGHT + self.SLOW + RIGHT)
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([verdict["right"] for verdict in verdicts], [True, None, None])
        self.assertEqual(list(verdicts[1]), FIELDS + ["reason"])
        self.assertEqual((done.returncode, verdicts[1]["reason"]), (3, "limit"))

    def test_bad_time_limits(self):
        for bad in ("0", "-1", "nan", "inf", "", " ", "1s", "1.5", "1e3", "+1", "1000001", "99999999999999999999"):
            self.refused(retile("check", f"--timeout={bad}", stdin=RIGHT), 2, "not a whole number of seconds from 1 to 1000000")
        self.refused(retile("check", "--timeout", "1", "--timeout", "2", stdin=RIGHT), 2, "--timeout")

    def test_what_takes_too_much_memory_is_refused_in_little(self):
        """A stream that never ends is read as far as the limit, once."""
        with subprocess.Popen([RETILE, "check", "/dev/zero"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            out, err = running.stdout.read(), running.stderr.read()
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual((running.returncode, out), (2, b""))
        self.assertIn(b"longer than 512 MiB", err)
        self.assertLess(usage.ru_maxrss, 700 << 10)

    def test_several_programs(self):
        for text, codes, largest in [(RIGHT + RIGHT, [True, True], 0), (RIGHT + WRONG["bijection"][0], [True, False], 1),
                                     (WRONG["bijection"][0] + TOO_LARGE + RIGHT, [False, None, True], 3)]:
            done = retile("check", "--json", stdin=text)
            self.assertEqual((done.returncode, done.stderr), (largest, ""))
            self.assertEqual([json.loads(line)["right"] for line in done.stdout.splitlines()], codes)
            self.assertEqual(len(retile("check", stdin=text).stdout.splitlines()), len(codes))
        # One that cannot be read, and there is no verdict at all.
        self.refused(retile("check", stdin=RIGHT + "retile.program/1\nmesh\n"), 2)

    def test_both_forms(self):
        text = retile("lower", *EXAMPLE).stdout
        as_json = retile("lower", *EXAMPLE, "--json").stdout
        for file in (self.write("p.txt", text), self.write("p.json", as_json), self.write("two.json", as_json * 2)):
            done = retile("check", "--within-bound", file)
            self.accepted(done)
            self.assertRegex(done.stdout, r"^(right: cost 18, height 6 \(bound 6\), 3 steps\n)+$")
        self.accepted(retile("check", stdin=as_json))
        self.accepted(retile("check", stdin=text.replace("\n", "\r\n")))


if __name__ == "__main__":
    main()
