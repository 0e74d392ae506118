"""The index terms of chunks that were candidates before: analysing a text costs more than all else that ranks it."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from retrieval_server.engine.proximity import TermKeys, term_keys

# About 1 KB each.
MAX_KNOWN_CHUNKS = 100_000


class KnownTerms:
    """Chunk id → keys of the index terms of its text; a chunk's text never changes. Thread-safe."""

    def __init__(self) -> None:
        self._keys_by_chunk: OrderedDict[int, TermKeys] = OrderedDict()
        self._learning = threading.Lock()

    def missing(self, chunk_ids: Sequence[int]) -> list[int]:
        """Return the chunks whose texts have to be learnt."""
        return [chunk_id for chunk_id in chunk_ids if chunk_id not in self._keys_by_chunk]

    def of(self, chunk_ids: Sequence[int], texts: Mapping[int, str]) -> dict[int, TermKeys]:
        """Return the keys of chunks, learning those of `texts`; a chunk that is nowhere has none."""
        learnt = {chunk_id: term_keys(text) for chunk_id, text in texts.items()}
        none = term_keys("")
        known = self._keys_by_chunk
        keys = {i: learnt[i] if i in learnt else known.get(i, none) for i in chunk_ids}
        with self._learning:
            known.update(learnt)
            while len(known) > MAX_KNOWN_CHUNKS:
                known.popitem(last=False)
        return keys
