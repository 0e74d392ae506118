"""Work on whole collections that excludes other work on them: two of these at once would undo each other."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.errors import GroundwireError


class Work(Enum):
    """What is being done to a collection, as it is said in "is being …"."""

    CREATION = "created"
    REMOVAL = "removed"
    RESTORE = "put back to a snapshot"
    REBUILD = "rebuilt"


def collection_busy(name: str, work: Work) -> GroundwireError:
    """Return the error of what a work excludes."""
    return GroundwireError(
        error_pb2.ERROR_REASON_COLLECTION_BUSY,
        f"collection {name} is being {work.value}; try again when that has ended",
        metadata={"collection": name, "work": work.name},
    )


def sync_in_progress(name: str, source: str) -> GroundwireError:
    """Return the error of what the sync of a source into a collection excludes."""
    return GroundwireError(
        error_pb2.ERROR_REASON_SYNC_IN_PROGRESS,
        f"{source} is being synced into {name}; try again when that has ended",
        metadata={"collection": name, "source": source},
    )


def check_no_sync(opened: OpenCollection) -> None:
    """Raise GroundwireError SYNC_IN_PROGRESS while something is synced into a collection."""
    if opened.syncing_sources:
        raise sync_in_progress(opened.name, min(opened.syncing_sources))


class Exclusion:
    """What is being done, by collection: one work at a time. For one event loop."""

    def __init__(self) -> None:
        self._work_by_name: dict[str, tuple[Work, asyncio.Event]] = {}

    def check(self, name: str) -> None:
        """Raise GroundwireError COLLECTION_BUSY while any work is being done."""
        if name in self._work_by_name:
            work, _ = self._work_by_name[name]
            raise collection_busy(name, work)

    def begin(self, name: str, work: Work) -> None:
        """Begin a work, which `end` must end. Raises GroundwireError COLLECTION_BUSY during another one."""
        self.check(name)
        self._work_by_name[name] = (work, asyncio.Event())

    def end(self, name: str) -> None:
        """End the work that is being done."""
        _, ended = self._work_by_name.pop(name)
        ended.set()

    @contextmanager
    def doing(self, name: str, work: Work) -> Iterator[None]:
        """Do a work within the block, as `begin`."""
        self.begin(name, work)
        try:
            yield
        finally:
            self.end(name)

    async def until_free(self, name: str, of: Work | None = None) -> None:
        """Return when no work, or not that one, is being done; by the next await another one may be."""
        while (found := self._work_by_name.get(name)) is not None and of in (None, found[0]):
            await found[1].wait()
