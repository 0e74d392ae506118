"""A worker whose only backend is remote and fails: it leaves jobs in the queue, and says so."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from generation_worker.backends.circuit_breaker import CircuitBreaker
from generation_worker.backends.openai_backend import OpenAiBackend, RemoteModel
from generation_worker.backends.ordered import GuardedBackend, OrderedBackends
from generation_worker.consumer import BLOCK_S
from generation_worker.job_runner import JobRunner
from generation_worker.settings import WorkerSettings
from generation_worker.worker import Worker
from groundwire.internal.v1 import job_pb2
from groundwire.queue.connection import connect
from groundwire.queue.keys import PartitionKeys
from groundwire.v1 import error_pb2
from retrieval_server.generation.jobs.answer_queue import AnswerQueue
from tests.generation_worker.harness import end_of, eventually, make_queue, next_job, put
from tests.support.fake_openai import FakeOpenAi, refuses, says

COOLDOWN_S = 30.0
LEASE_S = 30.0
KEYS = PartitionKeys(0)
# Not tried again, so that a failure takes no time.
REFUSED = refuses(401)


@dataclass
class Remote:
    """A remote model, the backends of a worker that has nothing else, and the breaker's clock."""

    server: FakeOpenAi
    backends: OrderedBackends
    now_s: float = 0.0


@pytest.fixture
async def queue(own_valkey) -> AsyncIterator[AnswerQueue]:
    """With a lease so long that a busy machine makes no worker seem dead."""
    opened = make_queue(own_valkey.url, lease_s=LEASE_S)
    yield opened
    await opened.close()


@pytest.fixture
async def remote() -> AsyncIterator[Remote]:
    with FakeOpenAi(REFUSED) as server:
        where = RemoteModel(server.url, "big", None, context_tokens=4096, silence_timeout_s=30.0, extra={})
        breaker = CircuitBreaker(failure_limit=1, cooldown_s=COOLDOWN_S, monotonic_s=lambda: opened.now_s)
        backends = OrderedBackends([GuardedBackend(OpenAiBackend(where, slot_count=4), breaker)])
        opened = Remote(server, backends)
        yield opened
        await backends.close()


@pytest.fixture
async def worker(remote: Remote, own_valkey) -> AsyncIterator[None]:
    settings = WorkerSettings(redis_url=own_valkey.url, worker_id="w1", lease_s=LEASE_S)
    clients = connect(own_valkey.url), connect(own_valkey.url, block_s=BLOCK_S)
    run = asyncio.create_task(Worker(settings, remote.backends, *clients).run())
    yield
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    for client in clients:
        await client.aclose()


async def reason_told(queue) -> str:
    return next((one.not_accepting_reason for one in await queue.workers()), "")


async def pauses(queue) -> str:
    return await eventually(lambda: reason_told(queue), timeout_s=60, what="a worker that says that it takes none")


async def fail_once(queue) -> None:
    await put(queue, "fails")
    ended = await end_of(queue, "fails")
    assert (ended.outcome, ended.reason) == (job_pb2.JOB_OUTCOME_FAILED, error_pb2.ERROR_REASON_NO_WORKER)
    await pauses(queue)


async def test_jobs_wait_unharmed_until_the_backend_may_be_tried_again(queue, redis, remote: Remote, worker):
    await fail_once(queue)
    await put(queue, "waits")
    [told] = await queue.workers()
    assert told.not_accepting_reason == "the openai backend failed too often lately"
    assert told.accepts_again_after_s == COOLDOWN_S
    why = await queue.why_no_worker()
    assert (why.retry_after_s, why.patience_s) == (COOLDOWN_S, 0.0)
    stats = await queue.stats()
    assert (stats.live_worker_count, stats.accepting_worker_count) == (1, 0)
    assert await redis.hmget(KEYS.job("waits"), ["state", "attempt", "crashes"]) == [b"waiting", b"0", b"0"]
    assert len(remote.server.requests) == 1
    remote.server.replies[:] = [says("It is.")]
    remote.now_s += COOLDOWN_S
    ended = await end_of(queue, "waits")
    assert (ended.text, ended.generator.model) == ("It is.", "big")

    async def takes_jobs() -> bool:
        return (await queue.why_no_worker()) is None

    await eventually(takes_jobs, timeout_s=60, what="a worker that takes jobs again")


async def test_another_worker_takes_what_is_left(queue, remote: Remote, worker, start_worker):
    await fail_once(queue)
    await put(queue, "left")
    start_worker("w2")
    assert (await end_of(queue, "left")).generator.model == "scripted"
    assert len(remote.server.requests) == 1


async def test_one_job_tries_and_the_others_wait_for_what_comes_of_it(queue, redis, remote: Remote, worker):
    await fail_once(queue)
    remote.server.replies[:] = [says(hangs=True), says("It is.")]
    await put(queue, "tries")
    await put(queue, "waits")
    remote.now_s += COOLDOWN_S

    async def is_tried() -> bool:
        return "one job tries now" in await reason_told(queue)

    await eventually(is_tried, timeout_s=60, what="a worker whose backend is being tried")
    assert (await queue.why_no_worker()).patience_s == LEASE_S
    states = [await redis.hget(KEYS.job(job_id), "state") for job_id in ("tries", "waits")]
    assert states == [b"running", b"waiting"]
    assert not await queue.give_up_waiting("tries", "all fail")
    await queue.cancel("tries")
    assert (await end_of(queue, "waits")).text == "It is."


async def test_the_first_word_of_the_one_that_tries_lets_the_others_begin(queue, remote: Remote, worker):
    await fail_once(queue)
    remote.server.replies[:] = [says("It ", hangs=True), says("It is.")]
    await put(queue, "tries")
    await put(queue, "waits")
    remote.now_s += COOLDOWN_S
    assert (await end_of(queue, "waits")).text == "It is."
    assert await queue.cancel("tries") is True


async def test_one_that_was_taken_as_the_pause_began_goes_back(queue, make_consumer, redis, remote: Remote):
    """A read of the queue was under way when the breaker opened."""
    runner = JobRunner(remote.backends, "w1")
    await put(queue, "fails")
    await runner.run(await next_job(make_consumer("w1")), asyncio.Event())
    await put(queue, "j")
    await runner.run(await next_job(make_consumer("w1")), asyncio.Event())
    assert await redis.hmget(KEYS.job("j"), ["state", "crashes"]) == [b"waiting", b"0"]
    assert len(remote.server.requests) == 1


def test_a_generator_is_another_one_elsewhere_and_tells_nothing_of_where():
    def identity(url: str = "http://one.example/v1", **changed) -> str:
        fields = {"model": "big", "api_key": "k", "context_tokens": 4096, "silence_timeout_s": 1.0, "extra": {}}
        return OpenAiBackend(RemoteModel(url, **(fields | changed)), slot_count=1).identity

    assert identity() == identity(api_key="another", silence_timeout_s=2.0)
    others = [
        identity("http://two.example/v1"),
        identity(model="bigger"),
        identity(context_tokens=8192),
        identity(extra={"seed": 1}),
    ]
    assert len({identity(), *others}) == 5
    assert "example" not in identity()
