"""When to say that the corpus does not know."""

import pytest

from retrieval_server.engine.answerability import answerability, idf_coverage, skipped_reason
from retrieval_server.model import SkippedReason


def test_coverage_is_the_share_of_idf_that_the_best_passage_holds():
    idf = {"rare": 6.0, "common": 2.0}
    assert idf_coverage(idf, [frozenset({"common"}), frozenset({"rare", "other"})]) == 0.75
    assert idf_coverage(idf, []) == 0
    assert idf_coverage({}, [frozenset({"x"})]) == 0


def test_without_a_dense_list_coverage_decides_alone():
    assert answerability(0.4, None) == 0.4


def test_a_close_vector_lifts_and_a_far_one_lowers():
    assert answerability(0.5, 0.9) == 0.75
    assert answerability(0.5, 0.0) == 0.25
    assert answerability(0.5, 0.375) == pytest.approx(0.5)


def test_reasons():
    assert skipped_reason(0, 1.0) is SkippedReason.NO_PASSAGES
    assert skipped_reason(5, 0.1) is SkippedReason.LOW_RELEVANCE
    assert skipped_reason(5, 0.9) is None
