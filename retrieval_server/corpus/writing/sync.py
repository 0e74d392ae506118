"""Bringing one source up to date: what to ask for, what came, what to commit."""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Self

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.database.reader import CorpusReader, StoredFile
from retrieval_server.corpus.documents.changes import EmbeddedWindows, SourceChange
from retrieval_server.corpus.documents.documents import ParsedDocument, SkippedFile, path_problem
from retrieval_server.corpus.documents.moved_windows import MovedFile
from retrieval_server.corpus.exclusion import Work, collection_busy, sync_in_progress
from retrieval_server.corpus.writing.parsing import File, Parsed, ParsedFile, Parser
from retrieval_server.corpus.writing.shared_paths import shared_paths
from retrieval_server.errors import FieldError, GroundwireError, InvalidRequest
from retrieval_server.heap import give_back_freed_memory

# Files are parsed in batches of about this size, a few batches at a time.
_BATCH_BYTES = 512 * 1024
_MAX_BATCHES_IN_FLIGHT = 4
# Parsed documents are held until they take this much memory, then committed; each commit is whole by itself.
_COMMIT_BYTES = 128 * 1024 * 1024
_LARGE_COMMIT_BYTES = 4 * 1024 * 1024
_SHA256_BYTES = 32


class FileOutcome(Enum):
    """What happened to one file."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file's outcome, with the reason when it was skipped, or what another source shows at its path."""

    relative_path: str
    outcome: FileOutcome
    detail: str = ""


@dataclass(frozen=True)
class SyncPlan:
    """How a sync treats its source."""

    source_key: str
    display_prefix: str
    max_chunk_chars: int
    prune: bool
    dry_run: bool
    max_file_bytes: int
    max_line_chars: int


@dataclass
class _Incoming:
    relative_path: str
    data: bytearray = field(default_factory=bytearray)


