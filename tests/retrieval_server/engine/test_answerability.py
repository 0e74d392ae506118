"""When to say that the corpus does not know."""

import pytest

from retrieval_server.engine.answerability import answerability, idf_coverage, skipped_reason, unknown_share
from retrieval_server.model import SkippedReason


def test_coverage_is_the_share_of_idf_that_the_best_passage_holds():
    idf = {"rare": 6.0, "common": 2.0}
    assert idf_coverage(idf, [frozenset({"common"}), frozenset({"rare", "other"})]) == 0.75
    assert idf_coverage(idf, []) == 0
    assert idf_coverage({}, [frozenset({"x"})]) == 0


def test_what_the_collection_never_heard_of_is_a_share_of_the_same_idf():
    idf = {"rare": 6.0, "common": 2.0}
    assert unknown_share(idf, ["common"]) == 0.25
    assert unknown_share(idf, []) == 0
    assert unknown_share({}, []) == 0


@pytest.mark.parametrize("cosine", [None, 0.4])
def test_more_coverage_raises_and_unknown_words_lower(cosine: float | None):
    assert answerability(0.8, cosine, 0) > answerability(0.4, cosine, 0) > answerability(0.4, cosine, 0.2)
    assert 0 < answerability(0, cosine, 1) < 0.01
    assert 0.5 < answerability(1, cosine, 0) < 1


def test_a_near_passage_raises():
    assert answerability(0.5, 0.7, 0) > answerability(0.5, 0.2, 0)


def test_reasons():
    assert skipped_reason(0, 1.0) is SkippedReason.NO_PASSAGES
    assert skipped_reason(5, 0.1) is SkippedReason.LOW_RELEVANCE
    assert skipped_reason(5, 0.9) is None
