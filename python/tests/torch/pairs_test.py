"""Random pairs by our plans, forward, backward and compiled, on processes: see pairs.py."""

import pairs
import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize("ranks, count", [(4, 20), pytest.param(4, 1000, marks=pytest.mark.long), pytest.param(8, 1000, marks=pytest.mark.long)])
def test_pairs_are_right_in_every_element(ranks, count):
    rows = pairs.rows_of(ranks, count, seed=7, elements=0, repeat=0)
    said = pairs.summary(rows)
    assert said["right"] == said["planned"] == said["pairs"] == count, [one for one in rows if not one["planned"] or one["wrong"]][:3]


def test_tiles_of_one_rank_that_are_turned_are_seen():
    rows = pairs.rows_of(4, 12, seed=7, elements=0, repeat=0, spoil=True)
    wrong = [pairs.wrong_of_ours(one) for one in rows]
    assert sum(map(bool, wrong)) >= 6
    assert {"eager forward", "eager backward", "compiled forward", "compiled backward"} in map(set, wrong)
