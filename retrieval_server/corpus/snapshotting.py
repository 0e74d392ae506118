"""Making and restoring snapshots of the collections that a server has open."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.files.layout import DATABASE
from retrieval_server.corpus.snapshots.restoring import restore_into
from retrieval_server.corpus.snapshots.snapshots import Snapshot, SnapshotDirectory, copy_database
from retrieval_server.errors import GroundwireError


class Snapshotting:
    """Snapshots of `catalog` in one directory."""

    def __init__(self, catalog: Catalog, directory: Path) -> None:
        self._catalog = catalog
        self._snapshots = SnapshotDirectory(directory)

    async def create(self, collection: str) -> Snapshot:
        """Copy a collection as it is now; writing goes on meanwhile. Raises NotFound."""
        opened = self._catalog.get(collection)
        with _clear_errors("made"), self._snapshots.new(opened.name) as partial_snapshot:
            generation, frozen = await opened.write(Collection.freeze, partial_snapshot.path)

            def copy() -> Snapshot:
                with closing(frozen):
                    copy_database(frozen, partial_snapshot.path / DATABASE)
                return partial_snapshot.finish(generation)

            copying = asyncio.ensure_future(asyncio.to_thread(copy))
            try:
                return await asyncio.shield(copying)
            finally:
                # A caller may leave; what the thread still fills must not be thrown away under its hands.
                await asyncio.wait([copying])

    async def list_all(self, collection: str | None) -> list[Snapshot]:
        """Return the snapshots of a collection, or of all, newest first."""
        return await asyncio.to_thread(self._snapshots.list_all, collection)

    async def restore(self, snapshot_id: str) -> int:
        """Put a collection back to a snapshot, also one that is gone or damaged; return its generation then.

        Raises NotFound for no such snapshot, Conflict while something is synced into the collection.
        """
        snapshot, source = await asyncio.to_thread(self._snapshots.find, snapshot_id)
        with _clear_errors("restored"):
            opened = await self._catalog.replace(snapshot.collection, partial(_fill, snapshot, source))
        return opened.collection.current_view.generation


@contextmanager
def _clear_errors(done: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            f"the snapshot could not be {done} ({error}); the collection is as it was",
        ) from error


def _fill(snapshot: Snapshot, source: Path, target: Path, replaced: CollectionView | None) -> None:
    restore_into(
        target,
        source,
        snapshot,
        above_generation=replaced.generation if replaced else 0,
        above_epoch=replaced.vector_epoch if replaced else 0,
    )
