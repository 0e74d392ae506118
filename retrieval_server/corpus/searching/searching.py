"""Retrieval, off the event loop wherever somebody might wait for it."""

import asyncio
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from threading import Lock

from groundwire.cpu import usable_core_count
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.searching.company import Company
from retrieval_server.corpus.searching.query_vectors import QueryVectors
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.engine.ranking.candidates import Encode
from retrieval_server.engine.ranking.reranking import Reranker
from retrieval_server.engine.retriever import retrieve
from retrieval_server.metrics import CacheCounts
from retrieval_server.model import RetrieveQuery, RetrieveResult

_MAX_KNOWN_QUERIES = 1024
# What the event loop can do itself, in some milliseconds: a common question of a collection that is not large.
_MAX_QUICK_QUERY_CHARS = 300
_MAX_QUICK_K = 20
# From so many chunks on, each list takes long enough for a second thread to be worth its start, whoever else searches.
_MANY_CHUNKS = 100_000


class Searching:
    """Runs queries on as many threads as there are cores; more would only wait for each other.

    A quick one that is alone is run by the event loop itself, since handing it over and back takes longer than anybody
    would wait for the loop, and takes the other cores as well.
    """

    def __init__(
        self, catalog: Catalog, encoder: Encoder | None, reranker: Reranker | None = None, *, remembers: bool
    ) -> None:
        self._catalog = catalog
        self._reranker = reranker
        self._remembers = remembers
        self._query_vectors = QueryVectors(encoder, _MAX_KNOWN_QUERIES if remembers else 0) if encoder else None
        self._company = Company()
        self._result_hits: Counter[bool] = Counter()
        self._result_hits_lock = Lock()
        self._threads = ThreadPoolExecutor(usable_core_count(), thread_name_prefix="search")
        # Threads of their own: a search that waited for a place among searches could wait for itself.
        self._aside = ThreadPoolExecutor(usable_core_count(), thread_name_prefix="dense")

    @property
    def encode(self) -> Encode | None:
        """What makes the vectors of queries; None without an encoder."""
        return self._query_vectors.of if self._query_vectors else None

    async def retrieve(self, query: RetrieveQuery) -> RetrieveResult:
        """Return the result of one query. Raises NotFound for an unknown collection."""
        opened = self._catalog.get(query.collection)
        async with self._company.join() as is_alone:
            is_large = opened.collection.current_view.chunk_count >= _MANY_CHUNKS
            if is_alone and not is_large and self._is_quick(query):
                encode = self._query_vectors.of_lone if self._query_vectors else None
                return self._run(opened, query, encode, self._aside)
            aside = self._aside if is_large else None
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._run, opened, query, self.encode, aside)

    def cache_counts(self) -> dict[str, CacheCounts]:
        """Return how often the vector of a query, and a whole result, was remembered."""
        counts = {"result": CacheCounts(self._result_hits[True], self._result_hits[False])}
        if self._query_vectors is not None:
            counts["query_vector"] = self._query_vectors.counts
        return counts

    def close(self) -> None:
        """Let running searches end."""
        self._threads.shutdown()
        self._aside.shutdown()

    def _is_quick(self, query: RetrieveQuery) -> bool:
        asked = RetrieveQuery(query.query, query.collection, query.k, query.profile, explain=query.explain)
        return (
            query == asked  # whatever else may be asked for may take long
            and len(query.query) <= _MAX_QUICK_QUERY_CHARS
            and query.k <= _MAX_QUICK_K
            and self._reranker is None
        )

    def _run(
        self, opened: OpenCollection, query: RetrieveQuery, encode: Encode | None, aside: Executor | None
    ) -> RetrieveResult:
        is_remembered = self._remembers
        with opened.view() as view:

            def search() -> RetrieveResult:
                nonlocal is_remembered
                is_remembered = False
                return retrieve(query, view, encode, self._reranker, aside)

            result = view.results.get(query, search) if self._remembers else search()
        with self._result_hits_lock:
            self._result_hits[is_remembered] += 1
        return result
