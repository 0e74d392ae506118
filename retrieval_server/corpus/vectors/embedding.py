"""Chunks to window vectors, computing only what is not known already."""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval_server.corpus.documents.changes import ChunkToEmbed, EmbeddedWindows
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.engine.encoding.windows import window_texts

KnownVectors = Callable[[Sequence[bytes]], Mapping[bytes, NDArray[np.float32]]]


def embed_chunks(chunks: Sequence[ChunkToEmbed], encoder: Encoder, known: KnownVectors) -> list[EmbeddedWindows]:
    """Return the windows of each chunk. Equal texts are encoded once, and never when `known` has them."""
    return _embed(chunks, encoder, known, max_new_windows=None) or []


def embed_few(
    chunks: Sequence[ChunkToEmbed], encoder: Encoder, known: KnownVectors, max_new_windows: int
) -> list[EmbeddedWindows] | None:
    """Return the same, or None when more than `max_new_windows` would have to be encoded."""
    return _embed(chunks, encoder, known, max_new_windows)


def _embed(
    chunks: Sequence[ChunkToEmbed], encoder: Encoder, known: KnownVectors, max_new_windows: int | None
) -> list[EmbeddedWindows] | None:
    texts_by_chunk = [
        window_texts(chunk.kind, chunk.relative_path, chunk.breadcrumbs, chunk.text, encoder.count_pieces)
        for chunk in chunks
    ]
    text_by_key = {_key(text): text for texts in texts_by_chunk for text in texts}
    vectors = dict(known(list(text_by_key)))
    missing = [key for key in text_by_key if key not in vectors]
    if max_new_windows is not None and len(missing) > max_new_windows:
        return None
    if missing:
        computed = encoder.encode_windows([text_by_key[key] for key in missing])
        vectors.update(zip(missing, computed, strict=True))
    return [
        EmbeddedWindows(keys, tuple(vectors[key] for key in keys))
        for texts in texts_by_chunk
        for keys in (tuple(_key(text) for text in texts),)
    ]


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
