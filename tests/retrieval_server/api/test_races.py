"""Many callers at once on one document, and requests that come again."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import field_mask_pb2

from groundwire.v1 import collection_pb2, document_pb2, filter_pb2, metadata_pb2, retrieval_service_pb2
from tests.retrieval_server.api.support import Services, details, running_server
from tests.retrieval_server.api.sync_support import stats, sync

AT_ONCE = 12


def text(value: str) -> metadata_pb2.MetadataValue:
    return metadata_pb2.MetadataValue(text=value)


def put(services: Services, path: str, content: str, **fields: Any) -> Any:
    key = document_pb2.DocumentKey(relative_path=path)
    return services.corpus.PutDocument(document_pb2.PutDocumentRequest(key=key, text=content, **fields))


def update(services: Services, document_id: str, name: str, **fields: Any) -> Any:
    mask = field_mask_pb2.FieldMask(paths=[f"metadata.{name}"])
    request = document_pb2.UpdateDocumentRequest(
        document_id=document_id, metadata={name: text(name)}, update_mask=mask, **fields
    )
    return services.corpus.UpdateDocument(request)


async def outcome(call: Any) -> str:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return str(details(error)["ErrorInfo"].reason)
    return "OK"


async def test_equal_requests_at_once_happen_once_and_are_told_the_same(tmp_path: Path):
    async with running_server(tmp_path) as services:
        told = await asyncio.gather(*(put(services, "a.md", "alpha", request_id="r") for _ in range(AT_ONCE)))
        assert all(one == told[0] for one in told)
        assert told[0].index_generation == 1
        document_id = told[0].document.document_id
        changed = await asyncio.gather(*(update(services, document_id, "k", request_id="r") for _ in range(AT_ONCE)))
        assert all(one == changed[0] for one in changed)
        delete = document_pb2.DeleteDocumentRequest(document_id=document_id, request_id="r")
        gone = await asyncio.gather(*(services.corpus.DeleteDocument(delete) for _ in range(AT_ONCE)))
        assert {one.index_generation for one in gone} == {3}


async def test_of_unequal_requests_with_one_id_one_happens_and_the_others_are_refused(tmp_path: Path):
    async with running_server(tmp_path) as services:
        calls = (outcome(put(services, f"{i}.md", f"alpha {i}", request_id="r")) for i in range(AT_ONCE))
        assert Counter(await asyncio.gather(*calls)) == {"OK": 1, "REQUEST_ID_CONFLICT": AT_ONCE - 1}
        assert (await stats(services)).document_count == 1


async def test_of_changes_to_one_version_one_happens(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = (await put(services, "a.md", "alpha")).document
        calls = (outcome(put(services, "a.md", f"beta {i}", etag=made.etag)) for i in range(AT_ONCE))
        assert Counter(await asyncio.gather(*calls)) == {"OK": 1, "ETAG_MISMATCH": AT_ONCE - 1}


async def test_changes_of_several_fields_at_once_all_happen(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = (await put(services, "a.md", "alpha")).document
        await asyncio.gather(*(update(services, made.document_id, f"k{i}") for i in range(AT_ONCE)))
        found = (await services.corpus.GetDocument(document_pb2.GetDocumentRequest(path="a.md"))).document
        assert set(found.metadata) == {f"k{i}" for i in range(AT_ONCE)}


async def test_whatever_goes_on_at_once_ends_in_one_state_that_all_agree_about(tmp_path: Path):
    chance = random.Random(11)
    async with running_server(tmp_path) as services:
        paths = [f"{i}.md" for i in range(6)]

        async def change(number: int) -> str:
            path, kind = chance.choice(paths), number % 6
            if kind == 0:
                files = {one: f"alpha synced {number} {one}".encode() for one in chance.sample(paths, 4)}
                await sync(services, files, source="api", display_prefix="", prune=number % 12 == 0)
                return "OK"
            if kind == 1:
                wanted = filter_pb2.PassageFilter(include_paths=[path])
                return await outcome(
                    services.corpus.DeleteDocumentsByFilter(document_pb2.DeleteDocumentsByFilterRequest(filter=wanted))
                )
            if kind == 2:
                documents = (await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest())).documents
                ids = [one.document_id for one in documents]
                return await outcome(update(services, chance.choice(ids), f"k{number % 5}")) if ids else "OK"
            if kind == 3:
                async for _ in services.corpus.RebuildCollection(collection_pb2.RebuildCollectionRequest(full=True)):
                    pass
                return "OK"
            return await outcome(put(services, path, f"alpha put {number} {path}", request_id=f"r{number // 2}"))

        await put(services, "0.md", "alpha")
        seen: Counter[str] = Counter()
        for start in range(0, 60, 6):
            seen.update(await asyncio.gather(*(outcome_of(change(start + i)) for i in range(6))))
        assert set(seen) <= {"OK", "DOCUMENT_NOT_FOUND", "REQUEST_ID_CONFLICT", "SYNC_IN_PROGRESS"}, seen
        await agree(services)
    async with running_server(tmp_path) as services:
        await agree(services)


async def outcome_of(change: Any) -> str:
    try:
        return str(await change)
    except grpc.aio.AioRpcError as error:
        return str(details(error)["ErrorInfo"].reason)


async def agree(services: Services) -> None:
    """The list, the texts, the counts and both searches speak of the same documents."""
    documents = (await services.corpus.ListDocuments(document_pb2.ListDocumentsRequest())).documents
    request = retrieval_service_pb2.RetrieveRequest(
        query="alpha", k=100, fusion=retrieval_service_pb2.FusionOverrides(dense_weight=0)
    )
    found = {one.path for one in (await services.retrieval.Retrieve(request)).passages}
    assert found == {one.path for one in documents}
    counted = await stats(services)
    assert counted.document_count == len(documents)
    assert counted.chunk_count == counted.embedded_chunk_count == len(documents)
