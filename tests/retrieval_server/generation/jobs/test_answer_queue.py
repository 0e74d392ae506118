"""The server's side of the queue: what is acknowledged is kept, and every job ends once."""

import asyncio

import pytest

from generation_worker.claimed_job import Hold
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import RedisUrlError
from groundwire.queue.ending import Ending, EndResult
from groundwire.queue.liveness import report_alive, report_gone
from groundwire.v1 import error_pb2
from retrieval_server.errors import Conflict, NotFound, Overloaded, Unavailable
from retrieval_server.generation.jobs.answer_queue import EnqueueOutcome
from retrieval_server.generation.jobs.queue_counts import QueueStats
from tests.generation_worker.harness import all_events, end_of, eventually, kind, make_queue, next_job, put
from tests.support.valkey import free_port

FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)


async def test_the_same_request_twice_is_one_job(queue):
    assert await put(queue, "j") is EnqueueOutcome.CREATED
    assert await put(queue, "j") is EnqueueOutcome.EXISTS
    assert (await queue.stats()).waiting_count == 1


async def test_many_callers_at_once_make_one_job(queue):
    outcomes = await asyncio.gather(*(put(queue, "j") for _ in range(20)))
    assert outcomes.count(EnqueueOutcome.CREATED) == 1


async def test_an_id_with_another_request_is_a_conflict(queue):
    await put(queue, "j")
    with pytest.raises(Conflict) as refusal:
        await put(queue, "j", request_hash=b"other")
    assert refusal.value.reason == error_pb2.ERROR_REASON_REQUEST_ID_CONFLICT
    with pytest.raises(Conflict):
        await queue.is_stored("j", b"other")


async def test_a_full_queue_refuses_new_jobs_and_still_attaches(own_valkey):
    full = make_queue(own_valkey.url, max_depth=2)
    await put(full, "a")
    await put(full, "b")
    with pytest.raises(Overloaded) as refusal:
        await put(full, "c")
    assert refusal.value.reason == error_pb2.ERROR_REASON_QUEUE_FULL
    assert refusal.value.retry_after_s > 0
    assert await put(full, "a") is EnqueueOutcome.EXISTS
    await full.cancel("a")
    assert await put(full, "c") is EnqueueOutcome.CREATED
    await full.close()


async def test_cancelling_without_any_worker_cannot_grow_the_stream_without_bound(own_valkey, redis, make_consumer):
    queue = make_queue(own_valkey.url, max_depth=2)
    for number in range(40):
        await put(queue, f"j{number}")
        await queue.cancel(f"j{number}")
    await put(queue, "last but one")
    await put(queue, "last")
    assert await redis.xlen("gw:{0}:jobs") == 16
    consumer = make_consumer()
    assert {(await next_job(consumer)).job.job_id for _ in range(2)} == {"last but one", "last"}
    for _ in range(14):  # each drops a ticket that stands for nobody
        assert await consumer.next_job() is None
    assert await redis.xlen("gw:{0}:jobs") == 2
    await queue.close()


async def test_a_finished_job_is_replayed_and_a_cancelled_one_is_done_anew(queue, make_consumer):
    consumer = make_consumer()
    await put(queue, "done")
    job = await next_job(consumer)
    await job.delta("answer")
    await job.end(FINISHED)
    assert await queue.is_stored("done", b"h")
    assert await put(queue, "done") is EnqueueOutcome.EXISTS
    assert (await end_of(queue, "done")).text == "answer"

    await put(queue, "again")
    await queue.cancel("again")
    assert not await queue.is_stored("again", b"h")
    assert await put(queue, "again") is EnqueueOutcome.CREATED
    job = await next_job(consumer)
    assert (job.job.job_id, job.attempt) == ("again", 1)
    await job.end(FINISHED)
    assert [kind(event) for event in await all_events(queue.follow("again"))] == ["retrieved", "ended"]


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        (error_pb2.ERROR_REASON_GENERATION_FAILED, EnqueueOutcome.EXISTS),  # a retry would repeat it
        (error_pb2.ERROR_REASON_INTERNAL, EnqueueOutcome.CREATED),
    ],
)
async def test_only_a_failure_that_a_retry_could_mend_is_done_anew(queue, make_consumer, reason, outcome):
    await put(queue, "j")
    job = await next_job(make_consumer())
    await job.end(Ending(job_pb2.JOB_OUTCOME_FAILED, reason, "why"))
    assert await put(queue, "j") is outcome


