"""Copies of a collection as of one moment, in a directory of their own that other servers may follow.

    <directory>/<snapshot id>/corpus.sqlite, lexical/, lexical.json, dense/, snapshot.json

A snapshot appears whole and goes whole, by a rename each, and is never changed between.
"""

import json
import os
import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.files.collection_directories import NAME
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.directory_lock import fsync_directory
from retrieval_server.corpus.files.disk_usage import disk_bytes
from retrieval_server.corpus.files.layout import DATABASE, DENSE, LEXICAL, LEXICAL_STATE
from retrieval_server.corpus.snapshots.makers import forget_maker, is_maker_dead, making
from retrieval_server.errors import NotFound

_log = structlog.get_logger()

_ABOUT = "snapshot.json"
_PARTIAL_PREFIX = ".partial-"
_PARTIAL = re.compile(rf"{re.escape(_PARTIAL_PREFIX)}{NAME.pattern}-[0-9]{{8}}-[0-9]{{6}}-[0-9a-f]{{8}}")
_DELETED_PREFIX = ".deleted-"
# Between two of these many pages the interpreter's lock is let go.
_PAGES_PER_STEP = 2048
_SEGMENT_LIST = "meta.json"
_LOCK_PREFIX = ".tantivy"
_MAX_LINK_ATTEMPTS = 5
_UNFINISHED_SUFFIX = ".tmp"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of a snapshot."""

    snapshot_id: str
    collection: str
    generation: int
    create_time_unix_ms: int
    size_bytes: int


_TYPE_OF_FIELD = {
    "snapshot_id": str,
    "collection": str,
    "generation": int,
    "create_time_unix_ms": int,
    "size_bytes": int,
}


class SnapshotDirectory:
    """All snapshots of a server. Nothing is in the way of several servers that read it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def list_all(self, collection: str | None = None) -> list[Snapshot]:
        """Return the snapshots of a collection, or of all, newest first."""
        found = [(path, snapshot) for path in self._entries() if (snapshot := read_about(path)) is not None]
        # What calls itself otherwise than it lies is no snapshot: its id could lead anywhere.
        named = [snapshot for path, snapshot in found if path.name == snapshot.snapshot_id]
        wanted = [one for one in named if collection is None or one.collection == collection]
        return sorted(wanted, key=lambda one: (-one.create_time_unix_ms, one.snapshot_id))

    def find(self, snapshot_id: str) -> tuple[Snapshot, Path]:
        """Return a snapshot and where it lies. Raises NotFound."""
        for snapshot in self.list_all():
            if snapshot.snapshot_id == snapshot_id:
                return snapshot, self._directory / snapshot_id
        raise _not_found(snapshot_id)

    @contextmanager
    def new(self, collection: str) -> Iterator["PartialSnapshot"]:
        """Yield a snapshot to be filled; it is thrown away unless it was finished."""
        self._directory.mkdir(parents=True, exist_ok=True)
        created = time.time_ns() // 1_000_000
        snapshot_id = (
            f"{collection}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(created / 1000))}-{secrets.token_hex(4)}"
        )
        path = self._directory / f"{_PARTIAL_PREFIX}{snapshot_id}"
        path.mkdir()
        try:
            with making(path):
                yield PartialSnapshot(snapshot_id, collection, created, path, self._directory / snapshot_id)
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

    def _entries(self) -> list[Path]:
        try:
            return [path for path in self._directory.iterdir() if not path.name.startswith(".")]
        except FileNotFoundError:
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
        made = Snapshot(self.snapshot_id, self.collection, generation, self.create_time_unix_ms, disk_bytes(self.path))
        with (self.path / _ABOUT).open("w") as file:
            json.dump(asdict(made), file)
        _fsync(self.path / _ABOUT)
        for directory in (*(path for path in self.path.rglob("*") if path.is_dir()), self.path):
            fsync_directory(directory)
        passed(CommitStep.SNAPSHOT_WRITTEN)
        self.path.rename(self.final_path)
        fsync_directory(self.final_path.parent)
        passed(CommitStep.SNAPSHOT_PLACED)
        return made


def frozen_database(path: Path) -> sqlite3.Connection:
    """Return a connection that sees the database as it is now, whatever is committed later."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM meta").fetchone()
    return connection


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """Copy what a connection sees into a new file that needs no log beside it."""
    with closing(sqlite3.connect(target)) as copied:
        source.backup(copied, pages=_PAGES_PER_STEP, sleep=0)
        copied.execute("PRAGMA journal_mode = DELETE")


def link_lexical(source: Path, target: Path) -> None:
    """Let `target` hold the lexical index of `source`: its segments never change, so a second name for each will do.

    Nothing may be committed to the index meanwhile. Merges go on by themselves, and are why it may take a second try.
    """
    for _ in range(_MAX_LINK_ATTEMPTS):
        listed = (source / LEXICAL / _SEGMENT_LIST).read_bytes()
        shutil.rmtree(target / LEXICAL, ignore_errors=True)
        (target / LEXICAL).mkdir(parents=True)
        try:
            for path in (source / LEXICAL).iterdir():
                if not path.name.startswith(_LOCK_PREFIX):
                    _link_lexical_file(path, target / LEXICAL / path.name)
        except FileNotFoundError:
            continue  # merged away while we looked
        if (source / LEXICAL / _SEGMENT_LIST).read_bytes() == listed:
            shutil.copyfile(source / LEXICAL_STATE, target / LEXICAL_STATE)
            return
    # Without it the index is made again from the database, which takes longer and is as good.
    shutil.rmtree(target / LEXICAL, ignore_errors=True)


def _link_lexical_file(path: Path, target: Path) -> None:
    if path.suffix == ".json":
        shutil.copyfile(path, target)  # lists of files, which each commit replaces
    else:
        link_or_copy(path, target)


def link_dense(source: Path, target: Path) -> None:
    """Let `target` hold the vector segments of `source`, whose files never change: a graph takes minutes to build.

    Segments may not be replaced meanwhile. A graph that is being added is whole, by its checksum, or built again.
    """
    if not (source / DENSE).is_dir():
        return
    (target / DENSE).mkdir(parents=True)
    for path in (source / DENSE).iterdir():
        if path.suffix == _UNFINISHED_SUFFIX:
            continue
        if path.is_dir():
            (target / DENSE / path.name).mkdir()
        for file in path.iterdir() if path.is_dir() else [path]:
            if file.suffix != _UNFINISHED_SUFFIX:
                with suppress(FileNotFoundError):
                    link_or_copy(file, target / file.relative_to(source))


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file that never changes a second name, or copy it to another file system."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def copy_snapshot(source: Path, target: Path) -> None:
    """Make a collection's directory of a snapshot's."""
    target.mkdir(parents=True)
    shutil.copyfile(source / DATABASE, target / DATABASE)
    shutil.copyfile(source / _ABOUT, target / _ABOUT)
    if (source / LEXICAL).is_dir():
        link_lexical(source, target)
    link_dense(source, target)


def read_about(path: Path) -> Snapshot | None:
    """Return the snapshot that a directory is, or was made of; None when it is none."""
    try:
        found = Snapshot(**json.loads((path / _ABOUT).read_text()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return found if all(type(value) is _TYPE_OF_FIELD[name] for name, value in asdict(found).items()) else None


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
