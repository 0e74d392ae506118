"""Running one claimed job: the engine in its thread, the events to Redis, the lease kept meanwhile."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog
from redis.exceptions import RedisError

from generation_worker.claimed_job import ClaimedJob, Hold
from generation_worker.engine.protocol import (
    Engine,
    GenerationDone,
    GenerationError,
    GenerationStep,
    PromptPacked,
    TextPiece,
)
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import Backoff
from groundwire.queue.ending import EXPIRED, Ending
from groundwire.v1 import answer_pb2, error_pb2

log = structlog.get_logger()

DELTA_INTERVAL_S = 0.04
"""Tokens of this time travel together; the first goes at once."""
_RENEWALS_PER_LEASE = 3


@dataclass(frozen=True, slots=True)
class _Over:
    """The engine's thread is through with the job."""

    error: Exception | None


class JobRunner:
    """Runs jobs one at a time on one engine."""

    def __init__(self, engine: Engine, worker_id: str) -> None:
        self._engine = engine
        self._worker_id = worker_id
        # One thread for life: the engine is not thread-safe, and its native state is warm for the thread that made it.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="generation")

    async def run(self, claimed: ClaimedJob, hand_back: asyncio.Event) -> None:
        """Generate until the job is done, ended, taken away or to be handed back; write what became of it."""
        run = _Run(self._engine, self._worker_id, claimed)
        helpers = [asyncio.create_task(run.keep_lease()), asyncio.create_task(run.stop_when(hand_back))]
        generation = asyncio.get_running_loop().run_in_executor(self._thread, run.generate)
        try:
            await run.write_events()
            await generation
            await run.conclude()
        finally:
            run.should_stop.set()
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class _Run:
    """One job's run: what the engine's thread, the writer and the lease's keeper know of each other."""

    def __init__(self, engine: Engine, worker_id: str, claimed: ClaimedJob) -> None:
        self._engine = engine
        self._worker_id = worker_id
        self._claimed = claimed
        self._loop = asyncio.get_running_loop()
        # Bounded by the job's token limit: while Redis is away generation goes on and waits here.
        self._steps: asyncio.Queue[GenerationStep | _Over] = asyncio.Queue()
        self.should_stop = threading.Event()
        self._hold = Hold.OK
        self._packed: PromptPacked | None = None
        self._done: GenerationDone | None = None
        self._error: Exception | None = None

    def generate(self) -> None:
        """Run the engine; in its own thread."""
        error: Exception | None = None
        try:
            for step in self._engine.generate(self._claimed.job, self.should_stop.is_set):
                self._loop.call_soon_threadsafe(self._steps.put_nowait, step)
        except Exception as caught:  # whatever it is, the job must be told
            error = caught
        self._loop.call_soon_threadsafe(self._steps.put_nowait, _Over(error))

    async def write_events(self) -> None:
        """Write what the engine yields, tokens bundled, until it is through."""
        while True:
            steps = [await self._steps.get()]
            while not self._steps.empty():
                steps.append(self._steps.get_nowait())
            await self._write(steps)
            if isinstance(steps[-1], _Over):
                return
            await asyncio.sleep(DELTA_INTERVAL_S)

    async def _write(self, steps: list[GenerationStep | _Over]) -> None:
        text = ""
        for step in steps:
            match step:
                case PromptPacked():
                    self._packed = step
                    await self._write_started(step)
                case TextPiece():
                    text += step.text
                case GenerationDone():
                    self._done = step
                case _Over():
                    self._error = step.error
        if text and self._hold is Hold.OK:
            self._note(await self._claimed.delta(text))

    async def _write_started(self, packed: PromptPacked) -> None:
        if self._hold is Hold.OK:
            started = job_pb2.JobStarted(
                worker_id=self._worker_id,
                model=self._engine.model,
                prompt_tokens=packed.prompt_tokens,
                dropped_passage_indexes=packed.dropped_passage_indexes,
            )
            self._note(await self._claimed.started(started))

    def _note(self, hold: Hold) -> None:
        if hold is not Hold.OK:
            self._hold = hold
            self.should_stop.set()

    async def keep_lease(self) -> None:
        """Renew the lease until cancelled, prefill or not; notice when the job was ended elsewhere."""
        backoff = Backoff()
        while self._hold is Hold.OK:
            try:
                self._note(await self._claimed.renew())
                backoff.reset()
                delay_s = self._claimed.lease_s / _RENEWALS_PER_LEASE
            except RedisError as error:
                delay_s = backoff.next_s()
                log.warning("lease not renewed", job_id=self._claimed.job.job_id, error=str(error))
            await asyncio.sleep(delay_s)

    async def stop_when(self, hand_back: asyncio.Event) -> None:
        """Stop generating when the job is to be handed back."""
        await hand_back.wait()
        self.should_stop.set()

    async def conclude(self) -> None:
        """Write how it ended, unless somebody else did."""
        job_id = self._claimed.job.job_id
        if self._hold is Hold.LOST:
            log.info("job given up", job_id=job_id, attempt=self._claimed.attempt)
        elif self._hold is Hold.EXPIRED:
            await self._end(EXPIRED)
        elif self._error is not None:
            await self._end(self._failure(self._error))
        elif self._done is not None:
            await self._end(self._finished(self._done))
        else:
            await self._claimed.hand_back()
            log.info("job handed back", job_id=job_id, attempt=self._claimed.attempt)

    def _finished(self, done: GenerationDone) -> Ending:
        packed = self._packed or PromptPacked(0, ())
        return Ending(
            job_pb2.JOB_OUTCOME_FINISHED,
            generator=answer_pb2.GeneratorInfo(
                model=self._engine.model,
                mode=answer_pb2.ANSWER_MODE_STUFF,
                prompt_tokens=packed.prompt_tokens,
                completion_tokens=done.completion_tokens,
                dropped_passage_indexes=packed.dropped_passage_indexes,
            ),
            attempt=self._claimed.attempt,
        )

    def _failure(self, error: Exception) -> Ending:
        if isinstance(error, GenerationError):
            reason, message = error_pb2.ERROR_REASON_GENERATION_FAILED, str(error)
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
