"""The vectors of one view of a collection: segments, less what has died in them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.dense.quantised import QuantisedQuery
from retrieval_server.engine.dense.segment import VectorSegment
from retrieval_server.engine.dense.similarity import Similarity
from retrieval_server.engine.places.chunk_set import ChunkSet


class DenseView:
    """An immutable set of segments, no chunk in two of them. Thread-safe.

    Chunks that are not in `living` are passed over; None says that all of them live.
    """

    def __init__(
        self,
        segments: Sequence[VectorSegment],
        living: ChunkSet | None = None,
        similarity: Similarity = Similarity.COSINE,
    ) -> None:
        self._segments = [(segment, _living_of(segment, living)) for segment in segments]
        self._similarity = similarity

    @property
    def segments(self) -> list[VectorSegment]:
        """The segments, what died in them included."""
        return [segment for segment, _ in self._segments]

    @property
    def window_count(self) -> int:
        """Windows in the view, those of chunks that died included."""
        return sum(segment.window_count for segment, _ in self._segments)

    def search(
        self, query_vector: NDArray[np.float32], limit: int, allowed: ChunkSet | None = None
    ) -> list[tuple[int, float]]:
        """Return (chunk id, similarity) of the best `limit` chunks, and of those that tie with the last, best first.

        `query_vector` is (dimension,), of any length; a chunk scores as its best window; only chunks in `allowed` are
        returned, and as many as are wanted if there are so many. The result is exact but for large segments, which a
        graph leads through; ties come in the order of chunk ids.
        """
        if limit < 1 or (allowed is not None and not len(allowed)):
            return []
        query = QuantisedQuery.of(self._prepared(query_vector))
        found = [segment.search(query, limit, living, allowed) for segment, living in self._segments]
        if not found:
            return []
        chunk_ids = np.concatenate([ids for ids, _ in found])
        scores = np.concatenate([scores for _, scores in found])
        order = np.lexsort((chunk_ids, -scores))
        end = np.searchsorted(-scores[order], -scores[order[limit - 1]], side="right") if len(order) > limit else None
        return list(zip(chunk_ids[order[:end]].tolist(), scores[order[:end]].tolist(), strict=True))

    def similarities(self, query_vector: NDArray[np.float32], chunk_ids: Sequence[int]) -> dict[int, float]:
        """Return the similarity of each of some chunks, as `search` does; those without vectors are left out."""
        vector, among = self._prepared(query_vector), np.unique(np.array(chunk_ids, np.int64))
        found = (segment.scores_of(vector, among, living) for segment, living in self._segments)
        return {i: score for ids, scores in found for i, score in zip(ids.tolist(), scores.tolist(), strict=True)}

    def _prepared(self, query_vector: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._similarity.prepared(np.asarray(query_vector, dtype=np.float32))


def _living_of(segment: VectorSegment, living: ChunkSet | None) -> NDArray[np.bool_] | None:
    if living is None:
        return None
    mask = living.mask(segment.chunk_ids)
    return None if bool(mask.all()) else mask
