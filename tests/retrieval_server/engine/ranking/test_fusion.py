"""Weighted reciprocal rank fusion: exact scores and exact order."""

import pytest

from retrieval_server.engine.ranking.fusion import Fused, RankedList
from retrieval_server.model import ListScore


def scores(*lists: RankedList[str], rank_constant: int = 10) -> dict[str, float]:
    fused = Fused(lists, rank_constant)
    for item, score in fused.scores.items():
        assert score == pytest.approx(sum(part.contribution for part in fused.parts(item)))
    return fused.scores


def test_contributions_add_up_by_weight_and_rank():
    found = scores(
        RankedList("bm25", 3.0, [("a", 9.0), ("b", 8.0)]),
        RankedList("dense", 1.0, [("b", 0.9), ("c", 0.8)]),
    )
    assert found == {
        "a": pytest.approx(3 / 11),
        "b": pytest.approx(3 / 12 + 1 / 11),
        "c": pytest.approx(1 / 12),
    }
    assert sorted(found, key=lambda item: -found[item]) == ["b", "a", "c"]


def test_each_list_reports_its_part_also_where_it_has_none():
    fused = Fused([RankedList("bm25", 3.0, [("a", 9.0)]), RankedList("dense", 1.0, [("b", 0.5)])], 60)
    assert fused.parts("a") == (ListScore("bm25", 1, 9.0, 3 / 61), ListScore("dense", 0, 0.0, 0.0))
    assert fused.parts("b") == (ListScore("bm25", 0, 0.0, 0.0), ListScore("dense", 1, 0.5, 1 / 61))


def test_empty_lists_fuse_to_nothing():
    assert Fused([RankedList("bm25", 1.0, []), RankedList("dense", 1.0, [])], 10).scores == {}


def test_equal_ranks_in_equal_lists_tie():
    found = scores(RankedList("x", 1.0, [("a", 1.0), ("b", 1.0)]), RankedList("y", 1.0, [("b", 1.0), ("a", 1.0)]))
    assert found["a"] == found["b"]
