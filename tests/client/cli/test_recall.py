"""The definition of recall, by hand."""

import pytest

from client.cli.dataset_file import Source
from client.cli.recall import first_hit_rank, recalls, same_file


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("data/raw/x/a.py", "data/raw/x/a.py", True),
        ("x/a.py", "data/raw/x/a.py", True),
        ("data/raw/x/a.py", "x/a.py", True),
        ("./x//a.py", "x/b/../a.py", True),
        ("/x/a.py", "x/a.py", True),
        ("x\\a.py", "x/a.py", True),
        ("a.py", "aa.py", False),
        ("y/a.py", "x/a.py", False),
        ("x/a.py", "X/a.py", False),
        (".", "x/a.py", False),
    ],
)
def test_paths_are_the_same_when_one_ends_with_the_other(one, other, same):
    assert same_file(one, other) is same


def test_exactly_five_hundredths_is_a_hit_and_less_is_not():
    gold = [Source("a.py", 95, 100)]
    assert first_hit_rank([Source("a.py", 0, 100)], gold) == 1
    assert first_hit_rank([Source("a.py", 0, 101)], gold) is None


def test_the_rank_is_that_of_the_first_hit_on_any_gold_span():
    gold = [Source("b.py", 0, 10), Source("c.py", 0, 10)]
    retrieved = [Source("a.py", 0, 10), Source("c.py", 5, 10), Source("b.py", 0, 10)]
    assert first_hit_rank(retrieved, gold) == 2
    assert first_hit_rank([], gold) is None


def test_recall_at_the_usual_cutoffs_up_to_k():
    table = recalls([1, 3, 4, None], 5)
    assert [(one.k, one.found_count, one.recall) for one in table] == [(1, 1, 0.25), (3, 2, 0.5), (5, 3, 0.75)]
    assert [one.k for one in recalls([1], 1)] == [1]
    assert [one.k for one in recalls([1], 7)] == [1, 3, 5, 7]
    assert [one.k for one in recalls([1], 20)] == [1, 3, 5, 10, 20]
