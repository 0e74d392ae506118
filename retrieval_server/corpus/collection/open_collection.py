"""An open collection and its work in the background: one writer thread, vectors, compaction."""

import asyncio
import contextvars
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import structlog
from numpy.typing import NDArray

from groundwire.v1 import error_pb2
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.embedding_upkeep import EMBEDDED_PER_STEP_CHUNKS, embed_all
from retrieval_server.corpus.collection.held_views import Retired
from retrieval_server.corpus.collection.integrity import clear_errors
from retrieval_server.corpus.collection.term_upkeep import learn_terms
from retrieval_server.corpus.collection.vector_upkeep import VectorUpkeep
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.corpus.documents.changes import ChunkToEmbed, EmbeddedWindows
from retrieval_server.corpus.documents.documents import ParsedDocument
from retrieval_server.corpus.documents.titles import under_title
from retrieval_server.corpus.vectors.embedding import embed_chunks, embed_few
from retrieval_server.engine.encoding.encoder import Encoder
from retrieval_server.errors import FailedPrecondition, GroundwireError, NotFound
from retrieval_server.model import ContentKind

P = ParamSpec("P")
T = TypeVar("T")

_log = structlog.get_logger()

# A change that brings at most so many new windows is embedded before it is acknowledged.
EMBEDDED_AT_ONCE_WINDOWS = 64
# Of a change of more chunks than this, not even the windows are looked at first.
_MAX_EXAMINED_CHUNKS = 1000
# Edits tend to come in bursts; one fresh index serves them all.
_COMPACTION_DELAY_S = 0.2
# A fresh index of a large collection takes seconds of the writer, which the next edit would wait for.
_LARGE_COLLECTION_CHUNKS = 2000
_LARGE_COMPACTION_DELAY_S = 3.0
_RETRY_DELAY_S = 5.0


def collection_not_found(name: str) -> NotFound:
    """Return the error of a collection that is not there."""
    return NotFound(
        error_pb2.ERROR_REASON_COLLECTION_NOT_FOUND,
        f"no collection {name!r}; `client index PATH --collection {name}` makes it",
        metadata={"collection": name},
    )


def read_only() -> FailedPrecondition:
    """Return the error of a write to a replica."""
    return FailedPrecondition(
        error_pb2.ERROR_REASON_READ_ONLY, "this server follows the snapshots of another one; write to that one"
    )


