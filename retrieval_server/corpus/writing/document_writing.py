"""Single documents: put one, change what is set on it, remove it. What is acknowledged is durable and searchable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.database.document_rows import StoredDocument
from retrieval_server.corpus.database.store import Answered, document_not_found
from retrieval_server.corpus.documents.changes import PutAttributes, Removal, SourceChange
from retrieval_server.corpus.documents.documents import ANY_LINE_CHARS, ParseLimits, SkippedFile
from retrieval_server.corpus.documents.metadata import SetFields
from retrieval_server.corpus.writing.parsing import File, ParsedFile, Parser
from retrieval_server.errors import FailedPrecondition, FieldError, GroundwireError, InvalidRequest
from retrieval_server.model import PassageFilter

_MAX_UPDATE_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class DocumentToPut:
    """A document as a caller puts it. `expected_etag` is "" for one that must be new, None for whatever is there."""

    source_key: str
    # The caller named the source: the document may be added beside one that another source shows at its path.
    is_source_named: bool
    file: File
    fields: SetFields
    expected_etag: str | None


class DocumentWriting:
    """Changes documents of one collection."""

    def __init__(self, opened: OpenCollection, *, max_file_bytes: int, max_line_chars: int) -> None:
        self._opened = opened
        self._max_file_bytes = max_file_bytes
        self._max_line_chars = max_line_chars

    async def put(
        self, document: DocumentToPut, answered: Answered, parsed_by_default: ParsedFile | None = None
    ) -> bytes:
        """Add or replace a document, that was perhaps parsed already, under the settings of a new collection.

        Raises InvalidRequest for content that cannot be stored, and what `Collection.apply_answered` does.
        """
        if (earlier := await self._earlier(answered)) is not None:
            return earlier
        limits = self._settings.limits(max_file_bytes=self._max_file_bytes, max_line_chars=self._max_line_chars)
        parsed = parsed_by_default if self._settings == CollectionSettings() else None
        if parsed is None:
            parsed = await parse_to_put(document.file, limits)
        attributes = PutAttributes(document.file.media_type, document.fields)
        return await self._replace(
            document.source_key,
            parsed,
            attributes,
            document.expected_etag,
            answered,
            may_share_path=document.is_source_named,
        )

    async def update(
        self,
        document_id: str,
        changed: Callable[[SetFields], SetFields],
        expected_etag: str | None,
        answered: Answered,
    ) -> bytes:
        """Change what is set on a document; `changed` makes the new fields of the old. Raises NotFound."""
        # One after the other: of many at once, the last would find another version as often as there are others.
        async with self._opened.lock_of(document_id):
            return await self._update(document_id, changed, expected_etag, answered)

    async def _update(
        self,
        document_id: str,
        changed: Callable[[SetFields], SetFields],
        expected_etag: str | None,
        answered: Answered,
    ) -> bytes:
        if (earlier := await self._earlier(answered)) is not None:
            return earlier
        for attempt in range(1, _MAX_UPDATE_ATTEMPTS + 1):
            stored, original = await self._stored(document_id)
            parsed = await _parse_again(stored, original, self._settings)
            attributes = PutAttributes(stored.media_type, changed(stored.set_fields))
            try:
                return await self._replace(
                    stored.source_key, parsed, attributes, expected_etag or stored.etag, answered
                )
            except GroundwireError as error:
                # Somebody else came between reading and writing; the caller did not ask for a certain version.
                is_raced = error.reason == error_pb2.ERROR_REASON_ETAG_MISMATCH and expected_etag is None
                if not is_raced or attempt == _MAX_UPDATE_ATTEMPTS:
                    raise
        raise document_not_found(document_id)

    async def delete(self, document_id: str, expected_etag: str | None, answered: Answered) -> bytes:
        """Remove one document. Raises NotFound."""
        expected = {} if expected_etag is None else {document_id: expected_etag}
        removal = Removal([document_id], is_each_required=True, expected_etags=expected)
        return await self._opened.write(Collection.apply_answered, removal, answered)

    async def delete_each(self, document_ids: Sequence[str], answered: Answered) -> bytes:
        """Remove those documents that are there, in one commit."""
        return await self._opened.write(Collection.apply_answered, Removal(document_ids), answered)

    async def delete_matching(self, wanted: PassageFilter, answered: Answered) -> bytes:
        """Remove the documents that a filter means, in one commit."""
        return await self._opened.write(Collection.remove_matching, wanted, answered)

    @property
    def _settings(self) -> CollectionSettings:
        return self._opened.collection.current_view.settings

    async def _earlier(self, answered: Answered) -> bytes | None:
        if answered.claim is None:
            return None
        return await self._opened.write(Collection.earlier_response, answered.claim)

    async def _stored(self, document_id: str) -> tuple[StoredDocument, bytes]:
        found = await self._opened.read(lambda reader: reader.document_with_original(document_id))
        if found is None:
            raise document_not_found(document_id)
        return found

    async def _replace(
        self,
        source_key: str,
        parsed: ParsedFile,
        attributes: PutAttributes,
        etag: str | None,
        answered: Answered,
        *,
        may_share_path: bool = True,
    ) -> bytes:
        document, original = parsed.titled(attributes.fields.title or "")
        path = document.relative_path
        change = SourceChange(
            source_key=source_key,
            display_prefix=None,
            max_chunk_chars=self._settings.max_chunk_chars,
            documents=[document],
            windows_by_path=await self._opened.embed_now([document]),
            originals_by_path={} if original is None else {path: original},
            attributes_by_path={path: attributes},
            expected_etags={} if etag is None else {path: etag},
            unshared_paths=() if may_share_path else (path,),
        )
        return await self._opened.write(Collection.apply_answered, change, answered)


async def parse_to_put(file: File, limits: ParseLimits) -> ParsedFile:
    """Return the document that a file makes. Raises InvalidRequest for content that cannot be stored."""
    parsed = await _parse(file, limits)
    if isinstance(parsed, SkippedFile):
        raise InvalidRequest(FieldError("content", f"cannot be stored: {parsed.detail}"))
    return parsed


async def _parse(file: File, limits: ParseLimits) -> ParsedFile | SkippedFile:
    parser = Parser(limits)
    try:
        (parsed,) = await parser.parse([file])
    finally:
        parser.close()
    return parsed


async def _parse_again(stored: StoredDocument, original: bytes, settings: CollectionSettings) -> ParsedFile:
    """Parse what was taken before, whatever today's limits are."""
    limits = settings.limits(max_file_bytes=len(original), max_line_chars=ANY_LINE_CHARS)
    parsed = await _parse(File(stored.relative_path, original, stored.media_type), limits)
    if isinstance(parsed, SkippedFile):
        raise FailedPrecondition(
            error_pb2.ERROR_REASON_INDEX_MISMATCH,
            f"this version of the server does not take {stored.path} any more ({parsed.detail}): put it anew",
        )
    return parsed
