"""A worker whose first backend is remote, over a real queue: what callers are told when it fails, and when."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import structlog.testing
from pydantic import SecretStr

from generation_worker.backends import openai_backend
from generation_worker.backends.configured import configured_backends
from generation_worker.backends.openai_backend import OpenAiBackend, RemoteModel
from generation_worker.backends.ordered import GuardedBackend, OrderedBackends
from generation_worker.backends.retrying import Tries
from generation_worker.engine_thread import EngineThread
from generation_worker.job_runner import JobRunner
from generation_worker.settings import WorkerSettings
from groundwire.internal.v1 import job_pb2
from groundwire.models.locate import generator_file
from groundwire.queue.connection import Backoff
from groundwire.v1 import error_pb2, passage_pb2
from tests.generation_worker.harness import all_events, end_of, kind, make_job, next_job, put, text_of
from tests.generation_worker.scripted_engine import ScriptedEngine
from tests.support.fake_openai import FakeOpenAi, Reply, delta, refuses, says

SAID = "w1 w2 w3 "


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_backend, "Tries", lambda: Tries(_backoff=Backoff(first_s=0.01, most_s=0.02)))


@asynccontextmanager
async def running(make_consumer, *replies: Reply, with_local: bool = True) -> AsyncIterator[FakeOpenAi]:
    """The next job of the queue runs; over when its run is."""
    with FakeOpenAi(*replies) as remote:
        where = RemoteModel(remote.url, "big", None, context_tokens=4096, silence_timeout_s=30.0, extra={})
        backends = [GuardedBackend(OpenAiBackend(where, slot_count=1))]
        if with_local:
            backends.append(GuardedBackend(EngineThread(ScriptedEngine())))
        runner = JobRunner(OrderedBackends(backends), "w1")
        run = asyncio.create_task(runner.run(await next_job(make_consumer("w1")), asyncio.Event()))
        try:
            yield remote
            async with asyncio.timeout(60):
                await run
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            await runner.close()


async def test_the_answer_names_the_model_that_wrote_it(queue, make_consumer):
    await put(queue, "j")
    async with running(make_consumer, says("It ", "is.")):
        events = await all_events(queue.follow("j"))
    started, ended = events[1].started, events[-1].ended
    assert (started.model, started.backend, started.ignores_answer_start) == ("big", "openai", True)
    assert ended.text == text_of(events, 1) == "It is."
    assert (ended.generator.model, ended.generator.backend) == ("big", "openai")
    assert (ended.generator.prompt_tokens, ended.generator.completion_tokens) == (77, 5)
    assert ended.ignores_answer_start


async def test_another_stands_in_unseen_while_nothing_was_written(queue, make_consumer):
    await put(queue, "j")
    async with running(make_consumer, refuses(503)):
        events = await all_events(queue.follow("j"))
    assert [kind(event) for event in events].count("started") == 1
    assert {event.attempt for event in events[1:]} == {1}
    ended = events[-1].ended
    assert (ended.text, ended.generator.model, ended.generator.backend) == (SAID, "scripted", "llama.cpp")
    assert not ended.ignores_answer_start


async def test_what_broke_off_is_another_attempt_and_the_end_is_the_last_ones_text(queue, make_consumer, redis):
    await put(queue, "j")
    async with running(make_consumer, Reply([delta("It is "), delta("half")])):
        events = await all_events(queue.follow("j"))
    first, second = (event for event in events if kind(event) == "started")
    assert (first.attempt, first.started.backend) == (1, "openai")
    assert (second.attempt, second.started.backend) == (2, "llama.cpp")
    assert second.started.restart_reason == error_pb2.ERROR_REASON_GENERATION_FAILED
    ended = events[-1].ended
    assert ended.outcome == job_pb2.JOB_OUTCOME_FINISHED
    assert ended.text == text_of(events, 2) == SAID
    assert text_of(events, 1) == "It is half"[: len(text_of(events, 1))]
    assert await redis.hmget("gw:{0}:job:j", ["attempt", "crashes"]) == [b"2", b"0"]


async def test_what_is_no_text_harms_no_other_job(queue, make_consumer):
    """JSON can hold what UTF-8 cannot; Redis's client would raise in the worker's loop, which ends the process."""
    await put(queue, "j")
    async with running(make_consumer, says("It \ud800", " is.")):
        ended = await end_of(queue, "j")
    assert (ended.outcome, ended.text) == (job_pb2.JOB_OUTCOME_FINISHED, "It � is.")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (refuses(503), error_pb2.ERROR_REASON_NO_WORKER),
        (Reply([delta("It ")]), error_pb2.ERROR_REASON_GENERATION_FAILED),
        (refuses(400), error_pb2.ERROR_REASON_GENERATION_FAILED),
    ],
    ids=["not reached", "broke off", "refused"],
)
async def test_without_another_one_the_job_fails_with_the_reason(queue, make_consumer, reply, reason):
    await put(queue, "j")
    async with running(make_consumer, reply, with_local=False):
        ended = await end_of(queue, "j")
    assert (ended.outcome, ended.reason) == (job_pb2.JOB_OUTCOME_FAILED, reason)
    assert "openai backend" in ended.message


async def test_a_cancelled_job_closes_the_connection(queue, make_consumer):
    await put(queue, "j")
    async with running(make_consumer, says("It ", hangs=True)) as remote:
        events = queue.follow("j")
        while kind(await anext(events)) != "delta":
            pass
        await queue.cancel("j")
        assert await asyncio.to_thread(remote.left.wait, 60)
        await events.aclose()
    assert (await end_of(queue, "j")).outcome == job_pb2.JOB_OUTCOME_CANCELLED


async def test_so_does_one_whose_time_is_over(queue, make_consumer, monkeypatch):
    monkeypatch.setattr(openai_backend, "_MIN_PATIENCE_S", 30.0)  # the time is over before silence counts as failure
    await put(queue, "j", timeout_s=2.0)
    async with running(make_consumer, says("It ", hangs=True)) as remote:
        assert (await end_of(queue, "j")).outcome == job_pb2.JOB_OUTCOME_EXPIRED
        assert await asyncio.to_thread(remote.left.wait, 60)


async def test_the_settings_name_the_backends_and_the_local_model_stands_in(queue, make_consumer):
    with FakeOpenAi(Reply([delta("It is")])) as remote, structlog.testing.capture_logs() as logs:
        settings = WorkerSettings(
            backends=("openai", "llama"),
            openai_url=remote.url,
            openai_model="big",
            openai_api_key=SecretStr("secret"),
            worker_slots=1,
            worker_context_tokens=512,
        )
        runner = JobRunner(configured_backends(settings), "w1")
        job = make_job("j", "How long is the timeout?")
        job.passages.append(
            passage_pb2.Passage(path="a.md", start_line=1, end_line=1, text="The timeout is 42 seconds.")
        )
        job.max_completion_tokens = 8
        await queue.enqueue(job, job_pb2.JobRetrieved(request_id="j"), b"h")
        await runner.run(await next_job(make_consumer("w1")), asyncio.Event())
        await runner.close()
    events = await all_events(queue.follow("j"))
    assert [event.started.model for event in events if kind(event) == "started"] == ["big", generator_file(None).name]
    assert events[-1].ended.text == text_of(events, 2)
    assert "42" in events[-1].ended.text
    assert "secret" not in str(logs) + repr(settings)


def test_a_key_that_would_go_unencrypted_is_warned_of():
    settings = WorkerSettings(
        backends=("openai",), openai_url="http://example.com/v1", openai_model="m", openai_api_key=SecretStr("secret")
    )
    with structlog.testing.capture_logs() as logs:
        configured_backends(settings)
    assert [one["event"] for one in logs] == ["api key sent unencrypted"]
    assert "secret" not in str(logs)
