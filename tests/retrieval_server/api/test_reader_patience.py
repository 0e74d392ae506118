"""Streams whose caller stays connected and reads nothing, over real connections."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import (
    answer_pb2,
    answer_service_pb2_grpc,
    document_pb2,
    retrieval_service_pb2,
    sync_pb2,
)
from groundwire.v1 import answer_service_pb2 as pb
from retrieval_server.api.answer_servicer import AnswerServicer
from retrieval_server.api.interceptor import RpcInterceptor
from retrieval_server.generation.answering import Answering
from retrieval_server.generation.jobs.answer_jobs import answer_job_id
from tests.retrieval_server.api.support import CHANNEL_OPTIONS, MAX_MESSAGE_BYTES, Services, details, running_server
from tests.retrieval_server.api.test_answer_servicer import ASKED, SETTINGS, Stub, answering, corpus, options, queue
from tests.retrieval_server.generation.fake_queue import FakeQueue

__all__ = ["answering", "corpus", "queue"]

PATIENCE_S = 0.2
_LONG = ["word " * 20_000] * 30  # far more than is sent ahead of a reader
_KEEP = options(on_disconnect=answer_pb2.DISCONNECT_POLICY_KEEP)


@pytest.fixture
def codes() -> asyncio.Queue[str]:
    """How calls ended, in that order."""
    return asyncio.Queue()


@pytest.fixture
async def stub(answering: Answering, codes: asyncio.Queue[str]) -> AsyncIterator[Stub]:
    """A server with one place for answers."""
    interceptor = RpcInterceptor(1, 1, 1, PATIENCE_S, MAX_MESSAGE_BYTES, lambda _, code, __: codes.put_nowait(code))
    server = grpc.aio.server(interceptors=[interceptor])
    answer_service_pb2_grpc.add_AnswerServiceServicer_to_server(AnswerServicer(answering, SETTINGS), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL_OPTIONS) as channel:
        yield Stub(channel)
    await server.stop(None)


async def _begin_long_answer(queue: FakeQueue) -> str:
    job = await queue.next_job()
    await queue.start(job.job_id)
    await queue.say(job.job_id, *_LONG)
    return job.job_id


async def _next_code(codes: asyncio.Queue[str]) -> str:
    return await asyncio.wait_for(codes.get(), 60)


async def _status_of(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in call:
            pass
    return caught.value


async def test_an_answer_that_nobody_reads_ends_and_its_job_with_it(
    stub: Stub, queue: FakeQueue, codes: asyncio.Queue[str]
) -> None:
    """Whoever reads on after all is told why."""
    call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED, request_id="x"))
    await _begin_long_answer(queue)
    await queue.wait_for_cancel()
    assert queue.cancelled == [answer_job_id("x")]
    assert await _next_code(codes) == "DEADLINE_EXCEEDED"
    error = await _status_of(call)
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert error.details() == "the stream was not read for 0.2 s"
    assert details(error)["ErrorInfo"].reason == "DEADLINE_EXCEEDED"


async def test_a_job_that_is_to_be_kept_outlives_its_unread_stream_and_frees_its_place(
    stub: Stub, queue: FakeQueue, codes: asyncio.Queue[str]
) -> None:
    unread = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED, request_id="x", options=_KEEP))
    job_id = await _begin_long_answer(queue)
    assert await _next_code(codes) == "DEADLINE_EXCEEDED"
    attached = stub.AttachAnswer(pb.AttachAnswerRequest(request_id="x"))  # into the one place that there is
    await queue.end(job_id, text="30 seconds.")
    events = [response.event async for response in attached]
    assert events[-1].HasField("terminal")
    assert not queue.cancelled
    unread.cancel()


async def test_an_attached_stream_that_nobody_reads_ends_and_its_job_goes_on(
    stub: Stub, queue: FakeQueue, codes: asyncio.Queue[str]
) -> None:
    first = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED, request_id="x", options=_KEEP))
    job_id = (await queue.next_job()).job_id
    first.cancel()
    assert await _next_code(codes) == "CANCELLED"
    unread = stub.AttachAnswer(pb.AttachAnswerRequest(request_id="x"))
    await queue.start(job_id)
    await queue.say(job_id, *_LONG)
    assert await _next_code(codes) == "DEADLINE_EXCEEDED"
    assert not queue.cancelled
    unread.cancel()


async def test_a_stream_with_nothing_to_send_waits_on(stub: Stub, queue: FakeQueue) -> None:
    call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED))
    await queue.next_job()
    await asyncio.sleep(3 * PATIENCE_S)  # what passes is what is tested
    await queue.answer("The default request timeout is 30 seconds.")
    assert [response.event async for response in call][-1].HasField("terminal")


async def test_a_slow_reader_reads_to_the_end(stub: Stub, queue: FakeQueue) -> None:
    call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED))
    job_id = await _begin_long_answer(queue)
    await queue.end(job_id, text="30 seconds.")
    last = None
    started_s = time.monotonic()
    async for response in call:
        last = response.event
        await asyncio.sleep(PATIENCE_S / 10)  # a reader's pace, not a wait for something
    assert last is not None
    assert last.HasField("terminal")
    assert time.monotonic() - started_s > 2 * PATIENCE_S


async def test_a_caller_who_vanishes_without_having_read_leaves_no_fault_in_the_log(
    stub: Stub, queue: FakeQueue, codes: asyncio.Queue[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither before the stream is ended nor while its status waits to be sent."""
    with caplog.at_level(logging.WARNING):
        for ends_first in (False, True):
            call = stub.StreamAnswer(pb.StreamAnswerRequest(retrieve=ASKED))
            job_id = await _begin_long_answer(queue)
            if ends_first:
                assert await _next_code(codes) == "DEADLINE_EXCEEDED"
                call.cancel()
            else:
                await queue.wait_until_followed_to(sequence=3)
                call.cancel()
                assert await _next_code(codes) == "CANCELLED"
            await queue.wait_for_cancel()
            assert queue.cancelled.pop() == job_id
        answered, _ = await asyncio.gather(stub.Answer(pb.AnswerRequest(retrieve=ASKED)), queue.answer("30 seconds."))
    assert answered.HasField("result")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def _big_document(services: Services) -> Any:
    return services.corpus.PutDocument(
        document_pb2.PutDocumentRequest(
            key=document_pb2.DocumentKey(relative_path="a.md"), text="alpha beta\n" * 100_000
        )
    )


