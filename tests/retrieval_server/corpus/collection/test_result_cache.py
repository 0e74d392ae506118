"""Results that are remembered with the view that they were found in."""

from dataclasses import replace

from retrieval_server.corpus.collection import result_cache
from retrieval_server.corpus.collection.result_cache import ResultCache
from retrieval_server.model import ContentKind, Passage, RetrieveQuery, RetrieveResult


def _result(generation: int) -> RetrieveResult:
    return RetrieveResult((), generation, 0, 1.0, 0.5, None, elapsed_s=0.25)


def test_an_equal_query_is_searched_once() -> None:
    cache = ResultCache()
    assert cache.get(RetrieveQuery("lease"), lambda: _result(1)).elapsed_s == 0.25
    again = cache.get(RetrieveQuery("lease"), lambda: _result(2))
    assert (again.index_generation, again.elapsed_s) == (1, 0.0)


def test_anything_else_in_the_query_makes_it_another() -> None:
    cache = ResultCache()
    query = RetrieveQuery("lease")
    cache.get(query, lambda: _result(1))
    for other in (replace(query, k=3), replace(query, explain=True), replace(query, collection="b")):
        assert cache.get(other, lambda: _result(2)).index_generation == 2


def test_memory_stays_bounded(monkeypatch) -> None:
    monkeypatch.setattr(result_cache, "_MAX_RESULTS", 2)
    cache = ResultCache()
    for text in ("a", "b", "a", "c"):
        cache.get(RetrieveQuery(text), lambda: _result(1))
    assert cache.get(RetrieveQuery("a"), lambda: _result(2)).index_generation == 1
    assert cache.get(RetrieveQuery("b"), lambda: _result(2)).index_generation == 2
    monkeypatch.setattr(result_cache, "_MAX_CHARS_OF_ONE", -1)
    large = RetrieveQuery("d")
    cache.get(large, lambda: _result(1))
    assert cache.get(large, lambda: _result(2)).index_generation == 2


def test_many_short_passages_take_memory_as_well(monkeypatch) -> None:
    monkeypatch.setattr(result_cache, "_MAX_CHARS", 1_000_000)
    cache = ResultCache()
    passage = Passage("p", "d", "a.md", 0, 1, 1, 1, "a", (), "markdown", ContentKind.DOCS, False, "")
    many = replace(_result(1), passages=(passage,) * 1000)
    for text in ("a", "b"):
        cache.get(RetrieveQuery(text), lambda: many)
    assert cache.get(RetrieveQuery("a"), lambda: _result(2)).index_generation == 2
