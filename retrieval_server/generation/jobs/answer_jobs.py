"""The jobs of answers: into the queue, followed to their end, and cancelled when nobody waits for them any more."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Any, Protocol

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.errors import GroundwireError, InternalFault, NotFound, Overloaded, Unavailable
from retrieval_server.generation.answers.answer_model import AnswerState, Event, Fallback, Result
from retrieval_server.generation.jobs.failures import failure_of
from retrieval_server.generation.jobs.job_messages import fallback_from_message
from retrieval_server.generation.jobs.queue_counts import NoWorker
from retrieval_server.generation.jobs.transcript import Transcript
from retrieval_server.generation.jobs.waiters import Waiters

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

    async def give_up_waiting(self, job_id: str, why: str) -> bool:
        """End the job in the same way if no worker holds it; False when one does, or it had ended before."""

    async def why_no_worker(self) -> NoWorker | None:
        """Return why no worker, idle or busy, takes jobs; None when one does."""

    async def require(self, job_id: str) -> None:
        """Return when the job is there; raises NotFound or Unavailable."""

    async def remember(self, job_id: str, ended: job_pb2.JobEnded) -> None:
        """Keep an answer that has passed its check, for equal questions."""

    def let_go(self) -> None:
        """End the streams of `follow` soon with Unavailable (SHUTTING_DOWN); their jobs go on."""


_SCOPE = "answer.anonymous."
_CONDENSING_SCOPE = "condense.anonymous."
_CONDENSING_ID = re.compile(rf"{re.escape(_CONDENSING_SCOPE)}[\w-]+\.[0-9a-f]+", re.ASCII)


def request_id_of(job_id: str) -> str:
    """Return the `request_id` that `answer_job_id` made a queue's id of; one of another job as it is."""
    return job_id.removeprefix(_SCOPE)


def answer_job_id(request_id: str) -> str:
    """Return the queue's id for a caller's `request_id`.

    Answer, StreamAnswer, BatchAnswer, AttachAnswer and CancelAnswer share the namespace "answer". Callers have no
    identity yet, so all are "anonymous"; a request_id holds no dot, so no two scopes can meet in one id.
    """
    return f"{_SCOPE}{request_id}"


def condensing_job_id(request_id: str, digest: bytes) -> str:
    """Return the queue's id of the job that condenses a caller's question; `digest` is of what is asked."""
    return f"{_CONDENSING_SCOPE}{request_id}.{digest.hex()[:16]}"


def is_condensing_job(job_id: str) -> bool:
    """Tell whether `condensing_job_id` makes such ids."""
    return _CONDENSING_ID.fullmatch(job_id) is not None


