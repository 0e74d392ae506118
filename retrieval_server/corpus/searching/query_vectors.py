"""The vectors of queries, remembered: callers repeat themselves, with another k, in an answer, in a retry."""

from collections import OrderedDict
from threading import Lock

from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.engine.ranking.dense_list import QueryVector
from retrieval_server.metrics import CacheCounts


class QueryVectors:
    """The vectors of the queries that were asked last; a vector depends on its text alone. Thread-safe."""

    def __init__(self, encoder: Encoder, max_count: int) -> None:
        self._encoder = encoder
        self._max_count = max_count
        self._vector_by_text: OrderedDict[str, QueryVector] = OrderedDict()
        self._hit_count = 0
        self._miss_count = 0
        self._lock = Lock()

    @property
    def counts(self) -> CacheCounts:
        """How often a vector was remembered."""
        return CacheCounts(self._hit_count, self._miss_count)

    def of(self, text: str) -> QueryVector:
        """Return the vector of a query, encoded on the thread that asks, beside whatever else is done."""
        return self._vector(text, is_alone=False)

    def of_lone(self, text: str) -> QueryVector:
        """Return the same vector, encoded by a second thread as well: sooner, where nobody else has work for it."""
        return self._vector(text, is_alone=True)

    def _vector(self, text: str, *, is_alone: bool) -> QueryVector:
        with self._lock:
            found = self._vector_by_text.get(text)
            if found is not None:
                self._vector_by_text.move_to_end(text)
                self._hit_count += 1
                return found
            self._miss_count += 1
        vector = self._encoder.encode_query(text, is_alone=is_alone)
        with self._lock:
            self._vector_by_text[text] = vector
            while len(self._vector_by_text) > self._max_count:
                self._vector_by_text.popitem(last=False)
        return vector
