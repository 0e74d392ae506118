"""The dense list: exact cosine search over windows; a chunk scores as its best window."""

import numpy as np
from numpy.typing import NDArray

# Below this, differences come from the order of summation.
_SCORE_DECIMALS = 5


class DenseView:
    """An immutable matrix of window vectors. Thread-safe.

    `vectors` is (n_windows, dimension) float32, L2-normalised, with the windows of one chunk next to each other;
    `chunk_ids` is (n_windows,) int64, the chunk of each window.
    """

    def __init__(self, vectors: NDArray[np.float32], chunk_ids: NDArray[np.int64]) -> None:
        self._vectors = vectors
        if len(chunk_ids):
            self._first_windows = np.flatnonzero(np.concatenate(([True], chunk_ids[1:] != chunk_ids[:-1])))
        else:
            self._first_windows = np.zeros(0, dtype=np.int64)
        self._chunk_ids = chunk_ids[self._first_windows]

    @property
    def window_count(self) -> int:
        """Windows in the view."""
        return len(self._vectors)

    def search(self, query_vector: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
        """Return at most `limit` (chunk id, cosine), best first; `query_vector` is (dimension,), L2-normalised."""
        if not len(self._chunk_ids) or limit < 1:
            return []
        by_chunk = np.maximum.reduceat(self._vectors @ query_vector, self._first_windows)
        by_chunk = np.round(by_chunk, _SCORE_DECIMALS)
        count = min(limit, len(by_chunk))
        if count < len(by_chunk):
            # All that tie with the last one come along, so that the cut does not depend on how numpy partitions.
            last = np.partition(by_chunk, len(by_chunk) - count)[len(by_chunk) - count]
            candidates = np.flatnonzero(by_chunk >= last)
        else:
            candidates = np.arange(count)
        order = candidates[np.argsort(-by_chunk[candidates], kind="stable")][:count]
        return [(int(self._chunk_ids[i]), float(by_chunk[i])) for i in order]
