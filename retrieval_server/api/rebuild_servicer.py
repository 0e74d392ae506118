"""CorpusService: rebuilding a collection."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc

from groundwire.v1 import collection_pb2, corpus_service_pb2_grpc
from retrieval_server.corpus.catalog import Catalog

Context = grpc.aio.ServicerContext[Any, Any]


class RebuildServicer(corpus_service_pb2_grpc.CorpusServiceServicer):
    """Makes all that is derived of documents anew."""

    _catalog: Catalog

    async def RebuildCollection(
        self, request: collection_pb2.RebuildCollectionRequest, context: Context
    ) -> AsyncIterator[collection_pb2.RebuildCollectionResponse]:
        """Rebuild a collection, or follow a rebuild that is running; it goes on when the caller leaves."""
        rebuild = self._catalog.rebuild(request.collection, full=request.full)
        async with aclosing(rebuild.follow()) as steps:
            async for progress in steps:
                yield collection_pb2.RebuildCollectionResponse(
                    done_count=progress.done_count,
                    total_count=progress.total_count,
                    finished=progress.is_finished,
                    index_generation=progress.generation,
                    kept_count=progress.kept_count,
                )
