"""Where every chunk of a view stands, in columns in memory: what orders, caps, filters and weighs chunks unread."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval_server.model import ContentKind, MetadataValue


@dataclass(frozen=True, slots=True, eq=False)
class DocumentFacts:
    """What a search knows of a document without reading its text."""

    document_row: int
    document_id: str
    path: str
    relative_path: str
    language: str
    kind: ContentKind
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


class Place(NamedTuple):
    """Where a chunk stands."""

    document: DocumentFacts
    start_char: int

    @property
    def order(self) -> tuple[str, int, str]:
        """What decides between chunks of equal score; two sources may each have a document at one path."""
        return self.document.path, self.start_char, self.document.document_id


class ChunkTable:
    """The living chunks of a collection. Immutable; thread-safe.

    Columns are (n_chunks,): `chunk_ids` int64, rising; `document_indexes` (into `documents`) and `start_chars` int32.
    """

    def __init__(
        self,
        documents: Sequence[DocumentFacts],
        chunk_ids: NDArray[np.int64],
        document_indexes: NDArray[np.int32],
        start_chars: NDArray[np.int32],
    ) -> None:
        self.documents = documents
        self.chunk_ids = chunk_ids
        self.document_indexes = document_indexes
        self.start_chars = start_chars

    @classmethod
    def of_rows(cls, documents: Sequence[DocumentFacts], rows: NDArray[np.int64]) -> "ChunkTable":
        """Return the table of (n, 3) rows of chunk id, document row and start, in any order.

        `documents` are in the order of their rows; chunks of documents not among them are left out.
        """
        document_rows = _document_rows(documents)
        if not len(document_rows):
            return cls((), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        indexes = np.minimum(np.searchsorted(document_rows, rows[:, 1]), len(document_rows) - 1)
        is_known = document_rows[indexes] == rows[:, 1]
        rows, indexes = rows[is_known], indexes[is_known]
        order = np.argsort(rows[:, 0], kind="stable")
        return cls(documents, rows[order, 0], indexes[order].astype(np.int32), rows[order, 2].astype(np.int32))

    @property
    def last_document_row(self) -> int:
        """The largest document row; rows that are added later are larger."""
        return self.documents[-1].document_row if self.documents else 0

    def changed(self, dead_document_rows: Iterable[int], added: "ChunkTable") -> "ChunkTable":
        """Return the table without some documents and with those of `added`, whose rows and chunk ids are larger."""
        dead = sorted(dead_document_rows)
        lives = ~np.isin(_document_rows(self.documents), dead) if dead else np.ones(len(self.documents), bool)
        kept = lives[self.document_indexes] if dead else slice(None)
        new_index = np.cumsum(lives, dtype=np.int32) - np.int32(1)
        living = list(compress(self.documents, lives)) if dead else self.documents
        return ChunkTable(
            [*living, *added.documents],
            np.concatenate((self.chunk_ids[kept], added.chunk_ids)),
            np.concatenate((new_index[self.document_indexes[kept]], added.document_indexes + np.int32(len(living)))),
            np.concatenate((self.start_chars[kept], added.start_chars)),
        )

    def places(self, chunk_ids: Sequence[int]) -> dict[int, Place]:
        """Return where each chunk stands; ids that the table lacks are left out."""
        if not len(self.chunk_ids):
            return {}
        ordinals = np.minimum(np.searchsorted(self.chunk_ids, chunk_ids), len(self.chunk_ids) - 1)
        found = zip(
            chunk_ids,
            (self.chunk_ids[ordinals] == chunk_ids).tolist(),
            self.document_indexes[ordinals].tolist(),
            self.start_chars[ordinals].tolist(),
            strict=True,
        )
        documents = self.documents
        return {i: Place(documents[document], start) for i, is_here, document, start in found if is_here}

    def __iter__(self) -> Iterator[int]:
        return iter(self.chunk_ids.tolist())

    def __len__(self) -> int:
        return len(self.chunk_ids)


def _document_rows(documents: Sequence[DocumentFacts]) -> NDArray[np.int64]:
    return np.fromiter((document.document_row for document in documents), np.int64, len(documents))