class AnswerJobs:
    """The jobs that callers of this process wait for."""

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._waiters = Waiters()
        self._background: set[asyncio.Task[None]] = set()
        self._letting_go = False

    async def enqueue(
        self,
        job: job_pb2.GenerationJob,
        known: job_pb2.JobRetrieved,
        request_hash: bytes,
        *,
        cancel_when_alone: bool,
    ) -> None:
        """Put a job into the queue; one of priority BATCH waits until there is room for it, or its time is over.

        The command runs to its end although the caller leaves meanwhile; `cancel_when_alone` then ends the job, unless
        another call waits for it. Whoever follows it after this is to do so at once.
        """
        self._waiters.join(job.job_id, cancel_when_alone=cancel_when_alone)
        # The clock may be set while it waits.
        until_s = time.monotonic() + job.deadline.ToMilliseconds() / 1000 - time.time()
        try:
            while True:
                enqueueing = asyncio.ensure_future(self._queue.enqueue(job, known, request_hash))
                try:
                    await asyncio.shield(enqueueing)
                except asyncio.CancelledError:
                    self._in_background(self._finish_enqueueing(enqueueing, job.job_id if cancel_when_alone else None))
                    raise
                except Overloaded as error:
                    remaining_s = until_s - time.monotonic()
                    if job.priority != answer_pb2.ANSWER_PRIORITY_BATCH or remaining_s < error.retry_after_s:
                        raise
                    # Its caller reads no more items meanwhile: that is how a batch learns of a full queue.
                    await asyncio.sleep(error.retry_after_s)
                    job.deadline.FromMilliseconds(round((time.time() + until_s - time.monotonic()) * 1000))
                else:
                    return
        finally:
            self._waiters.leave(job.job_id)

    async def follow(
        self, job_id: str, known: job_pb2.JobRetrieved | None, *, cancel_when_alone: bool
    ) -> AsyncGenerator[Event]:
        """Yield the answer's events of a job.

        `known` stands in when the queue no longer has the first event; without either, NotFound is raised, or
        Unavailable when the queue cannot be asked. When the last caller of a job leaves before its end and one of them
        had `cancel_when_alone`, the job is cancelled.
        """
        transcript: Transcript | None = None
        ended = False
        watching: asyncio.Task[None] | None = None
        if known is None:
            await self._queue.require(job_id)
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
                        is_replaced = fallback_from_message(first) is Fallback.EXTRACTIVE
                        watching = asyncio.create_task(self._give_up_without_workers(job_id, is_replaced=is_replaced))
                        yield transcript.begin()
                    # The check of a complete answer would hold up every other call for its time.
                    told = (
                        await asyncio.to_thread(transcript.follow, job_event) if ended else transcript.follow(job_event)
                    )
                    if ended and _is_worth_keeping(told[-1].content, job_event.ended):
                        await self._queue.remember(job_id, job_event.ended)
                    for event in told:
                        yield event
            if not ended:
                raise InternalFault(error_pb2.ERROR_REASON_INTERNAL, "the queue told no end of the answer")
        finally:
            if watching is not None:
                watching.cancel()
            # A caller that this server lets go comes back, here or elsewhere, and wants its job to be there.
            if self._waiters.leave(job_id) and not ended and not self._letting_go:
                self._in_background(self._cancel_abandoned(job_id))

    async def end_of(self, job_id: str) -> job_pb2.JobEnded:
        """Return how a job ended that is no answer; it is cancelled when all who wait for it leave before.

        Raises Unavailable (SHUTTING_DOWN) when this server stops.
        """
        ended: job_pb2.JobEnded | None = None
        self._waiters.join(job_id, cancel_when_alone=True)
        watching = asyncio.create_task(self._give_up_without_workers(job_id, is_replaced=True))
        try:
            async with aclosing(self._queue.follow(job_id)) as job_events:
                async for job_event in job_events:
                    if job_event.HasField("ended"):
                        ended = job_event.ended
            if ended is None:
                raise InternalFault(error_pb2.ERROR_REASON_INTERNAL, "the queue told no end of the job")
            return ended
        finally:
            watching.cancel()
            if self._waiters.leave(job_id) and ended is None:
                self._in_background(self._cancel_abandoned(job_id))

    async def require_worker(self) -> None:
        """Return when some worker takes jobs; raises Unavailable."""
        why = await self._queue.why_no_worker()
        if why is not None:
            raise Unavailable(error_pb2.ERROR_REASON_NO_WORKER, why.message, retry_after_s=why.retry_after_s)

    async def _give_up_without_workers(self, job_id: str, *, is_replaced: bool) -> None:
        """End a job that no worker will do: its caller is better served by a fallback, or a reason, than by a deadline.

        One that nothing replaces (not `is_replaced`) outlives its workers, since they may be started anew. One that no
        worker holds while all that live leave jobs alone is ended in any case: they say that they take none.
        """
        last: tuple[bool, float] | None = None
        since_s = time.monotonic()
        while True:
            await asyncio.sleep(_WORKER_CHECK_S)
            try:
                why = await self._queue.why_no_worker()
                found = None if why is None else (why.some_live, why.patience_s)
                if found != last:  # time spent waiting for a worker to start is none of what a try may take
                    last, since_s = found, time.monotonic()
                if why is None or time.monotonic() - since_s < max(_RESTART_GRACE_S, why.patience_s):
                    continue
                if why.some_live:
                    await self._queue.give_up_waiting(job_id, why.message)
                elif is_replaced:
                    await self._queue.give_up(job_id)
                    return
            except GroundwireError:  # Redis is away: the job waits until it is back, and workers have shown themselves
                last = None

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

    def let_go(self) -> None:
        """End the streams that follow jobs, so that their callers attach again elsewhere; no job is cancelled."""
        self._letting_go = True
        self._queue.let_go()

    async def close(self) -> None:
        """Wait for the cancellations that callers who went away have left behind."""
        while self._background:
            await asyncio.wait(self._background)

    async def _finish_enqueueing(self, enqueueing: asyncio.Future[object], cancel_job_id: str | None) -> None:
        with suppress(GroundwireError):
            await enqueueing
            if cancel_job_id is not None and not self._letting_go:
                await self._cancel_abandoned(cancel_job_id)


def _is_worth_keeping(result: object, ended: job_pb2.JobEnded) -> bool:
    """Tell whether a generated answer was found good: nothing stands in for it."""
    return (
        ended.outcome == job_pb2.JOB_OUTCOME_FINISHED
        and isinstance(result, Result)
        and result.state is AnswerState.ANSWERED
        and result.generator is not None
        and result.generator.fallback_reason is None
        and bool(result.sentences)
        and all(sentence.supported for sentence in result.sentences)
    )


def _not_followed(first_event: job_pb2.JobEvent) -> GroundwireError:
    """Return why a job that we know nothing of cannot be followed."""
    failure = failure_of(first_event.ended)
    if failure.reason == error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE:
        return failure
    return NotFound(
        error_pb2.ERROR_REASON_JOB_NOT_FOUND, "no answer has that request_id, or its time to live has passed"
    )
