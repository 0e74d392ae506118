"""All collections of a data directory, and their work in the background."""

import asyncio
import shutil
import threading
from pathlib import Path

import pytest

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.open_collection import EMBEDDED_AT_ONCE_WINDOWS, OpenCollection
from retrieval_server.corpus.writing.sync import SourceSync, SyncPlan
from retrieval_server.errors import GroundwireError, InvalidRequest, NotFound
from tests.retrieval_server.corpus.support import WordHashEncoder, change, parsed


async def opened_catalog(data_dir: Path, encoder: WordHashEncoder | None = None) -> Catalog:
    catalog = Catalog(data_dir, encoder)
    await catalog.open_all()
    return catalog


async def until_embedded(opened: OpenCollection) -> None:
    async with asyncio.timeout(60):
        while opened.collection.current_view.dense is None:
            await asyncio.sleep(0.01)


async def test_collections_are_made_on_demand_and_found_again(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)
    await catalog.get_or_create("one")
    created = (await catalog.get_or_create("")).collection.create_time_unix_ms
    await catalog.close()
    again = await opened_catalog(tmp_path)
    assert again.names() == ["default", "one"]
    assert again.get("").collection.create_time_unix_ms == created
    with pytest.raises(NotFound):
        again.get("two")
    await again.close()


@pytest.mark.parametrize("name", ["Upper", "-dash", "a/b", "..", "x" * 65, "ü", "a b"])
async def test_names_that_no_directory_should_have_are_refused(tmp_path: Path, name: str):
    catalog = await opened_catalog(tmp_path)
    with pytest.raises(InvalidRequest):
        await catalog.get_or_create(name)
    await catalog.close()


async def test_a_second_server_on_the_same_directory_is_refused(tmp_path: Path):
    first = await opened_catalog(tmp_path)
    with pytest.raises(GroundwireError, match="another retrieval-server") as caught:
        await opened_catalog(tmp_path)
    assert caught.value.reason == error_pb2.ERROR_REASON_STORAGE_FAILED
    await first.close()
    await (await opened_catalog(tmp_path)).close()


async def test_a_data_directory_that_is_a_file_is_refused(tmp_path: Path):
    (tmp_path / "data").write_text("")
    with pytest.raises(GroundwireError, match="GROUNDWIRE_DATA_DIR"):
        await opened_catalog(tmp_path / "data")


async def test_a_bulk_change_is_embedded_in_the_background(tmp_path: Path):
    encoder = WordHashEncoder()
    catalog = await opened_catalog(tmp_path, encoder)
    opened = await catalog.get_or_create("default")
    documents = [parsed(f"f{i}.md", f"alpha{i}") for i in range(EMBEDDED_AT_ONCE_WINDOWS + 1)]
    assert await opened.embed_now(documents) == {}
    await opened.write(Collection.apply, change(*documents))
    await until_embedded(opened)
    assert opened.collection.current_view.dense_coverage == 1
    await catalog.close()


async def test_embedding_goes_on_where_it_was_when_the_server_stopped(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)  # no encoder: nothing is embedded
    opened = await catalog.get_or_create("default")
    await opened.write(Collection.apply, change(parsed("a.py", "alpha = 1")))
    await catalog.close()
    again = await opened_catalog(tmp_path, WordHashEncoder())
    await until_embedded(again.get("default"))
    await again.close()


async def test_deleted_chunks_are_compacted_away_in_the_background(tmp_path: Path):
    catalog = await opened_catalog(tmp_path, WordHashEncoder())
    opened = await catalog.get_or_create("default")
    await opened.write(Collection.apply, change(parsed("a.py", "alpha = 1"), parsed("b.py", "beta = 1")))
    await opened.write(Collection.apply, change(removed=["b.py"]))
    assert opened.collection.stale_chunk_count == 1
    async with asyncio.timeout(60):
        while opened.collection.stale_chunk_count:
            await asyncio.sleep(0.01)
    assert opened.collection.current_view.lexical.chunk_count == 1
    await catalog.close()


