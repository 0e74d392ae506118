"""Following a job: its caller gets every event once and one end, whatever happens meanwhile."""

import asyncio
import gc
from contextlib import aclosing

import pytest
from google.protobuf.message import Message
from redis.exceptions import ConnectionError as RedisConnectionError

from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending
from groundwire.v1 import error_pb2
from retrieval_server.errors import Unavailable
from retrieval_server.generation.jobs import answer_queue, job_follower
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from tests.generation_worker.harness import all_events, end_of, eventually, kind, make_queue, next_job, put
from tests.support.valkey import free_port

FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)


async def is_read_by(queue: AnswerQueue, count: int) -> bool:
    """Return whether so many connections wait for events."""
    return int((await queue._redis.info("clients"))["blocked_clients"]) == count


async def finish(consumer, *texts: str) -> None:
    job = await next_job(consumer)
    for text in texts:
        await job.delta(text)
    await job.end(FINISHED)


async def test_a_late_caller_sees_all_that_an_early_one_saw(queue, make_consumer):
    await put(queue, "j")
    early = asyncio.create_task(all_events(queue.follow("j")))
    await finish(make_consumer(), "a", "b")
    assert [event.SerializeToString() for event in await early] == [
        event.SerializeToString() for event in await all_events(queue.follow("j"))
    ]


async def test_following_goes_on_after_a_sequence_and_tells_the_end_in_any_case(queue, make_consumer):
    await put(queue, "j")
    await finish(make_consumer(), "a", "b")  # retrieved, a, b, ended
    assert [event.sequence for event in await all_events(queue.follow("j", 2))] == [3, 4]
    for after in (3, 4, 1000):
        [event] = await all_events(queue.follow("j", after))
        assert event.ended.text == "ab"


async def test_an_unknown_job_is_lost(queue):
    [event] = await all_events(queue.follow("nobody"))
    assert (event.ended.outcome, event.ended.reason) == (
        job_pb2.JOB_OUTCOME_FAILED,
        error_pb2.ERROR_REASON_JOB_LOST,
    )


async def test_flushall_ends_the_wait(queue, redis):
    await put(queue, "j")
    events = queue.follow("j")
    assert kind(await anext(events)) == "retrieved"
    await redis.flushall()
    [event] = await all_events(events)
    assert event.ended.reason == error_pb2.ERROR_REASON_JOB_LOST
    assert event.sequence == 2


async def test_events_of_a_later_job_with_the_same_id_are_not_taken_for_this_ones(queue, redis, make_consumer):
    await put(queue, "j")
    events = queue.follow("j")
    await anext(events)
    await redis.flushall()
    await put(queue, "j")
    await finish(make_consumer(), "not", "yours")
    [event] = await all_events(events)
    assert event.ended.reason == error_pb2.ERROR_REASON_JOB_LOST


async def test_who_waits_for_events_is_let_go_at_once_and_not_when_the_read_ends(queue, monkeypatch):
    monkeypatch.setattr(job_follower, "FOLLOW_BLOCK_S", 600.0)
    await put(queue, "j", timeout_s=600)
    events = queue.follow("j")
    await anext(events)
    waiting = asyncio.create_task(anext(events))
    await eventually(lambda: is_read_by(queue, 1), timeout_s=10, what="the follower reads")
    queue.let_go()
    with pytest.raises(Unavailable) as refused:
        await asyncio.wait_for(waiting, 10)
    assert refused.value.reason == error_pb2.ERROR_REASON_SHUTTING_DOWN


async def test_who_leaves_while_it_reads_leaves_nothing_behind(queue):
    await put(queue, "j")
    events = queue.follow("j")
    await anext(events)
    others = asyncio.all_tasks()
    waiting = asyncio.create_task(anext(events))
    await eventually(lambda: is_read_by(queue, 1), timeout_s=10, what="the follower reads")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() <= others
    await eventually(lambda: is_read_by(queue, 0), timeout_s=10, what="its connection is closed")
    again = queue.follow("j")
    assert kind(await anext(again)) == "retrieved"


async def test_a_read_that_fails_when_its_caller_leaves_is_no_fault(queue, monkeypatch):
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    reads = asyncio.Event()

    async def fail_in_the_end(*_args: object, **_options: object) -> None:
        reads.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise RedisConnectionError

    await put(queue, "j")
    monkeypatch.setattr(queue._blocking_redis, "xread", fail_in_the_end)
    waiting = asyncio.create_task(anext(queue.follow("j")))
    await reads.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gc.collect()
    assert not faults


