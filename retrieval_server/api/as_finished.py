"""Many items of a stream at once, each result as soon as it is there."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def as_finished(
    items: AsyncIterator[T], work: Callable[[T], Coroutine[Any, Any, R]], max_in_flight: int
) -> AsyncGenerator[R]:
    """Yield the result of `work` for each item, in the order in which they finish.

    No more than `max_in_flight` items are worked on or wait to be taken; only then is the next one read. When the
    consumer stops, what is in flight is cancelled.
    """

    async def read() -> list[T]:
        async for item in items:
            return [item]
        return []

    in_flight: set[asyncio.Task[R]] = set()
    reading: asyncio.Task[list[T]] | None = asyncio.create_task(read())
    try:
        while reading or in_flight:
            waiting = in_flight if reading is None or len(in_flight) >= max_in_flight else {*in_flight, reading}
            finished, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if reading in finished:
                item = reading.result()
                in_flight.update(asyncio.create_task(work(one)) for one in item)
                reading = asyncio.create_task(read()) if item else None
            for task in in_flight & finished:
                yield task.result()
                in_flight.discard(task)
    finally:
        abandoned = [*in_flight, *([reading] if reading else [])]
        for left in abandoned:
            left.cancel()
        await asyncio.gather(*abandoned, return_exceptions=True)
