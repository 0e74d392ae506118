"""BM25 against values worked out by hand, and text that must never be a query language."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from retrieval_server.engine.lexical import bm25
from retrieval_server.engine.lexical.bm25 import LexicalEntry, LexicalIndex, lexical_query
from retrieval_server.engine.lexical.index_terms import index_terms
from retrieval_server.engine.words.analyser import analyse


@pytest.fixture
def index(tmp_path: Path):
    opened = LexicalIndex(tmp_path / "lexical")
    yield opened
    opened.close()


def entries(*texts: str) -> list[LexicalEntry]:
    return [LexicalEntry(chunk_id, chunk_id // 2, analyse(text)) for chunk_id, text in enumerate(texts, start=1)]


def put(index: LexicalIndex, added: Iterable[LexicalEntry], deleted: Iterable[int] = ()) -> None:
    for entry in added:
        index.stage(entry)
    index.commit(deleted)


def search(index: LexicalIndex, query: str, limit: int = 10) -> list[tuple[int, float]]:
    return index.view().search(lexical_query(query), limit)


def bm25_score(term_frequency: int, length: int, average_length: float, having: int, total: int) -> float:
    idf = math.log(1 + (total - having + 0.5) / (having + 0.5))
    return idf * term_frequency * 2.2 / (term_frequency + 1.2 * (0.25 + 0.75 * length / average_length))


def test_scores_are_those_of_bm25(index: LexicalIndex):
    put(index, entries("queue lease lease", "queue worker stream token", "heartbeat"))
    average = 8 / 3
    assert search(index, "lease") == [(1, pytest.approx(bm25_score(2, 3, average, 1, 3), abs=2e-3))]
    assert search(index, "queue") == [
        (1, pytest.approx(bm25_score(1, 3, average, 2, 3), abs=2e-3)),
        (2, pytest.approx(bm25_score(1, 4, average, 2, 3), abs=2e-3)),
    ]
    both = bm25_score(2, 3, average, 1, 3) + bm25_score(1, 3, average, 2, 3)
    assert search(index, "queue lease")[0] == (1, pytest.approx(both, abs=2e-3))


def test_function_words_count_little_beside_others_and_fully_alone(index: LexicalIndex):
    put(index, entries("what is this", "lease"))
    assert next(chunk for chunk, _ in search(index, "what is the lease")) == 2
    assert [chunk for chunk, _ in search(index, "what is this")] == [1]


def test_among_many_chunks_function_words_only_fill_up_what_other_words_find(
    index: LexicalIndex, monkeypatch: pytest.MonkeyPatch
):
    # Every chunk has a length of its own, so that none ties with another.
    texts = [f"{'lease' if number < 40 else 'rare'} what {'x ' * number}" for number in range(45)]
    put(index, entries(*texts))
    among_few = {query: search(index, query) for query in ("lease", "what is", "what is rare")}
    monkeypatch.setattr(bm25, "_MANY_CHUNKS", 1)
    assert search(index, "lease") == among_few["lease"]
    assert search(index, "what is the lease", 10)[:10] == among_few["lease"][:10]
    # Of what they are to fill up the order is that of all words.
    assert search(index, "what is rare") == among_few["what is rare"]
    assert search(index, "what is") == among_few["what is"]
    assert len(search(index, "what is the lease", 45)) == 45


@pytest.mark.parametrize(
    "query", ["AND", 'title:"x', "foo^", "*", "C++", "(" * 5000, "a OR", "[a TO", "\\", "x\0y", "~" * 50, "NOT -"]
)
def test_query_syntax_is_only_text(index: LexicalIndex, query: str):
    put(index, entries("alpha beta"))
    assert search(index, query) == []


def test_a_query_of_thousands_of_words_keeps_its_heaviest(index: LexicalIndex):
    put(index, entries("lease"))
    assert [c for c, _ in search(index, "the of " * 500 + "lease " + " ".join(f"w{i}" for i in range(200)))] == [1]


def test_a_replaced_document_is_gone_and_the_rest_stays(index: LexicalIndex):
    put(index, entries("alpha one", "alpha two", "alpha three"))  # documents 0, 1, 1
    put(index, [LexicalEntry(9, 7, "alpha four")], deleted=[1])
    assert sorted(c for c, _ in search(index, "alpha")) == [1, 9]


def test_a_rebuilt_index_scores_as_if_nothing_had_ever_been_deleted(index: LexicalIndex, tmp_path: Path):
    kept = [*entries("alpha beta", "alpha gamma"), LexicalEntry(60, 60, "alpha delta")]
    fresh = LexicalIndex(tmp_path / "fresh")
    fresh.rebuild(kept)
    put(index, kept[:2])
    put(index, [LexicalEntry(50, 50, "alpha " * 9), kept[2]])
    index.commit([50])
    assert search(index, "alpha") != search(fresh, "alpha")
    index.rebuild(kept)
    assert search(index, "alpha") == search(fresh, "alpha")
    fresh.close()


def test_what_is_staged_is_found_with_the_next_commit_or_never(index: LexicalIndex):
    first, forgotten, second, dropped = entries("alpha one", "alpha two", "alpha three", "alpha four")
    index.stage(first)
    assert search(index, "alpha") == []
    index.commit(())
    index.stage(forgotten)
    index.unstage()
    put(index, [second])
    assert sorted(c for c, _ in search(index, "alpha")) == [first.chunk_id, second.chunk_id]
    index.stage(dropped)
    index.rebuild([first])
    assert [c for c, _ in search(index, "alpha")] == [first.chunk_id]


class FailingWriter:
    """An index's writer that fails to commit, and to go back from that as often as told."""

    def __init__(self, writer: Any, failing_rollback_count: int) -> None:
        self._writer = writer
        self._failing_rollback_count = failing_rollback_count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def commit(self) -> None:
        raise ValueError("no room to commit")

    def rollback(self) -> None:
        if self._failing_rollback_count:
            self._failing_rollback_count -= 1
            raise ValueError("no way back")
        self._writer.rollback()


