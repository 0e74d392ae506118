"""Parsing off the event loop: a few files on a thread, many on processes of their own.

Chunking and analysing hold the interpreter's lock, so in bulk they would make every search wait, and use one core.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from groundwire.cpu import usable_core_count
from retrieval_server.corpus.documents.documents import ParsedDocument, ParseLimits, SkippedFile
from retrieval_server.corpus.documents.extraction import runs_native_parser
from retrieval_server.corpus.documents.guarded_processes import Bounds, GuardedProcesses
from retrieval_server.corpus.documents.media_types import parse_as, suffix_of
from retrieval_server.corpus.documents.originals import original_to_keep

# Starting processes costs more than it saves on fewer files.
_BULK_FILE_COUNT = 300
# A file of this size alone may hold the lock for a second, if it is made to be slow to parse.
_LARGE_FILE_BYTES = 256 * 1024
# The largest honest files take a third of either.
_BOUNDS = Bounds(cpu_s=20.0, process_bytes=1024 * 1024 * 1024)


class File(NamedTuple):
    """A file as it came; the media type is "" where nobody named one."""

    relative_path: str
    data: bytes
    media_type: str = ""


class ParsedFile(NamedTuple):
    """A document, and its original where the text does not give it back."""

    document: ParsedDocument
    original: bytes | None

    @property
    def memory_bytes(self) -> int:
        """What it takes in memory, nearly: characters beyond Latin-1 take more, and have more index terms."""
        texts = sum(sys.getsizeof(chunk.text) + sys.getsizeof(chunk.terms) for chunk in self.document.chunks)
        return sys.getsizeof(self.document.decoded.text) + texts + len(self.original or b"")

    def titled(self, set_title: str) -> "ParsedFile":
        """Return the same with a title that a caller set."""
        return self._replace(document=replace(self.document, set_title=set_title)) if set_title else self


Parsed = ParsedFile | SkippedFile


class Parser:
    """Parses the files of one sync. `close` ends its processes, if it came to have any."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._processes: GuardedProcesses[File, Parsed] | None = None

    def expect(self, file_count: int) -> None:
        """Learn how many files are to come; many of them bring up the processes at once, ahead of the first file."""
        if self._processes is None and file_count >= _BULK_FILE_COUNT and usable_core_count() > 1:
            self._bring_up_processes()

    async def parse(self, files: Sequence[File]) -> list[Parsed]:
        """Return the outcome of each file, in order."""
        if any(_needs_process(file) for file in files):
            self._bring_up_processes()
        if self._processes is not None:
            return await self._processes.run(files)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, lambda: [_parse(file, self._limits) for file in files])

    def close(self) -> None:
        """End the processes."""
        if self._processes is not None:
            self._processes.close()
            self._processes = None

    def _bring_up_processes(self) -> None:
        if self._processes is None:
            self._processes = GuardedProcesses(partial(_parse, limits=self._limits), _given_up, _BOUNDS)


def _needs_process(file: File) -> bool:
    names = (file.relative_path, f"x{suffix_of(file.media_type) or ''}")
    return len(file.data) > _LARGE_FILE_BYTES or any(runs_native_parser(name, file.data) for name in names)


def _given_up(file: File) -> Parsed:
    return SkippedFile(file.relative_path, "parsing it takes too much time or memory, or crashes")


def _parse(file: File, limits: ParseLimits) -> Parsed:
    parsed = parse_as(file.relative_path, file.media_type, file.data, limits)
    return (
        parsed if isinstance(parsed, SkippedFile) else ParsedFile(parsed, original_to_keep(parsed.decoded, file.data))
    )
