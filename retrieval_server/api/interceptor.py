"""What every RPC gets: a limit on how many run, domain errors as statuses, one log line."""

import asyncio
import inspect
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import grpc
import structlog
from google.protobuf.message import DecodeError

from groundwire.v1 import error_pb2
from retrieval_server import errors
from retrieval_server.api.reader_patience import ReaderPatience
from retrieval_server.api.status import clipped, status_code, trailers

_log = structlog.get_logger()

_UNLIMITED_PREFIXES = ("/grpc.health.", "/grpc.reflection.")
# Calls that mostly wait, for a worker, for what their caller sends next, or for work that goes on without them: they
# have places of their own, so that however many wait, others are searched for and can be cancelled.
_WAITING_METHODS = frozenset(
    {
        "/groundwire.v1.AnswerService/Answer",
        "/groundwire.v1.AnswerService/AttachAnswer",
        "/groundwire.v1.AnswerService/BatchAnswer",
        "/groundwire.v1.AnswerService/StreamAnswer",
        "/groundwire.v1.CorpusService/RebuildCollection",
        "/groundwire.v1.CorpusService/SyncDocuments",
        "/groundwire.v1.RetrievalService/BatchRetrieve",
    }
)
# Calls that compute for minutes, so that a few of them take the cores: they have places of their own as well, few, and
# searches are not refused for them.
_LONG_METHODS = frozenset(
    {
        "/groundwire.v1.EvaluationService/EvaluateRetrieval",
        "/groundwire.v1.EvaluationService/TuneFusion",
    }
)
_REQUEST_ID_KEY = "x-request-id"
_BUSY_RETRY_S = 0.2
_LONG_RETRY_S = 5.0


class _Malformed:
    """Stands for a message whose bytes did not decode, until a handler can refuse it."""


_MALFORMED = _Malformed()


class _Places:
    """For so many calls at once; grpc.aio's own limit does not hold for every kind of call."""

    def __init__(self, count: int, retry_after_s: float = _BUSY_RETRY_S) -> None:
        self._count = count
        self._retry_after_s = retry_after_s
        self._taken_count = 0

    def take(self) -> None:
        """Count a call in. Raises Overloaded when all places are taken."""
        if self._taken_count >= self._count:
            raise errors.Overloaded(
                error_pb2.ERROR_REASON_SERVER_BUSY,
                f"{self._count} calls of its kind are in progress; try again",
                retry_after_s=self._retry_after_s,
            )
        self._taken_count += 1

    def give_back(self) -> None:
        """Count a call out."""
        self._taken_count -= 1


class RpcInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the handlers of our own services; health and reflection pass through."""

    def __init__(
        self,
        max_concurrent_rpcs: int,
        max_waiting_rpcs: int,
        max_evaluations: int,
        reader_timeout_s: float,
        max_message_bytes: int,
        on_end: Callable[[str, str, float], None] | None = None,
    ) -> None:
        """`on_end` is told of each call's method, status and time in seconds; a stream unread so long is ended."""
        self._places = _Places(max_concurrent_rpcs)
        self._places_to_wait = _Places(max_waiting_rpcs)
        self._places_for_long = _Places(max_evaluations, _LONG_RETRY_S)
        self._reader_timeout_s = reader_timeout_s
        self._on_end = on_end
        self._max_message_bytes = max_message_bytes

    async def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """Return the handler of a call, wrapped."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(_UNLIMITED_PREFIXES):
            return handler
        request_id = _request_id(handler_call_details)
        deserialize = _tolerant(handler.request_deserializer)
        serialize: Callable[[Any], bytes] = handler.response_serializer or bytes
        if handler.response_streaming:
            stream = _served(handler.stream_stream or handler.unary_stream, inspect.isasyncgenfunction)

            async def run_stream(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
                async with (
                    _Call(self, method, request_id, context),
                    ReaderPatience(context, self._reader_timeout_s) as reader,
                    aclosing(stream(_checked(request), context)) as responses,
                ):
                    async for response in responses:
                        await reader.write(self._fitting(serialize(response)))

            wrap = (
                grpc.stream_stream_rpc_method_handler
                if handler.request_streaming
                else grpc.unary_stream_rpc_method_handler
            )
            return wrap(run_stream, deserialize, None)

        unary = _served(handler.stream_unary or handler.unary_unary, inspect.iscoroutinefunction)

        async def run_unary(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            async with _Call(self, method, request_id, context):
                return self._fitting(serialize(await unary(_checked(request), context)))

        wrap_unary = (
            grpc.stream_unary_rpc_method_handler if handler.request_streaming else grpc.unary_unary_rpc_method_handler
        )
        return wrap_unary(run_unary, deserialize, None)

    def _fitting(self, response: bytes) -> bytes:
        """Return a response that a message may hold; of others gRPC would give no reason, and us a traceback."""
        size_bytes, limit_bytes = len(response), self._max_message_bytes
        if size_bytes > limit_bytes:
            raise errors.FailedPrecondition(
                error_pb2.ERROR_REASON_LIMIT_EXCEEDED,
                f"the response takes {size_bytes:,} bytes of at most {limit_bytes:,}; ask for less, or raise "
                "GROUNDWIRE_MAX_MESSAGE_BYTES",
                metadata={"limit": str(limit_bytes), "actual": str(size_bytes)},
            )
        return response

    def places(self, method: str) -> _Places:
        """Return where a call of a method counts."""
        if method in _LONG_METHODS:
            return self._places_for_long
        return self._places_to_wait if method in _WAITING_METHODS else self._places

    def ended(self, method: str, code: str, elapsed_s: float, **fields: str) -> None:
        """Write the log line of a call that has ended, and count it."""
        _log.info("rpc", method=method, code=code, elapsed_ms=round(elapsed_s * 1000, 2), **fields)
        if self._on_end is not None:
            self._on_end(method, code, elapsed_s)


class _Call:
    """One call from entry to its log line."""

    def __init__(
        self, limiter: RpcInterceptor, method: str, request_id: str, context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        self._limiter = limiter
        self._places = limiter.places(method)
        self._method = method
        self._request_id = request_id
        self._context = context
        self._started = time.perf_counter()
        self._entered = False

    async def __aenter__(self) -> None:
        structlog.contextvars.bind_contextvars(request_id=self._request_id)
        try:
            self._places.take()
        except errors.Overloaded as error:
            await self._abort(error)
        self._entered = True

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._entered:
            self._places.give_back()
        if error is None:
            # Written once the response is on its way.
            asyncio.get_running_loop().call_soon(self._limiter.ended, self._method, "OK", self._elapsed_s())
        elif isinstance(error, errors.GroundwireError):
            await self._abort(error)
        elif isinstance(error, grpc.aio.AbortError):
            self._ended("ABORTED")
        elif isinstance(error, asyncio.CancelledError):
            self._ended("CANCELLED")
        elif isinstance(error, Exception):
            _log.error("rpc fault", method=self._method, exc_info=error)
            fault = errors.InternalFault(
                error_pb2.ERROR_REASON_INTERNAL, f"the server failed; its log has it under {self._request_id}"
            )
            await self._abort(fault)

    async def _abort(self, error: errors.GroundwireError) -> None:
        code = status_code(error)
        self._ended(code.name, reason=error.reason_name, detail=clipped(error.message))
        try:
            await self._context.abort(code, clipped(error.message), trailers(error))
        except grpc.aio.InternalError:  # its caller went without having been told, which is nobody's fault
            raise asyncio.CancelledError from None

    def _elapsed_s(self) -> float:
        return time.perf_counter() - self._started

    def _ended(self, code: str, **fields: str) -> None:
        self._limiter.ended(self._method, code, self._elapsed_s(), **fields)


def _request_id(details: grpc.HandlerCallDetails) -> str:
    for key, value in details.invocation_metadata or ():
        if key == _REQUEST_ID_KEY and isinstance(value, str) and value:
            return value[:64]
    return uuid.uuid4().hex


def _tolerant(deserialize: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    """Let undecodable bytes reach the handler as a marker: grpc itself would answer INTERNAL."""
    if deserialize is None:
        return None

    def decode(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return _MALFORMED

    return decode


def _checked(request: Any) -> Any:
    if request is _MALFORMED:
        raise errors.GroundwireError(
            error_pb2.ERROR_REASON_MALFORMED_MESSAGE, "the bytes of the request are not a message of its type"
        )
    return _checked_each(request) if hasattr(request, "__aiter__") else request


async def _checked_each(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _checked(request)


def _served(behaviour: Any, is_ours: Callable[[Any], bool]) -> Any:
    """Return the behaviour, or one that answers NotServed: generated stubs bring plain functions as place-holders."""
    if is_ours(behaviour):
        return behaviour

    async def refuse_stream(*_: Any) -> AsyncIterator[Any]:
        nothing: tuple[Any, ...] = ()
        for response in nothing:
            yield response
        raise errors.NotServed("this RPC")

    async def refuse(*_: Any) -> Any:
        raise errors.NotServed("this RPC")

    return refuse_stream if is_ours is inspect.isasyncgenfunction else refuse
