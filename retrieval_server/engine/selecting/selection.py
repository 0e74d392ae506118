"""From ranked candidates to the few that are returned: from several sides in turn, capped by file, not repeated."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from retrieval_server.engine.ranking.candidate import Candidate
from retrieval_server.engine.ranking.candidates import Candidates
from retrieval_server.engine.selecting.near_duplicates import DistinctPassages
from retrieval_server.model import Passage

ReadPassages = Callable[[Sequence[int]], Mapping[int, Passage]]

_READ_AHEAD_COUNT = 1


@dataclass(frozen=True, slots=True)
class Side:
    """Candidates, best first, and the question whose lists they were found in; `hop` is 1 or 2."""

    candidates: Sequence[Candidate]
    found: Candidates
    hop: int = 1


@dataclass(frozen=True, slots=True)
class Chosen:
    """A candidate that is returned."""

    candidate: Candidate
    passage: Passage
    side: Side


@dataclass(frozen=True, slots=True)
class FileCaps:
    """How many passages of one document are returned: `most` is never passed, `usual` only to fill up; None is any."""

    most: int | None = None
    usual: int | None = None


def choose(sides: Sequence[Side], count: int, caps: FileCaps, read_passages: ReadPassages) -> list[Chosen]:
    """Return at most `count` candidates, best first, taken from the sides in turn until each has no more.

    What repeats an earlier one, or is beyond the usual of its document, stands back: it fills up the end when nothing
    else is left, so that `count` come back whenever so many exist.
    """
    queues = [_Queue(side, -(-count // len(sides)) + _READ_AHEAD_COUNT, read_passages) for side in sides]
    distinct = DistinctPassages()
    chosen: list[Chosen] = []
    standing_back: list[tuple[Candidate, Side]] = []
    seen: set[int] = set()
    count_by_document: Counter[str] = Counter()

    def is_within(cap: int | None, candidate: Candidate) -> bool:
        return cap is None or count_by_document[candidate.place.document.document_id] < cap

    turn = 0
    while queues and len(chosen) < count:
        queue = queues[turn % len(queues)]
        candidate = queue.next()
        if candidate is None:
            queues.remove(queue)
            continue
        if candidate.chunk_id in seen or not is_within(caps.most, candidate):
            continue
        seen.add(candidate.chunk_id)
        passage = queue.passage(candidate) if is_within(caps.usual, candidate) else None
        if passage is not None and distinct.admits(passage):
            chosen.append(Chosen(candidate, passage, queue.side))
            count_by_document[candidate.place.document.document_id] += 1
            turn += 1
        else:
            standing_back.append((candidate, queue.side))
    fillers: list[tuple[Candidate, Side]] = []
    for candidate, side in standing_back:
        if len(chosen) + len(fillers) < count and is_within(caps.most, candidate):
            fillers.append((candidate, side))
            count_by_document[candidate.place.document.document_id] += 1
    passages = read_passages([candidate.chunk_id for candidate, _ in fillers]) if fillers else {}
    filled = (Chosen(one, passages[one.chunk_id], side) for one, side in fillers if one.chunk_id in passages)
    return [*chosen, *filled]


class _Queue:
    """The candidates of a side, one after the other, with their texts read a few at a time."""

    def __init__(self, side: Side, read_count: int, read_passages: ReadPassages) -> None:
        self.side = side
        self._read_count = read_count
        self._read_passages = read_passages
        self._at = 0
        self._passages: Mapping[int, Passage] = {}
        self._read_end = 0

    def next(self) -> Candidate | None:
        """Return the next candidate, or None when there is no more."""
        if self._at == len(self.side.candidates):
            return None
        self._at += 1
        return self.side.candidates[self._at - 1]

    def passage(self, latest: Candidate) -> Passage | None:
        """Return the text of the candidate that came last, None when it is gone."""
        if self._at > self._read_end:
            start = self._at - 1
            self._read_end = start + self._read_count
            some = self.side.candidates[start : self._read_end]
            self._passages = self._read_passages([candidate.chunk_id for candidate in some])
        return self._passages.get(latest.chunk_id)
