"""Passages that say what an earlier one says: copies, near copies, and spans that lie in each other.

Copies are told by their word pairs (w-shingling, Broder 1997, https://doi.org/10.1109/SEQUEN.1997.666900), and only
among the few passages that are about to be returned. All thresholds are near 1: a passage that is wrongly passed over
costs an answer, one that is wrongly returned costs a line.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import combinations, pairwise

from retrieval_server.model import Passage

_MIN_RESEMBLANCE = 0.9
_MIN_OVERLAP = 0.9
# Fewer words are no evidence: two licence headers or empty sections are alike by accident.
_MIN_WORDS = 12
# What differs more than so is not worth a look at its words; copies may differ in indentation, so lengths may more.
_MIN_LENGTH_RATIO = 0.7
_MIN_WORD_COUNT_RATIO = 0.85


class DistinctPassages:
    """Remembers passages and tells whether another one adds something to them."""

    def __init__(self) -> None:
        self._kept: list[_Text] = []

    def admits(self, passage: Passage) -> bool:
        """Remember the passage and return True, unless it repeats one that is remembered."""
        text = _Text(passage)
        if any(_repeat(text, kept) for kept in self._kept):
            return False
        self._kept.append(text)
        return True


def repeating_pairs(passages: Sequence[Passage]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of positions whose passages repeat each other."""
    for (one, text), (other, other_text) in combinations(enumerate(map(_Text, passages)), 2):
        if _repeat(text, other_text):
            yield one, other


class _Text:
    """A passage with what comparing it needs, made when it is first needed: most differ in length alone."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.length = len(passage.text)

    @cached_property
    def words(self) -> list[str]:
        return self.passage.text.split()

    @cached_property
    def distinct_words(self) -> frozenset[str]:
        return frozenset(self.words)

    @cached_property
    def word_pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset(pairwise(self.words))


def _repeat(one: _Text, other: _Text) -> bool:
    return _overlap(one.passage, other.passage) or _is_copy(one, other)


def _overlap(one: Passage, other: Passage) -> bool:
    if one.document_id != other.document_id or one.is_derived or other.is_derived:
        return False  # a count and its list say different things of one place
    common = min(one.end_char, other.end_char) - max(one.start_char, other.start_char)
    shorter = min(one.end_char - one.start_char, other.end_char - other.start_char)
    return shorter > 0 and common >= shorter * _MIN_OVERLAP


def _is_copy(one: _Text, other: _Text) -> bool:
    if not _are_alike(one.length, other.length, _MIN_LENGTH_RATIO):
        return False
    if min(len(one.words), len(other.words)) < _MIN_WORDS:
        return False
    return one.passage.text == other.passage.text or (
        _are_alike(len(one.words), len(other.words), _MIN_WORD_COUNT_RATIO)
        and _resemble(one.distinct_words, other.distinct_words)
        and _resemble(one.word_pairs, other.word_pairs)
    )


def _are_alike(one: int, other: int, min_ratio: float) -> bool:
    return min(one, other) >= max(one, other) * min_ratio


def _resemble(one: AbstractSet[object], other: AbstractSet[object]) -> bool:
    """Tell whether two sets that are not empty have a Jaccard similarity of _MIN_RESEMBLANCE or more."""
    if not _are_alike(len(one), len(other), _MIN_RESEMBLANCE):
        return False  # what one of them lacks is too much, even if the other has all of it
    common = len(one & other)
    return common >= _MIN_RESEMBLANCE * (len(one) + len(other) - common)
