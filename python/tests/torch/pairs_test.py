"""Random pairs by our plans, forward, backward and compiled, on processes: see pairs.py."""

import pairs
import pytest

pytest.importorskip("torch")


def ours_right(row):
    return [right for name, right in row["right"].items() if not name.startswith("torch")]


@pytest.mark.parametrize("ranks, count", [(4, 20), pytest.param(4, 1000, marks=pytest.mark.long), pytest.param(8, 1000, marks=pytest.mark.long)])
def test_pairs_are_right_in_every_element(ranks, count):
    rows = pairs.rows_of(ranks, count, seed=7, elements=0, repeat=0)
    said = pairs.summary(rows)
    assert said["right"] == said["planned"] == said["pairs"] == count, [one for one in rows if not one["planned"] or not all(ours_right(one))][:3]


def test_tiles_of_one_rank_that_are_turned_are_seen():
    rows = pairs.rows_of(4, 12, seed=7, elements=0, repeat=0, spoil=True)
    wrong = [one for one in rows if not all(ours_right(one))]
    assert len(wrong) >= 6 and any(not any(ours_right(one)) for one in wrong)
