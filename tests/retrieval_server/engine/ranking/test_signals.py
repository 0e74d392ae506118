"""What raises a candidate beyond its ranks."""

import pytest

from retrieval_server.engine.lexical.bm25 import lexical_query
from retrieval_server.engine.ranking.proximity import QueryPairs, TermKeys, term_keys
from retrieval_server.engine.ranking.signals import Signals
from retrieval_server.model import FusionConstants

TEXTS = {
    1: "The worker renews its lease while it decodes.",
    2: "A lease is short. " + "Unrelated words follow here. " * 3 + "Every worker reads this.",
    3: "",
}


def _idf(term: str) -> float:
    return {"worker": 1.0, "leas": 3.0}.get(term, 2.0)


def _read(chunk_ids: object) -> dict[int, TermKeys]:
    return {chunk_id: term_keys(TEXTS[chunk_id]) for chunk_id in TEXTS}


def test_words_that_stand_together_count_and_the_same_words_apart_do_not() -> None:
    pairs = QueryPairs(["worker", "renew", "leas"], _idf)
    # worker–renew (1 + 2) and renew–lease (2 + 3) both stand together in the first text only.
    assert pairs.shares([term_keys(TEXTS[i]) for i in (1, 2, 3)]) == [1.0, 0.0, 0.0]


def test_the_order_of_two_words_does_not_matter() -> None:
    assert QueryPairs(["leas", "worker"], _idf).shares([term_keys("a worker lease")]) == [1.0]


def test_texts_are_looked_at_apart() -> None:
    assert QueryPairs(["worker", "leas"], _idf).shares([term_keys("worker"), term_keys("lease")]) == [0.0, 0.0]


@pytest.mark.parametrize("terms", [[], ["worker"], ["worker", "worker"]])
def test_a_query_without_pairs_says_nothing(terms: list[str]) -> None:
    assert QueryPairs(terms, _idf).shares([term_keys("worker worker")]) == [0.0]


def test_each_signal_is_a_named_factor() -> None:
    query = "worker renews its lease"
    signals = Signals(query, lexical_query(query), _idf, FusionConstants(proximity_weight=0.5, path_weight=0.8))
    factors = signals.factors({1: "queue/lease.py", 2: "queue/events.py", 3: "README.md"}, _read)
    # The path holds "lease": 3 of 1 + 2 + 3.
    assert [(prior.name, pytest.approx(prior.factor)) for prior in factors[1]] == [
        ("path", 1 + 0.8 * 0.5),
        ("proximity", 1.5),
    ]
    assert factors[2] == factors[3] == ()


def test_a_weight_of_zero_switches_a_signal_off_and_reads_no_text() -> None:
    def refuse(chunk_ids: object) -> dict[int, TermKeys]:
        raise AssertionError("no text is needed")

    query = "worker lease"
    signals = Signals(query, lexical_query(query), _idf, FusionConstants(proximity_weight=0, path_weight=0))
    assert signals.factors({1: "queue/lease.py"}, refuse) == {1: ()}
