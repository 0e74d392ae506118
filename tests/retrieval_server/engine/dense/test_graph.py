"""The graph over a large segment: nearly exact, the same for the same rows, filtered, refused when it is damaged."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from retrieval_server.engine.dense import DenseView, GraphCorrupt, GraphStopped, VectorSegment, build_graph, open_graph
from retrieval_server.engine.dense.graph_process import build_graph_apart
from retrieval_server.engine.places.chunk_set import ChunkSet
from tests.retrieval_server.engine.dense.support import clustered, is_approximate

COUNT, DIMENSION = 8000, 32


@pytest.fixture(scope="module")
def segment() -> VectorSegment:
    return VectorSegment.of_vectors(clustered(COUNT, DIMENSION), np.arange(COUNT, dtype=np.int64))


@pytest.fixture(scope="module")
def graph_path(segment: VectorSegment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "graph.usearch"
    build_graph(segment.coarse, path, lambda: False)
    return path


@pytest.fixture(scope="module")
def through_graph(segment: VectorSegment, graph_path: Path) -> DenseView:
    return DenseView([segment.with_graph(open_graph(graph_path, COUNT, DIMENSION))])


@pytest.fixture(scope="module")
def exact(segment: VectorSegment) -> DenseView:
    return DenseView([segment])


def recall(segment: VectorSegment, one: Callable[[np.ndarray], list], other: Callable[[np.ndarray], list]) -> float:
    hits = 0
    for query in segment.vectors[:100]:
        hits += len({i for i, _ in one(query)[:10]} & {i for i, _ in other(query)[:10]})
    return hits / 1000


def test_it_finds_nearly_all_that_an_exact_search_finds(
    segment: VectorSegment, through_graph: DenseView, exact: DenseView
):
    assert is_approximate(through_graph)
    assert not is_approximate(exact)
    found = recall(segment, lambda q: through_graph.search(q, 60), lambda q: exact.search(q, 60))
    assert found >= 0.97


def test_scores_are_exact(segment: VectorSegment, through_graph: DenseView, exact: DenseView):
    query = segment.vectors[5]
    scores = dict(exact.search(query, COUNT))
    assert all(scores[i] == score for i, score in through_graph.search(query, 60))


@pytest.mark.parametrize("share", [0.3, 0.1, 0.01])
def test_a_filtered_search_returns_as_many_as_are_wanted_and_nearly_the_best(
    segment: VectorSegment, through_graph: DenseView, exact: DenseView, share: float
):
    random = np.random.default_rng(4)
    allowed = ChunkSet(np.flatnonzero(random.random(COUNT) < share))
    for query in segment.vectors[:20]:
        found = through_graph.search(query, 60, allowed)
        assert len(found) >= 60
        assert allowed.mask(np.array([i for i, _ in found])).all()
    assert (
        recall(segment, lambda q: through_graph.search(q, 60, allowed), lambda q: exact.search(q, 60, allowed)) >= 0.97
    )


def test_a_filter_of_what_the_graph_does_not_lead_to_is_scanned(
    segment: VectorSegment, through_graph: DenseView, exact: DenseView
):
    query = segment.vectors[0]
    worst = ChunkSet([i for i, _ in exact.search(query, COUNT)[-COUNT // 2 :]])
    assert through_graph.search(query, 30, worst) == exact.search(query, 30, worst)


def test_equal_rows_make_equal_graphs_in_a_process_of_their_own_as_well(
    segment: VectorSegment, graph_path: Path, tmp_path: Path
):
    segment.coarse.tofile(tmp_path / "coarse.i8")
    again = tmp_path / "again"
    build_graph_apart(tmp_path / "coarse.i8", COUNT, DIMENSION, again, lambda: False)
    assert again.read_bytes() == graph_path.read_bytes()


def test_building_stops_when_told_to(segment: VectorSegment, tmp_path: Path):
    with pytest.raises(GraphStopped):
        build_graph(segment.coarse, tmp_path / "graph", lambda: True)
    segment.coarse.tofile(tmp_path / "coarse.i8")
    with pytest.raises(GraphStopped):
        build_graph_apart(tmp_path / "coarse.i8", COUNT, DIMENSION, tmp_path / "graph", lambda: True)
    assert not (tmp_path / "graph").exists()


def test_a_process_that_fails_is_an_error(tmp_path: Path):
    with pytest.raises(OSError, match="ended with code"):
        build_graph_apart(tmp_path / "missing", 10, 4, tmp_path / "graph", lambda: False)


@pytest.mark.parametrize("content", [b"", b"no graph at all", None])
def test_what_is_no_graph_is_refused(graph_path: Path, tmp_path: Path, content: bytes | None):
    path = tmp_path / "graph"
    path.write_bytes(graph_path.read_bytes()[:-5000] if content is None else content)
    with pytest.raises(GraphCorrupt):
        open_graph(path, COUNT, DIMENSION)


def test_a_graph_that_is_empty_or_missing_leaves_other_files_of_the_process_open(tmp_path: Path):
    (tmp_path / "empty").touch()
    before = os.fstat(0)
    for name in ("empty", "missing"):
        with pytest.raises(GraphCorrupt):
            open_graph(tmp_path / name, COUNT, DIMENSION)
        assert os.path.samestat(os.fstat(0), before)


def test_a_graph_over_other_rows_is_refused(graph_path: Path):
    with pytest.raises(GraphCorrupt):
        open_graph(graph_path, COUNT + 1, DIMENSION)


@pytest.mark.parametrize("first", ["retrieval_server.engine.dense", "retrieval_server.corpus.collection.collection"])
def test_whatever_is_imported_first_onnxruntime_can_be_imported_after_it(first: str):
    """Two libraries in one process share parts of the C++ library; in the wrong order the process ends."""
    done = subprocess.run([sys.executable, "-c", f"import {first}, onnxruntime"], env=dict(os.environ), check=False)
    assert done.returncode == 0
