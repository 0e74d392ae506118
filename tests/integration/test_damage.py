"""Damaged and missing files, a full disk, two servers: repaired from the database, or one clear error; never a lie."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import grpc
import pytest

import client as groundwire
from tests.support.client import run_client
from tests.support.deadline import wait_until
from tests.support.process_tree import is_running
from tests.support.processes import Server, ServiceProcess

NO_REDIS = "redis://127.0.0.1:1/0"
# No model is loaded, which the many starts here would wait for.
QUICK = {"GROUNDWIRE_ENCODER": "hashing"}
Own = Callable[[ServiceProcess], ServiceProcess]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, module_process: Own) -> Path:
    """A data directory with a few documents and a snapshot; its server has stopped."""
    server = Server(tmp_path_factory.mktemp("made"), redis_url=NO_REDIS, **QUICK)
    module_process(server).start()
    with groundwire.Client(server.address) as client:
        for number in range(3):
            client.put_document(f"{number}.md", f"# Chapter {number}\n\nThe sluice of berth {number} is closed.\n")
        client.create_snapshot()
        client.put_document("other.md", "kept apart", collection="other")
    assert server.stop() == 0
    return server.data_dir


@pytest.fixture
def stopped(made: Path, tmp_path: Path, own_process: Own) -> Server:
    """A server, stopped, with a copy of that directory."""
    server = Server(tmp_path / "server", redis_url=NO_REDIS, **QUICK)
    shutil.copytree(made, server.data_dir)
    own_process(server)
    return server


def files(server: Server) -> Path:
    return server.data_dir / "collections" / "default"


def found(client: groundwire.Client) -> list[str]:
    return sorted({passage.path for passage in client.retrieve("sluice").passages})


def check_whole(server: Server) -> None:
    """It is served as if nothing had happened, by words and by vectors."""
    server.start()
    with groundwire.Client(server.address) as client:
        assert found(client) == ["0.md", "1.md", "2.md"]
        wait_until(lambda: client.corpus_stats().dense_coverage == 1.0, timeout_s=60, what="vectors are complete")
        dense = client.retrieve("closed gates", fusion=groundwire.FusionOverrides(lexical_weight=0.0))
        assert {passage.path for passage in dense.passages} == {"0.md", "1.md", "2.md"}
    assert "Traceback" not in server.log_text()
    assert server.stop() == 0


def check_refused_and_restored(server: Server, fragment: str) -> None:
    """Calls on it say what is wrong, the other collection is served, and a snapshot brings it back."""
    server.start()
    with groundwire.Client(server.address) as client:
        with pytest.raises(groundwire.ClientError, match=fragment) as caught:
            client.retrieve("sluice")
        assert caught.value.reason == "STORAGE_FAILED"
        with pytest.raises(groundwire.ClientError, match=fragment):
            client.put_document("new.md", "text")
        states = {one.name: one.state for one in client.collections()}
        assert states == {"default": groundwire.CollectionState.DAMAGED, "other": groundwire.CollectionState.SERVING}
        assert client.retrieve("apart", collection="other").passages
        assert fragment in run_client(server.address, "status", cwd=server.data_dir).assert_ok().stdout
        (snapshot,) = client.snapshots("default")
        client.restore_snapshot(snapshot.snapshot_id)
        assert found(client) == ["0.md", "1.md", "2.md"]
    assert server.stop() == 0


@pytest.mark.parametrize("name", ["lexical", "lexical.json", "dense"])
def test_what_is_derived_is_made_again_when_it_is_gone(stopped: Server, name: str) -> None:
    path = files(stopped) / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    check_whole(stopped)


@pytest.mark.parametrize("folder", ["lexical", "dense"])
def test_what_is_derived_is_made_again_when_it_is_spoilt(stopped: Server, folder: str) -> None:
    for path in (files(stopped) / folder).rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            path.write_bytes(b"\x00spoilt" * 10)
    check_whole(stopped)


def test_vectors_of_the_wrong_size_are_computed_anew(stopped: Server) -> None:
    import sqlite3

    with sqlite3.connect(files(stopped) / "corpus.sqlite") as connection:
        connection.execute("UPDATE vectors SET vector = x'00ff'")
    connection.close()
    shutil.rmtree(files(stopped) / "dense", ignore_errors=True)
    check_whole(stopped)


@pytest.mark.parametrize(
    ("share", "fragment"), [(0.0, "is empty"), (0.5, "cannot be opened")], ids=["emptied", "cut in half"]
)
def test_a_truncated_database_is_refused_clearly_and_restored_from_a_snapshot(
    stopped: Server, share: float, fragment: str
) -> None:
    path = files(stopped) / "corpus.sqlite"
    os.truncate(path, int(path.stat().st_size * share))
    check_refused_and_restored(stopped, fragment)


def test_a_missing_database_is_not_taken_for_an_empty_collection(stopped: Server) -> None:
    (files(stopped) / "corpus.sqlite").unlink()
    check_refused_and_restored(stopped, "is missing")


def test_an_older_copy_of_the_database_is_refused(stopped: Server) -> None:
    """What was acknowledged after the copy was made would be silently gone."""
    older = stopped.data_dir / "older.sqlite"
    shutil.copyfile(files(stopped) / "corpus.sqlite", older)
    stopped.start()
    with groundwire.Client(stopped.address) as client:
        client.put_document("late.md", "came later")
    assert stopped.stop() == 0
    shutil.copyfile(older, files(stopped) / "corpus.sqlite")
    check_refused_and_restored(stopped, "older copy")


def test_a_second_server_is_told_who_holds_the_directory(stopped: Server, tmp_path: Path, own_process: Own) -> None:
    stopped.start()
    second = Server(tmp_path / "second", redis_url=NO_REDIS, **QUICK, GROUNDWIRE_DATA_DIR=os.fspath(stopped.data_dir))
    own_process(second).launch()
    assert second.wait_for_exit() == 2
    assert f"(process {stopped.pid})" in second.log_text()
    assert is_running(stopped.pid)
    stopped.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MiB."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", mounted], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield mounted
    subprocess.run(["umount", "--lazy", mounted], check=True)


def fill_up(disk: Path) -> Path:
    """Leave no page free; return the file that takes them all."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
    return filler


