"""Where a search runs: the event loop takes a quick one that is alone, threads take all others."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.searching.searching import Searching
from retrieval_server.model import FusionOverrides, PassageFilter, RetrieveQuery
from tests.retrieval_server.corpus.support import WordHashEncoder, change, parsed


class WhereEncoder(WordHashEncoder):
    """Remembers for each query whether the event loop's thread encoded it, and whether as a lone one."""

    def __init__(self) -> None:
        super().__init__()
        self.loop_thread = threading.get_ident()
        self.on_loop: dict[str, tuple[bool, bool]] = {}

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        self.on_loop[text] = threading.get_ident() == self.loop_thread, is_alone
        return super().encode_query(text)


@pytest.fixture
async def encoder() -> WhereEncoder:
    return WhereEncoder()


@pytest.fixture
async def searching(tmp_path: Path, encoder: WhereEncoder) -> AsyncIterator[Searching]:
    catalog = Catalog(tmp_path, encoder)
    opened = await catalog.get_or_create("default")
    await opened.write(lambda collection: collection.apply(change(parsed("tide.md", "the gate closes at high water"))))
    while opened.collection.current_view.dense is None:
        await asyncio.sleep(0.01)
    encoder.on_loop.clear()
    made = Searching(catalog, encoder, remembers=True)
    yield made
    made.close()
    await catalog.close()


async def test_a_quick_search_that_is_alone_runs_on_the_loop(searching: Searching, encoder: WhereEncoder):
    result = await searching.retrieve(RetrieveQuery("gate"))
    assert [passage.path for passage in result.passages] == ["project/tide.md"]
    assert encoder.on_loop == {"gate": (True, True)}


@pytest.mark.parametrize(
    "query",
    [
        RetrieveQuery("gate " * 100),
        RetrieveQuery("gate", k=1000),
        RetrieveQuery("gate", hops=2),
        RetrieveQuery("gate", balance=True),
        RetrieveQuery("gate", max_per_file=1),
        RetrieveQuery("gate", fusion=FusionOverrides(pool_count=1000)),
        RetrieveQuery("gate", filter=PassageFilter(contains=("gate",))),
    ],
    ids=["long", "k", "hops", "balance", "max_per_file", "fusion", "filter"],
)
async def test_what_may_take_long_runs_on_a_thread(searching: Searching, encoder: WhereEncoder, query: RetrieveQuery):
    assert (await searching.retrieve(query)).passages
    assert encoder.on_loop[query.query] == (False, False)


async def test_searches_at_the_same_time_run_on_threads_with_the_same_results(
    searching: Searching, encoder: WhereEncoder
):
    queries = [f"gate {number}" for number in range(8)]
    together = await asyncio.gather(*(searching.retrieve(RetrieveQuery(query)) for query in queries))
    assert all(not any(where) for where in encoder.on_loop.values())
    await asyncio.sleep(0.15)  # company is not expected back any more
    encoder.on_loop.clear()
    for query, result in zip(queries, together, strict=True):
        alone = await searching.retrieve(RetrieveQuery(query, explain=True))
        assert [(p.path, p.score) for p in alone.passages] == [(p.path, p.score) for p in result.passages]
