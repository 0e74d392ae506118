"""Ending jobs that no worker will end: the workers may all be dead, and their callers still wait."""

import asyncio
from typing import cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from groundwire.queue import scripts
from groundwire.queue.connection import Backoff
from groundwire.queue.ending import EXPIRED, EndAttempt, dead_letter
from groundwire.queue.keys import PartitionKeys
from groundwire.queue.outage import Outage

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
        backoff, outage = Backoff(most_s=2.0), Outage()
        while True:
            delay_s = REAP_INTERVAL_S
            try:
                await self.reap()
                backoff.reset()
                outage.is_over()
            except RedisError as error:
                delay_s = backoff.next_s()
                outage.goes_on(error)
            except Exception:
                # Callers wait for what this ends: it goes on, whatever one job holds.
                delay_s = backoff.next_s()
                log.exception("jobs not reaped")
            await asyncio.sleep(delay_s)

    async def reap(self) -> None:
        """End every job whose deadline has passed, and those whose last allowed worker crashed."""
        for keys in self._partitions:
            overdue = await scripts.OVERDUE.run(self._redis, keys.of_scripts_that_find_jobs, GRACE_MS, _JOBS_AT_ONCE)
            for job_id, nonce, kind, crash_count in cast("list[tuple[bytes, bytes, bytes, int]]", overdue):
                ending = EXPIRED if kind == b"expired" else dead_letter(crash_count)
                result = await EndAttempt(keys, job_id.decode(), ending, expected_nonce=nonce).send(self._redis)
                log.info("job reaped", job_id=job_id.decode(), message=ending.message, result=result.value)
