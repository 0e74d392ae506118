"""Asking the HTTP backend of a real server on loopback."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from generation_worker.backends.openai_backend import OpenAiBackend, RemoteModel
from generation_worker.engine.protocol import GenerationFailed
from tests.generation_worker.backends.support import Listener, make_job
from tests.support.fake_openai import FakeOpenAi, Reply, Request

KEY = "sk-very-secret-0123456789"


@asynccontextmanager
async def opened(url: str, **changes) -> AsyncIterator[OpenAiBackend]:
    remote = {"model": "big", "api_key": KEY, "context_tokens": 4096, "silence_timeout_s": 30.0, "extra": {}}
    backend = OpenAiBackend(RemoteModel(url=url, **(remote | changes)), slot_count=4)
    try:
        yield backend
    finally:
        await backend.close()


async def generate(url: str, job=None, **changes) -> Listener:
    async with opened(url, **changes) as backend:
        listener = Listener()
        backend.start(job or make_job(), listener)
        await listener.last()
        return listener


async def failure_of(*replies: Reply | Callable[[Request], Reply], **changes) -> Exception:
    with FakeOpenAi(*replies) as remote:
        last = await (await generate(remote.url, **changes)).last()
    assert isinstance(last, GenerationFailed)
    return last.error
