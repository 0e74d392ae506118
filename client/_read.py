"""Opening files so that nothing hangs, and telling which are worth offering."""

import codecs
import errno
import os
import stat
from io import RawIOBase
from typing import BinaryIO

MAX_FILE_BYTES = 4 * 1024 * 1024
_BINARY_PROBE_BYTES = 8 * 1024
_READ_BYTES = 1024 * 1024
# Documents that have zero bytes: text in wide characters, and PDFs, which may have something before their header.
# The mark of UTF-32 in little-endian order begins with that of UTF-16.
_WIDE_TEXT_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_PDF_HEADER = b"%PDF-"
_PDF_PROBE_BYTES = 1024
# Such a file has vanished or become something else since it was listed, so there is nothing left to read.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENXIO, errno.ELOOP})


class NotTakenError(Exception):
    """A file is not offered; `str()` says why. `unreadable` is True when it might be worth having all the same."""

    def __init__(self, reason: str, *, unreadable: bool = False) -> None:
        super().__init__(reason)
        self.unreadable = unreadable


class TreeFiles:
    """The files below a folder, each of which is opened once: a file may be looked into before it is taken."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: dict[str, bytes | NotTakenError] = {}

    def look_into(self, relative_path: str) -> bytes:
        """Return the bytes of a regular file, which stay here until it is taken; raise NotTakenError otherwise."""
        try:
            self._seen[relative_path] = content = self._read(relative_path)
        except NotTakenError as refusal:
            self._seen[relative_path] = refusal
            raise
        return content

    def take_text(self, relative_path: str) -> bytes:
        """Return the bytes of a regular file that looks like text or a PDF; raise NotTakenError otherwise."""
        seen = self._seen.pop(relative_path, None)
        if isinstance(seen, NotTakenError):
            raise seen
        content = self._read(relative_path) if seen is None else seen
        if not content:
            raise NotTakenError("empty")
        if content.find(0, 0, _BINARY_PROBE_BYTES) >= 0 and not _is_known_to_hold_text(content):
            raise NotTakenError("binary")
        return content

    def _read(self, relative_path: str) -> bytes:
        return read_regular_file(os.path.join(self._folder, relative_path))


def _is_known_to_hold_text(content: bytes) -> bool:
    return content.startswith(_WIDE_TEXT_MARKS) or content.find(_PDF_HEADER, 0, _PDF_PROBE_BYTES) >= 0


def read_regular_file(path: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `max_bytes`; raise NotTakenError otherwise."""
    try:
        # A FIFO that took the file's place since it was listed would block for ever without O_NONBLOCK.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise NotTakenError("not a regular file")
            if status.st_size > max_bytes:
                raise NotTakenError(too_large(max_bytes))
            content = read_up_to(file, max_bytes + 1)
    except OSError as error:
        raise NotTakenError(cannot_read(error), unreadable=error.errno not in _GONE) from None
    if len(content) > max_bytes:
        raise NotTakenError(too_large(max_bytes))
    return content


def read_up_to(file: RawIOBase | BinaryIO, max_bytes: int) -> bytes:
    """Return all that is in `file`, at most `max_bytes` of it; one call may return less than there is."""
    parts: list[bytes] = []
    room = max_bytes
    while room > 0:
        part = file.read(min(room, _READ_BYTES))
        if part is None:
            raise OSError(errno.EAGAIN, "has nothing to read now")
        if not part:
            break
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def cannot_read(error: OSError) -> str:
    """Return the reason for people."""
    if error.errno == errno.ENXIO:  # a socket
        return "not a regular file"
    return f"cannot be read: {(error.strerror or 'unknown error').lower()}"


def too_large(max_bytes: int) -> str:
    """Return the reason for people."""
    return f"larger than {max_bytes // 1024 // 1024} MiB"
