#!/usr/bin/env python3
"""Pictures of results, and what scripts/evaluate-execution publishes of made-up runs. Skipped (77) without matplotlib.

    publish_test.py ROOT
"""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "support")]
import script_module  # noqa: E402  the path has to be there first
from evaluation import execution, picture  # noqa: E402
from evaluation.picture import Mark  # noqa: E402
from made_up_runs import result, run  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [("first", [1, 20]), ("second", [3, None])]
MARKS = [Mark("one", "#2f81f7"), Mark("two", "#e0702e", "s", False)]


def drawn(rows, marks, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.svg"
        picture.draw(path, "A title", "a unit", rows, marks, **options)
        return path.read_text()


def words(svg):
    return [text.text for text in xml.etree.ElementTree.fromstring(svg).iter(SVG + "text")]


def points(svg):
    return len(list(xml.etree.ElementTree.fromstring(svg).iter(SVG + "use")))


def brightness(colour):
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour, background):
    dark, light = sorted((brightness(colour), brightness(background)))
    return (light + 0.05) / (dark + 0.05)


class Pictures(unittest.TestCase):
    def test_everything_has_its_name(self):
        for name in ("A title", "a unit", "first", "second", "one", "two"):
            self.assertIn(name, words(drawn(ROWS, MARKS)))
        with self.assertRaisesRegex(ValueError, "A title: a mark without a name"):
            drawn(ROWS, [MARKS[0], MARKS[1]._replace(name="")])

    def test_every_value_is_drawn_and_nothing_else(self):
        self.assertEqual(points(drawn(ROWS, MARKS)), 3 + len(MARKS))
        self.assertEqual(points(drawn([*ROWS, ("third", [1000, 0.01])], MARKS, rule=1)), 5 + len(MARKS))

    def test_the_same_values_make_the_same_file(self):
        self.assertEqual(drawn(ROWS, MARKS), drawn(ROWS, MARKS))
        self.assertNotEqual(drawn(ROWS, MARKS), drawn([ROWS[1], ROWS[0]], MARKS))
        self.assertNotIn("dc:date", drawn(ROWS, MARKS))

    def test_pages_may_be_light_or_dark(self):
        colours = {colour for _, _, (colour, *_) in execution.COLUMNS}
        colours |= set(re.findall(r'"(#[0-9a-f]{6})"', (ROOT / "scripts" / "evaluate").read_text()))
        self.assertGreater(len(colours), 6)
        for background in ("#ffffff", "#0d1117"):
            self.assertGreater(contrast(picture.TEXT, background), 4)
            for colour in colours | {picture.LINE}:
                self.assertGreater(contrast(colour, background), 3, colour)
        self.assertLess(contrast("#ffff00", "#ffffff"), 3)  # a control
        self.assertNotRegex(drawn(ROWS, MARKS), r"(?i)(fill|background)[=:]\s*\"?(white|#ffffff)")


class Published(unittest.TestCase):
    def test_results_survive_being_written(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs" / "ledger").mkdir(parents=True)
            execution.publish(root, {2: result(), 8: result()})
            self.assertEqual(execution.load(root / "bench" / "results"), {2: result(), 8: result()})
            self.assertEqual(len(list((root / "docs" / "ledger" / "evaluation").iterdir())), 3)
            self.assertIn("long", words((root / "docs" / "ledger" / "evaluation" / "execution_8.svg").read_text()))

    def test_the_pictures_of_this_tree_are_of_its_results(self):
        """What they say and how many points they have, as another matplotlib may draw other lines."""
        with tempfile.TemporaryDirectory() as folder:
            execution.pictures(Path(folder), execution.load(ROOT / "bench" / "results"))
            script_module.load(ROOT, "evaluate").pictures(Path(folder), *(json.loads((ROOT / "bench" / "results" / name).read_text()) for name in ("plan.json", "baselines.json")))
            self.assertEqual(len(list(Path(folder).iterdir())), 6)
            for path in Path(folder).iterdir():
                said, meant = (ROOT / "docs" / "ledger" / "evaluation" / path.name).read_text(), path.read_text()
                self.assertEqual((sorted(words(said)), points(said)), (sorted(words(meant)), points(meant)), path.name)


class Script(unittest.TestCase):
    def published(self, made, *options, **environment):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs" / "ledger").mkdir(parents=True)
            (root / "runs").mkdir()
            bench = root / "bench.py"
            bench.write_text(f"import json, sys\nmade = json.loads({json.dumps(json.dumps(made))})\n"
                             "made['processes'] = int(sys.argv[1])\n"
                             "open(sys.argv[sys.argv.index('--output') + 1], 'w').write(json.dumps(made))\n")
            command = [sys.executable, ROOT / "scripts" / "evaluate-execution", bench, "--launch", f"{sys.executable} {{bench}} {{processes}}",
                       "--into", root, "--raw", root / "runs", *options]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**os.environ, **environment}, check=False)
            page = root / "docs" / "ledger" / "evaluation.md"
            return done.returncode, done.stderr, page.read_text() if page.exists() else None, sorted(path.name for path in (root / "runs").iterdir())

    def test_it_runs_the_program_and_writes_the_page(self):
        status, errors, page, kept = self.published(run(), "--runs", "2", "--processes", "2,8")
        self.assertEqual(status, 0, errors)
        self.assertIn("| 8 | 0.80 (0.80 to 0.80) | met |", page)
        self.assertEqual(len(kept), 4)

    def test_it_publishes_nothing_that_is_not_verified(self):
        bad = copy.deepcopy(run())
        bad["problems"][0]["contenders"][2]["verified"] = False
        status, errors, page, _ = self.published(bad, "--runs", "1", "--processes", "2")
        self.assertEqual(status, 1)
        self.assertIn("automatic was not verified", errors)
        self.assertIsNone(page)

    def test_without_matplotlib_it_runs_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "matplotlib.py").write_text("raise ImportError\n")
            status, errors, page, kept = self.published(run(), "--runs", "1", "--processes", "2", PYTHONPATH=folder)
        self.assertEqual((status, page, kept), (1, None, []))
        self.assertIn("python3-matplotlib", errors)


if __name__ == "__main__":
    if not picture.available():
        print(f"skipped: {picture.MISSING}")
        sys.exit(77)
    unittest.main(verbosity=2)
