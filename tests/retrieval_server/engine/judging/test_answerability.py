"""When to say that the corpus does not know."""

import pytest

from retrieval_server.engine.judging.answerability import answerability, coverage, skipped_reason, unknown_share
from retrieval_server.engine.words.asked_words import asked_words
from retrieval_server.model import SkippedReason
from tests.retrieval_server.engine.words.test_asked_words import HeldText


def test_coverage_is_the_share_of_weight_that_the_best_passage_holds():
    words = asked_words("crane rust")
    weight = {"crane": 6.0, "rust": 2.0}.__getitem__
    assert coverage(words, [HeldText("rust"), HeldText("crane, other")], weight) == 0.75
    assert coverage(words, [], weight) == 0
    assert coverage((), [HeldText("rust")], weight) == 0


def test_what_the_collection_never_heard_of_is_a_share_of_the_same_idf():
    idf = {"rare": 6.0, "common": 2.0}
    assert unknown_share(idf, ["common"]) == 0.25
    assert unknown_share(idf, []) == 0
    assert unknown_share({}, []) == 0


@pytest.mark.parametrize("cosine", [None, 0.4])
def test_more_coverage_raises_unknown_words_and_missing_names_lower(cosine: float | None):
    def value(covered: float, unknown: float = 0.0, lacks_name: bool = False) -> float:
        return answerability(covered, cosine, unknown, lacks_name=lacks_name)

    assert value(0.8) > value(0.4) > value(0.4, 0.2)
    assert value(0.8) > value(0.8, lacks_name=True)
    assert 0 < value(0, 1, lacks_name=True) < 0.01
    assert 0.5 < value(1) < 1


def test_a_near_passage_raises():
    assert answerability(0.5, 0.7, 0, lacks_name=False) > answerability(0.5, 0.2, 0, lacks_name=False)


def test_reasons():
    assert skipped_reason(0, 1.0) is SkippedReason.NO_PASSAGES
    assert skipped_reason(5, 0.1) is SkippedReason.LOW_RELEVANCE
    assert skipped_reason(5, 0.9) is None


def test_a_similarity_of_any_size_leaves_a_probability():
    assert answerability(0.0, -1e6, 1.0, lacks_name=True) < 1e-9
    assert answerability(1.0, 1e6, 0.0, lacks_name=False) == 1.0
