"""Calling Redis for a caller who waits: tried again a few times, then told as Unavailable."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from groundwire.queue.connection import Backoff
from groundwire.v1 import error_pb2
from retrieval_server.errors import Unavailable

T = TypeVar("T")

RETRY_AFTER_S = 1.0
_TRIES = 3


async def answered(call: Callable[[], Awaitable[T]]) -> T:
    """Return what Redis answers; a lost connection is worth another try, as all calls may be sent twice."""
    backoff = Backoff()
    while True:
        try:
            return await call()
        except RedisError as error:
            delay_s = backoff.next_s()
            if not isinstance(error, RedisConnectionError) or backoff.failures >= _TRIES:
                raise Unavailable(
                    error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE,
                    f"the answer queue cannot be used: {error}",
                    retry_after_s=RETRY_AFTER_S,
                ) from error
        await asyncio.sleep(delay_s)
