"""Connections to Redis or Valkey, and how long to wait before the next try."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any, cast

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import TimeoutError as RedisTimeoutError

COMMAND_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 2.0


class RedisUrlError(ValueError):
    """A Redis address that can never work; the message is one line and does not show it, as it may hold a password."""


class QueueRedis(Redis):
    """A client whose commands end in time and can be cancelled.

    redis-py's own socket timeout sends through `asyncio.wait_for`, which up to Python 3.11 loses a cancellation that
    comes as the send completes; and its default of 5 s would cut a longer BLOCK short and call it a lost connection.
    """

    command_timeout_s = COMMAND_TIMEOUT_S

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Execute a command; redis.exceptions.TimeoutError when that and the wait for a connection take too long."""
        try:
            async with asyncio.timeout(self.command_timeout_s):
                return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except TimeoutError as error:
            raise RedisTimeoutError(f"no answer within {self.command_timeout_s:g} s") from error


def connect(redis_url: str, *, block_s: float = 0.0, max_connections: int = 64) -> QueueRedis:
    """Return a client that opens connections as it needs them. `block_s`: the longest BLOCK that it will be used with.

    Nothing is retried inside: the caller knows which commands may be sent twice. Callers beyond `max_connections`
    wait for their turn.

    Raises:
        RedisUrlError: the address cannot be understood.
    """
    try:
        pool = BlockingConnectionPool.from_url(
            redis_url,
            max_connections=max_connections,
            timeout=None,
            protocol=2,
            socket_timeout=None,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise RedisUrlError(
            "GROUNDWIRE_REDIS_URL is not a Redis address: redis://HOST:PORT/DB, rediss://… or unix://PATH"
        ) from error
    client = cast("QueueRedis", QueueRedis.from_pool(pool))
    client.command_timeout_s = COMMAND_TIMEOUT_S + block_s
    return client


@dataclass(slots=True)
class Backoff:
    """Exponential delays with jitter, so that what lost Redis together does not come back together."""

    first_s: float = 0.05
    most_s: float = 1.0
    failures: int = 0

    def next_s(self) -> float:
        """Count a failure; return how long to wait after it."""
        limit_s = min(self.most_s, self.first_s * 2.0 ** min(self.failures, 20))
        self.failures += 1
        return random.uniform(limit_s / 2, limit_s)  # noqa: S311 - not a secret

    def reset(self) -> None:
        """Forget the failures: it works again."""
        self.failures = 0
