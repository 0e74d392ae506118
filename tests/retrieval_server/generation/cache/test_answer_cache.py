"""Answers that were given before: to equal questions over equal passages only, and always told as such."""

import os
import signal
import time
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from generation_worker.consumer import Consumer
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import connect
from groundwire.queue.ending import Ending
from groundwire.queue.liveness import report_alive, report_gone
from groundwire.v1 import answer_pb2, passage_pb2
from retrieval_server.errors import Conflict
from retrieval_server.generation.cache.answer_cache import NearQuestions
from retrieval_server.generation.jobs.answer_queue import AnswerQueue, EnqueueOutcome
from tests.generation_worker.harness import all_events, kind, make_job, make_queue, next_job
from tests.support.valkey import Valkey

GENERATOR = answer_pb2.GeneratorInfo(model="m1", mode=answer_pb2.ANSWER_MODE_STUFF, completion_tokens=3)
FINISHED = Ending(job_pb2.JOB_OUTCOME_FINISHED, generator=GENERATOR, generator_identity="m1 here")


async def alike(question: str, others: list[str]) -> list[float]:
    return [0.99] * len(others)


def a_job(job_id: str, question: str = "why?", *, text: str = "because", score: float = 1.0, **fields: object):
    job = make_job(job_id, question)
    job.mode = answer_pb2.ANSWER_MODE_STUFF
    job.passages.append(passage_pb2.Passage(path="a.md", start_char=0, end_char=len(text), text=text, score=score))
    job.passages.append(passage_pb2.Passage(path="b.md", start_char=0, end_char=3, text="abc", score=score / 2))
    for name, value in fields.items():
        if name == "stops":
            job.stops.extend(value)
        else:
            setattr(job, name, value)
    return job


async def put(queue: AnswerQueue, job: job_pb2.GenerationJob, request_hash: bytes = b"h") -> EnqueueOutcome:
    return await queue.enqueue(job, job_pb2.JobRetrieved(request_id=job.job_id), request_hash)


@pytest.fixture
async def caching(own_valkey: Valkey, redis: Redis) -> AsyncIterator[AnswerQueue]:
    queue = make_queue(own_valkey.url, cache_ttl_s=60.0, partition_count=3)
    await report_alive(redis, "w1", job_pb2.WorkerRecord(model="m1", generator_identity="m1 here"))
    yield queue
    await queue.close()


async def answer_first(queue: AnswerQueue, own_valkey: Valkey, job: job_pb2.GenerationJob) -> None:
    """Have a worker answer it, and its answer found good."""
    await put(queue, job)
    clients = connect(own_valkey.url), connect(own_valkey.url, block_s=1)
    consumer = Consumer(*clients, 3, worker_id="w1", lease_s=5)
    claimed = await next_job(consumer)
    await claimed.delta("the answer")
    await claimed.end(FINISHED)
    events = await all_events(queue.follow(job.job_id))
    await queue.remember(job.job_id, events[-1].ended)
    for client in clients:
        await client.aclose()


async def is_answered_at_once(queue: AnswerQueue, job: job_pb2.GenerationJob) -> bool:
    assert await put(queue, job) is EnqueueOutcome.CREATED
    waiting_count = (await queue.stats()).waiting_count
    if waiting_count:
        assert await queue.cancel(job.job_id)
    return not waiting_count


async def test_an_equal_question_is_answered_at_once_and_told_as_cached(caching, own_valkey, redis) -> None:
    await answer_first(caching, own_valkey, a_job("first"))
    assert await is_answered_at_once(caching, a_job("second", score=0.9, caller="another", priority=2))
    events = await all_events(caching.follow("second"))
    assert [kind(event) for event in events] == ["retrieved", "started", "delta", "ended"]
    assert events[-1].ended.text == events[2].delta.text == "the answer"
    assert events[-1].ended.generator.from_cache
    assert events[-1].ended.generator.model == "m1"
    assert await put(caching, a_job("second")) is EnqueueOutcome.EXISTS
    with pytest.raises(Conflict):
        await put(caching, a_job("second"), b"another request")
    for pattern in ("gw:*:answer:*", "gw:*:job:second", "gw:*:events:second"):
        [key] = [key async for key in redis.scan_iter(pattern)]
        assert await redis.pttl(key) > 0


@pytest.mark.parametrize(
    "other",
    [
        a_job("other", "why not?"),
        a_job("other", text="because!"),
        a_job("other", max_completion_tokens=5),
        a_job("other", temperature=0.5),
        a_job("other", top_p=0.5),
        a_job("other", seed=1),
        a_job("other", stops=["x"]),
        a_job("other", generate_anew=True),
        a_job("other", mode=answer_pb2.ANSWER_MODE_RAG_TOKEN),
    ],
    ids=["question", "passages", "limit", "temperature", "top_p", "seed", "stops", "anew", "mode"],
)
async def test_what_differs_in_anything_that_decides_is_generated(caching, own_valkey, other) -> None:
    await answer_first(caching, own_valkey, a_job("first"))
    assert not await is_answered_at_once(caching, other)


