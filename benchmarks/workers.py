"""What a second worker gains: real processes of one thread each, on jobs that are nearly all reading."""

import asyncio
import statistics
import time

from benchmarks.figure import Figure
from benchmarks.stage import CannotMeasureError, Stage
from groundwire.cpu import usable_core_count
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import passage_pb2
from retrieval_server.generation.jobs.answer_queue import AnswerQueue

JOB_COUNT = 8
PROMPT_TOKENS = 768
ROUND_COUNT = 3
AT_LEAST = 1.6
LEASE_S = 10.0
_JOB_TIMEOUT_S = 600.0
_TEXT_CHARS = 8 * PROMPT_TOKENS  # more than the prompt holds


def measure(stage: Stage) -> list[Figure]:
    """The same number of jobs by one worker and by two, in turns; every prompt is new to whoever reads it."""
    if usable_core_count() < 2:
        return []  # they would share the one core
    text = "\n".join(path.read_text("utf-8") for path in sorted(stage.home.rglob("*.md"))[:40])[:_TEXT_CHARS]
    alone_s: list[float] = []
    together_s: list[float] = []
    for number in range(ROUND_COUNT):
        for worker_count, samples_s in ((1, alone_s), (2, together_s)):
            # One job at a time each: otherwise the first to ask takes most of them.
            settings = {"GROUNDWIRE_WORKER_THREADS": "1", "GROUNDWIRE_WORKER_SLOTS": "1"}
            workers = [stage.worker(f"of{worker_count}-{number}-{index}", **settings) for index in range(worker_count)]
            for worker in workers:
                worker.start()
            try:
                samples_s.append(asyncio.run(_all_done_s(stage, f"{worker_count}-{number}", text)))
            finally:
                for worker in workers:
                    worker.stop()
    alone, together = statistics.median(alone_s), statistics.median(together_s)
    note = f"{alone:.1f} s and {together:.1f} s for {JOB_COUNT} prompts; wanted: at least {AT_LEAST:g} times as fast"
    return [
        Figure(
            "time of prompts, 2 one-thread workers / 1",
            "",
            together / alone,
            1 / AT_LEAST,
            (*alone_s, *together_s),
            note,
        )
    ]


async def _all_done_s(stage: Stage, name: str, text: str) -> float:
    """Return the seconds from the first job's coming until all have ended."""
    queue = AnswerQueue(
        stage.valkey.url,
        partition_count=1,
        max_depth=2 * JOB_COUNT,
        lease_s=LEASE_S,
        max_deliveries=3,
        ttl_s=_JOB_TIMEOUT_S,
    )
    try:
        started_s = time.perf_counter()
        for number in range(JOB_COUNT):
            job = _job(f"workers-{name}-{number}", text)
            await queue.enqueue(job, job_pb2.JobRetrieved(request_id=job.job_id), job.job_id.encode())
        await asyncio.gather(*(_finish(queue, f"workers-{name}-{number}") for number in range(JOB_COUNT)))
        return time.perf_counter() - started_s
    finally:
        await queue.close()


async def _finish(queue: AnswerQueue, job_id: str) -> None:
    async for event in queue.follow(job_id):
        if event.HasField("ended") and event.ended.outcome != job_pb2.JOB_OUTCOME_FINISHED:
            raise CannotMeasureError(f"a job ended as {job_pb2.JobOutcome.Name(event.ended.outcome)}")


def _job(job_id: str, text: str) -> job_pb2.GenerationJob:
    # The name stands first in the prompt: none shares its beginning with another.
    passage = passage_pb2.Passage(path=f"{job_id}.md", start_line=1, end_line=9, text=text)
    job = job_pb2.GenerationJob(
        job_id=job_id,
        question="What is it about?",
        passages=[passage],
        max_prompt_tokens=PROMPT_TOKENS,
        max_completion_tokens=1,
    )
    job.deadline.FromSeconds(int(time.time() + _JOB_TIMEOUT_S))
    return job
