"""Retrieve, BatchRetrieve and the documents that they name, over the wire."""

from pathlib import Path

import grpc
import pytest

from groundwire.v1 import collection_pb2, document_pb2, retrieval_service_pb2
from tests.retrieval_server.api.support import details, running_server
from tests.retrieval_server.api.sync_support import Batch, search, sync


async def test_a_batch_keeps_going_past_bad_items(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha", "b.md": b"beta"})
        config = Batch(config={"order": retrieval_service_pb2.BATCH_ORDER_AS_SENT})
        queries = [
            {"query": "alpha", "k": 1},
            {"query": " "},
            {"query": "x", "collection": "none"},
            {"query": "beta", "k": 1},
        ]
        items = [Batch(item={"item_index": 10 + i, "retrieve": q}) for i, q in enumerate(queries)]
        responses = [r async for r in services.retrieval.BatchRetrieve(iter([config, *items, Batch()]))]
        assert [r.item_index for r in responses] == [10, 11, 12, 13, 0]
        assert [r.status.code for r in responses] == [0, 3, 5, 0, 3]
        assert [p.path for r in responses for p in r.retrieve.passages] == ["src/a.md", "src/b.md"]
        assert responses[1].status.field_violations[0].field == "item.retrieve.query"


async def test_a_batch_in_an_order_that_is_not_known_is_refused(tmp_path: Path):
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.retrieval.BatchRetrieve(iter([Batch(config={"order": 9})])).read()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [one.field for one in details(caught.value)["BadRequest"].field_violations] == ["config.order"]


async def test_a_large_batch_comes_back_whole(tmp_path: Path):
    async with running_server(tmp_path, max_batch_in_flight=3) as services:
        await sync(services, {"a.md": b"alpha"})
        items = [Batch(item={"item_index": i, "retrieve": {"query": "alpha"}}) for i in range(100)]
        responses = [r async for r in services.retrieval.BatchRetrieve(iter([Batch(config={}), *items]))]
        assert sorted(r.item_index for r in responses) == list(range(100))


async def test_an_unknown_collection_is_not_found(tmp_path: Path):
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await search(services, "q", collection="nope")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert details(caught.value)["ErrorInfo"].metadata["collection"] == "nope"


async def test_documents_come_with_their_text_as_stored(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"\xef\xbb\xbfalpha\r\nbeta\r\n"})
        request = document_pb2.GetDocumentRequest(path="src/a.md", include_text=True)
        document = (await services.corpus.GetDocument(request)).document
        assert (document.text, document.had_byte_order_mark, document.line_count) == ("alpha\r\nbeta\r\n", True, 2)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="nope"))
        assert details(caught.value)["ErrorInfo"].reason == "DOCUMENT_NOT_FOUND"


@pytest.mark.parametrize(
    ("question", "is_refused"),
    [("闸门默认的超时时间是多少秒?", False), ("法国的首都是哪里?", True)],
)
async def test_what_is_asked_without_spaces_is_refused_only_if_nothing_holds_it(
    tmp_path: Path, question: str, is_refused: bool
):
    text = "# 闸门\n\n默认的超时时间是三十秒。\n\n# 备份\n\n备份每天凌晨两点执行。\n"
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": text.encode()})
        response = await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query=question))
        assert (response.answer_skipped_reason != 0) is is_refused, response.answerability


async def test_every_passage_is_the_text_at_its_span(tmp_path: Path):
    files = {"a.md": "# Ünï\r\n\r\n東京 alpha\r\n".encode(), "b.py": ("def alpha():\n    return '🚀'\n" * 200).encode()}
    async with running_server(tmp_path) as services:
        await sync(services, files, max_chunk_size_chars=200)
        response = await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query="alpha", k=50))
        assert len(response.passages) > 10
        for passage in response.passages:
            text = files[passage.path.removeprefix("src/")].decode()
            assert text[passage.start_char : passage.end_char] == passage.text
            assert text[: passage.start_char].count("\n") + 1 == passage.start_line


async def test_collections_are_listed_and_kept_apart(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"}, collection="one")
        await sync(services, {"b.md": b"alpha"}, collection="two")
        assert await search(services, "alpha", collection="two") == ["src/b.md"]
        listed = await services.corpus.ListCollections(collection_pb2.ListCollectionsRequest(page_size=1))
        assert [c.name for c in listed.collections] == ["one"]
        assert listed.next_page_token


async def test_a_result_larger_than_a_message_is_refused_with_the_remedy_and_ends_no_batch(tmp_path: Path):
    text = ("alpha " * 3300).encode()
    async with running_server(tmp_path, max_message_bytes=64 * 1024) as services:
        await sync(services, {f"{i}.md": text for i in range(5)}, max_chunk_size_chars=20_000)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await search(services, "alpha", k=5)
        assert details(caught.value)["ErrorInfo"].reason == "LIMIT_EXCEEDED"
        items = [Batch(item={"item_index": k, "retrieve": {"query": "alpha", "k": k}}) for k in (5, 1)]
        responses = {r.item_index: r async for r in services.retrieval.BatchRetrieve(iter([Batch(config={}), *items]))}
        assert (responses[5].status.code, responses[1].status.code) == (3, 0)


async def test_a_very_long_name_is_not_found_like_a_short_one(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"})
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="x" * 50_000))
        assert details(caught.value)["ErrorInfo"].reason == "DOCUMENT_NOT_FOUND"


async def test_a_path_that_two_sources_share_is_not_guessed_at(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"m.md": b"alpha"}, source="/one", display_prefix="same")
        await sync(services, {"m.md": b"beta"}, source="/two", display_prefix="same")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="same/m.md"))
        assert "document_id" in caught.value.details()
        found = await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query="beta", k=1))
        request = document_pb2.GetDocumentRequest(document_id=found.passages[0].document_id, include_text=True)
        assert (await services.corpus.GetDocument(request)).document.text == "beta"
