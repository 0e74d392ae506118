"""Condensing by a model over the real queue: it takes its turn, ends once, and leaves nothing behind."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from generation_worker.consumer import Consumer
from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending
from groundwire.queue.liveness import report_alive
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import AnswerMode
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from retrieval_server.generation.questions.condensing import CondensingMethod
from retrieval_server.settings import ServerSettings
from tests.generation_worker.harness import eventually, make_queue, next_job, put
from tests.retrieval_server.generation.answering.condensing_support import ASKED, CONDENSED
from tests.retrieval_server.generation.answering.support import GOOD, OPTIONS, Corpus
from tests.support.valkey import Valkey, free_port

GENERATOR = answer_pb2.GeneratorInfo(model="fake-135m", mode=answer_pb2.ANSWER_MODE_STUFF)
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED, generator=GENERATOR, generator_identity="fake")
WORKER = job_pb2.WorkerRecord(model="fake-135m", generator_identity="fake")
# From the beginning of an answer, which is made of the question.
GOES_ON = ("30 ", "seconds.")
EXTRACTIVE = replace(ASKED, options=replace(OPTIONS, mode=AnswerMode.EXTRACTIVE))


@pytest.fixture
async def queue(own_valkey: Valkey) -> AsyncIterator[AnswerQueue]:
    """A queue with a cache of answers, too."""
    opened = make_queue(own_valkey.url, max_depth=4, cache_ttl_s=60.0)
    yield opened
    await opened.close()


@pytest.fixture
async def answering(queue: AnswerQueue, redis: Redis) -> AsyncIterator[Answering]:
    await report_alive(redis, "w1", WORKER)
    answering = Answering(Corpus().retrieve, queue, ServerSettings(condensing_timeout_s=20.0))
    yield answering
    await answering.close()


async def work(consumer: Consumer, *deltas: str) -> job_pb2.GenerationJob:
    job = await next_job(consumer)
    await job.started(job_pb2.JobStarted(worker_id="w1", model="fake-135m"))
    for delta in deltas:
        await job.delta(delta)
    await job.end(FINISHED)
    return job.job


async def nothing_is_left(queue: AnswerQueue, redis: Redis) -> None:
    """No job waits or runs, and what is known of those that ended expires."""

    async def is_idle() -> bool:
        stats = await queue.stats()
        return stats.waiting_count == stats.running_count == 0

    await eventually(is_idle, timeout_s=60, what="an empty queue")
    kept = [key async for key in redis.scan_iter("gw:*:job:*")] + [
        key async for key in redis.scan_iter("gw:*:events:*")
    ]
    assert all([0 < await redis.ttl(key) <= 61 for key in kept])
    assert not [key async for key in redis.scan_iter("gw:*:line:*")]


async def test_a_model_s_question_and_its_answer_are_two_jobs_that_end_and_expire(
    answering: Answering, queue: AnswerQueue, redis: Redis, make_consumer: Callable[..., Consumer]
) -> None:
    consumer = make_consumer()

    async def work_twice() -> list[job_pb2.GenerationJob]:
        return [await work(consumer, CONDENSED), await work(consumer, *GOOD)]

    result, (condensing, answered) = await asyncio.gather(answering.answer(ASKED), work_twice())
    assert result.question == answered.question == CONDENSED
    assert result.retrieved.condensing.method is CondensingMethod.MODEL
    assert condensing.caller == answered.caller
    await nothing_is_left(queue, redis)


async def test_an_equal_question_shares_its_answer_however_it_was_condensed_and_no_follow_up_another_s(
    answering: Answering, make_consumer: Callable[..., Consumer]
) -> None:
    consumer = make_consumer()

    async def work_on(*texts: tuple[str, ...]) -> None:
        for text in texts:
            await work(consumer, *text)

    first, _ = await asyncio.gather(answering.answer(ASKED), work_on((CONDENSED,), GOES_ON))
    assert first.generator is not None
    assert not first.generator.from_cache
    typed = replace(ASKED, for_model=None, retrieve=replace(ASKED.retrieve, query=CONDENSED), request_id="q-2")
    as_typed = await answering.answer(typed)
    assert as_typed.generator is not None
    assert as_typed.generator.from_cache
    again, _ = await asyncio.gather(answering.answer(replace(ASKED, request_id="q-3")), work_on((CONDENSED,)))
    assert again.generator is not None
    assert again.generator.from_cache
    other = "What is the default of the request timeout by a number of seconds?"
    another, _ = await asyncio.gather(answering.answer(replace(ASKED, request_id="q-4")), work_on((other,), GOES_ON))
    assert another.question == other
    assert another.generator is not None
    assert not another.generator.from_cache


async def test_a_queue_that_is_full_is_no_error_and_the_model_is_not_asked(
    answering: Answering, queue: AnswerQueue, redis: Redis
) -> None:
    for number in range(4):
        await put(queue, f"j{number}")
    result = await answering.answer(EXTRACTIVE)
    assert result.text
    assert result.retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_QUEUE_FULL
    for number in range(4):
        await queue.cancel(f"j{number}")
    await nothing_is_left(queue, redis)


async def test_a_worker_that_never_comes_or_dies_costs_the_limit_and_no_more(
    answering: Answering, queue: AnswerQueue, redis: Redis, make_consumer: Callable[..., Consumer]
) -> None:
    hurried = Answering(Corpus().retrieve, queue, ServerSettings(condensing_timeout_s=0.2))
    result = await hurried.answer(EXTRACTIVE)
    assert result.retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED

    async def take() -> object:
        job = await next_job(make_consumer())
        await job.started(job_pb2.JobStarted(worker_id="w1", model="fake-135m"))
        return job

    # A quarter of its time: enough to be taken by a worker on a busy machine.
    held = replace(EXTRACTIVE, request_id="q-2", options=replace(EXTRACTIVE.options, timeout_s=8.0))
    result, job = await asyncio.gather(answering.answer(held), take())
    assert result.retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED
    assert result.text
    await asyncio.gather(answering.close(), hurried.close())
    await nothing_is_left(queue, redis)
    # Whoever held it comes too late: it has ended, once.
    assert (await job.delta("What?")).value == "lost"  # type: ignore[attr-defined]


async def test_a_caller_that_leaves_ends_the_job_wherever_it_is(
    answering: Answering, queue: AnswerQueue, redis: Redis
) -> None:
    for steps in range(0, 60, 3):
        call = asyncio.create_task(answering.answer(replace(ASKED, request_id=f"c-{steps}")))
        for _ in range(steps):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    await answering.close()
    await nothing_is_left(queue, redis)


async def test_without_redis_the_rule_does_it_and_the_answer_is_extractive() -> None:
    queue = make_queue(f"redis://127.0.0.1:{free_port()}/0")
    answering = Answering(Corpus().retrieve, queue, ServerSettings())
    result = await answering.answer(ASKED)
    assert result.retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE
    assert result.text
    await queue.close()


async def test_a_flush_while_the_model_works_is_a_lost_job(
    answering: Answering, redis: Redis, make_consumer: Callable[..., Consumer]
) -> None:

    async def flush() -> None:
        await next_job(make_consumer())
        await redis.flushall()

    result, _ = await asyncio.gather(answering.answer(EXTRACTIVE), flush())
    assert result.retrieved.condensing.fallback_reason == error_pb2.ERROR_REASON_JOB_LOST
