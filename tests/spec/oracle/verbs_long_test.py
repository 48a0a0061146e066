"""The verbs of the oracle at their limits, where megabytes are read and gigabytes would be needed."""

import time
import unittest

from verbs_test import Case, oracle


class Long(Case):
    def test_limits_of_normalize(self):
        self.says(["normalize", "--mesh", "x:4294967296", "[4]"], "undecided: more than 2^31 devices along an axis\n", 3)
        axes = ["x%d" % k for k in range(40)]
        long = f"[1{{{','.join(axes)}}}{2**40}, 1048576]" + " allgather(0)" * 30 + " alltoall(0,1)" * 9
        self.says(["normalize", "--mesh", ",".join(x + ":2" for x in axes), long],
                  "undecided: more than 2^22 dimensions and mesh axes, over the types of all sequences\n", 3)
        long = "[2]" + " dynslice(0,x) allgather(0)" * 600
        self.says(["normalize", "--mesh", "x:2", long], "undecided: more than 2^18 steps in all sequences together\n", 3)
        # Wide sequences and few: the memory of one query stays bounded, and the next one is answered.
        wide = "[1{x}2, 2" + ", 1" * 10000 + "]" + " allgather(0) dynslice(0,x)" * 60
        self.says(["normalize", "--mesh", "x:2"], "undecided: more than 2^22 dimensions and mesh axes, over the types of all sequences\n\n"
                  "mesh x:2\n[4]  # measure {}\n", 3, stdin=wide + "\n[4]\n")

    def test_a_sequence_that_is_too_long_from_the_start_is_not_looked_at(self):
        size = 2**31  # 31 axes and a dimension in every type
        step = f" allpermute [1{{x}}{size}]"
        answer = "undecided: more than 2^22 dimensions and mesh axes, over the types of all sequences\n"
        self.says(["normalize"], answer, 3, stdin=f"mesh x:{size}\n[1{{x}}{size}]" + step * 2**17)
        self.says(["normalize"], "undecided: more than 2^18 steps in all sequences together\n", 3,
                  stdin="mesh x:2\n[2]" + " allpermute [2]" * (2**18 + 1))

    def test_sequences_that_are_too_long(self):
        wide, steps = "[" + ", ".join(["1"] * 4096) + "]", " allpermute [4]"
        answer = "undecided: more than 2^22 dimensions and mesh axes, over the types of a sequence\n"
        self.says(["cost"], answer + "0\n", 3, stdin="mesh x:2\n" + wide + steps * 1024 + "\n[4]\n")
        self.assertEqual(oracle("cost", stdin="mesh x:2\n" + wide + steps * 1022).returncode, 1)
        # One type that is too long, and one that is as long as can be.
        for verb, short in (("apply", "[4] dynslice(0,x)"), ("cost", "[4]")):
            after = oracle(verb, "--mesh", "x:2", short).stdout
            between = "\n" if verb == "apply" else ""
            self.says([verb], answer + between + after, 3, stdin="mesh x:2\n[" + "1," * 2**22 + "1]\n" + short + "\n")
        self.says(["cost"], "0\n", stdin="mesh x:2\n[" + "1," * (2**22 - 2) + "1]\n")
        # What stands behind is read all the same, and refused when it is no collective.
        self.refused(["cost"], "<stdin>:2:8388613: expected allgather", stdin="mesh x:2\n[" + "1," * 2**22 + "1] gather(0)\n")

    def test_the_axes_of_the_mesh_count_in_every_type(self):
        """And long names more, as every type has its own copies."""
        started = time.monotonic()
        answer = "undecided: more than 2^22 dimensions and mesh axes, over the types of a sequence\n"
        axes = [f"x{k}" for k in range(62)]
        mesh = "mesh " + ",".join(x + ":2" for x in axes) + "\n"
        long = mesh + f"[1{{{','.join(axes)}}}{2**62}]" + " allgather(0) dynslice(0,x0)" * 200000
        for verb in ("apply", "height", "cost", "normalize"):
            self.says([verb], answer, 3, stdin=long)
        # 1024 types of 4034 dimensions and 62 axes just fit; the first allpermute does not apply.
        wide = mesh + "[" + ", ".join(["1"] * 4034) + "]"
        self.assertEqual(oracle("cost", stdin=wide + " allpermute [4]" * 1023).returncode, 1)
        self.says(["cost"], answer, 3, stdin=wide + " allpermute [4]" * 1024)
        # A name of 32 * 4094 bytes counts 4095 with its axis, so 1024 types of rank 1 fit.
        name = "n" * (32 * 4094)
        swaps = f"mesh {name}:2\n[2]" + " allpermute [4]" * 1023
        self.assertEqual(oracle("cost", stdin=swaps).returncode, 1)
        self.says(["cost"], answer, 3, stdin=swaps + " allpermute [4]")
        self.assertRegex(oracle("types", stdin=f"mesh {'n' * 2**25}:2\n[2]\n").stdout, "^undecided: more than 2.20 dimensions")
        self.assertLess(time.monotonic() - started, 30)


if __name__ == "__main__":
    unittest.main(verbosity=1)
