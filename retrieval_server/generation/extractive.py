"""Answers without a model: the sentences and lines of the passages that best answer, verbatim and cited."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrieval_server.generation.answer_model import Citation, SentenceSupport
from retrieval_server.generation.citations import cite
from retrieval_server.generation.evidence import Evidence, Window, content_terms
from retrieval_server.generation.sentences import line_spans, split_sentences
from retrieval_server.model import ContentKind, Passage

# Only the best passages are read: an answer from further down would not be one.
_MAX_PASSAGES = 20
_MAX_PIECES = 3
_MAX_PIECE_CHARS = 600
# A further piece must add this share of the question's weight.
_MIN_FURTHER_COVERAGE = 0.15
# What a passage's surroundings (path, headings, enclosing names) hold counts for less than what the piece itself holds.
_CONTEXT_SHARE = 0.4
_RANK_DISCOUNT = 0.08
# A heading or a question repeats the words of a question and answers nothing.
_NO_STATEMENT_FACTOR = 0.4
_MIN_STATEMENT_TERMS = 3
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[=~^*+-]{3,}[ \t]*\Z|\.\.[ \t])")
_SIGNATURE = re.compile(
    r"[ \t]*(?:async[ \t]+def|def|class|func|fn|pub[ \t]+fn|function|struct|interface|enum|impl|type)[ \t]+\w"
)
_DOCSTRING = re.compile(r"[ \t]*(?:\"\"\"|\'\'\')")


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """An answer made of verbatim pieces; `deltas` joined are `text`."""

    text: str
    deltas: tuple[str, ...]
    citations: tuple[Citation, ...]
    sentences: tuple[SentenceSupport, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A candidate: `passages[passage_index].text[start:end]`, and the signature that encloses it, if it is code."""

    passage_index: int
    start: int
    end: int
    terms: frozenset[str]
    context: frozenset[str]
    factor: float
    signature: tuple[int, int] | None = None


def extract_answer(question: str, passages: Sequence[Passage]) -> ExtractedAnswer:
    """Return the one to three pieces of `passages` (best first) that hold most of the question, best piece first.

    When none holds any of it, the beginning of the best passage stands in. Empty only when every passage is blank. The
    result depends on the arguments alone.
    """
    read = passages[:_MAX_PASSAGES]
    terms = content_terms(question)
    evidence = Evidence(read)
    pieces: list[_Piece] = []
    for index, passage in enumerate(read):
        if passage.kind is ContentKind.DOCS:
            pieces.extend(_sentence_pieces(index, passage))
        elif window := evidence.best_window(terms, {index}):
            pieces.append(_code_piece(passage, window))
    return _assemble(_choose(terms, pieces, evidence, read), read)


def _context(passage: Passage) -> frozenset[str]:
    return content_terms(" ".join((passage.path, *passage.breadcrumbs)))


def _sentence_pieces(index: int, passage: Passage) -> Iterator[_Piece]:
    context = _context(passage)
    rank_factor = 1 / (1 + _RANK_DISCOUNT * index)
    for start, end in _short_spans(passage.text):
        text = passage.text[start:end]
        terms = content_terms(text)
        states = not (_HEADING.match(text) or text.endswith(("?", ":"))) and len(terms) >= _MIN_STATEMENT_TERMS
        yield _Piece(index, start, end, terms, context, rank_factor * (1 if states else _NO_STATEMENT_FACTOR))


def _short_spans(text: str) -> Iterator[tuple[int, int]]:
    for start, end in _joined_commands(text, split_sentences(text)):
        if end - start <= _MAX_PIECE_CHARS:
            yield start, end
            continue
        for line_start, line_end in line_spans(text[start:end]):
            if line_start < line_end:
                yield start + line_start, start + min(line_end, line_start + _MAX_PIECE_CHARS)


