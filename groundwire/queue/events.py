"""A job's events as entries of its stream."""

from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.internal.v1 import job_pb2


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event, and which incarnation of its job it belongs to (an id can be used anew after a failure)."""

    event: job_pb2.JobEvent
    incarnation: bytes
    nonce: bytes
    """Of the claim that it was written under; empty when that is not known."""
    begins_after: int
    """The sequence after which that claim's attempt began."""


def decode_event(entry_id: bytes, fields: Mapping[bytes, bytes]) -> StoredEvent:
    """Return the event of a stream entry, its sequence and text put back."""
    event = job_pb2.JobEvent.FromString(fields[b"event"])
    event.sequence = int(entry_id.partition(b"-")[0])
    text = fields[b"text"].decode()
    if event.WhichOneof("event") == "delta":
        event.delta.text = text
    elif event.WhichOneof("event") == "ended":
        event.ended.text = text
    # Versions before wrote neither of the last two, and may still as long as not all processes are updated.
    return StoredEvent(
        event, fields[b"incarnation"], fields.get(b"nonce", b""), int(fields.get(b"begins_after", event.sequence))
    )
