"""The vectors of a file that only came to lie elsewhere: what was computed of it stays with it.

The file's name stands in what is embedded, so one that is new would ask for vectors that are hardly others. A rebuild
makes them of the new name.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from retrieval_server.corpus.documents.changes import EmbeddedWindows
from retrieval_server.corpus.documents.documents import ParsedDocument
from retrieval_server.model import ContentKind


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A document that has come, and the path of the same source where the same bytes lay before."""

    document: ParsedDocument
    from_path: str


def moved_windows(connection: sqlite3.Connection, source_key: str, moved: MovedFile) -> list[EmbeddedWindows] | None:
    """Return the stored windows of each chunk; None where they are not complete, or it was split in another way."""
    document = moved.document
    row = connection.execute(
        """SELECT document_row, kind FROM documents JOIN sources USING (source_id)
           WHERE source_key = ? AND relative_path = ? AND sha256 = ? AND died_generation IS NULL""",
        (source_key, moved.from_path, document.sha256),
    ).fetchone()
    if row is None or ContentKind(row[1]) is not document.kind or document.kind is ContentKind.DATA:
        return None
    chunks = connection.execute(
        """SELECT chunk_id, start_char, end_char, breadcrumbs FROM chunks
           WHERE document_row = ? AND embedded ORDER BY chunk_id""",
        (row[0],),
    ).fetchall()
    spans = [(c.span.start_char, c.span.end_char, list(c.span.breadcrumbs)) for c in document.chunks]
    if [(start, end, json.loads(breadcrumbs)) for _, start, end, breadcrumbs in chunks] != spans:
        return None
    found = [_windows(connection, chunk_id) for chunk_id, *_ in chunks]
    return None if None in found else [windows for windows in found if windows is not None]


def _windows(connection: sqlite3.Connection, chunk_id: int) -> EmbeddedWindows | None:
    rows: Sequence[tuple[bytes, bytes]] = connection.execute(
        """SELECT text_sha256, vector FROM windows JOIN vectors USING (text_sha256)
           WHERE chunk_id = ? ORDER BY ordinal""",
        (chunk_id,),
    ).fetchall()
    if any(len(r[1]) % np.dtype(np.float32).itemsize for r in rows):  # a damaged row
        return None
    return EmbeddedWindows(tuple(r[0] for r in rows), tuple(np.frombuffer(r[1], dtype=np.float32) for r in rows))
