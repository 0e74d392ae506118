"""The check of a generated answer: which passage lines back each sentence, and which sentences nothing backs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from retrieval_server.generation.answer_model import Citation, SentenceSupport
from retrieval_server.generation.claims import MARKER, Claims, HeldWords, are_held
from retrieval_server.generation.evidence import Evidence, Window, content_terms
from retrieval_server.generation.sentences import split_sentences
from retrieval_server.model import Passage

# Share of a sentence's idf weight that the cited lines must hold.
_MIN_COVERAGE = 0.5
# A second or third source is cited only when it adds this share.
_MIN_FURTHER_COVERAGE = 0.2
_MAX_CITATIONS_A_SENTENCE = 3
# One word in common proves nothing.
_MIN_SENTENCE_TERMS = 2
# Share of the sentences' characters that must be supported: an answer most of which nothing backs misleads.
_MIN_SUPPORTED = 1 / 2
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


def check_answer(text: str, passages: Sequence[Passage], left_out: Collection[int] = ()) -> CheckedAnswer:
    """Find for each sentence the lines of `passages` that back it; those in `left_out`, by index, do not count.

    A sentence is supported when the cited lines hold enough of its terms and each of its identifiers and numbers stands
    in a cited passage. The answer is acceptable when a third of it is supported and it does not go in circles. The
    verdict depends on the arguments alone.
    """
    evidence = Evidence(passages, left_out)
    held = [HeldWords(passage) for passage in passages]
    citations: list[Citation] = []
    sentences: list[SentenceSupport] = []
    for start, end in split_sentences(text):
        sentence = text[start:end]
        windows = _backing(sentence, evidence, len(passages), left_out)
        if not are_held(Claims(sentence), (held[window.passage_index] for window in windows)):
            windows = []
        indexes = tuple(_index_of(citations, cite(passages[w.passage_index], w)) for w in windows)
        sentences.append(SentenceSupport(start, end, bool(indexes), tuple(dict.fromkeys(indexes))))
    sentence_chars = sum(sentence.end_char - sentence.start_char for sentence in sentences)
    supported_chars = sum(sentence.end_char - sentence.start_char for sentence in sentences if sentence.supported)
    acceptable = bool(sentences) and supported_chars >= _MIN_SUPPORTED * sentence_chars and not _goes_in_circles(text)
    return CheckedAnswer(tuple(citations), tuple(sentences), acceptable)


def cite(passage: Passage, window: Window) -> Citation:
    """Return the citation of a window of `passage`."""
    return Citation(
        path=passage.path,
        start_char=passage.start_char + window.start,
        end_char=passage.start_char + window.end,
        start_line=passage.start_line + window.first_line,
        end_line=passage.start_line + window.last_line,
        text=passage.text[window.start : window.end],
        passage_index=window.passage_index,
    )


def _backing(sentence: str, evidence: Evidence, passage_count: int, left_out: Collection[int]) -> list[Window]:
    """Return the windows that together hold enough of the sentence, best first; none when nothing does."""
    terms = evidence.checkable(content_terms(MARKER.sub(" ", sentence)))
    total = evidence.weight(terms)
    if len(terms) < _MIN_SENTENCE_TERMS or sentence.endswith("?"):  # a question states nothing
        return []
    marked = _marked_passages(sentence, passage_count) - set(left_out)
    first = evidence.best_window(terms, marked) if marked else None
    if first is None or evidence.weight(first.covered) < _MIN_COVERAGE * total:
        first = evidence.best_window(terms)
    windows: list[Window] = []
    missing = terms
    window = first
    while window and len(windows) < _MAX_CITATIONS_A_SENTENCE:
        if windows and evidence.weight(window.covered) < _MIN_FURTHER_COVERAGE * total:
            break
        windows.append(window)
        missing -= window.covered
        window = evidence.best_window(missing)
    return windows if total - evidence.weight(missing) >= _MIN_COVERAGE * total else []


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
