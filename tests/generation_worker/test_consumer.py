"""Taking jobs: each goes to one worker at a time, and none is lost whatever dies."""

import asyncio
import time

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from generation_worker.claimed_job import Hold
from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.ending import Ending, EndResult
from groundwire.queue.keys import GROUP, PartitionKeys
from groundwire.v1 import error_pb2
from retrieval_server.generation.jobs import answer_queue
from tests.generation_worker.harness import all_events, end_of, eventually, kind, make_job, next_job, put, text_of

KEYS = PartitionKeys(0)
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)


async def test_a_job_queued_before_the_first_worker_came_is_done(queue, make_consumer):
    await put(queue, "early")
    job = await next_job(make_consumer())
    assert (job.job.job_id, job.attempt) == ("early", 1)


async def test_a_finished_job_leaves_nothing_in_the_stream(queue, make_consumer, redis: Redis):
    await put(queue, "j")
    job = await next_job(make_consumer())
    assert await job.end(FINISHED) is EndResult.ENDED
    assert await redis.xlen(KEYS.jobs) == 0
    [group] = await redis.xinfo_groups(KEYS.jobs)
    assert (group["pending"], group["lag"]) == (0, 0)


async def test_events_reach_the_caller_and_the_end_joins_the_deltas(queue, make_consumer):
    await put(queue, "j")
    job = await next_job(make_consumer())
    await job.started(job_pb2.JobStarted(worker_id="w1"))
    for text in ("naïve ", "日本", "🙂"):
        assert await job.delta(text) is Hold.OK
    await job.end(FINISHED)
    events = await all_events(queue.follow("j"))
    assert [kind(event) for event in events] == ["retrieved", "started", "delta", "delta", "delta", "ended"]
    assert [event.sequence for event in events] == [1, 2, 3, 4, 5, 6]
    assert events[-1].ended.text == text_of(events, attempt=1) == "naïve 日本🙂"


async def test_a_live_lease_is_not_taken_over(queue, make_consumer):
    await put(queue, "j")
    holder = await next_job(make_consumer("w1", lease_s=2.0))
    other = make_consumer("w2", lease_s=2.0)
    for _ in range(6):  # each look blocks for half a second: more than the lease passes in all
        assert await holder.renew() is Hold.OK
        assert await other.next_job() is None
    assert await holder.delta("still mine") is Hold.OK


async def test_an_ended_lease_is_taken_over_and_its_worker_can_write_nothing_more(queue, make_consumer):
    await put(queue, "j")
    stale = await next_job(make_consumer("w1", lease_s=0.3))
    await stale.delta("lost ")
    job = await next_job(make_consumer("w2", lease_s=0.3))
    assert job.attempt == 2
    assert await stale.delta("ghost") is Hold.LOST
    assert await stale.renew() is Hold.LOST
    assert await stale.hand_back() is Hold.LOST
    assert await stale.end(FINISHED) is EndResult.STALE
    await job.delta("kept")
    await job.end(FINISHED)
    assert await stale.end(FINISHED) is EndResult.ALREADY
    events = await all_events(queue.follow("j"))
    assert "ghost" not in "".join(event.delta.text for event in events)
    assert events[-1].ended.text == "kept"


async def test_two_workers_that_look_at_once_do_not_both_get_an_ended_lease(queue, make_consumer):
    await put(queue, "j")
    await next_job(make_consumer("w1", lease_s=0.3))
    # Their own leases are long: the one that is late must find the job held, and not have another lease end.
    consumers = [make_consumer(f"w{number}", lease_s=2.0) for number in (2, 3, 4)]
    taken = []
    async with asyncio.timeout(60):
        while not taken:
            got = await asyncio.gather(*(consumer.next_job() for consumer in consumers))
            taken = [job for job in got if job]
    assert len(taken) == 1


async def test_a_delivery_that_was_never_claimed_is_done_by_another_worker(queue, make_consumer, redis: Redis):
    await put(queue, "j")
    consumer = make_consumer("w2", lease_s=0.5)
    await consumer.create_groups()
    await redis.xreadgroup(GROUP, "died-at-once", {KEYS.jobs: ">"})
    job = await next_job(consumer)
    assert job.attempt == 1


