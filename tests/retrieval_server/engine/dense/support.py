"""Vectors with clusters, and what an exact search over them is."""

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.dense import DenseView, VectorSegment


def clustered(count: int, dimension: int = 48, seed: int = 7, cluster_size: int = 40) -> NDArray[np.float32]:
    """Return (count, dimension) unit vectors around count / cluster_size centres, in no order."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, count // cluster_size), dimension))
    vectors = centres[random.integers(0, len(centres), count)] + 0.6 * random.standard_normal((count, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def window_chunk_ids(count: int, seed: int = 7) -> NDArray[np.int64]:
    """Return rising chunk ids with gaps for `count` windows, 1 to 3 windows a chunk."""
    random = np.random.default_rng(seed)
    return np.repeat(np.arange(count, dtype=np.int64) * 3 + 1, random.integers(1, 4, count))[:count]


def segment(*rows: tuple[int, list[float]]) -> VectorSegment:
    """Return a segment of (chunk id, vector) windows."""
    vectors = np.array([vector for _, vector in rows], dtype=np.float32).reshape(len(rows), -1)
    return VectorSegment.of_vectors(vectors, np.array([chunk for chunk, _ in rows], dtype=np.int64))


def best_by_chunk(
    vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64], query: NDArray[np.float32]
) -> dict[int, float]:
    """Return the similarity of each chunk's best window in float64."""
    best: dict[int, float] = {}
    scores = vectors.astype(np.float64) @ query.astype(np.float64)
    for chunk_id, score in zip(chunk_ids.tolist(), scores.tolist(), strict=True):
        best[chunk_id] = max(best.get(chunk_id, -np.inf), score)
    return best


def is_approximate(view: DenseView) -> bool:
    """Tell whether a part of a view is searched through a graph."""
    return any(segment.graph is not None for segment in view.segments)
