"""Writing `corpus.sqlite`: every change is one transaction that raises the generation."""

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from groundwire.v1 import error_pb2
from retrieval_server.corpus.documents import ParsedDocument
from retrieval_server.corpus.schema import connect, create_or_check
from retrieval_server.engine.lexical import LexicalEntry, index_terms
from retrieval_server.errors import GroundwireError
from retrieval_server.model import ContentKind

_DEAD_CHUNKS = "dead_chunk_count"


@dataclass(frozen=True, slots=True)
class EmbeddedWindows:
    """The windows of one chunk: a key (sha256 of the window's text) and a (dimension,) float32 vector each."""

    keys: tuple[bytes, ...]
    vectors: tuple[NDArray[np.float32], ...]


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What one commit does to one source: documents to add or replace, and relative paths to remove."""

    source_key: str
    display_prefix: str
    max_chunk_chars: int
    documents: Sequence[ParsedDocument]
    removed_paths: Sequence[str] = ()
    # Relative path → windows of each of its chunks, in order; documents without an entry are embedded later.
    windows_by_path: Mapping[str, Sequence[EmbeddedWindows]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommittedChange:
    """What the derived indexes must follow."""

    generation: int
    dead_document_rows: tuple[int, ...]
    added_entries: tuple[LexicalEntry, ...]


@dataclass(frozen=True, slots=True)
class ChunkToEmbed:
    """A chunk that has no vectors yet."""

    chunk_id: int
    kind: ContentKind
    relative_path: str
    breadcrumbs: tuple[str, ...]
    text: str


def document_id_of(source_key: str, relative_path: str) -> str:
    """Return the id of a document, the same on every machine and in every index."""
    return hashlib.sha256(f"{source_key}\0{relative_path}".encode()).hexdigest()[:32]


class CorpusStore:
    """The writing side. Not thread-safe: one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path)
        create_or_check(self._connection, path)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def meta(self, key: str) -> str | None:
        """Return a setting of the collection."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, **values: str) -> None:
        """Store settings of the collection."""
        with self._transaction():
            self._put_meta(values)

    def create_time_unix_ms(self) -> int:
        """Return when the collection was made: the first time that this was asked."""
        stored = self.meta("create_time_unix_ms")
        if stored is None:
            stored = str(time.time_ns() // 1_000_000)
            self.set_meta(create_time_unix_ms=stored)
        return int(stored)

    @property
    def generation(self) -> int:
        """Generation of the last committed change; 0 when there was none."""
        return int(self.meta("generation") or 0)

    @property
    def dead_chunk_count(self) -> int:
        """Chunks that were deleted since the lexical index was last built afresh."""
        return int(self.meta(_DEAD_CHUNKS) or 0)

    def commit(self, change: SourceChange) -> CommittedChange:
        """Apply `change` in one durable transaction."""
        with self._transaction():
            generation = self.generation + 1
            source_id = self._source_id(change)
            dead: list[int] = []
            entries: list[LexicalEntry] = []
            for relative_path in (*(d.relative_path for d in change.documents), *change.removed_paths):
                dead.extend(self._bury(source_id, relative_path, generation))
            for document in change.documents:
                entries.extend(self._insert(change, source_id, document, generation))
            dead_total = self.dead_chunk_count + self._chunk_count(dead)
            values = {"generation": generation, "max_chunk_chars": change.max_chunk_chars, _DEAD_CHUNKS: dead_total}
            self._put_meta({key: str(value) for key, value in values.items()})
        return CommittedChange(generation, tuple(dead), tuple(entries))

    def purge_dead(self, oldest_view_generation: int) -> None:
        """Delete rows that no view of `oldest_view_generation` or later can see, and vectors that nothing refers to.

        To be called when the lexical index has been built afresh.
        """
        with self._transaction():
            self._put_meta({_DEAD_CHUNKS: "0"})
            self._connection.execute(
                "DELETE FROM documents WHERE died_generation IS NOT NULL AND died_generation <= ?",
                (oldest_view_generation,),
            )
            self._connection.execute("DELETE FROM vectors WHERE text_sha256 NOT IN (SELECT text_sha256 FROM windows)")

    def known_vectors(self, keys: Iterable[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored vectors among `keys`."""
        found: dict[bytes, NDArray[np.float32]] = {}
        for key in keys:
            row = self._connection.execute("SELECT vector FROM vectors WHERE text_sha256 = ?", (key,)).fetchone()
            if row is not None:
                found[key] = np.frombuffer(row[0], dtype=np.float32)
        return found

    def chunks_to_embed(self, after_chunk_id: int, limit: int) -> list[ChunkToEmbed]:
        """Return living chunks without vectors, oldest first, from behind `after_chunk_id`."""
        rows = self._connection.execute(
            """SELECT c.chunk_id, d.kind, d.relative_path, c.breadcrumbs, c.text
               FROM chunks c JOIN documents d USING (document_row)
               WHERE c.embeddable AND NOT c.embedded AND d.died_generation IS NULL AND c.chunk_id > ?
               ORDER BY c.chunk_id LIMIT ?""",
            (after_chunk_id, limit),
        )
        return [ChunkToEmbed(r[0], ContentKind(r[1]), r[2], tuple(json.loads(r[3])), r[4]) for r in rows]

    def put_vectors(self, windows_by_chunk: Mapping[int, EmbeddedWindows]) -> None:
        """Store the windows of chunks; a chunk that was deleted meanwhile is passed over."""
        with self._transaction():
            for chunk_id, windows in windows_by_chunk.items():
                updated = self._connection.execute("UPDATE chunks SET embedded = 1 WHERE chunk_id = ?", (chunk_id,))
                if updated.rowcount:
                    self._put_windows(chunk_id, windows)

    def forget_vectors(self) -> None:
        """Drop every vector: they were made by another encoder."""
        with self._transaction():
            self._connection.execute("DELETE FROM windows")
            self._connection.execute("DELETE FROM vectors")
            self._connection.execute("UPDATE chunks SET embedded = 0")

    def lexical_entries(self) -> Iterator[LexicalEntry]:
        """Yield every living chunk as it is indexed, ordered by place, whatever the order it came in."""
        rows = self._connection.execute(
            """SELECT c.chunk_id, c.document_row, d.relative_path, c.breadcrumbs, c.names, c.text
               FROM chunks c JOIN documents d USING (document_row) JOIN sources s USING (source_id)
               WHERE d.died_generation IS NULL ORDER BY s.source_key, d.relative_path, c.start_char, c.end_char"""
        )
        for chunk_id, document_row, path, breadcrumbs, names, text in rows:
            yield LexicalEntry(
                chunk_id, document_row, index_terms(path, json.loads(breadcrumbs), json.loads(names), text)
            )

    def _source_id(self, change: SourceChange) -> int:
        self._connection.execute(
            """INSERT INTO sources (source_key, display_prefix) VALUES (?, ?)
               ON CONFLICT (source_key) DO UPDATE SET display_prefix = excluded.display_prefix""",
            (change.source_key, change.display_prefix),
        )
        row = self._connection.execute("SELECT source_id FROM sources WHERE source_key = ?", (change.source_key,))
        return int(row.fetchone()[0])

    def _bury(self, source_id: int, relative_path: str, generation: int) -> list[int]:
        rows = self._connection.execute(
            """UPDATE documents SET died_generation = ?
               WHERE source_id = ? AND relative_path = ? AND died_generation IS NULL RETURNING document_row""",
            (generation, source_id, relative_path),
        ).fetchall()
        return [int(row[0]) for row in rows]

    def _chunk_count(self, document_rows: Sequence[int]) -> int:
        counts = (
            self._connection.execute("SELECT count(*) FROM chunks WHERE document_row = ?", (row,)).fetchone()
            for row in document_rows
        )
        return sum(int(count) for (count,) in counts)

    def _insert(
        self, change: SourceChange, source_id: int, document: ParsedDocument, generation: int
    ) -> Iterator[LexicalEntry]:
        decoded = document.decoded
        document_row = self._connection.execute(
            """INSERT INTO documents (document_id, source_id, relative_path, language, kind, sha256, max_chunk_chars,
                   char_count, text_bytes, line_count, encoding, had_byte_order_mark, update_time_unix_ms, text,
                   born_generation)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                document_id_of(change.source_key, document.relative_path),
                source_id,
                document.relative_path,
                document.language,
                document.kind.value,
                document.sha256,
                change.max_chunk_chars,
                len(decoded.text),
                len(decoded.text.encode()),
                document.line_count,
                decoded.encoding,
                decoded.had_byte_order_mark,
                time.time_ns() // 1_000_000,
                decoded.text,
                generation,
            ),
        ).lastrowid
        if document_row is None:
            raise sqlite3.DatabaseError("an inserted document has no row id")
        embeddable = document.kind is not ContentKind.DATA
        windows = change.windows_by_path.get(document.relative_path)
        for ordinal, chunk in enumerate(document.chunks):
            span = chunk.span
            chunk_id = self._connection.execute(
                """INSERT INTO chunks (document_row, start_char, end_char, start_line, end_line, breadcrumbs, names,
                       text, embeddable, embedded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                (
                    document_row,
                    span.start_char,
                    span.end_char,
                    span.start_line,
                    span.end_line,
                    json.dumps(span.breadcrumbs),
                    json.dumps(span.names),
                    chunk.text,
                    embeddable,
                    embeddable and windows is not None,
                ),
            ).lastrowid
            if chunk_id is None:
                raise sqlite3.DatabaseError("an inserted chunk has no row id")
            if windows is not None:
                self._put_windows(chunk_id, windows[ordinal])
            yield LexicalEntry(chunk_id, document_row, chunk.terms)

    def _put_windows(self, chunk_id: int, windows: EmbeddedWindows) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
            [(key, vector.tobytes()) for key, vector in zip(windows.keys, windows.vectors, strict=True)],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO windows VALUES (?, ?, ?)",
            [(chunk_id, ordinal, key) for ordinal, key in enumerate(windows.keys)],
        )

    def _put_meta(self, values: dict[str, str]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise GroundwireError(
                error_pb2.ERROR_REASON_STORAGE_FAILED, f"the collection could not be written: {error}"
            ) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
