"""Whether whoever makes a snapshot still lives.

Several servers may share a directory, on a network disk as well. The maker of a snapshot holds a lock in it until it is
done. Between processes of one machine that see the disk through one mount a lock that is free is proof, and there the
remains of a dead maker go at once. Not every network disk tells other machines, or other mounts on this one, of a lock:
what was begun on one of those, or before a reboot, must besides have lain untouched for long.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

# A maker is silent while it waits for its turn to copy, and then until the last that it copied is on the disk: minutes
# each. One that takes longer fails when it is swept, and may be asked for again. Clocks of machines that share a disk
# differ by less than that, too.
_SILENCE_S = 3600.0
_LOCK = "maker.lock"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def making(directory: Path) -> Iterator[None]:
    """Hold the lock of a snapshot that is made in `directory`; a disk without locks is no hindrance."""
    with (directory / _LOCK).open("xb", buffering=0) as lock:  # a buffer would be written again, and fail, at the end
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.write(_common_to_makers(lock))  # only under the lock: it says that the lock is proof
        yield


def forget_maker(directory: Path) -> None:
    """Remove what `making` put into `directory`; from then on its age alone protects it."""
    (directory / _LOCK).unlink()


def is_maker_dead(directory: Path) -> bool:
    """Tell whether nobody will finish what is in `directory`. Raises OSError when that cannot be seen."""
    try:
        with (directory / _LOCK).open("r+b", buffering=0) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (begun_at := lock.read()) and begun_at == _common_to_makers(lock):
                return True
    except BlockingIOError:
        return False
    except OSError:
        pass  # made without a lock, or on the point of being placed
    return time.time() - _last_change_s(directory) > _SILENCE_S


def _common_to_makers(lock: FileIO) -> bytes:
    """Return what only makers that see each other's locks have in common: kernel and mount; nothing if not known."""
    boot_id = _boot_id()
    return b"%s %d" % (boot_id, os.fstat(lock.fileno()).st_dev) if boot_id else b""


def _boot_id() -> bytes:
    """Return what only processes under one running kernel have in common; nothing when the system has no such thing."""
    try:
        return _BOOT_ID.read_bytes().strip()
    except OSError:
        return b""


def _last_change_s(directory: Path) -> float:
    paths = [str(directory)]
    for folder, folders, files in os.walk(directory):
        paths += (os.path.join(folder, name) for name in (*folders, *files))
    return max(os.stat(path, follow_symlinks=False).st_mtime for path in paths)
