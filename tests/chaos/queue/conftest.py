"""The queue's own fixtures, for the tests of this folder that need no server."""

from tests.generation_worker.queue_fixtures import make_consumer, queue, redis, start_worker

__all__ = ["make_consumer", "queue", "redis", "start_worker"]
