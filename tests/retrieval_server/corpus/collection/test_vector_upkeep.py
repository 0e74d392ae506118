"""An open collection betters its vectors by itself, beside everything else that it does."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection import vector_upkeep
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.vectors import dense_segments, dense_upkeep, segment_files
from retrieval_server.engine.dense import GraphStopped
from tests.retrieval_server.corpus.support import WordHashEncoder, change, parsed
from tests.retrieval_server.engine.dense.support import is_approximate

CHUNK_COUNT = 60


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dense_segments, "_MAX_CHUNKS_IN_MEMORY", 20)
    monkeypatch.setattr(dense_upkeep, "GRAPH_MIN_WINDOWS", CHUNK_COUNT)


async def until_approximate(collection: Collection) -> None:
    async with asyncio.timeout(60):
        while (dense := collection.current_view.dense) is None or not is_approximate(dense):
            await asyncio.sleep(0.01)


async def test_a_graph_appears_by_itself_and_again_after_a_restart(tmp_path: Path):
    files = [parsed(f"f{i}.md", f"# {i}\n\nberth {i} gate") for i in range(CHUNK_COUNT)]
    for attempt in range(2):
        catalog = Catalog(tmp_path, WordHashEncoder())
        await catalog.open_all()
        opened = await catalog.get_or_create("c")
        if attempt == 0:
            await opened.write(Collection.apply, change(*files))
        epoch = opened.collection.current_view.vector_epoch
        await until_approximate(opened.collection)
        assert opened.collection.current_view.vector_epoch > epoch
        assert opened.collection.current_view.embedded_chunk_count == CHUNK_COUNT
        await catalog.close()


async def test_closing_does_not_wait_for_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    started = threading.Event()

    def build_for_ever(*arguments: Any) -> None:
        started.set()
        while not arguments[-1]():
            stopped.wait(0.01)
        raise GraphStopped

    stopped = threading.Event()
    monkeypatch.setattr(segment_files, "build_graph_apart", build_for_ever)
    catalog = Catalog(tmp_path, WordHashEncoder())
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    files = [parsed(f"f{i}.md", f"# {i}\n\nberth {i} gate") for i in range(CHUNK_COUNT)]
    await opened.write(Collection.apply, change(*files))
    async with asyncio.timeout(60):
        await asyncio.to_thread(started.wait)
    async with asyncio.timeout(60):
        await catalog.close()


async def test_a_fault_that_stays_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tries: list[int] = []

    def no_space(_: Collection) -> None:
        tries.append(1)
        raise OSError(28, "No space left on device", str(tmp_path / f"{len(tries)}.tmp"))

    monkeypatch.setattr(vector_upkeep, "_RETRY_DELAY_S", 0.001)
    monkeypatch.setattr(Collection, "vector_step", no_space)
    catalog = Catalog(tmp_path, WordHashEncoder())
    await catalog.open_all()
    with capture_logs() as told:
        await catalog.get_or_create("c")
        async with asyncio.timeout(60):
            while len(tries) < 4:
                await asyncio.sleep(0.01)
        await catalog.close()
    assert [entry["event"] for entry in told].count("vector upkeep failed") == 1
