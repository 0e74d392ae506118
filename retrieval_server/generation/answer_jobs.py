"""The jobs of answers: into the queue, followed to their end, and cancelled when nobody waits for them any more."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Any, Protocol

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import GroundwireError, InternalFault, NotFound
from retrieval_server.generation.answer_model import Event, Fallback
from retrieval_server.generation.job_messages import fallback_from_message
from retrieval_server.generation.transcript import Transcript, failure_of
from retrieval_server.generation.waiters import Waiters

_WORKER_CHECK_S = 1.0
# A worker that was restarted has this long to show itself, after the lease in which the old one still counts as alive.
_RESTART_GRACE_S = 2.0


class JobQueue(Protocol):
    """What answering needs of the queue."""

    async def enqueue(self, job: job_pb2.GenerationJob, retrieved: job_pb2.JobRetrieved, request_hash: bytes) -> object:
        """Create the job, or find the one of the same id and hash; raises Conflict, Overloaded or Unavailable."""

    async def is_stored(self, job_id: str, request_hash: bytes) -> bool:
        """Return whether enqueueing would find a job rather than create one; raises Conflict or Unavailable."""

    def follow(self, job_id: str) -> AsyncGenerator[job_pb2.JobEvent]:
        """Yield the job's events up to JobEnded, which always comes."""

    async def cancel(self, job_id: str) -> bool:
        """End the job; False when it had ended before; raises NotFound."""

    async def give_up(self, job_id: str) -> bool:
        """End the job as FAILED for want of a worker; False when it had ended before."""

    async def has_live_worker(self) -> bool:
        """Return whether some worker, idle or busy, has shown a sign of life."""


def answer_job_id(request_id: str) -> str:
    """Return the queue's id for a caller's `request_id`.

    Answer, StreamAnswer, BatchAnswer, AttachAnswer and CancelAnswer share the namespace "answer". Callers have no
    identity yet, so all are "anonymous"; a request_id holds no dot, so no two scopes can meet in one id.
    """
    return f"answer.anonymous.{request_id}"


class AnswerJobs:
    """The jobs that callers of this process wait for."""

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._waiters = Waiters()
        self._background: set[asyncio.Task[None]] = set()

    async def enqueue(
        self,
        job: job_pb2.GenerationJob,
        known: job_pb2.JobRetrieved,
        request_hash: bytes,
        *,
        cancel_when_alone: bool,
    ) -> None:
        """Put a job into the queue.

        The command runs to its end although the caller leaves meanwhile; `cancel_when_alone` then ends the job.
        """
        enqueueing = asyncio.ensure_future(self._queue.enqueue(job, known, request_hash))
        try:
            await asyncio.shield(enqueueing)
        except asyncio.CancelledError:
            self._in_background(self._finish_enqueueing(enqueueing, job.job_id if cancel_when_alone else None))
            raise

    async def follow(
        self, job_id: str, known: job_pb2.JobRetrieved | None, *, cancel_when_alone: bool
    ) -> AsyncGenerator[Event]:
        """Yield the answer's events of a job.

        `known` stands in when the queue no longer has the first event; without either, NotFound is raised. When the
        last caller of a job leaves before its end and one of them had `cancel_when_alone`, the job is cancelled.
        """
        transcript: Transcript | None = None
        ended = False
        watching: asyncio.Task[None] | None = None
        self._waiters.join(job_id, cancel_when_alone=cancel_when_alone)
        try:
            async with aclosing(self._queue.follow(job_id)) as job_events:
                async for job_event in job_events:
                    ended = job_event.HasField("ended")
                    if transcript is None:
                        first = job_event.retrieved if job_event.HasField("retrieved") else known
                        if first is None:
                            raise _not_followed(job_event)
                        transcript = Transcript(first)
                        if fallback_from_message(first) is Fallback.EXTRACTIVE:
                            watching = asyncio.create_task(self._give_up_without_workers(job_id))
                        yield transcript.begin()
                    # The check of a complete answer would hold up every other call for its time.
                    told = (
                        await asyncio.to_thread(transcript.follow, job_event) if ended else transcript.follow(job_event)
                    )
                    for event in told:
                        yield event
            if not ended:
                raise InternalFault(error_pb2.ERROR_REASON_INTERNAL, "the queue told no end of the answer")
        finally:
            if watching is not None:
                watching.cancel()
            if self._waiters.leave(job_id) and not ended:
                self._in_background(self._cancel_abandoned(job_id))

    async def _give_up_without_workers(self, job_id: str) -> None:
        """End a job once no worker is alive: its caller is better served by the fallback than by its deadline."""
        while True:
            await asyncio.sleep(_WORKER_CHECK_S)
            with suppress(GroundwireError):  # Redis is away: the job waits until it is back
                if await self._queue.has_live_worker():
                    continue
                await asyncio.sleep(_RESTART_GRACE_S)
                if not await self._queue.has_live_worker():
                    await self._queue.give_up(job_id)
                    return

    async def _cancel_abandoned(self, job_id: str) -> None:
        if self._waiters.wait_for(job_id):  # a caller that lost its connection is back already
            return
        with suppress(GroundwireError):  # gone, or unreachable: then its deadline ends it
            await self._queue.cancel(job_id)

    def _in_background(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run on although the caller's own task is being cancelled."""
        task = asyncio.create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def close(self) -> None:
        """Wait for the cancellations that callers who went away have left behind."""
        while self._background:
            await asyncio.wait(self._background)

    async def _finish_enqueueing(self, enqueueing: asyncio.Future[object], cancel_job_id: str | None) -> None:
        with suppress(GroundwireError):
            await enqueueing
            if cancel_job_id is not None:
                await self._queue.cancel(cancel_job_id)


def _not_followed(first_event: job_pb2.JobEvent) -> GroundwireError:
    """Return why a job that we know nothing of cannot be followed."""
    failure = failure_of(first_event.ended)
    if failure.reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE:
        return failure
    return NotFound(
        error_pb2.ERROR_REASON_JOB_NOT_FOUND, "no answer has that request_id, or its time to live has passed"
    )
