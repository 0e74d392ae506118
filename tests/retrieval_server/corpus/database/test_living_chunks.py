"""The chunk table and its counts, kept up change by change, equal those that are read afresh."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.database import chunk_columns
from retrieval_server.corpus.database.chunk_columns import StoredColumns, read_columns, write_columns
from retrieval_server.engine.places.chunk_table import ChunkTable
from tests.retrieval_server.corpus.support import DIMENSION, WordHashEncoder, change, embed_all, parsed


@pytest.fixture(autouse=True)
def _store_small_tables(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chunk_columns, "_WORTHWHILE_CHUNKS", 3)


def assert_same(table: ChunkTable, other: ChunkTable) -> None:
    assert table.chunk_ids.tolist() == other.chunk_ids.tolist()
    assert table.start_chars.tolist() == other.start_chars.tolist()
    for one, another in ((table, other), (other, table)):
        rows = [one.documents[i].document_row for i in one.document_indexes]
        assert rows == [another.documents[i].document_row for i in another.document_indexes]


_NAMES = st.sampled_from(["a.py", "b.md", "c.json", "d.txt", "e.md"])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(_NAMES, min_size=1, max_size=3, unique=True), st.integers(1, 9)),
        st.tuples(st.just("remove"), st.lists(_NAMES, min_size=1, max_size=2, unique=True), st.just(0)),
        st.tuples(st.sampled_from(["embed", "reopen", "compact"]), st.just([]), st.just(0)),
    ),
    max_size=10,
)


@given(steps=_STEPS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happened_the_view_counts_and_places_what_lives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str], int]]
):
    directory = tmp_path_factory.mktemp("collection")
    encoder = WordHashEncoder()
    collection = Collection("c", directory, "word-hash-1", DIMENSION)
    try:
        for kind, names, size in steps:
            if kind == "put":
                body = "\n\n".join(f"word{size} {i} " * 10 for i in range(size))
                collection.apply(change(*(parsed(name, f"{name} {body}", 200) for name in names)))
            elif kind == "remove":
                collection.apply(change(removed=names))
            elif kind == "embed":
                embed_all(collection, encoder)
            elif kind == "compact":
                collection.compact()
            else:
                collection.close()
                collection = Collection("c", directory, "word-hash-1", DIMENSION)
            view = collection.current_view
            assert (view.chunk_count, view.embeddable_chunk_count, view.embedded_chunk_count) == (
                collection.reader.chunk_counts()
            )
            assert_same(view.table, collection.reader.chunk_table())
    finally:
        collection.close()


def a_table() -> ChunkTable:
    rows = np.array([[7, 1, 0], [9, 1, 40], [12, 3, 0]], np.int64)
    return ChunkTable.of_rows(_facts(1, 3), rows)


def _facts(*document_rows: int):
    from retrieval_server.engine.places.chunk_table import DocumentFacts
    from retrieval_server.model import ContentKind

    return [DocumentFacts(r, f"id{r}", f"p{r}", f"p{r}", "text", ContentKind.DOCS) for r in document_rows]


def test_columns_come_back_as_they_were_stored(tmp_path: Path):
    table = a_table()
    write_columns(tmp_path / "chunks.columns", table, 5)
    stored = read_columns(tmp_path / "chunks.columns", 5)
    assert stored.through_document_row == 3
    assert_same(ChunkTable.of_rows(table.documents, stored.rows), table)


@pytest.mark.parametrize("name", ["chunks.columns", "chunks.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2]", b"\xff" * 100])
def test_damaged_columns_are_not_believed(tmp_path: Path, name: str, content: bytes):
    write_columns(tmp_path / "chunks.columns", a_table(), 5)
    (tmp_path / name).write_bytes(content)
    assert len(read_columns(tmp_path / "chunks.columns", 5).rows) == 0


def test_missing_columns_and_those_of_a_later_state_are_none(tmp_path: Path):
    path = tmp_path / "chunks.columns"
    assert read_columns(path, 5).through_document_row == 0
    write_columns(path, a_table(), 6)
    assert read_columns(path, 6).through_document_row == 3
    assert read_columns(path, 5).through_document_row == 0


def test_chunks_of_documents_that_died_are_left_out():
    table = ChunkTable.of_rows(_facts(3), StoredColumns(np.array([[7, 1, 0], [12, 3, 5]], np.int64)).rows)
    assert table.chunk_ids.tolist() == [12]
    assert ChunkTable.of_rows([], np.array([[7, 1, 0]], np.int64)).chunk_ids.tolist() == []


def test_vectors_of_a_wrong_shape_are_computed_again(tmp_path: Path):
    encoder = WordHashEncoder()
    collection = Collection("c", tmp_path, "word-hash-1", DIMENSION)
    collection.apply(change(parsed("a.md", "alpha"), parsed("b.md", "beta")))
    embed_all(collection, encoder)
    collection.close()
    connection = sqlite3.connect(tmp_path / "corpus.sqlite")
    connection.execute("UPDATE vectors SET vector = x'00' WHERE rowid = 1")
    connection.commit()
    connection.close()
    again = Collection("c", tmp_path, "word-hash-1", DIMENSION)
    assert again.current_view.dense is None
    assert again.current_view.embedded_chunk_count == 1
    embed_all(again, encoder)
    assert again.current_view.dense is not None
    assert again.current_view.dense_coverage == 1
    again.close()


def test_columns_of_a_later_state_are_not_believed_once_that_generation_is_reached_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An older copy of the database was put back, as `check_nothing_was_lost` says how to."""
    collection = Collection("c", tmp_path / "c", "", None)
    collection.apply(change(parsed("a.py", "alpha = 1")))
    collection.close()
    older = (tmp_path / "c" / "corpus.sqlite").read_bytes()
    collection = Collection("c", tmp_path / "c", "", None)
    for number in range(5):
        collection.apply(change(parsed(f"{number}.md", "omega")))
    collection.close()
    (tmp_path / "c" / "corpus.sqlite").write_bytes(older)
    (tmp_path / "c" / "lexical.json").unlink()
    monkeypatch.setattr(chunk_columns, "_WORTHWHILE_CHUNKS", 1000)
    collection = Collection("c", tmp_path / "c", "", None)
    for number in range(9):
        text = "\n\n".join(f"# {i}\n\nzeta {number}" for i in range(3))
        collection.apply(change(parsed(f"{number}.md", text)))
    expected = collection.current_view.table
    collection.close()
    collection = Collection("c", tmp_path / "c", "", None)
    assert_same(collection.current_view.table, expected)
    collection.close()
