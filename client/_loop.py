"""One thread with an event loop, shared by all synchronous clients of the process.

One, since grpc.aio wakes every loop of a process for every event of any. It ends with the last client.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from client._forking import ForkGuard

_T = TypeVar("_T")


class LoopThread:
    """A counted reference to the thread: `acquire` before the first `run`, `release` once."""

    _lock = threading.Lock()
    _user_count = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    @classmethod
    def acquire(cls) -> None:
        """Start the thread if it is not running. Raises ClientError in a forked process."""
        ForkGuard.check()
        with cls._lock:
            if cls._user_count == 0:
                loop = asyncio.new_event_loop()
                # A daemon, so that a client which nobody closes does not keep the process alive.
                thread = threading.Thread(target=_serve, args=(loop,), name="groundwire-client", daemon=True)
                thread.start()
                cls._loop, cls._thread = loop, thread
            cls._user_count += 1

    @classmethod
    def release(cls) -> None:
        """Stop the thread when nobody else uses it."""
        with cls._lock:
            cls._user_count -= 1
            if cls._user_count > 0 or cls._loop is None or cls._thread is None:
                return
            loop, thread = cls._loop, cls._thread
            cls._loop = cls._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    @classmethod
    def run(cls, work: Coroutine[Any, Any, _T]) -> _T:
        """Return what `work` returns; when the waiting thread is interrupted, `work` is cancelled."""
        loop = cls._loop
        if loop is None or ForkGuard.is_forked():
            work.close()
            ForkGuard.check()
            raise RuntimeError("the client's thread is not running")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
