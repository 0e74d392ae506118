"""Who searches alone, and who has company."""

import asyncio

import pytest

from retrieval_server.corpus.searching import company as company_module
from retrieval_server.corpus.searching.company import Company


async def is_alone(company: Company, stays_s: float = 0.0) -> bool:
    async with company.join() as alone:
        await asyncio.sleep(stays_s)
        return alone


async def test_one_after_the_other_each_is_alone():
    company = Company()
    assert [await is_alone(company) for _ in range(3)] == [True, True, True]


async def test_of_those_who_arrive_together_none_is_alone():
    company = Company()
    assert await asyncio.gather(*(is_alone(company) for _ in range(3))) == [False, False, False]


async def test_who_comes_while_another_searches_is_not_alone_and_nobody_is_for_a_while(monkeypatch: pytest.MonkeyPatch):
    company = Company()
    first = asyncio.create_task(is_alone(company, stays_s=0.05))
    await asyncio.sleep(0.01)
    assert not await is_alone(company)
    assert await first
    assert not await is_alone(company)
    monkeypatch.setattr(company_module, "_EXPECTED_AGAIN_S", 0.0)
    assert await is_alone(company)


async def test_who_is_cancelled_or_fails_has_left():
    company = Company()
    staying = asyncio.create_task(is_alone(company, stays_s=600))
    await asyncio.sleep(0.01)
    staying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await staying
    with pytest.raises(ZeroDivisionError):
        async with company.join():
            raise ZeroDivisionError
    assert await is_alone(company)
