"""Filters from protobuf, checked."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from google.protobuf import timestamp_pb2
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from groundwire.v1 import filter_pb2
from retrieval_server.api.convert_metadata import time_from_pb
from retrieval_server.engine.places.globs import MalformedGlob, glob_pattern
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit
from retrieval_server.model import EVERYTHING, ContentKind, MetadataCondition, PassageFilter
from retrieval_server.passage_message import kind_to_pb

_MAX_VALUES = 64
_MAX_TEXT_CHARS = 1024
_MAX_KEY_BYTES = 128
# Listing unknown fields makes an object of each; more of them than this are told together.
_MAX_UNKNOWN_BYTES = 1024
_KIND_BY_NUMBER = {int(kind_to_pb(kind)): kind for kind in ContentKind}
_ALL_PATHS = frozenset({"**", "**/*", "**/**"})

T = TypeVar("T", float, datetime)
Ends = tuple[T | None, T | None]


def passage_filter(message: filter_pb2.PassageFilter, field: str = "filter") -> PassageFilter:
    """Return the filter. Raises InvalidRequest naming the field that is wrong, or that contradicts another."""
    if not message.ByteSize():
        return EVERYTHING
    _check_little_unknown(message, field)
    _check_known(message, field)
    for name in ("include_paths", "exclude_paths", "languages", "kinds", "contains", "metadata"):
        _check_count(getattr(message, name), f"{field}.{name}")
    wanted = PassageFilter(
        include_paths=_globs(message.include_paths, f"{field}.include_paths"),
        exclude_paths=_globs(message.exclude_paths, f"{field}.exclude_paths"),
        languages=frozenset(_text(one, f"{field}.languages").lower() for one in message.languages),
        kinds=frozenset(_kind(kind, f"{field}.kinds") for kind in message.kinds),
        contains=tuple(_text(one, f"{field}.contains") for one in message.contains),
        metadata=tuple(_condition(one, f"{field}.metadata[{i}]") for i, one in enumerate(message.metadata)),
    )
    _check_paths_agree(wanted, f"{field}.exclude_paths")
    _check_conditions_agree(wanted.metadata, f"{field}.metadata")
    return wanted


def _check_known(message: Message, field: str) -> None:
    """A condition that a newer client sets must not be dropped: the result would hold what it was to keep out."""
    unknown = UnknownFieldSet(message)
    if len(unknown):
        raise InvalidRequest(FieldError(field, f"field {unknown[0].field_number} is not known to this version"))


def _check_little_unknown(message: filter_pb2.PassageFilter, field: str) -> None:
    known = filter_pb2.PassageFilter()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    unknown_bytes = message.ByteSize() - known.ByteSize()
    if unknown_bytes > _MAX_UNKNOWN_BYTES:
        raise InvalidRequest(FieldError(field, f"{unknown_bytes:,} bytes of fields are not known to this version"))


def _globs(globs: Sequence[str], field: str) -> tuple[str, ...]:
    for glob in globs:
        try:
            glob_pattern(glob)
        except MalformedGlob as error:
            raise InvalidRequest(FieldError(field, f"{glob!r} {error}")) from None
    return tuple(globs)


def _text(text: str, field: str) -> str:
    if not 1 <= len(text) <= _MAX_TEXT_CHARS:
        raise InvalidRequest(FieldError(field, f"{len(text):,} characters, must be 1 to {_MAX_TEXT_CHARS:,} each"))
    return text


def _kind(number: int, field: str) -> ContentKind:
    if number not in _KIND_BY_NUMBER:
        raise InvalidRequest(FieldError(field, f"{number} is no kind of content"))
    return _KIND_BY_NUMBER[number]


def _condition(message: filter_pb2.MetadataCondition, field: str) -> MetadataCondition:
    _check_known(message, field)
    if not 1 <= len(message.key.encode()) <= _MAX_KEY_BYTES:
        raise InvalidRequest(FieldError(f"{field}.key", f"must take 1 to {_MAX_KEY_BYTES} bytes"))
    match message.WhichOneof("condition"):
        case "equals":
            return MetadataCondition(message.key, equals=message.equals)
        case "range":
            return MetadataCondition(message.key, numbers=_numbers(message.range, f"{field}.range"))
        case "time_range":
            return MetadataCondition(message.key, times=_times(message.time_range, f"{field}.time_range"))
        case _:
            raise InvalidRequest(FieldError(field, "equals, range or time_range must be set"))


def _numbers(message: filter_pb2.NumberRange, field: str) -> Ends[float]:
    _check_known(message, field)
    low = message.min if message.HasField("min") else None
    high = message.max if message.HasField("max") else None
    for name, end in (("min", low), ("max", high)):
        if end is not None and math.isnan(end):
            raise InvalidRequest(FieldError(f"{field}.{name}", "must be a number"))
    return _ends(low, high, field)


def _times(message: filter_pb2.TimeRange, field: str) -> Ends[datetime]:
    _check_known(message, field)

    def end(name: str, stamp: timestamp_pb2.Timestamp) -> datetime | None:
        return time_from_pb(stamp, f"{field}.{name}") if message.HasField(name) else None  # type: ignore[arg-type]

    return _ends(end("min", message.min), end("max", message.max), field)


def _ends(low: T | None, high: T | None, field: str) -> Ends[T]:
    if low is None and high is None:
        raise InvalidRequest(FieldError(field, "min or max must be set"))
    if low is not None and high is not None and low > high:
        raise InvalidRequest(FieldError(f"{field}.min", f"{low} is above max, {high}"))
    return low, high


def _check_count(values: Sequence[object], field: str) -> None:
    if len(values) > _MAX_VALUES:
        raise beyond_limit(field, f"{len(values):,}, at most {_MAX_VALUES}", limit=_MAX_VALUES, actual=len(values))


def _check_paths_agree(wanted: PassageFilter, field: str) -> None:
    """Refuse what leaves no path at all, as far as the globs themselves show it."""
    for glob in wanted.exclude_paths:
        if glob in _ALL_PATHS:
            raise InvalidRequest(FieldError(field, f"{glob!r} excludes every path"))
    if wanted.include_paths and set(wanted.include_paths) <= set(wanted.exclude_paths):
        raise InvalidRequest(FieldError(field, f"{wanted.include_paths[0]!r} is included and excluded"))


def _check_conditions_agree(conditions: Sequence[MetadataCondition], field: str) -> None:
    """Refuse two conditions on one key that no number meets together: only lists hold several values, and of texts."""
    for i, condition in enumerate(conditions):
        for earlier in conditions[:i]:
            if earlier.key == condition.key and not _can_agree(earlier, condition):
                raise InvalidRequest(
                    FieldError(f"{field}[{i}]", f"contradicts an earlier condition on {condition.key!r}")
                )


def _can_agree(one: MetadataCondition, other: MetadataCondition) -> bool:
    if one.numbers is None and other.numbers is None:
        return True
    first, second = _as_numbers(one), _as_numbers(other)
    if first is None or second is None:
        return False
    return all(
        low is None or high is None or low <= high for low, high in ((first[0], second[1]), (second[0], first[1]))
    )


def _as_numbers(condition: MetadataCondition) -> Ends[float] | None:
    if condition.equals is None:
        return condition.numbers
    try:
        number = float(condition.equals)
    except ValueError:
        return None
    return number, number