async def test_a_failed_upkeep_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("retrieval_server.corpus.collection.open_collection._RETRY_DELAY_S", 0.01)
    encoder = WordHashEncoder()
    failures = iter([RuntimeError("once")])
    encode = encoder.encode_windows

    def fail_once(texts, should_stop=None):
        for failure in failures:
            raise failure
        return encode(texts)

    monkeypatch.setattr(encoder, "encode_windows", fail_once)
    catalog = await opened_catalog(tmp_path, encoder)
    opened = await catalog.get_or_create("default")
    await opened.write(Collection.apply, change(parsed("a.py", "alpha = 1")))
    await until_embedded(opened)
    await catalog.close()


async def test_a_damaged_database_is_one_clear_error_and_the_other_collections_are_served(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)
    await catalog.get_or_create("other")
    await catalog.close()
    directory = tmp_path / "collections" / "default"
    directory.mkdir(parents=True)
    (directory / "corpus.sqlite").write_bytes(b"this is no database, " * 500)
    again = await opened_catalog(tmp_path)
    assert again.names() == ["default", "other"]
    assert again.get("other")
    with pytest.raises(GroundwireError, match="client index") as caught:
        again.get("default")
    assert caught.value.reason == error_pb2.ERROR_REASON_STORAGE_FAILED
    assert await again.delete("default") == 0
    assert again.names() == ["other"]
    await again.close()


async def test_a_damaged_collection_that_is_asked_for_again_and_again_costs_no_more(tmp_path: Path):
    directory = tmp_path / "collections" / "default"
    directory.mkdir(parents=True)
    (directory / "corpus.sqlite").write_bytes(b"this is no database, " * 500)
    catalog = await opened_catalog(tmp_path)
    depths = []
    for _ in range(3):
        with pytest.raises(GroundwireError) as caught:
            catalog.get("default")
        depths.append(len(caught.traceback))
    assert depths == depths[:1] * 3
    await catalog.close()


async def test_what_an_older_version_left_and_cannot_be_removed_keeps_nothing_from_being_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    catalog = await opened_catalog(tmp_path)
    await catalog.get_or_create("one")
    await catalog.close()
    shutil.copytree(tmp_path / "collections" / "one", tmp_path / "collections" / "one@1")

    def fail(*_: object) -> None:
        raise OSError("read-only file system")

    with monkeypatch.context() as failing:
        failing.setattr("retrieval_server.corpus.files.collection_directories.CollectionDirectories.remove", fail)
        catalog = await opened_catalog(tmp_path)
        assert catalog.get("one").collection.directory.name == "one@1"
        await catalog.close()
    catalog = await opened_catalog(tmp_path)
    assert [path.name for path in (tmp_path / "collections").iterdir()] == ["one@1"]
    await catalog.close()


@pytest.mark.parametrize("fails", ["collection.opening.Collection", "collection.founding.CorpusStore"])
async def test_a_collection_that_could_not_be_made_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
):
    catalog = await opened_catalog(tmp_path)

    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as failing:
        failing.setattr(f"retrieval_server.corpus.{fails}", fail)
        with pytest.raises(GroundwireError, match="free some space"):
            await catalog.get_or_create("new")
    assert not list((tmp_path / "collections").iterdir())
    await catalog.get_or_create("new")
    await catalog.close()


async def test_a_removal_comes_to_its_end_although_its_caller_leaves(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)
    await catalog.get_or_create("one")
    removing = asyncio.create_task(catalog.delete("one"))
    await asyncio.sleep(0)
    removing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await removing
    # The next change waits for it, and finds nothing of it in its way.
    assert (await catalog.get_or_create("one")).collection.current_view.generation == 0
    assert catalog.names() == ["one"]
    await catalog.close()


async def test_no_sync_begins_while_another_collection_takes_the_place_of_its_own(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)
    opened = await catalog.get_or_create("one")
    filling, goes_on = threading.Event(), threading.Event()

    def fill(target: Path, _: object) -> None:
        filling.set()
        goes_on.wait(60)
        target.mkdir()

    replacing = asyncio.create_task(catalog.replace("one", fill))
    await asyncio.to_thread(filling.wait, 60)
    plan = SyncPlan("/src", "src", 2000, prune=False, dry_run=False, max_file_bytes=1000, max_line_chars=1000)
    with pytest.raises(GroundwireError, match="put back to a snapshot; try again") as refusal:
        async with SourceSync(opened, plan):
            pass
    assert refusal.value.reason == error_pb2.ERROR_REASON_COLLECTION_BUSY
    goes_on.set()
    await replacing
    async with SourceSync(opened, plan):
        pass
    await catalog.close()
