"""Learning the index terms of chunks ahead of the queries that will rank them."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from retrieval_server.corpus.collection.view import CollectionView

# A millisecond of Python, which a query may have to wait for.
_LEARNT_PER_STEP_CHUNKS = 8
_MAX_LEARNT_CHUNKS = 100_000
# Queries come first: learning takes a quarter of a core at most.
_REST_SHARE = 3


async def learn_terms(
    hold: Callable[[], AbstractContextManager[CollectionView]], should_stop: Callable[[], bool]
) -> None:
    """Make the terms of a collection's chunks known, the newest first, as long as there is room.

    Each step holds a view on the thread that reads: a cancelled caller would let go what the thread still reads.
    """

    def unknown() -> list[int]:
        with hold() as view:
            newest = view.table.chunk_ids[: -_MAX_LEARNT_CHUNKS - 1 : -1].tolist()
            known = view.known_terms.known(newest)
            return [chunk_id for chunk_id in newest if chunk_id not in known][: view.known_terms.room_chunks]

    def learn(chunk_ids: list[int]) -> bool:
        with hold() as view:
            view.term_keys(chunk_ids)
            return view.known_terms.room_chunks > 0

    missing = await asyncio.to_thread(unknown)
    for start in range(0, len(missing), _LEARNT_PER_STEP_CHUNKS):
        if should_stop():
            return
        began_s = time.perf_counter()
        if not await asyncio.to_thread(learn, missing[start : start + _LEARNT_PER_STEP_CHUNKS]):
            return
        await asyncio.sleep(_REST_SHARE * (time.perf_counter() - began_s))
