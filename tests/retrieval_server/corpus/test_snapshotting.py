"""Snapshots are made, restored and removed to the end, whether or not anybody still waits."""

import asyncio
import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.snapshots.snapshots import SnapshotDirectory
from retrieval_server.corpus.snapshotting import Snapshotting
from retrieval_server.errors import GroundwireError
from tests.retrieval_server.corpus.support import WordHashEncoder, change, parsed


async def test_what_fails_when_its_caller_has_left_is_no_error_of_the_server(tmp_path: Path):
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    snapshotting = Snapshotting(Catalog(tmp_path, None), tmp_path / "snapshots")
    for call in (snapshotting.restore, snapshotting.remove):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await call("unknown")
    gc.collect()
    assert told == []


@pytest.mark.parametrize("damaged", ["lexical", "lexical.json", "corpus.sqlite"])
async def test_a_snapshot_with_a_damaged_index_is_put_back_and_one_with_a_damaged_database_is_not(
    tmp_path: Path, damaged: str
):
    catalog = Catalog(tmp_path / "data", WordHashEncoder())
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    await opened.write(Collection.apply, change(parsed("1.md", "alpha beta")))
    snapshotting = Snapshotting(catalog, tmp_path / "snapshots")
    made = await snapshotting.create("c")
    hurt = tmp_path / "snapshots" / made.snapshot_id / damaged
    for path in list(hurt.iterdir()) if hurt.is_dir() else [hurt]:
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content[:-1] + b"x")
    await opened.write(Collection.apply, change(parsed("2.md", "gamma")))
    if damaged == "corpus.sqlite":
        with pytest.raises(GroundwireError, match=r"corpus\.sqlite is not as it was"):
            await snapshotting.restore(made.snapshot_id)
    else:
        await snapshotting.restore(made.snapshot_id)
    with catalog.get("c").view() as view:
        assert view.chunk_count == (2 if damaged == "corpus.sqlite" else 1)
    await catalog.close()


async def test_the_descriptions_of_other_snapshots_are_not_read_by_the_thread_that_answers_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    readers: list[int] = []
    look = SnapshotDirectory.look

    def noted(snapshots: SnapshotDirectory) -> Any:
        readers.append(threading.get_ident())
        return look(snapshots)

    monkeypatch.setattr(SnapshotDirectory, "look", noted)
    catalog = Catalog(tmp_path / "data", WordHashEncoder())
    await catalog.open_all()
    await catalog.get_or_create("c")
    first, second = [await Snapshotting(catalog, tmp_path / "snapshots").create("c") for _ in range(2)]
    await catalog.close()
    assert first.create_time_unix_ms < second.create_time_unix_ms
    assert readers
    assert threading.get_ident() not in readers
