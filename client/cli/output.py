"""Printing: JSON of the library's dataclasses, text that is safe on a terminal, progress bars."""

from __future__ import annotations  # the library's names in signatures would load all of gRPC

import dataclasses
import json
import re
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

import client

if TYPE_CHECKING:
    from tqdm import tqdm

# A document may hold escape sequences that would move the cursor or retitle the window.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# A name stands on one line with other things, and what turns the direction of writing shows another name.
_UNFIT_FOR_NAMES = re.compile(r"[\t\n\u2028-\u202e\u2066-\u2069]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return JSON that is always UTF-8, in the order of the fields."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: object) -> None:
    """Print one JSON object on a line of its own, at once."""
    click.echo(json_text(value))
    sys.stdout.flush()


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, client.ClientError):
        return {"message": value.message, "reason": value.reason, "status": value.status}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def printable(text: str) -> str:
    """Return text without control characters, newlines and tabs excepted."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def printable_name(name: str) -> str:
    """Return a path, title or key as one line."""
    return _UNFIT_FOR_NAMES.sub("\N{REPLACEMENT CHARACTER}", printable(name))


def note(line: str) -> None:
    """Print one line on standard error."""
    click.echo(printable(line), err=True)


def progress_bar(description: str, *, total: int | None, unit: str) -> tqdm[Any] | None:
    """Return a progress bar on standard error; None when that is no terminal."""
    if not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    return tqdm(desc=description, total=total, unit=unit, leave=False, dynamic_ncols=True, file=sys.stderr)


def counted(count: int, noun: str) -> str:
    """Return "1 file", "2,900 files"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def span(path: str, start_line: int, end_line: int) -> str:
    """Return PATH:LINE, or PATH:FIRST-LAST, as `client show` takes it."""
    lines = str(start_line) if end_line <= start_line else f"{start_line}-{end_line}"
    return printable_name(f"{path}:{lines}")