def _joined_commands(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join the lines of a command that goes on after a backslash."""
    begin: int | None = None
    for start, end in spans:
        begin = start if begin is None else begin
        if not text.endswith("\\", start, end):
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, spans[-1][1]


def _code_piece(passage: Passage, window: Window) -> _Piece:
    text = passage.text
    spans = line_spans(text)
    last_line = window.last_line
    if (
        last_line + 1 < len(spans)
        and _SIGNATURE.match(text, *spans[last_line])
        and _DOCSTRING.match(text, *spans[last_line + 1])
    ):
        last_line += 1
    start, end = spans[window.first_line][0], spans[last_line][1]
    return _Piece(
        window.passage_index,
        start,
        min(end, start + _MAX_PIECE_CHARS),
        window.covered,
        _context(passage),
        1 / (1 + _RANK_DISCOUNT * window.passage_index),
        _enclosing_signature(text, spans, window.first_line),
    )


def _enclosing_signature(text: str, spans: list[tuple[int, int]], line: int) -> tuple[int, int] | None:
    """Return the nearest line above that is indented less and begins a function or type; None if `line` begins one."""
    if _SIGNATURE.match(text, *spans[line]):
        return None
    indent = _indent(text, spans[line])
    for start, end in reversed(spans[:line]):
        if start < end and _indent(text, (start, end)) < indent and _SIGNATURE.match(text, start, end):
            return start, min(end, start + _MAX_PIECE_CHARS)
    return None


def _indent(text: str, span: tuple[int, int]) -> int:
    line = text[span[0] : span[1]]
    return len(line) - len(line.lstrip(" \t"))


def _choose(
    terms: frozenset[str], pieces: Sequence[_Piece], evidence: Evidence, passages: Sequence[Passage]
) -> list[_Piece]:
    weights = {term: evidence.weight((term,)) for term in terms}
    total = sum(weights.values())

    def share(held: frozenset[str]) -> float:
        return sum(weights[term] for term in held) / total if total else 0.0

    chosen: list[_Piece] = []
    missing = terms
    while len(chosen) < _MAX_PIECES:
        best: _Piece | None = None
        best_score = _MIN_FURTHER_COVERAGE if chosen else 0.0
        for piece in pieces:
            context = (piece.context - piece.terms) & missing
            score = share(piece.terms & missing) * piece.factor
            if not chosen:
                score += _CONTEXT_SHARE * share(context) * piece.factor
            if score > best_score + 1e-9 and not any(_overlap(piece, other, passages) for other in chosen):
                best, best_score = piece, score
        if best is None:
            break
        chosen.append(best)
        missing -= best.terms | best.context
    return chosen or _first_words(passages)


def _overlap(one: _Piece, other: _Piece, passages: Sequence[Passage]) -> bool:
    first, second = passages[one.passage_index], passages[other.passage_index]
    return (
        first.document_id == second.document_id
        and first.start_char + one.start < second.start_char + other.end
        and second.start_char + other.start < first.start_char + one.end
    )


def _first_words(passages: Sequence[Passage]) -> list[_Piece]:
    for index, passage in enumerate(passages):
        for start, end in _short_spans(passage.text):
            return [_Piece(index, start, end, frozenset(), frozenset(), 1.0)]
    return []


def _assemble(pieces: Sequence[_Piece], passages: Sequence[Passage]) -> ExtractedAnswer:
    text = ""
    deltas: list[str] = []
    citations: list[Citation] = []
    sentences: list[SentenceSupport] = []
    for piece in pieces:
        passage = passages[piece.passage_index]
        for start, end in filter(None, (piece.signature, (piece.start, piece.end))):
            citation = cite(passage, _line_window(piece.passage_index, passage.text, start, end))
            if citation in citations:  # the signature that two pieces share
                continue
            delta = ("\n" if text else "") + passage.text[start:end]
            text += delta
            deltas.append(delta)
            sentences.append(SentenceSupport(len(text) - (end - start), len(text), True, (len(citations),)))
            citations.append(citation)
    return ExtractedAnswer(text, tuple(deltas), tuple(citations), tuple(sentences))


def _line_window(passage_index: int, text: str, start: int, end: int) -> Window:
    spans = line_spans(text)
    starts = [span[0] for span in spans]
    first_line, last_line = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
    return Window(passage_index, first_line, last_line, spans[first_line][0], spans[last_line][1], frozenset())
