"""Documents one by one: put, get, list, change, remove, and what a repeated request is told."""

import hashlib
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import field_mask_pb2

from groundwire.v1 import collection_pb2, document_pb2, filter_pb2, metadata_pb2, retrieval_service_pb2
from tests.retrieval_server.api.support import Services, details, running_server
from tests.retrieval_server.api.sync_support import search as search_both
from tests.retrieval_server.api.sync_support import sync


def key(path: str, source: str = "") -> document_pb2.DocumentKey:
    return document_pb2.DocumentKey(source=source, relative_path=path)


def text_value(text: str) -> metadata_pb2.MetadataValue:
    return metadata_pb2.MetadataValue(text=text)


async def put(services: Services, path: str, text: str = "", **fields: Any) -> document_pb2.PutDocumentResponse:
    source = fields.pop("source", "")
    if "content" not in fields:
        fields["text"] = text
    return await services.corpus.PutDocument(document_pb2.PutDocumentRequest(key=key(path, source), **fields))


async def search(services: Services, query: str) -> list[str]:
    """By words alone: the dense list has everything, near or far."""
    return await search_both(services, query, fusion=retrieval_service_pb2.FusionOverrides(dense_weight=0))


async def refused(call: Any) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    info = details(caught.value)["ErrorInfo"]
    return caught.value.code(), info.reason, dict(info.metadata)


async def listed(services: Services, **fields: Any) -> list[str]:
    response = await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest(**fields))
    return [document.path for document in response.documents]


async def original(services: Services, document_id: str) -> bytes:
    parts = services.corpus.GetOriginal(document_pb2.GetOriginalRequest(document_id=document_id))
    return b"".join([part.data async for part in parts])


async def test_a_put_document_is_found_by_the_very_next_query_with_vectors(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await put(
            services,
            "notes/a.md",
            "# Tides\n\nalpha rises",
            title="Tide table",
            source_url="https://example.test/a",
            metadata={"port": text_value("north"), "depth": metadata_pb2.MetadataValue(number=2.5)},
        )
        assert made.index_generation == 1
        assert made.document.path == "notes/a.md"
        assert (made.document.title, made.document.source_url) == ("Tide table", "https://example.test/a")
        assert made.document.metadata["depth"].number == 2.5
        assert made.document.key.source == "api"
        assert made.document.create_time == made.document.update_time
        assert await search(services, "alpha") == ["notes/a.md"]
        stats = (await services.corpus.GetCorpusStats(collection_pb2.GetCorpusStatsRequest())).stats
        assert (stats.dense_coverage, stats.embedded_chunk_count) == (1.0, stats.chunk_count)
        got = (
            await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="notes/a.md", include_text=True))
        ).document
        assert got.text == "# Tides\n\nalpha rises"
        got.text = ""
        assert got == made.document


async def test_putting_again_replaces_all_and_keeps_the_time_of_creation(tmp_path: Path):
    async with running_server(tmp_path) as services:
        first = (await put(services, "a.md", "alpha", title="one", metadata={"a": text_value("b")})).document
        second = (await put(services, "a.md", "beta")).document
        assert (second.title, dict(second.metadata)) == ("", {})
        assert second.create_time == first.create_time
        assert second.etag != first.etag
        assert await search(services, "alpha") == []
        assert await search(services, "beta") == ["a.md"]


