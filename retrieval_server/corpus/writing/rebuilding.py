"""Parsing a collection's documents anew from their originals, while searches go on with what is there."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.database.document_rows import StoredDocument
from retrieval_server.corpus.documents.changes import SourceChange
from retrieval_server.corpus.documents.documents import ANY_LINE_CHARS, SkippedFile
from retrieval_server.corpus.writing.parsing import File, ParsedFile, Parser
from retrieval_server.errors import Cancelled

_log = structlog.get_logger()

# A batch is held in memory whole, as bytes, texts and chunks.
_BATCH_COUNT = 64
_BATCH_BYTES = 8 * 1024 * 1024
# Reading what there is to do, one hard document and the fresh index at the end may each take minutes: callers and what
# lies between must not take that for a dead connection.
_HEARTBEAT_S = 2.0


@dataclass(frozen=True, slots=True)
class RebuildProgress:
    """How far a rebuild is; documents that can no longer be parsed are kept as they are."""

    done_count: int
    total_count: int
    kept_count: int
    generation: int
    is_finished: bool


class Rebuild:
    """One rebuild of one collection. It goes on when nobody follows it, and ends with the server."""

    def __init__(self, opened: OpenCollection, *, full: bool, when_done: Callable[[], None]) -> None:
        self._opened = opened
        self._full = full
        self._changed = asyncio.Condition()
        self._progress = RebuildProgress(0, 0, 0, opened.collection.current_view.generation, is_finished=False)
        self._task = asyncio.create_task(self._run(), name=f"rebuild-{opened.name}", context=contextvars.Context())
        self._when_done = when_done
        self._task.add_done_callback(self._ended)

    @property
    def is_running(self) -> bool:
        """Tell whether it has not ended yet."""
        return not self._task.done()

    def does(self, *, full: bool) -> bool:
        """Tell whether it does what one that is so asked for would do."""
        return self._full or not full

    async def follow(self) -> AsyncGenerator[RebuildProgress]:
        """Yield progress as it is made, the same again every few seconds, at last a finished one.

        Raises what it failed with, or Cancelled.
        """
        shown = None
        while True:
            async with self._changed:
                if self._progress is shown and self.is_running:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_HEARTBEAT_S):
                            await self._changed.wait()
            shown = self._progress
            if shown.is_finished or not self.is_running:
                if self._task.cancelled():
                    raise Cancelled(
                        error_pb2.ERROR_REASON_JOB_CANCELLED,
                        f"the rebuild of {self._opened.name} ended with the server; ask for it again to go on",
                    )
                await self._task
                yield self._progress
                return
            yield shown

    async def close(self) -> None:
        """End it after the commit that it is at."""
        self._task.cancel()
        await asyncio.wait([self._task])

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:  # perhaps nobody follows
            _log.error("rebuild failed", collection=self._opened.name, exc_info=error)
        self._when_done()

    async def _run(self) -> None:
        try:
            waiting = await self._opened.read(lambda reader: reader.documents_to_rebuild(full=self._full))
            await self._tell(done=0, total=len(waiting), kept=0)
            done = kept = 0
            for batch in _batches(waiting):
                kept += await self._rebuild(batch)
                done += len(batch)
                await self._tell(done=done, total=len(waiting), kept=kept)
            await self._opened.write(Collection.compact)
            await self._tell(done=done, total=len(waiting), kept=kept, is_finished=True)
            _log.info("collection rebuilt", collection=self._opened.name, document_count=done, kept_count=kept)
        finally:
            async with self._changed:
                self._changed.notify_all()

    async def _rebuild(self, documents: Sequence[StoredDocument]) -> int:
        """Replace what these documents were split into; return how many had to be kept."""
        settings = self._opened.collection.current_view.settings
        originals = await self._opened.read(lambda reader: reader.originals_of(documents))
        rows_by_path = {document.relative_path: document for document in documents}
        parsed = [
            one.titled(rows_by_path[one.document.relative_path].set_fields.title or "")
            for one in await _parse(documents, originals, settings)
        ]
        change = SourceChange(
            source_key=documents[0].source_key,
            display_prefix=None,
            max_chunk_chars=settings.max_chunk_chars,
            documents=[one.document for one in parsed],
            windows_by_path=await self._opened.embed_whole([one.document for one in parsed]),
            originals_by_path={p.document.relative_path: p.original for p in parsed if p.original is not None},
            # Whoever changed a document meanwhile has made it anew already.
            rebuilt_etags={p.document.relative_path: rows_by_path[p.document.relative_path].etag for p in parsed},
        )
        rebuilt = {one.document.relative_path for one in parsed}
        kept = [document.document_row for document in documents if document.relative_path not in rebuilt]
        await self._opened.write(Collection.rebuild_documents, change, kept)
        return len(kept)

    async def _tell(self, *, done: int, total: int, kept: int, is_finished: bool = False) -> None:
        generation = self._opened.collection.current_view.generation
        async with self._changed:
            self._progress = RebuildProgress(done, total, kept, generation, is_finished)
            self._changed.notify_all()


def _batches(documents: Sequence[StoredDocument]) -> Iterator[list[StoredDocument]]:
    """Yield documents in order, as many at a time as are of one source, which a commit is about, and not too large."""
    batch: list[StoredDocument] = []
    batch_bytes = 0
    for document in documents:
        size_bytes = max(document.original_bytes, document.char_count)
        is_full = len(batch) == _BATCH_COUNT or batch_bytes + size_bytes > _BATCH_BYTES
        if batch and (is_full or document.source_key != batch[0].source_key):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(document)
        batch_bytes += size_bytes
    if batch:
        yield batch


async def _parse(
    documents: Sequence[StoredDocument], originals: dict[int, bytes], settings: CollectionSettings
) -> list[ParsedFile]:
    """Parse what was taken before, whatever today's limits on size are."""
    files = [
        File(document.relative_path, originals[document.document_row], document.media_type)
        for document in documents
        if document.document_row in originals
    ]
    largest = max((len(file.data) for file in files), default=0)
    parser = Parser(settings.limits(max_file_bytes=largest, max_line_chars=ANY_LINE_CHARS))
    try:
        outcomes = await parser.parse(files)
    finally:
        parser.close()
    return [outcome for outcome in outcomes if not isinstance(outcome, SkippedFile)]
