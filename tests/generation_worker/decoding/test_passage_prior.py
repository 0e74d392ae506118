"""Scores of retrieval as probabilities of the passages."""

import numpy as np
import pytest

from generation_worker.decoding.passage_prior import log_prior


def test_better_scores_weigh_more_and_all_sum_to_one() -> None:
    p = np.exp(log_prior([0.36, 0.27, 0.18]))
    assert p.sum() == pytest.approx(1.0)
    assert p[0] / p[2] == pytest.approx(np.e**2)
    assert p[0] / p[1] == pytest.approx(np.e)


def test_only_the_ratios_of_scores_matter() -> None:
    assert log_prior([0.036, 0.01]) == pytest.approx(log_prior([36.0, 10.0]))


@pytest.mark.parametrize("scores", [[0.0, 0.0], [-1.0, -2.0]])
def test_without_positive_scores_all_weigh_the_same(scores: list[float]) -> None:
    assert np.exp(log_prior(scores)) == pytest.approx([0.5, 0.5])


def test_a_single_passage_is_certain() -> None:
    assert log_prior([0.2]) == pytest.approx([0.0])


def test_without_passages_there_is_nothing_to_weigh() -> None:
    with pytest.raises(ValueError, match="no passage"):
        log_prior([])
