"""AdminService over the wire: what the server and its queue are doing."""

import re
import time
from typing import Any, NoReturn, Protocol

import grpc.aio

import groundwire
from groundwire.queue.liveness import WorkerInfo
from groundwire.v1 import admin_service_pb2 as pb
from groundwire.v1 import admin_service_pb2_grpc
from retrieval_server.errors import NotServed
from retrieval_server.generation.answer_queue import QueueStats
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]

# The password of a URL, up to the last "@": an unescaped "@" or "/" in it must not show.
_URL_PASSWORD = re.compile(r"(?<=://)([^:@/?#]*):(.*)(?=@)")
_URL_SECRET_PARAMETER = re.compile(r"(?<=[?&])((?:password|token|secret)=)[^&#]*", re.IGNORECASE)


class QueueView(Protocol):
    """What administration needs of the queue."""

    async def stats(self) -> QueueStats:
        """Count the jobs."""

    async def workers(self) -> list[WorkerInfo]:
        """Return the workers that showed a sign of life."""


class AdminServicer(admin_service_pb2_grpc.AdminServiceServicer):
    """Shows settings without their secrets, the queue and its workers."""

    def __init__(self, settings: ServerSettings, queue: QueueView) -> None:
        self._settings = settings
        self._queue = queue

    async def GetSettings(self, request: pb.GetSettingsRequest, context: Context) -> pb.GetSettingsResponse:
        """Return the effective settings."""
        settings = {
            name: "" if value is None else mask_secrets(str(value))
            for name, value in self._settings.model_dump().items()
        }
        return pb.GetSettingsResponse(settings=settings, version=groundwire.__version__)

    async def GetQueueStats(self, request: pb.GetQueueStatsRequest, context: Context) -> pb.GetQueueStatsResponse:
        """Return the counts of the queue."""
        stats = await self._queue.stats()
        return pb.GetQueueStatsResponse(
            waiting_count=stats.waiting_count,
            running_count=stats.running_count,
            dead_letter_count=stats.dead_letter_count,
            live_worker_count=stats.live_worker_count,
        )

    async def ListWorkers(self, request: pb.ListWorkersRequest, context: Context) -> pb.ListWorkersResponse:
        """Return the workers by id."""
        now_s = time.time()
        response = pb.ListWorkersResponse()
        for worker in sorted(await self._queue.workers(), key=lambda worker: worker.worker_id):
            message = response.workers.add(worker_id=worker.worker_id, model=worker.model)
            message.last_seen_time.FromNanoseconds(int(worker.last_seen_unix_s * 1e9))
            message.uptime.FromNanoseconds(int(max(0.0, now_s - worker.started_unix_s) * 1e9))
        return response

    async def ListDeadLetters(self, request: pb.ListDeadLettersRequest, context: Context) -> NoReturn:
        """Not served yet."""
        raise NotServed("ListDeadLetters")

    async def ReplayDeadLetter(self, request: pb.ReplayDeadLetterRequest, context: Context) -> NoReturn:
        """Not served yet."""
        raise NotServed("ReplayDeadLetter")

    async def PurgeDeadLetters(self, request: pb.PurgeDeadLettersRequest, context: Context) -> NoReturn:
        """Not served yet."""
        raise NotServed("PurgeDeadLetters")


def mask_secrets(value: str) -> str:
    """Replace the password of a URL, in its authority or its parameters, with "***"."""
    return _URL_SECRET_PARAMETER.sub(r"\1***", _URL_PASSWORD.sub(r"\1:***", value))
