"""A collection and its settings between protobuf and the server's own nouns."""

from groundwire.v1 import collection_pb2
from retrieval_server.api.sync_stream import checked_chunk_chars
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.engine.chunkers import DEFAULT_MAX_CHUNK_CHARS
from retrieval_server.engine.chunkers.sentences import MAX_SENTENCES
from retrieval_server.engine.dense import Similarity
from retrieval_server.errors import FieldError, InvalidRequest

_SIMILARITIES = {
    collection_pb2.SIMILARITY_UNSPECIFIED: Similarity.COSINE,
    collection_pb2.SIMILARITY_COSINE: Similarity.COSINE,
    collection_pb2.SIMILARITY_DOT: Similarity.DOT,
}
_SIMILARITY_TO_PB = {
    Similarity.COSINE: collection_pb2.SIMILARITY_COSINE,
    Similarity.DOT: collection_pb2.SIMILARITY_DOT,
}


def collection_to_pb(opened: OpenCollection) -> collection_pb2.Collection:
    """Return the message of an open collection."""
    collection = opened.collection
    settings = collection.current_view.settings
    message = collection_pb2.Collection(
        name=collection.name,
        index_generation=collection.current_view.generation,
        max_chunk_size_chars=settings.max_chunk_chars,
        problem="; ".join(filter(None, (opened.following_problem, collection.problem))),
        state=collection_pb2.COLLECTION_STATE_SERVING,
        similarity=_SIMILARITY_TO_PB[settings.similarity],
        sentences_per_chunk=settings.sentences_per_chunk,
    )
    message.create_time.FromMilliseconds(collection.create_time_unix_ms)
    return message


def settings_from_pb(request: collection_pb2.CreateCollectionRequest) -> CollectionSettings:
    """Return the settings of a collection to be made. Raises InvalidRequest naming the field."""
    similarity = _SIMILARITIES.get(request.similarity)
    if similarity is None:
        raise InvalidRequest(FieldError("similarity", f"{request.similarity} is not one that this server knows"))
    sentences = request.sentences_per_chunk if request.HasField("sentences_per_chunk") else None
    if sentences is not None and not 1 <= sentences <= MAX_SENTENCES:
        raise InvalidRequest(FieldError("sentences_per_chunk", f"{sentences} is not within 1 to {MAX_SENTENCES}"))
    max_chunk_chars = (
        checked_chunk_chars(request.max_chunk_size_chars, "max_chunk_size_chars")
        if request.HasField("max_chunk_size_chars")
        else DEFAULT_MAX_CHUNK_CHARS
    )
    return CollectionSettings(max_chunk_chars, similarity, sentences)
