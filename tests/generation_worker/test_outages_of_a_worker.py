"""A worker whose queue is away for a while: what it says of it, and of what it gives back."""

import asyncio
from collections import Counter

import pytest
import structlog
from redis.exceptions import ConnectionError as RedisConnectionError

from generation_worker import job_runner
from generation_worker.backends.ordered import GuardedBackend, OrderedBackends
from generation_worker.claimed_job import Hold
from generation_worker.engine_thread import EngineThread
from generation_worker.job_runner import JobRunner
from groundwire.queue import scripts
from tests.generation_worker.harness import end_of, next_job, put
from tests.generation_worker.scripted_engine import ScriptedEngine


@pytest.fixture
async def runner():
    opened = JobRunner(OrderedBackends([GuardedBackend(EngineThread(ScriptedEngine()))]), "w1")
    yield opened
    await opened.close()


def told(logs) -> Counter[str]:
    return Counter(log["event"] for log in logs if log["log_level"] != "debug" and "queue" in log["event"])


async def test_an_outage_is_told_once_for_all_jobs_that_write(queue, make_consumer, monkeypatch):
    consumer = make_consumer()
    jobs = []
    for number in range(3):
        await put(queue, f"j{number}")
        jobs.append(await next_job(consumer))
    append, failures = scripts.APPEND.run, iter(range(9))

    async def fail_at_first(*arguments):
        if next(failures, None) is not None:
            raise RedisConnectionError("refused")
        return await append(*arguments)

    monkeypatch.setattr(scripts.APPEND, "run", fail_at_first)
    with structlog.testing.capture_logs() as logs:
        assert set(await asyncio.gather(*(job.delta("text") for job in jobs))) == {Hold.OK}
    assert told(logs) == {"queue cannot be used": 1, "queue can be used again": 1}


async def test_leases_that_cannot_be_renewed_are_told_once(queue, make_consumer, runner, monkeypatch):
    renewals = 0

    async def fail(*_arguments):
        nonlocal renewals
        renewals += 1
        raise RedisConnectionError("refused")

    monkeypatch.setattr(scripts.RENEW, "run", fail)
    consumer = make_consumer()
    with structlog.testing.capture_logs() as logs:
        for job_id in ("a", "b"):
            await put(queue, job_id, "say 10 slowly 0.03")
            await runner.run(await next_job(consumer), asyncio.Event())
            assert (await end_of(queue, job_id)).text
    assert renewals > 2
    assert told(logs) == {"queue cannot be used": 1, "queue can be used again": 1}


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_what_came_of_a_hand_back_is_told(queue, make_consumer, runner, monkeypatch, is_cancelled: bool):
    async def is_renewed(*_arguments):
        return b"ok"

    monkeypatch.setattr(scripts.RENEW, "run", is_renewed)
    monkeypatch.setattr(job_runner, "HOLD_CHECK_INTERVAL_S", 60.0)
    await put(queue, "j")
    job = await next_job(make_consumer())
    hand_back = asyncio.Event()
    other = asyncio.create_task(asyncio.Event().wait())
    with structlog.testing.capture_logs() as logs:
        run = asyncio.create_task(runner.run(job, hand_back, after=[other]))
        if is_cancelled:
            await queue.cancel("j")
        hand_back.set()
        await run
    other.cancel()
    [result] = [log["result"] for log in logs if log["event"] == "job handed back"]
    assert result == ("lost" if is_cancelled else "ok")
