"""Indexing a tree by the command line: one source however it is spelt, nothing removed that is not its own, --watch."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import client as groundwire
from tests.support.client import ClientRun, run_client
from tests.support.deadline import wait_until
from tests.support.processes import BIN, Server, process_environment

Index = Callable[..., ClientRun]


@pytest.fixture
def library(server: Server) -> Iterator[groundwire.Client]:
    with groundwire.Client(server.address) as opened:
        yield opened


@pytest.fixture
def index(server: Server, collection: str, tmp_path: Path) -> Index:
    """Run `client index` in the test's folder."""
    (tmp_path / "tree").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "tree" / name).write_text(f"# {name}\n\nThe sluice of {name}.\n", encoding="utf-8")

    def run(*arguments: str) -> ClientRun:
        return run_client(server.address, "index", *arguments, "--collection", collection, cwd=tmp_path)

    return run


def test_one_folder_is_one_source_however_it_is_spelt(index: Index, library, collection: str, tmp_path: Path) -> None:
    index("tree").assert_ok()
    for spelling in ("./tree", "tree/", os.fspath(tmp_path / "tree"), "tree/../tree"):
        summary = index(spelling, "--json").assert_ok().json["summary"]
        assert (summary["added_count"], summary["unchanged_count"]) == (0, 2), spelling
    index("./tree/").assert_ok()
    assert [(one.display_prefix, one.document_count) for one in library.corpus_stats(collection).sources] == [
        ("tree", 2)
    ]
    assert [one.path for one in library.list_documents(collection=collection)] == ["tree/a.md", "tree/b.md"]


def test_prune_removes_what_vanished_from_its_own_source_and_nothing_else(
    index: Index, library, collection: str, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "c.md").write_text("kept apart\n", encoding="utf-8")
    index("tree").assert_ok()
    index("second").assert_ok()
    library.put_document("note.md", "put by itself", collection=collection)
    (tmp_path / "tree" / "a.md").unlink()
    told = index("tree", "--prune", "--files").assert_ok().stdout
    assert "removed: a.md" in told
    left = [one.path for one in library.list_documents(collection=collection)]
    assert left == ["note.md", "second/c.md", "tree/b.md"]
    (tmp_path / "tree" / "b.md").rename(tmp_path / "tree" / "d.md")
    (tmp_path / "tree" / "e.bin").write_bytes(b"\0\1\2")
    told = index("tree", "--prune", "--files").assert_ok().stdout
    for line in ("added: d.md", "removed: b.md", "skipped: e.bin (binary)"):
        assert line in told


def test_watch_follows_what_changes_on_disk(
    server: Server, index: Index, library, collection: str, tmp_path: Path
) -> None:
    command = [BIN / "client", "--server", server.address, "index", "tree", "--watch", "--prune"]
    told = tmp_path / "told.log"
    with told.open("wb") as output:
        watching = subprocess.Popen(
            [*command, "--collection", collection],
            cwd=tmp_path,
            env=process_environment({"PYTHONUNBUFFERED": "1"}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        )

    def paths() -> list[str]:
        try:
            return [one.path for one in library.list_documents(collection=collection)]
        except groundwire.NotFound:
            return []

    wait_until(lambda: paths() == ["tree/a.md", "tree/b.md"], timeout_s=60, what="the first index")
    # At once: a file that is seen while it is written would be indexed twice.
    (tmp_path / "c.md").write_text("a third one\n", encoding="utf-8")
    (tmp_path / "c.md").rename(tmp_path / "tree" / "c.md")
    wait_until(lambda: "tree/c.md" in paths(), timeout_s=60, what="a new file is indexed")
    (tmp_path / "tree" / "a.md").unlink()
    wait_until(lambda: paths() == ["tree/b.md", "tree/c.md"], timeout_s=60, what="a removed file is gone")
    # What was indexed can be seen before it is told.
    wait_until(lambda: told.read_text().count("searchable after") >= 3, timeout_s=60, what="the third summary")
    watching.send_signal(signal.SIGINT)
    _, complaints = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert "Traceback" not in complaints