def test_a_full_disk_refuses_writes_and_goes_on_serving_what_was_there(
    small_disk: Path, tmp_path: Path, own_process: Own
) -> None:
    server = Server(
        tmp_path / "server", redis_url=NO_REDIS, **QUICK, GROUNDWIRE_DATA_DIR=os.fspath(small_disk / "data")
    )
    own_process(server).start()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "synced.md").write_text("The sluice of the tree.\n\n" + f"{'word ' * 20}\n" * 3_000)
    with groundwire.Client(server.address) as client:
        client.put_document("kept.md", "The sluice is closed.")
        filler = fill_up(small_disk)
        acknowledged = ["kept.md"]
        refusals = []
        for number in range(40):
            try:
                client.put_document(f"{number}.md", f"The sluice number {number}. " + f"word{number} " * 2000)
                acknowledged.append(f"{number}.md")
            except groundwire.ClientError as error:
                refusals.append(error)
        assert refusals
        assert {error.reason for error in refusals} <= {"STORAGE_FAILED", "OUTCOME_UNKNOWN"}
        assert {error.status for error in refusals} <= {grpc.StatusCode.INTERNAL.name, grpc.StatusCode.UNKNOWN.name}
        run_client(server.address, "index", "tree", cwd=tmp_path).assert_refused("could not be written")
        with pytest.raises(groundwire.ClientError) as caught:
            client.create_snapshot()
        assert caught.value.reason == "STORAGE_FAILED"
        assert "kept.md" in found(client)
        # Stopping and starting find no room either.
        assert server.stop() == 0
        fill_up(small_disk)
        server.start()
    with groundwire.Client(server.address) as client:
        assert "kept.md" in found(client)
        assert {*acknowledged} <= {document.path for document in client.list_documents()}
        filler.unlink()
        run_client(server.address, "index", "tree", cwd=tmp_path).assert_ok()
        acknowledged.append("tree/synced.md")
        client.put_document("after.md", "The sluice again.")
        stored = {document.path for document in client.list_documents()}
        assert {*acknowledged, "after.md"} <= stored
        wait_until(
            lambda: {p.path for p in client.retrieve("sluice", k=100).passages} >= {*acknowledged, "after.md"},
            timeout_s=60,
            what="everything acknowledged is found",
        )
    assert server.stop() == 0
    server.start()
    with groundwire.Client(server.address) as client:
        assert {document.path for document in client.list_documents()} == stored
    server.stop()
