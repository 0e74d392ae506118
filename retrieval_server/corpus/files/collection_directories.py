"""Where collections lie: `<root>/<name>`, or `<root>/<name>@<number>` for one that a snapshot has replaced.

A directory in use is never renamed, since readers open files in it by path. What replaces a collection appears beside
it under the next number, by one rename; the highest number counts, and lower ones go once it has been opened.
"""

import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.corpus.files.directory_lock import fsync_directory, fsync_tree

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VERSIONED = re.compile(rf"(?P<name>{NAME.pattern})(?:@(?P<number>[1-9][0-9]{{0,17}}))?")
# No collection's name begins with a dot.
_DELETED_PREFIX = ".deleted-"
_PREPARED_PREFIX = ".prepared-"


class CollectionDirectories:
    """The directories below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Return the names of all collections, sorted."""
        matches = (_VERSIONED.fullmatch(path.name) for path in self.root.iterdir() if path.is_dir())
        return sorted({match["name"] for match in matches if match})

    def versions(self, name: str) -> list[Path]:
        """Return the directories of a collection, the one that counts first."""
        found = [(number, path) for number, path in self._numbered(name) if path.is_dir()]
        return [path for _, path in sorted(found, reverse=True)]

    def current(self, name: str) -> Path:
        """Return the directory of a collection, which may be yet to make."""
        versions = self.versions(name)
        return versions[0] if versions else self.root / name

    def put_first(self, name: str, fill: Callable[[Path], None]) -> Path:
        """Return the directory of a collection that there was none of; `fill` made it. It appears whole."""
        return self._put(name, fill, lambda: self.root / name)

    def put_next(self, name: str, fill: Callable[[Path], None]) -> Path:
        """Return a new directory of a collection that `fill` made; it counts from now on."""
        return self._put(name, fill, lambda: self.root / f"{name}@{self._highest(name) + 1}")

    def _put(self, name: str, fill: Callable[[Path], None], place: Callable[[], Path]) -> Path:
        prepared = self.root / f"{_PREPARED_PREFIX}{name}-{time.time_ns()}"
        try:
            fill(prepared)
            # A name that outlives a loss of power must not be that of files that did not.
            fsync_tree(prepared)
            placed = place()
            passed(CommitStep.DIRECTORY_FILLED)
            prepared.rename(placed)
            passed(CommitStep.DIRECTORY_PLACED)
        finally:
            shutil.rmtree(prepared, ignore_errors=True)
        fsync_directory(self.root)
        return placed

    def remove(self, directory: Path) -> None:
        """Remove a directory: at once in name, then what is in it."""
        doomed = self.root / f"{_DELETED_PREFIX}{directory.name}-{time.time_ns()}"
        directory.rename(doomed)
        fsync_directory(self.root)
        shutil.rmtree(doomed, ignore_errors=True)

    def remove_older(self, name: str) -> None:
        """Remove the directories of a collection that no longer count; what cannot be, is when it is opened next."""
        with suppress(OSError):
            for directory in reversed(self.versions(name)[1:]):
                self.remove(directory)

    def remove_all(self, name: str) -> None:
        """Remove all directories of a collection, the one that counts at last."""
        for directory in reversed(self.versions(name)):
            self.remove(directory)

    def sweep(self) -> None:
        """Remove what removals and preparations left that did not come to their end."""
        for path in self.root.iterdir():
            if path.name.startswith((_DELETED_PREFIX, _PREPARED_PREFIX)):
                shutil.rmtree(path, ignore_errors=True)

    def _highest(self, name: str) -> int:
        return max((number for number, _ in self._numbered(name)), default=0)

    def _numbered(self, name: str) -> list[tuple[int, Path]]:
        matches = ((_VERSIONED.fullmatch(path.name), path) for path in self.root.iterdir())
        return [(int(m["number"] or 0), path) for m, path in matches if m and m["name"] == name]
