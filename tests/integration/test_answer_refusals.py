"""When no answer can be made each caller is told why, with a status and reason for programs; over the wire."""

import asyncio
from collections.abc import Callable, Iterator

import grpc
import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.queue.keys import WORKERS_RECORDS, WORKERS_SEEN
from groundwire.v1 import (
    answer_pb2,
    answer_service_pb2,
    answer_service_pb2_grpc,
    error_pb2,
    retrieval_service_pb2,
)
from tests.generation_worker.harness import make_queue, put
from tests.support.client import run_client
from tests.support.processes import PROJECT_DIR, Server, ServiceProcess
from tests.support.rpc import Refusal, refused
from tests.support.valkey import Valkey

NONE = answer_pb2.ANSWER_FALLBACK_NONE
QUESTION = "When is the tide gate closed?"


@pytest.fixture(scope="module")
def stub(
    tmp_path_factory: pytest.TempPathFactory,
    a_valkey: Valkey,
    module_process: Callable[[ServiceProcess], ServiceProcess],
) -> Iterator[answer_service_pb2_grpc.AnswerServiceStub]:
    """A server whose queue holds two jobs, and a worker that lives and takes none."""
    settings = {
        "GROUNDWIRE_LEASE_S": "600",
        "GROUNDWIRE_MAX_QUEUE_DEPTH": "2",
        "GROUNDWIRE_MAX_QUEUE_SHARE": "1",
        "GROUNDWIRE_LEXICAL_ONLY": "true",
    }
    server = Server(tmp_path_factory.mktemp("server"), redis_url=a_valkey.url, **settings)
    module_process(server).start()
    run_client(server.address, "index", "examples/harbour", cwd=PROJECT_DIR).assert_ok()
    with a_valkey.client() as redis:
        now_s, _ = redis.time()
        redis.zadd(WORKERS_SEEN, {"idle": now_s * 1000})
        redis.hset(WORKERS_RECORDS, "idle", job_pb2.WorkerRecord(model="m").SerializeToString())
    with server.channel() as channel:
        yield answer_service_pb2_grpc.AnswerServiceStub(channel)


def request(
    query: str = QUESTION, *, collection: str = "", timeout_s: float = 30.0, **options: object
) -> answer_service_pb2.AnswerRequest:
    made = answer_service_pb2.AnswerOptions(**options)  # type: ignore[arg-type]
    made.timeout.FromMilliseconds(round(timeout_s * 1000))
    retrieve = retrieval_service_pb2.RetrieveRequest(query=query, k=2, collection=collection)
    return answer_service_pb2.AnswerRequest(retrieve=retrieve, options=made)


def told(refusal: Refusal) -> tuple[grpc.StatusCode, str]:
    return refusal.code, refusal.reason


def test_a_full_queue_names_itself_and_when_to_try_again(
    stub: answer_service_pb2_grpc.AnswerServiceStub, a_valkey: Valkey
) -> None:
    async def fill() -> None:
        queue = make_queue(a_valkey.url)
        for job_id in ("first", "second"):
            await put(queue, job_id)
        await queue.close()

    async def empty() -> None:
        queue = make_queue(a_valkey.url)
        for job_id in ("first", "second"):
            await queue.cancel(job_id)
        await queue.close()

    asyncio.run(fill())
    refusal = refused(lambda: stub.Answer(request(fallback=NONE, answer_anyway=True), timeout=60))
    assert told(refusal) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
    assert (refusal.retry_after_s or 0) > 0
    instead = stub.Answer(request(answer_anyway=True), timeout=60).result
    assert instead.generator.mode == answer_pb2.ANSWER_MODE_EXTRACTIVE
    assert instead.generator.fallback_reason == error_pb2.ERROR_REASON_QUEUE_FULL
    asyncio.run(empty())


def test_a_job_that_expires_before_a_worker_takes_it(stub: answer_service_pb2_grpc.AnswerServiceStub) -> None:
    refusal = refused(lambda: stub.Answer(request(timeout_s=0.3, fallback=NONE, answer_anyway=True), timeout=60))
    assert told(refusal) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
    instead = stub.Answer(request(timeout_s=0.3), timeout=60).result
    assert instead.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert instead.generator.mode == answer_pb2.ANSWER_MODE_EXTRACTIVE
    assert instead.generator.fallback_reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED
    assert instead.citations


def test_the_calls_own_deadline_is_met_by_the_fallback(stub: answer_service_pb2_grpc.AnswerServiceStub) -> None:
    asked = answer_service_pb2.AnswerRequest(retrieve=request().retrieve)
    instead = stub.Answer(asked, timeout=6).result
    assert instead.generator.fallback_reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED


def test_an_unknown_mode_is_named(stub: answer_service_pb2_grpc.AnswerServiceStub) -> None:
    refusal = refused(lambda: stub.Answer(request(mode=99), timeout=60))
    assert told(refusal) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert "options.mode" in refusal.fields
    refusal = refused(lambda: stub.Answer(request(priority=99), timeout=60))
    assert "options.priority" in refusal.fields


def test_more_than_the_context_is_named(stub: answer_service_pb2_grpc.AnswerServiceStub) -> None:
    refusal = refused(lambda: stub.Answer(request(max_prompt_tokens=1_000_000), timeout=60))
    assert told(refusal) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert "options.max_prompt_tokens" in refusal.fields


def test_no_passage_is_an_answer_and_no_error(stub: answer_service_pb2_grpc.AnswerServiceStub) -> None:
    result = stub.Answer(request("qqxzzy wwvkkj", answer_anyway=True), timeout=60).result
    assert result.state == answer_pb2.ANSWER_STATE_SKIPPED
    assert result.status.code == 0


def test_attaching_to_nothing_is_not_found(stub: answer_service_pb2_grpc.AnswerServiceStub) -> None:
    attach = answer_service_pb2.AttachAnswerRequest(request_id="never-asked")
    refusal = refused(lambda: list(stub.AttachAnswer(attach, timeout=60)))
    assert told(refusal) == (grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND")
