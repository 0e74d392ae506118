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
