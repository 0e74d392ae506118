"""Work that is waited for whoever leaves: a thread goes on when its caller is cancelled, with all that it was given."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; when the caller leaves, however often told to, it is waited for all the same."""
    task = asyncio.create_task(work)
    # Of a caller that has left nobody asks what became of it, which is no error of the server.
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    try:
        return await asyncio.shield(task)
    finally:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
