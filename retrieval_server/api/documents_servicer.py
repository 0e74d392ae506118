"""CorpusService: documents."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import grpc
from google.protobuf.message import Message

from groundwire.v1 import corpus_service_pb2_grpc, document_pb2, error_pb2
from retrieval_server.api.convert_corpus import document_to_pb, document_to_put, fields_change, request_claim
from retrieval_server.api.convert_filter import passage_filter
from retrieval_server.api.message_size import check_message_size, fitting_count, room_bytes
from retrieval_server.api.paging import Listing, checked_page_size
from retrieval_server.api.status import item_status
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection_settings import CollectionSettings
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.database.document_listing import LIST_START, ListPlace
from retrieval_server.corpus.database.document_rows import StoredDocument
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.corpus.database.store import Answered, document_not_found, etag_mismatch
from retrieval_server.corpus.documents.changes import CommittedChange
from retrieval_server.corpus.documents.documents import ParseLimits
from retrieval_server.corpus.writing.document_writing import DocumentWriting, parse_to_put
from retrieval_server.errors import FieldError, InvalidRequest, NotFound, beyond_limit
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]
_MAX_BATCH_COUNT = 1000
_ORIGINAL_PART_BYTES = 1024 * 1024


class DocumentsServicer(corpus_service_pb2_grpc.CorpusServiceServicer):
    """Puts, gets, lists, changes and removes documents."""

    _catalog: Catalog
    _settings: ServerSettings

    async def PutDocument(
        self, request: document_pb2.PutDocumentRequest, context: Context
    ) -> document_pb2.PutDocumentResponse:
        """Add or replace one document."""
        document = document_to_put(request)
        answered = self._answered(request, request.request_id, _put_response)
        parsed = None
        if not self._catalog.has(request.collection):
            # What is refused makes no collection.
            parsed = await parse_to_put(document.file, self._limits())
            if request.etag:
                raise etag_mismatch(request.etag, "")
        opened = await self._catalog.get_or_create(request.collection)
        made = await self._writing(opened).put(document, answered, parsed)
        return document_pb2.PutDocumentResponse.FromString(made)

    async def GetDocument(
        self, request: document_pb2.GetDocumentRequest, context: Context
    ) -> document_pb2.GetDocumentResponse:
        """Return one document."""
        opened = self._catalog.get(request.collection)
        name = request.document_id or request.path
        if not name:
            raise InvalidRequest(FieldError("document_id", "document_id or path must be set"))
        found = await opened.read(lambda reader: _find_document(reader, request))
        if found is None:
            raise NotFound(error_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, f"no document {name!r}", metadata={"path": name})
        document = document_to_pb(found, include_text=request.include_text)
        response = document_pb2.GetDocumentResponse(document=document)
        check_message_size(response, self._settings, "include_text", "raise GROUNDWIRE_MAX_MESSAGE_BYTES")
        return response

    async def ListDocuments(
        self, request: document_pb2.ListDocumentsRequest, context: Context
    ) -> document_pb2.ListDocumentsResponse:
        """List documents by path."""
        opened = self._catalog.get(request.collection)
        wanted, size = passage_filter(request.filter), checked_page_size(request.page_size)
        listing = Listing(request, opened.collection.create_time_unix_ms)
        place = ListPlace(*listing.place(request.page_token)) if request.page_token else LIST_START

        def read(reader: CorpusReader) -> tuple[Sequence[StoredDocument], list[document_pb2.Document]]:
            found = reader.documents_after(place, wanted, size + 1)
            # On the reader's thread: a page with all the metadata that there may be takes tenths of a second.
            return found, [document_to_pb(one) for one in found[:size]]

        found, documents = await opened.read(read)
        # A page may be cut short by the size of a message; the token then goes on behind what fitted.
        count = fitting_count(documents, self._settings)
        is_last = count == len(found)
        token = "" if is_last else listing.token(found[count - 1].path, found[count - 1].document_id)
        return document_pb2.ListDocumentsResponse(documents=documents[:count], next_page_token=token)

    async def UpdateDocument(
        self, request: document_pb2.UpdateDocumentRequest, context: Context
    ) -> document_pb2.UpdateDocumentResponse:
        """Change what is set on one document."""
        opened = self._catalog.get(request.collection)
        _check_id(request.document_id)
        answered = self._answered(request, request.request_id, _update_response)
        made = await self._writing(opened).update(
            request.document_id, fields_change(request), request.etag or None, answered
        )
        return document_pb2.UpdateDocumentResponse.FromString(made)

    async def DeleteDocument(
        self, request: document_pb2.DeleteDocumentRequest, context: Context
    ) -> document_pb2.DeleteDocumentResponse:
        """Remove one document."""
        opened = self._catalog.get(request.collection)
        _check_id(request.document_id)
        answered = self._answered(request, request.request_id, _delete_response)
        made = await self._writing(opened).delete(request.document_id, request.etag or None, answered)
        return document_pb2.DeleteDocumentResponse.FromString(made)

    async def BatchDeleteDocuments(
        self, request: document_pb2.BatchDeleteDocumentsRequest, context: Context
    ) -> document_pb2.BatchDeleteDocumentsResponse:
        """Remove several documents, each with its own status."""
        opened = self._catalog.get(request.collection)
        id_count = len(request.document_ids)
        problem = f"{id_count:,} is not within 1 to {_MAX_BATCH_COUNT:,}"
        if not id_count:
            raise InvalidRequest(FieldError("document_ids", problem))
        if id_count > _MAX_BATCH_COUNT:
            raise beyond_limit("document_ids", problem, limit=_MAX_BATCH_COUNT, actual=id_count)
        ids = tuple(request.document_ids)

        def respond(committed: CommittedChange, _: Sequence[StoredDocument]) -> Message:
            removed = frozenset(committed.removed_document_ids)
            return document_pb2.BatchDeleteDocumentsResponse(
                statuses=[
                    error_pb2.ItemStatus() if one in removed else item_status(document_not_found(one)) for one in ids
                ],
                index_generation=committed.generation,
            )

        answered = self._answered(request, request.request_id, respond)
        made = await self._writing(opened).delete_each(ids, answered)
        return document_pb2.BatchDeleteDocumentsResponse.FromString(made)

    async def DeleteDocumentsByFilter(
        self, request: document_pb2.DeleteDocumentsByFilterRequest, context: Context
    ) -> document_pb2.DeleteDocumentsByFilterResponse:
        """Remove all documents that match."""
        opened = self._catalog.get(request.collection)
        if not request.filter.ByteSize():
            raise InvalidRequest(
                FieldError("filter", 'must not be empty; include_paths "**" means every document, if that is meant')
            )
        wanted = passage_filter(request.filter)
        if request.dry_run:
            found = await opened.read(lambda reader: reader.document_ids_matching(wanted))
            return document_pb2.DeleteDocumentsByFilterResponse(
                deleted_count=len(found), index_generation=opened.collection.current_view.generation
            )
        answered = self._answered(request, request.request_id, _filter_response)
        made = await self._writing(opened).delete_matching(wanted, answered)
        return document_pb2.DeleteDocumentsByFilterResponse.FromString(made)

    async def GetOriginal(
        self, request: document_pb2.GetOriginalRequest, context: Context
    ) -> AsyncIterator[document_pb2.GetOriginalResponse]:
        """Stream the bytes that a document was made of."""
        opened = self._catalog.get(request.collection)
        _check_id(request.document_id)
        found = await opened.read(lambda reader: reader.document_with_original(request.document_id))
        if found is None:
            raise document_not_found(request.document_id)
        _, original = found
        part_bytes = min(_ORIGINAL_PART_BYTES, room_bytes(self._settings))
        for start in range(0, len(original), part_bytes):
            yield document_pb2.GetOriginalResponse(data=original[start : start + part_bytes])

    def _limits(self) -> ParseLimits:
        return CollectionSettings().limits(
            max_file_bytes=self._settings.max_file_bytes, max_line_chars=self._settings.max_line_chars
        )

    def _writing(self, opened: OpenCollection) -> DocumentWriting:
        return DocumentWriting(
            opened, max_file_bytes=self._settings.max_file_bytes, max_line_chars=self._settings.max_line_chars
        )

    def _answered(
        self,
        request: Message,
        request_id: str,
        respond: Callable[[CommittedChange, Sequence[StoredDocument]], Message],
    ) -> Answered:
        return Answered(
            lambda committed, documents: respond(committed, documents).SerializeToString(),
            request_claim(request, request_id, self._settings.document_request_ttl_s),
        )


def _find_document(reader: CorpusReader, request: document_pb2.GetDocumentRequest) -> StoredDocument | None:
    if request.document_id:
        return reader.document(request.document_id)
    found = reader.documents_at(request.path)
    if len(found) > 1:
        ids = ", ".join(f"{document.document_id} of {document.source_key!r}" for document in found)
        raise InvalidRequest(FieldError("path", f"documents of several sources are shown so; use a document_id: {ids}"))
    return found[0] if found else None


def _check_id(document_id: str) -> None:
    if not document_id:
        raise InvalidRequest(FieldError("document_id", "must be set"))


def _put_response(committed: CommittedChange, documents: Sequence[StoredDocument]) -> Message:
    return document_pb2.PutDocumentResponse(
        document=document_to_pb(documents[0]), index_generation=committed.generation
    )


def _update_response(committed: CommittedChange, documents: Sequence[StoredDocument]) -> Message:
    return document_pb2.UpdateDocumentResponse(
        document=document_to_pb(documents[0]), index_generation=committed.generation
    )


def _delete_response(committed: CommittedChange, _: Sequence[StoredDocument]) -> Message:
    return document_pb2.DeleteDocumentResponse(index_generation=committed.generation)


def _filter_response(committed: CommittedChange, _: Sequence[StoredDocument]) -> Message:
    return document_pb2.DeleteDocumentsByFilterResponse(
        deleted_count=len(committed.removed_document_ids), index_generation=committed.generation
    )