@pytest.mark.parametrize("identity", ["m1 elsewhere", ""])
async def test_an_answer_of_a_generator_that_no_live_worker_has_is_not_given(
    caching, own_valkey, redis, identity: str
) -> None:
    """Two models of one name in two places are two generators; a worker that does not say which it has shares none."""
    await answer_first(caching, own_valkey, a_job("first"))
    await report_gone(redis, "w1")
    await report_alive(redis, "w2", job_pb2.WorkerRecord(model="m1", generator_identity=identity))
    assert not await is_answered_at_once(caching, a_job("second"))
    await report_alive(redis, "w3", job_pb2.WorkerRecord(model="m1", generator_identity="m1 here"))
    assert await is_answered_at_once(caching, a_job("third"))


async def test_an_answer_of_an_unknown_generator_is_not_kept(caching, own_valkey, redis, monkeypatch) -> None:
    unknown = Ending(job_pb2.JOB_OUTCOME_FINISHED, generator=GENERATOR)
    monkeypatch.setitem(globals(), "FINISHED", unknown)
    await answer_first(caching, own_valkey, a_job("first"))
    assert [key async for key in redis.scan_iter("gw:*:answer:*")] == []


async def test_what_was_left_to_chance_is_neither_kept_nor_given_and_a_seed_leaves_nothing_to_it(
    caching, own_valkey, redis
) -> None:
    await answer_first(caching, own_valkey, a_job("sampled", temperature=0.5))
    assert [key async for key in redis.scan_iter("gw:*:answer:*")] == []
    assert not await is_answered_at_once(caching, a_job("again", temperature=0.5))
    await answer_first(caching, own_valkey, a_job("seeded", temperature=0.5, seed=0))
    assert await is_answered_at_once(caching, a_job("seeded again", temperature=0.5, seed=0))
    assert not await is_answered_at_once(caching, a_job("unseeded", temperature=0.5))
    await answer_first(caching, own_valkey, a_job("greedy", temperature=0.0))
    assert await is_answered_at_once(caching, a_job("greedy again", temperature=0.0))


async def test_near_questions_share_an_answer_only_when_asked_for_and_never_with_a_contrary_one(
    caching, own_valkey, redis
) -> None:
    enabled = "How is caching enabled by default?"
    await answer_first(caching, own_valkey, a_job("exact", enabled))
    assert not await is_answered_at_once(caching, a_job("x", "How is caching enabled per default?"))

    near = make_queue(
        own_valkey.url, cache_ttl_s=60.0, partition_count=3, near_questions=NearQuestions(alike, threshold=0.95)
    )
    await answer_first(near, own_valkey, a_job("first", enabled, generate_anew=True))
    reordered = a_job("near", "How is caching enabled per default?")
    reordered.passages.reverse()
    assert await is_answered_at_once(near, reordered)
    [bucket] = [key async for key in redis.scan_iter("gw:*:near:*")]
    assert 0 < await redis.pttl(bucket) <= 60_000
    assert not await is_answered_at_once(near, a_job("contrary", "How is caching disabled by default?"))
    assert not await is_answered_at_once(near, a_job("elsewhere", "How is caching enabled per default?", text="other"))
    strict = make_queue(
        own_valkey.url, cache_ttl_s=60.0, partition_count=3, near_questions=NearQuestions(alike, threshold=0.995)
    )
    assert not await is_answered_at_once(strict, a_job("far", "How is caching enabled as default?"))
    await near.close()
    await strict.close()


async def test_without_the_cache_equal_questions_are_generated_each(own_valkey, queue, redis) -> None:
    await put(queue, a_job("first"))
    await put(queue, a_job("second"))
    assert (await queue.stats()).waiting_count == 2


async def test_a_redis_that_hangs_delays_nobody_who_waits_for_the_answer(caching, own_valkey) -> None:
    await put(caching, a_job("first"))
    ended = job_pb2.JobEnded(outcome=job_pb2.JOB_OUTCOME_FINISHED, text="the answer", generator=GENERATOR)
    ended.generator_identity = "m1 here"
    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        started_s = time.monotonic()
        await caching.remember("first", ended)
        took_s = time.monotonic() - started_s
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)
    assert took_s < 4  # any other command waits for five
    # The connection that was left in the middle of a command serves nobody else.
    assert [await put(caching, a_job("first")) for _ in range(3)] == [EnqueueOutcome.EXISTS] * 3
