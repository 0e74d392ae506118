"""The synchronous client: the asynchronous one, run on a thread of its own. No method is written twice."""

import asyncio
import functools
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from client._aio import AsyncClient
from client._channel import DEFAULT_SERVER, Timeouts
from client._forking import ForkGuard
from client._loop import LoopThread
from client.errors import ClientError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _blocking(
    method: Callable[Concatenate[AsyncClient, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate["Client", _P], _T]:
    """Return a method that waits for the coroutine of `method`."""

    @functools.wraps(method)
    def call(self: "Client", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return self._run(method(self._asynchronous, *args, **kwargs))

    return call


def _streaming(
    method: Callable[Concatenate[AsyncClient, _P], AsyncGenerator[_T, None]],
) -> Callable[Concatenate["Client", _P], "Stream[_T]"]:
    """Return a method that iterates over what `method` yields."""

    @functools.wraps(method)
    def call(self: "Client", /, *args: _P.args, **kwargs: _P.kwargs) -> "Stream[_T]":
        stream = Stream(self, method(self._asynchronous, *args, **kwargs))
        self._note(stream)
        return stream

    return call


class Stream(Iterator[_T], Generic[_T]):
    """An iterator over a stream of the server; `close()`, or leaving its `with` block, ends the call early."""

    def __init__(self, client: "Client", items: AsyncGenerator[_T, None]) -> None:
        self._client = client
        self._items = items
        # A thread that was interrupted no longer waits for the step that it began, which may take a while to end.
        self._turn = asyncio.Lock()

    def __next__(self) -> _T:
        try:
            return self._client._run(self._step())  # noqa: SLF001 - the two are one thing
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the call if it has not ended."""
        self._client._run(self._end())  # noqa: SLF001 - the two are one thing

    async def _step(self) -> _T:
        async with self._turn:
            return await anext(self._items)

    async def _end(self) -> None:
        async with self._turn:
            await self._items.aclose()

    async def end_unless_busy(self) -> None:
        """On the client's thread: end the call, but if a step of it is under way, which ends with the connection."""
        if not self._turn.locked():
            await self._end()


class Client:
    """A groundwire server at HOST:PORT.

    Every method raises a `ClientError`. It may be used from several threads, but not in a process that was forked after
    the first client was made. `close()`, or leaving the `with` block, ends the connection. Streams (`retrieve_many`,
    `stream_answer`, …) are iterators that can be closed early.

    `caller` names whom the answers are for: callers take turns in the queue. Without it each connection is one.
    """

    def __init__(
        self, server: str = DEFAULT_SERVER, *, timeouts: Timeouts | None = None, caller: str | None = None
    ) -> None:
        self._asynchronous = AsyncClient(server, timeouts=timeouts, caller=caller)
        self._closing = threading.Lock()
        self._closed = False
        self._streams: weakref.WeakSet[Stream[Any]] = weakref.WeakSet()
        LoopThread.acquire()

    retrieve = _blocking(AsyncClient.retrieve)
    retrieve_many = _streaming(AsyncClient.retrieve_many)
    answer = _blocking(AsyncClient.answer)
    stream_answer = _streaming(AsyncClient.stream_answer)
    answer_many = _streaming(AsyncClient.answer_many)
    attach_answer = _streaming(AsyncClient.attach_answer)
    cancel_answer = _blocking(AsyncClient.cancel_answer)
    index = _blocking(AsyncClient.index)
    synonyms = _blocking(AsyncClient.synonyms)
    put_synonyms = _blocking(AsyncClient.put_synonyms)
    evaluate_retrieval = _streaming(AsyncClient.evaluate_retrieval)
    tune_fusion = _streaming(AsyncClient.tune_fusion)
    tuned_fusion = _blocking(AsyncClient.tuned_fusion)
    reset_tuned_fusion = _blocking(AsyncClient.reset_tuned_fusion)
    corpus_stats = _blocking(AsyncClient.corpus_stats)
    get_document = _blocking(AsyncClient.get_document)
    collections = _blocking(AsyncClient.collections)
    get_collection = _blocking(AsyncClient.get_collection)
    create_collection = _blocking(AsyncClient.create_collection)
    delete_collection = _blocking(AsyncClient.delete_collection)
    list_documents = _streaming(AsyncClient.list_documents)
    put_document = _blocking(AsyncClient.put_document)
    update_document = _blocking(AsyncClient.update_document)
    delete_document = _blocking(AsyncClient.delete_document)
    delete_documents = _blocking(AsyncClient.delete_documents)
    delete_documents_by_filter = _blocking(AsyncClient.delete_documents_by_filter)
    get_original = _blocking(AsyncClient.get_original)
    rebuild_collection = _streaming(AsyncClient.rebuild_collection)
    create_snapshot = _blocking(AsyncClient.create_snapshot)
    snapshots = _blocking(AsyncClient.snapshots)
    restore_snapshot = _blocking(AsyncClient.restore_snapshot)
    delete_snapshot = _blocking(AsyncClient.delete_snapshot)
    health = _blocking(AsyncClient.health)
    queue_stats = _blocking(AsyncClient.queue_stats)
    workers = _blocking(AsyncClient.workers)
    dead_letters = _streaming(AsyncClient.dead_letters)
    replay_dead_letter = _blocking(AsyncClient.replay_dead_letter)
    purge_dead_letters = _blocking(AsyncClient.purge_dead_letters)
    server_settings = _blocking(AsyncClient.server_settings)

    @property
    def server(self) -> str:
        """The address as HOST:PORT."""
        return self._asynchronous.server

    def close(self) -> None:
        """Close the connection and end its calls."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if ForkGuard.is_forked():  # the connection is the parent's
            return
        try:
            LoopThread.run(self._end())
        finally:
            LoopThread.release()

    async def _end(self) -> None:
        with self._closing:
            streams = list(self._streams)
        await asyncio.gather(*(stream.end_unless_busy() for stream in streams), return_exceptions=True)
        await self._asynchronous.close()

    def _note(self, stream: Stream[Any]) -> None:
        with self._closing:
            self._streams.add(stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self._closed:
            work.close()
            raise ClientError("the client is closed")
        return LoopThread.run(work)
