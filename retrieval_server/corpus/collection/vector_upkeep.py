"""Betters a collection's vector segments beside its writer, one step at a time, until there is nothing to better."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol, TypeVar

import structlog

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.database.stored_vectors import MisshapenVectors
from retrieval_server.corpus.vectors.dense_segments import WritingStopped
from retrieval_server.engine.dense import GraphStopped

T = TypeVar("T")

_log = structlog.get_logger()

_RETRY_DELAY_S = 5.0


class OnWriter(Protocol):
    """Runs a function on the writer thread of a collection."""

    def __call__(self, function: Callable[[], T], /) -> Awaitable[T]:
        """Return its result."""


class VectorUpkeep:
    """A task of its own: a step may take minutes, which neither writes nor embedding wait for."""

    def __init__(
        self, name: str, collection: Callable[[], Collection], on_writer: OnWriter, on_lacking: Callable[[], None]
    ) -> None:
        """`on_lacking` is told that chunks have lost their vectors."""
        self._collection = collection
        self._on_writer = on_writer
        self._on_lacking = on_lacking
        self._changed = asyncio.Event()
        self._stopping = threading.Event()
        self._problem = ""
        self._task = asyncio.create_task(self._keep_up(), name=f"vectors-{name}", context=contextvars.Context())

    def wake(self) -> None:
        """Look for work again: vectors may have changed."""
        self._changed.set()

    async def close(self) -> None:
        """Stop; a step that is under way ends within a second and is thrown away."""
        self._stopping.set()
        self._changed.set()
        await self._task

    async def _keep_up(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                while not self._stopping.is_set() and await self._one_step():
                    pass
                self._problem = ""
            except Exception as error:
                # Without the file, whose name is another one each time.
                problem = f"{type(error).__name__}: {error.strerror if isinstance(error, OSError) else error}"
                if problem != self._problem:  # a full disk is not filled further by saying so again and again
                    _log.exception("vector upkeep failed", collection=self._collection().name)
                self._problem = problem
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _RETRY_DELAY_S)
                self._changed.set()
            if self._stopping.is_set():
                return

    async def _one_step(self) -> bool:
        collection = self._collection()
        step = await self._on_writer(collection.vector_step)
        if step is None:
            return False
        try:
            adopt = await asyncio.to_thread(step.run, lambda: self._stopping.is_set() or collection.is_closed)
        except (GraphStopped, WritingStopped):
            return False
        except MisshapenVectors:
            await self._on_writer(collection.drop_misshapen_vectors)
            self._on_lacking()
            return False
        await self._on_writer(lambda: collection.adopt_vectors(adopt))
        if collection.current_view.dense_coverage < 1:  # damaged ones were found when they were read again
            self._on_lacking()
        _log.info("vector segments bettered", collection=collection.name, step=step.name)
        return True
