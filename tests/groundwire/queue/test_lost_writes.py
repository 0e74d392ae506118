"""Storage that forgets a part: an older state that was put back, or keys that were evicted one by one."""

import pytest

from generation_worker.claimed_job import Hold
from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending, EndResult
from groundwire.queue.keys import PartitionKeys
from groundwire.v1 import error_pb2
from retrieval_server.errors import Unavailable
from retrieval_server.generation.jobs.answer_queue import EnqueueOutcome
from retrieval_server.generation.jobs.job_reaper import JobReaper
from tests.generation_worker.harness import all_events, end_of, kind, next_job, put
from tests.groundwire.queue.stored_state import StoredState

KEYS = PartitionKeys(0)
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)


async def _write_anew(consumer, *texts: str) -> None:
    job = await next_job(consumer)
    await job.started(job_pb2.JobStarted(worker_id="w2"))
    for text in texts:
        assert await job.delta(text) is Hold.OK
    assert await job.end(FINISHED) is EndResult.ENDED


async def test_an_answer_of_which_a_part_was_lost_is_written_anew_and_never_told_as_whole(queue, make_consumer, redis):
    await put(queue, "j")
    state = StoredState(redis)
    job = await next_job(make_consumer())
    await job.started(job_pb2.JobStarted(worker_id="w1"))
    await job.delta("one ")
    events = queue.follow("j")
    seen = [await anext(events) for _ in range(3)]
    await state.save()
    for text in ("two ", "three "):
        await job.delta(text)
        seen.append(await anext(events))
    await state.put_back()
    assert await job.delta("four") is Hold.BEHIND
    assert await job.end(FINISHED) is EndResult.BEHIND
    assert await job.hand_back() is Hold.OK
    await _write_anew(make_consumer("w2"), "one ", "two ", "three ", "four")
    later = [event async for event in events]
    assert [kind(event) for event in later] == ["started", *["delta"] * 4, "ended"]
    assert later[0].attempt == 2
    assert later[-1].ended.text == "one two three four"
    assert (await end_of(queue, "j")).text == "one two three four"


async def test_an_answer_of_which_the_last_part_was_lost_is_not_finished(queue, make_consumer, redis):
    await put(queue, "j")
    state = StoredState(redis)
    job = await next_job(make_consumer())
    await job.delta("one ")
    await state.save()
    await job.delta("two")
    await state.put_back()
    assert await job.end(FINISHED) is EndResult.BEHIND
    assert await job.hand_back() is Hold.OK
    await _write_anew(make_consumer("w2"), "one ", "two")
    assert (await end_of(queue, "j")).text == "one two"


async def test_how_an_answer_failed_is_told_whatever_was_lost(queue, make_consumer, redis):
    await put(queue, "j")
    job = await next_job(make_consumer())
    await job.delta("one")
    await redis.delete(KEYS.events("j"))
    failed = Ending(job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_GENERATION_FAILED, "no")
    assert await job.end(failed) is EndResult.ENDED
    assert (await end_of(queue, "j")).message == "no"


@pytest.mark.parametrize("is_running", [True, False])
async def test_a_job_whose_events_were_evicted_is_lost_at_once_and_may_be_asked_again(
    queue, make_consumer, redis, is_running: bool
):
    await put(queue, "j")
    events = queue.follow("j")
    await anext(events)
    consumer = make_consumer()
    job = await next_job(consumer) if is_running else None
    await redis.delete(KEYS.events("j"))
    if job is not None:
        assert await job.delta("half an answer") is Hold.BEHIND
        assert await job.hand_back() is Hold.OK
    [event] = await all_events(events)
    assert event.ended.reason == error_pb2.ERROR_REASON_JOB_LOST
    await put(queue, "next")
    assert (await next_job(consumer)).job.job_id == "next", "it holds up no other"
    assert not await redis.exists(KEYS.job("j"))
    assert await put(queue, "j") is EnqueueOutcome.CREATED


async def test_keys_of_others_under_the_names_of_jobs_hold_up_no_job(queue, make_consumer, redis):
    await redis.set(KEYS.job("text"), "no job")
    await redis.hset(KEYS.job("half"), mapping={"state": "waiting", "nonce": "n"})
    for set_name in (KEYS.waiting, KEYS.running):
        await redis.zadd(set_name, {"text": 1, "half": 1, b"\xff": 1})
    await redis.zadd("gw:{0}:turns:interactive", {"somebody": 0})
    await redis.zadd("gw:{0}:line:interactive:somebody", {"text": 1})
    await put(queue, "short", timeout_s=0.2)
    await put(queue, "j")
    await JobReaper(redis, [KEYS]).reap()
    assert sum((await queue.running_counts()).values()) == 0
    assert await redis.zrange(KEYS.running, 0, -1) == []
    assert set(await redis.zrange(KEYS.waiting, 0, -1)) <= {b"short", b"j"}
    consumer = make_consumer()
    while (job := await next_job(consumer)).job.job_id != "j":
        await job.end(FINISHED)


@pytest.mark.parametrize(
    "garbled",
    [
        {"lease_until_ms": None},
        {"lease_until_ms": "soon"},
        {"lease_ms": "long"},
        {"deadline_ms": "later"},
        {"timeout_ms": ""},
        {"crashes": "many"},
        {"max_crashes": "0x"},
        {"entry": None, "lease_until_ms": "9999999999999"},
    ],
    ids=str,
)
async def test_a_job_whose_numbers_are_none_ends_no_reap(queue, make_consumer, redis, garbled: dict[str, str | None]):
    await put(queue, "garbled")
    await next_job(make_consumer())
    for field, value in garbled.items():
        await (
            redis.hdel(KEYS.job("garbled"), field) if value is None else redis.hset(KEYS.job("garbled"), field, value)
        )
    await put(queue, "overdue", timeout_s=-60)
    await JobReaper(redis, [KEYS]).reap()
    assert (await end_of(queue, "overdue")).outcome == job_pb2.JOB_OUTCOME_EXPIRED


@pytest.mark.parametrize("number", ["deadline_ms", "sequence"])
@pytest.mark.parametrize("is_claimed", [False, True])
async def test_a_job_whose_numbers_are_none_is_lost_and_holds_up_no_other(
    queue, make_consumer, redis, number: str, is_claimed: bool
):
    await put(queue, "garbled")
    events = queue.follow("garbled")
    await anext(events)
    if is_claimed:
        await next_job(make_consumer("crashed"))
        await redis.hset(KEYS.job("garbled"), "lease_until_ms", 1)
    await redis.hset(KEYS.job("garbled"), number, "many")
    await put(queue, "next")
    assert (await next_job(make_consumer("w2"))).job.job_id == "next"
    await JobReaper(redis, [KEYS]).reap()
    [*_, last] = await all_events(events)
    assert last.ended.reason == error_pb2.ERROR_REASON_JOB_LOST
    assert await put(queue, "garbled") is EnqueueOutcome.CREATED


async def test_a_job_that_cannot_be_put_in_line_leaves_nothing_behind(queue, redis):
    await redis.set(KEYS.jobs, "no stream")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await put(queue, "j")
    assert set(await redis.keys("*")) == {KEYS.jobs.encode()}
    await redis.delete(KEYS.jobs)
    assert await put(queue, "j") is EnqueueOutcome.CREATED
