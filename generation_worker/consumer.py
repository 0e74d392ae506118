"""Taking jobs from the queue: new ones, and those of workers whose lease has ended."""

import secrets
import time
from typing import cast

import structlog
from google.protobuf.message import DecodeError
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from generation_worker.claimed_job import ClaimedJob
from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.connection import is_cluster
from groundwire.queue.ending import EXPIRED, EndAttempt, Ending, dead_letter
from groundwire.queue.keys import GROUP, PartitionKeys
from groundwire.queue.outage import Outage
from groundwire.v1 import error_pb2

log = structlog.get_logger()

_Entry = tuple[bytes, dict[bytes, bytes] | None]
"""A stream entry: its id, and its fields, None when it was deleted while pending."""

BLOCK_S = 0.5
"""How long a read waits for a new job, and so how often ended leases are looked for."""
_PENDING_AT_ONCE = 100
_SILENT_CONSUMER_S = 3600
_UNREADABLE = Ending(
    job_pb2.JOB_OUTCOME_FAILED,
    error_pb2.ERROR_REASON_INTERNAL,
    "The job is not readable by this version of the worker.",
)


class Consumer:
    """One worker's reading end. `next_job` is to be called again after any RedisError: nothing is lost by one."""

    def __init__(
        self, redis: Redis, blocking_redis: Redis, partition_count: int, *, worker_id: str, lease_s: float
    ) -> None:
        self._redis = redis
        self._blocking_redis = blocking_redis
        self._partitions = [PartitionKeys(number) for number in range(partition_count)]
        self._by_stream = {keys.jobs.encode(): keys for keys in self._partitions}
        self._worker_id = worker_id
        self._lease_s = lease_s
        self._outage_of_jobs = Outage()
        self._reread_own = False
        # Claims whose reply was lost may have been made: repeated with the same nonce they are recognised.
        self._doubtful_nonces: dict[bytes, str] = {}

    async def next_job(self) -> ClaimedJob | None:
        """Return the next job that this worker now holds, or None when there was none for a while.

        Raises:
            RedisError: Redis did not answer or not as expected; to be tried again.
        """
        try:
            return await self._next_job()
        except ResponseError as error:
            # After FLUSHALL the group is gone with the stream.
            if not str(error).startswith("NOGROUP"):
                raise
            await self.create_groups()
            return None
        except RedisError:
            # A read whose reply was lost may have delivered something to this worker.
            self._reread_own = True
            raise

    async def create_groups(self) -> None:
        """Make the groups, from the beginning: what was queued before the first worker came is to be done as well."""
        for keys in self._partitions:
            try:
                await self._redis.xgroup_create(keys.jobs, GROUP, id="0", mkstream=True)
            except ResponseError as error:
                if not str(error).startswith("BUSYGROUP"):
                    raise

    async def forget_consumers(self, *, own: bool) -> None:
        """Remove this worker's consumer (`own`), or those of workers long gone; never one with jobs pending."""
        only, idle_s = (self._worker_id, 0) if own else ("", _SILENT_CONSUMER_S)
        for keys in self._partitions:
            await scripts.FORGET_CONSUMERS.run(self._redis, (keys.jobs,), only, idle_s * 1000)

    async def _next_job(self) -> ClaimedJob | None:
        if self._reread_own:
            for keys, entries in await self._read("0", block=False):
                for entry, fields in entries:
                    if job := await self._claim(keys, entry, fields, is_takeover=False):
                        return job
            self._reread_own = False
            self._doubtful_nonces.clear()
        # Ended leases first: under a steady load there is always something new.
        for keys in self._partitions:
            if job := await self._take_over(keys):
                return job
        for keys, entries in await self._read(">", block=True):
            for entry, fields in entries:
                if job := await self._claim(keys, entry, fields, is_takeover=False):
                    # With several partitions more may have been delivered; it is found as this worker's own.
                    self._reread_own = len(self._partitions) > 1
                    return job
        return None

    async def _read(self, from_id: str, *, block: bool) -> list[tuple[PartitionKeys, list[_Entry]]]:
        if not is_cluster(self._redis):
            return await self._read_of(self._partitions, from_id, BLOCK_S if block else None)
        # A cluster reads from one slot at a time. Each partition is the first one in its turn.
        self._partitions.append(self._partitions.pop(0))
        found: list[tuple[PartitionKeys, list[_Entry]]] = []
        for block_s in (0.0, BLOCK_S / len(self._partitions)) if block else (None,):
            for keys in list(self._partitions):
                found += await self._read_of([keys], from_id, block_s)
                if found and block:
                    return found
        return found

    async def _read_of(
        self, partitions: list[PartitionKeys], from_id: str, block_s: float | None
    ) -> list[tuple[PartitionKeys, list[_Entry]]]:
        """Read all that is pending (`block_s` None), or one entry a partition, waiting for it up to `block_s`."""
        answer = await (self._blocking_redis if block_s else self._redis).xreadgroup(
            GROUP,
            self._worker_id,
            {keys.jobs: from_id for keys in partitions},
            count=_PENDING_AT_ONCE if block_s is None else 1,
            block=round(block_s * 1000) if block_s else None,
        )
        streams = cast("list[tuple[bytes, list[_Entry]]]", answer or [])
        return [(self._by_stream[stream], entries) for stream, entries in streams]

    async def _take_over(self, keys: PartitionKeys) -> ClaimedJob | None:
        # Leases are renewed three times each: what has been silent for half of one is worth a look. Whether it has
        # ended is decided by the claim, by Redis's clock.
        pending = await self._redis.xpending_range(
            keys.jobs, GROUP, "-", "+", _PENDING_AT_ONCE, idle=round(self._lease_s * 500)
        )
        for item in pending:
            found = await self._redis.xrange(keys.jobs, item["message_id"], item["message_id"])
            for entry, fields in cast("list[_Entry]", found or []):
                if job := await self._claim(keys, entry, fields, is_takeover=True):
                    return job
        return None

    async def _claim(
        self, keys: PartitionKeys, entry: bytes, fields: dict[bytes, bytes] | None, *, is_takeover: bool
    ) -> ClaimedJob | None:
        if not fields:
            # Deleted while it was pending: nothing is left to be done.
            await self._redis.xack(keys.jobs, GROUP, entry)
            return None
        nonce = self._doubtful_nonces.setdefault(entry, secrets.token_hex(8))
        while True:
            answer = await scripts.CLAIM.run(
                self._redis,
                keys.of_scripts_that_find_jobs,
                entry,
                self._worker_id,
                nonce,
                round(self._lease_s * 1000),
                int(is_takeover),
            )
            match answer:
                case [b"claimed", job_id, attempt, sequence, payload, alone, remaining_ms]:
                    del self._doubtful_nonces[entry]
                    log.info("job claimed", job_id=job_id.decode(), attempt=attempt, is_takeover=is_takeover)
                    return await self._held(
                        keys,
                        job_id.decode(),
                        payload,
                        nonce=nonce,
                        attempt=attempt,
                        sequence=sequence,
                        alone=alone == b"1",
                        remaining_ms=remaining_ms,
                    )
                # The ticket stands for another job then.
                case [b"expired", job_id, holder_nonce]:
                    await EndAttempt(keys, job_id.decode(), EXPIRED, expected_nonce=holder_nonce).send(self._redis)
                case [b"exhausted", job_id, holder_nonce, crash_count]:
                    log.error("job dead-lettered", job_id=job_id.decode(), crash_count=crash_count)
                    ending = dead_letter(crash_count)
                    await EndAttempt(keys, job_id.decode(), ending, expected_nonce=holder_nonce).send(self._redis)
                case _:
                    del self._doubtful_nonces[entry]
                    log.debug("nothing claimed", outcome=answer[0].decode())
                    return None

    async def _held(
        self,
        keys: PartitionKeys,
        job_id: str,
        payload: bytes,
        *,
        nonce: str,
        attempt: int,
        sequence: int,
        alone: bool,
        remaining_ms: int,
    ) -> ClaimedJob | None:
        try:
            job = job_pb2.GenerationJob.FromString(payload)
        except DecodeError:
            log.exception("job unreadable", job_id=job_id)
            await EndAttempt(keys, job_id, _UNREADABLE, expected_nonce=nonce).send(self._redis)
            return None
        # What is left of its time is known by Redis's clock; the server's and this one's may be hours apart.
        job.deadline.FromMilliseconds(time.time_ns() // 1_000_000 + remaining_ms)
        return ClaimedJob(
            self._redis,
            keys,
            job,
            worker_id=self._worker_id,
            nonce=nonce,
            attempt=attempt,
            sequence=sequence,
            lease_s=self._lease_s,
            alone=alone,
            outage=self._outage_of_jobs,
        )
