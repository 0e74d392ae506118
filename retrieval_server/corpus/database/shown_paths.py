"""What is shown at a display path, which documents of several sources may share; on a given connection."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from groundwire.v1 import error_pb2
from retrieval_server.corpus.database.document_rows import StoredDocument, display_path, stored_documents
from retrieval_server.errors import Conflict


@dataclass(frozen=True, slots=True)
class ShownElsewhere:
    """A document that another source shows at the path of a file."""

    source_key: str
    document_id: str


def documents_at(connection: sqlite3.Connection, path: str, *, with_text: bool) -> list[StoredDocument]:
    """Return the living documents that are shown at a path, by the keys of their sources."""
    found: list[StoredDocument] = []
    for (prefix,) in connection.execute("SELECT DISTINCT display_prefix FROM sources").fetchall():
        relative_path = path.removeprefix(display_path(prefix, ""))
        if display_path(prefix, relative_path) == path:
            where = "d.died_generation IS NULL AND s.display_prefix = ? AND d.relative_path = ?"
            found += stored_documents(connection, where, (prefix, relative_path), with_text=with_text)
    return sorted(found, key=lambda document: document.source_key)


def shown_elsewhere(
    connection: sqlite3.Connection, source_key: str, display_prefix: str, relative_paths: Iterable[str]
) -> dict[str, ShownElsewhere]:
    """Return what other sources show where a source shows files, by their relative paths; one document of each."""
    others = connection.execute(
        "SELECT source_id, source_key, display_prefix FROM sources WHERE source_key <> ? ORDER BY source_key DESC",
        (source_key,),
    ).fetchall()
    found: dict[str, ShownElsewhere] = {}
    for source_id, other_key, other_prefix in others:
        start = display_path(other_prefix, "")
        for relative_path in relative_paths:
            path = display_path(display_prefix, relative_path)
            if not path.startswith(start):
                continue
            row = connection.execute(
                """SELECT document_id FROM documents
                   WHERE source_id = ? AND relative_path = ? AND died_generation IS NULL""",
                (source_id, path.removeprefix(start)),
            ).fetchone()
            if row is not None:
                found[relative_path] = ShownElsewhere(other_key, row[0])
    return found


def check_unshared(connection: sqlite3.Connection, source_id: int, relative_path: str) -> None:
    """Raise Conflict when a new document of a source would be shown where another source shows one."""
    source_key, prefix = connection.execute(
        "SELECT source_key, display_prefix FROM sources WHERE source_id = ?", (source_id,)
    ).fetchone()
    path = display_path(prefix, relative_path)
    shown = documents_at(connection, path, with_text=False)
    if not shown or any(one.source_key == source_key for one in shown):
        return
    other = shown[0]
    # The remedy comes first: of a long message the end is not shown.
    raise Conflict(
        error_pb2.ERROR_REASON_PATH_TAKEN,
        f"key.source: name the source, since another one shows a document at this path: {source_key!r} keeps both; "
        f"to replace that one, its source {other.source_key!r} with {other.relative_path!r} as relative_path",
        metadata={"path": path, "source": other.source_key, "document_id": other.document_id},
    )
