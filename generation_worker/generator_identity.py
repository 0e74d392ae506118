"""What tells two generators apart whose models bear one name: where they are, and how they are set up."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

_SAMPLED_BYTES = 1024 * 1024
_SHOWN_DIGITS = 32


def identity_of(kind: str, settings: Mapping[str, object]) -> str:
    """Return a hash of a kind of backend and of what is set for it, all of which is to be JSON; hold no secrets there.

    It says nothing of what it was made of, and is the same in every process.
    """
    said = json.dumps([kind, settings], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:_SHOWN_DIGITS]


def file_fingerprint(path: Path) -> str:
    """Return a hash of a file's size, beginning and end: models of gigabytes are told apart without reading them."""
    with path.open("rb") as file:
        size_bytes = file.seek(0, 2)
        digest = hashlib.sha256(str(size_bytes).encode())
        for start in (0, max(0, size_bytes - _SAMPLED_BYTES)):
            file.seek(start)
            digest.update(file.read(_SAMPLED_BYTES))
    return digest.hexdigest()
