"""Reading `corpus.sqlite`, from any thread, as of one generation."""

import sqlite3
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.database.chunk_columns import StoredColumns
from retrieval_server.corpus.database.chunk_counts import ChunkCounts, counts_of_documents, counts_of_table
from retrieval_server.corpus.database.document_listing import ListPlace, listed_documents, stored_document
from retrieval_server.corpus.database.document_rows import StoredDocument, display_path, stored_documents
from retrieval_server.corpus.database.originals import read_original
from retrieval_server.corpus.database.passage_rows import PASSAGES_BY_ID, passage_of_row
from retrieval_server.corpus.database.schema import connect
from retrieval_server.corpus.database.shown_paths import ShownElsewhere, documents_at, shown_elsewhere
from retrieval_server.corpus.database.stored_vectors import read_vectors
from retrieval_server.corpus.documents.changes import EmbeddedWindows
from retrieval_server.corpus.documents.metadata import filterable, set_title_of
from retrieval_server.corpus.documents.moved_windows import MovedFile, moved_windows
from retrieval_server.corpus.vectors.segment_files import Windows
from retrieval_server.engine.chunkers import CHUNKER_VERSION
from retrieval_server.engine.places.chunk_table import ChunkTable, DocumentFacts, Place
from retrieval_server.errors import FailedPrecondition
from retrieval_server.model import ContentKind, Passage, PassageFilter

