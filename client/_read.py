"""Opening files so that nothing hangs, and telling which are worth offering."""

import codecs
import errno
import os
import stat

MAX_FILE_BYTES = 4 * 1024 * 1024
_BINARY_PROBE_BYTES = 8 * 1024
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


def read_text_file(path: str) -> bytes:
    """Return the bytes of a regular file that looks like text or a PDF; raise NotTakenError otherwise."""
    content = read_regular_file(path)
    if not content:
        raise NotTakenError("empty")
    if content.find(0, 0, _BINARY_PROBE_BYTES) >= 0 and not _is_known_to_hold_text(content):
        raise NotTakenError("binary")
    return content


def _is_known_to_hold_text(content: bytes) -> bool:
    return content.startswith(_WIDE_TEXT_MARKS) or content.find(_PDF_HEADER, 0, _PDF_PROBE_BYTES) >= 0


def read_regular_file(path: str) -> bytes:
    """Return the bytes of a regular file of at most MAX_FILE_BYTES; raise NotTakenError otherwise."""
    try:
        # A FIFO that took the file's place since it was listed would block for ever without O_NONBLOCK.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise NotTakenError("not a regular file")
            if status.st_size > MAX_FILE_BYTES:
                raise NotTakenError(_too_large())
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NotTakenError(cannot_read(error), unreadable=error.errno not in _GONE) from None
    if len(content) > MAX_FILE_BYTES:
        raise NotTakenError(_too_large())
    return content


def cannot_read(error: OSError) -> str:
    """Return the reason for people."""
    return f"cannot be read: {(error.strerror or 'unknown error').lower()}"


def _too_large() -> str:
    return f"larger than {MAX_FILE_BYTES // 1024 // 1024} MiB"
