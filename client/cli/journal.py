"""What an unfinished run over a question set has done so far, one JSON line an item.

A run that was cut off goes on from here if nothing that could change its results has changed: the file of questions,
the parameters, the index. When it finishes, the journal goes; a finished run always computes again.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TextIO

from client.cli.output import json_text

Entry = dict[str, Any]


class Journal:
    """The journal beside a result file. Use as a context manager; `finish` removes it."""

    def __init__(self, result_path: Path, conditions: Mapping[str, object], item_count: int) -> None:
        self._path = result_path.with_name(f"{result_path.name}.journal")
        self._header = json_text({"conditions": dict(conditions)})
        self.entries = self._read(item_count)
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        # Always a new file put in the old one's place: a run that still writes to the old one cannot mix with this one.
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        self._file = temporary.open("w", encoding="utf-8")
        try:
            self._write(self._header)
            for item_number, entry in self.entries.items():
                self._write(json_text({"item": item_number, "entry": entry}))
            temporary.replace(self._path)
        except BaseException:
            with suppress(OSError):  # what it could not write before, closing it cannot write either
                self._file.close()
            temporary.unlink(missing_ok=True)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, item_number: int, entry: Entry) -> None:
        """Keep the result of one item."""
        self.entries[item_number] = entry
        self._write(json_text({"item": item_number, "entry": entry}))

    def finish(self) -> None:
        """Remove the journal: the results are written."""
        self._path.unlink(missing_ok=True)

    def _write(self, line: str) -> None:
        if self._file is not None:
            self._file.write(f"{line}\n")
            self._file.flush()

    def _read(self, item_count: int) -> dict[int, Entry]:
        try:
            lines = self._path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            return {}
        if lines[0] != self._header:
            return {}
        entries: dict[int, Entry] = {}
        for line in lines[1:-1]:  # the last one is empty, or was being written when the run ended
            try:
                record = json.loads(line)
                item_number, entry = record["item"], record["entry"]
            except (ValueError, RecursionError, KeyError, TypeError):
                return {}
            if type(item_number) is not int or not 1 <= item_number <= item_count or type(entry) is not dict:
                return {}
            entries[item_number] = entry
        return {} if len(entries) >= item_count else entries
