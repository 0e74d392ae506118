"""The check of a generated answer: which passage lines back each sentence, and which sentences nothing backs."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from retrieval_server.generation.answers.answer_model import DEFAULT_MIN_SUPPORTED, Citation, SentenceSupport
from retrieval_server.generation.text.claims import MARKER, Claims, HeldWords, are_held, holds_value
from retrieval_server.generation.text.durations import misses_duration
from retrieval_server.generation.text.evidence import Evidence, Window, content_terms
from retrieval_server.generation.text.sentences import split_sentences
from retrieval_server.generation.text.values import StatedValue
from retrieval_server.model import Passage

# Share of a sentence's idf weight that the cited lines must hold.
_MIN_COVERAGE = 0.5
# Of a sentence that also restates the question, whose words the source need not use.
_MIN_RESTATED_COVERAGE = 0.4
# Share of the question's weight that must stand within a line of a number that answers it.
_MIN_NEAR_SHARE = 0.15
# A second or third source is cited only when it adds this share.
_MIN_FURTHER_COVERAGE = 0.2
_MAX_CITATIONS_A_SENTENCE = 3
# One word in common proves nothing.
_MIN_SENTENCE_TERMS = 2
_QUOTES = "\"'`"
# A text is degenerate when most of its runs of characters have been seen before, as in a loop of one phrase.
_RUN_CHARS = 8
_MIN_LOOP_CHARS = 120
_MIN_DISTINCT_RUNS = 0.34


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """The verdict on an answer's text."""

    citations: tuple[Citation, ...]
    sentences: tuple[SentenceSupport, ...]
    acceptable: bool


def check_answer(
    text: str,
    passages: Sequence[Passage],
    left_out: Collection[int] = (),
    *,
    question: str = "",
    stated: Sequence[StatedValue] = (),
    min_supported: float = DEFAULT_MIN_SUPPORTED,
) -> CheckedAnswer:
    """Find for each sentence the lines of `passages` that back it; those in `left_out`, by index, do not count.

    A sentence is supported when it says something that `question` does not, the cited lines hold enough of that and of
    the whole, each identifier and number that it adds stands in the cited lines, and each other one in a cited passage.
    `stated` are values that code states of what is asked: the sentence that holds them all is supported by those lines,
    and an answer without such a sentence contradicts them. The answer is acceptable when it does not, tells a time if
    one is asked for, `min_supported` of its characters are supported and it does not go in circles. The verdict depends
    on the arguments alone.
    """
    evidence = Evidence(passages, left_out)
    held = [HeldWords.of_passage(passage) for passage in passages]
    asked = _Asked(content_terms(question), Claims(question))
    citations: list[Citation] = []
    sentences: list[SentenceSupport] = []
    said: set[str] = set()
    for start, end in split_sentences(text):
        sentence = text[start:end]
        if sentence.casefold() in said:  # saying it again adds nothing
            sentences.append(SentenceSupport(start, end, False, ()))
            continue
        said.add(sentence.casefold())
        windows = _stating(sentence, stated, evidence) or _backing(sentence, evidence, len(passages), left_out, asked)
        if not _claims_stand(Claims(sentence), asked, windows, passages, held, evidence):
            windows = []
        indexes = tuple(_index_of(citations, cite(passages[w.passage_index], w)) for w in windows)
        sentences.append(SentenceSupport(start, end, bool(indexes), tuple(dict.fromkeys(indexes))))
    sentence_chars = sum(sentence.end_char - sentence.start_char for sentence in sentences)
    supported_chars = sum(sentence.end_char - sentence.start_char for sentence in sentences if sentence.supported)
    agrees = not stated or any(_holds_all(text[one.start_char : one.end_char], stated) for one in sentences)
    agrees = agrees and not misses_duration(question, text)
    acceptable = (
        bool(sentences) and agrees and supported_chars >= min_supported * sentence_chars and not _goes_in_circles(text)
    )
    return CheckedAnswer(tuple(citations), tuple(sentences), acceptable)


