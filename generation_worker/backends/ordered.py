"""Backends in order: the first that can be used writes, the next ones stand in when it fails."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from generation_worker.backends.backend import Backend, BackendUnavailableError, GenerationStopped
from generation_worker.backends.circuit_breaker import CircuitBreaker
from generation_worker.engine.protocol import (
    GenerationDone,
    GenerationError,
    GenerationFailed,
    GenerationStep,
    ModeNotSupportedError,
    PromptPacked,
)
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class GenerationBegun:
    """A backend begins to write, said before its PromptPacked. What another one wrote before is void."""

    backend: Backend


BackendStep = GenerationBegun | GenerationStep | GenerationStopped


@dataclass(frozen=True, slots=True)
class GuardedBackend:
    """A backend, and what keeps jobs away from it while it fails; None where failing costs no time."""

    backend: Backend
    breaker: CircuitBreaker | None = None

    @property
    def admits(self) -> bool:
        """Whether a job may use it now."""
        return self.breaker is None or self.breaker.admits


@dataclass(frozen=True, slots=True)
class Pause:
    """Why no job would find a backend now; `left_s` is None while one job tries a backend for all."""

    reason: str
    left_s: float | None


@dataclass(slots=True)
class _Generation:
    job: job_pb2.GenerationJob
    on_step: Callable[[BackendStep], None]
    untried: Iterator[GuardedBackend]
    guarded: GuardedBackend | None = None
    admission: int = 0
    key: int = 0
    is_stopped: bool = False


class OrderedBackends:
    """Generations by several backends. Each has, besides its steps, a GenerationBegun for every backend that wrote."""

    def __init__(self, backends: Sequence[GuardedBackend]) -> None:
        self._backends = tuple(backends)
        self._keys = itertools.count(1)
        self._generations: dict[int, _Generation] = {}
        self.model = backends[0].backend.model
        """Of the first: the one that answers while all is well."""
        self.context_tokens = min(one.backend.context_tokens for one in backends)
        self.slot_count = min(one.backend.slot_count for one in backends)

    @property
    def identity(self) -> str:
        """See Backend; of the one that the next job goes to first."""
        return next((one.backend.identity for one in self._backends if one.admits), self._backends[0].backend.identity)

    @property
    def pause(self) -> Pause | None:
        """Why all backends are to be left alone now; None when a job may use one."""
        breakers = [one.breaker for one in self._backends if one.breaker is not None and not one.admits]
        if len(breakers) < len(self._backends):
            return None
        names = ", ".join(one.backend.name for one in self._backends)
        which = f"the {names} backend{'s' if len(breakers) > 1 else ''}"
        waits_s = [breaker.cooldown_left_s for breaker in breakers if breaker.cooldown_left_s > 0]
        if not waits_s:
            return Pause(f"{which} failed too often, and one job tries now whether that is over", None)
        return Pause(f"{which} failed too often lately", min(waits_s))

    def slots_for(self, job: job_pb2.GenerationJob) -> int:
        """Return how many slots a job takes, at most."""
        return max(one.backend.slots_for(job) for one in self._backends)

    def start(self, job: job_pb2.GenerationJob, on_step: Callable[[BackendStep], None]) -> int:
        """Begin a generation; return its key. Its last step is told exactly once, and may be told before this returns.

        Backends that cannot work in the job's mode, and those that are left alone for a while, are passed over. One
        that could not be tried at all for that is told GenerationStopped: it has not failed, it may go elsewhere.
        """
        key = next(self._keys)
        self._generations[key] = generation = _Generation(job, on_step, iter(self._backends))
        self._go_on(key, generation, None)
        return key

    def stop(self, key: int) -> None:
        """End a generation soon; nothing happens when it has ended by itself."""
        generation = self._generations.get(key)
        if generation is not None and generation.guarded is not None:
            generation.is_stopped = True
            generation.guarded.backend.stop(generation.key)

    async def close(self) -> None:
        """Close all backends; nothing is said any more."""
        for one in self._backends:
            await one.backend.close()

    def _go_on(self, key: int, generation: _Generation, why: Exception | None) -> None:
        """Hand the job to the next backend that can be used; without one it fails, with why the last one did."""
        mode = generation.job.mode or answer_pb2.ANSWER_MODE_STUFF
        for guarded in generation.untried:
            if mode not in guarded.backend.modes:
                # A server of a later version may ask for one that has no name here.
                name = dict(zip(answer_pb2.AnswerMode.values(), answer_pb2.AnswerMode.keys(), strict=True)).get(mode)
                name = name.removeprefix("ANSWER_MODE_") if name else f"number {mode}"
                why = why or ModeNotSupportedError(f"The {guarded.backend.name} backend cannot work in mode {name}.")
                continue
            admission = 0 if guarded.breaker is None else guarded.breaker.admit()
            if admission is None:
                why = why or BackendUnavailableError(f"the {guarded.backend.name} backend has failed too often lately")
                continue
            generation.guarded, generation.admission = guarded, admission
            told = partial(self._take, key, generation, guarded)
            generation.key = guarded.backend.start(generation.job, told)
            return
        del self._generations[key]
        if generation.guarded is None and isinstance(why, BackendUnavailableError) and self.pause is not None:
            generation.on_step(GenerationStopped())
        else:
            generation.on_step(GenerationFailed(why or BackendUnavailableError("there is no backend")))

    def _take(
        self, key: int, generation: _Generation, guarded: GuardedBackend, step: GenerationStep | GenerationStopped
    ) -> None:
        match step:
            case PromptPacked():
                if guarded.breaker is not None:
                    generation.admission = guarded.breaker.begun(generation.admission)
                generation.on_step(GenerationBegun(guarded.backend))
            case GenerationFailed(error):
                self._note_failure(generation, guarded, error)
                if not generation.is_stopped:
                    self._go_on(key, generation, error)
                    return
                step = GenerationStopped()
                del self._generations[key]
            case GenerationDone():
                if guarded.breaker is not None:
                    guarded.breaker.succeeded(generation.admission)
                del self._generations[key]
            case GenerationStopped():
                if guarded.breaker is not None:
                    guarded.breaker.withdrew(generation.admission)
                del self._generations[key]
        generation.on_step(step)

    def _note_failure(self, generation: _Generation, guarded: GuardedBackend, error: Exception) -> None:
        name, breaker = guarded.backend.name, guarded.breaker
        if isinstance(error, GenerationError):
            # The job's fault, found perhaps before anything was sent: of the backend it says nothing.
            if breaker is not None:
                breaker.withdrew(generation.admission)
            return
        is_known = isinstance(error, BackendUnavailableError)
        log.warning(
            "backend failed",
            backend=name,
            job_id=generation.job.job_id,
            error=str(error),
            exc_info=None if is_known else error,
        )
        if breaker is not None:
            breaker.failed(generation.admission)
            log.info("backend state", backend=name, state=breaker.state.value)
