"""RetrievalService."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc

from groundwire.v1 import error_pb2, retrieval_service_pb2, retrieval_service_pb2_grpc
from retrieval_server.api.convert import retrieve_query, retrieve_response
from retrieval_server.api.status import item_status
from retrieval_server.corpus.searching import Searching
from retrieval_server.errors import FieldError, GroundwireError, InvalidRequest
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]
_Finished = asyncio.Task[retrieval_service_pb2.BatchRetrieveResponse]


class RetrievalServicer(retrieval_service_pb2_grpc.RetrievalServiceServicer):
    """Finds passages."""

    def __init__(self, searching: Searching, settings: ServerSettings) -> None:
        self._searching = searching
        self._settings = settings

    async def Retrieve(
        self, request: retrieval_service_pb2.RetrieveRequest, context: Context
    ) -> retrieval_service_pb2.RetrieveResponse:
        """Answer one query."""
        return retrieve_response(await self._searching.retrieve(retrieve_query(request, self._settings)))

    async def BatchRetrieve(
        self, request_iterator: AsyncIterator[retrieval_service_pb2.BatchRetrieveRequest], context: Context
    ) -> AsyncIterator[retrieval_service_pb2.BatchRetrieveResponse]:
        """Answer many, reading no further ahead than the limit on what is in flight."""
        config = await _first_config(request_iterator)
        in_order = config.order == retrieval_service_pb2.BATCH_ORDER_AS_SENT
        running: list[_Finished] = []
        reading = asyncio.ensure_future(anext(request_iterator, None))
        more = True
        try:
            while more or running:
                room = more and len(running) < self._settings.max_batch_in_flight
                waited: list[asyncio.Future[Any]] = [*running, *([reading] if room else [])]
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                if room and reading.done():
                    request = reading.result()
                    if request is None:
                        more = False
                    else:
                        running.append(asyncio.create_task(self._item(request)))
                        reading = asyncio.ensure_future(anext(request_iterator, None))
                for task in [t for t in running if t.done()]:
                    if in_order and task is not running[0]:
                        break
                    running.remove(task)
                    yield task.result()
        finally:
            reading.cancel()
            for task in running:
                task.cancel()

    async def _item(
        self, request: retrieval_service_pb2.BatchRetrieveRequest
    ) -> retrieval_service_pb2.BatchRetrieveResponse:
        index = request.item.item_index
        try:
            if request.WhichOneof("message") != "item":
                raise InvalidRequest(FieldError("item", "must be set on every message after the first"))
            query = retrieve_query(request.item.retrieve, self._settings, "item.retrieve.")
            result = retrieve_response(await self._searching.retrieve(query))
        except GroundwireError as error:
            return retrieval_service_pb2.BatchRetrieveResponse(item_index=index, status=item_status(error))
        return retrieval_service_pb2.BatchRetrieveResponse(
            item_index=index, status=error_pb2.ItemStatus(), retrieve=result
        )


async def _first_config(
    requests: AsyncIterator[retrieval_service_pb2.BatchRetrieveRequest],
) -> retrieval_service_pb2.BatchRetrieveConfig:
    first = await anext(requests, None)
    if first is None:
        return retrieval_service_pb2.BatchRetrieveConfig()
    if first.WhichOneof("message") != "config":
        raise GroundwireError(error_pb2.ERROR_REASON_PROTOCOL_ORDER, "the first message must be the config")
    return first.config
