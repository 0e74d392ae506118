"""The tables of `corpus.sqlite`, the source of truth of a collection."""

import sqlite3
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.errors import FailedPrecondition

SCHEMA_VERSION = 1

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
    text TEXT NOT NULL,
    born_generation INTEGER NOT NULL,
    died_generation INTEGER
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
    embedded INTEGER NOT NULL
);
-- Also counts chunks without reading their texts.
CREATE INDEX chunks_of_document ON chunks (document_row, embeddable, embedded);
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
    """Make the tables in a new file; refuse one of another schema version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA_VERSION:
        return
    if version != 0:
        raise FailedPrecondition(
            error_pb2.ERROR_REASON_INDEX_MISMATCH,
            f"{path} has schema version {version}, this server reads {SCHEMA_VERSION}: "
            + ("use a newer server" if version > SCHEMA_VERSION else "index again in another data directory"),
        )
    connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
