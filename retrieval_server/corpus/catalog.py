"""Which collections there are, and who may change that: by name, one change of a collection at a time."""

import asyncio
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.founding import found_collection
from retrieval_server.corpus.collection.open_collection import OpenCollection, read_only
from retrieval_server.corpus.exclusion import Exclusion, Work, check_no_sync
from retrieval_server.corpus.files.collection_directories import NAME
from retrieval_server.corpus.lexical.known_terms import DEFAULT_MEMORY_BYTES, TermMemory
from retrieval_server.corpus.served import FillNext, ServedCollections
from retrieval_server.corpus.writing.rebuilding import Rebuild
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.errors import Conflict, FieldError, InvalidRequest

T = TypeVar("T")

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
        self._served = ServedCollections(data_dir, encoder, TermMemory(known_terms_bytes), is_read_only=is_read_only)
        self._rebuilds: dict[str, Rebuild] = {}
        self._exclusion = Exclusion()
        self._changes: set[asyncio.Task[Any]] = set()

    async def open_all(self) -> None:
        """Open every collection; one that cannot be is set aside. Raises GroundwireError for the data directory."""
        await self._served.open_all()

    def names(self) -> list[str]:
        """Return the names of all collections, sorted, those that cannot be used among them."""
        return self._served.names()

    def has(self, name: str, field: str = "collection") -> bool:
        """Tell whether there is a collection of that name, be it damaged. Raises InvalidRequest naming `field`."""
        return self._served.has(checked_name(name, field))

    def damage(self, name: str) -> str:
        """Return why a collection cannot be used; "" when it can."""
        return self._served.damage(name)

    def get(self, name: str, field: str = "collection") -> OpenCollection:
        """Return a collection. Raises NotFound."""
        return self._served.get(checked_name(name, field))

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
                return await self._served.remove(name)

        return await self._to_its_end(change())

    async def replace(self, name: str, fill: FillNext) -> OpenCollection:
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
                opened = self._served.find(name)
                if opened is None:
                    return await self._served.put_back(name, fill)
                check_no_sync(opened)
                await self._served.put_in_place_of(opened, fill)
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
        await self._served.close()

    async def _create(self, name: str, settings: CollectionSettings) -> OpenCollection:
        self.check_writable()
        with self._exclusion.doing(name, Work.CREATION):
            return await self._served.found(name, partial(found_collection, settings=settings))
