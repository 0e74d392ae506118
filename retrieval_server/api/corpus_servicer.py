"""CorpusService: what of it is served today."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc

from groundwire.v1 import collection_pb2, corpus_service_pb2, corpus_service_pb2_grpc, document_pb2, error_pb2
from retrieval_server.api.message_size import check_message_size
from retrieval_server.api.paging import page_of
from retrieval_server.api.sync_stream import SyncStream
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.open_collection import OpenCollection
from retrieval_server.corpus.reader import StoredDocument
from retrieval_server.errors import FieldError, InvalidRequest, NotFound
from retrieval_server.passage_message import kind_to_pb
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]


class CorpusServicer(corpus_service_pb2_grpc.CorpusServiceServicer):
    """Holds collections. The RPCs that are not here keep the stub's default, which is answered UNIMPLEMENTED."""

    def __init__(self, catalog: Catalog, encoder_label: str, settings: ServerSettings) -> None:
        self._catalog = catalog
        self._encoder_label = encoder_label
        self._settings = settings

    async def ListCollections(
        self, request: corpus_service_pb2.ListCollectionsRequest, context: Context
    ) -> corpus_service_pb2.ListCollectionsResponse:
        """List the collections by name."""
        page, token = page_of(self._catalog.names(), request.page_size, request.page_token)
        collections = [_collection(self._catalog.get(name)) for name in page]
        return corpus_service_pb2.ListCollectionsResponse(collections=collections, next_page_token=token)

    async def GetCollection(
        self, request: corpus_service_pb2.GetCollectionRequest, context: Context
    ) -> corpus_service_pb2.GetCollectionResponse:
        """Return one collection."""
        opened = self._catalog.get(request.name, "name")
        return corpus_service_pb2.GetCollectionResponse(collection=_collection(opened))

    async def GetCorpusStats(
        self, request: corpus_service_pb2.GetCorpusStatsRequest, context: Context
    ) -> corpus_service_pb2.GetCorpusStatsResponse:
        """Count what a collection holds."""
        opened = self._catalog.get(request.collection)
        counts = await asyncio.to_thread(opened.collection.reader.counts)
        view = opened.collection.current_view
        stats = collection_pb2.CorpusStats(
            collection=_collection(opened),
            document_count=counts.document_count,
            chunk_count=counts.chunk_count,
            embeddable_chunk_count=counts.embeddable_chunk_count,
            embedded_chunk_count=counts.embedded_chunk_count,
            dense_coverage=view.dense_coverage,
            text_bytes=counts.text_bytes,
            disk_bytes=await asyncio.to_thread(opened.collection.disk_bytes),
            vector_epoch=view.vector_epoch,
            encoder=self._encoder_label,
            sources=[
                collection_pb2.SourceStats(
                    source=s.source_key, display_prefix=s.display_prefix, document_count=s.document_count
                )
                for s in counts.sources
            ],
            encoder_problem="" if self._encoder_label else "the server runs with GROUNDWIRE_LEXICAL_ONLY",
            stale_chunk_count=opened.collection.stale_chunk_count,
        )
        return corpus_service_pb2.GetCorpusStatsResponse(stats=stats)

    async def GetDocument(
        self, request: corpus_service_pb2.GetDocumentRequest, context: Context
    ) -> corpus_service_pb2.GetDocumentResponse:
        """Return one document."""
        opened = self._catalog.get(request.collection)
        name = request.document_id or request.path
        if not name:
            raise InvalidRequest(FieldError("document_id", "document_id or path must be set"))
        found = await asyncio.to_thread(_find_document, opened, request)
        if found is None:
            raise NotFound(error_pb2.ERROR_REASON_DOCUMENT_NOT_FOUND, f"no document {name!r}", metadata={"path": name})
        response = corpus_service_pb2.GetDocumentResponse(document=_document(found, include_text=request.include_text))
        check_message_size(response, self._settings, "include_text", "raise GROUNDWIRE_MAX_MESSAGE_BYTES")
        return response

    async def SyncDocuments(
        self, request_iterator: AsyncIterator[corpus_service_pb2.SyncDocumentsRequest], context: Context
    ) -> AsyncIterator[corpus_service_pb2.SyncDocumentsResponse]:
        """Bring a source up to date."""
        async with aclosing(SyncStream(self._catalog, self._settings).run(request_iterator)) as responses:
            async for response in responses:
                yield response


def _find_document(opened: OpenCollection, request: corpus_service_pb2.GetDocumentRequest) -> StoredDocument | None:
    reader = opened.collection.reader
    if request.document_id:
        return reader.document(request.document_id)
    found = reader.documents_at(request.path)
    if len(found) > 1:
        sources = ", ".join(document.source_key for document in found)
        raise InvalidRequest(
            FieldError("path", f"documents of several sources are shown so ({sources}); use document_id")
        )
    return found[0] if found else None


def _collection(opened: OpenCollection) -> collection_pb2.Collection:
    collection = opened.collection
    message = collection_pb2.Collection(
        name=collection.name,
        index_generation=collection.current_view.generation,
        max_chunk_size_chars=collection.current_view.max_chunk_chars,
    )
    message.create_time.FromMilliseconds(collection.create_time_unix_ms)
    return message


def _document(stored: StoredDocument, *, include_text: bool) -> document_pb2.Document:
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
    )
    message.update_time.FromMilliseconds(stored.update_time_unix_ms)
    return message
