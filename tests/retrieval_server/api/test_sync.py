"""SyncDocuments over the wire."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import collection_pb2, sync_pb2
from retrieval_server.api import sync_stream
from tests.retrieval_server.api.support import details, running_server
from tests.retrieval_server.api.sync_support import Request, outcomes, search, stats, sync


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


async def test_a_dry_run_of_a_new_collection_tells_what_it_would_hold_and_makes_none(tmp_path: Path):
    async with running_server(tmp_path, max_file_bytes=1024) as services:
        responses = await sync(services, {"a.md": b"alpha", "b.md": b"b" * 1025, "../c.md": b"c"}, dry_run=True)
        assert outcomes(responses) == {"a.md": "ADDED", "b.md": "SKIPPED", "../c.md": "SKIPPED"}
        assert (responses[-1].summary.added_count, responses[-1].summary.skipped_count) == (1, 2)
        assert not services.catalog.names()


async def test_what_cannot_be_taken_is_reported_and_its_old_version_does_not_stand_in(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha", "b.md": b"beta"})
        responses = await sync(services, {"a.md": b"\0\1\2", "b.md": b"beta", "../x": b"no", "c.md": b""})
        reports = {file.relative_path: file.detail for r in responses for file in r.progress.files}
        assert reports == {
            "a.md": "binary",
            "c.md": "empty",
            "../x": "the path must not have empty parts, . or ..",
        }
        assert await search(services, "alpha", fusion={"dense_weight": 0}) == []


async def test_what_became_of_many_files_comes_in_several_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sync_stream, "_MAX_REPORTED_FILES", 2)
    async with running_server(tmp_path) as services:
        await sync(services, {"gone.md": b"gone", "kept.md": b"kept"})
        files = {f"{name}.md": name.encode() for name in "abcde"}
        responses = await sync(services, files | {"kept.md": b"kept"}, prune=True)
        assert outcomes(responses) == dict.fromkeys(files, "ADDED") | {"gone.md": "REMOVED"}
        progress = [response.progress for response in responses if response.HasField("progress")]
        assert max(len(one.files) for one in progress) == 2
        assert (progress[-1].done_count, progress[-1].total_count) == (6, 6)


async def test_what_became_of_files_with_long_paths_comes_in_messages_that_can_be_sent(tmp_path: Path):
    limit_bytes = 64 * 1024
    files = {f"{'d' * 200}/{'e' * 1800}/{number}.md": b"alpha" for number in range(100)}
    async with running_server(tmp_path, max_message_bytes=limit_bytes) as services:
        stored = await sync(services, files, files_per_offer=20)
        assert outcomes(stored) == dict.fromkeys(files, "ADDED")
        pruned = await sync(services, {"kept.md": b"kept"}, prune=True)
        assert outcomes(pruned) == dict.fromkeys(files, "REMOVED") | {"kept.md": "ADDED"}
    assert max(response.ByteSize() for response in (*stored, *pruned)) <= limit_bytes


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


async def test_a_sync_that_fails_leaves_the_chunk_size_alone(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"})
        with pytest.raises(grpc.aio.AioRpcError):
            async for _ in services.corpus.SyncDocuments(
                iter([Request(begin=sync_pb2.SyncBegin(source="/src", max_chunk_size_chars=777))])
            ):
                pass
        assert (await stats(services)).collection.max_chunk_size_chars == 2000


@pytest.mark.parametrize("unreadable", [False, True])
async def test_parts_of_two_files_must_not_be_interleaved(tmp_path: Path, unreadable: bool):
    offers = [
        sync_pb2.OfferedFile(relative_path=p, sha256=hashlib.sha256(b"alphabeta").digest(), size_bytes=9) for p in "ab"
    ]
    parts = [
        sync_pb2.FilePart(relative_path="a", data=b"alpha"),
        sync_pb2.FilePart(relative_path="b", data=b"alpha", unreadable=unreadable),
    ]
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
            await asyncio.wait_for(search(services, "alpha"), timeout=60)
            search_count += 1
        assert (await syncing)[-1].summary.added_count == 1
        assert search_count > 10


async def test_a_sync_in_progress_excludes_another_of_its_source_and_the_end_of_its_collection(tmp_path: Path):
    """What it excludes is to be tried again, so it is ABORTED like all that excludes each other."""
    begin = Request(begin=sync_pb2.SyncBegin(source="/src", display_prefix="src"))
    goes_on = asyncio.Event()

    async def held_open() -> AsyncIterator[Any]:
        yield begin
        yield Request(offer=sync_pb2.SyncOffer(files=[]))
        await goes_on.wait()
        yield Request(offer_complete=sync_pb2.SyncOfferComplete())

    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"}, source="/other", display_prefix="other")
        first = services.corpus.SyncDocuments(held_open())
        syncing = asyncio.create_task(_all(first))
        async with asyncio.timeout(60):
            while not services.catalog.get("").syncing_sources:
                await asyncio.sleep(0.01)
        delete = collection_pb2.DeleteCollectionRequest(name="default")
        for call in (_all(services.corpus.SyncDocuments(iter([begin]))), services.corpus.DeleteCollection(delete)):
            with pytest.raises(grpc.aio.AioRpcError, match="/src is being synced into default; try again") as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.ABORTED
            info = details(caught.value)["ErrorInfo"]
            assert info.reason == "SYNC_IN_PROGRESS"
            assert dict(info.metadata) == {"collection": "default", "source": "/src"}
        assert outcomes(await sync(services, {"b.md": b"beta"}, source="/other")) == {"b.md": "ADDED"}
        goes_on.set()
        assert (await syncing)[-1].HasField("summary")
        assert outcomes(await sync(services, {"c.md": b"gamma"})) == {"c.md": "ADDED"}


async def _all(responses: Any) -> list[Any]:
    return [response async for response in responses]
