"""Results of queries that were asked of a view before."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from retrieval_server.model import RetrieveQuery, RetrieveResult

_MAX_RESULTS = 512
# A view takes no more memory by this. What a passage has beside its text takes as much as so many characters.
_MAX_CHARS = 16_000_000
_BESIDE_TEXT_CHARS = 800
_MAX_CHARS_OF_ONE = _MAX_CHARS // 16


class ResultCache:
    """The last results of one view: it is as immutable as they are, and they go when it goes. Thread-safe."""

    def __init__(self) -> None:
        self._results: OrderedDict[RetrieveQuery, RetrieveResult] = OrderedDict()
        self._char_count = 0
        self._lock = threading.Lock()

    def get(self, query: RetrieveQuery, search: Callable[[], RetrieveResult]) -> RetrieveResult:
        """Return the result that is remembered, its `elapsed_s` 0, or that of `search`."""
        with self._lock:
            found = self._results.get(query)
            if found is not None:
                self._results.move_to_end(query)
                return replace(found, elapsed_s=0.0)
        result = search()
        if (char_count := _char_count(result)) > _MAX_CHARS_OF_ONE:
            return result
        with self._lock:
            replaced = self._results.pop(query, None)
            self._char_count += char_count - (_char_count(replaced) if replaced else 0)
            self._results[query] = result
            while len(self._results) > _MAX_RESULTS or self._char_count > _MAX_CHARS:
                self._char_count -= _char_count(self._results.popitem(last=False)[1])
        return result


def _char_count(result: RetrieveResult) -> int:
    return sum(_BESIDE_TEXT_CHARS + len(passage.text) + len(passage.origin_text) for passage in result.passages)
