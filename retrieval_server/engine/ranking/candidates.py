"""One query's candidates: ranked lists, fusion, priors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.dense import DenseView
from retrieval_server.engine.lexical.bm25 import LexicalQuery, LexicalView
from retrieval_server.engine.lexical.synonyms import SynonymTable
from retrieval_server.engine.places.chunk_table import ChunkTable, Place
from retrieval_server.engine.places.filters import Allowed
from retrieval_server.engine.ranking.beside import beside
from retrieval_server.engine.ranking.candidate import Candidate
from retrieval_server.engine.ranking.coherence import by_file
from retrieval_server.engine.ranking.dense_list import DenseList, Encode, Hits
from retrieval_server.engine.ranking.fusion import Fused, RankedList
from retrieval_server.engine.ranking.margins import Shares, score_shares, scores_by_margin
from retrieval_server.engine.ranking.ordering import by_score
from retrieval_server.engine.ranking.priors import source_priors
from retrieval_server.engine.ranking.proximity import TermKeys
from retrieval_server.engine.ranking.reranking import Reranker, with_best_reranked
from retrieval_server.engine.ranking.signals import LOOKED_AT_COUNT, Signals
from retrieval_server.engine.words.definitions import names_in, wanted_definitions
from retrieval_server.model import FusionConstants, FusionOverrides, Passage, Prior, Profile

BM25, BM25_EXPANDED, DEFINITION, DENSE = "bm25", "bm25_expanded", "definition", "dense"

Similarities = Callable[[RankedList[int], Sequence[int]], dict[int, float]]
ScoreShares = Callable[[Sequence[int]], dict[str, Shares]]


class IndexView(Protocol):
    """An immutable view of a collection as of one generation."""

    @property
    def generation(self) -> int:
        """Generation of the collection."""

    @property
    def vector_epoch(self) -> int:
        """Version of the dense view."""

    @property
    def dense_coverage(self) -> float:
        """Embeddable chunks that have their vectors, 0 to 1."""

    @property
    def lexical(self) -> LexicalView:
        """The BM25 list."""

    @property
    def dense(self) -> DenseView | None:
        """The dense list, or None while vectors are missing."""

    @property
    def table(self) -> ChunkTable:
        """Where every chunk stands."""

    @property
    def synonyms(self) -> SynonymTable:
        """The collection's synonyms."""

    @property
    def tuned_fusion(self) -> Mapping[Profile, FusionOverrides]:
        """What was tuned on the collection, by the profile that it holds for."""

    def places(self, chunk_ids: Sequence[int]) -> Mapping[int, Place]:
        """Return the place of each chunk."""

    def passages(self, chunk_ids: Sequence[int]) -> Mapping[int, Passage]:
        """Return each chunk with its text, unscored."""

    def term_keys(self, chunk_ids: Sequence[int]) -> Mapping[int, TermKeys]:
        """Return the keys of the index terms of each chunk's text, in order."""

    def chunks_containing(self, texts: Sequence[str], among: NDArray[np.int64]) -> Iterable[int]:
        """Return the chunks among (n,) ids whose texts contain all of `texts`."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the lists are asked: index terms, the same with synonyms when there are any, and words for the encoder."""

    lexical: LexicalQuery
    expanded: LexicalQuery | None
    dense_text: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one question, best first; `is_complete` when larger pools would find no more.

    `score_shares` tells by how much each list that found something is for each of some candidates.
    """

    question: Question
    ranked: list[Candidate]
    fused: Fused[int]
    best_cosine: float | None
    is_complete: bool
    score_shares: ScoreShares


@dataclass(frozen=True, slots=True)
class CandidateSearch:
    """Finds candidates in a view, within disjoint `subsets` of it, each to its own depth; None is all of it.

    The dense list takes part only when every embeddable chunk has its vectors: a half-embedded fusion would favour
    whatever happens to be embedded. `encode` is called only then; None leaves the list out. The lists of words are
    asked `aside`, if there is such a place, while this thread asks the dense one.
    """

    view: IndexView
    encode: Encode | None
    constants: FusionConstants
    subsets: Sequence[Allowed | None] = (None,)
    reranker: Reranker | None = None
    aside: Executor | None = None

    def find(self, question: Question, pool_count: int) -> Candidates:
        """Return what the lists find, at most `pool_count` in each list of each subset."""
        constants = self.constants
        dense = DenseList(self._dense_view(), self.encode, self.subsets)
        with beside(self.aside, partial(self._by_words, question, pool_count)) as found_by_words:
            dense_found = dense.found(question.dense_text, pool_count)
            by_list = found_by_words()
        by_list.append((DENSE, constants.dense_weight, dense_found.by_subset))
        places = self.view.places(list({i for _, _, by_subset in by_list for hits in by_subset for i, _ in hits}))
        lists = [
            RankedList(name, weight, _merged([_in_order(hits, places)[:pool_count] for hits in by_subset], places))
            for name, weight, by_subset in by_list
        ]
        fused = Fused(lists, constants.rank_constant)
        similarities = partial(dense.similarities, dense_found.vector)
        score_shares = partial(_score_shares, lists, similarities, pool_count)
        return Candidates(
            question=question,
            ranked=self._ranked(question, fused.scores, places, score_shares),
            fused=fused,
            best_cosine=next((one.hits[0][1] for one in lists if one.name == DENSE and one.hits), None),
            is_complete=all(len(hits) < pool_count for _, _, by_subset in by_list for hits in by_subset),
            score_shares=score_shares,
        )

    def _ranked(
        self,
        question: Question,
        fused: Mapping[int, float],
        places: Mapping[int, Place],
        score_shares: ScoreShares,
    ) -> list[Candidate]:
        """Order by fused score times priors, what then leads by its margins and signals, and that by a reranker."""
        constants = self.constants
        query_terms = frozenset(question.lexical.weight_by_term)
        ranked = _sorted(_candidate(i, places[i], score, query_terms) for i, score in fused.items())
        leading = ranked[:LOOKED_AT_COUNT]
        ids = [candidate.chunk_id for candidate in leading]
        by_rank = np.array([fused[i] for i in ids])
        if constants.margin_weight > 0:
            scores = scores_by_margin(
                by_rank, score_shares(ids), weight_by_list(constants), constants.rank_constant, constants.margin_weight
            ).tolist()
        else:
            scores = by_rank.tolist()
        signals = Signals(question.dense_text, question.lexical, self.view.lexical.idf, constants)
        factors = signals.factors({c.chunk_id: c.place.document.relative_path for c in leading}, self.view.term_keys)
        raised = (_raised(c, fused[c.chunk_id], s, factors[c.chunk_id]) for c, s in zip(leading, scores, strict=True))
        ranked = _sorted((*raised, *ranked[LOOKED_AT_COUNT:]))
        if constants.file_passage_count:
            ranked = by_file(ranked, constants.file_passage_count)
        if self.reranker is None:
            return ranked
        return with_best_reranked(question.dense_text, ranked, self.reranker, self.view.passages)

    def _by_words(self, question: Question, pool_count: int) -> list[tuple[str, float, list[Hits]]]:
        """Return the name and weight of each list of words, and what it finds in each subset."""
        constants = self.constants
        asked = [(BM25, constants.lexical_weight, question.lexical)]
        if question.expanded is not None:
            asked.append((BM25_EXPANDED, constants.expanded_weight, question.expanded))
        if constants.definition_weight > 0:
            wanted = LexicalQuery(wanted_definitions(names_in(question.dense_text)))
            asked.append((DEFINITION, constants.definition_weight, wanted))
        return [(name, weight, self._lexical(query, weight, pool_count)) for name, weight, query in asked]

    def _lexical(self, query: LexicalQuery, weight: float, pool_count: int) -> list[Hits]:
        if weight == 0:
            return []
        return [self.view.lexical.search(query, pool_count, allowed) for allowed in self.subsets]

    def _dense_view(self) -> DenseView | None:
        """Return the dense list to ask, if it has all vectors and counts for something."""
        is_left_out = self.view.dense_coverage < 1 or self.constants.dense_weight == 0
        return None if is_left_out else self.view.dense


def weight_by_list(constants: FusionConstants) -> dict[str, float]:
    """Return what each list weighs."""
    return {
        BM25: constants.lexical_weight,
        BM25_EXPANDED: constants.expanded_weight,
        DEFINITION: constants.definition_weight,
        DENSE: constants.dense_weight,
    }


def _score_shares(
    lists: Sequence[RankedList[int]], similarities: Similarities, pool_count: int, chunk_ids: Sequence[int]
) -> dict[str, Shares]:
    """Return by how much each list that found something is for each chunk; the dense list is asked for any."""
    return {
        one.name: score_shares(one, chunk_ids, pool_count, similarities(one, chunk_ids) if one.name == DENSE else None)
        for one in lists
        if one.hits
    }


def _merged(by_subset: Sequence[Hits], places: Mapping[int, Place]) -> Hits:
    return by_subset[0] if len(by_subset) == 1 else _in_order((hit for hits in by_subset for hit in hits), places)


def _in_order(hits: Iterable[tuple[int, float]], places: Mapping[int, Place]) -> Hits:
    """Order by score, ties by place: the order of the index itself depends on how it came to be."""
    known = [hit for hit in hits if hit[0] in places]
    return by_score(known, itemgetter(1), lambda hit: places[hit[0]].order)


def _sorted(candidates: Iterable[Candidate]) -> list[Candidate]:
    return by_score(candidates, attrgetter("score"), lambda c: c.place.order)


def _candidate(chunk_id: int, place: Place, fused_score: float, query_terms: frozenset[str]) -> Candidate:
    priors = source_priors(place.document.relative_path, query_terms)
    for prior in priors:
        fused_score *= prior.factor
    return Candidate(chunk_id, place, fused_score, priors)


def _raised(candidate: Candidate, by_rank: float, by_margin: float, factors: tuple[Prior, ...]) -> Candidate:
    """Put the score by margin in the place of that by rank, and raise it by the factors."""
    score = by_margin
    for prior in (*candidate.priors, *factors):
        score *= prior.factor
    if by_margin != by_rank:
        factors = (Prior("margin", by_margin / by_rank), *factors)
    return candidate._replace(score=score, priors=candidate.priors + factors)
