"""One query against one view of a collection: two ranked lists, fusion, priors, the best k."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.answerability import answerability, idf_coverage, skipped_reason
from retrieval_server.engine.dense import DenseView
from retrieval_server.engine.fusion import Fused, RankedList
from retrieval_server.engine.lexical import LexicalQuery, LexicalView, index_terms, lexical_query
from retrieval_server.engine.priors import source_priors
from retrieval_server.model import ListScore, Passage, Prior, RetrieveQuery, RetrieveResult

QueryVector = Callable[[], NDArray[np.float32]]
"""Returns the query as (dimension,) float32, L2-normalised."""

_JUDGED_PASSAGE_COUNT = 3


class Place(NamedTuple):
    """Where a chunk stands: enough to order, cap and weigh it without reading its text."""

    path: str
    relative_path: str
    start_char: int
    document_id: str


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

    def places(self, chunk_ids: Sequence[int]) -> Mapping[int, Place]:
        """Return the place of each chunk."""

    def passages(self, chunk_ids: Sequence[int]) -> Mapping[int, Passage]:
        """Return each chunk with its text, unscored."""


class _Candidate(NamedTuple):
    chunk_id: int
    place: Place
    score: float
    priors: tuple[Prior, ...]


def retrieve(request: RetrieveQuery, view: IndexView, query_vector: QueryVector | None) -> RetrieveResult:
    """Return the best `request.k` passages.

    The dense list takes part only when every embeddable chunk has its vectors: a half-embedded fusion would favour
    whatever happens to be embedded. `query_vector` is asked only then; None leaves the list out.
    """
    started = time.perf_counter()
    query = lexical_query(request.query)
    fusion = request.fusion
    pool_count = max(fusion.pool_count, request.k)
    lexical = view.lexical.search(query, pool_count) if fusion.lexical_weight > 0 else []
    dense: list[tuple[int, float]] = []
    if query_vector is not None and view.dense is not None and view.dense_coverage >= 1 and fusion.dense_weight > 0:
        dense = view.dense.search(query_vector(), pool_count)

    places = view.places(list({chunk_id for chunk_id, _ in (*lexical, *dense)}))
    lists = [
        RankedList("bm25", fusion.lexical_weight, _in_order(lexical, places)[:pool_count]),
        RankedList("dense", fusion.dense_weight, _in_order(dense, places)),
    ]
    fused = Fused(lists, fusion.rank_constant)
    query_terms = frozenset(query.weight_by_term)
    ranked = sorted(
        (_candidate(chunk_id, places[chunk_id], score, query_terms) for chunk_id, score in fused.scores.items()),
        key=lambda c: (-c.score, c.place.path, c.place.start_char),
    )
    chosen = _capped(ranked, request.max_per_file)[: request.k]
    texts = view.passages([c.chunk_id for c in chosen])
    terms = {
        c.chunk_id: _passage_terms(c.place, texts[c.chunk_id])
        for c in (chosen if request.explain else chosen[:_JUDGED_PASSAGE_COUNT])
    }
    score = answerability(
        idf_coverage(_term_weights(query, view.lexical), (terms[c.chunk_id] for c in chosen[:_JUDGED_PASSAGE_COUNT])),
        dense[0][1] if dense else None,
    )
    explained = terms if request.explain else {}
    return RetrieveResult(
        passages=tuple(
            _passage(texts[c.chunk_id], c, fused.parts(c.chunk_id), explained.get(c.chunk_id), query) for c in chosen
        ),
        index_generation=view.generation,
        vector_epoch=view.vector_epoch,
        dense_coverage=view.dense_coverage,
        answerability=score,
        skipped_reason=skipped_reason(len(chosen), score),
        elapsed_s=time.perf_counter() - started,
    )


def _in_order(hits: Sequence[tuple[int, float]], places: Mapping[int, Place]) -> list[tuple[int, float]]:
    """Order by score, ties by place: the order of the index itself depends on how it came to be."""
    return sorted(
        ((i, score) for i, score in hits if i in places),
        key=lambda hit: (-hit[1], places[hit[0]].path, places[hit[0]].start_char),
    )


def _candidate(chunk_id: int, place: Place, fused_score: float, query_terms: frozenset[str]) -> _Candidate:
    priors = source_priors(place.relative_path, query_terms)
    for prior in priors:
        fused_score *= prior.factor
    return _Candidate(chunk_id, place, fused_score, priors)


def _capped(ranked: Sequence[_Candidate], max_per_file: int | None) -> list[_Candidate]:
    if max_per_file is None:
        return list(ranked)
    kept: list[_Candidate] = []
    count_by_document: dict[str, int] = {}
    for candidate in ranked:
        count = count_by_document.get(candidate.place.document_id, 0)
        if count < max_per_file:
            count_by_document[candidate.place.document_id] = count + 1
            kept.append(candidate)
    return kept


def _term_weights(query: LexicalQuery, lexical: LexicalView) -> dict[str, float]:
    """What each term counts in coverage: 1 + idf, since in a small corpus even a telling word is in most chunks."""
    heaviest = max(query.weight_by_term.values(), default=1.0)
    return {term: 1 + lexical.idf(term) for term, weight in query.weight_by_term.items() if weight == heaviest}


def _passage_terms(place: Place, passage: Passage) -> frozenset[str]:
    return frozenset(index_terms(place.relative_path, passage.breadcrumbs, (), passage.text).split())


def _passage(
    passage: Passage,
    candidate: _Candidate,
    list_scores: tuple[ListScore, ...],
    explained_terms: frozenset[str] | None,
    query: LexicalQuery,
) -> Passage:
    if explained_terms is None:
        return replace(passage, score=candidate.score, list_scores=list_scores)
    matched = tuple(term for term in query.weight_by_term if term in explained_terms)
    explained = tuple(
        part._replace(matched_terms=matched) if part.list_name == "bm25" and part.rank else part for part in list_scores
    )
    return replace(passage, score=candidate.score, list_scores=explained, priors=candidate.priors)
