"""JSON values with the places where they stand; offsets count code points."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in fact, not in the stubs
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """A value at text[start:end]; for a member of an object also its key, which begins at `key_start`."""

    value: Any
    start: int
    end: int
    key: str = ""
    key_start: int = -1


def whole_value(text: str) -> PlacedValue | None:
    """Return the one value that a text is, None when it is not JSON."""
    start = _after_space(text, 0)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return PlacedValue(value, start, end) if _after_space(text, end) == len(text) else None


def members(text: str, start: int) -> Iterator[PlacedValue]:
    """Yield the members of the object at `start`, which is known to be well formed."""
    at = _after_space(text, start + 1)
    while text[at] != "}":
        key, end_of_key = scanstring(text, at + 1, True)
        value_start = _after_space(text, _after_space(text, end_of_key) + 1)
        value, end = _DECODER.raw_decode(text, value_start)
        yield PlacedValue(value, value_start, end, key, at)
        at = _after_comma(text, end)


def items(text: str, start: int) -> Iterator[PlacedValue]:
    """Yield the items of the array at `start`, which is known to be well formed."""
    at = _after_space(text, start + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield PlacedValue(value, at, end)
        at = _after_comma(text, end)


def _after_comma(text: str, at: int) -> int:
    at = _after_space(text, at)
    return _after_space(text, at + 1) if text[at] == "," else at


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
