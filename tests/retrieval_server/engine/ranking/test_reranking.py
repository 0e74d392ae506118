"""Ordering the first candidates anew: who moves, what scores they have then, and what stays."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.places.chunk_table import DocumentFacts, Place
from retrieval_server.engine.ranking.candidate import Candidate
from retrieval_server.engine.ranking.reranking import RERANKED_COUNT, with_best_reranked
from retrieval_server.model import ContentKind, Passage, Prior

DOCUMENT = DocumentFacts(1, "d", "d.md", "d.md", "markdown", ContentKind.DOCS)


class ByNumber:
    """Scores a passage, which is a number, by it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def scores(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        self.seen += passages
        return np.array([float(text) for text in passages], np.float32)


def candidate(chunk_id: int, score: float) -> Candidate:
    return Candidate(chunk_id, Place(DOCUMENT, chunk_id), score, (Prior("path", 1.5),))


def texts(numbers: Mapping[int, str]):
    def read(chunk_ids: Sequence[int]) -> dict[int, Passage]:
        return {
            i: Passage(str(i), "d", "d.md", 0, 1, 1, 1, numbers[i], (), "markdown", ContentKind.DOCS)
            for i in chunk_ids
            if i in numbers
        }

    return read


def test_the_best_get_the_highest_of_the_scores_that_were_there():
    ranked = [candidate(1, 0.9), candidate(2, 0.6), candidate(3, 0.3)]
    found = with_best_reranked("q", ranked, ByNumber(), texts({1: "2", 2: "1", 3: "7"}))
    assert [(one.chunk_id, one.score) for one in found] == [(3, 0.9), (1, 0.6), (2, 0.3)]
    assert [[prior.name for prior in one.priors] for one in found] == [["path", "cross_encoder"]] * 3
    assert round(found[0].priors[-1].factor, 9) == 3.0
    # What a caller is shown multiplies up to the score as before.
    before = {1: 0.9, 2: 0.6, 3: 0.3}
    for one in found:
        factors = prod(prior.factor for prior in one.priors if prior.name == "cross_encoder")
        assert round(before[one.chunk_id] * factors, 9) == one.score


def test_equal_scores_keep_their_order():
    ranked = [candidate(1, 0.9), candidate(2, 0.6)]
    found = with_best_reranked("q", ranked, ByNumber(), texts({1: "1", 2: "1"}))
    assert [(one.chunk_id, one.priors[-1].factor) for one in found] == [(1, 1.0), (2, 1.0)]


def test_only_the_first_are_read_and_the_rest_follows_as_it_was():
    count = RERANKED_COUNT + 5
    ranked = [candidate(i, 1 / (i + 1)) for i in range(count)]
    reranker = ByNumber()
    found = with_best_reranked("q", ranked, reranker, texts({i: str(i) for i in range(count)}))
    assert reranker.seen == [str(i) for i in range(RERANKED_COUNT)]
    assert [one.chunk_id for one in found] == [*reversed(range(RERANKED_COUNT)), *range(RERANKED_COUNT, count)]
    assert found[RERANKED_COUNT:] == ranked[RERANKED_COUNT:]
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_a_chunk_whose_text_is_gone_is_left_out_and_none_is_no_problem():
    ranked = [candidate(1, 0.9), candidate(2, 0.6)]
    found = with_best_reranked("q", ranked, ByNumber(), texts({2: "5"}))
    assert [(one.chunk_id, one.score) for one in found] == [(2, 0.6)]
    assert with_best_reranked("q", [], ByNumber(), texts({})) == []
