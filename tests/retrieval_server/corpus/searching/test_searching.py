"""Where a search runs: never on the event loop, and shared out among the cores when it is alone."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.searching import company
from retrieval_server.corpus.searching import searching as searching_module
from retrieval_server.corpus.searching.searching import Searching
from retrieval_server.engine.lexical.bm25 import LexicalView
from retrieval_server.model import RetrieveQuery
from tests.retrieval_server.corpus.support import WordHashEncoder, change, parsed


class WhereEncoder(WordHashEncoder):
    """Remembers for each query which thread encoded it, and whether as a lone one."""

    def __init__(self) -> None:
        super().__init__()
        self.thread_name_by_query: dict[str, str] = {}
        self.lone_queries: set[str] = set()
        self.go_on = threading.Event()
        self.go_on.set()

    def encode_query(self, text: str, *, is_alone: bool = False) -> NDArray[np.float32]:
        self.thread_name_by_query[text] = threading.current_thread().name
        if is_alone:
            self.lone_queries.add(text)
        if not self.go_on.wait(10):
            raise TimeoutError
        return super().encode_query(text)


@pytest.fixture
async def encoder() -> WhereEncoder:
    return WhereEncoder()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def made_searching(directory: Path, encoder: WhereEncoder) -> AsyncIterator[Searching]:
    catalog = Catalog(directory, encoder)
    opened = await catalog.get_or_create("default")
    await opened.write(lambda collection: collection.apply(change(parsed("tide.md", "the gate closes at high water"))))
    await until(lambda: opened.collection.current_view.dense is not None)
    encoder.thread_name_by_query.clear()
    made = Searching(catalog, encoder, remembers=True)
    try:
        yield made
    finally:
        made.close()
        await catalog.close()


@pytest.fixture
async def searching(tmp_path: Path, encoder: WhereEncoder, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Searching]:
    monkeypatch.setattr(searching_module, "usable_core_count", lambda: 2)
    async with made_searching(tmp_path, encoder) as made:
        yield made


async def test_a_search_that_is_alone_is_shared_out(searching: Searching, encoder: WhereEncoder):
    result = await searching.retrieve(RetrieveQuery("gate"))
    assert [passage.path for passage in result.passages] == ["project/tide.md"]
    assert encoder.lone_queries == {"gate"}


async def test_the_event_loop_is_free_while_it_is_searched(searching: Searching, encoder: WhereEncoder):
    encoder.go_on.clear()
    asked = asyncio.create_task(searching.retrieve(RetrieveQuery("gate")))
    await until(lambda: "gate" in encoder.thread_name_by_query)
    assert not asked.done()
    encoder.go_on.set()
    assert (await asked).passages
    assert encoder.thread_name_by_query["gate"].startswith("search")


async def test_who_comes_while_another_searches_is_not_alone(searching: Searching, encoder: WhereEncoder):
    encoder.go_on.clear()
    first = asyncio.create_task(searching.retrieve(RetrieveQuery("gate")))
    await until(lambda: "gate" in encoder.thread_name_by_query)
    second = asyncio.create_task(searching.retrieve(RetrieveQuery("tide")))
    await until(lambda: "tide" in encoder.thread_name_by_query)
    encoder.go_on.set()
    await asyncio.gather(first, second)
    assert encoder.lone_queries == {"gate"}


async def test_searches_have_the_same_results_alone_and_together(
    searching: Searching, encoder: WhereEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    queries = [RetrieveQuery(f"gate {number}") for number in range(8)]
    together = await asyncio.gather(*(searching.retrieve(query) for query in queries))
    assert not encoder.lone_queries
    monkeypatch.setattr(company, "_EXPECTED_AGAIN_S", 0.0)
    async with made_searching(tmp_path / "another", encoder) as remembers_nothing_yet:
        alone = [await remembers_nothing_yet.retrieve(query) for query in queries]
    assert encoder.lone_queries == {query.query for query in queries}
    for one, other in zip(alone, together, strict=True):
        assert [(p.path, p.score) for p in one.passages] == [(p.path, p.score) for p in other.passages]


@pytest.mark.parametrize(("many_chunks", "looked_up_on"), [(1, "words"), (100, "search")])
async def test_words_of_a_large_collection_are_looked_up_beside_in_company_too(
    searching: Searching,
    encoder: WhereEncoder,
    monkeypatch: pytest.MonkeyPatch,
    many_chunks: int,
    looked_up_on: str,
):
    monkeypatch.setattr(searching_module, "_MANY_CHUNKS", many_chunks)
    thread_names: list[str] = []
    search_words = LexicalView.search

    def look_up(*arguments: Any) -> list[tuple[int, float]]:
        thread_names.append(threading.current_thread().name)
        return search_words(*arguments)

    monkeypatch.setattr(LexicalView, "search", look_up)
    asked = (searching.retrieve(RetrieveQuery(query)) for query in ("gate", "tide"))
    assert all(result.passages for result in await asyncio.gather(*asked))
    assert thread_names
    assert all(name.startswith(looked_up_on) for name in thread_names)
    assert all(name.startswith("search") for name in encoder.thread_name_by_query.values())
    assert not encoder.lone_queries


async def test_on_one_core_nothing_is_shared_out(
    tmp_path: Path, encoder: WhereEncoder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(searching_module, "usable_core_count", lambda: 1)
    async with made_searching(tmp_path, encoder) as searching:
        assert (await searching.retrieve(RetrieveQuery("gate"))).passages
    assert encoder.thread_name_by_query.keys() == {"gate"}
    assert not encoder.lone_queries
