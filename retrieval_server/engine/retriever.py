"""One query against one view of a collection: its candidates, perhaps a second hop, and the best k of them."""

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial

from retrieval_server.engine import hops
from retrieval_server.engine.judging.answerability import answerability, coverage, skipped_reason, unknown_share
from retrieval_server.engine.judging.held_terms import HeldByChosen, HeldTerms
from retrieval_server.engine.lexical.bm25 import LexicalQuery, LexicalView, lexical_query
from retrieval_server.engine.places.filters import allowed_chunks
from retrieval_server.engine.ranking.candidates import (
    BM25,
    BM25_EXPANDED,
    Candidates,
    CandidateSearch,
    IndexView,
    Question,
)
from retrieval_server.engine.ranking.dense_list import Encode
from retrieval_server.engine.ranking.profiles import ranking_of
from retrieval_server.engine.ranking.reranking import Reranker
from retrieval_server.engine.selecting import balance
from retrieval_server.engine.selecting.selection import Chosen, FileCaps, Side, choose
from retrieval_server.engine.words.asked_words import asked_question, names_nowhere
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.model import (
    ListScore,
    Passage,
    Profile,
    RetrieveQuery,
    RetrieveResult,
    SecondHop,
)

# Coverage is that of the best passages; a name may stand a little further down.
_JUDGED_PASSAGE_COUNT = 3
_READ_PASSAGE_COUNT = 5
# When a cap leaves too few of a pool, a larger one is searched.
_POOL_GROWTH = 4


def retrieve(
    request: RetrieveQuery,
    view: IndexView,
    encode: Encode | None,
    reranker: Reranker | None = None,
    aside: Executor | None = None,
) -> RetrieveResult:
    """Return the best `request.k` passages; without `encode`, those that words alone find.

    `aside`, if it is there, looks up the words while this thread asks for vectors; what runs there waits for nothing.

    A name alone is not reranked: its definition leads, and a model reads more into a word than stands there.

    Raises InvalidRequest for a filter that names what the collection does not know, or without the reranker that is
    asked for.
    """
    started = time.perf_counter()
    if request.rerank and reranker is None:
        raise InvalidRequest(FieldError("rerank", "this server has no cross-encoder: see GROUNDWIRE_CROSS_ENCODER"))
    profile, constants, explanation = ranking_of(request, view.lexical.is_defined, view.tuned_fusion)
    subsets = balance.subsets(request.filter, view) if request.balance else [allowed_chunks(request.filter, view)]
    is_reranked = profile is not Profile.SYMBOL and request.rerank is not False
    search = CandidateSearch(view, encode, constants, subsets, reranker if is_reranked else None, aside)
    question = Question(lexical_query(request.query), view.synonyms.expanded(request.query), request.query)
    first, chosen, second_hop = _chosen(request, question, search)
    held = HeldTerms(chosen if request.explain else chosen[:_READ_PASSAGE_COUNT], view)
    score = 0.0
    if chosen:
        asked = asked_question(request.query)
        read = [HeldByChosen(one, held) for one in chosen[:_READ_PASSAGE_COUNT]]
        weights = _term_weights(question.lexical, view.lexical)
        told = {term: weight for term, weight in weights.items() if term not in asked.function_terms}
        score = answerability(
            coverage(
                asked.words, read[:_JUDGED_PASSAGE_COUNT], lambda term: weights.get(term) or 1 + view.lexical.idf(term)
            ),
            first.best_cosine,
            unknown_share(told, (term for term in told if not view.lexical.chunk_count_of(term))),
            lacks_name=names_nowhere(asked.words, read),
        )
    return RetrieveResult(
        passages=tuple(_explained(one, held) if request.explain else _scored(one) for one in chosen),
        index_generation=view.generation,
        vector_epoch=view.vector_epoch,
        dense_coverage=view.dense_coverage,
        answerability=score,
        skipped_reason=skipped_reason(len(chosen), score),
        elapsed_s=time.perf_counter() - started,
        profile_used=profile,
        profile_explanation=explanation,
        second_hop=second_hop,
    )


def _chosen(
    request: RetrieveQuery, question: Question, search: CandidateSearch
) -> tuple[Candidates, list[Chosen], SecondHop | None]:
    """Return the candidates of the first hop, what is chosen of both hops, and what the second one asked."""
    view = search.view
    # The profile's cap is how a result usually looks; the request's is a demand.
    caps = FileCaps(most=request.max_per_file, usual=search.constants.max_per_file)
    pick = partial(choose, caps=caps, read_passages=view.passages)
    # No pool holds more than the cap lets through.
    wanted = request.k if caps.most is None else min(request.k, caps.most * _document_count(search))
    pool_count = max(search.constants.pool_count, request.k)
    while True:
        first = search.find(question, pool_count)
        found, second_hop = [first], None
        if request.hops > 1:
            read = pick(_sides(found, is_balanced=request.balance), hops.READ_PASSAGE_COUNT)
            bridge = hops.bridge(request.query, [one.passage for one in read], view.lexical)
            if bridge is not None:
                read_ids = {one.candidate.chunk_id for one in read}
                found.append(hops.answering(search.find(bridge.question, pool_count), bridge, read_ids, view.lexical))
                second_hop = bridge.asked
        chosen = pick(_sides(found, is_balanced=request.balance), request.k)
        is_all = all(one.is_complete for one in found) or pool_count >= len(view.table)
        if len(chosen) >= wanted or is_all:
            return first, chosen, second_hop
        pool_count *= _POOL_GROWTH


def _document_count(search: CandidateSearch) -> int:
    documents = search.view.table.documents
    return sum(len(documents if subset is None else subset.document_rows) for subset in search.subsets)


def _sides(found: Sequence[Candidates], *, is_balanced: bool) -> list[Side]:
    """Return what is taken in turn: the hops, and of each hop, if that is wanted, docs and code."""
    if not is_balanced:
        return [Side(one.ranked, one, hop) for hop, one in enumerate(found, start=1)]
    is_code_first = any(balance.is_code(candidate) for candidate in found[0].ranked[:1])
    return [
        Side(part, one, hop)
        for hop, one in enumerate(found, start=1)
        for part in balance.sides(one.ranked, is_code_first=is_code_first)
    ]


def _term_weights(query: LexicalQuery, lexical: LexicalView) -> dict[str, float]:
    """What each term counts in coverage: 1 + idf, since in a small corpus even a telling word is in most chunks."""
    heaviest = max(query.weight_by_term.values(), default=1.0)
    return {term: 1 + lexical.idf(term) for term, weight in query.weight_by_term.items() if weight == heaviest}


def _scored(one: Chosen) -> Passage:
    candidate = one.candidate
    parts = one.side.found.fused.parts(candidate.chunk_id)
    return replace(one.passage, score=candidate.score, list_scores=parts, hop=one.side.hop)


def _explained(one: Chosen, held: HeldTerms) -> Passage:
    question = one.side.found.question
    asked = {BM25: question.lexical, BM25_EXPANDED: question.expanded}

    def with_terms(part: ListScore) -> ListScore:
        query = asked.get(part.list_name)
        if query is None or part.rank == 0:
            return part
        terms = held.of(one, query.weight_by_term)
        return part._replace(matched_terms=tuple(term for term in query.weight_by_term if term in terms))

    scored = _scored(one)
    return replace(scored, list_scores=tuple(map(with_terms, scored.list_scores)), priors=one.candidate.priors)
