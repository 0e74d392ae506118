"""An open collection and its work in the background: one writer thread, vectors, compaction."""

import asyncio
import contextvars
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from retrieval_server.corpus.collection import Collection
from retrieval_server.corpus.documents import ParsedDocument
from retrieval_server.corpus.embedding import embed_chunks, embed_few
from retrieval_server.corpus.store import ChunkToEmbed, EmbeddedWindows
from retrieval_server.engine.encoder import Encoder
from retrieval_server.model import ContentKind

P = ParamSpec("P")
T = TypeVar("T")

_log = structlog.get_logger()

# A change that brings at most so many new windows is embedded before it is acknowledged.
EMBEDDED_AT_ONCE_WINDOWS = 64
# Of a change of more chunks than this, not even the windows are looked at first.
_MAX_EXAMINED_CHUNKS = 1000
_EMBEDDED_PER_STEP_CHUNKS = 64
# Edits tend to come in bursts; one fresh index serves them all.
_COMPACTION_DELAY_S = 0.2
# A fresh index of a large collection takes seconds of the writer, which the next edit would wait for.
_LARGE_COLLECTION_CHUNKS = 2000
_LARGE_COMPACTION_DELAY_S = 3.0
_RETRY_DELAY_S = 5.0


class OpenCollection:
    """Runs writes on one thread, in order, and upkeep whenever something changed."""

    def __init__(self, collection: Collection, encoder: Encoder | None) -> None:
        self.collection = collection
        self.syncing_sources: set[str] = set()
        self._encoder = encoder
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"write-{collection.name}")
        self._changed = asyncio.Event()
        self._changed.set()
        # A context of its own: the request that opened the collection is not what later log lines are about.
        self._upkeep = asyncio.create_task(
            self._keep_up(), name=f"upkeep-{collection.name}", context=contextvars.Context()
        )

    async def write(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a write on the writer thread. It is not interrupted by cancellation: it either happened or did not."""
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._writer, lambda: function(*args, **kwargs))
        try:
            return await asyncio.shield(done)
        finally:
            self._changed.set()

    async def embed_now(self, documents: list[ParsedDocument]) -> dict[str, list[EmbeddedWindows]]:
        """Return the windows of a small change by relative path, or nothing when it is too large to wait for."""
        embeddable = [d for d in documents if d.kind is not ContentKind.DATA]
        if self._encoder is None or sum(len(d.chunks) for d in embeddable) > _MAX_EXAMINED_CHUNKS:
            return {}
        if self.collection.current_view.dense_coverage < 1:
            return {}
        chunks = [
            ChunkToEmbed(0, d.kind, d.relative_path, chunk.span.breadcrumbs, chunk.text)
            for d in embeddable
            for chunk in d.chunks
        ]
        embedded = await self.write(
            embed_few, chunks, self._encoder, self.collection.known_vectors, EMBEDDED_AT_ONCE_WINDOWS
        )
        if embedded is None:
            return {}
        windows = iter(embedded)
        return {d.relative_path: [next(windows) for _ in d.chunks] for d in embeddable}

    async def close(self) -> None:
        """Stop upkeep after its current step, then release the files."""
        self._upkeep.cancel()
        with suppress(asyncio.CancelledError):
            await self._upkeep
        await asyncio.get_running_loop().run_in_executor(self._writer, self.collection.close)
        self._writer.shutdown()

    async def _keep_up(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._on_writer(self.collection.catch_up)
                await self._embed_all()
                await self._compact()
            except Exception:
                _log.exception("upkeep failed", collection=self.collection.name)
                await asyncio.sleep(_RETRY_DELAY_S)
                self._changed.set()

    async def _embed_all(self) -> None:
        if self._encoder is None or not await self._on_writer(self.collection.chunks_to_embed, 0, 1):
            return
        position = 0
        taking = asyncio.Lock()

        async def embed_some(encoder: Encoder) -> None:
            nonlocal position
            while True:
                async with taking:
                    chunks = await self._on_writer(self.collection.chunks_to_embed, position, _EMBEDDED_PER_STEP_CHUNKS)
                    if not chunks:
                        return
                    position = chunks[-1].chunk_id
                # Encoding runs beside the writer thread, so that a sync never waits for it.
                windows = await asyncio.to_thread(embed_chunks, chunks, encoder, self._known_vectors)
                by_chunk = {chunk.chunk_id: found for chunk, found in zip(chunks, windows, strict=True)}
                await self._on_writer(self.collection.store_vectors, by_chunk)

        # Two at a time: one makes texts and stores vectors while the other keeps the encoder busy.
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(embed_some(self._encoder))
        view = self.collection.current_view
        _log.info("vectors complete", collection=self.collection.name, chunk_count=view.embedded_chunk_count)

    async def _compact(self) -> None:
        if not await self._on_writer(self.collection.needs_compaction):
            return
        is_large = self.collection.current_view.chunk_count > _LARGE_COLLECTION_CHUNKS
        await asyncio.sleep(_LARGE_COMPACTION_DELAY_S if is_large else _COMPACTION_DELAY_S)
        if self._changed.is_set():
            return
        if self.syncing_sources:
            # The sync may change nothing, and then nobody else would come back to this.
            self._changed.set()
            return
        await self._on_writer(self.collection.compact)
        _log.info("lexical index built afresh", collection=self.collection.name)

    def _known_vectors(self, keys: Sequence[bytes]) -> Mapping[bytes, NDArray[np.float32]]:
        return self._writer.submit(self.collection.known_vectors, keys).result()

    async def _on_writer(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._writer, lambda: function(*args, **kwargs)))
