"""Questions, a corpus and checks for the tests of Answering."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from retrieval_server.errors import InvalidRequest
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import (
    AnswerMode,
    AnswerOptions,
    AnswerState,
    Delta,
    Event,
    Fallback,
    OnDisconnect,
    Question,
    Restarted,
    Result,
    Retrieved,
)
from retrieval_server.generation.jobs.answer_jobs import answer_job_id
from retrieval_server.model import Passage, RetrieveQuery, RetrieveResult, SkippedReason
from tests.retrieval_server.generation.documents import whole
from tests.retrieval_server.generation.fake_queue import FakeQueue

PASSAGES = (
    whole("# Timeouts\n\nThe default request timeout is 30 seconds.\n", path="docs/a.md"),
    whole("Retries use exponential backoff, at most 5 attempts.\n", path="docs/b.md"),
)
GOOD = ("The default request ", "timeout is 30 seconds.")
BAD = ("Bananas ripen ", "in 9 days.")
OPTIONS = AnswerOptions(
    mode=AnswerMode.STUFF,
    fallback=Fallback.EXTRACTIVE,
    on_disconnect=OnDisconnect.CANCEL,
    max_completion_tokens=64,
    max_prompt_tokens=2048,
    answer_anyway=False,
    timeout_s=30.0,
)
QUESTION = Question(RetrieveQuery("default request timeout"), OPTIONS, "q-1", b"hash", id_is_callers=True)
JOB_ID = answer_job_id("q-1")


def asking(**options: object) -> Question:
    return replace(QUESTION, options=replace(OPTIONS, **options))


class Corpus:
    """Retrieval that finds what it is told to."""

    broken_query = "a query that finds a fault"

    def __init__(self) -> None:
        self.passages: tuple[Passage, ...] = PASSAGES
        self.skipped_reason: SkippedReason | None = None
        self.error: InvalidRequest | None = None
        self.call_count = 0

    async def retrieve(self, query: RetrieveQuery) -> RetrieveResult:
        self.call_count += 1
        if query.query == self.broken_query:
            raise ZeroDivisionError
        if self.error is not None:
            raise self.error
        return RetrieveResult(self.passages[: query.k], 7, 3, 1.0, 0.9, self.skipped_reason, 0.001)


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    collected = [event async for event in events]
    check_stream(collected)
    return collected


def check_stream(events: list[Event], after_sequence: int = 0) -> None:
    """What holds of every stream that ends well."""
    assert isinstance(events[-1].content, Result)
    assert sum(isinstance(event.content, Result) for event in events) == 1
    sequences = [event.sequence for event in events]
    assert sequences == sorted(set(sequences))
    if after_sequence == 0:
        assert isinstance(events[0].content, Retrieved)
        assert sum(isinstance(event.content, Retrieved) for event in events) == 1
        text = ""
        for event in events:
            text = "" if isinstance(event.content, Restarted) else text
            text += event.content.text if isinstance(event.content, Delta) else ""
        result = events[-1].content
        assert result.state is not AnswerState.ANSWERED or result.text == text


def kinds(events: list[Event]) -> list[str]:
    return [type(event.content).__name__ for event in events]


def result_of(events: list[Event]) -> Result:
    result = events[-1].content
    assert isinstance(result, Result)
    return result


async def ask(answering: Answering, queue: FakeQueue, question: Question, *deltas: str) -> list[Event]:
    events, _ = await asyncio.gather(collect(answering.stream(question)), queue.answer(*deltas))
    return events
