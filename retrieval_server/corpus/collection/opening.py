"""Opening a collection's directory, and saying in one line what is wrong when that fails."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.lexical.known_terms import TermMemory
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.errors import FailedPrecondition, GroundwireError

# What reading raises of settings and metadata that are damaged, or were written by a later version.
_NONSENSE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def open_collection(name: str, directory: Path, encoder: Encoder | None, term_memory: TermMemory) -> Collection:
    """Return the collection in `directory`. Raises GroundwireError that says what to do about it."""
    fingerprint, dimension = (encoder.fingerprint, encoder.dimension) if encoder else ("", None)
    remedy = (
        f"; if {directory} is damaged, put it back with `client snapshot restore` or from a copy, or remove it with "
        f"`client collections rm {name}` and run `client index` again"
    )
    with clear_storage_errors(name, "cannot be opened", remedy):
        return Collection(name, directory, fingerprint, dimension, term_memory)


@contextmanager
def clear_storage_errors(name: str, what: str, remedy: str = "") -> Iterator[None]:
    """Turn what storage raises into one line about collection `name`; the error itself is its cause."""
    try:
        yield
    except FailedPrecondition:
        raise
    except (OSError, *_NONSENSE, sqlite3.Error, GroundwireError) as error:
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            f"collection {name} {what} ({error}): if the disk is full, free some space{remedy}",
        ) from error
