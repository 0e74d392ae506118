"""How like its reference an answer is: token F1 as SQuAD counts it, and ROUGE-L.

Both compare words alone: neither knows whether an answer is true.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from statistics import fmean, stdev

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ROUGE_TOKEN = re.compile(r"[a-z0-9]+")
_Z_95 = 1.959963984540054


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of the two bags of words, lower case, without punctuation and articles (Rajpurkar et al. 2016).

    1 when both are empty, 0 when one is (arXiv:1606.05250, its official evaluation).
    """
    answered, expected = _squad_tokens(answer), _squad_tokens(reference)
    if not answered or not expected:
        return float(answered == expected)
    shared_count = (Counter(answered) & Counter(expected)).total()
    return _f1(shared_count, len(answered), len(expected))


def new_words_f1(answer: str, reference: str, question: str) -> float | None:
    """Return `token_f1` of the words that `question` does not hold; None when the reference has none.

    Repeating the question scores well in `token_f1` and 0 here.
    """
    asked = frozenset(_squad_tokens(question))
    told, expected = ([token for token in _squad_tokens(text) if token not in asked] for text in (answer, reference))
    if not expected:
        return None
    return _f1((Counter(told) & Counter(expected)).total(), len(told), len(expected))


def rouge_l(answer: str, reference: str) -> float:
    """Return the F1 of the longest common subsequence of words (Lin 2004, ROUGE-L with β = 1, no stemming)."""
    answered, expected = (_ROUGE_TOKEN.findall(text.lower()) for text in (answer, reference))
    if not answered or not expected:
        return float(answered == expected)
    return _f1(_common_subsequence_length(answered, expected), len(answered), len(expected))


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of `values` with its 95 % interval by the normal approximation; all 0 without values."""
    if not values:
        return 0.0, 0.0, 0.0
    mean = fmean(values)
    half = _Z_95 * stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return mean, mean - half, mean + half


def _squad_tokens(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def _f1(shared_count: int, answered_count: int, expected_count: int) -> float:
    return 2 * shared_count / (answered_count + expected_count)


def _common_subsequence_length(one: Sequence[str], other: Sequence[str]) -> int:
    lengths = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for place, candidate in enumerate(other, 1):
            above = lengths[place]
            lengths[place] = diagonal + 1 if word == candidate else max(above, lengths[place - 1])
            diagonal = above
    return lengths[-1]