async def _let_in(begin: Callable[[], Awaitable[grpc.StatusCode]]) -> None:
    """Call until the one place is free."""
    async with asyncio.timeout(60):
        while await begin() is grpc.StatusCode.RESOURCE_EXHAUSTED:
            await asyncio.sleep(0.02)


async def test_an_unread_original_gives_its_place_back(tmp_path: Path) -> None:
    async with running_server(tmp_path, max_concurrent_rpcs=1, reader_timeout_s=PATIENCE_S) as services:
        document_id = (await _big_document(services)).document.document_id
        got = document_pb2.GetDocumentRequest(document_id=document_id)
        call = services.corpus.GetOriginal(document_pb2.GetOriginalRequest(document_id=document_id))
        await call.initial_metadata()
        await _let_in(lambda: services.corpus.GetDocument(got).code())
        assert (await _status_of(call)).code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_an_unread_batch_of_searches_gives_its_place_back(tmp_path: Path) -> None:
    async def many() -> AsyncIterator[retrieval_service_pb2.BatchRetrieveRequest]:
        yield retrieval_service_pb2.BatchRetrieveRequest(config=retrieval_service_pb2.BatchRetrieveConfig())
        for index in range(1000):
            retrieve = retrieval_service_pb2.RetrieveRequest(query="alpha", k=50)
            item = retrieval_service_pb2.BatchRetrieveItem(item_index=index, retrieve=retrieve)
            yield retrieval_service_pb2.BatchRetrieveRequest(item=item)

    async def say_nothing() -> grpc.StatusCode:
        return await services.retrieval.BatchRetrieve(iter(())).code()

    async with running_server(tmp_path, max_waiting_rpcs=1, reader_timeout_s=PATIENCE_S) as services:
        await _big_document(services)
        call = services.retrieval.BatchRetrieve(many())
        await call.initial_metadata()
        await _let_in(say_nothing)
        assert (await _status_of(call)).code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_an_unread_sync_lets_its_source_go(tmp_path: Path) -> None:
    begin = sync_pb2.SyncDocumentsRequest(begin=sync_pb2.SyncBegin(source="/src"))

    async def offers(count: int) -> AsyncIterator[sync_pb2.SyncDocumentsRequest]:
        yield begin
        for start in range(0, count, 1000):
            files = [
                sync_pb2.OfferedFile(relative_path=f"{'d' * 200}/{start + n}.md", sha256=b"0" * 32, size_bytes=1)
                for n in range(1000)
            ]
            yield sync_pb2.SyncDocumentsRequest(offer=sync_pb2.SyncOffer(files=files))
        if count:
            await asyncio.Event().wait()
        yield sync_pb2.SyncDocumentsRequest(offer_complete=sync_pb2.SyncOfferComplete())

    async def say_nothing() -> grpc.StatusCode:
        return await services.corpus.SyncDocuments(iter(())).code()

    async with running_server(tmp_path, max_waiting_rpcs=1, reader_timeout_s=PATIENCE_S) as services:
        call = services.corpus.SyncDocuments(offers(20_000))
        await call.initial_metadata()
        await _let_in(say_nothing)
        assert [_ async for _ in services.corpus.SyncDocuments(offers(0))][-1].HasField("summary")
        assert (await _status_of(call)).code() is grpc.StatusCode.DEADLINE_EXCEEDED
