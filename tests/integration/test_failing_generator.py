"""A worker whose only generator fails, through the wire: callers and operators are told, and nobody waits in vain."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client import AnswerFallback, AnswerOptions, Client
from client.errors import Unavailable
from tests.support.client import run_client
from tests.support.deadline import wait_until
from tests.support.fake_openai import FakeOpenAi, refuses, says
from tests.support.processes import PROJECT_DIR, Server, ServiceProcess, Worker
from tests.support.remote_worker import remote_worker
from tests.support.valkey import Valkey

QUESTION = "How long may a visiting boat stay at the guest pontoon?"
SENTENCE = "A visiting boat may stay at the guest pontoon for at most fourteen nights in any calendar month."
COOLDOWN_S = 600
WHY = "the openai backend failed too often lately"
ANEW = AnswerOptions(generate_anew=True)
NO_FALLBACK = AnswerOptions(generate_anew=True, fallback=AnswerFallback.NONE, timeout_s=100.0)


def impatient_worker(folder: Path, valkey: Valkey, remote: FakeOpenAi) -> Worker:
    """One that leaves the remote model alone after two failures, for a short while."""
    return remote_worker(
        folder,
        valkey,
        remote,
        GROUNDWIRE_BACKEND_FAILURE_LIMIT="2",
        GROUNDWIRE_BACKEND_COOLDOWN_S=str(COOLDOWN_S),
    )


@pytest.fixture(scope="module")
def broken() -> Iterator[FakeOpenAi]:
    with FakeOpenAi(refuses(401)) as opened:
        yield opened


@pytest.fixture(scope="module")
def a_server(
    broken: FakeOpenAi,
    a_valkey: Valkey,
    tmp_path_factory: pytest.TempPathFactory,
    module_process: Callable[[ServiceProcess], ServiceProcess],
) -> Server:
    """A server on examples/harbour, with one worker, which has found out that its generator fails."""
    module_process(impatient_worker(tmp_path_factory.mktemp("worker"), a_valkey, broken)).start()
    server = Server(tmp_path_factory.mktemp("server"), redis_url=a_valkey.url, GROUNDWIRE_ENCODER="hashing")
    module_process(server).start()
    run_client(server.address, "index", "examples/harbour", cwd=PROJECT_DIR).assert_ok()
    with Client(server.address) as asking:
        for _ in range(2):
            assert asking.answer(QUESTION, options=ANEW).generator.fallback_reason == "NO_WORKER"
        wait_until(lambda: not asking.queue_stats().accepting_worker_count, timeout_s=60, what="a worker that pauses")
    return server


def test_callers_get_the_fallback_or_the_reason_at_once_and_nothing_is_tried(a_server: Server, broken: FakeOpenAi):
    asked_count = len(broken.requests)
    with Client(a_server.address) as asking:
        result = asking.answer(QUESTION, options=ANEW)
        assert (result.generator.model, result.generator.fallback_reason) == ("extractive", "NO_WORKER")
        assert "fourteen nights" in result.text
        started_s = time.monotonic()
        with pytest.raises(Unavailable) as refusal:
            asking.answer(QUESTION, options=NO_FALLBACK)
        assert time.monotonic() - started_s < NO_FALLBACK.timeout_s / 2
    assert refusal.value.reason == "NO_WORKER"
    assert WHY in str(refusal.value)
    assert COOLDOWN_S / 2 < refusal.value.retry_after_s <= COOLDOWN_S
    assert len(broken.requests) == asked_count


def test_operators_see_which_worker_takes_no_jobs_and_why(a_server: Server):
    stats = run_client(a_server.address, "queue", "stats", cwd=PROJECT_DIR).assert_ok()
    assert "taking none now: 1, see `client workers`" in stats.stdout
    workers = run_client(a_server.address, "workers", cwd=PROJECT_DIR).assert_ok()
    assert f"takes no jobs now: {WHY}" in workers.stdout
    status = run_client(a_server.address, "status", cwd=PROJECT_DIR).assert_ok()
    assert f"takes no jobs now: {WHY}" in status.stdout


def test_another_worker_answers_and_only_what_it_says_again_comes_from_the_cache(
    a_server: Server,
    a_valkey: Valkey,
    broken: FakeOpenAi,
    tmp_path: Path,
    own_process: Callable[[ServiceProcess], ServiceProcess],
):
    """Both serve a "big-model", at different addresses: one's answers are not the other's."""
    asked_count = len(broken.requests)
    with FakeOpenAi(says(SENTENCE)) as remote, Client(a_server.address) as asking:
        other = own_process(impatient_worker(tmp_path, a_valkey, remote))
        other.start()
        wait_until(lambda: asking.queue_stats().accepting_worker_count, timeout_s=60, what="a worker that takes jobs")
        given = [asking.answer(QUESTION).generator for _ in range(2)]
        assert [(one.model, one.from_cache) for one in given] == [("big-model", False), ("big-model", True)]
        sampled = AnswerOptions(temperature=0.7)
        given = [asking.answer(QUESTION, options=sampled).generator for _ in range(2)]
        assert [(one.model, one.from_cache) for one in given] == [("big-model", False)] * 2
        other.stop()
        wait_until(lambda: asking.queue_stats().live_worker_count == 1, timeout_s=60, what="one worker")
        assert asking.answer(QUESTION).generator.model == "extractive"
    assert len(broken.requests) == asked_count
