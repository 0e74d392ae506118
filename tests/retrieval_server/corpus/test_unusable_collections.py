"""One collection that is damaged, foreign or half there costs no other one anything, and can be removed."""

import gc
import json
import os
import sqlite3
from pathlib import Path

import pytest

from groundwire.v1 import error_pb2
from retrieval_server.corpus.catalog import Catalog
from retrieval_server.corpus.collection.collection import Collection
from retrieval_server.corpus.collection.view import CollectionView
from retrieval_server.corpus.database.reader import CorpusReader
from retrieval_server.engine.words.analyser import ANALYSER_VERSION
from retrieval_server.errors import GroundwireError, InvalidRequest
from tests.retrieval_server.corpus.support import change, parsed


async def opened_catalog(data_dir: Path) -> Catalog:
    catalog = Catalog(data_dir, None)
    await catalog.open_all()
    return catalog


def _set_meta(database: Path, key: str, value: str) -> None:
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
    connection.close()


_OF_LATER_VERSIONS = [
    ("tuned_fusion", json.dumps({"precise": {"of_a_later_version": 1}})),
    ("tuned_fusion", "[1]"),
    ("synonyms", json.dumps([{"terms": ["a"]}, 7])),
]


@pytest.mark.parametrize(("key", "value"), _OF_LATER_VERSIONS)
async def test_settings_that_cannot_be_read_keep_no_other_collection_from_being_served(
    tmp_path: Path, key: str, value: str
):
    catalog = await opened_catalog(tmp_path)
    for name in ("a", "b"):
        await catalog.get_or_create(name)
    await catalog.close()
    _set_meta(tmp_path / "collections" / "a" / "corpus.sqlite", key, value)
    catalog = await opened_catalog(tmp_path)
    assert "cannot be opened" in catalog.damage("a")
    assert catalog.get("b").name == "b"
    await catalog.close()


@pytest.mark.parametrize("name", ["a", "new"])
async def test_what_takes_the_place_of_a_collection_and_cannot_be_opened_leaves_nothing(tmp_path: Path, name: str):
    catalog = await opened_catalog(tmp_path)
    opened = await catalog.get_or_create("a")
    await opened.write(Collection.apply, change(parsed("a.py", "alpha")))

    def fill(target: Path, _: CollectionView | None) -> None:
        Collection(name, target, "", None).close()
        _set_meta(target / "corpus.sqlite", *_OF_LATER_VERSIONS[0])

    with pytest.raises(GroundwireError, match="cannot be opened") as caught:
        await catalog.replace(name, fill)
    assert caught.value.reason == error_pb2.ERROR_REASON_STORAGE_FAILED
    assert [path.name for path in (tmp_path / "collections").iterdir()] == ["a"]
    await catalog.close()


async def test_nothing_takes_the_place_of_a_collection_without_a_name(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)
    with pytest.raises(InvalidRequest, match="collection: must be set"):
        await catalog.replace("", lambda target, _: Collection("", target, "", None).close())
    assert list((tmp_path / "collections").iterdir()) == []
    await catalog.close()


async def test_a_collection_whose_database_cannot_be_read_is_removed_as_its_error_advises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def malformed(_: CorpusReader) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    catalog = await opened_catalog(tmp_path)
    opened = await catalog.get_or_create("a")
    monkeypatch.setattr(CorpusReader, "counts", malformed)
    with pytest.raises(GroundwireError, match="client collections rm a"):
        await opened.read(lambda reader: reader.counts())
    assert await catalog.delete("a") == 0
    assert catalog.names() == []
    assert list((tmp_path / "collections").iterdir()) == []
    await catalog.close()


async def test_a_file_among_the_directories_is_no_collection(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)
    await catalog.get_or_create("a")
    await catalog.close()
    for name in ("notes", "a@7"):
        (tmp_path / "collections" / name).write_text("")
    catalog = await opened_catalog(tmp_path)
    assert catalog.names() == ["a"]
    assert catalog.damage("a") == ""
    await catalog.close()


async def test_a_collection_that_is_set_aside_keeps_no_files_open(tmp_path: Path):
    catalog = await opened_catalog(tmp_path)
    await catalog.get_or_create("a")
    await catalog.close()
    state = {"generation": 99, "analyser_version": ANALYSER_VERSION}
    (tmp_path / "collections" / "a" / "lexical.json").write_text(json.dumps(state))
    catalog = await opened_catalog(tmp_path)
    assert "older copy" in catalog.damage("a")
    gc.collect()
    descriptors = Path("/proc/self/fd")
    held = [os.readlink(descriptors / name) for name in os.listdir(descriptors) if (descriptors / name).exists()]
    assert [path for path in held if path.startswith(str(tmp_path / "collections"))] == []
    await catalog.close()
