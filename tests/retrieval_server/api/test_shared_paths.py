"""Documents of several sources at one path: when a second one comes, and that each is changed and removed by itself."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import document_pb2, retrieval_service_pb2
from tests.retrieval_server.api.support import Services, details, running_server
from tests.retrieval_server.api.sync_support import outcomes, sync
from tests.retrieval_server.api.sync_support import search as search_both

TAKEN = (grpc.StatusCode.ALREADY_EXISTS, "PATH_TAKEN")


async def put(services: Services, path: str, text: str, source: str = "", **fields: Any) -> document_pb2.Document:
    key = document_pb2.DocumentKey(source=source, relative_path=path)
    request = document_pb2.PutDocumentRequest(key=key, text=text, **fields)
    return (await services.corpus.PutDocument(request)).document


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    error = await refusal(call)
    return error.code(), details(error)["ErrorInfo"].reason


async def search(services: Services, query: str) -> list[str]:
    """By words alone: the dense list has everything, near or far."""
    return await search_both(services, query, fusion=retrieval_service_pb2.FusionOverrides(dense_weight=0))


async def listed(services: Services) -> list[tuple[str, str]]:
    response = await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest())
    return sorted((one.key.source, one.path) for one in response.documents)


async def at(services: Services, path: str) -> document_pb2.Document:
    request = document_pb2.GetDocumentRequest(path=path, include_text=True)
    return (await services.corpus.GetDocument(request)).document


async def delete(services: Services, document_id: str) -> None:
    await services.corpus.DeleteDocument(document_pb2.DeleteDocumentRequest(document_id=document_id))


async def test_a_put_that_names_no_source_adds_nothing_beside_what_a_sync_brought(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha"})
        await sync(services, {"a.md": b"beta"}, source="/plain", display_prefix="")
        synced = await at(services, "src/a.md")
        error = await refusal(put(services, "src/a.md", "gamma"))
        info = details(error)["ErrorInfo"]
        assert (error.code(), info.reason) == TAKEN
        assert dict(info.metadata) == {"path": "src/a.md", "source": "/src", "document_id": synced.document_id}
        for word in ("key.source", "'api'", "'/src'", "'a.md'"):
            assert word in str(error.details())
        assert await refused(put(services, "a.md", "gamma")) == TAKEN
        assert await refused(put(services, "src/a.md", "gamma", must_be_new=True)) == TAKEN
        assert await refused(put(services, "src/a.md", "gamma", etag=synced.etag)) == TAKEN
        assert await search(services, "gamma") == []
        assert await listed(services) == [("/plain", "a.md"), ("/src", "src/a.md")]
        assert await at(services, "src/a.md") == synced
        await put(services, "src/b.md", "gamma")
        assert await search(services, "gamma") == ["src/b.md"]


async def test_long_names_of_sources_do_not_hide_the_remedy(tmp_path: Path):
    async with running_server(tmp_path) as services:
        long = "s" * 4000
        await put(services, f"{long}.md", "alpha", source=long)
        error = await refusal(put(services, f"{long}.md", "beta"))
        assert (error.code(), details(error)["ErrorInfo"].reason) == TAKEN
        assert "'api' keeps both" in str(error.details())


async def test_a_put_that_names_its_source_keeps_both_and_each_is_removed_by_itself(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha tide"})
        synced = await at(services, "src/a.md")
        made = await put(services, "src/a.md", "beta tide", source="api")
        assert made.document_id != synced.document_id
        assert await search(services, "tide") == ["src/a.md", "src/a.md"]
        error = await refusal(at(services, "src/a.md"))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert all(one.document_id in str(error.details()) for one in (synced, made))
        # Its own is there now: nothing is added.
        await put(services, "src/a.md", "gamma tide")
        assert await search(services, "beta") == []
        assert await listed(services) == [("/src", "src/a.md"), ("api", "src/a.md")]
        await delete(services, synced.document_id)
        assert (await at(services, "src/a.md")).text == "gamma tide"
        assert outcomes(await sync(services, {"a.md": b"alpha tide"})) == {"a.md": "ADDED"}
        await delete(services, made.document_id)
        assert (await at(services, "src/a.md")).text == "alpha tide"
        assert await search(services, "gamma") == []


async def test_a_sync_over_what_was_put_keeps_both_and_says_so_once(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await put(services, "src/a.md", "alpha tide")
        await put(services, "other/b.md", "alpha tide")
        responses = await sync(services, {"a.md": b"beta tide", "b.md": b"gamma tide"})
        assert outcomes(responses) == {"a.md": "ADDED", "b.md": "ADDED"}
        told = {file.relative_path: file.detail for response in responses for file in response.progress.files}
        assert "'api'" in told["a.md"]
        assert f"client docs rm --id {made.document_id} --collection default" in told["a.md"]
        assert told["b.md"] == ""
        assert (await listed(services)).count(("api", "src/a.md")) == 1
        assert sorted(await search(services, "alpha beta")) == ["other/b.md", "src/a.md", "src/a.md"]
        assert outcomes(await sync(services, {"a.md": b"beta tide", "b.md": b"gamma tide"})) == {}
        await delete(services, made.document_id)
        assert (await at(services, "src/a.md")).text == "beta tide"


async def test_a_put_into_a_synced_source_replaces_the_document_until_the_next_sync(tmp_path: Path):
    async with running_server(tmp_path) as services:
        files = {"a.md": b"alpha"}
        await sync(services, files)
        synced = await at(services, "src/a.md")
        made = await put(services, "a.md", "beta", source="/src", title="Tides")
        await put(services, "b.md", "gamma", source="/src")
        assert (made.document_id, made.path) == (synced.document_id, "src/a.md")
        assert await search(services, "alpha") == []
        assert await search(services, "beta") == ["src/a.md"]
        assert outcomes(await sync(services, files)) == {"a.md": "UPDATED"}
        brought = await at(services, "src/a.md")
        assert (brought.text, brought.title) == ("alpha", "Tides")
        assert await listed(services) == [("/src", "src/a.md"), ("/src", "src/b.md")]
        assert outcomes(await sync(services, files, prune=True)) == {"b.md": "REMOVED"}


async def test_a_sync_leaves_what_was_put_at_the_same_path_and_so_does_its_pruning(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await put(services, "src/a.md", "alpha tide", title="Tides")
        await put(services, "src/gone.md", "delta")
        assert outcomes(await sync(services, {"a.md": b"beta tide"}, prune=True)) == {"a.md": "ADDED"}
        assert await search(services, "tide") == ["src/a.md", "src/a.md"]
        assert await search(services, "delta") == ["src/gone.md"]
        again = await put(services, "src/a.md", "gamma tide")
        assert (again.document_id, again.create_time) == (made.document_id, made.create_time)
        assert outcomes(await sync(services, {"b.md": b"epsilon"}, prune=True)) == {"a.md": "REMOVED", "b.md": "ADDED"}
        assert (await at(services, "src/a.md")).text == "gamma tide"
        assert await search(services, "beta") == []


async def test_a_retry_is_told_what_was_done_before_and_a_refusal_is_not_remembered(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await put(services, "src/a.md", "alpha", request_id="first")
        await sync(services, {"a.md": b"beta"})
        await delete(services, made.document_id)
        assert await put(services, "src/a.md", "alpha", request_id="first") == made
        assert await refused(put(services, "src/a.md", "gamma", request_id="second")) == TAKEN
        await sync(services, {}, prune=True)
        await put(services, "src/a.md", "gamma", request_id="second")
        assert await search(services, "gamma") == ["src/a.md"]
