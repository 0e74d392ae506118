"""All collections of a data directory."""

import asyncio
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection import Collection
from retrieval_server.corpus.collection_directories import NAME, CollectionDirectories
from retrieval_server.corpus.collection_settings import CollectionSettings
from retrieval_server.corpus.directory_lock import DirectoryLock
from retrieval_server.corpus.open_collection import OpenCollection, collection_not_found, read_only
from retrieval_server.corpus.rebuilding import Rebuild
from retrieval_server.corpus.view import CollectionView
from retrieval_server.engine.encoder import Encoder
from retrieval_server.errors import Conflict, FailedPrecondition, FieldError, GroundwireError, InvalidRequest

T = TypeVar("T")

_log = structlog.get_logger()

DEFAULT_COLLECTION = "default"


def checked_name(name: str, field: str) -> str:
    """Return a collection's name, the default for an empty one. Raises InvalidRequest naming `field`."""
    name = name or DEFAULT_COLLECTION
    if not NAME.fullmatch(name):
        raise InvalidRequest(
            FieldError(field, "1 to 64 of lower-case letters, digits, - and _, starting with a letter or digit")
        )
    return name


class Catalog:
    """Opens what is there at start, makes new collections on demand, and closes all."""

    def __init__(self, data_dir: Path, encoder: Encoder | None, *, is_read_only: bool = False) -> None:
        self._is_read_only = is_read_only
        self._root = data_dir / "collections"
        self._directories = CollectionDirectories(self._root)
        self._lock = DirectoryLock(data_dir)
        self._encoder = encoder
        self._open: dict[str, OpenCollection] = {}
        self._damaged: dict[str, GroundwireError] = {}
        self._rebuilds: dict[str, Rebuild] = {}
        self._changing = asyncio.Lock()
        self._changes: set[asyncio.Task[Any]] = set()

    async def open_all(self) -> None:
        """Open every collection. Raises GroundwireError for one that this server cannot read."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            if not os.access(self._root, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self._root))
            self._lock.acquire()
        except OSError as error:
            raise GroundwireError(
                error_pb2.ERROR_REASON_STORAGE_FAILED,
                f"the data directory cannot be used: {error.strerror or error} ({error.filename}); "
                "set GROUNDWIRE_DATA_DIR to a directory of your own",
            ) from error
        await asyncio.to_thread(self._directories.sweep)
        for name in self._directories.names():
            await self._open_or_set_aside(name)

    def names(self) -> list[str]:
        """Return the names of all collections, sorted, those that cannot be used among them."""
        return sorted((*self._open, *self._damaged))

    def damage(self, name: str) -> str:
        """Return why a collection cannot be used; "" when it can."""
        error = self._damaged.get(name)
        return "" if error is None else error.message

    def get(self, name: str, field: str = "collection") -> OpenCollection:
        """Return a collection. Raises NotFound."""
        name = checked_name(name, field)
        if name in self._damaged:
            raise self._damaged[name]
        found = self._open.get(name)
        if found is None:
            raise collection_not_found(name)
        return found

    async def get_or_create(self, name: str, field: str = "collection") -> OpenCollection:
        """Return a collection, making an empty one when it is not there."""
        name = checked_name(name, field)

        async def change() -> OpenCollection:
            if name not in self._open and name not in self._damaged:
                self._check_writable()
                await self._open_one(name)
            return self.get(name, field)

        return await self._change(change)

    async def create(self, name: str, settings: CollectionSettings) -> OpenCollection:
        """Make an empty collection. Raises Conflict when there is one of that name."""
        if not name:
            raise InvalidRequest(FieldError("name", "must be set"))
        checked_name(name, "name")

        async def change() -> OpenCollection:
            self._check_writable()
            if name in self.names():
                raise Conflict(
                    error_pb2.ERROR_REASON_COLLECTION_EXISTS,
                    f"collection {name!r} exists already",
                    metadata={"collection": name},
                )
            opened = await self._open_one(name)
            await opened.write(Collection.configure, settings)
            return opened

        return await self._change(change)

    async def delete(self, name: str) -> int:
        """Remove a collection, a damaged one as well; return how many documents it had as far as that is known.

        Raises NotFound; Conflict while something is synced into it.
        """
        if not name:
            raise InvalidRequest(FieldError("name", "must be set"))

        async def change() -> int:
            self._check_writable()
            count = 0
            if name not in self._damaged:
                opened = self.get(name, "name")
                _check_no_sync(opened)
                count = (await opened.read(lambda reader: reader.counts())).document_count
                # From here on nobody finds it; what was begun before ends first.
                del self._open[name]
                await self._end_rebuild(name)
                await opened.close()
            self._damaged.pop(name, None)
            for directory in reversed(self._directories.versions(name)):
                await asyncio.to_thread(self._directories.remove, directory)
            return count

        return await self._change(change)

    async def replace(self, name: str, fill: Callable[[Path, CollectionView | None], None]) -> OpenCollection:
        """Let what `fill` makes take the place of a collection, or be one; it is told what was there.

        Searches go on; those that have begun end on what was there. Raises Conflict while something is synced into it.
        """

        async def change() -> OpenCollection:
            opened = self._open.get(name)
            if opened is None:
                directory = await asyncio.to_thread(self._directories.put_next, name, lambda target: fill(target, None))
                try:
                    opened = await self._open_one(name)
                except GroundwireError:
                    await asyncio.to_thread(self._directories.remove, directory)
                    raise
                self._damaged.pop(name, None)
                return opened
            _check_no_sync(opened)

            def make_next(old: Collection) -> Collection:
                view = old.current_view
                directory = self._directories.put_next(name, lambda target: fill(target, view))
                try:
                    return self._open_directory(name, directory)
                except GroundwireError:
                    self._directories.remove(directory)
                    raise

            opened.is_being_replaced = True
            try:
                await self._end_rebuild(name)
                await opened.replace(make_next)
            finally:
                opened.is_being_replaced = False
            await asyncio.to_thread(self._remove_older, name)
            return opened

        return await self._change(change)

    def rebuild(self, name: str, *, full: bool) -> Rebuild:
        """Start to rebuild a collection, or return the rebuild that is running. Raises NotFound."""
        opened = self.get(name)
        running = self._rebuilds.get(opened.name)
        if running is not None and running.is_running:
            return running
        self._rebuilds[opened.name] = Rebuild(opened, full=full)
        return self._rebuilds[opened.name]

    async def _change(self, change: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Carry out a change of which collections there are, one at a time.

        It comes to its end although its caller leaves: half of it would keep files open that nobody knows of.
        """

        async def in_turn() -> T:
            async with self._changing:
                return await change()

        task = asyncio.create_task(in_turn())
        self._changes.add(task)
        task.add_done_callback(self._changes.discard)
        return await asyncio.shield(task)

    def _check_writable(self) -> None:
        if self._is_read_only:
            raise read_only()

    async def _end_rebuild(self, name: str) -> None:
        rebuild = self._rebuilds.pop(name, None)
        if rebuild is not None:
            await rebuild.close()

    async def close(self) -> None:
        """Close every collection."""
        if self._changes:
            await asyncio.wait(self._changes)
        for name, opened in self._open.items():
            await self._end_rebuild(name)
            await opened.close()
        self._open.clear()
        self._lock.release()

    async def _open_or_set_aside(self, name: str) -> None:
        """Open a collection; one that cannot be opened must not keep the others from being served."""
        try:
            await self._open_one(name)
        except GroundwireError as error:
            self._damaged[name] = error
            _log.error("collection cannot be used", collection=name, problem=error.message)

    async def _open_one(self, name: str) -> OpenCollection:
        directory = self._directories.current(name)
        collection = await asyncio.to_thread(self._open_directory, name, directory)
        opened = OpenCollection(collection, self._encoder, is_read_only=self._is_read_only)
        self._open[name] = opened
        await asyncio.to_thread(self._remove_older, name)
        return opened

    def _open_directory(self, name: str, directory: Path) -> Collection:
        fingerprint, dimension = (self._encoder.fingerprint, self._encoder.dimension) if self._encoder else ("", None)
        is_new = not directory.exists()
        try:
            return Collection(name, directory, fingerprint, dimension)
        except (OSError, ValueError, sqlite3.Error, GroundwireError) as error:
            if is_new:
                # Half a collection would keep the server from starting.
                shutil.rmtree(directory, ignore_errors=True)
            if isinstance(error, FailedPrecondition):
                raise
            raise GroundwireError(
                error_pb2.ERROR_REASON_STORAGE_FAILED,
                f"collection {name} cannot be opened ({error}): if the disk is full, free some space; if "
                f"{directory} is damaged, put it back with `client snapshot restore` or from a copy, or remove it with "
                f"`client collections rm {name}` and run `client index` again",
            ) from error

    def _remove_older(self, name: str) -> None:
        for directory in reversed(self._directories.versions(name)[1:]):
            self._directories.remove(directory)


def _check_no_sync(opened: OpenCollection) -> None:
    if opened.syncing_sources:
        raise Conflict(
            error_pb2.ERROR_REASON_SYNC_IN_PROGRESS,
            f"{min(opened.syncing_sources)} is being synced into {opened.name}; wait for it to end",
        )
