"""What a directory takes on disk."""

import os
import stat
from pathlib import Path


def disk_bytes(directory: Path) -> int:
    """Return the bytes of all files below `directory`; files and folders may come and go meanwhile."""
    return sum(_size_bytes(os.path.join(folder, name)) for folder, _, names in os.walk(directory) for name in names)


def _size_bytes(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError:  # an index file that was merged away while we looked
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
