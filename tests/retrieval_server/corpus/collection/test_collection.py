"""The commit protocol: what is acknowledged is durable and visible, and a death between any two steps loses nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.lexical.lexical_state import LexicalState
from retrieval_server.corpus.vectors.dense_segments import DenseSegments
from retrieval_server.corpus.vectors.embedding import embed_chunks
from retrieval_server.engine.dense import DenseView
from retrieval_server.engine.lexical.bm25 import LexicalIndex, lexical_query
from retrieval_server.engine.retriever import retrieve
from retrieval_server.errors import FailedPrecondition, GroundwireError
from retrieval_server.model import RetrieveQuery
from tests.retrieval_server.corpus.support import DIMENSION, WordHashEncoder, change, parsed

Opener = Callable[..., Collection]


@pytest.fixture
def open_collection(tmp_path: Path) -> Iterator[Opener]:
    opened: list[Collection] = []

    def open_one(name: str = "c", fingerprint: str = "word-hash-1") -> Collection:
        opened.append(Collection(name, tmp_path / name, fingerprint, DIMENSION))
        return opened[-1]

    yield open_one
    for collection in opened:
        collection.close()


def embed(collection: Collection, encoder: WordHashEncoder) -> None:
    while chunks := collection.chunks_to_embed(0, 10):
        windows = embed_chunks(chunks, encoder, collection.known_vectors)
        collection.store_vectors({c.chunk_id: w for c, w in zip(chunks, windows, strict=True)})


def paths(collection: Collection, query: str) -> list[str]:
    with collection.view() as view:
        return [p.path for p in retrieve(RetrieveQuery(query), view, None).passages]


def test_a_change_is_visible_once_applied(open_collection: Opener):
    collection = open_collection()
    assert collection.apply(change(parsed("a.py", "alpha = 1"), parsed("b.md", "beta"))) == 1
    assert paths(collection, "alpha") == ["project/a.py"]
    assert collection.apply(change(parsed("a.py", "gamma = 1"), removed=["b.md"])) == 2
    assert paths(collection, "alpha") == []
    assert paths(collection, "beta") == []
    assert paths(collection, "gamma") == ["project/a.py"]


def test_a_held_view_keeps_seeing_its_own_generation(open_collection: Opener):
    collection = open_collection()
    collection.apply(change(parsed("a.py", "alpha = 1")))
    with collection.view() as view:
        collection.apply(change(parsed("a.py", "gamma = 1")))
        collection.compact()
        result = retrieve(RetrieveQuery("alpha"), view, None)
        assert [(p.path, p.text) for p in result.passages] == [("project/a.py", "alpha = 1")]
        assert result.index_generation == 1
    collection.compact()
    assert paths(collection, "alpha") == []


def test_what_was_applied_is_there_after_reopening(open_collection: Opener):
    first = open_collection()
    first.apply(change(parsed("a.py", "alpha = 1")))
    embed(first, WordHashEncoder())
    first.close()
    again = open_collection()
    assert paths(again, "alpha") == ["project/a.py"]
    assert again.current_view.generation == 1
    assert again.current_view.dense is not None
    assert again.current_view.dense.window_count == 1


def test_a_death_after_the_database_commit_is_replayed_at_open(
    open_collection: Opener, monkeypatch: pytest.MonkeyPatch
):
    first = open_collection()
    first.apply(change(parsed("a.py", "alpha = 1")))
    with monkeypatch.context() as dying:
        dying.setattr(LexicalIndex, "commit", _die)
        with pytest.raises(GroundwireError, match="stored but not yet searchable"):
            first.apply(change(parsed("b.py", "beta = 1"), removed=["a.py"]))
    first.close()
    again = open_collection()
    assert paths(again, "beta") == ["project/b.py"]
    assert paths(again, "alpha") == []


def test_what_failed_to_be_indexed_once_is_found_after_a_repetition_and_later_changes(
    open_collection: Opener, monkeypatch: pytest.MonkeyPatch
):
    collection = open_collection()
    collection.apply(change(parsed("a.py", "alpha = 1")))
    with monkeypatch.context() as failing:
        failing.setattr(LexicalIndex, "commit", _die)
        with pytest.raises(GroundwireError):
            collection.apply(change(parsed("b.py", "beta = 1")))
    assert collection.is_behind()
    collection.apply(change(parsed("c.py", "gamma = 1")))
    assert not collection.is_behind()
    expected = ["project/a.py"], ["project/b.py"], ["project/c.py"]
    assert (paths(collection, "alpha"), paths(collection, "beta"), paths(collection, "gamma")) == expected
    collection.close()
    again = open_collection()
    assert (paths(again, "alpha"), paths(again, "beta"), paths(again, "gamma")) == expected


def test_what_failed_to_be_indexed_is_caught_up_with(open_collection: Opener, monkeypatch: pytest.MonkeyPatch):
    collection = open_collection()
    with monkeypatch.context() as failing:
        failing.setattr(LexicalIndex, "commit", _die)
        with pytest.raises(GroundwireError):
            collection.apply(change(parsed("b.py", "beta = 1")))
    collection.catch_up()
    assert paths(collection, "beta") == ["project/b.py"]


def test_without_an_encoder_a_collection_with_vectors_opens_and_takes_changes(open_collection: Opener, tmp_path: Path):
    first = open_collection()
    first.apply(change(parsed("a.py", "alpha = 1")))
    embed(first, WordHashEncoder())
    first.close()
    lexical_only = Collection("c", tmp_path / "c", "", None)
    assert paths(lexical_only, "alpha") == ["project/a.py"]
    lexical_only.apply(change(removed=["a.py"]))
    assert paths(lexical_only, "alpha") == []
    lexical_only.close()


def test_the_vector_epoch_rises_with_vectors_and_not_with_restarts(open_collection: Opener):
    first = open_collection()
    first.apply(change(parsed("a.py", "alpha = 1")))
    embed(first, WordHashEncoder())
    epoch = first.current_view.vector_epoch
    first.close()
    assert open_collection().current_view.vector_epoch == epoch


def test_a_death_before_the_lexical_state_is_recorded_is_replayed_once(
    open_collection: Opener, monkeypatch: pytest.MonkeyPatch
):
    first = open_collection()
    with monkeypatch.context() as dying:
        dying.setattr(LexicalState, "record", _die)
        with pytest.raises(GroundwireError):
            first.apply(change(parsed("a.py", "alpha = 1")))
    first.close()
    again = open_collection()
    assert paths(again, "alpha") == ["project/a.py"]
    assert again.current_view.lexical.chunk_count == 1


def test_a_damaged_lexical_index_is_made_again(open_collection: Opener, tmp_path: Path):
    first = open_collection()
    first.apply(change(parsed("a.py", "alpha = 1")))
    first.close()
    (tmp_path / "c" / "lexical" / "meta.json").write_text("{")
    assert paths(open_collection(), "alpha") == ["project/a.py"]


def test_an_index_reached_by_edits_equals_a_fresh_one(open_collection: Opener):
    texts = {f"f{i}.py": f"def f{i}():\n    alpha{i % 3} = beta\n" for i in range(20)}
    fresh, edited = open_collection("fresh"), open_collection("edited")
    fresh.apply(change(*(parsed(path, text) for path, text in texts.items())))
    edited.apply(change(*(parsed(path, text) for path, text in reversed(texts.items()))))
    edited.apply(change(*(parsed(f"f{i}.py", "beta beta beta") for i in range(5)), parsed("new.py", "alpha0 beta")))
    edited.apply(change(*(parsed(f"f{i}.py", texts[f"f{i}.py"]) for i in range(5)), removed=["new.py"]))
    assert edited.needs_compaction()
    edited.compact()
    assert not edited.needs_compaction()
    encoder = WordHashEncoder()
    for collection in (fresh, edited):
        embed(collection, encoder)
    for query in ("alpha0 beta", "beta", "f3 alpha1"):
        results = []
        for collection in (fresh, edited):
            with collection.view() as view:
                found = retrieve(RetrieveQuery(query, k=20, explain=True), view, encoder.encode_query)
                results.append([(p.path, p.start_char, p.score, p.list_scores) for p in found.passages])
        assert results[0] == results[1]


def test_a_file_that_comes_back_keeps_its_vectors(open_collection: Opener):
    collection, encoder = open_collection(), WordHashEncoder()
    collection.apply(change(parsed("a.py", "alpha = 1"), parsed("b.py", "beta = 1")))
    embed(collection, encoder)
    assert encoder.encoded_count == 2
    collection.apply(change(parsed("a.py", "other = 1")))
    collection.apply(change(parsed("a.py", "alpha = 1")))
    embed(collection, encoder)
    assert encoder.encoded_count == 2


def test_vectors_of_another_encoder_are_dropped_and_never_mixed(open_collection: Opener):
    first = open_collection()
    first.apply(change(parsed("a.py", "alpha = 1")))
    embed(first, WordHashEncoder())
    first.close()
    again = open_collection(fingerprint="word-hash-2")
    assert again.current_view.dense is None
    assert again.current_view.dense_coverage == 0
    assert paths(again, "alpha") == ["project/a.py"]


def test_dense_takes_part_only_when_every_chunk_has_its_vectors(open_collection: Opener):
    collection, encoder = open_collection(), WordHashEncoder()
    collection.apply(change(*(parsed(f"f{i}.py", f"alpha{i} = 1") for i in range(12))))
    chunks = collection.chunks_to_embed(0, 5)
    windows = embed_chunks(chunks, encoder, collection.known_vectors)
    collection.store_vectors({c.chunk_id: w for c, w in zip(chunks, windows, strict=True)})
    view = collection.current_view
    assert view.dense is None
    assert view.dense_coverage == pytest.approx(5 / 12)
    assert {
        s.rank
        for p in retrieve(RetrieveQuery("alpha1"), view, encoder.encode_query).passages
        for s in p.list_scores
        if s.list_name == "dense"
    } == {0}
    embed(collection, encoder)
    assert collection.current_view.dense is not None


def test_a_collection_of_another_schema_is_refused_with_the_remedy(open_collection: Opener, tmp_path: Path):
    import sqlite3

    open_collection().close()
    connection = sqlite3.connect(tmp_path / "c" / "corpus.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(FailedPrecondition, match="schema version 99"):
        Collection("c", tmp_path / "c", "", DIMENSION)


def test_a_collection_of_another_chunker_is_served_and_says_what_to_do(open_collection: Opener, tmp_path: Path):
    import sqlite3

    first = open_collection()
    first.apply(change(parsed("a.py", "alpha = 1")))
    assert first.problem == ""
    first.close()
    connection = sqlite3.connect(tmp_path / "c" / "corpus.sqlite")
    connection.execute("UPDATE documents SET chunker_version = 0")
    connection.commit()
    connection.close()
    again = open_collection()
    assert "client rebuild --collection c" in again.problem
    assert paths(again, "alpha") == ["project/a.py"]


def test_a_document_is_found_by_id_and_by_display_path(open_collection: Opener):
    collection = open_collection()
    collection.apply(change(parsed("pkg/a.py", "alpha = 1\n")))
    by_path = next(iter(collection.reader.documents_at("project/pkg/a.py")))
    assert by_path.text == "alpha = 1\n"
    assert collection.reader.document(by_path.document_id) == by_path
    assert collection.reader.documents_at("pkg/a.py") == []
    assert collection.reader.documents_at("") == []


def test_terms_of_a_query_that_no_chunk_has_find_nothing(open_collection: Opener):
    collection = open_collection()
    collection.apply(change(parsed("a.py", "alpha = 1")))
    with collection.view() as view:
        assert view.lexical.search(lexical_query("zebra"), 5) == []


def _die(*_: object) -> None:
    raise OSError("killed here")


def test_full_coverage_is_never_shown_before_the_vectors_take_part(
    open_collection: Opener, monkeypatch: pytest.MonkeyPatch
):
    collection = open_collection()
    shown: list[float] = []
    read = DenseSegments.view

    def watch(segments: DenseSegments, living_ids: NDArray[np.int64], generation: int) -> DenseView:
        shown.append(collection.current_view.dense_coverage)
        return read(segments, living_ids, generation)

    monkeypatch.setattr(DenseSegments, "view", watch)
    collection.apply(change(*(parsed(f"f{i}.md", f"alpha{i}") for i in range(12))))
    embed(collection, WordHashEncoder())
    assert shown
    assert all(coverage < 1 for coverage in shown)
    assert collection.current_view.dense_coverage == 1
