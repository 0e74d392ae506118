"""Connections: they end in time, can be cancelled, and are not tried again too soon."""

import asyncio
import socket

import pytest
from redis.exceptions import TimeoutError as RedisTimeoutError

from groundwire.queue.connection import Backoff, RedisUrlError, connect


def test_waits_grow_with_jitter_up_to_their_limit():
    backoff = Backoff(first_s=0.1, most_s=1.0)
    waits = [backoff.next_s() for _ in range(40)]
    for number, wait in enumerate(waits):
        limit = min(1.0, 0.1 * 2**number)
        assert limit / 2 <= wait <= limit
    assert len(set(waits)) > 30
    backoff.reset()
    assert backoff.next_s() <= 0.1


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://host", "redis://host:port/0"])
def test_an_address_that_can_never_work_is_refused(url):
    with pytest.raises(RedisUrlError, match="GROUNDWIRE_REDIS_URL"):
        connect(url)


async def test_a_server_that_never_answers_is_given_up_in_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        client.command_timeout_s = 0.2
        with pytest.raises(RedisTimeoutError):
            await client.get("key")
        await client.aclose()


async def test_a_command_can_be_cancelled_at_any_moment(redis):
    for steps in range(40):
        await redis.connection_pool.disconnect()
        command = asyncio.create_task(redis.blpop(["never"], timeout=5))
        for _ in range(steps % 20):
            await asyncio.sleep(0)
        command.cancel()
        async with asyncio.timeout(60):
            await asyncio.gather(command, return_exceptions=True)
        assert command.cancelled()
    assert await redis.ping()
