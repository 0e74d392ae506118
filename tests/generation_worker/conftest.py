"""The queue's fixtures, for the tests of this folder."""

from tests.generation_worker.queue_fixtures import make_consumer, queue, redis, start_worker

__all__ = ["make_consumer", "queue", "redis", "start_worker"]
