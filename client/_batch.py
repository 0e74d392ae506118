"""Many items over one stream, a window at a time, carried on over a new stream when the connection is lost."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

import grpc
from google.protobuf.message import Message

from client._rpc import Rpc, check_size
from client.errors import ClientError, ServerFault, Unavailable, invalid_field

MAX_WINDOW_COUNT = 32
# Long enough for a server to be started anew, which ends its streams and takes them up again.
_MAX_RECONNECT_COUNT = 9
_FIRST_BACKOFF_S = 0.2
_MOST_BACKOFF_S = 3.0


class _ItemResponse(Protocol):
    @property
    def item_index(self) -> int: ...


_Q = TypeVar("_Q", bound=Message)
_R = TypeVar("_R", bound=_ItemResponse)
Items = Mapping[int, _Q]


def make_items(queries: Iterable[str], make: Callable[[int, str], _Q]) -> tuple[dict[int, _Q], dict[int, ClientError]]:
    """Return the requests of a batch by index, and why the others cannot be sent."""
    if isinstance(queries, str):  # which would be taken for its characters
        raise invalid_field("queries", "must be several texts, not one text")
    items: dict[int, _Q] = {}
    refused: dict[int, ClientError] = {}
    for index, query in enumerate(queries):
        try:
            item = make(index, query)
            check_size(item)
        except ClientError as error:
            refused[index] = error
        else:
            items[index] = item
    return items, refused


async def run_batch(
    rpc: Rpc,
    open_stream: Callable[[grpc.aio.Metadata], Any],
    items: Items[_Q],
    *,
    opening: tuple[_Q, ...] = (),
    window_count: int = MAX_WINDOW_COUNT,
) -> AsyncGenerator[_R, None]:
    """Yield one response for each of `items`, as they finish.

    At most `window_count` items are unanswered at a time, so the server never has to hold more than it serves.
    `opening` goes first on every stream. Items without a response are sent again after a lost connection: their
    requests must be safe to repeat.
    """
    unanswered = dict(items)
    lost_count = 0
    while unanswered:
        stream: AsyncGenerator[_R, None] = _one_stream(rpc, open_stream, unanswered, opening, window_count)
        try:
            async with aclosing(stream) as responses:
                async for response in responses:
                    if unanswered.pop(response.item_index, None) is None:
                        raise ServerFault(f"the server answered item {response.item_index}, which was not open")
                    lost_count = 0
                    yield response
            if unanswered:
                raise ServerFault(f"the server ended the batch with {len(unanswered)} items unanswered")
        except Unavailable:
            lost_count += 1
            if lost_count > _MAX_RECONNECT_COUNT:
                raise
            await asyncio.sleep(min(_MOST_BACKOFF_S, _FIRST_BACKOFF_S * 2 ** (lost_count - 1)))


async def _one_stream(
    rpc: Rpc,
    open_stream: Callable[[grpc.aio.Metadata], Any],
    unanswered: Items[_Q],
    opening: tuple[_Q, ...],
    window_count: int,
) -> AsyncGenerator[_R, None]:
    window = asyncio.Semaphore(window_count)
    to_send = list(unanswered.values())

    with rpc.call() as metadata:
        call = open_stream(metadata)

        async def send() -> None:
            for message in opening:
                await call.write(message)
            for message in to_send:
                await window.acquire()
                await call.write(message)
            await call.done_writing()

        stream: AsyncGenerator[_R, None] = rpc.converse(call, send())
        async with aclosing(stream) as responses:
            async for response in responses:
                window.release()
                yield response
