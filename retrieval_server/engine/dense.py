"""The dense list: exact cosine search over windows; a chunk scores as its best window."""

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.int8_scan import Int8Scan

# Below this, differences come from the order of summation.
_SCORE_DECIMALS = 5
# Below this, scoring everything exactly is as fast.
_MIN_SCANNED_WINDOWS = 4000
_MIN_LOOKED_AT = 256
_LOOKED_AT_PER_RESULT = 4


class DenseView:
    """An immutable matrix of window vectors. Thread-safe.

    `vectors` is (n_windows, dimension) float32, L2-normalised, with the windows of one chunk next to each other;
    `chunk_ids` is (n_windows,) int64, the chunk of each window.
    """

    def __init__(self, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64]) -> None:
        self._vectors = vectors
        begins = (
            np.concatenate(([True], chunk_ids[1:] != chunk_ids[:-1])) if len(chunk_ids) else np.zeros(0, dtype=bool)
        )
        self._first_windows = np.flatnonzero(begins)
        self._window_counts = np.diff(self._first_windows, append=len(chunk_ids))
        self._chunk_of_window = np.cumsum(begins) - 1
        self._chunk_ids = chunk_ids[self._first_windows]
        self._scan = Int8Scan(vectors) if len(vectors) >= _MIN_SCANNED_WINDOWS else None

    @property
    def window_count(self) -> int:
        """Windows in the view."""
        return len(self._vectors)

    def search(self, query_vector: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
        """Return at most `limit` (chunk id, cosine), best first; `query_vector` is (dimension,), L2-normalised.

        A large view is looked through in int8 first, and what looks near is scored exactly.
        """
        if not len(self._chunk_ids) or limit < 1:
            return []
        if self._scan is not None:
            looked_at = max(_MIN_LOOKED_AT, limit * _LOOKED_AT_PER_RESULT)
            if looked_at < len(self._vectors):
                near = np.unique(self._chunk_of_window[self._scan.nearest(query_vector, looked_at)])
                if len(near) >= limit:
                    return self._best(near, query_vector, limit)
        return self._best(np.arange(len(self._chunk_ids)), query_vector, limit)

    def _best(
        self, chunks: NDArray[np.int64], query_vector: NDArray[np.float32], limit: int
    ) -> list[tuple[int, float]]:
        """Score the chunks at these places, which must rise, by their best windows; ties go to the earlier place."""
        if len(chunks) == len(self._chunk_ids):
            scores, first_windows = self._vectors @ query_vector, self._first_windows
        else:
            counts = self._window_counts[chunks]
            first_windows = np.cumsum(counts) - counts
            windows = np.repeat(self._first_windows[chunks] - first_windows, counts) + np.arange(counts.sum())
            scores = self._vectors[windows] @ query_vector
        by_chunk = np.round(np.maximum.reduceat(scores, first_windows), _SCORE_DECIMALS)
        order = np.argsort(-by_chunk, kind="stable")[:limit]
        return [(int(self._chunk_ids[chunks[i]]), float(by_chunk[i])) for i in order]
