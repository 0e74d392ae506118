"""The engine's own thread, and handing jobs to it and steps back to the event loop."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeVar

from generation_worker.backends.backend import GenerationStopped, OnStep
from generation_worker.engine.protocol import Engine, GenerationDone, GenerationFailed, GenerationStep
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2

_T = TypeVar("_T")
_LoopStep = tuple[int, GenerationStep | GenerationStopped]
_LAST = (GenerationDone, GenerationFailed, GenerationStopped)


class EngineThread:
    """A Backend that runs an engine in one thread for life: it is not thread-safe, and its native state is warm there.

    All methods are for the event loop's thread, which is also where `on_step` is called. Every generation's last step
    is exactly one GenerationDone, GenerationFailed or GenerationStopped.

    When the engine fails where it must not, all that goes on fails, and `start` raises RuntimeError from then on: the
    process is to be started anew.
    """

    name = "llama.cpp"
    continues_answers = True

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._keys = itertools.count(1)
        self._listeners: dict[int, OnStep] = {}
        self._changed = threading.Condition()
        self._to_start: list[tuple[int, job_pb2.GenerationJob]] = []
        self._to_stop: list[int] = []
        self._is_closed = False
        self._fault: Exception | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # A daemon: a step that never ends must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="generation", daemon=True)

    @property
    def model(self) -> str:
        """See Backend."""
        return self.engine.model

    @property
    def identity(self) -> str:
        """See Backend."""
        return self.engine.identity

    @property
    def context_tokens(self) -> int:
        """See Backend."""
        return self.engine.context_tokens

    @property
    def slot_count(self) -> int:
        """See Backend."""
        return self.engine.slot_count

    @property
    def modes(self) -> Collection[answer_pb2.AnswerMode.ValueType]:
        """See Backend."""
        return self.engine.modes

    def slots_for(self, job: job_pb2.GenerationJob) -> int:
        """See Backend."""
        return self.engine.slots_for(job)

    def start(self, job: job_pb2.GenerationJob, on_step: OnStep) -> int:
        """Begin a generation, once there are slots for it; return its key."""
        if self._fault is not None:
            raise RuntimeError("the engine's thread has ended") from self._fault
        key = next(self._keys)
        self._listeners[key] = on_step
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._thread.start()
        with self._changed:
            self._to_start.append((key, job))
            self._changed.notify()
        return key

    def stop(self, key: int) -> None:
        """End a generation at once; nothing happens when it has ended by itself."""
        if key not in self._listeners:
            return
        with self._changed:
            self._to_stop.append(key)
            self._changed.notify()
        self.engine.interrupt()

    async def close(self) -> None:
        """Let the thread end; nothing is said any more."""
        self._listeners.clear()
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self.engine.interrupt()

    def _has_work(self) -> bool:
        return self._is_closed or bool(self._to_start) or bool(self._to_stop) or not self.engine.is_idle

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:  # a thread that ended unseen would leave every job waiting for its deadline
            self._hand_over(self._break_down, error)

    def _serve(self) -> None:
        active: set[int] = set()
        while True:
            with self._changed:
                self._changed.wait_for(self._has_work)
                if self._is_closed:
                    return
                to_start, self._to_start = self._to_start, []
                to_stop, self._to_stop = self._to_stop, []
            steps: list[_LoopStep] = []
            # Stops first: they free slots for those that start.
            for key in to_stop:
                self.engine.stop(key)
                steps.append((key, GenerationStopped()))
            for key, job in to_start:
                if key not in to_stop:
                    active.add(key)
                    steps += self._start(key, job)
            active -= self._tell(steps)
            active -= self._tell(self._step(active))

    def _start(self, key: int, job: job_pb2.GenerationJob) -> Sequence[_LoopStep]:
        try:
            self.engine.start(key, job)
        except Exception as error:  # whatever it is, the job must be told, and only this one
            self.engine.stop(key)
            return [(key, GenerationFailed(error))]
        return []

    def _step(self, active: set[int]) -> Sequence[_LoopStep]:
        try:
            return self.engine.step()
        except Exception as error:  # nobody knows whose fault it is
            for key in active:
                self.engine.stop(key)
            return [(key, GenerationFailed(error)) for key in active]

    def _tell(self, steps: Sequence[_LoopStep]) -> set[int]:
        """Hand steps to the event loop; return whose last ones are among them."""
        if steps:
            self._hand_over(self._deliver, steps)
        return {key for key, step in steps if isinstance(step, _LAST)}

    def _hand_over(self, told: Callable[[_T], None], what: _T) -> None:
        # The loop may have been closed while a step was computed; then nobody waits for it.
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(told, what)

    def _break_down(self, error: Exception) -> None:
        self._fault = error
        self._deliver([(key, GenerationFailed(error)) for key in self._listeners])

    def _deliver(self, steps: Sequence[_LoopStep]) -> None:
        for key, step in steps:
            is_last = isinstance(step, _LAST)
            listener = self._listeners.pop(key, None) if is_last else self._listeners.get(key)
            if listener is not None:
                listener(step)
