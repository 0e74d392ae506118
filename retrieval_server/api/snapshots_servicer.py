"""CorpusService: snapshots."""

from typing import Any

import grpc

from groundwire.v1 import corpus_service_pb2_grpc, snapshot_pb2
from retrieval_server.api.paging import Listing, page_of
from retrieval_server.corpus.catalog import checked_name
from retrieval_server.corpus.snapshots.about import Snapshot
from retrieval_server.corpus.snapshotting import Snapshotting
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]
_LARGEST_TIME = 10**15


class SnapshotsServicer(corpus_service_pb2_grpc.CorpusServiceServicer):
    """Makes, lists, restores and removes snapshots."""

    _settings: ServerSettings
    _snapshotting: Snapshotting

    async def CreateSnapshot(
        self, request: snapshot_pb2.CreateSnapshotRequest, context: Context
    ) -> snapshot_pb2.CreateSnapshotResponse:
        """Copy a collection as it is now."""
        made = await self._snapshotting.create(request.collection)
        return snapshot_pb2.CreateSnapshotResponse(snapshot=_snapshot(made))

    async def ListSnapshots(
        self, request: snapshot_pb2.ListSnapshotsRequest, context: Context
    ) -> snapshot_pb2.ListSnapshotsResponse:
        """List snapshots, newest first."""
        collection = checked_name(request.collection, "collection") if request.collection else None
        found = await self._snapshotting.list_all(collection)
        # Pages go by rising keys.
        by_key = {f"{_LARGEST_TIME - one.create_time_unix_ms:016d}{one.snapshot_id}": one for one in found}
        snapshots, token = page_of(
            sorted(by_key),
            request.page_size,
            request.page_token,
            Listing(request),
            lambda key: _snapshot(by_key[key]),
            self._settings,
        )
        return snapshot_pb2.ListSnapshotsResponse(snapshots=snapshots, next_page_token=token)

    async def RestoreSnapshot(
        self, request: snapshot_pb2.RestoreSnapshotRequest, context: Context
    ) -> snapshot_pb2.RestoreSnapshotResponse:
        """Put a collection back to a snapshot."""
        generation = await self._snapshotting.restore(_checked_id(request.snapshot_id))
        return snapshot_pb2.RestoreSnapshotResponse(index_generation=generation)

    async def DeleteSnapshot(
        self, request: snapshot_pb2.DeleteSnapshotRequest, context: Context
    ) -> snapshot_pb2.DeleteSnapshotResponse:
        """Remove a snapshot."""
        await self._snapshotting.remove(_checked_id(request.snapshot_id))
        return snapshot_pb2.DeleteSnapshotResponse()


def _checked_id(snapshot_id: str) -> str:
    if not snapshot_id:
        raise InvalidRequest(FieldError("snapshot_id", "must be set"))
    return snapshot_id


def _snapshot(made: Snapshot) -> snapshot_pb2.Snapshot:
    message = snapshot_pb2.Snapshot(
        snapshot_id=made.snapshot_id,
        collection=made.collection,
        index_generation=made.generation,
        size_bytes=made.size_bytes,
    )
    message.create_time.FromMilliseconds(made.create_time_unix_ms)
    return message
