"""A server is stopped and started anew under its callers: streams go on, and no answer is made twice."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from redis.asyncio import Redis

import client
from generation_worker.consumer import BLOCK_S, Consumer
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import connect
from groundwire.queue.ending import Ending
from groundwire.queue.keys import PartitionKeys
from groundwire.queue.liveness import report_alive
from tests.generation_worker.harness import next_job
from tests.support.client import run_client
from tests.support.processes import PROJECT_DIR, Server, ServiceProcess
from tests.support.valkey import Valkey, free_port

LEASE_S = 600.0
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED)
QUESTION = "When is the tide gate closed?"
OPTIONS = client.AnswerOptions(fallback=client.AnswerFallback.NONE, answer_anyway=True, timeout_s=200)
KEYS = PartitionKeys(0)


@pytest.fixture
def server(tmp_path: Path, own_valkey: Valkey, own_process: Callable[[ServiceProcess], ServiceProcess]) -> Server:
    """A server that can be started again on the same port, and drains for two seconds."""
    settings = {
        "GROUNDWIRE_LISTEN": f"127.0.0.1:{free_port()}",
        "GROUNDWIRE_LEASE_S": str(LEASE_S),
        "GROUNDWIRE_DRAIN_TIMEOUT_S": "2",
        "GROUNDWIRE_LEXICAL_ONLY": "true",
    }
    started = Server(tmp_path / "server", redis_url=own_valkey.url, **settings)
    own_process(started).start()
    run_client(started.address, "index", "examples/harbour", cwd=PROJECT_DIR).assert_ok()
    return started


@pytest.fixture
async def redis(own_valkey: Valkey) -> AsyncIterator[Redis]:
    opened = connect(own_valkey.url, block_s=BLOCK_S)
    await report_alive(opened, "w1", job_pb2.WorkerRecord(model="scripted", slot_count=4))
    yield opened
    await opened.aclose()


@pytest.fixture
def consumer(redis: Redis) -> Consumer:
    """The worker, played by the test."""
    return Consumer(redis, redis, 1, worker_id="w1", lease_s=LEASE_S)


async def test_a_stream_goes_on_over_a_restart_of_the_server(server: Server, consumer: Consumer, redis: Redis) -> None:
    events: list[client.AnswerEvent] = []
    has_text = asyncio.Event()

    async def ask(asking: client.AsyncClient) -> None:
        async for event in asking.stream_answer(QUESTION, k=2, options=OPTIONS):
            events.append(event)
            if isinstance(event, client.AnswerDelta):
                has_text.set()

    async with client.AsyncClient(server.address) as asking:
        asked = asyncio.create_task(ask(asking))
        job = await next_job(consumer)
        await job.started(job_pb2.JobStarted(worker_id="w1", model="scripted"))
        await job.delta("The gate is closed ")
        await asyncio.wait_for(has_text.wait(), 60)
        assert await asyncio.to_thread(server.stop) == 0
        assert await redis.hget(KEYS.job(job.job.job_id), "state") == b"running"  # not cancelled by the stop
        await job.delta("at high water.")
        await asyncio.to_thread(server.start)
        await job.end(FINISHED)
        await asyncio.wait_for(asked, 60)
    assert isinstance(events[0], client.AnswerRetrieved)
    assert [type(event).__name__ for event in events[1:-1]] == ["AnswerDelta"] * (len(events) - 2)  # none restarted
    result = events[-1].result  # type: ignore[union-attr]
    assert "".join(event.text for event in events if isinstance(event, client.AnswerDelta)) == result.text
    assert result.text.endswith("The gate is closed at high water.")
    assert result.attempt_count == 1
    ended = [event for event in server.all_events("rpc") if event["method"].endswith("/StreamAnswer")]
    assert [(event["code"], event["reason"]) for event in ended] == [("UNAVAILABLE", "SHUTTING_DOWN")]


async def test_a_batch_goes_on_over_a_restart_and_its_running_jobs_are_not_asked_twice(
    server: Server, consumer: Consumer, redis: Redis
) -> None:
    questions = [f"{QUESTION} ({number})" for number in range(3)]
    outcomes: list[client.AnswerOutcome] = []

    async def ask(asking: client.AsyncClient) -> None:
        outcomes.extend([outcome async for outcome in asking.answer_many(questions, k=2, options=OPTIONS)])

    async with client.AsyncClient(server.address) as asking:
        asked = asyncio.create_task(ask(asking))
        jobs = [await next_job(consumer) for _ in questions]
        assert await asyncio.to_thread(server.stop) == 0
        await asyncio.to_thread(server.start)
        for job in jobs:
            await job.delta(f"Closed, says {job.job.question}")
            await job.end(FINISHED)
        await asyncio.wait_for(asked, 60)
    assert sorted(outcome.item_index for outcome in outcomes) == [0, 1, 2]
    for outcome in outcomes:
        assert outcome.result is not None, outcome.error
        assert outcome.result.text.endswith(f"Closed, says {questions[outcome.item_index]}")
    assert await consumer.next_job() is None
