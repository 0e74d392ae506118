"""The methods of a client that are about the answer queue and its workers."""

from collections.abc import AsyncGenerator, Sequence

from client import _convert
from client import _queue_types as queue
from client._message_fields import building
from client._rpc import Rpc
from client.errors import ServerFault
from groundwire.v1 import admin_service_pb2, admin_service_pb2_grpc

_PAGE_SIZE = 100


class QueueCalls:
    """What `AsyncClient` has of AdminService's queue."""

    _rpc: Rpc

    @property
    def _admin(self) -> "admin_service_pb2_grpc.AdminServiceAsyncStub":
        return admin_service_pb2_grpc.AdminServiceStub(self._rpc.channel)

    async def queue_stats(self) -> queue.QueueStats:
        """Return the counts of the answer queue."""
        request = admin_service_pb2.GetQueueStatsRequest()
        return _convert.queue_stats(await self._rpc.unary(self._admin.GetQueueStats, request))

    async def workers(self) -> tuple[queue.Worker, ...]:
        """Return the generation workers that showed a sign of life."""
        response = await self._rpc.unary(self._admin.ListWorkers, admin_service_pb2.ListWorkersRequest())
        return tuple(_convert.worker(one) for one in response.workers)

    async def dead_letters(self) -> AsyncGenerator[queue.DeadLetter, None]:
        """Yield the jobs that were given up, newest first."""
        token = ""
        while True:
            request = admin_service_pb2.ListDeadLettersRequest(page_size=_PAGE_SIZE, page_token=token)
            page = await self._rpc.unary(self._admin.ListDeadLetters, request)
            for one in page.dead_letters:
                yield _convert.dead_letter(one)
            if not page.next_page_token:
                return
            if page.next_page_token == token:
                raise ServerFault("the server's list of dead letters has no end")
            token = page.next_page_token

    async def replay_dead_letter(self, request_id: str) -> None:
        """Put a job that was given up back into the queue; `attach_answer` tells how it goes."""
        with building("request_id"):
            request = admin_service_pb2.ReplayDeadLetterRequest(request_id=request_id)
        await self._rpc.unary(self._admin.ReplayDeadLetter, request)

    async def purge_dead_letters(self, request_ids: Sequence[str] = (), *, older_than_s: float | None = None) -> int:
        """Remove jobs that were given up, all or those named, and of them the older ones; return how many went."""
        request = admin_service_pb2.PurgeDeadLettersRequest()
        with building("request_ids"):
            request.request_ids.extend(request_ids)
        if older_than_s is not None:
            with building("older_than"):
                request.older_than.FromNanoseconds(round(older_than_s * 1e9))
        return (await self._rpc.unary(self._admin.PurgeDeadLetters, request)).purged_count
