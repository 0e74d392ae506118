"""What is set on a document, beside its text: title, address, metadata; and how it is written down."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit
from retrieval_server.model import MetadataValue

SetValue = MetadataValue | datetime
"""A value as callers give it. A point in time is one here, and a string that sorts like it where filters look."""

_TIME = "time"
# A list of empty texts is not free.
_LIST_ENTRY_BYTES = 2
# The limits of the contract's MetadataValue.
MAX_KEY_COUNT = 64
MAX_KEY_BYTES = 128
_MAX_TOTAL_BYTES = 64 * 1024
# No list can hold more within that.
MAX_LIST_TEXTS = _MAX_TOTAL_BYTES // _LIST_ENTRY_BYTES
_TIME_OR_NUMBER_BYTES = 8


@dataclass(frozen=True, slots=True)
class SetFields:
    """What a caller set on a document; it goes before what was read from the document, and outlives its content."""

    title: str | None = None
    source_url: str | None = None
    metadata: Mapping[str, SetValue] = field(default_factory=dict)


NOTHING_SET = SetFields()


def fields_to_json(fields: SetFields) -> str:
    """Return the column's text for what is set."""
    return json.dumps(
        {"title": fields.title, "source_url": fields.source_url, "metadata": _plain(fields.metadata)},
        ensure_ascii=False,
    )


def fields_from_json(text: str) -> SetFields:
    """Return what `fields_to_json` wrote."""
    stored = json.loads(text)
    return SetFields(stored["title"], stored["source_url"], metadata_of_dict(stored["metadata"]))


def set_title_of(stored: str | None) -> str:
    """Return the title in what `fields_to_json` wrote, "" where none was set."""
    return "" if stored is None else fields_from_json(stored).title or ""


def metadata_to_json(read: Mapping[str, MetadataValue], overlaid: Mapping[str, SetValue]) -> str:
    """Return the column's text for a document's metadata: what was read from it, overlaid by what was set.

    What was set is within the limits, and goes first; of what was read, as much stays as they leave room for.
    """
    kept = within_limits(((key, value) for key, value in read.items() if key not in overlaid), beside=overlaid)
    return json.dumps(_plain({**kept, **overlaid}), ensure_ascii=False)


def metadata_from_json(text: str) -> dict[str, SetValue]:
    """Return a document's metadata as callers see it."""
    return metadata_of_dict(json.loads(text))


def check_limits(metadata: Mapping[str, SetValue], field: str) -> None:
    """Raise InvalidRequest, naming `field` and the key, when what is set on a document is beyond the limits."""
    for key, value in metadata.items():
        key_bytes, size_bytes = len(key.encode()), _size_bytes(value)
        if not 1 <= key_bytes <= MAX_KEY_BYTES:
            raise InvalidRequest(FieldError(field, f"a key takes {key_bytes:,} bytes, must take 1 to {MAX_KEY_BYTES}"))
        if key_bytes + size_bytes > _MAX_TOTAL_BYTES:
            raise _beyond(f"{field}[{key!r}]", "bytes with its key", key_bytes + size_bytes, _MAX_TOTAL_BYTES)
    if len(metadata) > MAX_KEY_COUNT:
        raise _beyond(field, "keys on one document", len(metadata), MAX_KEY_COUNT)
    total_bytes = sum(len(key.encode()) + _size_bytes(value) for key, value in metadata.items())
    if total_bytes > _MAX_TOTAL_BYTES:
        raise _beyond(field, "bytes on one document", total_bytes, _MAX_TOTAL_BYTES)


def within_limits(
    read: Iterable[tuple[str, MetadataValue]], *, beside: Mapping[str, SetValue] = MappingProxyType({})
) -> dict[str, MetadataValue]:
    """Return metadata that a file says of itself, without what is beyond the limits `beside` other metadata."""
    metadata: dict[str, MetadataValue] = {}
    room_bytes = _MAX_TOTAL_BYTES - sum(len(key.encode()) + _size_bytes(value) for key, value in beside.items())
    for key, value in read:
        key_bytes = len(key.encode())
        size_bytes = key_bytes + _size_bytes(value)
        has_place = len(metadata) + len(beside) < MAX_KEY_COUNT
        if not 0 < key_bytes <= MAX_KEY_BYTES or size_bytes > room_bytes or not has_place:
            continue
        metadata[key] = value
        room_bytes -= size_bytes
    return metadata


def filterable(text: str) -> dict[str, MetadataValue]:
    """Return a document's metadata as filters see it: times are RFC 3339 strings in UTC."""
    return {
        key: rfc3339(value) if isinstance(value, datetime) else value for key, value in metadata_from_json(text).items()
    }


def rfc3339(moment: datetime) -> str:
    """Return a time in UTC, always with six digits of a second, so that texts sort as times do."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def metadata_of_dict(stored: Mapping[str, Any]) -> dict[str, SetValue]:
    """Return values from their JSON forms."""
    return {key: _value(value) for key, value in stored.items()}


def _size_bytes(value: SetValue) -> int:
    """Return what a value takes: its texts as UTF-8, each with two bytes for itself in a list."""
    if isinstance(value, tuple):
        return sum(len(text.encode()) + _LIST_ENTRY_BYTES for text in value)
    return len(value.encode()) if isinstance(value, str) else _TIME_OR_NUMBER_BYTES


def _beyond(field: str, what: str, actual: int, limit: int) -> InvalidRequest:
    return beyond_limit(field, f"{actual:,} {what}, at most {limit:,}", limit=limit, actual=actual)


def _value(stored: Any) -> SetValue:
    if isinstance(stored, dict):
        return datetime.fromisoformat(stored[_TIME])
    if isinstance(stored, list):
        return tuple(str(text) for text in stored)
    return stored if isinstance(stored, str) else float(stored)


def _plain(metadata: Mapping[str, SetValue]) -> dict[str, Any]:
    return {
        key: {_TIME: value.astimezone(UTC).isoformat()} if isinstance(value, datetime) else value
        for key, value in metadata.items()
    }
