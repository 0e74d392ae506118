"""RetrievalService."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc
import structlog

from groundwire.v1 import error_pb2, retrieval_service_pb2, retrieval_service_pb2_grpc
from retrieval_server.api.convert import retrieve_query, retrieve_response
from retrieval_server.api.in_flight import worked_on
from retrieval_server.api.message_size import check_message_size
from retrieval_server.api.status import item_status
from retrieval_server.corpus.searching.searching import Searching
from retrieval_server.errors import FieldError, GroundwireError, InternalFault, InvalidRequest, fields_under
from retrieval_server.settings import ServerSettings

Context = grpc.aio.ServicerContext[Any, Any]
_log = structlog.get_logger()


class RetrievalServicer(retrieval_service_pb2_grpc.RetrievalServiceServicer):
    """Finds passages."""

    def __init__(self, searching: Searching, settings: ServerSettings) -> None:
        self._searching = searching
        self._settings = settings

    async def Retrieve(
        self, request: retrieval_service_pb2.RetrieveRequest, context: Context
    ) -> retrieval_service_pb2.RetrieveResponse:
        """Answer one query."""
        return await self._retrieve(request, "")

    async def BatchRetrieve(
        self, request_iterator: AsyncIterator[retrieval_service_pb2.BatchRetrieveRequest], context: Context
    ) -> AsyncIterator[retrieval_service_pb2.BatchRetrieveResponse]:
        """Answer many, reading no further ahead than the limit on what is in flight."""
        config = await _first_config(request_iterator)
        in_order = config.order == retrieval_service_pb2.BATCH_ORDER_AS_SENT
        async with aclosing(
            worked_on(request_iterator, self._item, self._settings.max_batch_in_flight, in_order=in_order)
        ) as responses:
            async for response in responses:
                yield response

    async def _retrieve(
        self, request: retrieval_service_pb2.RetrieveRequest, field_prefix: str
    ) -> retrieval_service_pb2.RetrieveResponse:
        query = retrieve_query(request, self._settings, field_prefix)
        with fields_under(field_prefix):
            response = retrieve_response(await self._searching.retrieve(query))
        check_message_size(response, self._settings, f"{field_prefix}k", "ask for fewer passages")
        return response

    async def _item(
        self, request: retrieval_service_pb2.BatchRetrieveRequest
    ) -> retrieval_service_pb2.BatchRetrieveResponse:
        index = request.item.item_index
        try:
            _check_is_item(request)
            result = await self._retrieve(request.item.retrieve, "item.retrieve.")
        except GroundwireError as error:
            return retrieval_service_pb2.BatchRetrieveResponse(item_index=index, status=item_status(error))
        except Exception:
            _log.exception("batch item fault", item_index=index)
            fault = InternalFault(error_pb2.ERROR_REASON_INTERNAL, "a fault of the server; its log has the details")
            return retrieval_service_pb2.BatchRetrieveResponse(item_index=index, status=item_status(fault))
        return retrieval_service_pb2.BatchRetrieveResponse(
            item_index=index, status=error_pb2.ItemStatus(), retrieve=result
        )


def _check_is_item(request: retrieval_service_pb2.BatchRetrieveRequest) -> None:
    if request.WhichOneof("message") != "item":
        raise InvalidRequest(FieldError("item", "must be set on every message after the first"))


async def _first_config(
    requests: AsyncIterator[retrieval_service_pb2.BatchRetrieveRequest],
) -> retrieval_service_pb2.BatchRetrieveConfig:
    first = await anext(requests, None)
    if first is None:
        return retrieval_service_pb2.BatchRetrieveConfig()
    if first.WhichOneof("message") != "config":
        raise GroundwireError(error_pb2.ERROR_REASON_PROTOCOL_ORDER, "the first message must be the config")
    if first.config.order not in retrieval_service_pb2.BatchOrder.values():
        raise InvalidRequest(FieldError("config.order", f"{first.config.order} is not a value of BatchOrder"))
    return first.config
