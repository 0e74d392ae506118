"""Rows of vectors that are damaged in the database are dropped once and computed anew, wherever they are met."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.open_collection import OpenCollection
from retrieval_server.corpus.documents.moved_windows import MovedFile
from retrieval_server.corpus.vectors import dense_segments
from tests.retrieval_server.corpus.support import SOURCE, WordHashEncoder, change, parsed

CHUNK_COUNT = 12
ODD, SHORT = "x'00ff00'", "x'00ff00ff'"
FILES = [parsed(f"f{i}.md", f"# {i}\n\nberth {i} gate") for i in range(CHUNK_COUNT)]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dense_segments, "_MAX_CHUNKS_IN_MEMORY", 4)


async def until_complete(opened: OpenCollection) -> None:
    async with asyncio.timeout(60):
        while opened.collection.current_view.dense is None:
            await asyncio.sleep(0.01)


def damage(directory: Path, vector: str) -> None:
    connection = sqlite3.connect(directory / "corpus.sqlite")
    connection.execute(f"UPDATE vectors SET vector = {vector}")
    connection.commit()
    connection.close()


def damaged_count(directory: Path) -> int:
    connection = sqlite3.connect(directory / "corpus.sqlite")
    (count,) = connection.execute("SELECT count(*) FROM vectors WHERE length(vector) < 8").fetchone()
    connection.close()
    return int(count)


def dropped(logs: list[EventDict]) -> list[int]:
    return [log["chunk_count"] for log in logs if log["event"].startswith("damaged vectors dropped")]


def failed(logs: list[EventDict]) -> list[str]:
    return [log["event"] for log in logs if log["event"].endswith("upkeep failed")]


@pytest.mark.parametrize("vector", [ODD, SHORT])
async def test_when_a_segment_is_merged(tmp_path: Path, vector: str):
    """The segment holds the right vectors; what takes its place is read from the database."""
    catalog = Catalog(tmp_path, WordHashEncoder())
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    await opened.write(Collection.apply, change(*FILES))
    await until_complete(opened)
    damage(opened.collection.directory, vector)
    with capture_logs() as logs:
        await opened.write(Collection.apply, change(removed=[f"f{i}.md" for i in range(6)]))
        async with asyncio.timeout(60):
            while damaged_count(opened.collection.directory) or opened.collection.current_view.dense is None:
                await asyncio.sleep(0.01)
    assert len(dropped(logs)) == 1
    assert failed(logs) == []
    assert opened.collection.current_view.dense_coverage == 1
    await catalog.close()


@pytest.mark.parametrize("vector", [ODD, SHORT])
async def test_when_an_equal_text_comes_again(tmp_path: Path, vector: str):
    catalog = Catalog(tmp_path, WordHashEncoder())
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    await opened.write(Collection.apply, change(*FILES))
    await until_complete(opened)
    damage(opened.collection.directory, vector)
    with capture_logs() as logs:
        await opened.write(Collection.apply, replace(change(*FILES), source_key="/copy"))
        await until_complete(opened)
    assert dropped(logs) == [CHUNK_COUNT]
    assert failed(logs) == []
    assert damaged_count(opened.collection.directory) == 0
    assert opened.collection.current_view.embedded_chunk_count == 2 * CHUNK_COUNT
    await catalog.close()


async def test_when_they_are_first_read_after_others_were_computed(tmp_path: Path):
    """A server without an encoder took documents in; the rows that are damaged lie before those that are computed."""
    encoder = WordHashEncoder()
    catalog = Catalog(tmp_path, encoder)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    await opened.write(Collection.apply, change(*FILES[:3]))
    await until_complete(opened)
    directory = opened.collection.directory
    await catalog.close()
    lexical_only = Catalog(tmp_path, None)
    await lexical_only.open_all()
    await lexical_only.get("c").write(Collection.apply, change(*FILES[3:]))
    await lexical_only.close()
    damage(directory, SHORT)
    again = Catalog(tmp_path, encoder)
    with capture_logs() as logs:
        await again.open_all()
        await until_complete(again.get("c"))
    assert dropped(logs) == [3]
    assert failed(logs) == []
    assert damaged_count(directory) == 0
    await again.close()


async def test_a_file_that_is_moved_does_not_take_them_along(tmp_path: Path):
    catalog = Catalog(tmp_path, WordHashEncoder())
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    await opened.write(Collection.apply, change(*FILES[:1]))
    await until_complete(opened)
    moved = [MovedFile(replace(FILES[0], relative_path="moved.md"), "f0.md")]
    assert await opened.read(lambda reader: reader.moved_windows(SOURCE, moved)) != {}
    damage(opened.collection.directory, ODD)
    assert await opened.read(lambda reader: reader.moved_windows(SOURCE, moved)) == {}
    await catalog.close()
