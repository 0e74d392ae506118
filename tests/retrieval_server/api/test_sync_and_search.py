"""SyncDocuments, then Retrieve and BatchRetrieve, over the wire."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import collection_pb2, corpus_service_pb2, retrieval_service_pb2, sync_pb2
from tests.retrieval_server.api.support import Services, details, running_server

Request = corpus_service_pb2.SyncDocumentsRequest
Batch = retrieval_service_pb2.BatchRetrieveRequest


async def sync(services: Services, files: Mapping[str, bytes], **begin: Any) -> list[Any]:
    """Run a whole sync; return all responses."""
    begin = {"source": "/src", "display_prefix": "src", **begin}
    outgoing: asyncio.Queue[Any] = asyncio.Queue()
    offers = [
        sync_pb2.OfferedFile(relative_path=p, sha256=hashlib.sha256(d).digest(), size_bytes=len(d))
        for p, d in files.items()
    ]
    outgoing.put_nowait(Request(begin=sync_pb2.SyncBegin(**begin)))
    outgoing.put_nowait(Request(offer=sync_pb2.SyncOffer(files=offers)))
    outgoing.put_nowait(Request(offer_complete=sync_pb2.SyncOfferComplete()))

    async def requests() -> AsyncIterator[Any]:
        while (request := await outgoing.get()) is not None:
            yield request

    responses = []
    async for response in services.corpus.SyncDocuments(requests()):
        responses.append(response)
        for path in response.wanted.relative_paths:
            middle = len(files[path]) // 2
            parts = [
                sync_pb2.FilePart(relative_path=path, data=files[path][:middle]),
                sync_pb2.FilePart(relative_path=path, data=files[path][middle:], last=True),
            ]
            outgoing.put_nowait(Request(contents=sync_pb2.SyncContents(parts=parts)))
        if response.HasField("summary"):
            outgoing.put_nowait(None)
    return responses


def outcomes(responses: list[Any]) -> dict[str, str]:
    return {
        r.file.relative_path: sync_pb2.SyncFileOutcome.Name(r.file.outcome).removeprefix("SYNC_FILE_OUTCOME_")
        for r in responses
        if r.HasField("file")
    }


async def search(services: Services, query: str, **fields: Any) -> list[str]:
    response = await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query=query, **fields))
    return [p.path for p in response.passages]


async def stats(services: Services) -> collection_pb2.CorpusStats:
    return (await services.corpus.GetCorpusStats(corpus_service_pb2.GetCorpusStatsRequest())).stats


async def test_only_what_changed_travels_and_prune_removes_what_vanished(tmp_path: Path):
    async with running_server(tmp_path) as services:
        first = await sync(services, {"a.py": b"alpha = 1", "b.md": b"beta"})
        assert outcomes(first) == {"a.py": "ADDED", "b.md": "ADDED"}
        assert first[-1].summary.index_generation == 1

        again = await sync(services, {"a.py": b"alpha = 1", "b.md": b"beta"})
        assert not any(r.HasField("wanted") for r in again)
        assert (again[-1].summary.unchanged_count, again[-1].summary.index_generation) == (2, 1)

        changed = await sync(services, {"a.py": b"gamma = 1"})
        assert outcomes(changed) == {"a.py": "UPDATED"}
        assert await search(services, "beta", k=1) == ["src/b.md"]

        pruned = await sync(services, {"a.py": b"gamma = 1"}, prune=True)
        assert outcomes(pruned) == {"b.md": "REMOVED"}
        assert await search(services, "beta", fusion={"dense_weight": 0}) == []


async def test_prune_touches_its_own_source_only(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"}, source="/one", display_prefix="one")
        await sync(services, {"b.md": b"beta"}, source="/two", display_prefix="two", prune=True)
        assert await search(services, "alpha", k=1) == ["one/a.md"]


async def test_a_dry_run_reports_and_changes_nothing(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha", "b.md": b"beta"})
        responses = await sync(services, {"a.md": b"changed", "c.md": b"new"}, prune=True, dry_run=True)
        assert outcomes(responses) == {"a.md": "UPDATED", "c.md": "ADDED", "b.md": "REMOVED"}
        assert responses[-1].summary.index_generation == 1
        assert await search(services, "alpha", k=1) == ["src/a.md"]


async def test_what_cannot_be_taken_is_reported_and_its_old_version_does_not_stand_in(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha", "b.md": b"beta"})
        responses = await sync(services, {"a.md": b"\0\1\2", "b.md": b"beta", "../x": b"no", "c.md": b""})
        reports = {r.file.relative_path: r.file.detail for r in responses if r.HasField("file")}
        assert reports == {
            "a.md": "binary",
            "c.md": "empty",
            "../x": "the path must not have empty parts, . or ..",
        }
        assert await search(services, "alpha", fusion={"dense_weight": 0}) == []


async def test_a_path_offered_twice_is_taken_once(tmp_path: Path):
    async with running_server(tmp_path) as services:
        file = sync_pb2.OfferedFile(relative_path="a.md", sha256=hashlib.sha256(b"alpha").digest(), size_bytes=5)
        part = sync_pb2.FilePart(relative_path="a.md", data=b"alpha", last=True)
        requests = [
            Request(begin=sync_pb2.SyncBegin(source="/src")),
            Request(offer=sync_pb2.SyncOffer(files=[file, file])),
            Request(contents=sync_pb2.SyncContents(parts=[part])),
            Request(offer_complete=sync_pb2.SyncOfferComplete()),
        ]
        responses = [r async for r in services.corpus.SyncDocuments(iter(requests))]
        assert responses[-1].summary.added_count == 1
        assert responses[-1].summary.skipped_count == 1
        assert (await stats(services)).document_count == 1


@pytest.mark.parametrize(
    "requests",
    [
        [],
        [Request(offer_complete=sync_pb2.SyncOfferComplete())],
        [Request(begin=sync_pb2.SyncBegin(source="/s"))],
        [Request(begin=sync_pb2.SyncBegin(source="/s")), Request(begin=sync_pb2.SyncBegin(source="/s"))],
        [
            Request(begin=sync_pb2.SyncBegin(source="/s")),
            Request(contents=sync_pb2.SyncContents(parts=[sync_pb2.FilePart(relative_path="a", last=True)])),
        ],
    ],
)
async def test_messages_out_of_order_are_refused(tmp_path: Path, requests: list[Request]):
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in services.corpus.SyncDocuments(iter(requests)):
                pass
        assert details(caught.value)["ErrorInfo"].reason == "PROTOCOL_ORDER"
        # The source is free again, and nothing was left half done.
        assert (await sync(services, {"a.md": b"alpha"}, source="/s"))[-1].summary.added_count == 1


async def test_small_changes_have_their_vectors_when_they_are_acknowledged(tmp_path: Path):
    async with running_server(tmp_path) as services:
        assert (await sync(services, {"a.md": b"alpha"}))[-1].summary.dense_coverage == 1
        assert (await stats(services)).embedded_chunk_count == 1


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
        request = corpus_service_pb2.GetDocumentRequest(path="src/a.md", include_text=True)
        document = (await services.corpus.GetDocument(request)).document
        assert (document.text, document.had_byte_order_mark, document.line_count) == ("alpha\r\nbeta\r\n", True, 2)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.GetDocument(corpus_service_pb2.GetDocumentRequest(path="nope"))
        assert details(caught.value)["ErrorInfo"].reason == "DOCUMENT_NOT_FOUND"


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
        listed = await services.corpus.ListCollections(corpus_service_pb2.ListCollectionsRequest(page_size=1))
        assert [c.name for c in listed.collections] == ["one"]
        assert listed.next_page_token


async def test_a_sync_that_fails_leaves_the_chunk_size_alone(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"})
        with pytest.raises(grpc.aio.AioRpcError):
            async for _ in services.corpus.SyncDocuments(
                iter([Request(begin=sync_pb2.SyncBegin(source="/src", max_chunk_size_chars=777))])
            ):
                pass
        assert (await stats(services)).collection.max_chunk_size_chars == 2000


async def test_parts_of_two_files_must_not_be_interleaved(tmp_path: Path):
    offers = [
        sync_pb2.OfferedFile(relative_path=p, sha256=hashlib.sha256(b"alphabeta").digest(), size_bytes=9) for p in "ab"
    ]
    parts = [sync_pb2.FilePart(relative_path=p, data=b"alpha") for p in "ab"]
    requests = [
        Request(begin=sync_pb2.SyncBegin(source="/src")),
        Request(offer=sync_pb2.SyncOffer(files=offers)),
        Request(contents=sync_pb2.SyncContents(parts=parts)),
    ]
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in services.corpus.SyncDocuments(iter(requests)):
                pass
        assert details(caught.value)["ErrorInfo"].reason == "PROTOCOL_ORDER"


async def test_more_offers_than_a_message_may_hold_are_refused(tmp_path: Path):
    file = sync_pb2.OfferedFile(relative_path="a", sha256=bytes(32))
    requests = [
        Request(begin=sync_pb2.SyncBegin(source="/src")),
        Request(offer=sync_pb2.SyncOffer(files=[file] * 1001)),
    ]
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in services.corpus.SyncDocuments(iter(requests)):
                pass
        assert [v.field for v in details(caught.value)["BadRequest"].field_violations] == ["offer.files"]


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
            await services.corpus.GetDocument(corpus_service_pb2.GetDocumentRequest(path="x" * 50_000))
        assert details(caught.value)["ErrorInfo"].reason == "DOCUMENT_NOT_FOUND"


async def test_a_path_that_two_sources_share_is_not_guessed_at(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"m.md": b"alpha"}, source="/one", display_prefix="same")
        await sync(services, {"m.md": b"beta"}, source="/two", display_prefix="same")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.GetDocument(corpus_service_pb2.GetDocumentRequest(path="same/m.md"))
        assert "document_id" in caught.value.details()
        found = await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query="beta", k=1))
        request = corpus_service_pb2.GetDocumentRequest(document_id=found.passages[0].document_id, include_text=True)
        assert (await services.corpus.GetDocument(request)).document.text == "beta"


async def test_a_client_that_stays_silent_lets_its_source_go(tmp_path: Path):
    async def say_little() -> AsyncIterator[Any]:
        yield Request(begin=sync_pb2.SyncBegin(source="/src"))
        await asyncio.Event().wait()

    async with running_server(tmp_path, sync_silence_timeout_s=0.05) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in services.corpus.SyncDocuments(say_little()):
                pass
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    async with running_server(tmp_path) as services:
        assert (await sync(services, {"a.md": b"alpha"}))[-1].summary.added_count == 1


async def test_a_file_made_to_be_slow_does_not_stop_searches(tmp_path: Path):
    slow = b"def f(x:\n  [({\n" * 25_000
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"})
        syncing = asyncio.create_task(sync(services, {"slow.py": slow}, source="/slow"))
        search_count = 0
        while not syncing.done():
            await asyncio.wait_for(search(services, "alpha"), timeout=5)
            search_count += 1
        assert (await syncing)[-1].summary.added_count == 1
        assert search_count > 10
