"""One collection: the store, the indexes that follow it, and the view that searches use.

A change is committed to SQLite first and is then the truth; the lexical index follows, then the view is swapped whole.
Whatever lags when a collection is opened is brought up from SQLite, so a process may die between any two steps.
"""

import json
import os
import shutil
import sqlite3
import stat
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundwire.v1 import error_pb2
from retrieval_server.corpus.reader import CorpusReader
from retrieval_server.corpus.store import ChunkToEmbed, CorpusStore, EmbeddedWindows, SourceChange
from retrieval_server.engine.analyser import ANALYSER_VERSION
from retrieval_server.engine.chunkers import CHUNKER_VERSION, DEFAULT_MAX_CHUNK_CHARS
from retrieval_server.engine.dense import DenseView
from retrieval_server.engine.lexical import LexicalIndex, LexicalView
from retrieval_server.engine.retriever import Place
from retrieval_server.engine.windows import WINDOWS_VERSION
from retrieval_server.errors import FailedPrecondition, GroundwireError
from retrieval_server.model import Passage

_DATABASE = "corpus.sqlite"
_LEXICAL = "lexical"
_LEXICAL_STATE = "lexical.json"
_MAX_KNOWN_PLACES = 100_000
# Up to this size an index built afresh costs a few seconds, off the request path.
_ALWAYS_COMPACTED_CHUNKS = 50_000
_COMPACTED_DEAD_SHARE = 0.05


@dataclass(frozen=True)
class CollectionView:
    """What a search sees: immutable, as of one generation; satisfies engine.retriever.IndexView."""

    generation: int
    vector_epoch: int
    chunk_count: int
    embeddable_chunk_count: int
    embedded_chunk_count: int
    max_chunk_chars: int
    lexical: LexicalView
    dense: DenseView | None
    reader: CorpusReader
    known_places: dict[int, Place] = field(default_factory=dict)

    @property
    def dense_coverage(self) -> float:
        """Embeddable chunks that have their vectors, 0 to 1; 1 when there are none to embed."""
        return self.embedded_chunk_count / self.embeddable_chunk_count if self.embeddable_chunk_count else 1.0

    def places(self, chunk_ids: Sequence[int]) -> Mapping[int, Place]:
        """Return where each chunk stands; what was asked for once is remembered for as long as the view is current."""
        remembered = ((chunk_id, self.known_places.get(chunk_id)) for chunk_id in chunk_ids)
        found = {chunk_id: place for chunk_id, place in remembered if place is not None}
        read = self.reader.places([chunk_id for chunk_id in chunk_ids if chunk_id not in found])
        if len(self.known_places) > _MAX_KNOWN_PLACES:
            self.known_places.clear()
        self.known_places.update(read)
        return {**found, **read}

    def passages(self, chunk_ids: Sequence[int]) -> Mapping[int, Passage]:
        """Return each chunk as an unscored passage."""
        return self.reader.passages(chunk_ids)


