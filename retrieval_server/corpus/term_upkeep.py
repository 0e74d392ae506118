"""Learning the index terms of chunks ahead of the queries that will rank them."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

from retrieval_server.corpus.known_terms import MAX_KNOWN_CHUNKS
from retrieval_server.corpus.view import CollectionView

# A few milliseconds of Python, which a query may have to wait for.
_LEARNT_PER_STEP_CHUNKS = 32


async def learn_terms(
    hold: Callable[[], AbstractContextManager[CollectionView]], should_stop: Callable[[], bool]
) -> None:
    """Make the terms of a collection's chunks known; of a very large one, of its newest.

    Each step holds a view on the thread that reads: a cancelled caller would let go what the thread still reads.
    """

    def unknown() -> list[int]:
        with hold() as view:
            return view.known_terms.missing(view.table.chunk_ids[-MAX_KNOWN_CHUNKS:].tolist())

    def learn(chunk_ids: list[int]) -> None:
        with hold() as view:
            view.term_keys(chunk_ids)

    missing = await asyncio.to_thread(unknown)
    for start in range(0, len(missing), _LEARNT_PER_STEP_CHUNKS):
        if should_stop():
            return
        await asyncio.to_thread(learn, missing[start : start + _LEARNT_PER_STEP_CHUNKS])
