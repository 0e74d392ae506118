"""Answering over the real queue: what the fake one promises holds there too."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from generation_worker.consumer import Consumer
from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending
from groundwire.queue.liveness import report_alive
from groundwire.v1 import error_pb2
from retrieval_server.errors import Conflict, NotFound
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import AnswerState, Event, Fallback, OnDisconnect
from retrieval_server.generation.jobs import answer_jobs
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from retrieval_server.settings import ServerSettings
from tests.generation_worker.harness import eventually, make_queue, next_job
from tests.retrieval_server.generation.answering.support import (
    BAD,
    GOOD,
    JOB_ID,
    QUESTION,
    Corpus,
    asking,
    collect,
    kinds,
    result_of,
)
from tests.support.valkey import free_port

FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)


@pytest.fixture
async def answering(queue: AnswerQueue, redis: Redis) -> AsyncIterator[Answering]:
    await report_alive(redis, "w1", job_pb2.WorkerRecord(model="fake-135m"))
    answering = Answering(Corpus().retrieve, queue, ServerSettings())
    yield answering
    await answering.close()


async def work(consumer: Consumer, *deltas: str) -> None:
    job = await next_job(consumer)
    await job.started(job_pb2.JobStarted(worker_id="w1", model="fake-135m", prompt_tokens=5))
    for delta in deltas:
        await job.delta(delta)
    await job.end(FINISHED)


async def ask(answering: Answering, consumer: Consumer, *deltas: str) -> list[Event]:
    events, _ = await asyncio.gather(collect(answering.stream(QUESTION)), work(consumer, *deltas))
    return events


@pytest.mark.parametrize("deltas", [GOOD, BAD])
async def test_an_answer_streams_replays_attaches_and_conflicts(
    answering: Answering, make_consumer: Callable[..., Consumer], deltas: tuple[str, ...]
) -> None:
    events = await ask(answering, make_consumer(), *deltas)
    assert result_of(events).state is AnswerState.ANSWERED
    assert await collect(answering.stream(QUESTION)) == events
    for after in (0, events[1].sequence, events[-1].sequence, events[-1].sequence + 5):
        attached = [event async for event in answering.attach("q-1", after)]
        assert attached == ([event for event in events if event.sequence > after] or events[-1:])
    with pytest.raises(Conflict):
        await answering.answer(replace(QUESTION, request_hash=b"another"))
    with pytest.raises(NotFound):
        await collect(answering.attach("nobody", 0))
    assert await answering.cancel("q-1") is False


async def test_a_caller_that_leaves_cancels_its_job_and_may_ask_again(
    answering: Answering, queue: AnswerQueue, make_consumer: Callable[..., Consumer]
) -> None:
    async with aclosing(answering.stream(QUESTION)) as events:
        await anext(events)
    await answering.close()
    assert not await queue.is_stored(JOB_ID, QUESTION.request_hash)
    assert result_of(await ask(answering, make_consumer(), *GOOD)).text == "".join(GOOD)


async def test_a_caller_that_keeps_its_job_attaches_later(
    answering: Answering, make_consumer: Callable[..., Consumer]
) -> None:
    async with aclosing(answering.stream(asking(on_disconnect=OnDisconnect.KEEP))) as events:
        await anext(events)
    await work(make_consumer(), *GOOD)
    assert result_of(await collect(answering.attach("q-1", 0))).text == "".join(GOOD)


async def test_without_a_live_worker_the_answer_is_extractive(answering: Answering, redis: Redis) -> None:
    await redis.flushall()
    result = await answering.answer(QUESTION)
    assert result.generator is not None
    assert result.generator.fallback_reason == error_pb2.ERROR_REASON_NO_WORKER


@pytest.mark.parametrize("fallback", list(Fallback))
async def test_a_job_whose_worker_died_ends_soon_while_all_others_take_none(
    answering: Answering,
    redis: Redis,
    make_consumer: Callable[..., Consumer],
    monkeypatch: pytest.MonkeyPatch,
    fallback: Fallback,
) -> None:
    """Its deadline is two minutes away, and nobody would take it over before."""
    monkeypatch.setattr(answer_jobs, "_WORKER_CHECK_S", 0.05)
    monkeypatch.setattr(answer_jobs, "_RESTART_GRACE_S", 0.05)

    async def hold_and_die() -> None:
        await next_job(make_consumer("w2", lease_s=0.1))
        record = job_pb2.WorkerRecord(model="big", not_accepting_reason="it failed too often")
        record.accepts_again_after.FromSeconds(3600)
        await report_alive(redis, "w1", record)

    async with asyncio.timeout(60):
        events, _ = await asyncio.gather(collect(answering.stream(asking(fallback=fallback))), hold_and_die())
    result = result_of(events)
    if fallback is Fallback.NONE:
        assert result.error is not None
        assert result.error.reason == error_pb2.ERROR_REASON_NO_WORKER
        assert "it failed too often; try again later" in result.error.message
    else:
        assert result.state is AnswerState.ANSWERED
        assert result.generator is not None
        assert result.generator.fallback_reason == error_pb2.ERROR_REASON_NO_WORKER


async def test_a_flush_ends_the_stream_that_waits(
    answering: Answering, queue: AnswerQueue, redis: Redis, make_consumer: Callable[..., Consumer]
) -> None:
    async def flush() -> None:
        job = await next_job(make_consumer())
        await job.started(job_pb2.JobStarted(worker_id="w1", model="fake-135m"))
        await job.delta("The ")
        await redis.flushall()

    events, _ = await asyncio.gather(collect(answering.stream(QUESTION)), flush())
    assert kinds(events)[0] == "Retrieved"
    assert result_of(events).state is AnswerState.FAILED
    assert result_of(events).error.reason == error_pb2.ERROR_REASON_JOB_LOST  # type: ignore[union-attr]


async def test_without_redis_at_all_answers_are_extractive() -> None:

    queue = make_queue(f"redis://127.0.0.1:{free_port()}/0")
    answering = Answering(Corpus().retrieve, queue, ServerSettings())
    result = await answering.answer(QUESTION)
    assert result.generator is not None
    assert result.generator.fallback_reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE
    await queue.close()


async def test_a_job_that_a_cancelled_caller_was_creating_is_ended(answering: Answering, queue: AnswerQueue) -> None:
    """Wherever in the call the cancellation strikes, no job is left waiting for nobody."""
    for steps in range(0, 40, 2):
        call = asyncio.create_task(answering.answer(replace(QUESTION, request_id=f"c-{steps}")))
        for _ in range(steps):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    async def nothing_waits() -> bool:
        await answering.close()
        return (await queue.stats()).waiting_count == 0

    await eventually(nothing_waits, timeout_s=60, what="an empty queue")
