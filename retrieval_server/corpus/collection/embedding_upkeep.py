"""Computing the vectors that a collection lacks, beside its writer."""

import asyncio
from functools import partial

import structlog

from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.vector_upkeep import OnWriter
from retrieval_server.corpus.vectors.embedding import KnownVectors, embed_chunks
from retrieval_server.engine.encoding.encoder import Encoder

_log = structlog.get_logger()

EMBEDDED_PER_STEP_CHUNKS = 64


async def embed_all(collection: Collection, encoder: Encoder, known: KnownVectors, on_writer: OnWriter) -> bool:
    """Store the vectors of all chunks that have none; another collection that takes its place ends it.

    Returns whether some are lacking at its end: others have come, or damaged ones were found and dropped. Raises what
    the encoder does. Cancelled, it leaves the step that it is at to the encoder, which ends it when closed.
    """
    if not await on_writer(partial(collection.chunks_to_embed, 0, 1)):
        return False
    position = 0
    taking = asyncio.Lock()

    async def embed_some() -> None:
        nonlocal position
        while True:
            async with taking:
                if collection.is_closed:
                    return
                chunks = await on_writer(partial(collection.chunks_to_embed, position, EMBEDDED_PER_STEP_CHUNKS))
                if not chunks:
                    return
                position = chunks[-1].chunk_id
            # Encoding runs beside the writer thread, so that a sync never waits for it.
            windows = await asyncio.to_thread(embed_chunks, chunks, encoder, known)
            by_chunk = {chunk.chunk_id: found for chunk, found in zip(chunks, windows, strict=True)}
            if not collection.is_closed:
                await on_writer(partial(collection.store_vectors, by_chunk))

    # Two at a time: one makes texts and stores vectors while the other keeps the encoder busy.
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(embed_some())
    if collection.is_closed:  # the change that put another in its place wakes this again
        return False
    view = collection.current_view
    if view.dense_coverage < 1:
        return True
    _log.info("vectors complete", collection=collection.name, chunk_count=view.embedded_chunk_count)
    return False
