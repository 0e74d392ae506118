"""Putting back what Redis held before."""

from redis.asyncio import Redis


class StoredState:
    """All that Redis holds, to be put back as a restart from an old file does, or a failover to a replica that lags."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._dumped: dict[bytes, bytes] = {}

    async def save(self) -> None:
        keys = await self._redis.keys("*")
        self._dumped = {key: await self._redis.dump(key) for key in keys}

    async def put_back(self) -> None:
        await self._redis.flushall()
        for key, value in self._dumped.items():
            await self._redis.restore(key, 0, value)
