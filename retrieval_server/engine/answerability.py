"""How likely a collection is to hold the answer: what of the question the passages cover, and what it has never heard.

A logistic regression of three features, fitted on every other question of those that vLLM, scrapy and dask can and
cannot answer, both kinds weighing alike; `make quality` prints how it separates the other half, and those over tvm_ffi,
of which none was used, and how reliable it is.
"""

import math
from collections.abc import Iterable, Mapping

from retrieval_server.model import SkippedReason

# Below this the answer is skipped.
ANSWERABILITY_THRESHOLD = 0.4

_BIAS, _COVERAGE, _COSINE, _UNKNOWN = -2.65, 2.77, 3.87, -9.06
_BIAS_WITHOUT_VECTORS, _COVERAGE_WITHOUT_VECTORS, _UNKNOWN_WITHOUT_VECTORS = -1.07, 3.77, -9.4


def idf_coverage(idf_by_term: Mapping[str, float], passage_terms: Iterable[frozenset[str]]) -> float:
    """Return the largest share, 0 to 1, of the query's idf that one passage holds."""
    total = sum(idf_by_term.values())
    if total <= 0:
        return 0.0
    return max(
        (sum(idf_by_term[t] for t in terms & idf_by_term.keys()) / total for terms in passage_terms), default=0.0
    )


def unknown_share(idf_by_term: Mapping[str, float], unknown_terms: Iterable[str]) -> float:
    """Return the share, 0 to 1, of the query's idf in terms that no chunk of the collection holds."""
    total = sum(idf_by_term.values())
    return sum(idf_by_term[term] for term in unknown_terms) / total if total > 0 else 0.0


def answerability(coverage: float, best_cosine: float | None, unknown: float) -> float:
    """Return 0 to 1 from idf coverage, the best cosine (None without a dense list) and the share that is unknown."""
    if best_cosine is None:
        weighed = _BIAS_WITHOUT_VECTORS + _COVERAGE_WITHOUT_VECTORS * coverage + _UNKNOWN_WITHOUT_VECTORS * unknown
    else:
        weighed = _BIAS + _COVERAGE * coverage + _COSINE * best_cosine + _UNKNOWN * unknown
    return 1 / (1 + math.exp(-weighed))


def skipped_reason(passage_count: int, score: float) -> SkippedReason | None:
    """Return why an answer should be skipped, or None when it should be tried."""
    if passage_count == 0:
        return SkippedReason.NO_PASSAGES
    return SkippedReason.LOW_RELEVANCE if score < ANSWERABILITY_THRESHOLD else None
