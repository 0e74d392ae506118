"""All that can end a job, at the same moment: one of them does, and everybody is told the same."""

import asyncio
import random
from collections import Counter
from contextlib import suppress

import pytest
from redis.exceptions import RedisError

from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import EXPIRED, EndAttempt, Ending, EndResult, dead_letter
from groundwire.queue.keys import PartitionKeys
from retrieval_server.errors import Unavailable
from retrieval_server.generation.jobs import job_reaper
from retrieval_server.generation.jobs.job_reaper import JobReaper
from tests.generation_worker.harness import all_events, eventually, make_queue, next_job, put

pytestmark = pytest.mark.chaos
KEYS = PartitionKeys(0)
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)
ROUND_COUNT = 150


async def test_cancel_deadline_dead_letter_and_finish_raced_end_each_job_once(queue, make_consumer, redis):
    consumer = make_consumer(lease_s=30)
    randomness = random.Random(7)
    winners: Counter[int] = Counter()
    for number in range(ROUND_COUNT):
        job_id = f"j{number}"
        await put(queue, job_id)
        job = await next_job(consumer)
        await job.delta("text")
        nonce = await redis.hget(KEYS.job(job_id), "nonce")

        async def late(call, delay_s: float):
            await asyncio.sleep(delay_s)
            return await call

        rivals = [
            job.end(FINISHED),
            queue.cancel(job_id),
            EndAttempt(KEYS, job_id, EXPIRED, expected_nonce=nonce).send(redis),
            EndAttempt(KEYS, job_id, dead_letter(3), expected_nonce=nonce).send(redis),
            queue.give_up(job_id),
        ]
        randomness.shuffle(rivals)
        readers = [asyncio.create_task(all_events(queue.follow(job_id))) for _ in range(2)]
        results = await asyncio.gather(*(late(rival, randomness.uniform(0, 0.003)) for rival in rivals))
        assert sum(result in (True, EndResult.ENDED) for result in results) == 1, results
        seen = [await reader for reader in readers]
        assert seen[0] == seen[1]
        winners[seen[0][-1].ended.outcome] += 1
        assert await redis.xlen(KEYS.jobs) == 0
    assert len(winners) >= 4, winners
    stats = await queue.stats()
    assert (stats.waiting_count, stats.running_count) == (0, 0)
    assert stats.dead_letter_count == winners[job_pb2.JOB_OUTCOME_DEAD_LETTER]
    assert {key async for key in redis.scan_iter("gw:{0}:[hlt]*")} == set()


async def test_claims_takeovers_hand_backs_and_cancels_raced_never_give_a_job_to_two(
    own_valkey, make_consumer, redis, monkeypatch
):
    """Leases end all the time; of all who held a job only the last one could still write."""
    monkeypatch.setattr(job_reaper, "GRACE_MS", 20)
    randomness = random.Random(11)
    lease_s = 0.15
    finished: Counter[str] = Counter()
    job_ids = [f"j{number}" for number in range(60)]
    queue = make_queue(own_valkey.url, max_deliveries=1000, max_depth=100)

    async def work(number: int) -> None:
        consumer = make_consumer(f"w{number}", lease_s=lease_s)
        while True:
            try:
                job = await consumer.next_job()
            except RedisError:  # a busy machine: as the worker does it
                continue
            if job is None:
                continue
            await job.delta(f"{number} ")
            fate = randomness.random()
            if fate < 0.3:
                await asyncio.sleep(lease_s * 2)  # past its lease
            if fate > 0.9:
                await job.hand_back()
            elif await job.end(FINISHED) is EndResult.ENDED:
                finished[job.job.job_id] += 1

    async def reap() -> None:
        while True:
            with suppress(RedisError):
                await JobReaper(redis, [KEYS]).reap()
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(work(number)) for number in range(4)] + [asyncio.create_task(reap())]
    cancelled = set()
    for job_id in job_ids:
        await put(queue, job_id, timeout_s=300)
        if randomness.random() < 0.2 and await queue.cancel(job_id):
            cancelled.add(job_id)
        await asyncio.sleep(0.01)

    async def all_over() -> bool:
        with suppress(Unavailable):
            stats = await queue.stats()
            return (stats.waiting_count, stats.running_count) == (0, 0)
        return False

    try:
        await eventually(all_over, timeout_s=240, what="every job has ended")
        for job_id in job_ids:
            events = await all_events(queue.follow(job_id))
            attempts = [event.attempt for event in events if event.HasField("delta")]
            assert attempts == sorted(attempts)
        assert set(finished) | cancelled == set(job_ids)
        assert not set(finished) & cancelled
        assert set(finished.values()) == {1}
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await queue.close()
