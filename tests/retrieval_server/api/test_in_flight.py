"""Items of a stream in parallel: bounded, as they finish, and cancelled with their consumer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from retrieval_server.api.in_flight import worked_on


async def numbers(count: int) -> AsyncIterator[int]:
    for number in range(count):
        yield number


async def test_results_come_as_they_finish() -> None:
    finish = [asyncio.Event() for _ in range(3)]

    async def work(number: int) -> int:
        await finish[number].wait()
        return number

    results = []
    finish[2].set()
    async for result in worked_on(numbers(3), work, 3):
        results.append(result)
        finish[{2: 0, 0: 1, 1: 1}[result]].set()
    assert results == [2, 0, 1]


@pytest.mark.parametrize("count", [0, 1, 5, 50])
async def test_no_more_than_the_bound_are_in_flight_and_none_is_lost(count: int) -> None:
    running = 0
    most = 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    results = [result async for result in worked_on(numbers(count), work, 4)]
    assert sorted(results) == list(range(count))
    assert most <= 4


async def test_a_consumer_that_stops_cancels_what_is_in_flight() -> None:
    cancelled: list[int] = []

    async def work(number: int) -> int:
        if number == 0:
            return number
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return number

    async with aclosing(worked_on(numbers(3), work, 3)) as results:
        assert await anext(results) == 0
        await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
    assert set(cancelled) <= {1, 2}


async def test_a_stream_that_breaks_raises_to_the_consumer() -> None:
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise ValueError

    async def work(number: int) -> int:
        return number

    with pytest.raises(ValueError):  # noqa: PT011 - it has no message
        _ = [result async for result in worked_on(broken(), work, 2)]


async def test_results_in_order_wait_for_the_head_without_burning_a_core():
    release = asyncio.Event()
    waits = 0
    wait = asyncio.wait

    async def count_waits(*args: object, **kwargs: object):
        nonlocal waits
        waits += 1
        return await wait(*args, **kwargs)

    async def work(number: int) -> int:
        if number == 0:
            await release.wait()
        return number

    async def collect() -> list[int]:
        return [result async for result in worked_on(numbers(6), work, 4, in_order=True)]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(asyncio, "wait", count_waits)
        collecting = asyncio.create_task(collect())
        for _ in range(200):
            await asyncio.sleep(0)
        assert waits < 20
        release.set()
        assert await collecting == [0, 1, 2, 3, 4, 5]


async def test_an_earlier_item_that_finishes_while_a_result_is_being_taken_is_not_waited_for():
    release, all_read = asyncio.Event(), asyncio.Event()

    async def items() -> AsyncIterator[int]:
        yield 0
        yield 1
        all_read.set()

    async def work(number: int) -> int:
        await (release.wait() if number == 0 else all_read.wait())
        await asyncio.sleep(0)
        return number

    taken = []
    async with asyncio.timeout(60):
        async for result in worked_on(items(), work, 8):
            taken.append(result)
            release.set()
            for _ in range(20):  # the consumer is slow, and the other item finishes meanwhile
                await asyncio.sleep(0)
    assert taken == [1, 0]
