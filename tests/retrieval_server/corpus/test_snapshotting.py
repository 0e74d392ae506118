"""Snapshots are made, restored and removed to the end, whether or not anybody still waits."""

import asyncio
import gc
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection import collection as collection_module
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.snapshots.snapshots import SnapshotDirectory
from retrieval_server.corpus.snapshotting import Snapshotting
from retrieval_server.errors import GroundwireError, NotFound
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


async def test_a_caller_that_leaves_while_indexes_are_linked_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    is_linking, goes_on = threading.Event(), threading.Event()
    link = collection_module.link_lexical

    def wait_and_link(source: Path, target: Path) -> None:
        is_linking.set()
        goes_on.wait(60)
        link(source, target)

    monkeypatch.setattr(collection_module, "link_lexical", wait_and_link)
    catalog = Catalog(tmp_path / "data", None)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    making = asyncio.create_task(Snapshotting(catalog, tmp_path / "snapshots").create("c"))
    await asyncio.to_thread(is_linking.wait, 60)
    making.cancel()
    await asyncio.sleep(0)
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await making
    await opened.write(Collection.is_behind)  # after whatever the writer still does
    assert [path for path in (tmp_path / "snapshots").iterdir() if path.name.startswith(".")] == []
    await catalog.close()


async def test_of_two_snapshots_that_are_made_at_once_the_later_is_not_of_the_earlier_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever follows goes by their times."""
    is_late, goes_on = threading.Event(), threading.Event()
    next_time = SnapshotDirectory.next_time_unix_ms

    def be_late_once(snapshots: SnapshotDirectory, collection: str) -> int:
        time_unix_ms = next_time(snapshots, collection)
        if not is_late.is_set():
            is_late.set()
            goes_on.wait(60)
        return time_unix_ms

    monkeypatch.setattr(SnapshotDirectory, "next_time_unix_ms", be_late_once)
    catalog = Catalog(tmp_path / "data", None)
    await catalog.open_all()
    opened = await catalog.get_or_create("c")
    snapshotting = Snapshotting(catalog, tmp_path / "snapshots")
    one = asyncio.create_task(snapshotting.create("c"))
    await asyncio.to_thread(is_late.wait, 60)
    other = asyncio.create_task(snapshotting.create("c"))
    await asyncio.wait([other], timeout=0.2)
    await opened.write(Collection.apply, change(parsed("1.md", "alpha")))
    goes_on.set()
    earlier, later = sorted([await one, await other], key=lambda made: made.create_time_unix_ms)
    assert earlier.generation <= later.generation
    assert earlier.create_time_unix_ms < later.create_time_unix_ms
    await catalog.close()


async def test_a_directory_of_snapshots_that_cannot_be_read_is_said_to_be_so(tmp_path: Path):
    catalog = Catalog(tmp_path / "data", None)
    await catalog.open_all()
    await catalog.get_or_create("c")
    (tmp_path / "snapshots").write_text("")
    snapshotting = Snapshotting(catalog, tmp_path / "snapshots")
    calls = (
        lambda: snapshotting.create("c"),
        lambda: snapshotting.list_all(None),
        lambda: snapshotting.restore("s"),
        lambda: snapshotting.remove("s"),
    )
    for call in calls:
        with pytest.raises(GroundwireError, match=r"snapshots? could not be") as caught:
            await call()
        assert caught.value.reason == error_pb2.ERROR_REASON_STORAGE_FAILED
    await catalog.close()


async def test_a_generation_that_leaves_no_room_for_others_is_not_put_back(tmp_path: Path):
    catalog = Catalog(tmp_path / "data", None)
    await catalog.open_all()
    await catalog.get_or_create("c")
    snapshotting = Snapshotting(catalog, tmp_path / "snapshots")
    made = await snapshotting.create("c")
    about = tmp_path / "snapshots" / made.snapshot_id / "snapshot.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "generation": 2**63 - 1}))
    with pytest.raises(NotFound):
        await snapshotting.restore(made.snapshot_id)
    await catalog.close()
