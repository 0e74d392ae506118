"""All collections of a data directory."""

import asyncio
import errno
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.founding import found_collection
from retrieval_server.corpus.collection.open_collection import OpenCollection, collection_not_found, read_only
from retrieval_server.corpus.collection.opening import clear_storage_errors, open_collection
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.exclusion import Exclusion, Work, sync_in_progress
from retrieval_server.corpus.files.collection_directories import NAME, CollectionDirectories
from retrieval_server.corpus.files.directory_lock import DirectoryLock
from retrieval_server.corpus.lexical.known_terms import DEFAULT_MEMORY_BYTES, TermMemory
from retrieval_server.corpus.writing.rebuilding import Rebuild
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.errors import Conflict, FieldError, GroundwireError, InvalidRequest

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

    def __init__(
        self,
        data_dir: Path,
        encoder: Encoder | None,
        *,
        is_read_only: bool = False,
        known_terms_bytes: int = DEFAULT_MEMORY_BYTES,
    ) -> None:
        self._is_read_only = is_read_only
        self._term_memory = TermMemory(known_terms_bytes)
        self._root = data_dir / "collections"
        self._directories = CollectionDirectories(self._root)
        self._lock = DirectoryLock(data_dir)
        self._encoder = encoder
        self._open: dict[str, OpenCollection] = {}
        self._damaged: dict[str, GroundwireError] = {}
        self._rebuilds: dict[str, Rebuild] = {}
        self._exclusion = Exclusion()
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

    def has(self, name: str, field: str = "collection") -> bool:
        """Tell whether there is a collection of that name, be it damaged. Raises InvalidRequest naming `field`."""
        name = checked_name(name, field)
        return name in self._open or name in self._damaged

    def damage(self, name: str) -> str:
        """Return why a collection cannot be used; "" when it can."""
        error = self._damaged.get(name)
        return "" if error is None else error.message

    def get(self, name: str, field: str = "collection") -> OpenCollection:
        """Return a collection. Raises NotFound."""
        name = checked_name(name, field)
        if name in self._damaged:
            raise self._damaged[name].with_traceback(None)  # or it would grow with each raise
        found = self._open.get(name)
        if found is None:
            raise collection_not_found(name)
        return found

    async def get_or_create(self, name: str, field: str = "collection") -> OpenCollection:
        """Return a collection, making an empty one when it is not there."""
        name = checked_name(name, field)

        async def change() -> OpenCollection:
            await self._exclusion.until_free(name)
            if not self.has(name):
                await self._create(name, CollectionSettings())
            return self.get(name, field)

        return self.get(name, field) if self.has(name, field) else await self._to_its_end(change())

    async def create(self, name: str, settings: CollectionSettings) -> OpenCollection:
        """Make an empty collection. Raises Conflict when there is one, COLLECTION_BUSY while it is changed."""
        if not name:
            raise InvalidRequest(FieldError("name", "must be set"))
        checked_name(name, "name")

        async def change() -> OpenCollection:
            await self._exclusion.until_free(name, Work.CREATION)
            self._exclusion.check(name)
            if self.has(name):
                raise Conflict(
                    error_pb2.ERROR_REASON_COLLECTION_EXISTS,
                    f"collection {name!r} exists already",
                    metadata={"collection": name},
                )
            return await self._create(name, settings)

        return await self._to_its_end(change())

    async def delete(self, name: str) -> int:
        """Remove a collection, a damaged one as well; return how many documents it had as far as that is known.

        Raises NotFound; SYNC_IN_PROGRESS while something is synced into it; COLLECTION_BUSY while it is changed.
        """
        if not name:
            raise InvalidRequest(FieldError("name", "must be set"))
        checked_name(name, "name")

        async def change() -> int:
            await self._exclusion.until_free(name, Work.CREATION)
            self.check_writable()
            with self._exclusion.doing(name, Work.REMOVAL):
                count = 0
                if name not in self._damaged:
                    opened = self.get(name, "name")
                    with suppress(GroundwireError):  # when it is damaged, this is what was advised
                        count = (await opened.read(lambda reader: reader.counts())).document_count
                    _check_no_sync(opened)
                    # From here on nobody finds it; what was begun before ends first.
                    del self._open[name]
                    await opened.close()
                self._damaged.pop(name, None)
                with clear_storage_errors(name, "cannot be removed"):
                    try:
                        await asyncio.to_thread(self._directories.remove_all, name)
                    except OSError:
                        await self._open_or_set_aside(name)
                        raise
                return count

        return await self._to_its_end(change())

    async def replace(self, name: str, fill: Callable[[Path, CollectionView | None], None]) -> OpenCollection:
        """Let what `fill` makes take the place of a collection, or be one; it is told what was there.

        Searches go on; those that have begun end on what was there. Raises SYNC_IN_PROGRESS while something is synced
        into it, COLLECTION_BUSY while it is changed.
        """
        if not name:
            raise InvalidRequest(FieldError("collection", "must be set"))
        checked_name(name, "collection")

        async def change() -> OpenCollection:
            await self._exclusion.until_free(name, Work.CREATION)
            with self._exclusion.doing(name, Work.RESTORE):
                opened = self._open.get(name)
                if opened is None:
                    return await self._put_back(name, fill)
                _check_no_sync(opened)

                def make_next(old: Collection) -> Collection:
                    view = old.current_view
                    directory = self._directories.put_next(name, lambda target: fill(target, view))
                    try:
                        return open_collection(name, directory, self._encoder, self._term_memory)
                    except BaseException:
                        self._directories.remove(directory)
                        raise

                opened.is_being_replaced = True
                try:
                    await opened.replace(make_next)
                finally:
                    opened.is_being_replaced = False
                await asyncio.to_thread(self._directories.remove_older, name)
                return opened

        return await self._to_its_end(change())

    def rebuild(self, name: str, *, full: bool) -> Rebuild:
        """Start to rebuild a collection, or return the rebuild that is running and does no less.

        Raises NotFound, FailedPrecondition on a replica, COLLECTION_BUSY while it is changed.
        """
        opened = self.get(name)
        self.check_writable()
        running = self._rebuilds.get(opened.name)
        if running is not None and running.is_running and running.does(full=full):
            return running
        self._exclusion.begin(opened.name, Work.REBUILD)
        started = Rebuild(opened, full=full, when_done=partial(self._rebuild_ended, opened.name))
        self._rebuilds[opened.name] = started
        return started

    def _rebuild_ended(self, name: str) -> None:
        del self._rebuilds[name]
        self._exclusion.end(name)

    async def _to_its_end(self, change: Coroutine[Any, Any, T]) -> T:
        """Carry out a change of which collections there are.

        It comes to its end although its caller leaves: half of it would keep files open that nobody knows of.
        """
        task = asyncio.create_task(change)
        self._changes.add(task)
        task.add_done_callback(self._changes.discard)
        return await asyncio.shield(task)

    def check_writable(self) -> None:
        """Raise FailedPrecondition on a replica."""
        if self._is_read_only:
            raise read_only()

    async def close(self) -> None:
        """Close every collection."""
        if self._changes:
            await asyncio.wait(self._changes)
        for rebuild in list(self._rebuilds.values()):
            await rebuild.close()
        for opened in self._open.values():
            # What a merge that is given up writes until the process ends, nobody will read.
            await opened.close(waits_for_merges=False)
        self._open.clear()
        self._lock.release()

    async def _open_or_set_aside(self, name: str) -> None:
        """Open a collection; one that cannot be opened must not keep the others from being served."""
        try:
            await self._open_one(name)
        except GroundwireError as error:
            error.__cause__ = error.__context__ = None  # their frames hold what had been opened
            self._damaged[name] = error.with_traceback(None)
            _log.error("collection cannot be used", collection=name, problem=error.message)

    async def _create(self, name: str, settings: CollectionSettings) -> OpenCollection:
        """Make an empty collection, which there is whole or not at all, whenever the process dies."""
        self.check_writable()
        with self._exclusion.doing(name, Work.CREATION):
            with clear_storage_errors(name, "cannot be made"):
                fill = partial(found_collection, settings=settings)
                directory = await asyncio.to_thread(self._directories.put_first, name, fill)
            return await self._opened_or_removed(name, directory)

    async def _put_back(self, name: str, fill: Callable[[Path, CollectionView | None], None]) -> OpenCollection:
        directory = await asyncio.to_thread(self._directories.put_next, name, lambda target: fill(target, None))
        opened = await self._opened_or_removed(name, directory)
        self._damaged.pop(name, None)
        return opened

    async def _opened_or_removed(self, name: str, directory: Path) -> OpenCollection:
        """Open a collection of which `directory` is new; remove that when it cannot be."""
        try:
            return await self._open_one(name)
        except BaseException:
            await asyncio.to_thread(self._directories.remove, directory)
            raise

    async def _open_one(self, name: str) -> OpenCollection:
        directory = self._directories.current(name)
        collection = await asyncio.to_thread(open_collection, name, directory, self._encoder, self._term_memory)
        opened = OpenCollection(collection, self._encoder, is_read_only=self._is_read_only)
        self._open[name] = opened
        await asyncio.to_thread(self._directories.remove_older, name)
        return opened


def _check_no_sync(opened: OpenCollection) -> None:
    if opened.syncing_sources:
        raise sync_in_progress(opened.name, min(opened.syncing_sources))
