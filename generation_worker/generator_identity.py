"""What tells two generators apart whose models bear one name: where they are, and how they are set up."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

# Together they cover a file of 2 MiB.
_SAMPLE_COUNT = 16
_SAMPLE_BYTES = 128 * 1024
_SHOWN_DIGITS = 32


def identity_of(kind: str, settings: Mapping[str, object]) -> str:
    """Return a hash of a kind of backend and of what is set for it, all of which is to be JSON; hold no secrets there.

    It says nothing of what it was made of, and is the same in every process.
    """
    said = json.dumps([kind, settings], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:_SHOWN_DIGITS]


def file_fingerprint(path: Path) -> str:
    """Return a hash of a file's size and of samples all over it: models of gigabytes are told apart unread.

    The beginning and the end alone may be equal in two models of which one was made of the other.
    """
    with path.open("rb") as file:
        size_bytes = file.seek(0, 2)
        digest = hashlib.sha256(str(size_bytes).encode())
        for number in range(_SAMPLE_COUNT):
            file.seek(max(0, size_bytes - _SAMPLE_BYTES) * number // (_SAMPLE_COUNT - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()
