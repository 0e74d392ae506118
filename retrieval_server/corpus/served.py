"""The collections of a data directory as they are served: opened, or set aside with what is wrong with them."""

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.open_collection import OpenCollection, collection_not_found
from retrieval_server.corpus.collection.opening import clear_storage_errors, open_collection
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.exclusion import check_no_sync
from retrieval_server.corpus.files.collection_directories import CollectionDirectories
from retrieval_server.corpus.files.directory_lock import DirectoryLock
from retrieval_server.corpus.lexical.known_terms import TermMemory
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.errors import GroundwireError

FillNext = Callable[[Path, CollectionView | None], None]
"""Makes a collection's files in a directory, told what is there now."""

_log = structlog.get_logger()


class ServedCollections:
    """What is open, and how another comes to be so, or to take a place. Who may change what, and when, is `Catalog`'s.

    Names are of the right form; each is changed by one caller at a time.
    """

    def __init__(
        self, data_dir: Path, encoder: Encoder | None, term_memory: TermMemory, *, is_read_only: bool = False
    ) -> None:
        self._is_read_only = is_read_only
        self._term_memory = term_memory
        self._root = data_dir / "collections"
        self._directories = CollectionDirectories(self._root)
        self._lock = DirectoryLock(data_dir)
        self._encoder = encoder
        self._open: dict[str, OpenCollection] = {}
        self._damaged: dict[str, GroundwireError] = {}

    async def open_all(self) -> None:
        """Open every collection. Raises GroundwireError for a data directory that cannot be used."""
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

    async def close(self) -> None:
        """Close every collection, and let another process have the data directory."""
        for opened in self._open.values():
            # What a merge that is given up writes until the process ends, nobody will read.
            await opened.close(waits_for_merges=False)
        self._open.clear()
        self._lock.release()

    def names(self) -> list[str]:
        """Return the names of all collections, sorted, those that cannot be used among them."""
        return sorted((*self._open, *self._damaged))

    def has(self, name: str) -> bool:
        """Tell whether there is a collection of that name, be it damaged."""
        return name in self._open or name in self._damaged

    def damage(self, name: str) -> str:
        """Return why a collection cannot be used; "" when it can."""
        error = self._damaged.get(name)
        return "" if error is None else error.message

    def get(self, name: str) -> OpenCollection:
        """Return a collection. Raises NotFound, or what is wrong with one that cannot be used."""
        if name in self._damaged:
            raise self._damaged[name].with_traceback(None)  # or it would grow with each raise
        found = self._open.get(name)
        if found is None:
            raise collection_not_found(name)
        return found

    def find(self, name: str) -> OpenCollection | None:
        """Return a collection that can be used, None for another."""
        return self._open.get(name)

    async def found(self, name: str, fill: Callable[[Path], None]) -> OpenCollection:
        """Make a collection, which there is whole or not at all, whenever the process dies."""
        with clear_storage_errors(name, "cannot be made"):
            directory = await asyncio.to_thread(self._directories.put_first, name, fill)
        return await self._opened_or_removed(name, directory)

    async def put_back(self, name: str, fill: FillNext) -> OpenCollection:
        """Let what `fill` makes be a collection that there is not, or that cannot be used."""
        directory = await asyncio.to_thread(self._directories.put_next, name, lambda target: fill(target, None))
        opened = await self._opened_or_removed(name, directory)
        self._damaged.pop(name, None)
        return opened

    async def put_in_place_of(self, opened: OpenCollection, fill: FillNext) -> None:
        """Let what `fill` makes take the place of an open collection; searches that have begun end on what was."""

        def make_next(old: Collection) -> Collection:
            view = old.current_view
            directory = self._directories.put_next(opened.name, lambda target: fill(target, view))
            try:
                return open_collection(opened.name, directory, self._encoder, self._term_memory)
            except BaseException:
                self._directories.remove(directory)
                raise

        opened.is_being_replaced = True
        try:
            await opened.replace(make_next)
        finally:
            opened.is_being_replaced = False
        await asyncio.to_thread(self._directories.remove_older, opened.name)

    async def remove(self, name: str) -> int:
        """Remove a collection and its files; return how many documents it had, as far as that is known."""
        count = 0
        if name not in self._damaged:
            opened = self.get(name)
            with suppress(GroundwireError):  # when it is damaged, this is what was advised
                count = (await opened.read(lambda reader: reader.counts())).document_count
            check_no_sync(opened)
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

    async def _open_or_set_aside(self, name: str) -> None:
        """Open a collection; one that cannot be opened must not keep the others from being served."""
        try:
            await self._open_one(name)
        except GroundwireError as error:
            error.__cause__ = error.__context__ = None  # their frames hold what had been opened
            self._damaged[name] = error.with_traceback(None)
            _log.error("collection cannot be used", collection=name, problem=error.message)

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
