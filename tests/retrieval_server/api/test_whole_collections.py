"""Work on whole collections: what excludes what, and what a long rebuild tells."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import collection_pb2, document_pb2, snapshot_pb2
from retrieval_server.corpus import snapshotting
from retrieval_server.corpus.writing import rebuilding
from tests.retrieval_server.api.support import Services, details, running_server

TIMEOUT_S = 60.0
BUSY = (grpc.StatusCode.ABORTED, "COLLECTION_BUSY")


class Gate:
    """Holds up whoever passes until it is opened."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened = threading.Event()

    def pass_through(self) -> None:
        """Say that somebody is here and wait, on any thread."""
        self._reached.set()
        assert self._opened.wait(TIMEOUT_S)

    async def reached(self) -> None:
        """Wait until somebody is here."""
        assert await asyncio.to_thread(self._reached.wait, TIMEOUT_S)

    def open(self) -> None:
        """Let everybody pass."""
        self._opened.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


@pytest.fixture
def slow_restore(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Gate:
    restore_into = snapshotting.restore_into

    def wait_and_restore(*args: Any, **kwargs: Any) -> None:
        gate.pass_through()
        restore_into(*args, **kwargs)

    monkeypatch.setattr(snapshotting, "restore_into", wait_and_restore)
    return gate


@pytest.fixture
def slow_rebuild(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Gate:
    parse = rebuilding._parse

    async def wait_and_parse(*args: Any) -> Any:
        await asyncio.to_thread(gate.pass_through)
        return await parse(*args)

    monkeypatch.setattr(rebuilding, "_parse", wait_and_parse)
    monkeypatch.setattr(rebuilding, "_HEARTBEAT_S", 0.02)
    return gate


async def put(services: Services, path: str, collection: str = "default") -> document_pb2.PutDocumentResponse:
    key = document_pb2.DocumentKey(relative_path=path)
    return await services.corpus.PutDocument(
        document_pb2.PutDocumentRequest(collection=collection, key=key, text=f"alpha {path}")
    )


async def listed(services: Services) -> list[str]:
    return [one.path for one in (await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest())).documents]


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    info = details(caught.value)["ErrorInfo"]
    if info.reason == "COLLECTION_BUSY":
        assert info.metadata["collection"] == "default"
    return caught.value.code(), info.reason


async def rebuild(services: Services, **fields: Any) -> list[collection_pb2.RebuildCollectionResponse]:
    return [step async for step in services.corpus.RebuildCollection(collection_pb2.RebuildCollectionRequest(**fields))]


async def snapshot(services: Services) -> snapshot_pb2.RestoreSnapshotRequest:
    made = (await services.corpus.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest())).snapshot
    return snapshot_pb2.RestoreSnapshotRequest(snapshot_id=made.snapshot_id)


def delete(services: Services) -> Any:
    return services.corpus.DeleteCollection(collection_pb2.DeleteCollectionRequest(name="default"))


def create(services: Services) -> Any:
    return services.corpus.CreateCollection(collection_pb2.CreateCollectionRequest(name="default"))


async def test_a_restore_excludes_all_other_work_on_its_collection_and_none_on_others(
    tmp_path: Path, slow_restore: Gate
):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        restore = await snapshot(services)
        await put(services, "b.md")
        restoring = asyncio.ensure_future(services.corpus.RestoreSnapshot(restore))
        await slow_restore.reached()
        for call in (rebuild(services), services.corpus.RestoreSnapshot(restore), delete(services), create(services)):
            assert await refused(call) == BUSY
        await put(services, "a.md", collection="another")
        await put(services, "b.md", collection="another")
        assert await listed(services) == ["a.md", "b.md"]
        late = asyncio.ensure_future(put(services, "c.md"))
        slow_restore.open()
        await restoring
        await late
        assert await listed(services) == ["a.md", "c.md"]
        assert (await rebuild(services, full=True))[-1].done_count == 2
        await delete(services)


