"""The files of a snapshot: taken from a collection without stopping it, and made one again.

Only regular files are touched: what waits for a writer, or never ends, may lie in a directory that others can write to.
"""

import errno
import os
import shutil
import sqlite3
import stat
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path

import structlog

from retrieval_server.corpus.files.layout import DATABASE, DENSE, LEXICAL, LEXICAL_SEGMENTS, LEXICAL_STATE
from retrieval_server.corpus.snapshots.about import ABOUT, NoSnapshot, require_about
from retrieval_server.corpus.snapshots.file_digests import DamagedSnapshot, digest_of, read_digests

_log = structlog.get_logger()

# Between two of these many pages the interpreter's lock is let go.
_PAGES_PER_STEP = 2048
_LOCK_PREFIX = ".tantivy"
_MAX_LINK_ATTEMPTS = 5
_UNFINISHED_SUFFIX = ".tmp"


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
        listed = (source / LEXICAL / LEXICAL_SEGMENTS).read_bytes()
        shutil.rmtree(target / LEXICAL, ignore_errors=True)
        (target / LEXICAL).mkdir(parents=True)
        try:
            for path in (source / LEXICAL).iterdir():
                if not path.name.startswith(_LOCK_PREFIX):
                    _link_lexical_file(path, target / LEXICAL / path.name)
        except FileNotFoundError:
            continue  # merged away while we looked
        if (source / LEXICAL / LEXICAL_SEGMENTS).read_bytes() == listed:
            copy_regular(source / LEXICAL_STATE, target / LEXICAL_STATE)
            return
    # Without it the index is made again from the database, which takes longer and is as good.
    shutil.rmtree(target / LEXICAL, ignore_errors=True)


def _link_lexical_file(path: Path, target: Path) -> None:
    if path.suffix == ".json":
        copy_regular(path, target)  # lists of files, which each commit replaces
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
    """Give a file that never changes a second name, or copy it to another file system.

    A link is copied, too: what it leads to need not stay. Raises OSError for what is no regular file.
    """
    _check_regular(source)
    if not source.is_symlink():
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise
        except OSError:
            pass
        else:
            return
    shutil.copyfile(source, target)


def copy_regular(source: Path, target: Path) -> None:
    """Copy a file. Raises OSError for what is no regular file."""
    _check_regular(source)
    shutil.copyfile(source, target)


def copy_snapshot(source: Path, target: Path, *, mends: bool = False) -> None:
    """Make a collection's directory of a snapshot's.

    Every file is compared with what the snapshot's maker wrote; any that it did not write is left alone. With `mends`
    an index that is damaged is left out, since it is made again from the database.

    Raises DamagedSnapshot for files that are missing, damaged, or those of another snapshot.
    """
    target.mkdir(parents=True)
    copy_regular(source / ABOUT, target / ABOUT)
    try:
        about = require_about(target)
    except NoSnapshot as error:  # it was one when it was listed
        raise DamagedSnapshot(f"{source}: {error}") from None
    digests = read_digests(source, about.digests_sha256)
    if digests is None:  # of an earlier version: what can be told from its files is told when they are opened
        copy_regular(source / DATABASE, target / DATABASE)
        if (source / LEXICAL).is_dir():
            link_lexical(source, target)
        link_dense(source, target)
        return
    for part, names in groupby(sorted(digests, key=_part_of), _part_of):
        try:
            for name in names:
                _copy_checked(source / name, target / name, digests[name])
        except DamagedSnapshot as error:
            if not mends or part == DATABASE:
                raise
            _log.warning("damaged index of a snapshot left out, to be made again", problem=str(error))
            shutil.rmtree(target / part, ignore_errors=True)
            if part == LEXICAL:
                (target / LEXICAL_STATE).unlink(missing_ok=True)
    if DATABASE not in digests:
        raise DamagedSnapshot(f"{source} has no {DATABASE}")


def _part_of(name: str) -> str:
    """Return which part of a collection a file belongs to: the database, or an index."""
    first = name.partition("/")[0]
    return LEXICAL if first == LEXICAL_STATE else first


def _copy_checked(source: Path, target: Path, digest: str) -> None:
    if not source.is_file():
        raise DamagedSnapshot(f"{source} is missing, or is no file")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.name in (DATABASE, LEXICAL_STATE):  # are written to
        copy_regular(source, target)
    elif target.parent.name == LEXICAL:
        _link_lexical_file(source, target)
    else:
        link_or_copy(source, target)
    if digest_of(target) != digest:
        raise DamagedSnapshot(f"{source} is not as it was when the snapshot was made")


def _check_regular(path: Path) -> None:
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
