"""CorpusService: collections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc

from groundwire.v1 import collection_pb2, corpus_service_pb2_grpc, sync_pb2
from retrieval_server.api.convert_collection import collection_to_pb, settings_from_pb
from retrieval_server.api.paging import Listing, page_of
from retrieval_server.api.sync_stream import SyncStream
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.files.disk_usage import disk_bytes
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]


class CollectionsServicer(corpus_service_pb2_grpc.CorpusServiceServicer):
    """Makes, lists, counts and removes collections, and brings their sources up to date."""

    def __init__(self, catalog: Catalog, encoder_label: str, settings: ServerSettings) -> None:
        self._catalog = catalog
        self._encoder_label = encoder_label
        self._settings = settings

    async def CreateCollection(
        self, request: collection_pb2.CreateCollectionRequest, context: Context
    ) -> collection_pb2.CreateCollectionResponse:
        """Make an empty collection."""
        opened = await self._catalog.create(request.name, settings_from_pb(request))
        return collection_pb2.CreateCollectionResponse(collection=collection_to_pb(opened))

    async def ListCollections(
        self, request: collection_pb2.ListCollectionsRequest, context: Context
    ) -> collection_pb2.ListCollectionsResponse:
        """List the collections by name, those that cannot be used, too."""

        def listed(name: str) -> collection_pb2.Collection:
            if problem := self._catalog.damage(name):
                return collection_pb2.Collection(
                    name=name, problem=problem, state=collection_pb2.COLLECTION_STATE_DAMAGED
                )
            return collection_to_pb(self._catalog.get(name))

        collections, token = page_of(
            self._catalog.names(), request.page_size, request.page_token, Listing(request), listed, self._settings
        )
        return collection_pb2.ListCollectionsResponse(collections=collections, next_page_token=token)

    async def GetCollection(
        self, request: collection_pb2.GetCollectionRequest, context: Context
    ) -> collection_pb2.GetCollectionResponse:
        """Return one collection."""
        opened = self._catalog.get(request.name, "name")
        return collection_pb2.GetCollectionResponse(collection=collection_to_pb(opened))

    async def DeleteCollection(
        self, request: collection_pb2.DeleteCollectionRequest, context: Context
    ) -> collection_pb2.DeleteCollectionResponse:
        """Remove a collection and all that it holds."""
        count = await self._catalog.delete(request.name)
        return collection_pb2.DeleteCollectionResponse(deleted_document_count=count)

    async def GetCorpusStats(
        self, request: collection_pb2.GetCorpusStatsRequest, context: Context
    ) -> collection_pb2.GetCorpusStatsResponse:
        """Count what a collection holds."""
        opened = self._catalog.get(request.collection)
        counts = await opened.read(lambda reader: reader.counts())
        view = opened.collection.current_view
        stats = collection_pb2.CorpusStats(
            collection=collection_to_pb(opened),
            document_count=counts.document_count,
            chunk_count=counts.chunk_count,
            embeddable_chunk_count=counts.embeddable_chunk_count,
            embedded_chunk_count=counts.embedded_chunk_count,
            dense_coverage=view.dense_coverage,
            text_bytes=counts.text_bytes,
            disk_bytes=await asyncio.to_thread(disk_bytes, opened.collection.directory),
            vector_epoch=view.vector_epoch,
            encoder=self._encoder_label,
            sources=[
                collection_pb2.SourceStats(
                    source=s.source_key, display_prefix=s.display_prefix, document_count=s.document_count
                )
                for s in counts.sources
            ],
            encoder_problem=self._encoder_problem(opened),
            stale_chunk_count=opened.collection.stale_chunk_count,
        )
        return collection_pb2.GetCorpusStatsResponse(stats=stats)

    async def SyncDocuments(
        self, request_iterator: AsyncIterator[sync_pb2.SyncDocumentsRequest], context: Context
    ) -> AsyncIterator[sync_pb2.SyncDocumentsResponse]:
        """Bring a source up to date."""
        async with aclosing(SyncStream(self._catalog, self._settings).run(request_iterator)) as responses:
            async for response in responses:
                yield response

    def _encoder_problem(self, opened: OpenCollection) -> str:
        if not self._encoder_label:
            return "the server runs with GROUNDWIRE_LEXICAL_ONLY"
        return opened.upkeep_problem if opened.collection.current_view.dense_coverage < 1 else ""
