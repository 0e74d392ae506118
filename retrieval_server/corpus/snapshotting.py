"""Making, restoring and removing snapshots of the collections that a server has open."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.exclusion import Work, collection_busy
from retrieval_server.corpus.files.layout import DATABASE
from retrieval_server.corpus.snapshots.about import Snapshot
from retrieval_server.corpus.snapshots.restoring import restore_into
from retrieval_server.corpus.snapshots.snapshot_files import copy_database
from retrieval_server.corpus.snapshots.snapshots import SnapshotDirectory
from retrieval_server.corpus.to_its_end import to_its_end
from retrieval_server.errors import GroundwireError

T = TypeVar("T")


class Snapshotting:
    """Snapshots of `catalog` in one directory."""

    def __init__(self, catalog: Catalog, directory: Path) -> None:
        self._catalog = catalog
        self._snapshots = SnapshotDirectory(directory)
        # Held while a snapshot is looked up and set aside, or looked up and said to be in use.
        self._looking_up = asyncio.Lock()
        self._being_restored: list[str] = []
        # By collection: held from the choice of a snapshot's time until its state is.
        self._freezing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._last_time_unix_ms: dict[str, int] = {}

    async def create(self, collection: str) -> Snapshot:
        """Copy a collection as it is now; writing goes on meanwhile. Raises NotFound."""
        opened = self._catalog.get(collection)
        await self.sweep()  # first, as the disk may be full of it
        with _clear_errors("the snapshot could not be made"):
            # What a thread still fills must not be thrown away under its hands.
            return await to_its_end(self._create(opened))

    async def sweep(self) -> None:
        """Remove what removals left, and snapshots whose makers died before they were done."""
        await asyncio.to_thread(self._snapshots.sweep)

    async def list_all(self, collection: str | None) -> list[Snapshot]:
        """Return the snapshots of a collection, or of all, newest first."""

        def sweep_and_list() -> list[Snapshot]:
            self._snapshots.sweep()
            return self._snapshots.list_all(collection)

        with _clear_errors("the snapshots could not be listed"):
            return await asyncio.to_thread(sweep_and_list)

    async def restore(self, snapshot_id: str) -> int:
        """Put a collection back to a snapshot, also one that is gone or damaged; return its generation then.

        Raises NotFound for no such snapshot, SYNC_IN_PROGRESS while something is synced into the collection,
        COLLECTION_BUSY while it is changed, FailedPrecondition on a replica.
        """
        self._catalog.check_writable()
        with _clear_errors("the snapshot could not be restored"):
            return await to_its_end(self._restore(snapshot_id))

    async def remove(self, snapshot_id: str) -> None:
        """Remove a snapshot.

        Raises NotFound for no such snapshot, COLLECTION_BUSY while it is restored, FailedPrecondition on a replica.
        """
        self._catalog.check_writable()
        with _clear_errors("the snapshot could not be removed"):
            await to_its_end(self._remove(snapshot_id))

    async def _create(self, opened: OpenCollection) -> Snapshot:
        with ExitStack() as until_made:
            # One at a time, or the later of two could be of the earlier state.
            async with self._freezing.setdefault(opened.name, asyncio.Lock()):
                create_time_unix_ms = await asyncio.to_thread(self._next_time_unix_ms, opened.name)
                made = until_made.enter_context(self._snapshots.new(opened.name, create_time_unix_ms))
                generation, frozen = await opened.write(Collection.freeze, made.path)

            def copy() -> Snapshot:
                with closing(frozen):
                    copy_database(frozen, made.path / DATABASE)
                return made.finish(generation)

            return await asyncio.to_thread(copy)

    def _next_time_unix_ms(self, collection: str) -> int:
        """Return the time of a snapshot that is made now, after that of one that is still being copied."""
        later = self._last_time_unix_ms.get(collection, 0) + 1
        self._last_time_unix_ms[collection] = max(later, self._snapshots.next_time_unix_ms(collection))
        return self._last_time_unix_ms[collection]

    async def _restore(self, snapshot_id: str) -> int:
        async with self._looking_up:
            snapshot, source = await asyncio.to_thread(self._snapshots.find, snapshot_id)
            self._being_restored.append(snapshot_id)
        try:
            opened = await self._catalog.replace(snapshot.collection, partial(_fill, snapshot, source))
        finally:
            self._being_restored.remove(snapshot_id)
        return opened.collection.current_view.generation

    async def _remove(self, snapshot_id: str) -> None:
        async with self._looking_up:
            snapshot, _ = await asyncio.to_thread(self._snapshots.find, snapshot_id)
            if snapshot_id in self._being_restored:
                raise collection_busy(snapshot.collection, Work.RESTORE)
            await asyncio.to_thread(self._snapshots.remove, snapshot)


@contextmanager
def _clear_errors(problem: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            f"{problem} ({error}); the collection is as it was",
        ) from error


def _fill(snapshot: Snapshot, source: Path, target: Path, replaced: CollectionView | None) -> None:
    restore_into(
        target,
        source,
        snapshot,
        above_generation=replaced.generation if replaced else 0,
        above_epoch=replaced.vector_epoch if replaced else 0,
    )
