"""What is measured of one synthetic collection, each step in a process of its own.

`build DIRECTORY ENCODER COUNT` or `search DIRECTORY ENCODER`; prints one JSON object: figure → number.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.figure import percentile
from benchmarks.synthetic_corpus import DIMENSION, SyntheticCorpus, SyntheticEncoder
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.documents.changes import ChunkToEmbed
from retrieval_server.corpus.vectors.embedding import embed_chunks
from retrieval_server.engine.dense import DenseView, VectorSegment
from retrieval_server.engine.places.chunk_set import ChunkSet

_CHUNKS_PER_STEP = 512
_QUERY_COUNT = 200
_K = 10
_POOL_COUNT = 60
_ROWS_PER_PRODUCT = 50_000
_UPDATE_COUNT = 7


def build(directory: Path, fingerprint: str, chunk_count: int) -> dict[str, float]:
    """Index, embed, and better the segments as far as they can be."""
    encoder = SyntheticEncoder(fingerprint)
    collection = Collection("default", directory, fingerprint, DIMENSION)
    figures: dict[str, float] = {}
    with _timed(figures, "index"):
        for change in SyntheticCorpus(chunk_count).changes():
            collection.apply(change)
    with _timed(figures, "vectors"):
        position = 0
        while chunks := collection.chunks_to_embed(position, _CHUNKS_PER_STEP):
            position = chunks[-1].chunk_id
            windows = embed_chunks(chunks, encoder, collection.known_vectors)
            collection.store_vectors({c.chunk_id: w for c, w in zip(chunks, windows, strict=True)})
    with _timed(figures, "graph"):
        _better(collection)
    collection.close()
    figures["build_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["graph_cpu_s"] += sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    figures["graph_rss_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    figures["disk_mb"] = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6
    return figures


def search(directory: Path, fingerprint: str) -> dict[str, float]:
    """Open, search in several ways, and change a little."""
    figures: dict[str, float] = {}
    with _timed(figures, "open"):
        collection = Collection("default", directory, fingerprint, DIMENSION)
    with _timed(figures, "check"):
        _better(collection)
    dense = collection.current_view.dense
    if dense is None:
        raise RuntimeError("the collection shows no vectors")
    exact = DenseView([_without_graph(segment) for segment in dense.segments])
    random = np.random.default_rng(5)
    rows = np.concatenate([segment.vectors[_sample(random, segment.window_count)] for segment in dense.segments])
    queries = SyntheticEncoder(fingerprint).near(rows[:_QUERY_COUNT], 9)
    truth = _exact_top(dense.segments, queries)
    ids = collection.current_view.table.chunk_ids
    few, many = (ChunkSet(np.sort(random.choice(ids, int(len(ids) * share), replace=False))) for share in (0.005, 0.3))
    exact_many = [[i for i, _ in exact.search(query, _K, many)[:_K]] for query in queries]
    figures |= _searched("dense", queries, lambda query: dense.search(query, _POOL_COUNT), truth)
    figures |= _searched("exact", queries, lambda query: exact.search(query, _POOL_COUNT), truth)
    figures |= _searched("many", queries, lambda query: dense.search(query, _POOL_COUNT, many), exact_many)
    figures |= _searched("few", queries, lambda query: dense.search(query, _POOL_COUNT, few))
    figures |= _update_ms(collection, SyntheticEncoder(fingerprint))
    figures["search_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    collection.close()
    return figures


def _better(collection: Collection) -> None:
    while step := collection.vector_step():
        collection.adopt_vectors(step.run(lambda: False))


def _searched(
    name: str,
    queries: NDArray[np.float32],
    find: Callable[[NDArray[np.float32]], list[tuple[int, float]]],
    truth: list[list[int]] | None = None,
) -> dict[str, float]:
    """Time a search of each query, the second time that it is asked: files are then in memory."""
    found = [[chunk_id for chunk_id, _ in find(query)[:_K]] for query in queries]
    samples = [_cost_ms(partial(find, query)) for query in queries]
    elapsed_ms, cpu_ms = ([sample[part] for sample in samples] for part in (0, 1))
    figures = {
        f"{name}_p50_ms": percentile(elapsed_ms, 0.5),
        f"{name}_p99_ms": percentile(elapsed_ms, 0.99),
        f"{name}_p50_cpu_ms": percentile(cpu_ms, 0.5),
    }
    if truth is not None:
        hits = sum(len(set(a) & set(b)) for a, b in zip(found, truth, strict=True))
        figures[f"{name}_recall"] = hits / sum(map(len, truth))
    return figures


def _exact_top(segments: list[VectorSegment], queries: NDArray[np.float32]) -> list[list[int]]:
    """Return the ids of the best chunks of each query by plain products in float32: one window a chunk."""
    best_ids = np.zeros((len(queries), 0), np.int64)
    best_scores = np.zeros((len(queries), 0), np.float32)
    for segment in segments:
        for start in range(0, segment.window_count, _ROWS_PER_PRODUCT):
            scores = queries @ segment.vectors[start : start + _ROWS_PER_PRODUCT].T
            ids = np.broadcast_to(segment.window_chunk_ids[start : start + _ROWS_PER_PRODUCT], scores.shape)
            best_ids, best_scores = np.hstack((best_ids, ids)), np.hstack((best_scores, scores))
            top = np.argsort(-best_scores, axis=1, kind="stable")[:, :_K]
            best_ids, best_scores = np.take_along_axis(best_ids, top, 1), np.take_along_axis(best_scores, top, 1)
    return best_ids.tolist()


def _cost_ms(function: Callable[[], object]) -> tuple[float, float]:
    """Return elapsed and CPU time of this thread; on a machine that does other work, the latter is what it costs."""
    started_s, started_cpu_s = time.perf_counter(), time.thread_time()
    function()
    return (time.perf_counter() - started_s) * 1000, (time.thread_time() - started_cpu_s) * 1000


def _update_ms(collection: Collection, encoder: SyntheticEncoder) -> dict[str, float]:
    """Replace one small document again and again, its vectors included."""
    samples = []
    for seed in range(_UPDATE_COUNT):
        (change,) = SyntheticCorpus(5, seed).changes()
        document = replace(change.documents[0], relative_path="edited.md")
        chunks = [ChunkToEmbed(0, document.kind, "edited.md", c.span.breadcrumbs, c.text) for c in document.chunks]
        windows = {"edited.md": embed_chunks(chunks, encoder, collection.known_vectors)}
        edit = replace(change, documents=[document], windows_by_path=windows)
        samples.append(_cost_ms(partial(collection.apply, edit)))
    return {
        "update_ms": percentile([elapsed for elapsed, _ in samples], 0.5),
        "update_cpu_ms": percentile([cpu for _, cpu in samples], 0.5),
    }


def _without_graph(segment: VectorSegment) -> VectorSegment:
    return VectorSegment(segment.window_chunk_ids, segment.vectors, segment.coarse, segment.scale, segment.largest_norm)


def _sample(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    return np.sort(random.choice(count, min(count, _QUERY_COUNT), replace=False))


@contextmanager
def _timed(figures: dict[str, float], name: str) -> Iterator[None]:
    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    yield
    figures[f"{name}_s"] = time.perf_counter() - started_s
    figures[f"{name}_cpu_s"] = time.process_time() - started_cpu_s


if __name__ == "__main__":
    if sys.argv[1] == "build":
        measured = build(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        measured = search(Path(sys.argv[2]), sys.argv[3])
    print(json.dumps(measured))
