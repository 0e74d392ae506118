"""A collection's vectors and the encoder that made them: those of two encoders must never meet."""

from pathlib import Path

from retrieval_server.corpus.collection.collection_settings import settings_of
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.corpus.database.store import CorpusStore
from retrieval_server.corpus.vectors.dense_manifest import VectorsOf
from retrieval_server.corpus.vectors.dense_segments import DenseSegments
from retrieval_server.engine.encoding.windows import WINDOWS_VERSION


def forget_vectors_of_another(store: CorpusStore, encoder_fingerprint: str) -> None:
    """Forget stored vectors that another encoder made, or another way of cutting windows; "" stands for no encoder."""
    vectors_of = f"{encoder_fingerprint}/{WINDOWS_VERSION}"
    if encoder_fingerprint and store.meta("vectors_of") != vectors_of:
        # Texts are all here, so they are computed again.
        store.forget_vectors()
        store.set_meta(vectors_of=vectors_of)


def open_dense(
    store: CorpusStore, reader: CorpusReader, directory: Path, dimension: int | None
) -> DenseSegments | None:
    """Return the vector segments in `directory`, which follow what the database holds; None without a dimension."""
    if dimension is None:
        return None
    similarity = settings_of(store.meta).similarity
    vectors_of = VectorsOf(store.meta("vectors_of") or "", dimension, similarity.value)
    return DenseSegments(directory, vectors_of, reader, store.generation)
