"""The tables of `corpus.sqlite`, the source of truth of a collection."""

import sqlite3
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.errors import FailedPrecondition

SCHEMA_VERSION = 3

# Rows of documents and chunks are never changed: a new version is a new row, and the old one dies. A row belongs to
# generation g when born_generation <= g and (died_generation is null or g < died_generation).
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
    source_id INTEGER PRIMARY KEY,
    source_key TEXT NOT NULL UNIQUE,
    display_prefix TEXT NOT NULL
);
CREATE TABLE documents (
    document_row INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id TEXT NOT NULL,
    source_id INTEGER NOT NULL REFERENCES sources,
    relative_path TEXT NOT NULL,
    language TEXT NOT NULL,
    kind TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    max_chunk_chars INTEGER NOT NULL,
    char_count INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    line_count INTEGER NOT NULL,
    encoding TEXT NOT NULL,
    had_byte_order_mark INTEGER NOT NULL,
    update_time_unix_ms INTEGER NOT NULL,
    born_generation INTEGER NOT NULL,
    died_generation INTEGER,
    title TEXT NOT NULL DEFAULT '',
    metadata TEXT NOT NULL DEFAULT '{}',
    source_url TEXT NOT NULL DEFAULT '',
    media_type TEXT NOT NULL DEFAULT '',
    create_time_unix_ms INTEGER NOT NULL DEFAULT 0,
    etag TEXT NOT NULL DEFAULT '',
    original_bytes INTEGER NOT NULL DEFAULT 0,
    chunker_version INTEGER NOT NULL DEFAULT 0,
    -- What a caller set, as JSON; NULL for nothing. title, metadata and source_url hold what came of it.
    set_fields TEXT
);
CREATE UNIQUE INDEX documents_living ON documents (source_id, relative_path) WHERE died_generation IS NULL;
CREATE INDEX documents_by_id ON documents (document_id);
CREATE INDEX documents_dead ON documents (died_generation) WHERE died_generation IS NOT NULL;
CREATE TABLE chunks (
    chunk_id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_row INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    start_char INTEGER NOT NULL,
    end_char INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    breadcrumbs TEXT NOT NULL,
    names TEXT NOT NULL,
    text TEXT NOT NULL,
    embeddable INTEGER NOT NULL,
    embedded INTEGER NOT NULL,
    -- The text was made of what stands at the span.
    is_derived INTEGER NOT NULL DEFAULT 0
);
-- Also counts and places chunks without reading their texts.
CREATE INDEX chunks_of_document ON chunks (document_row, start_char, embeddable, embedded);
CREATE INDEX chunks_to_embed ON chunks (chunk_id) WHERE embeddable AND NOT embedded;
CREATE TABLE windows (
    chunk_id INTEGER NOT NULL REFERENCES chunks ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    text_sha256 BLOB NOT NULL,
    PRIMARY KEY (chunk_id, ordinal)
) WITHOUT ROWID;
-- By content: a chunk that moves, or comes back, keeps its vectors.
CREATE TABLE vectors (text_sha256 BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""
_TABLES_OF_VERSION_2 = """
-- Apart from their documents, which are listed and counted without them.
CREATE TABLE texts (
    document_row INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    text TEXT NOT NULL
);
-- Only of documents whose text alone does not give the bytes back.
CREATE TABLE originals (
    document_row INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    content BLOB NOT NULL
);
-- Requests that were carried out, so that a repetition is told the same and does nothing.
CREATE TABLE requests (
    rpc TEXT NOT NULL,
    request_id TEXT NOT NULL,
    request_sha256 BLOB NOT NULL,
    response BLOB NOT NULL,
    time_unix_ms INTEGER NOT NULL,
    PRIMARY KEY (rpc, request_id)
) WITHOUT ROWID;
CREATE INDEX requests_by_time ON requests (time_unix_ms);
"""
# What version 1 lacked.
_FROM_VERSION_1 = """
ALTER TABLE documents ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
ALTER TABLE documents ADD COLUMN source_url TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN media_type TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN create_time_unix_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN etag TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN original_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN chunker_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN set_fields TEXT;
UPDATE documents SET create_time_unix_ms = update_time_unix_ms, etag = lower(hex(randomblob(8))),
    original_bytes = CASE WHEN encoding = 'utf-8' THEN text_bytes + 3 * had_byte_order_mark ELSE 0 END,
    chunker_version = coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'chunker_version'), 0);
INSERT INTO texts SELECT document_row, text FROM documents;
ALTER TABLE documents DROP COLUMN text;
DROP INDEX chunks_of_document;
CREATE INDEX chunks_of_document ON chunks (document_row, start_char, embeddable, embedded);
"""
_FROM_VERSION_2 = """
ALTER TABLE chunks ADD COLUMN is_derived INTEGER NOT NULL DEFAULT 0;
"""


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection that commits by explicit BEGIN and COMMIT only."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -8192")
    if read_only:
        connection.execute("PRAGMA query_only = ON")
    else:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    return connection


def create_or_check(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables in a new file, bring an older file up to date, refuse one of a newer schema."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA_VERSION:
        return
    if version == 0:
        _run(connection, _TABLES + _TABLES_OF_VERSION_2)
    elif version == 1:
        _run(connection, _TABLES_OF_VERSION_2 + _FROM_VERSION_1 + _FROM_VERSION_2)
    elif version == 2:
        _run(connection, _FROM_VERSION_2)
    else:
        raise FailedPrecondition(
            error_pb2.ERROR_REASON_INDEX_MISMATCH,
            f"{path} has schema version {version}, this server reads {SCHEMA_VERSION}: use a newer server",
        )


def _run(connection: sqlite3.Connection, statements: str) -> None:
    """Run all of them or, if the process dies in their midst, none."""
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {statements} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
