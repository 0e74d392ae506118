"""Filling a collection and searching it, without a server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.vectors.embedding import embed_chunks
from retrieval_server.engine.retriever import retrieve
from retrieval_server.model import FusionOverrides, RetrieveQuery, RetrieveResult
from tests.retrieval_server.corpus.support import DIMENSION, WordHashEncoder, change, parsed

ENCODER = WordHashEncoder()
LEXICAL_ONLY = FusionOverrides(dense_weight=0)


@contextmanager
def opened_collection(directory: Path) -> Iterator[Collection]:
    collection = Collection("c", directory / "c", ENCODER.fingerprint, DIMENSION)
    yield collection
    collection.close()


def fill(collection: Collection, files: Mapping[str, str], max_chunk_chars: int = 2000) -> None:
    collection.apply(change(*(parsed(path, text, max_chunk_chars) for path, text in files.items())))
    while chunks := collection.chunks_to_embed(0, 50):
        windows = embed_chunks(chunks, ENCODER, collection.known_vectors)
        collection.store_vectors({c.chunk_id: w for c, w in zip(chunks, windows, strict=True)})


def search(collection: Collection, query: str, **fields: Any) -> RetrieveResult:
    with collection.view() as view:
        return retrieve(RetrieveQuery(query, **fields), view, ENCODER.encode_query)


def paths(result: RetrieveResult) -> list[str]:
    return [passage.path.removeprefix("project/") for passage in result.passages]
