"""Results of queries that were asked of a view before."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from retrieval_server.model import RetrieveQuery, RetrieveResult

# About 2 KB a passage.
_MAX_RESULTS = 512
_MAX_REMEMBERED_K = 50


class ResultCache:
    """The last results of one view: it is as immutable as they are, and they go when it goes. Thread-safe."""

    def __init__(self) -> None:
        self._results: OrderedDict[RetrieveQuery, RetrieveResult] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, query: RetrieveQuery, search: Callable[[], RetrieveResult]) -> RetrieveResult:
        """Return the result that is remembered, its `elapsed_s` 0, or that of `search`."""
        if query.k > _MAX_REMEMBERED_K:
            return search()
        with self._lock:
            found = self._results.get(query)
            if found is not None:
                self._results.move_to_end(query)
                return replace(found, elapsed_s=0.0)
        result = search()
        with self._lock:
            self._results[query] = result
            if len(self._results) > _MAX_RESULTS:
                self._results.popitem(last=False)
        return result
