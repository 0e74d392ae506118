"""How likely a collection is to hold the answer: what the passages hold of what is asked, and what it never heard of.

A logistic regression of four features, fitted on the questions that vLLM, scrapy, dask and tvm_ffi can and cannot
answer, each tree and both kinds weighing alike: `python -m benchmarks.answerability` fits it anew, and shows how it
separates a tree that was left out.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from retrieval_server.engine.words.asked_words import AskedWord, Held
from retrieval_server.model import SkippedReason

# Below this the answer is skipped.
ANSWERABILITY_THRESHOLD = 0.35

# A similarity that is no cosine may be of any size; beyond this the result is 0, and soon no float.
_MAX_EXPONENT = 700.0

_BIAS, _COVERAGE, _COSINE, _UNKNOWN, _LACKS_NAME = -1.85, 3.18, 2.49, -4.06, -2.73
_BIAS_WITHOUT_VECTORS, _COVERAGE_WITHOUT_VECTORS = -0.84, 3.48
_UNKNOWN_WITHOUT_VECTORS, _LACKS_NAME_WITHOUT_VECTORS = -4.77, -2.30


def coverage(words: Sequence[AskedWord], passages: Iterable[Held], weight: Callable[[str], float]) -> float:
    """Return the largest share, 0 to 1, of `words` that one passage holds.

    A word weighs as the weightiest of its terms, by `weight`.
    """
    weights = [max(map(weight, word.terms)) for word in words]
    total = sum(weights)
    if total <= 0:
        return 0.0
    held = (sum(w for w, word in zip(weights, words, strict=True) if word.is_held(one)) for one in passages)
    return max(held, default=0.0) / total


def unknown_share(idf_by_term: Mapping[str, float], unknown_terms: Iterable[str]) -> float:
    """Return the share, 0 to 1, of the query's idf in terms that no chunk of the collection holds."""
    total = sum(idf_by_term.values())
    return sum(idf_by_term[term] for term in unknown_terms) / total if total > 0 else 0.0


def answerability(covered: float, best_cosine: float | None, unknown: float, *, lacks_name: bool) -> float:
    """Return 0 to 1.

    Takes the coverage, the best cosine (None without a dense list), the share that is unknown, and whether some name is
    held by no passage.
    """
    if best_cosine is None:
        weighed = _BIAS_WITHOUT_VECTORS + _COVERAGE_WITHOUT_VECTORS * covered + _UNKNOWN_WITHOUT_VECTORS * unknown
        weighed += _LACKS_NAME_WITHOUT_VECTORS * lacks_name
    else:
        weighed = _BIAS + _COVERAGE * covered + _COSINE * best_cosine + _UNKNOWN * unknown + _LACKS_NAME * lacks_name
    return 1 / (1 + math.exp(min(-weighed, _MAX_EXPONENT)))


def skipped_reason(passage_count: int, score: float) -> SkippedReason | None:
    """Return why an answer should be skipped, or None when it should be tried."""
    if passage_count == 0:
        return SkippedReason.NO_PASSAGES
    return SkippedReason.LOW_RELEVANCE if score < ANSWERABILITY_THRESHOLD else None
