"""Scripts: Redis may forget them at any time."""

from groundwire.queue import scripts
from groundwire.queue.ending import CANCELLED, EXPIRED, WHATEVER_NONCE, EndAttempt, EndResult
from groundwire.queue.keys import WORKERS_RECORDS, WORKERS_SEEN, PartitionKeys
from tests.generation_worker.harness import put

KEYS = PartitionKeys(0)


async def test_a_script_that_redis_forgot_is_sent_again(queue, redis):
    await put(queue, "a")
    await redis.script_flush()
    await put(queue, "b")
    assert await queue.cancel("a")
    assert await redis.script_exists(scripts.ENQUEUE.sha1, scripts.END.sha1) == [True, True]


async def test_the_wish_to_end_a_job_may_be_sent_twice_and_knows_itself_again(queue, redis):
    await put(queue, "j")
    first = EndAttempt(KEYS, "j", CANCELLED, expected_nonce=WHATEVER_NONCE)
    second = EndAttempt(KEYS, "j", EXPIRED, expected_nonce=WHATEVER_NONCE)
    assert [await attempt.send(redis) for attempt in (first, first, second, first)] == [
        EndResult.ENDED,
        EndResult.ENDED,
        EndResult.ALREADY,
        EndResult.ENDED,
    ]
    assert await redis.xlen(KEYS.events("j")) == 2


async def test_an_end_under_another_nonce_changes_nothing(queue, redis):
    await put(queue, "j")
    before = await redis.hgetall(KEYS.job("j"))
    assert await EndAttempt(KEYS, "j", EXPIRED, expected_nonce="stale").send(redis) is EndResult.STALE
    assert await EndAttempt(KEYS, "nobody", EXPIRED, expected_nonce="").send(redis) is EndResult.MISSING
    assert await redis.hgetall(KEYS.job("j")) == before
    assert not await redis.exists(KEYS.job("nobody"), KEYS.events("nobody"))


async def test_workers_silent_for_long_are_forgotten(redis):
    for worker_id in ("old", "new"):
        await scripts.WORKER_SEEN.run(redis, (WORKERS_SEEN, WORKERS_RECORDS), worker_id, b"", 60_000)
    await redis.zincrby(WORKERS_SEEN, -61_000, "old")
    await scripts.WORKER_SEEN.run(redis, (WORKERS_SEEN, WORKERS_RECORDS), "new", b"", 60_000)
    assert await redis.hkeys(WORKERS_RECORDS) == [b"new"]
