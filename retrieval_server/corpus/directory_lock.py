"""One server a data directory."""

import errno
import fcntl
import os
from pathlib import Path

_FILE = "server.lock"


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
            os.close(descriptor)
            raise OSError(errno.EBUSY, "another retrieval-server is using it", str(self._path.parent)) from None
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
