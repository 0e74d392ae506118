"""A labelled question with all that ranking knows of its candidates, so that other constants need no other search.

What is kept are ranks, factors and shares, not texts; `tests` hold the order against that of `retrieve`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.lexical.bm25 import lexical_query
from retrieval_server.engine.ranking.candidates import Candidates, CandidateSearch, Question, weight_by_list
from retrieval_server.engine.ranking.coherence import file_factors
from retrieval_server.engine.ranking.margins import Shares, scores_by_margin
from retrieval_server.engine.ranking.priors import source_priors
from retrieval_server.engine.ranking.signals import LOOKED_AT_COUNT, Signals
from retrieval_server.engine.selecting.near_duplicates import repeating_pairs
from retrieval_server.engine.tuning.labels import LabelledQuestion, is_hit
from retrieval_server.model import FusionConstants, ListScore

# How far down a result counts: what stands lower is seldom read.
JUDGED_DEPTH = 10
_WEIGHT_OF_SIGNAL = {"path": "path_weight", "proximity": "proximity_weight"}
_EVERY_SIGNAL = FusionConstants(path_weight=1.0, proximity_weight=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedQuestion:
    """The candidates of one question in the order of their places, which decides between equal scores.

    All arrays are (n_candidates,): `ranks` of each list float64, from 1, infinite where the list lacks the candidate;
    `score_shares` of each list that found something float64, 0 to 1, of its highest score; `factors` float64, the
    product of the priors; `shares` of each signal float64, 0 to 1; `documents` int64, equal for
    candidates of one document; `is_gold` bool. `repeats` has, by candidate, those that say the same.
    """

    ranks: Mapping[str, NDArray[np.float64]]
    score_shares: Mapping[str, Shares]
    factors: NDArray[np.float64]
    shares: Mapping[str, NDArray[np.float64]]
    documents: NDArray[np.int64]
    is_gold: NDArray[np.bool_]
    repeats: Mapping[int, frozenset[int]]

    def first_hit_rank(self, constants: FusionConstants, max_per_file: int | None = None) -> int | None:
        """Return the rank, 1 to JUDGED_DEPTH, of the first gold passage that these constants return, None for none."""
        order = self._ranked(constants).tolist()
        count_by_document: Counter[int] = Counter()
        documents, is_gold = self.documents, self.is_gold
        chosen: set[int] = set()
        standing_back: list[int] = []
        for one in order:
            if len(chosen) == JUDGED_DEPTH:
                return None
            count = count_by_document[documents[one]]
            if max_per_file is not None and count >= max_per_file:
                continue
            is_usual = constants.max_per_file is None or count < constants.max_per_file
            if not is_usual or not chosen.isdisjoint(self.repeats.get(one, ())):
                standing_back.append(one)
                continue
            if is_gold[one]:
                return len(chosen) + 1
            chosen.add(one)
            count_by_document[documents[one]] += 1
        rank = len(chosen)
        for one in standing_back:
            if rank == JUDGED_DEPTH:
                return None
            if max_per_file is None or count_by_document[documents[one]] < max_per_file:
                rank += 1
                if is_gold[one]:
                    return rank
                count_by_document[documents[one]] += 1
        return None

    def _ranked(self, constants: FusionConstants) -> NDArray[np.int64]:
        """Return the candidates, (n_candidates,), best first, as `engine.candidates` orders them."""
        weights = weight_by_list(constants)
        fused = np.zeros(len(self.factors))
        for name, ranks in self.ranks.items():
            fused += weights[name] / (constants.rank_constant + ranks)
        scores = fused * self.factors
        leading = np.argsort(-scores, kind="stable")[:LOOKED_AT_COUNT]
        shares_of = {name: shares[leading] for name, shares in self.score_shares.items()}
        raised = scores_by_margin(fused[leading], shares_of, weights, constants.rank_constant, constants.margin_weight)
        raised = raised * self.factors[leading]
        for name, shares in self.shares.items():
            raised *= 1 + getattr(constants, _WEIGHT_OF_SIGNAL[name]) * shares[leading]
        scores[leading] = raised
        order = np.argsort(-scores, kind="stable")
        if constants.file_passage_count:
            documents = self.documents.tolist()
            ranked_documents = [documents[one] for one in order.tolist()]
            factor = file_factors(ranked_documents, scores[order].tolist(), constants.file_passage_count)
            # One without a score above 0 stays last, whatever its factor.
            scores *= [factor.get(document, 1.0) for document in documents]
            order = np.argsort(-scores, kind="stable")
        return order


def judged(labelled: LabelledQuestion, search: CandidateSearch) -> JudgedQuestion:
    """Search once, and keep all that any constants could make of what is found."""
    view = search.view
    question = Question(lexical_query(labelled.text), view.synonyms.expanded(labelled.text), labelled.text)
    found = search.find(question, max(search.constants.pool_count, JUDGED_DEPTH))
    passages = view.passages([candidate.chunk_id for candidate in found.ranked])
    candidates = sorted((c for c in found.ranked if c.chunk_id in passages), key=lambda c: c.place.order)
    texts = [passages[c.chunk_id] for c in candidates]
    parts = [found.fused.parts(c.chunk_id) for c in candidates]
    terms = frozenset(question.lexical.weight_by_term)
    factors = np.ones(len(candidates))
    for row, candidate in enumerate(candidates):
        for prior in source_priors(candidate.place.document.relative_path, terms):
            factors[row] *= prior.factor
    number_of: dict[str, int] = {}
    repeats: dict[int, set[int]] = {}
    for one, other in repeating_pairs(texts):
        repeats.setdefault(one, set()).add(other)
        repeats.setdefault(other, set()).add(one)
    return JudgedQuestion(
        ranks=_ranks(parts),
        score_shares=found.score_shares([c.chunk_id for c in candidates]),
        factors=factors,
        shares=_shares(found, search, {c.chunk_id: c.place.document.relative_path for c in candidates}),
        documents=np.array([number_of.setdefault(p.document_id, len(number_of)) for p in texts], dtype=np.int64),
        is_gold=np.array([is_hit(passage, labelled.gold) for passage in texts], dtype=np.bool_),
        repeats={one: frozenset(others) for one, others in repeats.items()},
    )


def _ranks(parts: Sequence[Sequence[ListScore]]) -> dict[str, NDArray[np.float64]]:
    """Return the ranks in each list, in the order in which their contributions are added up."""
    names = [part.list_name for part in parts[0]] if parts else []
    return {
        name: np.array([of_one[at].rank or np.inf for of_one in parts], dtype=np.float64)
        for at, name in enumerate(names)
    }


def _shares(
    found: Candidates, search: CandidateSearch, path_by_chunk: Mapping[int, str]
) -> dict[str, NDArray[np.float64]]:
    """Return by how much each signal holds; a signal of weight 1 multiplies by 1 + its share."""
    signals = Signals(found.question.dense_text, found.question.lexical, search.view.lexical.idf, _EVERY_SIGNAL)
    factors = signals.factors(path_by_chunk, search.view.term_keys)
    shares = {name: np.zeros(len(path_by_chunk)) for name in _WEIGHT_OF_SIGNAL}
    for row, chunk_id in enumerate(path_by_chunk):
        for prior in factors[chunk_id]:
            shares[prior.name][row] = prior.factor - 1
    return shares