async def test_a_job_without_workers_is_given_up_once_and_may_be_asked_again(queue):
    await put(queue, "j")
    assert await queue.give_up("j") is True
    assert await queue.give_up("j") is False
    assert await queue.give_up("never there") is False
    ended = await end_of(queue, "j")
    assert (ended.outcome, ended.reason) == (job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_NO_WORKER)
    assert await put(queue, "j") is EnqueueOutcome.CREATED


async def test_only_a_job_that_waits_is_given_up_because_workers_take_none(queue, make_consumer):
    await put(queue, "j")
    job = await next_job(make_consumer())
    assert await queue.give_up_waiting("j", "all fail") is False
    await job.hand_back()
    assert await queue.give_up_waiting("j", "all fail") is True
    assert await queue.give_up_waiting("j", "all fail") is False
    assert await queue.give_up_waiting("never there", "all fail") is False
    ended = await end_of(queue, "j")
    assert (ended.outcome, ended.reason) == (job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_NO_WORKER)
    assert ended.message == "all fail"
    assert await put(queue, "j") is EnqueueOutcome.CREATED


async def test_a_job_of_a_dead_worker_is_given_up_once_its_lease_is_over_and_its_worker_writes_no_more(
    queue, make_consumer
):
    await put(queue, "held")
    await next_job(make_consumer("living", lease_s=60.0))
    assert await queue.give_up_waiting("held", "all fail") is False
    await put(queue, "j")
    dead = await next_job(make_consumer(lease_s=0.05))

    async def is_given_up() -> bool:
        return bool(await queue.give_up_waiting("j", "all fail"))

    await eventually(is_given_up, timeout_s=60, what="the lease is over")
    assert await dead.delta("late") is Hold.LOST
    assert await dead.renew() is Hold.LOST
    ended = await end_of(queue, "j")
    assert (ended.reason, ended.text) == (error_pb2.ERROR_REASON_NO_WORKER, "")


async def test_a_job_that_was_taken_over_is_not_given_up(queue, make_consumer):
    await put(queue, "j")
    await next_job(make_consumer("dead", lease_s=0.05))
    await next_job(make_consumer("living", lease_s=3.0))
    assert await queue.give_up_waiting("j", "all fail") is False


async def test_a_job_is_cancelled_once(queue):
    await put(queue, "j")
    assert await queue.cancel("j") is True
    assert await queue.cancel("j") is False
    ended = await end_of(queue, "j")
    assert (ended.outcome, ended.reason) == (job_pb2.JOB_OUTCOME_CANCELLED, error_pb2.ERROR_REASON_JOB_CANCELLED)


async def test_an_unknown_job_cannot_be_cancelled(queue):
    with pytest.raises(NotFound) as refusal:
        await queue.cancel("nobody")
    assert refusal.value.reason == error_pb2.ERROR_REASON_JOB_NOT_FOUND


async def test_of_a_worker_that_finishes_and_callers_that_cancel_exactly_one_ends_the_job(queue, make_consumer):
    consumer = make_consumer()
    winners = set()
    for number in range(15):
        job_id = f"j{number}"
        await put(queue, job_id)
        job = await next_job(consumer)
        first = [job.end(FINISHED)] if number % 2 else []
        results = await asyncio.gather(*first, queue.cancel(job_id), job.end(FINISHED), queue.cancel(job_id))
        ended_count = sum(result in (True, EndResult.ENDED) for result in results)
        assert ended_count == 1
        winners.add((await end_of(queue, job_id)).outcome)
    assert winners <= {job_pb2.JOB_OUTCOME_FINISHED, job_pb2.JOB_OUTCOME_CANCELLED}


async def test_counts_follow_a_job_through_its_life(queue, make_consumer):
    assert await queue.stats() == QueueStats(0, 0, 0, 0)
    await put(queue, "j")
    assert await queue.stats() == QueueStats(1, 0, 0, 0)
    job = await next_job(make_consumer())
    assert await queue.stats() == QueueStats(0, 1, 0, 0)
    await job.end(FINISHED)
    assert await queue.stats() == QueueStats(0, 0, 0, 0)


async def test_workers_count_as_live_while_they_say_so(queue, redis):
    assert (await queue.why_no_worker()).message.startswith("no generation worker is alive")
    record = job_pb2.WorkerRecord(model="m", context_tokens=4096)
    record.started_time.FromSeconds(1000)
    await report_alive(redis, "w1", record)
    [worker] = await queue.workers()
    assert (worker.worker_id, worker.model, worker.context_tokens, worker.started_unix_s) == ("w1", "m", 4096, 1000.0)
    assert await queue.why_no_worker() is None
    await redis.zincrby("gw:{workers}:seen", -31_000, "w1")  # 31 seconds ago: more than the lease
    assert not (await queue.why_no_worker()).some_live
    await report_gone(redis, "w1")
    assert await redis.hgetall("gw:{workers}:records") == {}


