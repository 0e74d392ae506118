"""An immutable run of windows, and the searches within it."""

import math

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.dense.graph import Graph
from retrieval_server.engine.dense.quantised import (
    QuantisedQuery,
    coarse_error,
    coarse_products,
    exact_products,
    scale_of,
    to_int8,
)
from retrieval_server.engine.places.chunk_set import ChunkSet

# Below this, differences come from the order of summation.
_SCORE_DECIMALS = 5
# Up to this many chunks, or this share of all, scoring each one beats a look at all: a row that is read by itself in
# float32 takes about 50 times as long as one that a scan in int8 passes.
_SCORED_EACH_COUNT = 2000
_SCORED_EACH_SHARE = 1 / 50
_MIN_LOOKED_AT = 64
_LOOKED_AT_PER_RESULT = 2
_MIN_SAMPLE_COUNT = 4096
_MAX_SAMPLE_STRIDE = 64
# A graph loses its way less, the more it is asked for, and has to be asked for more, the larger it is: of a million
# windows 512 results hold 0.976 of the exact top ten, 600 hold 0.980, and 770, which take a quarter longer, 0.984.
_MIN_GRAPH_RESULTS = 512
_GRAPH_RESULTS_PER_ROOT_WINDOW = 0.6
_GRAPH_RESULTS_PER_RESULT = 8
_MAX_GRAPH_RESULTS = 4096
_NOT_ELIGIBLE = np.float32(-np.inf)
_LOWEST = float(np.finfo(np.float32).min)
# More come back when chunks tie with the last result, so that the caller decides and not the order; of more copies than
# so many, those that came first.
_MAX_TIES = 4096

Scored = tuple[NDArray[np.int64], NDArray[np.float32]]


