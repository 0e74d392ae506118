"""Vector segments on disk that are not what was written: made again from the database, and found by as before."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import client as groundwire
from tests.support.deadline import wait_until
from tests.support.processes import ServiceProcess, SmallServer

DOCUMENT_COUNT = 24
DENSE_ONLY = groundwire.FusionOverrides(lexical_weight=0.0)


@pytest.fixture
def stopped(tmp_path: Path, own_process: Callable[[ServiceProcess], ServiceProcess]) -> SmallServer:
    """A server that was stopped with segments on disk, one of them with a graph."""
    server = SmallServer(tmp_path / "server", redis_url="redis://127.0.0.1:1/0", GROUNDWIRE_ENCODER="hashing")
    own_process(server).start()
    with groundwire.Client(server.address) as client:
        for number in range(DOCUMENT_COUNT):
            client.put_document(f"{number}.md", f"Berth w{number} w{number // 3} w{number // 5} by the sluice.\n")
    wait_until(lambda: list(dense(server).glob("*/graph.json")), timeout_s=60, what="a graph is built")
    assert server.stop() == 0
    return server


def dense(server: SmallServer) -> Path:
    return server.data_dir / "collections" / "default" / "dense"


def ranking(server: SmallServer) -> list[tuple[str, float]]:
    with groundwire.Client(server.address) as client:
        found = client.retrieve("w3 berth", k=DOCUMENT_COUNT, fusion=DENSE_ONLY)
        assert found.dense_coverage == 1.0
        return [(passage.path, passage.score) for passage in found.passages]


def flip(path: Path) -> None:
    """Turn the bits of a byte in the middle, which no size tells."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def flip_all(directory: Path) -> None:
    for path in directory.glob("*/*"):
        flip(path)


def remove_newest(directory: Path) -> None:
    segments = json.loads((directory / "segments.json").read_text())["segments"]
    shutil.rmtree(directory / segments[-1]["name"])


def swap_graphs(directory: Path) -> None:
    for path in directory.glob("*/graph.usearch"):
        path.write_bytes(b"\xff" * path.stat().st_size)


def flip_vectors(directory: Path) -> None:
    for path in directory.glob("*/vectors.f32"):
        flip(path)


def spoil_manifest(directory: Path) -> None:
    (directory / "segments.json").write_text('{"format_version": 1, "segments": [{}]')


def test_damaged_segments_are_made_again_and_found_by_as_before(stopped: SmallServer) -> None:
    stopped.start()
    before = ranking(stopped)
    assert len(before) == DOCUMENT_COUNT
    assert stopped.stop() == 0
    for damage in (flip_vectors, flip_all, remove_newest, swap_graphs, spoil_manifest):
        damage(dense(stopped))
        stopped.start()
        wait_until(lambda: ranking(stopped) == before, timeout_s=60, what=f"repair after {damage.__name__}")
        assert "Traceback" not in stopped.log_text(), damage.__name__
        wait_until(lambda: list(dense(stopped).glob("*/graph.json")), timeout_s=60, what="a graph again")
        assert ranking(stopped) == before
        assert stopped.stop() == 0
