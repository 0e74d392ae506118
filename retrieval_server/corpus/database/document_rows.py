"""Rows of the documents table: reading them, and adding one with its chunks. Everything runs on a given connection."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass

from retrieval_server.corpus.documents.changes import EmbeddedWindows, PutAttributes, SourceChange, document_id_of
from retrieval_server.corpus.documents.documents import ParsedDocument
from retrieval_server.corpus.documents.metadata import (
    NOTHING_SET,
    SetFields,
    SetValue,
    fields_from_json,
    fields_to_json,
    metadata_from_json,
    metadata_to_json,
)
from retrieval_server.corpus.documents.titles import titled_terms
from retrieval_server.engine.chunkers import CHUNKER_VERSION
from retrieval_server.engine.lexical.bm25 import LexicalEntry
from retrieval_server.model import ContentKind

_COLUMNS = """d.document_row, d.document_id, s.source_key, d.relative_path, s.display_prefix, d.language, d.kind,
    d.sha256, d.char_count, d.line_count, d.encoding, d.had_byte_order_mark, d.create_time_unix_ms,
    d.update_time_unix_ms, d.title, d.metadata, d.source_url, d.media_type, d.etag, d.original_bytes, d.set_fields"""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One document; offsets of its passages count code points of `text`, which is "" where it was not asked for."""

    document_row: int
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
    create_time_unix_ms: int
    update_time_unix_ms: int
    title: str
    metadata: dict[str, SetValue]
    source_url: str
    media_type: str
    etag: str
    original_bytes: int
    set_fields: SetFields
    text: str


def display_path(display_prefix: str, relative_path: str) -> str:
    """Return the path as results show it: the root as it was typed, joined with the relative path."""
    if not display_prefix:
        return relative_path
    return f"{display_prefix.rstrip('/')}/{relative_path}"


def stored_documents(
    connection: sqlite3.Connection, where: str, values: tuple[str | int, ...], *, with_text: bool
) -> Iterator[StoredDocument]:
    """Yield the documents for which `where`, over documents `d` and sources `s`, holds; dead ones, too."""
    text = "(SELECT text FROM texts t WHERE t.document_row = d.document_row)" if with_text else "''"
    rows = connection.execute(
        f"SELECT {_COLUMNS}, {text} FROM documents d JOIN sources s USING (source_id) WHERE {where}",  # noqa: S608  only this package passes `where`
        values,
    )
    for r in rows:
        yield StoredDocument(
            document_row=r[0],
            document_id=r[1],
            source_key=r[2],
            relative_path=r[3],
            path=display_path(r[4], r[3]),
            language=r[5],
            kind=ContentKind(r[6]),
            sha256=r[7],
            char_count=r[8],
            line_count=r[9],
            encoding=r[10],
            had_byte_order_mark=bool(r[11]),
            create_time_unix_ms=r[12],
            update_time_unix_ms=r[13],
            title=r[14],
            metadata=metadata_from_json(r[15]),
            source_url=r[16],
            media_type=r[17],
            etag=r[18],
            original_bytes=r[19],
            set_fields=_set_fields(r[20]),
            text=r[21],
        )


@dataclass(frozen=True, slots=True)
class _Replaced:
    """What a new version takes over from the one before it."""

    create_time_unix_ms: int
    update_time_unix_ms: int
    etag: str
    media_type: str
    set_fields: SetFields


