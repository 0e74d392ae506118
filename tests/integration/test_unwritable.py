"""Directories that the server may not write, as an ordinary user: one clear line, or what is there is served."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import client as groundwire
from tests.support.processes import Server, ServiceProcess, UnprivilegedServer

SETTINGS = {"redis_url": "redis://127.0.0.1:1/0", "GROUNDWIRE_ENCODER": "hashing"}
Own = Callable[[ServiceProcess], ServiceProcess]
Close = Callable[[str], Path]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, module_process: Own) -> UnprivilegedServer:
    """A server that has two collections, stopped; no test changes what it holds."""
    server = UnprivilegedServer(tmp_path_factory.mktemp("server"), **SETTINGS)
    module_process(server).start()
    with groundwire.Client(server.address) as client:
        client.put_document("a.md", "The sluice is closed.")
        client.put_document("other.md", "kept apart", collection="other")
    assert server.stop() == 0
    return server


@pytest.fixture
def close(server: Server) -> Iterator[Close]:
    """Take the right to write from everything at and below a path of the data directory, until the test ends."""

    def mode(change: str, path: Path) -> None:
        subprocess.run(["chmod", "-R", change, os.fspath(path)], check=True)

    def close(name: str) -> Path:
        mode("a-w", server.data_dir / name)
        return server.data_dir / name

    yield close
    mode("u+w", server.data_dir)
    if server.is_alive():
        server.kill()


@pytest.mark.parametrize("name", [".", "collections"])
def test_a_data_directory_that_cannot_be_written_is_one_line(server: Server, close: Close, name: str) -> None:
    close(name)
    server.launch()
    assert server.wait_for_exit() == 2
    (line,) = [line for line in server.log_text().splitlines() if not line.startswith("{")]
    assert line.startswith("retrieval-server: the data directory cannot be used: Permission denied")
    assert os.fspath(server.data_dir) in line
    assert "GROUNDWIRE_DATA_DIR" in line


@pytest.mark.parametrize("name", ["", "/lexical"])
def test_a_collection_that_cannot_be_written_is_named_and_the_others_are_served(
    server: Server, close: Close, name: str
) -> None:
    closed = close(f"collections/default{name}")
    server.start()
    with groundwire.Client(server.address) as client:
        for call in (lambda: client.retrieve("sluice"), lambda: client.put_document("b.md", "text")):
            with pytest.raises(groundwire.FailedPrecondition, match="cannot be written by the user") as caught:
                call()
            assert caught.value.reason == "STORAGE_FAILED"
            assert os.fspath(closed) in str(caught.value)
            assert "\n" not in str(caught.value)
        assert client.retrieve("apart", collection="other").passages
        client.put_document("other.md", "kept apart", collection="other")
    assert server.stop() == 0
    assert "Traceback" not in server.log_text()


def test_a_database_that_alone_cannot_be_written_is_served_and_its_writes_are_refused(
    server: Server, close: Close
) -> None:
    close("collections/default/corpus.sqlite")
    server.start()
    with groundwire.Client(server.address) as client:
        assert [passage.path for passage in client.retrieve("sluice").passages] == ["a.md"]
        with pytest.raises(groundwire.ClientError, match="readonly database") as caught:
            client.put_document("b.md", "text")
        assert caught.value.reason == "STORAGE_FAILED"
    assert server.stop() == 0
    assert "Traceback" not in server.log_text()
