"""Requests as large as a message may be: what is wrong with them is told at once, and to no one else's cost."""

import asyncio
import base64
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from groundwire.v1 import (
    admin_service_pb2,
    answer_pb2,
    answer_service_pb2,
    collection_pb2,
    document_pb2,
    error_pb2,
    filter_pb2,
    metadata_pb2,
    retrieval_service_pb2,
    sync_pb2,
    synonyms_pb2,
)
from retrieval_server.api import answer_servicer
from retrieval_server.api.answer_servicer import AnswerServicer
from retrieval_server.api.convert_answer import question_from_pb
from retrieval_server.api.convert_corpus import document_to_put
from retrieval_server.api.convert_filter import passage_filter
from retrieval_server.api.convert_metadata import metadata_from_pb
from retrieval_server.api.convert_packing import history_from_pb
from retrieval_server.api.paging import Listing
from retrieval_server.api.status import item_status
from retrieval_server.api.sync_stream import SyncStream
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.settings import ServerSettings
from tests.retrieval_server.api.support import Services, details, running_server

SETTINGS = ServerSettings()
MANY = 500_000
_MOST_S = 0.25
Batch = retrieval_service_pb2.BatchRetrieveRequest


def _stops(count: int) -> answer_service_pb2.AnswerRequest:
    options = answer_service_pb2.AnswerOptions(stops=[""] * count)
    return answer_service_pb2.AnswerRequest(retrieve=retrieval_service_pb2.RetrieveRequest(query="q"), options=options)


def _keys(count: int) -> dict[str, metadata_pb2.MetadataValue]:
    return {f"k{number}": metadata_pb2.MetadataValue(number=1) for number in range(count)}