async def test_a_drained_job_goes_back_and_counts_as_no_crash(queue, make_consumer, redis: Redis):
    await put(queue, "j")
    for number in range(1, 6):  # more than a job may crash
        job = await next_job(make_consumer(f"w{number}"))
        assert job.attempt == number
        assert await job.hand_back() is Hold.OK
        assert await job.delta("late") is Hold.LOST
    assert await redis.hget(KEYS.job("j"), "crashes") == b"0"
    assert (await queue.stats()).waiting_count == 1
    assert await redis.xlen(KEYS.jobs) == 1


async def test_a_job_that_crashes_its_workers_is_given_up(queue, make_consumer):
    await put(queue, "poison")
    for number in range(1, 4):
        job = await next_job(make_consumer(f"w{number}", lease_s=0.2))
        assert job.attempt == number
    looker = make_consumer("w4", lease_s=0.2)

    async def dead_letters() -> int:
        assert await looker.next_job() is None
        return (await queue.stats()).dead_letter_count

    await eventually(dead_letters, timeout_s=60, what="a dead letter")
    ended = await end_of(queue, "poison")
    assert (ended.outcome, ended.reason) == (
        job_pb2.JOB_OUTCOME_DEAD_LETTER,
        error_pb2.ERROR_REASON_JOB_DEAD_LETTERED,
    )
    assert "3 workers" in ended.message


async def test_a_job_cancelled_while_it_waits_is_dropped_and_the_lag_stays_known(queue, make_consumer, redis: Redis):
    consumer = make_consumer()
    await consumer.create_groups()
    for job_id in ("a", "b", "c"):
        await put(queue, job_id)
    await queue.cancel("b")
    [group] = await redis.xinfo_groups(KEYS.jobs)
    assert group["lag"] == 3  # a hole would make it None
    first = await next_job(consumer)
    await first.end(FINISHED)
    second = await next_job(consumer)
    assert (first.job.job_id, second.job.job_id) == ("a", "c")
    await second.end(FINISHED)
    assert await redis.xlen(KEYS.jobs) == 1  # the ticket of "b" stands for nobody any more
    assert await consumer.next_job() is None
    assert await redis.xlen(KEYS.jobs) == 0
    [group] = await redis.xinfo_groups(KEYS.jobs)
    assert (group["pending"], group["lag"]) == (0, 0)


async def test_a_job_cancelled_while_it_runs_refuses_its_worker(queue, make_consumer):
    await put(queue, "j")
    job = await next_job(make_consumer())
    await job.delta("some ")
    assert await queue.cancel("j")
    assert await job.delta("more") is Hold.LOST
    assert await job.end(FINISHED) is EndResult.ALREADY
    ended = await end_of(queue, "j")
    assert (ended.outcome, ended.text) == (job_pb2.JOB_OUTCOME_CANCELLED, "some ")


async def test_an_expired_job_is_dropped_before_it_is_begun(queue, make_consumer):
    await put(queue, "late", timeout_s=-1)
    await put(queue, "fresh")
    assert (await next_job(make_consumer())).job.job_id == "fresh"
    assert (await end_of(queue, "late")).outcome == job_pb2.JOB_OUTCOME_EXPIRED


async def test_a_holder_is_told_that_the_deadline_has_passed(queue, make_consumer):
    await put(queue, "j", timeout_s=1.5)
    job = await next_job(make_consumer())

    async def expired() -> bool:
        return await job.renew() is Hold.EXPIRED

    await eventually(expired, timeout_s=60, what="expiry")
    assert await job.delta("too late") is Hold.EXPIRED


async def test_work_goes_on_after_flushall(queue, make_consumer, redis: Redis):
    consumer = make_consumer()
    await put(queue, "gone")
    old = await next_job(consumer)
    await redis.flushall()
    assert await old.delta("ghost") is Hold.LOST
    assert await old.end(FINISHED) is EndResult.MISSING
    assert await redis.keys() == []  # it wrote nothing
    await put(queue, "new")
    assert (await next_job(consumer)).job.job_id == "new"


