"""Documents in the order of their display paths, from a place on: a page costs about what is on it.

An index has the documents of a source by relative path, which is the order of their display paths as well, since all
of them begin alike; the sources are merged. Conditions on language, kind and the start of the path are met by SQLite,
the others one document at a time, until there are enough.
"""

import heapq
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from retrieval_server.corpus.database.document_rows import StoredDocument, display_path, stored_documents
from retrieval_server.corpus.documents.metadata import SetValue, metadata_from_json
from retrieval_server.engine.places.filters import DocumentMatcher
from retrieval_server.engine.places.globs import literal_start
from retrieval_server.model import ContentKind, PassageFilter

_LAST_CHAR = "\U0010ffff"


@dataclass(frozen=True, slots=True, order=True)
class ListPlace:
    """Where a document stands in the list; documents of several sources may be shown at one path."""

    path: str
    document_id: str


LIST_START = ListPlace("", "")


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """As much of a document as a filter looks at."""

    place: ListPlace
    document_row: int
    language: str
    kind: ContentKind
    metadata_text: str

    @property
    def path(self) -> str:
        """Display path."""
        return self.place.path

    @property
    def metadata(self) -> Mapping[str, SetValue]:
        """Values by key, as far as they were asked for."""
        return metadata_from_json(self.metadata_text)


def listed_documents(
    connection: sqlite3.Connection, wanted: PassageFilter, after: ListPlace = LIST_START
) -> Iterator[ListedDocument]:
    """Yield the living documents behind `after` that a filter means; `contains` is of whole texts.

    Letters with accents are found composed and decomposed.
    """
    sources = connection.execute("SELECT source_id, display_prefix FROM sources").fetchall()
    merged = heapq.merge(
        *(_of_source(connection, source_id, prefix, wanted, after) for source_id, prefix in sources),
        key=lambda document: document.place,
    )
    matcher = DocumentMatcher(wanted)
    for document in merged:
        if document.place > after and matcher.matches(document) and _holds_texts(connection, document, wanted):
            yield document


def stored_document(connection: sqlite3.Connection, listed: ListedDocument) -> StoredDocument:
    """Return all that is known of a document but its text."""
    return next(stored_documents(connection, "d.document_row = ?", (listed.document_row,), with_text=False))


def _of_source(
    connection: sqlite3.Connection, source_id: int, prefix: str, wanted: PassageFilter, after: ListPlace
) -> Iterator[ListedDocument]:
    starts = [literal_start(glob) for glob in wanted.include_paths] or [""]
    # No path that begins with one of them lies outside.
    first, last = max(after.path, min(starts)), max(starts) + _LAST_CHAR
    shown = display_path(prefix, "")
    if (not first.startswith(shown) and first > shown) or (not last.startswith(shown) and last < shown):
        return
    conditions = ["source_id = ?", "died_generation IS NULL", "relative_path >= ?"]
    values: list[str | int] = [source_id, first.removeprefix(shown) if first.startswith(shown) else ""]
    if last.startswith(shown):
        conditions.append("relative_path <= ?")
        values.append(last.removeprefix(shown))
    for column, meant in (("language", sorted(wanted.languages)), ("kind", sorted(k.value for k in wanted.kinds))):
        if meant:
            conditions.append(f"{column} IN ({','.join('?' * len(meant))})")
            values += meant
    metadata = "metadata" if wanted.metadata else "'{}'"
    rows = connection.execute(
        f"""SELECT relative_path, document_id, document_row, language, kind, {metadata} FROM documents
            WHERE {" AND ".join(conditions)} ORDER BY relative_path""",  # noqa: S608  from this function
        values,
    )
    for relative_path, document_id, row, language, kind, text in rows:
        place = ListPlace(display_path(prefix, relative_path), document_id)
        yield ListedDocument(place, row, language, ContentKind(kind), text)


def _holds_texts(connection: sqlite3.Connection, document: ListedDocument, wanted: PassageFilter) -> bool:
    if not wanted.contains:
        return True
    having = " AND (instr(text, ?) > 0 OR instr(text, ?) > 0)" * len(wanted.contains)
    forms = [unicodedata.normalize(form, text) for text in wanted.contains for form in ("NFC", "NFD")]
    statement = f"SELECT 1 FROM texts WHERE document_row = ?{having}"  # noqa: S608  from this function
    return connection.execute(statement, (document.document_row, *forms)).fetchone() is not None
