"""What counts as a hit, and the interval of a share, by hand."""

import pytest

from groundwire.recall import cutoffs, overlap, wilson_interval


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 100), (0, 100), 1.0),
        ((0, 100), (50, 150), 1 / 3),
        ((0, 100), (100, 200), 0.0),
        ((0, 100), (95, 100), 0.05),
        ((10, 10), (10, 10), 0.0),
        ((0, 100), (200, 300), 0.0),
    ],
)
def test_overlap_is_intersection_over_union(one, other, expected):
    assert overlap(*one, *other) == pytest.approx(expected)


def test_recall_is_told_at_the_usual_cutoffs_and_at_the_last():
    assert [cutoffs(k) for k in (1, 4, 10, 20)] == [[1], [1, 3, 4], [1, 3, 5, 10], [1, 3, 5, 10, 20]]


def test_the_interval_is_wilsons():
    """Reference: 8 of 10 gives 0.4902–0.9433 (Newcombe 1998, method 3)."""
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=5e-5)
    low, high = wilson_interval(0, 10)
    assert (low, round(high, 4)) == (0.0, 0.2775)
    assert wilson_interval(10, 10)[1] == pytest.approx(1.0)
