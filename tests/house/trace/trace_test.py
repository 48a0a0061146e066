"""The way of a Program through the code is short, never goes up, and is the one that docs/dev/architecture.md lists.

    trace_test.py ROOT BUILD

Builds the program in the folder BUILD, as scripts/trace_calls does. The controls: a smaller limit is exceeded, a table of rooms
turned upside down makes rises, and a list without one of its functions is not the one in the document.
"""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the tests leave nothing in the sources

BUILD = sys.argv.pop()
ROOT = Path(sys.argv.pop())
sys.path.insert(0, str(ROOT / "tests" / "support"))
import script_module  # noqa: E402  the path has to be there first

trace = script_module.load(ROOT, "trace_calls")
NAMES = ["run", "plan", "check"]


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program, cls.preloaded = trace.built(BUILD, ROOT)
        cls.ways = trace.measured(cls.program, cls.preloaded, ROOT, NAMES)
        cls.document = (ROOT / "docs" / "dev" / "architecture.md").read_text(encoding="utf-8")

    def counts(self):
        return {what: len(self.ways["run"][what]) for what in trace.LIMITS}

    def test_a_run_keeps_to_the_limits(self):
        self.assertEqual(trace.over_limits(self.counts(), trace.LIMITS), [])

    def test_what_is_over_a_limit_is_noticed(self):
        smaller = self.counts()["functions"] - 1
        self.assertEqual(trace.over_limits(self.counts(), {"functions": smaller}),
                         [f"{smaller + 1} functions, where at most {smaller} are allowed"])

    def test_it_comes_to_the_data_through_the_rooms_that_it_must_pass(self):
        files = [function["file"] for function in self.ways["run"]["functions"]]
        self.assertTrue(self.ways["run"]["moves"])
        for room in ("cli/", "run/", "exec/mpi/", "exec/team/"):
            self.assertTrue(any(file.startswith(room) for file in files), room)

    def test_calls_up_are_noticed(self):
        upside_down = {room: -place for room, place in trace.order_of_rooms(ROOT).items()}
        turned = trace.measured(self.program, self.preloaded, ROOT, ["run"], upside_down)
        self.assertEqual(self.ways["run"]["rises"], [])
        self.assertGreater(len(turned["run"]["rises"]), 4)

    def test_the_document_lists_the_ways(self):
        for name in NAMES:
            with self.subTest(way=name):
                listed = trace.markdown({name: self.ways[name]})
                self.assertTrue(listed in self.document, f"docs/dev/architecture.md lacks this list:\n{listed}")

    def test_a_list_that_lacks_a_function_is_noticed(self):
        shorter = {**self.ways["check"], "functions": self.ways["check"]["functions"][:-1]}
        self.assertFalse(trace.markdown({"check": shorter}) in self.document)


if __name__ == "__main__":
    unittest.main(verbosity=2)