class SourceSync:
    """One sync in progress; a source takes one at a time. Use as an async context manager."""

    def __init__(self, opened: OpenCollection, plan: SyncPlan) -> None:
        self._opened = opened
        self._plan = plan
        settings = replace(opened.collection.current_view.settings, max_chunk_chars=plan.max_chunk_chars)
        self._parser = Parser(settings.limits(max_file_bytes=plan.max_file_bytes, max_line_chars=plan.max_line_chars))
        self._stored: dict[str, StoredFile] = {}
        self._stored_prefix: str | None = None
        self._offered: set[str] = set()
        self._wanted: set[str] = set()
        self._incoming: _Incoming | None = None
        self._arrived: list[File] = []
        self._parsing: deque[asyncio.Task[list[Parsed]]] = deque()
        self._held: list[ParsedFile] = []
        self._held_bytes = 0
        self._superseded: list[str] = []
        self._is_offer_complete = False
        self._committing: asyncio.Future[int] | None = None
        self.counts = dict.fromkeys(FileOutcome, 0)

    async def __aenter__(self) -> Self:
        if self._plan.source_key in self._opened.syncing_sources:
            raise sync_in_progress(self._opened.name, self._plan.source_key)
        if self._opened.is_being_replaced:  # what is compared now is not what would be committed to
            raise collection_busy(self._opened.name, Work.RESTORE)
        self._opened.syncing_sources.add(self._plan.source_key)
        try:
            self._stored, self._stored_prefix = await self._opened.read(self._read_stored)
        except BaseException:
            self._opened.syncing_sources.discard(self._plan.source_key)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            for batch in self._parsing:
                batch.cancel()
            await asyncio.gather(*self._parsing, return_exceptions=True)
            if self._committing is not None:
                # A commit is not interrupted; whoever syncs next must find what it did.
                await asyncio.wait([self._committing])
        finally:
            self._parser.close()
            self._opened.syncing_sources.discard(self._plan.source_key)

    def _read_stored(self, reader: CorpusReader) -> tuple[dict[str, StoredFile], str | None]:
        return reader.files_of_source(self._plan.source_key), reader.display_prefix(self._plan.source_key)

    @property
    def waits_for_content(self) -> bool:
        """Whether files that were asked for have not come yet."""
        return bool(self._wanted)

    def offer(self, relative_path: str, sha256: bytes, size_bytes: int) -> FileReport | None:
        """Take an offer: a report when its outcome is known already, None when its content is wanted."""
        problem = path_problem(relative_path)
        if problem:
            return self._report(FileReport(relative_path, FileOutcome.SKIPPED, problem))
        if len(sha256) != _SHA256_BYTES:
            raise InvalidRequest(FieldError("offer.files.sha256", f"{_SHA256_BYTES} bytes"))
        if relative_path in self._offered:
            return self._report(FileReport(relative_path, FileOutcome.SKIPPED, "offered twice"))
        self._offered.add(relative_path)
        stored = self._stored.get(relative_path)
        if stored and stored.sha256 == sha256 and stored.max_chunk_chars == self._plan.max_chunk_chars:
            return self._report(FileReport(relative_path, FileOutcome.UNCHANGED))
        if size_bytes > self._plan.max_file_bytes:
            detail = f"{size_bytes:,} bytes, more than {self._plan.max_file_bytes:,}"
            return self._not_taken(relative_path, detail)
        if self._plan.dry_run:
            return self._report(FileReport(relative_path, self._outcome_of(relative_path)))
        self._wanted.add(relative_path)
        self._parser.expect(len(self._wanted))
        return None

    def complete_offer(self) -> None:
        """Learn that everything has been offered: what was not has vanished, or been moved."""
        self._is_offer_complete = True

    def receive(self, relative_path: str, data: bytes, *, last: bool, unreadable: bool) -> FileReport | None:
        """Take a part of a file's content; a report for a file that cannot be read. `advance` reports the others."""
        if relative_path not in self._wanted:
            raise GroundwireError(
                error_pb2.ERROR_REASON_PROTOCOL_ORDER, f"content of {relative_path!r} came without being asked for"
            )
        if self._incoming is None:
            self._incoming = _Incoming(relative_path)
        if self._incoming.relative_path != relative_path:
            raise GroundwireError(
                error_pb2.ERROR_REASON_PROTOCOL_ORDER,
                f"content of {relative_path!r} came before the last part of {self._incoming.relative_path!r}",
            )
        if unreadable:
            self._wanted.discard(relative_path)
            self._incoming = None
            return self._report(FileReport(relative_path, FileOutcome.SKIPPED, "could not be read"))
        # One byte above the limit is enough to know, and keeps a file that grew meanwhile out of memory.
        room = self._plan.max_file_bytes + 1 - len(self._incoming.data)
        self._incoming.data += data[: max(0, room)]
        if last:
            self._arrived.append(File(relative_path, bytes(self._incoming.data)))
            self._incoming = None
            self._wanted.discard(relative_path)
        return None

    async def advance(self) -> list[FileReport]:
        """Parse what arrived, wait only for what is too much in flight, and report what is done."""
        batch: list[File] = []
        batch_bytes = 0
        reports: list[FileReport] = []
        for file in self._arrived:
            batch.append(file)
            batch_bytes += len(file.data)
            if batch_bytes >= _BATCH_BYTES:
                reports += await self._start(batch)
                batch, batch_bytes = [], 0
        self._arrived = []
        if batch:
            reports += await self._start(batch)
        while self._parsing and self._parsing[0].done():
            reports += await self._take(await self._parsing.popleft())
        return reports

    async def finish(self) -> list[FileReport]:
        """Commit what came, with what vanished if asked to; return the reports that are still due."""
        reports = await self.advance()
        while self._parsing:
            reports += await self._take(await self._parsing.popleft())
        vanished = sorted(self._stored.keys() - self._offered) if self._plan.prune else []
        reports += [self._report(FileReport(path, FileOutcome.REMOVED)) for path in vanished]
        if not self._plan.dry_run:
            await self._commit([*self._superseded, *vanished])
            # A repetition after OUTCOME_UNKNOWN finds everything stored and must still not end before it is visible.
            await self._opened.write(Collection.catch_up)
        return reports

    async def _start(self, batch: list[File]) -> list[FileReport]:
        self._parsing.append(asyncio.create_task(self._parser.parse(batch)))
        if len(self._parsing) <= _MAX_BATCHES_IN_FLIGHT:
            return []
        return await self._take(await self._parsing.popleft())

    async def _take(self, batch: list[Parsed]) -> list[FileReport]:
        reports = []
        taken = [parsed.document.relative_path for parsed in batch if isinstance(parsed, ParsedFile)]
        shared = await shared_paths(self._opened, self._plan.source_key, self._plan.display_prefix, taken)
        for parsed in batch:
            if isinstance(parsed, SkippedFile):
                reports.append(self._not_taken(parsed.relative_path, parsed.detail))
                continue
            path = parsed.document.relative_path
            reports.append(self._report(FileReport(path, self._outcome_of(path), shared.get(path, ""))))
            stored = self._stored.get(path)
            self._held.append(parsed.titled(stored.set_title) if stored else parsed)
            self._held_bytes += parsed.memory_bytes
        if self._held_bytes >= _COMMIT_BYTES:
            await self._commit(())
        return reports

    def _not_taken(self, relative_path: str, detail: str) -> FileReport:
        """Skip a file; an older version of it must not stand in for what is there now."""
        if relative_path in self._stored:
            self._superseded.append(relative_path)
        return self._report(FileReport(relative_path, FileOutcome.SKIPPED, detail))

    async def _commit(self, removed: Iterable[str]) -> None:
        is_large = self._held_bytes >= _LARGE_COMMIT_BYTES
        await self._commit_held(removed)
        if is_large:
            await asyncio.to_thread(give_back_freed_memory)

    async def _commit_held(self, removed: Iterable[str]) -> None:
        held, self._held, self._held_bytes = self._held, [], 0
        documents = [parsed.document for parsed in held]
        removed_paths = tuple(removed)
        is_renamed = self._stored_prefix is not None and self._stored_prefix != self._plan.display_prefix
        if not documents and not removed_paths and not is_renamed:
            return
        change = SourceChange(
            source_key=self._plan.source_key,
            display_prefix=self._plan.display_prefix,
            max_chunk_chars=self._plan.max_chunk_chars,
            documents=documents,
            removed_paths=removed_paths,
            windows_by_path=await self._windows_of(documents),
            originals_by_path={p.document.relative_path: p.original for p in held if p.original is not None},
        )
        self._committing = asyncio.ensure_future(self._opened.write(Collection.apply, change))
        await asyncio.shield(self._committing)
        self._stored_prefix = self._plan.display_prefix

    async def _windows_of(self, documents: list[ParsedDocument]) -> dict[str, list[EmbeddedWindows]]:
        """Return the windows of what was moved, which are there, and of a small change, which are made."""
        kept: dict[str, list[EmbeddedWindows]] = {}
        if self._is_offer_complete and (moved := self._moved(documents)):
            kept = await self._opened.read(lambda reader: reader.moved_windows(self._plan.source_key, moved))
        return kept | await self._opened.embed_now([one for one in documents if one.relative_path not in kept])

    def _moved(self, documents: list[ParsedDocument]) -> list[MovedFile]:
        vanished = {
            (stored.sha256, stored.max_chunk_chars): path
            for path, stored in self._stored.items()
            if path not in self._offered and not stored.set_title
        }
        asked = self._plan.max_chunk_chars
        return [
            MovedFile(document, vanished[document.sha256, asked])
            for document in documents
            if (document.sha256, asked) in vanished and not document.set_title
        ]

    def _outcome_of(self, relative_path: str) -> FileOutcome:
        return FileOutcome.UPDATED if relative_path in self._stored else FileOutcome.ADDED

    def _report(self, report: FileReport) -> FileReport:
        self.counts[report.outcome] += 1
        return report