async def test_an_equal_request_with_an_equal_id_is_told_the_same_and_changes_nothing(tmp_path: Path):
    async with running_server(tmp_path) as services:
        first = await put(services, "a.md", "alpha", request_id="r1")
        await put(services, "a.md", "beta")
        assert await put(services, "a.md", "alpha", request_id="r1") == first
        assert await search(services, "beta") == ["a.md"]
        code, reason, _ = await refused(put(services, "a.md", "gamma", request_id="r1"))
        assert (code, reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_CONFLICT")
        # The id is scoped by RPC.
        document_id = first.document.document_id
        request = document_pb2.DeleteDocumentRequest(document_id=document_id, request_id="r1")
        deleted = await services.corpus.DeleteDocument(request)
        assert await services.corpus.DeleteDocument(request) == deleted
        assert await refused(
            services.corpus.DeleteDocument(document_pb2.DeleteDocumentRequest(document_id=document_id))
        ) == (
            grpc.StatusCode.NOT_FOUND,
            "DOCUMENT_NOT_FOUND",
            {"path": document_id},
        )
    async with running_server(tmp_path) as services:
        assert await put(services, "a.md", "alpha", request_id="r1") == first
        assert await listed(services) == []


async def test_a_change_of_another_version_than_expected_is_refused(tmp_path: Path):
    async with running_server(tmp_path) as services:
        first = (await put(services, "a.md", "alpha", must_be_new=True)).document
        second = (await put(services, "a.md", "beta", etag=first.etag)).document
        aborted = (grpc.StatusCode.ABORTED, "ETAG_MISMATCH", {"etag": second.etag})
        assert await refused(put(services, "a.md", "gamma", etag=first.etag)) == aborted
        assert await refused(put(services, "a.md", "gamma", must_be_new=True)) == aborted
        document_id = first.document_id
        delete = document_pb2.DeleteDocumentRequest(document_id=document_id, etag=first.etag)
        assert await refused(services.corpus.DeleteDocument(delete)) == aborted
        update = document_pb2.UpdateDocumentRequest(
            document_id=document_id, etag=first.etag, update_mask=field_mask_pb2.FieldMask(paths=["title"])
        )
        assert await refused(services.corpus.UpdateDocument(update)) == aborted
        assert await search(services, "beta") == ["a.md"]
        await services.corpus.DeleteDocument(
            document_pb2.DeleteDocumentRequest(document_id=document_id, etag=second.etag)
        )
        gone = (grpc.StatusCode.ABORTED, "ETAG_MISMATCH", {"etag": ""})
        assert await refused(put(services, "a.md", "gamma", etag=second.etag)) == gone


async def test_an_update_changes_what_its_mask_names_and_outlives_new_content(tmp_path: Path):
    async with running_server(tmp_path) as services:
        await sync(services, {"a.md": b"alpha", "b.md": b"beta"})
        document_id = (
            await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="src/a.md"))
        ).document.document_id

        async def update(*paths: str, **fields: Any) -> document_pb2.Document:
            mask = field_mask_pb2.FieldMask(paths=paths)
            request = document_pb2.UpdateDocumentRequest(document_id=document_id, update_mask=mask, **fields)
            return (await services.corpus.UpdateDocument(request)).document

        made = await update("title", "metadata", title="T", metadata={"a": text_value("1"), "b": text_value("2")})
        assert (made.title, set(made.metadata)) == ("T", {"a", "b"})
        made = await update("metadata.a", "metadata.c", metadata={"c": text_value("3")}, title="ignored")
        assert (made.title, {k: v.text for k, v in made.metadata.items()}) == ("T", {"b": "2", "c": "3"})
        assert await search(services, "alpha") == ["src/a.md"]
        await sync(services, {"a.md": b"gamma", "b.md": b"beta"})
        after = (
            await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="src/a.md", include_text=True))
        ).document
        assert (after.text, after.title, set(after.metadata)) == ("gamma", "T", {"b", "c"})
        assert (await update("title")).title == ""
        code, reason, _ = await refused(update("content"))
        assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
        assert (await refused(update()))[1] == "INVALID_FIELD"


async def test_documents_are_listed_by_path_in_pages_and_by_filter(tmp_path: Path):
    async with running_server(tmp_path) as services:
        for number in range(5):
            stamp = metadata_pb2.MetadataValue()
            stamp.time.FromSeconds(1000 * number)
            await put(
                services,
                f"n/{number}.{'md' if number % 2 else 'py'}",
                f"text {number} = common",
                metadata={
                    "n": metadata_pb2.MetadataValue(number=number),
                    "when": stamp,
                    "tags": metadata_pb2.MetadataValue(
                        list=metadata_pb2.MetadataList(texts=["odd", "x"][number % 2 :])
                    ),
                },
            )
        first = await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest(page_size=2))
        assert [d.path for d in first.documents] == ["n/0.py", "n/1.md"]
        second = document_pb2.ListDocumentsRequest(page_size=3, page_token=first.next_page_token)
        rest = await services.corpus.ListDocuments(second)
        assert [d.path for d in rest.documents] == ["n/2.py", "n/3.md", "n/4.py"]
        assert rest.next_page_token == ""

        async def filtered(**fields: Any) -> list[str]:
            return await listed(services, filter=filter_pb2.PassageFilter(**fields))

        assert await filtered(include_paths=["**/*.md"]) == ["n/1.md", "n/3.md"]
        assert await filtered(include_paths=["*.md"]) == []
        assert await filtered(exclude_paths=["n/[0-2].*"]) == ["n/3.md", "n/4.py"]
        assert await filtered(languages=["python"], contains=["text 2"]) == ["n/2.py"]
        number = filter_pb2.MetadataCondition(key="n", range=filter_pb2.NumberRange(min=3))
        assert await filtered(metadata=[number]) == ["n/3.md", "n/4.py"]
        tag = filter_pb2.MetadataCondition(key="tags", equals="odd")
        assert await filtered(metadata=[tag]) == ["n/0.py", "n/2.py", "n/4.py"]
        times = filter_pb2.TimeRange()
        times.max.FromSeconds(1000)
        assert await filtered(metadata=[filter_pb2.MetadataCondition(key="when", time_range=times)]) == [
            "n/0.py",
            "n/1.md",
        ]


