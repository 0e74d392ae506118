"""One server a data directory."""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

_FILE = "server.lock"
_MAX_HOLDER_BYTES = 32


def fsync_directory(directory: Path) -> None:
    """Make durable which names a directory holds."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_tree(directory: Path) -> None:
    """Make durable all that is in a directory, however deep, and its names."""
    for path in (*directory.rglob("*"), directory):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class DirectoryLock:
    """An advisory lock that the kernel drops when the process ends, however it ends."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / _FILE
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raises OSError EBUSY when another process holds it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, _MAX_HOLDER_BYTES).decode(errors="replace").strip()
            os.close(descriptor)
            named = f" (process {holder})" if holder else ""
            raise OSError(errno.EBUSY, f"another retrieval-server{named} is using it", str(self._path.parent)) from None
        self._descriptor = descriptor
        with suppress(OSError):  # only people want to know who holds it, and the disk may be full
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
