"""Lists of documents page by page, while documents come and go, and tokens that do not belong to the list."""

import base64
from pathlib import Path
from typing import Any

import grpc
import pytest

from groundwire.v1 import collection_pb2, document_pb2, filter_pb2, metadata_pb2, snapshot_pb2
from retrieval_server.corpus.files import disk_usage
from tests.retrieval_server.api.support import Services, refused_field, running_server
from tests.retrieval_server.api.sync_support import sync

PATHS = ["A.md", "B/x.md", "a.md", "a/b.md", "b.md", "e\u0301.md", "z.md", "\u00e9.md", "\uffff.md", "\U0001f30a.md"]


async def put(services: Services, path: str, **fields: Any) -> document_pb2.Document:
    key = document_pb2.DocumentKey(relative_path=path)
    request = document_pb2.PutDocumentRequest(key=key, **{"text": f"alpha {path}", **fields})
    return (await services.corpus.PutDocument(request)).document


async def page(services: Services, token: str = "", **fields: Any) -> tuple[list[str], str]:
    response = await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest(page_token=token, **fields))
    return [document.path for document in response.documents], response.next_page_token


async def pages(services: Services, **fields: Any) -> list[list[str]]:
    found, token = await page(services, **fields)
    listed = [found]
    while token:
        found, token = await page(services, token, **fields)
        listed.append(found)
    return listed


async def test_documents_of_all_sources_are_listed_by_path_whatever_the_size_of_pages(tmp_path: Path):
    async with running_server(tmp_path) as services:
        for path in PATHS:
            await put(services, path)
        await sync(services, {"b.md": b"alpha", "c.md": b"alpha"}, source="/a", display_prefix="a")
        await sync(services, {"b.md": b"alpha"}, source="/also", display_prefix="a")
        everything = sorted([*PATHS, "a/b.md", "a/b.md", "a/c.md"])
        for size in (1, 2, 5, 13, 100):
            listed = await pages(services, page_size=size)
            assert [path for some in listed for path in some] == everything
            assert all(len(some) == size for some in listed[:-1])
            assert listed[-1], "no page is empty"
        docs = filter_pb2.PassageFilter(include_paths=["a/**"])
        assert await pages(services, page_size=2, filter=docs) == [["a/b.md", "a/b.md"], ["a/b.md", "a/c.md"]]


async def test_what_comes_and_goes_between_pages_takes_nothing_else_with_it(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = {path: await put(services, path) for path in ("b", "d", "f", "h")}
        first, token = await page(services, page_size=2)
        assert first == ["b", "d"]
        delete = document_pb2.DeleteDocumentRequest(document_id=made["d"].document_id)
        await services.corpus.DeleteDocument(delete)  # where the next page begins
        await put(services, "a")
        await put(services, "e")
        await put(services, "f", text="beta")
        assert await page(services, token, page_size=2) == (["e", "f"], (await page(services, token, page_size=2))[1])
        rest, end = await page(services, token, page_size=9)
        assert (rest, end) == (["e", "f", "h"], "")
    async with running_server(tmp_path) as services:
        assert await page(services, token, page_size=9) == (rest, "")


async def test_a_token_that_does_not_belong_to_the_list_is_refused(tmp_path: Path):
    async with running_server(tmp_path) as services:
        for path in ("a", "b", "c"):
            await put(services, path)
            await put(services, path, collection="other")
        _, token = await page(services, page_size=1)
        forged = base64.urlsafe_b64encode(b"b\0id").decode()
        code = filter_pb2.PassageFilter(kinds=[1])
        for call in (
            page(services, forged),
            page(services, token[:-4]),
            page(services, "A" + token[1:] if token[0] != "A" else "B" + token[1:]),
            page(services, token, collection="other"),
            page(services, token, filter=code),
            services.corpus.ListSnapshots(snapshot_pb2.ListSnapshotsRequest(page_token=token)),
            services.corpus.ListCollections(collection_pb2.ListCollectionsRequest(page_token=token)),
        ):
            assert await refused_field(call) == "page_token"
        await services.corpus.DeleteCollection(collection_pb2.DeleteCollectionRequest(name="default"))
        await put(services, "b")
        assert await refused_field(page(services, token)) == "page_token"


async def test_a_page_that_a_message_cannot_hold_is_shorter_and_nothing_is_left_out(tmp_path: Path):
    async with running_server(tmp_path, max_message_bytes=128 * 1024) as services:
        large = metadata_pb2.MetadataValue(text="v" * 60_000)
        for number in range(5):
            await put(services, f"{number}", metadata={"k": large})
        listed = await pages(services, page_size=4)
        assert [path for some in listed for path in some] == ["0", "1", "2", "3", "4"]
        assert max(map(len, listed)) == 2


@pytest.mark.parametrize("fields", [{"text": " "}, {"text": "x", "etag": "e"}])
async def test_a_put_that_is_refused_makes_no_collection(tmp_path: Path, fields: dict[str, str]):
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError):
            await put(services, "a.md", **fields)
        assert not (await services.corpus.ListCollections(collection_pb2.ListCollectionsRequest())).collections


async def test_a_put_does_not_undo_how_a_sync_said_to_cut(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await put(services, "a.md")
        opened = services.catalog.get("default")
        embed_now = opened.embed_now

        async def sync_meanwhile(documents: Any) -> Any:
            opened.embed_now = embed_now  # type: ignore[method-assign]
            await sync(services, {"b.md": b"alpha " * 200}, max_chunk_size_chars=100)
            return await embed_now(documents)

        opened.embed_now = sync_meanwhile  # type: ignore[method-assign]
        await put(services, "a.md")
        collection = (
            await services.corpus.GetCollection(collection_pb2.GetCollectionRequest(name="default"))
        ).collection
        assert collection.max_chunk_size_chars == 100


def test_folders_that_go_while_they_are_counted_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"12345")
    real = disk_usage._size_bytes

    def vanish(path: str) -> int:
        for name in "abc":
            if f"/{name}/" not in path and (tmp_path / name).exists():
                (tmp_path / name / "file").unlink()
                (tmp_path / name).rmdir()
        return real(path)

    monkeypatch.setattr(disk_usage, "_size_bytes", vanish)
    assert disk_usage.disk_bytes(tmp_path) == 5
    assert disk_usage.disk_bytes(tmp_path / "nothing") == 0
