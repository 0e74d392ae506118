"""Ending jobs that no worker will end: the workers may all be dead, and their callers still wait."""

import asyncio
from typing import cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from groundwire.queue.connection import Backoff
from groundwire.queue.ending import EXPIRED, EndAttempt, Ending, EndResult, dead_letter
from groundwire.queue.keys import PartitionKeys

log = structlog.get_logger()

REAP_INTERVAL_S = 1.0
GRACE_MS = 1000
"""A live worker has this long to end an overdue job itself, or to renew its lease when Redis is back."""
_JOBS_AT_ONCE = 100


class JobReaper:
    """Looks through the jobs that have not ended. Any number of them may run: the compare-and-set decides."""

    def __init__(self, redis: Redis, partitions: list[PartitionKeys]) -> None:
        self._redis = redis
        self._partitions = partitions

    async def run(self) -> None:
        """Reap until cancelled."""
        backoff = Backoff(most_s=2.0)
        while True:
            delay_s = REAP_INTERVAL_S
            try:
                await self.reap()
                backoff.reset()
            except RedisError as error:
                delay_s = backoff.next_s()
                log.debug("jobs not reaped", error=str(error))
            except Exception:
                # Callers wait for what this ends: it goes on, whatever one job holds.
                delay_s = backoff.next_s()
                log.exception("jobs not reaped")
            await asyncio.sleep(delay_s)

    async def reap(self) -> None:
        """End every job whose deadline has passed, and those whose last allowed worker crashed."""
        seconds, microseconds = await self._redis.time()
        now_ms = seconds * 1000 + microseconds // 1000
        for keys in self._partitions:
            job_ids = set(await self._redis.zrange(keys.running, 0, _JOBS_AT_ONCE - 1))
            for key in (keys.waiting, keys.running):
                job_ids |= set(await self._redis.zrangebyscore(key, "-inf", now_ms, start=0, num=_JOBS_AT_ONCE))
            for job_id in cast("set[bytes]", job_ids):
                await self._reap_job(keys, job_id.decode(), now_ms)

    async def _reap_job(self, keys: PartitionKeys, job_id: str, now_ms: int) -> None:
        nonce, state, deadline_ms, lease_until_ms, crashes, max_crashes = await self._redis.hmget(
            keys.job(job_id), ["nonce", "state", "deadline_ms", "lease_until_ms", "crashes", "max_crashes"]
        )
        ending: Ending | None = None
        if int(deadline_ms or 0) + GRACE_MS < now_ms:
            ending = EXPIRED
        elif state == b"running" and int(lease_until_ms or 0) + GRACE_MS < now_ms:
            crash_count = int(crashes or 0) + 1
            if crash_count >= int(max_crashes or 0):
                ending = dead_letter(crash_count)
        if ending is None:
            return
        result = await EndAttempt(keys, job_id, ending, expected_nonce=nonce or "").send(self._redis)
        if result is EndResult.MISSING:
            # The job was evicted or has outlived its time: nobody waits for it, and nothing else would remove this.
            await self._redis.zrem(keys.waiting, job_id)
            await self._redis.zrem(keys.running, job_id)
        else:
            log.info("job reaped", job_id=job_id, message=ending.message, result=result.value)
