"""AdminService over the wire: what the server and its queue are doing."""

import time
from collections import Counter
from typing import Any, Protocol

import grpc.aio

import groundwire
from groundwire.masking import mask_secrets
from groundwire.queue.liveness import WorkerInfo
from groundwire.v1 import admin_service_pb2 as pb
from groundwire.v1 import admin_service_pb2_grpc, error_pb2
from retrieval_server.api.convert_answer import check_request_id
from retrieval_server.api.message_size import fitting_count
from retrieval_server.api.paging import Listing, checked_page_size
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit
from retrieval_server.generation.jobs.answer_jobs import answer_job_id, is_condensing_job, request_id_of
from retrieval_server.generation.jobs.dead_letters import DeadLetters
from retrieval_server.generation.jobs.queue_counts import QueueStats
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]

_MAX_PURGED_IDS = 1000


class QueueView(Protocol):
    """What administration needs of the queue."""

    async def stats(self) -> QueueStats:
        """Count the jobs."""

    async def workers(self) -> list[WorkerInfo]:
        """Return the workers that showed a sign of life."""

    async def running_counts(self) -> Counter[str]:
        """Return how many jobs each worker holds, by worker id."""

    @property
    def dead_letters(self) -> DeadLetters:
        """The jobs that were given up."""


class AdminServicer(admin_service_pb2_grpc.AdminServiceServicer):
    """Shows settings without their secrets, the queue and its workers."""

    def __init__(self, settings: ServerSettings, queue: QueueView) -> None:
        self._settings = settings
        self._queue = queue

    async def GetSettings(self, request: pb.GetSettingsRequest, context: Context) -> pb.GetSettingsResponse:
        """Return the effective settings."""
        settings = {
            name: "" if value is None else mask_secrets(_as_text(value))
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
            slot_count=stats.slot_count,
            waiting_batch_count=stats.waiting_batch_count,
            accepting_worker_count=stats.accepting_worker_count,
        )

    async def ListWorkers(self, request: pb.ListWorkersRequest, context: Context) -> pb.ListWorkersResponse:
        """Return the workers by id."""
        now_s = time.time()
        running_counts = await self._queue.running_counts()
        response = pb.ListWorkersResponse()
        for worker in sorted(await self._queue.workers(), key=lambda worker: worker.worker_id):
            message = response.workers.add(
                worker_id=worker.worker_id,
                model=worker.model,
                slot_count=worker.slot_count,
                running_count=running_counts[worker.worker_id],
                version=worker.version,
                context_tokens=worker.context_tokens,
                not_accepting_reason=worker.not_accepting_reason,
            )
            message.last_seen_time.FromNanoseconds(int(worker.last_seen_unix_s * 1e9))
            message.uptime.FromNanoseconds(int(max(0.0, now_s - worker.started_unix_s) * 1e9))
        return response

    async def ListDeadLetters(self, request: pb.ListDeadLettersRequest, context: Context) -> pb.ListDeadLettersResponse:
        """Return a page of the jobs that were given up, newest first."""
        size, listing = checked_page_size(request.page_size), Listing(request)
        seen = listing.place(request.page_token)
        found = await self._queue.dead_letters.list_newest(size + 1, (int(seen[0]), seen[1]) if seen else None)
        letters: list[pb.DeadLetter] = []
        for one in found[:size]:
            message = pb.DeadLetter(
                request_id=request_id_of(one.job_id),
                reason=error_pb2.ERROR_REASON_JOB_DEAD_LETTERED,
                crash_count=one.crash_count,
                worker_id=one.worker_id,
                question=one.question,
                replayable=one.replayable,
            )
            message.time.FromMilliseconds(one.unix_ms)
            letters.append(message)
        # Questions are long: a page may be cut short by the size of a message.
        count = fitting_count(letters, self._settings)
        last = found[count - 1] if count < len(found) else None
        token = listing.token(str(last.unix_ms), last.job_id) if last else ""
        return pb.ListDeadLettersResponse(dead_letters=letters[:count], next_page_token=token)

    async def ReplayDeadLetter(
        self, request: pb.ReplayDeadLetterRequest, context: Context
    ) -> pb.ReplayDeadLetterResponse:
        """Put a job back into the queue."""
        check_request_id(request.request_id)
        await self._queue.dead_letters.replay(answer_job_id(request.request_id))
        return pb.ReplayDeadLetterResponse()

    async def PurgeDeadLetters(
        self, request: pb.PurgeDeadLettersRequest, context: Context
    ) -> pb.PurgeDeadLettersResponse:
        """Remove dead letters."""
        older_than_s: float | None = None
        if request.HasField("older_than"):
            older_than_s = request.older_than.seconds + request.older_than.nanos / 1e9
            if older_than_s < 0:
                raise InvalidRequest(FieldError("older_than", "must not be negative"))
        if len(request.request_ids) > _MAX_PURGED_IDS:
            description = f"holds {len(request.request_ids)} ids of at most {_MAX_PURGED_IDS}"
            raise beyond_limit("request_ids", description, limit=_MAX_PURGED_IDS, actual=len(request.request_ids))
        job_ids = [_listed_job_id(one, f"request_ids[{number}]") for number, one in enumerate(request.request_ids)]
        purged_count = await self._queue.dead_letters.purge(older_than_s=older_than_s, job_ids=job_ids)
        return pb.PurgeDeadLettersResponse(purged_count=purged_count)


def _as_text(value: object) -> str:
    """Return a setting as messages can hold it: a path need not be UTF-8."""
    return str(value).encode(errors="backslashreplace").decode()


def _listed_job_id(request_id: str, field: str) -> str:
    """Return the queue's id of a dead letter by the id that it is listed with; raises InvalidRequest."""
    if is_condensing_job(request_id):
        return request_id
    check_request_id(request_id, field)
    return answer_job_id(request_id)
