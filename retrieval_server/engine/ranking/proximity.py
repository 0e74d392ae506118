"""How near to each other the words of a query stand in a chunk: what BM25, a bag of words, cannot see.

Neighbours in the query that are neighbours in the text make a chunk likelier to be about the question: the unordered
window of the sequential dependence model (Metzler & Croft 2005, https://doi.org/10.1145/1076034.1076115), here as the
share of the neighbouring pairs, by idf, that some place of the chunk holds.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.words.analyser import analyse_terms

# A word between two, or the parts of an identifier, still let them belong together.
_MAX_DISTANCE_TERMS = 4

TermKeys = NDArray[np.uint32]
"""The index terms of a text in order, (n_terms,) uint32: each stands for its term, the same in every process."""


def term_key(term: str) -> int:
    """Return the number that stands for a term; two terms of one text hardly ever share theirs."""
    return crc32(term.encode())


def term_keys(text: str) -> TermKeys:
    """Return the keys of the index terms of `text`."""
    terms = analyse_terms(text)
    return np.fromiter(map(term_key, terms), np.uint32, len(terms))


class QueryPairs:
    """The neighbouring words of one query, each pair with the sum of its idf."""

    def __init__(self, terms: Sequence[str], idf: Callable[[str], float]) -> None:
        """`terms` are those of the query that tell something, in order and with repetitions."""
        weight_by_pair: dict[tuple[int, int], float] = {}
        for one, other in pairwise(terms):
            if one != other:
                first, second = sorted((term_key(one), term_key(other)))
                weight_by_pair[first, second] = idf(one) + idf(other)
        keys = sorted({key for pair in weight_by_pair for key in pair})
        index_of = {key: index for index, key in enumerate(keys)}
        self._keys = np.array(keys, np.uint32)
        # (n_keys · n_keys,): the weight of each pair of words, 0 for those that are no neighbours in the query.
        self._weights = np.zeros(len(keys) ** 2)
        for (first, second), weight in weight_by_pair.items():
            self._weights[index_of[first] * len(keys) + index_of[second]] = weight
        self._total = float(sum(weight_by_pair.values()))

    def shares(self, texts: Sequence[TermKeys]) -> list[float]:
        """Return for each text the share of the query's pairs, 0 to 1 by idf, whose words stand together in it."""
        if self._total <= 0 or not texts:
            return [0.0] * len(texts)
        keys = np.concatenate(texts)
        word_count = len(self._keys)
        nearest = np.minimum(np.searchsorted(self._keys, keys), word_count - 1)
        (at,) = np.nonzero(self._keys[nearest] == keys)
        text_of = np.searchsorted(np.cumsum([len(text) for text in texts]), at, side="right")
        word_of = nearest[at]
        together = []
        # Of the words that count, those that are so near are among the next few.
        for step in range(1, min(_MAX_DISTANCE_TERMS, len(at) - 1) + 1):
            near = (at[step:] - at[:-step] <= _MAX_DISTANCE_TERMS) & (text_of[step:] == text_of[:-step])
            first, second = word_of[:-step][near], word_of[step:][near]
            pair = np.minimum(first, second) * word_count + np.maximum(first, second)
            together.append(text_of[step:][near] * word_count**2 + pair)
        if not together:
            return [0.0] * len(texts)
        distinct = np.unique(np.concatenate(together))
        text, pair = np.divmod(distinct, word_count**2)
        weights = self._weights[pair]
        shares: list[float] = (np.bincount(text, weights, minlength=len(texts)) / self._total).tolist()
        return shares
