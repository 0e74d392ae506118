"""How many chunks live, are to have vectors, and have them: counted anew when a collection is opened, then kept up.

Counting a million chunks takes about a second, which no update should wait for.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from retrieval_server.engine.places.chunk_table import ChunkTable
from retrieval_server.model import ContentKind

_ROWS_PER_STATEMENT = 500


class ChunkCounts(NamedTuple):
    """Counts of chunks; `embedded` of those that are to have vectors."""

    chunk_count: int = 0
    embeddable_count: int = 0
    embedded_count: int = 0

    def changed(self, gone: "ChunkCounts", come: "ChunkCounts") -> "ChunkCounts":
        """Return the counts without some chunks and with others."""
        return ChunkCounts(*(n - g + c for n, g, c in zip(self, gone, come, strict=True)))


def counts_of_table(connection: sqlite3.Connection, table: ChunkTable) -> ChunkCounts:
    """Count all living chunks: those of `table`, which is of the newest generation. Data has no vectors."""
    is_embedded = (document.kind is not ContentKind.DATA for document in table.documents)
    document_embeddable = np.fromiter(is_embedded, bool, len(table.documents))
    embeddable = int(np.count_nonzero(document_embeddable[table.document_indexes])) if len(table) else 0
    (missing,) = connection.execute(
        """SELECT count(*) FROM chunks c INDEXED BY chunks_to_embed JOIN documents d USING (document_row)
           WHERE c.embeddable AND NOT c.embedded AND d.died_generation IS NULL"""
    ).fetchone()
    return ChunkCounts(len(table), embeddable, embeddable - int(missing))


def counts_of_documents(connection: sqlite3.Connection, document_rows: Sequence[int]) -> ChunkCounts:
    """Count the chunks of some documents, dead or alive."""
    totals = ChunkCounts()
    for start in range(0, len(document_rows), _ROWS_PER_STATEMENT):
        some = document_rows[start : start + _ROWS_PER_STATEMENT]
        counted = connection.execute(
            f"""SELECT count(*), coalesce(sum(embeddable), 0), coalesce(sum(embeddable AND embedded), 0)
                FROM chunks WHERE document_row IN ({",".join("?" * len(some))})""",  # noqa: S608  only question marks
            some,
        )
        totals = totals.changed(ChunkCounts(), ChunkCounts(*counted.fetchone()))
    return totals
