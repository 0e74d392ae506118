"""Jobs that are answered before any worker sees them, since an equal one was answered before."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from typing import cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.keys import partition_of
from retrieval_server.generation.cache.answer_cache import AnswerCache, Asked, NearQuestions, asked_by, is_determined
from retrieval_server.generation.jobs.job_messages import answered_events
from retrieval_server.generation.jobs.queue_calls import answered

log = structlog.get_logger()

_MAX_ASKED_COUNT = 4096
_REMEMBER_TIMEOUT_S = 0.25


class AnsweredJobs:
    """The cache as the queue uses it: without it, or when Redis cannot say, a job is simply generated."""

    def __init__(
        self, redis: Redis, partition_count: int, *, ttl_s: float, cache_ttl_s: float, near: NearQuestions | None
    ) -> None:
        self._redis = redis
        self._partition_count = partition_count
        self._ttl_ms = round(ttl_s * 1000)
        self._cache = AnswerCache(redis, partition_count, ttl_s=cache_ttl_s, near=near)
        self._asked: OrderedDict[str, Asked] = OrderedDict()

    async def find(self, job: job_pb2.GenerationJob, identities: Iterable[str]) -> job_pb2.CachedAnswer | None:
        """Return the kept answer to an equal job, and note what this one asks."""
        if job.HasField("condensing") or not is_determined(job):
            return None
        asked = await asyncio.to_thread(asked_by, job)
        self._asked[job.job_id] = asked
        if len(self._asked) > _MAX_ASKED_COUNT:
            self._asked.popitem(last=False)
        if job.generate_anew:
            return None
        try:
            return await self._cache.find(asked, identities)
        except RedisError as error:
            log.debug("answers not looked up", job_id=job.job_id, error=str(error))
            return None

    async def enqueue(
        self,
        job: job_pb2.GenerationJob,
        retrieved: job_pb2.JobRetrieved,
        request_hash: bytes,
        answer: job_pb2.CachedAnswer,
    ) -> str:
        """Make the job with its end; returns "created", "exists" or "conflict". Raises Unavailable."""
        incarnation = secrets.token_hex(8)
        answer.generator.from_cache = True
        events = [event.SerializeToString() for event in answered_events(retrieved, answer)]
        keys = partition_of(job.job_id, self._partition_count).of_script(job.job_id)

        async def send() -> bytes:
            made = await scripts.ANSWERED.run(
                self._redis, keys, job.job_id, incarnation, request_hash, self._ttl_ms, *events, answer.text
            )
            return cast("bytes", made)

        return (await answered(send)).decode()

    async def remember(self, job_id: str, ended: job_pb2.JobEnded) -> None:
        """Keep an answer that has passed its check; only for jobs that `find` was asked about."""
        asked = self._asked.pop(job_id, None)
        if asked is None or ended.generator.from_cache:
            return
        try:
            # Whoever waits for the answer waits for this as well.
            async with asyncio.timeout(_REMEMBER_TIMEOUT_S):
                await self._cache.keep(asked, ended)
        except (RedisError, TimeoutError) as error:
            log.debug("answer not kept", job_id=job_id, error=str(error))
