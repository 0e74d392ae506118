"""A full queue: whoever waits at a screen is told at once, an item of a batch waits for room."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import Overloaded
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import Fallback, Priority
from tests.retrieval_server.generation.answering.support import GOOD, OPTIONS, QUESTION, asking
from tests.retrieval_server.generation.fake_queue import FakeQueue

FULL = Overloaded(error_pb2.ERROR_REASON_QUEUE_FULL, "full", retry_after_s=0.01)


@pytest.fixture
def fill(queue: FakeQueue, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make the next attempts to enqueue find the queue full."""

    def fill_for(count: int) -> None:
        enqueue: Callable[..., Awaitable[None]] = queue.enqueue
        left = count

        async def refuse(job: job_pb2.GenerationJob, *rest: object) -> None:
            nonlocal left
            if left > 0:
                left -= 1
                raise FULL
            await enqueue(job, *rest)

        monkeypatch.setattr(queue, "enqueue", refuse)

    return fill_for


async def test_an_interactive_question_is_refused_at_once(answering: Answering, fill: Callable[[int], None]) -> None:
    fill(1)
    with pytest.raises(Overloaded):
        await answering.answer(asking(fallback=Fallback.NONE))


async def test_an_interactive_question_falls_back_at_once(answering: Answering, fill: Callable[[int], None]) -> None:
    fill(1)
    result = await answering.answer(QUESTION)
    assert result.generator is not None
    assert result.generator.fallback_reason == error_pb2.ERROR_REASON_QUEUE_FULL


async def test_an_item_of_a_batch_waits_for_room(
    answering: Answering, queue: FakeQueue, fill: Callable[[int], None]
) -> None:
    fill(5)
    asked = asking(priority=Priority.BATCH, fallback=Fallback.NONE)
    result, _ = await asyncio.gather(answering.answer(asked), queue.answer(*GOOD))
    assert result.text == "".join(GOOD)


async def test_an_item_of_a_batch_does_not_wait_beyond_its_own_time(
    answering: Answering, fill: Callable[[int], None]
) -> None:
    fill(1_000_000)
    options = replace(OPTIONS, priority=Priority.BATCH, fallback=Fallback.NONE, timeout_s=0.2)
    with pytest.raises(Overloaded):
        await answering.answer(replace(QUESTION, options=options))


async def test_a_caller_that_leaves_while_it_waits_for_room_leaves_no_job(
    answering: Answering, queue: FakeQueue, fill: Callable[[int], None]
) -> None:
    fill(1_000_000)
    waiting = asyncio.create_task(answering.answer(asking(priority=Priority.BATCH)))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await answering.close()
    assert queue.jobs == {}


async def test_callers_that_the_server_lets_go_keep_their_jobs(answering: Answering, queue: FakeQueue) -> None:
    asked = asyncio.create_task(answering.answer(QUESTION))
    job = await queue.next_job()
    answering.let_go()
    assert queue.is_let_go
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    await answering.close()
    assert queue.cancelled == []
    assert job.job_id in queue.jobs


@pytest.mark.parametrize("step_s", [-7200.0, 7200.0])
async def test_an_item_of_a_batch_keeps_its_time_although_the_clock_is_set_while_it_waits(
    answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    enqueue = queue.enqueue
    steps = iter([step_s])

    async def refuse_and_step(job: job_pb2.GenerationJob, *rest: Any) -> None:
        nonlocal offset_s
        if (step := next(steps, None)) is not None:
            offset_s = step
            raise FULL
        await enqueue(job, *rest)

    offset_s = 0.0
    real_time_s = time.time
    monkeypatch.setattr(time, "time", lambda: real_time_s() + offset_s)
    monkeypatch.setattr(queue, "enqueue", refuse_and_step)
    asked = asking(priority=Priority.BATCH, fallback=Fallback.NONE)
    await asyncio.gather(answering.answer(asked), queue.answer(*GOOD))
    [job] = queue.jobs.values()
    remaining_s = job.deadline.ToMilliseconds() / 1000 - time.time()
    assert asked.options.timeout_s - 60 < remaining_s <= asked.options.timeout_s
