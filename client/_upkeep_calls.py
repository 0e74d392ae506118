"""The methods of a client that are about keeping a corpus: rebuilding, snapshots."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from client import _convert_corpus
from client import _corpus_types as corpus
from client._channel import DEFAULT_COLLECTION
from client._message_fields import building
from client._rpc import Rpc
from client.errors import ServerFault
from groundwire.v1 import collection_pb2, corpus_service_pb2_grpc, snapshot_pb2


class UpkeepCalls:
    """What `AsyncClient` has of CorpusService beside documents."""

    _rpc: Rpc

    async def rebuild_collection(
        self, collection: str = DEFAULT_COLLECTION, *, full: bool = False
    ) -> AsyncGenerator[corpus.RebuildProgress, None]:
        """Rebuild a collection and yield progress, at last a finished one; it goes on when nobody listens any more.

        By default only what another version of the server made is made anew; `full` makes all anew.
        """
        with building("collection"):
            request = collection_pb2.RebuildCollectionRequest(collection=collection, full=full)
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        async with aclosing(self._rpc.listen(stub.RebuildCollection, request)) as steps:
            async for progress in steps:
                yield _convert_corpus.rebuild_progress(progress)

    async def create_snapshot(self, collection: str = DEFAULT_COLLECTION) -> corpus.Snapshot:
        """Copy a collection as it is now; writing goes on meanwhile."""
        with building("collection"):
            request = snapshot_pb2.CreateSnapshotRequest(collection=collection)
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        response = await self._rpc.unary(stub.CreateSnapshot, request, timeout_s=self._rpc.timeouts.silence_s)
        return _convert_corpus.snapshot(response.snapshot)

    async def snapshots(self, collection: str | None = None) -> tuple[corpus.Snapshot, ...]:
        """Return the snapshots of a collection, or of all, newest first."""
        with building("collection"):
            request = snapshot_pb2.ListSnapshotsRequest(collection=collection or "")
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        found: list[corpus.Snapshot] = []
        while True:
            page = await self._rpc.unary(stub.ListSnapshots, request)
            found += [_convert_corpus.snapshot(one) for one in page.snapshots]
            if not page.next_page_token:
                return tuple(found)
            if page.next_page_token == request.page_token:
                raise ServerFault("the server's list of snapshots has no end")
            request.page_token = page.next_page_token

    async def restore_snapshot(self, snapshot_id: str) -> int:
        """Put a collection back to a snapshot; return its generation after that."""
        with building("snapshot_id"):
            request = snapshot_pb2.RestoreSnapshotRequest(snapshot_id=snapshot_id)
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        response = await self._rpc.unary(stub.RestoreSnapshot, request, timeout_s=self._rpc.timeouts.silence_s)
        return response.index_generation

    async def delete_snapshot(self, snapshot_id: str) -> None:
        """Remove a snapshot; collections stay as they are, also those that were put back to it."""
        with building("snapshot_id"):
            request = snapshot_pb2.DeleteSnapshotRequest(snapshot_id=snapshot_id)
        stub = corpus_service_pb2_grpc.CorpusServiceStub(self._rpc.channel)
        await self._rpc.unary(stub.DeleteSnapshot, request, timeout_s=self._rpc.timeouts.silence_s)
