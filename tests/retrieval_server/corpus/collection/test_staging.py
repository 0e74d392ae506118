"""Chunks are indexed while their change is being stored; what is not stored in the end is not found either."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.files import commit_steps
from retrieval_server.corpus.files.commit_steps import CommitStep
from retrieval_server.engine.lexical.bm25 import LexicalEntry, LexicalIndex, lexical_query
from retrieval_server.errors import GroundwireError
from tests.retrieval_server.corpus.support import change, parsed


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    opened = Collection("c", tmp_path / "c", "", None)
    opened.apply(change(parsed("a.py", "alpha = 1")))
    yield opened
    opened.close()


def found(collection: Collection, word: str) -> int:
    return len(collection.current_view.lexical.search(lexical_query(word), 10))


def test_a_change_that_fails_to_be_stored_leaves_nothing_to_be_found(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
):
    def fail(step: CommitStep) -> None:
        if step is CommitStep.IN_TRANSACTION:
            raise OSError("no room")

    with monkeypatch.context() as failing:
        failing.setattr(commit_steps, "on_step", fail)
        with pytest.raises(OSError, match="no room"):
            collection.apply(change(parsed("b.py", "beta = 1")))
    collection.apply(change(parsed("c.py", "gamma = 1")))
    assert [found(collection, word) for word in ("alpha", "beta", "gamma")] == [1, 0, 1]
    assert collection.current_view.lexical.chunk_count == collection.current_view.chunk_count == 2


def test_a_change_that_cannot_be_indexed_is_not_stored(collection: Collection, monkeypatch: pytest.MonkeyPatch):
    stage = LexicalIndex.stage

    def fail(index: LexicalIndex, entry: LexicalEntry) -> None:
        stage(index, entry)
        raise ValueError("an error of the index")

    with monkeypatch.context() as failing:
        failing.setattr(LexicalIndex, "stage", fail)
        with pytest.raises(
            GroundwireError, match=r"could not be written \(an error of the index\): if the disk is full"
        ) as raised:
            collection.apply(change(parsed("b.py", "beta = 1")))
    assert raised.value.reason == error_pb2.ERROR_REASON_STORAGE_FAILED
    assert not collection.is_behind()
    assert collection.current_view.generation == 1
    collection.apply(change(parsed("c.py", "gamma = 1")))
    assert [found(collection, word) for word in ("alpha", "beta", "gamma")] == [1, 0, 1]


def test_why_a_change_failed_is_told_although_the_index_fails_to_forget_it(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
):
    unstage = LexicalIndex.unstage

    def die(step: CommitStep) -> None:
        if step is CommitStep.IN_TRANSACTION:
            raise OSError("no room")

    def fail_to_forget(index: LexicalIndex) -> None:
        if index._has_staged:
            raise ValueError("no way back")
        unstage(index)

    with monkeypatch.context() as failing:
        failing.setattr(LexicalIndex, "unstage", fail_to_forget)
        with monkeypatch.context() as dying:
            dying.setattr(commit_steps, "on_step", die)
            with pytest.raises(OSError, match="no room"):
                collection.apply(change(parsed("b.py", "beta = 1")))
        with pytest.raises(GroundwireError, match=r"could not be written \(no way back\)") as raised:
            collection.apply(change(parsed("c.py", "gamma = 1")))
        assert raised.value.reason == error_pb2.ERROR_REASON_STORAGE_FAILED
    collection.apply(change(parsed("d.py", "delta = 1")))
    assert [found(collection, word) for word in ("alpha", "beta", "gamma", "delta")] == [1, 0, 0, 1]