class Collection:
    """A collection that is open. Reads from any thread; writes from one thread at a time."""

    def __init__(self, name: str, directory: Path, encoder_fingerprint: str, vector_dimension: int | None) -> None:
        self.name = name
        self.directory = directory
        self._is_closed = False
        self._dimension = vector_dimension
        directory.mkdir(parents=True, exist_ok=True)
        self._store = CorpusStore(directory / _DATABASE)
        self._create_time_unix_ms = self._store.create_time_unix_ms()
        self._stale_chunk_count = self._store.dead_chunk_count
        self.reader = CorpusReader(directory / _DATABASE)
        self._check_versions(encoder_fingerprint)
        self._lexical = self._open_lexical()
        self._views_lock = threading.Lock()
        self._held_generations: Counter[int] = Counter()
        self._lexical_generation = self._stored_lexical_generation()
        if self._lexical_generation != self._store.generation:
            self._rebuild_lexical()
        view = self._current(vector_epoch=int(self._store.meta("vector_epoch") or 0))
        self._view = replace(view, dense=self._dense_of(view))

    @contextmanager
    def view(self) -> Iterator[CollectionView]:
        """Hold the current view; the rows that it can see stay until it is let go."""
        with self._views_lock:
            view = self._view
            self._held_generations[view.generation] += 1
        try:
            yield view
        finally:
            with self._views_lock:
                self._held_generations[view.generation] -= 1

    @property
    def current_view(self) -> CollectionView:
        """The newest view, for counts; searches use `view()`."""
        return self._view

    @property
    def create_time_unix_ms(self) -> int:
        """When the collection was made."""
        return self._create_time_unix_ms

    @property
    def stale_chunk_count(self) -> int:
        """Deleted chunks that still weigh on BM25's statistics until the lexical index is built afresh."""
        return self._stale_chunk_count

    def apply(self, change: SourceChange) -> int:
        """Commit `change` and make it visible; return its generation.

        Raises GroundwireError OUTCOME_UNKNOWN when it is durable but could not be made visible: repeating it is safe,
        and `catch_up` makes it visible.
        """
        committed = self._store.commit(change)
        try:
            self._stale_chunk_count = self._store.dead_chunk_count
            if self._lexical_generation == committed.generation - 1:
                self._lexical.replace(committed.dead_document_rows, committed.added_entries)
                self._record_lexical(committed.generation)
            else:
                self._rebuild_lexical()
            self._publish(self._current(self._view.vector_epoch))
        except (OSError, ValueError, sqlite3.Error, GroundwireError) as error:
            raise GroundwireError(
                error_pb2.ERROR_REASON_OUTCOME_UNKNOWN,
                f"the change is stored but not yet searchable ({error}); the server goes on trying, repeating is safe",
            ) from error
        return committed.generation

    def is_behind(self) -> bool:
        """Tell whether searches do not see the last committed change, since its indexing failed."""
        return self._view.generation != self._store.generation

    def catch_up(self) -> None:
        """Make the last committed change visible after a failure."""
        if not self.is_behind():
            return
        try:
            self._rebuild_lexical()
            self._publish(self._current(self._view.vector_epoch))
        except (OSError, ValueError, sqlite3.Error) as error:
            raise GroundwireError(
                error_pb2.ERROR_REASON_OUTCOME_UNKNOWN,
                f"what is stored is not yet searchable ({error}); the server goes on trying, repeating is safe",
            ) from error

    def chunks_to_embed(self, after_chunk_id: int, limit: int) -> list[ChunkToEmbed]:
        """Return living chunks without vectors, by chunk id."""
        return self._store.chunks_to_embed(after_chunk_id, limit)

    def known_vectors(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored vectors among `keys`."""
        return self._store.known_vectors(keys)

    def store_vectors(self, windows_by_chunk: Mapping[int, EmbeddedWindows]) -> None:
        """Make vectors durable; searches see all of them once no chunk lacks its own."""
        self._store.put_vectors(windows_by_chunk)
        self._publish(replace(self._view, embedded_chunk_count=self.reader.chunk_counts()[2]))

    def needs_compaction(self) -> bool:
        """Tell whether deleted chunks still weigh on BM25's statistics and are worth an index built afresh."""
        dead, living = self._stale_chunk_count, self._view.chunk_count
        return dead > 0 and (living <= _ALWAYS_COMPACTED_CHUNKS or dead >= living * _COMPACTED_DEAD_SHARE)

    def compact(self) -> None:
        """Build the lexical index afresh in one commit, so that one reached by edits equals a fresh one."""
        self._lexical.rebuild(self._store.lexical_entries())
        self._view = replace(self._view, lexical=self._lexical.view())
        with self._views_lock:
            self._held_generations = +self._held_generations
            oldest = min(self._held_generations, default=self._view.generation)
        self._store.purge_dead(oldest)
        self._stale_chunk_count = 0

    def disk_bytes(self) -> int:
        """Return the bytes that the collection takes on disk."""
        return sum(map(_size_bytes, self.directory.rglob("*")))

    def close(self) -> None:
        """Release the files; a second time does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._lexical.close()
        self.reader.close()
        self._store.close()

    def _current(self, vector_epoch: int) -> CollectionView:
        chunks, embeddable, embedded = self.reader.chunk_counts()
        return CollectionView(
            generation=self._store.generation,
            vector_epoch=vector_epoch,
            chunk_count=chunks,
            embeddable_chunk_count=embeddable,
            embedded_chunk_count=embedded,
            max_chunk_chars=int(self._store.meta("max_chunk_chars") or DEFAULT_MAX_CHUNK_CHARS),
            lexical=self._lexical.view(),
            dense=None,
            reader=self.reader,
        )

    def _publish(self, view: CollectionView) -> None:
        """Let searches see a view, with its vectors: full coverage is never seen before the vectors themselves."""
        dense = self._dense_of(view)
        if dense is not None:
            view = replace(view, vector_epoch=view.vector_epoch + 1, dense=dense)
            self._store.set_meta(vector_epoch=str(view.vector_epoch))
        self._view = view

    def _dense_of(self, view: CollectionView) -> DenseView | None:
        """Return the vectors of a view that lacks none."""
        if self._dimension is None or view.dense_coverage < 1:
            return None
        return self.reader.dense_view(self._dimension)

    def _open_lexical(self) -> LexicalIndex:
        try:
            return LexicalIndex(self.directory / _LEXICAL)
        except ValueError:
            # Derived data: what cannot be opened is made again from the store.
            shutil.rmtree(self.directory / _LEXICAL, ignore_errors=True)
            (self.directory / _LEXICAL_STATE).unlink(missing_ok=True)
            return LexicalIndex(self.directory / _LEXICAL)

    def _rebuild_lexical(self) -> None:
        generation = self._store.generation
        self._lexical.rebuild(self._store.lexical_entries())
        self._record_lexical(generation)

    def _stored_lexical_generation(self) -> int | None:
        """Return the generation that the lexical index reflects, None when it is not known or another analyser's."""
        state = self._lexical_state()
        return state["generation"] if state and state.get("analyser_version") == ANALYSER_VERSION else None

    def _lexical_state(self) -> dict[str, int] | None:
        try:
            state = json.loads((self.directory / _LEXICAL_STATE).read_text())
        except (OSError, ValueError):
            return None
        return state if isinstance(state, dict) else None

    def _record_lexical(self, generation: int) -> None:
        """Write which generation the lexical index reflects: after its commit, whole or not at all."""
        path = self.directory / _LEXICAL_STATE
        temporary = path.with_suffix(".tmp")
        with temporary.open("w") as file:
            json.dump({"generation": generation, "analyser_version": ANALYSER_VERSION}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        self._lexical_generation = generation

    def _check_versions(self, encoder_fingerprint: str) -> None:
        chunker = self._store.meta("chunker_version")
        if chunker is None:
            self._store.set_meta(chunker_version=str(CHUNKER_VERSION))
        elif chunker != str(CHUNKER_VERSION):
            raise FailedPrecondition(
                error_pb2.ERROR_REASON_INDEX_MISMATCH,
                f"collection {self.name} was chunked by version {chunker}, this server has {CHUNKER_VERSION}: "
                f"remove {self.directory} and run `client index` again",
            )
        vectors_of = f"{encoder_fingerprint}/{WINDOWS_VERSION}"
        if encoder_fingerprint and self._store.meta("vectors_of") != vectors_of:
            # Vectors of two encoders must never meet; texts are all here, so they are computed again.
            self._store.forget_vectors()
            self._store.set_meta(vectors_of=vectors_of)


def _size_bytes(path: Path) -> int:
    try:
        status = path.stat()
    except FileNotFoundError:  # an index file that was merged away while we looked
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
