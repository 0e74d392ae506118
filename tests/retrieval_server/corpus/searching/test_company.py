"""Who searches alone, and who has company."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from retrieval_server.corpus.searching import company as company_module
from retrieval_server.corpus.searching.company import Company


@pytest.fixture(autouse=True)
def company_is_expected_for_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(company_module, "_EXPECTED_AGAIN_S", 600.0)


async def is_alone(company: Company) -> bool:
    async with company.join() as alone:
        await asyncio.sleep(0)
        return alone


async def test_one_after_the_other_each_is_alone():
    company = Company()
    assert [await is_alone(company) for _ in range(3)] == [True, True, True]


async def test_of_those_who_arrive_together_none_is_alone():
    company = Company()
    assert await asyncio.gather(*(is_alone(company) for _ in range(3))) == [False, False, False]


async def test_who_comes_while_another_searches_is_not_alone_and_nobody_is_for_a_while(monkeypatch: pytest.MonkeyPatch):
    company = Company()
    async with AsyncExitStack() as searching:
        assert await searching.enter_async_context(company.join())
        assert not await is_alone(company)
    assert not await is_alone(company)
    monkeypatch.setattr(company_module, "_EXPECTED_AGAIN_S", 0.0)
    assert await is_alone(company)


async def test_who_is_cancelled_or_fails_has_left():
    company = Company()
    has_joined = asyncio.Event()

    async def stay() -> None:
        async with company.join():
            has_joined.set()
            await asyncio.Event().wait()

    staying = asyncio.create_task(stay())
    await has_joined.wait()
    staying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await staying
    with pytest.raises(ZeroDivisionError):
        async with company.join():
            raise ZeroDivisionError
    assert await is_alone(company)


async def test_who_is_cancelled_on_arrival_has_left():
    company = Company()
    arriving = asyncio.create_task(is_alone(company))
    await asyncio.sleep(0)  # it has joined, and looks whether anybody arrives with it
    arriving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await arriving
    assert await is_alone(company)
