"""Jobs that were given up: shown, put back into the queue, or removed."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from google.protobuf.message import DecodeError
from redis.asyncio import Redis

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.keys import PartitionKeys, partition_of
from groundwire.v1 import error_pb2
from retrieval_server.errors import NotFound
from retrieval_server.generation.jobs.queue_calls import answered


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A job that crashed as many workers as is allowed; `unix_ms` is when it was given up, by Redis's clock."""

    job_id: str
    unix_ms: int
    crash_count: int
    worker_id: str
    question: str
    replayable: bool


class DeadLetters:
    """The dead letters of all partitions. Every method raises Unavailable when Redis does not answer."""

    def __init__(self, redis: Redis, partition_count: int) -> None:
        self._redis = redis
        self._partitions = [PartitionKeys(number) for number in range(partition_count)]

    async def list_newest(self, count: int, before: tuple[int, str] | None = None) -> list[DeadLetter]:
        """Return up to `count`, newest first and ties by id downwards, from those that come after `before`.

        `before` is the `(unix_ms, job_id)` of the last one that was seen.
        """
        newest: list[tuple[int, str]] = []
        for keys in self._partitions:
            newest += await answered(lambda keys=keys: self._ids(keys, count, before))  # type: ignore[misc]
        newest.sort(reverse=True)
        return [await answered(lambda one=one: self._read(*one)) for one in newest[:count]]  # type: ignore[misc]

    async def replay(self, job_id: str) -> None:
        """Put a job back into the queue, with its whole time and no crashes. Raises NotFound."""
        incarnation = secrets.token_hex(8)
        keys = self._partition(job_id)
        result = await answered(lambda: scripts.REPLAY.run(self._redis, keys.of_script(job_id), incarnation))
        if result != b"ok":
            raise NotFound(error_pb2.ERROR_REASON_JOB_NOT_FOUND, "no dead letter has that request_id")

    async def purge(self, *, older_than_s: float | None = None, job_ids: Sequence[str] = ()) -> int:
        """Remove dead letters and all that is known of them; return how many went."""
        purged_count = 0
        for keys in self._partitions:
            now_ms, *_ = await answered(lambda keys=keys: scripts.LOOK.run(self._redis, keys.of_script("")))  # type: ignore[misc]
            before_ms = "" if older_than_s is None else now_ms - round(older_than_s * 1000)
            if job_ids:
                chosen = [job_id for job_id in job_ids if self._partition(job_id) == keys]
            else:
                members = await answered(lambda keys=keys: self._redis.zrange(keys.dead, 0, -1))  # type: ignore[misc]
                chosen = [member.decode() for member in cast("list[bytes]", members)]
            for job_id in chosen:
                purged_count += await answered(
                    lambda keys=keys, job_id=job_id, before_ms=before_ms: scripts.PURGE.run(  # type: ignore[misc]
                        self._redis, keys.of_script(job_id), job_id, before_ms
                    )
                )
        return purged_count

    async def _ids(self, keys: PartitionKeys, count: int, before: tuple[int, str] | None) -> list[tuple[int, str]]:
        """Return the newest after `before`; all of its own millisecond are read, since ids decide among them."""
        most: float | str = "+inf" if before is None else before[0]
        ties = 0 if before is None else await self._redis.zcount(keys.dead, before[0], before[0])
        found = await self._redis.zrevrangebyscore(keys.dead, most, "-inf", start=0, num=count + ties, withscores=True)
        newest = [(int(score), member.decode()) for member, score in cast("list[tuple[bytes, float]]", found)]
        return [one for one in newest if before is None or one < before]

    async def _read(self, unix_ms: int, job_id: str) -> DeadLetter:
        stored = await self._redis.hmget(self._partition(job_id).job(job_id), ["outcome", "crashes", "worker", "job"])
        outcome, crashes, worker, payload = cast("list[bytes | None]", stored)
        job = job_pb2.GenerationJob()
        try:
            job.ParseFromString(payload or b"")
        except DecodeError:
            payload = None
        return DeadLetter(
            job_id=job_id,
            unix_ms=unix_ms,
            # The last crash was the one that ended it.
            crash_count=int(crashes or 0) + 1,
            worker_id=(worker or b"").decode(),
            question=job.question,
            # Whoever waited for a condensed question has gone on without it.
            replayable=outcome == b"DEAD_LETTER" and payload is not None and not job.HasField("condensing"),
        )

    def _partition(self, job_id: str) -> PartitionKeys:
        return partition_of(job_id, len(self._partitions))