class VectorSegment:
    """Windows in the order of their chunks' ids. Immutable; thread-safe; the arrays may be memory-mapped.

    `window_chunk_ids` is (n_windows,) int64, rising; `vectors` (n_windows, dimension) float32, whose dot products are
    the similarity; `coarse` the same in int8, multiplied by `scale`; `largest_norm` the largest of their lengths.
    """

    def __init__(
        self,
        window_chunk_ids: NDArray[np.int64],
        vectors: NDArray[np.float32],
        coarse: NDArray[np.int8],
        scale: float,
        largest_norm: float,
        graph: Graph | None = None,
    ) -> None:
        self.window_chunk_ids = window_chunk_ids
        self.vectors = vectors
        self.coarse = coarse
        self.scale = scale
        self.largest_norm = largest_norm
        self.graph = graph
        begins = np.ones(len(window_chunk_ids), dtype=bool)
        np.not_equal(window_chunk_ids[1:], window_chunk_ids[:-1], out=begins[1:])
        self._first_windows = np.flatnonzero(begins)
        self._window_counts = np.diff(self._first_windows, append=len(window_chunk_ids))
        self._chunk_of_window = (np.cumsum(begins, dtype=np.int32) - 1).astype(np.int32)
        self.chunk_ids: NDArray[np.int64] = window_chunk_ids[self._first_windows]

    @classmethod
    def of_vectors(cls, vectors: NDArray[np.float32], window_chunk_ids: NDArray[np.int64]) -> "VectorSegment":
        """Return a segment in memory of (n_windows, dimension) vectors whose dot products are the similarity."""
        scale = scale_of(vectors)
        largest_norm = float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
        return cls(window_chunk_ids, vectors, to_int8(vectors, scale), scale, largest_norm)

    @property
    def window_count(self) -> int:
        """Windows, those of dead chunks included."""
        return len(self.window_chunk_ids)

    def with_graph(self, graph: Graph) -> "VectorSegment":
        """Return the same segment, searched through a graph over its rows."""
        return VectorSegment(
            self.window_chunk_ids, self.vectors, self.coarse, self.scale, self.largest_norm, graph=graph
        )

    def search(
        self, query: QuantisedQuery, limit: int, living: NDArray[np.bool_] | None, allowed: ChunkSet | None
    ) -> Scored:
        """Return (chunk ids, scores) of the best `limit` chunks, and of those that tie with the last, best first.

        `living` is (n_chunks,) and None when all live. When so many chunks live and are allowed, so many come back.
        """
        if allowed is not None and self._are_few(len(allowed)):
            chunks = self._places_of(allowed.chunk_ids, living)
            return self._best(chunks, self._scores(chunks, query.exact), limit)
        eligible = living
        if allowed is not None:
            mask = allowed.mask(self.chunk_ids)
            eligible = mask if living is None else mask & living
        count = len(self.chunk_ids) if eligible is None else int(np.count_nonzero(eligible))
        if self._are_few(count) or count <= limit:
            chunks = np.arange(len(self.chunk_ids)) if eligible is None else np.flatnonzero(eligible)
            return self._best(chunks, self._scores(chunks, query.exact), limit)
        found = self._through_graph(query, limit, eligible, count)
        return self._best(*(found or self._by_scan(query, limit, eligible)), limit)

    def scores_of(
        self, query_vector: NDArray[np.float32], chunk_ids: NDArray[np.int64], living: NDArray[np.bool_] | None
    ) -> Scored:
        """Return (chunk ids, scores) of those of (n,) chunk ids, rising, that live here; `living` as for `search`."""
        chunks = self._places_of(chunk_ids, living)
        return self.chunk_ids[chunks], self._scores(chunks, query_vector)

    def _are_few(self, count: int) -> bool:
        return count <= max(_SCORED_EACH_COUNT, len(self.chunk_ids) * _SCORED_EACH_SHARE)

    def _places_of(self, chunk_ids: NDArray[np.int64], living: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        if not len(self.chunk_ids):
            return np.zeros(0, np.int64)
        places = np.minimum(np.searchsorted(self.chunk_ids, chunk_ids), len(self.chunk_ids) - 1)
        found: NDArray[np.int64] = places[self.chunk_ids[places] == chunk_ids]
        return found if living is None else found[living[found]]

    def _through_graph(
        self, query: QuantisedQuery, limit: int, eligible: NDArray[np.bool_] | None, eligible_count: int
    ) -> Scored | None:
        """Return candidates with their scores, or None when the graph cannot give as many as are wanted."""
        if self.graph is None:
            return None
        by_size = math.ceil(_GRAPH_RESULTS_PER_ROOT_WINDOW * math.sqrt(self.window_count))
        wanted = max(_MIN_GRAPH_RESULTS, by_size, limit * _GRAPH_RESULTS_PER_RESULT)
        count = math.ceil(wanted * self.window_count / eligible_count)
        if count > min(_MAX_GRAPH_RESULTS, self.window_count):
            return None
        chunks = np.unique(self._chunk_of_window[self.graph.nearest(query, count)]).astype(np.int64)
        chunks = chunks if eligible is None else chunks[eligible[chunks]]
        return (chunks, self._scores(chunks, query.exact)) if len(chunks) >= limit else None

    def _by_scan(self, query: QuantisedQuery, limit: int, eligible: NDArray[np.bool_] | None) -> Scored:
        """Return candidates with their scores, among them the exact best `limit` and all that tie with the last.

        What looks near in int8 is scored exactly; the last of the best then tells how low a chunk of the true result
        can look, and whatever looks that good is scored as well.
        """
        products = coarse_products(query, self.coarse)
        if eligible is not None:
            products[~eligible[self._chunk_of_window]] = _NOT_ELIGIBLE
        looked_at = max(_MIN_LOOKED_AT, limit * _LOOKED_AT_PER_RESULT)
        while True:
            threshold = _about_nth_largest(products, looked_at)
            chunks, scores = self._looking_better(query, products, threshold)
            if len(chunks) >= limit:
                break
            looked_at *= 4
        last = float(np.partition(scores, -limit)[-limit])
        reach = last - coarse_error(query, self.scale, self.largest_norm)
        needed = max(reach * self.scale * query.scale, _LOWEST)
        return (chunks, scores) if needed >= threshold else self._looking_better(query, products, needed)

    def _looking_better(self, query: QuantisedQuery, products: NDArray[np.float32], threshold: float) -> Scored:
        windows = np.flatnonzero(products >= threshold)
        chunks = self._chunk_of_window[windows].astype(np.int64)
        # Windows rise, and so do their chunks.
        chunks = chunks[np.diff(chunks, prepend=-1) > 0]
        return chunks, self._scores(chunks, query.exact)

    def _scores(self, chunks: NDArray[np.int64], query_vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Score the chunks at these places by their best windows."""
        if not len(chunks):
            return np.zeros(0, np.float32)
        if len(chunks) == len(self.chunk_ids):
            products, first_windows = exact_products(query_vector, self.vectors), self._first_windows
        else:
            counts = self._window_counts[chunks]
            first_windows = np.cumsum(counts) - counts
            windows = np.repeat(self._first_windows[chunks] - first_windows, counts) + np.arange(counts.sum())
            products = exact_products(query_vector, self.vectors[windows])
        return np.maximum.reduceat(products, first_windows).round(_SCORE_DECIMALS)

    def _best(self, chunks: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> Scored:
        order = np.argsort(-scores, kind="stable")
        if len(order) > limit:
            ties = int(np.count_nonzero(scores[order[limit : limit + _MAX_TIES]] == scores[order[limit - 1]]))
            order = order[: limit + ties]
        return self.chunk_ids[chunks[order]], scores[order]


def _about_nth_largest(products: NDArray[np.float32], n: int) -> float:
    """Return a value that about n of them reach, from a sample; one that all but _NOT_ELIGIBLE reach for a large n."""
    sample = products[:: max(1, min(len(products) // _MIN_SAMPLE_COUNT, _MAX_SAMPLE_STRIDE))]
    rank = max(1, round(n * len(sample) / len(products)))
    if rank >= len(sample):
        return _LOWEST
    return max(float(np.partition(sample, len(sample) - rank)[len(sample) - rank]), _LOWEST)
