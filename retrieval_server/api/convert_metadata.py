"""Metadata between protobuf and the server's own values, checking what comes in."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from google.protobuf import timestamp_pb2

from groundwire.v1 import metadata_pb2
from retrieval_server.corpus.documents.metadata import MAX_KEY_COUNT, MAX_LIST_TEXTS, SetValue, check_limits
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit


def metadata_from_pb(values: Mapping[str, metadata_pb2.MetadataValue], field: str = "metadata") -> dict[str, SetValue]:
    """Return the checked values. Raises InvalidRequest naming `field` and the key."""
    # Seen here before anything is read: a message may hold millions.
    if len(values) > MAX_KEY_COUNT:
        description = f"{len(values):,} keys on one document, at most {MAX_KEY_COUNT}"
        raise beyond_limit(field, description, limit=MAX_KEY_COUNT, actual=len(values))
    metadata = {key: _value_from_pb(value, f"{field}[{key!r}]") for key, value in sorted(values.items())}
    check_limits(metadata, field)
    return metadata


def metadata_to_pb(metadata: Mapping[str, SetValue]) -> dict[str, metadata_pb2.MetadataValue]:
    """Return the values as messages."""
    return {key: _value_to_pb(value) for key, value in metadata.items()}


def time_from_pb(stamp: timestamp_pb2.Timestamp, field: str) -> datetime:
    """Return a point in time. Raises InvalidRequest when it is none."""
    try:
        return stamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidRequest(FieldError(field, "is not a time from year 1 to 9999")) from None


def _value_from_pb(value: metadata_pb2.MetadataValue, field: str) -> SetValue:
    match value.WhichOneof("value"):
        case "text":
            return value.text
        case "number":
            if not math.isfinite(value.number):
                raise InvalidRequest(FieldError(field, "must be a finite number"))
            return value.number
        case "time":
            return time_from_pb(value.time, field)
        case "list":
            text_count = len(value.list.texts)
            if text_count > MAX_LIST_TEXTS:
                description = f"{text_count:,} texts, at most {MAX_LIST_TEXTS:,}"
                raise beyond_limit(field, description, limit=MAX_LIST_TEXTS, actual=text_count)
            return tuple(value.list.texts)
        case _:
            raise InvalidRequest(FieldError(field, "text, number, time or list must be set"))


def _value_to_pb(value: SetValue) -> metadata_pb2.MetadataValue:
    if isinstance(value, str):
        return metadata_pb2.MetadataValue(text=value)
    if isinstance(value, tuple):
        return metadata_pb2.MetadataValue(list=metadata_pb2.MetadataList(texts=value))
    if isinstance(value, datetime):
        stamp = timestamp_pb2.Timestamp()
        stamp.FromDatetime(value)
        return metadata_pb2.MetadataValue(time=stamp)
    return metadata_pb2.MetadataValue(number=value)
