"""What each file of a snapshot held when it was made: a copy may be damaged, incomplete, or mixed with another one.

Neither SQLite nor Tantivy notices a flipped byte in what it does not read, or reads as text.
"""

import hashlib
import json
from pathlib import Path, PurePosixPath

from groundwire.v1 import error_pb2
from retrieval_server.errors import GroundwireError

_DIGESTS = "digests.json"


class DamagedSnapshot(GroundwireError):
    """A snapshot that cannot be used as long as its files are as they are; the message names the file."""

    def __init__(self, message: str) -> None:
        super().__init__(error_pb2.ERROR_REASON_STORAGE_FAILED, message)


def write_digests(snapshot: Path) -> Path:
    """Write down what each file of a snapshot holds; return where."""
    digests = {
        path.relative_to(snapshot).as_posix(): digest_of(path)
        for path in sorted(snapshot.rglob("*"))
        if path.is_file() and path.name != _DIGESTS
    }
    (snapshot / _DIGESTS).write_text(json.dumps(digests))
    return snapshot / _DIGESTS


def read_digests(snapshot: Path, sha256: str | None) -> dict[str, str] | None:
    """Return the SHA-256 of each file by its path, from the file that has `sha256` itself.

    Without that, which earlier versions did not write down, there need be none: then None is returned.

    Raises DamagedSnapshot, and OSError when it cannot be read.
    """
    path = snapshot / _DIGESTS
    if path.exists() and not path.is_file():
        raise DamagedSnapshot(f"{path} is no file")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if sha256 is None:
            return None
        raise DamagedSnapshot(f"{path} is missing") from None
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise DamagedSnapshot(f"{path} is not as it was when the snapshot was made")
    try:
        digests = json.loads(content)
    except (ValueError, RecursionError):
        digests = None
    if not isinstance(digests, dict) or not all(_is_inside(key) and isinstance(digests[key], str) for key in digests):
        raise DamagedSnapshot(f"{path} is empty or damaged")
    return digests


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name
