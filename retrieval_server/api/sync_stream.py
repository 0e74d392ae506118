"""The messages of SyncDocuments, in and out, around a SourceSync."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from google.protobuf import duration_pb2

from groundwire.v1 import error_pb2, sync_pb2
from retrieval_server.api.message_size import fitting_parts
from retrieval_server.corpus.catalog import Catalog, checked_name
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.documents.documents import path_problem
from retrieval_server.corpus.writing.sync import FileOutcome, FileReport, SourceSync, SyncPlan
from retrieval_server.errors import Expired, FieldError, GroundwireError, InvalidRequest, beyond_limit
from retrieval_server.settings import ServerSettings

_MIN_CHUNK_CHARS, _MAX_CHUNK_CHARS = 64, 20_000
_MAX_SOURCE_BYTES = 4096
_MAX_OFFERED_FILES = 1000
_PROGRESS_INTERVAL_S = 0.2
# A message for each would cost more than parsing a small file.
_MAX_REPORTED_FILES = 500
# A message may hold a million empty parts; other calls go on between.
_PARTS_AT_ONCE = 1000

_OUTCOME_TO_PB = {
    FileOutcome.ADDED: sync_pb2.SYNC_FILE_OUTCOME_ADDED,
    FileOutcome.UPDATED: sync_pb2.SYNC_FILE_OUTCOME_UPDATED,
    FileOutcome.UNCHANGED: sync_pb2.SYNC_FILE_OUTCOME_UNCHANGED,
    FileOutcome.REMOVED: sync_pb2.SYNC_FILE_OUTCOME_REMOVED,
    FileOutcome.SKIPPED: sync_pb2.SYNC_FILE_OUTCOME_SKIPPED,
}

Request = sync_pb2.SyncDocumentsRequest
Response = sync_pb2.SyncDocumentsResponse


def checked_chunk_chars(max_chunk_chars: int, field: str) -> int:
    """Return a chunk size. Raises InvalidRequest naming `field`."""
    if not _MIN_CHUNK_CHARS <= max_chunk_chars <= _MAX_CHUNK_CHARS:
        raise InvalidRequest(
            FieldError(field, f"{max_chunk_chars} is not within {_MIN_CHUNK_CHARS} to {_MAX_CHUNK_CHARS}")
        )
    return max_chunk_chars


class SyncStream:
    """One call of SyncDocuments."""

    def __init__(self, catalog: Catalog, settings: ServerSettings) -> None:
        self._catalog = catalog
        self._settings = settings
        self._started = time.perf_counter()
        self._progress_sent = self._started
        self._offered_count = 0
        self._done_count = 0

    async def run(self, requests: AsyncIterator[Request]) -> AsyncGenerator[Response]:
        """Answer each message; end with the summary once everything offered is dealt with and committed."""
        first = await self._next(requests)
        if first is None or first.WhichOneof("message") != "begin":
            raise _wrong_order("the first message must be begin")
        name = self._checked_name(first.begin)
        if first.begin.dry_run and not self._catalog.has(name):
            async for response in self._dry_run_of_nothing(requests):
                yield response
            return
        opened = await self._catalog.get_or_create(name)
        plan = self._plan(first.begin, opened)
        async with SourceSync(opened, plan) as sync:
            complete = False
            while not (complete and not sync.waits_for_content):
                request = await self._next(requests)
                if request is None:
                    raise _wrong_order("the stream ended before offer_complete and all content that was asked for")
                kind = request.WhichOneof("message")
                if kind == "offer" and not complete:
                    for response in self._offer(sync, request.offer):
                        yield response
                elif kind == "contents":
                    for response in await self._contents(sync, request.contents):
                        yield response
                elif kind == "offer_complete" and not complete:
                    complete = True
                    sync.complete_offer()
                else:
                    raise _wrong_order(f"{kind or 'an empty message'} may not come here")
            yield _progress(sync_pb2.SYNC_PHASE_INDEXING, self._done_count, self._offered_count)
            for response in self._told(sync_pb2.SYNC_PHASE_INDEXING, await sync.finish()):
                yield response
            yield Response(summary=self._summary(sync, opened))

    async def _next(self, requests: AsyncIterator[Request]) -> Request | None:
        """Return the next message; a client that stays silent must not hold its source, nor a place, for ever."""
        try:
            async with asyncio.timeout(self._settings.sync_silence_timeout_s):
                return await anext(requests, None)
        except TimeoutError:
            raise Expired(
                error_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
                f"no message came for {self._settings.sync_silence_timeout_s:g} s; sync again to go on",
            ) from None

    async def _dry_run_of_nothing(self, requests: AsyncIterator[Request]) -> AsyncGenerator[Response]:
        """Tell what a collection that is not there would be made of."""
        counts = dict.fromkeys(FileOutcome, 0)
        while True:
            request = await self._next(requests)
            kind = None if request is None else request.WhichOneof("message")
            if request is None or kind not in {"offer", "offer_complete"}:
                raise _wrong_order("a dry run is made of offers, and ends with offer_complete")
            if kind == "offer_complete":
                break
            _check_offer(request.offer)
            reports = []
            self._offered_count += len(request.offer.files)
            for file in request.offer.files:
                problem = path_problem(file.relative_path) or ""
                if not problem and file.size_bytes > self._settings.max_file_bytes:
                    problem = f"{file.size_bytes:,} bytes, more than {self._settings.max_file_bytes:,}"
                outcome = FileOutcome.SKIPPED if problem else FileOutcome.ADDED
                counts[outcome] += 1
                reports.append(FileReport(file.relative_path, outcome, problem))
            for response in self._told(sync_pb2.SYNC_PHASE_READING, reports):
                yield response
        yield Response(
            summary=sync_pb2.SyncSummary(
                added_count=counts[FileOutcome.ADDED],
                skipped_count=counts[FileOutcome.SKIPPED],
                dense_coverage=1.0,
                elapsed=self._elapsed(),
                status=error_pb2.ItemStatus(),
            )
        )

    def _checked_name(self, begin: sync_pb2.SyncBegin) -> str:
        name = checked_name(begin.collection, "begin.collection")
        if begin.HasField("max_chunk_size_chars"):
            checked_chunk_chars(begin.max_chunk_size_chars, "begin.max_chunk_size_chars")
        if not 1 <= len(begin.source.encode()) <= _MAX_SOURCE_BYTES:
            raise InvalidRequest(FieldError("begin.source", f"1 to {_MAX_SOURCE_BYTES} bytes"))
        if len(begin.display_prefix.encode()) > _MAX_SOURCE_BYTES:
            raise InvalidRequest(FieldError("begin.display_prefix", f"at most {_MAX_SOURCE_BYTES} bytes"))
        return name

    def _plan(self, begin: sync_pb2.SyncBegin, opened: OpenCollection) -> SyncPlan:
        max_chunk_chars = opened.collection.current_view.max_chunk_chars
        if begin.HasField("max_chunk_size_chars"):
            max_chunk_chars = begin.max_chunk_size_chars
        return SyncPlan(
            source_key=begin.source,
            display_prefix=begin.display_prefix,
            max_chunk_chars=max_chunk_chars,
            prune=begin.prune,
            dry_run=begin.dry_run,
            max_file_bytes=self._settings.max_file_bytes,
            max_line_chars=self._settings.max_line_chars,
        )

    def _offer(self, sync: SourceSync, offer: sync_pb2.SyncOffer) -> list[Response]:
        _check_offer(offer)
        wanted: list[sync_pb2.SyncWanted] = []
        reports: list[FileReport] = []
        for file in offer.files:
            self._offered_count += 1
            report = sync.offer(file.relative_path, file.sha256, file.size_bytes)
            if report is None:
                wanted.append(sync_pb2.SyncWanted(relative_paths=[file.relative_path]))
            elif report.outcome is FileOutcome.UNCHANGED:
                self._done_count += 1
            else:
                reports.append(report)
        responses = self._told(sync_pb2.SYNC_PHASE_READING, reports)
        for some in fitting_parts(wanted, self._settings, _MAX_OFFERED_FILES):
            paths = [path for one in some for path in one.relative_paths]
            responses.append(Response(wanted=sync_pb2.SyncWanted(relative_paths=paths)))
        return responses

    async def _contents(self, sync: SourceSync, contents: sync_pb2.SyncContents) -> list[Response]:
        reports: list[FileReport] = []
        for number, part in enumerate(contents.parts, 1):
            report = sync.receive(part.relative_path, part.data, last=part.last, unreadable=part.unreadable)
            if report is not None:
                reports.append(report)
            if number % _PARTS_AT_ONCE == 0:
                await asyncio.sleep(0)
        reports += await sync.advance()
        responses = self._told(sync_pb2.SYNC_PHASE_READING, reports)
        if not responses and time.perf_counter() - self._progress_sent >= _PROGRESS_INTERVAL_S:
            responses = [_progress(sync_pb2.SYNC_PHASE_READING, self._done_count, self._offered_count)]
        if responses:
            self._progress_sent = time.perf_counter()
        return responses

    def _told(self, phase: sync_pb2.SyncPhase.ValueType, reports: Sequence[FileReport]) -> list[Response]:
        """Return the progress that files make, and what became of them."""
        files = [
            sync_pb2.SyncFileStatus(
                relative_path=report.relative_path, outcome=_OUTCOME_TO_PB[report.outcome], detail=report.detail
            )
            for report in reports
        ]
        responses = []
        for some in fitting_parts(files, self._settings, _MAX_REPORTED_FILES):
            self._done_count += sum(file.outcome != sync_pb2.SYNC_FILE_OUTCOME_REMOVED for file in some)
            responses.append(_progress(phase, self._done_count, self._offered_count, some))
        return responses

    def _summary(self, sync: SourceSync, opened: OpenCollection) -> sync_pb2.SyncSummary:
        view = opened.collection.current_view
        return sync_pb2.SyncSummary(
            added_count=sync.counts[FileOutcome.ADDED],
            updated_count=sync.counts[FileOutcome.UPDATED],
            unchanged_count=sync.counts[FileOutcome.UNCHANGED],
            removed_count=sync.counts[FileOutcome.REMOVED],
            skipped_count=sync.counts[FileOutcome.SKIPPED],
            chunk_count=view.chunk_count,
            index_generation=view.generation,
            dense_coverage=view.dense_coverage,
            elapsed=self._elapsed(),
            status=error_pb2.ItemStatus(),
        )

    def _elapsed(self) -> duration_pb2.Duration:
        elapsed = duration_pb2.Duration()
        elapsed.FromMilliseconds(round((time.perf_counter() - self._started) * 1000))
        return elapsed


def _check_offer(offer: sync_pb2.SyncOffer) -> None:
    count = len(offer.files)
    if count > _MAX_OFFERED_FILES:
        description = f"{count:,} files, at most {_MAX_OFFERED_FILES:,}"
        raise beyond_limit("offer.files", description, limit=_MAX_OFFERED_FILES, actual=count)


def _progress(
    phase: sync_pb2.SyncPhase.ValueType,
    done_count: int,
    total_count: int,
    files: Sequence[sync_pb2.SyncFileStatus] = (),
) -> Response:
    return Response(
        progress=sync_pb2.SyncProgress(phase=phase, done_count=done_count, total_count=total_count, files=files)
    )


def _wrong_order(message: str) -> GroundwireError:
    return GroundwireError(error_pb2.ERROR_REASON_PROTOCOL_ORDER, message)
