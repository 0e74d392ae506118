"""A read replica: serves the newest snapshot of each collection, and swaps to newer ones as they appear."""

import asyncio
from functools import partial
from pathlib import Path

import structlog

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.snapshots import Snapshot, SnapshotDirectory, copy_snapshot, read_about
from retrieval_server.corpus.view import CollectionView
from retrieval_server.errors import GroundwireError

_log = structlog.get_logger()


class Following:
    """Keeps `catalog` at the newest snapshots in `directory`."""

    def __init__(self, catalog: Catalog, directory: Path, interval_s: float) -> None:
        self._catalog = catalog
        self._directory = directory
        self._snapshots = SnapshotDirectory(directory)
        self._interval_s = interval_s
        self._failed: set[str] = set()

    async def run(self) -> None:
        """Look for newer snapshots until cancelled."""
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self.catch_up()
            except Exception:
                _log.exception("following failed")

    async def catch_up(self) -> None:
        """Swap to snapshots that are newer than what is served. One that cannot be used is logged and passed over."""
        newest: dict[str, Snapshot] = {}
        for snapshot in await asyncio.to_thread(self._snapshots.list_all):
            newest.setdefault(snapshot.collection, snapshot)
        for name, snapshot in newest.items():
            if snapshot.snapshot_id in self._failed or self._served_id(name) == snapshot.snapshot_id:
                continue
            try:
                await self._catalog.replace(name, partial(_fill, self._directory / snapshot.snapshot_id))
            except (GroundwireError, OSError) as error:
                self._failed.add(snapshot.snapshot_id)
                _log.warning("snapshot cannot be used", snapshot_id=snapshot.snapshot_id, problem=str(error))
                continue
            _log.info("snapshot served", snapshot_id=snapshot.snapshot_id, generation=snapshot.generation)

    def _served_id(self, name: str) -> str | None:
        if name not in self._catalog.names() or self._catalog.damage(name):
            return None
        about = read_about(self._catalog.get(name).collection.directory)
        return None if about is None else about.snapshot_id


def _fill(source: Path, target: Path, replaced: CollectionView | None) -> None:
    del replaced  # generations are those of the server that is followed
    copy_snapshot(source, target)
