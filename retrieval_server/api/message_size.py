"""Responses that would not fit into a message: gRPC would only say that something was too large."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from groundwire.v1 import error_pb2
from retrieval_server.errors import FieldError, InvalidRequest
from retrieval_server.settings import ServerSettings

AnyMessage = TypeVar("AnyMessage", bound=Message)

# What a batch or an answer wraps around a response.
_ENVELOPE_BYTES = 1024
# Tag and length of one message within another.
_PART_OVERHEAD_BYTES = 8


def check_message_size(response: Message, settings: ServerSettings, field: str, remedy: str) -> None:
    """Raise InvalidRequest LIMIT_EXCEEDED naming `field` when `response` is larger than a message may be."""
    size_bytes, limit_bytes = response.ByteSize(), settings.max_message_bytes - _ENVELOPE_BYTES
    if size_bytes > limit_bytes:
        raise InvalidRequest(
            FieldError(field, f"the response takes {size_bytes:,} bytes of at most {limit_bytes:,}; {remedy}"),
            reason=error_pb2.ERROR_REASON_LIMIT_EXCEEDED,
            metadata={"limit": str(limit_bytes), "actual": str(size_bytes)},
        )


def fitting_count(messages: Sequence[Message], settings: ServerSettings) -> int:
    """Return how many of the messages, from the first on, one response can hold: at least one if there is any."""
    room_bytes = settings.max_message_bytes - _ENVELOPE_BYTES
    for count, message in enumerate(messages):
        room_bytes -= message.ByteSize() + _PART_OVERHEAD_BYTES
        if room_bytes < 0 and count:
            return count
    return len(messages)


def fitting_parts(
    messages: Sequence[AnyMessage], settings: ServerSettings, max_count: int
) -> Iterator[Sequence[AnyMessage]]:
    """Yield all messages in parts, each of at least one, at most `max_count`, and as many as one response can hold."""
    start = 0
    while start < len(messages):
        some = messages[start : start + max_count]
        count = fitting_count(some, settings)
        yield some[:count]
        start += count
