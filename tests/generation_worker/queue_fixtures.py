"""Fixtures around a queue on a Valkey of the test's own; the conftests of both sides of the queue name them."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from generation_worker.consumer import BLOCK_S, Consumer
from groundwire.queue.connection import connect
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from tests.generation_worker.harness import ScriptedWorker, make_queue
from tests.support.valkey import Valkey


@pytest.fixture
async def queue(own_valkey: Valkey) -> AsyncIterator[AnswerQueue]:
    """An answer queue on a Valkey of the test's own."""
    opened = make_queue(own_valkey.url)
    yield opened
    await opened.close()


@pytest.fixture
async def redis(own_valkey: Valkey) -> AsyncIterator[Redis]:
    """A client of the test's Valkey."""
    opened = connect(own_valkey.url)
    yield opened
    await opened.aclose()


@pytest.fixture
async def make_consumer(own_valkey: Valkey) -> AsyncIterator[Callable[..., Consumer]]:
    """Makes consumers, as workers have them, with a lease in seconds."""
    opened: list[Redis] = []

    def make(worker_id: str = "w1", *, lease_s: float = 30.0) -> Consumer:
        clients = connect(own_valkey.url), connect(own_valkey.url, block_s=BLOCK_S)
        opened.extend(clients)
        return Consumer(*clients, 1, worker_id=worker_id, lease_s=lease_s)

    yield make
    for client in opened:
        await client.aclose()


@pytest.fixture
def start_worker(own_valkey: Valkey, tmp_path: Path) -> Iterator[Callable[..., ScriptedWorker]]:
    """Starts scripted worker processes; they are killed when the test ends."""
    started: list[ScriptedWorker] = []

    def start(worker_id: str, **settings: Any) -> ScriptedWorker:
        started.append(ScriptedWorker(own_valkey.url, tmp_path, worker_id, **settings))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