async def test_a_group_that_was_destroyed_does_not_double_a_running_job(queue, make_consumer, redis: Redis):
    await put(queue, "j")
    holder = await next_job(make_consumer("w1"))
    await redis.xgroup_destroy(KEYS.jobs, GROUP)
    other = make_consumer("w2")
    for _ in range(3):
        assert await other.next_job() is None
    assert await holder.renew() is Hold.OK
    assert await holder.end(FINISHED) is EndResult.ENDED


async def test_a_claim_whose_reply_was_lost_is_found_again_as_ones_own(queue, make_consumer, monkeypatch):
    await put(queue, "j")
    consumer = make_consumer()
    await consumer.create_groups()
    run = scripts.Script.run

    async def reply_lost(script, *arguments):
        await run(script, *arguments)
        monkeypatch.setattr(scripts.Script, "run", run)
        raise ConnectionResetByTestError

    monkeypatch.setattr(scripts.Script, "run", reply_lost)
    with pytest.raises(ConnectionResetByTestError):
        await consumer.next_job()
    job = await consumer.next_job()
    assert job.attempt == 1  # claimed once, not taken over from itself
    assert await job.delta("works") is Hold.OK


async def test_an_event_that_is_sent_twice_is_written_once(queue, make_consumer, monkeypatch):
    await put(queue, "j")
    job = await next_job(make_consumer())
    run = scripts.Script.run

    async def reply_lost(script, *arguments):
        await run(script, *arguments)
        monkeypatch.setattr(scripts.Script, "run", run)
        raise ConnectionResetByTestError

    monkeypatch.setattr(scripts.Script, "run", reply_lost)
    assert await job.delta("once") is Hold.OK
    monkeypatch.setattr(scripts.Script, "run", reply_lost)
    assert await job.end(FINISHED) is EndResult.ENDED
    assert (await end_of(queue, "j")).text == "once"


async def test_an_entry_that_stands_for_no_job_is_thrown_away(queue, make_consumer, redis: Redis):
    consumer = make_consumer()
    await consumer.create_groups()
    await redis.xadd(KEYS.jobs, {"junk": "1"})
    await put(queue, "j")
    assert (await next_job(consumer)).job.job_id == "j"
    assert await consumer.next_job() is None
    assert await redis.xlen(KEYS.jobs) == 1


async def test_a_job_that_cannot_be_read_fails_and_does_not_stop_the_worker(queue, make_consumer, redis: Redis):
    await put(queue, "bad")
    await redis.hset(KEYS.job("bad"), "job", b"\xff\xff")
    await put(queue, "good")
    assert (await next_job(make_consumer())).job.job_id == "good"
    assert (await end_of(queue, "bad")).reason == error_pb2.ERROR_REASON_INTERNAL


async def test_a_consumer_is_forgotten_unless_something_is_pending_for_it(queue, make_consumer, redis: Redis):
    busy, idle = make_consumer("busy"), make_consumer("idle")
    await put(queue, "j")
    await next_job(busy)
    assert await idle.next_job() is None
    for consumer in (busy, idle):
        await consumer.forget_consumers(own=True)
    assert [consumer["name"] for consumer in await redis.xinfo_consumers(KEYS.jobs, GROUP)] == [b"busy"]


class ConnectionResetByTestError(RedisConnectionError):
    """The command was done and its reply was lost."""


@pytest.mark.parametrize("ahead_s", [-7200, 7200])
async def test_a_job_is_given_the_time_that_is_left_whatever_the_servers_clock_says(
    queue, make_consumer, monkeypatch, ahead_s: int
):
    class Clock:
        @staticmethod
        def time() -> float:
            return time.time() + ahead_s

    job = make_job("j", timeout_s=60 + ahead_s)
    monkeypatch.setattr(answer_queue, "time", Clock)
    await queue.enqueue(job, job_pb2.JobRetrieved(), b"h")
    claimed = await next_job(make_consumer())
    assert 50 < claimed.job.deadline.ToMilliseconds() / 1000 - time.time() <= 60
