"""Many items of a stream at once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def worked_on(
    items: AsyncIterator[T], work: Callable[[T], Coroutine[Any, Any, R]], max_in_flight: int, *, in_order: bool = False
) -> AsyncGenerator[R]:
    """Yield the result of `work` for each item, as each finishes, or in the order of the items.

    No more than `max_in_flight` items are worked on or wait to be taken; only then is the next one read. When the
    consumer stops, what is in flight is cancelled.
    """

    async def read() -> list[T]:
        async for item in items:
            return [item]
        return []

    in_flight: list[asyncio.Task[R]] = []
    reading: asyncio.Task[list[T]] | None = asyncio.create_task(read())
    try:
        while reading or in_flight:
            has_room = len(in_flight) < max_in_flight
            # What finished while a result was being taken is there already, and nothing may be left to wait for.
            if not any(task.done() for task in (in_flight[:1] if in_order else in_flight)):
                waiting: set[asyncio.Task[Any]] = {task for task in in_flight if not task.done()}
                if reading is not None and has_room:
                    waiting.add(reading)
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if reading is not None and has_room and reading.done():
                item = reading.result()
                in_flight += [asyncio.create_task(work(one)) for one in item]
                reading = asyncio.create_task(read()) if item else None
            for task in list(in_flight):
                if task.done():
                    in_flight.remove(task)
                    yield task.result()
                elif in_order:
                    break
    finally:
        abandoned = [*in_flight, *([reading] if reading else [])]
        for left in abandoned:
            left.cancel()
        await asyncio.gather(*abandoned, return_exceptions=True)
