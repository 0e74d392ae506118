"""The chunks of records, by intent: what there is (list), how many (count), and what is known of each (detail).

Their texts are made from the record, each time it is parsed, so a count cannot outlive the list that it counts. The
span of such a chunk is that of its origin; of a long one it is the beginning, since it is shown and sent with each.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from retrieval_server.corpus.documents.decode import storable
from retrieval_server.corpus.documents.metadata import within_limits
from retrieval_server.corpus.documents.records.json_places import PlacedValue, items, members, whole_value
from retrieval_server.model import MetadataValue

_TOPIC, _LIST, _DETAILS = "topic", "list", "details"
# Fields that sort records rather than say whose they are.
_SORTING_FIELDS = frozenset({_TOPIC, "type", "category", "intent"})
_NAMING_FIELDS = ("name", "title")
_MAX_METADATA_TEXTS = 64
# What a text of so many characters is made of has more: quotes, escapes, indentation.
_MAX_ORIGIN_FACTOR = 4


class Intent(Enum):
    """What a chunk answers."""

    LIST = "list"
    COUNT = "count"
    DETAIL = "detail"


@dataclass(frozen=True, slots=True)
class RecordChunk:
    """A text made of the origin at [start, end) in code points of the file's text."""

    intent: Intent
    text: str
    start: int
    end: int
    breadcrumbs: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordFile:
    """All records of a file."""

    chunks: tuple[RecordChunk, ...]
    title: str
    metadata: dict[str, MetadataValue]


def read_record_file(text: str, max_chunk_chars: int) -> RecordFile | None:
    """Return the records of a file that is nothing but records: one object or an array of them; else None.

    Values that are too deep to be read from here are no records.
    """
    try:
        return _read(text, max_chunk_chars)
    except RecursionError:
        return None


def _read(text: str, max_chunk_chars: int) -> RecordFile | None:
    whole = whole_value(text)
    if whole is None:
        return None
    placed = list(items(text, whole.start)) if isinstance(whole.value, list) else [whole]
    if not placed or not all(_is_record(one.value) for one in placed):
        return None
    records = [_Record(text, one, max_chunk_chars) for one in placed]
    owners = list(dict.fromkeys(record.owner for record in records))
    return RecordFile(
        chunks=tuple(chunk for record in records for chunk in record.chunks()),
        title=owners[0] if len(owners) == 1 else "",
        metadata=_metadata([record.labels for record in records]),
    )


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get(_TOPIC), str) or not value[_TOPIC].strip():
        return False
    listed, details = value.get(_LIST, []), value.get(_DETAILS, [])
    is_listed = isinstance(listed, list) and all(isinstance(one, str | int | float) for one in listed)
    is_detailed = isinstance(details, list) and all(isinstance(one, str | dict) for one in details)
    return is_listed and is_detailed and (_LIST in value or _DETAILS in value)


class _Line(NamedTuple):
    """A line of a chunk and where it comes from."""

    text: str
    start: int
    end: int


