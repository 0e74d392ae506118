"""What every call does alike: deadline, request id, size check, and one translation of errors."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, Protocol, TypeVar

import grpc
from google.protobuf.message import Message

from client._channel import MAX_MESSAGE_BYTES, Timeouts, check_address, open_channel
from client._forking import ForkGuard
from client._late_write import keep_status
from client._translate import REQUEST_ID_KEY, from_rpc_error
from client.errors import ClientError, DeadlineExceeded, invalid_field

_Q = TypeVar("_Q", bound=Message)
_R = TypeVar("_R", bound=Message)
_S = TypeVar("_S")
_T_co = TypeVar("_T_co", covariant=True)

_CALLER_KEY = "x-groundwire-caller"
_MAX_CALLER_CHARS = 128


class ReadableCall(Protocol[_T_co]):
    """A stream of responses."""

    def cancel(self) -> bool: ...
    async def read(self) -> _T_co | Any: ...


class Rpc:
    """The channel of one client. It is opened by the first call and belongs to that call's event loop."""

    def __init__(self, server: str, timeouts: Timeouts, *, caller: str | None = None) -> None:
        self.server = check_address(server)
        self._common = () if caller is None else ((_CALLER_KEY, _checked_caller(caller)),)
        self.timeouts = timeouts
        self._channel: grpc.aio.Channel | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def channel(self) -> grpc.aio.Channel:
        """The channel, opened when it was not."""
        if self._closed:
            raise ClientError("the client is closed")
        ForkGuard.check()
        loop = asyncio.get_running_loop()
        if self._channel is None:
            self._channel, self._loop = open_channel(self.server), loop
        elif self._loop is not loop:
            raise ClientError("the client belongs to another event loop: make one client a loop")
        return self._channel

    async def close(self) -> None:
        """Close the channel and end its calls."""
        self._closed = True
        if self._channel is not None:
            await self._channel.close()

    @contextlib.contextmanager
    def call(self) -> Iterator[grpc.aio.Metadata]:
        """Yield the metadata of a new call; translate what the transport raises inside."""
        request_id = uuid.uuid4().hex
        try:
            yield grpc.aio.Metadata((REQUEST_ID_KEY, request_id), *self._common)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error, server=self.server, request_id=request_id) from None

    async def unary(
        self, method: grpc.aio.UnaryUnaryMultiCallable[_Q, _R], request: _Q, *, timeout_s: float | None = None
    ) -> _R:
        """Return the response to `request`."""
        check_size(request)
        with self.call() as metadata:
            return await method(request, timeout=timeout_s or self.timeouts.call_s, metadata=metadata)

    async def listen(self, method: grpc.aio.UnaryStreamMultiCallable[_Q, _R], request: _Q) -> AsyncGenerator[_R, None]:
        """Yield the responses to `request`; the call is over when this generator is."""
        check_size(request)
        silence_s = self.timeouts.silence_s
        with self.call() as metadata:
            call: ReadableCall[_R] = method(request, metadata=metadata)
            try:
                while True:
                    async with asyncio.timeout(silence_s):
                        response = await call.read()
                    if response is grpc.aio.EOF:
                        return
                    yield response
            except TimeoutError:
                raise DeadlineExceeded(
                    f"{self.server} was silent for {silence_s:g} s", status="DEADLINE_EXCEEDED"
                ) from None
            finally:
                call.cancel()

    async def converse(self, call: ReadableCall[_S], sending: Coroutine[Any, Any, None]) -> AsyncGenerator[_S, None]:
        """Yield responses while `sending` writes, so that neither side waits for the other to read.

        Whatever ends first, the call is over when this generator is.
        """
        keep_status(call)
        sender = asyncio.create_task(sending)
        sender.add_done_callback(lambda task: call.cancel() if _own_failure(task) else None)
        silence_s = self.timeouts.silence_s
        try:
            while True:
                async with asyncio.timeout(silence_s):
                    response = await call.read()
                if response is grpc.aio.EOF:
                    return
                yield response
        except TimeoutError:
            raise DeadlineExceeded(
                f"{self.server} was silent for {silence_s:g} s", status="DEADLINE_EXCEEDED"
            ) from None
        except asyncio.CancelledError:
            failure = _own_failure(sender)
            if failure is None:
                raise
            raise failure from None
        finally:
            sender.cancel()
            call.cancel()
            await asyncio.wait([sender])


def check_size(request: Message) -> None:
    """Refuse what the transport would, but by name and before the stream that carries it breaks."""
    size_bytes = request.ByteSize()
    if size_bytes > MAX_MESSAGE_BYTES:
        raise invalid_field("request", f"is {size_bytes:,} bytes; at most {MAX_MESSAGE_BYTES:,} can be sent")


def _own_failure(sender: asyncio.Task[None]) -> BaseException | None:
    """Return why sending failed, unless the call itself ended: then reading says why."""
    if not sender.done() or sender.cancelled():
        return None
    failure = sender.exception()
    return None if isinstance(failure, (grpc.RpcError, asyncio.InvalidStateError)) else failure


def _checked_caller(caller: str) -> str:
    if not 1 <= len(caller) <= _MAX_CALLER_CHARS or not all(" " <= char <= "~" for char in caller):
        raise invalid_field("caller", f"must be 1 to {_MAX_CALLER_CHARS} printable ASCII characters")
    return caller
