"""A worker with several slots: jobs run beside each other, each with a claim of its own."""

import asyncio
import re
import time

from groundwire.internal.v1 import job_pb2
from groundwire.queue.keys import PartitionKeys
from tests.generation_worker.harness import all_events, end_of, eventually, kind, put

KEYS = PartitionKeys(0)
SLOTS = 4


async def running_count(queue) -> int:
    return (await queue.stats()).running_count


async def running(queue, count: int) -> None:
    async def enough() -> bool:
        return await running_count(queue) == count

    await eventually(enough, timeout_s=60, what=f"{count} running jobs")


def said(count: int) -> str:
    return "".join(f"w{number} " for number in range(1, count + 1))


async def test_as_many_jobs_run_at_once_as_there_are_slots_and_the_next_takes_a_freed_one(queue, start_worker):
    start_worker("w1", worker_slots=SLOTS)
    for number in range(SLOTS + 1):
        await put(queue, f"j{number}", "say 1000 slowly 0.05")
    await running(queue, SLOTS)
    assert (await queue.stats()).waiting_count == 1
    [worker] = await queue.workers()
    assert worker.partition_count == 1
    assert worker.slot_count == SLOTS
    await queue.cancel("j2")
    await running(queue, SLOTS)
    assert (await queue.stats()).waiting_count == 0


async def test_a_job_of_several_slots_waits_for_them_and_nothing_is_taken_past_it(queue, start_worker):
    worker = start_worker("w1", worker_slots=SLOTS)
    await put(queue, "j1", "say 1000 slowly 0.05")
    await put(queue, "j2", "say 1000 slowly 0.05")
    await running(queue, 2)
    await put(queue, "wide", "wide 3 say 3")
    await running(queue, 3)
    await put(queue, "after", "say 1")
    events = queue.follow("wide")
    assert kind(await anext(events)) == "retrieved"
    await queue.cancel("j1")
    assert (await all_events(events))[-1].ended.text == said(3)
    assert (await end_of(queue, "after")).text == said(1)
    happened = [
        (event[1], next(name for name in ("wide", "after", "j1", "j2") if f'"{name}"' in line))
        for line in worker.log.splitlines()
        if (event := re.search('"event": ?"job (claimed|ended)"', line))
    ]
    assert happened.index(("ended", "wide")) < happened.index(("claimed", "after"))


async def test_one_that_waits_for_its_slots_can_be_cancelled_and_handed_back(queue, start_worker, redis):
    worker = start_worker("w1", worker_slots=SLOTS, worker_drain_timeout_s=0.5)
    await put(queue, "j", "wide 2 say 10000 slowly 0.05")
    await running(queue, 1)
    await put(queue, "cancelled", "wide 3 say 1")
    await running(queue, 2)
    await queue.cancel("cancelled")
    await put(queue, "handed-back", "wide 3 say 1")
    await running(queue, 2)
    worker.terminate()
    assert await asyncio.to_thread(worker.wait) == 0
    assert await redis.hmget(KEYS.job("handed-back"), ["state", "crashes"]) == [b"waiting", b"0"]


async def test_a_cancelled_job_leaves_its_slot_soon_although_nothing_is_written(queue, start_worker):
    start_worker("w1", worker_slots=1, lease_s=30)  # the renewal would notice after ten seconds
    await put(queue, "j", "prefill 60 say 1")
    await running(queue, 1)
    events = queue.follow("j")
    while kind(await anext(events)) != "started":
        pass
    await put(queue, "next", "say 1")
    await queue.cancel("j")
    cancelled_s = time.monotonic()
    assert (await end_of(queue, "next")).text == said(1)
    assert time.monotonic() - cancelled_s < 8


async def test_one_that_fails_harms_none_beside_it(queue, start_worker):
    start_worker("w1", worker_slots=SLOTS)
    await put(queue, "good", "say 20 slowly 0.02")
    for question in ("refuse", "break"):
        await put(queue, question, question)
        assert (await end_of(queue, question)).outcome == job_pb2.JOB_OUTCOME_FAILED
    events = await all_events(queue.follow("good"))
    assert (events[-1].ended.text, events[-1].attempt) == (said(20), 1)


async def test_a_poison_job_is_given_up_and_those_beside_it_are_done(queue, start_worker, redis):
    await put(queue, "good1", "say 20 slowly 0.05")
    await put(queue, "poison", "prefill 0.3 die")
    await put(queue, "good2", "say 20 slowly 0.05")
    reaping = asyncio.create_task(queue.run_reaper())
    # The first crash accuses nobody, three more the job that ran alone each time; the last worker lives.
    for number in range(5):
        worker = start_worker(f"w{number}", worker_slots=SLOTS, lease_s=0.5)
        if number < 4:
            assert await asyncio.to_thread(worker.wait) == -9
    ends = await asyncio.gather(*(end_of(queue, job_id) for job_id in ("good1", "poison", "good2")))
    assert [ended.outcome for ended in ends] == [
        job_pb2.JOB_OUTCOME_FINISHED,
        job_pb2.JOB_OUTCOME_DEAD_LETTER,
        job_pb2.JOB_OUTCOME_FINISHED,
    ]
    assert ends[0].text == ends[2].text == said(20)
    reaping.cancel()
    await asyncio.gather(reaping, return_exceptions=True)


async def test_sigterm_finishes_what_it_can_and_hands_back_the_rest(queue, start_worker, redis):
    worker = start_worker("w1", worker_slots=SLOTS, worker_drain_timeout_s=4)
    await put(queue, "short", "say 10 slowly 0.05")
    await put(queue, "long", "say 10000 slowly 0.05")
    await running(queue, 2)
    worker.terminate()
    assert await asyncio.to_thread(worker.wait) == 0
    assert (await end_of(queue, "short")).text == said(10)
    assert await redis.hmget(KEYS.job("long"), ["state", "crashes"]) == [b"waiting", b"0"]


async def test_jobs_run_one_by_one_after_a_crash_until_each_is_cleared(queue, start_worker):
    worker = start_worker("w1", worker_slots=SLOTS, lease_s=2)
    for number in range(3):
        await put(queue, f"j{number}", "say 10 slowly 0.05")
    await running(queue, 3)
    worker.kill()
    second = start_worker("w2", worker_slots=SLOTS, lease_s=2)
    for events in await asyncio.gather(*(all_events(queue.follow(f"j{number}")) for number in range(3))):
        assert (events[-1].ended.text, events[-1].attempt) == (said(10), 2)
    happened = [re.search('"event": ?"job (claimed|ended)"', line) for line in second.log.splitlines()]
    # The caller may have heard of the last end before it was logged.
    assert [match[1] for match in happened if match][:5] == ["claimed", "ended", "claimed", "ended", "claimed"]
