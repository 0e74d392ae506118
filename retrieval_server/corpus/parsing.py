"""Parsing off the event loop: a few files on a thread, many on processes of their own.

Chunking and analysing hold the interpreter's lock, so in bulk they would make every search wait, and use one core.
"""

import asyncio
import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from groundwire.cpu import usable_core_count
from retrieval_server.corpus.documents import ParsedDocument, ParseLimits, SkippedFile, parse_document

File = tuple[str, bytes]
Parsed = ParsedDocument | SkippedFile

# Starting processes costs more than it saves on fewer files.
_BULK_FILE_COUNT = 300
# A file of this size alone may hold the lock for a second, if it is made to be slow to parse.
_LARGE_FILE_BYTES = 256 * 1024
_PR_SET_PDEATHSIG = 1


class Parser:
    """Parses the files of one sync. `close` ends its processes, if it came to have any."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._processes: ProcessPoolExecutor | None = None

    def expect(self, file_count: int) -> None:
        """Learn how many files are to come; many of them bring up the processes at once, ahead of the first file."""
        if file_count >= _BULK_FILE_COUNT and usable_core_count() > 1:
            self._bring_up_processes()

    async def parse(self, files: Sequence[File]) -> list[Parsed]:
        """Return the outcome of each file, in order."""
        if any(len(data) > _LARGE_FILE_BYTES for _, data in files):
            self._bring_up_processes()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._processes, _parse, files, self._limits)

    def close(self) -> None:
        """End the processes."""
        if self._processes is not None:
            self._processes.shutdown(wait=False, cancel_futures=True)
            self._processes = None

    def _bring_up_processes(self) -> None:
        if self._processes is not None:
            return
        # Spawned, not forked: onnxruntime and gRPC have threads in this process.
        self._processes = ProcessPoolExecutor(
            usable_core_count(), multiprocessing.get_context("spawn"), initializer=_follow_parent
        )
        self._processes.submit(_parse, (), self._limits)


def _parse(files: Sequence[File], limits: ParseLimits) -> list[Parsed]:
    return [parse_document(path, data, limits) for path, data in files]


def _follow_parent() -> None:
    """End with the server, however it ends, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
