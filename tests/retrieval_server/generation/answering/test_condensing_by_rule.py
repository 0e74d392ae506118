"""The rules condense a question wherever a model that was asked to brings nothing, and no error comes of it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.errors import Overloaded, Unavailable
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import AnswerMode, Priority, Question
from retrieval_server.generation.questions.condensing import MAX_TYPED_CHARS, CondensingMethod
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.generation.answering.condensing_support import (
    ASKED,
    CONDENSED,
    TALK,
    asked_of,
    by_rule,
)
from tests.retrieval_server.generation.answering.support import (
    GOOD,
    JOB_ID,
    OPTIONS,
    QUESTION,
    Corpus,
)
from tests.retrieval_server.generation.fake_queue import FakeQueue


def as_batch(question: Question) -> Question:
    return replace(question, options=replace(question.options, priority=Priority.BATCH))


@pytest.mark.parametrize(
    "text",
    ["It is 30 seconds.", "What is the password?", "And its default?", "What is\nthe default of the request timeout?"],
)
async def test_what_does_not_count_is_made_by_rule_and_told_why(
    answering: Answering, queue: FakeQueue, text: str
) -> None:
    result = await asked_of(answering, queue, ASKED, text)
    assert result.question == QUESTION.retrieve.query
    how = result.retrieved.condensing
    assert (how.method, how.fallback_reason) == (CondensingMethod.RULE, error_pb2.ERROR_REASON_GENERATION_FAILED)
    assert how.fallback_message.startswith("The model")


async def test_a_long_text_is_not_even_sent(answering: Answering, queue: FakeQueue) -> None:
    long = replace(ASKED, for_model=replace(TALK, typed="word " * MAX_TYPED_CHARS))
    how = await by_rule(answering, queue, long)
    assert how.fallback_reason == error_pb2.ERROR_REASON_LIMIT_EXCEEDED
    assert queue.enqueued_count == 1


async def test_a_full_queue_or_none_is_no_error(
    answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Overloaded(error_pb2.ERROR_REASON_QUEUE_FULL, "full", retry_after_s=0.01)
    away = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "away")
    enqueue: Callable[..., Awaitable[None]] = queue.enqueue
    for number, refusal in enumerate((full, away)):

        async def refuse(job: job_pb2.GenerationJob, *rest: object, refusal: Exception = refusal) -> None:
            if job.HasField("condensing"):
                raise refusal
            await enqueue(job, *rest)

        monkeypatch.setattr(queue, "enqueue", refuse)
        how = await by_rule(answering, queue, replace(ASKED, request_id=f"f-{number}"))
        assert how.fallback_reason == refusal.reason


async def test_an_item_of_a_batch_waits_for_room_and_for_its_turn(
    answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueue: Callable[..., Awaitable[None]] = queue.enqueue
    refusals = iter([Overloaded(error_pb2.ERROR_REASON_QUEUE_FULL, "full", retry_after_s=0.01)] * 3)

    async def refuse(job: job_pb2.GenerationJob, *rest: object) -> None:
        for refusal in refusals:
            raise refusal
        await enqueue(job, *rest)

    monkeypatch.setattr(queue, "enqueue", refuse)
    result = await asked_of(answering, queue, as_batch(ASKED), CONDENSED)
    assert result.question == CONDENSED
    assert [job.priority for job in queue.jobs.values()] == [answer_pb2.ANSWER_PRIORITY_BATCH] * 2


@pytest.mark.parametrize("extractive", [False, True])
async def test_without_workers_the_rule_does_it_at_once(
    answering: Answering, queue: FakeQueue, *, extractive: bool
) -> None:
    queue.worker_is_alive = False
    mode = AnswerMode.EXTRACTIVE if extractive else AnswerMode.STUFF
    result = await answering.answer(replace(ASKED, options=replace(OPTIONS, mode=mode)))
    assert result.retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_NO_WORKER
    assert queue.enqueued_count == 0


async def test_a_model_that_takes_too_long_is_cancelled_and_its_time_is_taken_from_the_answer_s(
    queue: FakeQueue, corpus: Corpus
) -> None:
    answering = Answering(corpus.retrieve, queue, ServerSettings(condensing_timeout_s=0.2))
    answer = asyncio.create_task(answering.answer(ASKED))
    condensing = await queue.next_job()
    await queue.start(condensing.job_id)
    await queue.answer(*GOOD)
    result = await answer
    assert result.question == QUESTION.retrieve.query
    assert result.retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED
    await answering.close()
    assert queue.cancelled == [condensing.job_id]
    answered = queue.jobs[JOB_ID]
    # Its own 30 s began when the question came, not when it was condensed.
    assert answered.deadline.ToMilliseconds() - condensing.deadline.ToMilliseconds() < (30.0 - 0.2) * 1000 + 50


async def test_no_more_than_a_quarter_of_the_answer_s_time_is_waited(answering: Answering, queue: FakeQueue) -> None:
    short = replace(ASKED, options=replace(OPTIONS, timeout_s=0.4))
    answer = asyncio.create_task(answering.answer(short))
    condensing = await queue.next_job()
    await queue.start(condensing.job_id)
    await queue.answer(*GOOD)
    how = (await answer).retrieved.condensing
    assert how.fallback_message == "The model took more than 0.1 s."


@pytest.mark.parametrize(
    ("outcome", "reason", "told"),
    [
        (job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_JOB_LOST, error_pb2.ERROR_REASON_JOB_LOST),
        (job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_NO_WORKER, error_pb2.ERROR_REASON_NO_WORKER),
        (
            job_pb2.JOB_OUTCOME_FAILED,
            error_pb2.ERROR_REASON_GENERATION_FAILED,
            error_pb2.ERROR_REASON_GENERATION_FAILED,
        ),
        (
            job_pb2.JOB_OUTCOME_DEAD_LETTER,
            error_pb2.ERROR_REASON_JOB_DEAD_LETTERED,
            error_pb2.ERROR_REASON_JOB_DEAD_LETTERED,
        ),
        (
            job_pb2.JOB_OUTCOME_CANCELLED,
            error_pb2.ERROR_REASON_JOB_CANCELLED,
            error_pb2.ERROR_REASON_JOB_CANCELLED,
        ),
        (
            job_pb2.JOB_OUTCOME_EXPIRED,
            error_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
            error_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
        ),
    ],
)
async def test_however_the_model_s_job_ends_the_question_is_answered(
    answering: Answering,
    queue: FakeQueue,
    outcome: job_pb2.JobOutcome.ValueType,
    reason: error_pb2.ErrorReason.ValueType,
    told: error_pb2.ErrorReason.ValueType,
) -> None:
    answer = asyncio.create_task(answering.answer(ASKED))
    condensing = await queue.next_job()
    await queue.start(condensing.job_id)
    await queue.end(condensing.job_id, outcome, reason=reason)
    await queue.answer(*GOOD)
    result = await answer
    assert result.text == "".join(GOOD)
    assert result.retrieved.condensing.fallback_reason == told


async def test_a_flush_while_the_model_works_is_no_error(answering: Answering, queue: FakeQueue) -> None:
    answer = asyncio.create_task(answering.answer(ASKED))
    condensing = await queue.next_job()
    await queue.start(condensing.job_id)
    await queue.wait_until_followed_to(2)
    await queue.flush()
    await queue.answer(*GOOD)
    assert (await answer).retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_JOB_LOST
