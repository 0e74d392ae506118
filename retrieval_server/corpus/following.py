"""A read replica: serves the newest snapshot of each collection, and swaps to newer ones as they appear."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import structlog

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.files.layout import DATABASE
from retrieval_server.corpus.snapshots.about import Snapshot, read_about
from retrieval_server.corpus.snapshots.snapshot_files import copy_snapshot
from retrieval_server.corpus.snapshots.snapshot_ids import newest_of
from retrieval_server.corpus.snapshots.snapshot_trials import Files, SnapshotTrials
from retrieval_server.corpus.snapshots.snapshots import SnapshotDirectory
from retrieval_server.errors import GroundwireError

_log = structlog.get_logger()


class Following:
    """Keeps `catalog` at the newest snapshots in `directory`."""

    def __init__(self, catalog: Catalog, directory: Path, interval_s: float) -> None:
        self._catalog = catalog
        self._directory = directory
        self._snapshots = SnapshotDirectory(directory)
        self._interval_s = interval_s
        self._trials = SnapshotTrials(directory, interval_s)
        # What was said is not said again as long as it stays as it is.
        self._listing_problem = ""
        self._passed_over: dict[str, str] = {}

    async def run(self) -> None:
        """Look for newer snapshots until cancelled."""
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self.catch_up()
            except Exception:
                _log.exception("following failed")

    async def catch_up(self) -> None:
        """Swap to snapshots that are newer than what is served.

        One that cannot be served is logged and tried again later; an older one is then served where there is none yet.
        """
        try:
            listed, passed_over = await asyncio.to_thread(self._snapshots.look)
        except OSError as error:
            if str(error) != self._listing_problem:
                self._listing_problem = str(error)
                _log.warning("snapshots cannot be listed yet", directory=str(self._directory), problem=str(error))
            return
        if self._listing_problem:
            self._listing_problem = ""
            _log.info("snapshots can be listed again", directory=str(self._directory))
        for name, problem in sorted(passed_over.items() - self._passed_over.items()):
            _log.warning("no usable snapshot", path=str(self._directory / name), problem=problem)
        self._passed_over = passed_over
        self._trials.forget(all_but={snapshot.snapshot_id for snapshot in listed})
        by_collection: dict[str, list[Snapshot]] = {}
        for snapshot in listed:
            by_collection.setdefault(snapshot.collection, []).append(snapshot)
        for name in sorted({*by_collection, *self._catalog.names()}):
            problem = await self._follow(name, by_collection.get(name, []))
            if self._is_served(name):
                problems = (problem, self._problem_of_passed_over(name))
                self._catalog.get(name).following_problem = "; ".join(filter(None, problems))

    async def _follow(self, name: str, newest_first: Sequence[Snapshot]) -> str:
        """Serve the newest snapshot of a collection that can be served; return why it is not the newest of all."""
        served = self._served(name)
        problem = ""
        for snapshot in newest_first:
            is_newest = snapshot is newest_first[0]
            if served is not None and (
                snapshot.snapshot_id == served.snapshot_id
                or (not is_newest and snapshot.create_time_unix_ms <= served.create_time_unix_ms)
            ):
                break
            now_s = asyncio.get_running_loop().time()
            files: Files = frozenset()
            try:
                if not await asyncio.to_thread(self._trials.is_due, snapshot, now_s):
                    problem = problem or self._trials.problem(snapshot)
                    continue
                files = await asyncio.to_thread(self._trials.files, snapshot)
                await self._catalog.replace(
                    snapshot.collection, partial(_fill, snapshot, self._directory / snapshot.snapshot_id)
                )
            except Exception as error:  # whatever one snapshot holds, the other collections are followed
                self._trials.failed(snapshot, error, now_s, files)
                problem = problem or self._trials.problem(snapshot)
                continue
            self._trials.served(snapshot)
            _log.info("snapshot served", snapshot_id=snapshot.snapshot_id, generation=snapshot.generation)
            break
        return problem

    def _problem_of_passed_over(self, name: str) -> str:
        if not self._passed_over:
            return ""
        served = self._served(name)
        others = [other for other in self._passed_over if served is None or other != served.snapshot_id]
        newest = newest_of(name, others, not_before_unix_ms=served.create_time_unix_ms if served else 0)
        return "" if newest is None else f"snapshot {newest} cannot be served: {self._passed_over[newest]}"

    def _served(self, name: str) -> Snapshot | None:
        return read_about(self._catalog.get(name).collection.directory) if self._is_served(name) else None

    def _is_served(self, name: str) -> bool:
        return name in self._catalog.names() and not self._catalog.damage(name)


def _fill(snapshot: Snapshot, source: Path, target: Path, replaced: CollectionView | None) -> None:
    del replaced  # generations are those of the server that is followed
    copy_snapshot(source, target)
    with closing(sqlite3.connect(target / DATABASE, isolation_level=None)) as connection:
        has_tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        row = connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone() if has_tables else None
    if (str(row[0]) if row else "0") != str(snapshot.generation) or not has_tables:
        raise GroundwireError(
            error_pb2.ERROR_REASON_STORAGE_FAILED,
            f"{DATABASE} of snapshot {snapshot.snapshot_id} is not that of generation {snapshot.generation}, "
            "and may be yet to arrive",
        )
