"""Answers whose jobs expire, are cancelled, kept or abandoned, as their callers see it over gRPC."""

import asyncio

import grpc
import pytest

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import answer_pb2, error_pb2
from groundwire.v1 import answer_service_pb2 as pb
from retrieval_server.errors import Unavailable
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.jobs.answer_jobs import answer_job_id
from tests.retrieval_server.api.test_answer_servicer import ASKED, Stub, answering, corpus, options, queue, stub
from tests.retrieval_server.generation.answering.support import GOOD
from tests.retrieval_server.generation.fake_queue import FakeQueue

__all__ = ["answering", "corpus", "queue", "stub"]


async def test_a_stream_whose_job_expires_ends_ok_with_the_state_in_its_terminal_message(
    stub: Stub, queue: FakeQueue
) -> None:
    async def work() -> None:
        await queue.end((await queue.next_job()).job_id, job_pb2.JOB_OUTCOME_EXPIRED)

    working = asyncio.create_task(work())
    asked = pb.StreamAnswerRequest(retrieve=ASKED, options=options(fallback=answer_pb2.ANSWER_FALLBACK_NONE))
    call = stub.StreamAnswer(asked)
    events = [response.event async for response in call]
    await working
    assert await call.code() is grpc.StatusCode.OK
    assert events[-1].terminal.state == answer_pb2.ANSWER_STATE_EXPIRED
    assert events[-1].terminal.status.code == grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
    assert events[-1].terminal.status.reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED


async def test_a_job_that_expires_is_answered_by_sentences_of_the_passages_unless_the_request_forbids_it(
    stub: Stub, queue: FakeQueue
) -> None:
    async def work() -> None:
        await queue.end((await queue.next_job()).job_id, job_pb2.JOB_OUTCOME_EXPIRED)

    working = asyncio.create_task(work())
    events = [response.event async for response in stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED))]
    await working
    assert events[1].restarted.reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED
    assert events[-1].terminal.state == answer_pb2.ANSWER_STATE_ANSWERED
    assert events[-1].terminal.generator.mode == answer_pb2.ANSWER_MODE_EXTRACTIVE
    assert events[-1].terminal.generator.fallback_reason == error_pb2.ERROR_REASON_DEADLINE_EXCEEDED


async def test_a_batch_goes_behind_interactive_questions_unless_it_says_otherwise(stub: Stub, queue: FakeQueue) -> None:
    interactive = answer_pb2.ANSWER_PRIORITY_INTERACTIVE
    asked = [
        pb.BatchAnswerRequest(item_index=1, answer=pb.AnswerRequest(retrieve=ASKED)),
        pb.BatchAnswerRequest(
            item_index=2, answer=pb.AnswerRequest(retrieve=ASKED, options=options(priority=interactive))
        ),
    ]
    call = stub.BatchAnswer(iter(asked))
    for _ in asked:
        await queue.answer("The default request timeout is 30 seconds.")
    assert {response.item_index async for response in call} == {1, 2}
    jobs = list(queue.jobs.values())
    assert {job.priority for job in jobs} == {interactive, answer_pb2.ANSWER_PRIORITY_BATCH}
    assert {bool(job.caller) for job in jobs} == {True}


async def test_attaching_without_the_queue_is_unavailable_at_once(stub: Stub, queue: FakeQueue) -> None:
    queue.fail_with = Unavailable(error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE, "no Redis")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        [response async for response in stub.AttachAnswer(pb.AttachAnswerRequest(request_id="q-1"))]
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_cancel_answer_ends_a_running_one(stub: Stub, queue: FakeQueue) -> None:
    call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED, request_id="x"))
    await queue.start((await queue.next_job()).job_id)
    assert (await stub.CancelAnswer(pb.CancelAnswerRequest(request_id="x"))).cancelled
    events = [response.event async for response in call]
    assert events[-1].terminal.state == answer_pb2.ANSWER_STATE_CANCELLED
    assert not (await stub.CancelAnswer(pb.CancelAnswerRequest(request_id="x"))).cancelled


async def test_a_client_that_goes_away_in_mid_stream_cancels_its_job(stub: Stub, queue: FakeQueue) -> None:
    call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED, request_id="x"))
    await anext(aiter(call))
    call.cancel()
    await queue.wait_for_cancel()
    assert queue.cancelled == [answer_job_id("x")]


async def test_a_client_that_goes_away_without_reading_cancels_its_job(
    stub: Stub, queue: FakeQueue, answering: Answering
) -> None:
    """Flow control holds the server at a write, outside the code that follows the job."""
    call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED, request_id="x"))
    job = await queue.next_job()
    await queue.start(job.job_id)
    await queue.say(job.job_id, *["word " * 20_000] * 100)
    await queue.wait_until_followed_to(sequence=5)
    call.cancel()
    await queue.wait_for_cancel()
    await answering.close()


async def test_a_call_whose_deadline_passes_cancels_its_job(stub: Stub, queue: FakeQueue) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.Answer(pb.AnswerRequest(retrieve=ASKED), timeout=2)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await queue.wait_for_cancel()


async def test_a_client_that_keeps_its_job_can_fetch_it_later(stub: Stub, queue: FakeQueue) -> None:
    keep = options(on_disconnect=answer_pb2.DISCONNECT_POLICY_KEEP)
    call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED, request_id="x", options=keep))
    await anext(aiter(call))
    call.cancel()
    await queue.answer(*GOOD)
    attached = [r.event async for r in stub.AttachAnswer(pb.AttachAnswerRequest(request_id="x"))]
    assert attached[-1].terminal.text == "".join(GOOD)
    assert queue.cancelled == []