class OpenCollection:
    """Runs writes on one thread, in order, and upkeep whenever something changed."""

    def __init__(self, collection: Collection, encoder: Encoder | None, *, is_read_only: bool = False) -> None:
        self.collection = collection
        self._is_read_only = is_read_only
        self.syncing_sources: set[str] = set()
        self.is_being_replaced = False
        self.following_problem = ""
        """On a replica: why what is served is not the newest snapshot."""
        self._locks_of_documents: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._encoder = encoder
        self._writer = ThreadPoolExecutor(1, thread_name_prefix=f"write-{collection.name}")
        self._is_closing = False
        self._upkeep_problem = ""
        self._changed = asyncio.Event()
        self._changed.set()
        self._vectors = VectorUpkeep(collection.name, lambda: self.collection, self._on_writer, self._changed.set)
        # A context of its own: the request that opened the collection is not what later log lines are about.
        self._upkeep = asyncio.create_task(
            self._keep_up(), name=f"upkeep-{collection.name}", context=contextvars.Context()
        )

    async def write(self, function: Callable[Concatenate[Collection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a write on the writer thread, on the collection that is in place by then.

        It is not interrupted by cancellation: it either happened or did not. Raises NotFound when the collection is
        being removed, FailedPrecondition on a replica.
        """
        self._check_open()
        if self._is_read_only:
            raise read_only()
        try:
            return await self._on_current(function, *args, **kwargs)
        finally:
            self._changed.set()

    async def replace(self, make_next: Callable[[Collection], Collection]) -> None:
        """Let another collection take the place of this one; who reads the old one reads it to the end."""

        def swap() -> Collection:
            old = self.collection
            self.collection = make_next(old)
            return old

        old = await self._on_writer(swap)
        self._changed.set()
        # Readers are waited for aside; the files are released in turn with whatever the writer still does to them.
        await asyncio.to_thread(old.retire)
        await self._on_writer(old.close)

    @property
    def name(self) -> str:
        """Name of the collection."""
        return self.collection.name

    @property
    def upkeep_problem(self) -> str:
        """Why the last try at what is done in the background failed; "" when it did not. It is tried again."""
        return self._upkeep_problem

    def lock_of(self, document_id: str) -> asyncio.Lock:
        """Return the lock of those who make a new version of a document out of the one that they read."""
        return self._locks_of_documents.setdefault(document_id, asyncio.Lock())

    @contextmanager
    def view(self) -> Iterator[CollectionView]:
        """Hold the current view. Raises NotFound when the collection has been removed meanwhile."""
        with ExitStack() as held:
            while True:
                collection = self.collection
                try:
                    view = held.enter_context(collection.view())
                    break
                except Retired:
                    if collection is self.collection:
                        raise collection_not_found(collection.name) from None
            held.enter_context(clear_errors(collection.name, collection.note_index_problem))
            yield view

    async def read(self, function: Callable[[CorpusReader], T]) -> T:
        """Run a reading function off the event loop. Raises NotFound when the collection has been removed."""

        def run() -> T:
            with self.view() as view:
                return function(view.reader)

        return await asyncio.to_thread(run)

    async def embed_now(self, documents: list[ParsedDocument]) -> dict[str, list[EmbeddedWindows]]:
        """Return the windows of a small change by relative path, or nothing when it is too large to wait for.

        Raises NotFound when the collection is being removed.
        """
        self._check_open()
        embeddable = [d for d in documents if d.kind is not ContentKind.DATA]
        if self._encoder is None or sum(len(d.chunks) for d in embeddable) > _MAX_EXAMINED_CHUNKS:
            return {}
        if self.collection.current_view.dense_coverage < 1:
            return {}
        chunks = _chunks_of(embeddable)
        encoder = self._encoder
        embedded = await self._on_writer(
            lambda: embed_few(chunks, encoder, self.collection.known_vectors, EMBEDDED_AT_ONCE_WINDOWS)
        )
        if embedded is None:
            return {}
        windows = iter(embedded)
        return {d.relative_path: [next(windows) for _ in d.chunks] for d in embeddable}

    async def embed_whole(self, documents: list[ParsedDocument]) -> dict[str, list[EmbeddedWindows]]:
        """Return the windows of documents by relative path, however many; nothing while vectors are incomplete."""
        if self._encoder is None or self.collection.current_view.dense_coverage < 1:
            return {}
        embeddable = [d for d in documents if d.kind is not ContentKind.DATA]
        chunks, embedded = _chunks_of(embeddable), list[EmbeddedWindows]()
        # In steps: a thread cannot be cancelled, and whoever waits for it may be.
        for start in range(0, len(chunks), EMBEDDED_PER_STEP_CHUNKS):
            some = chunks[start : start + EMBEDDED_PER_STEP_CHUNKS]
            embedded += await asyncio.to_thread(embed_chunks, some, self._encoder, self._known_vectors)
        windows = iter(embedded)
        return {d.relative_path: [next(windows) for _ in d.chunks] for d in embeddable}

    async def close(self, *, waits_for_merges: bool = True) -> None:
        """Stop upkeep in the middle of its work, then release the files; see LexicalIndex for merges."""
        self._is_closing = True
        self.collection.stop_upkeep()
        self._upkeep.cancel()
        with suppress(asyncio.CancelledError):
            await self._upkeep
        await self._vectors.close()
        close = partial(self.collection.close, waits_for_merges=waits_for_merges)
        await asyncio.get_running_loop().run_in_executor(self._writer, close)
        self._writer.shutdown()

    def _check_open(self) -> None:
        if self._is_closing:
            raise collection_not_found(self.collection.name)

    async def _keep_up(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._on_current(Collection.catch_up)
                if not self._is_read_only:
                    await self._on_current(Collection.resume_merges)
                if self._encoder is not None:
                    # Another one may take its place meanwhile, in which the ids stand for other chunks.
                    is_lacking = await embed_all(self.collection, self._encoder, self._known_vectors, self._on_writer)
                    if is_lacking:
                        self._changed.set()
                self._vectors.wake()
                await self._compact()
                await learn_terms(self.view, self._changed.is_set)
                self._upkeep_problem = ""
            except Exception as error:
                problem = _told(error)
                if problem != self._upkeep_problem:  # a full disk is not filled further by saying so again and again
                    _log.exception("upkeep failed", collection=self.collection.name)
                self._upkeep_problem = problem
                await asyncio.sleep(_RETRY_DELAY_S)
                self._changed.set()

    async def _compact(self) -> None:
        if not await self._on_current(Collection.needs_compaction):
            return
        is_large = self.collection.current_view.chunk_count > _LARGE_COLLECTION_CHUNKS
        await asyncio.sleep(_LARGE_COMPACTION_DELAY_S if is_large else _COMPACTION_DELAY_S)
        # Of edits that never pause, one fresh index serves as many as there are chunks.
        if self._changed.is_set() and self.collection.stale_chunk_count <= self.collection.current_view.chunk_count:
            return
        if self.syncing_sources:
            # The sync may change nothing, and then nobody else would come back to this.
            self._changed.set()
            return
        if await self._on_current(Collection.compact):
            _log.info("lexical index built afresh", collection=self.collection.name)

    def _known_vectors(self, keys: Sequence[bytes]) -> Mapping[bytes, NDArray[np.float32]]:
        return self._writer.submit(self.collection.known_vectors, keys).result()

    async def _on_current(
        self, function: Callable[Concatenate[Collection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function on the writer thread, on the collection that is in place by then."""
        return await self._on_writer(lambda: function(self.collection, *args, **kwargs))

    async def _on_writer(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        result = loop.run_in_executor(self._writer, lambda: function(*args, **kwargs))
        # How it ends after its caller has gone is nobody's to hear; without this asyncio logs it as a fault.
        result.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return await asyncio.shield(result)


def _told(error: Exception) -> str:
    """Return in one sentence why upkeep failed."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    told = error.message if isinstance(error, GroundwireError) else "a fault of the server; its log has the details"
    return f"{told}; it is tried again every {_RETRY_DELAY_S:g} s"


def _chunks_of(documents: Sequence[ParsedDocument]) -> list[ChunkToEmbed]:
    return [
        ChunkToEmbed(0, d.kind, d.relative_path, under_title(d.set_title, chunk.span.breadcrumbs), chunk.text)
        for d in documents
        for chunk in d.chunks
    ]