async def test_many_are_removed_in_one_commit_each_with_its_status(tmp_path: Path):
    async with running_server(tmp_path) as services:
        ids = [(await put(services, f"{i}.md", f"alpha {i}")).document.document_id for i in range(4)]
        response = await services.corpus.BatchDeleteDocuments(
            document_pb2.BatchDeleteDocumentsRequest(document_ids=[ids[0], "nothing", ids[2]])
        )
        assert [status.code for status in response.statuses] == [0, 5, 0]
        assert response.index_generation == 5
        assert await search(services, "alpha") == ["1.md", "3.md"]


async def test_documents_are_removed_by_a_filter_that_is_not_empty(tmp_path: Path):
    async with running_server(tmp_path) as services:
        for path in ("a/1.md", "a/2.md", "b/3.md"):
            await put(services, path, f"alpha {path}")
        wanted = filter_pb2.PassageFilter(include_paths=["a/**"])
        tried = await services.corpus.DeleteDocumentsByFilter(
            document_pb2.DeleteDocumentsByFilterRequest(filter=wanted, dry_run=True)
        )
        assert (tried.deleted_count, len(await listed(services))) == (2, 3)
        request = document_pb2.DeleteDocumentsByFilterRequest(filter=wanted, request_id="r")
        done = await services.corpus.DeleteDocumentsByFilter(request)
        assert (done.deleted_count, done.index_generation) == (2, 4)
        await put(services, "a/4.md", "alpha")
        assert await services.corpus.DeleteDocumentsByFilter(request) == done
        assert await listed(services) == ["a/4.md", "b/3.md"]
        code, reason, _ = await refused(
            services.corpus.DeleteDocumentsByFilter(document_pb2.DeleteDocumentsByFilterRequest())
        )
        assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


@pytest.mark.parametrize(
    "content",
    [
        b"plain\r\ntext\n",
        "\ufeffmarked".encode(),
        "sixteen ü".encode("utf-16"),
        "caf\u00e9 cr\u00e8me and a lot of plain words".encode("cp1252"),
    ],
)
async def test_the_original_comes_back_byte_by_byte(tmp_path: Path, content: bytes):
    async with running_server(tmp_path) as services:
        made = (await put(services, "a.txt", content=content)).document
        assert await original(services, made.document_id) == content
        assert made.content_sha256 == hashlib.sha256(content).digest()
        assert made.original_bytes == len(content)


async def test_the_media_type_decides_how_a_document_without_a_telling_name_is_read(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = (await put(services, "notes/77", "# Head\n\nalpha", media_type="text/markdown; charset=utf-8")).document
        assert (made.language, made.path) == ("markdown", "notes/77")
        assert await search(services, "alpha") == ["notes/77"]
        assert await search(services, "md") == []
        code, reason, _ = await refused(put(services, "a", "x", media_type="no/such-thing"))
        assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"key": key("../a.md"), "text": "x"}, "key.relative_path"),
        ({"key": key(""), "text": "x"}, "key.relative_path"),
        ({"key": key("a.md")}, "content"),
        ({"key": key("a.md"), "text": ""}, "content"),
        ({"key": key("a.md"), "text": "  \n"}, "content"),
        ({"key": key("a.md"), "content": b"\x00\x01"}, "content"),
        ({"key": key("a.md"), "text": "x", "title": "t" * 2000}, "title"),
        ({"key": key("a.md"), "text": "x", "request_id": "r" * 200}, "request_id"),
        ({"key": key("a.md"), "text": "x", "etag": "e", "must_be_new": True}, "must_be_new"),
        ({"key": key("a.md"), "text": "x", "metadata": {"": text_value("a")}}, "metadata"),
        ({"key": key("a.md"), "text": "x", "metadata": {"a": metadata_pb2.MetadataValue()}}, "metadata['a']"),
        (
            {"key": key("a.md"), "text": "x", "metadata": {"a": metadata_pb2.MetadataValue(number=float("nan"))}},
            "metadata['a']",
        ),
    ],
)
async def test_what_cannot_be_put_is_refused_by_field_and_makes_no_collection(
    tmp_path: Path, fields: dict[str, Any], field: str
):
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await services.corpus.PutDocument(document_pb2.PutDocumentRequest(**fields))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [v.field for v in details(caught.value)["BadRequest"].field_violations] == [field]
