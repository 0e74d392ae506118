"""Retrieval off the event loop: the view is held and let go on the thread that searches."""

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
from retrieval_server.engine.ranking.dense_list import Encode
from retrieval_server.engine.ranking.reranking import Reranker
from retrieval_server.engine.retriever import retrieve
from retrieval_server.metrics import CacheCounts
from retrieval_server.model import RetrieveQuery, RetrieveResult

_MAX_KNOWN_QUERIES = 1024
# From so many chunks on, looking up the words of a query takes long enough to be done beside the rest of the search,
# whoever else searches.
_MANY_CHUNKS = 100_000


class Searching:
    """Runs queries on as many threads as there are cores; more would only wait for each other.

    One that is alone is shared out among the cores. The event loop itself searches nothing, however quick: somebody who
    calls meanwhile would wait, and two who take turns would each look alone.
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
        self._core_count = usable_core_count()
        self._threads = ThreadPoolExecutor(self._core_count, thread_name_prefix="search")
        # Threads of their own: a search that waited for a place among searches could wait for itself.
        self._aside = ThreadPoolExecutor(self._core_count, thread_name_prefix="words")

    @property
    def encode(self) -> Encode | None:
        """What makes the vectors of queries; None without an encoder."""
        return self._query_vectors.of if self._query_vectors else None

    async def retrieve(self, query: RetrieveQuery) -> RetrieveResult:
        """Return the result of one query. Raises NotFound for an unknown collection."""
        opened = self._catalog.get(query.collection)
        loop = asyncio.get_running_loop()
        async with self._company.join() as is_alone:
            encode, aside = self._shared_out(opened, is_alone=is_alone)
            return await loop.run_in_executor(self._threads, self._run, opened, query, encode, aside)

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

    def _shared_out(self, opened: OpenCollection, *, is_alone: bool) -> tuple[Encode | None, Executor | None]:
        """Return what encodes the query, and the threads that look up its words meanwhile, if any are to."""
        if self._core_count > 1 and self._query_vectors is not None:
            if is_alone:
                return self._query_vectors.of_lone, self._aside
            if opened.collection.current_view.chunk_count >= _MANY_CHUNKS:
                return self._query_vectors.of, self._aside
        return self.encode, None

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
