"""How long a stream waits for its reader: one that takes nothing must not hold a place, and a job, for ever."""

import asyncio
from types import TracebackType
from typing import Any, Self

import grpc

from groundwire.v1 import error_pb2
from retrieval_server.errors import Expired


class ReaderPatience:
    """The writes of one stream; entered by the task that makes them.

    gRPC buffers about 128 KiB, and lets a write wait when more is unread. Only such waits count: a stream that has
    nothing to send waits for ever. One timer serves all writes, since there is one for each token of an answer.
    """

    def __init__(self, context: grpc.aio.ServicerContext[Any, Any], timeout_s: float) -> None:
        """`timeout_s` is the longest that a write may take."""
        self._context = context
        self._has_begun = False
        self._timeout_s = timeout_s
        self._writing_since_s: float | None = None
        self._is_over = False

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a stream is written by a task")
        self._task = task
        self._timer = self._loop.call_later(self._timeout_s, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()

    async def write(self, message: Any) -> None:
        """Send a message. Raises Expired when the reader leaves no room for it in time."""
        self._writing_since_s = self._loop.time()
        try:
            if not self._has_begun:
                # With the first message they would wait as it does, and no status can be sent until they are.
                await self._context.send_initial_metadata(())
                self._has_begun = True
            await self._context.write(message)
        except asyncio.CancelledError:
            # Its caller may have vanished, or the server may stop, in the same moment: then that is what ends it.
            if not self._is_over or self._task.uncancel() > 0:
                raise
            raise Expired(
                error_pb2.ERROR_REASON_DEADLINE_EXCEEDED, f"the stream was not read for {self._timeout_s:g} s"
            ) from None
        except grpc.aio.BaseError:  # the call is over already, and word of that on its way
            raise asyncio.CancelledError from None
        finally:
            self._writing_since_s = None

    def _look(self) -> None:
        now_s = self._loop.time()
        ends_s = self._timeout_s + (now_s if self._writing_since_s is None else self._writing_since_s)
        if ends_s > now_s:
            self._timer = self._loop.call_at(ends_s, self._look)
        else:
            self._is_over = True
            self._task.cancel()