async def test_a_collection_that_is_put_back_from_nothing_is_not_made_beside_it(tmp_path: Path, slow_restore: Gate):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        restore = await snapshot(services)
        await delete(services)
        restoring = asyncio.ensure_future(services.corpus.RestoreSnapshot(restore))
        await slow_restore.reached()
        assert await refused(create(services)) == BUSY
        late = asyncio.ensure_future(put(services, "b.md"))
        slow_restore.open()
        await restoring
        await late
        assert await listed(services) == ["a.md", "b.md"]


async def test_a_snapshot_stays_while_it_is_restored_and_others_may_go(tmp_path: Path, slow_restore: Gate):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        another, restore = await snapshot(services), await snapshot(services)
        restoring = asyncio.ensure_future(services.corpus.RestoreSnapshot(restore))
        await slow_restore.reached()
        remove = snapshot_pb2.DeleteSnapshotRequest(snapshot_id=restore.snapshot_id)
        assert await refused(services.corpus.DeleteSnapshot(remove)) == BUSY
        await services.corpus.DeleteSnapshot(snapshot_pb2.DeleteSnapshotRequest(snapshot_id=another.snapshot_id))
        restoring.cancel()  # the work goes on without its caller
        assert await refused(services.corpus.DeleteSnapshot(remove)) == BUSY
        slow_restore.open()
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                with suppress(grpc.aio.AioRpcError):
                    await services.corpus.DeleteSnapshot(remove)
                    break
        assert await listed(services) == ["a.md"]


async def test_a_rebuild_excludes_all_other_work_on_its_collection_and_none_on_documents(
    tmp_path: Path, slow_rebuild: Gate
):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        restore = await snapshot(services)
        rebuilding_all = asyncio.create_task(rebuild(services, full=True))
        await slow_rebuild.reached()
        for call in (services.corpus.RestoreSnapshot(restore), delete(services), create(services)):
            assert await refused(call) == BUSY
        await put(services, "b.md")
        slow_rebuild.open()
        assert (await rebuilding_all)[-1].finished
        await services.corpus.RestoreSnapshot(restore)
        assert await listed(services) == ["a.md"]


async def test_a_full_rebuild_does_not_take_a_smaller_one_that_runs_for_itself(
    tmp_path: Path, slow_rebuild: Gate, monkeypatch: pytest.MonkeyPatch
):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        monkeypatch.setattr("retrieval_server.corpus.database.reader.CHUNKER_VERSION", 1_000_000)
        smaller = asyncio.create_task(rebuild(services))
        await slow_rebuild.reached()
        assert await refused(rebuild(services, full=True)) == BUSY
        same = asyncio.create_task(rebuild(services))
        slow_rebuild.open()
        assert (await smaller)[-1] == (await same)[-1]


async def test_a_long_rebuild_shows_that_it_lives_and_goes_on_when_its_caller_has_left(
    tmp_path: Path, slow_rebuild: Gate
):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        call = services.corpus.RebuildCollection(collection_pb2.RebuildCollectionRequest(full=True))
        told = [await call.read() for _ in range(5)]
        assert [(one.done_count, one.finished) for one in told] == [(0, False)] * 5
        call.cancel()
        rest = []
        async for step in services.corpus.RebuildCollection(collection_pb2.RebuildCollectionRequest(full=True)):
            rest.append(step)
            slow_rebuild.open()
        assert [step.finished for step in rest] == [False] * (len(rest) - 1) + [True]
        assert (rest[-1].done_count, rest[-1].total_count) == (1, 1)


async def test_a_rebuild_that_fails_says_so_to_whoever_follows_and_may_be_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")

        async def fail(*_: object) -> Any:
            raise OSError("no space left on device")

        with monkeypatch.context() as failing:
            failing.setattr(rebuilding, "_parse", fail)
            with pytest.raises(grpc.aio.AioRpcError):
                await rebuild(services, full=True)
        assert (await rebuild(services, full=True))[-1].finished
