"""The bytes that a document was made of: made again from its text where that is exact, kept where it is not."""

import codecs
import hashlib
import sqlite3

from groundwire.v1 import error_pb2
from retrieval_server.corpus.database.document_rows import StoredDocument
from retrieval_server.corpus.documents.decode import DecodedText
from retrieval_server.errors import FailedPrecondition

_MARK_BY_ENCODING = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


def original_to_keep(decoded: DecodedText, data: bytes) -> bytes | None:
    """Return `data` when the text does not give it back, as that of a PDF; None when nothing needs to be kept."""
    return None if _bytes_of(decoded.text, decoded.encoding, had_mark=decoded.had_byte_order_mark) == data else data


def read_original(connection: sqlite3.Connection, document: StoredDocument) -> bytes:
    """Return the original of a document that was read with its text. Raises FailedPrecondition when it is not there."""
    row = connection.execute(
        "SELECT content FROM originals WHERE document_row = ?", (document.document_row,)
    ).fetchone()
    made = (
        bytes(row[0])
        if row is not None
        else _bytes_of(document.text, document.encoding, had_mark=document.had_byte_order_mark)
    )
    if made is None or hashlib.sha256(made).digest() != document.sha256:
        raise FailedPrecondition(
            error_pb2.ERROR_REASON_INDEX_MISMATCH,
            f"the original of {document.path} was not kept by the version that stored it: put it or index it again",
            metadata={"path": document.path},
        )
    return made


def _bytes_of(text: str, encoding: str, *, had_mark: bool) -> bytes | None:
    try:
        return (_MARK_BY_ENCODING[encoding] if had_mark else b"") + text.encode(encoding)
    except (KeyError, LookupError, UnicodeEncodeError):
        return None
