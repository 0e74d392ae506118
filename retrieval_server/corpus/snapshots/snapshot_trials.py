"""Snapshots that could not be served: which of them to try again, and when.

A snapshot may still be on its way to this machine, and a disk may be full or fail for a while: that passes. Only what
is proven to be damaged, or made by a newer server, is passed over, and even that only until its files change.
"""

import sqlite3
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.snapshots.about import Snapshot
from retrieval_server.corpus.snapshots.file_digests import DamagedSnapshot
from retrieval_server.errors import GroundwireError, InvalidRequest

_log = structlog.get_logger()

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PRIMARY_CODE_MASK = 0xFF
_MAX_DELAY_S = 60.0
# Once they are that far apart, of so many failures one is told.
_REMINDER_EVERY = 30

Files = frozenset[tuple[str, int, int]]


@dataclass(frozen=True, slots=True)
class _Failure:
    failed_count: int
    next_try_s: float
    # The files as they were, when they are to blame, and when they were last looked at.
    damaged_files: Files | None
    seen_files: Files
    problem: str


class SnapshotTrials:
    """What is known of the snapshots in `directory` that could not be served; times are of the event loop."""

    def __init__(self, directory: Path, first_delay_s: float) -> None:
        self._directory = directory
        self._first_delay_s = first_delay_s
        self._failures: dict[str, _Failure] = {}

    def is_due(self, snapshot: Snapshot, now_s: float) -> bool:
        """Tell whether to try a snapshot."""
        failure = self._failures.get(snapshot.snapshot_id)
        if failure is None:
            return True
        if failure.damaged_files is not None:
            # One that arrives changes for as long as that takes: it is tried when it has come to rest.
            files = self.files(snapshot)
            self._failures[snapshot.snapshot_id] = replace(failure, seen_files=files)
            return files == failure.seen_files != failure.damaged_files
        return now_s >= failure.next_try_s

    def failed(self, snapshot: Snapshot, error: Exception, now_s: float, files: Files) -> None:
        """Note that a try failed, of `files` as they were when it began, and log what follows from it."""
        before = self._failures.get(snapshot.snapshot_id)
        count = 1 + (before.failed_count if before else 0)
        delay_s = min(_MAX_DELAY_S, self._first_delay_s * 2 ** min(count - 1, 32))
        damaged_files = files if _is_unusable(error) else None
        self._failures[snapshot.snapshot_id] = _Failure(count, now_s + delay_s, damaged_files, files, _problem(error))
        log = _log.bind(snapshot_id=snapshot.snapshot_id, collection=snapshot.collection, problem=_problem(error))
        if not _is_known(error):
            log = log.bind(exc_info=error)
        if damaged_files is not None:
            log.error("snapshot cannot be used until its files change")
        elif count == 1 or delay_s < _MAX_DELAY_S or count % _REMINDER_EVERY == 0:
            log.warning("snapshot could not be served yet", failed_count=count, next_try_after_s=round(delay_s, 3))

    def problem(self, snapshot: Snapshot) -> str:
        """Return why a snapshot could not be served; "" when it was not tried, or was served."""
        failure = self._failures.get(snapshot.snapshot_id)
        return "" if failure is None else f"snapshot {snapshot.snapshot_id} cannot be served: {failure.problem}"

    def forget(self, *, all_but: set[str]) -> None:
        """Forget snapshots that are not there any more."""
        self._failures = {key: failure for key, failure in self._failures.items() if key in all_but}

    def served(self, snapshot: Snapshot) -> None:
        """Note that a snapshot is served."""
        self._failures.pop(snapshot.snapshot_id, None)

    def files(self, snapshot: Snapshot) -> Files:
        """Return name, size and time of each file, as far as they can be seen."""
        root = self._directory / snapshot.snapshot_id
        found = set()
        with suppress(OSError):  # a folder may go, or not be readable, on the way
            for path in root.rglob("*"):
                with suppress(OSError):
                    status = path.stat()
                    found.add((str(path.relative_to(root)), status.st_size, status.st_mtime_ns))
        return frozenset(found)


def _problem(error: Exception) -> str:
    return str(error) if _is_known(error) else f"{type(error).__name__}: {error}"


def _is_known(error: Exception) -> bool:
    return isinstance(error, GroundwireError | OSError | sqlite3.Error)


def _is_unusable(error: BaseException | None) -> bool:
    """Tell whether an error, or what caused it, proves that trying again as things are is of no use."""
    while error is not None:
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE_MASK in _DAMAGED:
            return True
        if isinstance(error, GroundwireError) and error.reason == error_pb2.ERROR_REASON_INDEX_MISMATCH:
            return True
        if isinstance(error, DamagedSnapshot):
            return True
        if isinstance(error, InvalidRequest):  # it names a collection that cannot be
            return True
        error = error.__cause__
    return False
