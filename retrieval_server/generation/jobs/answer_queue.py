"""The server's side of the answer queue: jobs go in, their events come out."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncGenerator
from enum import Enum
from typing import NoReturn, cast

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.connection import connect
from groundwire.queue.ending import CANCELLED, NO_WORKER_LEFT, WHATEVER_NONCE, EndAttempt, Ending, EndResult
from groundwire.queue.keys import PartitionKeys, partition_of
from groundwire.queue.liveness import WorkerInfo
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.errors import Conflict, NotFound, Overloaded
from retrieval_server.generation.cache.answer_cache import NearQuestions
from retrieval_server.generation.jobs.answered_jobs import AnsweredJobs
from retrieval_server.generation.jobs.dead_letters import DeadLetters
from retrieval_server.generation.jobs.job_follower import FOLLOW_BLOCK_S, JobFollower, Looked
from retrieval_server.generation.jobs.job_reaper import GRACE_MS, JobReaper
from retrieval_server.generation.jobs.queue_calls import RETRY_AFTER_S, answered
from retrieval_server.generation.jobs.queue_counts import NoWorker, QueueCounts, QueueStats

_MAX_FOLLOWERS_READING = 128


class EnqueueOutcome(Enum):
    """What enqueueing found."""

    CREATED = "created"
    EXISTS = "exists"


class AnswerQueue:
    """Jobs by id. Every method but `follow` raises Unavailable (QUEUE_UNAVAILABLE) when Redis does not answer."""

    def __init__(
        self,
        redis_url: str,
        *,
        partition_count: int,
        max_depth: int,
        lease_s: float,
        max_deliveries: int,
        ttl_s: float,
        max_share: float = 1.0,
        cache_ttl_s: float = 0.0,
        near_questions: NearQuestions | None = None,
    ) -> None:
        """Connect when first used.

        Args:
            redis_url: see `groundwire.queue.redis_url`.
            partition_count: the same in servers and workers.
            max_depth: jobs that may wait in one partition.
            lease_s: a worker that has been silent for this long counts as dead.
            max_deliveries: workers that a job may crash before it is given up.
            ttl_s: how long a job's events are kept after its last use.
            max_share: of `max_depth`, what one caller may have waiting, and all BATCH jobs together.
            cache_ttl_s: how long answers are kept for equal questions; 0 keeps none.
            near_questions: which questions share the answer to another one as well.

        Raises:
            RedisUrlError: the address can never work.
        """
        self._redis = connect(redis_url)
        # Reads that block have connections of their own, and so few that Redis is not flooded: followers take turns.
        self._blocking_redis = connect(redis_url, block_s=FOLLOW_BLOCK_S, max_connections=_MAX_FOLLOWERS_READING)
        self._partition_count = partition_count
        self._max_depth = max_depth
        self._counts = QueueCounts(self._redis, self._partitions(), lease_s=lease_s)
        self._max_deliveries = max_deliveries
        self._ttl_s = ttl_s
        self._max_waiting_of_one = max(1, round(max_depth * max_share))
        self._letting_go = asyncio.Event()
        self._answered: AnsweredJobs | None = None
        if cache_ttl_s:
            self._answered = AnsweredJobs(
                self._redis, partition_count, ttl_s=ttl_s, cache_ttl_s=cache_ttl_s, near=near_questions
            )
        self.dead_letters = DeadLetters(self._redis, partition_count)

    async def enqueue(
        self, job: job_pb2.GenerationJob, retrieved: job_pb2.JobRetrieved, request_hash: bytes
    ) -> EnqueueOutcome:
        """Put a job into the queue, or find the one that its id already names, or make one that is answered already.

        An id whose job ended in a way that may be retried (cancelled, expired, given up) is used anew.

        Raises:
            Conflict: the id names a job of another request.
            Overloaded: as many jobs wait as are allowed, in all, of this caller or of BATCH priority.
        """
        if self._answered is not None:
            kept = await self._answered.find(job, [one.generator_identity for one in await self.workers()])
            if kept is not None:
                return _outcome(await self._answered.enqueue(job, retrieved, request_hash, kept))
        incarnation = secrets.token_hex(8)
        remaining_ms = round(job.deadline.ToMilliseconds() - time.time() * 1000)

        async def send() -> bytes:
            return cast(
                "bytes",
                await scripts.ENQUEUE.run(
                    self._redis,
                    self._partition(job.job_id).of_script(job.job_id),
                    job.job_id,
                    incarnation,
                    request_hash,
                    job.SerializeToString(),
                    job_pb2.JobEvent(retrieved=retrieved).SerializeToString(),
                    remaining_ms,
                    round(self._ttl_s * 1000),
                    self._max_depth,
                    self._max_waiting_of_one,
                    self._max_deliveries,
                    "batch" if job.priority == answer_pb2.ANSWER_PRIORITY_BATCH else "interactive",
                    job.caller,
                ),
            )

        answer = (await answered(send)).decode()
        if answer in {"full", "caller_full"}:
            share = f"{self._max_depth} jobs wait"
            if answer == "caller_full":
                share = f"{self._max_waiting_of_one} jobs of this caller, or of batches, wait; the rest is for others"
            raise Overloaded(
                error_pb2.ERROR_REASON_QUEUE_FULL, f"the answer queue is full ({share})", retry_after_s=RETRY_AFTER_S
            )
        return _outcome(answer)

    async def remember(self, job_id: str, ended: job_pb2.JobEnded) -> None:
        """Keep an answer that has passed its check, for equal questions; only for jobs of this process."""
        if self._answered is not None:
            await self._answered.remember(job_id, ended)

    async def is_stored(self, job_id: str, request_hash: bytes) -> bool:
        """Return whether `enqueue` would find a job rather than create one.

        Raises:
            Conflict: the id names a job of another request.
        """
        keys = self._partition(job_id)
        request_hash_stored, state, retryable = await answered(
            lambda: self._redis.hmget(keys.job(job_id), ["request_hash", "state", "retryable"])
        )
        if state is None or (state == b"ended" and retryable == b"1" and request_hash_stored == request_hash):
            return False
        if request_hash_stored != request_hash:
            _raise_conflict()
        return True

    def follow(self, job_id: str, after_sequence: int = 0) -> AsyncGenerator[job_pb2.JobEvent]:
        """Yield a job's events from the one after `after_sequence`; the last one is JobEnded, always, and only one.

        Redis may go and come back meanwhile. A job that is gone ends as FAILED with JOB_LOST, one that passes its
        deadline is ended by this method when nobody else does it, and one that Redis tells nothing about until then
        ends, for this caller, as FAILED with QUEUE_UNAVAILABLE.
        """
        return JobFollower(
            self._redis,
            self._blocking_redis,
            self._partition(job_id),
            job_id,
            after_sequence,
            ttl_s=self._ttl_s,
            let_go=self._letting_go,
        ).events()

    def let_go(self) -> None:
        """End all streams of `follow` at once with Unavailable (SHUTTING_DOWN); the jobs go on."""
        self._letting_go.set()

    async def cancel(self, job_id: str) -> bool:
        """End a job, whoever holds it; return whether this call did, False when it had ended before.

        Raises:
            NotFound: no job has that id.
        """
        result = await self._end(job_id, CANCELLED)
        if result is EndResult.MISSING:
            _raise_not_found()
        return result is EndResult.ENDED

    async def give_up(self, job_id: str) -> bool:
        """End a job that no worker is left for; it may be asked again. False when it had ended before, or is gone."""
        return await self._end(job_id, NO_WORKER_LEFT) is EndResult.ENDED

    async def give_up_waiting(self, job_id: str, why: str) -> bool:
        """End a job that no living worker holds, as FAILED (NO_WORKER); False when one does, or it ended, or is gone.

        What the lease of a dead worker has left is nobody's until another worker takes a job again.
        """
        keys = self._partition(job_id)
        looked = await answered(lambda: scripts.LOOK.run(self._redis, keys.of_script(job_id)))
        now_ms, _, state, _, _, nonce, _, lease_until_ms, _ = cast("Looked", looked)
        if nonce is None or (state == b"running" and int(lease_until_ms or 0) + GRACE_MS > now_ms):
            return False
        ending = Ending(job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_NO_WORKER, why)
        attempt = EndAttempt(keys, job_id, ending, expected_nonce=nonce)
        return await answered(lambda: attempt.send(self._redis)) is EndResult.ENDED

    async def _end(self, job_id: str, ending: Ending) -> EndResult:
        attempt = EndAttempt(self._partition(job_id), job_id, ending, expected_nonce=WHATEVER_NONCE)
        return await answered(lambda: attempt.send(self._redis))

    async def require(self, job_id: str) -> None:
        """Return when a job of that id is there. Raises NotFound."""
        if not await answered(lambda: self._redis.exists(self._partition(job_id).job(job_id))):
            _raise_not_found()

    async def stats(self) -> QueueStats:
        """Count jobs and live workers."""
        return await self._counts.stats()

    async def workers(self) -> list[WorkerInfo]:
        """Return the workers that showed a sign of life within the lease, by id."""
        return await self._counts.workers()

    async def running_counts(self) -> Counter[str]:
        """Return how many jobs each worker holds, by worker id."""
        return await self._counts.running_counts()

    async def why_no_worker(self) -> NoWorker | None:
        """Return why no worker, idle or busy, takes jobs; None when one does."""
        return await self._counts.why_no_worker()

    async def run_reaper(self) -> None:
        """End jobs that no worker will end, until cancelled."""
        await JobReaper(self._redis, self._partitions()).run()

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
        await self._blocking_redis.aclose()

    def _partition(self, job_id: str) -> PartitionKeys:
        return partition_of(job_id, self._partition_count)

    def _partitions(self) -> list[PartitionKeys]:
        return [PartitionKeys(number) for number in range(self._partition_count)]


def _outcome(answer: str) -> EnqueueOutcome:
    if answer == "conflict":
        _raise_conflict()
    return EnqueueOutcome(answer)


def _raise_conflict() -> NoReturn:
    raise Conflict(
        error_pb2.ERROR_REASON_REQUEST_ID_CONFLICT, "that request_id was used with another request; choose another id"
    )


def _raise_not_found() -> NoReturn:
    raise NotFound(
        error_pb2.ERROR_REASON_JOB_NOT_FOUND, "no answer has that request_id, or its time to live has passed"
    )
