"""Connections to Redis or Valkey, and how long to wait before the next try."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any, cast

from redis.asyncio import (
    BlockingConnectionPool,
    Connection,
    ConnectionPool,
    Redis,
    RedisCluster,
    Sentinel,
    SentinelConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisClusterException
from redis.exceptions import TimeoutError as RedisTimeoutError

from groundwire.queue.redis_url import RedisAddress, RedisUrlError, Topology, parse_redis_url

__all__ = ["Backoff", "QueueRedis", "RedisUrlError", "connect", "is_cluster"]

COMMAND_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 2.0


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


class SentinelRedis(QueueRedis):
    """As QueueRedis, for the master that Sentinels name."""

    turns: asyncio.Semaphore
    asked: Sentinel

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As QueueRedis; callers beyond `turns` wait for theirs, since the pool does not see to that."""
        try:
            async with asyncio.timeout(self.command_timeout_s), self.turns:
                return await super().execute_command(*args, **options)
        except TimeoutError as error:
            raise RedisTimeoutError(f"no answer within {self.command_timeout_s:g} s") from error

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close the connections, those to the Sentinels too."""
        await super().aclose(close_connection_pool)
        for one in self.asked.sentinels:
            await one.aclose()


class ClusterRedis(RedisCluster):
    """As QueueRedis, for a cluster: each command goes to the node of its keys, and follows them when they move."""

    command_timeout_s = COMMAND_TIMEOUT_S
    turns: asyncio.Semaphore

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Execute a command; redis.exceptions.TimeoutError when that and the wait for its turn take too long."""
        try:
            async with asyncio.timeout(self.command_timeout_s), self.turns:
                return await super().execute_command(*args, **options)
        except TimeoutError as error:
            raise RedisTimeoutError(f"no answer within {self.command_timeout_s:g} s") from error
        except RedisClusterException as error:
            # No node could be asked; redis-py does not count that among lost connections.
            raise RedisConnectionError(str(error)) from error


def connect(redis_url: str, *, block_s: float = 0.0, max_connections: int = 64) -> Redis:
    """Return a client that opens connections as it needs them. `block_s`: the longest BLOCK that it will be used with.

    Nothing is retried inside: the caller knows which commands may be sent twice. Callers beyond `max_connections`
    wait for their turn. A cluster's client has the commands of a server's.

    Raises:
        RedisUrlError: the address can never work.
    """
    address = parse_redis_url(redis_url)
    common: dict[str, Any] = {
        "socket_timeout": None,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "protocol": 2,
    }
    if address.topology is Topology.CLUSTER:
        return _cluster(address, common, block_s, max_connections)
    common["retry"] = Retry(NoBackoff(), 0)
    client: QueueRedis
    if address.topology is Topology.SENTINEL:
        client = _sentinel(address, common, max_connections)
    else:
        client = cast("QueueRedis", QueueRedis.from_pool(_server_pool(address, common, max_connections)))
    client.command_timeout_s = COMMAND_TIMEOUT_S + block_s
    return client


def _server_pool(address: RedisAddress, common: dict[str, Any], max_connections: int) -> ConnectionPool:
    if address.unix_path:
        where: dict[str, Any] = {"connection_class": UnixDomainSocketConnection, "path": address.unix_path}
    else:
        [(host, port)] = address.nodes
        where = {"connection_class": SSLConnection if address.tls else Connection, "host": host, "port": port}
    return BlockingConnectionPool(max_connections=max_connections, timeout=None, **where, **common, **address.options)


def _sentinel(address: RedisAddress, common: dict[str, Any], max_connections: int) -> SentinelRedis:
    tls = {name: value for name, value in address.options.items() if name.startswith("ssl_")}
    if address.tls:
        tls["ssl"] = True
    # A Sentinel answers at once or not at all: the next one is asked then.
    asking = common | {"socket_timeout": CONNECT_TIMEOUT_S} | tls | address.sentinel_options
    sentinel = Sentinel(list(address.nodes), sentinel_kwargs=asking)  # type: ignore[no-untyped-call]
    pool = SentinelConnectionPool(  # type: ignore[no-untyped-call]
        address.service, sentinel, **common, **address.options, **({"ssl": True} if address.tls else {})
    )
    client = cast("SentinelRedis", SentinelRedis.from_pool(pool))
    client.asked = sentinel
    client.turns = asyncio.Semaphore(max_connections)
    return client


def _cluster(address: RedisAddress, common: dict[str, Any], block_s: float, max_connections: int) -> Redis:
    # Two tries inside: redis-py learns of moved slots and lost nodes by failing once.
    client = ClusterRedis(
        startup_nodes=[ClusterNode(host, port) for host, port in address.nodes],
        max_connections=2**31,
        ssl=address.tls,
        retry=Retry(NoBackoff(), 1),
        **common,
        **address.options,
    )
    client.turns = asyncio.Semaphore(max_connections)
    client.command_timeout_s = COMMAND_TIMEOUT_S + block_s
    return cast("Redis", client)


def is_cluster(client: Redis) -> bool:
    """Tell whether one command may only name keys of one slot."""
    return isinstance(cast("object", client), ClusterRedis)


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
