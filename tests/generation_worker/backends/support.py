"""What tests of backends share: a listener, and backends that are scripted."""

import asyncio

from generation_worker.backends.backend import GenerationStopped
from generation_worker.engine.protocol import GenerationDone, GenerationFailed, TextPiece
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, passage_pb2

LAST = (GenerationDone, GenerationFailed, GenerationStopped)


class Listener:
    """Collects the steps of one generation; nothing may follow the last one."""

    def __init__(self) -> None:
        self.steps: list = []
        self._ended = asyncio.Event()
        self._spoke = asyncio.Event()

    def __call__(self, step: object) -> None:
        assert not self._ended.is_set(), f"{step} after the end"
        self.steps.append(step)
        if isinstance(step, TextPiece):
            self._spoke.set()
        if isinstance(step, LAST):
            self._ended.set()

    @property
    def text(self) -> str:
        return "".join(step.text for step in self.steps if isinstance(step, TextPiece))

    async def spoke(self) -> None:
        async with asyncio.timeout(60):
            await self._spoke.wait()

    async def last(self):
        async with asyncio.timeout(60):
            await self._ended.wait()
        return self.steps[-1]


def make_job(question: str = "What is the timeout?", text: str = "", **fields) -> job_pb2.GenerationJob:
    passages = [passage_pb2.Passage(path="a.md", start_line=1, end_line=2, text=text)] if text else []
    return job_pb2.GenerationJob(job_id="j", question=question, passages=passages, **fields)


class FakeBackend:
    """A Backend whose steps a test tells."""

    context_tokens = 1000
    slot_count = 2
    continues_answers = True

    def __init__(self, name: str, *, modes=(answer_pb2.ANSWER_MODE_STUFF,)) -> None:
        self.name = name
        self.model = f"model of {name}"
        self.identity = f"identity of {name}"
        self.modes = modes
        self.told: list = []
        self.stopped: list[int] = []

    def slots_for(self, job) -> int:
        return 1

    def start(self, job, on_step) -> int:
        self.told.append(on_step)
        return len(self.told)

    def stop(self, key: int) -> None:
        self.stopped.append(key)

    async def close(self) -> None:
        """Nothing is open."""
