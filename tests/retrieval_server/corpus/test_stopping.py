"""A stop in the middle of upkeep does not wait for it, and the next start makes up for it."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.database.store import CorpusStore
from retrieval_server.engine.lexical.bm25 import LexicalEntry, LexicalIndex
from tests.retrieval_server.corpus.support import change, parsed


async def opened_catalog(data_dir: Path) -> Catalog:
    catalog = Catalog(data_dir, None)
    await catalog.open_all()
    return catalog


async def test_an_index_that_is_built_afresh_is_left_as_it_was_and_built_after_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    catalog = await opened_catalog(tmp_path)
    opened = await catalog.get_or_create("default")
    await opened.write(Collection.apply, change(parsed("a.py", "alpha = 1"), parsed("b.py", "beta = 1")))
    has_begun = threading.Event()
    all_entries = CorpusStore.lexical_entries

    def without_end(store: CorpusStore) -> Iterator[LexicalEntry]:
        for entry in all_entries(store):
            has_begun.set()
            while True:
                yield entry

    monkeypatch.setattr(CorpusStore, "lexical_entries", without_end)
    await opened.write(Collection.apply, change(removed=["b.py"]))
    assert await asyncio.to_thread(has_begun.wait, 60)
    async with asyncio.timeout(60):
        await catalog.close()
    monkeypatch.undo()

    catalog = await opened_catalog(tmp_path)
    collection = catalog.get("default").collection
    assert collection.current_view.lexical.chunk_count == 1
    async with asyncio.timeout(60):
        while collection.stale_chunk_count:
            await asyncio.sleep(0.01)
    assert collection.current_view.lexical.chunk_count == 1
    await catalog.close()


async def test_merges_are_waited_for_only_where_the_directory_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    waited: list[bool] = []
    resumed: list[str] = []
    close, resume = LexicalIndex.close, LexicalIndex.resume_merges

    def noted_close(index: LexicalIndex, *, waits_for_merges: bool = True) -> None:
        waited.append(waits_for_merges)
        close(index, waits_for_merges=waits_for_merges)

    def noted_resume(index: LexicalIndex) -> None:
        resume(index)
        resumed.append("once")

    monkeypatch.setattr(LexicalIndex, "close", noted_close)
    monkeypatch.setattr(LexicalIndex, "resume_merges", noted_resume)
    catalog = await opened_catalog(tmp_path)
    await catalog.get_or_create("stays")
    await catalog.get_or_create("goes")
    await catalog.delete("goes")
    assert waited == [True]
    await catalog.close()
    assert waited == [True, False]
    resumed.clear()
    catalog = await opened_catalog(tmp_path)
    async with asyncio.timeout(60):
        while not resumed:
            await asyncio.sleep(0.01)
    await catalog.close()
