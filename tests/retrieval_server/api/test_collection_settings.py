"""What a collection is told when it is made: over the wire, kept, and at work."""

from pathlib import Path

import grpc
import numpy as np
import pytest
from numpy.typing import NDArray

from groundwire.v1 import collection_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.founding import found_collection
from retrieval_server.engine.dense import Similarity
from tests.retrieval_server.api.support import details, running_server
from tests.retrieval_server.corpus.support import DIMENSION, WordHashEncoder, change, embed_all, parsed


async def test_settings_are_returned_as_they_were_given_and_have_defaults(tmp_path: Path):
    async with running_server(tmp_path) as services:
        made = await services.corpus.CreateCollection(
            collection_pb2.CreateCollectionRequest(
                name="taught", similarity=collection_pb2.SIMILARITY_DOT, sentences_per_chunk=3, max_chunk_size_chars=500
            )
        )
        plain = await services.corpus.CreateCollection(collection_pb2.CreateCollectionRequest(name="plain"))
    for one, similarity, sentences, size in (
        (made.collection, collection_pb2.SIMILARITY_DOT, 3, 500),
        (plain.collection, collection_pb2.SIMILARITY_COSINE, None, 2000),
    ):
        assert one.similarity == similarity
        assert (one.sentences_per_chunk if one.HasField("sentences_per_chunk") else None) == sentences
        assert one.max_chunk_size_chars == size


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (collection_pb2.CreateCollectionRequest(name="x", sentences_per_chunk=0), "sentences_per_chunk"),
        (collection_pb2.CreateCollectionRequest(name="x", sentences_per_chunk=101), "sentences_per_chunk"),
        (collection_pb2.CreateCollectionRequest(name="x", similarity=77), "similarity"),  # type: ignore[arg-type]
    ],
)
async def test_settings_that_make_no_sense_are_refused_by_field(
    tmp_path: Path, request_: collection_pb2.CreateCollectionRequest, field: str
):
    async with running_server(tmp_path) as services:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await services.corpus.CreateCollection(request_)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert field in (refused.value.details() or "")
    assert details(refused.value)


def test_dot_lets_the_longer_vector_win_and_settings_outlive_a_restart(tmp_path: Path):
    class Lengthy(WordHashEncoder):
        def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
            words = text.split()
            vector = np.zeros(DIMENSION, np.float32)
            vector[:2] = words.count("berth"), len(words) - words.count("berth")
            return vector

    documents = [parsed("short.md", "berth"), parsed("long.md", "berth berth berth gate")]
    best = {}
    for similarity in Similarity:
        directory = tmp_path / similarity.value
        found_collection(directory, CollectionSettings(similarity=similarity, sentences_per_chunk=2))
        collection = Collection("c", directory, "lengthy", DIMENSION)
        collection.apply(change(*documents))
        embed_all(collection, Lengthy())
        collection.close()
        again = Collection("c", directory, "lengthy", DIMENSION)
        assert again.current_view.settings == CollectionSettings(similarity=similarity, sentences_per_chunk=2)
        dense = again.current_view.dense
        assert dense is not None
        chunk_id = dense.search(Lengthy().encode_query("some berth"), 1)[0][0]
        best[similarity] = again.current_view.table.places([chunk_id])[chunk_id].document.relative_path
        again.close()
    assert best == {Similarity.COSINE: "short.md", Similarity.DOT: "long.md"}


def test_prose_is_cut_by_sentences_and_code_as_ever():
    from retrieval_server.corpus.documents.documents import ParsedDocument, parse_document

    limits = CollectionSettings(sentences_per_chunk=1).limits(max_file_bytes=1 << 20, max_line_chars=10_000)
    text = b"Berths open at six. The master signals. Nobody else may."
    prose, code = parse_document("a.md", text, limits), parse_document("a.py", b"a = 1\n\n\nb = 2\n", limits)
    assert isinstance(prose, ParsedDocument)
    assert isinstance(code, ParsedDocument)
    assert [chunk.text for chunk in prose.chunks] == ["Berths open at six.", "The master signals.", "Nobody else may."]
    assert len(code.chunks) == 1