async def test_workers_that_take_no_jobs_are_as_good_as_none_and_say_why_and_how_long(queue, redis):
    record = job_pb2.WorkerRecord(model="m", slot_count=2, not_accepting_reason="the openai backend failed")
    record.accepts_again_after.FromMilliseconds(12_500)
    await report_alive(redis, "w1", record)
    record.accepts_again_after.FromSeconds(30)
    await report_alive(redis, "w2", record)
    why = await queue.why_no_worker()
    assert (why.some_live, why.retry_after_s) == (True, 12.5)
    assert "takes jobs now: the openai backend failed; try again later" in why.message
    stats = await queue.stats()
    assert (stats.live_worker_count, stats.accepting_worker_count, stats.slot_count) == (2, 0, 4)
    record.Clear()
    await report_alive(redis, "w2", record)
    assert await queue.why_no_worker() is None
    assert (await queue.stats()).accepting_worker_count == 1


async def test_a_worker_that_reads_too_few_partitions_counts_as_dead_and_is_named(own_valkey, redis):
    queue = make_queue(own_valkey.url, partition_count=8)
    await report_alive(redis, "w1", job_pb2.WorkerRecord(model="m", partition_count=1))
    why = await queue.why_no_worker()
    assert not why.some_live
    assert "worker w1 reads 1 of 8 partitions: set GROUNDWIRE_QUEUE_PARTITION_COUNT alike" in why.message
    [worker] = await queue.workers()
    assert worker.not_accepting_reason in why.message
    stats = await queue.stats()
    assert (stats.live_worker_count, stats.accepting_worker_count, stats.slot_count) == (0, 0, 0)
    for all_of_them in (8, 9, 0):  # a worker of an older version does not say
        await report_alive(redis, "w2", job_pb2.WorkerRecord(model="m", partition_count=all_of_them))
        assert await queue.why_no_worker() is None
        assert (await queue.stats()).live_worker_count == 1
    await queue.close()


async def test_without_redis_each_call_says_so():
    queue = make_queue(f"redis://127.0.0.1:{free_port()}/0")
    calls = (
        put(queue, "j"),
        queue.cancel("j"),
        queue.stats(),
        queue.why_no_worker(),
        queue.is_stored("j", b"h"),
    )
    for result in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(result, Unavailable)
        assert result.reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE
    await queue.close()


async def test_jobs_are_spread_over_partitions_and_found_again(own_valkey, redis):
    queue = make_queue(own_valkey.url, partition_count=3)
    for number in range(12):
        await put(queue, f"j{number}")
    lengths = [await redis.xlen(f"gw:{{{number}}}:jobs") for number in range(3)]
    assert sum(lengths) == 12
    assert all(lengths)
    assert (await queue.stats()).waiting_count == 12
    assert await queue.cancel("j7")
    await queue.close()


def test_an_address_that_can_never_work_is_refused_without_showing_it():
    with pytest.raises(RedisUrlError, match="GROUNDWIRE_REDIS_URL") as refusal:
        make_queue("http://user:secret@host")
    assert "secret" not in str(refusal.value)


async def test_workers_that_a_clock_set_back_saw_in_times_to_come_are_dead_until_they_say_otherwise(queue, redis):
    await report_alive(redis, "w1", job_pb2.WorkerRecord(model="m"))
    await redis.zincrby("gw:{workers}:seen", 7_200_000, "w1")
    assert (await queue.why_no_worker()).message.startswith("no generation worker is alive")
    await report_alive(redis, "w1", job_pb2.WorkerRecord(model="m"))
    assert await queue.why_no_worker() is None


async def test_a_worker_that_says_nonsense_of_itself_spoils_nothing(queue, redis):
    await report_alive(redis, "odd", job_pb2.WorkerRecord())
    await redis.hset("gw:{workers}:records", "odd", b"\xff\xff")
    assert "not readable by this version" in (await queue.why_no_worker()).message
    await report_alive(redis, "w1", job_pb2.WorkerRecord(model="m"))
    assert await queue.why_no_worker() is None
    assert [worker.worker_id for worker in await queue.workers()] == ["odd", "w1"]
