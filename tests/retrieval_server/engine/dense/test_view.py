"""Search over the windows of a view: exact, filtered, and without what has died."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval_server.engine.dense import DenseView, Similarity, VectorSegment
from retrieval_server.engine.places.chunk_set import ChunkSet
from tests.retrieval_server.engine.dense.support import best_by_chunk, clustered, segment, window_chunk_ids

QUERY = np.array([1, 0], dtype=np.float32)
COUNT = 9000
TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    return clustered(COUNT)


@pytest.fixture(scope="module")
def chunk_ids() -> NDArray[np.int64]:
    return window_chunk_ids(COUNT)


@pytest.fixture(scope="module")
def large(vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64]) -> DenseView:
    return DenseView([VectorSegment.of_vectors(vectors, chunk_ids)])


def test_a_chunk_scores_as_its_best_window():
    found = DenseView([segment((7, [0.0, 1.0]), (7, [0.8, 0.6]), (9, [0.6, 0.8]))]).search(QUERY, 10)
    assert found == [(7, pytest.approx(0.8, abs=TOLERANCE)), (9, pytest.approx(0.6, abs=TOLERANCE))]


def test_the_best_come_first_and_no_more_than_asked_for():
    view = DenseView([segment(*((i, [i / 100, 0.0]) for i in range(50)))], similarity=Similarity.DOT)
    assert [chunk for chunk, _ in view.search(QUERY, 3)] == [49, 48, 47]


def test_what_ties_with_the_last_comes_too_so_that_the_caller_decides():
    rows = [(10, [0.6, 0.8]), (20, [0.6, 0.8]), (25, [0.0, 1.0]), (30, [0.6, 0.8])]
    for view in (DenseView([segment(*rows)]), DenseView([segment(*rows[:2]), segment(*rows[2:])])):
        assert [chunk for chunk, _ in view.search(QUERY, 1)] == [10, 20, 30]
        assert [chunk for chunk, _ in view.search(QUERY, 4)] == [10, 20, 30, 25]


def test_an_empty_view_finds_nothing():
    assert DenseView([]).search(QUERY, 5) == []
    empty = DenseView([VectorSegment.of_vectors(np.zeros((0, 2), np.float32), np.zeros(0, np.int64))])
    assert empty.search(QUERY, 5) == []
    assert empty.search(QUERY, 5, ChunkSet([1])) == []
    assert empty.window_count == 0


def test_no_results_are_asked_for():
    assert DenseView([segment((1, [1.0, 0.0]))]).search(QUERY, 0) == []


def test_a_vector_of_zeros_is_like_nothing():
    view = DenseView([segment((1, [0.0, 0.0]), (2, [0.6, 0.8]))])
    assert [chunk for chunk, _ in view.search(QUERY, 5)] == [2, 1]
    assert {score for _, score in view.search(np.zeros(2, np.float32), 5)} == {0.0}


@pytest.mark.parametrize("limit", [1, 60, 1500, 4400, 9000])
def test_a_large_view_finds_what_a_full_scan_finds(
    large: DenseView, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64], limit: int
):
    for query in vectors[:20]:
        best = best_by_chunk(vectors, chunk_ids, query)
        found = large.search(query, limit)
        expected = sorted(best.values(), reverse=True)[:limit]
        assert [score for _, score in found[:limit]] == pytest.approx(expected, abs=TOLERANCE)
        assert all(best[chunk_id] == pytest.approx(score, abs=TOLERANCE) for chunk_id, score in found)


def test_the_scan_misses_nothing_when_everything_is_alike():
    """Thousands of windows within the error of int8: all that can be among the best are scored exactly."""
    random = np.random.default_rng(3)
    vectors = (np.ones(48) + 0.002 * random.standard_normal((6000, 48))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chunk_ids = np.arange(6000, dtype=np.int64)
    view = DenseView([VectorSegment.of_vectors(vectors, chunk_ids)])
    query = vectors[17]
    scores = [score for _, score in view.search(query, 10)[:10]]
    assert scores == pytest.approx(sorted((vectors @ query).tolist(), reverse=True)[:10], abs=TOLERANCE)


@pytest.mark.parametrize("share", [0.001, 0.05, 0.3, 0.9])
def test_a_filtered_search_finds_what_a_full_scan_of_the_allowed_finds(
    large: DenseView, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64], share: float
):
    distinct = np.unique(chunk_ids)
    allowed = ChunkSet(distinct[np.random.default_rng(5).random(len(distinct)) < share])
    for query in vectors[:10]:
        best = best_by_chunk(vectors, chunk_ids, query)
        expected = sorted((best[i] for i in allowed.chunk_ids.tolist()), reverse=True)[:20]
        found = large.search(query, 20, allowed)[:20]
        assert [score for _, score in found] == pytest.approx(expected, abs=TOLERANCE)
        assert allowed.mask(np.array([i for i, _ in found])).all()


def test_a_filter_that_leaves_only_what_is_far_below_the_top_still_returns_all_that_are_wanted(
    large: DenseView, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64]
):
    best = best_by_chunk(vectors, chunk_ids, vectors[0])
    worst = sorted(best, key=best.__getitem__)
    for count in (30, 3000):
        found = large.search(vectors[0], 30, ChunkSet(worst[:count]))
        assert len(found) >= 30
        assert {i for i, _ in found} <= set(worst[:count])


def test_a_filter_without_chunks_of_the_view_finds_nothing(large: DenseView, vectors: NDArray[np.float32]):
    assert large.search(vectors[0], 5, ChunkSet([])) == []
    assert large.search(vectors[0], 5, ChunkSet([-4, 10**9])) == []
    assert large.search(vectors[0], 5, ChunkSet(range(10**6, 10**6 + 5000))) == []


@pytest.mark.parametrize("dead_share", [0.1, 0.99])
def test_dead_chunks_are_not_found(
    large: DenseView, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64], dead_share: float
):
    distinct = np.unique(chunk_ids)
    living = ChunkSet(distinct[np.random.default_rng(6).random(len(distinct)) >= dead_share])
    view = DenseView([VectorSegment.of_vectors(vectors, chunk_ids)], living)
    allowed = ChunkSet(distinct[::2])
    both = ChunkSet(np.intersect1d(living.chunk_ids, allowed.chunk_ids))
    for query in vectors[:5]:
        assert view.search(query, 20) == large.search(query, 20, living)
        assert view.search(query, 20, allowed) == large.search(query, 20, both)


def test_chunks_that_are_asked_for_have_the_similarity_that_a_search_tells(
    large: DenseView, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64]
):
    distinct = np.unique(chunk_ids)
    view = DenseView([VectorSegment.of_vectors(vectors, chunk_ids)], ChunkSet(distinct[::2]))
    found = dict(large.search(vectors[0], len(distinct)))
    asked = [int(distinct[7]), int(distinct[8]), int(distinct[1000]), -4, int(distinct[8])]
    assert large.similarities(vectors[0], asked) == {i: found[i] for i in asked if i in found}
    assert view.similarities(vectors[0], asked) == {i: found[i] for i in distinct[[8, 1000]].tolist()}
    assert large.similarities(vectors[0], []) == {}


def test_a_view_of_several_segments_finds_what_a_view_of_one_does(
    large: DenseView, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64]
):
    # Borders between chunks, which must not be in two segments.
    borders = [0, *(int(np.searchsorted(chunk_ids, chunk_ids[at])) for at in (50, 5000)), COUNT]
    parts = [VectorSegment.of_vectors(vectors[a:b], chunk_ids[a:b]) for a, b in itertools.pairwise(borders)]
    for query in vectors[:10]:
        assert DenseView(parts).search(query, 20) == large.search(query, 20)


def test_cosine_leaves_the_length_of_the_query_out_and_dot_does_not():
    rows = segment((1, [0.6, 0.8]), (2, [3.0, 4.0]))
    query = np.array([1.2, 1.6], dtype=np.float32)
    assert dict(DenseView([rows], similarity=Similarity.DOT).search(query, 2)) == {
        1: pytest.approx(2.0),
        2: pytest.approx(10.0),
    }
    unit = VectorSegment.of_vectors(
        Similarity.COSINE.prepared(np.array([[0.6, 0.8], [3.0, 4.0]], np.float32)), np.array([1, 2], np.int64)
    )
    assert dict(DenseView([unit]).search(query, 2)) == {
        1: pytest.approx(1.0, abs=TOLERANCE),
        2: pytest.approx(1.0, abs=TOLERANCE),
    }


def test_all_but_one_are_found_in_a_scan(vectors: NDArray[np.float32]):
    ids = np.arange(COUNT, dtype=np.int64)
    view = DenseView([VectorSegment.of_vectors(vectors, ids)])
    for query in vectors[:5]:
        assert len(view.search(query, COUNT - 1)) >= COUNT - 1
        assert len(view.search(query, COUNT - 3, ChunkSet(ids[2:]))) >= COUNT - 3


def test_of_hundreds_of_equal_chunks_all_come_so_that_the_caller_decides():
    view = DenseView([segment(*((i, [0.6, 0.8]) for i in range(600)))])
    assert [chunk for chunk, _ in view.search(QUERY, 10)] == list(range(600))
