"""A job that this worker holds: everything that may be written to it, while the claim stands."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TypeVar, cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.connection import Backoff
from groundwire.queue.ending import EndAttempt, Ending, EndResult
from groundwire.queue.keys import PartitionKeys
from groundwire.queue.outage import Outage

log = structlog.get_logger()
T = TypeVar("T")


class Hold(Enum):
    """Whether a claim stands."""

    OK = "ok"
    EXPIRED = "expired"
    LOST = "lost"
    BEHIND = "behind"
    """The claim stands, but the queue's storage lost some of what was written."""


class ClaimedJob:
    """Writes events under the claim's nonce; a write that Redis refuses says that the claim is gone.

    Each write is repeated until Redis answers: the scripts notice what they have done already.
    """

    def __init__(
        self,
        redis: Redis,
        keys: PartitionKeys,
        job: job_pb2.GenerationJob,
        *,
        worker_id: str,
        nonce: str,
        attempt: int,
        sequence: int,
        lease_s: float,
        alone: bool,
        outage: Outage,
    ) -> None:
        """`outage`: what was said of Redis for all jobs of this process, since it fails for all of them at once."""
        self._redis = redis
        self._keys = keys
        self._script_keys = keys.of_script(job.job_id)
        self.job = job
        self._worker_id = worker_id
        self._nonce = nonce
        self.attempt = attempt
        self._sequence = sequence
        self.lease_s = lease_s
        self.outage = outage
        self.alone = alone
        """A worker crashed with it: nothing may run beside it, or would be lost with it if it crashes this one too."""

    async def started(self, started: job_pb2.JobStarted, *, anew: bool = False) -> Hold:
        """Write that this attempt begins; `anew`: after one that broke off under the same claim, whose text is void."""
        if anew:
            self.attempt += 1
        return await self._append(job_pb2.JobEvent(attempt=self.attempt, started=started), "", begins_attempt=anew)

    async def delta(self, text: str) -> Hold:
        """Write more text."""
        return await self._append(job_pb2.JobEvent(attempt=self.attempt, delta=job_pb2.JobDelta()), text)

    async def renew(self) -> Hold:
        """Extend the lease; tried once, since the next renewal is near."""
        return Hold(
            (
                await scripts.RENEW.run(
                    self._redis, self._script_keys, self._nonce, self._worker_id, round(self.lease_s * 1000)
                )
            ).decode()
        )

    async def is_held(self) -> bool:
        """Say whether the claim stands, without a word about the deadline; tried once."""
        state, nonce = await cast(
            "Awaitable[list[bytes | None]]", self._redis.hmget(self._keys.job(self.job.job_id), ["state", "nonce"])
        )
        return state == b"running" and nonce == self._nonce.encode()

    async def end(self, ending: Ending) -> EndResult:
        """End the job, if this worker still holds it."""
        attempt = EndAttempt(
            self._keys, self.job.job_id, ending, expected_nonce=self._nonce, written_sequence=self._sequence
        )
        return await self._until_answered(lambda: attempt.send(self._redis), "end")

    async def hand_back(self) -> Hold:
        """Return the job to the queue, to be started anew by another worker."""
        next_nonce = secrets.token_hex(8)
        return Hold(
            (
                await self._until_answered(
                    lambda: scripts.HAND_BACK.run(
                        self._redis, self._script_keys, self._nonce, next_nonce, self._sequence
                    ),
                    "hand back",
                )
            ).decode()
        )

    async def _append(self, event: job_pb2.JobEvent, text: str, *, begins_attempt: bool = False) -> Hold:
        self._sequence += 1
        payload = event.SerializeToString()
        arguments = (self._nonce, self._sequence, payload, text, self.attempt if begins_attempt else "")
        answer: bytes = await self._until_answered(
            lambda: scripts.APPEND.run(self._redis, self._script_keys, *arguments), "append"
        )
        return Hold(answer.decode())

    async def _until_answered(self, write: Callable[[], Awaitable[T]], what: str) -> T:
        backoff = Backoff()
        while True:
            try:
                answer = await write()
            except RedisError as error:
                delay_s = backoff.next_s()
                self.outage.goes_on(error)
                log.debug("job write delayed", job_id=self.job.job_id, write=what, delay_s=round(delay_s, 3))
                await asyncio.sleep(delay_s)
            else:
                self.outage.is_over()
                return answer
