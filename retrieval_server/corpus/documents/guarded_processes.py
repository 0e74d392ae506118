"""Work on processes of their own, for input that may kill whoever reads it: the item that does is found and given up.

Parsers written in C can crash, and input can be made on which they run for hours or take all memory. Every process has
bounds on both, and ends when it meets them; so one item costs its process and nothing else.
"""

import asyncio
import ctypes
import gc
import os
import resource
import signal
import sys
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any, Generic, TypeVar

from groundwire.cpu import usable_core_count

_PR_SET_PDEATHSIG = 1
_YOUNG_OBJECTS = 10_000

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one item may take: processor time, and memory of the whole process (kept to on Linux only)."""

    cpu_s: float
    process_bytes: int


class _KillableContext(SpawnContext):
    """Starts processes and knows them. They are spawned, not forked: onnxruntime and gRPC have threads in this one."""

    def __init__(self) -> None:
        super().__init__()
        self._started: weakref.WeakSet[SpawnProcess] = weakref.WeakSet()

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802  as pools call it
        process = SpawnProcess(*args, **kwargs)
        self._started.add(process)
        return process

    def kill_all(self) -> None:
        """Kill all that were started and have not ended."""
        for process in list(self._started):
            if process.pid is not None:
                with suppress(ValueError):  # released already
                    process.kill()


class GuardedProcesses(Generic[Item, Result]):
    """Processes that do `work`, which must be importable in them; `close` ends them.

    An item that no process survives, or that takes too much time or memory, has the result `given_up(item)`.
    """

    def __init__(self, work: Callable[[Item], Result], given_up: Callable[[Item], Result], bounds: Bounds) -> None:
        self._work = work
        self._bounds = bounds
        self._given_up = given_up
        self._is_closed = False
        self._one_by_one = asyncio.Lock()
        self._context = _KillableContext()
        self._single: ProcessPoolExecutor | None = None
        self._pool = self._start(usable_core_count())

    async def run(self, items: Sequence[Item]) -> list[Result]:
        """Return the result of each item, in order."""
        pool = self._pool
        try:
            return await self._submit(pool, items)
        except BrokenProcessPool:
            if self._is_closed:
                raise
        if self._pool is pool:
            self._pool = self._start(usable_core_count())
        # The pool does not say who broke it, so each item of all batches that were in it is tried alone.
        async with self._one_by_one:
            return [await self._run_alone(item) for item in items]

    def close(self) -> None:
        """End the processes at once, whatever they are at: nobody waits for it any more."""
        self._is_closed = True
        for pool in (self._pool, self._single):
            if pool is not None:
                # Nothing is cancelled: to those who wait that would look as though they had been told to stop.
                pool.shutdown(wait=False)
        # What waits fails with them; and the interpreter would wait at its end until they are done.
        self._context.kill_all()

    async def _run_alone(self, item: Item) -> Result:
        if self._single is None:
            self._single = self._start(1)
            await self._submit(self._single, ())  # raises when it is not the item that ends processes
        try:
            (result,) = await self._submit(self._single, (item,))
        except BrokenProcessPool:
            if self._is_closed:
                raise
            self._single = None
            return self._given_up(item)
        return result

    async def _submit(self, pool: ProcessPoolExecutor, items: Sequence[Item]) -> list[Result]:
        # Python 3.11 stops telling of a pool that broke, and never ends, when it meets a future that was cancelled.
        future = asyncio.wrap_future(pool.submit(_do, self._work, items, self._bounds.cpu_s))
        future.add_done_callback(asyncio.Future.exception)  # whoever was cancelled does not ask for it
        return await asyncio.shield(future)

    def _start(self, process_count: int) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(
            process_count,
            self._context,
            initializer=_set_up,
            initargs=(self._bounds.process_bytes, os.getpid()),
        )
        pool.submit(_do, self._work, (), self._bounds.cpu_s)
        return pool


def _do(work: Callable[[Item], Result], items: Sequence[Item], cpu_s_per_item: float) -> list[Result]:
    results = []
    for item in items:
        # The signal ends the process, since nobody handles it.
        signal.setitimer(signal.ITIMER_PROF, cpu_s_per_item)
        try:
            results.append(work(item))
        except MemoryError:
            os._exit(1)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return results


def _set_up(process_bytes: int, server_pid: int) -> None:
    """End with the server, however it ends, leave Ctrl-C to it, and take no more memory than a file is worth."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server_pid:  # it had ended before that, and its end is not told any more
            os._exit(1)
        resource.setrlimit(resource.RLIMIT_DATA, (process_bytes, process_bytes))
    # Items come and go by themselves: looking often for those that hold each other takes a twentieth of the time.
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)
