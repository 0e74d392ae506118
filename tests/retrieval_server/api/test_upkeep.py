"""Collections: making, rebuilding and removing them, snapshots, and what a replica serves."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import collection_pb2, document_pb2, error_pb2, retrieval_service_pb2, snapshot_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection import open_collection
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.following import Following
from retrieval_server.errors import FailedPrecondition, GroundwireError
from tests.retrieval_server.api.support import Services, details, running_server
from tests.retrieval_server.api.sync_support import stats, sync, until_embedded
from tests.retrieval_server.corpus.support import WordHashEncoder


async def put(services: Services, path: str, text: str, **fields: Any) -> document_pb2.Document:
    key = document_pb2.DocumentKey(relative_path=path)
    return (await services.corpus.PutDocument(document_pb2.PutDocumentRequest(key=key, text=text, **fields))).document


async def found(services: Services, query: str) -> list[str]:
    request = retrieval_service_pb2.RetrieveRequest(
        query=query, k=100, fusion=retrieval_service_pb2.FusionOverrides(dense_weight=0)
    )
    return sorted({p.path for p in (await services.retrieval.Retrieve(request)).passages})


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), details(caught.value)["ErrorInfo"].reason


async def rebuild(services: Services, **fields: Any) -> list[Any]:
    return [step async for step in services.corpus.RebuildCollection(collection_pb2.RebuildCollectionRequest(**fields))]


async def get(services: Services, path: str) -> document_pb2.Document:
    request = document_pb2.GetDocumentRequest(path=path, include_text=True)
    return (await services.corpus.GetDocument(request)).document


async def test_a_rebuild_replaces_passages_and_leaves_documents_as_they_are(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {f"{i}.md": f"# H{i}\n\nalpha {i}".encode() for i in range(70)})
        await until_embedded(services)
        await put(services, "a.md", "# A\n\nalpha a", title="T")
        before = await get(services, "a.md")
    with closing(sqlite3.connect(tmp_path / "collections" / "default" / "corpus.sqlite")) as connection:
        connection.execute("UPDATE documents SET chunker_version = 0")
        connection.execute("UPDATE chunks SET breadcrumbs = '[]'")
        connection.commit()
    async with running_server(tmp_path) as services:
        collection = (
            await services.corpus.GetCollection(collection_pb2.GetCollectionRequest(name="default"))
        ).collection
        assert "client rebuild" in collection.problem
        assert len(await found(services, "alpha")) == 71
        steps = await rebuild(services)
        assert (steps[-1].done_count, steps[-1].total_count, steps[-1].finished) == (71, 71, True)
        assert [step.finished for step in steps].count(True) == 1
        after = await get(services, "a.md")
        assert after == before
        assert len(await found(services, "alpha")) == 71
        collection = (
            await services.corpus.GetCollection(collection_pb2.GetCollectionRequest(name="default"))
        ).collection
        assert collection.problem == ""
        counts = await stats(services)
        assert (counts.dense_coverage, counts.stale_chunk_count) == (1.0, 0)
        assert (await rebuild(services))[-1].total_count == 0
        assert (await rebuild(services, full=True))[-1].total_count == 71


async def test_vectors_that_cannot_be_stored_are_told_until_they_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(open_collection, "_RETRY_DELAY_S", 0.01)
    full = GroundwireError(error_pb2.ERROR_REASON_STORAGE_FAILED, "database or disk is full")
    is_full = True
    store_vectors = Collection.store_vectors

    def store(self: Collection, found: Any) -> None:
        if is_full:
            raise full
        store_vectors(self, found)

    monkeypatch.setattr(Collection, "store_vectors", store)
    async with running_server(tmp_path) as services, asyncio.timeout(60):
        await sync(services, {f"{i}.md": f"# H{i}\n\nalpha {i}".encode() for i in range(200)})
        while not (counts := await stats(services)).encoder_problem:
            await asyncio.sleep(0.01)
        assert "disk is full" in counts.encoder_problem
        assert counts.dense_coverage < 1
        is_full = False
        while (counts := await stats(services)).dense_coverage < 1:
            await asyncio.sleep(0.01)
        assert counts.encoder_problem == ""


async def test_a_snapshot_is_restored_and_generations_only_rise(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await put(services, "a.md", "alpha one")
        made = (await services.corpus.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest())).snapshot
        assert (made.collection, made.index_generation) == ("default", 1)
        await put(services, "a.md", "beta two")
        await put(services, "b.md", "alpha three")
        restored = await services.corpus.RestoreSnapshot(
            snapshot_pb2.RestoreSnapshotRequest(snapshot_id=made.snapshot_id)
        )
        assert restored.index_generation == 4
        assert await found(services, "alpha beta") == ["a.md"]
        assert (await get(services, "a.md")).text == "alpha one"
        await put(services, "c.md", "gamma")
        assert await found(services, "gamma") == ["c.md"]
        assert (await stats(services)).dense_coverage == 1.0
    async with running_server(tmp_path) as services:
        assert await found(services, "alpha beta gamma") == ["a.md", "c.md"]
        assert (await stats(services)).collection.index_generation == 5
        listed = await services.corpus.ListSnapshots(snapshot_pb2.ListSnapshotsRequest(collection="default"))
        assert [one.snapshot_id for one in listed.snapshots] == [made.snapshot_id]
        assert not (
            await services.corpus.ListSnapshots(snapshot_pb2.ListSnapshotsRequest(collection="other"))
        ).snapshots
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.RestoreSnapshot(snapshot_pb2.RestoreSnapshotRequest(snapshot_id="nothing"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert details(caught.value)["ErrorInfo"].reason == "SNAPSHOT_NOT_FOUND"


async def test_a_removed_and_a_damaged_collection_come_back_from_a_snapshot(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await put(services, "a.md", "alpha one")
        made = (await services.corpus.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest())).snapshot
        await services.corpus.DeleteCollection(collection_pb2.DeleteCollectionRequest(name="default"))
        restore = snapshot_pb2.RestoreSnapshotRequest(snapshot_id=made.snapshot_id)
        await services.corpus.RestoreSnapshot(restore)
        assert await found(services, "alpha") == ["a.md"]
    (directory,) = (tmp_path / "collections").iterdir()
    (directory / "corpus.sqlite").write_bytes(b"no database " * 1000)
    async with running_server(tmp_path) as services:
        (shown,) = (await services.corpus.ListCollections(collection_pb2.ListCollectionsRequest())).collections
        assert "client snapshot restore" in shown.problem
        await services.corpus.RestoreSnapshot(restore)
        assert await found(services, "alpha") == ["a.md"]


async def test_a_snapshot_made_while_writing_goes_on_is_one_moment(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await put(services, "0.md", "alpha 0")
        stopping = asyncio.Event()

        async def write() -> None:
            number = 0
            while not stopping.is_set():
                number += 1
                await put(services, f"{number}.md", f"alpha {number}")

        writing = asyncio.create_task(write())
        made = [(await services.corpus.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest())).snapshot for _ in range(5)]
        stopping.set()
        await writing
        for snapshot in made:
            restore = snapshot_pb2.RestoreSnapshotRequest(snapshot_id=snapshot.snapshot_id)
            await services.corpus.RestoreSnapshot(restore)
            assert len(await found(services, "alpha")) == snapshot.index_generation
            assert (await stats(services)).document_count == snapshot.index_generation


async def test_a_replica_serves_the_newest_snapshots_and_takes_no_writes(tmp_path: Path):
    replica = Catalog(tmp_path / "replica", WordHashEncoder(), is_read_only=True)
    await replica.open_all()
    following = Following(replica, tmp_path / "primary" / "snapshots", 60)
    await following.catch_up()
    assert replica.names() == []
    async with running_server(tmp_path / "primary") as services:
        for number in (1, 2):
            await put(services, f"{number}.md", f"alpha {number}")
            await services.corpus.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest())
            await following.catch_up()
            opened = replica.get("default")
            with opened.view() as view:
                assert (view.generation, view.chunk_count) == (number, number)
    with pytest.raises(FailedPrecondition):
        await replica.create("new", CollectionSettings())
    with pytest.raises(FailedPrecondition):
        await replica.delete("default")
    await replica.close()


async def test_collections_are_made_listed_and_removed(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await services.corpus.CreateCollection(
            collection_pb2.CreateCollectionRequest(name="one", max_chunk_size_chars=100)
        )
        assert made.collection.max_chunk_size_chars == 100
        assert await refused(services.corpus.CreateCollection(collection_pb2.CreateCollectionRequest(name="one"))) == (
            grpc.StatusCode.ALREADY_EXISTS,
            "COLLECTION_EXISTS",
        )
        await put(services, "a.md", "alpha " * 60, collection="one")
        stats = (await services.corpus.GetCorpusStats(collection_pb2.GetCorpusStatsRequest(collection="one"))).stats
        assert stats.chunk_count > 3
        gone = await services.corpus.DeleteCollection(collection_pb2.DeleteCollectionRequest(name="one"))
        assert gone.deleted_document_count == 1
        assert not list((tmp_path / "collections").iterdir())
        assert await refused(services.corpus.GetCollection(collection_pb2.GetCollectionRequest(name="one"))) == (
            grpc.StatusCode.NOT_FOUND,
            "COLLECTION_NOT_FOUND",
        )
        assert (
            await services.corpus.CreateCollection(collection_pb2.CreateCollectionRequest(name="one"))
        ).collection.name == "one"
