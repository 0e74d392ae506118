"""Answering over a queue in memory."""

from collections.abc import AsyncIterator

import pytest

from retrieval_server.generation.answering import Answering
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.generation.answering.support import Corpus
from tests.retrieval_server.generation.fake_queue import FakeQueue


@pytest.fixture
def queue() -> FakeQueue:
    return FakeQueue()


@pytest.fixture
def corpus() -> Corpus:
    return Corpus()


@pytest.fixture
async def answering(queue: FakeQueue, corpus: Corpus) -> AsyncIterator[Answering]:
    answering = Answering(corpus.retrieve, queue, ServerSettings())
    yield answering
    await answering.close()
