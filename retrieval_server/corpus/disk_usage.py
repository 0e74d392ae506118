"""What a directory takes on disk."""

import stat
from pathlib import Path


def disk_bytes(directory: Path) -> int:
    """Return the bytes of all files below `directory`; files may come and go meanwhile."""
    return sum(map(_size_bytes, directory.rglob("*")))


def _size_bytes(path: Path) -> int:
    try:
        status = path.stat()
    except FileNotFoundError:  # an index file that was merged away while we looked
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
