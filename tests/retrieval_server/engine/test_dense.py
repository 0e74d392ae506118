"""Exact search over windows."""

import numpy as np
import pytest

from retrieval_server.engine.dense import DenseView


def view(*rows: tuple[int, list[float]]) -> DenseView:
    vectors = np.array([vector for _, vector in rows], dtype=np.float32).reshape(len(rows), -1)
    return DenseView(vectors, np.array([chunk for chunk, _ in rows], dtype=np.int64))


QUERY = np.array([1, 0], dtype=np.float32)


def test_a_chunk_scores_as_its_best_window():
    found = view((7, [0.0, 1.0]), (7, [0.8, 0.6]), (9, [0.6, 0.8])).search(QUERY, 10)
    assert found == [(7, pytest.approx(0.8)), (9, pytest.approx(0.6))]


def test_the_best_come_first_and_no_more_than_asked_for():
    rows = [(i, [i / 100, 0.0]) for i in range(50)]
    assert [chunk for chunk, _ in view(*rows).search(QUERY, 3)] == [49, 48, 47]


def test_ties_at_the_cut_go_to_the_earlier_place():
    rows = [(i, [0.5, 0.0]) for i in (30, 10, 20)]
    assert [chunk for chunk, _ in view(*rows).search(QUERY, 2)] == [30, 10]


def test_an_empty_view_finds_nothing():
    empty = DenseView(np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=np.int64))
    assert empty.search(QUERY, 5) == []
    assert empty.window_count == 0


@pytest.mark.parametrize("limit", [1, 60, 1500])
def test_a_large_view_finds_what_a_full_scan_finds(limit: int):
    random = np.random.default_rng(7)
    vectors = random.standard_normal((9000, 48)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chunk_ids = np.repeat(np.arange(5000, dtype=np.int64) * 3, random.integers(1, 4, 5000))[:9000]
    large = DenseView(vectors, chunk_ids[: len(vectors)])
    for query in vectors[:20]:
        best: dict[int, float] = {}
        for chunk_id, score in zip(chunk_ids.tolist(), (vectors @ query).tolist(), strict=True):
            best[chunk_id] = max(best.get(chunk_id, -1.0), score)
        found = large.search(query, limit)
        expected = sorted(best.values(), reverse=True)[:limit]
        assert [score for _, score in found] == pytest.approx(expected, abs=2e-5)
        assert all(best[chunk_id] == pytest.approx(score, abs=2e-5) for chunk_id, score in found)
