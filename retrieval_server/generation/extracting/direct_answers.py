"""Answers that no job makes: extractive ones, and those that are skipped because the corpus does not hold them."""

from collections.abc import Iterator

from retrieval_server.errors import Reason
from retrieval_server.generation.answers.answer_model import (
    AnswerMode,
    AnswerState,
    Delta,
    Event,
    Generator,
    Restarted,
    Result,
    Retrieved,
)
from retrieval_server.generation.extracting.extractive import extract_answer
from retrieval_server.model import SkippedReason

EXTRACTIVE_MODEL = "extractive"


def skipped_events(
    question: str, retrieved: Retrieved, reason: SkippedReason, missing_words: tuple[str, ...] = ()
) -> tuple[Event, ...]:
    """Return the events of an answer that was not attempted."""
    result = Result(
        retrieved, AnswerState.SKIPPED, skipped_reason=reason, question=question, missing_words=missing_words
    )
    return _numbered(retrieved, result)


def extractive_events(
    question: str, retrieved: Retrieved, fallback_reason: Reason.ValueType | None
) -> tuple[Event, ...]:
    """Return the events of an extractive answer; `fallback_reason` is None when it was asked for."""
    return _numbered(retrieved, *extractive_contents(question, retrieved, fallback_reason, attempt_count=1))


def extractive_contents(
    question: str, retrieved: Retrieved, fallback_reason: Reason.ValueType | None, attempt_count: int
) -> Iterator[Delta | Result]:
    """Yield the deltas and the result of an extractive answer; SKIPPED when there is nothing to extract."""
    extracted = extract_answer(question, retrieved.passages)
    if not extracted.text:
        yield Result(retrieved, AnswerState.SKIPPED, skipped_reason=SkippedReason.NO_PASSAGES, question=question)
        return
    yield from map(Delta, extracted.deltas)
    yield Result(
        retrieved,
        AnswerState.ANSWERED,
        text=extracted.text,
        citations=extracted.citations,
        sentences=extracted.sentences,
        generator=Generator(EXTRACTIVE_MODEL, AnswerMode.EXTRACTIVE, fallback_reason),
        attempt_count=attempt_count,
        question=question,
    )


def _numbered(*contents: Retrieved | Delta | Restarted | Result) -> tuple[Event, ...]:
    return tuple(Event(sequence, content) for sequence, content in enumerate(contents, start=1))