def test_what_could_not_be_forgotten_after_a_failure_is_forgotten_later(
    index: LexicalIndex, monkeypatch: pytest.MonkeyPatch
):
    kept, failed, later = entries("alpha one", "alpha two", "alpha three")
    put(index, [kept])
    with monkeypatch.context() as failing:
        failing.setattr(index, "_writer", FailingWriter(index._writer, failing_rollback_count=2))
        index.stage(failed)
        with pytest.raises(ValueError, match="no room to commit"):
            index.commit([kept.document_row])
        with pytest.raises(ValueError, match="no way back"):
            index.unstage()
    index.unstage()
    put(index, [later])
    assert sorted(c for c, _ in search(index, "alpha")) == [kept.chunk_id, later.chunk_id]


def test_a_view_does_not_see_later_commits(index: LexicalIndex):
    put(index, entries("alpha"))
    before = index.view()
    put(index, [LexicalEntry(5, 5, "alpha")])
    assert len(before.search(lexical_query("alpha"), 10)) == 1
    assert len(search(index, "alpha")) == 2


def test_nothing_is_found_in_nothing(index: LexicalIndex):
    assert search(index, "alpha") == []
    assert search(index, "alpha", limit=0) == []


def test_a_chunk_is_found_by_its_path_and_by_what_encloses_it(index: LexicalIndex):
    put(index, [LexicalEntry(1, 1, index_terms("src/kv_cache.py", ["Scheduler"], ["free"], "pass"))])
    for query in ("kv cache", "scheduler", "free", "kv_cache.py"):
        assert [c for c, _ in search(index, query)] == [1], query


def test_closing_without_waiting_for_merges_loses_nothing_and_they_are_taken_up_again(tmp_path: Path):
    directory, count = tmp_path / "lexical", bm25._MERGED_SEGMENTS
    index = LexicalIndex(directory)
    for entry in entries(*(f"lease n{number}" for number in range(count))):
        put(index, [entry])
    index.close(waits_for_merges=False)
    reopened = LexicalIndex(directory)
    assert {chunk for chunk, _ in search(reopened, "lease", count)} == set(range(1, count + 1))
    reopened.resume_merges()
    reopened.close()
    merged = LexicalIndex(directory)
    assert merged._index.searcher().num_segments < bm25._MERGED_SEGMENTS
    assert {chunk for chunk, _ in search(merged, "lease", count)} == set(range(1, count + 1))
    merged.close()
