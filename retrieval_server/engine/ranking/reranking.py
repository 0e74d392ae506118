"""A second look at the first candidates: something that reads query and passage together orders them anew."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval_server.engine.ranking.candidate import Candidate
from retrieval_server.model import Passage, Prior

# A pair costs as much as a query's embedding many times over: this bounds what a search may cost.
RERANKED_COUNT = 30

ReadPassages = Callable[[Sequence[int]], Mapping[int, Passage]]


class Reranker(Protocol):
    """Says how well passages answer a query; scores of one query compare with each other and with no others."""

    def scores(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return one score a passage, (n_passages,) float32, higher for better; each depends on its pair alone."""
        ...


def reranked(query: str, passages: Sequence[str], reranker: Reranker) -> list[tuple[int, float]]:
    """Return (index into `passages`, score), best first; passages of equal score keep their order."""
    scores = reranker.scores(query, passages)
    return [(int(index), float(scores[index])) for index in np.argsort(-scores, kind="stable")]


def with_best_reranked(
    query: str, ranked: Sequence[Candidate], reranker: Reranker, read_passages: ReadPassages
) -> list[Candidate]:
    """Return the candidates with the first RERANKED_COUNT ordered anew; the rest follow as they were.

    Those that are reranked share out the scores that they had, the highest to the best, so that scores still fall along
    the list and its rest; the factor by which one's score changed is the prior "cross_encoder".
    """
    looked_at = ranked[:RERANKED_COUNT]
    passages = read_passages([candidate.chunk_id for candidate in looked_at])
    # What was deleted meanwhile is not in the view's store any more.
    read = [candidate for candidate in looked_at if candidate.chunk_id in passages]
    order = reranked(query, [passages[candidate.chunk_id].text for candidate in read], reranker)
    return [
        *(_moved(read[index], place.score) for place, (index, _) in zip(read, order, strict=True)),
        *ranked[RERANKED_COUNT:],
    ]


def _moved(candidate: Candidate, score: float) -> Candidate:
    prior = Prior("cross_encoder", score / candidate.score)
    return candidate._replace(score=score, priors=(*candidate.priors, prior))
