"""Signs that a collection is not to be opened as it is. A database that is empty or older than what was served lies."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.corpus.files.layout import DATABASE, DENSE, LEXICAL, LEXICAL_STATE
from retrieval_server.corpus.lexical.guarded_view import UnreadableIndex
from retrieval_server.corpus.lexical.lexical_state import LexicalState
from retrieval_server.errors import FailedPrecondition, GroundwireError

_PRIMARY_CODE_MASK = 0xFF
# What says nothing of the database itself.
_PASSING = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
    }
)


def check_writable(directory: Path) -> None:
    """Refuse a directory that cannot be written. A database that alone cannot is served, and its writes are refused."""
    for path in (directory, directory / LEXICAL, directory / DENSE):
        if path.exists() and not os.access(path, os.W_OK):
            raise FailedPrecondition(
                error_pb2.ERROR_REASON_STORAGE_FAILED,
                f"{path} cannot be written by the user that this server runs as: change its owner or mode, or how it "
                "is mounted, and start the server again",
            )


def check_database_is_there(directory: Path) -> None:
    """Refuse a directory whose index was served and whose database is empty or gone: opening would make a new one."""
    database = directory / DATABASE
    if (directory / LEXICAL_STATE).exists() and (not database.exists() or database.stat().st_size == 0):
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            f"{DATABASE} is {'empty' if database.exists() else 'missing'}, though the index beside it has been served",
        )


def check_nothing_was_lost(directory: Path, stored_generation: int) -> None:
    """Refuse a database that is older than its index: an index never runs ahead of what is durable."""
    lexical_generation = LexicalState(directory / LEXICAL_STATE).read()
    if lexical_generation is not None and lexical_generation > stored_generation:
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            f"{DATABASE} ends at generation {stored_generation}, though {lexical_generation} was served: it is an "
            f"older copy, or came without its -wal file; to go on with it all the same, remove {LEXICAL_STATE}",
        )


@contextmanager
def outcome_unknown(what: str) -> Iterator[None]:
    """Turn what fails behind a commit into OUTCOME_UNKNOWN: the change is durable, and upkeep goes on with the rest."""
    try:
        yield
    except (OSError, ValueError, sqlite3.Error, GroundwireError) as error:
        raise GroundwireError(
            error_pb2.ERROR_REASON_OUTCOME_UNKNOWN,
            f"{what} ({error}); the server goes on trying, repeating is safe",
        ) from error


@contextmanager
def clear_errors(name: str, on_unreadable_index: Callable[[str], None]) -> Iterator[None]:
    """Say what happened when a collection turns out to be damaged while it is read.

    `on_unreadable_index` is told when it is the lexical index, with the remedy.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        remedy = (
            "try again when the machine has files, memory and disk to spare"
            if getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE_MASK in _PASSING
            else f"put it back with `client snapshot restore`, or remove it with `client collections rm {name}` and "
            "index again"
        )
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            f"the database of collection {name} cannot be read ({error}): {remedy}",
            metadata={"collection": name},
        ) from error
    except UnreadableIndex as error:
        problem = (
            f"the lexical index of collection {name} cannot be read ({error}): `client rebuild --collection {name}` "
            "makes it anew"
        )
        on_unreadable_index(problem)
        raise GroundwireError(error_pb2.ERROR_REASON_STORAGE_FAILED, problem, metadata={"collection": name}) from error
