"""The boundary for what is asked of a corpus: arguments to protobuf."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime

from google.protobuf import timestamp_pb2

from client._corpus_types import UNSET, DocumentKey, MetadataValue, Similarity, Unset
from client._filter_types import MetadataCondition, PassageFilter
from client._message_fields import building
from client.errors import invalid_field
from groundwire.v1 import collection_pb2, document_pb2, filter_pb2, metadata_pb2, passage_pb2


def new_request_id(given: str | None) -> str:
    """Return the caller's id or a new one: a write that the transport repeats then happens once."""
    return uuid.uuid4().hex if given is None else given


def put_document_request(
    key: DocumentKey,
    content: str | bytes,
    *,
    collection: str,
    media_type: str | None,
    title: str | None,
    source_url: str | None,
    metadata: Mapping[str, MetadataValue],
    etag: str | None,
    must_be_new: bool,
    request_id: str | None,
) -> document_pb2.PutDocumentRequest:
    """Return the request that puts one document."""
    request = document_pb2.PutDocumentRequest(must_be_new=must_be_new)
    with building("key"):
        request.key.CopyFrom(document_pb2.DocumentKey(source=key.source, relative_path=key.relative_path))
    with building("content"):
        if isinstance(content, str):
            request.text = content
        else:
            request.content = content
    with building("request"):
        request.collection = collection
        request.media_type = media_type or ""
        request.title = title or ""
        request.source_url = source_url or ""
        request.etag = etag or ""
        request.request_id = new_request_id(request_id)
    for name, value in metadata.items():
        request.metadata[name].CopyFrom(metadata_value(value, f"metadata[{name!r}]"))
    return request


def update_document_request(
    document_id: str,
    *,
    collection: str,
    title: str | Unset | None,
    source_url: str | Unset | None,
    metadata: Mapping[str, MetadataValue] | Unset,
    metadata_changes: Mapping[str, MetadataValue | None],
    etag: str | None,
    request_id: str | None,
) -> document_pb2.UpdateDocumentRequest:
    """Return the request that changes what is set on one document; None unsets."""
    if metadata is not UNSET and metadata_changes:
        raise invalid_field("metadata_changes", "cannot be given together with metadata")
    with building("request"):
        request = document_pb2.UpdateDocumentRequest(
            collection=collection, document_id=document_id, etag=etag or "", request_id=new_request_id(request_id)
        )
        if not isinstance(title, Unset):
            request.update_mask.paths.append("title")
            request.title = title or ""
        if not isinstance(source_url, Unset):
            request.update_mask.paths.append("source_url")
            request.source_url = source_url or ""
    if not isinstance(metadata, Unset):
        request.update_mask.paths.append("metadata")
    for name, value in (metadata_changes if isinstance(metadata, Unset) else metadata).items():
        if isinstance(metadata, Unset):
            request.update_mask.paths.append(f"metadata.{name}")
        if value is not None:
            request.metadata[name].CopyFrom(metadata_value(value, f"metadata[{name!r}]"))
    return request


def metadata_value(value: MetadataValue, field: str) -> metadata_pb2.MetadataValue:
    """Return one value as a message; a truth is a text, as the server reads it from documents."""
    with building(field):
        if isinstance(value, bool):
            return metadata_pb2.MetadataValue(text=str(value).lower())
        if isinstance(value, str):
            return metadata_pb2.MetadataValue(text=value)
        if isinstance(value, datetime):
            return metadata_pb2.MetadataValue(time=_stamp(value))
        if isinstance(value, tuple | list):
            return metadata_pb2.MetadataValue(list=metadata_pb2.MetadataList(texts=value))
        return metadata_pb2.MetadataValue(number=value)


def passage_filter(wanted: PassageFilter) -> filter_pb2.PassageFilter:
    """Return the filter as a message."""
    for name in ("include_paths", "exclude_paths", "languages", "contains"):
        if isinstance(getattr(wanted, name), str):  # which would be taken for its characters
            raise invalid_field(f"filter.{name}", "must be a tuple of texts, not one text")
    with building("filter"):
        return filter_pb2.PassageFilter(
            include_paths=wanted.include_paths,
            exclude_paths=wanted.exclude_paths,
            languages=wanted.languages,
            kinds=[passage_pb2.ContentKind.Value(f"CONTENT_KIND_{kind.name}") for kind in wanted.kinds],
            contains=wanted.contains,
            metadata=[_condition(one) for one in wanted.metadata],
        )


def _condition(wanted: MetadataCondition) -> filter_pb2.MetadataCondition:
    made = filter_pb2.MetadataCondition(key=wanted.key)
    has_numbers = wanted.min_number is not None or wanted.max_number is not None
    has_times = wanted.min_time is not None or wanted.max_time is not None
    if (wanted.equals is not None) + has_numbers + has_times != 1:
        raise invalid_field("filter.metadata", f"{wanted.key!r} needs equals, numbers or times, one of the three")
    if wanted.equals is not None:
        made.equals = wanted.equals
    elif has_numbers:
        made.range.CopyFrom(filter_pb2.NumberRange(min=wanted.min_number, max=wanted.max_number))
    else:
        made.time_range.CopyFrom(
            filter_pb2.TimeRange(
                min=None if wanted.min_time is None else _stamp(wanted.min_time),
                max=None if wanted.max_time is None else _stamp(wanted.max_time),
            )
        )
    return made


def _stamp(moment: datetime) -> timestamp_pb2.Timestamp:
    """Return a time; one without a zone is in UTC."""
    stamp = timestamp_pb2.Timestamp()
    stamp.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return stamp


def create_collection(
    name: str, max_chunk_size_chars: int | None, similarity: Similarity, sentences_per_chunk: int | None
) -> collection_pb2.CreateCollectionRequest:
    """Return the request to make a collection."""
    with building("name"):
        request = collection_pb2.CreateCollectionRequest(name=name)
    with building("max_chunk_size_chars"):
        if max_chunk_size_chars is not None:
            request.max_chunk_size_chars = max_chunk_size_chars
    with building("similarity"):
        request.similarity = collection_pb2.Similarity.Value(f"SIMILARITY_{similarity.name}")
    with building("sentences_per_chunk"):
        if sentences_per_chunk is not None:
            request.sentences_per_chunk = sentences_per_chunk
    return request
