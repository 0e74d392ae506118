"""Metadata as it is typed: KEY=VALUE."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import client

_DATE_CHARS = len("2026-01-31")


def metadata_of(pairs: Iterable[str]) -> dict[str, client.MetadataValue]:
    """Return the metadata that was typed; a key that is given again makes a list of texts."""
    texts: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise click.UsageError(f"{pair!r} is not KEY=VALUE")
        texts.setdefault(key, []).append(value)
    return {key: value_of(values[0]) if len(values) == 1 else tuple(values) for key, values in texts.items()}


def value_of(text: str) -> str | float | datetime:
    """Return the number or the time that a text is, else the text."""
    number = number_of(text)
    if number is not None:
        return number
    moment = time_of(text)
    return text if moment is None else moment


def number_of(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def time_of(text: str) -> datetime | None:
    """Return the time that an ISO 8601 text is, or None; without a zone it is in UTC."""
    if len(text) < _DATE_CHARS or not text[0].isdigit() or "-" not in text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def shown_value(value: client.MetadataValue | None) -> str:
    """Return a value for people."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, tuple):
        return ", ".join(value)
    return value if isinstance(value, str) else f"{value:g}"
