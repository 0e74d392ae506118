"""Writing `corpus.sqlite`: every change is one transaction that raises the generation."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.corpus.database.document_rows import StoredDocument, insert_document, stored_documents
from retrieval_server.corpus.database.request_log import RequestClaim, earlier_response, remember_response
from retrieval_server.corpus.database.schema import connect, create_or_check
from retrieval_server.corpus.database.shown_paths import check_unshared
from retrieval_server.corpus.database.vector_rows import VectorRows
from retrieval_server.corpus.documents.changes import (
    CommittedChange,
    Removal,
    SourceChange,
)
from retrieval_server.corpus.documents.metadata import set_title_of
from retrieval_server.corpus.documents.titles import titled_terms
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.engine.lexical.bm25 import LexicalEntry
from retrieval_server.engine.lexical.index_terms import index_terms
from retrieval_server.errors import GroundwireError, NotFound

_DEAD_CHUNKS = "dead_chunk_count"
# An id has 32; of a thousand that are none, a response must still fit into a message.
_MAX_SHOWN_CHARS = 64


@dataclass(frozen=True, slots=True)
class Answered:
    """A change whose response is made of it, and remembered with it when the caller gave the request an id."""

    make_response: Callable[[CommittedChange, Sequence[StoredDocument]], bytes]
    claim: RequestClaim | None = None


class CorpusStore(VectorRows):
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

    def earlier_response(self, claim: RequestClaim) -> bytes | None:
        """Return the response to a request that was carried out before. Raises Conflict for another with its id."""
        return earlier_response(self._connection, claim)

    def commit(
        self, change: SourceChange | Removal, answered: Answered | None, stage: Callable[[LexicalEntry], None]
    ) -> tuple[CommittedChange, bytes]:
        """Apply `change` in one durable transaction; return it with its response, b"" when none was asked for.

        `stage` gets each chunk that it adds, before anything is durable; what it raises passes through, and undoes all.

        Raises GroundwireError ETAG_MISMATCH, and changes nothing, when another version is there than was expected;
        Conflict PATH_TAKEN when another source shows a document at a path that was not to be shared.
        """
        with self._transaction():
            generation = self.generation + 1
            if isinstance(change, Removal):
                committed = self._remove(change, generation)
            else:
                committed = self._replace(change, generation, stage)
                if change.display_prefix is not None:  # a sync says how to cut; others did so as they were told before
                    self._put_meta({"max_chunk_chars": str(change.max_chunk_chars)})
            dead_total = self.dead_chunk_count + self._chunk_count(committed.dead_document_rows)
            self._put_meta({"generation": str(generation), _DEAD_CHUNKS: str(dead_total)})
            response = b""
            if answered is not None:
                response = answered.make_response(committed, self._documents(committed.added_document_rows))
                if answered.claim is not None:
                    remember_response(self._connection, answered.claim, response)
            passed(CommitStep.IN_TRANSACTION)
        passed(CommitStep.STORED)
        return committed, response

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
        passed(CommitStep.DEAD_PURGED)

    def accept_chunks(self, document_rows: Sequence[int], chunker_version: int) -> None:
        """Take the chunks of some documents for those of that version: they cannot be made anew."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE documents SET chunker_version = ? WHERE document_row = ?",
                [(chunker_version, row) for row in document_rows],
            )

    def lexical_entries(self) -> Iterator[LexicalEntry]:
        """Yield every living chunk as it is indexed, ordered by place, whatever the order it came in."""
        rows = self._connection.execute(
            """SELECT c.chunk_id, c.document_row, d.relative_path, c.breadcrumbs, c.names, c.text, d.set_fields
               FROM chunks c JOIN documents d USING (document_row) JOIN sources s USING (source_id)
               WHERE d.died_generation IS NULL ORDER BY s.source_key, d.relative_path, c.start_char, c.end_char"""
        )
        for chunk_id, document_row, path, stored_breadcrumbs, names, text, set_fields in rows:
            breadcrumbs = json.loads(stored_breadcrumbs)
            terms = index_terms(path, breadcrumbs, json.loads(names), text)
            yield LexicalEntry(chunk_id, document_row, titled_terms(terms, set_title_of(set_fields), breadcrumbs))

    def _replace(self, change: SourceChange, generation: int, stage: Callable[[LexicalEntry], None]) -> CommittedChange:
        source_id, is_moved = self._source(change)
        dead: dict[str, int] = {}
        place = "source_id = ? AND relative_path = ?"
        documents = [
            document
            for document in change.documents
            if (expected := change.rebuilt_etags.get(document.relative_path)) is None
            or self._etag(place, source_id, document.relative_path) == expected
        ]
        for relative_path in (*(d.relative_path for d in documents), *change.removed_paths):
            if relative_path in change.unshared_paths:
                check_unshared(self._connection, source_id, relative_path)
            self._check_etag(change.expected_etags.get(relative_path), place, source_id, relative_path)
            for row in self._bury(place, generation, source_id, relative_path):
                dead[relative_path] = row
        added: list[int] = []
        for document in documents:
            replaced = dead.get(document.relative_path)
            row, entries = insert_document(self._connection, change, source_id, document, generation, replaced)
            added.append(row)
            for entry in entries:
                stage(entry)
        return CommittedChange(generation, tuple(dead.values()), tuple(added), is_moved=is_moved)

    def _remove(self, removal: Removal, generation: int) -> CommittedChange:
        dead_by_id: dict[str, int] = {}
        for document_id in removal.document_ids:
            self._check_etag(removal.expected_etags.get(document_id), "document_id = ?", document_id)
            rows = self._bury("document_id = ?", generation, document_id)
            if not rows and removal.is_each_required:
                raise document_not_found(document_id)
            for row in rows:
                dead_by_id[document_id] = row
        return CommittedChange(generation, tuple(dead_by_id.values()), removed_document_ids=tuple(dead_by_id))

    def _source(self, change: SourceChange) -> tuple[int, bool]:
        """Return the source's id, made when it is new, and whether its documents are shown elsewhere from now on."""
        find = "SELECT source_id, display_prefix FROM sources WHERE source_key = ?"
        row = self._connection.execute(find, (change.source_key,)).fetchone()
        if row is None:
            new = (change.source_key, change.display_prefix or "")
            self._connection.execute("INSERT INTO sources (source_key, display_prefix) VALUES (?, ?)", new)
            row = self._connection.execute(find, (change.source_key,)).fetchone()
        if change.display_prefix is None or change.display_prefix == row[1]:
            return row[0], False
        self._connection.execute(
            "UPDATE sources SET display_prefix = ? WHERE source_id = ?", (change.display_prefix, row[0])
        )
        return row[0], True

    def _check_etag(self, expected: str | None, where: str, *values: str | int) -> None:
        if expected is None:
            return
        found = self._etag(where, *values)
        if found != expected:
            raise etag_mismatch(expected, found)

    def _etag(self, where: str, *values: str | int) -> str:
        """Return the etag of a living document, "" when it is not there."""
        row = self._connection.execute(
            f"SELECT etag FROM documents WHERE {where} AND died_generation IS NULL",  # noqa: S608  from this class
            values,
        ).fetchone()
        return "" if row is None else str(row[0])

    def _bury(self, where: str, generation: int, *values: str | int) -> list[int]:
        rows = self._connection.execute(
            f"""UPDATE documents SET died_generation = ?
               WHERE {where} AND died_generation IS NULL RETURNING document_row""",  # noqa: S608  from this class
            (generation, *values),
        ).fetchall()
        return [int(row[0]) for row in rows]

    def _documents(self, rows: Sequence[int]) -> list[StoredDocument]:
        found = (stored_documents(self._connection, "d.document_row = ?", (row,), with_text=False) for row in rows)
        return [document for documents in found for document in documents]

    def _chunk_count(self, document_rows: Sequence[int]) -> int:
        counts = (
            self._connection.execute("SELECT count(*) FROM chunks WHERE document_row = ?", (row,)).fetchone()
            for row in document_rows
        )
        return sum(int(count) for (count,) in counts)

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


def etag_mismatch(expected: str, found: str) -> GroundwireError:
    """Return the error of a change that expects another version than there is; `found` is "" when there is none."""
    return GroundwireError(
        error_pb2.ERROR_REASON_ETAG_MISMATCH,
        f"the document has etag {found!r} now and not {expected!r}: get it again, and repeat the change on that"
        if found
        else f"the document with etag {expected!r} is gone",
        metadata={"etag": found},
    )


def document_not_found(document_id: str) -> NotFound:
    """Return the error of a document that is not there."""
    return NotFound(
        error_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND,
        f"no document {document_id[:_MAX_SHOWN_CHARS]!r}",
        metadata={"path": document_id},
    )
