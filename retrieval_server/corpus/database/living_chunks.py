"""The chunks that live, with their counts: read when a collection is opened, then kept up change by change."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from retrieval_server.corpus.database.chunk_columns import is_worth_storing, read_columns, write_columns
from retrieval_server.corpus.database.chunk_counts import ChunkCounts
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.corpus.documents.changes import CommittedChange
from retrieval_server.engine.places.chunk_table import ChunkTable


class LivingChunks:
    """What the generation that was followed last holds. The writer's; the tables that it gives out are immutable."""

    def __init__(self, reader: CorpusReader, columns_path: Path, generation: int) -> None:
        self._reader = reader
        self._columns_path = columns_path
        self._columns = read_columns(columns_path, generation)
        self._generation: int | None = None
        self.table = ChunkTable.of_rows((), self._columns.rows)
        self.counts = ChunkCounts()

    def follow(self, generation: int, only_change: CommittedChange | None) -> None:
        """Come to `generation`, for the first time too; `only_change` alone made it of the one before, if known."""
        if only_change is None or self._generation != only_change.generation - 1:
            self._reload()
        else:
            gone = self._reader.counts_of_documents(only_change.dead_document_rows)
            come = self._reader.counts_of_documents(only_change.added_document_rows)
            added = self._reader.chunk_table(after_document_row=self.table.last_document_row)
            self.table = self.table.changed(only_change.dead_document_rows, added)
            self.counts = self.counts.changed(gone, come)
        self._generation = generation

    def count_embedded(self, chunk_ids: Iterable[int]) -> None:
        """Count those of the chunks that live as embedded, which they were not before."""
        newly = len(self.table.places(list(chunk_ids)))
        self.counts = self.counts._replace(embedded_count=self.counts.embedded_count + newly)

    def store_columns(self) -> None:
        """Keep the table in a file, when reading it would be slow without. Failing to is no harm: it is derived."""
        if self._generation is not None and is_worth_storing(self.table, self._columns):
            with suppress(OSError):
                self._columns = write_columns(self._columns_path, self.table, self._generation)

    def _reload(self) -> None:
        self.table = self._reader.chunk_table(stored=self._columns)
        self.counts = self._reader.counts_of_table(self.table)
