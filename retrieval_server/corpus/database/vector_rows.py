"""Vectors in `corpus.sqlite`: which are there, which are missing, and storing them."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.database.document_rows import put_windows
from retrieval_server.corpus.database.stored_vectors import read_vectors, size_bytes
from retrieval_server.corpus.documents.changes import ChunkToEmbed, EmbeddedWindows
from retrieval_server.corpus.documents.metadata import set_title_of
from retrieval_server.corpus.documents.titles import under_title
from retrieval_server.corpus.files.commit_steps import CommitStep, passed
from retrieval_server.model import ContentKind


class VectorRows:
    """The part of the store that is about vectors."""

    _connection: sqlite3.Connection

    def _transaction(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def known_vectors(self, keys: Iterable[bytes], dimension: int) -> dict[bytes, NDArray[np.float32]]:
        """Return the stored vectors among `keys`. Raises MisshapenVectors."""
        found: dict[bytes, NDArray[np.float32]] = {}
        for key in keys:
            row = self._connection.execute("SELECT vector FROM vectors WHERE text_sha256 = ?", (key,)).fetchone()
            if row is not None:
                found[key] = read_vectors(row, dimension)[0]
        return found

    def chunks_to_embed(self, after_chunk_id: int, limit: int) -> list[ChunkToEmbed]:
        """Return living chunks without vectors, oldest first, from behind `after_chunk_id`."""
        rows = self._connection.execute(
            """SELECT c.chunk_id, d.kind, d.relative_path, c.breadcrumbs, c.text, d.set_fields
               FROM chunks c JOIN documents d USING (document_row)
               WHERE c.embeddable AND NOT c.embedded AND d.died_generation IS NULL AND c.chunk_id > ?
               ORDER BY c.chunk_id LIMIT ?""",
            (after_chunk_id, limit),
        )
        return [
            ChunkToEmbed(r[0], ContentKind(r[1]), r[2], under_title(set_title_of(r[5]), json.loads(r[3])), r[4])
            for r in rows
        ]

    def put_vectors(self, windows_by_chunk: Mapping[int, EmbeddedWindows]) -> list[int]:
        """Store the windows of chunks and return which had none; one that was deleted meanwhile is passed over."""
        newly: list[int] = []
        with self._transaction():
            for chunk_id, windows in windows_by_chunk.items():
                updated = self._connection.execute(
                    "UPDATE chunks SET embedded = 1 WHERE chunk_id = ? AND NOT embedded", (chunk_id,)
                )
                if updated.rowcount:
                    put_windows(self._connection, chunk_id, windows)
                    newly.append(chunk_id)
        passed(CommitStep.VECTORS_STORED)
        return newly

    def forget_vectors(self) -> None:
        """Drop every vector: they were made by another encoder."""
        with self._transaction():
            self._connection.execute("DELETE FROM windows")
            self._connection.execute("DELETE FROM vectors")
            self._connection.execute("UPDATE chunks SET embedded = 0")

    def forget_misshapen_vectors(self, dimension: int) -> int:
        """Drop vectors that are not (dimension,) float32; what lacks its own is to be embedded anew.

        Return how many chunks that are.
        """
        size = size_bytes(dimension)
        with self._transaction():
            updated = self._connection.execute(
                """UPDATE chunks SET embedded = 0 WHERE embedded AND chunk_id IN
                   (SELECT chunk_id FROM windows LEFT JOIN vectors USING (text_sha256)
                    WHERE vector IS NULL OR length(vector) <> ?)""",
                (size,),
            )
            self._connection.execute("DELETE FROM vectors WHERE length(vector) <> ?", (size,))
        return updated.rowcount
