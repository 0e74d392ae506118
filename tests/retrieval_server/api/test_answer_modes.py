"""The modes with a prompt for each passage, as their callers see them over gRPC."""

import asyncio

import grpc
import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from groundwire.v1 import answer_service_pb2 as pb
from tests.retrieval_server.api.test_answer_servicer import (
    ASKED,
    Stub,
    answering,
    corpus,
    failure,
    options,
    queue,
    stub,
)
from tests.retrieval_server.generation.fake_queue import FakeQueue

__all__ = ["answering", "corpus", "queue", "stub"]


@pytest.mark.parametrize("mode", [answer_pb2.ANSWER_MODE_RAG_SEQUENCE, answer_pb2.ANSWER_MODE_RAG_TOKEN])
async def test_a_mode_with_a_prompt_a_passage_reaches_the_queue_and_reads_the_corpus(
    stub: Stub, queue: FakeQueue, mode: answer_pb2.AnswerMode.ValueType
) -> None:
    request = pb.AnswerRequest(retrieve=ASKED, options=options(mode=mode))
    response, _ = await asyncio.gather(stub.Answer(request), queue.answer("The default request timeout is 30 seconds."))
    assert response.result.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert [job.mode for job in queue.jobs.values()] == [mode]
    code, _, fields = await failure(
        stub.Answer(pb.AnswerRequest(retrieve=ASKED, options=options(mode=mode, closed_book=True)))
    )
    assert (code, fields) == (grpc.StatusCode.INVALID_ARGUMENT, ["options.closed_book"])


async def test_an_unknown_mode_is_named(stub: Stub) -> None:
    code, _, fields = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED, options=options(mode=99))))
    assert (code, fields) == (grpc.StatusCode.INVALID_ARGUMENT, ["options.mode"])


async def test_a_worker_that_cannot_work_in_the_mode_is_a_failed_precondition(stub: Stub, queue: FakeQueue) -> None:
    async def work() -> None:
        reason = error_pb2.ERROR_REASON_MODE_NOT_SUPPORTED
        await queue.end((await queue.next_job()).job_id, job_pb2.JOB_OUTCOME_FAILED, reason=reason)

    asked = options(mode=answer_pb2.ANSWER_MODE_RAG_TOKEN, fallback=answer_pb2.ANSWER_FALLBACK_NONE)
    working = asyncio.create_task(work())
    code, reason, _ = await failure(stub.Answer(pb.AnswerRequest(retrieve=ASKED, options=asked)))
    await working
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "MODE_NOT_SUPPORTED")