_IDS_PER_STATEMENT = 500
_FORMS: Sequence[Literal["NFC", "NFD"]] = ("NFC", "NFD")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What a sync compares: the version and the chunking of a document that is there."""

    sha256: bytes
    max_chunk_chars: int
    set_title: str


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

    def chunk_table(self, after_document_row: int = 0, stored: StoredColumns | None = None) -> ChunkTable:
        """Return the living chunks of documents whose rows come after `after_document_row`.

        What `stored` holds is not read again; it is given only together with a row of 0.
        """
        documents = self._connection.execute(
            """SELECT d.document_row, d.document_id, s.display_prefix, d.relative_path, d.language, d.kind,
                   d.metadata
               FROM documents d JOIN sources s USING (source_id)
               WHERE d.died_generation IS NULL AND d.document_row > ? ORDER BY d.document_row""",
            (after_document_row,),
        )
        facts = [
            DocumentFacts(r[0], r[1], display_path(r[2], r[3]), r[3], r[4], ContentKind(r[5]), filterable(r[6]))
            for r in documents
        ]
        stored = stored or StoredColumns(through_document_row=after_document_row)
        chunks = self._connection.execute(
            "SELECT chunk_id, document_row, start_char FROM chunks WHERE document_row > ?",
            (stored.through_document_row,),
        )
        read = np.fromiter(chunks, np.dtype((np.int64, 3)))
        return ChunkTable.of_rows(facts, np.concatenate((stored.rows, read)))

    def passages(self, places: Mapping[int, Place]) -> Mapping[int, Passage]:
        """Return the chunks, by id, as unscored passages of the documents where they stand."""
        rows = self._by_ids(PASSAGES_BY_ID, list(places))
        return {r[0]: passage_of_row(places[r[0]].document, *r[1:]) for r in rows}

    def texts(self, chunk_ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk."""
        return dict(self._by_ids("SELECT chunk_id, text FROM chunks WHERE chunk_id IN ({})", chunk_ids))

    def chunks_containing(self, texts: Sequence[str], among: Sequence[int]) -> list[int]:
        """Return the chunks among the ids whose texts contain all of `texts`, letters composed or not."""
        forms = [sorted({text, *(unicodedata.normalize(form, text) for form in _FORMS)}) for text in texts]
        having = "".join(f" AND ({' OR '.join('instr(text, ?) > 0' for _ in some)})" for some in forms)
        statement = f"SELECT chunk_id FROM chunks WHERE chunk_id IN ({{}}){having}"  # noqa: S608  from this class
        return [row[0] for row in self._by_ids(statement, among, *(form for some in forms for form in some))]

    def files_of_source(self, source_key: str) -> dict[str, StoredFile]:
        """Return relative path → version of every living document of a source."""
        rows = self._connection.execute(
            """SELECT relative_path, sha256, max_chunk_chars, set_fields FROM documents JOIN sources USING (source_id)
               WHERE source_key = ? AND died_generation IS NULL""",
            (source_key,),
        )
        return {r[0]: StoredFile(r[1], r[2], set_title_of(r[3])) for r in rows}

    def display_prefix(self, source_key: str) -> str | None:
        """Return the prefix of a source, or None for one that is not there."""
        found = self._connection.execute("SELECT display_prefix FROM sources WHERE source_key = ?", (source_key,))
        row = found.fetchone()
        return None if row is None else str(row[0])

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a living document with its text, or None."""
        return next(self._living("d.document_id = ?", document_id), None)

    def document_with_original(self, document_id: str) -> tuple[StoredDocument, bytes] | None:
        """Return a living document with its text and its original bytes, or None."""
        with self._one_moment():
            found = self.document(document_id)
            return None if found is None else (found, read_original(self._connection, found))

    def documents_at(self, path: str) -> list[StoredDocument]:
        """Return the living documents that are shown at a path, by the keys of their sources."""
        with self._one_moment():
            return documents_at(self._connection, path, with_text=True)

    def documents_after(self, place: ListPlace, wanted: PassageFilter, limit: int) -> list[StoredDocument]:
        """Return the first living documents behind a place that a filter means, by path, without their texts."""
        with self._one_moment():
            listed = islice(listed_documents(self._connection, wanted, place), limit)
            return [stored_document(self._connection, one) for one in listed]

    def document_ids_matching(self, wanted: PassageFilter) -> list[str]:
        """Return the ids of the living documents that a filter means, by path; `contains` is of whole texts."""
        with self._one_moment():
            return [one.place.document_id for one in listed_documents(self._connection, wanted)]

    def counts(self) -> CorpusCounts:
        """Return counts of what lives."""
        with self._one_moment():
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

    def documents_to_rebuild(self, *, full: bool) -> list[StoredDocument]:
        """Return all living documents, or those of another chunker version, by source; without their texts."""
        where = "d.died_generation IS NULL" + ("" if full else f" AND d.chunker_version <> {CHUNKER_VERSION:d}")
        found = stored_documents(self._connection, where, (), with_text=False)
        return sorted(found, key=lambda document: (document.source_key, document.relative_path))

    def originals_of(self, documents: Sequence[StoredDocument]) -> dict[int, bytes]:
        """Return the originals of documents by row; those that are gone, or were not kept, are left out."""
        originals: dict[int, bytes] = {}
        for document in documents:
            found = stored_documents(self._connection, "d.document_row = ?", (document.document_row,), with_text=True)
            for stored in found:
                with suppress(FailedPrecondition):
                    originals[document.document_row] = read_original(self._connection, stored)
        return originals

    def outdated_document_count(self) -> int:
        """Return how many living documents another version of the chunkers made the chunks of."""
        row = self._connection.execute(
            "SELECT count(*) FROM documents WHERE died_generation IS NULL AND chunker_version <> ?", (CHUNKER_VERSION,)
        ).fetchone()
        return int(row[0])

    def chunk_counts(self) -> tuple[int, int, int]:
        """Return how many chunks live, how many of them are to have vectors, and how many have them."""
        chunks, embeddable, embedded = self._connection.execute(
            """SELECT count(*), coalesce(sum(embeddable), 0), coalesce(sum(embeddable AND embedded), 0)
               FROM chunks JOIN documents USING (document_row) WHERE died_generation IS NULL"""
        ).fetchone()
        return chunks, embeddable, embedded

    def counts_of_documents(self, document_rows: Sequence[int]) -> ChunkCounts:
        """Return the counts of some documents' chunks."""
        return counts_of_documents(self._connection, document_rows)

    def counts_of_table(self, table: ChunkTable) -> ChunkCounts:
        """Return the counts of all chunks of a table of the newest generation."""
        return counts_of_table(self._connection, table)

    def windows_of(self, chunk_ids: NDArray[np.int64], dimension: int) -> Windows:
        """Return the windows of chunks, (n,) int64, rising, in that order. Raises MisshapenVectors."""
        rows = list(
            self._by_ids(
                """SELECT w.chunk_id, v.vector FROM windows w LEFT JOIN vectors v USING (text_sha256)
                   WHERE w.chunk_id IN ({}) ORDER BY w.chunk_id, w.ordinal""",
                chunk_ids.tolist(),
            )
        )
        vectors = read_vectors([row[1] for row in rows], dimension)
        return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows)), vectors

    def shown_elsewhere(
        self, source_key: str, display_prefix: str, relative_paths: Sequence[str]
    ) -> dict[str, ShownElsewhere]:
        """Return what other sources show where a source shows files, by their relative paths."""
        return shown_elsewhere(self._connection, source_key, display_prefix, relative_paths)

    def moved_windows(self, source_key: str, moved: Sequence[MovedFile]) -> dict[str, list[EmbeddedWindows]]:
        """Return the stored windows of files that were moved, by their new paths, as far as they are there."""
        with self._one_moment():
            found = {one.document.relative_path: moved_windows(self._connection, source_key, one) for one in moved}
        return {path: windows for path, windows in found.items() if windows is not None}

    def _living(self, where: str, *values: str) -> Iterator[StoredDocument]:
        return stored_documents(self._connection, f"d.died_generation IS NULL AND {where}", values, with_text=True)

    @contextmanager
    def _one_moment(self) -> Iterator[None]:
        """Let several statements see the same state, whatever is committed meanwhile."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    def _by_ids(self, statement: str, ids: Sequence[int], *values: str) -> Iterator[Any]:
        for start in range(0, len(ids), _IDS_PER_STATEMENT):
            some = ids[start : start + _IDS_PER_STATEMENT]
            yield from self._connection.execute(statement.format(",".join("?" * len(some))), (*some, *values))

    @property
    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self._path, read_only=True)
            self._local.connection = connection
            with self._opened_lock:
                self._opened.append(connection)
        return connection
