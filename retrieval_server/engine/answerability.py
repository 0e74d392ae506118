"""A first, simple judgement of whether the corpus can answer: idf coverage of the query and best cosine."""

from collections.abc import Iterable, Mapping

from retrieval_server.model import SkippedReason

# Below this the answer is skipped. Cosines of unrelated text to a question stay below _COSINE_FLOOR with MiniLM, and
# a passage that answers reaches _COSINE_CEILING.
ANSWERABILITY_THRESHOLD = 0.5
_COSINE_FLOOR = 0.15
_COSINE_CEILING = 0.6


def idf_coverage(idf_by_term: Mapping[str, float], passage_terms: Iterable[frozenset[str]]) -> float:
    """Return the largest share, 0 to 1, of the query's idf that one passage holds."""
    total = sum(idf_by_term.values())
    if total <= 0:
        return 0.0
    return max(
        (sum(idf_by_term[t] for t in terms & idf_by_term.keys()) / total for terms in passage_terms), default=0.0
    )


def answerability(coverage: float, best_cosine: float | None) -> float:
    """Return 0 to 1: the mean of idf coverage and the scaled best cosine; coverage alone without a dense list."""
    if best_cosine is None:
        return coverage
    closeness = (best_cosine - _COSINE_FLOOR) / (_COSINE_CEILING - _COSINE_FLOOR)
    return (coverage + min(1.0, max(0.0, closeness))) / 2


def skipped_reason(passage_count: int, score: float) -> SkippedReason | None:
    """Return why an answer should be skipped, or None when it should be tried."""
    if passage_count == 0:
        return SkippedReason.NO_PASSAGES
    return SkippedReason.LOW_RELEVANCE if score < ANSWERABILITY_THRESHOLD else None
