"""Reading `corpus.sqlite`, from any thread, as of one generation."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retrieval_server.corpus.schema import connect
from retrieval_server.engine.dense import DenseView
from retrieval_server.engine.retriever import Place
from retrieval_server.model import ContentKind, Passage

_IDS_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One document; offsets of its passages count code points of `text`."""

    document_id: str
    source_key: str
    relative_path: str
    path: str
    language: str
    kind: ContentKind
    sha256: bytes
    char_count: int
    line_count: int
    encoding: str
    had_byte_order_mark: bool
    update_time_unix_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What a sync compares: the version and the chunking of a document that is there."""

    sha256: bytes
    max_chunk_chars: int


@dataclass(frozen=True, slots=True)
class SourceCount:
    """A source and how many documents it has."""

    source_key: str
    display_prefix: str
    document_count: int


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """Counts of what lives in a collection; bytes are of the texts as UTF-8."""

    document_count: int
    chunk_count: int
    embeddable_chunk_count: int
    embedded_chunk_count: int
    text_bytes: int
    sources: tuple[SourceCount, ...]


def display_path(display_prefix: str, relative_path: str) -> str:
    """Return the path as results show it: the root as it was typed, joined with the relative path."""
    if not display_prefix:
        return relative_path
    return f"{display_prefix.rstrip('/')}/{relative_path}"


class CorpusReader:
    """The reading side: one connection a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._opened_lock = threading.Lock()

    def close(self) -> None:
        """Close every thread's connection."""
        with self._opened_lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()

    def places(self, chunk_ids: Sequence[int]) -> Mapping[int, Place]:
        """Return where each chunk stands."""
        rows = self._by_ids(
            """SELECT c.chunk_id, s.display_prefix, d.relative_path, c.start_char, d.document_id
               FROM chunks c JOIN documents d USING (document_row) JOIN sources s USING (source_id)
               WHERE c.chunk_id IN ({})""",
            chunk_ids,
        )
        return {r[0]: Place(display_path(r[1], r[2]), r[2], r[3], r[4]) for r in rows}

    def passages(self, chunk_ids: Sequence[int]) -> Mapping[int, Passage]:
        """Return each chunk as an unscored passage."""
        rows = self._by_ids(
            """SELECT c.chunk_id, d.document_id, s.display_prefix, d.relative_path, c.start_char, c.end_char,
                   c.start_line, c.end_line, c.text, c.breadcrumbs, d.language, d.kind
               FROM chunks c JOIN documents d USING (document_row) JOIN sources s USING (source_id)
               WHERE c.chunk_id IN ({})""",
            chunk_ids,
        )
        return {
            r[0]: Passage(
                passage_id=f"{r[1]}:{r[4]}-{r[5]}",
                document_id=r[1],
                path=display_path(r[2], r[3]),
                start_char=r[4],
                end_char=r[5],
                start_line=r[6],
                end_line=r[7],
                text=r[8],
                breadcrumbs=tuple(json.loads(r[9])),
                language=r[10],
                kind=ContentKind(r[11]),
            )
            for r in rows
        }

    def files_of_source(self, source_key: str) -> dict[str, StoredFile]:
        """Return relative path → version of every living document of a source."""
        rows = self._connection.execute(
            """SELECT relative_path, sha256, max_chunk_chars FROM documents JOIN sources USING (source_id)
               WHERE source_key = ? AND died_generation IS NULL""",
            (source_key,),
        )
        return {r[0]: StoredFile(r[1], r[2]) for r in rows}

    def display_prefix(self, source_key: str) -> str | None:
        """Return the prefix of a source, or None for one that is not there."""
        found = self._connection.execute("SELECT display_prefix FROM sources WHERE source_key = ?", (source_key,))
        row = found.fetchone()
        return None if row is None else str(row[0])

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a living document by id, or None."""
        return next(self._documents("d.document_id = ?", document_id), None)

    def documents_at(self, path: str) -> list[StoredDocument]:
        """Return the living documents that are shown at a path: sources with equal prefixes may share it."""
        found: list[StoredDocument] = []
        for (prefix,) in self._connection.execute("SELECT DISTINCT display_prefix FROM sources").fetchall():
            relative_path = path.removeprefix(display_path(prefix, ""))
            if display_path(prefix, relative_path) == path:
                found += self._documents("s.display_prefix = ? AND d.relative_path = ?", prefix, relative_path)
        return found

    def counts(self) -> CorpusCounts:
        """Return counts of what lives."""
        documents, text_bytes = self._connection.execute(
            "SELECT count(*), coalesce(sum(text_bytes), 0) FROM documents WHERE died_generation IS NULL"
        ).fetchone()
        chunks, embeddable, embedded = self.chunk_counts()
        sources = self._connection.execute(
            """SELECT source_key, display_prefix, (SELECT count(*) FROM documents d
                   WHERE d.source_id = s.source_id AND died_generation IS NULL) FROM sources s ORDER BY source_key"""
        ).fetchall()
        return CorpusCounts(
            documents, chunks, embeddable, embedded, text_bytes, tuple(SourceCount(*s) for s in sources)
        )

    def chunk_counts(self) -> tuple[int, int, int]:
        """Return how many chunks live, how many of them are to have vectors, and how many have them."""
        chunks, embeddable, embedded = self._connection.execute(
            """SELECT count(*), coalesce(sum(embeddable), 0), coalesce(sum(embeddable AND embedded), 0)
               FROM chunks JOIN documents USING (document_row) WHERE died_generation IS NULL"""
        ).fetchone()
        return chunks, embeddable, embedded

    def dense_view(self, dimension: int) -> DenseView:
        """Return all windows of living chunks, ordered by place, whatever the order they were computed in."""
        rows = self._connection.execute(
            """SELECT c.chunk_id, v.vector FROM windows w JOIN vectors v USING (text_sha256)
               JOIN chunks c USING (chunk_id) JOIN documents d USING (document_row) JOIN sources s USING (source_id)
               WHERE d.died_generation IS NULL
               ORDER BY s.source_key, d.relative_path, c.start_char, c.end_char, w.ordinal"""
        ).fetchall()
        vectors = np.frombuffer(b"".join(r[1] for r in rows), dtype=np.float32).reshape(len(rows), dimension)
        return DenseView(vectors, np.fromiter((r[0] for r in rows), dtype=np.int64, count=len(rows)))

    def _documents(self, where: str, *values: str) -> Iterator[StoredDocument]:
        rows = self._connection.execute(
            f"""SELECT d.document_id, s.source_key, d.relative_path, s.display_prefix, d.language, d.kind, d.sha256,
                    d.char_count, d.line_count, d.encoding, d.had_byte_order_mark, d.update_time_unix_ms, d.text
                FROM documents d JOIN sources s USING (source_id) WHERE d.died_generation IS NULL AND {where}""",  # noqa: S608  only this class passes `where`
            values,
        )
        for r in rows:
            yield StoredDocument(
                document_id=r[0],
                source_key=r[1],
                relative_path=r[2],
                path=display_path(r[3], r[2]),
                language=r[4],
                kind=ContentKind(r[5]),
                sha256=r[6],
                char_count=r[7],
                line_count=r[8],
                encoding=r[9],
                had_byte_order_mark=bool(r[10]),
                update_time_unix_ms=r[11],
                text=r[12],
            )

    def _by_ids(self, statement: str, ids: Sequence[int]) -> Iterator[Any]:
        for start in range(0, len(ids), _IDS_PER_STATEMENT):
            some = ids[start : start + _IDS_PER_STATEMENT]
            yield from self._connection.execute(statement.format(",".join("?" * len(some))), some)

    @property
    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self._path, read_only=True)
            self._local.connection = connection
            with self._opened_lock:
                self._opened.append(connection)
        return connection
