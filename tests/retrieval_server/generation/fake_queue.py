"""A queue in memory that keeps the real one's promises; the test plays the worker."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from retrieval_server.errors import Conflict, GroundwireError, NotFound
from retrieval_server.generation.jobs.queue_counts import NoWorker

JobEvent = job_pb2.JobEvent


class FakeQueue:
    """Jobs by id with their events. `fail_with` makes the next commands fail as if the queue's storage were away."""

    def __init__(self) -> None:
        self.worker_is_alive = True
        self.worker_takes_jobs = True
        self.patience_s = 0.0
        self.looked_for_workers_count = 0
        self.is_let_go = False
        self.remembered: list[str] = []
        self.fail_with: GroundwireError | None = None
        self.jobs: dict[str, job_pb2.GenerationJob] = {}
        self.cancelled: list[str] = []
        self.enqueued_count = 0
        self.enqueue_entered = asyncio.Event()
        self.enqueue_gate = asyncio.Event()
        self.enqueue_gate.set()
        self._hashes: dict[str, bytes] = {}
        self._events: dict[str, list[JobEvent]] = {}
        self._changed = asyncio.Condition()
        self._followed_sequence = 0

    # what Answering uses

    async def why_no_worker(self) -> NoWorker | None:
        self._check()
        self.looked_for_workers_count += 1
        if not self.worker_is_alive:
            return NoWorker("no worker is alive", 1.0, some_live=False)
        if not self.worker_takes_jobs:
            return NoWorker("no worker takes jobs now: all fail", 7.5, some_live=True, patience_s=self.patience_s)
        return None

    async def is_stored(self, job_id: str, request_hash: bytes) -> bool:
        self._check()
        if job_id not in self._hashes or self._retryable(job_id):
            return False
        if self._hashes[job_id] != request_hash:
            raise Conflict(error_pb2.ERROR_REASON_REQUEST_ID_CONFLICT, "used with another request")
        return True

    async def enqueue(self, job: job_pb2.GenerationJob, retrieved: job_pb2.JobRetrieved, request_hash: bytes) -> None:
        self.enqueue_entered.set()
        await self.enqueue_gate.wait()
        self._check()
        if await self.is_stored(job.job_id, request_hash):
            return
        self.enqueued_count += 1
        self.jobs[job.job_id] = job
        self._hashes[job.job_id] = request_hash
        self._events[job.job_id] = []
        await self._write(job.job_id, JobEvent(retrieved=retrieved))

    async def follow(self, job_id: str, after_sequence: int = 0) -> AsyncGenerator[JobEvent]:
        sequence = after_sequence
        while True:
            async with self._changed:
                await self._changed.wait_for(partial(self._has_news, job_id, sequence))
                events = self._events.get(job_id)
            if events is None:
                yield self.lost_event(0)
                return
            for event in events[sequence:]:
                sequence = event.sequence
                async with self._changed:
                    self._followed_sequence = max(self._followed_sequence, sequence)
                    self._changed.notify_all()
                yield event
                if event.HasField("ended"):
                    return

    async def cancel(self, job_id: str) -> bool:
        self._check()
        if job_id not in self._events:
            raise NotFound(error_pb2.ERROR_REASON_JOB_NOT_FOUND, "no answer has that request_id")
        if self._ended(job_id):
            return False
        self.cancelled.append(job_id)
        await self.end(job_id, job_pb2.JOB_OUTCOME_CANCELLED)
        return True

    async def require(self, job_id: str) -> None:
        self._check()
        if job_id not in self._events:
            raise NotFound(error_pb2.ERROR_REASON_JOB_NOT_FOUND, "no answer has that request_id")

    async def remember(self, job_id: str, ended: job_pb2.JobEnded) -> None:
        self.remembered.append(job_id)

    def let_go(self) -> None:
        self.is_let_go = True

    async def give_up(self, job_id: str) -> bool:
        self._check()
        if self._ended(job_id):
            return False
        await self.end(job_id, job_pb2.JOB_OUTCOME_FAILED, reason=error_pb2.ERROR_REASON_NO_WORKER)
        return True

    async def give_up_waiting(self, job_id: str, why: str) -> bool:
        self._check()
        if self._ended(job_id) or len(self._events[job_id]) > 1:
            return False
        await self.end(job_id, job_pb2.JOB_OUTCOME_FAILED, reason=error_pb2.ERROR_REASON_NO_WORKER, message=why)
        return True

    # what the test does as worker

    async def next_job(self) -> job_pb2.GenerationJob:
        """Wait for a job that no attempt has started."""
        async with self._changed:
            await self._changed.wait_for(self._unstarted)
        return self.jobs[self._unstarted()[0]]

    async def start(self, job_id: str, *, attempt: int = 1, dropped: tuple[int, ...] = ()) -> None:
        started = job_pb2.JobStarted(
            worker_id="w", model="fake-135m", prompt_tokens=900, dropped_passage_indexes=dropped
        )
        await self._write(job_id, JobEvent(attempt=attempt, started=started))

    async def say(self, job_id: str, *texts: str, attempt: int = 1) -> None:
        for text in texts:
            await self._write(job_id, JobEvent(attempt=attempt, delta=job_pb2.JobDelta(text=text)))

    async def end(
        self,
        job_id: str,
        outcome: job_pb2.JobOutcome.ValueType = job_pb2.JOB_OUTCOME_FINISHED,
        *,
        text: str = "",
        reason: error_pb2.ErrorReason.ValueType = error_pb2.ERROR_REASON_UNSPECIFIED,
        message: str = "",
    ) -> None:
        generator = answer_pb2.GeneratorInfo(model="fake-135m", prompt_tokens=900, completion_tokens=7)
        ended = job_pb2.JobEnded(outcome=outcome, text=text, reason=reason, message=message, generator=generator)
        await self._write(job_id, JobEvent(ended=ended))

    async def answer(self, *deltas: str) -> None:
        """Do the next job, wholly."""
        job = await self.next_job()
        await self.start(job.job_id)
        await self.say(job.job_id, *deltas)
        await self.end(job.job_id, text="".join(deltas))

    async def wait_for_cancel(self) -> None:
        """Wait until some job was cancelled."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: self.cancelled)

    async def wait_until_followed_to(self, sequence: int) -> None:
        """Wait until some follower has taken an event of this number or above."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: self._followed_sequence >= sequence)

    async def flush(self) -> None:
        """Lose everything."""
        async with self._changed:
            self.jobs, self._hashes, self._events = {}, {}, {}
            self._changed.notify_all()

    @staticmethod
    def lost_event(sequence: int) -> JobEvent:
        lost = job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_FAILED, reason=error_pb2.ERROR_REASON_JOB_LOST)
        return JobEvent(sequence=sequence, ended=lost)

    def events_of(self, job_id: str) -> list[JobEvent]:
        return self._events[job_id]

    async def _write(self, job_id: str, event: JobEvent) -> None:
        async with self._changed:
            event.sequence = len(self._events[job_id]) + 1
            self._events[job_id].append(event)
            self._changed.notify_all()

    def _has_news(self, job_id: str, sequence: int) -> bool:
        return job_id not in self._events or len(self._events[job_id]) > sequence

    def _unstarted(self) -> list[str]:
        return [job_id for job_id, events in self._events.items() if len(events) == 1]

    def _ended(self, job_id: str) -> job_pb2.JobEnded | None:
        last = self._events[job_id][-1]
        return last.ended if last.HasField("ended") else None

    def _retryable(self, job_id: str) -> bool:
        ended = self._ended(job_id)
        return ended is not None and ended.outcome != job_pb2.JOB_OUTCOME_FINISHED

    def _check(self) -> None:
        if self.fail_with is not None:
            raise self.fail_with
