"""A poison job among others, with worker processes that die of it: it is given up, and harms no other."""

import asyncio

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.queue.keys import PartitionKeys
from tests.generation_worker.harness import end_of, eventually, make_queue, put

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
CAP = 3
LEASE_S = 2.0
JOB_TIMEOUT_S = 300.0
KEYS = PartitionKeys(0)


async def test_a_poison_job_reaches_the_dead_letters_after_the_cap_and_harms_no_other(own_valkey, redis, start_worker):
    queue = make_queue(own_valkey.url, max_depth=100, max_deliveries=CAP, lease_s=LEASE_S)
    reaping = asyncio.create_task(queue.run_reaper())
    death_count = 0

    async def keep_alive(name: str) -> None:
        """What a supervisor does."""
        nonlocal death_count
        number = 0
        while True:
            worker = start_worker(f"{name}{number}", lease_s=LEASE_S)
            while worker.process.poll() is None:
                await asyncio.sleep(0.05)
            death_count += 1
            number += 1

    supervising = [asyncio.create_task(keep_alive(name)) for name in ("a", "b")]
    good = [f"good{number}" for number in range(40)]
    try:
        for job_id in good[:20]:
            await put(queue, job_id, "say 4 slowly 0.05", timeout_s=JOB_TIMEOUT_S)
        await put(queue, "poison", "say 1 die", timeout_s=JOB_TIMEOUT_S)
        for job_id in good[20:]:
            await put(queue, job_id, "say 4 slowly 0.05", timeout_s=JOB_TIMEOUT_S)
        ended = await end_of(queue, "poison", timeout_s=JOB_TIMEOUT_S)
        assert ended.outcome == job_pb2.JOB_OUTCOME_DEAD_LETTER
        for job_id in good:
            assert (await end_of(queue, job_id)).outcome == job_pb2.JOB_OUTCOME_FINISHED, job_id

        async def only_the_poison_is_left() -> bool:
            stats = await queue.stats()
            return (stats.waiting_count, stats.running_count, stats.dead_letter_count) == (0, 0, 1)

        await eventually(only_the_poison_is_left, timeout_s=60, what="only the poison job is left")
        # One worker is lost to each allowed crash, and one more may be when the first crash had neighbours.
        assert CAP <= death_count <= CAP + 1
        [letter] = await queue.dead_letters.list_newest(10)
        assert (letter.job_id, letter.crash_count, letter.replayable) == ("poison", CAP, True)
    finally:
        for task in (*supervising, reaping):
            task.cancel()
        await asyncio.gather(*supervising, reaping, return_exceptions=True)
        await queue.close()
