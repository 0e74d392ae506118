"""Which workers live: each says so once in a while, and Redis's clock says when that was."""

from dataclasses import dataclass
from typing import cast

from google.protobuf.message import DecodeError
from redis.asyncio import Redis

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.keys import WORKERS_RECORDS, WORKERS_SEEN

KEEP_S = 24 * 3600
_UNREADABLE = "what it says of itself is not readable by this version of the server"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker that was seen; times are Unix seconds, `last_seen_unix_s` by Redis's clock."""

    worker_id: str
    model: str
    context_tokens: int
    started_unix_s: float
    last_seen_unix_s: float
    silent_s: float
    slot_count: int = 1
    version: str = ""
    not_accepting_reason: str = ""
    accepts_again_after_s: float | None = None
    generator_identity: str = ""
    partition_count: int = 0

    @property
    def is_accepting(self) -> bool:
        """Whether it takes jobs at present."""
        return not self.not_accepting_reason


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
    now_ms, seen, records = cast(
        "tuple[int, list[bytes], list[bytes]]",
        await scripts.WORKERS_SEEN.run(redis, (WORKERS_SEEN, WORKERS_RECORDS)),
    )
    record_of = dict(zip(records[::2], records[1::2], strict=True))
    workers = []
    for worker_id, seen_text in sorted(zip(seen[::2], seen[1::2], strict=True)):
        seen_ms = float(seen_text)
        try:
            record = job_pb2.WorkerRecord.FromString(record_of.get(worker_id, b""))
        except DecodeError:
            record = job_pb2.WorkerRecord(not_accepting_reason=_UNREADABLE)
        workers.append(
            WorkerInfo(
                worker_id=worker_id.decode(errors="replace"),
                model=record.model,
                context_tokens=record.context_tokens,
                started_unix_s=record.started_time.ToMilliseconds() / 1000,
                last_seen_unix_s=seen_ms / 1000,
                # A time to come was set by a clock that was set back since: whoever lives will say so again at once.
                silent_s=abs(now_ms - seen_ms) / 1000,
                slot_count=max(1, record.slot_count),
                version=record.version,
                not_accepting_reason=record.not_accepting_reason,
                accepts_again_after_s=(
                    record.accepts_again_after.ToNanoseconds() / 1e9 if record.HasField("accepts_again_after") else None
                ),
                generator_identity=record.generator_identity,
                partition_count=record.partition_count,
            )
        )
    return workers
