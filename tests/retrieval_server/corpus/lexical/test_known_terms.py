"""Index terms that are remembered between queries, in one room for all collections."""

import gc
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from retrieval_server.corpus.collection import synonym_text
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.term_upkeep import learn_terms
from retrieval_server.corpus.lexical.known_terms import KnownTerms, TermMemory
from retrieval_server.engine.lexical.synonyms import SynonymGroup, SynonymTable
from retrieval_server.engine.ranking.proximity import term_keys
from tests.retrieval_server.corpus.support import change, parsed

TEXT = " ".join(f"word{number}" for number in range(50))


def test_what_was_learnt_once_is_known() -> None:
    known = KnownTerms(TermMemory())
    assert known.known([1, 2]) == {}
    keys = known.learn({1: "renew the lease", 2: ""})
    assert np.array_equal(keys[1], term_keys("renew the lease"))
    found = known.known([1, 2, 3])
    assert sorted(found) == [1, 2]
    assert np.array_equal(found[1], keys[1])


def test_what_does_not_fit_is_learnt_all_the_same_and_what_was_learnt_first_goes() -> None:
    memory = TermMemory(3000)
    known = KnownTerms(memory)
    for chunk_id in range(100):
        assert len(known.learn({chunk_id: TEXT})[chunk_id]) == len(term_keys(TEXT))
        assert memory.room_bytes >= 0
    kept = sorted(known.known(range(100)))
    assert kept == list(range(kept[0], 100))
    assert 2 <= len(kept) < 10
    nothing = KnownTerms(TermMemory(0))
    assert len(nothing.learn({1: TEXT})[1])
    assert nothing.known([1]) == {}


def test_all_collections_share_the_room_and_the_largest_gives_way() -> None:
    memory = TermMemory(20_000)
    large, small = KnownTerms(memory), KnownTerms(memory)
    small.learn({1: TEXT})
    for chunk_id in range(1000):
        large.learn({chunk_id: TEXT})
    assert large.size_bytes + small.size_bytes <= 20_000
    assert list(small.known([1])) == [1]
    large.close()
    assert memory.room_bytes > 18_000, "a collection that is closed leaves its room"
    assert len(large.learn({1: TEXT})[1])
    assert large.known([1]) == {}
    del small
    gc.collect()
    assert memory.room_bytes == 20_000, "and so does one that is gone"


def test_the_room_is_what_the_terms_take() -> None:
    texts = {number + 10**6: f"{TEXT} {number}" for number in range(3000)}
    known = KnownTerms(TermMemory())
    known.learn({1: " ".join(texts.values())})
    tracemalloc.start()
    gc.collect()
    before, counted_before = tracemalloc.get_traced_memory()[0], known.size_bytes
    known.learn(texts)
    gc.collect()
    taken, counted = tracemalloc.get_traced_memory()[0] - before, known.size_bytes - counted_before
    tracemalloc.stop()
    assert 0.8 * taken <= counted <= 1.3 * taken


def test_threads_that_push_each_other_out_never_miss_a_chunk(tmp_path: Path) -> None:
    collection = Collection("c", tmp_path / "c", "", None, TermMemory(2000))
    collection.apply(change(*(parsed(f"{i}.md", f"{TEXT} only{i}") for i in range(30))))
    with collection.view() as view:
        chunk_ids = view.table.chunk_ids.tolist()
        wrong = []

        def ask() -> None:
            for _ in range(20):
                keys = view.term_keys(chunk_ids)
                wrong.extend(i for i in chunk_ids if len(keys[i]) < 50)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert not len(view.term_keys([10**9])[10**9]), "a chunk that is nowhere has no terms"
    collection.close()


async def test_terms_are_learnt_ahead_as_long_as_there_is_room(tmp_path: Path) -> None:
    memory = TermMemory(10_000)
    collection = Collection("c", tmp_path / "c", "", None, memory)
    collection.apply(change(*(parsed(f"{i}.md", f"{TEXT} only{i}") for i in range(60))))
    await learn_terms(collection.view, lambda: False)
    with collection.view() as view:
        chunk_ids = view.table.chunk_ids.tolist()
        learnt = set(view.known_terms.known(chunk_ids))
        assert 0 < len(learnt) < 60
        assert max(chunk_ids) in learnt
        await learn_terms(collection.view, lambda: False)
        now = set(view.known_terms.known(chunk_ids))
        assert learnt <= now, "none gives way to what is learnt ahead"
        assert len(now) <= len(learnt) + 1
    collection.close()


def test_a_synonym_table_is_read_once_however_many_commits_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = Collection("c", tmp_path / "c", "", None)
    table = SynonymTable.of_groups([SynonymGroup(("tide", "ebb"))])
    collection.put_synonyms(table)
    collection.close()
    read = []
    of_text = synonym_text.synonyms_from_text

    def note(text: str | None) -> SynonymTable:
        read.append(text)
        return of_text(text)

    monkeypatch.setattr("retrieval_server.corpus.collection.published_view.synonyms_from_text", note)
    collection = Collection("c", tmp_path / "c", "", None)
    for number in range(5):
        collection.apply(change(parsed(f"{number}.md", "text")))
        assert collection.current_view.synonyms == table
    collection.put_synonyms(SynonymTable())
    collection.apply(change(parsed("last.md", "text")))
    assert collection.current_view.synonyms == SynonymTable()
    assert len(read) == 1
    collection.close()
