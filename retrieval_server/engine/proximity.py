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

from retrieval_server.engine.analyser import analyse_terms

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
        pairs = dict.fromkeys(frozenset(pair) for pair in pairwise(terms) if len(set(pair)) > 1)
        self._weight_by_pair = {frozenset(map(term_key, pair)): sum(map(idf, pair)) for pair in pairs}
        self._total = sum(self._weight_by_pair.values())
        self._keys = np.unique(np.array([key for pair in self._weight_by_pair for key in pair], np.uint32))

    def shares(self, texts: Sequence[TermKeys]) -> list[float]:
        """Return for each text the share of the query's pairs, 0 to 1 by idf, whose words stand together in it."""
        if self._total <= 0 or not texts:
            return [0.0] * len(texts)
        # One look at all texts at once; texts are set apart by more than the distance that counts.
        lengths = [len(keys) for keys in texts]
        keys = np.concatenate(texts)
        (at,) = np.nonzero(np.isin(keys, self._keys))
        text_of = np.repeat(np.arange(len(texts)), lengths)[at].tolist()
        found: list[set[frozenset[int]]] = [set() for _ in texts]
        places, values = at.tolist(), keys[at].tolist()
        for i, place in enumerate(places):
            for j in range(i + 1, len(places)):
                if places[j] - place > _MAX_DISTANCE_TERMS or text_of[j] != text_of[i]:
                    break
                found[text_of[i]].add(frozenset((values[i], values[j])))
        return [sum(self._weight_by_pair.get(pair, 0.0) for pair in pairs) / self._total for pairs in found]
