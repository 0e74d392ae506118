"""A set of chunks that a search is restricted to."""

import weakref

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A mask of fewer ids is made faster than found again.
_MIN_REMEMBERED_IDS = 1000


class ChunkSet:
    """Distinct chunk ids. Immutable; thread-safe. `chunk_ids` is (n_chunks,) int64, rising."""

    def __init__(self, chunk_ids: ArrayLike) -> None:
        ids = np.asarray(chunk_ids, dtype=np.int64)
        # Those of a view rise already, and making a million distinct takes a second.
        is_rising = bool(np.all(ids[1:] > ids[:-1]))
        self.chunk_ids: NDArray[np.int64] = ids.view() if is_rising else np.unique(ids)
        self.chunk_ids.setflags(write=False)
        self._masks: dict[int, tuple[weakref.ref[NDArray[np.int64]], NDArray[np.bool_]]] = {}

    def mask(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return, for each of (n,) chunk ids in any order, whether it is in the set.

        The mask of a large array is remembered for as long as the array lives, so it must not be written to.
        """
        known = self._masks.get(id(chunk_ids))
        if known is not None and known[0]() is chunk_ids:
            return known[1]
        # numpy looks ids up in a table when their range allows it: about 5 ms for a million.
        mask = np.isin(chunk_ids, self.chunk_ids)
        mask.setflags(write=False)
        if len(chunk_ids) >= _MIN_REMEMBERED_IDS:
            self._masks = {
                **{key: entry for key, entry in list(self._masks.items()) if entry[0]() is not None},
                id(chunk_ids): (weakref.ref(chunk_ids), mask),
            }
        return mask

    def __len__(self) -> int:
        return len(self.chunk_ids)
