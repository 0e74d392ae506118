"""Answers without a model: what the passages say, verbatim and cited, led in by the question restated."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval_server.generation.answers.answer_model import Citation, SentenceSupport
from retrieval_server.generation.checking.citations import cite
from retrieval_server.generation.questions.restating import restate
from retrieval_server.generation.text.evidence import Evidence, Window, content_terms
from retrieval_server.generation.text.sentences import line_spans
from retrieval_server.generation.text.unit_ranking import RankedUnit, rank_units
from retrieval_server.generation.text.units import Unit, UnitKind, is_signature, units_of
from retrieval_server.generation.text.values import StatedValue, read_values
from retrieval_server.model import ContentKind, Passage

# Only the best passages are read: an answer from further down would not be one.
_MAX_PASSAGES = 20
_MAX_PIECES = 3
_MAX_PIECE_CHARS = 600
# A further piece must hold this share of the question's weight that the pieces before it lack.
_MIN_FURTHER_SHARE = 0.35


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """An answer made of pieces; `deltas` joined are `text`. What no sentence covers restates the question."""

    text: str
    deltas: tuple[str, ...]
    citations: tuple[Citation, ...]
    sentences: tuple[SentenceSupport, ...]


def extract_answer(question: str, passages: Sequence[Passage]) -> ExtractedAnswer:
    """Return the value that code states of what is asked, or the one to three units that best answer.

    When nothing holds anything of the question, the beginning of the best passage stands in. Empty only when every
    passage is blank. The result depends on the arguments alone.
    """
    read = passages[:_MAX_PASSAGES]
    lead = restate(question)
    values = read_values(question, read)
    if lead and values:
        return _value_answer(lead, values, read)
    ranked = rank_units(question, read, evidence := Evidence(read))
    chosen = _choose(content_terms(question), ranked, evidence, read)
    answer = _Assembly(read)
    if chosen and lead:
        answer.lead_in(f"{lead}:")
    for one in chosen or _first_words(read):
        answer.add(one, with_signature=not lead)
    return answer.done()


class _Assembly:
    """Text, deltas, citations and verdicts as they grow."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._deltas: list[str] = []
        self._char_count = 0
        self._citations: list[Citation] = []
        self._sentences: list[SentenceSupport] = []

    def lead_in(self, text: str) -> None:
        """Say something that needs no source."""
        self._say(text)

    def add(self, ranked: RankedUnit, *, with_signature: bool) -> None:
        """Say a unit, verbatim, under the signature that encloses it if that is code and not said yet."""
        passage = self._passages[ranked.passage_index]
        spans = [(ranked.unit.start, ranked.unit.end)]
        if (
            with_signature
            and passage.kind is not ContentKind.DOCS
            and (above := _signature_above(passage, ranked.unit))
        ):
            spans.insert(0, above)
        for start, end in spans:
            self.say_cited(passage.text[start:end], ranked.passage_index, start, end)

    def say_cited(self, text: str, passage_index: int, start: int, end: int) -> None:
        """Say `text`, which `passages[passage_index].text[start:end]` backs; nothing when those lines are cited."""
        passage = self._passages[passage_index]
        citation = cite(passage, _line_window(passage_index, passage.text, start, end))
        if citation not in self._citations:
            self._citations.append(citation)
        elif not passage.is_derived:  # whose every line has the same citation
            return
        self._say(text)
        place = self._citations.index(citation)
        self._sentences.append(SentenceSupport(self._char_count - len(text), self._char_count, True, (place,)))

    def _say(self, text: str) -> None:
        delta = f"\n{text}" if self._deltas else text
        self._deltas.append(delta)
        self._char_count += len(delta)

    def done(self) -> ExtractedAnswer:
        """Return the answer."""
        return ExtractedAnswer(
            "".join(self._deltas), tuple(self._deltas), tuple(self._citations), tuple(self._sentences)
        )


def _value_answer(lead: str, values: Sequence[StatedValue], passages: Sequence[Passage]) -> ExtractedAnswer:
    stated = [f"`{one.value}`" if len(values) == 1 else f"`{one.name}` {one.value}" for one in values]
    text = f"{lead} {' and '.join(stated)}."
    citations: list[Citation] = []
    for one in values:
        citation = cite(
            passages[one.passage_index],
            _line_window(one.passage_index, passages[one.passage_index].text, one.start, one.end),
        )
        if citation not in citations:
            citations.append(citation)
    verdict = SentenceSupport(0, len(text), True, tuple(range(len(citations))))
    return ExtractedAnswer(text, (text,), tuple(citations), (verdict,))


def _choose(
    terms: frozenset[str], ranked: Sequence[RankedUnit], evidence: Evidence, passages: Sequence[Passage]
) -> list[RankedUnit]:
    least = _MIN_FURTHER_SHARE * evidence.weight(terms)
    chosen: list[RankedUnit] = []
    missing = terms
    for one in ranked:
        if chosen and evidence.weight(one.terms & missing) < least:
            continue
        if any(_overlap(one, other, passages) for other in chosen):
            continue
        chosen.append(one)
        passage = passages[one.passage_index]
        missing -= one.terms | content_terms(" ".join((passage.path, *passage.breadcrumbs)))
        if len(chosen) == _MAX_PIECES:
            break
    return chosen


def _overlap(one: RankedUnit, other: RankedUnit, passages: Sequence[Passage]) -> bool:
    first, second = passages[one.passage_index], passages[other.passage_index]
    if first.is_derived or second.is_derived:
        is_same = one.passage_index == other.passage_index
        return is_same and one.unit.start < other.unit.end and other.unit.start < one.unit.end
    return (
        first.document_id == second.document_id
        and first.start_char + one.unit.start < second.start_char + other.unit.end
        and second.start_char + other.unit.start < first.start_char + one.unit.end
    )


def _first_words(passages: Sequence[Passage]) -> list[RankedUnit]:
    for index, passage in enumerate(passages):
        for unit in units_of(passage):
            return [RankedUnit(index, unit, frozenset(), 0.0)]
        if text := passage.text.strip():  # a fence that is never closed, for one
            start = passage.text.index(text[0])
            end = min(len(passage.text.rstrip()), start + _MAX_PIECE_CHARS)
            return [RankedUnit(index, Unit(start, end, UnitKind.SENTENCE), frozenset(), 0.0)]
    return []


def _signature_above(passage: Passage, unit: Unit) -> tuple[int, int] | None:
    """Return the nearest line above that is indented less and begins a function or type; None if the unit does."""
    text, spans = passage.text, line_spans(passage.text)
    line = bisect_right([start for start, _ in spans], unit.start) - 1
    if is_signature(text[slice(*spans[line])]):
        return None
    indent = _indent(text, spans[line])
    for start, end in reversed(spans[:line]):
        if text[start:end].strip() and _indent(text, (start, end)) < indent and is_signature(text[start:end]):
            return start, min(end, start + _MAX_PIECE_CHARS)
    return None


def _indent(text: str, span: tuple[int, int]) -> int:
    line = text[span[0] : span[1]]
    return len(line) - len(line.lstrip(" \t"))


def _line_window(passage_index: int, text: str, start: int, end: int) -> Window:
    spans = line_spans(text)
    starts = [span[0] for span in spans]
    first_line, last_line = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
    return Window(passage_index, first_line, last_line, spans[first_line][0], spans[last_line][1], frozenset())
