"""What is set on a document, beside its text: title, address, metadata; and how it is written down."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from retrieval_server.model import MetadataValue

SetValue = MetadataValue | datetime
"""A value as callers give it. A point in time is one here, and a string that sorts like it where filters look."""

_TIME = "time"
# The limits of the contract's MetadataValue.
_MAX_KEY_COUNT = 64
_MAX_KEY_BYTES = 128
_MAX_TOTAL_BYTES = 64 * 1024


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


def metadata_to_json(read: Mapping[str, MetadataValue], overlaid: Mapping[str, SetValue]) -> str:
    """Return the column's text for a document's metadata: what was read from it, overlaid by what was set."""
    return json.dumps(_plain({**read, **overlaid}), ensure_ascii=False)


def metadata_from_json(text: str) -> dict[str, SetValue]:
    """Return a document's metadata as callers see it."""
    return metadata_of_dict(json.loads(text))


def within_limits(read: Iterable[tuple[str, MetadataValue]]) -> dict[str, MetadataValue]:
    """Return metadata that a file says of itself, without what is beyond the contract's limits."""
    metadata: dict[str, MetadataValue] = {}
    room_bytes = _MAX_TOTAL_BYTES
    for key, value in read:
        key_bytes = len(key.encode())
        size_bytes = key_bytes + _size_bytes(value)
        if not 0 < key_bytes <= _MAX_KEY_BYTES or size_bytes > room_bytes or len(metadata) == _MAX_KEY_COUNT:
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


def _size_bytes(value: MetadataValue) -> int:
    texts = value if isinstance(value, tuple) else (value,)
    return sum(len(text.encode()) if isinstance(text, str) else 8 for text in texts)


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
