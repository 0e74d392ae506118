"""Following one job's events to its end, whatever happens to Redis or the workers meanwhile."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable
from typing import Any, NoReturn, cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from groundwire.internal.v1 import job_pb2
from groundwire.queue import scripts
from groundwire.queue.connection import Backoff
from groundwire.queue.ending import EXPIRED, WHATEVER_NONCE, EndAttempt, Ending
from groundwire.queue.events import StoredEvent, decode_event
from groundwire.queue.keys import PartitionKeys
from groundwire.v1 import error_pb2
from retrieval_server.errors import Unavailable

log = structlog.get_logger()

FOLLOW_BLOCK_S = 1.0
"""How long a read waits for events, and so how soon a flushed or expired job is noticed."""
DEADLINE_GRACE_S = 0.4
"""Past its deadline a job has this long to be ended by its worker."""
UNKNOWN_DEADLINE_PATIENCE_S = 10.0
_EVENTS_AT_ONCE = 256
_SHORTEST_BLOCK_S = 0.02
Looked = tuple[
    int, bytes | None, bytes | None, bytes | None, bytes | None, bytes | None, int, bytes | None, bytes | None
]
"""What `look.lua` returns."""

_LOST = Ending(
    job_pb2.JOB_OUTCOME_FAILED,
    error_pb2.ERROR_REASON_JOB_LOST,
    "The job vanished from the queue's storage (it was flushed, evicted, or its time to live has passed).",
)
_UNAVAILABLE = Ending(
    job_pb2.JOB_OUTCOME_FAILED,
    error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE,
    "The answer queue could not be reached before the deadline.",
)


class JobFollower:
    """One caller's view of one job."""

    def __init__(
        self,
        redis: Redis,
        blocking_redis: Redis,
        keys: PartitionKeys,
        job_id: str,
        after_sequence: int,
        *,
        ttl_s: float,
        let_go: asyncio.Event,
    ) -> None:
        self._redis = redis
        self._blocking_redis = blocking_redis
        self._keys = keys
        self._job_id = job_id
        self._sequence = after_sequence
        self._ttl_s = ttl_s
        self._let_go = let_go
        self._incarnation: bytes | None = None
        # Of the claim that wrote what was told last; empty when that is not known.
        self._nonce = b""
        # By this process's clock, from the time that Redis says remains.
        self._give_up_s = time.monotonic() + UNKNOWN_DEADLINE_PATIENCE_S
        self._look_again_s = self._give_up_s

    async def events(self) -> AsyncGenerator[job_pb2.JobEvent]:
        """Yield events until JobEnded; raises Unavailable (SHUTTING_DOWN) when the server stops before."""
        backoff = Backoff()
        is_known = False
        while True:
            if self._let_go.is_set():
                _raise_let_go()
            try:
                if not is_known:
                    is_known = await self._look()
                    if not is_known:
                        yield self._made_up(_LOST)
                        return
                events = await self._read()
                backoff.reset()
                if not events:
                    is_known = False  # nothing came for a while: is the job still there?
                    continue
            except RedisError as error:
                log.debug("events unreadable", job_id=self._job_id, error=str(error))
                if time.monotonic() > self._give_up_s:
                    yield self._made_up(_UNAVAILABLE)
                    return
                is_known = False
                await asyncio.sleep(backoff.next_s())
                continue
            for stored in events:
                self._sequence, self._nonce = stored.event.sequence, stored.nonce
                yield stored.event
                if stored.event.HasField("ended"):
                    return

    async def _look(self) -> bool:
        """Return whether the job that is followed is there still; end it when its time is over."""
        stored = await scripts.LOOK.run(self._redis, self._keys.of_script(self._job_id))
        now_ms, incarnation, state, sequence, deadline_ms, nonce, has_events, _, begins_after = cast("Looked", stored)
        if state is None or self._incarnation not in (None, incarnation):
            return False
        self._incarnation = incarnation
        if state == b"ended":
            # At least the end is told, also to who has seen it before.
            self._sequence = min(self._sequence, int(sequence or 1) - 1)
            await self._keep()
            # Redis evicts keys one by one: an end without its events is lost like the whole.
            return bool(has_events)
        if not has_events:  # evicted: whatever is written from now on would be half an answer
            return False
        # An older state was put back (a failover to a replica that lagged): what follows is numbered anew from there.
        self._sequence = min(self._sequence, int(sequence or 0))
        if state == b"running":
            self._go_back(nonce, int(begins_after or self._sequence))
        # Nobody but the follower and the reaper ends a job that waits; a worker deserves to do it itself.
        grace_s = 0.0 if state == b"waiting" else DEADLINE_GRACE_S
        overdue_s = (now_ms - int(deadline_ms or 0)) / 1000
        self._give_up_s = time.monotonic() - overdue_s + DEADLINE_GRACE_S
        self._look_again_s = time.monotonic() - overdue_s + grace_s
        if overdue_s > grace_s:
            await EndAttempt(self._keys, self._job_id, EXPIRED, expected_nonce=nonce or WHATEVER_NONCE).send(
                self._redis
            )
        return True

    async def _read(self) -> list[StoredEvent]:
        """Return the next events; none when none came for a while. Raises Unavailable when the server stops."""
        answer = await self._unless_let_go(
            self._blocking_redis.xread(
                {self._keys.events(self._job_id): f"{self._sequence}-0"},
                count=_EVENTS_AT_ONCE,
                # No longer than until the job's time is over: its caller's own deadline is near then.
                block=round(min(FOLLOW_BLOCK_S, max(_SHORTEST_BLOCK_S, self._look_again_s - time.monotonic())) * 1000),
            )
        )
        streams = cast("list[tuple[bytes, list[tuple[bytes, dict[bytes, bytes]]]]]", answer or [])
        stored = [decode_event(entry_id, fields) for _, entries in streams for entry_id, fields in entries]
        # The id may be in use anew, after a flush or a failure: those events are of another job.
        if any(one.incarnation != self._incarnation for one in stored):
            return []
        # An end has the whole text by itself.
        if stored and not stored[0].event.HasField("ended") and self._go_back(stored[0].nonce, stored[0].begins_after):
            return []
        return stored

    def _go_back(self, nonce: bytes | None, begins_after: int) -> bool:
        """Go back to where a claim began if an older state was put back before it; return whether that is so.

        A claim begins after all that the claims before it have written, so nobody can have seen more of theirs.
        """
        if self._nonce in (b"", nonce) or begins_after >= self._sequence:
            return False
        self._sequence = begins_after
        return True

    async def _unless_let_go(self, reading: Awaitable[Any]) -> Any:
        """Return what is read, or raise at once when the server stops: by the end of a block calls may be cut off.

        The read is cancelled then, and its connection with it: all who read on such connections are let go together.
        """
        read = asyncio.ensure_future(reading)
        # How it ends after its caller has gone is nobody's to hear; without this asyncio logs it as a fault.
        read.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        letting_go = asyncio.ensure_future(self._let_go.wait())
        try:
            await asyncio.wait((read, letting_go), return_when=asyncio.FIRST_COMPLETED)
            if not read.done():
                _raise_let_go()
            return read.result()
        finally:
            letting_go.cancel()
            if read.cancel():
                await asyncio.wait((read,))  # whoever closes the connections next finds this one closed

    async def _keep(self) -> None:
        """Let a job that is still asked for live for another while."""
        for key in (self._keys.job(self._job_id), self._keys.events(self._job_id)):
            await self._redis.pexpire(key, round(self._ttl_s * 1000), gt=True)

    def _made_up(self, ending: Ending) -> job_pb2.JobEvent:
        """Return an end that no stream holds."""
        event = ending.event()
        event.sequence = self._sequence + 1
        return event


def _raise_let_go() -> NoReturn:
    raise Unavailable(error_pb2.ERROR_REASON_SHUTTING_DOWN, "the server stops; the answer goes on: attach to it again")
