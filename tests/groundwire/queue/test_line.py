"""Whose turn it is: interactive jobs first, callers in turn, nobody for ever last."""

import asyncio

import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.errors import Overloaded
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from tests.generation_worker.harness import make_job, make_queue, next_job

INTERACTIVE = answer_pb2.ANSWER_PRIORITY_INTERACTIVE
BATCH = answer_pb2.ANSWER_PRIORITY_BATCH
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)


async def put(queue: AnswerQueue, job_id: str, *, caller: str = "", priority=INTERACTIVE) -> None:
    job = make_job(job_id)
    job.caller, job.priority = caller, priority
    await queue.enqueue(job, job_pb2.JobRetrieved(request_id=job_id), b"h")


async def order_of(consumer, count: int) -> list[str]:
    """The jobs in the order in which a worker gets them."""
    taken = []
    for _ in range(count):
        job = await next_job(consumer)
        taken.append(job.job.job_id)
        await job.end(FINISHED)
    return taken


async def test_interactive_jobs_go_before_batch_ones_that_came_earlier(queue, make_consumer):
    await put(queue, "b1", priority=BATCH)
    await put(queue, "b2", priority=BATCH)
    await put(queue, "i1")
    await put(queue, "u1", priority=answer_pb2.ANSWER_PRIORITY_UNSPECIFIED)
    assert (await queue.stats()).waiting_batch_count == 2
    assert await order_of(make_consumer(), 4) == ["i1", "u1", "b1", "b2"]


async def test_a_batch_job_is_not_starved_by_a_stream_of_interactive_ones(queue, make_consumer):
    for number in range(12):
        await put(queue, f"i{number}")
    for number in range(3):
        await put(queue, f"b{number}", priority=BATCH)
    taken = await order_of(make_consumer(), 15)
    assert [taken.index(f"b{number}") for number in range(3)] == [4, 9, 14]


async def test_callers_take_turns_however_much_one_of_them_has_queued(queue, make_consumer):
    for number in range(5):
        await put(queue, f"a{number}", caller="greedy")
    await put(queue, "m0", caller="modest")
    await put(queue, "m1", caller="modest")
    await put(queue, "o0", caller="other")
    assert await order_of(make_consumer(), 8) == ["a0", "m0", "o0", "a1", "m1", "a2", "a3", "a4"]


async def test_a_job_that_is_handed_back_is_the_next_of_its_caller(queue, make_consumer):
    for number in range(3):
        await put(queue, f"j{number}")
    consumer = make_consumer()
    first = await next_job(consumer)
    await first.hand_back()
    assert await order_of(consumer, 3) == ["j0", "j1", "j2"]


async def test_cancelled_jobs_leave_the_line_and_no_key_behind(queue, make_consumer, redis):
    for caller in ("a", "b"):
        for number in range(2):
            await put(queue, f"{caller}{number}", caller=caller)
    for job_id in ("a0", "a1", "b0"):
        await queue.cancel(job_id)
    assert await order_of(make_consumer(), 1) == ["b1"]
    assert [key async for key in redis.scan_iter("gw:{0}:line:*")] == []
    assert [key async for key in redis.scan_iter("gw:{0}:turns:*")] == []
    assert [key async for key in redis.scan_iter("gw:{0}:held:*")] == []
    assert not await redis.exists("gw:{0}:tickets", "gw:{0}:waiting", "gw:{0}:running")


async def test_one_caller_cannot_fill_the_queue_and_batches_leave_room_for_others(own_valkey):
    queue = make_queue(own_valkey.url, max_depth=4, max_share=0.75)
    for number in range(3):
        await put(queue, f"a{number}", caller="greedy")
    with pytest.raises(Overloaded, match="of this caller") as refusal:
        await put(queue, "a3", caller="greedy")
    assert refusal.value.reason == error_pb2.ERROR_REASON_QUEUE_FULL
    with pytest.raises(Overloaded):
        await put(queue, "b0", caller="batch", priority=BATCH)
    await put(queue, "m0", caller="modest")
    with pytest.raises(Overloaded, match="4 jobs wait"):
        await put(queue, "n0", caller="new")
    await queue.close()


async def test_jobs_of_vanished_records_hold_nobody_up(queue, make_consumer, redis):
    await put(queue, "evicted", caller="a")
    await put(queue, "there", caller="b")
    await redis.delete("gw:{0}:job:evicted")
    assert await order_of(make_consumer(), 1) == ["there"]
    assert (await queue.stats()).waiting_count == 0


async def test_many_workers_that_claim_at_once_get_every_job_once(queue, make_consumer):
    for number in range(18):
        await put(queue, f"j{number}", caller=f"c{number % 3}", priority=(INTERACTIVE, BATCH)[number % 2])
    consumers = [make_consumer(f"w{number}", lease_s=30) for number in range(6)]
    taken = await asyncio.gather(*(order_of(consumer, 3) for consumer in consumers))
    assert sorted(job_id for jobs in taken for job_id in jobs) == sorted(f"j{number}" for number in range(18))
