"""Files that are good in several places: for a topic, the file is what is looked for."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import TypeVar

from retrieval_server.engine.ranking.candidate import Candidate
from retrieval_server.engine.ranking.ordering import by_score
from retrieval_server.model import Prior

Document = TypeVar("Document", bound=Hashable)


def by_file(ranked: Sequence[Candidate], passage_count: int) -> list[Candidate]:
    """Return the candidates with each document's raised alike, by `file_factors`; `ranked` is best first."""
    documents = [candidate.place.document.document_id for candidate in ranked]
    factor_of = file_factors(documents, [candidate.score for candidate in ranked], passage_count)
    factor = {document: Prior("file", value) for document, value in factor_of.items()}
    raised = (
        c._replace(score=c.score * prior.factor, priors=(*c.priors, prior))
        for c in ranked
        if (prior := factor.get(c.place.document.document_id)) is not None
    )
    return by_score(raised, attrgetter("score"), lambda c: c.place.order)


def file_factors(documents: Sequence[Document], scores: Sequence[float], passage_count: int) -> dict[Document, float]:
    """Return what raises each document's candidates, so that its best has the sum of its best scores.

    Both are of candidates, best first; `passage_count` is how many of a document's passages count. Those after its best
    count by what they have above the last candidate: a file is not good for having many parts where all parts are
    candidates. A document without a score above 0 is left out.
    """
    best: dict[Document, list[float]] = defaultdict(list)
    for document, score in zip(documents, scores, strict=True):
        if len(best[document]) < passage_count:
            best[document].append(score)
    floor = scores[-1] if scores else 0.0
    return {
        document: 1 + sum(score - floor for score in others) / first
        for document, (first, *others) in best.items()
        if first > 0
    }
