"""Which workers live: each says so once in a while, and Redis's clock says when that was."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import cast

from redis.asyncio import Redis

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.keys import WORKERS_RECORDS, WORKERS_SEEN

KEEP_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker that was seen; times are Unix seconds, `last_seen_unix_s` by Redis's clock."""

    worker_id: str
    model: str
    context_tokens: int
    started_unix_s: float
    last_seen_unix_s: float
    silent_s: float


async def report_alive(redis: Redis, worker_id: str, record: job_pb2.WorkerRecord) -> None:
    """Record a sign of life."""
    await scripts.WORKER_SEEN.run(
        redis, (WORKERS_SEEN, WORKERS_RECORDS), worker_id, record.SerializeToString(), KEEP_S * 1000
    )


async def report_gone(redis: Redis, worker_id: str) -> None:
    """Forget a worker that stops."""
    await redis.zrem(WORKERS_SEEN, worker_id)
    await redis.hdel(WORKERS_RECORDS, worker_id)


async def seen_workers(redis: Redis) -> list[WorkerInfo]:
    """Return all workers that were seen lately, by id."""
    seconds, microseconds = await redis.time()
    now_s = seconds + microseconds / 1e6
    seen = cast("list[tuple[bytes, float]]", await redis.zrange(WORKERS_SEEN, 0, -1, withscores=True))
    records = await cast("Awaitable[dict[bytes, bytes]]", redis.hgetall(WORKERS_RECORDS))
    workers = []
    for worker_id, seen_ms in sorted(seen):
        record = job_pb2.WorkerRecord.FromString(records.get(worker_id, b""))
        workers.append(
            WorkerInfo(
                worker_id=worker_id.decode(),
                model=record.model,
                context_tokens=record.context_tokens,
                started_unix_s=record.started_time.ToMilliseconds() / 1000,
                last_seen_unix_s=seen_ms / 1000,
                silent_s=max(0.0, now_s - seen_ms / 1000),
            )
        )
    return workers
