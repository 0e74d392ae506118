"""The programs' logs on the terminal: follows the files and renders JSON lines for people."""

import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import IO, Any

_COLOURS = {"warning": "33", "error": "31", "critical": "31"}
# Said otherwise: in the prefix, by a colour, or only of use to programs.
_LEFT_OUT = {"event", "timestamp", "level", "process", "logger"}
# What could move the cursor, colour what follows or rename the window: names in events are whatever a caller sent.
_CONTROL = re.compile(r"[^\t -~\xa0-\U0010ffff]")


class LogTail:
    """The lines that are appended to a file after this was made; follows the file through rotation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._pending = b""
        self._offset_bytes = path.stat().st_size if path.exists() else 0

    def lines(self) -> list[str]:
        """All complete lines since the last call."""
        found: list[str] = []
        if self._file is None:
            self._open(found)
        else:
            self._read(found)
            if self._was_rotated():
                self._file.close()
                self._offset_bytes = 0
                self._open(found)
        return found

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, found: list[str]) -> None:
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            self._file = None
            return
        self._file.seek(self._offset_bytes)
        self._read(found)

    def _read(self, found: list[str]) -> None:
        if self._file is None:
            return
        *complete, self._pending = (self._pending + self._file.read()).split(b"\n")
        found.extend(line.decode("utf-8", "replace") for line in complete)

    def _was_rotated(self) -> bool:
        try:
            return self._file is not None and self._path.stat().st_ino != os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            return False


def parse_event(line: str) -> dict[str, Any] | None:
    """The log event of a JSON line; None for any other line."""
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and "event" in event else None


def render_line(program: str, line: str, *, coloured: bool) -> str:
    """One line for people: time, program, event and its fields; what is not JSON stays as it is.

    Control characters, but for tabs, are shown by their numbers.
    """
    event = parse_event(line)
    if event is None:
        return _without_controls(f"{'':8} {program:7} {line}")
    fields = " ".join(f"{key}={_value(key, value)}" for key, value in event.items() if key not in _LEFT_OUT)
    level = str(event.get("level", "info"))
    mark = "" if level in {"info", "debug"} else f"{level.upper()} "
    text = f"{_local_time(event)} {program:7} {mark}{event['event']}  {fields}".rstrip()
    text = _without_controls(text)
    colour = _COLOURS.get(level) if coloured else None
    return f"\033[{colour}m{text}\033[0m" if colour else text


def _without_controls(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _value(key: str, value: Any) -> str:
    if key == "exception" and isinstance(value, list) and value:
        # The last of the chain; the raw file has the frames.
        value = f"{value[0].get('exc_type')}: {value[0].get('exc_value')}"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return json.dumps(text, ensure_ascii=False) if not text or " " in text or "\n" in text else text


def _local_time(event: dict[str, Any]) -> str:
    try:
        return datetime.fromisoformat(str(event["timestamp"])).astimezone().strftime("%H:%M:%S")
    except (KeyError, ValueError):
        return f"{'':8}"
