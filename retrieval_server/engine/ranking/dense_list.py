"""The dense list of one query: it asks on this thread or, while that asks the other lists, on one beside it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
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
class Aside:
    """Threads on which the dense list is asked beside the others; the query is encoded there, too, if `encodes`."""

    threads: Executor
    encodes: bool


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
    aside: Aside | None

    @contextmanager
    def asked(self, text: str, pool_count: int) -> Iterator[Callable[[], DenseFound]]:
        """Yield what returns the chunks found, at most `pool_count` a subset; on leaving, nothing is asked any more."""
        aside = self.aside
        if aside is None:
            yield lambda: self._found(self._vector(text), pool_count)
            return
        if aside.encodes:
            answer = aside.threads.submit(lambda: self._found(self._vector(text), pool_count))
        else:
            answer = aside.threads.submit(self._found, self._vector(text), pool_count)
        try:
            yield answer.result
        finally:
            if not answer.cancel():
                answer.exception()  # waited for after an error, too: who holds the view lets go of it then

    def similarities(
        self, vector: QueryVector | None, ranked: RankedList[int], chunk_ids: Sequence[int]
    ) -> dict[int, float]:
        """Return the similarity of those chunks that the list ends before; what has no vector is left out."""
        known = {chunk_id for chunk_id, _ in ranked.hits}
        others = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        return self.view.similarities(vector, others) if vector is not None and self.view is not None and others else {}

    def _vector(self, text: str) -> QueryVector | None:
        return None if self.encode is None or self.view is None else self.encode(text)

    def _found(self, vector: QueryVector | None, pool_count: int) -> DenseFound:
        if vector is None or self.view is None:
            return DenseFound(None, [])
        chunks = (None if allowed is None else allowed.chunks for allowed in self.subsets)
        return DenseFound(vector, [self.view.search(vector, pool_count, some) for some in chunks])
