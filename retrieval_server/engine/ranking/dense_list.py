"""The dense list of one query."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.dense import DenseView
from retrieval_server.engine.places.filters import Allowed
from retrieval_server.engine.ranking.fusion import RankedList

QueryVector = NDArray[np.float32]
"""A query as (dimension,) float32, L2-normalised."""

Encode = Callable[[str], QueryVector]
Hits = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class DenseFound:
    """What was found in each subset, and the query's vector; None when the list was not asked."""

    vector: QueryVector | None
    by_subset: list[Hits]


@dataclass(frozen=True, slots=True)
class DenseList:
    """Asks a dense view within disjoint `subsets` of it; without the view or `encode` it finds nothing.

    `encode` is called only when there is a view to ask.
    """

    view: DenseView | None
    encode: Encode | None
    subsets: Sequence[Allowed | None]

    def found(self, text: str, pool_count: int) -> DenseFound:
        """Return the chunks found, at most `pool_count` a subset."""
        if self.encode is None or self.view is None:
            return DenseFound(None, [])
        vector = self.encode(text)
        chunks = (None if allowed is None else allowed.chunks for allowed in self.subsets)
        return DenseFound(vector, [self.view.search(vector, pool_count, some) for some in chunks])

    def similarities(
        self, vector: QueryVector | None, ranked: RankedList[int], chunk_ids: Sequence[int]
    ) -> dict[int, float]:
        """Return the similarity of those chunks that the list ends before; what has no vector is left out."""
        known = {chunk_id for chunk_id, _ in ranked.hits}
        others = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        return self.view.similarities(vector, others) if vector is not None and self.view is not None and others else {}
