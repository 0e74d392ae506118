"""Every error that the server tells a caller about.

GroundwireError
├── InvalidRequest        the request can never succeed as it is; names the fields
├── NotFound              a collection, document or job that is not there
├── Conflict              an id or name that is taken by something else
├── Overloaded            try again later; carries the delay
├── Unavailable           something that the call needs is not running; may come back
├── FailedPrecondition    the stored state forbids it until somebody acts
├── NotServed             belongs to a later version
├── Cancelled             ended by a caller
├── Expired               its deadline passed
└── InternalFault         ours; the log has it

The api layer maps each to one gRPC status; nothing below that layer knows gRPC.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from groundwire.v1 import error_pb2

Reason = error_pb2.ErrorReason


@dataclass(frozen=True)
class FieldError:
    """One wrong field: its path in the request and what is wrong with it."""

    field: str
    description: str


class GroundwireError(Exception):
    """An outcome that the caller is told, with a reason for machines and a sentence for people."""

    def __init__(
        self,
        reason: Reason.ValueType,
        message: str,
        *,
        metadata: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = metadata or {}

    @property
    def reason_name(self) -> str:
        """The reason without its enum prefix, as it travels in ErrorInfo."""
        return Reason.Name(self.reason).removeprefix("ERROR_REASON_")


class InvalidRequest(GroundwireError):
    """A request that can never succeed as it is."""

    def __init__(
        self,
        *field_errors: FieldError,
        reason: Reason.ValueType = error_pb2.ERROR_REASON_INVALID_FIELD,
        metadata: dict[str, str] | None = None,
    ) -> None:
        super().__init__(reason, "; ".join(f"{e.field}: {e.description}" for e in field_errors), metadata=metadata)
        self.field_errors = field_errors


def beyond_limit(field: str, description: str, *, limit: int, actual: int) -> InvalidRequest:
    """Return the error of a field that is larger, longer or more than is allowed."""
    return InvalidRequest(
        FieldError(field, description),
        reason=error_pb2.ERROR_REASON_LIMIT_EXCEEDED,
        metadata={"limit": str(limit), "actual": str(actual)},
    )


@contextmanager
def fields_under(field_prefix: str) -> Iterator[None]:
    """Put a prefix before the fields that the work itself refuses: it does not know where its request stood."""
    try:
        yield
    except InvalidRequest as error:
        raise InvalidRequest(
            *(FieldError(f"{field_prefix}{one.field}", one.description) for one in error.field_errors),
            reason=error.reason,
            metadata=error.metadata,
        ) from error


class NotFound(GroundwireError):
    """A collection, document or job that is not there."""


class Conflict(GroundwireError):
    """An id or name that is taken by something else."""


class Overloaded(GroundwireError):
    """A limit on work in progress is reached; try again after `retry_after_s`."""

    def __init__(self, reason: Reason.ValueType, message: str, *, retry_after_s: float) -> None:
        super().__init__(reason, message)
        self.retry_after_s = retry_after_s


class Unavailable(GroundwireError):
    """Something that the call needs is not running; it may come back after `retry_after_s`."""

    def __init__(self, reason: Reason.ValueType, message: str, *, retry_after_s: float = 1.0) -> None:
        super().__init__(reason, message)
        self.retry_after_s = retry_after_s


class FailedPrecondition(GroundwireError):
    """The stored state forbids the call until somebody acts; the message says how."""


class NotServed(GroundwireError):
    """Part of the contract that a later version serves."""

    def __init__(self, what: str) -> None:
        super().__init__(error_pb2.ERROR_REASON_NOT_IMPLEMENTED, f"{what} is not served by this version")


class Cancelled(GroundwireError):
    """Ended by a caller."""


class Expired(GroundwireError):
    """Its deadline passed before it was complete."""


class InternalFault(GroundwireError):
    """A fault of the server's own; details are in the log."""
