"""Learning the index terms of chunks ahead of the queries that will rank them."""

import asyncio
from collections.abc import Callable

from retrieval_server.corpus.known_terms import MAX_KNOWN_CHUNKS
from retrieval_server.corpus.view import CollectionView

# A few milliseconds of Python, which a query may have to wait for.
_LEARNT_PER_STEP_CHUNKS = 32


async def learn_terms(view: CollectionView, should_stop: Callable[[], bool]) -> None:
    """Make the terms of the chunks of `view`, which is held, known; of a very large collection, of its newest ones."""
    missing = view.known_terms.missing(view.table.chunk_ids[-MAX_KNOWN_CHUNKS:].tolist())
    for start in range(0, len(missing), _LEARNT_PER_STEP_CHUNKS):
        if should_stop():
            return
        await asyncio.to_thread(view.term_keys, missing[start : start + _LEARNT_PER_STEP_CHUNKS])
