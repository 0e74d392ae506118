"""Every error that this library raises.

ClientError                  reason, status, request id and metadata, as far as they are known
├── InvalidRequest           the request can never succeed as it is; names the fields
├── NotFound                 a collection, document or job that is not there
├── Conflict                 an id or name that is taken by something else, or work that excludes this call
├── FailedPrecondition       the stored state forbids the call until somebody acts
├── Overloaded               try again after `retry_after_s`
├── Unavailable              the server, or what it needs, cannot be reached; may come back
├── DeadlineExceeded         the call's deadline passed, or a stream fell silent for too long
├── Cancelled                ended by a caller
├── NotServed                the server does not serve this part of the contract
└── ServerFault              a fault of the server's own, or a reply that breaks the contract

The transport's error is translated in one place, `client/_translate.py`. How an answer ended (skipped, cancelled,
failed) is data in `AnswerResult` and no error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One wrong field: its path in the request, for example "retrieve.k", and what is wrong with it."""

    field: str
    description: str


class ClientError(Exception):
    """A call, or one item of a batch, failed. `str()` is one sentence for people.

    `reason` is the name of an ErrorReason without its prefix ("QUEUE_FULL"), empty when the server gave none.
    `status` is the name of the gRPC status ("UNAVAILABLE"), empty when no call was made.
    `request_id` finds the call in the server's log, empty when it never got there.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        status: str = "",
        request_id: str = "",
        metadata: Mapping[str, str] = MappingProxyType({}),
        field_violations: tuple[FieldViolation, ...] = (),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.status = status
        self.request_id = request_id
        self.metadata = dict(metadata)
        self.field_violations = field_violations
        self.retry_after_s = retry_after_s


class InvalidRequest(ClientError):
    """The request can never succeed as it is."""


class NotFound(ClientError):
    """A collection, document or job is not there."""


class Conflict(ClientError):
    """An id or name is taken by something else, or other work excludes this call."""


class FailedPrecondition(ClientError):
    """The stored state forbids the call until somebody acts; the message says how."""


class Overloaded(ClientError):
    """Too much work is in progress; try again after `retry_after_s`."""


class Unavailable(ClientError):
    """The server, or something that it needs, cannot be reached."""


class DeadlineExceeded(ClientError):
    """The call's deadline passed, or a stream fell silent for too long."""


class Cancelled(ClientError):
    """A caller ended it."""


class NotServed(ClientError):
    """The server does not serve this part of the contract."""


class ServerFault(ClientError):
    """A fault of the server's own, or a reply that breaks the contract."""


def invalid_field(field: str, description: str) -> InvalidRequest:
    """Return the error of a request that this library refuses before it is sent."""
    return InvalidRequest(
        f"{field}: {description}",
        reason="INVALID_FIELD",
        field_violations=(FieldViolation(field, description),),
    )
