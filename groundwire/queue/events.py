"""A job's events as entries of its stream."""

from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.internal.v1 import job_pb2


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event, and which incarnation of its job it belongs to (an id can be used anew after a failure)."""

    event: job_pb2.JobEvent
    incarnation: bytes


def decode_event(entry_id: bytes, fields: Mapping[bytes, bytes]) -> StoredEvent:
    """Return the event of a stream entry, its sequence and text put back."""
    event = job_pb2.JobEvent.FromString(fields[b"event"])
    event.sequence = int(entry_id.partition(b"-")[0])
    text = fields[b"text"].decode()
    if event.WhichOneof("event") == "delta":
        event.delta.text = text
    elif event.WhichOneof("event") == "ended":
        event.ended.text = text
    return StoredEvent(event, fields[b"incarnation"])
