"""Responses that would not fit into a message: gRPC would only say that something was too large."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from retrieval_server.errors import beyond_limit
from retrieval_server.settings import ServerSettings

AnyMessage = TypeVar("AnyMessage", bound=Message)

# What a batch or an answer wraps around a response.
_ENVELOPE_BYTES = 1024
# Tag and length of one message within another.
_PART_OVERHEAD_BYTES = 8


def room_bytes(settings: ServerSettings) -> int:
    """Return how large a response may be, or the data in it."""
    return settings.max_message_bytes - _ENVELOPE_BYTES


def check_message_size(response: Message, settings: ServerSettings, field: str, remedy: str) -> None:
    """Raise InvalidRequest LIMIT_EXCEEDED naming `field` when `response` is larger than a message may be."""
    size_bytes, limit_bytes = response.ByteSize(), room_bytes(settings)
    if size_bytes > limit_bytes:
        description = f"the response takes {size_bytes:,} bytes of at most {limit_bytes:,}; {remedy}"
        raise beyond_limit(field, description, limit=limit_bytes, actual=size_bytes)


def fitting_count(messages: Sequence[Message], settings: ServerSettings) -> int:
    """Return how many of the messages, from the first on, one response can hold: at least one if there is any."""
    left_bytes = room_bytes(settings)
    for count, message in enumerate(messages):
        left_bytes -= message.ByteSize() + _PART_OVERHEAD_BYTES
        if left_bytes < 0 and count:
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
