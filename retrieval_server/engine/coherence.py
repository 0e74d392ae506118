"""Files that are good in several places: for a topic, the file is what is looked for."""

from collections import defaultdict
from collections.abc import Sequence

from retrieval_server.engine.candidate import Candidate
from retrieval_server.engine.ordering import by_score
from retrieval_server.model import Prior


def by_file(ranked: Sequence[Candidate], passage_count: int) -> list[Candidate]:
    """Return the candidates with each document's raised alike, so that its best has the sum of its best scores.

    `ranked` is best first; `passage_count` is how many of a document's passages count. Those after its best count by
    what they have above the last candidate: a file is not good for having many parts where all parts are candidates.
    """
    best: dict[str, list[float]] = defaultdict(list)
    for candidate in ranked:
        scores = best[candidate.place.document.document_id]
        if len(scores) < passage_count:
            scores.append(candidate.score)
    floor = ranked[-1].score if ranked else 0.0
    factor = {
        document: Prior("file", 1 + sum(score - floor for score in others) / first)
        for document, (first, *others) in best.items()
        if first > 0
    }
    raised = (
        c._replace(score=c.score * prior.factor, priors=(*c.priors, prior))
        for c in ranked
        if (prior := factor.get(c.place.document.document_id)) is not None
    )
    return by_score(raised, lambda c: c.score, lambda c: c.place.order)