STOPS = _stops(MANY)
UNKNOWN = filter_pb2.PassageFilter.FromString(b"\xf8\x07\x01" * MANY)
KEYS = document_pb2.PutDocumentRequest(metadata=_keys(MANY // 2)).metadata
TEXTS = {"a": metadata_pb2.MetadataValue(list=metadata_pb2.MetadataList(texts=[""] * (4 * MANY)))}
TOKEN = base64.b64encode(b"\0" * 6_000_000).decode()


@pytest.mark.parametrize(
    ("convert", "field"),
    [
        (lambda: question_from_pb(STOPS, SETTINGS, call_remaining_s=None), "options.stops"),
        (lambda: passage_filter(UNKNOWN), "filter"),
        (lambda: metadata_from_pb(KEYS), "metadata"),
        (lambda: metadata_from_pb(TEXTS), "metadata['a']"),
        (lambda: Listing(admin_service_pb2.ListDeadLettersRequest()).place(TOKEN), "page_token"),
    ],
    ids=["stops", "unknown fields", "keys", "texts", "token"],
)
def test_what_is_too_much_is_refused_before_it_is_read(convert: Callable[[], object], field: str) -> None:
    started_s = time.process_time()
    with pytest.raises(InvalidRequest) as caught:
        convert()
    assert time.process_time() - started_s < _MOST_S
    assert [one.field for one in caught.value.field_errors] == [field]


@pytest.mark.parametrize(
    ("refuse", "limit"),
    [
        (lambda: history_from_pb([answer_pb2.ConversationTurn(question="q")] * 51, SETTINGS, "history"), 50),
        (lambda: metadata_from_pb(_keys(65)), 64),
        (lambda: document_to_put(_document(title="x" * 1025)), 1024),
        (lambda: document_to_put(_document(source_url="x" * 4097)), 4096),
    ],
)
def test_what_is_more_than_a_limit_says_the_limit(refuse: Callable[[], object], limit: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        refuse()
    assert caught.value.reason == error_pb2.ERROR_REASON_LIMIT_EXCEEDED
    assert caught.value.metadata["limit"] == str(limit)


def _document(**fields: Any) -> document_pb2.PutDocumentRequest:
    return document_pb2.PutDocumentRequest(key=document_pb2.DocumentKey(relative_path="a.md"), text="a", **fields)


async def _reason(call: Any) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    return str(details(caught.value)["ErrorInfo"].reason)


async def _synced(services: Services, dry_run: bool) -> None:
    files = [sync_pb2.OfferedFile(relative_path=f"{n}.md", sha256=b"0" * 32, size_bytes=1) for n in range(1001)]
    requests = (
        sync_pb2.SyncDocumentsRequest(begin=sync_pb2.SyncBegin(source="/src", dry_run=dry_run)),
        sync_pb2.SyncDocumentsRequest(offer=sync_pb2.SyncOffer(files=files)),
        sync_pb2.SyncDocumentsRequest(offer_complete=sync_pb2.SyncOfferComplete()),
    )
    async for _ in services.corpus.SyncDocuments(iter(requests)):
        pass


async def test_limits_on_counts_and_sizes_are_told_as_such(tmp_path: Path) -> None:
    """Whoever sends less at a time then is served; a dry run that makes no collection has the limits of a sync."""
    ids = document_pb2.BatchDeleteDocumentsRequest(document_ids=["x"] * 1001)
    table = synonyms_pb2.PutSynonymTableRequest(toml="#" * (1024 * 1024 + 1))
    async with running_server(tmp_path) as services:
        assert await _reason(_synced(services, dry_run=True)) == "LIMIT_EXCEEDED"
        assert await _reason(_synced(services, dry_run=False)) == "LIMIT_EXCEEDED"
        assert await _reason(services.corpus.BatchDeleteDocuments(ids)) == "LIMIT_EXCEEDED"
        assert await _reason(services.corpus.PutSynonymTable(table)) == "LIMIT_EXCEEDED"


def test_the_status_of_an_item_fits_beside_others() -> None:
    error = InvalidRequest(*(FieldError(f"stops[{n}]", "x" * 1000) for n in range(1000)))
    assert item_status(error).ByteSize() < 8192
    assert [one.field for one in item_status(error).field_violations][:2] == ["stops[0]", "stops[1]"]


async def test_an_item_as_large_as_a_message_does_not_end_its_batch(tmp_path: Path) -> None:
    async def items() -> AsyncIterator[Batch]:
        yield Batch(config=retrieval_service_pb2.BatchRetrieveConfig())
        for index, path in enumerate(("a" * 8_000_000, "**")):
            filtered = filter_pb2.PassageFilter(include_paths=[path])
            retrieve = retrieval_service_pb2.RetrieveRequest(query="alpha", filter=filtered)
            yield Batch(item=retrieval_service_pb2.BatchRetrieveItem(item_index=index, retrieve=retrieve))

    async with running_server(tmp_path) as services:
        await services.corpus.CreateCollection(collection_pb2.CreateCollectionRequest(name="default"))
        responses = {one.item_index: one async for one in services.retrieval.BatchRetrieve(items())}
    assert responses[0].status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert [one.field for one in responses[0].status.field_violations] == ["item.retrieve.filter.include_paths"]
    assert responses[1].status.code == 0


async def test_a_conversation_is_read_beside_the_calls_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Read(Exception):
        pass

    threads: list[threading.Thread] = []

    def read(*_: object, **__: object) -> None:
        threads.append(threading.current_thread())
        raise Read

    monkeypatch.setattr(answer_servicer, "question_from_pb", read)
    servicer = AnswerServicer(cast("Any", None), SETTINGS)
    context = SimpleNamespace(time_remaining=lambda: None, invocation_metadata=lambda: (), peer=lambda: "")
    request = answer_service_pb2.AnswerRequest(history=[answer_pb2.ConversationTurn(question="q")])
    with pytest.raises(Read):
        await servicer.Answer(request, cast("Any", context))
    assert threads[0] is not threading.current_thread()


async def test_many_small_parts_of_a_sync_let_others_go_on() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def advance() -> list[Any]:
        return []

    received: list[str] = []
    sync = SimpleNamespace(receive=lambda path, *_, **__: received.append(path), advance=advance)
    contents = sync_pb2.SyncContents(parts=[sync_pb2.FilePart(relative_path="a")] * 10_000)
    going_on = asyncio.create_task(others())
    await SyncStream(cast("Any", None), SETTINGS)._contents(cast("Any", sync), contents)
    going_on.cancel()
    assert len(received) == 10_000
    assert turns > 5
