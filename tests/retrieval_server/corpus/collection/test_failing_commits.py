"""A change that is durable and could not be shown: what was done is not done again, and nothing half is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.published_view import PublishedView
from retrieval_server.corpus.lexical.lexical_follower import LexicalFollower
from retrieval_server.corpus.vectors import dense_segments
from retrieval_server.corpus.vectors.segment_files import SegmentCorrupt
from retrieval_server.engine.retriever import retrieve
from retrieval_server.errors import GroundwireError
from retrieval_server.model import RetrieveQuery
from tests.retrieval_server.corpus.support import DIMENSION, change, parsed


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    opened = Collection("c", tmp_path, "", None)
    opened.apply(change(parsed("a.py", "alpha = 1")))
    yield opened
    opened.close()


def _no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def _found(collection: Collection) -> list[str]:
    with collection.view() as view:
        return [p.text for p in retrieve(RetrieveQuery("alpha"), view, None).passages]


def test_an_index_that_holds_the_change_is_not_built_again_with_each_try(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
):
    rebuilt: list[int] = []
    monkeypatch.setattr(LexicalFollower, "rebuild", lambda _, generation, __: rebuilt.append(generation))
    with monkeypatch.context() as full_disk:
        full_disk.setattr(PublishedView, "_publish", _no_space)
        with pytest.raises(GroundwireError, match="not yet searchable"):
            collection.apply(change(parsed("a.py", "alpha = 2")))
        for _ in range(3):
            with pytest.raises(GroundwireError, match="not yet searchable"):
                collection.catch_up()
    collection.catch_up()
    assert _found(collection) == ["alpha = 2"]
    assert rebuilt == []


def test_an_index_built_afresh_is_not_shown_with_the_chunks_of_an_earlier_generation(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as full_disk:
        full_disk.setattr(PublishedView, "_publish", _no_space)
        with pytest.raises(GroundwireError, match="not yet searchable"):
            collection.apply(change(parsed("a.py", "alpha = 2")))
    collection.compact()
    assert _found(collection) == ["alpha = 2"]


def test_vectors_that_cannot_be_read_again_leave_the_outcome_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def too_many_files(*_: object) -> None:
        raise SegmentCorrupt("Too many open files")

    monkeypatch.setattr(dense_segments, "_MAX_CHUNKS_IN_MEMORY", 2)
    collection = Collection("c", tmp_path / "dense", "word-hash-1", DIMENSION)
    data = [parsed(f"{i}.json", '{"a": 1}') for i in range(4)]
    with monkeypatch.context() as exhausted:
        exhausted.setattr(dense_segments, "open_segment", too_many_files)
        with pytest.raises(GroundwireError) as caught:
            collection.apply(change(*data))
    assert caught.value.reason == error_pb2.ERROR_REASON_OUTCOME_UNKNOWN
    collection.catch_up()
    assert collection.current_view.chunk_count == 4
    collection.close()
