"""Documents that are put while their collection goes: stored for good, or refused in so many words."""

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import collection_pb2, document_pb2, snapshot_pb2
from retrieval_server.corpus.writing import document_writing
from tests.retrieval_server.api.support import Services, details, running_server

TIMEOUT_S = 60.0
ROUNDS = 6
WRITERS = 4


def request(path: str, **fields: Any) -> document_pb2.PutDocumentRequest:
    return document_pb2.PutDocumentRequest(
        key=document_pb2.DocumentKey(relative_path=path), text=f"alpha of {path}", **fields
    )


async def outcome(call: Any) -> str:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return f"{error.code().name} {details(error)['ErrorInfo'].reason}"
    return "OK"


async def listed(services: Services) -> set[str]:
    try:
        found = await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest(page_size=1000))
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        return set()
    return {document.path for document in found.documents}


@pytest.mark.parametrize("held_at", ["_parse", "embed_now"])
async def test_a_put_that_was_overtaken_by_the_removal_of_its_collection_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_at: str
):
    async with running_server(tmp_path) as services:
        await services.corpus.PutDocument(request("first.md"))
        reached, goes_on = asyncio.Event(), asyncio.Event()
        owner: Any = document_writing if held_at == "_parse" else services.catalog.get("default")
        work = getattr(owner, held_at)

        async def hold(*args: Any) -> Any:
            reached.set()
            await goes_on.wait()
            return await work(*args)

        monkeypatch.setattr(owner, held_at, hold)
        putting = asyncio.create_task(outcome(services.corpus.PutDocument(request("late.md"))))
        await reached.wait()
        await services.corpus.DeleteCollection(collection_pb2.DeleteCollectionRequest(name="default"))
        goes_on.set()
        assert await asyncio.wait_for(putting, TIMEOUT_S) == "NOT_FOUND COLLECTION_NOT_FOUND"
        monkeypatch.undo()
        await services.corpus.PutDocument(request("again.md"))
        assert await listed(services) == {"again.md"}


async def test_a_put_whose_vectors_are_being_computed_is_stored_before_its_collection_closes_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with running_server(tmp_path) as services:
        await services.corpus.PutDocument(request("first.md"))
        encoder: Any = services.catalog.get("")._encoder
        encode, reached, goes_on = encoder.encode_windows, threading.Event(), threading.Event()

        def hold(*args: Any) -> Any:
            reached.set()
            assert goes_on.wait(TIMEOUT_S)
            return encode(*args)

        monkeypatch.setattr(encoder, "encode_windows", hold)
        putting = asyncio.create_task(outcome(services.corpus.PutDocument(request("late.md"))))
        await asyncio.to_thread(reached.wait, TIMEOUT_S)
        removing = asyncio.create_task(
            outcome(services.corpus.DeleteCollection(collection_pb2.DeleteCollectionRequest(name="default")))
        )
        await asyncio.sleep(0)
        goes_on.set()
        assert await asyncio.wait_for(putting, TIMEOUT_S) in {"OK", "NOT_FOUND COLLECTION_NOT_FOUND"}
        assert await asyncio.wait_for(removing, TIMEOUT_S) == "OK"


async def test_whatever_is_put_while_collections_come_go_and_are_put_back_is_told_the_truth(tmp_path: Path):
    async with running_server(tmp_path) as services:
        seen: Counter[str] = Counter()
        acknowledged: set[str] = set()
        is_over = False

        async def write(writer: int) -> None:
            number = 0
            while not is_over:
                path = f"{writer}/{number}.md"
                number += 1
                told = await outcome(services.corpus.PutDocument(request(path, request_id=path)))
                seen[f"put {told}"] += 1
                if told == "OK":
                    acknowledged.add(path)

        async def rebuild() -> None:
            async for _ in services.corpus.RebuildCollection(collection_pb2.RebuildCollectionRequest(full=True)):
                pass

        writers = [asyncio.create_task(write(writer)) for writer in range(WRITERS)]
        for _ in range(ROUNDS):
            made = (
                await services.corpus.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest())
                if await listed(services)
                else None
            )
            calls = [
                rebuild(),
                services.corpus.DeleteCollection(collection_pb2.DeleteCollectionRequest(name="default")),
                services.corpus.CreateCollection(collection_pb2.CreateCollectionRequest(name="default")),
            ]
            if made is not None:
                restore = snapshot_pb2.RestoreSnapshotRequest(snapshot_id=made.snapshot.snapshot_id)
                calls.append(services.corpus.RestoreSnapshot(restore))
            for told in await asyncio.wait_for(asyncio.gather(*map(outcome, calls)), TIMEOUT_S):
                seen[told] += 1
        acknowledged.clear()  # what was put back or removed took what was put before with it
        before = await listed(services)
        await asyncio.sleep(0)
        is_over = True
        await asyncio.wait_for(asyncio.gather(*writers), TIMEOUT_S)
        assert acknowledged | before <= await listed(services)
        allowed = {
            "OK",
            "NOT_FOUND COLLECTION_NOT_FOUND",
            "ABORTED COLLECTION_BUSY",
            "ALREADY_EXISTS COLLECTION_EXISTS",
        }
        assert {told.removeprefix("put ") for told in seen} <= allowed, seen
        assert seen["put OK"]
    async with running_server(tmp_path) as services:
        assert acknowledged | before <= await listed(services)
