"""What tests of the queue share: jobs, whole event streams, consumers, and scripted workers in processes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from generation_worker.consumer import Consumer
from groundwire.internal.v1 import job_pb2
from retrieval_server.generation.jobs.answer_queue import AnswerQueue, EnqueueOutcome

PROJECT_DIR = Path(__file__).resolve().parents[2]
POLL_S = 0.01


def make_job(job_id: str, question: str = "say 3", *, timeout_s: float = 60.0) -> job_pb2.GenerationJob:
    job = job_pb2.GenerationJob(job_id=job_id, question=question)
    job.deadline.FromNanoseconds(int((time.time() + timeout_s) * 1e9))
    return job


def make_queue(url: str, **overrides: Any) -> AnswerQueue:
    settings = {"partition_count": 1, "max_depth": 20, "lease_s": 30.0, "max_deliveries": 3, "ttl_s": 60.0}
    return AnswerQueue(url, **(settings | overrides))


async def put(
    queue: AnswerQueue, job_id: str, question: str = "say 3", *, timeout_s: float = 60.0, request_hash: bytes = b"h"
) -> EnqueueOutcome:
    job = make_job(job_id, question, timeout_s=timeout_s)
    return await queue.enqueue(job, job_pb2.JobRetrieved(request_id=job_id), request_hash)


def kind(event: job_pb2.JobEvent) -> str:
    return event.WhichOneof("event") or ""


async def all_events(events: AsyncIterator[job_pb2.JobEvent], *, timeout_s: float = 60.0) -> list[job_pb2.JobEvent]:
    """Follow to the end; checks what holds of every stream: rising sequences and one terminal message, last."""
    async with asyncio.timeout(timeout_s):
        seen = [event async for event in events]
    assert [kind(event) == "ended" for event in seen] == [False] * (len(seen) - 1) + [True]
    sequences = [event.sequence for event in seen]
    assert sequences == sorted(set(sequences))
    return seen


async def end_of(queue: AnswerQueue, job_id: str, *, timeout_s: float = 60.0) -> job_pb2.JobEnded:
    return (await all_events(queue.follow(job_id), timeout_s=timeout_s))[-1].ended


def text_of(events: list[job_pb2.JobEvent], attempt: int) -> str:
    return "".join(event.delta.text for event in events if kind(event) == "delta" and event.attempt == attempt)


async def eventually(condition: Callable[[], Awaitable[Any]], *, timeout_s: float, what: str) -> Any:
    """Return the first truthy value of `condition`; AssertionError naming `what` when none came in time."""
    deadline = time.monotonic() + timeout_s
    while not (value := await condition()):
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        await asyncio.sleep(POLL_S)
    return value


async def next_job(consumer: Consumer, *, timeout_s: float = 60.0) -> Any:
    """The next job that the consumer gets."""
    return await eventually(consumer.next_job, timeout_s=timeout_s, what="a job for the consumer")


class ScriptedWorker:
    """A worker process with the scripted engine."""

    def __init__(self, url: str, directory: Path, worker_id: str, **settings: Any) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDWIRE_")}
        named = {"redis_url": url, "worker_id": worker_id, "lease_s": 30.0, "worker_slots": 1} | settings
        self.worker_id = worker_id
        self.log_path = directory / f"{worker_id}.log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.generation_worker.scripted_worker"],
                env=kept | {f"GROUNDWIRE_{name.upper()}": str(value) for name, value in named.items()},
                cwd=PROJECT_DIR,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float = 60.0) -> int:
        return self.process.wait(timeout_s)
