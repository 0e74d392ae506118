"""Files that are good in several places."""

from retrieval_server.engine.places.chunk_table import DocumentFacts, Place
from retrieval_server.engine.ranking.candidate import Candidate
from retrieval_server.engine.ranking.coherence import by_file
from retrieval_server.model import ContentKind


def _candidate(chunk_id: int, file: str, score: float) -> Candidate:
    document = DocumentFacts(1, file, file, file, "python", ContentKind.CODE)
    return Candidate(chunk_id, Place(document, chunk_id), score, ())


def test_a_file_that_is_good_in_several_places_stands_before_one_that_is_best_in_one() -> None:
    ranked = [
        _candidate(1, "a.py", 1.0),
        _candidate(2, "b.py", 0.9),
        _candidate(3, "b.py", 0.8),
        _candidate(4, "c.py", 0.2),
    ]
    coherent = by_file(ranked, 3)
    assert [c.chunk_id for c in coherent] == [2, 3, 1, 4]
    # 0.9 and, above the last candidate, 0.8 - 0.2.
    assert [round(c.score, 6) for c in coherent] == [1.5, round(0.8 * 1.5 / 0.9, 6), 1.0, 0.2]
    assert [prior.name for prior in coherent[0].priors] == ["file"]


def test_only_the_best_passages_of_a_file_count() -> None:
    ranked = [
        _candidate(0, "a.py", 1.0),
        *(_candidate(i, "b.py", 0.3) for i in range(1, 9)),
        _candidate(9, "c.py", 0.1),
    ]
    assert by_file(ranked, 3)[0].chunk_id == 0
    assert by_file([], 3) == []


def test_having_many_parts_alone_raises_no_file() -> None:
    ranked = [_candidate(0, "a.py", 0.5), *(_candidate(i, "b.py", 0.4) for i in range(1, 9))]
    assert by_file(ranked, 3)[0].chunk_id == 0
