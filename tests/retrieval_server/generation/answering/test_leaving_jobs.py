"""Answering while workers live and take no jobs, as their generators fail."""

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import Unavailable
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.answers.answer_model import AnswerState, Fallback
from retrieval_server.generation.jobs import answer_jobs
from tests.retrieval_server.generation.answering.support import GOOD, QUESTION, asking, collect, result_of
from tests.retrieval_server.generation.fake_queue import FakeQueue


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_jobs, "_WORKER_CHECK_S", 0.01)
    monkeypatch.setattr(answer_jobs, "_RESTART_GRACE_S", 0.01)


async def look_often(queue: FakeQueue) -> None:
    enough = queue.looked_for_workers_count + 10
    async with asyncio.timeout(60):
        while queue.looked_for_workers_count < enough:
            await asyncio.sleep(0.01)


async def test_a_new_question_is_no_job_and_its_caller_learns_why_and_when_to_ask_again(
    answering: Answering, queue: FakeQueue
) -> None:
    queue.worker_takes_jobs = False
    result = await answering.answer(QUESTION)
    assert result.generator is not None
    assert (result.generator.model, result.generator.fallback_reason) == (
        "extractive",
        error_pb2.ERROR_REASON_NO_WORKER,
    )
    with pytest.raises(Unavailable, match="takes jobs now: all fail") as refusal:
        await collect(answering.stream(replace(asking(fallback=Fallback.NONE), request_id="q-2")))
    assert refusal.value.retry_after_s == 7.5
    assert queue.enqueued_count == 0


@pytest.mark.parametrize("fallback", list(Fallback))
async def test_a_job_that_waits_is_ended_although_its_caller_wants_no_fallback(
    answering: Answering, queue: FakeQueue, fallback: Fallback
) -> None:
    async def stop_taking() -> None:
        await queue.next_job()
        queue.worker_takes_jobs = False

    events, _ = await asyncio.gather(collect(answering.stream(asking(fallback=fallback))), stop_taking())
    result = result_of(events)
    if fallback is Fallback.NONE:
        assert result.state is AnswerState.FAILED
        assert isinstance(result.error, Unavailable)
        assert result.error.reason == error_pb2.ERROR_REASON_NO_WORKER
        assert "all fail" in result.error.message
    else:
        assert result.state is AnswerState.ANSWERED
        assert result.generator is not None
        assert result.generator.fallback_reason == error_pb2.ERROR_REASON_NO_WORKER


async def test_a_job_that_a_worker_holds_is_let_go_on(
    answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that tries whether a generator is back is held by a worker that takes no others meanwhile."""
    looked_at = asyncio.Event()

    async def give_up_waiting(job_id: str, why: str) -> bool:
        looked_at.set()
        return await FakeQueue.give_up_waiting(queue, job_id, why)

    monkeypatch.setattr(queue, "give_up_waiting", give_up_waiting)

    async def answer_late() -> None:
        job = await queue.next_job()
        await queue.start(job.job_id)
        queue.worker_takes_jobs = False
        await queue.say(job.job_id, *GOOD)
        await looked_at.wait()
        await queue.end(job.job_id, job_pb2.JOB_OUTCOME_FINISHED, text="".join(GOOD))

    events, _ = await asyncio.gather(collect(answering.stream(QUESTION)), answer_late())
    result = result_of(events)
    assert result.generator is not None
    assert (result.text, result.generator.fallback_reason) == ("".join(GOOD), None)


async def test_while_it_is_tried_whether_a_generator_is_back_a_job_waits_for_what_comes_of_it(
    answering: Answering, queue: FakeQueue
) -> None:
    queue.patience_s = 3600.0

    async def try_and_answer() -> None:
        await queue.next_job()
        queue.worker_takes_jobs = False
        await look_often(queue)
        queue.worker_takes_jobs = True
        await queue.answer(*GOOD)

    events, _ = await asyncio.gather(collect(answering.stream(QUESTION)), try_and_answer())
    result = result_of(events)
    assert result.generator is not None
    assert (result.text, result.generator.fallback_reason) == ("".join(GOOD), None)


async def test_the_wait_for_a_first_worker_takes_nothing_from_the_time_of_a_try(
    answering: Answering, queue: FakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.patience_s = 3600.0
    now_s = 1.0
    clock = SimpleNamespace(monotonic=lambda: now_s, time=time.time)
    monkeypatch.setattr(answer_jobs, "time", clock)

    async def start_try_and_answer() -> None:
        nonlocal now_s
        await queue.next_job()
        queue.worker_is_alive = False
        await look_often(queue)
        now_s = 10_000.0
        await look_often(queue)
        queue.worker_is_alive, queue.worker_takes_jobs = True, False
        await look_often(queue)
        now_s += 3599.0
        await look_often(queue)
        queue.worker_takes_jobs = True
        await queue.answer(*GOOD)

    asked = asking(fallback=Fallback.NONE)
    events, _ = await asyncio.gather(collect(answering.stream(asked)), start_try_and_answer())
    result = result_of(events)
    assert result.generator is not None
    assert (result.text, result.generator.fallback_reason) == ("".join(GOOD), None)
