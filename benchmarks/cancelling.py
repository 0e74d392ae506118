"""How soon a cancelled job leaves its slot, from the server's side of the queue to the end of its run in the worker."""

import asyncio
import time

from benchmarks.stage import Stage
from generation_worker.backends.ordered import GuardedBackend, OrderedBackends
from generation_worker.consumer import BLOCK_S, Consumer
from generation_worker.engine.protocol import Engine
from generation_worker.engine_thread import EngineThread
from generation_worker.job_runner import JobRunner
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import connect
from retrieval_server.generation.jobs.answer_queue import AnswerQueue

REPEAT_COUNT = 10
LEASE_S = 10.0
IN_MID_PROMPT_S = 0.5
_JOB_TIMEOUT_S = 300.0


async def freed_after_cancel_s(stage: Stage, engine: Engine, long_job: job_pb2.GenerationJob) -> list[float]:
    """Cancel `long_job` in mid-prompt, several times, with another of its kind beside it; seconds until it was out."""
    redis, blocking_redis = connect(stage.valkey.url), connect(stage.valkey.url, block_s=BLOCK_S)
    queue = AnswerQueue(
        stage.valkey.url, partition_count=1, max_depth=10, lease_s=LEASE_S, max_deliveries=3, ttl_s=_JOB_TIMEOUT_S
    )
    consumer = Consumer(redis, blocking_redis, 1, worker_id="benchmark", lease_s=LEASE_S)
    runner = JobRunner(OrderedBackends([GuardedBackend(EngineThread(engine))]), "benchmark")
    samples_s = []

    async def begin(job_id: str) -> asyncio.Task[None]:
        job = job_pb2.GenerationJob()
        job.CopyFrom(long_job)
        job.job_id = job_id
        job.question = f"{job_id}? {job.question}"
        # First in the prompt, or the second time it would be there already.
        job.passages[0].path = f"{job_id}.md"
        job.deadline.FromSeconds(int(time.time() + _JOB_TIMEOUT_S))
        await queue.enqueue(job, job_pb2.JobRetrieved(request_id=job_id), job_id.encode())
        while (claimed := await consumer.next_job()) is None:
            pass
        run = asyncio.create_task(runner.run(claimed, asyncio.Event()))
        await asyncio.sleep(IN_MID_PROMPT_S)
        return run

    try:
        for number in range(REPEAT_COUNT):
            beside, cancelled = await begin(f"beside-{number}"), await begin(f"cancelled-{number}")
            started_s = time.perf_counter()
            await queue.cancel(f"cancelled-{number}")
            await cancelled
            samples_s.append(time.perf_counter() - started_s)
            await queue.cancel(f"beside-{number}")
            await beside
    finally:
        await runner.close()
        await queue.close()
        await redis.aclose()
        await blocking_redis.aclose()
    return samples_s
