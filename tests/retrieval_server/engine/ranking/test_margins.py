"""Among what leads by rank, the lists' scores decide."""

import numpy as np
import pytest

from retrieval_server.engine.ranking.fusion import RankedList
from retrieval_server.engine.ranking.margins import score_shares, scores_by_margin

WEIGHTS = {"bm25": 2.0, "dense": 1.0}
K = 10


def test_a_share_is_of_the_highest_score_of_its_list() -> None:
    ranked = RankedList("bm25", 1.0, [(7, 8.0), (8, 6.0), (9, 2.0)])
    assert score_shares(ranked, [9, 7, 8], pool_count=40).tolist() == [0.25, 1.0, 0.75]


def test_what_a_full_list_lacks_is_as_good_as_its_last_and_what_a_short_one_lacks_is_nothing() -> None:
    ranked = RankedList("bm25", 1.0, [(7, 8.0), (8, 6.0)])
    assert score_shares(ranked, [1], pool_count=2).tolist() == [0.75]
    assert score_shares(ranked, [1], pool_count=3).tolist() == [0.0]


def test_what_is_known_beyond_a_list_counts_as_it_is() -> None:
    ranked = RankedList("dense", 1.0, [(7, 0.8), (8, 0.6)])
    shares = score_shares(ranked, [1, 2, 3], pool_count=2, known={1: 0.4, 2: -0.1})
    assert shares.tolist() == pytest.approx([0.5, 0.0, 0.75])


@pytest.mark.parametrize("hits", [[], [(7, 0.0)], [(7, -0.5)]])
def test_a_list_without_a_score_above_zero_says_nothing(hits: list[tuple[int, float]]) -> None:
    assert score_shares(RankedList("dense", 1.0, hits), [7], pool_count=1).tolist() == [0.0]


def test_the_scores_are_the_weighted_mean_of_the_shares_and_the_best_of_all_lists_keeps_its_own() -> None:
    shares = {"bm25": np.array([1.0, 0.5, 0.5]), "dense": np.array([1.0, 0.25, 1.0])}
    fused = np.array([3 / (K + 1), 0.2, 0.1])
    scores = scores_by_margin(fused, shares, WEIGHTS, K, 1.0)
    assert scores.tolist() == pytest.approx([3 / 11, 3 / 11 * (2 * 0.5 + 0.25) / 3, 3 / 11 * (2 * 0.5 + 1) / 3])
    assert scores[2] > scores[1]


def test_between_0_and_1_the_ranks_count_too_and_beyond_1_is_1() -> None:
    shares = {"bm25": np.array([0.5])}
    fused = np.array([0.04])
    alone = scores_by_margin(fused, shares, WEIGHTS, K, 1.0)
    assert scores_by_margin(fused, shares, WEIGHTS, K, 0.0).tolist() == [0.04]
    assert scores_by_margin(fused, shares, WEIGHTS, K, 0.5).tolist() == pytest.approx(np.sqrt(alone * 0.04).tolist())
    assert scores_by_margin(fused, shares, WEIGHTS, K, 7.0).tolist() == alone.tolist()


def test_equal_shares_give_equal_scores_whatever_the_ranks() -> None:
    shares = {"bm25": np.array([0.7, 0.7]), "dense": np.array([0.3, 0.3])}
    one, other = scores_by_margin(np.array([0.09, 0.03]), shares, WEIGHTS, K, 1.0).tolist()
    assert one == other


def test_nothing_that_was_found_is_worth_nothing() -> None:
    assert scores_by_margin(np.array([0.1]), {"dense": np.array([0.0])}, WEIGHTS, K, 1.0)[0] > 0


def test_without_lists_the_ranks_stand() -> None:
    assert scores_by_margin(np.array([0.1]), {}, WEIGHTS, K, 1.0).tolist() == [0.1]
