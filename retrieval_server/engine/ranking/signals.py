"""What else than its ranks speaks for a candidate: factors above 1, each with a name that a caller is shown."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from retrieval_server.engine.lexical.bm25 import LexicalQuery
from retrieval_server.engine.ranking.proximity import QueryPairs, TermKeys
from retrieval_server.engine.words.analyser import analyse_terms
from retrieval_server.engine.words.stop_words import STOP_TERMS
from retrieval_server.model import FusionConstants, Prior

# Only what may still come up is looked at: the text of a candidate has to be read for it.
LOOKED_AT_COUNT = 20

ReadTermKeys = Callable[[Sequence[int]], Mapping[int, TermKeys]]
"""Returns the keys of the index terms of some chunks' texts."""


class Signals:
    """The signals of one query.

    A signal that holds by share s, 0 to 1, multiplies a score by 1 + weight · s, with the weights of FusionConstants.
    """

    def __init__(
        self, query_text: str, query: LexicalQuery, idf: Callable[[str], float], constants: FusionConstants
    ) -> None:
        self._constants = constants
        self._weight_by_term = {
            term: idf(term) for term, weight in query.weight_by_term.items() if term not in STOP_TERMS and weight > 0
        }
        self._total = sum(self._weight_by_term.values())
        telling = [term for term in analyse_terms(query_text) if term in self._weight_by_term]
        self._pairs = QueryPairs(telling, self._weight_by_term.__getitem__)

    def of_paths(self, relative_paths: Sequence[str]) -> list[float]:
        """Return for each path the share of the query's terms, by idf, that it holds."""
        if self._total <= 0:
            return [0.0] * len(relative_paths)
        return [
            sum(weight for term, weight in self._weight_by_term.items() if term in _path_terms(path)) / self._total
            for path in relative_paths
        ]

    def factors(
        self,
        path_by_chunk: Mapping[int, str],
        read_term_keys: ReadTermKeys,
    ) -> dict[int, tuple[Prior, ...]]:
        """Return what multiplies the score of each chunk; a signal that is silent is left out."""
        constants = self._constants
        chunk_ids = list(path_by_chunk)
        found: dict[int, list[Prior]] = {chunk_id: [] for chunk_id in chunk_ids}

        def add(name: str, weight: float, shares: Sequence[float]) -> None:
            for chunk_id, share in zip(chunk_ids, shares, strict=True):
                if share > 0:
                    found[chunk_id].append(Prior(name, 1 + weight * share))

        if constants.path_weight > 0:
            add("path", constants.path_weight, self.of_paths(list(path_by_chunk.values())))
        if constants.proximity_weight > 0:
            keys = read_term_keys(chunk_ids)
            shares = self._pairs.shares([keys[chunk_id] for chunk_id in chunk_ids])
            add("proximity", constants.proximity_weight, shares)
        return {chunk_id: tuple(factors) for chunk_id, factors in found.items()}


@lru_cache(maxsize=100_000)
def _path_terms(relative_path: str) -> frozenset[str]:
    return frozenset(analyse_terms(relative_path))
