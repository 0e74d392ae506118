"""The worker at work: its loops, its sign of life, and how it stops."""

import asyncio
import signal
import time
from contextlib import suppress
from math import ceil

import structlog
from google.protobuf.timestamp_pb2 import Timestamp
from redis.asyncio import Redis
from redis.exceptions import RedisError

from generation_worker.backends.ordered import OrderedBackends, Pause
from generation_worker.consumer import BLOCK_S, Consumer
from generation_worker.job_runner import JobRunner
from generation_worker.settings import WorkerSettings
from groundwire import __version__
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import Backoff, connect
from groundwire.queue.liveness import report_alive, report_gone
from groundwire.queue.outage import Outage

log = structlog.get_logger()

SIGN_OF_LIFE_S = 1.0
_SHORTEST_PAUSE_S = 0.05
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_FAREWELL_TIMEOUT_S = 3.0


async def run_worker(settings: WorkerSettings, backends: OrderedBackends) -> None:
    """Take and run jobs until SIGTERM or SIGINT; then finish those in hand, or hand back what takes too long.

    A second signal hands them back at once. Redis may come and go meanwhile.

    Raises:
        RedisUrlError: the address of Redis can never work.
    """
    redis = connect(settings.redis_url)
    blocking_redis = connect(settings.redis_url, block_s=BLOCK_S)
    try:
        await Worker(settings, backends, redis, blocking_redis).run()
    finally:
        await redis.aclose()
        await blocking_redis.aclose()


class Worker:
    """One process's worker."""

    def __init__(
        self, settings: WorkerSettings, backends: OrderedBackends, redis: Redis, blocking_redis: Redis
    ) -> None:
        self._worker_id = settings.worker_id
        self._drain_timeout_s = settings.worker_drain_timeout_s
        self._redis = redis
        self._consumer = Consumer(
            redis,
            blocking_redis,
            settings.queue_partition_count,
            worker_id=settings.worker_id,
            lease_s=settings.lease_s,
        )
        self._runner = JobRunner(backends, settings.worker_id)
        self._record = job_pb2.WorkerRecord(
            model=backends.model,
            context_tokens=backends.context_tokens,
            slot_count=backends.slot_count,
            partition_count=settings.queue_partition_count,
            version=__version__,
            started_time=Timestamp(seconds=int(time.time())),
        )
        self._backends = backends
        # And how many slots each takes. One at most waits for some of its slots: nothing is taken meanwhile.
        self._running: dict[asyncio.Task[None], int] = {}
        self._stopping = asyncio.Event()
        self._hand_back = asyncio.Event()

    async def run(self) -> None:
        """See run_worker."""
        loop = asyncio.get_running_loop()
        for stop_signal in _STOP_SIGNALS:
            loop.add_signal_handler(stop_signal, self._on_stop_signal)
        presence = asyncio.create_task(self._stay_known())
        work = asyncio.create_task(self._work())
        stop = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((presence, work, stop), return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                await self._drain(work)
            for ended in (presence, work):
                if ended.done():
                    ended.result()  # a fault of ours: to be seen, and the process to be started anew
        finally:
            for task in (presence, work, stop):
                task.cancel()
            await asyncio.gather(presence, work, stop, return_exceptions=True)
            await self._runner.close()
            with suppress(RedisError, TimeoutError):
                async with asyncio.timeout(_FAREWELL_TIMEOUT_S):
                    await report_gone(self._redis, self._worker_id)
                    await self._consumer.forget_consumers(own=True)
            log.info("worker stopped", worker_id=self._worker_id)

    def _on_stop_signal(self) -> None:
        if self._stopping.is_set():
            self._hand_back.set()
        self._stopping.set()

    async def _drain(self, work: asyncio.Task[None]) -> None:
        log.info("worker draining", drain_timeout_s=self._drain_timeout_s)
        done, _ = await asyncio.wait((work,), timeout=self._drain_timeout_s)
        if not done:
            self._hand_back.set()
            await asyncio.wait((work,), timeout=_FAREWELL_TIMEOUT_S)

    async def _work(self) -> None:
        backoff, outage = Backoff(), Outage()
        async with asyncio.TaskGroup() as runs:
            while await self._can_take_a_job():
                try:
                    job = await self._consumer.next_job()
                except RedisError as error:
                    delay_s = backoff.next_s()
                    outage.goes_on(error)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._stopping.wait(), delay_s)
                    continue
                backoff.reset()
                outage.is_over()
                if job is None:
                    continue
                if self._stopping.is_set():
                    await job.hand_back()
                    continue
                others = tuple(self._running) if job.alone else ()
                run = runs.create_task(self._runner.run(job, self._hand_back, after=others))
                self._running[run] = self._backends.slots_for(job.job)
                run.add_done_callback(self._running.pop)
                if job.alone:
                    await asyncio.wait((run,))

    async def _can_take_a_job(self) -> bool:
        """Wait for a free slot, and for a backend that may be used; False when the worker is to stop instead.

        While all backends are left alone, jobs stay in the queue, for other workers or for the server's fallback.
        """
        stop = asyncio.create_task(self._stopping.wait())
        is_told = False
        try:
            while not stop.done():
                pause = self._backends.pause
                if pause is None and sum(self._running.values()) < self._record.slot_count:
                    break
                if pause is not None and not is_told:
                    log.warning("jobs left to others", worker_id=self._worker_id, reason=pause.reason)
                    is_told = True
                look_again_s = None if pause is None else _look_again_s(pause)
                await asyncio.wait((stop, *self._running), timeout=look_again_s, return_when=asyncio.FIRST_COMPLETED)
                # A run that has ended leaves in a callback of its own.
                await asyncio.sleep(0)
        finally:
            stop.cancel()
        return not self._stopping.is_set()

    async def _stay_known(self) -> None:
        is_known = False
        while True:
            try:
                self._note_state()
                await report_alive(self._redis, self._worker_id, self._record)
                if not is_known:
                    await self._consumer.forget_consumers(own=False)
                    log.info("worker ready", worker_id=self._worker_id, model=self._record.model)
                    is_known = True
            except RedisError as error:
                log.debug("sign of life not given", error=str(error))
            await asyncio.sleep(SIGN_OF_LIFE_S)

    def _note_state(self) -> None:
        """Write into the record what changes: which generator is next, and why it may be that none is."""
        pause = self._backends.pause
        self._record.generator_identity = self._backends.identity
        self._record.not_accepting_reason = "" if pause is None else pause.reason
        self._record.ClearField("accepts_again_after")
        if pause is not None and pause.left_s is not None:
            self._record.accepts_again_after.FromMilliseconds(ceil(pause.left_s * 1000))


def _look_again_s(pause: Pause) -> float:
    """Return how long to wait until a pause may be over: neither for ever nor without a rest."""
    return SIGN_OF_LIFE_S if pause.left_s is None else min(max(pause.left_s, _SHORTEST_PAUSE_S), SIGN_OF_LIFE_S)
