"""Redis's clock was set back: what was noted before lies in its future, and must not last until it has caught up."""

import struct

from redis.asyncio import Redis

from generation_worker.claimed_job import Hold
from groundwire.queue.keys import GROUP, PartitionKeys
from retrieval_server.generation.jobs import job_reaper
from retrieval_server.generation.jobs.job_reaper import JobReaper
from tests.generation_worker.harness import next_job, put

KEYS = PartitionKeys(0)
_CRC64_POLYNOMIAL = 0x95AC9329AC4BC9B5
_CHECKSUM_BYTES = 8


async def _as_two_hours_ago(redis: Redis, job_id: str, *sets: str) -> None:
    """Let all times of a job lie as far ahead as when the clock is set back by two hours."""
    for field in ("deadline_ms", "lease_until_ms"):
        if await redis.hexists(KEYS.job(job_id), field):
            await redis.hincrby(KEYS.job(job_id), field, 7_200_000)
    for name in sets:
        await redis.zincrby(name, 7_200_000, job_id)


async def test_when_the_clock_was_set_back_no_lease_and_no_deadline_lasts_longer_than_it_was_given(
    queue, make_consumer, redis
):
    await put(queue, "running", timeout_s=60)
    job = await next_job(make_consumer("dead", lease_s=30))
    await put(queue, "waiting", timeout_s=60)
    await _as_two_hours_ago(redis, "running", KEYS.running)
    await _as_two_hours_ago(redis, "waiting", KEYS.waiting)
    await JobReaper(redis, [KEYS]).reap()
    now_ms = (await redis.time())[0] * 1000
    for job_id, name in (("running", KEYS.running), ("waiting", KEYS.waiting)):
        deadline_ms = int(await redis.hget(KEYS.job(job_id), "deadline_ms"))
        assert 58_000 < deadline_ms - now_ms <= 62_000
        assert await redis.zscore(name, job_id) == deadline_ms
    assert 28_000 < int(await redis.hget(KEYS.job("running"), "lease_until_ms")) - now_ms <= 32_000
    assert await job.delta("goes on") is Hold.OK


async def test_leases_of_jobs_that_end_before_many_others_are_mended_as_well(queue, make_consumer, redis, monkeypatch):
    monkeypatch.setattr(job_reaper, "_JOBS_AT_ONCE", 2)
    await put(queue, "first", timeout_s=60)
    consumer = make_consumer("dead", lease_s=30)
    await next_job(consumer)
    for number in range(3):
        await put(queue, f"j{number}", timeout_s=120)
        await next_job(consumer)
    await redis.hincrby(KEYS.job("first"), "lease_until_ms", 7_200_000)
    await JobReaper(redis, [KEYS]).reap()
    now_ms = (await redis.time())[0] * 1000
    assert int(await redis.hget(KEYS.job("first"), "lease_until_ms")) - now_ms <= 32_000


def _crc64(data: bytes) -> int:
    """The checksum of a DUMP: CRC-64 with Jones's polynomial, reflected."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CRC64_POLYNOMIAL if crc & 1 else 0)
    return crc


async def _deliver_in_two_hours(redis: Redis, consumer_id: str) -> None:
    """Let the only pending ticket be delivered in the future, which XCLAIM refuses to note."""
    [pending] = await redis.xpending_range(KEYS.jobs, GROUP, "-", "+", 2)
    now_ms = (await redis.time())[0] * 1000
    await redis.xclaim(KEYS.jobs, GROUP, consumer_id, 0, [pending["message_id"]], time=now_ms, justid=True)
    dumped = (await redis.dump(KEYS.jobs))[:-_CHECKSUM_BYTES]
    assert dumped.count(struct.pack("<q", now_ms)) == 1
    dumped = dumped.replace(struct.pack("<q", now_ms), struct.pack("<q", now_ms + 7_200_000))
    await redis.restore(KEYS.jobs, 0, dumped + struct.pack("<Q", _crc64(dumped)), replace=True)


async def test_a_ticket_that_a_dead_worker_never_claimed_is_found_by_another(queue, make_consumer, redis):
    await put(queue, "j", timeout_s=600)
    lost = make_consumer("lost", lease_s=0.2)
    await lost.create_groups()
    await redis.xreadgroup(GROUP, "lost", {KEYS.jobs: ">"})
    await _deliver_in_two_hours(redis, "lost")
    assert not await redis.xpending_range(KEYS.jobs, GROUP, "-", "+", 2, idle=1)
    await JobReaper(redis, [KEYS]).reap()
    assert (await next_job(make_consumer("w2", lease_s=0.2), timeout_s=10)).job.job_id == "j"