def cite(passage: Passage, window: Window) -> Citation:
    """Return the citation of a window of `passage`: of all its origin if it is derived and has no offsets."""
    if passage.is_derived:
        return Citation(
            path=passage.path,
            start_char=passage.start_char,
            end_char=passage.end_char,
            start_line=passage.start_line,
            end_line=passage.end_line,
            text=passage.origin_text,
            passage_index=window.passage_index,
        )
    return Citation(
        path=passage.path,
        start_char=passage.start_char + window.start,
        end_char=passage.start_char + window.end,
        start_line=passage.start_line + window.first_line,
        end_line=passage.start_line + window.last_line,
        text=passage.text[window.start : window.end],
        passage_index=window.passage_index,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the question says by itself: repeating it proves nothing."""

    terms: frozenset[str]
    claims: Claims


def _holds_all(sentence: str, stated: Sequence[StatedValue]) -> bool:
    return all(
        re.search(rf"(?<![\w.]){re.escape(one.value.strip(_QUOTES))}(?![\w.]*\w)", sentence, re.IGNORECASE)
        for one in stated
    )


def _stating(sentence: str, stated: Sequence[StatedValue], evidence: Evidence) -> list[Window]:
    """Return the lines that state the values, if the sentence tells them."""
    if not stated or not _holds_all(sentence, stated):
        return []
    return [evidence.span_window(one.passage_index, one.start, one.end) for one in stated]


def _claims_stand(
    claims: Claims,
    asked: _Asked,
    windows: Sequence[Window],
    passages: Sequence[Passage],
    held: Sequence[HeldWords],
    evidence: Evidence,
) -> bool:
    cited = [
        HeldWords.of_passage(
            replace(passages[window.passage_index], text=passages[window.passage_index].text[window.start : window.end])
        )
        for window in windows
    ]
    added = claims.without(asked.claims)
    return (
        are_held(added, cited)
        and are_held(claims, (held[window.passage_index] for window in windows))
        and all(_stands_near(value, asked, windows, passages, evidence) for value in added.values())
    )


def _stands_near(
    value: str, asked: _Asked, windows: Sequence[Window], passages: Sequence[Passage], evidence: Evidence
) -> bool:
    """Tell whether a number or literal stands in a cited line at what is asked for: many lines hold a 4 or a None."""
    least = _MIN_NEAR_SHARE * evidence.weight(asked.terms)
    for window in windows:
        lines = passages[window.passage_index].text[window.start : window.end].split("\n")
        for place, line in enumerate(lines):
            if holds_value(line, value):
                around = content_terms("\n".join(lines[max(place - 1, 0) : place + 2]))
                if evidence.weight(asked.terms & around) >= least:
                    return True
    return False


def _backing(
    sentence: str, evidence: Evidence, passage_count: int, left_out: Collection[int], asked: _Asked
) -> list[Window]:
    """Return the windows that together hold enough of the sentence, best first; none when nothing does."""
    claims = Claims(sentence)
    terms = evidence.checkable(content_terms(MARKER.sub(" ", sentence)))
    total = evidence.weight(terms)
    added = terms - asked.terms
    states = added or claims.without(asked.claims)
    if len(terms) < _MIN_SENTENCE_TERMS or not states or sentence.endswith(("?", ":")):
        return []
    # Numbers and literals carry an answer, yet are no terms, or light ones.
    sought = terms | ((claims.words | claims.numbers) - asked.claims.words - asked.claims.numbers)
    decisive = sought - asked.terms if asked.terms else frozenset[str]()
    marked = _marked_passages(sentence, passage_count) - set(left_out)
    first = evidence.best_window(sought, marked, decisive=decisive) if marked else None
    if first is None or evidence.weight(first.covered & terms) < _MIN_COVERAGE * total:
        first = evidence.best_window(sought, decisive=decisive)
    windows: list[Window] = []
    missing = sought
    window = first
    while window and len(windows) < _MAX_CITATIONS_A_SENTENCE:
        if windows and evidence.weight(window.covered) < _MIN_FURTHER_COVERAGE * total:
            break
        windows.append(window)
        missing -= window.covered
        window = evidence.best_window(missing)
    lacking = evidence.weight(missing & terms)
    is_backed = total - lacking >= (_MIN_COVERAGE if not asked.terms else _MIN_RESTATED_COVERAGE) * total
    added_weight = evidence.weight(added)
    is_added_backed = added_weight - evidence.weight(missing & added) >= _MIN_COVERAGE * added_weight
    return windows if is_backed and is_added_backed else []


def _marked_passages(sentence: str, passage_count: int) -> set[int]:
    numbers = (int(number) for marker in MARKER.finditer(sentence) for number in marker.group(1).split(","))
    return {number - 1 for number in numbers if 1 <= number <= passage_count}


def _index_of(citations: list[Citation], citation: Citation) -> int:
    """Return the place of `citation`, adding it when its span is not cited yet (overlapping passages share lines)."""
    for index, known in enumerate(citations):
        if replace(known, passage_index=citation.passage_index) == citation:
            return index
    citations.append(citation)
    return len(citations) - 1


def _goes_in_circles(text: str) -> bool:
    compact = " ".join(text.split())
    if len(compact) < _MIN_LOOP_CHARS:
        return False
    run_count = len(compact) - _RUN_CHARS + 1
    return len({compact[i : i + _RUN_CHARS] for i in range(run_count)}) < _MIN_DISTINCT_RUNS * run_count