def insert_document(
    connection: sqlite3.Connection,
    change: SourceChange,
    source_id: int,
    document: ParsedDocument,
    generation: int,
    replaced_row: int | None,
) -> tuple[int, list[LexicalEntry]]:
    """Add a version of a document with its chunks; return its row and what the lexical index is to know of it."""
    path = document.relative_path
    replaced = None if replaced_row is None else _read_replaced(connection, replaced_row)
    said = change.attributes_by_path.get(path)
    attributes = said or (PutAttributes(replaced.media_type, replaced.set_fields) if replaced else _NOTHING_SAID)
    now = time.time_ns() // 1_000_000
    same = replaced if path in change.rebuilt_etags else None
    original = change.originals_by_path.get(path)
    text_bytes = len(document.decoded.text.encode())
    values: dict[str, object] = {
        "document_id": document_id_of(change.source_key, path),
        "source_id": source_id,
        "relative_path": path,
        "language": document.language,
        "kind": document.kind.value,
        "sha256": document.sha256,
        "max_chunk_chars": change.max_chunk_chars,
        "char_count": len(document.decoded.text),
        "text_bytes": text_bytes,
        "line_count": document.line_count,
        "encoding": document.decoded.encoding,
        "had_byte_order_mark": document.decoded.had_byte_order_mark,
        "create_time_unix_ms": replaced.create_time_unix_ms if replaced else now,
        "update_time_unix_ms": same.update_time_unix_ms if same else now,
        "born_generation": generation,
        "title": document.title if attributes.fields.title is None else attributes.fields.title,
        "metadata": metadata_to_json(document.metadata, attributes.fields.metadata),
        "source_url": attributes.fields.source_url or "",
        "media_type": attributes.media_type,
        "etag": same.etag if same else secrets.token_hex(8),
        "original_bytes": _original_bytes(document, text_bytes) if original is None else len(original),
        "chunker_version": CHUNKER_VERSION,
        "set_fields": None if attributes.fields == NOTHING_SET else fields_to_json(attributes.fields),
    }
    document_row = _inserted(connection, "documents", values)
    connection.execute("INSERT INTO texts VALUES (?, ?)", (document_row, document.decoded.text))
    if original is not None:
        connection.execute("INSERT INTO originals VALUES (?, ?)", (document_row, original))
    set_title = attributes.fields.title or ""
    return document_row, _insert_chunks(connection, change, document, document_row, set_title)


def put_windows(connection: sqlite3.Connection, chunk_id: int, windows: EmbeddedWindows) -> None:
    """Store the windows of a chunk, and those of their vectors that are not there."""
    connection.executemany(
        "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
        [(key, vector.tobytes()) for key, vector in zip(windows.keys, windows.vectors, strict=True)],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO windows VALUES (?, ?, ?)",
        [(chunk_id, ordinal, key) for ordinal, key in enumerate(windows.keys)],
    )


def _insert_chunks(
    connection: sqlite3.Connection,
    change: SourceChange,
    document: ParsedDocument,
    document_row: int,
    set_title: str,
) -> list[LexicalEntry]:
    embeddable = document.kind is not ContentKind.DATA
    windows = change.windows_by_path.get(document.relative_path)
    if document.set_title != set_title:  # it was changed while they were made: others are made later
        windows = None
    entries: list[LexicalEntry] = []
    for ordinal, chunk in enumerate(document.chunks):
        span = chunk.span
        values: dict[str, object] = {
            "document_row": document_row,
            "start_char": span.start_char,
            "end_char": span.end_char,
            "start_line": span.start_line,
            "end_line": span.end_line,
            "breadcrumbs": json.dumps(span.breadcrumbs),
            "names": json.dumps(span.names),
            "text": chunk.text,
            "embeddable": embeddable,
            "embedded": embeddable and windows is not None,
            "is_derived": chunk.is_derived,
        }
        chunk_id = _inserted(connection, "chunks", values)
        if windows is not None:
            put_windows(connection, chunk_id, windows[ordinal])
        entries.append(LexicalEntry(chunk_id, document_row, titled_terms(chunk.terms, set_title, span.breadcrumbs)))
    return entries


def _inserted(connection: sqlite3.Connection, table: str, values: dict[str, object]) -> int:
    columns, places = ", ".join(values), ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({places})"  # noqa: S608  names from this module alone
    row = connection.execute(statement, tuple(values.values())).lastrowid
    if row is None:
        raise sqlite3.DatabaseError(f"a row inserted into {table} has no id")
    return row


def _read_replaced(connection: sqlite3.Connection, document_row: int) -> _Replaced:
    row = connection.execute(
        """SELECT create_time_unix_ms, update_time_unix_ms, etag, media_type, set_fields
           FROM documents WHERE document_row = ?""",
        (document_row,),
    ).fetchone()
    return _Replaced(row[0], row[1], row[2], row[3], _set_fields(row[4]))


def _original_bytes(document: ParsedDocument, text_bytes: int) -> int:
    """Return the size of an original that the text gives back."""
    decoded = document.decoded
    mark = "\ufeff" if decoded.had_byte_order_mark else ""
    is_plain = decoded.encoding == "utf-8" and not mark
    return text_bytes if is_plain else len((mark + decoded.text).encode(decoded.encoding))


def _set_fields(stored: str | None) -> SetFields:
    return NOTHING_SET if stored is None else fields_from_json(stored)


_NOTHING_SAID = PutAttributes("", NOTHING_SET)
