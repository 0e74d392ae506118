"""A client of SyncDocuments and Retrieve, in a few lines."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from groundwire.v1 import collection_pb2, retrieval_service_pb2, sync_pb2
from tests.retrieval_server.api.support import Services

Request = sync_pb2.SyncDocumentsRequest
Batch = retrieval_service_pb2.BatchRetrieveRequest


async def sync(services: Services, files: Mapping[str, bytes], files_per_offer: int = 1000, **begin: Any) -> list[Any]:
    """Run a whole sync; return all responses."""
    begin = {"source": "/src", "display_prefix": "src", **begin}
    outgoing: asyncio.Queue[Any] = asyncio.Queue()
    offers = [
        sync_pb2.OfferedFile(relative_path=p, sha256=hashlib.sha256(d).digest(), size_bytes=len(d))
        for p, d in files.items()
    ]
    outgoing.put_nowait(Request(begin=sync_pb2.SyncBegin(**begin)))
    for start in range(0, max(len(offers), 1), files_per_offer):
        some = offers[start : start + files_per_offer]
        outgoing.put_nowait(Request(offer=sync_pb2.SyncOffer(files=some)))
    outgoing.put_nowait(Request(offer_complete=sync_pb2.SyncOfferComplete()))

    async def requests() -> AsyncIterator[Any]:
        while (request := await outgoing.get()) is not None:
            yield request

    responses = []
    async for response in services.corpus.SyncDocuments(requests()):
        responses.append(response)
        for path in response.wanted.relative_paths:
            middle = len(files[path]) // 2
            parts = [
                sync_pb2.FilePart(relative_path=path, data=files[path][:middle]),
                sync_pb2.FilePart(relative_path=path, data=files[path][middle:], last=True),
            ]
            outgoing.put_nowait(Request(contents=sync_pb2.SyncContents(parts=parts)))
        if response.HasField("summary"):
            outgoing.put_nowait(None)
    return responses


def outcomes(responses: list[Any]) -> dict[str, str]:
    return {
        file.relative_path: sync_pb2.SyncFileOutcome.Name(file.outcome).removeprefix("SYNC_FILE_OUTCOME_")
        for response in responses
        for file in response.progress.files
    }


async def search(services: Services, query: str, **fields: Any) -> list[str]:
    response = await services.retrieval.Retrieve(retrieval_service_pb2.RetrieveRequest(query=query, **fields))
    return [p.path for p in response.passages]


async def stats(services: Services) -> collection_pb2.CorpusStats:
    return (await services.corpus.GetCorpusStats(collection_pb2.GetCorpusStatsRequest())).stats


async def until_embedded(services: Services) -> None:
    """Wait for the vectors of a sync that is too large for them to be computed at once."""
    async with asyncio.timeout(60):
        while (await stats(services)).dense_coverage < 1:
            await asyncio.sleep(0.02)
