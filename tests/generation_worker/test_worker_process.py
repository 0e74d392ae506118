"""Whole worker processes: killed, drained, and without Redis for a while."""

import asyncio
import time

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.queue.keys import GROUP
from tests.generation_worker.harness import (
    ScriptedWorker,
    all_events,
    end_of,
    eventually,
    kind,
    make_queue,
    put,
    text_of,
)

WORDS = 40
LEASE_S = 1.0
JOB_TIMEOUT_S = 60.0


def said(count: int) -> str:
    return "".join(f"w{number} " for number in range(1, count + 1))


async def live_workers(queue, count: int) -> None:
    async def enough() -> bool:
        return len(await queue.workers()) == count

    await eventually(enough, timeout_s=60, what=f"{count} live workers")


async def next_of(events, wanted: str):
    async for event in events:
        if kind(event) == wanted:
            return event
    pytest.fail(f"no {wanted}")


async def test_a_worker_killed_in_mid_answer_is_replaced_once_its_lease_has_ended(queue, start_worker):
    workers: dict[str, ScriptedWorker] = {name: start_worker(name, lease_s=LEASE_S) for name in ("a", "b")}
    await live_workers(queue, 2)
    await put(queue, "j", f"say {WORDS} slowly 0.05", timeout_s=JOB_TIMEOUT_S)
    events = queue.follow("j")
    first = (await next_of(events, "started")).started.worker_id
    await next_of(events, "delta")
    workers[first].kill()
    killed_s = time.monotonic()
    started = await next_of(events, "started")
    took_s = time.monotonic() - killed_s
    assert started.attempt == 2
    assert started.started.worker_id != first
    assert took_s < JOB_TIMEOUT_S / 2  # by its lease, not by its deadline
    rest = await all_events(events)
    assert rest[-1].ended.outcome == job_pb2.JOB_OUTCOME_FINISHED
    assert rest[-1].ended.text == text_of(rest, attempt=2) == said(WORDS)


async def test_a_job_that_kills_its_workers_is_given_up_and_others_are_done(queue, start_worker):
    reaping = asyncio.create_task(queue.run_reaper())
    await put(queue, "poison", "die")
    for number in range(3):
        worker = start_worker(f"w{number}", lease_s=0.5)
        assert await asyncio.to_thread(worker.wait) == -9
    assert (await end_of(queue, "poison")).outcome == job_pb2.JOB_OUTCOME_DEAD_LETTER
    start_worker("healthy", lease_s=0.5)
    await put(queue, "good", "say 2")
    assert (await end_of(queue, "good")).text == said(2)
    reaping.cancel()
    await asyncio.gather(reaping, return_exceptions=True)


async def test_sigterm_lets_the_job_in_hand_finish_and_takes_no_other(queue, start_worker, redis):
    worker = start_worker("w1")
    await put(queue, "first", "say 60 slowly 0.05")
    await put(queue, "second", "say 1")
    events = queue.follow("first")
    await next_of(events, "delta")
    worker.terminate()
    assert await asyncio.to_thread(worker.wait) == 0
    assert (await all_events(events))[-1].ended.text == said(60)
    stats = await queue.stats()
    assert (stats.waiting_count, stats.live_worker_count) == (1, 0)
    assert await redis.xinfo_consumers("gw:{0}:jobs", GROUP) == []
    start_worker("w2")
    assert (await end_of(queue, "second")).text == said(1)


async def test_a_job_that_outlasts_the_drain_goes_back_and_is_no_crash(queue, start_worker, redis):
    worker = start_worker("w1", worker_drain_timeout_s=0.2)
    await put(queue, "long", "say 60 slowly 0.05")
    events = queue.follow("long")
    await next_of(events, "delta")
    worker.terminate()
    assert await asyncio.to_thread(worker.wait) == 0
    assert await redis.hmget("gw:{0}:job:long", ["state", "crashes", "attempt"]) == [b"waiting", b"0", b"1"]
    start_worker("w2")
    rest = await all_events(events)
    assert rest[-1].ended.text == text_of(rest, attempt=2) == said(60)


async def test_a_worker_waits_for_redis_and_outlives_it_and_flushall(own_valkey, start_worker):
    await asyncio.to_thread(own_valkey.kill)
    worker = start_worker("w1")

    async def has_complained() -> bool:
        return "queue cannot be used" in worker.log

    await eventually(has_complained, timeout_s=60, what="a log line")
    await asyncio.to_thread(own_valkey.start)
    queue = make_queue(own_valkey.url)
    await live_workers(queue, 1)
    await put(queue, "first", "say 1")
    assert (await end_of(queue, "first")).text == said(1)

    await asyncio.to_thread(own_valkey.kill)
    await asyncio.to_thread(own_valkey.start)
    await put(queue, "second", "say 2")
    assert (await end_of(queue, "second")).text == said(2)

    own_valkey.client().flushall()
    await live_workers(queue, 1)
    await put(queue, "third", "say 3")
    assert (await end_of(queue, "third")).text == said(3)
    assert worker.process.poll() is None
    await queue.close()


async def test_killing_valkey_in_mid_answer_ends_in_one_whole_answer(own_valkey, queue, start_worker):
    for name in ("a", "b"):
        start_worker(name)
    await live_workers(queue, 2)
    await put(queue, "j", f"say {WORDS} slowly 0.05")
    events = queue.follow("j")
    seen = [await next_of(events, "delta")]
    await asyncio.to_thread(own_valkey.kill)
    await asyncio.to_thread(own_valkey.start)
    seen += await all_events(events)
    ended = seen[-1]
    assert ended.ended.outcome == job_pb2.JOB_OUTCOME_FINISHED
    assert ended.ended.text == said(WORDS)


async def test_many_jobs_over_two_workers_are_each_done_once(queue, start_worker):
    for name in ("a", "b"):
        start_worker(name)
    job_ids = [f"j{number}" for number in range(10)]
    for job_id in job_ids:
        await put(queue, job_id, "say 5 slowly 0.01")
    streams = await asyncio.gather(*(all_events(queue.follow(job_id)) for job_id in job_ids))
    for events in streams:
        assert [event.attempt for event in events if kind(event) == "started"] == [1]
        assert events[-1].ended.text == said(5)
