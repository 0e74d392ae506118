"""Index terms that are remembered between queries."""

import numpy as np

from retrieval_server.corpus import known_terms
from retrieval_server.corpus.known_terms import KnownTerms
from retrieval_server.engine.proximity import term_keys


def test_what_was_learnt_once_is_known() -> None:
    known = KnownTerms()
    assert known.missing([1, 2]) == [1, 2]
    keys = known.of([1, 2], {1: "renew the lease", 2: ""})
    assert np.array_equal(keys[1], term_keys("renew the lease"))
    assert known.missing([1, 2, 3]) == [3]
    assert np.array_equal(known.of([1], {})[1], keys[1])


def test_a_chunk_that_is_nowhere_has_no_terms() -> None:
    assert len(KnownTerms().of([7], {})[7]) == 0


def test_memory_stays_bounded_and_what_was_learnt_first_goes(monkeypatch) -> None:
    monkeypatch.setattr(known_terms, "MAX_KNOWN_CHUNKS", 2)
    known = KnownTerms()
    known.of([1, 2], {1: "a", 2: "b"})
    assert len(known.of([1, 3], {3: "c"})) == 2
    assert known.missing([1, 2, 3]) == [1]
