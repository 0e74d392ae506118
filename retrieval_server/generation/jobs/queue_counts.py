"""What the answer queue holds, and who works on it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from redis.asyncio import Redis

from groundwire.queue import scripts
from groundwire.queue.keys import PartitionKeys
from groundwire.queue.liveness import WorkerInfo, seen_workers
from retrieval_server.generation.jobs.queue_calls import RETRY_AFTER_S, answered


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Counts of the whole queue."""

    waiting_count: int
    running_count: int
    dead_letter_count: int
    live_worker_count: int
    slot_count: int = 0
    waiting_batch_count: int = 0
    accepting_worker_count: int = 0


@dataclass(frozen=True, slots=True)
class NoWorker:
    """Why nobody takes jobs now; `some_live` when workers do live, whose generators fail.

    `patience_s` is how long a job that waits may go on waiting, as one is being tried that may help all.
    """

    message: str
    retry_after_s: float
    some_live: bool
    patience_s: float = 0.0


class QueueCounts:
    """Reads, never writes. Methods raise Unavailable (QUEUE_UNAVAILABLE) when Redis does not answer."""

    def __init__(self, redis: Redis, partitions: Sequence[PartitionKeys], *, lease_s: float) -> None:
        """A worker that has been silent for `lease_s` counts as dead."""
        self._redis = redis
        self._partitions = partitions
        self._lease_s = lease_s

    async def stats(self) -> QueueStats:
        """Count jobs and live workers."""

        async def count() -> list[int]:
            return [
                await self._redis.zcard(key)
                for keys in self._partitions
                for key in (keys.waiting, keys.running, keys.dead)
            ]

        async def count_batch() -> int:
            counts = [await scripts.WAITING_BATCH.run(self._redis, keys.of_script("")) for keys in self._partitions]
            return sum(counts)

        counts = await answered(count)
        workers = [worker for worker in await self.workers() if self._reads_all(worker)]
        return QueueStats(
            waiting_count=sum(counts[0::3]),
            running_count=sum(counts[1::3]),
            dead_letter_count=sum(counts[2::3]),
            live_worker_count=len(workers),
            slot_count=sum(worker.slot_count for worker in workers),
            waiting_batch_count=await answered(count_batch),
            accepting_worker_count=sum(worker.is_accepting for worker in workers),
        )

    async def workers(self) -> list[WorkerInfo]:
        """Return the workers that showed a sign of life within the lease, by id.

        One that reads too few partitions is among them and says so, but counts as dead: most jobs would wait for ever.
        """
        seen = await answered(lambda: seen_workers(self._redis))
        alive = [worker for worker in seen if worker.silent_s <= self._lease_s]
        return [
            worker if self._reads_all(worker) else replace(worker, not_accepting_reason=self._too_few_reason(worker))
            for worker in alive
        ]

    def _reads_all(self, worker: WorkerInfo) -> bool:
        # One that reads more misses no job, and an older one does not say.
        return not 0 < worker.partition_count < len(self._partitions)

    def _too_few_reason(self, worker: WorkerInfo) -> str:
        return (
            f"worker {worker.worker_id} reads {worker.partition_count:,} of {len(self._partitions):,} partitions:"
            " set GROUNDWIRE_QUEUE_PARTITION_COUNT alike for the server and all workers"
        )

    async def running_counts(self) -> Counter[str]:
        """Return how many jobs each worker holds, by worker id."""

        async def count() -> Counter[str]:
            held: Counter[str] = Counter()
            for keys in self._partitions:
                for job_id in cast("list[bytes]", await self._redis.zrange(keys.running, 0, -1)):
                    stored = await self._redis.hget(keys.job(job_id.decode(errors="replace")), "worker")
                    worker_id = cast("bytes | None", stored)
                    if worker_id is not None:
                        held[worker_id.decode(errors="replace")] += 1
            return held

        return await answered(count)

    async def why_no_worker(self) -> NoWorker | None:
        """Return why no worker, idle or busy, takes jobs; None when one does."""
        alive = await self.workers()
        if any(worker.is_accepting for worker in alive):
            return None
        workers = [worker for worker in alive if self._reads_all(worker)]
        if not workers:
            message = "no generation worker is alive: start `generation-worker`, or allow the extractive fallback"
            if alive:
                reasons = "; ".join(worker.not_accepting_reason for worker in alive)
                message = f"no generation worker takes the jobs of this server: {reasons}"
            return NoWorker(message, RETRY_AFTER_S, some_live=False)
        waits_s = [one.accepts_again_after_s for one in workers if one.accepts_again_after_s is not None]
        # For how long a generator is tried, only its worker knows: it has a lease.
        is_tried = len(waits_s) < len(workers)
        reasons = "; ".join(sorted({worker.not_accepting_reason for worker in workers}))
        return NoWorker(
            f"no generation worker takes jobs now: {reasons}; try again later, or allow the extractive fallback",
            max(RETRY_AFTER_S, min(waits_s, default=0.0)),
            some_live=True,
            patience_s=self._lease_s if is_tried else 0.0,
        )
