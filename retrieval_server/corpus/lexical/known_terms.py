"""The index terms of chunks that were candidates before: analysing a text costs more than all else that ranks it."""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from retrieval_server.engine.ranking.proximity import TermKeys, term_keys

DEFAULT_MEMORY_BYTES = 128 * 1024 * 1024
# What an entry takes beside its keys: array, number and place in the table (219 bytes by tracemalloc, and slack).
_ENTRY_BYTES = 240


class TermMemory:
    """The room that the known terms of all collections of a process share; the largest gives way. Thread-safe."""

    def __init__(self, max_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self._max_bytes = max_bytes
        self._sharing: weakref.WeakSet[KnownTerms] = weakref.WeakSet()
        self._changing = threading.Lock()

    @property
    def room_bytes(self) -> int:
        """Bytes that are free."""
        with self._changing:
            return self._max_bytes - self._used_bytes()

    def join(self, known: "KnownTerms") -> None:
        """Let a collection's terms share the room."""
        with self._changing:
            self._sharing.add(known)

    def leave(self, known: "KnownTerms") -> None:
        """Take back the room of a collection that is closed."""
        with self._changing:
            self._sharing.discard(known)
            known.drop_all()

    def keep(self, known: "KnownTerms", learnt: Mapping[int, TermKeys]) -> None:
        """Keep what a collection learnt; whatever was learnt first of the largest collection goes for it."""
        with self._changing:
            if known not in self._sharing:  # closed meanwhile
                return
            known.add(learnt)
            excess_bytes = self._used_bytes() - self._max_bytes
            while excess_bytes > 0:
                excess_bytes -= max(self._sharing, key=lambda one: one.size_bytes).drop_first()

    def _used_bytes(self) -> int:
        return sum(one.size_bytes for one in self._sharing)


class KnownTerms:
    """Chunk id → keys of the index terms of its text, of one collection; a chunk's text never changes. Thread-safe."""

    def __init__(self, memory: TermMemory) -> None:
        self._memory = memory
        self._keys_by_chunk: OrderedDict[int, TermKeys] = OrderedDict()
        self.size_bytes = 0
        memory.join(self)

    @property
    def room_chunks(self) -> int:
        """Chunks of middling size that may still be learnt before others give way."""
        middling = self.size_bytes // len(self._keys_by_chunk) if self._keys_by_chunk else 4 * _ENTRY_BYTES
        return max(0, self._memory.room_bytes // middling)

    def known(self, chunk_ids: Sequence[int]) -> dict[int, TermKeys]:
        """Return the keys of those chunks that are known."""
        keys_by_chunk = self._keys_by_chunk
        return {i: keys for i in chunk_ids if (keys := keys_by_chunk.get(i)) is not None}

    def learn(self, texts: Mapping[int, str]) -> dict[int, TermKeys]:
        """Return the keys of chunks from their texts, and keep them as long as there is room."""
        learnt = {chunk_id: term_keys(text) for chunk_id, text in texts.items()}
        self._memory.keep(self, learnt)
        return learnt

    def add(self, learnt: Mapping[int, TermKeys]) -> None:
        """Add keys; for `TermMemory`, which lets one thread at a time do so."""
        for chunk_id, keys in learnt.items():
            if chunk_id not in self._keys_by_chunk:
                self.size_bytes += keys.nbytes + _ENTRY_BYTES
                self._keys_by_chunk[chunk_id] = keys

    def close(self) -> None:
        """Forget all, at once: nothing asks for it any more."""
        self._memory.leave(self)

    def drop_all(self) -> None:
        """Forget all. For `TermMemory`, as `add`."""
        self._keys_by_chunk.clear()
        self.size_bytes = 0

    def drop_first(self) -> int:
        """Forget what was learnt first; return the bytes that this frees. For `TermMemory`, as `add`."""
        _, keys = self._keys_by_chunk.popitem(last=False)
        freed_bytes = keys.nbytes + _ENTRY_BYTES
        self.size_bytes -= freed_bytes
        return freed_bytes
