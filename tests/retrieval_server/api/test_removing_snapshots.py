"""DeleteSnapshot: what goes, what stays, and what is refused."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import document_pb2, snapshot_pb2
from tests.retrieval_server.api.support import Services, details, running_server

NOT_FOUND = (grpc.StatusCode.NOT_FOUND, "SNAPSHOT_NOT_FOUND")


async def put(services: Services, path: str) -> None:
    key = document_pb2.DocumentKey(relative_path=path)
    await services.corpus.PutDocument(document_pb2.PutDocumentRequest(key=key, text=f"alpha {path}"))


async def create(services: Services) -> str:
    return (await services.corpus.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest())).snapshot.snapshot_id


async def restore(services: Services, snapshot_id: str) -> None:
    await services.corpus.RestoreSnapshot(snapshot_pb2.RestoreSnapshotRequest(snapshot_id=snapshot_id))


async def remove(services: Services, snapshot_id: str) -> None:
    await services.corpus.DeleteSnapshot(snapshot_pb2.DeleteSnapshotRequest(snapshot_id=snapshot_id))


async def snapshots(services: Services) -> list[str]:
    found = await services.corpus.ListSnapshots(snapshot_pb2.ListSnapshotsRequest())
    return [one.snapshot_id for one in found.snapshots]


async def documents(services: Services) -> list[str]:
    return [one.path for one in (await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest())).documents]


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), details(caught.value)["ErrorInfo"].reason


async def test_one_snapshot_goes_and_all_else_stays_also_what_was_put_back_to_it(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        kept = await create(services)
        await put(services, "b.md")
        doomed = await create(services)
        await restore(services, doomed)
        await remove(services, doomed)
        assert await snapshots(services) == [kept]
        assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [kept]
        assert await refused(remove(services, doomed)) == NOT_FOUND
        assert await refused(restore(services, doomed)) == NOT_FOUND
        assert await documents(services) == ["a.md", "b.md"]
    async with running_server(tmp_path) as services:
        assert await documents(services) == ["a.md", "b.md"]
        await restore(services, kept)
        assert await documents(services) == ["a.md"]


@pytest.mark.parametrize(
    "snapshot_id", ["nothing", "..", ".", "../collections", "../collections/default", "/", "*", "a\0b", "x" * 5000]
)
async def test_an_id_that_no_snapshot_has_removes_nothing(tmp_path: Path, snapshot_id: str):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        made = await create(services)
        assert await refused(remove(services, snapshot_id)) == NOT_FOUND
        assert await refused(remove(services, f"{made}/../{made}")) == NOT_FOUND
        assert await snapshots(services) == [made]
        assert await documents(services) == ["a.md"]


async def test_no_id_is_no_request(tmp_path: Path):
    async with running_server(tmp_path) as services:
        assert await refused(remove(services, "")) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


async def test_files_that_a_death_left_go_with_the_next_listing(tmp_path: Path):
    left = tmp_path / "snapshots" / ".deleted-0123456789abcdef"
    left.mkdir(parents=True)
    (left / "corpus.sqlite").touch()
    async with running_server(tmp_path) as services:
        assert await snapshots(services) == []
        assert not left.exists()
