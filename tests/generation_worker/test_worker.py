"""The worker at work, in this process, with a scripted engine."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from generation_worker import job_runner
from generation_worker.backends.ordered import GuardedBackend, OrderedBackends
from generation_worker.engine_thread import EngineThread
from generation_worker.job_runner import JobRunner
from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from tests.generation_worker.harness import all_events, end_of, kind, make_job, next_job, put, text_of
from tests.generation_worker.scripted_engine import ScriptedEngine

LEASE_S = 2.0


@pytest.fixture
async def run_next(make_consumer) -> AsyncIterator:
    """Runs the next job of the queue; the second argument hands it back when set."""
    runner = JobRunner(OrderedBackends([GuardedBackend(EngineThread(ScriptedEngine()))]), "w1")
    consumer = make_consumer("w1", lease_s=LEASE_S)
    running: list[asyncio.Task[None]] = []

    async def run(hand_back: asyncio.Event | None = None) -> asyncio.Task[None]:
        job = await next_job(consumer)
        running.append(asyncio.create_task(runner.run(job, hand_back or asyncio.Event())))
        return running[-1]

    yield run
    async with asyncio.timeout(60):
        await asyncio.gather(*running)
    await runner.close()


async def test_the_caller_sees_the_start_the_text_and_what_made_it(queue, run_next):
    await put(queue, "j", "say 4")
    await run_next()
    events = await all_events(queue.follow("j"))
    assert [kind(event) for event in events][:2] == ["retrieved", "started"]
    started, ended = events[1].started, events[-1].ended
    assert (started.worker_id, started.model, started.prompt_tokens) == ("w1", "scripted", 5)
    assert ended.outcome == job_pb2.JOB_OUTCOME_FINISHED
    assert ended.text == text_of(events, 1) == "w1 w2 w3 w4 "
    assert (ended.generator.model, ended.generator.completion_tokens) == ("scripted", 4)
    assert {event.attempt for event in events[1:]} == {1}


async def test_fast_tokens_travel_together_and_the_first_goes_at_once(queue, run_next, monkeypatch):
    monkeypatch.setattr(job_runner, "DELTA_INTERVAL_S", 0.2)
    await put(queue, "j", "say 100 slowly 0.02")
    await run_next()
    deltas = [event.delta.text for event in await all_events(queue.follow("j")) if kind(event) == "delta"]
    assert 2 <= len(deltas) <= 40
    assert deltas[0].startswith("w1 ")
    assert len(deltas[0].split()) < 80


async def test_an_answer_without_text_is_finished_and_empty(queue, run_next):
    await put(queue, "j", "say 0")
    await run_next()
    ended = await end_of(queue, "j")
    assert (ended.outcome, ended.text) == (job_pb2.JOB_OUTCOME_FINISHED, "")


@pytest.mark.parametrize(
    ("question", "reason", "message"),
    [
        ("refuse", error_pb2.ERROR_REASON_GENERATION_FAILED, "The script refuses."),
        ("break", error_pb2.ERROR_REASON_INTERNAL, "The generator failed; the worker's log says why."),
    ],
)
async def test_a_failing_generation_ends_its_job_and_not_the_worker(queue, run_next, question, reason, message):
    await put(queue, "bad", question)
    await run_next()
    ended = await end_of(queue, "bad")
    assert (ended.outcome, ended.reason, ended.message) == (job_pb2.JOB_OUTCOME_FAILED, reason, message)
    await put(queue, "good", "say 1")
    await run_next()
    assert (await end_of(queue, "good")).text == "w1 "


@pytest.mark.parametrize("mode", [answer_pb2.ANSWER_MODE_RAG_TOKEN, 99])
async def test_a_mode_that_the_generator_does_not_know_ends_its_job_with_the_reason(queue, run_next, mode):
    job = make_job("j")
    job.mode = mode
    await queue.enqueue(job, job_pb2.JobRetrieved(request_id="j"), b"h")
    await run_next()
    ended = await end_of(queue, "j")
    assert (ended.outcome, ended.reason) == (job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_MODE_NOT_SUPPORTED)
    assert "cannot work in mode" in ended.message


@pytest.mark.parametrize("question", ["prefill 60 say 1", "say 10000 slowly 0.02"])
async def test_a_cancelled_job_frees_its_worker_soon(queue, run_next, question):
    await put(queue, "j", question)
    run = await run_next()
    assert await queue.cancel("j")
    async with asyncio.timeout(40):  # noticed by a look, not by what it waits for
        await run
    assert (await end_of(queue, "j")).outcome == job_pb2.JOB_OUTCOME_CANCELLED


async def test_a_job_that_passes_its_deadline_is_ended_by_its_worker_with_the_text_so_far(queue, run_next):
    await put(queue, "j", "say 10000 slowly 0.02", timeout_s=2.0)
    await run_next()
    events = await all_events(queue.follow("j"))
    ended = events[-1].ended
    assert ended.outcome == job_pb2.JOB_OUTCOME_EXPIRED
    assert ended.text == text_of(events, 1)
    assert ended.text.startswith("w1 w2 ")


async def test_the_lease_is_kept_through_a_prefill_that_is_longer(queue, run_next, make_consumer):
    await put(queue, "j", f"prefill {LEASE_S * 2} say 1")
    run = await run_next()
    other = make_consumer("w2", lease_s=LEASE_S)
    while not run.done():
        assert await other.next_job() is None
    assert (await end_of(queue, "j")).text == "w1 "


async def test_a_job_is_handed_back_when_asked(queue, run_next, make_consumer):
    await put(queue, "j", "say 10000 slowly 0.02")
    hand_back = asyncio.Event()
    run = await run_next(hand_back)
    hand_back.set()
    async with asyncio.timeout(60):
        await run
    assert (await queue.stats()).waiting_count == 1
    assert (await next_job(make_consumer("w2"))).attempt == 2


async def test_text_written_while_redis_is_away_arrives_when_it_is_back(own_valkey, queue, run_next):
    await put(queue, "j", "say 60 slowly 0.02")
    await run_next()
    following = asyncio.create_task(all_events(queue.follow("j")))
    await asyncio.to_thread(own_valkey.kill)
    await asyncio.to_thread(own_valkey.start)
    events = await following
    assert events[-1].ended.text == "".join(f"w{number} " for number in range(1, 61))
    assert text_of(events, events[-1].attempt) == events[-1].ended.text
