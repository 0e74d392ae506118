"""Copies of a collection as of one moment, in a directory of their own that other servers may follow.

    <directory>/<snapshot id>/corpus.sqlite, lexical/, lexical.json, dense/, digests.json, snapshot.json

A snapshot appears whole and goes whole, by a rename each, and is never changed between.
"""

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.directory_lock import fsync_directory
from retrieval_server.corpus.files.disk_usage import disk_bytes
from retrieval_server.corpus.snapshots.about import ABOUT, MAX_UNIX_MS, NoSnapshot, Snapshot, require_about, write_about
from retrieval_server.corpus.snapshots.file_digests import digest_of, write_digests
from retrieval_server.corpus.snapshots.makers import forget_maker, is_maker_dead, making
from retrieval_server.corpus.snapshots.snapshot_ids import ID, new_id
from retrieval_server.errors import GroundwireError, NotFound

_log = structlog.get_logger()

_PARTIAL_PREFIX = ".partial-"
_PARTIAL = re.compile(re.escape(_PARTIAL_PREFIX) + ID.pattern)
_DELETED_PREFIX = ".deleted-"


class SnapshotDirectory:
    """All snapshots of a server. Nothing is in the way of several servers that read it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def list_all(self, collection: str | None = None) -> list[Snapshot]:
        """Return the snapshots of a collection, or of all, newest first."""
        try:
            found, _ = self.look()
        except FileNotFoundError:
            return []
        return [one for one in found if collection is None or one.collection == collection]

    def look(self) -> tuple[list[Snapshot], dict[str, str]]:
        """Return all snapshots, newest first, and why other directories are none, by their names.

        Raises OSError when the directory cannot be listed.
        """
        found, passed_over = [], {}
        for path in self._directory.iterdir():
            if path.name.startswith(".") or not path.is_dir():
                continue
            try:
                about = require_about(path)
            except NoSnapshot as error:
                passed_over[path.name] = str(error)
                continue
            # What calls itself otherwise than it lies is no snapshot: its id could lead anywhere.
            if path.name == about.snapshot_id:
                found.append(about)
            else:
                passed_over[path.name] = f"{ABOUT} is that of another snapshot"
        return sorted(found, key=lambda one: (-one.create_time_unix_ms, one.snapshot_id)), passed_over

    def find(self, snapshot_id: str) -> tuple[Snapshot, Path]:
        """Return a snapshot and where it lies. Raises NotFound."""
        for snapshot in self.list_all():
            if snapshot.snapshot_id == snapshot_id:
                return snapshot, self._directory / snapshot_id
        raise _not_found(snapshot_id)

    def next_time_unix_ms(self, collection: str) -> int:
        """Return the time of a snapshot that is made now; it reads what every snapshot says of itself.

        Whoever follows goes by these times: one must not be before an earlier one's because a clock was set back.
        Raises STORAGE_FAILED when there is no later time.
        """
        now_ms = time.time_ns() // 1_000_000
        newest = next(iter(self.list_all(collection)), None)
        if newest is None:
            return now_ms
        if newest.create_time_unix_ms >= MAX_UNIX_MS:
            raise GroundwireError(
                error_pb2.ERROR_REASON_STORAGE_FAILED,
                f"snapshot {newest.snapshot_id} says that it was made at the end of the year 9999, and none can be "
                f"newer; remove it with `client snapshot rm {newest.snapshot_id}`",
            )
        return max(now_ms, newest.create_time_unix_ms + 1)

    @contextmanager
    def new(self, collection: str, create_time_unix_ms: int) -> Iterator["PartialSnapshot"]:
        """Yield a snapshot to be filled; it is thrown away unless it was finished."""
        self._directory.mkdir(parents=True, exist_ok=True)
        snapshot_id = new_id(collection, create_time_unix_ms)
        path = self._directory / f"{_PARTIAL_PREFIX}{snapshot_id}"
        path.mkdir()
        try:
            with making(path):
                yield PartialSnapshot(snapshot_id, collection, create_time_unix_ms, path, self._directory / snapshot_id)
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def remove(self, snapshot: Snapshot) -> None:
        """Remove a snapshot: at once in name, then what is in it. Raises NotFound when it is gone already."""
        doomed = self._directory / f"{_DELETED_PREFIX}{secrets.token_hex(8)}"
        try:
            (self._directory / snapshot.snapshot_id).rename(doomed)
        except FileNotFoundError:
            raise _not_found(snapshot.snapshot_id) from None
        fsync_directory(self._directory)
        passed(CommitStep.SNAPSHOT_SET_ASIDE)
        self.sweep()

    def sweep(self) -> None:
        """Remove the files of removals, and of snapshots whose makers died before they were done."""
        for path in self._left(_PARTIAL_PREFIX):
            with suppress(OSError):
                is_ours = _PARTIAL.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
                if is_ours and is_maker_dead(path):
                    # At once in name: should its maker live after all, it must not find half of it.
                    path.rename(self._directory / f"{_DELETED_PREFIX}{secrets.token_hex(8)}")
                    _log.info("unfinished snapshot removed", path=str(path))
        for path in self._left(_DELETED_PREFIX):
            if path.is_symlink():
                with suppress(OSError):
                    path.unlink()  # what it leads to is not ours
            else:
                shutil.rmtree(path, ignore_errors=True)

    def _left(self, prefix: str) -> list[Path]:
        try:
            return [path for path in self._directory.iterdir() if path.name.startswith(prefix)]
        except OSError:  # whoever wants more of it than tidiness will be told
            return []


@dataclass(frozen=True, slots=True)
class PartialSnapshot:
    """A snapshot that is being made at `path`."""

    snapshot_id: str
    collection: str
    create_time_unix_ms: int
    path: Path
    final_path: Path

    def finish(self, generation: int) -> Snapshot:
        """Make it durable and let it appear."""
        for path in self.path.rglob("*"):
            if path.is_file():
                _fsync(path)
        forget_maker(self.path)
        size_bytes = disk_bytes(self.path)
        digests = write_digests(self.path)
        _fsync(digests)
        made = Snapshot(
            self.snapshot_id,
            self.collection,
            generation,
            self.create_time_unix_ms,
            size_bytes,
            digests_sha256=digest_of(digests),
        )
        write_about(self.path, made)
        _fsync(self.path / ABOUT)
        for directory in (*(path for path in self.path.rglob("*") if path.is_dir()), self.path):
            fsync_directory(directory)
        passed(CommitStep.SNAPSHOT_WRITTEN)
        self.path.rename(self.final_path)
        fsync_directory(self.final_path.parent)
        passed(CommitStep.SNAPSHOT_PLACED)
        return made


def _not_found(snapshot_id: str) -> NotFound:
    return NotFound(
        error_pb2.ERROR_REASON_SNAPSHOT_NOT_FOUND,
        f"no snapshot {snapshot_id!r}; `client snapshot ls` lists them",
        metadata={"snapshot_id": snapshot_id},
    )


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
