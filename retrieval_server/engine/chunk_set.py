"""A set of chunks that a search is restricted to."""

import weakref

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A mask of fewer ids is made faster than found again.
_MIN_REMEMBERED_IDS = 1000


class ChunkSet:
    """Distinct chunk ids. Immutable; thread-safe. `chunk_ids` is (n_chunks,) int64, rising."""

    def __init__(self, chunk_ids: ArrayLike) -> None:
        self.chunk_ids: NDArray[np.int64] = np.unique(np.asarray(chunk_ids, dtype=np.int64))
        self.chunk_ids.setflags(write=False)
        self._masks: dict[int, tuple[weakref.ref[NDArray[np.int64]], NDArray[np.bool_]]] = {}

    def mask(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each of (n,) chunk ids in any order, whether it is in the set.

        The mask of a large array is remembered for as long as the array lives, so it must not be written to.
        """
        known = self._masks.get(id(chunk_ids))
        if known is not None and known[0]() is chunk_ids:
            return known[1]
        mask = self._contains(chunk_ids)
        mask.setflags(write=False)
        if len(chunk_ids) >= _MIN_REMEMBERED_IDS:
            self._masks = {
                **{key: entry for key, entry in list(self._masks.items()) if entry[0]() is not None},
                id(chunk_ids): (weakref.ref(chunk_ids), mask),
            }
        return mask

    def _contains(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not len(self.chunk_ids):
            return np.zeros(len(chunk_ids), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.chunk_ids, chunk_ids), len(self.chunk_ids) - 1)
        found: NDArray[np.bool_] = self.chunk_ids[places] == chunk_ids
        return found

    def __len__(self) -> int:
        return len(self.chunk_ids)