async def test_hundreds_who_wait_their_turn_to_read_are_let_go_at_once(queue, monkeypatch):
    monkeypatch.setattr(job_follower, "FOLLOW_BLOCK_S", 600.0)
    await put(queue, "j", timeout_s=600)
    followed = [queue.follow("j", 1) for _ in range(300)]
    waiting = [asyncio.create_task(anext(events)) for events in followed]
    await eventually(
        lambda: is_read_by(queue, answer_queue._MAX_FOLLOWERS_READING), timeout_s=30, what="as many as may read at once"
    )
    queue.let_go()
    async with asyncio.timeout(10):
        refused = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(one, Unavailable) for one in refused)


async def test_a_job_that_no_worker_takes_expires_for_its_caller_without_a_reaper(queue, monkeypatch):
    monkeypatch.setattr(job_follower, "DEADLINE_GRACE_S", 0.1)
    monkeypatch.setattr(job_follower, "FOLLOW_BLOCK_S", 0.1)
    await put(queue, "j", timeout_s=0.2)
    seen = await all_events(queue.follow("j"))
    assert seen[-1].ended.outcome == job_pb2.JOB_OUTCOME_EXPIRED
    assert seen[-1].ended.reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED
    assert seen[-1].SerializeToString() == (await all_events(queue.follow("j")))[-1].SerializeToString()


async def test_a_killed_valkey_that_comes_back_costs_the_caller_nothing(own_valkey, queue, make_consumer):
    await put(queue, "j")
    following = asyncio.create_task(all_events(queue.follow("j")))
    consumer = make_consumer()
    job = await next_job(consumer)
    await job.delta("before ")
    await asyncio.to_thread(own_valkey.kill)
    writing = asyncio.create_task(job.delta("after"))
    await asyncio.to_thread(own_valkey.start)
    await writing
    await job.end(FINISHED)
    seen = await following
    assert [kind(event) for event in seen] == ["retrieved", "delta", "delta", "ended"]
    assert seen[-1].ended.text == "before after"
    await put(queue, "next")
    assert (await next_job(consumer)).job.job_id == "next"


async def test_an_unreachable_queue_ends_the_wait_at_last(monkeypatch):
    monkeypatch.setattr(job_follower, "UNKNOWN_DEADLINE_PATIENCE_S", 0.2)
    queue = make_queue(f"redis://127.0.0.1:{free_port()}/0")
    ended = await end_of(queue, "j")
    assert ended.reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE
    await queue.close()


async def test_callers_that_leave_in_the_middle_spoil_nothing_for_those_who_stay(queue, make_consumer):
    """A cancelled read must not leave its reply behind for whoever gets its connection next."""
    await put(queue, "mine")
    await put(queue, "theirs")
    staying = asyncio.create_task(all_events(queue.follow("mine")))
    for round_number in range(60):
        leaving = asyncio.create_task(all_events(queue.follow("theirs")))
        for _ in range(round_number % 12):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
    assert (await queue.stats()).waiting_count == 2
    consumer = make_consumer()
    await finish(consumer, "for me")
    assert (await staying)[-1].ended.text == "for me"
    await finish(consumer, "for them")
    assert (await end_of(queue, "theirs")).text == "for them"


async def test_more_callers_than_connections_all_get_their_end(queue, make_consumer):
    for job_id in ("a", "b"):
        await put(queue, job_id)
    following = [asyncio.create_task(end_of(queue, "a")) for _ in range(200)]
    consumer = make_consumer()
    await finish(consumer, "text")
    assert {ended.text for ended in await asyncio.gather(*following)} == {"text"}


async def test_a_finished_job_that_is_asked_for_is_kept_longer(own_valkey, redis, make_consumer):
    queue = make_queue(own_valkey.url, ttl_s=10.0)
    await put(queue, "j")
    await finish(make_consumer(), "a")
    keys = ("gw:{0}:job:j", "gw:{0}:events:j")
    for key in keys:
        assert 0 < await redis.pttl(key) <= 10_000
        await redis.pexpire(key, 4000)
    await end_of(queue, "j")
    for key in keys:
        assert await redis.pttl(key) > 5000
    await queue.close()


async def test_leaving_closes_nothing_for_the_job(queue):
    await put(queue, "j")
    async with aclosing(queue.follow("j")) as events:
        first: Message = await anext(events)
    assert kind(first) == "retrieved"

    async def is_waiting() -> bool:
        return (await queue.stats()).waiting_count == 1

    await eventually(is_waiting, timeout_s=60, what="the job still waits")
