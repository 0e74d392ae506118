"""What is said of a database that cannot be read."""

import sqlite3

import pytest

from retrieval_server.corpus.collection.integrity import clear_errors
from retrieval_server.errors import GroundwireError


def _of_code(code: int | None) -> sqlite3.Error:
    error = sqlite3.OperationalError("told by SQLite")
    if code is not None:
        error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize("code", [sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_BUSY])
def test_nobody_is_told_to_remove_a_collection_for_what_passes(code: int):
    with pytest.raises(GroundwireError, match="try again") as caught, clear_errors("c", pytest.fail):
        raise _of_code(code)
    assert "rm c" not in caught.value.message


@pytest.mark.parametrize("code", [sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, None])
def test_a_damaged_database_is_to_be_put_back_or_removed(code: int | None):
    with pytest.raises(GroundwireError, match=r"snapshot restore.*rm c"), clear_errors("c", pytest.fail):
        raise _of_code(code)
