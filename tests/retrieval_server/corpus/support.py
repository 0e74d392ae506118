"""A corpus without a model: an encoder that hashes words."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.documents.changes import SourceChange
from retrieval_server.corpus.documents.documents import ParsedDocument, ParseLimits, parse_document
from retrieval_server.corpus.vectors.embedding import embed_chunks

DIMENSION = 16
SOURCE = "/srv/project"


class WordHashEncoder:
    """Deterministic: a text's vector is the sum of its words' pseudo-random vectors."""

    dimension = DIMENSION

    def __init__(self, fingerprint: str = "word-hash-1") -> None:
        self.fingerprint = fingerprint
        self.encoded_count = 0

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        total = np.full(DIMENSION, 1e-6, dtype=np.float32)
        for word in text.lower().split():
            total += np.frombuffer(hashlib.sha256(word.encode()).digest()[:DIMENSION], dtype=np.int8) / 128
        return (total / np.linalg.norm(total)).astype(np.float32)

    def encode_windows(
        self, texts: Sequence[str], should_stop: Callable[[], bool] | None = None
    ) -> NDArray[np.float32]:
        del should_stop
        self.encoded_count += len(texts)
        return np.stack([self.encode_query(text) for text in texts])

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def parsed(path: str, text: str, max_chunk_chars: int = 2000) -> ParsedDocument:
    document = parse_document(path, text.encode(), ParseLimits(1 << 20, 100_000, max_chunk_chars))
    if not isinstance(document, ParsedDocument):
        raise TypeError(document.detail)
    return document


def change(*documents: ParsedDocument, removed: Sequence[str] = (), prefix: str = "project") -> SourceChange:
    return SourceChange(SOURCE, prefix, 2000, documents, removed)


def embed_all(collection: Collection, encoder: WordHashEncoder) -> None:
    """Make and store all vectors that a collection lacks."""
    while chunks := collection.chunks_to_embed(0, 4):
        windows = embed_chunks(chunks, encoder, collection.known_vectors)
        collection.store_vectors({c.chunk_id: w for c, w in zip(chunks, windows, strict=True)})
