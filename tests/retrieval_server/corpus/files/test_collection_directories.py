"""Directories of collections that appear whole."""

import os
from pathlib import Path

import pytest

from retrieval_server.corpus.files.collection_directories import CollectionDirectories


@pytest.mark.parametrize("put", [CollectionDirectories.put_first, CollectionDirectories.put_next])
def test_what_appears_is_durable_to_its_last_file_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put
):
    durable: set[int] = set()
    fsync, rename = os.fsync, Path.rename

    def note(descriptor: int) -> None:
        fsync(descriptor)
        durable.add(os.fstat(descriptor).st_ino)

    def look(path: Path, target: Path) -> Path:
        assert {one.stat().st_ino for one in (path, *path.rglob("*"))} <= durable
        return rename(path, target)

    def fill(target: Path) -> None:
        (target / "deep" / "er").mkdir(parents=True)
        for name in ("a", "deep/b", "deep/er/c"):
            (target / name).write_text(name, encoding="utf-8")

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(Path, "rename", look)
    placed = put(CollectionDirectories(tmp_path), "one", fill)
    assert sorted(path.name for path in placed.rglob("*")) == ["a", "b", "c", "deep", "er"]
    assert [path.name for path in tmp_path.iterdir()] == [placed.name]
    assert tmp_path.stat().st_ino in durable
