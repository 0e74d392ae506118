"""Server, worker and command line do their work whatever has become of the streams that they tell of it on."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import client as groundwire
from tests.support.deadline import wait_until
from tests.support.processes import BIN, process_environment
from tests.support.valkey import Valkey, free_port

FULL = ">/dev/full 2>/dev/full"
CLOSED = "<&- >&- 2>&-"


def _shell(command: Sequence[str], streams: str) -> list[str]:
    return ["sh", "-c", f'exec "$@" {streams}', "sh", *command]


@contextmanager
def _running(script: str, streams: str, **settings: str) -> Iterator[None]:
    """A process with such streams, which is told to stop at the end, and must then drain."""
    process = subprocess.Popen(_shell([os.fspath(BIN / script)], streams), env=process_environment(settings))
    try:
        yield
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def _is_up(library: groundwire.Client) -> bool:
    with suppress(groundwire.Unavailable):
        return library.collections() is not None
    return False


@pytest.mark.parametrize("streams", [FULL, CLOSED])
def test_a_server_whose_log_cannot_be_written_serves_refuses_and_drains(tmp_path: Path, streams: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = {
        "GROUNDWIRE_LISTEN": address,
        "GROUNDWIRE_DATA_DIR": os.fspath(tmp_path / "data"),
        "GROUNDWIRE_ENCODER": "hashing",
        "GROUNDWIRE_REDIS_URL": "redis://127.0.0.1:1/0",
    }
    with _running("retrieval-server", streams, **settings), groundwire.Client(address) as library:
        wait_until(lambda: _is_up(library), timeout_s=60, what="the server is up")
        library.put_document("berth.md", "The sluice of the berth stays open at night.")
        assert [one.path for one in library.retrieve("sluice").passages] == ["berth.md"]
        with pytest.raises(groundwire.InvalidRequest, match="k: 0"):
            library.retrieve("sluice", k=0)
        command = [os.fspath(BIN / "client"), "--server", address, "search", "sluice", "--json"]
        assert subprocess.run(_shell(command, CLOSED), check=False, timeout=60).returncode == 0


def test_a_worker_whose_log_cannot_be_written_answers_and_drains(tmp_path: Path, own_valkey: Valkey) -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = {
        "GROUNDWIRE_LISTEN": address,
        "GROUNDWIRE_DATA_DIR": os.fspath(tmp_path / "data"),
        "GROUNDWIRE_ENCODER": "hashing",
        "GROUNDWIRE_REDIS_URL": own_valkey.url,
    }
    with (
        _running("retrieval-server", FULL, **settings),
        groundwire.Client(address) as library,
        _running("generation-worker", FULL, **settings),
    ):
        wait_until(lambda: _is_up(library) and library.workers(), timeout_s=100, what="a worker is up")
        options = groundwire.AnswerOptions(closed_book=True, min_supported_share=0, max_completion_tokens=8)
        for question in ("What is a sluice?", "What is a berth?"):
            assert library.answer(question, options=options).attempt_count == 1


@pytest.mark.parametrize("arguments", [["--version"], ["evaluate", "x", "y"]])
@pytest.mark.parametrize("streams", [">&-", "2>&-", CLOSED])
def test_a_command_without_streams_ends_as_it_would_with_them(streams: str, arguments: list[str]) -> None:
    command = [os.fspath(BIN / "client"), "--server", "127.0.0.1:1", *arguments]
    with_streams = subprocess.run(command, capture_output=True, check=False, timeout=60)
    without = subprocess.run(_shell(command, streams), capture_output=True, check=False, timeout=60)
    assert without.returncode == with_streams.returncode
    assert b"Traceback" not in without.stderr


@pytest.mark.parametrize("streams", [FULL, CLOSED])
@pytest.mark.parametrize("script", ["retrieval-server", "generation-worker"])
@pytest.mark.parametrize("wrong", ["GROUNDWIRE_LOG_LEVEL", "GROUNDWIRE_REDIS_URL"])
def test_what_cannot_start_says_so_by_its_exit_code_at_least(
    tmp_path: Path, script: str, streams: str, wrong: str
) -> None:
    environment = process_environment({"GROUNDWIRE_DATA_DIR": os.fspath(tmp_path / "data"), wrong: "nonsense"})
    command = _shell([os.fspath(BIN / script)], streams)
    assert subprocess.run(command, env=environment, check=False, timeout=60).returncode == 2
