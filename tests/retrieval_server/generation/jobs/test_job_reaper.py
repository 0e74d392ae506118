"""Reaping: callers get their end although every worker is dead."""

import asyncio
from contextlib import suppress

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.queue.keys import PartitionKeys
from groundwire.v1 import error_pb2
from retrieval_server.generation.jobs import job_reaper
from retrieval_server.generation.jobs.job_reaper import JobReaper
from tests.generation_worker.harness import all_events, end_of, eventually, next_job, put

KEYS = PartitionKeys(0)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(job_reaper, "GRACE_MS", 50)


@pytest.fixture
def reaper(redis) -> JobReaper:
    return JobReaper(redis, [KEYS])


async def reap_until(reaper: JobReaper, ended, what: str) -> None:
    async def reaped() -> bool:
        await reaper.reap()
        return await ended()

    await eventually(reaped, timeout_s=60, what=what)


async def test_waiting_and_running_jobs_expire_without_workers(queue, make_consumer, reaper):
    await put(queue, "running", timeout_s=1.5)
    await next_job(make_consumer())
    await put(queue, "waiting", timeout_s=0.4)
    await put(queue, "patient")

    async def two_ended() -> bool:
        stats = await queue.stats()
        return (stats.waiting_count, stats.running_count) == (1, 0)

    await reap_until(reaper, two_ended, "both expired")
    for job_id in ("running", "waiting"):
        assert (await end_of(queue, job_id)).outcome == job_pb2.JOB_OUTCOME_EXPIRED


async def test_the_last_allowed_crash_is_a_dead_letter_although_no_worker_is_left(queue, make_consumer, reaper):
    await put(queue, "poison")
    for number in range(3):
        job = await next_job(make_consumer(f"w{number}", lease_s=0.2))
        if number < 2:
            await reaper.reap()
            assert (await queue.stats()).dead_letter_count == 0
    assert job.attempt == 3

    async def dead_letters() -> bool:
        return (await queue.stats()).dead_letter_count == 1

    await reap_until(reaper, dead_letters, "a dead letter")
    assert (await end_of(queue, "poison")).reason == error_pb2.ERROR_REASON_JOB_DEAD_LETTERED


async def test_a_dead_letter_that_is_asked_again_is_one_no_more(queue, make_consumer, reaper):
    await test_the_last_allowed_crash_is_a_dead_letter_although_no_worker_is_left(queue, make_consumer, reaper)
    await put(queue, "poison")
    assert (await queue.stats()).dead_letter_count == 0


async def test_many_reapers_end_a_job_once(queue, redis):
    await put(queue, "j", timeout_s=-1)
    await asyncio.gather(*(JobReaper(redis, [KEYS]).reap() for _ in range(8)))
    assert len(await all_events(queue.follow("j"))) == 2


async def test_a_job_whose_record_vanished_is_not_counted_for_ever(queue, redis, reaper):
    await put(queue, "evicted", timeout_s=-1)
    await redis.delete(KEYS.job("evicted"))
    await reaper.reap()
    assert (await queue.stats()).waiting_count == 0


async def test_the_reaper_outlives_redis(own_valkey, queue):
    reaping = asyncio.create_task(queue.run_reaper())
    await put(queue, "j", timeout_s=0.1)
    await asyncio.to_thread(own_valkey.kill)
    await asyncio.to_thread(own_valkey.start)

    async def is_reaped() -> bool:
        return (await queue.stats()).waiting_count == 0

    await eventually(is_reaped, timeout_s=60, what="the job is reaped")
    reaping.cancel()
    with suppress(asyncio.CancelledError):
        await reaping
