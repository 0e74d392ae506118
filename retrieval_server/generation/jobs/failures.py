"""Why a job ended without an answer, as its caller is told."""

from groundwire.internal.v1 import job_pb2
from groundwire.v1 import error_pb2
from retrieval_server.errors import Cancelled, Expired, FailedPrecondition, GroundwireError, InternalFault, Unavailable

_RETRYABLE_REASONS = frozenset(
    (
        error_pb2.ERROR_REASON_JOB_LOST,
        error_pb2.ERROR_REASON_NO_WORKER,
        error_pb2.ERROR_REASON_QUEUE_UNAVAILABLE,
        error_pb2.ERROR_REASON_SHUTTING_DOWN,
    )
)


def failure_of(ended: job_pb2.JobEnded) -> GroundwireError:
    """Return the error that a caller is told when a job ended without an answer."""
    if ended.outcome == job_pb2.JOB_OUTCOME_CANCELLED:
        return Cancelled(error_pb2.ERROR_REASON_JOB_CANCELLED, ended.message or "the answer was cancelled")
    if ended.outcome == job_pb2.JOB_OUTCOME_EXPIRED:
        return Expired(
            error_pb2.ERROR_REASON_DEADLINE_EXCEEDED,
            ended.message or "the deadline passed before the answer was complete",
        )
    if ended.outcome == job_pb2.JOB_OUTCOME_DEAD_LETTER:
        return InternalFault(
            error_pb2.ERROR_REASON_JOB_DEAD_LETTERED,
            ended.message or "the answer was attempted as often as allowed and never finished",
        )
    if ended.reason == error_pb2.ERROR_REASON_MODE_NOT_SUPPORTED:
        return FailedPrecondition(ended.reason, f"{ended.message or 'no generator works in that mode'}; ask for STUFF")
    if ended.reason in _RETRYABLE_REASONS:
        return Unavailable(ended.reason, ended.message or "the answer's job was lost; ask again")
    return InternalFault(
        ended.reason or error_pb2.ERROR_REASON_GENERATION_FAILED, ended.message or "the generator failed"
    )
