"""The one place where the transport's error becomes ours."""

from collections.abc import Iterable

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from client import errors
from groundwire.v1 import error_pb2

REQUEST_ID_KEY = "x-request-id"
_DOMAIN = "groundwire"

_CLASS_OF_STATUS: dict[grpc.StatusCode, type[errors.ClientError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidRequest,
    grpc.StatusCode.OUT_OF_RANGE: errors.InvalidRequest,
    grpc.StatusCode.NOT_FOUND: errors.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: errors.Conflict,
    grpc.StatusCode.ABORTED: errors.Conflict,
    grpc.StatusCode.FAILED_PRECONDITION: errors.FailedPrecondition,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.Overloaded,
    grpc.StatusCode.UNAVAILABLE: errors.Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceeded,
    grpc.StatusCode.CANCELLED: errors.Cancelled,
    grpc.StatusCode.UNIMPLEMENTED: errors.NotServed,
}
_STATUS_OF_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


def from_rpc_error(error: grpc.aio.AioRpcError, *, server: str, request_id: str) -> errors.ClientError:
    """Return our error for a failed call to `server`, with what its trailers say."""
    code = error.code()
    details = error.details() or ""
    trailers = list(error.trailing_metadata() or ())
    reason, metadata, violations, retry_after_s = _rich_details(error)
    sent_id = next((str(value) for key, value in trailers if key == REQUEST_ID_KEY), request_id)
    made = _CLASS_OF_STATUS.get(code, errors.ServerFault)
    message = details or f"{server} answered {code.name} and gave no message"
    if not reason:  # the transport's own: the server's code never saw the call, or never finished it
        if code is grpc.StatusCode.UNAVAILABLE:
            message, sent_id = f"the server at {server} cannot be reached", ""
        elif code is grpc.StatusCode.DEADLINE_EXCEEDED:
            message = f"{server} did not answer within the deadline"
        elif code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in details:
            # gRPC has no other sign of it; trying again would not help.
            made, message = errors.InvalidRequest, "the message is larger than 8 MiB: ask for less at once"
    return made(
        _one_line(message),
        reason=reason,
        status=code.name,
        request_id=metadata.get("request_id", sent_id),
        metadata=metadata,
        field_violations=violations,
        retry_after_s=retry_after_s,
    )


def from_item_status(status: error_pb2.ItemStatus) -> errors.ClientError | None:
    """Return the error of one item of a batch; None when it is OK."""
    if status.code == 0:
        return None
    code = _STATUS_OF_NUMBER.get(status.code, grpc.StatusCode.UNKNOWN)
    return _CLASS_OF_STATUS.get(code, errors.ServerFault)(
        _one_line(status.message) or code.name,
        reason=reason_name(status.reason),
        status=code.name,
        field_violations=_violations(status.field_violations),
        retry_after_s=status.retry_delay.ToTimedelta().total_seconds() if status.HasField("retry_delay") else None,
    )


def reason_name(reason: int) -> str:
    """Return the reason's name without its prefix; "" when unspecified, the number when this version has no name."""
    if reason == error_pb2.ERROR_REASON_UNSPECIFIED:
        return ""
    try:
        return error_pb2.ErrorReason.Name(reason).removeprefix("ERROR_REASON_")  # type: ignore[arg-type]
    except ValueError:
        return str(reason)


def _rich_details(
    error: grpc.aio.AioRpcError,
) -> tuple[str, dict[str, str], tuple[errors.FieldViolation, ...], float | None]:
    reason, metadata, violations, retry_after_s = "", dict[str, str](), tuple[errors.FieldViolation, ...](), None
    try:
        status = rpc_status.from_call(error)
    except ValueError:  # trailers that contradict the status: not from a groundwire server
        status = None
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    for detail in status.details if status is not None else ():
        if detail.Unpack(info):
            if info.domain == _DOMAIN:
                reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad):
            violations = _violations(bad.field_violations)
        elif detail.Unpack(retry):
            retry_after_s = retry.retry_delay.ToTimedelta().total_seconds()
    return reason, metadata, violations, retry_after_s


def _violations(
    violations: Iterable[error_pb2.FieldViolation | error_details_pb2.BadRequest.FieldViolation],
) -> tuple[errors.FieldViolation, ...]:
    return tuple(errors.FieldViolation(one.field, one.description) for one in violations)


def _one_line(text: str) -> str:
    return " ".join(text.split())
