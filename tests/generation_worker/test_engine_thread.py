"""The engine's thread: whatever happens, each generation has exactly one last step."""

import asyncio

import pytest

from generation_worker.backends.backend import GenerationStopped
from generation_worker.engine.protocol import GenerationDone, GenerationFailed, TextPiece
from generation_worker.engine_thread import EngineThread
from groundwire.internal.v1 import job_pb2
from tests.generation_worker.scripted_engine import ScriptedEngine

LAST = (GenerationDone, GenerationFailed, GenerationStopped)


class Listener:
    """Collects the steps of one generation."""

    def __init__(self) -> None:
        self.steps: list[object] = []
        self.ended = asyncio.Event()
        self.spoke = asyncio.Event()

    def __call__(self, step: object) -> None:
        assert not self.ended.is_set(), f"{step} after the end"
        self.steps.append(step)
        if isinstance(step, TextPiece):
            self.spoke.set()
        if isinstance(step, LAST):
            self.ended.set()

    async def last(self) -> object:
        async with asyncio.timeout(60):
            await self.ended.wait()
        return self.steps[-1]


@pytest.fixture
async def thread():
    opened = EngineThread(ScriptedEngine(slot_count=4))
    yield opened
    await opened.close()
    if opened._thread.is_alive():
        opened._thread.join(timeout=60)
    assert not opened._thread.is_alive()


def start(thread: EngineThread, question: str) -> tuple[int, Listener]:
    listener = Listener()
    return thread.start(job_pb2.GenerationJob(question=question), listener), listener


async def test_generations_go_on_at_once_and_each_hears_its_own(thread):
    listeners = [start(thread, f"prefill 1 say {count} slowly 0.01")[1] for count in (3, 5, 9)]
    assert [await listener.last() for listener in listeners] == [GenerationDone(count) for count in (3, 5, 9)]
    assert thread.engine.most_at_once == 3


async def test_a_stopped_generation_frees_its_slot_and_the_others_go_on(thread):
    key, stopped = start(thread, "say 100000 slowly 0.01")
    _, other = start(thread, "say 20 slowly 0.01")
    async with asyncio.timeout(60):
        await stopped.spoke.wait()
    thread.stop(key)
    assert await stopped.last() == GenerationStopped()
    assert await other.last() == GenerationDone(20)
    thread.stop(key)  # once more: nothing happens


async def test_an_engine_that_breaks_down_leaves_no_job_waiting(thread, monkeypatch):
    key, stopped = start(thread, "say 100000 slowly 0.01")
    _, other = start(thread, "say 100000 slowly 0.01")
    async with asyncio.timeout(60):
        await stopped.spoke.wait()

    def broken(_: int) -> None:
        raise OSError("the native state is lost")

    monkeypatch.setattr(thread.engine, "stop", broken)
    thread.stop(key)
    for listener in (stopped, other):
        assert isinstance((await listener.last()).error, OSError)
    with pytest.raises(RuntimeError, match="thread has ended"):
        start(thread, "say 1")


async def test_a_stop_before_the_start_was_seen_counts(thread):
    key, listener = start(thread, "say 100000 slowly 1")
    thread.stop(key)
    assert await listener.last() == GenerationStopped()
    assert thread.engine.is_idle


async def test_a_job_that_cannot_begin_fails_alone(thread):
    _, good = start(thread, "say 5 slowly 0.02")
    _, bad = start(thread, "say nonsense")
    assert isinstance((await bad.last()).error, ValueError)
    assert await good.last() == GenerationDone(5)


async def test_a_step_that_breaks_fails_all_and_the_thread_works_on(thread):
    _, other = start(thread, "say 100000 slowly 0.01")
    _, wreck = start(thread, "wreck")
    for listener in (other, wreck):
        assert isinstance((await listener.last()).error, ZeroDivisionError)
    assert await start(thread, "say 1")[1].last() == GenerationDone(1)
