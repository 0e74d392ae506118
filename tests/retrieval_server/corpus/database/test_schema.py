"""Databases that an older version made are brought up to date in place, with everything that they hold."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.database.schema import SCHEMA_VERSION, connect, create_or_check
from retrieval_server.engine.retriever import retrieve
from retrieval_server.model import RetrieveQuery
from tests.retrieval_server.corpus.support import DIMENSION, change, parsed

VERSION_1 = """
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
PRAGMA user_version = 1;
"""
ROWS_OF_VERSION_1 = """
INSERT INTO meta VALUES ('generation', '4'), ('chunker_version', '0'), ('create_time_unix_ms', '1700000000000');
INSERT INTO sources VALUES (1, '/srv/project', 'project');
INSERT INTO documents VALUES (7, 'id7', 1, 'a.md', 'markdown', 'docs', x'00', 2000, 12, 12, 1, 'utf-8', 0,
    1700000000000, 'alpha is old', 4, NULL);
INSERT INTO documents VALUES (6, 'id7', 1, 'a.md', 'markdown', 'docs', x'01', 2000, 4, 4, 1, 'utf-8', 0,
    1600000000000, 'dead', 3, 4);
INSERT INTO chunks VALUES (9, 7, 0, 12, 1, 1, '[]', '[]', 'alpha is old', 1, 0);
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The directory of a collection of version 1."""
    directory = tmp_path / "c"
    directory.mkdir()
    with closing(sqlite3.connect(directory / "corpus.sqlite")) as connection:
        connection.executescript(VERSION_1 + ROWS_OF_VERSION_1)
    return directory


def columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")} for table in tables}


def indexes(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql <> ''")}


def test_what_version_1_held_is_found_told_and_can_be_changed(old: Path):
    collection = Collection("c", old, "word-hash-1", DIMENSION)
    with collection.view() as view:
        assert [p.text for p in retrieve(RetrieveQuery("alpha"), view, None).passages] == ["alpha is old"]
    document = collection.reader.document("id7")
    assert document is not None
    assert (document.text, document.create_time_unix_ms, document.original_bytes) == ("alpha is old", 1700000000000, 12)
    assert document.etag
    assert "client rebuild" in collection.problem
    assert collection.apply(change(parsed("a.md", "beta is new"))) == 5
    replaced = collection.reader.documents_at("project/a.md")
    assert [(one.text, one.create_time_unix_ms) for one in replaced] == [("beta is new", 1700000000000)]
    collection.close()


def test_an_updated_database_has_the_shape_of_a_new_one(old: Path, tmp_path: Path):
    with closing(connect(old / "corpus.sqlite")) as updated, closing(connect(tmp_path / "new.sqlite")) as new:
        create_or_check(updated, old)
        create_or_check(new, tmp_path)
        assert columns(updated) == columns(new)
        assert indexes(updated) == indexes(new)
        for connection in (updated, new):
            assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_an_update_that_fails_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("retrieval_server.corpus.database.schema._FROM_VERSION_2", "ALTER TABLE nothing ADD COLUMN x;")
    with closing(connect(old / "corpus.sqlite")) as connection:
        with pytest.raises(sqlite3.OperationalError):
            create_or_check(connection, old)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert "text" in columns(connection)["documents"]
