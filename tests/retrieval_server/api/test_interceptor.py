"""What every RPC gets."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import grpc
import pytest

from groundwire.v1 import (
    collection_pb2,
    document_pb2,
    evaluation_service_pb2,
    evaluation_service_pb2_grpc,
    retrieval_service_pb2,
)
from tests.retrieval_server.api.support import details, running_server

RETRIEVE = "/groundwire.v1.RetrievalService/Retrieve"


async def test_bytes_that_do_not_decode_are_the_callers_fault(tmp_path: Path):
    async with running_server(tmp_path) as services:
        call = services.channel.unary_unary(RETRIEVE, request_serializer=bytes, response_deserializer=bytes)
        for data in (b"\xff\xff\xff", b"\x12\x02\xff\xfe"):  # not a message; a string that is not UTF-8
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(data)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert details(caught.value)["ErrorInfo"].reason == "MALFORMED_MESSAGE"


async def test_bytes_that_do_not_decode_within_a_stream_are_too(tmp_path: Path):
    async with running_server(tmp_path) as services:
        call = services.channel.stream_stream(
            "/groundwire.v1.RetrievalService/BatchRetrieve", request_serializer=bytes, response_deserializer=bytes
        )
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in call(iter([b"\xff\xff\xff"])):
                pass
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert details(caught.value)["ErrorInfo"].reason == "MALFORMED_MESSAGE"


async def test_a_field_error_travels_in_the_trailers(tmp_path: Path):
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query="q", k=0))
        found = details(caught.value)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert found["ErrorInfo"].domain == "groundwire"
        assert [v.field for v in found["BadRequest"].field_violations] == ["k"]


async def test_a_callers_words_of_wide_characters_fit_into_trailers(tmp_path: Path):
    wide = "\N{ROCKET}" * 1000
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.PutDocument(
                document_pb2.PutDocumentRequest(key=document_pb2.DocumentKey(relative_path="a.md"), text="a", etag=wide)
            )
        assert details(caught.value)["ErrorInfo"].reason == "ETAG_MISMATCH"
        sent = sum(len(value) for _, value in caught.value.trailing_metadata() or ())
        assert sent + len(quote(caught.value.details() or "")) < 6000


async def test_what_comes_later_answers_unimplemented(tmp_path: Path):
    async with running_server(tmp_path) as services:
        evaluation = evaluation_service_pb2_grpc.EvaluationServiceStub(services.channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in evaluation.TrainClassifier(evaluation_service_pb2.TrainClassifierRequest()):
                pass
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert details(caught.value)["ErrorInfo"].reason == "NOT_IMPLEMENTED"


class _Slow:
    """A servicer whose calls end when they are told to."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.entered = asyncio.Event()

    async def Retrieve(self, request, context):
        self.entered.set()
        await self.release.wait()
        if request.query == "fault":
            raise RuntimeError("secret detail")
        return retrieval_service_pb2.RetrieveResponse()

    async def BatchRetrieve(self, requests, context):
        yield retrieval_service_pb2.BatchRetrieveResponse()


async def test_calls_above_the_limit_are_told_when_to_come_back(tmp_path: Path):
    slow = _Slow()
    async with running_server(tmp_path, lambda _: slow, max_concurrent_rpcs=1) as services:
        first = asyncio.ensure_future(services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest()))
        await slow.entered.wait()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest())
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert details(caught.value)["RetryInfo"].retry_delay.ToMilliseconds() == 200
        slow.release.set()
        await first
        await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest())


async def test_streams_that_wait_for_their_callers_keep_nobody_else_out(tmp_path: Path):
    config = retrieval_service_pb2.BatchRetrieveRequest(config=retrieval_service_pb2.BatchRetrieveConfig())
    item = retrieval_service_pb2.BatchRetrieveRequest(item=retrieval_service_pb2.BatchRetrieveItem(item_index=7))
    async with running_server(tmp_path, max_concurrent_rpcs=1, max_waiting_rpcs=1) as services:
        idle = services.retrieval.BatchRetrieve()
        await idle.write(config)
        await idle.write(item)
        assert (await idle.read()).item_index == 7
        await services.corpus.ListCollections(collection_pb2.ListCollectionsRequest())
        another = services.retrieval.BatchRetrieve()
        assert await another.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await idle.done_writing()
        assert await idle.code() is grpc.StatusCode.OK


async def test_rebuilds_that_are_followed_keep_no_search_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def follow() -> AsyncIterator[None]:
        followed.set()
        await asyncio.Event().wait()
        yield

    followed = asyncio.Event()
    async with running_server(tmp_path, max_concurrent_rpcs=1, max_waiting_rpcs=1) as services:
        await services.corpus.CreateCollection(collection_pb2.CreateCollectionRequest(name="default"))
        monkeypatch.setattr(services.catalog, "rebuild", lambda *_, **__: SimpleNamespace(follow=follow))
        following = services.corpus.RebuildCollection(collection_pb2.RebuildCollectionRequest())
        await asyncio.wait_for(followed.wait(), 60)
        await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query="alpha"))
        following.cancel()


async def test_a_call_that_is_cancelled_leaves_its_place(tmp_path: Path):
    slow = _Slow()
    async with running_server(tmp_path, lambda _: slow, max_concurrent_rpcs=1) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(), timeout=0.05)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        slow.release.set()
        codes = [grpc.StatusCode.RESOURCE_EXHAUSTED]
        async with asyncio.timeout(60):
            while codes[-1] is grpc.StatusCode.RESOURCE_EXHAUSTED:  # the place is free once the server has noticed
                call = services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest())
                codes.append(await call.code())
        assert codes[-1] is grpc.StatusCode.OK


async def test_a_fault_of_ours_shows_no_detail_and_the_server_goes_on(tmp_path: Path):
    slow = _Slow()
    slow.release.set()
    async with running_server(tmp_path, lambda _: slow) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.retrieval.Retrieve(
                retrieval_service_pb2.RetrieveRequest(query="fault"), metadata=[("x-request-id", "r-17")]
            )
        assert caught.value.code() is grpc.StatusCode.INTERNAL
        assert "secret" not in caught.value.details()
        assert "r-17" in caught.value.details()
        await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest())


async def test_a_fault_names_a_request_though_its_caller_named_it_by_nothing(tmp_path: Path):
    slow = _Slow()
    slow.release.set()
    async with running_server(tmp_path, lambda _: slow) as services:
        with pytest.raises(grpc.aio.AioRpcError, match=r"its log has it under [0-9a-f]{32}"):
            await services.retrieval.Retrieve(
                retrieval_service_pb2.RetrieveRequest(query="fault"), metadata=[("x-request-id", "")]
            )


async def test_a_response_that_no_message_holds_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    document = document_pb2.PutDocumentRequest(
        key=document_pb2.DocumentKey(source="s" * 4096, relative_path="a.md"),
        text="alpha",
        source_url="u" * 4096,
        title="t" * 1024,
    )
    async with running_server(tmp_path) as services:
        for number in range(20):
            document.key.source = f"{number:04}" * 1024
            await services.corpus.PutDocument(document)
    async with running_server(tmp_path, max_message_bytes=64 * 1024) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.GetCorpusStats(collection_pb2.GetCorpusStatsRequest())
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    info = details(caught.value)["ErrorInfo"]
    assert info.reason == "LIMIT_EXCEEDED"
    assert info.metadata["limit"] == str(64 * 1024)
    assert not caplog.records
