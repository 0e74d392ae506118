"""The chunk table's columns in a file, so that opening a large collection does not read a million rows from SQLite.

Rows of chunks never change, and those of documents that died are left out by whoever reads them: the file stays right
however old it is, and what came after it is read from the database.
"""

import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.files.durable_json import write_json
from retrieval_server.engine.places.chunk_table import ChunkTable

_FORMAT_VERSION = 1
# Reading fewer than this from the database takes a few hundredths of a second.
_WORTHWHILE_CHUNKS = 20_000


def _no_rows() -> NDArray[np.int64]:
    return np.zeros((0, 3), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumns:
    """(n, 3) rows of chunk id, document row and start, of all documents up to `through_document_row`."""

    rows: NDArray[np.int64] = field(default_factory=_no_rows)
    through_document_row: int = 0


def read_columns(path: Path, newest_generation: int) -> StoredColumns:
    """Return what is stored, nothing when it is missing, damaged, or of a later state than the collection's."""
    try:
        record = json.loads(path.with_suffix(".json").read_text())
        data = path.read_bytes()
        if record["format_version"] != _FORMAT_VERSION:
            return StoredColumns()
        if int(record["generation"]) > newest_generation:
            # An older copy of the database was put back: it will come to that generation, too, with other rows.
            path.with_suffix(".json").unlink()
            return StoredColumns()
        if zlib.crc32(data) != record["crc"]:
            return StoredColumns()
        return StoredColumns(np.frombuffer(data, np.int64).reshape(-1, 3), int(record["through_document_row"]))
    except (OSError, ValueError, LookupError, TypeError):
        return StoredColumns()


def is_worth_storing(table: ChunkTable, stored: StoredColumns) -> bool:
    """Tell whether so much of a table is missing from what is stored that the next opening would be slow."""
    if len(table) < _WORTHWHILE_CHUNKS:
        return False
    return int(np.count_nonzero(_document_rows(table) > stored.through_document_row)) >= _WORTHWHILE_CHUNKS


def write_columns(path: Path, table: ChunkTable, generation: int) -> StoredColumns:
    """Store a table of a committed generation. A death in between leaves a file that is not believed."""
    rows = np.column_stack((table.chunk_ids, _document_rows(table), table.start_chars.astype(np.int64)))
    data = np.ascontiguousarray(rows).tobytes()
    path.write_bytes(data)
    record = {
        "format_version": _FORMAT_VERSION,
        "generation": generation,
        "through_document_row": table.last_document_row,
        "crc": zlib.crc32(data),
    }
    write_json(path.with_suffix(".json"), record)
    return StoredColumns(rows, table.last_document_row)


def _document_rows(table: ChunkTable) -> NDArray[np.int64]:
    rows = np.fromiter((document.document_row for document in table.documents), np.int64, len(table.documents))
    return rows[table.document_indexes] if len(rows) else rows