class _Record:
    def __init__(self, text: str, placed: PlacedValue, max_chunk_chars: int) -> None:
        self._text = text
        self._placed = placed
        self._max_chunk_chars = max_chunk_chars
        self._fields = {one.key: one for one in members(text, placed.start)}
        # They stand in every chunk of the record.
        max_chars = max_chunk_chars // 4
        self._topic = storable(str(placed.value[_TOPIC])).strip()[:max_chars]
        self.labels = {
            storable(key): storable(value)
            for key, value in placed.value.items()
            if isinstance(value, str) and value.strip()
        }
        self._owner_key = next((key for key in self.labels if key not in _SORTING_FIELDS), "")
        self.owner = self.labels.get(self._owner_key, "")[:max_chars]

    def chunks(self) -> Iterator[RecordChunk]:
        """Yield the chunks of the record. A count's span is that of all that it counts; no others overlap."""
        listed = self._fields.get(_LIST)
        details = self._fields.get(_DETAILS)
        counted = listed or details
        if counted is not None:
            text = f"Total {self._topic.lower()}: {len(counted.value)}" + (f" ({self.owner})" if self.owner else "")
            yield self._chunk(Intent.COUNT, _Line(text, counted.key_start, counted.end))
        if listed is not None:
            placed = enumerate(items(self._text, listed.start), 1)
            yield from self._chunks(Intent.LIST, [_Line(f"{n}. {one.value}", one.start, one.end) for n, one in placed])
        for one in items(self._text, details.start) if details is not None else ():
            if isinstance(one.value, dict):
                fields = [_field_line(field) for field in members(self._text, one.start)]
                names = tuple(one.value[key] for key in _NAMING_FIELDS if isinstance(one.value.get(key), str))
                yield from self._chunks(Intent.DETAIL, fields, names)
            else:
                yield from self._chunks(Intent.DETAIL, [_Line(one.value, one.start, one.end)])
        # What else the record says, so that nothing in it cannot be found.
        for key, field in self._fields.items():
            is_owner = storable(key) == self._owner_key and field.end - field.start <= self._max_chunk_chars // 4
            if key not in {_LIST, _DETAILS, *_SORTING_FIELDS} and not is_owner:
                yield from self._chunks(Intent.DETAIL, [_field_line(field)])

    def _chunks(self, intent: Intent, lines: Sequence[_Line], names: tuple[str, ...] = ()) -> Iterator[RecordChunk]:
        """Yield the lines under the record's heading, in as many chunks as their size asks for."""
        heading = f"{self._topic}, {self.owner}" if self.owner else self._topic
        heading = heading[: self._max_chunk_chars // 2]
        room = self._max_chunk_chars - len(heading) - 1
        part: list[_Line] = []
        for piece in (piece for line in lines for piece in _pieces(line, room - 1)):
            if part and sum(len(one.text) + 1 for one in part) + len(piece.text) + 1 > room:
                yield self._chunk(intent, _joined(heading, part), names)
                part = []
            part.append(piece)
        if part:
            yield self._chunk(intent, _joined(heading, part), names)

    def _chunk(self, intent: Intent, made: _Line, names: tuple[str, ...] = ()) -> RecordChunk:
        breadcrumbs = tuple(part for part in (self.owner, self._topic, intent.value) if part)
        end = min(made.end, made.start + _MAX_ORIGIN_FACTOR * self._max_chunk_chars)
        # JSON's escapes can write what no text holds.
        return RecordChunk(intent, storable(made.text), made.start, end, breadcrumbs, tuple(map(storable, names)))


def _pieces(line: _Line, max_chars: int) -> Iterator[_Line]:
    """Yield a line, or what it is cut into between words, each piece with its share of the span."""
    text, at, span = line.text, 0, line.end - line.start
    while at < len(text):
        end = min(len(text), at + max_chars)
        if end < len(text):
            end = text.rfind(" ", at + max_chars // 2, end) + 1 or end
        yield _Line(text[at:end], line.start + span * at // len(text), line.start + span * end // len(text))
        at = end


def _joined(heading: str, part: Sequence[_Line]) -> _Line:
    return _Line("\n".join((heading, *(line.text for line in part))), part[0].start, part[-1].end)


def _field_line(field: PlacedValue) -> _Line:
    return _Line(f"{field.key}: {_shown(field.value)}", field.key_start, field.end)


def _shown(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(str(one) for one in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _metadata(labels: Sequence[Mapping[str, str]]) -> dict[str, MetadataValue]:
    texts: dict[str, dict[str, None]] = {}
    for one in labels:
        for key, value in one.items():
            texts.setdefault(key, {})[value] = None
    return within_limits(
        (key, next(iter(values)) if len(values) == 1 else tuple(values))
        for key, values in texts.items()
        if len(values) <= _MAX_METADATA_TEXTS
    )
