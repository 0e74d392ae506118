"""Crashes: what ran beside a poison job is not blamed for it, and the poison job itself is found."""

from groundwire.internal.v1 import job_pb2
from groundwire.queue.ending import Ending
from groundwire.queue.keys import PartitionKeys
from retrieval_server.generation.jobs import job_reaper
from retrieval_server.generation.jobs.job_reaper import JobReaper
from tests.generation_worker.harness import end_of, eventually, make_queue, next_job, put

FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)
LEASE_S = 0.25
LONG_LEASE_S = 1.5  # a worker that is to hold several jobs before the first lease ends
KEYS = PartitionKeys(0)


async def crashes_of(redis, job_id: str) -> int:
    return int(await redis.hget(KEYS.job(job_id), "crashes"))


async def test_jobs_of_a_crashed_batch_are_not_blamed_and_run_alone_from_then_on(queue, make_consumer, redis):
    for job_id in ("a", "b", "c"):
        await put(queue, job_id)
    crashing = make_consumer("crashing", lease_s=LONG_LEASE_S)
    for _ in range(3):
        assert not (await next_job(crashing)).alone
    rescuer = make_consumer("rescuer", lease_s=LEASE_S)
    for _ in range(3):
        job = await next_job(rescuer)
        assert job.alone
        assert await crashes_of(redis, job.job.job_id) == 0
        await job.end(FINISHED)
    await put(queue, "new")
    assert not (await next_job(rescuer)).alone
    assert [key async for key in redis.scan_iter("gw:{0}:held:crashing")] == []


async def test_a_job_that_was_alone_when_its_worker_crashed_is_blamed(queue, make_consumer, redis):
    await put(queue, "beside")
    await put(queue, "poison")
    crashing = make_consumer("w1", lease_s=LEASE_S)
    first = await next_job(crashing)
    await first.end(FINISHED)
    await next_job(crashing)
    job = await next_job(make_consumer("w2", lease_s=LEASE_S))
    assert (job.job.job_id, job.alone) == ("poison", True)
    assert await crashes_of(redis, "poison") == 1


async def test_a_poison_job_is_given_up_after_the_cap_and_its_neighbours_are_done(queue, make_consumer, monkeypatch):
    monkeypatch.setattr(job_reaper, "GRACE_MS", 50)
    for job_id in ("good1", "poison", "good2"):
        await put(queue, job_id)
    done, crash_count, number = set(), 0, 0
    # The first worker takes all three beside each other and dies of one of them.
    batch = make_consumer("batch", lease_s=LONG_LEASE_S)
    for _ in range(3):
        await next_job(batch)
    while len(done) < 2 or crash_count < 3:
        number += 1
        job = await next_job(make_consumer(f"w{number}", lease_s=LEASE_S))
        assert job.alone
        if job.job.job_id == "poison":
            crash_count += 1
        else:
            await job.end(FINISHED)
            done.add(job.job.job_id)

    reaper = JobReaper(queue._redis, [KEYS])

    async def is_given_up() -> bool:
        await reaper.reap()
        return (await queue.stats()).dead_letter_count == 1

    await eventually(is_given_up, timeout_s=60, what="the poison job among the dead letters")
    assert (await end_of(queue, "poison")).outcome == job_pb2.JOB_OUTCOME_DEAD_LETTER
    for job_id in done:
        assert (await end_of(queue, job_id)).outcome == job_pb2.JOB_OUTCOME_FINISHED


async def test_the_reaper_does_not_give_up_a_job_that_crashed_among_others(
    queue, make_consumer, monkeypatch, own_valkey
):
    monkeypatch.setattr(job_reaper, "GRACE_MS", 50)
    strict = make_queue(own_valkey.url, max_deliveries=1)
    await put(strict, "a")
    await put(strict, "b")
    crashing = make_consumer("crashing", lease_s=LONG_LEASE_S)
    await next_job(crashing)
    await next_job(crashing)
    reaper = JobReaper(strict._redis, [KEYS])
    rescuer = make_consumer("rescuer", lease_s=LEASE_S)
    job = await next_job(rescuer)
    await reaper.reap()
    assert (await strict.stats()).dead_letter_count == 0
    await job.end(FINISHED)
    await strict.close()


async def test_the_reaper_gives_a_job_in_line_the_ticket_that_was_evicted(queue, make_consumer, redis):
    await put(queue, "a")
    await put(queue, "b")
    await redis.delete(KEYS.jobs)
    await JobReaper(redis, [KEYS]).reap()
    consumer = make_consumer()
    assert {(await next_job(consumer)).job.job_id for _ in range(2)} == {"a", "b"}
