"""Retrieval off the event loop: the view is held and let go on the thread that searches."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Lock

from groundwire.cpu import usable_core_count
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.engine.ranking.candidates import Encode
from retrieval_server.engine.ranking.reranking import Reranker
from retrieval_server.engine.retriever import retrieve
from retrieval_server.metrics import CacheCounts
from retrieval_server.model import RetrieveQuery, RetrieveResult

_MAX_KNOWN_QUERIES = 1024


class Searching:
    """Runs queries on as many threads as there are cores; more would only wait for each other."""

    def __init__(
        self, catalog: Catalog, encoder: Encoder | None, reranker: Reranker | None = None, *, remembers: bool
    ) -> None:
        self._catalog = catalog
        self._reranker = reranker
        self._remembers = remembers
        # A vector depends on its text alone, and callers repeat themselves: with another k, in an answer, in a retry.
        known_count = _MAX_KNOWN_QUERIES if remembers else 0
        self._query_vector = lru_cache(known_count)(encoder.encode_query) if encoder else None
        self._result_hits: Counter[bool] = Counter()
        self._result_hits_lock = Lock()
        self._threads = ThreadPoolExecutor(usable_core_count(), thread_name_prefix="search")
        # Threads of their own: a search that waited for a place among searches could wait for itself.
        self._aside = ThreadPoolExecutor(usable_core_count(), thread_name_prefix="dense")

    @property
    def encode(self) -> Encode | None:
        """What makes the vectors of queries; None without an encoder."""
        return self._query_vector

    async def retrieve(self, query: RetrieveQuery) -> RetrieveResult:
        """Return the result of one query. Raises NotFound for an unknown collection."""
        opened = self._catalog.get(query.collection)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, opened, query)

    def cache_counts(self) -> dict[str, CacheCounts]:
        """Return how often the vector of a query, and a whole result, was remembered."""
        counts = {"result": CacheCounts(self._result_hits[True], self._result_hits[False])}
        if self._query_vector is not None:
            info = self._query_vector.cache_info()
            counts["query_vector"] = CacheCounts(info.hits, info.misses)
        return counts

    def close(self) -> None:
        """Let running searches end."""
        self._threads.shutdown()
        self._aside.shutdown()

    def _run(self, opened: OpenCollection, query: RetrieveQuery) -> RetrieveResult:
        is_remembered = self._remembers
        with opened.view() as view:

            def search() -> RetrieveResult:
                nonlocal is_remembered
                is_remembered = False
                return retrieve(query, view, self._query_vector, self._reranker, self._aside)

            result = view.results.get(query, search) if self._remembers else search()
        with self._result_hits_lock:
            self._result_hits[is_remembered] += 1
        return result
