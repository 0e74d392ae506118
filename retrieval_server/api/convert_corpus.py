"""Collections and documents between protobuf and the server's own nouns, checking what comes in."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from google.protobuf import field_mask_pb2
from google.protobuf.message import Message

from groundwire.v1 import document_pb2
from retrieval_server.api.convert_metadata import metadata_from_pb, metadata_to_pb
from retrieval_server.corpus.database.document_rows import StoredDocument
from retrieval_server.corpus.database.request_log import RequestClaim
from retrieval_server.corpus.documents.documents import MAX_TITLE_BYTES, path_problem
from retrieval_server.corpus.documents.media_types import suffix_of
from retrieval_server.corpus.documents.metadata import MAX_KEY_BYTES, SetFields, SetValue, check_limits
from retrieval_server.corpus.writing.document_writing import DocumentToPut
from retrieval_server.corpus.writing.parsing import File
from retrieval_server.errors import FieldError, InvalidRequest, beyond_limit
from retrieval_server.passage_message import kind_to_pb

DEFAULT_SOURCE = "api"
_MAX_SOURCE_BYTES = 4096
_MAX_MEDIA_TYPE_BYTES = 255
_MAX_URL_BYTES = 4096
_MAX_REQUEST_ID_BYTES = 128
_METADATA_PREFIX = "metadata."
# Title, address, and all keys that may be set and as many that may be unset.
_MAX_MASK_PATHS = 256


def document_to_pb(stored: StoredDocument, *, include_text: bool = False) -> document_pb2.Document:
    """Return the message of a stored document."""
    message = document_pb2.Document(
        document_id=stored.document_id,
        key=document_pb2.DocumentKey(source=stored.source_key, relative_path=stored.relative_path),
        path=stored.path,
        language=stored.language,
        kind=kind_to_pb(stored.kind),
        content_sha256=stored.sha256,
        char_count=stored.char_count,
        line_count=stored.line_count,
        encoding=stored.encoding,
        had_byte_order_mark=stored.had_byte_order_mark,
        text=stored.text if include_text else "",
        metadata=metadata_to_pb(stored.metadata),
        title=stored.title,
        source_url=stored.source_url,
        media_type=stored.media_type,
        etag=stored.etag,
        original_bytes=stored.original_bytes,
    )
    message.create_time.FromMilliseconds(stored.create_time_unix_ms)
    message.update_time.FromMilliseconds(stored.update_time_unix_ms)
    return message


def document_to_put(request: document_pb2.PutDocumentRequest) -> DocumentToPut:
    """Return the checked document. Raises InvalidRequest naming the fields."""
    if problem := path_problem(request.key.relative_path):
        raise InvalidRequest(FieldError("key.relative_path", problem))
    _check_bytes(request.key.source, _MAX_SOURCE_BYTES, "key.source")
    _check_bytes(request.media_type, _MAX_MEDIA_TYPE_BYTES, "media_type")
    if request.media_type and suffix_of(request.media_type) is None:
        description = f"{request.media_type!r} is not known; leave it out, and the path decides how it is read"
        raise InvalidRequest(FieldError("media_type", description))
    body = request.WhichOneof("body")
    if body is None:
        raise InvalidRequest(FieldError("content", "content or text must be set"))
    if request.etag and request.must_be_new:
        raise InvalidRequest(FieldError("must_be_new", "a document with an etag is not new; set one of the two"))
    return DocumentToPut(
        source_key=request.key.source or DEFAULT_SOURCE,
        is_source_named=bool(request.key.source),
        file=File(
            request.key.relative_path,
            request.content if body == "content" else request.text.encode(),
            request.media_type.lower(),
        ),
        fields=SetFields(
            title=_title(request.title) or None,
            source_url=_source_url(request.source_url) or None,
            metadata=metadata_from_pb(request.metadata),
        ),
        expected_etag="" if request.must_be_new else (request.etag or None),
    )


def fields_change(request: document_pb2.UpdateDocumentRequest) -> Callable[[SetFields], SetFields]:
    """Return what makes the new fields of the old. Raises InvalidRequest naming the fields."""
    if not request.update_mask.paths:
        raise InvalidRequest(FieldError("update_mask", "must name what to change: title, source_url, metadata"))
    title, source_url = _title(request.title), _source_url(request.source_url)
    metadata = metadata_from_pb(request.metadata)
    masked = frozenset(_checked_paths(request.update_mask))

    def changed(old: SetFields) -> SetFields:
        new = old
        if "title" in masked:
            new = replace(new, title=title or None)
        if "source_url" in masked:
            new = replace(new, source_url=source_url or None)
        if "metadata" in masked:
            return replace(new, metadata=metadata)
        keys = {path.removeprefix(_METADATA_PREFIX) for path in masked if path.startswith(_METADATA_PREFIX)}
        kept: dict[str, SetValue] = {key: value for key, value in old.metadata.items() if key not in keys}
        merged = kept | {key: metadata[key] for key in sorted(keys) if key in metadata}
        check_limits(merged, "metadata")
        return replace(new, metadata=merged)

    return changed


def request_claim(request: Message, request_id: str, ttl_s: float) -> RequestClaim | None:
    """Return the claim of a request that has an id; what it asks for is told by its bytes."""
    if not request_id:
        return None
    _check_bytes(request_id, _MAX_REQUEST_ID_BYTES, "request_id")
    digest = hashlib.sha256(request.SerializeToString(deterministic=True)).digest()
    return RequestClaim(request.DESCRIPTOR.name, request_id, digest, ttl_s)


def _checked_paths(mask: field_mask_pb2.FieldMask) -> Sequence[str]:
    if len(mask.paths) > _MAX_MASK_PATHS:
        description = f"{len(mask.paths):,} paths, at most {_MAX_MASK_PATHS}"
        raise beyond_limit("update_mask", description, limit=_MAX_MASK_PATHS, actual=len(mask.paths))
    for path in mask.paths:
        is_key = path.startswith(_METADATA_PREFIX) and path != _METADATA_PREFIX
        if is_key and len(path.removeprefix(_METADATA_PREFIX).encode()) > MAX_KEY_BYTES:
            raise InvalidRequest(FieldError("update_mask", f"{path[:40]!r}… names a key above {MAX_KEY_BYTES} bytes"))
        if path not in {"title", "source_url", "metadata"} and not is_key:
            raise InvalidRequest(
                FieldError("update_mask", f"{path!r} cannot be changed; title, source_url, metadata, metadata.KEY can")
            )
    return mask.paths


def _title(title: str) -> str:
    _check_bytes(title, MAX_TITLE_BYTES, "title")
    return title


def _source_url(url: str) -> str:
    _check_bytes(url, _MAX_URL_BYTES, "source_url")
    return url


def _check_bytes(text: str, limit: int, field: str) -> None:
    if len(text.encode()) > limit:
        actual = len(text.encode())
        raise beyond_limit(field, f"takes {actual:,} bytes, at most {limit:,}", limit=limit, actual=actual)
