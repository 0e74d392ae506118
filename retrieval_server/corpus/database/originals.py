"""Originals as they are stored; `corpus.documents.originals` says which are."""

import hashlib
import sqlite3

from groundwire.v1 import error_pb2
from retrieval_server.corpus.database.document_rows import StoredDocument
from retrieval_server.corpus.documents.originals import bytes_of
from retrieval_server.errors import FailedPrecondition


def read_original(connection: sqlite3.Connection, document: StoredDocument) -> bytes:
    """Return the original of a document that was read with its text. Raises FailedPrecondition when it is not there."""
    row = connection.execute(
        "SELECT content FROM originals WHERE document_row = ?", (document.document_row,)
    ).fetchone()
    made = (
        bytes(row[0])
        if row is not None
        else bytes_of(document.text, document.encoding, had_mark=document.had_byte_order_mark)
    )
    if made is None or hashlib.sha256(made).digest() != document.sha256:
        raise FailedPrecondition(
            error_pb2.ERROR_REASON_INDEX_MISMATCH,
            f"the original of {document.path} was not kept by the version that stored it: put it or index it again",
            metadata={"path": document.path},
        )
    return made
