"""What a snapshot says of itself, in a file of its own beside its other files."""

import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

ABOUT = "snapshot.json"
_MAX_BYTES = 64 * 1024
# The end of the year 9999: more is no time.
MAX_UNIX_MS = 253_402_300_799_999
_MAX_COUNT = 2**63 - 1
# A collection that is put back to it goes on counting from there.
_MAX_GENERATION = 2**62


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of a snapshot."""

    snapshot_id: str
    collection: str
    generation: int
    create_time_unix_ms: int
    size_bytes: int
    # The SHA-256 of the file of digests, in hexadecimal; None in one of an earlier version, which may have none.
    digests_sha256: str | None = None


_TYPE_OF_FIELD = {
    "snapshot_id": str,
    "collection": str,
    "generation": int,
    "create_time_unix_ms": int,
    "size_bytes": int,
}
_DIGESTS_SHA256 = "digests_sha256"


class NoSnapshot(Exception):
    """A directory does not say what snapshot it is; the message says why."""


def read_about(path: Path) -> Snapshot | None:
    """Return the snapshot that a directory is, or was made of; None when it is none."""
    try:
        return require_about(path)
    except NoSnapshot:
        return None


def require_about(path: Path) -> Snapshot:
    """As `read_about`; raises NoSnapshot rather than returning None."""
    try:
        told = json.loads(_read(path / ABOUT))
    except OSError as error:
        raise NoSnapshot(f"{ABOUT} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise NoSnapshot(f"{ABOUT} is empty or damaged") from None
    if (
        not isinstance(told, dict)
        or any(type(told.get(name)) is not kind for name, kind in _TYPE_OF_FIELD.items())
        or type(told.get(_DIGESTS_SHA256, "")) is not str
    ):
        raise NoSnapshot(f"{ABOUT} says too little, or what makes no sense")
    # A later version may say more.
    about = Snapshot(**{name: told[name] for name in _TYPE_OF_FIELD}, digests_sha256=told.get(_DIGESTS_SHA256))
    in_range = (
        0 <= about.create_time_unix_ms <= MAX_UNIX_MS
        and 0 <= about.generation <= _MAX_GENERATION
        and 0 <= about.size_bytes <= _MAX_COUNT
    )
    if not in_range:
        raise NoSnapshot(f"{ABOUT} has a number that is out of range")
    return about


def write_about(path: Path, about: Snapshot) -> None:
    """Let a directory say what snapshot it is."""
    told = {name: value for name, value in asdict(about).items() if value is not None}
    (path / ABOUT).write_text(json.dumps(told))


def _read(path: Path) -> bytes:
    """Return what is in a small file; it may be anything, and must neither block nor fill the memory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(None, "it is no regular file")
        return os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)
