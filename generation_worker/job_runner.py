"""Running claimed jobs: the engine's steps become events in Redis, and each lease is kept meanwhile."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import structlog
from redis.exceptions import RedisError

from generation_worker.backends.backend import Backend, BackendUnavailableError, GenerationStopped
from generation_worker.backends.ordered import BackendStep, GenerationBegun, OrderedBackends
from generation_worker.claimed_job import ClaimedJob, Hold
from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationFailed,
    ModeNotSupportedError,
    PromptPacked,
    TextPiece,
)
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import Backoff
from groundwire.queue.ending import EXPIRED, Ending, EndResult
from groundwire.v1 import answer_pb2, error_pb2

log = structlog.get_logger()

DELTA_INTERVAL_S = 0.04
"""Tokens of this time travel together; the first goes at once."""
HOLD_CHECK_INTERVAL_S = 0.05
"""How often it is looked whether the job was ended elsewhere: the longest that a cancelled job keeps its slot, but for
the step that is being computed."""
_RENEWALS_PER_LEASE = 3
_BROKE_OFF = error_pb2.ERROR_REASON_GENERATION_FAILED


class JobRunner:
    """Runs jobs on backends, as many at once as they have slots."""

    def __init__(self, backends: OrderedBackends, worker_id: str) -> None:
        self._backends = backends
        self._worker_id = worker_id

    async def run(
        self, claimed: ClaimedJob, hand_back: asyncio.Event, *, after: Iterable[asyncio.Task[None]] = ()
    ) -> None:
        """Generate until the job is done, ended, taken away or to be handed back; write what became of it.

        The job is held from now on and generated once all of `after` have ended.
        """
        run = _Run(self._backends, self._worker_id, claimed)
        helpers = [
            asyncio.create_task(run.keep_lease()),
            asyncio.create_task(run.watch_hold()),
            asyncio.create_task(run.stop_when(hand_back)),
        ]
        try:
            await run.wait_for(after)
            run.begin()
            await run.write_events()
            await run.conclude()
        finally:
            run.stop()
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def close(self) -> None:
        """Close the backends."""
        await self._backends.close()


class _Run:
    """One job's run: what the backends, the writer and the lease's keeper know of each other."""

    def __init__(self, backends: OrderedBackends, worker_id: str, claimed: ClaimedJob) -> None:
        self._backends = backends
        self._worker_id = worker_id
        self._claimed = claimed
        # Bounded by the job's token limit: while Redis is away generation goes on and waits here.
        self._steps: asyncio.Queue[BackendStep] = asyncio.Queue()
        self._key: int | None = None
        self._stopping = asyncio.Event()
        self._hold = Hold.OK
        self._backend: Backend | None = None
        self._is_anew = False
        self._packed: PromptPacked | None = None
        self._done: GenerationDone | None = None
        self._error: Exception | None = None
        self._is_over = False

    async def wait_for(self, others: Iterable[asyncio.Task[None]]) -> None:
        """Return when all others have ended, or this run is to stop."""
        stop = asyncio.create_task(self._stopping.wait())
        waiting = set(others)
        while waiting and not stop.done():
            await asyncio.wait((stop, *waiting), return_when=asyncio.FIRST_COMPLETED)
            waiting = {task for task in waiting if not task.done()}
        stop.cancel()

    def begin(self) -> None:
        """Hand the job to the engine, unless it is to be stopped already."""
        if self._stopping.is_set():
            self._steps.put_nowait(GenerationStopped())
        else:
            self._key = self._backends.start(self._claimed.job, self._steps.put_nowait)

    def stop(self) -> None:
        """End the generation, if it goes on; what was written stays."""
        self._stopping.set()
        if self._key is not None:
            self._backends.stop(self._key)
            self._key = None

    async def write_events(self) -> None:
        """Write what the engine yields, tokens bundled, until it is through."""
        while True:
            steps = [await self._steps.get()]
            while not self._steps.empty():
                steps.append(self._steps.get_nowait())
            await self._write(steps)
            if self._is_over:
                return
            await asyncio.sleep(DELTA_INTERVAL_S)

    async def _write(self, steps: list[BackendStep]) -> None:
        text = ""
        for step in steps:
            match step:
                case GenerationBegun():
                    # Of one that broke off nothing counts.
                    text, self._is_anew, self._backend = "", self._backend is not None, step.backend
                case PromptPacked():
                    self._packed = step
                    await self._write_started(step)
                case TextPiece():
                    text += step.text
                case GenerationDone():
                    self._done = step
                    self._is_over = True
                case GenerationFailed():
                    self._error = step.error
                    self._is_over = True
                case GenerationStopped():
                    self._is_over = True
        if text and self._hold is Hold.OK:
            self._note(await self._claimed.delta(text))

    async def _write_started(self, packed: PromptPacked) -> None:
        if self._hold is Hold.OK and self._backend is not None:
            started = job_pb2.JobStarted(
                worker_id=self._worker_id,
                model=self._backend.model,
                prompt_tokens=packed.prompt_tokens,
                dropped_passage_indexes=packed.dropped_passage_indexes,
                backend=self._backend.name,
                ignores_answer_start=not self._backend.continues_answers,
                restart_reason=(_BROKE_OFF if self._is_anew else error_pb2.ERROR_REASON_UNSPECIFIED),
            )
            self._note(await self._claimed.started(started, anew=self._is_anew))

    def _note(self, hold: Hold) -> None:
        if hold is not Hold.OK:
            self._hold = hold
            self.stop()

    async def keep_lease(self) -> None:
        """Renew the lease until cancelled, prefill or not; notice when the job was ended elsewhere."""
        backoff = Backoff()
        while self._hold is Hold.OK:
            try:
                self._note(await self._claimed.renew())
                backoff.reset()
                self._claimed.outage.is_over()
                delay_s = self._claimed.lease_s / _RENEWALS_PER_LEASE
            except RedisError as error:
                delay_s = backoff.next_s()
                self._claimed.outage.goes_on(error)
                log.debug("lease not renewed", job_id=self._claimed.job.job_id)
            await asyncio.sleep(delay_s)

    async def watch_hold(self) -> None:
        """Stop generating soon after the job was ended elsewhere, before anything would be written to it."""
        while self._hold is Hold.OK:
            await asyncio.sleep(HOLD_CHECK_INTERVAL_S)
            # While Redis is away nothing is known; the lease's keeper says so.
            with suppress(RedisError):
                if not await self._claimed.is_held():
                    self._note(Hold.LOST)

    async def stop_when(self, hand_back: asyncio.Event) -> None:
        """Stop generating when the job is to be handed back."""
        await hand_back.wait()
        self.stop()

    async def conclude(self) -> None:
        """Write how it ended, unless somebody else did."""
        job_id = self._claimed.job.job_id
        if self._hold is Hold.LOST:
            log.info("job given up", job_id=job_id, attempt=self._claimed.attempt)
        elif self._hold is Hold.EXPIRED:
            await self._end(EXPIRED)
        elif self._hold is Hold.BEHIND:
            await self._hand_back()
        elif self._error is not None:
            await self._end(self._failure(self._error))
        elif self._done is not None:
            await self._end(self._finished(self._done))
        else:
            await self._hand_back()

    def _finished(self, done: GenerationDone) -> Ending:
        packed = self._packed or PromptPacked(0, ())
        generator = answer_pb2.GeneratorInfo(
            mode=self._claimed.job.mode or answer_pb2.ANSWER_MODE_STUFF,
            prompt_tokens=packed.prompt_tokens if done.prompt_tokens is None else done.prompt_tokens,
            completion_tokens=done.completion_tokens,
            dropped_passage_indexes=packed.dropped_passage_indexes,
            passage_weights=(
                answer_pb2.PassageWeight(
                    packed_index=place, prior=one.prior, posterior=one.posterior, wrote_answer=one.wrote_answer
                )
                for place, one in enumerate(done.weights)
            ),
        )
        continues_answer = True
        if self._backend is not None:
            generator.model, generator.backend = self._backend.model, self._backend.name
            continues_answer = self._backend.continues_answers
        return Ending(
            job_pb2.JOB_OUTCOME_FINISHED,
            generator=generator,
            attempt=self._claimed.attempt,
            ignores_answer_start=not continues_answer,
            generator_identity="" if self._backend is None else self._backend.identity,
        )

    def _failure(self, error: Exception) -> Ending:
        if isinstance(error, ModeNotSupportedError):
            reason, message = error_pb2.ERROR_REASON_MODE_NOT_SUPPORTED, str(error)
        elif isinstance(error, GenerationError):
            reason, message = error_pb2.ERROR_REASON_GENERATION_FAILED, str(error)
        elif isinstance(error, BackendUnavailableError):
            # After its first text the next try may do as much and fail as well; before it, asking again is worth while.
            reason = error_pb2.ERROR_REASON_NO_WORKER if self._backend is None else _BROKE_OFF
            message = f"No generator could be used: {error}."
        else:
            log.error("generation failed", job_id=self._claimed.job.job_id, exc_info=error)
            reason, message = error_pb2.ERROR_REASON_INTERNAL, "The generator failed; the worker's log says why."
        return Ending(job_pb2.JOB_OUTCOME_FAILED, reason, message, attempt=self._claimed.attempt)

    async def _end(self, ending: Ending) -> None:
        result = await self._claimed.end(ending)
        log.info(
            "job ended",
            job_id=self._claimed.job.job_id,
            attempt=self._claimed.attempt,
            outcome=job_pb2.JobOutcome.Name(ending.outcome),
            result=result.value,
        )
        if result is EndResult.BEHIND:
            await self._hand_back()

    async def _hand_back(self) -> None:
        """Return the job to the queue; it is generated anew."""
        hold = await self._claimed.hand_back()
        log.info("job handed back", job_id=self._claimed.job.job_id, attempt=self._claimed.attempt, result=hold.value)
