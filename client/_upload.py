"""The client's half of SyncDocuments: offer hashes, send what is asked for, collect what happened."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from client import _convert_corpus
from client._corpus_types import SyncedFile, SyncProgress, SyncSummary
from client._message_fields import building
from client._read import NotTakenError, read_regular_file
from client._rpc import Rpc
from client._walk import Root, Scan
from client.errors import ServerFault
from groundwire.v1 import corpus_service_pb2_grpc, sync_pb2

_OFFER_COUNT = 500
_PART_BYTES = 2 * 1024 * 1024
_MAX_PART_COUNT = 1000
_Request = sync_pb2.SyncDocumentsRequest


@dataclass(slots=True)
class _Heard:
    """What the server has said so far."""

    wanted: asyncio.Queue[Sequence[str] | None] = field(default_factory=asyncio.Queue)
    files: list[SyncedFile] = field(default_factory=list)
    summary: SyncSummary | None = None


async def upload(
    rpc: Rpc, begin: sync_pb2.SyncBegin, scan: Scan, *, on_progress: Callable[[SyncProgress], None]
) -> tuple[SyncSummary, tuple[SyncedFile, ...]]:
    """Bring the source up to date; return the server's summary and what happened to each file."""
    stub = corpus_service_pb2_grpc.CorpusServiceStub(rpc.channel)
    offered = {file.relative_path for file in scan.files}
    heard = _Heard()
    with rpc.call() as metadata:
        call = stub.SyncDocuments(metadata=metadata)

        async def send() -> None:
            for offer in _offers(begin, scan):
                await call.write(offer)
            while (paths := await heard.wanted.get()) is not None:
                messages = _contents(scan, paths)
                while (contents := await asyncio.to_thread(_next_of, messages)) is not None:
                    await call.write(contents)
            await call.done_writing()

        stream: AsyncGenerator[sync_pb2.SyncDocumentsResponse, None] = rpc.converse(call, send())
        async with aclosing(stream) as responses:
            async for response in responses:
                _hear(response, heard, offered, on_progress)
    if heard.summary is None:
        raise ServerFault("the server ended the sync without a summary")
    return heard.summary, tuple(heard.files)


def _hear(
    response: sync_pb2.SyncDocumentsResponse,
    heard: _Heard,
    offered: set[str],
    on_progress: Callable[[SyncProgress], None],
) -> None:
    match response.WhichOneof("message"):
        case "wanted":
            paths = list(response.wanted.relative_paths)
            for path in paths:
                if path not in offered:  # whoever answers must not get files by guessing names
                    raise ServerFault(f"the server asked for {path!r}, which was not offered")
            heard.wanted.put_nowait(paths)
        case "progress":
            progress = _convert_corpus.sync_progress(response.progress)
            heard.files += progress.files
            on_progress(progress)
        case "summary":
            heard.summary = _convert_corpus.sync_summary(response.summary)
            heard.wanted.put_nowait(None)
        case _:
            raise ServerFault("the server sent a message that this client does not know")


def _offers(begin: sync_pb2.SyncBegin, scan: Scan) -> Iterator[_Request]:
    yield _Request(begin=begin)
    for start in range(0, len(scan.files), _OFFER_COUNT):
        files = [
            sync_pb2.OfferedFile(relative_path=file.relative_path, sha256=file.sha256, size_bytes=file.size_bytes)
            for file in scan.files[start : start + _OFFER_COUNT]
        ]
        yield _Request(offer=sync_pb2.SyncOffer(files=files))
    yield _Request(offer_complete=sync_pb2.SyncOfferComplete())


def _next_of(messages: Iterator[_Request]) -> _Request | None:
    return next(messages, None)


def _contents(scan: Scan, paths: Sequence[str]) -> Iterator[_Request]:
    """Yield the files, several small ones to a message, and let go of them; one that is gone is sent as unreadable.

    Those that were not kept are sent as they are now.
    """
    parts: list[sync_pb2.FilePart] = []
    size_bytes = 0
    for path in paths:
        try:
            content = scan.contents.pop(path, None)
            if content is None:
                content = read_regular_file(os.path.join(scan.root.folder, path))
        except NotTakenError:
            file_parts = [sync_pb2.FilePart(relative_path=path, last=True, unreadable=True)]
        else:
            file_parts = _parts(path, content)
        for part in file_parts:
            if parts and (size_bytes + len(part.data) > _PART_BYTES or len(parts) == _MAX_PART_COUNT):
                yield _Request(contents=sync_pb2.SyncContents(parts=parts))
                parts, size_bytes = [], 0
            parts.append(part)
            size_bytes += len(part.data)
    if parts:
        yield _Request(contents=sync_pb2.SyncContents(parts=parts))


def _parts(path: str, content: bytes) -> list[sync_pb2.FilePart]:
    starts = range(0, len(content), _PART_BYTES) if content else range(1)
    return [
        sync_pb2.FilePart(
            relative_path=path, data=content[start : start + _PART_BYTES], last=start + _PART_BYTES >= len(content)
        )
        for start in starts
    ]


def sync_begin(
    root: Root, *, collection: str, max_chunk_size_chars: int | None, prune: bool, dry_run: bool
) -> sync_pb2.SyncBegin:
    """Return the message that opens a sync."""
    with building("source"):
        begin = sync_pb2.SyncBegin(source=root.source, display_prefix=root.display_prefix, prune=prune, dry_run=dry_run)
    with building("collection"):
        begin.collection = collection
    with building("max_chunk_size_chars"):
        if max_chunk_size_chars is not None:
            begin.max_chunk_size_chars = max_chunk_size_chars
    return begin
