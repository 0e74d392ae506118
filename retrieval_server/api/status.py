"""Domain errors to gRPC statuses: the one place where a status is built."""

import math
from collections.abc import Sequence

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from groundwire.v1 import error_pb2
from retrieval_server import errors

_DOMAIN = "groundwire"
# gRPC refuses trailers above 8 KiB, and with them the whole status: the caller would read RESOURCE_EXHAUSTED. A message
# is in them twice, once with three bytes for each of its UTF-8.
_MAX_SHOWN_CHARS = 400
_MAX_SHOWN_BYTES = 600
_MAX_VIOLATIONS_BYTES = 3000
_DETAILS_KEY = "grpc-status-details-bin"

_CODE_BY_ERROR: dict[type[errors.GroundwireError], grpc.StatusCode] = {
    errors.InvalidRequest: grpc.StatusCode.INVALID_ARGUMENT,
    errors.NotFound: grpc.StatusCode.NOT_FOUND,
    errors.Conflict: grpc.StatusCode.ALREADY_EXISTS,
    errors.Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.Unavailable: grpc.StatusCode.UNAVAILABLE,
    errors.FailedPrecondition: grpc.StatusCode.FAILED_PRECONDITION,
    errors.NotServed: grpc.StatusCode.UNIMPLEMENTED,
    errors.Cancelled: grpc.StatusCode.CANCELLED,
    errors.Expired: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.InternalFault: grpc.StatusCode.INTERNAL,
}
# Errors that are raised as plain GroundwireError, by reason.
_CODE_BY_REASON = {
    error_pb2.ERROR_REASON_PROTOCOL_ORDER: grpc.StatusCode.INVALID_ARGUMENT,
    error_pb2.ERROR_REASON_MALFORMED_MESSAGE: grpc.StatusCode.INVALID_ARGUMENT,
    error_pb2.ERROR_REASON_STORAGE_FAILED: grpc.StatusCode.INTERNAL,
    error_pb2.ERROR_REASON_OUTCOME_UNKNOWN: grpc.StatusCode.UNKNOWN,
    error_pb2.ERROR_REASON_ETAG_MISMATCH: grpc.StatusCode.ABORTED,
    error_pb2.ERROR_REASON_COLLECTION_BUSY: grpc.StatusCode.ABORTED,
    error_pb2.ERROR_REASON_SYNC_IN_PROGRESS: grpc.StatusCode.ABORTED,
}


def status_code(error: errors.GroundwireError) -> grpc.StatusCode:
    """Return the status code that stands for `error`."""
    by_type = _CODE_BY_ERROR.get(type(error))
    return by_type or _CODE_BY_REASON.get(error.reason, grpc.StatusCode.INTERNAL)


def clipped(text: str) -> str:
    """Return a text that fits into trailers, whatever a caller's own words in it were."""
    shown = text[:_MAX_SHOWN_CHARS].encode(errors="replace")[:_MAX_SHOWN_BYTES].decode(errors="ignore")
    return text if shown == text else f"{shown}…"


def trailers(error: errors.GroundwireError) -> tuple[tuple[str, bytes], ...]:
    """Return trailing metadata: a google.rpc.Status with ErrorInfo, and BadRequest or RetryInfo where they apply."""
    status = status_pb2.Status(code=status_code(error).value[0], message=clipped(error.message))
    details: list[error_details_pb2.ErrorInfo | error_details_pb2.BadRequest | error_details_pb2.RetryInfo] = [
        error_details_pb2.ErrorInfo(
            reason=error.reason_name,
            domain=_DOMAIN,
            metadata={key: clipped(value) for key, value in error.metadata.items()},
        )
    ]
    if isinstance(error, errors.InvalidRequest):
        details.append(_bad_request(error.field_errors))
    if isinstance(error, errors.Overloaded | errors.Unavailable):
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(math.ceil(error.retry_after_s * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return ((_DETAILS_KEY, status.SerializeToString()),)


def _bad_request(field_errors: Sequence[errors.FieldError]) -> error_details_pb2.BadRequest:
    """Return as many of the wrong fields, the first ones, as fit into trailers."""
    shown = error_details_pb2.BadRequest()
    for one in field_errors:
        shown.field_violations.add(field=clipped(one.field), description=clipped(one.description))
        if shown.ByteSize() > _MAX_VIOLATIONS_BYTES:
            del shown.field_violations[-1]
            break
    return shown


def item_status(error: errors.GroundwireError) -> error_pb2.ItemStatus:
    """Return the status of one item of a batch or stream.

    It is cut as those of calls are: an item may fill a message, and what quotes it would not fit into one.
    """
    status = error_pb2.ItemStatus(
        code=status_code(error).value[0],
        reason=error.reason,
        message=clipped(error.message),
    )
    if isinstance(error, errors.InvalidRequest):
        for one in _bad_request(error.field_errors).field_violations:
            status.field_violations.add(field=one.field, description=one.description)
    if isinstance(error, errors.Overloaded | errors.Unavailable):
        status.retry_delay.FromMilliseconds(math.ceil(error.retry_after_s * 1000))
    return status
